// SPDX-License-Identifier: Apache-2.0
// The operators of this family that have a file of their own.
#ifndef HONE_OPS_BINARY_H
#define HONE_OPS_BINARY_H

#include <hone/op.h>

extern const hone_op hone_op_div_mode, hone_op_pow_tensor;

#endif
