// SPDX-License-Identifier: Apache-2.0
// Cases of layer normalisation and its gradients.
#include "ops/shared/cases.h"

static int64_t columns_of(const hone_argument *shape) {
    int64_t columns = 1;
    for (size_t i = 0; i < shape->count; i++) columns *= shape->integers[i];
    return columns;
}

static double mean_of(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static double inverse_deviation(const double *x, int64_t n, double mean, double eps) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return 1 / sqrt(sum / (double)n + eps);
}

// The input that argument `at` names; NULL when it is absent.
static const double *given(const hone_reference *run, int at) {
    const hone_argument *const argument = &run->arguments[at];
    return argument->kind == HONE_ARGUMENT_TENSOR ? run->inputs[argument->value.id - 1] : NULL;
}

static void norm(const hone_reference *run) {
    const int64_t n = columns_of(&run->arguments[1]), rows = hone_case_count(&run->output_types[1]);
    const double *const weight = given(run, 2), *const bias = given(run, 3);
    for (int64_t row = 0; row < rows; row++) {
        const double *const x = run->inputs[0] + row * n;
        const double mean = mean_of(x, n), r = inverse_deviation(x, n, mean, run->arguments[4].real);
        for (int64_t i = 0; i < n; i++)
            run->outputs[0][row * n + i] = (x[i] - mean) * r * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
        run->outputs[1][row] = mean;
        run->outputs[2][row] = r;
    }
}

// By the chain rule through mean and deviation, term by term.
static void backward(const hone_reference *run) {
    const int64_t n = columns_of(&run->arguments[2]), rows = hone_case_count(&run->input_types[1]) / (n ? n : 1);
    const double *const weight = given(run, 3);
    for (int64_t row = 0; row < rows; row++) {
        const double *const d = run->inputs[0] + row * n, *const x = run->inputs[1] + row * n;
        const double mean = mean_of(x, n), r = inverse_deviation(x, n, mean, run->arguments[4].real);
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++) {
                const double by_x = (i == j) - 1.0 / (double)n, by_r = -(x[j] - mean) * r * r * r / (double)n;
                sum += d[i] * (weight ? weight[i] : 1) * (by_x * r + (x[i] - mean) * by_r);
            }
            run->outputs[0][row * n + j] = sum;
        }
    }
}

static void weight_backward(const hone_reference *run) {
    const int64_t n = columns_of(&run->arguments[2]), rows = n ? hone_case_count(&run->input_types[1]) / n : 0;
    for (int64_t i = 0; i < n; i++) run->outputs[0][i] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const double *const d = run->inputs[0] + row * n, *const x = run->inputs[1] + row * n;
        const double mean = mean_of(x, n), r = inverse_deviation(x, n, mean, run->arguments[3].real);
        for (int64_t i = 0; i < n; i++) run->outputs[0][i] += d[i] * (x[i] - mean) * r;
    }
}

#define NORM(name_, ...)                                                                                               \
    {"aten::native_layer_norm",                                                                                        \
     name_,                                                                                                            \
     .reference = norm,                                                                                                \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT,                                                                     \
     .no_seed = 6,                                                                                                     \
     __VA_ARGS__}
#define EDGE(name_, ...)                                                                                               \
    {"aten::native_layer_norm", name_, .reference = norm, .tolerance = HONE_TOLERANCE_SIMPLE, __VA_ARGS__}
#define BACK(op_, name_, function, ...)                                                                                \
    {op_, name_, .reference = function, .tolerance = HONE_TOLERANCE_SIMPLE, __VA_ARGS__}
#define X(...)   HONE_TAKES(HONE_IN(0), HONE_CASE_IS(__VA_ARGS__), HONE_CASE_NO, HONE_CASE_NO, EPS)
#define XW(...)  HONE_TAKES(HONE_IN(0), HONE_CASE_IS(__VA_ARGS__), HONE_IN(1), HONE_CASE_NO, EPS)
#define XB(...)  HONE_TAKES(HONE_IN(0), HONE_CASE_IS(__VA_ARGS__), HONE_CASE_NO, HONE_IN(1), EPS)
#define XWB(...) HONE_TAKES(HONE_IN(0), HONE_CASE_IS(__VA_ARGS__), HONE_IN(1), HONE_IN(2), EPS)
#define EPS      HONE_CASE_R(1e-5)

