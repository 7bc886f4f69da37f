// SPDX-License-Identifier: Apache-2.0
// The product on one thread, and the check of the inner loops against a plain one.
//
// Why no BLAS: the distribution's serial OpenBLAS hands out its packing buffers without a lock, so that two threads
// that enter it at the same moment share one and both results are wrong (about 1 of 900 calls at 101 x 101 x 101).
#include "ops/matmul/blas.h"

#include <stdalign.h>
#include <string.h>

#include "base/memory.h"
#include "ops/matmul/kernels.h"

enum {
    BLOCK_ROWS = 96, // a multiple of each table's tile_rows
    BLOCK_SUM = 128,
};

typedef struct product {
    const hone_kernels *kernels;
    bool transpose_a, transpose_b;
    int64_t m, n;
    float alpha;
    const float *a, *b;
    int64_t lda, ldb;
    float *c;
    int64_t ldc;
} product;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// Inlined, so that a constant width makes it a copy of whole vectors.
static inline void copy_rows(const float *from, int64_t ld, int64_t depth, int width, float factor, float *out) {
    for (int64_t q = 0; q < depth; q++) {
        for (int64_t j = 0; j < width; j++) out[q * width + j] = from[q * ld + j] * factor;
    }
}

// Rows [m0, m0 + rows) of op(A), steps [k0, k0 + depth), to panels of tile_rows: panel i at out + i * depth * tile_rows.
static void pack_left(const product *p, int64_t m0, int64_t rows, int64_t k0, int64_t depth, float *out) {
    const int height = p->kernels->tile_rows;
    for (int64_t i = 0; i < rows; i += height, out += depth * height) {
        const int64_t valid = least(height, rows - i);
        if (!p->transpose_a) {
            p->kernels->transpose(p->a + (m0 + i) * p->lda + k0, p->lda, valid, height, depth, p->alpha, out, height);
            continue;
        }
        const float *const from = p->a + k0 * p->lda + m0 + i;
        if (valid == height && height == 8) {
            copy_rows(from, p->lda, depth, 8, p->alpha, out);
        } else if (valid == height) {
            copy_rows(from, p->lda, depth, height, p->alpha, out);
        } else {
            for (int64_t q = 0; q < depth; q++) {
                for (int64_t j = 0; j < height; j++)
                    out[q * height + j] = from[q * p->lda + least(j, valid - 1)] * p->alpha;
            }
        }
    }
}

// Columns [n0, n0 + tile_columns) of op(B), steps [k0, k0 + depth), to one panel.
static void pack_right(const product *p, int64_t n0, int64_t k0, int64_t depth, float *out) {
    const int width = p->kernels->tile_columns;
    const int64_t valid = least(width, p->n - n0);
    if (p->transpose_b) {
        p->kernels->transpose(p->b + n0 * p->ldb + k0, p->ldb, valid, width, depth, 1.0f, out, width);
        return;
    }
    for (int64_t q = 0; q < depth; q++) {
        const float *const from = p->b + (k0 + q) * p->ldb + n0;
        memcpy(out + q * width, from, (size_t)valid * sizeof(float));
        for (int64_t j = valid; j < width; j++) out[q * width + j] = 0;
    }
}

// One tile of C, whole or at an edge.
static void add_tile(const product *p, int64_t depth, const float *left, const float *right, int64_t right_step,
                     int64_t m0, int64_t n0) {
    const int height = p->kernels->tile_rows, width = p->kernels->tile_columns;
    float *const c = p->c + m0 * p->ldc + n0;
    if (m0 + height <= p->m && n0 + width <= p->n) {
        p->kernels->tile(depth, left, height, right, right_step, c, p->ldc, true);
        return;
    }
    alignas(64) float edge[HONE_TILE_MOST_ROWS * HONE_TILE_MOST_COLUMNS] = {0};
    const int64_t rows = least(height, p->m - m0), columns = least(width, p->n - n0);
    for (int64_t i = 0; i < rows; i++) memcpy(edge + i * width, c + i * p->ldc, (size_t)columns * sizeof(float));
    p->kernels->tile(depth, left, height, right, right_step, edge, width, true);
    for (int64_t i = 0; i < rows; i++) memcpy(c + i * p->ldc, edge + i * width, (size_t)columns * sizeof(float));
}

static void scale_result(const product *p, float beta) {
    if (beta == 1) return;
    for (int64_t i = 0; i < p->m; i++) {
        float *const row = p->c + i * p->ldc;
        for (int64_t j = 0; j < p->n; j++) row[j] = beta == 0 ? 0 : row[j] * beta;
    }
}

