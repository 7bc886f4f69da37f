// SPDX-License-Identifier: Apache-2.0
// Cases of bits of whole numbers and truths.
#include "ops/shared/cases.h"

// Bit by bit, as two's complement has them. kind: 1 and, 0 or, -1 not, which has one operand.
static double bits(double a, double b, int width, int kind) {
    double sum = 0, value = 1;
    double x = a < 0 ? a + ldexp(1, width) : a, y = b < 0 ? b + ldexp(1, width) : b;
    for (int i = 0; i < width; i++, value *= 2) {
        const bool p = fmod(x, 2) != 0, q = fmod(y, 2) != 0;
        x = floor(x / 2);
        y = floor(y / 2);
        const bool set = kind < 0 ? !p : kind ? p && q : p || q;
        sum += set ? value : 0;
    }
    return sum;
}

static double as_type(double bits_, hone_dtype dtype, int width) {
    const bool is_signed = dtype == HONE_DTYPE_I32 || dtype == HONE_DTYPE_I8;
    return is_signed && bits_ >= ldexp(1, width - 1) ? bits_ - ldexp(1, width) : bits_;
}

static void each(const hone_reference *run, int kind) {
    const hone_tensor_type *const out = &run->output_types[0];
    const int width = out->dtype == HONE_DTYPE_I64    ? 50 // as many as a double shows
                      : out->dtype == HONE_DTYPE_I32  ? 32
                      : out->dtype == HONE_DTYPE_BOOL ? 1
                                                      : 8;
    for (int64_t i = 0; i < hone_case_count(out); i++) {
        const double a = run->inputs[0][hone_case_broadcast(out, i, &run->input_types[0])];
        const double b = kind < 0 ? 0 : run->inputs[1][hone_case_broadcast(out, i, &run->input_types[1])];
        run->outputs[0][i] = as_type(bits(a, b, width, kind), out->dtype, width);
    }
}

static void both(const hone_reference *run) {
    each(run, 1);
}
static void either(const hone_reference *run) {
    each(run, 0);
}
static void inverse(const hone_reference *run) {
    each(run, -1);
}

#define TWO(op_, name_, function, ...)                                                                                 \
    {op_, name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = function}
#define ONE(name_, ...)                                                                                                \
    {"aten::bitwise_not", name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0)), .reference = inverse}
#define AND "aten::bitwise_and.Tensor"
#define OR  "aten::bitwise_or.Tensor"
#define BYTES(...)                                                                                                     \
    {                                                                                                                  \
        .type = { HONE_DTYPE_U8, HONE_DIMS_(__VA_ARGS__) }                                                             \
    }
#define SIGNED(...)                                                                                                    \
    {                                                                                                                  \
        .type = { HONE_DTYPE_I8, HONE_DIMS_(__VA_ARGS__) }                                                             \
    }
#define LONG(...)                                                                                                      \
    {.type = {HONE_DTYPE_I64, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_INTEGER, .high = 1125899906842623}
#define WHOLE(...) HONE_I32_IN(-2147483648.0, 2147483647.0, __VA_ARGS__)

const hone_op_case hone_cases_bitwise[] = {
    TWO(AND, "bool", both, HONE_BOOL(7, 13), HONE_BOOL(7, 13)),
    TWO(AND, "bool, both sides repeat", both, HONE_BOOL(7, 1), HONE_BOOL(13)),
    TWO(AND, "i32, column", both, WHOLE(7, 13), WHOLE(7, 1)),
    TWO(AND, "u8, left repeats", both, BYTES(13), BYTES(7, 13)),
    TWO(AND, "i8", both, SIGNED(99), SIGNED(99)),
    TWO(AND, "nothing", both, HONE_BOOL(0, 3), HONE_BOOL(3)),
    TWO(OR, "bool, several blocks", either, HONE_BOOL(3, 12345), HONE_BOOL(3, 12345)),
    TWO(OR, "i32, outer", either, WHOLE(7, 1), WHOLE(1, 13)),
    TWO(OR, "u8", either, BYTES(7, 13), BYTES(7, 13)),
    TWO(OR, "i64", either, LONG(7, 3), LONG(3)),
    TWO(AND, "i64, same shape", both, LONG(7, 3), LONG(7, 3)),
    TWO(OR, "i8, outer", either, SIGNED(7, 1), SIGNED(13)),
    ONE("bool", HONE_BOOL(7, 13)),
    ONE("i64", {.type = {HONE_DTYPE_I64, 1, {7}}, .fill = HONE_FILL_INTEGER, .low = -1125899906842624, .high = -1}),
    ONE("i32", WHOLE(7, 13)),
    ONE("u8", BYTES(7, 13)),
    ONE("i8", SIGNED(7, 13)),
    ONE("scalar", {.type = {HONE_DTYPE_BOOL, 0, {0}}, .fill = HONE_FILL_INTEGER, .high = 1}),
    {AND, "512 x 512 truths", HONE_INPUTS(HONE_BOOL(512, 512), HONE_BOOL(512, 512)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = both, .bench_only = true},
    {OR, "512 x 512 truths", HONE_INPUTS(HONE_BOOL(512, 512), HONE_BOOL(512, 512)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = either, .bench_only = true},
    {"aten::bitwise_not", "512 x 512 truths", HONE_INPUTS(HONE_BOOL(512, 512)), HONE_TAKES(HONE_IN(0)),
     .reference = inverse, .bench_only = true},
    {0},
};
