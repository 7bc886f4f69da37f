// SPDX-License-Identifier: Apache-2.0
// The gradient of attention in tiles, from the output and the logsumexp of the forward pass.
//
// With p = exp(scale * <q, k> - lse), dp = <d_out, v>, delta = <d_out, out> (all for a seen pair of query and key):
//   ds = p (dp - delta) scale,  d_v += p d_out,  d_k += ds q,  d_q += ds k
// A task is a chunk of keys of one kv head with all query heads that share it: it owns its rows of d_k and d_v. d_q is
// a sum over chunks: chunk 0 writes the result, the others write parts of their own, added in order at the end.
// Tiles are kept with queries as rows, p[query][key]: so they stand right for d_v and d_k, and only ds is transposed,
// for d_q. Queries and d_out are transposed once, before the tasks, into the workspace.
#include <math.h>
#include <string.h>

#include "ops/sdpa/attention.h"
#include "ops/sdpa/attention_kernels.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

enum { TILE = HONE_ATTENTION_TILE, ROWS = HONE_ATTENTION_ROWS, LANES = 16, TASKS = 24 };

typedef struct context {
    hone_attention a;
    const hone_op_call *call;
    const hone_kernels *kernels;
    const float *d_out, *out, *lse;
    float *d_q, *d_k, *d_v;
    float *delta;          // [heads, queries]
    float *transposed;     // [heads, query tiles, 2]: scaled queries, d_out
    float *parts;          // of d_q: chunk c > 0 has rows from its first key on
    int64_t chunk, chunks; // keys in a chunk, chunks
    int64_t query_tiles;
} context;

// One thread's buffers, in its scratch. Rows of features are padded.
typedef struct buffers {
    float *keys, *values;                // transposed tiles
    float *p, *ds;                       // [ROWS][TILE]
    float *ds_transposed;                // [ROWS][TILE]: keys as rows
    float *d_k, *d_v, *d_q;              // [ROWS][padded]: sums of a tile
    float *key_room, *q_room, *out_room; // for padded rows
} buffers;

// Enough tasks for many threads; whole tiles of keys. Depends on shape alone.
static int64_t chunk_keys(const hone_attention *a) {
    const int64_t tiles = (a->keys + TILE - 1) / TILE;
    int64_t chunks = (TASKS + a->kv_heads - 1) / a->kv_heads;
    if (chunks > tiles) chunks = tiles;
    return chunks > 0 ? (tiles + chunks - 1) / chunks * TILE : TILE;
}

// Queries that may see chunk c, as offset is 0: those from its first key on.
static int64_t part_rows(const context *c, int64_t chunk) {
    const int64_t first = chunk * c->chunk;
    return c->a.queries > first ? c->a.queries - first : 0;
}

// Row `t` of chunk's part of d_q.
static float *part_row(const context *c, int64_t chunk, int64_t t) {
    if (chunk == 0) return c->d_q + t * c->a.q_columns;
    int64_t before = 0;
    for (int64_t i = 1; i < chunk; i++) before += part_rows(c, i);
    return c->parts + (before + t - chunk * c->chunk) * c->a.q_columns;
}

static float *transposed_tile(const context *c, int64_t head, int64_t tile) {
    return c->transposed + (head * c->query_tiles + tile) * 2 * hone_attention_transposed_floats(c->a.head);
}

// --- before the tasks ------------------------------------------------------------------------------------------------
HONE_VECTOR static float products(const float *x, const float *y, int64_t n) {
    hone_f32x16 lanes = {0};
    float rest = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) lanes += *(const hone_f32x16 *)(x + i) * *(const hone_f32x16 *)(y + i);
    for (; i < n; i++) rest += x[i] * y[i];
    return hone_sum_f32x16(&lanes) + rest;
}

// Delta, and the transposed tiles, of (head, query tile).
static void prepare_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    for (int64_t i = begin; i < end; i++) {
        const int64_t head = i % a->heads, tile = i / a->heads, t0 = tile * TILE;
        const int64_t count = a->queries - t0 < TILE ? a->queries - t0 : TILE;
        const int64_t at = t0 * a->q_columns + head * a->head;
        for (int64_t t = 0; t < count; t++)
            c->delta[head * a->queries + t0 + t] =
                products(c->d_out + at + t * a->q_columns, c->out + at + t * a->q_columns, a->head);
        float *const to = transposed_tile(c, head, tile);
        hone_attention_transpose(c->kernels, a->q + at, a->q_columns, count, a->head, a->scale, to);
        hone_attention_transpose(c->kernels, c->d_out + at, a->q_columns, count, a->head, 1,
                                 to + hone_attention_transposed_floats(a->head));
    }
}

