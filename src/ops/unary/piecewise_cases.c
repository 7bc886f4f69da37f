// SPDX-License-Identifier: Apache-2.0
// Cases of functions made of pieces, of sines and cosines, and of whole numbers.
#include "ops/shared/cases.h"

#define DEFINE_REFERENCE(name, expression)                                                                             \
    static void name(const hone_reference *run) {                                                                      \
        for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {                                         \
            const double x = run->inputs[0][i];                                                                        \
            run->outputs[0][i] = (expression);                                                                         \
        }                                                                                                              \
    }
// The gradient in input 0, x in input 1.
#define DEFINE_SLOPE(name, expression)                                                                                 \
    static void name(const hone_reference *run) {                                                                      \
        for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {                                         \
            const double d = run->inputs[0][i], x = run->inputs[1][i];                                                 \
            run->outputs[0][i] = (expression);                                                                         \
        }                                                                                                              \
    }
#define NUMBER(at, otherwise) hone_case_number(&run->arguments[at], otherwise)

static double nearest_even(double x) {
    const double below = floor(x), rest = x - below;
    return below + (rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0));
}

static double cut(double x, double low, double high) {
    return x < low ? (low < high ? low : high) : x > high ? high : x;
}

DEFINE_REFERENCE(sine, sin(x))
DEFINE_REFERENCE(cosine, cos(x))
DEFINE_REFERENCE(nearest, isfinite(x) ? nearest_even(x) : x)
DEFINE_REFERENCE(hardtanh, cut(x, NUMBER(1, -1), NUMBER(2, 1)))
DEFINE_REFERENCE(leaky, x > 0 ? x : (float)NUMBER(1, 0.01) * x)
DEFINE_REFERENCE(hardswish, x <= -3 ? 0 * x : x >= 3 ? x : x * (x + 3) / 6)
DEFINE_REFERENCE(absolute, x == -2147483648.0 ? x : fabs(x))
DEFINE_REFERENCE(opposite, x == -2147483648.0 ? x : -x)
DEFINE_REFERENCE(positive, x > 0 ? x : 0)
DEFINE_REFERENCE(clamp, cut(x, NUMBER(1, -INFINITY), NUMBER(2, INFINITY)))
DEFINE_SLOPE(hardtanh_slope, x <= NUMBER(2, 0) || x >= NUMBER(3, 0) ? 0 : d)
DEFINE_SLOPE(leaky_slope, x > 0 ? d : (float)NUMBER(2, 0) * d)
DEFINE_SLOPE(hardswish_slope, x <= -3 ? 0 : x >= 3 ? d : d * (x / 3 + 0.5))

#define ONE(op_, name_, function, tolerance_, input, ...)                                                              \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_##tolerance_,                                                                         \
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT}
#define EDGE(op_, name_, function, tolerance_, input, ...)                                                             \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_##tolerance_}
#define EXACT(op_, name_, function, input, ...)                                                                        \
    {op_, name_, HONE_INPUTS(input), HONE_TAKES(HONE_IN(0), __VA_ARGS__), .reference = function}
#define SLOPE(op_, name_, function, second, ...)                                                                       \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(HONE_F32(3, 37), second),                                                                             \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), __VA_ARGS__),                                                                  \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE}
#define EDGES  HONE_F32_OF((NAN, INFINITY, -INFINITY, 0, -0.0, 1e-30, -1e-30, 1e-45), 9)
#define WHOLES HONE_I32_OF((0, 1, -1, 7, -7, 2147483647, -2147483648, -2147483647, 1000000), 4, 13)
#define HALVES                                                                                                         \
    HONE_F32_OF((0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.49999997, 0.50000006, 8388607.5, -8388606.5,          \
                 4194303.5, 4194302.5, 4194304.5, 8388609, 16777217, 3e9, -1e30, NAN, INFINITY, -INFINITY, 0, -0.0,    \
                 1e-45),                                                                                               \
                5, 24)

#define TIMED(op_, function, tolerance_)                                                                               \
    {op_,                                                                                                              \
     "512 x 1536",                                                                                                     \
     HONE_INPUTS(HONE_F32_IN(-9, 9, 512, 1536)),                                                                       \
     HONE_TAKES(HONE_IN(0)),                                                                                           \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_##tolerance_,                                                                         \
     .bench_only = true}
#define TIMED_SLOPE(op_, function, ...)                                                                                \
    {op_,                                                                                                              \
     "512 x 1536",                                                                                                     \
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32_IN(-9, 9, 512, 1536)),                                                  \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), __VA_ARGS__),                                                                  \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .bench_only = true}

