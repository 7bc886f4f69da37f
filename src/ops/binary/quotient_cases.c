// SPDX-License-Identifier: Apache-2.0
// Cases of rounded quotients and of powers of tensors.
#include <string.h>

#include "ops/shared/cases.h"

typedef double two(double a, double b);

static void each(const hone_reference *run, two *function) {
    const hone_tensor_type *const out = &run->output_types[0];
    for (int64_t i = 0; i < hone_case_count(out); i++)
        run->outputs[0][i] = function(run->inputs[0][hone_case_broadcast(out, i, &run->input_types[0])],
                                      run->inputs[1][hone_case_broadcast(out, i, &run->input_types[1])]);
}

// From the remainder, which is exact.
static double floor_quotient(double a, double b) {
    if (b == 0) return a / b;
    const double rest = fmod(a, b);
    if (isnan(rest)) return NAN;
    const double whole = nearbyint((a - rest) / b);
    return rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole;
}

static double trunc_quotient(double a, double b) {
    return trunc((float)(a / b));
}
static double plain_quotient(double a, double b) {
    return a / b;
}

// 0 instead of a division by 0, and 32 bits that wrap.
static double whole_floor(double a, double b) {
    const double quotient = b == 0 ? 0 : floor(a / b);
    return quotient == 2147483648.0 ? -quotient : quotient;
}
static double whole_trunc(double a, double b) {
    const double quotient = b == 0 ? 0 : trunc(a / b);
    return quotient == 2147483648.0 ? -quotient : quotient;
}

static void quotient(const hone_reference *run) {
    const char *const mode = run->arguments[2].string;
    const bool whole = run->input_types[0].dtype == HONE_DTYPE_I32;
    if (!mode)
        each(run, plain_quotient);
    else if (strcmp(mode, "floor") == 0)
        each(run, whole ? whole_floor : floor_quotient);
    else
        each(run, whole ? whole_trunc : trunc_quotient);
}

static void power(const hone_reference *run) {
    each(run, pow);
}

#define FLOOR {.kind = HONE_ARGUMENT_STRING, .string = "floor"}
#define TRUNC {.kind = HONE_ARGUMENT_STRING, .string = "trunc"}
#define DIV(name_, mode, ...)                                                                                          \
    {"aten::div.Tensor_mode", name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1), mode),               \
     .reference = quotient}
#define SMOOTH(name_, mode, ...)                                                                                       \
    {"aten::div.Tensor_mode",                                                                                          \
     name_,                                                                                                            \
     HONE_INPUTS(__VA_ARGS__),                                                                                         \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), mode),                                                                         \
     .reference = quotient,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define POWER(name_, ...)                                                                                              \
    {"aten::pow.Tensor_Tensor",                                                                                        \
     name_,                                                                                                            \
     HONE_INPUTS(__VA_ARGS__),                                                                                         \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     .reference = power,                                                                                               \
     .tolerance = HONE_TOLERANCE_EXP,                                                                                  \
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT}
#define WHOLES HONE_I32_OF((0, 1, -1, 7, -7, 2147483647, -2147483648, 8, -8, 1000000), 10, 1)
#define BY     HONE_I32_OF((1, -1, 2, -2, 0, 3, -3, 2147483647, -2147483648), 9)
#define EDGES  HONE_F32_OF((1, -1, 0, INFINITY, -INFINITY, NAN, 1e30, -1e-30, 0.1, 7, -0.3), 11, 1)

