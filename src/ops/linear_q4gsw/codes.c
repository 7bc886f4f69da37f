// SPDX-License-Identifier: Apache-2.0
// Weights in codes: their checks, and the choice between decoding tiles and products straight from codes.
#include "ops/linear_q4gsw/codes.h"

#include <string.h>

enum {
    TASK_WEIGHTS = 1 << 16, // codes below which a task is not worth a thread
    TASKS = 64,             // at most
    ROWS = 16,              // a task takes a multiple of these
};

// --- operands --------------------------------------------------------------------------------------------------------

static int64_t columns_of(const hone_op_call *call, const hone_code_operands *at, int64_t columns) {
    if (columns >= 0) return columns;
    if (at->columns >= 0 && call->operands[at->columns].kind == HONE_ARGUMENT_INTEGER)
        return call->operands[at->columns].integer;
    return hone_operand_tensor(call, (size_t)at->codes)->type.dims[1] * (at->bits == 4 ? 2 : 1);
}

static hone_status infer_scales(const hone_op_call *call, int operand, int64_t groups, int64_t rows,
                                hone_error *error) {
    HONE_TRY(hone_op_want_rank(call, (size_t)operand, 2, error));
    const hone_tensor *const t = hone_operand_tensor(call, (size_t)operand);
    HONE_OP_CHECK(t->type.dtype == HONE_DTYPE_F32 || t->type.dtype == HONE_DTYPE_F16,
                  "scales and minimums must be f32 or f16, not %s", hone_op_type_text(t));
    HONE_OP_CHECK(t->type.dims[0] == groups && t->type.dims[1] >= rows,
                  "scales or minimums %s must have %lld groups and at least %lld rows' values in each",
                  hone_op_type_text(t), (long long)groups, (long long)rows);
    return HONE_OK;
}

hone_status hone_codes_infer(const hone_op_call *call, const hone_code_operands *at, int64_t columns,
                             hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, (size_t)at->codes, at->bits == 4 ? HONE_DTYPE_U8 : HONE_DTYPE_I8, error));
    HONE_TRY(hone_op_want_rank(call, (size_t)at->codes, 2, error));
    const hone_tensor *const codes = hone_operand_tensor(call, (size_t)at->codes);
    const int64_t group = call->operands[at->group].integer, k = columns_of(call, at, columns);
    HONE_OP_CHECK(group >= 1, "group_size must be positive, not %lld", (long long)group);
    HONE_OP_CHECK(k >= 0 && codes->type.dims[1] == (at->bits == 4 ? k / 2 + k % 2 : k),
                  "codes %s do not hold rows of %lld columns", hone_op_type_text(codes), (long long)k);
    const int64_t groups = k / group + (k % group != 0);
    HONE_TRY(infer_scales(call, at->scales, groups, codes->type.dims[0], error));
    const hone_tensor *const scales = hone_operand_tensor(call, (size_t)at->scales);
    const hone_tensor *const minimums = at->minimums >= 0 ? hone_operand_tensor(call, (size_t)at->minimums) : NULL;
    if (!minimums) return HONE_OK;
    HONE_TRY(infer_scales(call, at->minimums, groups, codes->type.dims[0], error));
    HONE_OP_CHECK(hone_type_equal(&scales->type, &minimums->type), "minimums %s must be like the scales %s",
                  hone_op_type_text(minimums), hone_op_type_text(scales));
    return HONE_OK;
}

hone_codes hone_codes_of(const hone_op_call *call, const hone_code_operands *at, int64_t columns) {
    const hone_tensor *const codes = hone_operand_tensor(call, (size_t)at->codes);
    const hone_tensor *const scales = hone_operand_tensor(call, (size_t)at->scales);
    const hone_tensor *const minimums = at->minimums >= 0 ? hone_operand_tensor(call, (size_t)at->minimums) : NULL;
    return (hone_codes){
        .codes = codes->data,
        .scales = scales->data,
        .minimums = minimums ? minimums->data : NULL,
        .n = codes->type.dims[0],
        .k = columns_of(call, at, columns),
        .step = scales->type.dims[1],
        .row_bytes = codes->type.dims[1],
        .group = call->operands[at->group].integer,
        .bits = at->bits,
        .zero = at->bits == 4 && !minimums ? 8 : 0,
        .half = scales->type.dtype == HONE_DTYPE_F16,
    };
}

