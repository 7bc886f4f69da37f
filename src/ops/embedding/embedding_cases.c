// SPDX-License-Identifier: Apache-2.0
// Cases of tables of rows.
#include "ops/shared/cases.h"

#define SCALES(...) {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_POSITIVE_SCALES}
#define HALF(...)                                                                                                      \
    {                                                                                                                  \
        .type = { HONE_DTYPE_F16, HONE_DIMS_(__VA_ARGS__) }                                                            \
    }
#define BF16(...)                                                                                                      \
    {                                                                                                                  \
        .type = { HONE_DTYPE_BF16, HONE_DIMS_(__VA_ARGS__) }                                                           \
    }
#define I64_IN(l, h, ...)                                                                                              \
    {.type = {HONE_DTYPE_I64, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_INTEGER, .low = (l), .high = (h)}

// --- references ------------------------------------------------------------------------------------------------------

static int64_t clamped(double index, int64_t rows) {
    if (index < 0) return 0;
    return index < (double)rows ? (int64_t)index : rows - 1;
}

static void embedding(const hone_reference *run) {
    const int64_t rows = run->input_types[0].dims[0], columns = run->input_types[0].dims[1];
    const int64_t count = hone_case_count(&run->output_types[0]);
    for (int64_t i = 0; i < count; i++)
        run->outputs[0][i] = run->inputs[0][clamped(run->inputs[1][i / columns], rows) * columns + i % columns];
}

static void embedding_backward(const hone_reference *run) {
    const int64_t rows = run->output_types[0].dims[0], columns = run->output_types[0].dims[1];
    const double padding = hone_case_number(&run->arguments[3], -1);
    for (int64_t i = 0; i < rows * columns; i++) run->outputs[0][i] = 0;
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) {
        const int64_t row = clamped(run->inputs[1][i / columns], rows);
        if ((double)row != padding) run->outputs[0][row * columns + i % columns] += run->inputs[0][i];
    }
}

// Codes in input 0, scales in 1, minimums (if any) in 2, indices last.
static void codes(const hone_reference *run, bool four) {
    const bool minimums = run->input_count > 3;
    const double *const indices = run->inputs[run->input_count - 1];
    const int64_t rows = run->input_types[0].dims[0], row_codes = run->input_types[0].dims[1];
    const int64_t columns = run->output_types[0].dims[run->output_types[0].rank - 1];
    const int64_t group = run->arguments[4].integer, step = run->input_types[1].dims[1];
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const int64_t row = clamped(indices[i / columns], rows), k = i % columns;
        double code;
        if (four) {
            const int byte = (int)run->inputs[0][row * row_codes + k / 2];
            code = (k % 2 ? byte / 16 : byte % 16) - (minimums ? 0 : 8);
        } else {
            code = run->inputs[0][row * row_codes + k];
        }
        const int64_t at = k / group * step + row;
        run->outputs[0][i] = code * run->inputs[1][at] + (minimums ? run->inputs[2][at] : 0);
    }
}

static void codes_4(const hone_reference *run) {
    codes(run, true);
}
static void codes_8(const hone_reference *run) {
    codes(run, false);
}

static void exported(const hone_reference *run) {
    const int64_t rows = run->input_types[0].dims[0], columns = run->input_types[0].dims[1] * 2;
    const int64_t group = run->arguments[2].integer, groups = run->input_types[1].dims[1];
    const bool even_low = hone_case_number(&run->arguments[4], 0) != 0;
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) {
        const int64_t row = clamped(run->inputs[2][i / columns], rows), k = i % columns;
        const int byte = (int)run->inputs[0][row * columns / 2 + k / 2];
        const int code = (k % 2 == 0) == even_low ? byte % 16 : byte / 16;
        run->outputs[0][i] = (code - 8) * run->inputs[1][row * groups + k / group];
    }
}

// --- cases -----------------------------------------------------------------------------------------------------------

#define LOOKED_UP(function) .reference = function, .tolerance = HONE_TOLERANCE_SIMPLE
#define CHECKED(function)   LOOKED_UP(function), .gradient_tolerance = 1e-5

