// SPDX-License-Identifier: Apache-2.0
// How operations on bits run on a GPU.
#include "ops/bitwise/bitwise.h"
#include "ops/bitwise/bitwise_words.h"
#include "ops/shared/kernels.h"

static int64_t words_of(const hone_tensor *tensor) {
    return ((int64_t)hone_type_bytes(&tensor->type) + 3) / 4;
}

static void two(const hone_op_call *call, hone_kernel_list *list, int code) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    const hone_tensor *const out = &call->outputs[0];
    const int64_t bytes = (int64_t)hone_dtype_bytes(a->type.dtype), count = hone_type_elements(&out->type);
    const bool plain = hone_type_elements(&a->type) == count && hone_type_elements(&b->type) == count;
    const char *const entry = plain ? "bitwise.two" : bytes == 1 ? "bitwise.two_bytes" : "bitwise.two_words";
    const int64_t threads = plain ? words_of(out) : bytes == 1 ? (count + 3) / 4 : count;
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, hone_kernel_groups(threads, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, a);
    hone_kernel_bind(list, d, b);
    hone_kernel_bind(list, d, out);
    if (plain) {
        hone_kernel_word(list, d, threads);
        hone_kernel_word(list, d, code);
        return;
    }
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &out->type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_kernel_broadcast(list, d, &broadcast);
    hone_kernel_word(list, d, code);
    hone_kernel_word(list, d, bytes / 4);
}

static void inverse(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const int64_t words = words_of(self);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "bitwise.one", hone_kernel_groups(words, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, self);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, words);
    hone_kernel_word(list, d, self->type.dtype == HONE_DTYPE_BOOL ? BITWISE_UNTRUTH : BITWISE_NOT);
}

HONE_PLAIN_KERNEL(bitwise_and, two, BITWISE_AND)
HONE_PLAIN_KERNEL(bitwise_or, two, BITWISE_OR)
HONE_PLAIN_KERNEL_RULE(bitwise_not, inverse)
