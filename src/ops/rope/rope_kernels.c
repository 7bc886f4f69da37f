// SPDX-License-Identifier: Apache-2.0
// How rotary embedding runs on a GPU.
#include "ops/rope/rope.h"
#include "ops/shared/kernels.h"

static void rope(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const x = hone_operand_tensor(call, 0), *const cosines = hone_operand_tensor(call, 1);
    const int64_t heads = call->operands[4].integer, head = x->type.dims[1] / heads, pairs = cosines->type.dims[1];
    const int64_t threads = x->type.dims[0] * heads * (head - pairs);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "rope.rope", hone_kernel_groups(threads, HONE_KERNEL_THREADS));
    for (size_t i = 0; i < 4; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_bind_flags(list, d);
    const int64_t words[] = {threads,
                             x->type.dims[1],
                             head,
                             pairs,
                             cosines->type.dims[0],
                             heads,
                             call->operands[5].integer != 0,
                             call->operands[6].integer != 0};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) hone_kernel_word(list, d, words[i]);
}

HONE_PLAIN_KERNEL_RULE(rope, rope)
