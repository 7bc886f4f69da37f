// SPDX-License-Identifier: Apache-2.0
// What the forward and backward passes of attention share: its shape, what a query may see, products of tiles.
#ifndef HONE_OPS_SDPA_ATTENTION_H
#define HONE_OPS_SDPA_ATTENTION_H

#include "ops/matmul/kernels.h"
#include "ops/op.h"

extern const hone_op hone_op_attention;
extern const hone_op hone_op_attention_backward;
extern const hone_op hone_op_cache_write;
extern const hone_op hone_op_masked_attention;
extern const hone_op hone_op_update_cache;
extern const hone_op hone_op_cached_attention;

typedef struct hone_attention {
    const float *q, *k, *v;   // [queries, q_columns], [keys, k_columns] twice
    const int32_t *row_start; // [queries]
    int64_t queries, keys;
    int64_t q_columns, k_columns, head; // heads * head, kv_heads * head, features of a head
    int64_t heads, kv_heads, group;     // group = heads / kv_heads
    int64_t offset, window;
    float scale;
} hone_attention;

// Operands q, k, v from `first` on, row_start at `row_start`, then heads, kv_heads and scale.
hone_status hone_attention_check(const hone_op_call *call, size_t first, size_t row_start, hone_error *error);
hone_attention hone_attention_of(const hone_op_call *call, size_t first, size_t row_start);

// The keys that query t sees: [*first, *end), empty when *first >= *end.
static inline void hone_attention_range(const hone_attention *a, int64_t t, int64_t *first, int64_t *end) {
    const int64_t position = a->offset + t;
    int64_t low = a->row_start[t] > 0 ? a->row_start[t] : 0;
    if (a->window > 0 && low < position - a->window + 1) low = position - a->window + 1;
    *first = low;
    *end = position + 1 < a->keys ? position + 1 : a->keys;
}

// Pairs of query and key that shapes alone allow, over all heads, times the features of a head: the queries are taken to be
// the last of the keys' positions, all of one row. What row_start hides is not known before a run.
static inline double hone_attention_terms(const hone_attention *a) {
    const double rows = (double)a->queries, keys = (double)(a->keys > a->queries ? a->keys : a->queries);
    double pairs = rows * (2 * keys - rows + 1) / 2;
    if (a->window > 0 && pairs > rows * (double)a->window) pairs = rows * (double)a->window;
    return pairs * (double)a->q_columns;
}

// The whole forward pass, out [T, H*hd] and lse [H, T], with working memory as said from the start of the workspace.
hone_cpu_needs hone_attention_needs(const hone_attention *a);
void hone_attention_run(const hone_op_call *call, const hone_attention *a, float *out, float *lse);

// --- tiles -----------------------------------------------------------------------------------------------------------
// A tile is at most HONE_ATTENTION_TILE queries by as many keys, kept in rows of that many floats. The inner loops of
// products (ops/matmul) write whole blocks of their own: buffers have HONE_ATTENTION_ROWS rows, and rows of features
// are padded to hone_attention_padded.
enum { HONE_ATTENTION_TILE = 64, HONE_ATTENTION_ROWS = HONE_ATTENTION_TILE + HONE_TILE_MOST_ROWS };

static inline int64_t hone_attention_padded(int64_t features) {
    return (features + HONE_TILE_MOST_COLUMNS - 1) / HONE_TILE_MOST_COLUMNS * HONE_TILE_MOST_COLUMNS;
}

// Which keys of a tile each of its queries sees: [low, high) counted from the tile's first key; 0, 0 for none.
typedef struct hone_attention_view {
    int64_t queries, keys;
    int32_t low[HONE_ATTENTION_TILE], high[HONE_ATTENTION_TILE];
    int64_t least_low, most_high; // over all queries
    bool whole;                   // every query sees every key
} hone_attention_view;

// False if nothing is seen.
bool hone_attention_look(const hone_attention *a, int64_t first_query, int64_t queries, int64_t first_key, int64_t keys,
                         hone_attention_view *view);
// The keys that any of the queries [q0, q1) sees, and the queries that see any of the keys [k0, k1); *low >= *high for none.
void hone_attention_keys(const hone_attention_view *view, int64_t q0, int64_t q1, int64_t *low, int64_t *high);
void hone_attention_queries(const hone_attention_view *view, int64_t k0, int64_t k1, int64_t *low, int64_t *high);

// [features][HONE_ATTENTION_TILE]: `count` rows of features, transposed and scaled; places behind them hold copies.
static inline void hone_attention_transpose(const hone_kernels *kernels, const float *rows, int64_t step, int64_t count,
                                            int64_t features, float factor, float *out) {
    kernels->transpose(rows, step, count, HONE_ATTENTION_TILE, features, factor, out, HONE_ATTENTION_TILE);
}
// Floats of such a buffer: the inner loops read a little past its last row.
static inline int64_t hone_attention_transposed_floats(int64_t features) {
    return (features + 1) * HONE_ATTENTION_TILE;
}

// For each query of a tile: the largest score so far, the sum of exponentials relative to it, and what older sums are to
// be multiplied by.
typedef struct hone_attention_running {
    float max[HONE_ATTENTION_TILE], sum[HONE_ATTENTION_TILE], shrink[HONE_ATTENTION_TILE];
} hone_attention_running;

// Scores of keys [low, high), scores[key][query], to exponentials relative to the largest so far.
void hone_attention_soften(float *scores, int64_t low, int64_t high, hone_attention_running *state);
// out = x * factor; out may be x.
void hone_attention_scale(float *out, const float *x, float factor, int64_t n);

// Rows of features wide enough for whole blocks: themselves when no padding is needed, else a copy in `room`.
const float *hone_attention_rows(const float *rows, int64_t *step, int64_t count, int64_t features, float *room);

#endif
