// SPDX-License-Identifier: Apache-2.0
// Cases of conversions between element types, and of copying into state.
#include "ops/shared/cases.h"

// The case's tolerance is 0: the check rounds these numbers as the type holds them.
static void same(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) run->outputs[0][i] = run->inputs[0][i];
}

static void limits_of(hone_dtype dtype, double *low, double *high) {
    *low = dtype == HONE_DTYPE_I32   ? -2147483648.0
           : dtype == HONE_DTYPE_I8  ? -128
           : dtype == HONE_DTYPE_I64 ? -0x1p62
                                     : 0;
    *high = dtype == HONE_DTYPE_I32   ? 2147483647.0
            : dtype == HONE_DTYPE_I8  ? 127
            : dtype == HONE_DTYPE_I64 ? 0x1p62
                                      : 255;
}

static void cut(const hone_reference *run) {
    double low, high;
    limits_of(run->output_types[0].dtype, &low, &high);
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double x = run->inputs[0][i];
        run->outputs[0][i] = isnan(x) ? 0 : fmin(fmax(trunc(x), low), high);
    }
}

static void wrap(const hone_reference *run) {
    const double size = run->output_types[0].dtype == HONE_DTYPE_I32 ? 0x1p32 : 256;
    double low, high;
    limits_of(run->output_types[0].dtype, &low, &high);
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double x = run->inputs[0][i];
        run->outputs[0][i] = x - floor((x - low) / size) * size;
    }
}

static void truth(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) run->outputs[0][i] = run->inputs[0][i] != 0;
}

static void copy(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) run->inputs[0][i] = run->inputs[1][i];
}

enum { U8 = 0, I8 = 1, I32 = 3, I64 = 4, F16 = 5, F32 = 6, F64 = 7, BOOL = 11, BF16 = 15 };

#define OF(dtype_, list, ...) {.type = {HONE_DTYPE_##dtype_, HONE_DIMS_(__VA_ARGS__)}, HONE_VALUES_(list)}
#define CAST(name_, function, code, ...)                                                                               \
    {"aten::_to_copy", name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_CASE_I(code)),                     \
     .reference = function}
#define FLOAT(name_, code, ...)                                                                                        \
    {"aten::_to_copy",         name_,                                                                                  \
     HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_CASE_I(code)),                                              \
     .reference = same,        .gradient_tolerance = 4e-3}
#define REALS                                                                                                          \
    (0.5, -0.5, 1.99, -1.99, 127.5, -128.7, 255.9, 256, 1e9, -1e9, 2147483520, 2147483648, -2147483648, 3e9, -3e9,     \
     1e30, -1e30, INFINITY, -INFINITY, NAN, 0, -0.0, 1e-40)
#define WHOLES (0, 1, -1, 127, 128, -128, -129, 255, 256, -256, 65535, 16777217, 2147483647, -2147483648, 33554435)
#define LONGS                                                                                                          \
    (0, 1, -1, 4294967296, 4294967295, 2147483648, -2147483649, 1125899906842624, 1125899906842879, -9007199254740992, \
     16777219)
#define HALVES                                                                                                         \
    (0, -0.0, 1, 2049, 2051, 65504, 65519, 65520, -65520, 1e30, 5.9604645e-8, 2.9802322e-8, 2.98023242e-8, 6e-5,       \
     6.1e-5, 8.94e-8, INFINITY, -INFINITY, NAN, 0.1, -1.0 / 3)

