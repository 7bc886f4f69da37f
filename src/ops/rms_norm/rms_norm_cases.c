// SPDX-License-Identifier: Apache-2.0
// Cases of root-mean-square normalisation and its gradients.
#include "ops/shared/cases.h"

static double scale_of(const double *x, int64_t n, double eps) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return 1 / sqrt(sum / (double)n + eps);
}

static int64_t last_of(const hone_tensor_type *type) {
    return type->dims[type->rank - 1];
}

static void norm(const hone_reference *run) {
    const int64_t n = last_of(&run->input_types[0]), count = hone_case_count(&run->input_types[0]);
    for (int64_t at = 0; at < count; at += n) {
        const double r = scale_of(run->inputs[0] + at, n, run->arguments[2].real);
        for (int64_t i = 0; i < n; i++) run->outputs[0][at + i] = run->inputs[0][at + i] * r * run->inputs[1][i];
    }
}

static void backward(const hone_reference *run) {
    const int64_t n = last_of(&run->input_types[1]), count = hone_case_count(&run->input_types[1]);
    for (int64_t at = 0; at < count; at += n) {
        const double *const d = run->inputs[0] + at, *const x = run->inputs[1] + at, *const w = run->inputs[2];
        const double r = scale_of(x, n, run->arguments[3].real);
        double dot = 0;
        for (int64_t i = 0; i < n; i++) dot += d[i] * w[i] * x[i];
        for (int64_t i = 0; i < n; i++) run->outputs[0][at + i] = r * d[i] * w[i] - x[i] * r * r * r * dot / (double)n;
    }
}

static void weight_backward(const hone_reference *run) {
    const int64_t n = last_of(&run->input_types[1]), count = hone_case_count(&run->input_types[1]);
    for (int64_t i = 0; i < n; i++) run->outputs[0][i] = 0;
    for (int64_t at = 0; at < count; at += n) {
        const double r = scale_of(run->inputs[1] + at, n, run->arguments[2].real);
        for (int64_t i = 0; i < n; i++) run->outputs[0][i] += run->inputs[0][at + i] * run->inputs[1][at + i] * r;
    }
}

#define NORM(name_, ...)                                                                                               \
    {"et_vk::rms_norm",                                                                                                \
     name_,                                                                                                            \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1e-5)),                                                            \
     .reference = norm,                                                                                                \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     __VA_ARGS__}
#define GRADIENT .gradient_tolerance = HONE_TOLERANCE_PRODUCT

const hone_op_case hone_cases_rms_norm[] = {
    NORM("one row", HONE_INPUTS(HONE_F32(1, 8), HONE_F32(8)), GRADIENT),
    NORM("odd D", HONE_INPUTS(HONE_F32(5, 37), HONE_F32(37)), GRADIENT),

    // With the usual eps x would cancel out and leave a gradient of rounding errors.
    {"et_vk::rms_norm", "D = 1", HONE_INPUTS(HONE_F32_IN(0.5, 1, 3, 1), HONE_F32(1)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.5)), .reference = norm, .tolerance = HONE_TOLERANCE_SIMPLE,
     GRADIENT},
    NORM("three dimensions", HONE_INPUTS(HONE_F32(2, 3, 19), HONE_F32(19)), GRADIENT),
    NORM("vector", HONE_INPUTS(HONE_F32(20), HONE_F32(20)), GRADIENT),
    NORM("no rows", HONE_INPUTS(HONE_F32(0, 16), HONE_F32(16))),
    NORM("1e30", HONE_INPUTS(HONE_F32_IN(-1e30, 1e30, 3, 40), HONE_F32(40))),
    NORM("tiny", HONE_INPUTS(HONE_F32_IN(-1e-8, 1e-8, 3, 40), HONE_F32(40))),
    NORM("row of zeros", HONE_INPUTS(HONE_F32_OF((0), 2, 16), HONE_F32(16))),
    NORM("several tasks", HONE_INPUTS(HONE_F32(64, 576), HONE_F32(576)), GRADIENT),
    NORM("SmolLM2, 512 tokens", HONE_INPUTS(HONE_F32(512, 576), HONE_F32(576)), .bench_only = true,
         .bench_flop = 512 * 576 * 4),
    {"hone::rms_norm_backward", "odd D", HONE_INPUTS(HONE_F32(5, 37), HONE_F32(5, 37), HONE_F32(37)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(1e-5)), .reference = backward,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {"hone::rms_norm_backward", "1e30", HONE_INPUTS(HONE_F32(3, 40), HONE_F32_IN(-1e30, 1e30, 3, 40), HONE_F32(40)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(1e-5)), .reference = backward,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {"hone::rms_norm_backward", "SmolLM2, 512 tokens",
     HONE_INPUTS(HONE_F32(512, 576), HONE_F32(512, 576), HONE_F32(576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(1e-5)), .reference = backward,
     .tolerance = HONE_TOLERANCE_SIMPLE, .bench_only = true, .bench_flop = 512 * 576 * 10},
    {"hone::rms_norm_weight_backward", "odd D", HONE_INPUTS(HONE_F32(5, 137), HONE_F32(5, 137)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1e-5)), .reference = weight_backward,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {"hone::rms_norm_weight_backward", "no rows", HONE_INPUTS(HONE_F32(0, 16), HONE_F32(0, 16)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1e-5)), .reference = weight_backward,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {"hone::rms_norm_weight_backward", "SmolLM2, 512 tokens", HONE_INPUTS(HONE_F32(512, 576), HONE_F32(512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1e-5)), .reference = weight_backward,
     .tolerance = HONE_TOLERANCE_SIMPLE, .bench_only = true},
    {0},
};
