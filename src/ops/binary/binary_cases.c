// SPDX-License-Identifier: Apache-2.0
// Cases of sums, differences, products and quotients.
#include "ops/shared/cases.h"

typedef double two(double a, double b, double alpha);
static double add(double a, double b, double alpha) {
    return a + alpha * b;
}
static double sub(double a, double b, double alpha) {
    return a - alpha * b;
}
static double mul(double a, double b, double alpha) {
    return (void)alpha, a * b;
}
static double quotient(double a, double b, double alpha) {
    return (void)alpha, a / b;
}

static void tensors(const hone_reference *run, two *function) {
    const hone_tensor_type *const out = &run->output_types[0];
    const double alpha = hone_case_number(&run->arguments[2], 1);
    for (int64_t i = 0; i < hone_case_count(out); i++)
        run->outputs[0][i] = function(run->inputs[0][hone_case_broadcast(out, i, &run->input_types[0])],
                                      run->inputs[1][hone_case_broadcast(out, i, &run->input_types[1])], alpha);
}

static void scalar(const hone_reference *run, two *function) {
    const double other = hone_case_number(&run->arguments[1], 0), alpha = hone_case_number(&run->arguments[2], 1);
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++)
        run->outputs[0][i] = function(run->inputs[0][i], other, alpha);
}

static void add_tensors(const hone_reference *run) {
    tensors(run, add);
}
static void sub_tensors(const hone_reference *run) {
    tensors(run, sub);
}
static void mul_tensors(const hone_reference *run) {
    tensors(run, mul);
}
static void div_tensors(const hone_reference *run) {
    tensors(run, quotient);
}
static void add_number(const hone_reference *run) {
    scalar(run, add);
}
static void sub_number(const hone_reference *run) {
    scalar(run, sub);
}
static void mul_number(const hone_reference *run) {
    scalar(run, mul);
}
static void div_number(const hone_reference *run) {
    scalar(run, quotient);
}

static void accumulate(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) run->inputs[0][i] += run->inputs[1][i];
}

#define SIMPLE    .tolerance = HONE_TOLERANCE_SIMPLE
#define WITH_GRAD .tolerance = HONE_TOLERANCE_SIMPLE, .gradient_tolerance = HONE_TOLERANCE_SIMPLE
#define BOTH      HONE_TAKES(HONE_IN(0), HONE_IN(1))

#define TIMED(op_, function, name_, second)                                                                            \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(HONE_F32(512, 1536), second),                                                                         \
     BOTH,                                                                                                             \
     .reference = function,                                                                                            \
     SIMPLE,                                                                                                           \
     .bench_only = true,                                                                                               \
     .bench_flop = 512 * 1536}
#define TIMED_NUMBER(op_, function)                                                                                    \
    {op_,                                                                                                              \
     "512 x 1536",                                                                                                     \
     HONE_INPUTS(HONE_F32(512, 1536)),                                                                                 \
     HONE_TAKES(HONE_IN(0), HONE_CASE_R(1.5)),                                                                         \
     .reference = function,                                                                                            \
     SIMPLE,                                                                                                           \
     .bench_only = true,                                                                                               \
     .bench_flop = 512 * 1536}

