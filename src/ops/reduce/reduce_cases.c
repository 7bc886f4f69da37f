// SPDX-License-Identifier: Apache-2.0
// Cases of sums and means.
#include "ops/shared/cases.h"

// Adds every element to the output that it belongs to.
static void reduce(const hone_reference *run, const hone_argument *dims, bool mean) {
    const hone_tensor_type *const type = &run->input_types[0];
    const int64_t outputs = hone_case_count(&run->output_types[0]), count = hone_case_count(type);
    bool gone[HONE_MAX_RANK] = {false};
    for (int d = 0; d < type->rank; d++) gone[d] = !dims || dims->count == 0;
    for (size_t i = 0; dims && i < dims->count && type->rank > 0; i++)
        gone[dims->integers[i] < 0 ? dims->integers[i] + type->rank : dims->integers[i]] = true;
    for (int64_t o = 0; o < outputs; o++) run->outputs[0][o] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, out = 0, step = 1;
        for (int d = type->rank - 1; d >= 0; d--) {
            const int64_t place = rest % type->dims[d];
            rest /= type->dims[d];
            if (gone[d]) continue;
            out += place * step;
            step *= type->dims[d];
        }
        run->outputs[0][out] += run->inputs[0][i];
    }
    double each = 1;
    for (int d = 0; d < type->rank; d++) each *= gone[d] ? (double)type->dims[d] : 1;
    for (int64_t o = 0; mean && o < outputs; o++) run->outputs[0][o] /= each;
}

static void sum_dims(const hone_reference *run) {
    reduce(run, &run->arguments[1], false);
}
static void mean_dims(const hone_reference *run) {
    reduce(run, &run->arguments[1], true);
}
static void sum_all(const hone_reference *run) {
    reduce(run, 0, false);
}
static void mean_all(const hone_reference *run) {
    reduce(run, 0, true);
}

#define SUM(name_, input, ...)                                                                                         \
    {"aten::sum.dim_IntList",                                                                                          \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = sum_dims,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define MEAN(name_, input, ...)                                                                                        \
    {"aten::mean.dim",                                                                                                 \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = mean_dims,                                                                                           \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define ALL(op_, name_, function, input)                                                                               \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0)),                                                                                           \
     .reference = function,                                                                                            \
     .tolerance = HONE_TOLERANCE_SIMPLE,                                                                               \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define KEEP HONE_CASE_B(1)

const hone_op_case hone_cases_reduce[] = {
    SUM("last", HONE_F32(5, 37), HONE_CASE_IS(-1)),
    SUM("last, kept", HONE_F32(5, 37), HONE_CASE_IS(1), KEEP),
    SUM("first", HONE_F32(37, 5), HONE_CASE_IS(0)),
    SUM("first of many columns", HONE_F32(9, 300), HONE_CASE_IS(0)),
    SUM("middle", HONE_F32(3, 7, 5), HONE_CASE_IS(1)),
    SUM("outer two", HONE_F32(3, 4, 6), HONE_CASE_IS(0, 1), KEEP),
    SUM("first and last", HONE_F32(3, 4, 6), HONE_CASE_IS(-1, 0)),
    SUM("second and fourth of five", HONE_F32(2, 3, 4, 3, 2), HONE_CASE_IS(1, -2)),
    SUM("none named: all", HONE_F32(3, 4, 5), HONE_CASE_NO),
    SUM("empty list: all, kept", HONE_F32(3, 4, 5), {.kind = HONE_ARGUMENT_INTEGERS}, KEEP),
    SUM("dimensions of 1", HONE_F32(1, 5, 1, 3), HONE_CASE_IS(0, 2)),
    SUM("over nothing", HONE_F32(3, 0), HONE_CASE_IS(1)),
    SUM("of nothing", HONE_F32(0, 3), HONE_CASE_IS(1)),
    SUM("scalar", HONE_F32_SCALAR, HONE_CASE_IS(-1)),
    SUM("1e30", HONE_F32_IN(-1e30, 1e30, 3, 99), HONE_CASE_IS(1)),
    MEAN("last, kept", HONE_F32(5, 37), HONE_CASE_IS(-1), KEEP),
    MEAN("first two", HONE_F32(5, 3, 7), HONE_CASE_IS(0, 1)),
    MEAN("none named: all", HONE_F32(3, 4, 5), HONE_CASE_NO),
    MEAN("over nothing is NaN", HONE_F32(3, 0), HONE_CASE_IS(1)),
    ALL("aten::sum", "several blocks", sum_all, HONE_F32(50001)),
    ALL("aten::sum", "three dimensions", sum_all, HONE_F32(3, 4, 5)),
    ALL("aten::sum", "nothing", sum_all, HONE_F32(0)),
    ALL("aten::mean", "several blocks", mean_all, HONE_F32(3, 17001)),
    ALL("aten::mean", "scalar", mean_all, HONE_F32_SCALAR),
    {"aten::sum.dim_IntList", "few columns of many rows", HONE_INPUTS(HONE_F32(5003, 3)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(0)), .reference = sum_dims, .tolerance = HONE_TOLERANCE_SIMPLE},
    {"aten::sum.dim_IntList", "33 columns of many rows, in two dimensions", HONE_INPUTS(HONE_F32(7, 701, 33)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(0, 1)), .reference = sum_dims, .tolerance = HONE_TOLERANCE_SIMPLE},
    {"aten::mean.dim", "long rows", HONE_INPUTS(HONE_F32(3, 9001)), HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)),
     .reference = mean_dims, .tolerance = HONE_TOLERANCE_SIMPLE},
    {"aten::sum", "LoRA gradients of SmolLM2", HONE_INPUTS(HONE_F32(2442240)), HONE_TAKES(HONE_IN(0)),
     .reference = sum_all, .tolerance = HONE_TOLERANCE_SIMPLE, .bench_only = true, .bench_flop = 2442240},
    {"aten::mean", "512 x 1536", HONE_INPUTS(HONE_F32(512, 1536)), HONE_TAKES(HONE_IN(0)), .reference = mean_all,
     .tolerance = HONE_TOLERANCE_SIMPLE, .bench_only = true, .bench_flop = 512 * 1536},
    {"aten::mean.dim", "rows of 512 x 1536", HONE_INPUTS(HONE_F32(512, 1536)), HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)),
     .reference = mean_dims, .tolerance = HONE_TOLERANCE_SIMPLE, .bench_only = true, .bench_flop = 512 * 1536},
    {"aten::sum.dim_IntList", "columns of SmolLM2", HONE_INPUTS(HONE_F32(512, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(0)), .reference = sum_dims, .tolerance = HONE_TOLERANCE_SIMPLE,
     .bench_only = true, .bench_flop = 512 * 1536},
    {"aten::sum.dim_IntList", "rows of SmolLM2", HONE_INPUTS(HONE_F32(512, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)), .reference = sum_dims, .tolerance = HONE_TOLERANCE_SIMPLE,
     .bench_only = true, .bench_flop = 512 * 1536},
    {0},
};
