// SPDX-License-Identifier: Apache-2.0
// Cases of the products of matrices.
#include "ops/shared/cases.h"

#define F16(...)                                                                                                       \
    {                                                                                                                  \
        .type = { HONE_DTYPE_F16, HONE_DIMS_(__VA_ARGS__) }                                                            \
    }
#define BF16(...)                                                                                                      \
    {                                                                                                                  \
        .type = { HONE_DTYPE_BF16, HONE_DIMS_(__VA_ARGS__) }                                                           \
    }

// --- references ------------------------------------------------------------------------------------------------------

static int64_t columns_of(const hone_tensor_type *type) {
    return type->rank > 0 ? type->dims[type->rank - 1] : 1;
}

static int64_t rows_of(const hone_tensor_type *type) {
    int64_t rows = 1;
    for (int d = 0; d + 1 < type->rank; d++) rows *= type->dims[d];
    return rows;
}

// What every product here is made of: the sum over p of a[p * a_step] * b[p * b_step].
static double sum_of(int64_t k, const double *a, int64_t a_step, const double *b, int64_t b_step) {
    double sum = 0;
    for (int64_t p = 0; p < k; p++) sum += a[p * a_step] * b[p * b_step];
    return sum;
}

// out[m,n] = self + left @ right with self[m,n] or nothing.
static void multiply(const double *self, const double *left, const double *right, int64_t m, int64_t n, int64_t k,
                     double *out) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++)
            out[i * n + j] = (self ? self[i * n + j] : 0) + sum_of(k, left + i * k, 1, right + j, n);
    }
}

static void mm(const hone_reference *run) {
    const hone_tensor_type *const left = &run->input_types[0], *const right = &run->input_types[1];
    multiply(NULL, run->inputs[0], run->inputs[1], left->dims[0], right->dims[1], left->dims[1], run->outputs[0]);
}

// Times the factor at argument 2.
static void scale(const hone_reference *run) {
    const int64_t count = hone_case_count(&run->output_types[0]);
    for (int64_t i = 0; i < count; i++) run->outputs[0][i] *= run->arguments[2].real;
}

static void mm_scaled(const hone_reference *run) {
    mm(run);
    scale(run);
}

static void mm_add(const hone_reference *run) {
    const hone_tensor_type *const left = &run->input_types[1], *const right = &run->input_types[2];
    multiply(run->inputs[0], run->inputs[1], run->inputs[2], left->dims[0], right->dims[1], left->dims[1],
             run->outputs[0]);
}

static void bmm(const hone_reference *run) {
    const hone_tensor_type *const left = &run->input_types[0], *const right = &run->input_types[1];
    const int64_t m = left->dims[1], n = right->dims[2], k = left->dims[2];
    for (int64_t b = 0; b < left->dims[0]; b++)
        multiply(NULL, run->inputs[0] + b * m * k, run->inputs[1] + b * k * n, m, n, k, run->outputs[0] + b * m * n);
}

static void addmm(const hone_reference *run) {
    const hone_tensor_type *const left = &run->input_types[1], *const right = &run->input_types[2];
    const int64_t m = left->dims[0], n = right->dims[1], k = left->dims[1];
    const double beta = hone_case_number(&run->arguments[3], 1), alpha = hone_case_number(&run->arguments[4], 1);
    for (int64_t i = 0; i < m * n; i++) {
        const double self = run->inputs[0][hone_case_broadcast(&run->output_types[0], i, &run->input_types[0])];
        const double sum = sum_of(k, run->inputs[1] + i / n * k, 1, run->inputs[2] + i % n, n);
        run->outputs[0][i] = (beta == 0 ? 0 : beta * self) + alpha * sum;
    }
}

// x at input `at`, the weight behind it; base (or a bias, repeated) may be NULL.
static void times_weight(const hone_reference *run, size_t at, const double *base, bool repeated, double factor) {
    const hone_tensor_type *const weight = &run->input_types[at + 1];
    const int64_t m = rows_of(&run->input_types[at]), n = weight->dims[0], k = weight->dims[1];
    for (int64_t i = 0; i < m * n; i++) {
        const double start = base ? base[repeated ? i % n : i] : 0;
        const double sum = sum_of(k, run->inputs[at] + i / n * k, 1, run->inputs[at + 1] + i % n * k, 1);
        run->outputs[0][i] = start + factor * sum;
    }
}

