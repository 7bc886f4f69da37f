// SPDX-License-Identifier: Apache-2.0
// Cases of AdamW's update and of the numbers that guard it.
#include <float.h>

#include "ops/shared/cases.h"

// Numbers at arguments[first..]: lr, beta1, beta2, eps, weight_decay, bias_correction1, bias_correction2.
static void step(const hone_reference *run, int first, double factor) {
    double n[7];
    for (int i = 0; i < 7; i++) n[i] = hone_case_number(&run->arguments[first + i], 0);
    double *const p = run->inputs[0], *const m = run->inputs[1], *const v = run->inputs[2];
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) {
        const double g = run->inputs[3][i] * factor;
        p[i] -= n[0] * n[4] * p[i];
        m[i] = n[1] * m[i] + (1 - n[1]) * g;
        v[i] = n[2] * v[i] + (1 - n[2]) * g * g;
        p[i] -= n[0] * (m[i] / n[5]) / (sqrt(v[i] / n[6]) + n[3]);
    }
}

static void plain(const hone_reference *run) {
    step(run, 4, 1);
}

static void guarded(const hone_reference *run) {
    if (run->inputs[4][2] != 0) step(run, 5, run->inputs[4][1]);
}

static void control(const hone_reference *run) {
    double sum = 0;
    bool finite = true;
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) {
        sum += run->inputs[0][i] * run->inputs[0][i];
        finite = finite && isfinite(run->inputs[0][i]);
    }
    for (int64_t i = 0; i < hone_case_count(&run->input_types[1]); i++) finite = finite && isfinite(run->inputs[1][i]);
    const double norm = sqrt(sum), clip = hone_case_number(&run->arguments[2], 0);
    run->outputs[0][0] = finite ? fmin(norm, FLT_MAX) : norm;
    run->outputs[0][1] = clip > 0 && norm > clip ? clip / norm : 1;
    run->outputs[0][2] = finite;
    run->outputs[0][3] = 0;
}

#define STATE(...)                                                                                                     \
    HONE_F32(__VA_ARGS__), HONE_F32_IN(-0.1, 0.1, __VA_ARGS__), HONE_F32_IN(0.001, 0.01, __VA_ARGS__),                 \
        HONE_F32(__VA_ARGS__)
#define TENSORS           HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3)
#define USUAL             HONE_CASE_R(2e-4), HONE_CASE_R(0.9), HONE_CASE_R(0.999), HONE_CASE_R(1e-8), HONE_CASE_R(0.01)
#define CHECKED(function) .reference = function, .tolerance = HONE_TOLERANCE_SIMPLE

