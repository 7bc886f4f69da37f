// SPDX-License-Identifier: Apache-2.0
// Cases of dropout.
#include "opcheck/opcheck.h"

// The mixing of 32 bits that the mask is made of, written out again.
static uint32_t mix(uint32_t h) {
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

static void reference(const hone_reference *run) {
    const int64_t columns = run->input_types[0].dims[1];
    const double p = run->arguments[2].real;
    const uint64_t seed =
        (uint64_t)run->arguments[3].integer + (run->arguments[4].kind ? (uint64_t)run->arguments[4].integer : 0);
    for (int64_t t = 0; t < run->input_types[0].dims[0]; t++) {
        for (int64_t i = 0; i < columns; i++) {
            uint32_t h = mix((uint32_t)seed + 0x9e3779b9u);
            h = mix(h ^ (uint32_t)(seed >> 32));
            h = mix(h + (uint32_t)(int64_t)run->inputs[1][2 * t]);
            h = mix(h ^ (uint32_t)(int64_t)run->inputs[1][2 * t + 1]);
            h = mix(h + (uint32_t)i);
            run->outputs[0][t * columns + i] =
                (double)h >= p * 4294967296.0 ? run->inputs[0][t * columns + i] / (1.0 - p) : 0.0;
        }
    }
}

#define KEYS(rows) {{HONE_DTYPE_I32, 2, {rows, 2}}, HONE_FILL_INTEGER, 0, 100000}

const hone_op_case hone_cases_dropout[] = {
    {.op = "hone::dropout",
     .name = "half",
     .inputs = {{{HONE_DTYPE_F32, 2, {7, 33}}}, KEYS(7)},
     .input_count = 2,
     .arguments = {HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.5), HONE_CASE_I(12345), HONE_CASE_I(3)},
     .argument_count = 5,
     .reference = reference,
     .tolerance = HONE_TOLERANCE_SIMPLE,
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
    {.op = "hone::dropout",
     .name = "p = 0 keeps all",
     .inputs = {{{HONE_DTYPE_F32, 2, {3, 5}}}, KEYS(3)},
     .input_count = 2,
     .arguments = {HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.0), HONE_CASE_I(1)},
     .argument_count = 4,
     .reference = reference,
     .tolerance = 0,
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
    {.op = "hone::dropout",
     .name = "no rows",
     .inputs = {{{HONE_DTYPE_F32, 2, {0, 5}}}, KEYS(0)},
     .input_count = 2,
     .arguments = {HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.1), HONE_CASE_I(1)},
     .argument_count = 4,
     .reference = reference,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {.op = "hone::dropout",
     .name = "a seed of 64 bits, rows that end within a thread's four, negative keys",
     .inputs = {{{HONE_DTYPE_F32, 2, {301, 67}}},
                {{HONE_DTYPE_I32, 2, {301, 2}}, HONE_FILL_INTEGER, -1000, 2147483647}},
     .input_count = 2,
     .arguments = {HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.1), HONE_CASE_I(-1234567890123456789),
                   HONE_CASE_I(4294967295)},
     .argument_count = 5,
     .reference = reference,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {.op = "hone::dropout",
     .name = "one column, nearly all gone",
     .inputs = {{{HONE_DTYPE_F32, 2, {1001, 1}}}, KEYS(1001)},
     .input_count = 2,
     .arguments = {HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.99), HONE_CASE_I(7)},
     .argument_count = 4,
     .reference = reference,
     .tolerance = HONE_TOLERANCE_SIMPLE},
    {.op = "hone::dropout",
     .name = "512 x 576",
     .inputs = {{{HONE_DTYPE_F32, 2, {512, 576}}}, KEYS(512)},
     .input_count = 2,
     .arguments = {HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.1), HONE_CASE_I(1)},
     .argument_count = 4,
     .reference = reference,
     .tolerance = HONE_TOLERANCE_SIMPLE,
     .bench_only = true},
    {.op = NULL},
};