static void linear(const hone_reference *run) {
    times_weight(run, 0, run->input_count > 2 ? run->inputs[2] : NULL, true, 1);
}

static void linear_add(const hone_reference *run) {
    times_weight(run, 1, run->inputs[0], false, hone_case_number(&run->arguments[3], 1));
}

// out[n,k] (+)= sum over rows of d_out[row,n] * x[row,k].
static void outer(const hone_reference *run, size_t at, double *out, bool add, double factor) {
    const int64_t rows = rows_of(&run->input_types[at]);
    const int64_t n = columns_of(&run->input_types[at]), k = columns_of(&run->input_types[at + 1]);
    for (int64_t i = 0; i < n * k; i++) {
        const double sum = factor * sum_of(rows, run->inputs[at] + i / k, n, run->inputs[at + 1] + i % k, k);
        out[i] = add ? out[i] + sum : sum;
    }
}

static void linear_dw(const hone_reference *run) {
    outer(run, 0, run->outputs[0], false, 1);
}

static void linear_dw_scaled(const hone_reference *run) {
    linear_dw(run);
    scale(run);
}

static void linear_dw_add(const hone_reference *run) {
    outer(run, 1, run->inputs[0], true, hone_case_number(&run->arguments[3], 1));
}

// --- cases -----------------------------------------------------------------------------------------------------------

#define CHECKED(function) .reference = function, .tolerance = HONE_TOLERANCE_PRODUCT, .gradient_tolerance = 1e-4
#define TIMED(function, flop)                                                                                          \
    .reference = function, .tolerance = 1, .bench_only = true, .bench_flop = 2 * (int64_t)(flop)
#define LARGE(function, flop)   TIMED(function, flop), .large = true
#define CHECKED_VALUE(function) .reference = function, .tolerance = HONE_TOLERANCE_PRODUCT
// With a right operand of half precision only the left one has a gradient.
#define CHECKED_HALF(function) CHECKED(function), .no_gradient = 2

#define MM_WITH(CHECK, what, m, n, k)                                                                                  \
    {.op = "aten::mm",                                                                                                 \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_F32(k, n)),                                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     CHECK(mm)}
#define MM(...) MM_WITH(CHECKED, __VA_ARGS__)
#define MM_SCALED(what, m, n, k)                                                                                       \
    {.op = "hone::mm_scaled",                                                                                          \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_F32(k, n)),                                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(-1.5)),                                                            \
     CHECKED(mm_scaled)}
#define LINEAR_DW_SCALED(what, m, n, k)                                                                                \
    {.op = "hone::linear_dW_scaled",                                                                                   \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, n), HONE_F32(m, k)),                                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(0.75)),                                                            \
     CHECKED(linear_dw_scaled)}
#define LINEAR_WITH(CHECK, what, m, n, k)                                                                              \
    {.op = "aten::linear",                                                                                             \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_F32(n, k)),                                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     CHECK(linear)}
#define LINEAR(...) LINEAR_WITH(CHECKED, __VA_ARGS__)
#define LINEAR_BIAS_WITH(CHECK, what, m, n, k)                                                                         \
    {.op = "aten::linear",                                                                                             \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, k), HONE_F32(n, k), HONE_F32(n)),                                                         \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),                                                                   \
     CHECK(linear)}
#define LINEAR_BIAS(...) LINEAR_BIAS_WITH(CHECKED, __VA_ARGS__)
#define LINEAR_ADD_WITH(CHECK, what, m, n, k)                                                                          \
    {.op = "hone::linear_add",                                                                                         \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, n), HONE_F32(m, k), HONE_F32(n, k)),                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),                                                                   \
     CHECK(linear_add)}
#define LINEAR_ADD(...) LINEAR_ADD_WITH(CHECKED, __VA_ARGS__)
#define MM_ADD_WITH(CHECK, what, m, n, k)                                                                              \
    {.op = "hone::mm_add",                                                                                             \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, n), HONE_F32(m, k), HONE_F32(k, n)),                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),                                                                   \
     CHECK(mm_add)}
#define MM_ADD(...) MM_ADD_WITH(CHECKED, __VA_ARGS__)
#define LINEAR_DW_WITH(CHECK, what, m, n, k)                                                                           \
    {.op = "et_vk::linear_dW",                                                                                         \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(m, n), HONE_F32(m, k)),                                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     CHECK(linear_dw)}
