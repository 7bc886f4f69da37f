// SPDX-License-Identifier: Apache-2.0
// Cases of the linear layers with weights in codes and a LoRA.
#include "ops/shared/cases.h"

#define SCALES(...) {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_POSITIVE_SCALES}
#define HALVES(...) {.type = {HONE_DTYPE_F16, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_POSITIVE_SCALES}
#define HALF_MINIMUMS(...)                                                                                             \
    {                                                                                                                  \
        .type = { HONE_DTYPE_F16, HONE_DIMS_(__VA_ARGS__) }                                                            \
    }

// --- references ------------------------------------------------------------------------------------------------------

// Which inputs an optional argument names; NULL where it is left out.
static const double *given(const hone_reference *run, size_t argument) {
    const hone_argument *const a = &run->arguments[argument];
    return a->kind == HONE_ARGUMENT_TENSOR ? run->inputs[a->value.id - 1] : NULL;
}
static int64_t last_of(const hone_tensor_type *type) {
    return type->dims[type->rank - 1];
}

static double weight_at(const hone_reference *run, int64_t n, int64_t k) {
    const hone_tensor_type *const codes = &run->input_types[1], *const scales = &run->input_types[2];
    const double *const minimums = given(run, 3);
    const int64_t at = k / run->arguments[4].integer * scales->dims[1] + n;
    double code;
    if (codes->dtype == HONE_DTYPE_U8) {
        const int byte = (int)run->inputs[1][n * codes->dims[1] + k / 2];
        code = (k % 2 ? byte / 16 : byte % 16) - (minimums ? 0 : 8);
    } else {
        code = run->inputs[1][n * codes->dims[1] + k];
    }
    return code * run->inputs[2][at] + (minimums ? minimums[at] : 0);
}

// base + in @ W^T (or W) + factor * low @ other^T (or other).
static void layer(const hone_reference *run, bool backward, double factor) {
    const double *const base = given(run, 5), *const low = given(run, 6), *const other = given(run, 7);
    const int64_t inner = last_of(&run->input_types[0]), n = last_of(&run->output_types[0]);
    const int64_t count = hone_case_count(&run->output_types[0]);
    const int64_t rank = low ? last_of(&run->input_types[run->arguments[6].value.id - 1]) : 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = i / n, column = i % n;
        double sum = base ? base[i] : 0, added = 0;
        for (int64_t p = 0; p < inner; p++)
            sum += run->inputs[0][row * inner + p] * (backward ? weight_at(run, p, column) : weight_at(run, column, p));
        for (int64_t r = 0; r < rank; r++)
            added += low[row * rank + r] * (backward ? other[r * n + column] : other[column * rank + r]);
        run->outputs[0][i] = sum + factor * added;
    }
}
static void linear_lora(const hone_reference *run) {
    layer(run, false, hone_case_number(&run->arguments[8], 1));
}
static void linear_lora_backward(const hone_reference *run) {
    layer(run, true, 1);
}

// --- cases -----------------------------------------------------------------------------------------------------------
// Inputs: x or d_out, codes, scales, [minimums,] base, low, other; those that have gradients are not 1, 2 and minimums.

#define CHECKED(function, without)                                                                                     \
    .reference = function, .tolerance = HONE_TOLERANCE_PRODUCT, .gradient_tolerance = 1e-4, .no_gradient = without
#define FIRST(g)          HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_NO, HONE_CASE_I(g)
#define FIRST_MINIMUMS(g) HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_CASE_I(g)

#define FOUR(what, m, n, k, r, g, groups, padded)                                                                      \
    {.op = "hone::linear_lora",                                                                                        \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_U8(n, (k + 1) / 2), SCALES(groups, padded), HONE_F32(m, n), HONE_F32(m, r),      \
                 HONE_F32(n, r)),                                                                                      \
     HONE_TAKES(FIRST(g), HONE_IN(3), HONE_IN(4), HONE_IN(5), HONE_CASE_R(1.5)),                                       \
     CHECKED(linear_lora, 6)},                                                                                         \
    {                                                                                                                  \
        .op = "hone::linear_lora_backward", .name = what,                                                              \
        HONE_INPUTS(HONE_F32(m, n), HONE_U8(n, (k + 1) / 2), SCALES(groups, padded), HONE_F32(m, k), HONE_F32(m, r),   \
                    HONE_F32(r, k)),                                                                                   \
        HONE_TAKES(FIRST(g), HONE_IN(3), HONE_IN(4), HONE_IN(5), HONE_CASE_I(k)), CHECKED(linear_lora_backward, 6)     \
    }
