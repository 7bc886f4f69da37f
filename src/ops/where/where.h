// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_WHERE_H
#define HONE_OPS_WHERE_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(where)
HONE_DECLARE_KERNEL(maximum)
HONE_DECLARE_KERNEL(minimum)

#endif