#define LINEAR_DW(...) LINEAR_DW_WITH(CHECKED, __VA_ARGS__)
#define LINEAR_DW_ADD(what, m, n, k)                                                                                   \
    {.op = "hone::linear_dW_add_",                                                                                     \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(n, k), HONE_F32(m, n), HONE_F32(m, k)),                                                      \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),                                                                   \
     .reference = linear_dw_add,                                                                                       \
     .tolerance = HONE_TOLERANCE_PRODUCT}
#define ADDMM(what, ...)                                                                                               \
    {.op = "aten::addmm",                                                                                              \
     .name = what,                                                                                                     \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(0.5), HONE_CASE_R(-2)),                                \
     CHECKED(addmm),                                                                                                   \
     HONE_INPUTS(HONE_F32(__VA_ARGS__), HONE_F32(5, 6), HONE_F32(6, 9))}
#define BMM_WITH(CHECK, what, b, m, n, k)                                                                              \
    {.op = "aten::bmm",                                                                                                \
     .name = what,                                                                                                     \
     HONE_INPUTS(HONE_F32(b, m, k), HONE_F32(b, k, n)),                                                                \
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),                                                                               \
     CHECK(bmm)}
#define BMM(...) BMM_WITH(CHECKED, __VA_ARGS__)

const hone_op_case hone_cases_matmul[] = {
    MM("1x1x1", 1, 1, 1),
    MM("no rows", 0, 5, 3),
    MM("no columns", 4, 0, 3),
    MM("nothing to sum", 4, 5, 0),
    MM("few rows", 3, 70, 33),
    MM("few columns", 70, 3, 33),
    MM("odd sizes", 37, 41, 29),
    MM("one behind the tiles", 33, 65, 129),
    MM("sums over several chunks", 36, 34, 600),
    {.op = "aten::mm",
     .name = "f16 matrix",
     HONE_INPUTS(HONE_F32(27, 33), F16(33, 45)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_HALF(mm)},
    {.op = "aten::mm",
     .name = "bf16 matrix, few columns",
     HONE_INPUTS(HONE_F32(27, 33), BF16(33, 5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_HALF(mm)},
    {.op = "aten::mm",
     .name = "more rows than a dispatch has workgroups",
     HONE_INPUTS(HONE_F32(70001, 2), HONE_F32(2, 3)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     .reference = mm,
     .tolerance = HONE_TOLERANCE_PRODUCT},

    MM_SCALED("odd sizes", 37, 41, 29),
    MM_SCALED("few columns", 70, 3, 33),
    MM_SCALED("nothing to sum", 4, 5, 0),

    BMM("one small product", 1, 2, 4, 3),
    BMM("odd sizes", 5, 7, 2, 9),
    BMM("several tasks a product", 3, 130, 18, 17),
    BMM("several tiles a product", 3, 66, 40, 17),
    BMM("no products", 0, 3, 4, 5),
    BMM("nothing to sum", 2, 3, 4, 0),

    ADDMM("self [N]", 9),
    ADDMM("self [1,N]", 1, 9),
    ADDMM("self [M,1]", 5, 1),
    ADDMM("self [M,N]", 5, 9),
    ADDMM("self [1]", 1),
    {.op = "aten::addmm",
     .name = "by default beta and alpha are 1",
     HONE_INPUTS(HONE_F32(40), HONE_F32(33, 50), HONE_F32(50, 40)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     CHECKED(addmm)},
    {.op = "aten::addmm",
     .name = "beta 0 does not read self",
     HONE_INPUTS(HONE_F32_OF((NAN), 40), HONE_F32(33, 50), HONE_F32(50, 40)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(0)),
     .reference = addmm,
     .tolerance = HONE_TOLERANCE_PRODUCT},
    {.op = "aten::addmm",
     .name = "live beta and alpha",
     HONE_INPUTS(HONE_F32(33, 1), HONE_F32(33, 50), HONE_F32(50, 40)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_LIVE(0.25), HONE_CASE_LIVE(3)),
     CHECKED(addmm)},
    {.op = "aten::addmm",
     .name = "nothing to sum",
     HONE_INPUTS(HONE_F32(4), HONE_F32(3, 0), HONE_F32(0, 4)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(-1.5)),
     CHECKED(addmm)},

    LINEAR("1x1x1", 1, 1, 1),
    LINEAR("one row", 1, 75, 67),
    LINEAR("eight rows", 8, 33, 129),
    LINEAR("nine rows", 9, 33, 129),
    LINEAR("few outputs", 45, 8, 70),
    LINEAR("more outputs than few", 45, 25, 70),
    LINEAR("rank 8, as LoRA's second half", 45, 96, 8),
    LINEAR("no rows", 0, 3, 4),
    LINEAR("nothing to sum", 3, 4, 0),
    LINEAR("several chunks", 34, 36, 1100),
    LINEAR("several parts", 34, 36, 640),
    LINEAR_BIAS("bias, odd sizes", 13, 39, 21),
    LINEAR_BIAS("bias, one row", 1, 39, 21),
    LINEAR_BIAS("bias, nothing to sum", 3, 7, 0),
    {.op = "aten::linear",
     .name = "leading dimensions",
     HONE_INPUTS(HONE_F32(2, 1, 9, 7), HONE_F32(35, 7), HONE_F32(35)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     CHECKED(linear)},
    {.op = "aten::linear",
     .name = "a vector",
     HONE_INPUTS(HONE_F32(7), HONE_F32(5, 7), HONE_F32(5)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     CHECKED(linear)},
    {.op = "aten::linear",
     .name = "f16 weight",
     HONE_INPUTS(HONE_F32(21, 130), F16(35, 130)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_HALF(linear)},
    {.op = "aten::linear",
     .name = "f16 weight, one row",
     HONE_INPUTS(HONE_F32(1, 130), F16(35, 130)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_HALF(linear)},
    {.op = "aten::linear",
     .name = "bf16 weight",
     HONE_INPUTS(HONE_F32(21, 130), BF16(35, 130)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_HALF(linear)},

    LINEAR_ADD("odd sizes", 13, 39, 21),
    {.op = "hone::linear_add",
     .name = "a factor",
     HONE_INPUTS(HONE_F32(13, 39), HONE_F32(13, 21), HONE_F32(39, 21)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(0.25)),
     CHECKED(linear_add)},
    LINEAR_ADD("rank 8", 45, 96, 8),
    LINEAR_ADD("one row", 1, 39, 8),
    LINEAR_ADD("nothing to sum", 5, 6, 0),
    {.op = "hone::linear_add",
     .name = "leading dimensions",
     HONE_INPUTS(HONE_F32(2, 9, 35), HONE_F32(2, 9, 7), HONE_F32(35, 7)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     CHECKED(linear_add)},
    MM_ADD("odd sizes", 37, 41, 29),
    MM_ADD("rank 8", 45, 96, 8),
    MM_ADD("few columns", 45, 7, 96),
    MM_ADD("nothing to sum", 5, 6, 0),

    LINEAR_DW("1x1x1", 1, 1, 1),
    LINEAR_DW("odd sizes", 37, 41, 29),
    LINEAR_DW("few rows of the weight", 70, 8, 67),
    LINEAR_DW("few columns of the weight", 70, 67, 8),
    LINEAR_DW("nothing to sum", 0, 4, 5),
    LINEAR_DW("sums over several chunks", 640, 34, 36),
    {.op = "et_vk::linear_dW",
     .name = "leading dimensions",
     HONE_INPUTS(HONE_F32(2, 3, 5, 9), HONE_F32(2, 3, 5, 33)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED(linear_dw)},
    LINEAR_DW_SCALED("odd sizes", 37, 41, 29),
    LINEAR_DW_SCALED("few columns of the weight", 70, 67, 8),
    {.op = "hone::linear_dW_add_",
     .name = "a factor",
     HONE_INPUTS(HONE_F32(8, 67), HONE_F32(70, 8), HONE_F32(70, 67)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_CASE_R(-2)),
     .reference = linear_dw_add,
     .tolerance = HONE_TOLERANCE_PRODUCT},
    LINEAR_DW_ADD("odd sizes", 37, 41, 35),
    LINEAR_DW_ADD("few rows of the weight", 70, 8, 67),
    LINEAR_DW_ADD("few columns of the weight", 70, 67, 8),
    LINEAR_DW_ADD("nothing to sum", 0, 4, 5),

    // Few rows or columns, for which a GPU spreads K over a group's threads: up to 16 and beyond, of any length, also so many
    // others that its slices are fewer, and K so long that it is cut into parts.
    MM_WITH(CHECKED_VALUE, "one column", 67, 1, 577),
    MM_WITH(CHECKED_VALUE, "3 columns", 133, 3, 31),
    MM_WITH(CHECKED_VALUE, "8 columns, one step", 70, 8, 1),
    MM_WITH(CHECKED_VALUE, "8 columns", 513, 8, 577),
    MM_WITH(CHECKED_VALUE, "17 columns", 130, 17, 100),
    MM_WITH(CHECKED_VALUE, "one row", 1, 1201, 577),
    MM_WITH(CHECKED_VALUE, "one row, few columns", 1, 9, 2049),
    MM_WITH(CHECKED_VALUE, "16 rows", 16, 75, 577),
    MM_WITH(CHECKED_VALUE, "32 rows", 32, 67, 31),
    MM_WITH(CHECKED_VALUE, "8 columns, many rows", 3100, 8, 64),
    MM_WITH(CHECKED_VALUE, "16 columns, very many rows", 13001, 16, 70),
    MM_WITH(CHECKED_VALUE, "32 columns, too many rows", 4100, 32, 5),
    MM_WITH(CHECKED_VALUE, "parts", 20, 40, 17000),
    MM_ADD_WITH(CHECKED_VALUE, "8 columns", 45, 8, 577),
    MM_ADD_WITH(CHECKED_VALUE, "17 rows, parts", 17, 40, 8200),
    BMM_WITH(CHECKED_VALUE, "8 columns", 3, 70, 8, 577),
    BMM_WITH(CHECKED_VALUE, "17 rows", 3, 17, 41, 31),
    BMM_WITH(CHECKED_VALUE, "parts", 3, 9, 5, 17000),
    LINEAR_WITH(CHECKED_VALUE, "one output", 67, 1, 577),
    LINEAR_WITH(CHECKED_VALUE, "8 outputs", 45, 8, 577),
    LINEAR_WITH(CHECKED_VALUE, "16 outputs", 45, 16, 2049),
    LINEAR_WITH(CHECKED_VALUE, "17 outputs", 45, 17, 577),
    LINEAR_WITH(CHECKED_VALUE, "one row, many outputs", 1, 1201, 577),
    LINEAR_WITH(CHECKED_VALUE, "7 rows", 7, 43, 2049),
    LINEAR_WITH(CHECKED_VALUE, "32 rows, one step", 32, 67, 1),
    LINEAR_BIAS_WITH(CHECKED_VALUE, "bias, 3 outputs", 45, 3, 31),
    LINEAR_BIAS_WITH(CHECKED_VALUE, "bias, parts", 9, 35, 8200),
    LINEAR_ADD_WITH(CHECKED_VALUE, "8 outputs", 45, 8, 577),
    LINEAR_ADD_WITH(CHECKED_VALUE, "one row, rank 8, many outputs", 1, 1201, 8),
    LINEAR_DW_WITH(CHECKED_VALUE, "one row of the weight", 577, 1, 67),
    LINEAR_DW_WITH(CHECKED_VALUE, "3 columns of the weight", 31, 67, 3),
    LINEAR_DW_WITH(CHECKED_VALUE, "8 rows of the weight", 577, 8, 67),
    LINEAR_DW_WITH(CHECKED_VALUE, "8 columns of the weight", 577, 67, 8),
    LINEAR_DW_WITH(CHECKED_VALUE, "16 rows of the weight", 2049, 16, 35),
    LINEAR_DW_WITH(CHECKED_VALUE, "17 columns of the weight, one step", 1, 75, 17),
    LINEAR_DW_WITH(CHECKED_VALUE, "32 rows of the weight", 31, 32, 75),
    LINEAR_DW_WITH(CHECKED_VALUE, "8 columns of a long weight", 70, 1601, 8),
    LINEAR_DW_ADD("8 rows of the weight, many steps", 577, 8, 67),
    LINEAR_DW_ADD("17 columns of the weight", 577, 67, 17),
    LINEAR_DW_ADD("parts", 17000, 9, 10),

    // Outputs of so many tiles that a GPU takes its larger ones.
    {.op = "aten::mm",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(130, 37), HONE_F32(37, 6210)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_VALUE(mm)},
    {.op = "aten::linear",
     .name = "many tiles, bias",
     HONE_INPUTS(HONE_F32(130, 37), HONE_F32(6210, 37), HONE_F32(6210)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     CHECKED_VALUE(linear)},
    {.op = "et_vk::linear_dW",
     .name = "many tiles",
     HONE_INPUTS(HONE_F32(37, 6210), HONE_F32(37, 130)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_VALUE(linear_dw)},

    // A model of width 576 and LoRA of rank 8 at 512 tokens.
    {.op = "aten::mm",
     .name = "1024x1024x1024",
     HONE_INPUTS(HONE_F32(1024, 1024), HONE_F32(1024, 1024)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(mm, 1024 * 1024 * 1024)},
    {.op = "aten::linear",
     .name = "512x1536x576",
     HONE_INPUTS(HONE_F32(512, 576), HONE_F32(1536, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(linear, 512 * 1536 * 576)},
    {.op = "et_vk::linear_dW",
     .name = "1536x576 over 512",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(linear_dw, 512 * 1536 * 576)},
    {.op = "aten::linear",
     .name = "x @ A^T, 512x8x576",
     HONE_INPUTS(HONE_F32(512, 576), HONE_F32(8, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(linear, 512 * 8 * 576)},
    {.op = "hone::linear_add",
     .name = "y + u @ B^T, 512x1536x8",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 8), HONE_F32(1536, 8)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     TIMED(linear_add, 512 * 8 * 1536)},
    {.op = "aten::mm",
     .name = "g @ B, 512x8x1536",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(1536, 8)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(mm, 512 * 8 * 1536)},
    {.op = "et_vk::linear_dW",
     .name = "dA, 8x576 over 512",
     HONE_INPUTS(HONE_F32(512, 8), HONE_F32(512, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(linear_dw, 512 * 8 * 576)},
    {.op = "et_vk::linear_dW",
     .name = "dB, 1536x8 over 512",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 8)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(linear_dw, 512 * 8 * 1536)},
    {.op = "aten::mm",
     .name = "70000 rows",
     HONE_INPUTS(HONE_F32(70000, 65), HONE_F32(65, 33)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     CHECKED_VALUE(mm),
     .large = true},
    {.op = "aten::mm",
     .name = "2048x2048x2048",
     HONE_INPUTS(HONE_F32(2048, 2048), HONE_F32(2048, 2048)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LARGE(mm, (int64_t)2048 * 2048 * 2048)},
    {.op = "et_vk::linear_dW",
     .name = "2048x2048 over 4096",
     HONE_INPUTS(HONE_F32(4096, 2048), HONE_F32(4096, 2048)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     LARGE(linear_dw, (int64_t)4096 * 2048 * 2048)},
    {.op = "aten::addmm",
     .name = "512x1536x576",
     HONE_INPUTS(HONE_F32(1536), HONE_F32(512, 576), HONE_F32(576, 1536)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     TIMED(addmm, 512 * 1536 * 576)},
    {.op = "aten::bmm",
     .name = "9 of 512x512x64",
     HONE_INPUTS(HONE_F32(9, 512, 64), HONE_F32(9, 64, 512)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1)),
     TIMED(bmm, 9 * 512 * 512 * 64)},
    {.op = "hone::mm_add",
     .name = "d_x + d_u @ A, 512x576x8",
     HONE_INPUTS(HONE_F32(512, 576), HONE_F32(512, 8), HONE_F32(8, 576)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     TIMED(mm_add, 512 * 576 * 8)},
    {.op = "hone::mm_scaled",
     .name = "g @ B, 512x8x1536",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(1536, 8)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(2)),
     TIMED(mm_scaled, 512 * 8 * 1536)},
    {.op = "hone::linear_dW_scaled",
     .name = "dB, 1536x8 over 512",
     HONE_INPUTS(HONE_F32(512, 1536), HONE_F32(512, 8)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_R(2)),
     TIMED(linear_dw_scaled, 512 * 8 * 1536)},
    {.op = "hone::linear_dW_add_",
     .name = "dB, 1536x8 over 512",
     HONE_INPUTS(HONE_F32(1536, 8), HONE_F32(512, 1536), HONE_F32(512, 8)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2)),
     TIMED(linear_dw_add, 512 * 8 * 1536)},
    {.op = NULL},
};
