// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_BITWISE_H
#define HONE_OPS_BITWISE_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(bitwise_and)
HONE_DECLARE_KERNEL(bitwise_or)
HONE_DECLARE_KERNEL(bitwise_not)

#endif
