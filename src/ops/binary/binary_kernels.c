// SPDX-License-Identifier: Apache-2.0
// How sums, differences, products and quotients run on a GPU.
#include <string.h>

#include "ops/binary/binary.h"
#include "ops/binary/binary_words.h"
#include "ops/shared/kernels.h"
#include "ops/shared/variants.h"

// alpha as the type of the elements has it.
static void word_of(hone_kernel_list *list, hone_kernel_dispatch *d, hone_dtype dtype, double value) {
    if (dtype == HONE_DTYPE_F32)
        hone_kernel_number(list, d, value);
    else
        hone_kernel_word(list, d, (int32_t)value);
}

static void with_tensor(const hone_op_call *call, hone_kernel_list *list, const char *entry, int code) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, entry, hone_kernel_groups(broadcast.count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, a);
    hone_kernel_bind(list, d, b);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_broadcast(list, d, &broadcast);
    hone_kernel_word(list, d, code);
    const bool scaled = code == BINARY_ADD || code == BINARY_SUB;
    word_of(list, d, a->type.dtype, scaled && call->operand_count > 2 ? call->operands[2].real : 1);
}

static bool is_real(const hone_op_call *call) {
    return hone_operand_tensor(call, 0)->type.dtype == HONE_DTYPE_F32;
}

static void tensors(const hone_op_call *call, hone_kernel_list *list, int code) {
    with_tensor(call, list, is_real(call) ? "binary.binary_f32" : "binary.binary_i32", code);
}

static void power(const hone_op_call *call, hone_kernel_list *list) {
    with_tensor(call, list, "quotient.power_f32", BINARY_POW);
}

static void rounded_quotient(const hone_op_call *call, hone_kernel_list *list) {
    const char *const mode = call->operands[2].string;
    if (!mode) {
        tensors(call, list, BINARY_DIV);
        return;
    }
    with_tensor(call, list, is_real(call) ? "quotient.quotient_f32" : "quotient.quotient_i32",
                strcmp(mode, "floor") == 0 ? BINARY_FLOOR : BINARY_TRUNC);
}

static void number(const hone_op_call *call, hone_kernel_list *list, int code) {
    const hone_tensor *const a = hone_operand_tensor(call, 0);
    const bool real = a->type.dtype == HONE_DTYPE_F32;
    const int64_t count = hone_type_elements(&a->type);
    hone_kernel_dispatch *const d = hone_kernel_add(list, real ? "binary.number_f32" : "binary.number_i32",
                                                    hone_kernel_groups(count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, a);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, count);
    hone_kernel_word(list, d, code);
    word_of(list, d, a->type.dtype, call->operands[1].real);
    word_of(list, d, a->type.dtype, call->operand_count > 2 ? call->operands[2].real : 1);
}

static void accumulate(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const into = hone_operand_tensor(call, 0);
    const int64_t count = hone_type_elements(&into->type);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "binary.accumulate_f32", hone_kernel_groups(count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, into);
    hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_word(list, d, count);
}

HONE_PLAIN_KERNEL(add_tensor, tensors, BINARY_ADD)
HONE_PLAIN_KERNEL(sub_tensor, tensors, BINARY_SUB)
HONE_PLAIN_KERNEL(mul_tensor, tensors, BINARY_MUL)
HONE_PLAIN_KERNEL(div_tensor, tensors, BINARY_DIV)
HONE_PLAIN_KERNEL(add_scalar, number, BINARY_ADD)
HONE_PLAIN_KERNEL(sub_scalar, number, BINARY_SUB)
HONE_PLAIN_KERNEL(mul_scalar, number, BINARY_MUL)
HONE_PLAIN_KERNEL(div_scalar, number, BINARY_DIV)
HONE_PLAIN_KERNEL_RULE(accumulate, accumulate)
HONE_PLAIN_KERNEL_RULE(div_mode, rounded_quotient)
HONE_PLAIN_KERNEL_RULE(pow_tensor, power)
