// SPDX-License-Identifier: Apache-2.0
// How layer normalisation and its gradients run on a GPU.
#include "ops/layer_norm/layer_norm.h"
#include "ops/op.h"
#include "ops/shared/kernels.h"

typedef struct sizes {
    int64_t rows, columns;
    double eps;
} sizes;

static sizes sizes_of(const hone_op_call *call, size_t x, size_t shape, size_t eps) {
    const hone_tensor_type *const type = &hone_operand_tensor(call, x)->type;
    sizes s = {1, 1, call->operands[eps].real};
    const int split = type->rank - (int)call->operands[shape].count;
    for (int d = 0; d < type->rank; d++) *(d < split ? &s.rows : &s.columns) *= type->dims[d];
    return s;
}

static void words(hone_kernel_list *list, hone_kernel_dispatch *d, const sizes *s, bool weight, bool bias) {
    hone_kernel_word(list, d, s->rows);
    hone_kernel_word(list, d, s->columns);
    hone_kernel_number(list, d, s->eps);
    hone_kernel_word(list, d, weight);
    hone_kernel_word(list, d, bias);
}

static void bind_optional(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_tensor *tensor, size_t spare) {
    if (tensor)
        hone_kernel_bind(list, d, tensor);
    else
        hone_kernel_bind_scratch(list, d, spare, 4);
}

static void forward(const hone_op_call *call, hone_kernel_list *list) {
    const sizes s = sizes_of(call, 0, 1, 4);
    const hone_tensor *const weight = hone_operand_tensor(call, 2), *const bias = hone_operand_tensor(call, 3);
    if (s.columns == 0) {
        hone_kernel_dispatch *const d =
            hone_kernel_add(list, "layer_norm.layer_norm_empty", hone_kernel_groups(s.rows, HONE_KERNEL_THREADS));
        for (size_t i = 1; i < 3; i++) hone_kernel_bind(list, d, &call->outputs[i]);
        hone_kernel_word(list, d, s.rows);
        return;
    }
    hone_kernel_dispatch *const d = hone_kernel_add(list, "layer_norm.layer_norm", (uint64_t)s.rows);
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    bind_optional(list, d, weight, 0);
    bind_optional(list, d, bias, HONE_BUFFER_ALIGNMENT);
    for (size_t i = 0; i < 3; i++) hone_kernel_bind(list, d, &call->outputs[i]);
    words(list, d, &s, weight, bias);
}

static void backward(const hone_op_call *call, hone_kernel_list *list) {
    const sizes s = sizes_of(call, 1, 2, 4);
    const hone_tensor *const weight = hone_operand_tensor(call, 3);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "layer_norm.layer_norm_backward", s.columns > 0 ? (uint64_t)s.rows : 0);
    for (size_t i = 0; i < 2; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    bind_optional(list, d, weight, 0);
    hone_kernel_bind(list, d, &call->outputs[0]);
    words(list, d, &s, weight, false);
}

enum { STATISTICS = 5, COLUMNS = 32 }; // words of a row, columns of a group

static void weight_backward(const hone_op_call *call, hone_kernel_list *list) {
    const sizes s = sizes_of(call, 1, 2, 3);
    const size_t bytes = s.rows > 0 ? (size_t)s.rows * STATISTICS * 4 : 4;
    hone_kernel_dispatch *d = hone_kernel_add(list, "layer_norm.layer_norm_rows", s.columns > 0 ? (uint64_t)s.rows : 0);
    hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_bind_scratch(list, d, 0, bytes);
    words(list, d, &s, false, false);
    d = hone_kernel_add(list, "layer_norm.layer_norm_weight_backward", hone_kernel_groups(s.columns, COLUMNS));
    for (size_t i = 0; i < 2; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind(list, d, &call->outputs[0]);
    words(list, d, &s, false, false);
}

HONE_PLAIN_KERNEL_RULE(layer_norm, forward)
HONE_PLAIN_KERNEL_RULE(layer_norm_backward, backward)
HONE_PLAIN_KERNEL_RULE(layer_norm_weight_backward, weight_backward)
