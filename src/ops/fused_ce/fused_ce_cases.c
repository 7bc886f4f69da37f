// SPDX-License-Identifier: Apache-2.0
// Cases of cross entropy with its gradient.
#include "ops/shared/cases.h"

static void fused_ce(const hone_reference *run) {
    const int64_t rows = run->input_types[0].dims[0], n = run->input_types[0].dims[1];
    const double n_valid = hone_case_number(&run->arguments[2], 0);
    double loss = 0;
    for (int64_t r = 0; r < rows; r++) {
        const double *const x = run->inputs[0] + r * n;
        double *const d = run->outputs[1] + r * n;
        int64_t label = (int64_t)run->inputs[1][r];
        for (int64_t i = 0; i < n; i++) d[i] = 0;
        if (label < 0) continue;
        if (label >= n) label = n - 1;
        double max = -INFINITY, sum = 0;
        for (int64_t i = 0; i < n; i++) max = fmax(max, x[i]);
        for (int64_t i = 0; i < n; i++) sum += exp(x[i] - max);
        for (int64_t i = 0; i < n; i++) d[i] = n_valid > 0 ? (exp(x[i] - max) / sum - (i == label)) / n_valid : NAN;
        loss += n_valid > 0 ? (log(sum) + max - x[label]) / n_valid : NAN;
    }
    run->outputs[0][0] = loss;
}

#define CE(name_, ...)                                                                                                 \
    {"et_vk::fused_ce", name_, .reference = fused_ce, .tolerance = HONE_TOLERANCE_EXP, .no_seed = 2, __VA_ARGS__}
#define TAKES(n) HONE_TAKES(HONE_IN(0), HONE_IN(1), n)
#define GRADIENT .gradient_tolerance = HONE_TOLERANCE_PRODUCT

const hone_op_case hone_cases_fused_ce[] = {
    CE("odd V", HONE_INPUTS(HONE_F32_IN(-4, 4, 5, 37), HONE_I32_IN(0, 36, 5)), TAKES(HONE_CASE_R(5)), GRADIENT),
    CE("some labels ignored", HONE_INPUTS(HONE_F32_IN(-4, 4, 6, 33), HONE_I32_OF((3, -100, 0, -1, 32, -100), 6)),
       TAKES(HONE_CASE_R(3)), GRADIENT),
    CE("n_valid of a larger step, live", HONE_INPUTS(HONE_F32_IN(-4, 4, 3, 16), HONE_I32_IN(0, 15, 3)),
       TAKES(HONE_CASE_LIVE(117)), GRADIENT),
    CE("all ignored", HONE_INPUTS(HONE_F32(4, 19), HONE_I32_OF((-100), 4)), TAKES(HONE_CASE_LIVE(7))),
    CE("all ignored, n_valid 0", HONE_INPUTS(HONE_F32(4, 19), HONE_I32_OF((-100), 4)), TAKES(HONE_CASE_LIVE(0))),
    CE("n_valid 0 with labels is NaN", HONE_INPUTS(HONE_F32(2, 5), HONE_I32_OF((1, -1), 2)), TAKES(HONE_CASE_LIVE(0))),
    CE("one column", HONE_INPUTS(HONE_F32(3, 1), HONE_I32_OF((0), 3)), TAKES(HONE_CASE_R(3))),
    CE("no rows", HONE_INPUTS(HONE_F32(0, 9), HONE_I32_IN(0, 8, 0)), TAKES(HONE_CASE_R(1))),
    CE("label beyond V is clamped", HONE_INPUTS(HONE_F32(2, 9), HONE_I32_OF((9, 100000), 2)), TAKES(HONE_CASE_R(2))),
    CE("sure of the label", HONE_INPUTS(HONE_F32_OF((15, -15, 0, -15, 15, 1), 2, 3), HONE_I32_OF((0, 1), 2)),
       TAKES(HONE_CASE_R(2))),
    CE("1e30", HONE_INPUTS(HONE_F32_OF((1e30, -1e30, 0, 1e30, 0, 5), 2, 3), HONE_I32_OF((0, 2), 2)),
       TAKES(HONE_CASE_R(2))),
    CE("some -inf",
       HONE_INPUTS(HONE_F32_OF((-INFINITY, 1, 2, 0.5, -INFINITY, -INFINITY), 2, 3), HONE_I32_OF((2, 0), 2)),
       TAKES(HONE_CASE_R(2))),
    CE("a row of -inf is NaN", HONE_INPUTS(HONE_F32_OF((-INFINITY), 1, 4), HONE_I32_OF((2), 1)), TAKES(HONE_CASE_R(1))),
    CE("V = 49152", HONE_INPUTS(HONE_F32_IN(-8, 8, 3, 49152), HONE_I32_IN(0, 49151, 3)), TAKES(HONE_CASE_R(3))),
    CE("SmolLM2, 64 rows", HONE_INPUTS(HONE_F32_IN(-8, 8, 64, 49152), HONE_I32_IN(0, 49151, 64)),
       TAKES(HONE_CASE_R(64)), .bench_only = true, .bench_flop = (int64_t)64 * 49152 * 16),
    CE("512 rows of 151936", HONE_INPUTS(HONE_F32_IN(-8, 8, 512, 151936), HONE_I32_IN(0, 151935, 512)),
       TAKES(HONE_CASE_R(512)), .large = true),
    CE("4096 rows of 49152", HONE_INPUTS(HONE_F32_IN(-8, 8, 4096, 49152), HONE_I32_IN(0, 49151, 4096)),
       TAKES(HONE_CASE_R(4096)), .bench_only = true, .large = true, .bench_flop = (int64_t)4096 * 49152 * 16),
    {0},
};
