// SPDX-License-Identifier: Apache-2.0
// Cases of the linear layers with weights in codes.
#include "ops/shared/cases.h"

#define SCALES(...)      {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_POSITIVE_SCALES}
#define HALF_SCALES(...) {.type = {HONE_DTYPE_F16, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_POSITIVE_SCALES}
#define MINIMUMS(...)    HONE_F32(__VA_ARGS__)
#define HALF_MINIMUMS(...)                                                                                             \
    {                                                                                                                  \
        .type = { HONE_DTYPE_F16, HONE_DIMS_(__VA_ARGS__) }                                                            \
    }

// --- references ------------------------------------------------------------------------------------------------------

// The weight in the inputs 1 (codes), 2 (scales) and, if there are minimums, 3.
typedef struct weight {
    const hone_reference *run;
    bool four, minimums;
    int64_t group;
} weight;

static double value_of(const weight *w, int64_t n, int64_t k) {
    const hone_tensor_type *const codes = &w->run->input_types[1], *const scales = &w->run->input_types[2];
    const int64_t at = k / w->group * scales->dims[1] + n;
    double code;
    if (w->four) {
        const int byte = (int)w->run->inputs[1][n * codes->dims[1] + k / 2];
        code = k % 2 ? byte / 16 : byte % 16;
        if (!w->minimums) code -= 8;
    } else {
        code = w->run->inputs[1][n * codes->dims[1] + k];
    }
    return code * w->run->inputs[2][at] + (w->minimums ? w->run->inputs[3][at] : 0);
}

static int64_t last_of(const hone_tensor_type *type) {
    return type->dims[type->rank - 1];
}

static void forward(const weight *w, const double *bias) {
    const int64_t k = last_of(&w->run->input_types[0]), n = last_of(&w->run->output_types[0]);
    const int64_t count = hone_case_count(&w->run->output_types[0]);
    for (int64_t i = 0; i < count; i++) {
        double sum = bias ? bias[i % n] : 0;
        for (int64_t p = 0; p < k; p++) sum += w->run->inputs[0][i / n * k + p] * value_of(w, i % n, p);
        w->run->outputs[0][i] = sum;
    }
}

static void backward(const weight *w) {
    const int64_t n = last_of(&w->run->input_types[0]), k = last_of(&w->run->output_types[0]);
    const int64_t count = hone_case_count(&w->run->output_types[0]);
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t p = 0; p < n; p++) sum += w->run->inputs[0][i / k * n + p] * value_of(w, p, i % k);
        w->run->outputs[0][i] = sum;
    }
}

static void q4(const hone_reference *run) {
    const weight w = {run, true, false, run->arguments[3].integer};
    forward(&w, run->input_count > 3 ? run->inputs[3] : NULL);
}
static void q4_backward(const hone_reference *run) {
    const weight w = {run, true, false, run->arguments[3].integer};
    backward(&w);
}
static void q4m(const hone_reference *run) {
    const weight w = {run, true, true, run->arguments[4].integer};
    forward(&w, NULL);
}
static void q4m_backward(const hone_reference *run) {
    const weight w = {run, true, true, run->arguments[4].integer};
    backward(&w);
}
static void q8(const hone_reference *run) {
    const weight w = {run, false, run->input_count > 3, run->arguments[4].integer};
    forward(&w, NULL);
}
static void q8_backward(const hone_reference *run) {
    const weight w = {run, false, run->input_count > 3, run->arguments[4].integer};
    backward(&w);
}

// --- cases -----------------------------------------------------------------------------------------------------------
// `in` are the leading dimensions of x or d_out in parentheses; groups = ceil(K / g), padded >= N values a group.

#define CHECKED(function)                                                                                              \
    .reference = function, .tolerance = HONE_TOLERANCE_PRODUCT, .gradient_tolerance = 1e-4, .no_gradient = ~1u
#define FOUR HONE_IN(0), HONE_IN(1), HONE_IN(2)

