// SPDX-License-Identifier: Apache-2.0
// Cases of functions of one element, and of the gated activation.
#include "ops/shared/cases.h"

static void silu_mul(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double g = run->inputs[0][i];
        run->outputs[0][i] = g / (1 + exp(-g)) * run->inputs[1][i];
    }
}

static void silu_mul_backward(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double d = run->inputs[0][i], g = run->inputs[1][i], u = run->inputs[2][i], s = 1 / (1 + exp(-g));
        run->outputs[0][i] = d * u * (s + g * s * (1 - s));
        run->outputs[1][i] = d * g * s;
    }
}

#define DEFINE_REFERENCE(name, expression)                                                                             \
    static void name(const hone_reference *run) {                                                                      \
        for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {                                         \
            const double x = run->inputs[0][i];                                                                        \
            run->outputs[0][i] = (expression);                                                                         \
        }                                                                                                              \
    }
// The gradient of the operator's output in input 0, what the second input is in input 1.
#define DEFINE_SLOPE(name, expression)                                                                                 \
    static void name(const hone_reference *run) {                                                                      \
        for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {                                         \
            const double x = run->inputs[1][i];                                                                        \
            run->outputs[0][i] = run->inputs[0][i] * (expression);                                                     \
        }                                                                                                              \
    }
static double gelu_tanh_of(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}
static double gelu_of(double x) {
    return 0.5 * x * erfc(-x / sqrt(2));
}
static double slope_of(double (*f)(double), double x) {
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5;
}
static double bound(const hone_argument *argument, double otherwise) {
    return hone_case_number(argument, otherwise);
}

DEFINE_REFERENCE(relu, x > 0 ? x : x <= 0 ? 0 : x)
DEFINE_REFERENCE(gelu, gelu_of(x))
DEFINE_REFERENCE(gelu_tanh, gelu_tanh_of(x))
DEFINE_REFERENCE(sigmoid, 1 / (1 + exp(-x)))
DEFINE_REFERENCE(exponential, exp(x))
DEFINE_REFERENCE(logarithm, log(x))
DEFINE_REFERENCE(root, sqrt(x))
DEFINE_REFERENCE(inverse_root, 1 / sqrt(x))
DEFINE_REFERENCE(negative, -x)
DEFINE_REFERENCE(absolute, fabs(x))
DEFINE_REFERENCE(sign, (x > 0) - (x < 0))
DEFINE_REFERENCE(tangent, tanh(x))
DEFINE_REFERENCE(silu, x / (1 + exp(-x)))
DEFINE_REFERENCE(inverse, 1 / x)
DEFINE_REFERENCE(clamp, fmin(fmax(x, bound(&run->arguments[1], -INFINITY)), bound(&run->arguments[2], INFINITY)))
DEFINE_REFERENCE(power, pow(x, hone_case_number(&run->arguments[1], 1)))
DEFINE_SLOPE(threshold_slope, x > hone_case_number(&run->arguments[2], 0))
DEFINE_SLOPE(clamp_slope, x >= bound(&run->arguments[2], -INFINITY) && x <= bound(&run->arguments[3], INFINITY))
DEFINE_SLOPE(gelu_slope, 0.5 * erfc(-x / sqrt(2)) + x * exp(-0.5 * x * x) / sqrt(2 * acos(-1)))
DEFINE_SLOPE(gelu_tanh_slope, slope_of(gelu_tanh_of, x))
DEFINE_SLOPE(sigmoid_slope, x * (1 - x))
DEFINE_SLOPE(tangent_slope, 1 - x * x)
DEFINE_SLOPE(silu_slope, (1 + x * (1 - 1 / (1 + exp(-x)))) / (1 + exp(-x)))

#define ONE(op_, name_, function, tolerance_, input, ...)                                                              \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_##tolerance_,                                                                         \
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT}
#define EDGE(op_, name_, function, tolerance_, input)                                                                  \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0)),                                                                                           \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_##tolerance_}
#define SLOPE(op_, name_, function, second, ...)                                                                       \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(HONE_F32(3, 37), second),                                                                             \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), __VA_ARGS__),                                                                  \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_EXP}
#define TANH  {.kind = HONE_ARGUMENT_STRING, .string = "tanh"}
#define EDGES HONE_F32_OF((NAN, INFINITY, -INFINITY, 0, 1e-30, -1e-30), 6)

#define GATED(name_, ...)                                                                                              \
    {"hone::silu_mul",                                                                                                 \
     name_,                                                                                                            \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     .reference = silu_mul,                                                                                            \
     .tolerance = HONE_TOLERANCE_EXP,                                                                                  \
     .gradient_tolerance = HONE_TOLERANCE_EXP,                                                                         \
     __VA_ARGS__}

#define TIMED(op_, function, input, ...)                                                                               \
    {op_,                                                                                                              \
     "512 x 1536",                                                                                                     \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_EXP,                                                                                  \
     .bench_only = true}
#define TIMED_SLOPE(op_, function, ...)                                                                                \
    {op_,                                                                                                              \
     "512 x 1536",                                                                                                     \
     HONE_INPUTS(REALS, REALS),                                                                                        \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), __VA_ARGS__),                                                                  \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_EXP,                                                                                  \
     .bench_only = true}
