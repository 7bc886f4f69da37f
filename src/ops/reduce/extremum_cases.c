// SPDX-License-Identifier: Apache-2.0
// Cases of largest and smallest elements, their places, and sums of whole numbers.
#include "ops/shared/cases.h"

// The output that element i of the input belongs to, and its place among those of that output when `dim` is reduced.
static int64_t output_of(const hone_tensor_type *type, const bool *gone, int64_t i, int64_t *along) {
    int64_t out = 0, step = 1, own = 1;
    *along = 0;
    for (int d = type->rank - 1; d >= 0; d--) {
        const int64_t place = i % type->dims[d];
        i /= type->dims[d];
        if (gone[d]) {
            *along += place * own;
            own *= type->dims[d];
        } else {
            out += place * step;
            step *= type->dims[d];
        }
    }
    return out;
}

static void mark(const hone_reference *run, bool *gone) {
    const hone_argument *const dims = &run->arguments[1];
    const int rank = run->input_types[0].rank > 0 ? run->input_types[0].rank : 1; // a scalar has a dimension to name
    for (int d = 0; d < HONE_MAX_RANK; d++)
        gone[d] = dims->kind == HONE_ARGUMENT_NONE || (dims->kind == HONE_ARGUMENT_INTEGERS && dims->count == 0);
    if (dims->kind == HONE_ARGUMENT_INTEGER) gone[dims->integer < 0 ? dims->integer + rank : dims->integer] = true;
    for (size_t i = 0; dims->kind == HONE_ARGUMENT_INTEGERS && i < dims->count; i++)
        gone[dims->integers[i] < 0 ? dims->integers[i] + rank : dims->integers[i]] = true;
}

// Numbers before others in the order wanted; NaN before all.
static bool beats(double x, double best, double sign) {
    return isnan(x) ? !isnan(best) : sign * x > sign * best;
}

static void choose(const hone_reference *run, double sign, bool places) {
    const hone_tensor_type *const type = &run->input_types[0];
    enum { MOST = 4096 };
    double best[MOST];
    bool gone[HONE_MAX_RANK], any[MOST] = {false};
    mark(run, gone);
    for (int64_t i = 0; i < hone_case_count(type); i++) {
        int64_t along;
        const int64_t o = output_of(type, gone, i, &along);
        const double x = run->inputs[0][i];
        if (any[o] && !beats(x, best[o], sign)) continue;
        any[o] = true;
        best[o] = x;
        run->outputs[0][o] = places ? (double)along : x;
    }
}

static void amax(const hone_reference *run) {
    choose(run, 1, false);
}
static void amin(const hone_reference *run) {
    choose(run, -1, false);
}
static void argmax(const hone_reference *run) {
    choose(run, 1, true);
}
static void argmin(const hone_reference *run) {
    choose(run, -1, true);
}

static void sum(const hone_reference *run) {
    const hone_tensor_type *const type = &run->input_types[0];
    bool gone[HONE_MAX_RANK];
    mark(run, gone);
    for (int64_t o = 0; o < hone_case_count(&run->output_types[0]); o++) run->outputs[0][o] = 0;
    for (int64_t i = 0; i < hone_case_count(type); i++) {
        int64_t along;
        run->outputs[0][output_of(type, gone, i, &along)] += run->inputs[0][i];
    }
}

static void sum_all(const hone_reference *run) {
    run->outputs[0][0] = 0;
    for (int64_t i = 0; i < hone_case_count(&run->input_types[0]); i++) run->outputs[0][0] += run->inputs[0][i];
}

#define MAX "aten::amax"
#define MIN "aten::amin"
#define BEST(op_, name_, function, input, ...)                                                                         \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = function,                                                                                            \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define PLAIN(op_, name_, function, input, ...)                                                                        \
    {op_, name_, HONE_INPUTS(input), HONE_TAKES(HONE_IN(0), __VA_ARGS__), .reference = function}
#define ALL   {.kind = HONE_ARGUMENT_INTEGERS}
#define KEEP  HONE_CASE_B(1)
#define EDGES HONE_F32_OF((1, NAN, -INFINITY, -2, INFINITY, 1e30, 0, -1e30, 3, 3, -7), 4, 5)
#define MINUS HONE_F32_OF((-INFINITY), 3, 40)
#define BYTES(...)                                                                                                     \
    {                                                                                                                  \
        .type = { HONE_DTYPE_U8, HONE_DIMS_(__VA_ARGS__) }                                                             \
    }

