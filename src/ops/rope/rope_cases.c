// SPDX-License-Identifier: Apache-2.0
// Cases of rotary position embedding.
#include "ops/shared/cases.h"

static void rope(const hone_reference *run) {
    const int64_t rows = run->input_types[0].dims[0], columns = run->input_types[0].dims[1];
    const int64_t table = run->input_types[1].dims[0], pairs = run->input_types[1].dims[1];
    const int64_t heads = run->arguments[4].integer, head = columns / heads;
    const double sign = run->arguments[5].integer ? -1 : 1;
    for (int64_t i = 0; i < rows * columns; i++) run->outputs[0][i] = run->inputs[0][i];
    for (int64_t t = 0; t < rows; t++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t i = 0; i < pairs; i++) {
                int64_t p = (int64_t)run->inputs[3][t];
                p = p < 0 ? 0 : p >= table ? table - 1 : p;
                const int64_t at = t * columns + h * head;
                const int64_t a = at + (run->arguments[6].integer ? i : 2 * i);
                const int64_t b = at + (run->arguments[6].integer ? i + pairs : 2 * i + 1);
                const double c = run->inputs[1][p * pairs + i], s = sign * run->inputs[2][p * pairs + i];
                run->outputs[0][a] = run->inputs[0][a] * c - run->inputs[0][b] * s;
                run->outputs[0][b] = run->inputs[0][a] * s + run->inputs[0][b] * c;
            }
}

#define TENSORS HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3)
#define ROPE(name_, ...)                                                                                               \
    {"hone::rope",                                                                                                     \
     name_,                                                                                                            \
     .reference = rope,                                                                                                \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE,                                                                      \
     .no_gradient = 6,                                                                                                 \
     __VA_ARGS__}

const hone_op_case hone_cases_rope[] = {
    ROPE("neighbours", HONE_INPUTS(HONE_F32(5, 24), HONE_F32(9, 4), HONE_F32(9, 4), HONE_I32_IN(0, 8, 5)),
         HONE_TAKES(TENSORS, HONE_CASE_I(3))),
    ROPE("halves", HONE_INPUTS(HONE_F32(5, 24), HONE_F32(9, 4), HONE_F32(9, 4), HONE_I32_IN(0, 8, 5)),
         HONE_TAKES(TENSORS, HONE_CASE_I(3), HONE_CASE_B(0), HONE_CASE_B(1))),
    ROPE("inverse", HONE_INPUTS(HONE_F32(5, 24), HONE_F32(9, 4), HONE_F32(9, 4), HONE_I32_IN(0, 8, 5)),
         HONE_TAKES(TENSORS, HONE_CASE_I(3), HONE_CASE_B(1), HONE_CASE_B(0))),
    ROPE("inverse halves", HONE_INPUTS(HONE_F32(3, 12), HONE_F32(9, 6), HONE_F32(9, 6), HONE_I32_IN(0, 8, 3)),
         HONE_TAKES(TENSORS, HONE_CASE_I(1), HONE_CASE_B(1), HONE_CASE_B(1))),
    ROPE("part of each head", HONE_INPUTS(HONE_F32(4, 22), HONE_F32(9, 3), HONE_F32(9, 3), HONE_I32_IN(0, 8, 4)),
         HONE_TAKES(TENSORS, HONE_CASE_I(2))),
    ROPE("part of each head, halves",
         HONE_INPUTS(HONE_F32(4, 22), HONE_F32(9, 3), HONE_F32(9, 3), HONE_I32_IN(0, 8, 4)),
         HONE_TAKES(TENSORS, HONE_CASE_I(2), HONE_CASE_B(0), HONE_CASE_B(1))),
    ROPE("positions out of range",
         HONE_INPUTS(HONE_F32(4, 8), HONE_F32(3, 4), HONE_F32(3, 4), HONE_I32_OF((-1, 2, 3, 100000), 4)),
         HONE_TAKES(TENSORS, HONE_CASE_I(1))),
    ROPE("no rows", HONE_INPUTS(HONE_F32(0, 8), HONE_F32(3, 4), HONE_F32(3, 4), HONE_I32_IN(0, 2, 0)),
         HONE_TAKES(TENSORS, HONE_CASE_I(1))),
    ROPE("SmolLM2's queries",
         HONE_INPUTS(HONE_F32(512, 576), HONE_F32(512, 32), HONE_F32(512, 32), HONE_I32_IN(0, 511, 512)),
         HONE_TAKES(TENSORS, HONE_CASE_I(9)), .bench_only = true, .bench_flop = 512 * 576 * 3),
    {0},
};
