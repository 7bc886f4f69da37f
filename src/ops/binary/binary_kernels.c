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

static hone_kernel_dispatch *add_broadcast(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, entry, hone_kernel_groups(broadcast.count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, a);
    hone_kernel_bind(list, d, b);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_broadcast(list, d, &broadcast);
    return d;
}

// Dispatches over elements at the same places of all tensors; `b` is NULL where a number stands for it.
static void add_parts(const hone_op_call *call, hone_kernel_list *list, const char *entry, const hone_tensor *b,
                      double alpha) {
    const int64_t count = hone_type_elements(&call->outputs[0].type);
    for (int64_t first = 0, n; first < count; first += n) {
        n = hone_kernel_part(list, call, first, count);
        hone_kernel_dispatch *const d = hone_kernel_add(list, entry, hone_kernel_groups(n, HONE_KERNEL_THREADS));
        hone_kernel_bind_elements(list, d, hone_operand_tensor(call, 0), first, n);
        if (b) hone_kernel_bind_elements(list, d, b, first, n);
        hone_kernel_bind_elements(list, d, &call->outputs[0], first, n);
        hone_kernel_word(list, d, n);
        word_of(list, d, call, alpha);
        if (!b) word_of(list, d, call, call->operands[1].real);
    }
}

static double alpha_of(const hone_op_call *call, const function *f) {
    const bool scaled = f == &add || f == &sub;
    return scaled && call->operand_count > 2 ? call->operands[2].real : 1;
}

static void tensors(const hone_op_call *call, hone_kernel_list *list, const function *f) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    const entries *const e = is_real(call) ? &f->real : &f->whole;
    const int64_t count = hone_type_elements(&call->outputs[0].type);
    if (hone_type_elements(&a->type) == count && hone_type_elements(&b->type) == count)
        add_parts(call, list, e->same, b, alpha_of(call, f));
    else
        word_of(list, add_broadcast(call, list, e->broadcast), call, alpha_of(call, f));
}

static void number(const hone_op_call *call, hone_kernel_list *list, const function *f) {
    add_parts(call, list, is_real(call) ? f->real.number : f->whole.number, NULL, alpha_of(call, f));
}

static void accumulate(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const into = hone_operand_tensor(call, 0);
    const int64_t count = hone_type_elements(&into->type);
    for (int64_t first = 0, n; first < count; first += n) {
        n = hone_kernel_part(list, call, first, count);
        hone_kernel_dispatch *const d =
            hone_kernel_add(list, "binary.accumulate_f32", hone_kernel_groups(n, HONE_KERNEL_THREADS));
        hone_kernel_bind_elements(list, d, into, first, n);
        hone_kernel_bind_elements(list, d, hone_operand_tensor(call, 1), first, n);
        hone_kernel_word(list, d, n);
    }
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
