// SPDX-License-Identifier: Apache-2.0
// Functions made of straight or bent pieces, and rounding. Slopes at the kinks are PyTorch's.
#include "ops/shared/math.h"
#include "ops/unary/unary.h"

HONE_INLINE float bounded(float x, float low, float high) {
    const float above = hone_select(x < low, low, x); // NaN passes
    return hone_select(above > high, high, above);
}

// Below 2^23 the sum with it has room for whole numbers only, and halves go to even ones. The sign is kept for what
// becomes 0.
HONE_INLINE float nearest(float x) {
    const float size = fabsf(x), magic = 8388608.0f; // from 2^23 on all floats are whole
    const float rounded = (size + magic) - magic;
    return copysignf(hone_select(size < magic, rounded, size), x);
}

HONE_INLINE float hardswish_of(float x) {
    return x * (bounded(x + 3.0f, 0.0f, 6.0f) / 6.0f);
}
HONE_INLINE float hardswish_slope(float d, float x) {
    const float bent = hone_select(x < 3.0f, d * (x / 3.0f + 0.5f), d);
    return hone_select(x <= -3.0f, 0.0f, bent);
}

HONE_UNARY_KERNEL(round_all, nearest(x))
HONE_UNARY_KERNEL(hardtanh, bounded(x, p, q))
HONE_UNARY_KERNEL(leaky_relu, hone_select(x > 0, x, x *p))
HONE_UNARY_KERNEL(hardswish, hardswish_of(x))
HONE_UNARY_DERIVATIVE(hardtanh_slope, hone_select((x <= p) | (x >= q), 0.0f, d))
HONE_UNARY_DERIVATIVE(leaky_relu_slope, hone_select(x > 0, d, d *p))
HONE_UNARY_DERIVATIVE(hardswish_slopes, hardswish_slope(d, x))

// --- shape rules -----------------------------------------------------------------------------------------------------
static hone_status check_bounds(const hone_op_call *call, size_t at, hone_error *error) {
    const hone_operand *const low = &call->operands[at], *const high = &call->operands[at + 1];
    HONE_OP_CHECK(low->live || high->live || low->real <= high->real, "min_val %g is above max_val %g", low->real,
                  high->real);
    return HONE_OK;
}

static hone_status hardtanh_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_bounds(call, 1, error));
    return hone_unary_infer(call, error);
}

static hone_status hardtanh_backward_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_bounds(call, 2, error));
    return hone_unary_infer_derivative(call, error);
}

// --- calls -----------------------------------------------------------------------------------------------------------
static void round_cpu(const hone_op_call *call) {
    hone_unary_apply(call, round_all, 0, 0);
}
static void hardtanh_cpu(const hone_op_call *call) {
    hone_unary_apply(call, hardtanh, (float)call->operands[1].real, (float)call->operands[2].real);
}
static void hardtanh_backward_cpu(const hone_op_call *call) {
    hone_unary_apply(call, hardtanh_slope, (float)call->operands[2].real, (float)call->operands[3].real);
}
static void leaky_relu_cpu(const hone_op_call *call) {
    hone_unary_apply(call, leaky_relu, (float)call->operands[1].real, 0);
}
static void leaky_relu_backward_cpu(const hone_op_call *call) {
    hone_unary_apply(call, leaky_relu_slope, (float)call->operands[2].real, 0);
}
static void hardswish_cpu(const hone_op_call *call) {
    hone_unary_apply(call, hardswish, 0, 0);
}
static void hardswish_backward_cpu(const hone_op_call *call) {
    hone_unary_apply(call, hardswish_slopes, 0, 0);
}

// --- gradients -------------------------------------------------------------------------------------------------------
static hone_status round_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_emit(call->graph, "aten::full_like", HONE_T(hone_grad_out(call, 0)), HONE_R(0));
    return HONE_OK;
}

static hone_status hardtanh_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::hardtanh_backward", HONE_T(hone_grad_out(call, 0)), HONE_T(hone_grad_in(call, 0)),
                  *hone_node_argument(call->node, 1), *hone_node_argument(call->node, 2));
    return HONE_OK;
}

static hone_status leaky_relu_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_emit(call->graph, "aten::leaky_relu_backward", HONE_T(hone_grad_out(call, 0)),
                                         HONE_T(hone_grad_in(call, 0)), *hone_node_argument(call->node, 1));
    return HONE_OK;
}

static hone_status hardswish_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_emit(call->graph, "aten::hardswish_backward", HONE_T(hone_grad_out(call, 0)),
                                         HONE_T(hone_grad_in(call, 0)));
    return HONE_OK;
}

// --- the operators ---------------------------------------------------------------------------------------------------
#define FUNCTION   .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE
#define DERIVATIVE .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1

const hone_op hone_op_round = {
    .schema = "aten::round(Tensor self) -> Tensor",
    .summary = "the nearest whole number, halves to even ones",
    FUNCTION,
    .infer = hone_unary_infer,
    .cpu = round_cpu,
    .gradient = round_gradient,
    .gradient_text = "0",
    .variants = hone_kernels_round,
};
const hone_op hone_op_hardtanh = {
    .schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    .summary = "x within [min_val, max_val]",
    FUNCTION,
    .infer = hardtanh_infer,
    .cpu = hardtanh_cpu,
    .gradient = hardtanh_gradient,
    .gradient_text = "d where min_val < x < max_val",
    .variants = hone_kernels_hardtanh,
};
const hone_op hone_op_hardtanh_backward = {
    .schema = "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    .summary = "grad_output where min_val < self < max_val, else 0",
    DERIVATIVE,
    .infer = hardtanh_backward_infer,
    .cpu = hardtanh_backward_cpu,
    .variants = hone_kernels_hardtanh_backward,
};
const hone_op hone_op_leaky_relu = {
    .schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    .summary = "x where x > 0, else negative_slope * x",
    FUNCTION,
    .infer = hone_unary_infer,
    .cpu = leaky_relu_cpu,
    .gradient = leaky_relu_gradient,
    .gradient_text = "d where x > 0, else negative_slope * d",
    .variants = hone_kernels_leaky_relu,
};
const hone_op hone_op_leaky_relu_backward = {
    .schema = "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope) -> Tensor",
    .summary = "grad_output where self > 0, else negative_slope * grad_output",
    DERIVATIVE,
    .infer = hone_unary_infer_derivative,
    .cpu = leaky_relu_backward_cpu,
    .variants = hone_kernels_leaky_relu_backward,
};
const hone_op hone_op_hardswish = {
    .schema = "aten::hardswish(Tensor self) -> Tensor",
    .summary = "x * (x + 3 within [0, 6]) / 6",
    FUNCTION,
    .infer = hone_unary_infer,
    .cpu = hardswish_cpu,
    .gradient = hardswish_gradient,
    .gradient_text = "0 where x <= -3, d where x >= 3, d * (x / 3 + 1 / 2) between",
    .variants = hone_kernels_hardswish,
};
const hone_op hone_op_hardswish_backward = {
    .schema = "aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    .summary = "0 where self <= -3, grad_output where self >= 3, grad_output * (self / 3 + 1 / 2) between",
    DERIVATIVE,
    .infer = hone_unary_infer_derivative,
    .cpu = hardswish_backward_cpu,
    .variants = hone_kernels_hardswish_backward,
};
