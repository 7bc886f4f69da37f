// SPDX-License-Identifier: Apache-2.0
// Cases of rotary position embedding with tables that are tensors.
#include "ops/shared/cases.h"

// Input x, [B,S,H,D], to the output of the same number. `back`: the transposed matrix of each pair.
static void turn(const hone_reference *run, int x, bool halves, int64_t start, bool back) {
    const int64_t *const dims = run->input_types[x].dims;
    const int64_t width = run->input_types[2].dims[1], half = dims[3] / 2;
    for (int64_t row = 0; row < dims[0] * dims[1]; row++)
        for (int64_t h = 0; h < dims[2]; h++)
            for (int64_t i = 0; i < half; i++) {
                int64_t position = start + row % dims[1];
                position = position < run->input_types[2].dims[0] ? position : run->input_types[2].dims[0] - 1;
                const int64_t at = (row * dims[2] + h) * dims[3];
                const int64_t a = halves ? i : 2 * i, b = halves ? i + half : 2 * i + 1;
                const int64_t of_a = position * width + i, of_b = halves ? of_a + half : of_a;
                const double *const c = run->inputs[2], *const s = run->inputs[3];
                const double p = run->inputs[x][at + a], q = run->inputs[x][at + b];
                run->outputs[x][at + a] = back ? p * c[of_a] + q * s[of_b] : p * c[of_a] - q * s[of_a];
                run->outputs[x][at + b] = back ? q * c[of_b] - p * s[of_a] : q * c[of_b] + p * s[of_b];
            }
}

static void neighbours(const hone_reference *run) {
    for (int x = 0; x < 2; x++) turn(run, x, false, 0, false);
}
static void halves(const hone_reference *run) {
    for (int x = 0; x < 2; x++) turn(run, x, true, (int64_t)hone_case_number(&run->arguments[4], 0), false);
}
static void halves_back(const hone_reference *run) {
    for (int x = 0; x < 2; x++) turn(run, x, true, (int64_t)hone_case_number(&run->arguments[4], 0), true);
}

static void table(const hone_reference *run, double sign) {
    const int64_t period = hone_case_count(&run->input_types[1]);
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i += 2) {
        const double c = run->inputs[1][i % period], s = sign * run->inputs[1][i % period + 1];
        run->outputs[0][i] = run->inputs[0][i] * c - run->inputs[0][i + 1] * s;
        run->outputs[0][i + 1] = run->inputs[0][i] * s + run->inputs[0][i + 1] * c;
    }
}
static void interleaved(const hone_reference *run) {
    table(run, 1);
}
static void interleaved_back(const hone_reference *run) {
    table(run, -1);
}

#define TENSORS HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3)
#define ROTARY(op_, name_, function, ...)                                                                              \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE,                                                                      \
     __VA_ARGS__}
#define BACK(op_, name_, function, ...)                                                                                \
    {op_, name_, .reference = function, .tolerance = HONE_TOLERANCE_SIMPLE, __VA_ARGS__}
#define BOTH  "et_vk::apply_rotary_emb"
#define HF    "et_vk::apply_rotary_emb_hf"
#define INTER "et_vk::apply_rotary_emb_interleaved"