#define FOUR_MINIMUMS(what, m, n, k, r, g, groups, padded)                                                             \
    {.op = "hone::linear_lora",                                                                                        \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_U8(n, (k + 1) / 2), HALVES(groups, padded), HALF_MINIMUMS(groups, padded),       \
                 HONE_F32(m, r), HONE_F32(n, r)),                                                                      \
     HONE_TAKES(FIRST_MINIMUMS(g), HONE_CASE_NO, HONE_IN(4), HONE_IN(5)),                                              \
     CHECKED(linear_lora, 14)},                                                                                        \
    {                                                                                                                  \
        .op = "hone::linear_lora_backward", .name = what,                                                              \
        HONE_INPUTS(HONE_F32(m, n), HONE_U8(n, (k + 1) / 2), HALVES(groups, padded), HALF_MINIMUMS(groups, padded),    \
                    HONE_F32(m, r), HONE_F32(r, k)),                                                                   \
        HONE_TAKES(FIRST_MINIMUMS(g), HONE_CASE_NO, HONE_IN(4), HONE_IN(5), HONE_CASE_I(k)),                           \
        CHECKED(linear_lora_backward, 14)                                                                              \
    }
#define EIGHT(what, m, n, k, r, g, groups, padded)                                                                     \
    {.op = "hone::linear_lora",                                                                                        \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_I8(n, k), HALVES(groups, padded), HONE_F32(m, n), HONE_F32(m, r),                \
                 HONE_F32(n, r)),                                                                                      \
     HONE_TAKES(FIRST(g), HONE_IN(3), HONE_IN(4), HONE_IN(5), HONE_CASE_R(-0.25)),                                     \
     CHECKED(linear_lora, 6)},                                                                                         \
    {                                                                                                                  \
        .op = "hone::linear_lora_backward", .name = what,                                                              \
        HONE_INPUTS(HONE_F32(m, n), HONE_I8(n, k), HALVES(groups, padded), HONE_F32(m, k), HONE_F32(m, r),             \
                    HONE_F32(r, k)),                                                                                   \
        HONE_TAKES(FIRST(g), HONE_IN(3), HONE_IN(4), HONE_IN(5)), CHECKED(linear_lora_backward, 6)                     \
    }
#define VALUE(function) .reference = function, .tolerance = HONE_TOLERANCE_PRODUCT
#define TIMED(function, flop)                                                                                          \
    .reference = function, .tolerance = 1, .bench_only = true, .bench_flop = 2 * (int64_t)(flop)
#define TIMED_FOUR(what, m, n, k, r)                                                                                   \
    {.op = "hone::linear_lora",                                                                                        \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_U8(n, k / 2), HALVES(k / 32, n), HALF_MINIMUMS(k / 32, n), HONE_F32(m, r),       \
                 HONE_F32(n, r)),                                                                                      \
     HONE_TAKES(FIRST_MINIMUMS(32), HONE_CASE_NO, HONE_IN(4), HONE_IN(5)),                                             \
     TIMED(linear_lora, (m) * (n) * (k + r))},                                                                         \
    {                                                                                                                  \
        .op = "hone::linear_lora_backward", .name = what,                                                              \
        HONE_INPUTS(HONE_F32(m, n), HONE_U8(n, k / 2), HALVES(k / 32, n), HALF_MINIMUMS(k / 32, n), HONE_F32(m, k),    \
                    HONE_F32(m, r), HONE_F32(r, k)),                                                                   \
        HONE_TAKES(FIRST_MINIMUMS(32), HONE_IN(4), HONE_IN(5), HONE_IN(6)),                                            \
        TIMED(linear_lora_backward, (m) * ((n) + (r)) * (k))                                                           \
    }