const hone_op_case hone_cases_extremum[] = {
    BEST(MAX, "last", amax, HONE_F32(5, 37), HONE_CASE_IS(-1)),
    BEST(MAX, "last, kept", amax, HONE_F32(5, 37), HONE_CASE_IS(1), KEEP),
    BEST(MAX, "first of many columns", amax, HONE_F32(9, 300), HONE_CASE_IS(0)),
    BEST(MAX, "middle", amax, HONE_F32(3, 7, 5), HONE_CASE_IS(1), KEEP),
    BEST(MAX, "first and last", amax, HONE_F32(3, 4, 6), HONE_CASE_IS(-1, 0)),
    BEST(MAX, "second and fourth of five", amax, HONE_F32(2, 3, 4, 3, 2), HONE_CASE_IS(1, -2)),
    BEST(MAX, "all", amax, HONE_F32(3, 4, 5), ALL),
    BEST(MAX, "all by default", amax, HONE_F32(3, 4, 5), HONE_CASE_NO),
    BEST(MAX, "all, several blocks", amax, HONE_F32(3, 12345), ALL, KEEP),
    BEST(MAX, "scalar", amax, HONE_F32_SCALAR, HONE_CASE_IS(-1)),
    BEST(MAX, "dimension of 1", amax, HONE_F32(3, 1, 5), HONE_CASE_IS(1)),
    BEST(MAX, "two that are equal share the gradient", amax, HONE_F32_OF((3, 1, 3, 0), 2, 4), HONE_CASE_IS(1)),
    PLAIN(MAX, "NaN and infinity, rows", amax, EDGES, HONE_CASE_IS(1)),
    PLAIN(MAX, "NaN and infinity, columns", amax, EDGES, HONE_CASE_IS(0)),
    PLAIN(MAX, "only -infinity", amax, MINUS, HONE_CASE_IS(1)),
    PLAIN(MAX, "i32", amax, HONE_I32_IN(-99, 99, 5, 37), HONE_CASE_IS(1)),
    PLAIN(MAX, "i32, columns, smallest number only", amax, HONE_I32_OF((-2147483648), 5, 3), HONE_CASE_IS(0)),
    PLAIN(MAX, "of nothing", amax, HONE_F32(0, 3), HONE_CASE_IS(1)),
    BEST(MIN, "last", amin, HONE_F32(5, 37), HONE_CASE_IS(-1)),
    BEST(MIN, "first, kept", amin, HONE_F32(37, 5), HONE_CASE_IS(0), KEEP),
    BEST(MIN, "outer two", amin, HONE_F32(3, 4, 6), HONE_CASE_IS(0, 1)),
    BEST(MIN, "all, several blocks", amin, HONE_F32(3, 12345), ALL),
    PLAIN(MIN, "NaN and infinity, rows", amin, EDGES, HONE_CASE_IS(1)),
    PLAIN(MIN, "NaN and infinity, columns", amin, EDGES, HONE_CASE_IS(0)),
    PLAIN(MIN, "i32, all", amin, HONE_I32_IN(-99, 99, 3, 12345), ALL),
    PLAIN("aten::argmax", "flattened", argmax, HONE_F32(5, 37), HONE_CASE_NO),
    PLAIN("aten::argmax", "flattened, kept", argmax, HONE_F32(5, 37), HONE_CASE_NO, KEEP),
    PLAIN("aten::argmax", "last", argmax, HONE_F32(5, 37), HONE_CASE_I(-1)),
    PLAIN("aten::argmax", "first of many columns", argmax, HONE_F32(9, 300), HONE_CASE_I(0), KEEP),
    PLAIN("aten::argmax", "middle, equal ones", argmax, HONE_F32_OF((1, 2, 2, 0, 2), 3, 7, 5), HONE_CASE_I(1)),
    PLAIN("aten::argmax", "NaN and infinity, rows", argmax, EDGES, HONE_CASE_I(1)),
    PLAIN("aten::argmax", "NaN and infinity, columns", argmax, EDGES, HONE_CASE_I(0)),
    PLAIN("aten::argmax", "only -infinity", argmax, MINUS, HONE_CASE_I(1)),
    PLAIN("aten::argmax", "i32, equal ones", argmax, HONE_I32_IN(0, 3, 5, 37), HONE_CASE_I(1)),
    PLAIN("aten::argmax", "0 and -0 are equal", argmax, HONE_F32_OF((-0.0, 0), 5, 4), HONE_CASE_I(1)),
    PLAIN("aten::argmax", "scalar", argmax, HONE_F32_SCALAR, HONE_CASE_I(0)),
    PLAIN("aten::argmax", "of nothing", argmax, HONE_F32(0, 3), HONE_CASE_I(1)),
    PLAIN("aten::argmin", "flattened", argmin, HONE_F32(5, 37), HONE_CASE_NO),
    PLAIN("aten::argmin", "first", argmin, HONE_F32(37, 5), HONE_CASE_I(0)),
    PLAIN("aten::argmin", "NaN and infinity, rows", argmin, EDGES, HONE_CASE_I(-1)),
    PLAIN("aten::argmin", "i32, equal ones, columns", argmin, HONE_I32_IN(0, 3, 37, 5), HONE_CASE_I(0)),
    PLAIN("aten::sum.dim_IntList", "i32, last", sum, HONE_I32_IN(-99, 99, 5, 37), HONE_CASE_IS(-1)),
    PLAIN("aten::sum.dim_IntList", "i32, first, kept, by code", sum, HONE_I32_IN(-99, 99, 37, 300), HONE_CASE_IS(0),
          KEEP, HONE_CASE_I(3)),
    PLAIN("aten::sum.dim_IntList", "i32, first and last", sum, HONE_I32_IN(-99, 99, 3, 4, 6), HONE_CASE_IS(0, -1)),
    PLAIN("aten::sum.dim_IntList", "bool, middle", sum, HONE_BOOL(3, 70, 5), HONE_CASE_IS(1)),
    PLAIN("aten::sum.dim_IntList", "bool, all, several blocks", sum, HONE_BOOL(5, 12345), ALL),
    PLAIN("aten::sum.dim_IntList", "bool as f32", sum, HONE_BOOL(5, 37), HONE_CASE_IS(1), KEEP, HONE_CASE_I(6)),
    PLAIN("aten::sum.dim_IntList", "u8, second and fourth of five", sum, BYTES(2, 3, 4, 3, 2), HONE_CASE_IS(1, 3)),
    PLAIN("aten::sum.dim_IntList", "i32, over nothing", sum, HONE_I32_IN(0, 1, 3, 0), HONE_CASE_IS(1)),
    PLAIN("aten::sum.dim_IntList", "i32, over nothing in front", sum, HONE_I32_IN(0, 1, 0, 3), HONE_CASE_IS(0)),
    PLAIN("aten::sum.dim_IntList", "bool, dimensions of 1", sum, HONE_BOOL(1, 5, 1), HONE_CASE_IS(0, 2)),
    PLAIN("aten::sum", "bool", sum_all, HONE_BOOL(5, 37)),
    PLAIN("aten::sum.dim_IntList", "i32 as f32, beyond 32 bits", sum, HONE_I32_IN(1e9, 2147483647, 5, 1037),
          HONE_CASE_IS(1), HONE_CASE_B(0), HONE_CASE_I(6)),
    PLAIN("aten::sum.dim_IntList", "i32 as f32, beyond 32 bits, columns", sum,
          HONE_I32_IN(-2147483648.0, -1e9, 5003, 3), HONE_CASE_IS(0), HONE_CASE_B(0), HONE_CASE_I(6)),
    PLAIN(MAX, "few columns of many rows", amax, HONE_F32(5003, 3), HONE_CASE_IS(0)),
    PLAIN(MAX, "0 and -0", amax, HONE_F32_OF((-0.0, 0, -1e-45), 3, 5), HONE_CASE_IS(1)),
    PLAIN(MIN, "0 and -0", amin, HONE_F32_OF((-0.0, 0, 1e-45), 3, 5), HONE_CASE_IS(1)),
    PLAIN(MIN, "33 columns of many rows", amin, HONE_F32(701, 33), HONE_CASE_IS(0)),
    PLAIN(MIN, "i32, 70 columns of many rows", amin, HONE_I32_IN(-1e9, 1e9, 701, 70), HONE_CASE_IS(0)),
    PLAIN("aten::argmax", "flattened, equal ones in several parts", argmax, HONE_I32_IN(0, 3, 3, 12345), HONE_CASE_NO),
    PLAIN("aten::argmax", "long rows", argmax, HONE_F32(3, 9001), HONE_CASE_I(1)),
    PLAIN("aten::argmin", "few columns of many rows, equal ones", argmin, HONE_I32_IN(-3, 3, 5003, 3), HONE_CASE_I(0)),
    PLAIN("aten::argmin", "NaN in a long row", argmin, HONE_F32_OF((1, -INFINITY, 5, NAN, -1e30, 7, NAN), 1, 9002),
          HONE_CASE_I(1)),
    {MIN, "rows of 512 x 1536", HONE_INPUTS(HONE_F32(512, 1536)), HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)),
     .reference = amin, .bench_only = true},
    {"aten::argmin", "a row of 49152", HONE_INPUTS(HONE_F32(1, 49152)), HONE_TAKES(HONE_IN(0), HONE_CASE_I(1)),
     .reference = argmin, .bench_only = true},
    {MAX, "rows of 512 x 1536", HONE_INPUTS(HONE_F32(512, 1536)), HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)),
     .reference = amax, .bench_only = true},
    {MAX, "columns of 512 x 1536", HONE_INPUTS(HONE_F32(512, 1536)), HONE_TAKES(HONE_IN(0), HONE_CASE_IS(0)),
     .reference = amax, .bench_only = true},
    {"aten::argmax", "a row of 49152", HONE_INPUTS(HONE_F32(1, 49152)), HONE_TAKES(HONE_IN(0), HONE_CASE_I(1)),
     .reference = argmax, .bench_only = true},
    {"aten::sum.dim_IntList", "512 x 512 truths", HONE_INPUTS(HONE_BOOL(512, 512)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)), .reference = sum, .bench_only = true},
    {0},
};
