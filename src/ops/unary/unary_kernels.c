// SPDX-License-Identifier: Apache-2.0
// How functions of one element run on a GPU.
#include <math.h>
#include <string.h>

#include "ops/shared/kernels.h"
#include "ops/unary/unary.h"
#include "ops/unary/unary_words.h"

static hone_kernel_dispatch *add(const hone_op_call *call, hone_kernel_list *list, const char *entry) {
    const int64_t count = hone_type_elements(&call->outputs[0].type);
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, hone_kernel_groups(count, HONE_KERNEL_THREADS));
    for (size_t i = 0; i < call->operand_count; i++) {
        if (call->operands[i].kind == HONE_ARGUMENT_TENSOR) hone_kernel_bind(list, d, call->operands[i].tensors);
    }
    for (size_t i = 0; i < call->output_count; i++) hone_kernel_bind(list, d, &call->outputs[i]);
    hone_kernel_word(list, d, count);
    return d;
}

static void real(const hone_op_call *call, hone_kernel_list *list, const char *entry, int code, double p, double q) {
    hone_kernel_dispatch *const d = add(call, list, entry);
    hone_kernel_word(list, d, code);
    hone_kernel_number(list, d, p);
    hone_kernel_number(list, d, q);
}

static void function(const hone_op_call *call, hone_kernel_list *list, int code) {
    real(call, list, "unary.unary_f32", code, 0, 0);
}
static void sine(const hone_op_call *call, hone_kernel_list *list, int code) {
    real(call, list, "unary.sine_f32", code, 0, 0);
}
static void slope(const hone_op_call *call, hone_kernel_list *list, int code) {
    real(call, list, "unary.slope_f32", code, 0, 0);
}

static bool is_whole(const hone_op_call *call) {
    return hone_operand_tensor(call, 0)->type.dtype == HONE_DTYPE_I32;
}

// f32 or i32.
static void either(const hone_op_call *call, hone_kernel_list *list, int code) {
    if (!is_whole(call)) {
        function(call, list, code);
        return;
    }
    hone_kernel_dispatch *const d = add(call, list, "unary.unary_i32");
    hone_kernel_word(list, d, code);
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
        real(call, list, "unary.unary_f32", UNARY_CLAMP, bound(&call->operands[1], -INFINITY),
             bound(&call->operands[2], INFINITY));
        return;
    }
    hone_kernel_dispatch *const d = add(call, list, "unary.unary_i32");
    hone_kernel_word(list, d, UNARY_CLAMP);
    hone_kernel_word(list, d, whole_bound(&call->operands[1], INT32_MIN));
    hone_kernel_word(list, d, whole_bound(&call->operands[2], INT32_MAX));
}

static void bounded(const hone_op_call *call, hone_kernel_list *list, int code) {
    real(call, list, "unary.unary_f32", code, call->operands[1].real,
         call->operand_count > 2 ? call->operands[2].real : 0);
}
static void bounded_slope(const hone_op_call *call, hone_kernel_list *list, int code) {
    real(call, list, "unary.slope_f32", code, bound(&call->operands[2], -INFINITY),
         call->operand_count > 3 ? bound(&call->operands[3], INFINITY) : 0);
}

static bool is_tanh(const hone_operand *approximate) {
    return approximate->string && strcmp(approximate->string, "tanh") == 0;
}
static void gelu(const hone_op_call *call, hone_kernel_list *list) {
    function(call, list, is_tanh(&call->operands[1]) ? UNARY_GELU_TANH : UNARY_GELU);
}
static void gelu_slope(const hone_op_call *call, hone_kernel_list *list) {
    slope(call, list, is_tanh(&call->operands[2]) ? SLOPE_GELU_TANH : SLOPE_GELU);
}

static void power(const hone_op_call *call, hone_kernel_list *list) {
    const double e = call->operands[1].real;
    const int code = e == 2      ? UNARY_SQUARE
                     : e == 3    ? UNARY_CUBE
                     : e == -1   ? UNARY_RECIPROCAL
                     : e == 0.5  ? UNARY_SQRT
                     : e == -0.5 ? UNARY_RSQRT
                                 : UNARY_POW;
    real(call, list, code == UNARY_POW ? "unary.power_f32" : "unary.unary_f32", code, e, 0);
}

static void gated(const hone_op_call *call, hone_kernel_list *list) {
    (void)add(call, list, call->output_count == 1 ? "unary.silu_mul" : "unary.silu_mul_backward");
}

HONE_PLAIN_KERNEL(relu, either, UNARY_RELU)
HONE_PLAIN_KERNEL(neg, either, UNARY_NEG)
HONE_PLAIN_KERNEL(abs, either, UNARY_ABS)
HONE_PLAIN_KERNEL(sigmoid, function, UNARY_SIGMOID)
HONE_PLAIN_KERNEL(exp, function, UNARY_EXP)
HONE_PLAIN_KERNEL(log, function, UNARY_LOG)
HONE_PLAIN_KERNEL(sqrt, function, UNARY_SQRT)
HONE_PLAIN_KERNEL(rsqrt, function, UNARY_RSQRT)
HONE_PLAIN_KERNEL(sin, sine, UNARY_SIN)
HONE_PLAIN_KERNEL(cos, sine, UNARY_COS)
HONE_PLAIN_KERNEL(sign, function, UNARY_SIGN)
HONE_PLAIN_KERNEL(tanh, function, UNARY_TANH)
HONE_PLAIN_KERNEL(silu, function, UNARY_SILU)
HONE_PLAIN_KERNEL(reciprocal, function, UNARY_RECIPROCAL)
HONE_PLAIN_KERNEL(round, function, UNARY_ROUND)
HONE_PLAIN_KERNEL(hardswish, function, UNARY_HARDSWISH)
HONE_PLAIN_KERNEL(hardtanh, bounded, UNARY_CLAMP)
HONE_PLAIN_KERNEL(leaky_relu, bounded, UNARY_LEAKY_RELU)
HONE_PLAIN_KERNEL(sigmoid_backward, slope, SLOPE_SIGMOID)
HONE_PLAIN_KERNEL(tanh_backward, slope, SLOPE_TANH)
HONE_PLAIN_KERNEL(silu_backward, slope, SLOPE_SILU)
HONE_PLAIN_KERNEL(hardswish_backward, slope, SLOPE_HARDSWISH)
HONE_PLAIN_KERNEL(threshold_backward, bounded_slope, SLOPE_THRESHOLD)
HONE_PLAIN_KERNEL(clamp_backward, bounded_slope, SLOPE_CLAMP)
HONE_PLAIN_KERNEL(hardtanh_backward, bounded_slope, SLOPE_HARDTANH)
HONE_PLAIN_KERNEL(leaky_relu_backward, bounded_slope, SLOPE_LEAKY_RELU)
HONE_PLAIN_KERNEL_RULE(gelu, gelu)
HONE_PLAIN_KERNEL_RULE(gelu_backward, gelu_slope)
HONE_PLAIN_KERNEL_RULE(power, power)
HONE_PLAIN_KERNEL_RULE(clamp, clamp)
HONE_PLAIN_KERNEL_RULE(silu_mul, gated)
HONE_PLAIN_KERNEL_RULE(silu_mul_backward, gated)