const hone_op_case hone_cases_layer_norm[] = {
    NORM("weight and bias", HONE_INPUTS(HONE_F32(5, 37), HONE_F32(37), HONE_F32(37)), XWB(37)),
    NORM("plain", HONE_INPUTS(HONE_F32(5, 37)), X(37)),
    NORM("weight alone", HONE_INPUTS(HONE_F32(5, 8), HONE_F32(8)), XW(8)),
    NORM("bias alone", HONE_INPUTS(HONE_F32(5, 9), HONE_F32(9)), XB(9)),
    NORM("two dimensions of four", HONE_INPUTS(HONE_F32(2, 3, 4, 5), HONE_F32(4, 5), HONE_F32(4, 5)), XWB(4, 5)),
    NORM("all dimensions", HONE_INPUTS(HONE_F32(3, 7), HONE_F32(3, 7), HONE_F32(3, 7)), XWB(3, 7)),
    NORM("one element a row", HONE_INPUTS(HONE_F32(5, 1), HONE_F32(1), HONE_F32(1)), XWB(1)),
    NORM("large numbers that differ little", HONE_INPUTS(HONE_F32_IN(1000, 1001, 5, 64), HONE_F32(64), HONE_F32(64)),
         XWB(64)),
    NORM("several blocks", HONE_INPUTS(HONE_F32(70, 300), HONE_F32(300), HONE_F32(300)), XWB(300)),
    EDGE("1e30", HONE_INPUTS(HONE_F32_IN(-1e30, 1e30, 3, 33)), X(33)),
    EDGE("all the same, eps 0 gives NaN", HONE_INPUTS(HONE_F32_OF((2), 3, 8)),
         HONE_TAKES(HONE_IN(0), HONE_CASE_IS(8), HONE_CASE_NO, HONE_CASE_NO, HONE_CASE_R(0))),
    EDGE("all the same", HONE_INPUTS(HONE_F32_OF((2), 3, 8)), X(8)),
    EDGE("NaN and infinity spoil their row alone",
         HONE_INPUTS(HONE_F32_OF((1, 2, 3, NAN, 4, 5, 1, INFINITY, 2, 3, 4, 6), 4, 3)), X(3)),
    EDGE("no rows", HONE_INPUTS(HONE_F32(0, 8)), X(8)),
    EDGE("no columns", HONE_INPUTS(HONE_F32(3, 0)), X(0)),
    BACK("hone::layer_norm_backward", "with weight", backward,
         HONE_INPUTS(HONE_F32(5, 37), HONE_F32(5, 37), HONE_F32(37)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(37), HONE_IN(2), EPS)),
    BACK("hone::layer_norm_backward", "without weight, two dimensions", backward,
         HONE_INPUTS(HONE_F32(2, 3, 5), HONE_F32_IN(50, 51, 2, 3, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(3, 5), HONE_CASE_NO, EPS)),
    BACK("hone::layer_norm_backward", "no rows", backward, HONE_INPUTS(HONE_F32(0, 5), HONE_F32(0, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(5), HONE_CASE_NO, EPS)),
    BACK("hone::layer_norm_weight_backward", "many rows", weight_backward,
         HONE_INPUTS(HONE_F32(200, 133), HONE_F32(200, 133)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(133), EPS)),
    BACK("hone::layer_norm_weight_backward", "large numbers that differ little", weight_backward,
         HONE_INPUTS(HONE_F32(5, 64), HONE_F32_IN(1000, 1001, 5, 64)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(64), EPS)),
    BACK("hone::layer_norm_weight_backward", "no rows", weight_backward, HONE_INPUTS(HONE_F32(0, 5), HONE_F32(0, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(5), EPS)),
    EDGE("512 rows of 768", HONE_INPUTS(HONE_F32(512, 768), HONE_F32(768), HONE_F32(768)), XWB(768), .bench_only = true,
         .bench_flop = 512 * 768 * 8),
    BACK("hone::layer_norm_backward", "512 rows of 768", backward,
         HONE_INPUTS(HONE_F32(512, 768), HONE_F32(512, 768), HONE_F32(768)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(768), HONE_IN(2), EPS), .bench_only = true,
         .bench_flop = 512 * 768 * 14),
    BACK("hone::layer_norm_weight_backward", "512 rows of 768", weight_backward,
         HONE_INPUTS(HONE_F32(512, 768), HONE_F32(512, 768)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_IS(768), EPS), .bench_only = true, .bench_flop = 512 * 768 * 9),
    {0},
};
