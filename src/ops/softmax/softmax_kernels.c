// SPDX-License-Identifier: Apache-2.0
// How softmax, its logarithm and their gradients run on a GPU.
#include "ops/op.h"
#include "ops/softmax/softmax.h"

static void lines(const hone_op_call *call, hone_kernel_list *list, size_t tensors, bool logarithm) {
    const hone_tensor_type *const type = &call->outputs[0].type;
    int dim = 0;
    if (hone_op_dim(call, call->operands[tensors].integer, type->rank, &dim, &list->failure) != HONE_OK) return;
    int64_t n = 1, outer = 1, inner = 1;
    for (int d = 0; d < type->rank; d++) *(d < dim ? &outer : d > dim ? &inner : &n) *= type->dims[d];
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, tensors == 1 ? "softmax.softmax" : "softmax.softmax_backward", (uint64_t)(outer * inner));
    for (size_t i = 0; i < tensors; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, n);
    hone_kernel_word(list, d, inner);
    hone_kernel_word(list, d, logarithm);
}

HONE_PLAIN_KERNEL(softmax, lines, 1, false)
HONE_PLAIN_KERNEL(log_softmax, lines, 1, true)
HONE_PLAIN_KERNEL(softmax_backward, lines, 2, false)
HONE_PLAIN_KERNEL(log_softmax_backward, lines, 2, true)
