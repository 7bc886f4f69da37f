// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_COMPARE_H
#define HONE_OPS_COMPARE_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(eq_tensor)
HONE_DECLARE_KERNEL(ne_tensor)
HONE_DECLARE_KERNEL(lt_tensor)
HONE_DECLARE_KERNEL(le_tensor)
HONE_DECLARE_KERNEL(gt_tensor)
HONE_DECLARE_KERNEL(ge_tensor)
HONE_DECLARE_KERNEL(eq_scalar)
HONE_DECLARE_KERNEL(ne_scalar)
HONE_DECLARE_KERNEL(lt_scalar)
HONE_DECLARE_KERNEL(le_scalar)
HONE_DECLARE_KERNEL(gt_scalar)
HONE_DECLARE_KERNEL(ge_scalar)
HONE_DECLARE_KERNEL(logical_not)
HONE_DECLARE_KERNEL(logical_and)
HONE_DECLARE_KERNEL(logical_or)

#endif
