// SPDX-License-Identifier: Apache-2.0
// The product on one thread, and the check of the inner loops against a plain one.
//
// Why no BLAS: the distribution's serial OpenBLAS hands out its packing buffers without a lock, so that two threads
// that enter it at the same moment share one and both results are wrong (about 1 of 900 calls at 101 x 101 x 101).
#include "ops/matmul/blas.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "ops/matmul/pack.h"

enum {
    BLOCK_ROWS = 96, // a multiple of each table's tile_rows
    BLOCK_SUM = 128,
};

// Columns [n0, n0 + tile_columns) of op(B)[k,n], steps [k0, k0 + depth), to one panel.
static void pack_right(const hone_kernels *kernels, const float *b, int64_t ldb, bool transposed, int64_t n, int64_t n0,
                       int64_t k0, int64_t depth, float *out) {
    const int width = kernels->tile_columns;
    const int64_t valid = hone_least(width, n - n0);
    if (transposed) {
        kernels->transpose(b + n0 * ldb + k0, ldb, valid, width, depth, 1.0f, out, width);
        return;
    }
    for (int64_t q = 0; q < depth; q++) {
        const float *const from = b + (k0 + q) * ldb + n0;
        memcpy(out + q * width, from, (size_t)valid * sizeof(float));
        for (int64_t j = valid; j < width; j++) out[q * width + j] = 0;
    }
}

static void scale_result(int64_t m, int64_t n, float beta, float *c, int64_t ldc) {
    if (beta == 1) return;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = beta == 0 ? 0 : c[i * ldc + j] * beta;
    }
}

void hone_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    alignas(64) float left[BLOCK_ROWS * BLOCK_SUM];
    alignas(64) float right[BLOCK_SUM * HONE_TILE_MOST_COLUMNS];
    const hone_kernels *const kernels = hone_kernels_get();
    const hone_left from = {a, lda, transpose_a, alpha, m};
    const int height = kernels->tile_rows, width = kernels->tile_columns;
    scale_result(m, n, beta, c, ldc);
    for (int64_t k0 = 0; k0 < k; k0 += BLOCK_SUM) {
        const int64_t depth = hone_least(BLOCK_SUM, k - k0);
        for (int64_t m0 = 0; m0 < m; m0 += BLOCK_ROWS) {
            const int64_t rows = hone_least(BLOCK_ROWS, m - m0);
            hone_pack_left(kernels, &from, m0, rows, k0, depth, left);
            for (int64_t n0 = 0; n0 < n; n0 += width) {
                pack_right(kernels, b, ldb, transpose_b, n, n0, k0, depth, right);
                for (int64_t i = 0; i < rows; i += height)
                    hone_tile(kernels, depth, left + i * depth, right, width, c + (m0 + i) * ldc + n0, ldc, rows - i,
                              n - n0, true);
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

hone_status hone_kernels_check(const hone_kernels *const *tables, hone_error *error) {
    check_buffers *buffers = NULL;
    HONE_TRY(hone_allocate(1, sizeof *buffers, "the check of the products", (void **)&buffers, error));
    fill(buffers->a, CHECK_MOST, 1);
    fill(buffers->b, CHECK_MOST, 2);
    hone_status status = HONE_UNSUPPORTED;
    for (size_t i = 0; tables[i] && status != HONE_OK; i++) {
        if (!tables[i]->usable()) continue;
        hone_kernels_use(tables[i]);
        if (kernels_are_right(buffers)) status = HONE_OK;
    }
    hone_free(buffers);
    if (status == HONE_OK) return HONE_OK;
    HONE_FAIL(error, UNSUPPORTED, "matrix products come out wrong on this processor");
}

hone_status hone_blas_check(hone_error *error) {
    // Once: programs that run may not have their inner loops changed.
    static atomic_bool right;
    if (atomic_load(&right)) return HONE_OK;
    HONE_TRY(hone_kernels_check(hone_kernels_all, error));
    atomic_store(&right, true);
    return HONE_OK;
}

const char *hone_blas_name(void) {
    return hone_kernels_get()->name;
}
