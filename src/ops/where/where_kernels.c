// SPDX-License-Identifier: Apache-2.0
// How choices run on a GPU.
#include "ops/shared/kernels.h"
#include "ops/where/where.h"

// `each`: elements that a thread makes.
static hone_kernel_dispatch *add(const hone_op_call *call, hone_kernel_list *list, const char *entry, int64_t each) {
    const int count = (int)call->operand_count;
    const hone_tensor_type *types[HONE_BROADCAST_INPUTS] = {0};
    for (int i = 0; i < count; i++) types[i] = &hone_operand_tensor(call, (size_t)i)->type;
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, types, count);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, entry, hone_kernel_groups((broadcast.count + each - 1) / each, HONE_KERNEL_THREADS));
    for (int i = 0; i < count; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, (size_t)i));
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_broadcast(list, d, &broadcast);
    return d;
}

static void choose(const hone_op_call *call, hone_kernel_list *list) {
    const hone_dtype dtype = call->outputs[0].type.dtype;
    const int64_t each = hone_kernel_per_word(dtype);
    hone_kernel_dispatch *const d = add(call, list, each > 1 ? "where.choose_parts" : "where.choose", each);
    hone_kernel_word(list, d, each > 1 ? each : (int64_t)hone_dtype_bytes(dtype) / 4);
}

static void extreme(const hone_op_call *call, hone_kernel_list *list, bool larger) {
    hone_kernel_dispatch *const d = add(call, list, "where.extreme", 1);
    hone_kernel_word(list, d, larger);
    hone_kernel_word(list, d, call->outputs[0].type.dtype == HONE_DTYPE_I32);
}

HONE_PLAIN_KERNEL_RULE(where, choose)
HONE_PLAIN_KERNEL(maximum, extreme, true)
HONE_PLAIN_KERNEL(minimum, extreme, false)
