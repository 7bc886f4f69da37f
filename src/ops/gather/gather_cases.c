// SPDX-License-Identifier: Apache-2.0
// Cases of elements and rows picked by index.
#include "ops/shared/cases.h"

// The source row for place r of a chunk of n rows, -1 for none.
static int64_t source_row(const double *rows, int64_t listed, int64_t limit, int64_t chunk, int64_t n, int64_t r) {
    const int64_t at = chunk * n + r;
    return at >= 0 && at < listed && rows[at] >= 0 && rows[at] < (double)limit ? (int64_t)rows[at] : -1;
}

static void rows_gather(const hone_reference *run) {
    const hone_tensor_type *const source = &run->input_types[0];
    const int64_t n = run->arguments[3].integer, columns = source->rank == 2 ? source->dims[1] : 1;
    const int64_t chunk = (int64_t)hone_case_number(&run->arguments[2], 0);
    for (int64_t r = 0; r < n; r++) {
        const int64_t row = source_row(run->inputs[1], run->input_types[1].dims[0], source->dims[0], chunk, n, r);
        for (int64_t i = 0; i < columns; i++)
            run->outputs[0][r * columns + i] = row >= 0            ? run->inputs[0][row * columns + i]
                                               : source->rank == 2 ? 0
                                                                   : -1;
    }
}

static void rows_scatter(const hone_reference *run) {
    const int64_t n = run->input_types[2].dims[0], columns = run->input_types[2].dims[1];
    const int64_t chunk = (int64_t)hone_case_number(&run->arguments[3], 0);
    for (int64_t r = 0; r < n; r++) {
        const int64_t row =
            source_row(run->inputs[1], run->input_types[1].dims[0], run->input_types[0].dims[0], chunk, n, r);
        for (int64_t i = 0; i < columns && row >= 0; i++)
            run->inputs[0][row * columns + i] = run->inputs[2][r * columns + i];
    }
}

static void zero(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) run->inputs[0][i] = 0;
}

#define PICKED HONE_I32_OF((4, 0, -1, 6, 2, 99, 3), 7)

const hone_op_case hone_cases_gather[] = {
    {"hone::rows_gather", "first chunk", HONE_INPUTS(HONE_F32(7, 5), PICKED),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(0), HONE_CASE_I(4)), .reference = rows_gather},
    {"hone::rows_gather", "last chunk, partly beyond", HONE_INPUTS(HONE_F32(7, 5), PICKED),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(1), HONE_CASE_I(4)), .reference = rows_gather},
    {"hone::rows_gather", "chunk beyond all", HONE_INPUTS(HONE_F32(7, 5), PICKED),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(9), HONE_CASE_I(4)), .reference = rows_gather},
    {"hone::rows_gather", "labels", HONE_INPUTS(HONE_I32_IN(-100, 100, 7), PICKED),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(1), HONE_CASE_I(5)), .reference = rows_gather},
    {"hone::rows_gather", "many rows", HONE_INPUTS(HONE_F32(300, 200), HONE_I32_IN(-9, 310, 290)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(0), HONE_CASE_I(256)), .reference = rows_gather},
    {"hone::rows_gather", "no rows at all", HONE_INPUTS(HONE_F32(0, 5), HONE_I32_IN(0, 1, 0)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(0), HONE_CASE_I(3)), .reference = rows_gather},
    {"hone::rows_gather", "SmolLM2, 64 of 512", HONE_INPUTS(HONE_F32(512, 576), HONE_I32_IN(0, 511, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(3), HONE_CASE_I(64)), .reference = rows_gather,
     .bench_only = true},
    {"hone::rows_scatter_", "first chunk", HONE_INPUTS(HONE_F32(7, 5), PICKED, HONE_F32(4, 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_LIVE(0)), .reference = rows_scatter},
    {"hone::rows_scatter_", "last chunk, partly beyond", HONE_INPUTS(HONE_F32(7, 5), PICKED, HONE_F32(4, 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_LIVE(1)), .reference = rows_scatter},
    {"hone::zero_", "f32", HONE_INPUTS(HONE_F32(700, 500)), HONE_TAKES(HONE_IN(0)), .reference = zero},
    {"hone::zero_", "i32", HONE_INPUTS(HONE_I32_IN(1, 9, 7)), HONE_TAKES(HONE_IN(0)), .reference = zero},
    {0},
};
