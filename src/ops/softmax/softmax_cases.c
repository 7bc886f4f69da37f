// SPDX-License-Identifier: Apache-2.0
// Cases of softmax and its logarithm.
#include "ops/shared/cases.h"

// Calls visit(run, first element, elements between two, count) for each line along the dimension.
typedef void line(const hone_reference *run, int64_t first, int64_t step, int64_t n);
static void each_line(const hone_reference *run, int64_t dim, line *visit) {
    const hone_tensor_type *const type = &run->output_types[0];
    int64_t step = 1, n = 1;
    const int at = (int)(dim < 0 ? dim + type->rank : dim);
    for (int d = at + 1; d < type->rank; d++) step *= type->dims[d];
    if (type->rank > 0) n = type->dims[at];
    for (int64_t i = 0; i < hone_case_count(type); i++)
        if (i / step % n == 0) visit(run, i, step, n);
}

static double log_sum(const double *x, int64_t step, int64_t n) {
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) max = fmax(max, x[i * step]);
    for (int64_t i = 0; i < n; i++) sum += exp(x[i * step] - max);
    return max + log(sum);
}

static void softmax_line(const hone_reference *run, int64_t first, int64_t step, int64_t n) {
    const double shift = log_sum(run->inputs[0] + first, step, n);
    for (int64_t i = first; i < first + n * step; i += step) run->outputs[0][i] = exp(run->inputs[0][i] - shift);
}

static void log_softmax_line(const hone_reference *run, int64_t first, int64_t step, int64_t n) {
    const double shift = log_sum(run->inputs[0] + first, step, n);
    for (int64_t i = first; i < first + n * step; i += step) run->outputs[0][i] = run->inputs[0][i] - shift;
}

static void softmax_slope(const hone_reference *run, int64_t first, int64_t step, int64_t n) {
    double dot = 0;
    for (int64_t i = first; i < first + n * step; i += step) dot += run->inputs[0][i] * run->inputs[1][i];
    for (int64_t i = first; i < first + n * step; i += step)
        run->outputs[0][i] = run->inputs[1][i] * (run->inputs[0][i] - dot);
}

static void log_softmax_slope(const hone_reference *run, int64_t first, int64_t step, int64_t n) {
    double sum = 0;
    for (int64_t i = first; i < first + n * step; i += step) sum += run->inputs[0][i];
    for (int64_t i = first; i < first + n * step; i += step)
        run->outputs[0][i] = run->inputs[0][i] - exp(run->inputs[1][i]) * sum;
}

static void softmax(const hone_reference *run) {
    each_line(run, run->arguments[1].integer, softmax_line);
}
static void log_softmax(const hone_reference *run) {
    each_line(run, run->arguments[1].integer, log_softmax_line);
}
static void softmax_backward(const hone_reference *run) {
    each_line(run, run->arguments[2].integer, softmax_slope);
}
static void log_softmax_backward(const hone_reference *run) {
    each_line(run, run->arguments[2].integer, log_softmax_slope);
}

#define BOTH(name_, dim, gradient, input)                                                                              \
    {"aten::_softmax",                                                                                                 \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(dim), HONE_CASE_B(0)),                                                         \
     .reference = softmax,                                                                                             \
     .tolerance = HONE_TOLERANCE_EXP,                                                                                  \
     .gradient_tolerance = gradient},                                                                                  \
    {                                                                                                                  \
        "aten::_log_softmax", name_, HONE_INPUTS(input), HONE_TAKES(HONE_IN(0), HONE_CASE_I(dim), HONE_CASE_B(0)),     \
            .reference = log_softmax, .tolerance = HONE_TOLERANCE_EXP, .gradient_tolerance = gradient                  \
    }