#define Q4(what, m, n, k, g, groups, padded)                                                                           \
    {.op = "et_vk::linear_q4gsw",                                                                                      \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_U8(n, (k + 1) / 2), SCALES(groups, padded)),                                     \
     HONE_TAKES(FOUR, HONE_CASE_I(g)),                                                                                 \
     CHECKED(q4)},                                                                                                     \
    {                                                                                                                  \
        .op = "et_vk::linear_q4gsw_backward", .name = what,                                                            \
        HONE_INPUTS(HONE_F32(m, n), HONE_U8(n, (k + 1) / 2), SCALES(groups, padded)),                                  \
        HONE_TAKES(FOUR, HONE_CASE_I(g), HONE_CASE_I(k)), CHECKED(q4_backward)                                         \
    }
#define Q4M(what, scale, minimum, m, n, k, g, groups, padded)                                                          \
    {.op = "hone::linear_q4gswm",                                                                                      \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_U8(n, (k + 1) / 2), scale(groups, padded), minimum(groups, padded)),             \
     HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(g)),                                                                     \
     CHECKED(q4m)},                                                                                                    \
    {                                                                                                                  \
        .op = "hone::linear_q4gswm_backward", .name = what,                                                            \
        HONE_INPUTS(HONE_F32(m, n), HONE_U8(n, (k + 1) / 2), scale(groups, padded), minimum(groups, padded)),          \
        HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(g), HONE_CASE_I(k)), CHECKED(q4m_backward)                            \
    }
#define Q8(what, scale, m, n, k, g, groups, padded)                                                                    \
    {.op = "hone::linear_q8gsw",                                                                                       \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_I8(n, k), scale(groups, padded)),                                                \
     HONE_TAKES(FOUR, HONE_CASE_NO, HONE_CASE_I(g)),                                                                   \
     CHECKED(q8)},                                                                                                     \
    {                                                                                                                  \
        .op = "hone::linear_q8gsw_backward", .name = what,                                                             \
        HONE_INPUTS(HONE_F32(m, n), HONE_I8(n, k), scale(groups, padded)),                                             \
        HONE_TAKES(FOUR, HONE_CASE_NO, HONE_CASE_I(g)), CHECKED(q8_backward)                                           \
    }
#define Q8M(what, scale, minimum, m, n, k, g, groups, padded)                                                          \
    {.op = "hone::linear_q8gsw",                                                                                       \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_I8(n, k), scale(groups, padded), minimum(groups, padded)),                       \
     HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(g)),                                                                     \
     CHECKED(q8)},                                                                                                     \
    {                                                                                                                  \
        .op = "hone::linear_q8gsw_backward", .name = what,                                                             \
        HONE_INPUTS(HONE_F32(m, n), HONE_I8(n, k), scale(groups, padded), minimum(groups, padded)),                    \
        HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(g)), CHECKED(q8_backward)                                             \
    }

// Timed: as Q4_1 of a model of width 576 at 512 tokens, and its Q8_0 head for some rows.
#define TIMED(function, flop)                                                                                          \
    .reference = function, .tolerance = 1, .bench_only = true, .bench_flop = 2 * (int64_t)(flop)
#define TIMED_Q4M(what, m, n, k)                                                                                       \
    {.op = "hone::linear_q4gswm",                                                                                      \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_U8(n, k / 2), HALF_SCALES(k / 32, n), HALF_MINIMUMS(k / 32, n)),                 \
     HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(32)),                                                                    \
     TIMED(q4m, (m) * (n) * (k))},                                                                                     \
    {                                                                                                                  \
        .op = "hone::linear_q4gswm_backward", .name = what,                                                            \
        HONE_INPUTS(HONE_F32(m, n), HONE_U8(n, k / 2), HALF_SCALES(k / 32, n), HALF_MINIMUMS(k / 32, n)),              \
        HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(32)), TIMED(q4m_backward, (m) * (n) * (k))                            \
    }