const hone_op_case hone_cases_rotary[] = {
    ROTARY(BOTH, "fewer key heads", neighbours,
           HONE_INPUTS(HONE_F32(2, 5, 3, 8), HONE_F32(2, 5, 1, 8), HONE_F32(5, 4), HONE_F32(5, 4)), HONE_TAKES(TENSORS),
           .no_gradient = 12),
    ROTARY(BOTH, "one pair, one position", neighbours,
           HONE_INPUTS(HONE_F32(1, 1, 1, 2), HONE_F32(1, 1, 2, 2), HONE_F32(1, 1), HONE_F32(1, 1)), HONE_TAKES(TENSORS),
           .no_gradient = 12),
    ROTARY(BOTH, "only queries flow back", neighbours,
           HONE_INPUTS(HONE_F32(2, 3, 2, 6), HONE_F32(2, 3, 2, 6), HONE_F32(3, 3), HONE_F32(3, 3)), HONE_TAKES(TENSORS),
           .no_gradient = 14, .no_seed = 2),
    ROTARY(BOTH, "several blocks", neighbours,
           HONE_INPUTS(HONE_F32(2, 60, 9, 34), HONE_F32(2, 60, 3, 34), HONE_F32(60, 17), HONE_F32(60, 17)),
           HONE_TAKES(TENSORS), .no_gradient = 12),
    BACK(BOTH, "no positions", neighbours,
         HONE_INPUTS(HONE_F32(2, 0, 3, 8), HONE_F32(2, 0, 1, 8), HONE_F32(0, 4), HONE_F32(0, 4)), HONE_TAKES(TENSORS)),
    ROTARY(HF, "from 0", halves,
           HONE_INPUTS(HONE_F32(2, 5, 3, 8), HONE_F32(2, 5, 1, 8), HONE_F32(9, 8), HONE_F32(9, 8)),
           HONE_TAKES(TENSORS, HONE_CASE_I(0)), .no_gradient = 12),
    ROTARY(HF, "to the table's end, halves of odd size", halves,
           HONE_INPUTS(HONE_F32(1, 4, 2, 10), HONE_F32(1, 4, 2, 10), HONE_F32(9, 10), HONE_F32(9, 10)),
           HONE_TAKES(TENSORS, HONE_CASE_I(5)), .no_gradient = 12),
    ROTARY(HF, "start lives", halves,
           HONE_INPUTS(HONE_F32(1, 2, 2, 4), HONE_F32(1, 2, 1, 4), HONE_F32(9, 4), HONE_F32(9, 4)),
           HONE_TAKES(TENSORS, HONE_CASE_LIVE(3)), .no_gradient = 12),
    BACK(HF, "start lives beyond the table: clamped", halves,
         HONE_INPUTS(HONE_F32(1, 4, 2, 4), HONE_F32(1, 4, 1, 4), HONE_F32(9, 4), HONE_F32(9, 4)),
         HONE_TAKES(TENSORS, HONE_CASE_LIVE(7))),
    ROTARY(HF, "only keys flow back", halves,
           HONE_INPUTS(HONE_F32(2, 3, 2, 6), HONE_F32(2, 3, 2, 6), HONE_F32(3, 6), HONE_F32(3, 6)),
           HONE_TAKES(TENSORS, HONE_CASE_I(0)), .no_gradient = 13, .no_seed = 1),
    BACK("hone::apply_rotary_emb_hf_backward", "from 2", halves_back,
         HONE_INPUTS(HONE_F32(2, 5, 3, 8), HONE_F32(2, 5, 1, 8), HONE_F32(9, 8), HONE_F32(9, 8)),
         HONE_TAKES(TENSORS, HONE_CASE_I(2))),
    ROTARY(INTER, "table of two dimensions", interleaved, HONE_INPUTS(HONE_F32(2, 5, 6), HONE_F32(5, 6)),
           HONE_TAKES(HONE_IN(0), HONE_IN(1)), .no_gradient = 2),
    ROTARY(INTER, "table of four dimensions", interleaved, HONE_INPUTS(HONE_F32(3, 7, 4), HONE_F32(1, 7, 2, 2)),
           HONE_TAKES(HONE_IN(0), HONE_IN(1)), .no_gradient = 2),
    ROTARY(INTER, "x of two dimensions", interleaved, HONE_INPUTS(HONE_F32(7, 2), HONE_F32(14)),
           HONE_TAKES(HONE_IN(0), HONE_IN(1)), .no_gradient = 2),
    BACK(INTER, "nothing", interleaved, HONE_INPUTS(HONE_F32(0, 7, 2), HONE_F32(14)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1))),
    BACK("hone::apply_rotary_emb_interleaved_backward", "several blocks", interleaved_back,
         HONE_INPUTS(HONE_F32(3, 70, 96), HONE_F32(70, 96)), HONE_TAKES(HONE_IN(0), HONE_IN(1))),
    BACK(HF, "SmolLM2's queries and keys", halves,
         HONE_INPUTS(HONE_F32(1, 512, 9, 64), HONE_F32(1, 512, 3, 64), HONE_F32(512, 64), HONE_F32(512, 64)),
         HONE_TAKES(TENSORS, HONE_CASE_I(0)), .bench_only = true, .bench_flop = 512 * 12 * 64 * 3),
    BACK(BOTH, "SmolLM2's queries and keys", neighbours,
         HONE_INPUTS(HONE_F32(1, 512, 9, 64), HONE_F32(1, 512, 3, 64), HONE_F32(512, 32), HONE_F32(512, 32)),
         HONE_TAKES(TENSORS), .bench_only = true, .bench_flop = 512 * 12 * 64 * 3),
    BACK(INTER, "SmolLM2's queries", interleaved, HONE_INPUTS(HONE_F32(9, 512, 64), HONE_F32(512, 64)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1)), .bench_only = true),
    BACK("hone::apply_rotary_emb_interleaved_backward", "SmolLM2's queries", interleaved_back,
         HONE_INPUTS(HONE_F32(9, 512, 64), HONE_F32(512, 64)), HONE_TAKES(HONE_IN(0), HONE_IN(1)), .bench_only = true),
    BACK("hone::apply_rotary_emb_hf_backward", "SmolLM2's queries and keys", halves_back,
         HONE_INPUTS(HONE_F32(1, 512, 9, 64), HONE_F32(1, 512, 3, 64), HONE_F32(512, 64), HONE_F32(512, 64)),
         HONE_TAKES(TENSORS, HONE_CASE_I(0)), .bench_only = true),
    {0},
};