// --- tiles -----------------------------------------------------------------------------------------------------------
// out[query][key] = <left[query], right[key]> for what is seen.
static void score_tile(const context *c, const hone_attention_view *view, const float *left, const float *right,
                       float *out) {
    const hone_kernels *const kernels = c->kernels;
    for (int64_t q = 0; q < view->queries; q += kernels->tile_rows) {
        int64_t low, high;
        hone_attention_keys(view, q, q + kernels->tile_rows, &low, &high);
        for (int64_t key = low / kernels->tile_columns * kernels->tile_columns; key < high;
             key += kernels->tile_columns)
            kernels->tile(c->a.head, left + q, TILE, right + key, TILE, out + q * TILE + key, TILE, false);
    }
}

// p and ds of one query from its scores and dp; 0 for keys beside the seen ones [a, b).
HONE_VECTOR static void backward_row(float *p, float *ds, int32_t a, int32_t b, float lse, float delta, float scale) {
    HONE_INDEPENDENT for (int32_t j = 0; j < TILE; j++) {
        const float e = hone_exp(p[j] - lse);
        const int seen = (j >= a) & (j < b);
        ds[j] = hone_select(seen, e * (ds[j] - delta) * scale, 0.0f);
        p[j] = hone_select(seen, e, 0.0f);
    }
}

// sums[key][feature] += sum over queries of tile[query][key] rows[query][feature].
static void add_over_queries(const context *c, const hone_attention_view *view, const float *tile, const float *rows,
                             int64_t step, float *sums) {
    const hone_kernels *const kernels = c->kernels;
    const int64_t padded = hone_attention_padded(c->a.head);
    for (int64_t j = 0; j < padded; j += kernels->tile_columns)
        for (int64_t key = 0; key < view->keys; key += kernels->tile_rows) {
            int64_t low, high;
            hone_attention_queries(view, key, key + kernels->tile_rows, &low, &high);
            if (low < high)
                kernels->tile(high - low, tile + low * TILE + key, TILE, rows + low * step + j, step,
                              sums + key * padded + j, padded, true);
        }
}

HONE_VECTOR static void add_row(float *out, const float *x, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] += x[i];
}

// d_q of the tile's queries, ds[query][key] k[key] summed over keys: begins the chunk's part, or is added to it.
static void add_over_keys(const context *c, const buffers *b, const hone_attention_view *view, const float *keys,
                          int64_t step, float *part, bool begins) {
    const hone_kernels *const kernels = c->kernels;
    const int64_t padded = hone_attention_padded(c->a.head);
    // Whole blocks go straight to their place.
    const bool direct = view->queries % kernels->tile_rows == 0 && padded == c->a.head;
    float *const to = direct ? part : b->d_q;
    const int64_t to_step = direct ? c->a.q_columns : padded;
    kernels->transpose(b->ds, TILE, view->queries, TILE, view->keys, 1, b->ds_transposed, TILE);
    for (int64_t j = 0; j < padded; j += kernels->tile_columns)
        for (int64_t q = 0; q < view->queries; q += kernels->tile_rows) {
            int64_t low, high;
            hone_attention_keys(view, q, q + kernels->tile_rows, &low, &high);
            if (low >= high) low = high = 0; // writes zeros
            kernels->tile(high - low, b->ds_transposed + low * TILE + q, TILE, keys + low * step + j, step,
                          to + q * to_step + j, to_step, direct && !begins);
        }
    for (int64_t r = 0; r < view->queries && !direct; r++) {
        if (begins)
            memcpy(part + r * c->a.q_columns, to + r * padded, (size_t)c->a.head * sizeof(float));
        else
            add_row(part + r * c->a.q_columns, to + r * padded, c->a.head);
    }
}

