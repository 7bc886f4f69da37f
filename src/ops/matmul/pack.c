// SPDX-License-Identifier: Apache-2.0
// Packing of the left operand, and tiles at the edges of the result.
#include "ops/matmul/pack.h"

#include <stdalign.h>
#include <string.h>

// Inlined, so that a constant width makes it a copy of whole vectors.
static inline void copy_panel(const float *from, int64_t ld, int64_t depth, int width, float factor, float *out) {
    for (int64_t q = 0; q < depth; q++) {
        for (int64_t j = 0; j < width; j++) out[q * width + j] = from[q * ld + j] * factor;
    }
}

void hone_pack_left(const hone_kernels *kernels, const hone_left *left, int64_t m0, int64_t rows, int64_t k0,
                    int64_t depth, float *out) {
    const int height = kernels->tile_rows;
    for (int64_t i = 0; i < rows; i += height, out += depth * height) {
        const int64_t valid = hone_least(height, left->m - m0 - i);
        if (!left->transposed) {
            const float *const from = left->data + (m0 + i) * left->ld + k0;
            kernels->transpose(from, left->ld, valid, height, depth, left->factor, out, height);
            continue;
        }
        const float *const from = left->data + k0 * left->ld + m0 + i;
        if (valid == 8) { // all of the widest
            copy_panel(from, left->ld, depth, 8, left->factor, out);
        } else if (valid == height) {
            copy_panel(from, left->ld, depth, height, left->factor, out);
        } else {
            for (int64_t q = 0; q < depth; q++) {
                for (int64_t j = 0; j < height; j++)
                    out[q * height + j] = from[q * left->ld + hone_least(j, valid - 1)] * left->factor;
            }
        }
    }
}

void hone_tile(const hone_kernels *kernels, int64_t k, const float *a, const float *b, int64_t b_step, float *c,
               int64_t c_step, int64_t rows, int64_t columns, bool add) {
    const int height = kernels->tile_rows, width = kernels->tile_columns;
    if (rows >= height && columns >= width) {
        kernels->tile(k, a, height, b, b_step, c, c_step, add);
        return;
    }
    alignas(64) float edge[HONE_TILE_MOST_ROWS * HONE_TILE_MOST_COLUMNS] = {0};
    const int64_t high = hone_least(rows, height);
    const size_t bytes = (size_t)hone_least(columns, width) * sizeof(float);
    for (int64_t i = 0; add && i < high; i++) memcpy(edge + i * width, c + i * c_step, bytes);
    kernels->tile(k, a, height, b, b_step, edge, width, add);
    for (int64_t i = 0; i < high; i++) memcpy(c + i * c_step, edge + i * width, bytes);
}
