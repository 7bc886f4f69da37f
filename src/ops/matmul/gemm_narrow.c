// SPDX-License-Identifier: Apache-2.0
// Products with a narrow side: LoRA's, and a few vectors against a weight. Only the narrow operand is ever packed.
#include <stdalign.h>
#include <string.h>

#include "ops/matmul/gemm_ways.h"

enum {
    TASKS = 32,
    TASK_PRODUCTS = 1 << 17, // multiplications below which a task is not worth a thread
    NARROW_FLOATS = 6144,    // of the narrow operand that stay in the first cache
    HALF_ROWS = 16,          // rows of a half-precision weight decoded at a time
    EDGE_STEPS = 256,        // steps copied at a time where a matrix has no whole tile left
};

// The unit of work in rows or columns of C: `unit` times as much as makes about TASKS tasks, or fewer if they get small.
static int64_t task_size(const hone_gemm *g, int64_t length, int64_t unit) {
    const int64_t tasks = hone_most(1, hone_least(TASKS, g->m * g->n * g->k / TASK_PRODUCTS));
    return hone_pieces(hone_pieces(length, tasks), unit) * unit;
}

typedef struct narrow {
    const hone_op_call *call;
    const hone_gemm *g;
    const hone_kernels *kernels;
    const float *small; // the narrow operand, packed
    int64_t size;       // rows or columns of C a task takes
    int64_t chunk;      // steps at a time
    // Few rows or columns: C (or C^T) = small^T @ wide.
    const float *wide; // [k, length]
    int64_t wide_ld, length, count;
    bool across; // it is C^T
} narrow;

// Steps of `count` narrow rows that stay in the first cache.
static int64_t chunk_of(int64_t count) {
    return hone_most(256, NARROW_FLOATS / count / HONE_STRIP * HONE_STRIP);
}

// --- dot products ----------------------------------------------------------------------------------------------------

// Rows of W against the rows of A, which lie in `small` as [m,k].
static void weight_rows_task(void *context, int64_t index, int thread) {
    const narrow *const t = context;
    const hone_gemm *const g = t->g;
    const hone_right *const right = &g->right;
    const int64_t n0 = index * t->size, n1 = hone_least(g->n, n0 + t->size);
    if (g->start) hone_gemm_start(g, 0, g->m, n0, n1);
    const bool floats = right->dtype == HONE_DTYPE_F32;
    const int64_t rows = floats ? n1 - n0 : HALF_ROWS;
    float *const decoded = floats ? NULL : hone_call_scratch(t->call, thread);
    for (int64_t n = n0; n < n1; n += rows) {
        const int64_t count = hone_least(rows, n1 - n);
        for (int64_t k = 0; k < g->k; k += t->chunk) {
            const int64_t depth = hone_least(t->chunk, g->k - k);
            const float *from = floats ? (const float *)right->data + n * right->ld + k : decoded;
            for (int64_t i = 0; !floats && i < count; i++)
                hone_floats(right->dtype, right->data, (n + i) * right->ld + k, depth, decoded + i * t->chunk);
            t->kernels->dots(depth, from, floats ? right->ld : t->chunk, count, t->small + k, g->k, g->m, g->c + n, 1,
                             g->ldc, k > 0 || g->start);
        }
    }
}

// Rows of A against the columns of R, which lie in `small` as [n,k].
static void few_columns_task(void *context, int64_t index, int thread) {
    (void)thread;
    const narrow *const t = context;
    const hone_gemm *const g = t->g;
    const int64_t m0 = index * t->size, m1 = hone_least(g->m, m0 + t->size);
    if (g->start) hone_gemm_start(g, m0, m1, 0, g->n);
    for (int64_t k = 0; k < g->k; k += t->chunk) {
        t->kernels->dots(hone_least(t->chunk, g->k - k), g->left.data + m0 * g->left.ld + k, g->left.ld, m1 - m0,
                         t->small + k, g->k, g->n, g->c + m0 * g->ldc, g->ldc, 1, k > 0 || g->start);
    }
}

// R's columns as the rows of out[n,k], times the product's factor.
static void copy_columns(const hone_gemm *g, const hone_kernels *kernels, float *out) {
    const hone_right *const right = &g->right;
    if (right->transposed) {
        for (int64_t j = 0; j < g->n; j++) {
            float *const row = out + j * g->k;
            hone_floats(right->dtype, right->data, j * right->ld, g->k, row);
            for (int64_t p = 0; g->left.factor != 1 && p < g->k; p++) row[p] *= g->left.factor;
        }
        return;
    }
    float rows[HONE_STRIP][HONE_MOST_NARROW];
    for (int64_t p = 0; p < g->k; p += HONE_STRIP) {
        const int64_t count = hone_least(HONE_STRIP, g->k - p);
        for (int64_t i = 0; i < count; i++) hone_floats(right->dtype, right->data, (p + i) * right->ld, g->n, rows[i]);
        kernels->transpose(rows[0], HONE_MOST_NARROW, count, (int)count, g->n, g->left.factor, out + p, g->k);
    }
}

static void run_weight_rows(const hone_op_call *call, const hone_gemm *g) {
    float *const small = call->workspace;
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t p = 0; p < g->k; p++) small[i * g->k + p] = g->left.data[i * g->left.ld + p] * g->left.factor;
    }
    narrow t = {.call = call, .g = g, .kernels = hone_kernels_get(), .small = small};
    t.chunk = chunk_of(g->m);
    t.size = task_size(g, g->n, HALF_ROWS);
    hone_call_parallel(call, hone_pieces(g->n, t.size), weight_rows_task, &t);
}