// --- products --------------------------------------------------------------------------------------------------------

// Few vectors, and groups that the inner loops can take whole.
static bool goes_by_vectors(const hone_codes *w, int64_t m) {
    return m >= 1 && m <= HONE_MATVEC_MOST_ROWS && w->k > 0 && w->group % (w->bits == 4 ? 32 : 16) == 0;
}

static int64_t padded(const hone_codes *w) {
    return hone_pieces(w->k, 32) * 32;
}

static hone_gemm product(const hone_codes *w, int64_t m, const float *x, const float *start, int64_t start_row,
                         float *y) {
    return (hone_gemm){
        .m = m,
        .n = w->n,
        .k = w->k,
        .left = {.data = x, .ld = w->k, .factor = 1, .m = m},
        .right = {.codes = w, .transposed = true},
        .c = y,
        .ldc = w->n,
        .start = start,
        .start_row = start_row,
        .start_column = 1,
        .start_factor = 1,
    };
}

hone_cpu_needs hone_codes_linear_needs(const hone_codes *w, int64_t m) {
    if (goes_by_vectors(w, m)) {
        const int64_t floats = m * (padded(w) + hone_pieces(w->k, w->group));
        return (hone_cpu_needs){.workspace_bytes = (size_t)floats * sizeof(float)};
    }
    const hone_gemm g = product(w, m, NULL, NULL, 0, NULL);
    return hone_gemm_needs(&g);
}

// One vector as the inner loops read it: padded with zeros to a multiple of 32 and, against 4-bit codes, in each 32 the
// 16 even columns before the 16 odd ones. And its sum over each group, for the minimums.
static void spread(const hone_codes *w, const float *x, float *out, float *sums) {
    memset(out, 0, (size_t)padded(w) * sizeof(float));
    for (int64_t k = 0; k < w->k; k++) {
        const int64_t place = w->bits == 4 ? k / 32 * 32 + k % 2 * 16 + k % 32 / 2 : k;
        out[place] = x[k];
    }
    for (int64_t k = 0; k < w->k; k += w->group) {
        float sum = 0;
        for (int64_t i = k; i < hone_least(k + w->group, w->k); i++) sum += x[i];
        *sums++ = sum;
    }
}

typedef struct vectors {
    const hone_codes *codes;
    const float *x, *sums, *start;
    int64_t start_row;
    float *y;
    int m;
    int64_t rows; // of the weight, a task
} vectors;

static void vectors_task(void *context, int64_t index, int thread) {
    (void)thread;
    const vectors *const v = context;
    const int64_t n0 = index * v->rows, n1 = hone_least(v->codes->n, n0 + v->rows), n = v->codes->n;
    hone_kernels_get()->matvec(v->codes, v->m, v->x, v->sums, n0, n1, v->y, n);
    for (int i = 0; v->start && i < v->m; i++) {
        for (int64_t j = n0; j < n1; j++) v->y[i * n + j] += v->start[i * v->start_row + j];
    }
}

void hone_codes_linear(const hone_op_call *call, const hone_codes *w, int64_t m, const float *x, const float *start,
                       int64_t start_row, float *y) {
    if (!goes_by_vectors(w, m)) {
        const hone_gemm g = product(w, m, x, start, start_row, y);
        hone_gemm_run(call, &g);
        return;
    }
    const int64_t groups = hone_pieces(w->k, w->group);
    float *const out = call->workspace, *const sums = out + m * padded(w);
    for (int64_t i = 0; i < m; i++) spread(w, x + i * w->k, out + i * padded(w), sums + i * groups);
    const int64_t least = hone_most(TASK_WEIGHTS / w->k, hone_pieces(w->n, TASKS));
    vectors v = {w, out, sums, start, start_row, y, (int)m, hone_pieces(least, ROWS) * ROWS};
    hone_call_parallel(call, hone_pieces(w->n, v.rows), vectors_task, &v);
}

hone_gemm hone_codes_backward(const hone_codes *w, int64_t m, const float *d_out, const float *start, float *out) {
    return (hone_gemm){
        .m = m,
        .n = w->k,
        .k = w->n,
        .left = {.data = d_out, .ld = w->n, .factor = 1, .m = m},
        .right = {.codes = w},
        .c = out,
        .ldc = w->k,
        .start = start,
        .start_row = w->k,
        .start_column = 1,
        .start_factor = 1,
    };
}
