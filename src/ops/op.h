// SPDX-License-Identifier: Apache-2.0
// Short spellings that the operators' files share: reading operands, checking shapes.
#ifndef HONE_OPS_OP_H
#define HONE_OPS_OP_H

#include <hone/graph.h>
#include <hone/op.h>

#include "base/error.h"

// Operand i as a tensor; NULL when an optional one is absent.
static inline const hone_tensor *hone_operand_tensor(const hone_op_call *call, size_t i) {
    return call->operands[i].kind == HONE_ARGUMENT_TENSOR ? call->operands[i].tensors : NULL;
}
static inline const float *hone_operand_floats(const hone_op_call *call, size_t i) {
    const hone_tensor *tensor = hone_operand_tensor(call, i);
    return tensor ? (const float *)tensor->data : NULL;
}

// "op: " plus the text as HONE_INVALID_ARGUMENT; for shape rules. HONE_OP_CHECK(rank == 2, "mat2 must be a matrix, not %s", ..)
hone_status hone_op_invalid(const hone_op_call *call, hone_error *error, const char *format, ...) HONE_PRINTF(3, 4);
#define HONE_OP_CHECK(condition, ...)                                                                                  \
    do {                                                                                                               \
        if (!(condition)) return hone_op_invalid(call, error, __VA_ARGS__);                                            \
    } while (0)
// The type as text in one of a few static thread-local places, for such messages.
const char *hone_op_type_text(const hone_tensor *tensor);

// Shape rule helpers; each gives the error text itself.
hone_status hone_op_want_dtype(const hone_op_call *call, size_t operand, hone_dtype dtype, hone_error *error);
hone_status hone_op_want_rank(const hone_op_call *call, size_t operand, int rank, hone_error *error);
// Broadcast of two types; the dtype of `a`.
hone_status hone_op_broadcast(const hone_op_call *call, const hone_tensor_type *a, const hone_tensor_type *b,
                              hone_tensor_type *out, hone_error *error);
// dim in [-rank, rank) to [0, rank).
hone_status hone_op_dim(const hone_op_call *call, int64_t dim, int rank, int *out, hone_error *error);

// Operations of a product whose sums have `depth` terms, of which there are as many as `sums` has elements.
static inline double hone_product_flop(const hone_tensor *sums, int64_t depth) {
    return 2.0 * (double)hone_type_elements(&sums->type) * (double)depth;
}
// The same for out[.., N] = x[.., K] @ ..: the depth is that of the rows of operand `x`.
static inline double hone_product_flop_of(const hone_op_call *call, size_t x) {
    return hone_product_flop(&call->outputs[0], hone_type_columns(&hone_operand_tensor(call, x)->type));
}

// Gradient rule helpers: the i-th flattened tensor input of the node, and its argument.
static inline hone_value hone_grad_in(const hone_gradient_call *call, size_t i) {
    return hone_node_input(call->node, i);
}
static inline hone_value hone_grad_out(const hone_gradient_call *call, size_t i) {
    return call->output_gradients[i];
}

#endif
