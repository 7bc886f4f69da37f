// SPDX-License-Identifier: Apache-2.0
// From matrices to panels, and tiles at the edges of the result: what all products share.
#ifndef HONE_OPS_MATMUL_PACK_H
#define HONE_OPS_MATMUL_PACK_H

#include "ops/matmul/kernels.h"

// The left operand of a product, op(A)[m,k].
typedef struct hone_left {
    const float *data;
    int64_t ld;      // elements between two rows as stored
    bool transposed; // stored as [k,m]
    float factor;    // each element is multiplied by it
    int64_t m;
} hone_left;

// Rows [m0, m0 + rows) and steps [k0, k0 + depth) to panels of tile_rows: panel i begins at out + i * depth * tile_rows.
// Rows behind the last one of the matrix come out as copies of others.
void hone_pack_left(const hone_kernels *kernels, const hone_left *left, int64_t m0, int64_t rows, int64_t k0,
                    int64_t depth, float *out);

// As kernels->tile, for the first `rows` x `columns` elements of a tile.
void hone_tile(const hone_kernels *kernels, int64_t k, const float *a, const float *b, int64_t b_step, float *c,
               int64_t c_step, int64_t rows, int64_t columns, bool add);

static inline int64_t hone_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t hone_most(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t hone_pieces(int64_t whole, int64_t piece) {
    return (whole + piece - 1) / piece;
}

#endif
