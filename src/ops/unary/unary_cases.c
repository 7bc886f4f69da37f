// SPDX-License-Identifier: Apache-2.0
// Cases of functions of one element, and of the gated activation.
#include "ops/shared/cases.h"

static void silu_mul(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double g = run->inputs[0][i];
        run->outputs[0][i] = g / (1 + exp(-g)) * run->inputs[1][i];
    }
}

static void silu_mul_backward(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const double d = run->inputs[0][i], g = run->inputs[1][i], u = run->inputs[2][i], s = 1 / (1 + exp(-g));
        run->outputs[0][i] = d * u * (s + g * s * (1 - s));
        run->outputs[1][i] = d * g * s;
    }
}

#define GATED(name_, ...)                                                                                              \
    {"hone::silu_mul",                                                                                                 \
     name_,                                                                                                            \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     .reference = silu_mul,                                                                                            \
     .tolerance = HONE_TOLERANCE_EXP,                                                                                  \
     .gradient_tolerance = HONE_TOLERANCE_EXP,                                                                         \
     __VA_ARGS__}

const hone_op_case hone_cases_unary[] = {
    GATED("odd", HONE_INPUTS(HONE_F32_IN(-8, 8, 7, 13), HONE_F32(7, 13))),
    GATED("wide range", HONE_INPUTS(HONE_F32_IN(-200, 200, 333), HONE_F32(333))),
    GATED("one element", HONE_INPUTS(HONE_F32_SCALAR, HONE_F32_SCALAR)),
    GATED("empty", HONE_INPUTS(HONE_F32(0, 5), HONE_F32(0, 5))),
    {"hone::silu_mul", "1e30", HONE_INPUTS(HONE_F32_OF((-1e30, 1e30, 0), 3), HONE_F32(3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)), .reference = silu_mul, .tolerance = HONE_TOLERANCE_EXP},
    GATED("SmolLM2, 512 tokens", HONE_INPUTS(HONE_F32_IN(-8, 8, 512, 1536), HONE_F32(512, 1536)), .bench_only = true,
          .bench_flop = 512 * 1536 * 20),
    {"hone::silu_mul_backward", "several blocks",
     HONE_INPUTS(HONE_F32(3, 12345), HONE_F32_IN(-9, 9, 3, 12345), HONE_F32(3, 12345)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = silu_mul_backward, .tolerance = HONE_TOLERANCE_EXP},
    {"hone::silu_mul_backward", "1e30", HONE_INPUTS(HONE_F32(3), HONE_F32_OF((-1e30, 1e30, -0.5), 3), HONE_F32(3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = silu_mul_backward, .tolerance = HONE_TOLERANCE_EXP},
    {"hone::silu_mul_backward", "SmolLM2, 512 tokens",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32_IN(-9, 9, 512, 1536), HONE_F32(512, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)), .reference = silu_mul_backward, .tolerance = HONE_TOLERANCE_EXP,
     .bench_only = true, .bench_flop = 512 * 1536 * 26},
    {0},
};
