// SPDX-License-Identifier: Apache-2.0
// Products on the threads of a call by blocks, and the choice of the way.
#include "ops/matmul/gemm.h"

#include <string.h>

#include "base/half.h"
#include "ops/matmul/gemm_ways.h"

enum {
    BLOCK_ROWS = 512,        // rows of A packed at a time: what one decoding of R serves
    BLOCK_SUM = 1024,        // steps packed at a time: with the rows, 2 MiB of workspace
    CHUNK = 256,             // steps a tile goes through at a time, at most; chunks are multiples of 32
    PACK_ROWS = 48,          // rows a packing task takes, a multiple of each table's tile_rows
    TASKS = 32,              // wanted: enough to balance 8 threads
    TASK_PRODUCTS = 1 << 18, // multiplications below which a task is not worth a thread
    SHORTEST_BLOCK = 128,    // rows below which the decoding of R would show
};

// As hone_bf16_to_float, in line so that it becomes vector code.
static void bf16_floats(const uint16_t *from, int64_t count, float *out) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(out + i, &bits, sizeof bits);
    }
}

void hone_floats(hone_dtype dtype, const void *from, int64_t first, int64_t count, float *out) {
    switch (dtype) {
    case HONE_DTYPE_F16:
        hone_half_to_float_array((const uint16_t *)from + first, out, (size_t)count);
        break;
    case HONE_DTYPE_BF16:
        bf16_floats((const uint16_t *)from + first, count, out);
        break;
    default:
        memcpy(out, (const float *)from + first, (size_t)count * sizeof(float));
        break;
    }
}

hone_gemm_way hone_gemm_choose(const hone_gemm *g) {
    const bool floats = !g->right.codes && g->right.dtype == HONE_DTYPE_F32;
    if (g->m == 0 || g->n == 0) return HONE_GEMM_NOTHING;
    if (g->k == 0) return HONE_GEMM_START;
    if (g->right.codes) return HONE_GEMM_BLOCKS;
    if (!g->left.transposed && g->right.transposed && g->m <= HONE_MOST_VECTORS && g->m <= g->n)
        return HONE_GEMM_WEIGHT_ROWS;
    if (!g->left.transposed && g->n <= HONE_MOST_NARROW) return HONE_GEMM_FEW_COLUMNS;
    if (floats && !g->right.transposed && g->m <= HONE_MOST_NARROW) return HONE_GEMM_FEW_ROWS;
    if (floats && !g->right.transposed && g->left.transposed && g->n <= HONE_MOST_NARROW)
        return HONE_GEMM_FEW_COLUMNS_ACROSS;
    return HONE_GEMM_BLOCKS;
}

void hone_gemm_start(const hone_gemm *g, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    if (g->start == g->c) return;
    for (int64_t i = m0; i < m1; i++) {
        float *const row = g->c + i * g->ldc;
        const float *const from = g->start ? g->start + i * g->start_row : NULL;
        if (!from) {
            memset(row + n0, 0, (size_t)(n1 - n0) * sizeof(float));
        } else if (g->start_factor == 1 && g->start_column == 1) {
            memcpy(row + n0, from + n0, (size_t)(n1 - n0) * sizeof(float));
        } else {
            for (int64_t j = n0; j < n1; j++) row[j] = g->start_factor * from[j * g->start_column];
        }
    }
}

// --- blocks ----------------------------------------------------------------------------------------------------------

// How a product is cut.
typedef struct cuts {
    int64_t block_rows, block_sum; // what the workspace holds
    int64_t chunk;                 // steps, of which block_sum is a multiple (but at the end)
    int64_t task_rows;             // a multiple of tile_rows (but at the end)
    int64_t task_columns;          // a multiple of tile_columns
} cuts;

static int64_t round_up(int64_t value, int64_t unit) {
    return hone_pieces(value, unit) * unit;
}

