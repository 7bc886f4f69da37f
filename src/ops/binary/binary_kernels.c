// SPDX-License-Identifier: Apache-2.0
// How sums, differences, products and quotients run on a GPU.
#include <string.h>

#include "ops/binary/binary.h"
#include "ops/shared/kernels.h"
#include "ops/shared/variants.h"

// The kernels of a function for elements of one type.
typedef struct entries {
    const char *same, *broadcast, *number;
} entries;
#define ENTRIES(name) {"binary." name "_same", "binary." name "_broadcast", "binary." name "_number"}

typedef struct function {
    entries real, whole;
} function;
static const function add = {ENTRIES("add_f32"), ENTRIES("add_i32")};
static const function sub = {ENTRIES("sub_f32"), ENTRIES("sub_i32")};
static const function mul = {ENTRIES("mul_f32"), ENTRIES("mul_i32")};
static const function quotient = {ENTRIES("div_f32"), {0}};

static bool is_real(const hone_op_call *call) {
    return hone_operand_tensor(call, 0)->type.dtype == HONE_DTYPE_F32;
}

// A number as the type of the elements has it.
static void word_of(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_op_call *call, double value) {
    if (is_real(call))
        hone_kernel_number(list, d, value);
    else
        hone_kernel_word(list, d, (int32_t)value);
}

static hone_kernel_dispatch *add_dispatch(const hone_op_call *call, hone_kernel_list *list, const char *entry,
                                          int64_t count) {
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, hone_kernel_groups(count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    if (call->operands[1].kind == HONE_ARGUMENT_TENSOR) hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_bind(list, d, &call->outputs[0]);
    return d;
}

static hone_kernel_dispatch *add_broadcast(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    const hone_tensor_type *const types[] = {&hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, types, 2);
    hone_kernel_dispatch *const d = add_dispatch(call, list, entry, broadcast.count);
    hone_kernel_broadcast(list, d, &broadcast);
    return d;
}

static void tensors(const hone_op_call *call, hone_kernel_list *list, const function *f) {
    const entries *const e = is_real(call) ? &f->real : &f->whole;
    const int64_t count = hone_type_elements(&call->outputs[0].type);
    const bool same = hone_type_elements(&hone_operand_tensor(call, 0)->type) == count &&
                      hone_type_elements(&hone_operand_tensor(call, 1)->type) == count;
    hone_kernel_dispatch *d;
    if (same) {
        d = add_dispatch(call, list, e->same, count);
        hone_kernel_word(list, d, count);
    } else {
        d = add_broadcast(call, list, e->broadcast);
    }
    const bool scaled = f == &add || f == &sub;
    word_of(list, d, call, scaled ? call->operands[2].real : 1);
}

static void number(const hone_op_call *call, hone_kernel_list *list, const function *f) {
    const int64_t count = hone_type_elements(&call->outputs[0].type);
    hone_kernel_dispatch *const d = add_dispatch(call, list, is_real(call) ? f->real.number : f->whole.number, count);
    hone_kernel_word(list, d, count);
    word_of(list, d, call, call->operand_count > 2 ? call->operands[2].real : 1);
    word_of(list, d, call, call->operands[1].real);
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

static void power(const hone_op_call *call, hone_kernel_list *list) {
    (void)add_broadcast(call, list, "quotient.power_f32");
}

static void rounded_quotient(const hone_op_call *call, hone_kernel_list *list) {
    const char *const mode = call->operands[2].string;
    if (!mode)
        tensors(call, list, &quotient);
    else if (strcmp(mode, "floor") == 0)
        (void)add_broadcast(call, list, is_real(call) ? "quotient.floor_f32" : "quotient.floor_i32");
    else
        (void)add_broadcast(call, list, is_real(call) ? "quotient.trunc_f32" : "quotient.trunc_i32");
}

HONE_PLAIN_KERNEL(add_tensor, tensors, &add)
HONE_PLAIN_KERNEL(sub_tensor, tensors, &sub)
HONE_PLAIN_KERNEL(mul_tensor, tensors, &mul)
HONE_PLAIN_KERNEL(div_tensor, tensors, &quotient)
HONE_PLAIN_KERNEL(add_scalar, number, &add)
HONE_PLAIN_KERNEL(sub_scalar, number, &sub)
HONE_PLAIN_KERNEL(mul_scalar, number, &mul)
HONE_PLAIN_KERNEL(div_scalar, number, &quotient)
HONE_PLAIN_KERNEL_RULE(accumulate, accumulate)
HONE_PLAIN_KERNEL_RULE(div_mode, rounded_quotient)
HONE_PLAIN_KERNEL_RULE(pow_tensor, power)
