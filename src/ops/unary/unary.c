// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and the derivatives that need more than a product of what is there already.
#include "ops/unary/unary.h"

#include <math.h>
#include <string.h>

#include "ops/op.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

HONE_INLINE float sign_of(float x) {
    return hone_select(x > 0, 1.0f, hone_select(x < 0, -1.0f, x)); // NaN stays NaN
}
HONE_INLINE float within(float x, float low, float high) {
    const float above = hone_select(x < low, low, x); // NaN passes
    return hone_select(above > high, high, above);
}
// d/dx [x below(x)] = below(x) + x exp(-x^2 / 2) / sqrt(2 pi)
HONE_INLINE float gelu_slope(float x) {
    const float density = hone_exp(-0.5f * x * x) * 0.398942280f;
    return hone_normal_below(x) + hone_select(density > 0, x * density, 0.0f); // not infinity times 0
}
// x (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3): the sigmoid of 2u, so that no difference of near equals
// is taken for x < 0.
HONE_INLINE float gelu_share(float x) {
    return hone_sigmoid(1.595769122f * x * (1.0f + 0.044715f * x * x));
}
HONE_INLINE float gelu_tanh_slope(float x) {
    const float s = gelu_share(x), du = 1.595769122f * (1.0f + 0.134145f * x * x);
    const float bend = s * (1.0f - s);
    return s + hone_select(bend > 0, x * du * bend, 0.0f);
}

HONE_UNARY_KERNEL(relu, hone_select(x > 0, x, hone_select(x <= 0, 0.0f, x)))
HONE_UNARY_KERNEL(gelu, x *hone_normal_below(x))
HONE_UNARY_KERNEL(gelu_tanh, x *gelu_share(x))
HONE_UNARY_KERNEL(sigmoid, hone_sigmoid(x))
HONE_UNARY_KERNEL(exponential, hone_exp(x))
HONE_UNARY_KERNEL(logarithm, hone_log(x))
HONE_UNARY_KERNEL(root, __builtin_sqrtf(x))
HONE_UNARY_KERNEL(inverse_root, 1.0f / __builtin_sqrtf(x))
HONE_UNARY_KERNEL(negative, -x)
HONE_UNARY_KERNEL(absolute, fabsf(x))
HONE_UNARY_KERNEL(sign, sign_of(x))
HONE_UNARY_KERNEL(tangent, hone_tanh(x))
HONE_UNARY_KERNEL(silu, x / (1.0f + hone_exp(-x)))
HONE_UNARY_KERNEL(inverse, 1.0f / x)
HONE_UNARY_KERNEL(clamp, within(x, p, q))
HONE_UNARY_KERNEL(square, x *x)
HONE_UNARY_KERNEL(cube, x *x *x)

static void power(float *out, const float *in, const float *second, int64_t n, float p, float q) {
    (void)second;
    (void)q;
    for (int64_t i = 0; i < n; i++) out[i] = powf(in[i], p);
}

HONE_UNARY_DERIVATIVE(threshold_slope, hone_select(x <= p, 0.0f, d))
HONE_UNARY_DERIVATIVE(clamp_slope, hone_select((x < p) | (x > q), 0.0f, d))
HONE_UNARY_DERIVATIVE(gelu_derivative, d *gelu_slope(x))
HONE_UNARY_DERIVATIVE(gelu_tanh_derivative, d *gelu_tanh_slope(x))
HONE_UNARY_DERIVATIVE(sigmoid_derivative, d *(x * (1.0f - x)))
HONE_UNARY_DERIVATIVE(tangent_derivative, d * (1.0f - x * x))
HONE_UNARY_DERIVATIVE(silu_derivative, d *(hone_sigmoid(x) * (1.0f + x * (1.0f - hone_sigmoid(x)))))

typedef struct context {
    hone_unary_kernel *run;
    float *out;
    const float *x, *y;
    float p, q;
} context;

static void range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    c->run(c->out + begin, c->x + begin, c->y ? c->y + begin : 0, end - begin, c->p, c->q);
}

void hone_unary_apply(const hone_op_call *call, hone_unary_kernel *run, float p, float q) {
    const bool two = call->operand_count > 1 && call->operands[1].kind == HONE_ARGUMENT_TENSOR;
    context c = {.run = run, .out = call->outputs[0].data, .x = hone_operand_floats(call, 0), .p = p, .q = q};
    if (two) c.y = hone_operand_floats(call, 1);
    hone_call_elements(call, hone_type_elements(&call->outputs[0].type), range, &c);
}