static cuts cut(const hone_gemm *g) {
    const hone_kernels *const kernels = hone_kernels_get();
    const int64_t height = kernels->tile_rows, width = kernels->tile_columns;
    cuts c;
    c.chunk = round_up(hone_pieces(g->k, hone_pieces(g->k, CHUNK)), 32);
    c.block_sum = round_up(hone_pieces(g->k, hone_pieces(g->k, BLOCK_SUM)), c.chunk);
    c.block_rows = hone_pieces(g->m, hone_pieces(g->m, BLOCK_ROWS));
    c.block_rows = round_up(c.block_rows, height);
    // Columns first, since they cost nothing: from 128 (a row of C in whole pages' worth of lines) down to one tile.
    const int64_t products = hone_least(c.block_rows, g->m) * g->n * hone_least(c.block_sum, g->k);
    const int64_t tasks = hone_most(1, hone_least(TASKS, products / TASK_PRODUCTS));
    c.task_columns = round_up(hone_pieces(g->n, tasks), width);
    c.task_columns = hone_least(c.task_columns, 128);
    c.task_rows = c.block_rows;
    const int64_t column_tasks = hone_pieces(g->n, c.task_columns);
    while (column_tasks * hone_pieces(c.block_rows, c.task_rows) < tasks && c.task_rows >= 2 * SHORTEST_BLOCK)
        c.task_rows = round_up(c.task_rows / 2, height);
    return c;
}

typedef struct blocks {
    const hone_op_call *call;
    const hone_gemm *g;
    const hone_kernels *kernels;
    cuts cuts;
    float *packed;          // [chunks][block_rows / tile_rows][chunk][tile_rows]
    int64_t m0, m1, k0, k1; // the block at hand
} blocks;

static void pack_task(void *context, int64_t index, int thread) {
    (void)thread;
    const blocks *const b = context;
    const int64_t first = index * PACK_ROWS;
    const int64_t rows = hone_least(PACK_ROWS, b->m1 - b->m0 - first);
    for (int64_t k = b->k0; k < b->k1; k += b->cuts.chunk) {
        const int64_t depth = hone_least(b->cuts.chunk, b->k1 - k);
        float *const out = b->packed + (k - b->k0) * b->cuts.block_rows + first * depth;
        hone_pack_left(b->kernels, &b->g->left, b->m0 + first, rows, k, depth, out);
    }
}

// A strip of a matrix of any dtype, as decode_rows and decode_columns give it of codes.
static void matrix_strip(const blocks *b, int64_t p0, int64_t p1, int64_t n0, float *out, int64_t step) {
    const hone_right *const right = &b->g->right;
    const int64_t valid = hone_least(HONE_STRIP, b->g->n - n0);
    if (right->transposed && right->dtype == HONE_DTYPE_F32) {
        const float *const from = (const float *)right->data + n0 * right->ld + p0;
        b->kernels->transpose(from, right->ld, valid, HONE_STRIP, p1 - p0, 1.0f, out, step);
    } else if (right->transposed) {
        float rows[HONE_STRIP][CHUNK];
        for (int64_t j = 0; j < valid; j++)
            hone_floats(right->dtype, right->data, (n0 + j) * right->ld + p0, p1 - p0, rows[j]);
        b->kernels->transpose(rows[0], CHUNK, valid, HONE_STRIP, p1 - p0, 1.0f, out, step);
    } else {
        for (int64_t p = p0; p < p1; p++) {
            float *const row = out + (p - p0) * step;
            if (valid == HONE_STRIP && right->dtype == HONE_DTYPE_F32) {
                memcpy(row, (const float *)right->data + p * right->ld + n0, HONE_STRIP * sizeof(float));
                continue;
            }
            hone_floats(right->dtype, right->data, p * right->ld + n0, valid, row);
            for (int64_t j = valid; j < HONE_STRIP; j++) row[j] = 0;
        }
    }
}

static void right_strip(const blocks *b, int64_t p0, int64_t p1, int64_t n0, float *out, int64_t step) {
    const hone_right *const right = &b->g->right;
    if (!right->codes) {
        matrix_strip(b, p0, p1, n0, out, step);
    } else if (right->transposed) {
        b->kernels->decode_rows(right->codes, p0, p1, n0, out, step);
    } else {
        b->kernels->decode_columns(right->codes, p0, p1, n0, out, step);
    }
}

