// SPDX-License-Identifier: Apache-2.0
// How functions of one element run on a GPU.
#include <math.h>
#include <string.h>

#include "ops/shared/kernels.h"
#include "ops/unary/unary.h"

// Two words besides the count, which most kernels do not read.
static void add(const hone_op_call *call, hone_kernel_list *list, const char *entry, const uint32_t *words) {
    const int64_t count = hone_type_elements(&call->outputs[0].type);
    for (int64_t first = 0, n; first < count; first += n) {
        n = hone_kernel_part(list, call, first, count);
        hone_kernel_dispatch *const d = hone_kernel_add(list, entry, hone_kernel_groups(n, HONE_KERNEL_THREADS));
        for (size_t i = 0; i < call->operand_count; i++) {
            if (call->operands[i].kind == HONE_ARGUMENT_TENSOR)
                hone_kernel_bind_elements(list, d, call->operands[i].tensors, first, n);
        }
        for (size_t i = 0; i < call->output_count; i++) hone_kernel_bind_elements(list, d, &call->outputs[i], first, n);
        hone_kernel_word(list, d, n);
        for (size_t i = 0; i < 2; i++) hone_kernel_word(list, d, words[i]);
    }
}

static void plain(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    add(call, list, entry, (const uint32_t[2]){0});
}

static void with_numbers(const hone_op_call *call, hone_kernel_list *list, const char *entry, double p, double q) {
    const float numbers[2] = {(float)p, (float)q};
    uint32_t words[2];
    memcpy(words, numbers, sizeof(words));
    add(call, list, entry, words);
}

static bool is_whole(const hone_op_call *call) {
    return hone_operand_tensor(call, 0)->type.dtype == HONE_DTYPE_I32;
}

static void either(const hone_op_call *call, hone_kernel_list *list, const char *real, const char *whole) {
    plain(call, list, is_whole(call) ? whole : real);
}

static double bound(const hone_operand *number, double otherwise) {
    return number->kind == HONE_ARGUMENT_NONE ? otherwise : number->real;
}

static int32_t whole_bound(const hone_operand *number, int32_t otherwise) {
    const double value = bound(number, otherwise);
    return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static void clamp(const hone_op_call *call, hone_kernel_list *list) {
    if (!is_whole(call)) {
        with_numbers(call, list, "unary.clamp_f32", bound(&call->operands[1], -INFINITY),
                     bound(&call->operands[2], INFINITY));
        return;
    }
    add(call, list, "unary.clamp_i32",
        (const uint32_t[]){(uint32_t)whole_bound(&call->operands[1], INT32_MIN),
                           (uint32_t)whole_bound(&call->operands[2], INT32_MAX)});
}

static void bounded(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    with_numbers(call, list, entry, call->operands[1].real, call->operand_count > 2 ? call->operands[2].real : 0);
}
static void bounded_slope(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    with_numbers(call, list, entry, bound(&call->operands[2], -INFINITY),
                 call->operand_count > 3 ? bound(&call->operands[3], INFINITY) : 0);
}

static bool is_tanh(const hone_operand *approximate) {
    return approximate->string && strcmp(approximate->string, "tanh") == 0;
}
static void gelu(const hone_op_call *call, hone_kernel_list *list) {
    plain(call, list, is_tanh(&call->operands[1]) ? "unary.gelu_tanh_f32" : "unary.gelu_f32");
}
static void gelu_slope(const hone_op_call *call, hone_kernel_list *list) {
    plain(call, list, is_tanh(&call->operands[2]) ? "unary.gelu_tanh_slope_f32" : "unary.gelu_slope_f32");
}

static void power(const hone_op_call *call, hone_kernel_list *list) {
    const double e = call->operands[1].real;
    const bool live = call->operands[1].live; // the kernel cannot depend on it
    const char *const entry = live        ? "unary.pow_f32"
                              : e == 2    ? "unary.square_f32"
                              : e == 3    ? "unary.cube_f32"
                              : e == -1   ? "unary.reciprocal_f32"
                              : e == 0.5  ? "unary.sqrt_f32"
                              : e == -0.5 ? "unary.rsqrt_f32"
                                          : "unary.pow_f32";
    with_numbers(call, list, entry, e, 0);
}

static void gated(const hone_op_call *call, hone_kernel_list *list) {
    plain(call, list, call->output_count == 1 ? "unary.silu_mul" : "unary.silu_mul_backward");
}

HONE_PLAIN_KERNEL(relu, either, "unary.relu_f32", "unary.relu_i32")
HONE_PLAIN_KERNEL(neg, either, "unary.neg_f32", "unary.neg_i32")
HONE_PLAIN_KERNEL(abs, either, "unary.abs_f32", "unary.abs_i32")
HONE_PLAIN_KERNEL(sigmoid, plain, "unary.sigmoid_f32")
HONE_PLAIN_KERNEL(exp, plain, "unary.exp_f32")
HONE_PLAIN_KERNEL(log, plain, "unary.log_f32")
HONE_PLAIN_KERNEL(sqrt, plain, "unary.sqrt_f32")
HONE_PLAIN_KERNEL(rsqrt, plain, "unary.rsqrt_f32")
HONE_PLAIN_KERNEL(sin, plain, "unary.sin_f32")
HONE_PLAIN_KERNEL(cos, plain, "unary.cos_f32")
HONE_PLAIN_KERNEL(sign, plain, "unary.sign_f32")
HONE_PLAIN_KERNEL(tanh, plain, "unary.tanh_f32")
HONE_PLAIN_KERNEL(silu, plain, "unary.silu_f32")
HONE_PLAIN_KERNEL(reciprocal, plain, "unary.reciprocal_f32")
HONE_PLAIN_KERNEL(round, plain, "unary.round_f32")
HONE_PLAIN_KERNEL(hardswish, plain, "unary.hardswish_f32")
HONE_PLAIN_KERNEL(hardtanh, bounded, "unary.clamp_f32")
HONE_PLAIN_KERNEL(leaky_relu, bounded, "unary.leaky_relu_f32")
HONE_PLAIN_KERNEL(sigmoid_backward, plain, "unary.sigmoid_slope_f32")
HONE_PLAIN_KERNEL(tanh_backward, plain, "unary.tanh_slope_f32")
HONE_PLAIN_KERNEL(silu_backward, plain, "unary.silu_slope_f32")
HONE_PLAIN_KERNEL(hardswish_backward, plain, "unary.hardswish_slope_f32")
HONE_PLAIN_KERNEL(threshold_backward, bounded_slope, "unary.threshold_slope_f32")
HONE_PLAIN_KERNEL(clamp_backward, bounded_slope, "unary.clamp_slope_f32")
HONE_PLAIN_KERNEL(hardtanh_backward, bounded_slope, "unary.hardtanh_slope_f32")
HONE_PLAIN_KERNEL(leaky_relu_backward, bounded_slope, "unary.leaky_relu_slope_f32")
HONE_PLAIN_KERNEL_RULE(gelu, gelu)
HONE_PLAIN_KERNEL_RULE(gelu_backward, gelu_slope)
HONE_PLAIN_KERNEL_RULE(power, power)
HONE_PLAIN_KERNEL_RULE(clamp, clamp)
HONE_PLAIN_KERNEL_RULE(silu_mul, gated)
HONE_PLAIN_KERNEL_RULE(silu_mul_backward, gated)