void hone_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    alignas(64) float left[BLOCK_ROWS * BLOCK_SUM];
    alignas(64) float right[BLOCK_SUM * HONE_TILE_MOST_COLUMNS];
    const product p = {hone_kernels_get(), transpose_a, transpose_b, m, n, alpha, a, b, lda, ldb, c, ldc};
    const int height = p.kernels->tile_rows, width = p.kernels->tile_columns;
    scale_result(&p, beta);
    if (m == 0 || n == 0) return;
    for (int64_t k0 = 0; k0 < k; k0 += BLOCK_SUM) {
        const int64_t depth = least(BLOCK_SUM, k - k0);
        for (int64_t m0 = 0; m0 < m; m0 += BLOCK_ROWS) {
            const int64_t rows = least(BLOCK_ROWS, m - m0);
            pack_left(&p, m0, rows, k0, depth, left);
            for (int64_t n0 = 0; n0 < n; n0 += width) {
                pack_right(&p, n0, k0, depth, right);
                for (int64_t i = 0; i < rows; i += height)
                    add_tile(&p, depth, left + i * depth, right, width, m0 + i, n0);
            }
        }
    }
}

// --- the check -----------------------------------------------------------------------------------------------------

enum { CHECK_MOST = 150 * 150 };

// Whole numbers with exact products and sums, so that any order of summing must give the same.
static void fill(float *values, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)((int)(seed >> 24) % 33 - 16);
    }
}

// The sum of element (i, j) in plain C.
static float plain_element(bool transpose_a, bool transpose_b, int64_t k, const float *a, int64_t lda, const float *b,
                           int64_t ldb, int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t p = 0; p < k; p++)
        sum += (transpose_a ? a[p * lda + i] : a[i * lda + p]) * (transpose_b ? b[j * ldb + p] : b[p * ldb + j]);
    return sum;
}

typedef struct check_buffers {
    float a[CHECK_MOST], b[CHECK_MOST], c[CHECK_MOST];
} check_buffers;

static bool product_is_right(check_buffers *t, int transposes, int64_t m, int64_t n, int64_t k, float beta) {
    const bool ta = transposes & 1, tb = transposes & 2;
    const int64_t lda = (ta ? m : k) + 1, ldb = (tb ? k : n) + 3, ldc = n + 2;
    for (int64_t i = 0; i < m * ldc; i++) t->c[i] = (float)(i % 5);
    hone_sgemm(ta, tb, m, n, k, 2, t->a, lda, t->b, ldb, beta, t->c, ldc);
    for (int64_t i = 0; i < m * ldc; i++) {
        const int64_t row = i / ldc, column = i % ldc;
        const float before = (float)(i % 5);
        const float sum = column < n ? plain_element(ta, tb, k, t->a, lda, t->b, ldb, row, column) : 0;
        if (t->c[i] != (column < n ? 2 * sum + beta * before : before)) return false;
    }
    return true;
}

static bool dots_are_right(check_buffers *t, int64_t k, int64_t rows, int64_t columns) {
    hone_kernels_get()->dots(k, t->a, k + 1, rows, t->b, k, columns, t->c, columns, 1, false);
    for (int64_t i = 0; i < rows * columns; i++) {
        const float sum = plain_element(false, true, k, t->a, k + 1, t->b, k, i / columns, i % columns);
        if (t->c[i] != sum) return false;
    }
    return true;
}

static bool kernels_are_right(check_buffers *t) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {13, 37, 131}, {100, 33, 16}, {8, 64, 129}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int transposes = 0; transposes < 4; transposes++) {
            const int64_t *const s = shapes[i];
            if (!product_is_right(t, transposes, s[0], s[1], s[2], (float)(transposes % 3))) return false;
        }
    }
    return dots_are_right(t, 131, 5, 11) && dots_are_right(t, 16, 2, 8);
}

hone_status hone_blas_check(hone_error *error) {
    check_buffers *buffers = NULL;
    HONE_TRY(hone_allocate(1, sizeof *buffers, "the check of the products", (void **)&buffers, error));
    fill(buffers->a, CHECK_MOST, 1);
    fill(buffers->b, CHECK_MOST, 2);
    hone_status status = HONE_UNSUPPORTED;
    for (size_t i = 0; hone_kernels_all[i] && status != HONE_OK; i++) {
        if (!hone_kernels_all[i]->usable()) continue;
        hone_kernels_use(hone_kernels_all[i]);
        if (kernels_are_right(buffers)) status = HONE_OK;
    }
    hone_free(buffers);
    if (status == HONE_OK) return HONE_OK;
    HONE_FAIL(error, UNSUPPORTED, "matrix products come out wrong on this processor");
}

const char *hone_blas_name(void) {
    return hone_kernels_get()->name;
}
