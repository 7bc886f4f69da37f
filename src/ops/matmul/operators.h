// SPDX-License-Identifier: Apache-2.0
// What matmul.c and linear.c share: checks of shapes, and gradients as products.
#ifndef HONE_OPS_MATMUL_OPERATORS_H
#define HONE_OPS_MATMUL_OPERATORS_H

#include "ops/matmul/gemm.h"

extern const hone_op hone_op_linear, hone_op_linear_add, hone_op_linear_dw, hone_op_linear_dw_scaled,
    hone_op_linear_dw_add;

// The operand is a matrix that may be a frozen weight: f32, f16 or bf16.
hone_status hone_want_matrix(const hone_op_call *call, size_t operand, hone_error *error);

// factor * d[.., n] @ matrix[n, k] -> [.., k]: a product of two matrices, with views around it where d has other dimensions.
// The factor is a real constant.
hone_value hone_emit_rows_mm(hone_graph *graph, hone_value d, hone_value matrix, double factor);
// factor * d_out[.., n]^T @ x[.., k]: the gradient of a weight.
hone_value hone_emit_dw(hone_graph *graph, hone_value d_out, hone_value x, double factor);

// Fails, since gradients are f32, when a half-precision operand should get one.
hone_status hone_want_trainable(const hone_gradient_call *call, size_t input, hone_error *error);

#endif