// --- shape rules -----------------------------------------------------------------------------------------------------
hone_status hone_unary_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

hone_status hone_unary_infer_derivative(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_unary_infer(call, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_shape_equal(&hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type),
                  "shapes must be the same, not %s and %s", hone_op_type_text(hone_operand_tensor(call, 0)),
                  hone_op_type_text(hone_operand_tensor(call, 1)));
    return HONE_OK;
}

static bool is_tanh(const char *approximate) {
    return approximate && strcmp(approximate, "tanh") == 0;
}

static hone_status check_approximate(const hone_op_call *call, size_t at, hone_error *error) {
    const char *const text = call->operands[at].string;
    HONE_OP_CHECK(!text || is_tanh(text) || strcmp(text, "none") == 0, "approximate must be none or tanh, not '%s'",
                  text);
    return HONE_OK;
}

static hone_status infer_gelu(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_approximate(call, 1, error));
    return hone_unary_infer(call, error);
}

static hone_status infer_gelu_derivative(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_approximate(call, 2, error));
    return hone_unary_infer_derivative(call, error);
}

// --- calls and gradients ---------------------------------------------------------------------------------------------
static void cpu_gelu(const hone_op_call *call) {
    hone_unary_apply(call, is_tanh(call->operands[1].string) ? gelu_tanh : gelu, 0, 0);
}

static void cpu_gelu_derivative(const hone_op_call *call) {
    hone_unary_apply(call, is_tanh(call->operands[2].string) ? gelu_tanh_derivative : gelu_derivative, 0, 0);
}

static void cpu_threshold_backward(const hone_op_call *call) {
    hone_unary_apply(call, threshold_slope, (float)call->operands[2].real, 0);
}

static void with_bounds(const hone_op_call *call, hone_unary_kernel *run, size_t at) {
    const hone_operand *const low = &call->operands[at], *const high = &call->operands[at + 1];
    hone_unary_apply(call, run, low->kind == HONE_ARGUMENT_NONE ? -INFINITY : (float)low->real,
                     high->kind == HONE_ARGUMENT_NONE ? INFINITY : (float)high->real);
}

static void cpu_clamp(const hone_op_call *call) {
    if (!hone_unary_whole_clamp(call)) with_bounds(call, clamp, 1);
}
static void cpu_clamp_backward(const hone_op_call *call) {
    with_bounds(call, clamp_slope, 2);
}

// The exponents that models use are plain arithmetic, which keeps them exact and fast.
static void cpu_power(const hone_op_call *call) {
    const double e = call->operands[1].real;
    hone_unary_kernel *const run = e == 2      ? square
                                   : e == 3    ? cube
                                   : e == -1   ? inverse
                                   : e == 0.5  ? root
                                   : e == -0.5 ? inverse_root
                                               : power;
    hone_unary_apply(call, run, (float)e, 0);
}

static hone_value d_of(const hone_gradient_call *call) {
    return hone_grad_out(call, 0);
}
static hone_value self_of(const hone_gradient_call *call) {
    return hone_grad_in(call, 0);
}
static hone_value out_of(const hone_gradient_call *call) {
    return hone_node_output(call->node, 0);
}

static hone_value product(const hone_gradient_call *call, hone_value a, hone_value b) {
    return hone_emit(call->graph, "aten::mul.Tensor", HONE_T(a), HONE_T(b));
}

static hone_value times(const hone_gradient_call *call, hone_value a, double factor) {
    return hone_emit(call->graph, "aten::mul.Scalar", HONE_T(a), HONE_R(factor));
}

#define DEFINE_CPU(name, run)                                                                                          \
    static void cpu_##name(const hone_op_call *call) {                                                                 \
        hone_unary_apply(call, run, 0, 0);                                                                             \
    }
#define DEFINE_CPU_NUMBER(name, run)                                                                                   \
    static void cpu_##name(const hone_op_call *call) {                                                                 \
        if (!hone_unary_whole_##name(call)) hone_unary_apply(call, run, 0, 0);                                         \
    }
#define DEFINE_GRADIENT(name, value)                                                                                   \
    static hone_status grad_##name(const hone_gradient_call *call, hone_error *error) {                                \
        (void)error;                                                                                                   \
        call->input_gradients[0] = (value);                                                                            \
        return HONE_OK;                                                                                                \
    }

DEFINE_CPU_NUMBER(relu, relu)
DEFINE_GRADIENT(relu, hone_emit(call->graph, "aten::threshold_backward", HONE_T(d_of(call)), HONE_T(self_of(call)),
                                HONE_R(0)))