const hone_op_case hone_cases_quotient[] = {
    DIV("floor", FLOOR, HONE_F32_IN(-9, 9, 7, 13), HONE_F32_IN(0.1, 2, 7, 13)),
    DIV("floor, outer, negative", FLOOR, HONE_F32_IN(-9, 9, 7, 1), HONE_F32_IN(-2, -0.1, 13)),
    DIV("floor, whole and nearly whole quotients", FLOOR,
        HONE_F32_OF((1, 2, 3, 0.3, -0.3, 0.7, -0.7, 1.2, 9, -9, 6, -1, 100), 13, 1),
        HONE_F32_OF((0.1, -0.1, 0.3, 3, 7), 5)),
    DIV("floor, edges", FLOOR, EDGES, HONE_F32_OF((1, -1, 0, INFINITY, -INFINITY, NAN, 1e-3, -5), 8)),
    DIV("trunc", TRUNC, HONE_F32_IN(-9, 9, 7, 13), HONE_F32_IN(0.1, 2, 7, 13)),
    DIV("trunc, column below", TRUNC, HONE_F32_IN(-9, 9, 7, 13), HONE_F32_IN(-2, -0.1, 7, 1)),
    DIV("trunc, edges", TRUNC, EDGES, HONE_F32_OF((1, -1, 0, INFINITY, -INFINITY, NAN, 1e-3, -5), 8)),
    DIV("trunc, several blocks", TRUNC, HONE_F32_IN(-9, 9, 3, 12345), HONE_F32_IN(0.1, 2, 3, 1)),
    DIV("floor, i32, by 0 too", FLOOR, WHOLES, BY),
    DIV("trunc, i32, by 0 too", TRUNC, WHOLES, BY),
    DIV("floor, i32, nothing", FLOOR, HONE_I32_IN(0, 9, 0, 3), HONE_I32_IN(0, 9, 3)),
    DIV("floor, large quotients", FLOOR, HONE_F32_IN(-1e6, 1e6, 99, 1), HONE_F32_IN(1e-3, 1e-1, 301)),
    DIV("trunc, large quotients", TRUNC, HONE_F32_IN(-1e6, 1e6, 99, 1), HONE_F32_IN(-1e-1, -1e-3, 301)),
    DIV("floor, multiples", FLOOR, HONE_F32_OF((0.3, 0.6, 0.9, 1.2, 1.5, -0.3, -0.9, 2.1, 3.6, -7.2, 12.3), 11, 1),
        HONE_F32_OF((0.1, 0.3, -0.1, -0.3, 0.15), 5)),
    DIV("floor, subnormal", FLOOR, HONE_F32_OF((1e-40, -3e-40, 1e-45, 7e-42), 4, 1),
        HONE_F32_OF((1e-45, 3e-42, -1e-41, 1e-30), 4)),
    DIV("trunc, subnormal", TRUNC, HONE_F32_OF((1e-40, -3e-40, 1e-45, 7e-42), 4, 1),
        HONE_F32_OF((1e-45, 3e-42, -1e-41, 1e-30), 4)),
    SMOOTH("no mode", HONE_CASE_NO, HONE_F32(7, 13), HONE_F32_IN(0.5, 2, 7, 13)),
    SMOOTH("no mode, outer", HONE_CASE_NO, HONE_F32(7, 1), HONE_F32_IN(0.5, 2, 13)),
    SMOOTH("floor is flat", FLOOR, HONE_F32_OF((1.5, -2.4, 7.7), 3, 1), HONE_F32_OF((1.3, 0.9, -2.2), 3)),
    POWER("same shape", HONE_F32_IN(0.2, 3, 7, 13), HONE_F32_IN(-3, 3, 7, 13)),
    POWER("outer", HONE_F32_IN(0.2, 3, 5, 1), HONE_F32_IN(-3, 3, 7)),
    POWER("scalar exponent, column", HONE_F32_IN(0.2, 3, 5, 4), HONE_F32_SCALAR),
    POWER("row of bases", HONE_F32_IN(0.2, 3, 6), HONE_F32_IN(-3, 3, 4, 6)),
    {"aten::pow.Tensor_Tensor", "gradient of negative bases to whole powers",
     HONE_INPUTS(HONE_F32_OF((-1.5, -0.5, 2, 0.7), 4, 1), HONE_F32_OF((2, 3, 1, -1), 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP,
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT, .no_gradient = 2},
    {"aten::pow.Tensor_Tensor", "exponent 0, also of 0", HONE_INPUTS(HONE_F32_OF((0, 2, -3), 3), HONE_F32_OF((0), 3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP,
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT, .no_gradient = 2},
    {"aten::pow.Tensor_Tensor", "exponents of base 0", HONE_INPUTS(HONE_F32_OF((0), 3), HONE_F32_OF((1, 2.5, 7), 3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP,
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT, .no_gradient = 1},
    {"aten::pow.Tensor_Tensor", "edges",
     HONE_INPUTS(EDGES, HONE_F32_OF((0, 1, -1, 2, 0.5, -0.5, INFINITY, -INFINITY, NAN, 1e30), 10)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP},
    {"aten::pow.Tensor_Tensor", "large and small powers",
     HONE_INPUTS(HONE_F32_IN(0.5, 2, 3001), HONE_F32_IN(-120, 120, 3001)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = power, .tolerance = HONE_TOLERANCE_EXP},
    {"aten::pow.Tensor_Tensor", "bases next to 1",
     HONE_INPUTS(HONE_F32_OF((0.99999994, 1.00000012, 0.9999, 1.001, 1), 5, 1),
                 HONE_F32_OF((1e6, -1e6, 1e8, 3e8, -3e8, 12345, 0.5), 7)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP},
    {"aten::pow.Tensor_Tensor", "odd and even powers",
     HONE_INPUTS(HONE_F32_OF((-2, -0.5, -0.0, 0, -INFINITY, -3), 6, 1),
                 HONE_F32_OF((3, 2, -1, -2, 0.5, 16777216, 16777215, -3, INFINITY), 9)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP},
    {"aten::pow.Tensor_Tensor", "nothing", HONE_INPUTS(HONE_F32(0, 3), HONE_F32(3)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = power, .tolerance = HONE_TOLERANCE_EXP},
    {"aten::pow.Tensor_Tensor", "512 x 576", HONE_INPUTS(HONE_F32_IN(0.1, 3, 512, 576), HONE_F32_IN(-2, 2, 512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = power, .tolerance = HONE_TOLERANCE_EXP, .bench_only = true},
    {"aten::div.Tensor_mode", "floor, 512 x 576",
     HONE_INPUTS(HONE_F32_IN(-9, 9, 512, 576), HONE_F32_IN(0.1, 2, 512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), FLOOR), .reference = quotient, .bench_only = true},
    {0},
};
