// SPDX-License-Identifier: Apache-2.0
// Cases of comparisons and logic.
#include "ops/shared/cases.h"

typedef bool two(double a, double b);
static bool eq(double a, double b) {
    return a == b;
}
static bool ne(double a, double b) {
    return a != b;
}
static bool lt(double a, double b) {
    return a < b;
}
static bool le(double a, double b) {
    return a <= b;
}
static bool gt(double a, double b) {
    return a > b;
}
static bool ge(double a, double b) {
    return a >= b;
}
static bool both(double a, double b) {
    return a != 0 && b != 0;
}
static bool either(double a, double b) {
    return a != 0 || b != 0;
}

static void tensors(const hone_reference *run, two *function) {
    const hone_tensor_type *const out = &run->output_types[0];
    for (int64_t i = 0; i < hone_case_count(out); i++)
        run->outputs[0][i] = function(run->inputs[0][hone_case_broadcast(out, i, &run->input_types[0])],
                                      run->inputs[1][hone_case_broadcast(out, i, &run->input_types[1])]);
}

static void scalar(const hone_reference *run, two *function) {
    double number = hone_case_number(&run->arguments[1], 0);
    if (run->input_types[0].dtype == HONE_DTYPE_F32) number = (float)number;
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++)
        run->outputs[0][i] = function(run->inputs[0][i], number);
}

#define REFERENCES(name)                                                                                               \
    static void name##_tensor(const hone_reference *run) {                                                             \
        tensors(run, name);                                                                                            \
    }                                                                                                                  \
    static void name##_scalar(const hone_reference *run) {                                                             \
        scalar(run, name);                                                                                             \
    }
REFERENCES(eq)
REFERENCES(ne)
REFERENCES(lt)
REFERENCES(le)
REFERENCES(gt)
REFERENCES(ge)
static void both_tensor(const hone_reference *run) {
    tensors(run, both);
}
static void either_tensor(const hone_reference *run) {
    tensors(run, either);
}
static void not_tensor(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) run->outputs[0][i] = run->inputs[0][i] == 0;
}