#define REALS    HONE_F32_IN(-8, 8, 512, 1536)
#define POSITIVE HONE_F32_IN(0.1, 9, 512, 1536)

const hone_op_case hone_cases_unary[] = {
    ONE("aten::relu", "odd", relu, SIMPLE, HONE_F32(7, 13)),
    EDGE("aten::relu", "edges", relu, SIMPLE, EDGES),
    ONE("aten::gelu", "odd", gelu, EXP, HONE_F32_IN(-6, 6, 7, 13)),
    ONE("aten::gelu", "wide range", gelu, EXP, HONE_F32_IN(-100, 100, 99)),
    ONE("aten::gelu", "tail", gelu, EXP, HONE_F32_IN(-6, -3, 99)),
    ONE("aten::gelu", "tanh", gelu_tanh, EXP, HONE_F32_IN(-6, 6, 7, 13), TANH),
    ONE("aten::gelu", "tanh, wide range", gelu_tanh, EXP, HONE_F32_IN(-100, 100, 99), TANH),
    ONE("aten::sigmoid", "odd", sigmoid, EXP, HONE_F32_IN(-9, 9, 7, 13)),
    EDGE("aten::sigmoid", "edges", sigmoid, EXP, EDGES),
    EDGE("aten::sigmoid", "1e30", sigmoid, EXP, HONE_F32_OF((1e30, -1e30, 100, -100), 4)),
    ONE("aten::exp", "odd", exponential, EXP, HONE_F32_IN(-9, 2, 7, 13)),
    EDGE("aten::exp", "edges", exponential, EXP, EDGES),
    EDGE("aten::exp", "down to 0", exponential, EXP, HONE_F32_IN(-110, -80, 999)),
    EDGE("aten::exp", "up to the largest", exponential, EXP, HONE_F32_IN(80, 88.7, 999)),
    ONE("aten::log", "odd", logarithm, EXP, HONE_F32_IN(0.01, 9, 7, 13)),
    EDGE("aten::log", "near 1", logarithm, EXP, HONE_F32_IN(0.99, 1.01, 999)),
    EDGE("aten::log", "edges", logarithm, EXP, HONE_F32_OF((NAN, INFINITY, -INFINITY, 0, -1, 1e-40, 1e38, 1), 8)),
    ONE("aten::sqrt", "odd", root, SIMPLE, HONE_F32_IN(0.01, 9, 7, 13)),
    EDGE("aten::sqrt", "edges", root, SIMPLE, EDGES),
    ONE("aten::rsqrt", "odd", inverse_root, SIMPLE, HONE_F32_IN(0.1, 9, 7, 13)),
    ONE("aten::neg", "odd", negative, SIMPLE, HONE_F32(7, 13)),
    ONE("aten::abs", "odd", absolute, SIMPLE, HONE_F32(7, 13)),
    EDGE("aten::sign", "odd", sign, SIMPLE, HONE_F32_OF((-0.5, 0, 3, -1e-30, 1e30), 7, 13)),
    EDGE("aten::sign", "edges", sign, SIMPLE, HONE_F32_OF((1e-45, -1e-45, 0, -0.0, INFINITY, -INFINITY), 7)),
    ONE("aten::tanh", "odd", tangent, EXP, HONE_F32_IN(-4, 4, 7, 13)),
    ONE("aten::tanh", "small", tangent, EXP, HONE_F32_IN(-1e-3, 1e-3, 99)),
    EDGE("aten::tanh", "edges", tangent, EXP, EDGES),
    ONE("aten::silu", "odd", silu, EXP, HONE_F32_IN(-9, 9, 7, 13)),
    EDGE("aten::silu", "empty", silu, EXP, HONE_F32(0)),
    ONE("aten::reciprocal", "odd", inverse, SIMPLE, HONE_F32_IN(0.2, 3, 7, 13)),
    ONE("aten::clamp", "both bounds", clamp, SIMPLE, HONE_F32(7, 13), HONE_CASE_R(-0.25), HONE_CASE_R(0.5)),
    ONE("aten::clamp", "above only", clamp, SIMPLE, HONE_F32(7, 13), HONE_CASE_NO, HONE_CASE_I(0)),
    ONE("aten::clamp", "below only", clamp, SIMPLE, HONE_F32(7, 13), HONE_CASE_R(0.1)),
    ONE("aten::pow.Tensor_Scalar", "2", power, SIMPLE, HONE_F32(7, 13), HONE_CASE_I(2)),
    ONE("aten::pow.Tensor_Scalar", "3", power, SIMPLE, HONE_F32(7, 13), HONE_CASE_R(3)),
    ONE("aten::pow.Tensor_Scalar", "-0.5", power, EXP, HONE_F32_IN(0.2, 4, 33), HONE_CASE_R(-0.5)),
    ONE("aten::pow.Tensor_Scalar", "2.5", power, EXP, HONE_F32_IN(0.2, 4, 33), HONE_CASE_R(2.5)),
    ONE("aten::pow.Tensor_Scalar", "1", power, EXP, HONE_F32_IN(0.2, 4, 33), HONE_CASE_R(1)),
    SLOPE("aten::threshold_backward", "0.25", threshold_slope, HONE_F32(3, 37), HONE_CASE_R(0.25)),
    SLOPE("hone::clamp_backward", "both bounds", clamp_slope, HONE_F32(3, 37), HONE_CASE_R(-0.5), HONE_CASE_R(0.5)),
    SLOPE("aten::gelu_backward", "exact", gelu_slope, HONE_F32_IN(-6, 6, 3, 37)),
    SLOPE("aten::gelu_backward", "tanh", gelu_tanh_slope, HONE_F32_IN(-6, 6, 3, 37), TANH),
    SLOPE("aten::gelu_backward", "1e30", gelu_slope, HONE_F32_OF((1e30, -1e30, 50, -50), 3, 37)),
    SLOPE("aten::sigmoid_backward", "outputs", sigmoid_slope, HONE_F32_IN(0.0001, 1, 3, 37)),
    SLOPE("aten::tanh_backward", "outputs", tangent_slope, HONE_F32(3, 37)),
    SLOPE("aten::silu_backward", "odd", silu_slope, HONE_F32_IN(-9, 9, 3, 37)),
    GATED("odd", HONE_INPUTS(HONE_F32_IN(-8, 8, 7, 13), HONE_F32(7, 13))),
    GATED("wide range", HONE_INPUTS(HONE_F32_IN(-200, 200, 333), HONE_F32(333))),
    GATED("one element", HONE_INPUTS(HONE_F32_SCALAR, HONE_F32_SCALAR)),
    GATED("empty", HONE_INPUTS(HONE_F32(0, 5), HONE_F32(0, 5))),
    {"hone::silu_mul", "1e30", HONE_INPUTS(HONE_F32_OF((-1e30, 1e30, 0), 3), HONE_F32(3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = silu_mul, .tolerance = HONE_TOLERANCE_EXP},
    GATED("SmolLM2, 512 tokens", HONE_INPUTS(HONE_F32_IN(-8, 8, 512, 1536), HONE_F32(512, 1536)), .bench_only = true,
          .bench_flop = 512 * 1536 * 20),
    {"hone::silu_mul_backward", "several blocks",
     HONE_INPUTS(HONE_F32(3, 12345), HONE_F32_IN(-9, 9, 3, 12345), HONE_F32(3, 12345)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = silu_mul_backward, .tolerance = HONE_TOLERANCE_EXP},
    {"hone::silu_mul_backward", "1e30", HONE_INPUTS(HONE_F32(3), HONE_F32_OF((-1e30, 1e30, -0.5), 3), HONE_F32(3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = silu_mul_backward, .tolerance = HONE_TOLERANCE_EXP},
    {"hone::silu_mul_backward", "SmolLM2, 512 tokens",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32_IN(-9, 9, 512, 1536), HONE_F32(512, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = silu_mul_backward, .tolerance = HONE_TOLERANCE_EXP,
     .bench_only = true, .bench_flop = 512 * 1536 * 26},
    EDGE("aten::log", "subnormal", logarithm, EXP, HONE_F32_OF((1e-45, 1e-40, 1.17e-38, 3e-42), 8)),
    {"aten::pow.Tensor_Scalar", "1.5 of 0, infinity, negative and large numbers",
     HONE_INPUTS(HONE_F32_OF((0, INFINITY, -1, NAN, 1e20, 3e25), 7)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(1.5)),
     .reference = power, .tolerance = HONE_TOLERANCE_EXP},
    TIMED("aten::relu", relu, REALS),
    TIMED("aten::gelu", gelu, REALS),
    TIMED("aten::sigmoid", sigmoid, REALS),
    TIMED("aten::exp", exponential, REALS),
    TIMED("aten::log", logarithm, POSITIVE),
    TIMED("aten::sqrt", root, POSITIVE),
    TIMED("aten::rsqrt", inverse_root, POSITIVE),
    TIMED("aten::neg", negative, REALS),
    TIMED("aten::abs", absolute, REALS),
    TIMED("aten::sign", sign, REALS),
    TIMED("aten::tanh", tangent, REALS),
    TIMED("aten::silu", silu, REALS),
    TIMED("aten::reciprocal", inverse, POSITIVE),
    TIMED("aten::clamp", clamp, REALS, HONE_CASE_R(-1), HONE_CASE_R(1)),
    TIMED("aten::pow.Tensor_Scalar", power, POSITIVE, HONE_CASE_R(2.5)),
    TIMED_SLOPE("aten::threshold_backward", threshold_slope, HONE_CASE_R(0.25)),
    TIMED_SLOPE("hone::clamp_backward", clamp_slope, HONE_CASE_R(-0.5), HONE_CASE_R(0.5)),
    TIMED_SLOPE("aten::gelu_backward", gelu_slope),
    TIMED_SLOPE("aten::sigmoid_backward", sigmoid_slope),
    TIMED_SLOPE("aten::tanh_backward", tangent_slope),
    TIMED_SLOPE("aten::silu_backward", silu_slope),
    {0},
};
