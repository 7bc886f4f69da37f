// SPDX-License-Identifier: Apache-2.0
// Cases of elements replaced at places picked by index.
#include "ops/shared/cases.h"

static void places(const hone_tensor_type *type, int64_t index, int64_t *place) {
    for (int d = type->rank - 1; d >= 0; d--) {
        place[d] = index % type->dims[d];
        index /= type->dims[d];
    }
}

static int64_t index_of(const hone_tensor_type *type, const int64_t *place) {
    int64_t index = 0;
    for (int d = 0; d < type->rank; d++) index = index * type->dims[d] + place[d];
    return index;
}

// In the order of index, so that the last of equal places stays.
static void scatter(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0], *const index = &run->input_types[1];
    const int64_t given = run->arguments[1].integer;
    const int dim = (int)(given < 0 ? given + out->rank : given);
    for (int64_t i = 0; i < hone_case_count(out); i++) run->outputs[0][i] = run->inputs[0][i];
    for (int64_t i = 0; i < hone_case_count(index); i++) {
        int64_t place[HONE_MAX_RANK];
        places(index, i, place);
        const double value = run->input_count > 2 ? run->inputs[2][index_of(&run->input_types[2], place)]
                                                  : hone_case_number(&run->arguments[3], 0);
        const double at = run->inputs[1][i];
        if (out->rank > 0) place[dim] = at < 0 ? 0 : at >= (double)out->dims[dim] ? out->dims[dim] - 1 : (int64_t)at;
        run->outputs[0][index_of(out, place)] = value;
    }
}

#define VALUE "aten::scatter.value"
#define SRC   "aten::scatter.src"
#define PUT(name_, dim, value_, ...)                                                                                   \
    {VALUE,                                                                                                            \
     name_,                                                                                                            \
     HONE_INPUTS(__VA_ARGS__),                                                                                         \
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(dim), HONE_IN(1), value_),                                                     \
     .reference = scatter,                                                                                             \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define FROM(name_, dim, ...)                                                                                          \
    {SRC,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(__VA_ARGS__),                                                                                         \
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(dim), HONE_IN(1), HONE_IN(2)),                                                 \
     .reference = scatter,                                                                                             \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
// Each of 5 places once in each column.
#define SHUFFLED        HONE_I32_OF((3, 0, 4, 2, 1, 0, 1, 4, 1, 4, 2, 3, 0, 3, 2), 5, 3)
#define LONG(list, ...) {.type = {HONE_DTYPE_I64, HONE_DIMS_(__VA_ARGS__)}, HONE_VALUES_(list)}

const hone_op_case hone_cases_scatter[] = {
    PUT("last", -1, HONE_CASE_R(-7.5), HONE_F32(5, 9), HONE_I32_IN(0, 8, 5, 4)),
    PUT("first, fewer columns", 0, HONE_CASE_R(-INFINITY), HONE_F32(5, 9), HONE_I32_IN(0, 4, 7, 6)),
    PUT("middle", 1, HONE_CASE_I(3), HONE_F32(3, 4, 5), HONE_I32_IN(0, 3, 2, 6, 5)),
    PUT("outside is clamped, i64", 0, HONE_CASE_R(9), HONE_F32(5), LONG((-1, 5, 2, 100000), 4)),
    PUT("value lives", 1, HONE_CASE_LIVE(0.5), HONE_F32(5, 9), HONE_I32_IN(0, 8, 5, 4)),
    PUT("scalar", 0, HONE_CASE_R(2), HONE_F32_SCALAR, {.type = {HONE_DTYPE_I32, 0, {0}}, HONE_VALUES_((0))}),
    PUT("no places", 0, HONE_CASE_R(2), HONE_F32(5, 3), HONE_I32_IN(0, 4, 0, 3)),
    {VALUE, "i32", HONE_INPUTS(HONE_I32_IN(-9, 9, 5, 3), HONE_I32_IN(0, 4, 2, 3)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_CASE_I(-100)), .reference = scatter},
    {VALUE, "bool, one of many", HONE_INPUTS(HONE_BOOL(300, 70), HONE_I32_IN(0, 69, 300, 1)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(1), HONE_IN(1), HONE_CASE_B(1)), .reference = scatter},
    FROM("along columns", 0, HONE_F32(5, 3), SHUFFLED, HONE_F32(5, 3)),
    FROM("fewer columns, src larger than index", 0, HONE_F32(6, 4), SHUFFLED, HONE_F32(7, 5)),
    FROM("last, i64", 1, HONE_F32(2, 6), LONG((5, 0, 3, 1, 4, 2), 2, 3), HONE_F32(2, 3)),
    FROM("middle", -2, HONE_F32(2, 5, 3), HONE_I32_OF((3, 0, 4, 2, 1, 0, 1, 4, 1, 4, 2, 3, 0, 3, 2), 1, 5, 3),
         HONE_F32(1, 5, 3)),
    {SRC, "the last of equal places wins", HONE_INPUTS(HONE_F32(5, 9), HONE_I32_IN(0, 4, 70, 9), HONE_F32(70, 9)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2)), .reference = scatter,
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE, .no_gradient = 4},
    {SRC, "outside is clamped", HONE_INPUTS(HONE_F32(5), HONE_I32_OF((7, -2, 1), 3), HONE_F32(3)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2)), .reference = scatter},
    {SRC, "i32", HONE_INPUTS(HONE_I32_IN(-9, 9, 5, 3), SHUFFLED, HONE_I32_IN(-99, 99, 5, 3)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2)), .reference = scatter},
    {SRC, "bool", HONE_INPUTS(HONE_BOOL(5, 3), SHUFFLED, HONE_BOOL(5, 3)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(0), HONE_IN(1), HONE_IN(2)), .reference = scatter},
    {VALUE, "one-hot of 512 labels", HONE_INPUTS(HONE_F32(512, 1000), HONE_I32_IN(0, 999, 512, 1)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(1), HONE_IN(1), HONE_CASE_R(1)), .reference = scatter, .bench_only = true},
    {SRC, "one of 1000 for each of 512",
     HONE_INPUTS(HONE_F32(512, 1000), HONE_I32_IN(0, 999, 512, 1), HONE_F32(512, 1)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_I(1), HONE_IN(1), HONE_IN(2)), .reference = scatter, .bench_only = true},
    {0},
};