const hone_op_case hone_cases_binary[] = {
    {"aten::add.Tensor", "same shape", HONE_INPUTS(HONE_F32(4, 5), HONE_F32(4, 5)), BOTH, .reference = add_tensors,
     WITH_GRAD},
    {"aten::add.Tensor", "row", HONE_INPUTS(HONE_F32(3, 7), HONE_F32(7)), BOTH, .reference = add_tensors, WITH_GRAD},
    {"aten::add.Tensor", "column", HONE_INPUTS(HONE_F32(5, 6), HONE_F32(5, 1)), BOTH, .reference = add_tensors,
     WITH_GRAD},
    {"aten::add.Tensor", "outer, both sides repeat", HONE_INPUTS(HONE_F32(4, 1), HONE_F32(3)), BOTH,
     .reference = add_tensors, WITH_GRAD},
    {"aten::add.Tensor", "4 dimensions, alternating", HONE_INPUTS(HONE_F32(2, 1, 3, 1), HONE_F32(1, 4, 1, 5)), BOTH,
     .reference = add_tensors, WITH_GRAD},
    {"aten::add.Tensor", "alpha", HONE_INPUTS(HONE_F32(3, 5), HONE_F32(3, 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(-2.5)), .reference = add_tensors, WITH_GRAD},
    {"aten::add.Tensor", "alpha lives", HONE_INPUTS(HONE_F32(3, 5), HONE_F32(5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(0.75)), .reference = add_tensors, WITH_GRAD},
    {"aten::add.Tensor", "scalar on the left", HONE_INPUTS(HONE_F32_SCALAR, HONE_F32(2, 9)), BOTH,
     .reference = add_tensors, WITH_GRAD},
    {"aten::add.Tensor", "two scalars", HONE_INPUTS(HONE_F32_SCALAR, HONE_F32_SCALAR), BOTH, .reference = add_tensors,
     WITH_GRAD},
    {"aten::add.Tensor", "empty", HONE_INPUTS(HONE_F32(0, 3), HONE_F32(3)), BOTH, .reference = add_tensors, SIMPLE},
    {"aten::add.Tensor", "i32", HONE_INPUTS(HONE_I32_IN(-1000, 1000, 3, 4), HONE_I32_IN(-9, 9, 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(3)), .reference = add_tensors},
    {"aten::add.Tensor", "several blocks", HONE_INPUTS(HONE_F32(37, 1031), HONE_F32(37, 1)), BOTH,
     .reference = add_tensors, SIMPLE},
    {"aten::add.Tensor", "1e30", HONE_INPUTS(HONE_F32_IN(-1e30, 1e30, 33), HONE_F32_IN(-1e30, 1e30, 33)), BOTH,
     .reference = add_tensors, SIMPLE},
    {"aten::add.Tensor", "more groups than 65,535, one element more",
     HONE_INPUTS(HONE_F32(16777217), HONE_F32(16777217)), BOTH, .reference = add_tensors, SIMPLE, .large = true},
    {"aten::add.Tensor", "beyond a binding", HONE_INPUTS(HONE_F32(512, 151937), HONE_F32(512, 151937)), BOTH,
     .reference = add_tensors, SIMPLE, .large = true},
    {"aten::sub.Tensor", "row, alpha", HONE_INPUTS(HONE_F32(3, 7), HONE_F32(1, 7)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.5)), .reference = sub_tensors, WITH_GRAD},
    {"aten::sub.Tensor", "left repeats", HONE_INPUTS(HONE_F32(7), HONE_F32(3, 7)), BOTH, .reference = sub_tensors,
     WITH_GRAD},
    {"aten::sub.Tensor", "i32", HONE_INPUTS(HONE_I32_IN(-99, 99, 17), HONE_I32_IN(-99, 99, 17)), BOTH,
     .reference = sub_tensors},
    {"aten::mul.Tensor", "same shape", HONE_INPUTS(HONE_F32(3, 11), HONE_F32(3, 11)), BOTH, .reference = mul_tensors,
     WITH_GRAD},
    {"aten::mul.Tensor", "outer", HONE_INPUTS(HONE_F32(2, 4, 1), HONE_F32(1, 6)), BOTH, .reference = mul_tensors,
     WITH_GRAD},
    {"aten::mul.Tensor", "by a scalar tensor", HONE_INPUTS(HONE_F32(5, 3), HONE_F32_SCALAR), BOTH,
     .reference = mul_tensors, WITH_GRAD},
    {"aten::mul.Tensor", "i32", HONE_INPUTS(HONE_I32_IN(-99, 99, 5, 1), HONE_I32_IN(-99, 99, 3)), BOTH,
     .reference = mul_tensors},
    {"aten::mul.Tensor", "SmolLM2's gate", HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 1536)), BOTH,
     .reference = mul_tensors, SIMPLE, .bench_only = true, .bench_flop = 512 * 1536},
    {"aten::div.Tensor", "same shape", HONE_INPUTS(HONE_F32(3, 11), HONE_F32_IN(0.5, 2, 3, 11)), BOTH,
     .reference = div_tensors, WITH_GRAD},
    {"aten::div.Tensor", "column below", HONE_INPUTS(HONE_F32(4, 9), HONE_F32_IN(0.5, 2, 4, 1)), BOTH,
     .reference = div_tensors, WITH_GRAD},
    {"aten::div.Tensor", "outer", HONE_INPUTS(HONE_F32(4, 1), HONE_F32_IN(-2, -0.5, 5)), BOTH, .reference = div_tensors,
     WITH_GRAD},
    {"aten::add.Scalar", "number", HONE_INPUTS(HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(1.5)),
     .reference = add_number, WITH_GRAD},
    {"aten::add.Scalar", "alpha, whole number", HONE_INPUTS(HONE_F32(17)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(2), HONE_CASE_R(0.25)), .reference = add_number, WITH_GRAD},
    {"aten::add.Scalar", "i32", HONE_INPUTS(HONE_I32_IN(-9, 9, 7)), HONE_TAKES(HONE_IN(0), HONE_CASE_I(-4)),
     .reference = add_number},
    {"aten::sub.Scalar", "number", HONE_INPUTS(HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(0.3)),
     .reference = sub_number, WITH_GRAD},
    {"aten::mul.Scalar", "number", HONE_INPUTS(HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(-3.5)),
     .reference = mul_number, WITH_GRAD},
    {"aten::mul.Scalar", "number lives", HONE_INPUTS(HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0), HONE_CASE_LIVE(0.125)),
     .reference = mul_number, WITH_GRAD},
    {"aten::mul.Scalar", "empty", HONE_INPUTS(HONE_F32(4, 0)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(2)),
     .reference = mul_number, SIMPLE},
    {"aten::mul.Scalar", "i32", HONE_INPUTS(HONE_I32_IN(-9, 9, 7)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(-4)),
     .reference = mul_number},
    {"aten::div.Scalar", "number", HONE_INPUTS(HONE_F32(3, 5)), HONE_TAKES(HONE_IN(0), HONE_CASE_R(3)),
     .reference = div_number, WITH_GRAD},
    {"aten::div.Scalar", "number lives", HONE_INPUTS(HONE_F32(33)), HONE_TAKES(HONE_IN(0), HONE_CASE_LIVE(7)),
     .reference = div_number, WITH_GRAD},
    {"hone::accumulate_", "several blocks", HONE_INPUTS(HONE_F32(5, 7001), HONE_F32(5, 7001)), BOTH,
     .reference = accumulate, SIMPLE},
    {"hone::accumulate_", "empty", HONE_INPUTS(HONE_F32(0), HONE_F32(0)), BOTH, .reference = accumulate, SIMPLE},
    {"hone::accumulate_", "LoRA gradients of SmolLM2", HONE_INPUTS(HONE_F32(2442240), HONE_F32(2442240)), BOTH,
     .reference = accumulate, SIMPLE, .bench_only = true, .bench_flop = 2442240},
    TIMED("aten::add.Tensor", add_tensors, "512 x 1536", HONE_F32(512, 1536)),
    TIMED("aten::add.Tensor", add_tensors, "512 x 1536, row", HONE_F32(1536)),
    TIMED("aten::sub.Tensor", sub_tensors, "512 x 1536, column", HONE_F32(512, 1)),
    TIMED("aten::div.Tensor", div_tensors, "512 x 1536", HONE_F32_IN(0.5, 2, 512, 1536)),
    TIMED_NUMBER("aten::add.Scalar", add_number),
    TIMED_NUMBER("aten::sub.Scalar", sub_number),
    TIMED_NUMBER("aten::mul.Scalar", mul_number),
    TIMED_NUMBER("aten::div.Scalar", div_number),
    {0},
};
