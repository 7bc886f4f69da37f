// SPDX-License-Identifier: Apache-2.0
// Cases of operators that move elements without changing them.
#include "ops/shared/cases.h"

static void same(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) run->outputs[0][i] = run->inputs[0][i];
}

static void expand(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0];
    for (int64_t i = 0; i < hone_case_count(out); i++)
        run->outputs[0][i] = run->inputs[0][hone_case_broadcast(out, i, &run->input_types[0])];
}

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

static int dim_of(const hone_argument *argument, int rank) {
    const int64_t dim = argument->kind == HONE_ARGUMENT_NONE ? 0 : argument->integer;
    return (int)(dim < 0 ? dim + rank : dim);
}

static void permute(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0];
    for (int64_t i = 0; i < hone_case_count(out); i++) {
        int64_t to[HONE_MAX_RANK], from[HONE_MAX_RANK];
        places(out, i, to);
        for (int d = 0; d < out->rank; d++) {
            const int64_t dim = run->arguments[1].integers[d];
            from[dim < 0 ? dim + out->rank : dim] = to[d];
        }
        run->outputs[0][i] = run->inputs[0][index_of(&run->input_types[0], from)];
    }
}

// Visits the elements of the part of `whole` that starts at `first` and takes every step-th place of dim.
static int64_t part_at(const hone_tensor_type *part, int64_t i, const hone_tensor_type *whole, int dim, int64_t first,
                       int64_t step) {
    int64_t place[HONE_MAX_RANK];
    places(part, i, place);
    place[dim] = first + place[dim] * step;
    return index_of(whole, place);
}

static int64_t slice_first(const hone_argument *start, int64_t size) {
    const int64_t first = start->kind == HONE_ARGUMENT_NONE ? 0 : start->integer;
    const int64_t counted = first < 0 ? first + size : first;
    return counted < 0 ? 0 : counted > size ? size : counted;
}

static void slice(const hone_reference *run) {
    const hone_tensor_type *const in = &run->input_types[0], *const out = &run->output_types[0];
    const int dim = dim_of(&run->arguments[1], in->rank);
    const int64_t step = (int64_t)hone_case_number(&run->arguments[4], 1);
    for (int64_t i = 0; i < hone_case_count(out); i++)
        run->outputs[0][i] =
            run->inputs[0][part_at(out, i, in, dim, slice_first(&run->arguments[2], in->dims[dim]), step)];
}

static void slice_backward(const hone_reference *run) {
    const hone_tensor_type *const part = &run->input_types[0], *const out = &run->output_types[0];
    const int dim = dim_of(&run->arguments[2], out->rank);
    const int64_t step = (int64_t)hone_case_number(&run->arguments[5], 1);
    for (int64_t i = 0; i < hone_case_count(out); i++) run->outputs[0][i] = 0;
    for (int64_t i = 0; i < hone_case_count(part); i++)
        run->outputs[0][part_at(part, i, out, dim, slice_first(&run->arguments[3], out->dims[dim]), step)] =
            run->inputs[0][i];
}

// The type with a dimension of 1 at dim, where select has taken it out.
static hone_tensor_type with_one(const hone_tensor_type *type, int dim) {
    hone_tensor_type out = {.dtype = type->dtype, .rank = type->rank + 1};
    for (int d = 0; d < out.rank; d++) out.dims[d] = d == dim ? 1 : type->dims[d < dim ? d : d - 1];
    return out;
}

static void select(const hone_reference *run) {
    const hone_tensor_type *const in = &run->input_types[0];
    const int dim = dim_of(&run->arguments[1], in->rank);
    const int64_t index = run->arguments[2].integer;
    const hone_tensor_type part = with_one(&run->output_types[0], dim);
    for (int64_t i = 0; i < hone_case_count(&part); i++)
        run->outputs[0][i] = run->inputs[0][part_at(&part, i, in, dim, index < 0 ? index + in->dims[dim] : index, 1)];
}

static void select_backward(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0];
    const int dim = dim_of(&run->arguments[2], out->rank);
    const int64_t index = run->arguments[3].integer;
    const hone_tensor_type part = with_one(&run->input_types[0], dim);
    for (int64_t i = 0; i < hone_case_count(out); i++) run->outputs[0][i] = 0;
    for (int64_t i = 0; i < hone_case_count(&part); i++)
        run->outputs[0][part_at(&part, i, out, dim, index < 0 ? index + out->dims[dim] : index, 1)] = run->inputs[0][i];
}

