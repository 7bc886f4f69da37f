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

static void places(const hone_tensor_type *type, int64_t index, int64_t *place) {
    for (int d = type->rank - 1; d >= 0; d--) {
        place[d] = index % type->dims[d];
        index /= type->dims[d];
    }
}

// The element of `large` that belongs to element i of `small`; index has the shape of small, or is a vector along dim.
static int64_t target(const hone_reference *run, const hone_tensor_type *small, int64_t i,
                      const hone_tensor_type *large, bool vector) {
    int64_t place[HONE_MAX_RANK], at = 0;
    const int64_t given = run->arguments[1].integer;
    const int dim = (int)(given < 0 ? given + large->rank : given);
    if (large->rank == 0) return 0;
    places(small, i, place);
    const int64_t wanted = (int64_t)run->inputs[1][vector ? place[dim] : i], size = large->dims[dim];
    place[dim] = wanted < 0 ? 0 : wanted >= size ? size - 1 : wanted;
    for (int d = 0; d < large->rank; d++) at = at * large->dims[d] + place[d];
    return at;
}

static void pick(const hone_reference *run, bool vector) {
    const hone_tensor_type *const out = &run->output_types[0];
    for (int64_t i = 0; i < hone_case_count(out); i++)
        run->outputs[0][i] = run->inputs[0][target(run, out, i, &run->input_types[0], vector)];
}

static void add(const hone_reference *run, bool vector, double alpha) {
    const hone_tensor_type *const out = &run->output_types[0], *const source = &run->input_types[2];
    for (int64_t i = 0; i < hone_case_count(out); i++) run->outputs[0][i] = run->inputs[0][i];
    for (int64_t i = 0; i < hone_case_count(source); i++)
        run->outputs[0][target(run, source, i, out, vector)] += alpha * run->inputs[2][i];
}

static void gather(const hone_reference *run) {
    pick(run, false);
}
static void index_select(const hone_reference *run) {
    pick(run, true);
}
static void scatter_add(const hone_reference *run) {
    add(run, false, 1);
}
static void index_add(const hone_reference *run) {
    add(run, true, hone_case_number(&run->arguments[4], 1));
}

#define PICK(op_, name_, function, dim, ...)                                                                           \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(__VA_ARGS__),                                                                                         \
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(dim), HONE_IN(1)),                                                             \
     .reference = function,                                                                                            \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define ADD(op_, name_, function, dim, ...)                                                                            \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(__VA_ARGS__),                                                                                         \
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(dim), HONE_IN(1), HONE_IN(2)),                                                 \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}

#define PICKED HONE_I32_OF((4, 0, -1, 6, 2, 99, 3), 7)

const hone_op_case hone_cases_gather[] = {
    PICK("aten::gather", "last", gather, -1, HONE_F32(5, 9), HONE_I32_IN(0, 8, 5, 4)),
    PICK("aten::gather", "first, fewer columns", gather, 0, HONE_F32(5, 9), HONE_I32_IN(0, 4, 7, 6)),
    PICK("aten::gather", "middle", gather, 1, HONE_F32(3, 4, 5), HONE_I32_IN(0, 3, 3, 6, 5)),
    PICK("aten::gather", "outside is clamped", gather, 0, HONE_F32(5), HONE_I32_OF((-1, 5, 2, 100000), 4)),
    {"aten::gather", "i32, nothing", HONE_INPUTS(HONE_I32_IN(-9, 9, 5, 3), HONE_I32_IN(0, 1, 0, 3)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1)), .reference = gather},
    PICK("aten::gather", "scalar", gather, 0, HONE_F32_SCALAR, {.type = {HONE_DTYPE_I32, 0, {0}}, HONE_VALUES_((3))}),
    PICK("aten::index_select", "rows", index_select, 0, HONE_F32(5, 9), HONE_I32_IN(0, 4, 7)),
    PICK("aten::index_select", "columns", index_select, -1, HONE_F32(5, 9), HONE_I32_IN(0, 8, 7)),
    PICK("aten::index_select", "middle, outside is clamped", index_select, 1, HONE_F32(3, 4, 5),
         HONE_I32_OF((-1, 4, 2), 3)),
    {"aten::index_select", "bool", HONE_INPUTS(HONE_BOOL(5, 3), HONE_I32_IN(0, 4, 8)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1)), .reference = index_select},
    {"aten::index_select", "nothing", HONE_INPUTS(HONE_F32(5, 3), HONE_I32_IN(0, 4, 0)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1)), .reference = index_select},
    ADD("aten::scatter_add", "last", scatter_add, -1, HONE_F32(5, 9), HONE_I32_IN(0, 8, 5, 12), HONE_F32(5, 12)),
    ADD("aten::scatter_add", "first", scatter_add, 0, HONE_F32(5, 9), HONE_I32_IN(0, 4, 7, 6), HONE_F32(7, 6)),
    ADD("aten::index_add", "rows", index_add, 0, HONE_F32(5, 9), HONE_I32_IN(0, 4, 7), HONE_F32(7, 9)),
    ADD("aten::index_add", "middle", index_add, 1, HONE_F32(3, 4, 5), HONE_I32_IN(0, 3, 6), HONE_F32(3, 6, 5)),
    ADD("aten::index_add", "wide rows", index_add, 0, HONE_F32(5, 999), HONE_I32_IN(0, 4, 30), HONE_F32(30, 999)),
    {"aten::index_add", "alpha", HONE_INPUTS(HONE_F32(5, 9), HONE_I32_IN(0, 4, 7), HONE_F32(7, 9)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(-0.5)), .reference = index_add,
     .tolerance = HONE_TOLERANCE_SIMPLE, .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
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
    {"aten::index_select", "512 of 49152 rows of 64", HONE_INPUTS(HONE_F32(49152, 64), HONE_I32_IN(0, 49151, 512)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1)), .reference = index_select, .bench_only = true},
    {"aten::gather", "a million of columns", HONE_INPUTS(HONE_F32(1000, 1000), HONE_I32_IN(0, 999, 1000, 1000)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(1), HONE_IN(1)), .reference = gather, .bench_only = true},
    {"aten::scatter_add", "512 x 576 onto 64 rows",
     HONE_INPUTS(HONE_F32(64, 576), HONE_I32_IN(0, 63, 512, 576), HONE_F32(512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2)), .reference = scatter_add, .bench_only = true},
    {"aten::index_add", "512 rows onto 4096",
     HONE_INPUTS(HONE_F32(4096, 576), HONE_I32_IN(0, 4095, 512), HONE_F32(512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2)), .reference = index_add, .bench_only = true},
    {"hone::rows_scatter_", "SmolLM2, 64 of 512",
     HONE_INPUTS(HONE_F32(512, 576), HONE_I32_IN(0, 511, 512), HONE_F32(64, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_LIVE(3)), .reference = rows_scatter, .bench_only = true},
    {"hone::zero_", "a million", HONE_INPUTS(HONE_F32(1000, 1000)), HONE_TAKES(HONE_IN(0)), .reference = zero,
     .bench_only = true},
    {0},
};
