// SPDX-License-Identifier: Apache-2.0
// How normalisation and its gradients run on a GPU.
#include "ops/rms_norm/rms_norm.h"
#include "ops/shared/kernels.h"

// words: rows, columns, eps
static void words(const hone_op_call *call, hone_kernel_list *list, hone_kernel_dispatch *d, const hone_tensor *x) {
    hone_kernel_word(list, d, hone_type_rows(&x->type));
    hone_kernel_word(list, d, hone_type_columns(&x->type));
    hone_kernel_number(list, d, call->operands[call->operand_count - 1].real);
}

// Tensors first, eps last; `x` is the operand that gives rows and columns.
static void rows(const hone_op_call *call, hone_kernel_list *list, const char *entry, size_t at) {
    const hone_tensor *const x = hone_operand_tensor(call, at);
    const bool empty = hone_type_elements(&x->type) == 0;
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, empty ? 0 : (uint64_t)hone_type_rows(&x->type));
    for (size_t i = 0; i + 1 < call->operand_count; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    hone_kernel_bind(list, d, &call->outputs[0]);
    words(call, list, d, x);
}

static void weight(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const x = hone_operand_tensor(call, 1);
    const int64_t row_count = hone_type_rows(&x->type), columns = hone_type_columns(&x->type);
    const size_t bytes = row_count ? (size_t)row_count * 4 : 4;
    hone_kernel_dispatch *d = hone_kernel_add(list, "rms_norm.row_scales", columns ? (uint64_t)row_count : 0);
    hone_kernel_bind(list, d, x);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    words(call, list, d, x);
    d = hone_kernel_add(list, "rms_norm.weight_backward", hone_kernel_groups(columns, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    hone_kernel_bind(list, d, x);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind(list, d, &call->outputs[0]);
    words(call, list, d, x);
}

HONE_PLAIN_KERNEL(rms_norm, rows, "rms_norm.rms_norm", 0)
HONE_PLAIN_KERNEL(rms_norm_backward, rows, "rms_norm.rms_norm_backward", 1)
HONE_PLAIN_KERNEL_RULE(rms_norm_weight_backward, weight)