DEFINE_GRADIENT(gelu, hone_emit(call->graph, "aten::gelu_backward", HONE_T(d_of(call)), HONE_T(self_of(call)),
                                *hone_node_argument(call->node, 1)))
DEFINE_CPU(sigmoid, sigmoid)
DEFINE_CPU(sigmoid_backward, sigmoid_derivative)
DEFINE_GRADIENT(sigmoid, hone_emit(call->graph, "aten::sigmoid_backward", HONE_T(d_of(call)), HONE_T(out_of(call))))
DEFINE_CPU(exp, exponential)
DEFINE_GRADIENT(exp, product(call, d_of(call), out_of(call)))
DEFINE_CPU(log, logarithm)
DEFINE_GRADIENT(log, hone_emit(call->graph, "aten::div.Tensor", HONE_T(d_of(call)), HONE_T(self_of(call))))
DEFINE_CPU(sqrt, root)
DEFINE_GRADIENT(sqrt,
                times(call, hone_emit(call->graph, "aten::div.Tensor", HONE_T(d_of(call)), HONE_T(out_of(call))), 0.5))
DEFINE_CPU(rsqrt, inverse_root)
DEFINE_GRADIENT(rsqrt,
                times(call,
                      product(call, product(call, d_of(call), out_of(call)), product(call, out_of(call), out_of(call))),
                      -0.5))
DEFINE_CPU_NUMBER(neg, negative)
DEFINE_GRADIENT(neg, hone_emit(call->graph, "aten::neg", HONE_T(d_of(call))))
DEFINE_CPU_NUMBER(abs, absolute)
DEFINE_GRADIENT(abs, product(call, d_of(call), hone_emit(call->graph, "aten::sign", HONE_T(self_of(call)))))
DEFINE_CPU(sign, sign)
DEFINE_CPU(tanh, tangent)
DEFINE_CPU(tanh_backward, tangent_derivative)
DEFINE_GRADIENT(tanh, hone_emit(call->graph, "aten::tanh_backward", HONE_T(d_of(call)), HONE_T(out_of(call))))
DEFINE_CPU(silu, silu)
DEFINE_CPU(silu_backward, silu_derivative)
DEFINE_GRADIENT(silu, hone_emit(call->graph, "aten::silu_backward", HONE_T(d_of(call)), HONE_T(self_of(call))))
DEFINE_CPU(reciprocal, inverse)
DEFINE_GRADIENT(reciprocal, times(call, product(call, d_of(call), product(call, out_of(call), out_of(call))), -1))
DEFINE_GRADIENT(clamp, hone_emit(call->graph, "hone::clamp_backward", HONE_T(d_of(call)), HONE_T(self_of(call)),
                                 *hone_node_argument(call->node, 1), *hone_node_argument(call->node, 2)))

static hone_status grad_power(const hone_gradient_call *call, hone_error *error) {
    const hone_argument *const exponent = hone_node_argument(call->node, 1);
    if (exponent->kind == HONE_ARGUMENT_LIVE)
        HONE_FAIL(error, UNSUPPORTED, "aten::pow.Tensor_Scalar: a live exponent has no gradient");
    const double e = exponent->kind == HONE_ARGUMENT_REAL ? exponent->real : (double)exponent->integer;
    const hone_value lower = hone_emit(call->graph, "aten::pow.Tensor_Scalar", HONE_T(self_of(call)), HONE_R(e - 1));
    call->input_gradients[0] = times(call, product(call, d_of(call), lower), e);
    return HONE_OK;
}

// --- the operators ---------------------------------------------------------------------------------------------------
#define UNARY(id, rule, schema_, summary_, gradient_, text)                                                            \
    static const hone_op op_##id = {                                                                                   \
        .schema = schema_,                                                                                             \
        .summary = summary_,                                                                                           \
        .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,                                                                     \
        .infer = rule,                                                                                                 \
        .cpu = cpu_##id,                                                                                               \
        .gradient = gradient_,                                                                                         \
        .gradient_text = text,                                                                                         \
        .variants = hone_kernels_##id,                                                                                 \
    };
#define DERIVATIVE(id, schema_, summary_)                                                                              \
    static const hone_op op_##id = {                                                                                   \
        .schema = schema_,                                                                                             \
        .summary = summary_,                                                                                           \
        .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,                                                                \
        .infer = hone_unary_infer_derivative,                                                                          \
        .cpu = cpu_##id,                                                                                               \
        .variants = hone_kernels_##id,                                                                                 \
    };

