// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_CAST_H
#define HONE_OPS_CAST_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(to_copy)
HONE_DECLARE_KERNEL(copy_into)

#endif