const hone_op_case hone_cases_embedding[] = {
    {.op = "aten::embedding",
     .name = "i32 indices, repeated",
     HONE_INPUTS(HONE_F32(10, 5), HONE_I32_OF((3, 9, 3, 0, 3), 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED(embedding)},
    {.op = "aten::embedding",
     .name = "i64 indices [2,3,4]",
     HONE_INPUTS(HONE_F32(17, 33), I64_IN(0, 16, 2, 3, 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED(embedding)},
    {.op = "aten::embedding",
     .name = "one index, rank 0",
     HONE_INPUTS(HONE_F32(7, 4), {.type = {HONE_DTYPE_I32, 0, {0}}, HONE_VALUES_((5))}),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED(embedding)},
    {.op = "aten::embedding",
     .name = "out of range is clamped",
     HONE_INPUTS(HONE_F32(6, 3), HONE_I32_OF((-1, 6, 2147483647, -2147483648, 2), 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LOOKED_UP(embedding)},
    {.op = "aten::embedding",
     .name = "no indices",
     HONE_INPUTS(HONE_F32(6, 3), HONE_I32_IN(0, 1, 0)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED(embedding)},
    {.op = "aten::embedding",
     .name = "f16 table",
     HONE_INPUTS(HALF(11, 21), HONE_I32_IN(0, 10, 9)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LOOKED_UP(embedding)},
    {.op = "aten::embedding",
     .name = "bf16 table",
     HONE_INPUTS(BF16(11, 21), HONE_I32_IN(0, 10, 9)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LOOKED_UP(embedding)},
    {.op = "aten::embedding",
     .name = "more rows than a dispatch has workgroups",
     HONE_INPUTS(HONE_F32(70001, 2), HONE_I32_IN(0, 70000, 66000)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LOOKED_UP(embedding)},

    {.op = "hone::embedding_backward",
     .name = "repeated indices",
     HONE_INPUTS(HONE_F32(5, 7), HONE_I32_OF((3, 1, 3, 3, 0), 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(6)),
     CHECKED(embedding_backward)},
    {.op = "hone::embedding_backward",
     .name = "many rows, leading dimensions",
     HONE_INPUTS(HONE_F32(4, 25, 9), I64_IN(0, 299, 4, 25)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(300)),
     CHECKED(embedding_backward)},
    {.op = "hone::embedding_backward",
     .name = "a padding row gets nothing",
     HONE_INPUTS(HONE_F32(5, 7), HONE_I32_OF((3, 1, 3, 2, 0), 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(6), HONE_CASE_I(3)),
     LOOKED_UP(embedding_backward)},
    {.op = "hone::embedding_backward",
     .name = "no indices",
     HONE_INPUTS(HONE_F32(0, 7), HONE_I32_IN(0, 1, 0)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(6)),
     CHECKED(embedding_backward)},

    {.op = "hone::embedding_q4gswm",
     .name = "no minimums, N_pad > N",
     HONE_INPUTS(HONE_U8(21, 32), SCALES(2, 24), HONE_I32_IN(0, 20, 7)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_NO, HONE_IN(2), HONE_CASE_I(32)),
     LOOKED_UP(codes_4)},
    {.op = "hone::embedding_q4gswm",
     .name = "f16 minimums, indices [2,5]",
     HONE_INPUTS(HONE_U8(21, 32), HALF(2, 21), HALF(2, 21), I64_IN(0, 20, 2, 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_CASE_I(32)),
     LOOKED_UP(codes_4)},
    {.op = "hone::embedding_q4gswm",
     .name = "K = 49, g = 5, out of range is clamped",
     HONE_INPUTS(HONE_U8(21, 25), SCALES(10, 21), HONE_I32_OF((-3, 20, 21, 7), 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_NO, HONE_IN(2), HONE_CASE_I(5), HONE_CASE_I(49)),
     LOOKED_UP(codes_4)},
    {.op = "hone::embedding_q8gsw",
     .name = "f16 scales",
     HONE_INPUTS(HONE_I8(21, 64), HALF(2, 21), HONE_I32_IN(0, 20, 7)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_NO, HONE_IN(2), HONE_CASE_I(32)),
     LOOKED_UP(codes_8)},
    {.op = "hone::embedding_q8gsw",
     .name = "minimums, K = 41, g = 16",
     HONE_INPUTS(HONE_I8(21, 41), SCALES(3, 30), HONE_F32(3, 30), HONE_I32_IN(0, 20, 7)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_CASE_I(16)),
     LOOKED_UP(codes_8)},

    {.op = "et_vk::embedding_q4gsw",
     .name = "even columns high",
     HONE_INPUTS(HONE_U8(9, 32), SCALES(9, 2), HONE_I32_IN(0, 8, 3, 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(32), HONE_IN(2)),
     LOOKED_UP(exported)},
    {.op = "et_vk::embedding_q4gsw",
     .name = "as a linear weight",
     HONE_INPUTS(HONE_U8(9, 32), SCALES(9, 4), HONE_I32_IN(0, 8, 11)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(16), HONE_IN(2), HONE_CASE_B(1)),
     LOOKED_UP(exported)},

    {.op = "hone::embedding_q4gswm",
     .name = "a table of 151936 rows",
     HONE_INPUTS(HONE_U8(151936, 448), HALF(28, 151936), HALF(28, 151936), HONE_I32_IN(0, 151935, 99)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_CASE_I(32)),
     LOOKED_UP(codes_4),
     .large = true},
    {.op = "et_vk::embedding_q4gsw",
     .name = "a table of 151936 rows",
     HONE_INPUTS(HONE_U8(151936, 448), SCALES(151936, 28), HONE_I32_IN(0, 151935, 99)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(32), HONE_IN(2)),
     LOOKED_UP(exported),
     .large = true},

    {.op = "aten::embedding",
     .name = "512 of 49152x576",
     HONE_INPUTS(HONE_F32(49152, 576), HONE_I32_IN(0, 49151, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LOOKED_UP(embedding),
     .bench_only = true},
    {.op = "hone::embedding_q8gsw",
     .name = "512 of 49152x576",
     HONE_INPUTS(HONE_I8(49152, 576), HALF(18, 49152), HONE_I32_IN(0, 49151, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_NO, HONE_IN(2), HONE_CASE_I(32)),
     LOOKED_UP(codes_8),
     .bench_only = true},
    {.op = "hone::embedding_q4gswm",
     .name = "512 of 49152x576",
     HONE_INPUTS(HONE_U8(49152, 288), HALF(18, 49152), HALF(18, 49152), HONE_I32_IN(0, 49151, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_CASE_I(32)),
     LOOKED_UP(codes_4),
     .bench_only = true},
    {.op = "et_vk::embedding_q4gsw",
     .name = "512 of 49152x576",
     HONE_INPUTS(HONE_U8(49152, 288), SCALES(49152, 18), HONE_I32_IN(0, 49151, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(32), HONE_IN(2)),
     LOOKED_UP(exported),
     .bench_only = true},
    {.op = "hone::embedding_backward",
     .name = "512 of 4096x576",
     HONE_INPUTS(HONE_F32(512, 576), HONE_I32_IN(0, 4095, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(4096)),
     LOOKED_UP(embedding_backward),
     .bench_only = true},
    {.op = NULL},
};