// The queries of a head that `view` shows, from t0 on, against the tile of keys that begins at k0, in `chunk`.
static void add_tile(const context *c, const buffers *b, const hone_attention_view *view, int64_t chunk, int64_t head,
                     int64_t t0, const float *keys, int64_t key_step, bool begins) {
    const hone_attention *const a = &c->a;
    const int64_t at = t0 * a->q_columns + head * a->head;
    const float *const left = transposed_tile(c, head, t0 / TILE);
    score_tile(c, view, left, b->keys, b->p);
    score_tile(c, view, left + hone_attention_transposed_floats(a->head), b->values, b->ds);
    for (int64_t r = 0; r < view->queries; r++) {
        const int64_t row = head * a->queries + t0 + r;
        backward_row(b->p + r * TILE, b->ds + r * TILE, view->low[r], view->high[r], c->lse[row], c->delta[row],
                     a->scale);
    }
    int64_t q_step = a->q_columns, out_step = a->q_columns;
    const float *const q = hone_attention_rows(a->q + at, &q_step, view->queries, a->head, b->q_room);
    const float *const d_out = hone_attention_rows(c->d_out + at, &out_step, view->queries, a->head, b->out_room);
    add_over_queries(c, view, b->p, d_out, out_step, b->d_v);
    add_over_queries(c, view, b->ds, q, q_step, b->d_k);
    add_over_keys(c, b, view, keys, key_step, part_row(c, chunk, t0) + head * a->head, begins);
}

static void clear_rows(float *rows, int64_t count, int64_t columns, int64_t stride) {
    for (int64_t r = 0; r < count; r++) memset(rows + r * stride, 0, (size_t)columns * sizeof(float));
}

static void copy_rows(float *to, int64_t to_step, const float *from, int64_t from_step, int64_t count,
                      int64_t columns) {
    for (int64_t r = 0; r < count; r++) memcpy(to + r * to_step, from + r * from_step, (size_t)columns * sizeof(float));
}

static int64_t scratch_floats(const context *c, float *base, buffers *b) {
    const int64_t padded = hone_attention_padded(c->a.head), wide = hone_attention_transposed_floats(c->a.head);
    float **const places[] = {&b->keys, &b->values, &b->p,        &b->ds,     &b->ds_transposed, &b->d_k,
                              &b->d_v,  &b->d_q,    &b->key_room, &b->q_room, &b->out_room};
    const int64_t sizes[] = {wide,          wide,          ROWS * TILE,   ROWS * TILE,   ROWS * TILE,  ROWS * padded,
                             ROWS * padded, ROWS * padded, TILE * padded, TILE * padded, TILE * padded};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *places[i] = base ? base + at : 0;
        at += sizes[i];
    }
    return at;
}

// One tile of keys against all queries of the heads that share it.
static void key_tile(const context *c, const buffers *b, int64_t kv, int64_t chunk, int64_t k0, int64_t count) {
    const hone_attention *const a = &c->a;
    const int64_t at = k0 * a->k_columns + kv * a->head, padded = hone_attention_padded(a->head);
    int64_t key_step = a->k_columns;
    const float *const keys = hone_attention_rows(a->k + at, &key_step, count, a->head, b->key_room);
    hone_attention_transpose(c->kernels, a->k + at, a->k_columns, count, a->head, 1, b->keys);
    hone_attention_transpose(c->kernels, a->v + at, a->k_columns, count, a->head, 1, b->values);
    memset(b->d_k, 0, (size_t)(ROWS * padded) * sizeof(float));
    memset(b->d_v, 0, (size_t)(ROWS * padded) * sizeof(float));
    for (int64_t t0 = k0; t0 < a->queries; t0 += TILE) {
        const int64_t queries = a->queries - t0 < TILE ? a->queries - t0 : TILE;
        hone_attention_view view;
        const bool begins = k0 == chunk * c->chunk; // the chunk's first keys
        if (!hone_attention_look(a, t0, queries, k0, count, &view)) {
            if (begins)
                clear_rows(part_row(c, chunk, t0) + kv * a->group * a->head, queries, a->group * a->head, a->q_columns);
            continue;
        }
        for (int64_t g = 0; g < a->group; g++)
            add_tile(c, b, &view, chunk, kv * a->group + g, t0, keys, key_step, begins);
    }
    copy_rows(c->d_k + at, a->k_columns, b->d_k, padded, count, a->head);
    copy_rows(c->d_v + at, a->k_columns, b->d_v, padded, count, a->head);
}

static void chunk_task(void *opaque, int64_t index, int thread) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    // The first chunks are seen by the most queries: they go first, so that threads finish together.
    const int64_t kv = index % a->kv_heads, chunk = index / a->kv_heads;
    const int64_t begin = chunk * c->chunk, end = begin + c->chunk < a->keys ? begin + c->chunk : a->keys;
    buffers b;
    scratch_floats(c, hone_call_scratch(c->call, thread), &b);
    for (int64_t k = begin; k < end; k += TILE) key_tile(c, &b, kv, chunk, k, end - k < TILE ? end - k : TILE);
}

