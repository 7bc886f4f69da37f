// SPDX-License-Identifier: Apache-2.0
// Cases of borders, turned and repeated dimensions, and numbers at equal distances.
#include "ops/shared/cases.h"

static void places(const hone_tensor_type *type, int64_t index, int64_t *place) {
    for (int d = type->rank - 1; d >= 0; d--) {
        place[d] = index % type->dims[d];
        index /= type->dims[d];
    }
}

// The number at `place` of input 0, or `otherwise` outside of it.
static double element(const hone_reference *run, const int64_t *place, double otherwise) {
    const hone_tensor_type *const type = &run->input_types[0];
    int64_t index = 0;
    for (int d = 0; d < type->rank; d++) {
        if (place[d] < 0 || place[d] >= type->dims[d]) return otherwise;
        index = index * type->dims[d] + place[d];
    }
    return run->inputs[0][index];
}

static void pad(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0];
    const hone_argument *const border = &run->arguments[1];
    for (int64_t i = 0; i < hone_case_count(out); i++) {
        int64_t place[HONE_MAX_RANK];
        places(out, i, place);
        for (int d = 0; d < out->rank; d++) {
            const int from_last = out->rank - 1 - d;
            if (2 * from_last < (int)border->count) place[d] -= border->integers[2 * from_last];
        }
        run->outputs[0][i] = element(run, place, hone_case_number(&run->arguments[2], 0));
    }
}

static void flip(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0];
    const hone_argument *const dims = &run->arguments[1];
    for (int64_t i = 0; i < hone_case_count(out); i++) {
        int64_t place[HONE_MAX_RANK];
        places(out, i, place);
        for (size_t j = 0; j < dims->count; j++) {
            const int64_t d = dims->integers[j] < 0 ? dims->integers[j] + out->rank : dims->integers[j];
            place[d] = out->dims[d] - 1 - place[d];
        }
        run->outputs[0][i] = element(run, place, NAN);
    }
}

static void repeat(const hone_reference *run) {
    const hone_tensor_type *const out = &run->output_types[0], *const in = &run->input_types[0];
    const int more = out->rank - in->rank;
    for (int64_t i = 0; i < hone_case_count(out); i++) {
        int64_t place[HONE_MAX_RANK], own[HONE_MAX_RANK];
        places(out, i, place);
        for (int d = 0; d < in->rank; d++) own[d] = place[d + more] % in->dims[d];
        run->outputs[0][i] = element(run, own, NAN);
    }
}

static void arange(const hone_reference *run) {
    const double start = hone_case_number(&run->arguments[0], 0), step = hone_case_number(&run->arguments[2], 1);
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) run->outputs[0][i] = start + (double)i * step;
}

#define MOVE(op_, name_, function, input, ...)                                                                         \
    {op_,                                                                                                              \
     name_,                                                                                                            \
     HONE_INPUTS(input),                                                                                               \
     HONE_TAKES(HONE_IN(0), __VA_ARGS__),                                                                              \
     .reference = function,                                                                                            \
     .gradient_tolerance = HONE_TOLERANCE_SIMPLE}
#define PLAIN(op_, name_, function, input, ...)                                                                        \
    {op_, name_, HONE_INPUTS(input), HONE_TAKES(HONE_IN(0), __VA_ARGS__), .reference = function}