const hone_op_case hone_cases_adamw_step[] = {
    {"et_vk::adamw_step", "matrix, first step", HONE_INPUTS(STATE(4, 3)),
     HONE_TAKES(TENSORS, USUAL, HONE_CASE_R(0.1), HONE_CASE_R(0.001)), CHECKED(plain)},
    {"et_vk::adamw_step", "step 10, live numbers", HONE_INPUTS(STATE(37)),
     HONE_TAKES(TENSORS, HONE_CASE_LIVE(3e-3), HONE_CASE_R(0.9), HONE_CASE_R(0.999), HONE_CASE_R(1e-8),
                HONE_CASE_LIVE(0.1), HONE_CASE_LIVE(0.6513215599), HONE_CASE_LIVE(0.00995511979)),
     CHECKED(plain)},
    {"et_vk::adamw_step", "no bias correction, no decay", HONE_INPUTS(STATE(19)),
     HONE_TAKES(TENSORS, HONE_CASE_R(0.1), HONE_CASE_R(0.9), HONE_CASE_R(0.999), HONE_CASE_R(1e-8), HONE_CASE_R(0),
                HONE_CASE_R(1), HONE_CASE_R(1)),
     CHECKED(plain)},
    {"et_vk::adamw_step", "moments and gradient 0",
     HONE_INPUTS(HONE_F32(9), HONE_F32_OF((0), 9), HONE_F32_OF((0), 9), HONE_F32_OF((0), 9)),
     HONE_TAKES(TENSORS, USUAL, HONE_CASE_R(0.1), HONE_CASE_R(0.001)), CHECKED(plain)},
    {"et_vk::adamw_step", "several blocks", HONE_INPUTS(STATE(3, 12345)),
     HONE_TAKES(TENSORS, USUAL, HONE_CASE_R(0.1), HONE_CASE_R(0.001)), CHECKED(plain)},
    {"et_vk::adamw_step", "empty", HONE_INPUTS(STATE(0)),
     HONE_TAKES(TENSORS, USUAL, HONE_CASE_R(0.1), HONE_CASE_R(0.001)), CHECKED(plain)},
    {"et_vk::adamw_step", "64 M parameters", HONE_INPUTS(STATE(64 << 20)),
     HONE_TAKES(TENSORS, USUAL, HONE_CASE_R(0.1), HONE_CASE_R(0.001)), CHECKED(plain), .bench_only = true,
     .large = true, .bench_flop = (int64_t)(64 << 20) * 16},
    {"et_vk::adamw_step", "4 M parameters", HONE_INPUTS(STATE(4 << 20)),
     HONE_TAKES(TENSORS, USUAL, HONE_CASE_R(0.1), HONE_CASE_R(0.001)), CHECKED(plain), .bench_only = true,
     .large = true, .bench_flop = (int64_t)(4 << 20) * 16},
    {"hone::adamw_step_guarded", "clipped", HONE_INPUTS(STATE(3, 12345), HONE_F32_OF((4, 0.25, 1, 0), 4)),
     HONE_TAKES(TENSORS, HONE_IN(4), USUAL, HONE_CASE_LIVE(0.1), HONE_CASE_LIVE(0.001)), CHECKED(guarded)},
    {"hone::adamw_step_guarded", "not finite: nothing changes",
     HONE_INPUTS(HONE_F32(33), HONE_F32(33), HONE_F32(33), HONE_F32_OF((NAN, 1), 33), HONE_F32_OF((NAN, 1, 0, 0), 4)),
     HONE_TAKES(TENSORS, HONE_IN(4), USUAL, HONE_CASE_LIVE(0.1), HONE_CASE_LIVE(0.001)), .reference = guarded},
    {"hone::adamw_step_guarded", "LoRA of SmolLM2", HONE_INPUTS(STATE(2442240), HONE_F32_OF((4, 0.25, 1, 0), 4)),
     HONE_TAKES(TENSORS, HONE_IN(4), USUAL, HONE_CASE_LIVE(0.1), HONE_CASE_LIVE(0.001)), CHECKED(guarded),
     .bench_only = true, .bench_flop = (int64_t)2442240 * 16},
    {"hone::gradient_control", "no clipping", HONE_INPUTS(HONE_F32(17, 3), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(0)), CHECKED(control)},
    {"hone::gradient_control", "below the clip", HONE_INPUTS(HONE_F32(17), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(1000)), CHECKED(control)},
    {"hone::gradient_control", "clipped, several blocks", HONE_INPUTS(HONE_F32(50001), HONE_F32(1)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(1)), CHECKED(control)},
    {"hone::gradient_control", "1e30 does not overflow", HONE_INPUTS(HONE_F32_IN(-1e30, 1e30, 5001), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1)), CHECKED(control)},
    {"hone::gradient_control", "a norm beyond f32 stays finite", HONE_INPUTS(HONE_F32_OF((3e38), 9), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1)), CHECKED(control)},
    {"hone::gradient_control", "gradient with infinity", HONE_INPUTS(HONE_F32_OF((1, INFINITY, 2), 3), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(0)), CHECKED(control)},
    {"hone::gradient_control", "loss is NaN", HONE_INPUTS(HONE_F32(9), HONE_F32_OF((NAN), 1)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1)), CHECKED(control)},
    {"hone::gradient_control", "empty", HONE_INPUTS(HONE_F32(0), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1)), CHECKED(control)},
    {"hone::gradient_control", "LoRA of SmolLM2", HONE_INPUTS(HONE_F32(2442240), HONE_F32_SCALAR),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(1)), CHECKED(control), .bench_only = true,
     .bench_flop = (int64_t)2442240 * 2},
    {0},
};