static void block_task(void *context, int64_t index, int thread) {
    const blocks *const b = context;
    const hone_gemm *const g = b->g;
    const int height = b->kernels->tile_rows, width = b->kernels->tile_columns;
    const int64_t column_tasks = hone_pieces(g->n, b->cuts.task_columns);
    const int64_t n0 = index % column_tasks * b->cuts.task_columns;
    const int64_t n1 = hone_least(g->n, n0 + b->cuts.task_columns);
    const int64_t m0 = b->m0 + index / column_tasks * b->cuts.task_rows;
    const int64_t m1 = hone_least(b->m1, m0 + b->cuts.task_rows);
    float *const strips = hone_call_scratch(b->call, thread);
    const bool add_first = b->k0 > 0 || g->start;
    if (b->k0 == 0 && g->start) hone_gemm_start(g, m0, m1, n0, n1);
    for (int64_t k = b->k0; k < b->k1; k += b->cuts.chunk) {
        const int64_t depth = hone_least(b->cuts.chunk, b->k1 - k);
        for (int64_t n = n0; n < n1; n += width) {
            float *const panel = strips + (n - n0) * depth;
            for (int64_t j = 0; j < width && n + j < n1; j += HONE_STRIP)
                right_strip(b, k, k + depth, n + j, panel + j, width);
        }
        const float *const packed = b->packed + (k - b->k0) * b->cuts.block_rows;
        for (int64_t m = m0; m < m1; m += height) {
            const float *const left = packed + (m - b->m0) * depth;
            for (int64_t n = n0; n < n1; n += width)
                hone_tile(b->kernels, depth, left, strips + (n - n0) * depth, width, g->c + m * g->ldc + n, g->ldc,
                          m1 - m, n1 - n, k > b->k0 || add_first);
        }
    }
}

static void run_blocks(const hone_op_call *call, const hone_gemm *g) {
    blocks b = {.call = call, .g = g, .kernels = hone_kernels_get(), .cuts = cut(g), .packed = call->workspace};
    for (b.m0 = 0; b.m0 < g->m; b.m0 = b.m1) {
        b.m1 = hone_least(g->m, b.m0 + b.cuts.block_rows);
        for (b.k0 = 0; b.k0 < g->k; b.k0 = b.k1) {
            b.k1 = hone_least(g->k, b.k0 + b.cuts.block_sum);
            hone_call_parallel(call, hone_pieces(b.m1 - b.m0, PACK_ROWS), pack_task, &b);
            const int64_t row_tasks = hone_pieces(b.m1 - b.m0, b.cuts.task_rows);
            hone_call_parallel(call, row_tasks * hone_pieces(g->n, b.cuts.task_columns), block_task, &b);
        }
    }
}

hone_cpu_needs hone_gemm_needs(const hone_gemm *g) {
    hone_cpu_needs needs = {0};
    switch (hone_gemm_choose(g)) {
    case HONE_GEMM_NOTHING:
    case HONE_GEMM_START:
        break;
    case HONE_GEMM_BLOCKS: {
        const cuts c = cut(g);
        needs.workspace_bytes = (size_t)(c.block_rows * hone_least(c.block_sum, round_up(g->k, 32))) * sizeof(float);
        needs.thread_scratch_bytes = (size_t)(c.chunk * c.task_columns) * sizeof(float);
        break;
    }
    default:
        needs = hone_gemm_narrow_needs(g);
        break;
    }
    return needs;
}

static void start_task(void *context, int64_t index, int thread) {
    (void)thread;
    const hone_gemm *const g = context;
    hone_gemm_start(g, index * BLOCK_ROWS, hone_least(g->m, (index + 1) * BLOCK_ROWS), 0, g->n);
}

void hone_gemm_run(const hone_op_call *call, const hone_gemm *g) {
    switch (hone_gemm_choose(g)) {
    case HONE_GEMM_NOTHING:
        break;
    case HONE_GEMM_START: {
        hone_gemm copy = *g;
        hone_call_parallel(call, hone_pieces(g->m, BLOCK_ROWS), start_task, &copy);
        break;
    }
    case HONE_GEMM_BLOCKS:
        run_blocks(call, g);
        break;
    default:
        hone_gemm_run_narrow(call, g);
        break;
    }
}
