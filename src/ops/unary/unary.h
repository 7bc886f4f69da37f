// SPDX-License-Identifier: Apache-2.0
// The operators of this family that have a file of their own.
#ifndef HONE_OPS_UNARY_H
#define HONE_OPS_UNARY_H

#include <hone/op.h>

extern const hone_op hone_op_silu_mul;
extern const hone_op hone_op_silu_mul_backward;

#endif