static void cat(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0];
    const int dim = dim_of(&run->arguments[1], out->rank);
    int64_t at = 0;
    for (size_t t = 0; t < run->input_count; t++) {
        const hone_tensor_type *const part = &run->input_types[t];
        if (part->rank != out->rank) continue;
        for (int64_t i = 0; i < hone_case_count(part); i++)
            run->outputs[0][part_at(part, i, out, dim, at, 1)] = run->inputs[t][i];
        at += part->dims[dim];
    }
}

static void split(const hone_reference *run) {
    const hone_tensor_type *const in = &run->input_types[0];
    const int dim = dim_of(&run->arguments[2], in->rank);
    int64_t at = 0;
    for (size_t t = 0; t < run->output_count; t++) {
        const hone_tensor_type *const part = &run->output_types[t];
        for (int64_t i = 0; i < hone_case_count(part); i++)
            run->outputs[t][i] = run->inputs[0][part_at(part, i, in, dim, at, 1)];
        at += part->dims[dim];
    }
}

static void fill(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++)
        run->outputs[0][i] = hone_case_number(&run->arguments[1], 0);
}

#define MOVE(op_, name_, function, input, ...)                                                                         \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(__VA_ARGS__),                                                                                          \
     .reference = function,                                                                                            \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define PLAIN(op_, name_, function, input, ...)                                                                        \
    {op_, name_, HONE_INPUTS(input), HONE_TAKES(__VA_ARGS__), .reference = function}
#define TIMED(op_, name_, function, input, ...)                                                                        \
    {op_, name_, HONE_INPUTS(input), HONE_TAKES(__VA_ARGS__), .reference = function, .bench_only = true}
#define ANY(type_, ...) {.type = {HONE_DTYPE_##type_, HONE_DIMS_(__VA_ARGS__)}, .low = 0, .high = 2}
#define NO_LIST         {.kind = HONE_ARGUMENT_INTEGERS}
#define LIST(...)                                                                                                      \
    {.kind = HONE_ARGUMENT_TENSORS,                                                                                    \
     .values = (const hone_value[]){__VA_ARGS__},                                                                      \
     .count = sizeof((const hone_value[]){__VA_ARGS__}) / sizeof(hone_value)}