// --- d_q -------------------------------------------------------------------------------------------------------------
static void join_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t t = begin; t < end; t++)
        for (int64_t chunk = 1; chunk < c->chunks && chunk * c->chunk <= t; chunk++)
            add_row(c->d_q + t * c->a.q_columns, part_row(c, chunk, t), c->a.q_columns);
}

// --- the operator ----------------------------------------------------------------------------------------------------
static context resolve(const hone_op_call *call) {
    context c = {.a = hone_attention_of(call, 1, 6), .call = call};
    c.a.window = call->operands[10].integer;
    c.chunk = chunk_keys(&c.a);
    c.chunks = (c.a.keys + c.chunk - 1) / c.chunk;
    c.query_tiles = (c.a.queries + TILE - 1) / TILE;
    return c;
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_attention_check(call, 1, 6, error));
    const hone_tensor *const q = hone_operand_tensor(call, 1), *const k = hone_operand_tensor(call, 2);
    const hone_tensor_type lse = hone_type(HONE_DTYPE_F32, 2, call->operands[7].integer, q->type.dims[0]);
    HONE_OP_CHECK(hone_type_equal(&hone_operand_tensor(call, 0)->type, &q->type) &&
                      hone_type_equal(&hone_operand_tensor(call, 4)->type, &q->type),
                  "d_out %s and out %s must be as q %s", hone_op_type_text(hone_operand_tensor(call, 0)),
                  hone_op_type_text(hone_operand_tensor(call, 4)), hone_op_type_text(q));
    HONE_OP_CHECK(hone_type_equal(&hone_operand_tensor(call, 5)->type, &lse), "lse %s must be [heads, T]",
                  hone_op_type_text(hone_operand_tensor(call, 5)));
    call->outputs[0].type = q->type;
    call->outputs[1].type = k->type;
    call->outputs[2].type = k->type;
    return HONE_OK;
}

static int64_t transposed_floats(const context *c) {
    return c->a.heads * c->query_tiles * 2 * hone_attention_transposed_floats(c->a.head);
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const context c = resolve(call);
    buffers b;
    int64_t rows = 0;
    for (int64_t i = 1; i < c.chunks; i++) rows += part_rows(&c, i);
    return (hone_cpu_needs){.workspace_bytes =
                                (size_t)(transposed_floats(&c) + rows * c.a.q_columns + c.a.heads * c.a.queries) *
                                sizeof(float),
                            .thread_scratch_bytes = (size_t)scratch_floats(&c, 0, &b) * sizeof(float)};
}

static void cpu(const hone_op_call *call) {
    context c = resolve(call);
    c.kernels = hone_kernels_get();
    c.d_out = hone_operand_floats(call, 0);
    c.out = hone_operand_floats(call, 4);
    c.lse = hone_operand_floats(call, 5);
    c.d_q = call->outputs[0].data;
    c.d_k = call->outputs[1].data;
    c.d_v = call->outputs[2].data;
    c.transposed = call->workspace;
    c.delta = c.transposed + transposed_floats(&c);
    c.parts = c.delta + c.a.heads * c.a.queries;
    if (c.a.keys == 0) memset(c.d_q, 0, (size_t)(c.a.queries * c.a.q_columns) * sizeof(float));
    hone_call_ranges(call, c.a.heads * c.query_tiles, 2, prepare_range, &c);
    hone_call_parallel(call, c.chunks * c.a.kv_heads, chunk_task, &c);
    hone_call_rows(call, c.a.queries, c.a.q_columns, join_range, &c);
}

// Five products a pair: scores, d_p, d_q, d_k and d_v.
static double flop(const hone_op_call *call) {
    const context c = resolve(call);
    return 10 * hone_attention_terms(&c.a);
}

const hone_op hone_op_attention_backward = {
    .schema = "hone::attention_backward(Tensor d_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, "
              "Tensor row_start, "
              "int heads, int kv_heads, float scale, int window=0) -> (Tensor, Tensor, Tensor)",
    .summary = "gradients of hone::attention at offset 0 for q, k and v, recomputing its scores from lse",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .variants = hone_kernels_attention_backward,
    .flop = flop,
};
