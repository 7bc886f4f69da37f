// SPDX-License-Identifier: Apache-2.0
// Cases of choices.
#include "ops/shared/cases.h"

static double at(const hone_reference *run, int input, int64_t i) {
    return run->inputs[input][hone_case_broadcast(&run->output_types[0], i, &run->input_types[input])];
}

static void where(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++)
        run->outputs[0][i] = at(run, 0, i) != 0 ? at(run, 1, i) : at(run, 2, i);
}

static void maximum(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double a = at(run, 0, i), b = at(run, 1, i);
        run->outputs[0][i] = isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    }
}

static void minimum(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double a = at(run, 0, i), b = at(run, 1, i);
        run->outputs[0][i] = isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    }
}

#define WHERE(name_, ...)                                                                                              \
    {"aten::where.self",       name_,                                                                                  \
     HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),                                         \
     .reference = where,       .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
// Elements of any size; the condition is a column, the other choice a row.
#define WIDE(name_, dtype_, low_, high_, rows, columns)                                                                \
    {"aten::where.self", name_,                                                                                        \
     HONE_INPUTS(                                                                                                      \
         HONE_BOOL(rows, 1),                                                                                           \
         {.type = {HONE_DTYPE_##dtype_, 2, {rows, columns}},                                                           \
          .fill = HONE_FILL_INTEGER,                                                                                   \
          .low = (low_),                                                                                               \
          .high = (high_)},                                                                                            \
         {.type = {HONE_DTYPE_##dtype_, 1, {columns}}, .fill = HONE_FILL_INTEGER, .low = (low_), .high = (high_)}),    \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = where}
#define EXTREME(name_, ...)                                                                                            \
    {"aten::maximum",          name_,                                                                                  \
     HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                     \
     .reference = maximum,     .gradient_tolerance = HONE_TOLERANCE_SIMPLE},                                           \
    {                                                                                                                  \
        "aten::minimum", name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = minimum,    \
            .gradient_tolerance = HONE_TOLERANCE_SIMPLE                                                                \
    }

const hone_op_case hone_cases_where[] = {
    WHERE("same shape", HONE_BOOL(5, 37), HONE_F32(5, 37), HONE_F32(5, 37)),
    WHERE("all repeat", HONE_BOOL(5, 1), HONE_F32(1, 7), HONE_F32(3, 1, 1)),
    WHERE("scalar otherwise", HONE_BOOL(4, 9), HONE_F32(4, 9), HONE_F32_SCALAR),
    {"aten::where.self", "i32", HONE_INPUTS(HONE_BOOL(33), HONE_I32_IN(-9, 9, 33), HONE_I32_IN(-9, 9, 1)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = where},
    {"aten::where.self", "bool", HONE_INPUTS(HONE_BOOL(33), HONE_BOOL(33), HONE_BOOL(1)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = where},
    WIDE("i64", I64, 0, 1125899906842623, 13, 7),
    WIDE("u8, odd", U8, 0, 255, 13, 7),
    WIDE("i8", I8, -128, 127, 5, 3),
    WIDE("f16", F16, -7, 9, 13, 7),
    WIDE("f64", F64, -9007199254740992.0, 9007199254740992.0, 3, 5),
    WHERE("nothing", HONE_BOOL(0, 3), HONE_F32(3), HONE_F32(1)),

    EXTREME("same shape", HONE_F32(5, 37), HONE_F32(5, 37)),
    EXTREME("both sides repeat", HONE_F32(5, 1), HONE_F32(7)),
    {"aten::maximum", "NaN", HONE_INPUTS(HONE_F32_OF((NAN, 1, NAN, INFINITY), 4), HONE_F32_OF((1, NAN, NAN, 3), 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = maximum},
    {"aten::where.self", "512 x 1536", HONE_INPUTS(HONE_BOOL(512, 1536), HONE_F32(512, 1536), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = where, .bench_only = true},
    {"aten::maximum", "512 x 1536", HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = maximum, .bench_only = true},
    {"aten::minimum", "512 x 1536", HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = minimum, .bench_only = true},
    {0},
};
