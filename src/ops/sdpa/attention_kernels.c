// SPDX-License-Identifier: Apache-2.0
// How attention runs on a GPU.
#include "ops/sdpa/attention_kernels.h"

#include "ops/sdpa/attention.h"
#include "ops/shared/kernels.h"

enum { MOST_FEATURES = 1024 }; // that sdpa.slang keeps of a row

static void words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_attention *a) {
    const int64_t sizes[] = {a->queries, a->keys,     a->q_columns, a->k_columns, a->head,
                             a->heads,   a->kv_heads, a->group,     a->offset,    a->window};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) hone_kernel_word(list, d, sizes[i]);
    hone_kernel_number(list, d, a->scale);
}

static void forward(const hone_op_call *call, hone_kernel_list *list) {
    hone_attention a = hone_attention_of(call, 0, 3);
    a.offset = call->operands[7].integer;
    a.window = call->operands[8].integer;
    hone_kernel_dispatch *const d = hone_kernel_add(list, "sdpa.attention", (uint64_t)(a.queries * a.heads));
    for (size_t i = 0; i < 4; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_bind(list, d, &call->outputs[1]);
    words(list, d, &a);
}

// Operands d_out, q, k, v, out, lse, row_start.
static void backward(const hone_op_call *call, hone_kernel_list *list) {
    hone_attention a = hone_attention_of(call, 1, 6);
    a.window = call->operands[10].integer;
    const size_t bytes = a.queries > 0 ? (size_t)(a.heads * a.queries) * 8 : 8;
    hone_kernel_dispatch *d =
        hone_kernel_add(list, "sdpa.attention_delta", hone_kernel_groups(a.heads * a.queries, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 4));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 5));
    hone_kernel_bind_scratch(list, d, 0, bytes);
    words(list, d, &a);
    for (int keys = 0; keys < 2; keys++) {
        d = hone_kernel_add(list, keys ? "sdpa.attention_d_kv" : "sdpa.attention_d_q",
                            (uint64_t)(keys ? a.keys * a.kv_heads : a.queries * a.heads));
        for (size_t i = 0; i < 4; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
        hone_kernel_bind(list, d, hone_operand_tensor(call, 6));
        hone_kernel_bind_scratch(list, d, 0, bytes);
        if (!keys) hone_kernel_bind(list, d, &call->outputs[0]);
        for (size_t i = 1; i < 3 && keys; i++) hone_kernel_bind(list, d, &call->outputs[i]);
        words(list, d, &a);
    }
}

static bool takes_forward(const hone_op_call *call) {
    return hone_attention_of(call, 0, 3).head <= MOST_FEATURES;
}
static bool takes_backward(const hone_op_call *call) {
    return hone_attention_of(call, 1, 6).head <= MOST_FEATURES;
}

HONE_PLAIN_KERNEL_IF(attention, takes_forward, forward)
HONE_PLAIN_KERNEL_IF(attention_backward, takes_backward, backward)