const hone_op_case hone_cases_piecewise[] = {
    ONE("aten::sin", "a few turns", sine, EXP, HONE_F32_IN(-9, 9, 7, 13)),
    ONE("aten::sin", "small", sine, EXP, HONE_F32_IN(-1e-3, 1e-3, 99)),
    ONE("aten::sin", "scalar", sine, EXP, HONE_F32_SCALAR),
    EDGE("aten::sin", "up to 10000", sine, EXP, HONE_F32_IN(-1e4, 1e4, 5, 20001)),
    EDGE("aten::sin", "up to 2^20 and beyond", sine, EXP, HONE_F32_IN(-2e6, 2e6, 9999)),
    EDGE("aten::sin", "up to the largest float", sine, EXP,
         HONE_F32_OF((1e10, -1e20, 1e30, 3.4e38, 1048576, 1048575.9), 11)),
    EDGE("aten::sin", "near multiples of pi / 2", sine, EXP,
         HONE_F32_OF((1.57079637, 3.14159274, 4.71238899, 6.28318548, 0.785398185, 355, 710, 103993, -33102), 27)),
    EDGE("aten::sin", "edges", sine, EXP, EDGES),
    EDGE("aten::sin", "nothing", sine, EXP, HONE_F32(0, 3)),
    ONE("aten::cos", "a few turns", cosine, EXP, HONE_F32_IN(-9, 9, 7, 13)),
    EDGE("aten::cos", "up to 10000", cosine, EXP, HONE_F32_IN(-1e4, 1e4, 5, 20001)),
    EDGE("aten::cos", "up to 2^20 and beyond", cosine, EXP, HONE_F32_IN(-2e6, 2e6, 9999)),
    EDGE("aten::cos", "near multiples of pi / 2", cosine, EXP,
         HONE_F32_OF((1.57079637, 3.14159274, 4.71238899, 6.28318548, 0.785398185, 355, 710, 103993, -33102), 27)),
    EDGE("aten::cos", "edges", cosine, EXP, EDGES),
    EXACT("aten::round", "halves and large numbers", nearest, HALVES),
    {"aten::round", "several blocks", HONE_INPUTS(HONE_F32_IN(-99, 99, 3, 12345)), HONE_TAKES(HONE_IN(0)),
     .reference = nearest},
    {"aten::round", "gradient", HONE_INPUTS(HONE_F32_OF((0.2, 1.7, -3.4, 5), 3, 5)), HONE_TAKES(HONE_IN(0)),
     .reference = nearest, .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
    ONE("aten::hardtanh", "as given by default", hardtanh, SIMPLE, HONE_F32_IN(-2, 2, 7, 13)),
    ONE("aten::hardtanh", "0 to 6", hardtanh, SIMPLE, HONE_F32_IN(-9, 9, 7, 13), HONE_CASE_I(0), HONE_CASE_R(6)),
    EDGE("aten::hardtanh", "edges", hardtanh, SIMPLE, EDGES),
    ONE("aten::leaky_relu", "as given by default", leaky, SIMPLE, HONE_F32(7, 13)),
    ONE("aten::leaky_relu", "0.3", leaky, SIMPLE, HONE_F32(7, 13), HONE_CASE_R(0.3)),
    EDGE("aten::leaky_relu", "edges", leaky, SIMPLE, EDGES, HONE_CASE_R(0.3)),
    ONE("aten::hardswish", "odd", hardswish, SIMPLE, HONE_F32_IN(-6, 6, 7, 13)),
    EDGE("aten::hardswish", "1e30, NaN", hardswish, SIMPLE, HONE_F32_OF((NAN, INFINITY, 1e30, -1e30, 3, -3, 0), 7)),
    SLOPE("aten::hardtanh_backward", "with the bounds themselves", hardtanh_slope,
          HONE_F32_OF((-0.5, 0.5, 0, -0.49, 0.51, 1, -1), 3, 37), HONE_CASE_R(-0.5), HONE_CASE_R(0.5)),
    SLOPE("aten::leaky_relu_backward", "with 0", leaky_slope, HONE_F32_OF((-0.5, 0, 0.5, -0.0), 3, 37),
          HONE_CASE_R(0.2)),
    SLOPE("aten::hardswish_backward", "with the kinks", hardswish_slope,
          HONE_F32_OF((-3, 3, 0, 1, -1.5, -4, 4, -2.5), 3, 37)),
    EXACT("aten::abs", "i32", absolute, WHOLES),
    EXACT("aten::neg", "i32", opposite, WHOLES),
    EXACT("aten::relu", "i32", positive, WHOLES),
    EXACT("aten::clamp", "i32", clamp, WHOLES, HONE_CASE_I(-3), HONE_CASE_I(9)),
    EXACT("aten::clamp", "i32, below only, several blocks", clamp, HONE_I32_IN(-99, 99, 3, 12345), HONE_CASE_R(5)),
    EXACT("aten::clamp", "i32, above only, beyond 32 bits", clamp, WHOLES, HONE_CASE_NO, HONE_CASE_R(1e12)),
    EXACT("aten::clamp", "bounds the wrong way round", clamp, HONE_F32(7, 13), HONE_CASE_R(0.5), HONE_CASE_R(-0.5)),
    EXACT("aten::clamp", "i32, bounds the wrong way round", clamp, WHOLES, HONE_CASE_I(5), HONE_CASE_I(2)),
    {"aten::sin", "512 x 1536", HONE_INPUTS(HONE_F32_IN(-99, 99, 512, 1536)), HONE_TAKES(HONE_IN(0)), .reference = sine,
     .tolerance = HONE_TOLERANCE_EXP, .bench_only = true, .bench_flop = 512 * 1536 * 25},
    {"aten::hardswish", "512 x 1536", HONE_INPUTS(HONE_F32_IN(-9, 9, 512, 1536)), HONE_TAKES(HONE_IN(0)),
     .reference = hardswish, .tolerance = HONE_TOLERANCE_SIMPLE, .bench_only = true, .bench_flop = 512 * 1536 * 5},
    TIMED("aten::cos", cosine, EXP),
    TIMED("aten::round", nearest, SIMPLE),
    TIMED("aten::hardtanh", hardtanh, SIMPLE),
    TIMED("aten::leaky_relu", leaky, SIMPLE),
    TIMED_SLOPE("aten::hardtanh_backward", hardtanh_slope, HONE_CASE_R(-0.5), HONE_CASE_R(0.5)),
    TIMED_SLOPE("aten::leaky_relu_backward", leaky_slope, HONE_CASE_R(0.2)),
    TIMED_SLOPE("aten::hardswish_backward", hardswish_slope),
    {0},
};