#define SLOPES(name_, dim, ...)                                                                                        \
    {"aten::_softmax_backward_data",                                                                                   \
     name_,                                                                                                            \
     HONE_INPUTS(HONE_F32(__VA_ARGS__), HONE_F32_IN(0, 1, __VA_ARGS__)),                                               \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(dim), HONE_CASE_I(6)),                                             \
     .reference = softmax_backward,                                                                                    \
     .tolerance = HONE_TOLERANCE_EXP},                                                                                 \
    {                                                                                                                  \
        "aten::_log_softmax_backward_data", name_,                                                                     \
            HONE_INPUTS(HONE_F32(__VA_ARGS__), HONE_F32_IN(-5, -1, __VA_ARGS__)),                                      \
            HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(dim), HONE_CASE_I(6)), .reference = log_softmax_backward,   \
            .tolerance = HONE_TOLERANCE_EXP                                                                            \
    }

const hone_op_case hone_cases_softmax[] = {
    BOTH("last", -1, HONE_TOLERANCE_PRODUCT, HONE_F32_IN(-4, 4, 5, 37)),
    BOTH("first", 0, HONE_TOLERANCE_PRODUCT, HONE_F32_IN(-4, 4, 37, 5)),
    BOTH("middle", 1, HONE_TOLERANCE_PRODUCT, HONE_F32_IN(-4, 4, 3, 7, 5)),
    BOTH("middle, wide", -2, 0, HONE_F32_IN(-4, 4, 3, 17, 150)),
    BOTH("vector", 0, HONE_TOLERANCE_PRODUCT, HONE_F32_IN(-4, 4, 19)),
    BOTH("scalar", -1, 0, HONE_F32_SCALAR),
    BOTH("one element a line", -1, 0, HONE_F32(4, 1)),
    BOTH("nothing", -1, 0, HONE_F32(0, 4)),
    BOTH("empty lines", -1, 0, HONE_F32(4, 0)),
    BOTH("large values", -1, 0, HONE_F32_IN(-1e4, 1e4, 3, 33)),
    BOTH("1e30", -1, 0, HONE_F32_OF((1e30, -1e30, 0), 2, 3)),
    BOTH("some -inf", -1, 0, HONE_F32_OF((-INFINITY, 1, 2, -INFINITY, 0.5), 2, 5)),
    BOTH("a line of -inf is NaN", -1, 0, HONE_F32_OF((-INFINITY), 1, 18)),
    BOTH("a column of -inf is NaN", 0, 0, HONE_F32_OF((-INFINITY), 3, 2)),
    BOTH("long lines", -1, 0, HONE_F32_IN(-8, 8, 2, 49152)),
    SLOPES("last", -1, 5, 37),
    SLOPES("first", 0, 37, 5),
    SLOPES("middle, wide", 1, 3, 17, 150),
    {"aten::_softmax", "scores of SmolLM2", HONE_INPUTS(HONE_F32_IN(-8, 8, 512, 512)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(-1), HONE_CASE_B(0)), .reference = softmax, .tolerance = HONE_TOLERANCE_EXP,
     .bench_only = true, .bench_flop = 512 * 512 * 16},
    {"aten::_log_softmax", "64 rows of 49152", HONE_INPUTS(HONE_F32_IN(-8, 8, 64, 49152)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(-1), HONE_CASE_B(0)), .reference = log_softmax, .tolerance = HONE_TOLERANCE_EXP,
     .bench_only = true},
    {"aten::_softmax_backward_data", "scores of SmolLM2", HONE_INPUTS(HONE_F32(512, 512), HONE_F32_IN(0, 1, 512, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(-1), HONE_CASE_I(6)), .reference = softmax_backward,
     .tolerance = HONE_TOLERANCE_EXP, .bench_only = true},
    {"aten::_log_softmax_backward_data", "64 rows of 49152",
     HONE_INPUTS(HONE_F32(64, 49152), HONE_F32_IN(-5, -1, 64, 49152)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(-1), HONE_CASE_I(6)), .reference = log_softmax_backward,
     .tolerance = HONE_TOLERANCE_EXP, .bench_only = true},
    {0},
};