// Small whole numbers, so that equals occur.
#define COARSE(...) {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_INTEGER, .low = -2, .high = 2}
#define EDGES       HONE_F32_OF((NAN, INFINITY, -INFINITY, 0, -0.0, 1e30, 1), 7)
#define CASES(name)                                                                                                    \
    {"aten::" #name ".Tensor", "same shape", HONE_INPUTS(COARSE(5, 37), COARSE(5, 37)),                                \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                                  \
        {"aten::" #name ".Tensor", "both sides repeat", HONE_INPUTS(COARSE(5, 1), COARSE(3, 1, 7)),                    \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Tensor", "edges", HONE_INPUTS(EDGES, HONE_F32_OF((NAN, INFINITY, 0, 0, 0, -1e30, 1), 7)),    \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Tensor", "i32", HONE_INPUTS(HONE_I32_IN(-2, 2, 9), HONE_I32_IN(-2, 2, 4, 9)),                \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Scalar", "number", HONE_INPUTS(COARSE(5, 37)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(1)),       \
         .reference = name##_scalar},                                                                                  \
        {"aten::" #name ".Scalar", "0.1 as f32", HONE_INPUTS(HONE_F32_OF((0.1, 0.2, 0), 3)),                           \
         HONE_TAKES(HONE_IN(0), HONE_CASE_R(0.1)), .reference = name##_scalar},                                        \
        {"aten::" #name ".Scalar", "i32", HONE_INPUTS(HONE_I32_IN(-2, 2, 33)), HONE_TAKES(HONE_IN(0), HONE_CASE_I(0)), \
         .reference = name##_scalar},                                                                                  \
    {                                                                                                                  \
        "aten::" #name ".Scalar", "several blocks", HONE_INPUTS(COARSE(40001)),                                        \
            HONE_TAKES(HONE_IN(0), HONE_CASE_R(0)), .reference = name##_scalar                                         \
    }
// Numbers that single floats, 32 bits or flushed subnormal floats would take for equals.
#define LONGS(...)                                                                                                     \
    {.type = {HONE_DTYPE_I64, HONE_DIMS_(__VA_ARGS__)},                                                                \
     HONE_VALUES_((0, 1, -1, 4294967296, -4294967296, 4294967297, 2147483648, -2147483649, 16777217, 16777216))}
#define NEAR                                                                                                           \
    HONE_F32_OF((16777216, 0.5, -0.5, 4294967296, -0.0, NAN, INFINITY, -INFINITY, 1e-42, 2147483648, 1, -1), 12)
#define EXACT(name)                                                                                                    \
    {"aten::" #name ".Tensor", "i64", HONE_INPUTS(LONGS(10, 1), LONGS(10)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),        \
     .reference = name##_tensor},                                                                                      \
        {"aten::" #name ".Tensor", "i64 with f32", HONE_INPUTS(LONGS(10, 1), NEAR),                                    \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Tensor", "f32 with i32",                                                                     \
         HONE_INPUTS(NEAR, HONE_I32_OF((16777217, 16777216, 0, 1, -1, 2147483647, -2147483648), 7, 1)),                \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Tensor", "subnormal",                                                                        \
         HONE_INPUTS(HONE_F32_OF((1e-45, -1e-45, 0, 3e-45, -0.0), 5, 1), HONE_F32_OF((1e-45, -1e-45, 0, 2e-39), 4)),   \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Tensor", "u8 with bool",                                                                     \
         HONE_INPUTS({.type = {HONE_DTYPE_U8, 2, {7, 1}}, .fill = HONE_FILL_INTEGER, .high = 3}, HONE_BOOL(5)),        \
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = name##_tensor},                                              \
        {"aten::" #name ".Scalar", "i32 with a fraction", HONE_INPUTS(HONE_I32_IN(-2, 2, 33)),                         \
         HONE_TAKES(HONE_IN(0), HONE_CASE_R(-0.5)), .reference = name##_scalar},                                       \
        {"aten::" #name ".Scalar", "i64", HONE_INPUTS(LONGS(21)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(4294967296.0)),   \
         .reference = name##_scalar},                                                                                  \
        {"aten::" #name ".Scalar", "i64 beyond all", HONE_INPUTS(LONGS(21)),                                           \
         HONE_TAKES(HONE_IN(0), HONE_CASE_R(-1e30)), .reference = name##_scalar},                                      \
    {                                                                                                                  \
        "aten::" #name ".Scalar", "u8, NaN", HONE_INPUTS({.type = {HONE_DTYPE_U8, 1, {9}}}),                           \
            HONE_TAKES(HONE_IN(0), HONE_CASE_R(NAN)), .reference = name##_scalar                                       \
    }
#define TIMED(name)                                                                                                    \
    {"aten::" #name ".Tensor",                                                                                         \
     "512 x 1536",                                                                                                     \
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 1536)),                                                            \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     .reference = name##_tensor,                                                                                       \
     .bench_only = true},                                                                                              \
    {                                                                                                                  \
        "aten::" #name ".Scalar", "512 x 1536", HONE_INPUTS(HONE_F32(512, 1536)),                                      \
            HONE_TAKES(HONE_IN(0), HONE_CASE_R(0)), .reference = name##_scalar, .bench_only = true                     \
    }
#define TIMED_LOGIC(op_, function)                                                                                     \
    {op_,                                                                                                              \
     "512 x 512",                                                                                                      \
     HONE_INPUTS(HONE_BOOL(512, 512), HONE_BOOL(512, 512)),                                                            \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     .reference = function,                                                                                            \
     .bench_only = true}

const hone_op_case hone_cases_compare[] = {
    CASES(eq),
    CASES(ne),
    CASES(lt),
    CASES(le),
    CASES(gt),
    CASES(ge),
    EXACT(eq),
    EXACT(ne),
    EXACT(lt),
    EXACT(le),
    EXACT(gt),
    EXACT(ge),
    {"aten::logical_not", "bool", HONE_INPUTS(HONE_BOOL(5, 37)), HONE_TAKES(HONE_IN(0)), .reference = not_tensor},
    {"aten::logical_not", "f32", HONE_INPUTS(EDGES), HONE_TAKES(HONE_IN(0)), .reference = not_tensor},
    {"aten::logical_and", "column and row", HONE_INPUTS(HONE_BOOL(5, 1), HONE_BOOL(37)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = both_tensor},
    {"aten::logical_or", "same shape", HONE_INPUTS(HONE_BOOL(5, 37), HONE_BOOL(5, 37)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = either_tensor},
    {"aten::logical_or", "nothing", HONE_INPUTS(HONE_BOOL(0, 3), HONE_BOOL(3)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = either_tensor},
    {"aten::logical_not", "i64", HONE_INPUTS(LONGS(11)), HONE_TAKES(HONE_IN(0)), .reference = not_tensor},
    {"aten::logical_and", "subnormal with i32",
     HONE_INPUTS(HONE_F32_OF((1e-45, 0, NAN, -0.0), 4, 1), HONE_I32_IN(-1, 1, 7)), HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = both_tensor},
    {"aten::logical_or", "i64 with u8",
     HONE_INPUTS(LONGS(10, 1), {.type = {HONE_DTYPE_U8, 1, {5}}, .fill = HONE_FILL_INTEGER, .high = 1}),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = either_tensor},
    TIMED(eq),
    TIMED(ne),
    TIMED(lt),
    TIMED(le),
    TIMED(gt),
    TIMED(ge),
    TIMED_LOGIC("aten::logical_and", both_tensor),
    TIMED_LOGIC("aten::logical_or", either_tensor),
    {"aten::logical_not", "512 x 512", HONE_INPUTS(HONE_BOOL(512, 512)), HONE_TAKES(HONE_IN(0)),
     .reference = not_tensor, .bench_only = true},
    {0},
};