static void run_few_columns(const hone_op_call *call, const hone_gemm *g) {
    narrow t = {.call = call, .g = g, .kernels = hone_kernels_get(), .small = call->workspace};
    copy_columns(g, t.kernels, call->workspace);
    t.chunk = chunk_of(g->n);
    t.size = task_size(g, g->m, 2);
    hone_call_parallel(call, hone_pieces(g->m, t.size), few_columns_task, &t);
}

// --- tiles over a matrix where it lies -------------------------------------------------------------------------------

// One tile of small^T @ wide into `tile`, for columns [n, n + tile_columns) of wide.
static void wide_tile(const narrow *t, const float *panel, int64_t n, float *strip, float *tile, int64_t tile_step,
                      bool add) {
    const int height = t->kernels->tile_rows, width = t->kernels->tile_columns;
    const int64_t k = t->g->k, valid = hone_least(width, t->length - n);
    if (valid == width) {
        t->kernels->tile(k, panel, height, t->wide + n, t->wide_ld, tile, tile_step, add);
        return;
    }
    for (int64_t p = 0; p < k; p += EDGE_STEPS) {
        const int64_t depth = hone_least(EDGE_STEPS, k - p);
        memset(strip, 0, (size_t)(depth * width) * sizeof(float));
        for (int64_t q = 0; q < depth; q++)
            memcpy(strip + q * width, t->wide + (p + q) * t->wide_ld + n, (size_t)valid * sizeof(float));
        t->kernels->tile(depth, panel + p * height, height, strip, width, tile, tile_step, add || p > 0);
    }
}

static void wide_task(void *context, int64_t index, int thread) {
    const narrow *const t = context;
    const hone_gemm *const g = t->g;
    const int height = t->kernels->tile_rows, width = t->kernels->tile_columns;
    const int64_t n0 = index * t->size, n1 = hone_least(t->length, n0 + t->size);
    float *const strip = hone_call_scratch(t->call, thread);
    alignas(64) float tile[HONE_TILE_MOST_ROWS * HONE_TILE_MOST_COLUMNS];
    if (t->across) {
        hone_gemm_start(g, n0, n1, 0, t->count);
    } else {
        hone_gemm_start(g, 0, t->count, n0, n1);
    }
    for (int64_t n = n0; n < n1; n += width) {
        for (int64_t i = 0; i < t->count; i += height) {
            const float *const panel = t->small + i * g->k;
            const int64_t rows = hone_least(height, t->count - i), columns = hone_least(width, n1 - n);
            if (!t->across && rows == height && columns == width) {
                wide_tile(t, panel, n, strip, g->c + i * g->ldc + n, g->ldc, true);
                continue;
            }
            wide_tile(t, panel, n, strip, tile, width, false);
            for (int64_t r = 0; r < rows; r++) {
                for (int64_t j = 0; j < columns; j++) {
                    float *const place = t->across ? g->c + (n + j) * g->ldc + i + r : g->c + (i + r) * g->ldc + n + j;
                    *place += tile[r * width + j];
                }
            }
        }
    }
}

static void run_wide(const hone_op_call *call, const hone_gemm *g, bool across) {
    narrow t = {.call = call, .g = g, .kernels = hone_kernels_get(), .small = call->workspace, .across = across};
    const float *const right = g->right.data;
    hone_left small = g->left;
    if (across) small = (hone_left){right, g->right.ld, true, g->left.factor, g->n};
    t.wide = across ? g->left.data : right;
    t.wide_ld = across ? g->left.ld : g->right.ld;
    t.length = across ? g->m : g->n;
    t.count = small.m;
    hone_pack_left(t.kernels, &small, 0, t.count, 0, g->k, call->workspace);
    t.size = task_size(g, t.length, t.kernels->tile_columns);
    hone_call_parallel(call, hone_pieces(t.length, t.size), wide_task, &t);
}

// --- ways ------------------------------------------------------------------------------------------------------------

hone_cpu_needs hone_gemm_narrow_needs(const hone_gemm *g) {
    const hone_kernels *const kernels = hone_kernels_get();
    const int64_t height = kernels->tile_rows;
    const int64_t edge = EDGE_STEPS * kernels->tile_columns;
    int64_t workspace = 0, scratch = 0; // in floats
    switch (hone_gemm_choose(g)) {
    case HONE_GEMM_WEIGHT_ROWS:
        workspace = g->m * g->k;
        if (g->right.dtype != HONE_DTYPE_F32) scratch = HALF_ROWS * chunk_of(g->m);
        break;
    case HONE_GEMM_FEW_COLUMNS:
        workspace = g->n * g->k;
        break;
    case HONE_GEMM_FEW_ROWS:
        workspace = hone_pieces(g->m, height) * height * g->k;
        scratch = edge;
        break;
    case HONE_GEMM_FEW_COLUMNS_ACROSS:
        workspace = hone_pieces(g->n, height) * height * g->k;
        scratch = edge;
        break;
    default:
        break;
    }
    return (hone_cpu_needs){(size_t)workspace * sizeof(float), (size_t)scratch * sizeof(float)};
}

void hone_gemm_run_narrow(const hone_op_call *call, const hone_gemm *g) {
    switch (hone_gemm_choose(g)) {
    case HONE_GEMM_WEIGHT_ROWS:
        run_weight_rows(call, g);
        break;
    case HONE_GEMM_FEW_COLUMNS:
        run_few_columns(call, g);
        break;
    case HONE_GEMM_FEW_ROWS:
        run_wide(call, g, false);
        break;
    default:
        run_wide(call, g, true);
        break;
    }
}
