// SPDX-License-Identifier: Apache-2.0
// The inner loops of all products, once for each instruction set: a table of functions, chosen when first asked for.
//
// Words used here: a tile is tile_rows x tile_columns elements of the result, kept in registers. A panel is what a
// tile reads: for each step p of the sum, tile_rows elements of the left operand or 16 k elements of the right one.
// A tile sums its k products in order and adds the sum to what C holds, so the bits of a product depend on where k is
// cut into chunks, and not on how its rows and columns are cut into tiles.
#ifndef HONE_OPS_MATMUL_KERNELS_H
#define HONE_OPS_MATMUL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// Panels of the right operand come in strips of 16 columns, on every machine.
#define HONE_STRIP 16
// Bounds over all tables, for buffers that do not depend on the machine.
#define HONE_TILE_MOST_ROWS    8
#define HONE_TILE_MOST_COLUMNS 32
// Rows (vectors) that the matrix-vector functions take at most.
#define HONE_MATVEC_MOST_ROWS 4

// Before a loop over a small array of vectors, which stays in registers only if the loop is unrolled as a whole.
#if defined(__clang__)
#define HONE_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define HONE_UNROLL _Pragma("GCC unroll 16")
#else
#define HONE_UNROLL
#endif

// A weight W[n,k] kept as codes: value = (code - zero) * scale[k / group][n] + minimum[k / group][n].
typedef struct hone_codes {
    const uint8_t *codes; // bits 4: u8 [n, ceil(k / 2)], even column in the low nibble; bits 8: i8 [n, k]
    const void *scales;   // [ceil(k / group), step], f16 if `half`, else f32
    const void *minimums; // likewise, or NULL
    int64_t n, k;
    int64_t step;      // elements between two groups, >= n
    int64_t row_bytes; // of codes
    int64_t group;
    int bits; // 4 or 8
    int zero; // 8 for 4-bit codes without minimums, else 0
    bool half;
} hone_codes;

typedef struct hone_kernels {
    const char *name;
    bool (*usable)(void); // on this processor
    int tile_rows, tile_columns;

    // c[i * c_step + j] = (add ? itself : 0) + sum over p < k of a[p * a_step + i] * b[p * b_step + j], a whole tile.
    void (*tile)(int64_t k, const float *a, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step,
                 bool add);

    // out[p * out_step + i] = rows[i * ld + p] * factor for p < k, i < count. Only the first `valid` >= 1 rows are
    // read; the others come out as copies of the last of them.
    void (*transpose)(const float *rows, int64_t ld, int64_t valid, int count, int64_t k, float factor, float *out,
                      int64_t out_step);

    // out[r * r_step + s * s_step] = (add ? itself : 0) + sum over p < k of x[r * ldx + p] * y[s * ldy + p] for all
    // r < x_count, s < y_count. Fastest when y_count is a multiple of 8 and y stays in the first cache.
    void (*dots)(int64_t k, const float *x, int64_t ldx, int64_t x_count, const float *y, int64_t ldy, int64_t y_count,
                 float *out, int64_t r_step, int64_t s_step, bool add);

    // The weight's rows n0 .. n0 + 15 as a strip: out[(k - k0) * out_step + (n - n0)] for k0 <= k < k1. Rows from
    // codes->n on come out as copies of the last one. k0 is a multiple of 32.
    void (*decode_rows)(const hone_codes *codes, int64_t k0, int64_t k1, int64_t n0, float *out, int64_t out_step);

    // The weight's columns k0 .. k0 + 15 as a strip: out[(n - n0) * out_step + (k - k0)] for n0 <= n < n1. Columns
    // from codes->k on come out as anything. k0 is a multiple of 16.
    void (*decode_columns)(const hone_codes *codes, int64_t n0, int64_t n1, int64_t k0, float *out, int64_t out_step);

    // y[i * y_step + n] = <W[n], x_i> for n0 <= n < n1, i < m <= 4, without decoding W to memory. `x` is
    // spread as ops/linear_q4gsw/codes.c does it. The group is a multiple of 32 (4 bits) or 16 (8 bits).
    void (*matvec)(const hone_codes *codes, int m, const float *x, const float *sums, int64_t n0, int64_t n1, float *y,
                   int64_t y_step);
} hone_kernels;

// The table in use: the best one that this processor can run and that hone_blas_check has not found wrong.
const hone_kernels *hone_kernels_get(void);
// All tables, best first, ended by NULL; and the choice of one, for tests and the check. NULL = choose again.
extern const hone_kernels *const hone_kernels_all[];
void hone_kernels_use(const hone_kernels *kernels);
// Puts to use the first of the tables (ended by NULL) that is usable and gives right products; HONE_UNSUPPORTED if none.
HONE_MUST_USE hone_status hone_kernels_check(const hone_kernels *const *tables, hone_error *error);

#endif