const hone_op_case hone_cases_cast[] = {
    FLOAT("f32 to f16", F16, HONE_F32(7, 13)),
    FLOAT("f16 to f32", F32, OF(F16, (0.5, -0.25, 3, 1.0 / 3, -7, 0.001), 5, 7)),
    FLOAT("f32 to bf16", BF16, HONE_F32(37)),
    FLOAT("bf16 to f16", F16, OF(BF16, (0.5, -0.25, 3, 0.328125, -7), 5, 7)),
    FLOAT("f32 to f32", F32, HONE_F32(3, 5)),
    {"aten::_to_copy", "no dtype", HONE_INPUTS(HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0)), .reference = same,
     .gradient_tolerance = 1e-6},
    FLOAT("a scalar to f16", F16, HONE_F32_SCALAR),
    CAST("f32 to f16, ties, subnormals, too large", same, F16, HONE_F32_OF(HALVES, 7, 9)),
    CAST("f16 to f32, edges", same, F32, OF(F16, HALVES, 7, 9)),
    CAST("f32 to bf16, edges", same, BF16, HONE_F32_OF(HALVES, 63)),
    CAST("f32 to f64", same, F64, HONE_F32_OF(HALVES, 63)),
    CAST("f64 to f32", same, F32, OF(F64, (0.1, 1e-300, 1e300, -1e39, 3, 16777217, 1e-45, NAN), 33)),
    CAST("f32 to i32", cut, I32, HONE_F32_OF(REALS, 5, 23)),
    CAST("f32 to i32, several blocks", cut, I32, HONE_F32_IN(-1e5, 1e5, 3, 12347)),
    CAST("f32 to u8", cut, U8, HONE_F32_OF(REALS, 5, 23)),
    CAST("f32 to i8", cut, I8, HONE_F32_OF(REALS, 5, 23)),
    CAST("f32 to i64", cut, I64, HONE_F32_OF((0.5, -0.5, 1.99, -3.7, 2147483648, -3e9, 1e15, NAN), 23)),
    CAST("f16 to i32", cut, I32, OF(F16, (0.5, -1.5, 65504, NAN, INFINITY, -INFINITY), 19)),
    CAST("f32 to bool", truth, BOOL, HONE_F32_OF(REALS, 5, 23)),
    CAST("f16 to bool", truth, BOOL, OF(F16, (0, -0.0, 1e-7, NAN, 5), 13)),
    CAST("i32 to f32, rounded", same, F32, HONE_I32_OF(WHOLES, 4, 15)),
    CAST("i32 to f16", same, F16, HONE_I32_OF((0, 1, -7, 2049, 2051, 65519), 4, 5)),
    CAST("i32 to i64", same, I64, HONE_I32_OF(WHOLES, 15)),
    CAST("i32 to u8 wraps", wrap, U8, HONE_I32_OF(WHOLES, 4, 15)),
    CAST("i32 to i8 wraps", wrap, I8, HONE_I32_OF(WHOLES, 4, 15)),
    CAST("i32 to bool", truth, BOOL, HONE_I32_OF(WHOLES, 4, 15)),
    CAST("i64 to i32 wraps", wrap, I32, OF(I64, LONGS, 3, 11)),
    CAST("i64 to f32", same, F32, OF(I64, LONGS, 3, 11)),
    CAST("i64 to f64", same, F64, OF(I64, LONGS, 3, 11)),
    CAST("i64 to bool", truth, BOOL, OF(I64, LONGS, 3, 11)),
    CAST("bool to f32", same, F32, HONE_BOOL(7, 5)),
    CAST("bool to f16", same, F16, HONE_BOOL(7, 5)),
    CAST("bool to i32", same, I32, HONE_BOOL(7, 5)),
    CAST("bool to i64", same, I64, HONE_BOOL(7, 5)),
    CAST("bool to u8", same, U8, HONE_BOOL(7, 5)),
    CAST("u8 to f32", same, F32, {.type = {HONE_DTYPE_U8, 1, {300}}}),
    CAST("u8 to i32", same, I32, {.type = {HONE_DTYPE_U8, 1, {300}}}),
    CAST("u8 to i8 wraps", wrap, I8, {.type = {HONE_DTYPE_U8, 1, {300}}}),
    CAST("u8 to bool", truth, BOOL, OF(U8, (0, 1, 128, 255), 9)),
    CAST("i8 to f32", same, F32, {.type = {HONE_DTYPE_I8, 1, {300}}}),
    CAST("i8 to i32", same, I32, {.type = {HONE_DTYPE_I8, 1, {300}}}),
    CAST("i8 to u8 wraps", wrap, U8, {.type = {HONE_DTYPE_I8, 1, {300}}}),
    CAST("f64 to f16", same, F16, OF(F64, (0.1, 1e-300, 65504, 65520, -1e9, 2049, 3.0000001, NAN, INFINITY), 33)),
    CAST("f64 to i32", cut, I32, OF(F64, (0.9999999999, -2147483648.9, 2147483647.9, 1e300, -7.5, NAN, 5e-324), 3, 7)),
    CAST("f64 to i64", cut, I64,
         OF(F64, (0.9999999999, -4294967296.5, 4503599627370497.5, -9007199254740993, 1e18, -1e18, NAN), 3, 7)),
    CAST("f64 to bool", truth, BOOL, OF(F64, (0, -0.0, 5e-324, NAN, 1e300), 13)),
    CAST("f64 to u8", cut, U8, OF(F64, (-1, 255.99, 256, 1e30, NAN, 7.7), 13)),
    CAST("f16 to f64", same, F64, OF(F16, HALVES, 7, 9)),
    CAST("f16 to i64", cut, I64, OF(F16, (0.5, -1.5, 65504, NAN, -2049), 19)),
    CAST("f16 to i8", cut, I8, OF(F16, (0.5, -1.5, 127.9, -128.9, 65504, -INFINITY, NAN), 19)),
    CAST("bf16 to f32", same, F32, OF(BF16, HALVES, 63)),
    CAST("bf16 to f64", same, F64, OF(BF16, HALVES, 63)),
    CAST("bf16 to i64", cut, I64, OF(BF16, (1.5, -2.5, 16777216, -1e12, NAN), 3, 5)),
    CAST("bf16 to bool", truth, BOOL, OF(BF16, (0, -0.0, 1e-40, NAN, 5), 13)),
    CAST("i32 to bf16", same, BF16, HONE_I32_OF((0, 1, -7, 257, 259, -258), 4, 5)),
    CAST("i32 to f64", same, F64, HONE_I32_OF(WHOLES, 4, 15)),
    CAST("i64 to f16", same, F16, OF(I64, (0, 1, -7, 2049, 2051, -65519, 4294967296), 3, 5)),
    CAST("i64 to u8 wraps", wrap, U8, OF(I64, LONGS, 3, 11)),
    CAST("i64 to i8 wraps", wrap, I8, OF(I64, LONGS, 3, 11)),
    CAST("bool to i8", same, I8, HONE_BOOL(7, 5)),
    CAST("bool to bf16", same, BF16, HONE_BOOL(7, 5)),
    CAST("bool to f64", same, F64, HONE_BOOL(7, 5)),
    CAST("u8 to i64", same, I64, {.type = {HONE_DTYPE_U8, 1, {300}}}),
    CAST("u8 to f16", same, F16, {.type = {HONE_DTYPE_U8, 1, {300}}}),
    CAST("u8 to f64", same, F64, {.type = {HONE_DTYPE_U8, 1, {300}}}),
    CAST("i8 to i64", same, I64, {.type = {HONE_DTYPE_I8, 1, {300}}}),
    CAST("i8 to bf16", same, BF16, {.type = {HONE_DTYPE_I8, 1, {300}}}),
    CAST("i8 to bool", truth, BOOL, {.type = {HONE_DTYPE_I8, 1, {300}}}),
    CAST("nothing to i32", cut, I32, HONE_F32(0, 3)),
    {"aten::_to_copy", "a million f32 to f16", HONE_INPUTS(HONE_F32(1000, 1000)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(F16)), .reference = same, .bench_only = true},
    {"aten::_to_copy", "a million i32 to f32", HONE_INPUTS(HONE_I32_IN(-999, 999, 1000, 1000)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(F32)), .reference = same, .bench_only = true},
    {"aten::copy_", "f32", HONE_INPUTS(HONE_F32(3, 5), HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = copy},
    {"aten::copy_", "u8, several blocks",
     HONE_INPUTS({.type = {HONE_DTYPE_U8, 2, {3, 98765}}}, {.type = {HONE_DTYPE_U8, 2, {3, 98765}}}),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = copy},
    {"aten::copy_", "i32 scalar",
     HONE_INPUTS({.type = {HONE_DTYPE_I32, 0, {0}}, .fill = HONE_FILL_INTEGER, .high = 9},
                 {.type = {HONE_DTYPE_I32, 0, {0}}, .fill = HONE_FILL_INTEGER, .low = 10, .high = 19}),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = copy},
    {"aten::copy_", "nothing", HONE_INPUTS(HONE_F32(0, 5), HONE_F32(0, 5)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = copy},
    {"aten::copy_", "a million", HONE_INPUTS(HONE_F32(1000, 1000), HONE_F32(1000, 1000)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = copy, .bench_only = true},
    {0},
};