#define TIMED_Q8(what, m, n, k)                                                                                        \
    {.op = "hone::linear_q8gsw",                                                                                       \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_I8(n, k), HALF_SCALES(k / 32, n)),                                               \
     HONE_TAKES(FOUR, HONE_CASE_NO, HONE_CASE_I(32)),                                                                  \
     TIMED(q8, (int64_t)(m) * (n) * (k))},                                                                             \
    {                                                                                                                  \
        .op = "hone::linear_q8gsw_backward", .name = what,                                                             \
        HONE_INPUTS(HONE_F32(m, n), HONE_I8(n, k), HALF_SCALES(k / 32, n)),                                            \
        HONE_TAKES(FOUR, HONE_CASE_NO, HONE_CASE_I(32)), TIMED(q8_backward, (int64_t)(m) * (n) * (k))                  \
    }

const hone_op_case hone_cases_linear_q4gsw[] = {
    Q4("1x8x32, g = 32", 1, 8, 32, 32, 1, 8),
    Q4("1x1x1, g = 1", 1, 1, 1, 1, 1, 1),
    Q4("K = 129, g = 64, N_pad > N", 6, 10, 129, 64, 3, 16),
    Q4("K = 129, g = 64, one row", 1, 35, 129, 64, 3, 40),
    Q4("K = 95, g = 32, three rows", 3, 21, 95, 32, 3, 21),
    Q4("five rows, g = 16", 5, 24, 64, 16, 4, 24),
    Q4("one row, g = 16", 1, 24, 64, 16, 4, 24),
    Q4("g = 8", 7, 40, 40, 8, 5, 40),
    Q4("g = 3, no multiple of anything", 5, 19, 50, 3, 17, 19),
    Q4("g = 5, odd groups and bytes that two groups share", 2, 18, 33, 5, 7, 20),
    Q4("odd sizes over several tiles", 37, 67, 163, 32, 6, 70),
    Q4("g = K", 9, 33, 96, 96, 1, 33),
    Q4("g > K", 9, 33, 48, 64, 1, 36),
    Q4("no rows", 0, 8, 32, 32, 1, 8),
    Q4("no outputs", 3, 0, 32, 32, 1, 4),
    Q4("no columns", 3, 8, 0, 32, 0, 8),
    Q4("several chunks", 12, 20, 1120, 32, 35, 20),
    {.op = "et_vk::linear_q4gsw",
     .name = "bias, leading dimensions",
     HONE_INPUTS(HONE_F32(2, 3, 64), HONE_U8(21, 32), SCALES(2, 21), HONE_F32(21)),
     HONE_TAKES(FOUR, HONE_CASE_I(32), HONE_IN(3)),
     CHECKED(q4)},
    {.op = "et_vk::linear_q4gsw",
     .name = "bias, one row",
     HONE_INPUTS(HONE_F32(1, 64), HONE_U8(21, 32), SCALES(2, 21), HONE_F32(21)),
     HONE_TAKES(FOUR, HONE_CASE_I(32), HONE_IN(3)),
     CHECKED(q4)},
    {.op = "et_vk::linear_q4gsw",
     .name = "f16 scales",
     HONE_INPUTS(HONE_F32(7, 64), HONE_U8(21, 32), HALF_SCALES(2, 24)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     CHECKED(q4)},
    {.op = "et_vk::linear_q4gsw_backward",
     .name = "columns from the codes",
     HONE_INPUTS(HONE_F32(2, 3, 21), HONE_U8(21, 32), HALF_SCALES(2, 24)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     CHECKED(q4_backward)},
    {.op = "et_vk::linear_q4gsw_backward",
     .name = "rows of the weight over several chunks",
     HONE_INPUTS(HONE_F32(12, 600), HONE_U8(600, 16), SCALES(1, 600)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     CHECKED(q4_backward)},
    {.op = "et_vk::linear_q4gsw",
     .name = "more rows than a dispatch has workgroups",
     HONE_INPUTS(HONE_F32(70001, 2), HONE_U8(3, 1), SCALES(1, 3)),
     HONE_TAKES(FOUR, HONE_CASE_I(2)),
     .reference = q4,
     .tolerance = HONE_TOLERANCE_PRODUCT},

    // Outputs of so many tiles that a GPU takes its larger ones.
    {.op = "et_vk::linear_q4gsw",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(130, 40), HONE_U8(6210, 20), SCALES(2, 6210)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     .reference = q4,
     .tolerance = HONE_TOLERANCE_PRODUCT},
    {.op = "et_vk::linear_q4gsw_backward",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(130, 37), HONE_U8(37, 3105), SCALES(195, 40)),
     HONE_TAKES(FOUR, HONE_CASE_I(32), HONE_CASE_I(6210)),
     .reference = q4_backward,
     .tolerance = HONE_TOLERANCE_PRODUCT},
    {.op = "hone::linear_q8gsw_backward",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(130, 37), HONE_I8(37, 6208), SCALES(194, 40), MINIMUMS(194, 40)),
     HONE_TAKES(FOUR, HONE_IN(3), HONE_CASE_I(32)),
     .reference = q8_backward,
     .tolerance = HONE_TOLERANCE_PRODUCT},

    Q4M("f32 scales", SCALES, MINIMUMS, 6, 35, 64, 32, 2, 40),
    Q4M("f16 scales, N_pad > N", HALF_SCALES, HALF_MINIMUMS, 6, 35, 129, 32, 5, 40),
    Q4M("one row", HALF_SCALES, HALF_MINIMUMS, 1, 35, 96, 32, 3, 35),
    Q4M("two rows", SCALES, MINIMUMS, 2, 35, 100, 64, 2, 35),
    Q4M("four rows", HALF_SCALES, HALF_MINIMUMS, 4, 18, 96, 32, 3, 35),
    Q4M("g = 20", SCALES, MINIMUMS, 9, 35, 50, 20, 3, 35),

    Q8("g = 32, f16 scales", HALF_SCALES, 6, 35, 64, 32, 2, 40),
    Q8("one row", HALF_SCALES, 1, 35, 96, 32, 3, 35),
    Q8("one row, g = 16, K = 89", SCALES, 1, 35, 89, 16, 6, 35),
    Q8("three rows, K = 75", HALF_SCALES, 3, 18, 75, 32, 3, 18),
    Q8("g = 16", SCALES, 9, 35, 89, 16, 6, 36),
    Q8("g = 7", SCALES, 3, 35, 30, 7, 5, 36),
    Q8("nothing to sum", SCALES, 2, 5, 0, 32, 0, 5),
    Q8M("minimums, f16", HALF_SCALES, HALF_MINIMUMS, 6, 35, 64, 32, 2, 40),
    Q8M("minimums, one row", SCALES, MINIMUMS, 1, 35, 100, 16, 7, 40),
    Q8M("minimums, g = 5", SCALES, MINIMUMS, 4, 19, 33, 5, 7, 19),

    TIMED_Q4M("512 rows, 576x576", 512, 576, 576),
    TIMED_Q4M("512 rows, 192x576", 512, 192, 576),
    TIMED_Q4M("512 rows, 1536x576", 512, 1536, 576),
    TIMED_Q4M("512 rows, 576x1536", 512, 576, 1536),
    TIMED_Q4M("1 row, 1536x576", 1, 1536, 576),
    TIMED_Q8("128 rows, 49152x576", 128, 49152, 576),
    TIMED_Q8("1 row, 49152x576", 1, 49152, 576),
    {.op = "et_vk::linear_q4gsw",
     .name = "151936 outputs",
     HONE_INPUTS(HONE_F32(3, 896), HONE_U8(151936, 448), SCALES(28, 151936)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     .reference = q4,
     .tolerance = HONE_TOLERANCE_PRODUCT,
     .large = true},
    {.op = "et_vk::linear_q4gsw",
     .name = "4096 rows, 2048x2048",
     HONE_INPUTS(HONE_F32(4096, 2048), HONE_U8(2048, 1024), SCALES(64, 2048)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     .large = true,
     TIMED(q4, (int64_t)4096 * 2048 * 2048)},
    {.op = "et_vk::linear_q4gsw_backward",
     .name = "4096 rows, 2048x2048",
     HONE_INPUTS(HONE_F32(4096, 2048), HONE_U8(2048, 1024), SCALES(64, 2048)),
     HONE_TAKES(FOUR, HONE_CASE_I(32)),
     .large = true,
     TIMED(q4_backward, (int64_t)4096 * 2048 * 2048)},
    {.op = NULL},
};
