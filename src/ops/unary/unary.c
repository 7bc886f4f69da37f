// SPDX-License-Identifier: Apache-2.0
// Functions of one element.
#include "ops/unary/unary.h"

const hone_op *const hone_ops_unary[] = {&hone_op_silu_mul, &hone_op_silu_mul_backward, 0};