const hone_op_case hone_cases_shape[] = {
    MOVE("aten::view_copy", "joined", same, HONE_F32(3, 4, 5), HONE_IN(0), HONE_CASE_IS(12, 5)),
    MOVE("aten::view_copy", "one unknown", same, HONE_F32(3, 4, 5), HONE_IN(0), HONE_CASE_IS(2, -1, 3)),
    MOVE("aten::view_copy", "to a scalar", same, HONE_F32(1, 1), HONE_IN(0), NO_LIST),
    PLAIN("aten::view_copy", "nothing, unknown", same, HONE_F32(0, 4), HONE_IN(0), HONE_CASE_IS(-1, 2)),
    PLAIN("aten::view_copy", "i32", same, HONE_I32_IN(-9, 9, 6), HONE_IN(0), HONE_CASE_IS(2, 3)),
    MOVE("aten::unsqueeze_copy", "front", same, HONE_F32(3, 4), HONE_IN(0), HONE_CASE_I(0)),
    MOVE("aten::unsqueeze_copy", "back", same, HONE_F32(3, 4), HONE_IN(0), HONE_CASE_I(-1)),
    MOVE("aten::squeeze_copy", "all", same, HONE_F32(1, 3, 1, 4, 1), HONE_IN(0)),
    MOVE("aten::squeeze_copy.dim", "one", same, HONE_F32(1, 3, 1), HONE_IN(0), HONE_CASE_I(-1)),
    MOVE("aten::squeeze_copy.dim", "not 1", same, HONE_F32(1, 3, 1), HONE_IN(0), HONE_CASE_I(1)),
    MOVE("aten::squeeze_copy.dims", "two named, one is 1", same, HONE_F32(1, 3, 1), HONE_IN(0), HONE_CASE_IS(0, 1)),
    MOVE("aten::clone", "f32", same, HONE_F32(3, 5), HONE_IN(0)),
    PLAIN("aten::clone", "bool", same, HONE_BOOL(17), HONE_IN(0)),
    MOVE("aten::permute_copy", "transposed", permute, HONE_F32(5, 7), HONE_IN(0), HONE_CASE_IS(1, 0)),
    MOVE("aten::permute_copy", "heads to the front", permute, HONE_F32(5, 3, 4), HONE_IN(0), HONE_CASE_IS(1, 0, 2)),
    MOVE("aten::permute_copy", "four, negative", permute, HONE_F32(2, 3, 4, 5), HONE_IN(0), HONE_CASE_IS(-1, 1, 0, -2)),
    MOVE("aten::permute_copy", "scalar", permute, HONE_F32_SCALAR, HONE_IN(0), NO_LIST),
    PLAIN("aten::permute_copy", "bool", permute, HONE_BOOL(3, 7), HONE_IN(0), HONE_CASE_IS(1, 0)),
    PLAIN("aten::permute_copy", "several blocks", permute, HONE_F32(301, 211), HONE_IN(0), HONE_CASE_IS(1, 0)),
    PLAIN("aten::permute_copy", "first and last of three", permute, HONE_F32(40, 3, 70), HONE_IN(0),
          HONE_CASE_IS(2, 1, 0)),
    PLAIN("aten::permute_copy", "matrices of a batch", permute, HONE_F32(2, 3, 33, 65), HONE_IN(0),
          HONE_CASE_IS(1, 0, 3, 2)),
    PLAIN("aten::permute_copy", "first to the end of four", permute, HONE_F32(50, 2, 3, 20), HONE_IN(0),
          HONE_CASE_IS(2, 3, 1, 0)),
    PLAIN("aten::permute_copy", "nothing", permute, HONE_F32(0, 3), HONE_IN(0), HONE_CASE_IS(1, 0)),
    MOVE("aten::expand_copy", "column", expand, HONE_F32(3, 1), HONE_IN(0), HONE_CASE_IS(3, 5)),
    MOVE("aten::expand_copy", "new dimension, one kept", expand, HONE_F32(1, 4), HONE_IN(0), HONE_CASE_IS(2, 3, -1)),
    MOVE("aten::expand_copy", "scalar", expand, HONE_F32_SCALAR, HONE_IN(0), HONE_CASE_IS(2, 3)),
    PLAIN("aten::expand_copy", "to nothing", expand, HONE_F32(1, 3), HONE_IN(0), HONE_CASE_IS(0, 3)),
    MOVE("aten::select_copy.int", "first dimension", select, HONE_F32(4, 3, 2), HONE_IN(0), HONE_CASE_I(0),
         HONE_CASE_I(2)),
    MOVE("aten::select_copy.int", "from the end", select, HONE_F32(4, 3, 2), HONE_IN(0), HONE_CASE_I(-2),
         HONE_CASE_I(-1)),
    PLAIN("aten::select_backward", "middle", select_backward, HONE_F32(4, 2), HONE_IN(0), HONE_CASE_IS(4, 3, 2),
          HONE_CASE_I(1), HONE_CASE_I(-3)),
    MOVE("aten::slice_copy.Tensor", "rows", slice, HONE_F32(7, 3), HONE_IN(0), HONE_CASE_I(0), HONE_CASE_I(2),
         HONE_CASE_I(5)),
    MOVE("aten::slice_copy.Tensor", "columns from the end, step", slice, HONE_F32(3, 9), HONE_IN(0), HONE_CASE_I(-1),
         HONE_CASE_I(-8), HONE_CASE_I(1000), HONE_CASE_I(3)),
    MOVE("aten::slice_copy.Tensor", "all by default", slice, HONE_F32(3, 4), HONE_IN(0)),
    PLAIN("aten::slice_copy.Tensor", "nothing left", slice, HONE_F32(3, 4), HONE_IN(0), HONE_CASE_I(1), HONE_CASE_I(3),
          HONE_CASE_I(2)),
    PLAIN("hone::slice_backward", "step", slice_backward, HONE_F32(3, 3), HONE_IN(0), HONE_CASE_IS(3, 9),
          HONE_CASE_I(-1), HONE_CASE_I(1), HONE_CASE_NO, HONE_CASE_I(3)),
    {"aten::cat", "rows", HONE_INPUTS(HONE_F32(2, 3), HONE_F32(1, 3)), HONE_TAKES(LIST({1}, {2})), .reference = cat,
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
    {"aten::cat", "three, last dimension", HONE_INPUTS(HONE_F32(2, 3), HONE_F32(2, 1), HONE_F32(2, 0)),
     HONE_TAKES(LIST({1}, {2}, {3}), HONE_CASE_I(-1)), .reference = cat, .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
    {"aten::cat", "an empty vector among them", HONE_INPUTS(HONE_F32(0), HONE_F32(2, 2, 2), HONE_F32(2, 3, 2)),
     HONE_TAKES(LIST({1}, {2}, {3}), HONE_CASE_I(1)), .reference = cat, .gradient_tolerance = HONE_TOLERANCE_SIMPLE},
    MOVE("aten::split_with_sizes_copy", "rows", split, HONE_F32(6, 3), HONE_IN(0), HONE_CASE_IS(1, 3, 2)),
    MOVE("aten::split_with_sizes_copy", "columns", split, HONE_F32(2, 5), HONE_IN(0), HONE_CASE_IS(4, 0, 1),
         HONE_CASE_I(-1)),
    PLAIN("aten::permute_copy", "i64, four dimensions", permute, ANY(I64, 2, 3, 4, 5), HONE_IN(0),
          HONE_CASE_IS(3, 1, 0, 2)),
    PLAIN("aten::permute_copy", "f16", permute, ANY(F16, 3, 5, 7), HONE_IN(0), HONE_CASE_IS(2, 0, 1)),
    PLAIN("aten::expand_copy", "u8", expand, ANY(U8, 3, 1), HONE_IN(0), HONE_CASE_IS(2, 3, 5)),
    PLAIN("aten::expand_copy", "i64", expand, ANY(I64, 3, 1), HONE_IN(0), HONE_CASE_IS(3, 5)),
    PLAIN("aten::select_copy.int", "bool", select, HONE_BOOL(3, 5), HONE_IN(0), HONE_CASE_I(1), HONE_CASE_I(3)),
    PLAIN("aten::select_backward", "i8", select_backward, ANY(I8, 3, 2), HONE_IN(0), HONE_CASE_IS(3, 5, 2),
          HONE_CASE_I(1), HONE_CASE_I(3)),
    PLAIN("aten::select_backward", "i64", select_backward, ANY(I64, 3, 2), HONE_IN(0), HONE_CASE_IS(3, 5, 2),
          HONE_CASE_I(1), HONE_CASE_I(3)),
    PLAIN("aten::slice_copy.Tensor", "f16, step", slice, ANY(F16, 3, 9), HONE_IN(0), HONE_CASE_I(1), HONE_CASE_I(1),
          HONE_CASE_I(9), HONE_CASE_I(3)),
    PLAIN("aten::slice_copy.Tensor", "bool", slice, HONE_BOOL(9, 3), HONE_IN(0), HONE_CASE_I(0), HONE_CASE_I(1),
          HONE_CASE_I(8)),
    PLAIN("hone::slice_backward", "u8, step", slice_backward, ANY(U8, 3, 3), HONE_IN(0), HONE_CASE_IS(3, 9),
          HONE_CASE_I(-1), HONE_CASE_I(1), HONE_CASE_NO, HONE_CASE_I(3)),
    PLAIN("hone::slice_backward", "nothing put back", slice_backward, ANY(F16, 3, 0), HONE_IN(0), HONE_CASE_IS(3, 9),
          HONE_CASE_I(-1), HONE_CASE_I(2), HONE_CASE_I(2)),
    {"aten::cat", "bool, columns", HONE_INPUTS(HONE_BOOL(3, 5), HONE_BOOL(3, 2), HONE_BOOL(3, 6)),
     HONE_TAKES(LIST({1}, {2}, {3}), HONE_CASE_I(1)), .reference = cat},
    {"aten::cat", "f16, rows", HONE_INPUTS(ANY(F16, 3), ANY(F16, 4), ANY(F16, 2)), HONE_TAKES(LIST({1}, {2}, {3})),
     .reference = cat},
    {"aten::cat", "i64, middle", HONE_INPUTS(ANY(I64, 2, 3, 2), ANY(I64, 2, 1, 2)),
     HONE_TAKES(LIST({1}, {2}), HONE_CASE_I(1)), .reference = cat},
    PLAIN("aten::split_with_sizes_copy", "u8, columns", split, ANY(U8, 3, 9), HONE_IN(0), HONE_CASE_IS(4, 2, 3),
          HONE_CASE_I(1)),
    PLAIN("aten::split_with_sizes_copy", "i64, columns", split, ANY(I64, 3, 9), HONE_IN(0), HONE_CASE_IS(4, 2, 3),
          HONE_CASE_I(1)),
    {"aten::full", "f32", HONE_TAKES(HONE_CASE_IS(3, 4), HONE_CASE_R(2.5)), .reference = fill},
    {"aten::full", "i32 by code", HONE_TAKES(HONE_CASE_IS(9), HONE_CASE_I(-3), HONE_CASE_I(3)), .reference = fill},
    {"aten::full", "i64 from a whole number", HONE_TAKES(HONE_CASE_IS(2), HONE_CASE_I(7)), .reference = fill},
    {"aten::full", "f16 by code", HONE_TAKES(HONE_CASE_IS(9), HONE_CASE_R(0.5), HONE_CASE_I(5)), .reference = fill},
    {"aten::full", "live", HONE_TAKES(HONE_CASE_IS(3, 4), HONE_CASE_LIVE(0.25)), .reference = fill},
    {"aten::full", "scalar", HONE_TAKES(NO_LIST, HONE_CASE_R(1)), .reference = fill},
    PLAIN("aten::full_like", "f32", fill, HONE_F32(3, 5), HONE_IN(0), HONE_CASE_R(-1)),
    PLAIN("aten::full_like", "bool by code", fill, HONE_F32(3, 5), HONE_IN(0), HONE_CASE_B(1), HONE_CASE_I(11)),
    PLAIN("aten::fill.Scalar", "i32", fill, HONE_I32_IN(0, 9, 7), HONE_IN(0), HONE_CASE_I(4)),

    // A model of width 576 at 512 tokens, and a million elements. What is a view is an alias in a plan, and takes nothing.
    TIMED("aten::view_copy", "512 x 576", same, HONE_F32(512, 576), HONE_IN(0), HONE_CASE_IS(512, 9, 64)),
    TIMED("aten::unsqueeze_copy", "512 x 576", same, HONE_F32(512, 576), HONE_IN(0), HONE_CASE_I(0)),
    TIMED("aten::squeeze_copy", "512 x 576", same, HONE_F32(1, 512, 576), HONE_IN(0)),
    TIMED("aten::squeeze_copy.dim", "512 x 576", same, HONE_F32(1, 512, 576), HONE_IN(0), HONE_CASE_I(0)),
    TIMED("aten::squeeze_copy.dims", "512 x 576", same, HONE_F32(1, 512, 576), HONE_IN(0), HONE_CASE_IS(0)),
    TIMED("aten::clone", "a million", same, HONE_F32(1000, 1000), HONE_IN(0)),
    TIMED("aten::permute_copy", "9 heads to the front", permute, HONE_F32(512, 9, 64), HONE_IN(0),
          HONE_CASE_IS(1, 0, 2)),
    TIMED("aten::permute_copy", "1024 x 1024 transposed", permute, HONE_F32(1024, 1024), HONE_IN(0),
          HONE_CASE_IS(1, 0)),
    TIMED("aten::expand_copy", "576 to 512 x 576", expand, HONE_F32(1, 576), HONE_IN(0), HONE_CASE_IS(512, 576)),
    TIMED("aten::select_copy.int", "one of three", select, HONE_F32(512, 3, 576), HONE_IN(0), HONE_CASE_I(1),
          HONE_CASE_I(1)),
    TIMED("aten::slice_copy.Tensor", "half of the columns", slice, HONE_F32(512, 1152), HONE_IN(0), HONE_CASE_I(1),
          HONE_CASE_I(576), HONE_CASE_I(1152)),
    TIMED("aten::split_with_sizes_copy", "q, k and v", split, HONE_F32(512, 960), HONE_IN(0),
          HONE_CASE_IS(576, 192, 192), HONE_CASE_I(1)),
    {"aten::cat", "q, k and v", HONE_INPUTS(HONE_F32(512, 576), HONE_F32(512, 192), HONE_F32(512, 192)),
     HONE_TAKES(LIST({1}, {2}, {3}), HONE_CASE_I(1)), .reference = cat, .bench_only = true},
    {"aten::full", "a million", HONE_TAKES(HONE_CASE_IS(1000, 1000), HONE_CASE_R(2.5)), .reference = fill,
     .bench_only = true},
    TIMED("aten::full_like", "a million", fill, HONE_F32(1000, 1000), HONE_IN(0), HONE_CASE_R(-1)),
    TIMED("aten::fill.Scalar", "a million", fill, HONE_F32(1000, 1000), HONE_IN(0), HONE_CASE_R(4)),
    TIMED("aten::select_backward", "one of three", select_backward, HONE_F32(512, 576), HONE_IN(0),
          HONE_CASE_IS(512, 3, 576), HONE_CASE_I(1), HONE_CASE_I(1)),
    TIMED("hone::slice_backward", "half of the columns", slice_backward, HONE_F32(512, 576), HONE_IN(0),
          HONE_CASE_IS(512, 1152), HONE_CASE_I(1), HONE_CASE_I(576), HONE_CASE_I(1152)),
    {0},
};