UNARY(relu, hone_unary_infer_number, "aten::relu(Tensor self) -> Tensor", "max(x, 0)", grad_relu, "d where x > 0")
UNARY(sigmoid, hone_unary_infer, "aten::sigmoid(Tensor self) -> Tensor", "1 / (1 + exp(-x))", grad_sigmoid,
      "d * out * (1 - out)")
UNARY(exp, hone_unary_infer, "aten::exp(Tensor self) -> Tensor", "e^x", grad_exp, "d * out")
UNARY(log, hone_unary_infer, "aten::log(Tensor self) -> Tensor", "natural logarithm", grad_log, "d / x")
UNARY(sqrt, hone_unary_infer, "aten::sqrt(Tensor self) -> Tensor", "square root", grad_sqrt, "d / out / 2")
UNARY(rsqrt, hone_unary_infer, "aten::rsqrt(Tensor self) -> Tensor", "1 / sqrt(x)", grad_rsqrt, "-d * out^3 / 2")
UNARY(neg, hone_unary_infer_number, "aten::neg(Tensor self) -> Tensor", "-x", grad_neg, "-d")
UNARY(abs, hone_unary_infer_number, "aten::abs(Tensor self) -> Tensor", "|x|", grad_abs, "d * sign(x)")
UNARY(sign, hone_unary_infer, "aten::sign(Tensor self) -> Tensor", "-1, 0 or 1", 0, 0)
UNARY(tanh, hone_unary_infer, "aten::tanh(Tensor self) -> Tensor", "hyperbolic tangent", grad_tanh, "d * (1 - out^2)")
UNARY(silu, hone_unary_infer, "aten::silu(Tensor self) -> Tensor", "x / (1 + exp(-x))", grad_silu,
      "d * s * (1 + x * (1 - s))")
UNARY(reciprocal, hone_unary_infer, "aten::reciprocal(Tensor self) -> Tensor", "1 / x", grad_reciprocal, "-d * out^2")
UNARY(clamp, hone_unary_infer_number, "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
      "x within [min, max]", grad_clamp, "d where min <= x <= max")
UNARY(power, hone_unary_infer, "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", "x^exponent",
      grad_power, "d * exponent * x^(exponent - 1)")

DERIVATIVE(threshold_backward, "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
           "grad_output where self > threshold, else 0")
DERIVATIVE(clamp_backward,
           "hone::clamp_backward(Tensor grad_output, Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
           "grad_output where min <= self <= max, else 0")
DERIVATIVE(sigmoid_backward, "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
           "grad_output * output * (1 - output)")
DERIVATIVE(tanh_backward, "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
           "grad_output * (1 - output^2)")
DERIVATIVE(silu_backward, "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
           "grad_output * s * (1 + self * (1 - s)), s = sigmoid(self)")

static const hone_op op_gelu = {
    .schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
    .summary = "x times the share of a normal distribution below x; approximate 'tanh' as ATen",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = infer_gelu,
    .cpu = cpu_gelu,
    .gradient = grad_gelu,
    .gradient_text = "by aten::gelu_backward",
    .variants = hone_kernels_gelu,
};
static const hone_op op_gelu_backward = {
    .schema = "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
    .summary = "grad_output times the slope of gelu at self",
    .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer_gelu_derivative,
    .cpu = cpu_gelu_derivative,
    .variants = hone_kernels_gelu_backward,
};

const hone_op *const hone_ops_unary[] = {
    &op_relu,
    &op_gelu,
    &op_sigmoid,
    &op_exp,
    &op_log,
    &op_sqrt,
    &op_rsqrt,
    &op_neg,
    &op_abs,
    &op_sign,
    &op_tanh,
    &op_silu,
    &op_reciprocal,
    &op_clamp,
    &op_power,
    &op_threshold_backward,
    &op_clamp_backward,
    &op_gelu_backward,
    &op_sigmoid_backward,
    &op_tanh_backward,
    &op_silu_backward,
    &hone_op_silu_mul,
    &hone_op_silu_mul_backward,
    &hone_op_sin,
    &hone_op_cos,
    &hone_op_round,
    &hone_op_hardtanh,
    &hone_op_hardtanh_backward,
    &hone_op_leaky_relu,
    &hone_op_leaky_relu_backward,
    &hone_op_hardswish,
    &hone_op_hardswish_backward,
    0,
};