#define RANGE(name_, ...) {"aten::arange.start_step", name_, HONE_TAKES(__VA_ARGS__), .reference = arange}
// With values, which 64-bit inputs must be given.
#define WHOLE(dtype_, ...) {.type = {HONE_DTYPE_##dtype_, HONE_DIMS_(__VA_ARGS__)}, .low = -9, .high = 9}
#define ANY(dtype_, ...)                                                                                               \
    {                                                                                                                  \
        .type = { HONE_DTYPE_##dtype_, HONE_DIMS_(__VA_ARGS__) }                                                       \
    }
#define NO_LIST {.kind = HONE_ARGUMENT_INTEGERS}
#define PAD     "aten::constant_pad_nd"

const hone_op_case hone_cases_border[] = {
    MOVE(PAD, "last dimension", pad, HONE_F32(3, 5), HONE_CASE_IS(1, 2), HONE_CASE_R(0.5)),
    MOVE(PAD, "both dimensions", pad, HONE_F32(3, 5), HONE_CASE_IS(1, 0, 2, 3)),
    MOVE(PAD, "cut and padded", pad, HONE_F32(2, 6, 5), HONE_CASE_IS(-2, 1, 3, -1), HONE_CASE_I(-7)),
    MOVE(PAD, "all cut away, then padded", pad, HONE_F32(2, 3), HONE_CASE_IS(-4, 6), HONE_CASE_R(1)),
    MOVE(PAD, "no numbers", pad, HONE_F32(2, 3), NO_LIST, HONE_CASE_R(1)),
    MOVE(PAD, "scalar", pad, HONE_F32_SCALAR, NO_LIST),
    MOVE(PAD, "-inf as a mask has", pad, HONE_F32(4, 3, 2), HONE_CASE_IS(0, 0, 2, 0, 0, 1), HONE_CASE_R(-INFINITY)),
    MOVE(PAD, "value lives", pad, HONE_F32(3, 5), HONE_CASE_IS(1, 2), HONE_CASE_LIVE(0.25)),
    PLAIN(PAD, "nothing becomes something", pad, HONE_F32(0, 3), HONE_CASE_IS(1, 0, 2, 1), HONE_CASE_R(4)),
    PLAIN(PAD, "something becomes nothing", pad, HONE_F32(2, 3), HONE_CASE_IS(-1, -2)),
    PLAIN(PAD, "i32", pad, HONE_I32_IN(-9, 9, 4, 5), HONE_CASE_IS(2, 1, 0, 3), HONE_CASE_I(-100)),
    PLAIN(PAD, "bool", pad, HONE_BOOL(4, 5), HONE_CASE_IS(2, 1), HONE_CASE_B(1)),
    PLAIN(PAD, "u8", pad, ANY(U8, 9), HONE_CASE_IS(2, 1), HONE_CASE_I(255)),
    PLAIN(PAD, "i64", pad, WHOLE(I64, 3, 5), HONE_CASE_IS(2, -1, 1, 0), HONE_CASE_I(7)),
    PLAIN(PAD, "f16, cut and padded", pad, ANY(F16, 3, 5), HONE_CASE_IS(-2, 3, 1, 0), HONE_CASE_R(0.5)),
    PLAIN(PAD, "several blocks", pad, HONE_F32(300, 200), HONE_CASE_IS(7, 9, 11, 13), HONE_CASE_R(2)),
    MOVE("aten::flip", "last", flip, HONE_F32(3, 5), HONE_CASE_IS(-1)),
    MOVE("aten::flip", "first and last", flip, HONE_F32(3, 4, 5), HONE_CASE_IS(2, 0)),
    MOVE("aten::flip", "all", flip, HONE_F32(3, 4, 5), HONE_CASE_IS(0, 1, -1)),
    MOVE("aten::flip", "none", flip, HONE_F32(3, 5), NO_LIST),
    MOVE("aten::flip", "a dimension of 1", flip, HONE_F32(3, 1, 5), HONE_CASE_IS(1)),
    PLAIN("aten::flip", "nothing", flip, HONE_F32(3, 0), HONE_CASE_IS(0, 1)),
    PLAIN("aten::flip", "bool", flip, HONE_BOOL(7, 9), HONE_CASE_IS(1)),
    PLAIN("aten::flip", "f16", flip, ANY(F16, 7, 9), HONE_CASE_IS(0)),
    PLAIN("aten::flip", "i64", flip, WHOLE(I64, 3, 5), HONE_CASE_IS(0, 1)),
    PLAIN("aten::flip", "several blocks", flip, HONE_F32(301, 211), HONE_CASE_IS(0, 1)),
    MOVE("aten::repeat", "rows", repeat, HONE_F32(3, 5), HONE_CASE_IS(2, 1)),
    MOVE("aten::repeat", "both, new dimension", repeat, HONE_F32(3, 5), HONE_CASE_IS(2, 3, 4)),
    MOVE("aten::repeat", "third of four", repeat, HONE_F32(2, 1, 3, 2), HONE_CASE_IS(1, 2, 3, 1)),
    MOVE("aten::repeat", "once", repeat, HONE_F32(3, 5), HONE_CASE_IS(1, 1)),
    MOVE("aten::repeat", "scalar to a vector", repeat, HONE_F32_SCALAR, HONE_CASE_IS(7)),
    MOVE("aten::repeat", "scalar", repeat, HONE_F32_SCALAR, NO_LIST),
    MOVE("aten::repeat", "five dimensions, all", repeat, HONE_F32(2, 1, 2, 1, 2), HONE_CASE_IS(2, 2, 2, 3, 2)),
    MOVE("aten::repeat", "no times", repeat, HONE_F32(3, 5), HONE_CASE_IS(2, 0, 2)),
    PLAIN("aten::repeat", "nothing", repeat, HONE_F32(3, 0), HONE_CASE_IS(2, 3)),
    PLAIN("aten::repeat", "i32", repeat, HONE_I32_IN(-9, 9, 3, 2), HONE_CASE_IS(2, 5)),
    PLAIN("aten::repeat", "i64", repeat, WHOLE(I64, 3, 2), HONE_CASE_IS(2, 2, 3)),
    PLAIN("aten::repeat", "bool, several blocks", repeat, HONE_BOOL(300, 7), HONE_CASE_IS(20, 3)),
    RANGE("whole numbers: i64", HONE_CASE_I(0), HONE_CASE_I(7)),
    RANGE("i32 by code", HONE_CASE_I(-3), HONE_CASE_I(50000), HONE_CASE_I(2), HONE_CASE_I(3)),
    RANGE("i32, backwards, not reaching the end", HONE_CASE_I(10), HONE_CASE_I(-1), HONE_CASE_I(-4), HONE_CASE_I(3)),
    RANGE("f32 of whole numbers", HONE_CASE_I(2), HONE_CASE_I(9), HONE_CASE_I(3), HONE_CASE_I(6)),
    RANGE("f32", HONE_CASE_R(0), HONE_CASE_R(1), HONE_CASE_R(0.1)),
    RANGE("f32, backwards", HONE_CASE_R(1.5), HONE_CASE_R(-1), HONE_CASE_R(-0.25)),
    RANGE("i64 beyond 32 bits", HONE_CASE_I(4294967296), HONE_CASE_I(4294967299)),
    RANGE("i64 with large steps", HONE_CASE_I(-5000000000), HONE_CASE_I(5000000000), HONE_CASE_I(1234567891)),
    RANGE("f32, many, far from 0", HONE_CASE_R(1000.3), HONE_CASE_R(1700.7), HONE_CASE_R(0.07)),
    RANGE("nothing", HONE_CASE_I(5), HONE_CASE_I(5), HONE_CASE_I(-1), HONE_CASE_I(3)),
    {PAD, "a border round 1000 x 1000", HONE_INPUTS(HONE_F32(1000, 1000)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(4, 4, 4, 4)), .reference = pad, .bench_only = true},
    {"aten::flip", "1000 x 1000", HONE_INPUTS(HONE_F32(1000, 1000)), HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1)),
     .reference = flip, .bench_only = true},
    {"aten::repeat", "keys of 3 heads to 9", HONE_INPUTS(HONE_F32(3, 1, 512, 64)),
     HONE_TAKES(HONE_IN(0), HONE_CASE_IS(1, 3, 1, 1)), .reference = repeat, .bench_only = true},
    {"aten::arange.start_step", "a million i32",
     HONE_TAKES(HONE_CASE_I(0), HONE_CASE_I(1000000), HONE_CASE_I(1), HONE_CASE_I(3)), .reference = arange,
     .bench_only = true},
    {0},
};
