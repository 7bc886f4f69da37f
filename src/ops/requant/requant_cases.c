// SPDX-License-Identifier: Apache-2.0
// Cases of latent weights to 4-bit codes: all bit-exact.
#include "ops/shared/cases.h"

// The quotient of two floats in double, rounded to float, is the correctly rounded float quotient.
static double code_of(double latent, double scale) {
    if (fabs(scale) < ldexp(1, -126)) return 8;
    const double quotient = (float)(latent / scale);
    if (isnan(quotient)) return 8;
    if (quotient >= 7) return 15;
    if (quotient <= -8) return 0;
    const double below = floor(quotient), rest = quotient - below;
    const bool odd = fmod(below, 2) != 0;
    return below + (rest > 0.5 || (rest == 0.5 && odd)) + 8;
}

static void requant(const hone_reference *run) {
    const int64_t n = run->input_types[0].dims[0], k = run->input_types[0].dims[1];
    const int64_t padded = run->input_types[1].dims[1], group = run->arguments[2].integer, bytes = (k + 1) / 2;
    for (int64_t i = 0; i < n * bytes; i++) run->outputs[0][i] = 0;
    for (int64_t row = 0; row < n; row++)
        for (int64_t column = 0; column < k; column++) {
            const double code =
                code_of(run->inputs[0][row * k + column], run->inputs[1][column / group * padded + row]);
            run->outputs[0][row * bytes + column / 2] += column % 2 ? 16 * code : code;
        }
}

#define REQUANT(name_, group_, ...)                                                                                    \
    {"et_vk::q4gsw_requant", name_, HONE_INPUTS(__VA_ARGS__), HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(group_)), \
     .reference = requant}
#define SCALES(...) {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_POSITIVE_SCALES}

const hone_op_case hone_cases_requant[] = {
    REQUANT("4 x 32, g = 32", 32, HONE_F32(4, 32), SCALES(1, 4)),
    REQUANT("g = 16", 16, HONE_F32(6, 64), SCALES(4, 6)),
    REQUANT("odd K, last group not full, padded scales", 64, HONE_F32(6, 129), SCALES(3, 8)),
    REQUANT("K = 1", 1, HONE_F32(3, 1), SCALES(1, 3)),
    REQUANT("g = 1, K = 5", 1, HONE_F32(3, 5), SCALES(5, 4)),
    REQUANT("g = 3, odd K", 3, HONE_F32(5, 301), SCALES(101, 5)),
    REQUANT("g larger than K", 4096, HONE_F32(2, 7), SCALES(1, 2)),
    REQUANT("many rows, K = 600", 32, HONE_F32_IN(-0.5, 0.5, 70, 600), SCALES(19, 96)),
    REQUANT(
        "ties and what is beyond the codes", 32,
        HONE_F32_OF((0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -7.5, 6.5, 7.5, 7.4999, -8.5, -8.4, 8, -9, 0, -0.0), 4, 64),
        HONE_F32_OF((1), 2, 4)),
    REQUANT("ties of a scale that is no power of two", 32,
            HONE_F32_OF((0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, -0.05, -0.15, -0.25, -0.35, -0.45, -0.55, -0.65,
                         -0.75, 0.75, -0.85),
                        7, 96),
            HONE_F32_OF((0.1), 3, 7)),
    REQUANT("scales 0, subnormal, the smallest normal, negative, not numbers", 2,
            HONE_F32_OF((1e-38, -3e-38, 5e-38, -6e-38, 1e-39, 2, -7, 0, 1e-45), 9, 20),
            HONE_F32_OF((0, -0.0, 1e-40, 1.17549435e-38, -1.17549435e-38, -0.75, 1.1754942e-38, INFINITY, NAN, -1e-42),
                        10, 9)),
    REQUANT(
        "latents that are no numbers or large", 8,
        HONE_F32_OF((NAN, INFINITY, -INFINITY, 1e30, -1e30, 3e38, -3e38, 1e-45, 0.1, -NAN, 2e9, -2e9, 12582912), 5, 26),
        SCALES(4, 5)),
    REQUANT("quotients beyond the largest float", 8, HONE_F32_OF((3e38, -3e38, 1, -1, 0), 2, 16),
            HONE_F32_OF((1.2e-38), 2, 2)),
    REQUANT("very large and very small scales", 8,
            HONE_F32_OF((3e38, -2e38, 1e38, 5e37, -1e-38, 3e-38, 1e-30, -2e-25, 1e20, 7e-39, -3e-42), 10, 40),
            HONE_F32_OF((8.5e37, 3e38, 1e-37, 1.2e-38, 2e-20, 1e-25, 1e19, -6e37, 5e-38, 1e-31), 5, 10)),
    REQUANT("quotients next to ties", 16,
            HONE_F32_OF((0.150000006, 0.149999991, 0.250000030, 0.249999985, -0.349999994, -0.350000024, 0.449999988,
                         0.449999958, 0.650000036, -0.750000060, 0.0500000007, 0.0499999970),
                        11, 160),
            HONE_F32_OF((0.1, 0.100000001, 0.0999999940, 0.100000008), 10, 11)),
    REQUANT("300 x 4097", 64, HONE_F32_IN(-0.5, 0.5, 300, 4097), SCALES(65, 300)),
    REQUANT("no rows", 8, HONE_F32(0, 8), SCALES(1, 0)),
    REQUANT("no columns", 8, HONE_F32(3, 0), SCALES(0, 3)),
    {"et_vk::q4gsw_requant", "SmolLM2's gate", HONE_INPUTS(HONE_F32(1536, 576), SCALES(18, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(32)), .reference = requant, .bench_only = true,
     .bench_flop = 1536 * 576 * 3},
    {0},
};
