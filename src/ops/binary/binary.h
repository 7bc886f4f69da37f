// SPDX-License-Identifier: Apache-2.0
// The operators of this family that have a file of their own.
#ifndef HONE_OPS_BINARY_H
#define HONE_OPS_BINARY_H

#include "ops/shared/variants.h"

extern const hone_op hone_op_div_mode, hone_op_pow_tensor;
HONE_DECLARE_KERNEL(add_tensor)
HONE_DECLARE_KERNEL(sub_tensor)
HONE_DECLARE_KERNEL(mul_tensor)
HONE_DECLARE_KERNEL(div_tensor)
HONE_DECLARE_KERNEL(add_scalar)
HONE_DECLARE_KERNEL(sub_scalar)
HONE_DECLARE_KERNEL(mul_scalar)
HONE_DECLARE_KERNEL(div_scalar)
HONE_DECLARE_KERNEL(accumulate)
HONE_DECLARE_KERNEL(div_mode)
HONE_DECLARE_KERNEL(pow_tensor)

#endif
