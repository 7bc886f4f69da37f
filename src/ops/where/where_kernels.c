// SPDX-License-Identifier: Apache-2.0
// How choices run on a GPU.
#include "ops/shared/kernels.h"
#include "ops/where/where.h"

static hone_kernel_dispatch *add(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    const int count = (int)call->operand_count;
    const hone_tensor_type *types[HONE_BROADCAST_INPUTS] = {0};
    for (int i = 0; i < count; i++) types[i] = &hone_operand_tensor(call, (size_t)i)->type;
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, types, count);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, entry, hone_kernel_groups(broadcast.count, HONE_KERNEL_THREADS));
    for (int i = 0; i < count; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, (size_t)i));
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_broadcast(list, d, &broadcast);
    return d;
}

static void choose(const hone_op_call *call, hone_kernel_list *list) {
    (void)add(call, list, "where.choose");
}

static void extreme(const hone_op_call *call, hone_kernel_list *list, bool larger) {
    hone_kernel_dispatch *const d = add(call, list, "where.extreme");
    hone_kernel_word(list, d, larger);
    hone_kernel_word(list, d, call->outputs[0].type.dtype == HONE_DTYPE_I32);
}

static bool takes(const hone_op_call *call) {
    return hone_dtype_bytes(call->outputs[0].type.dtype) == 4;
}

HONE_PLAIN_KERNEL_IF(where, takes, choose)
HONE_PLAIN_KERNEL(maximum, extreme, true)
HONE_PLAIN_KERNEL(minimum, extreme, false)