const hone_op_case hone_cases_linear_lora[] = {
    FOUR("1x8x32, rank 1", 1, 8, 32, 1, 32, 1, 8),
    FOUR("one row, K = 129", 1, 35, 129, 8, 64, 3, 40),
    FOUR("five rows, g = 16", 5, 24, 64, 8, 16, 4, 24),
    FOUR("four rows, several chunks of K", 4, 21, 2080, 70, 32, 65, 22),
    FOUR("two rows, K = 40, g = 8", 2, 9, 40, 3, 8, 5, 9),
    FOUR("three rows, K = 71", 3, 6, 71, 5, 32, 3, 6),
    FOUR("g = 3, no multiple of anything", 5, 19, 50, 3, 3, 17, 19),
    FOUR("g = 5, odd groups and bytes that two groups share", 2, 18, 33, 5, 5, 7, 20),
    FOUR("odd sizes over several tiles, rank 33", 37, 67, 163, 33, 32, 6, 70),
    FOUR("no rows", 0, 8, 32, 4, 32, 1, 8),
    FOUR("no columns", 3, 8, 0, 4, 32, 0, 8),
    FOUR("parts of K", 12, 20, 1120, 8, 32, 35, 20),
    FOUR("rank 70", 9, 21, 64, 70, 32, 2, 21),
    FOUR_MINIMUMS("minimums, N_pad odd", 6, 35, 129, 8, 32, 5, 41),
    FOUR_MINIMUMS("minimums, one row", 1, 35, 96, 8, 32, 3, 35),
    FOUR_MINIMUMS("minimums, N = 33", 7, 33, 64, 16, 32, 2, 33),
    EIGHT("8 bits, g = 32", 6, 35, 64, 8, 32, 2, 40),
    EIGHT("8 bits, one row, K = 89", 1, 35, 89, 4, 16, 6, 35),
    EIGHT("8 bits, one row, K = 1088", 1, 35, 1088, 4, 32, 34, 35),
    EIGHT("8 bits, four rows", 4, 18, 92, 4, 4, 23, 18),
    EIGHT("8 bits, odd K", 9, 35, 89, 16, 16, 6, 36),
    EIGHT("8 bits, g = 7", 3, 35, 30, 2, 7, 5, 36),
    {.op = "hone::linear_lora",
     .name = "nothing added",
     HONE_INPUTS(HONE_F32(2, 3, 64), HONE_U8(21, 32), SCALES(2, 21)),
     HONE_TAKES(FIRST(32)),
     CHECKED(linear_lora, 6)},
    {.op = "hone::linear_lora",
     .name = "leading dimensions, a base alone",
     HONE_INPUTS(HONE_F32(2, 3, 64), HONE_U8(21, 32), SCALES(2, 21), HONE_F32(2, 3, 21)),
     HONE_TAKES(FIRST(32), HONE_IN(3)),
     CHECKED(linear_lora, 6)},
    {.op = "hone::linear_lora",
     .name = "leading dimensions",
     HONE_INPUTS(HONE_F32(2, 3, 64), HONE_U8(21, 32), SCALES(2, 21), HONE_F32(2, 3, 4), HONE_F32(21, 4)),
     HONE_TAKES(FIRST(32), HONE_CASE_NO, HONE_IN(3), HONE_IN(4), HONE_CASE_R(2)),
     CHECKED(linear_lora, 6)},
    {.op = "hone::linear_lora_backward",
     .name = "columns from the codes, nothing added",
     HONE_INPUTS(HONE_F32(2, 3, 21), HONE_U8(21, 32), HALVES(2, 24)),
     HONE_TAKES(FIRST(32)),
     CHECKED(linear_lora_backward, 6)},
    {.op = "hone::linear_lora_backward",
     .name = "a base alone",
     HONE_INPUTS(HONE_F32(7, 21), HONE_U8(21, 32), HALVES(2, 24), HONE_F32(7, 64)),
     HONE_TAKES(FIRST(32), HONE_IN(3)),
     CHECKED(linear_lora_backward, 6)},

    // Outputs of so many tiles that a GPU takes its larger ones.
    {.op = "hone::linear_lora",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(130, 40), HONE_U8(6210, 20), SCALES(2, 6210), HONE_F32(130, 17), HONE_F32(6210, 17)),
     HONE_TAKES(FIRST(32), HONE_CASE_NO, HONE_IN(3), HONE_IN(4), HONE_CASE_R(0.5)),
     VALUE(linear_lora)},
    {.op = "hone::linear_lora_backward",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(130, 37), HONE_U8(37, 3105), SCALES(195, 40), HONE_F32(130, 6210), HONE_F32(130, 17),
                 HONE_F32(17, 6210)),
     HONE_TAKES(FIRST(32), HONE_IN(3), HONE_IN(4), HONE_IN(5), HONE_CASE_I(6210)),
     VALUE(linear_lora_backward)},

    // As SmolLM2's at 512 tokens.
    TIMED_FOUR("512 rows, 576x576, rank 8", 512, 576, 576, 8),
    TIMED_FOUR("512 rows, 192x576, rank 8", 512, 192, 576, 8),
    TIMED_FOUR("512 rows, 1536x576, rank 8", 512, 1536, 576, 8),
    TIMED_FOUR("512 rows, 576x1536, rank 8", 512, 576, 1536, 8),
    TIMED_FOUR("1 row, 1536x576, rank 8", 1, 1536, 576, 8),
    {.op = NULL},
};
