// SPDX-License-Identifier: Apache-2.0
// The gradient of attention in tiles, from the output and the logsumexp of the forward pass.
//
// With p = exp(scale * <q, k> - lse), dp = <d_out, v>, delta = <d_out, out> (all for a seen pair of query and
// key):
//   ds = p (dp - delta) scale,  d_v += p d_out,  d_k += ds q,  d_q += ds k
// A task is a chunk of keys of one kv head with all query heads that share it: it owns its rows of d_k and
// d_v. d_q is a sum over chunks: chunk 0 writes the result, the others write parts of their own, added in
// order at the end.
#include <math.h>
#include <string.h>

#include "ops/matmul/blas.h"
#include "ops/sdpa/attention.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

enum { QUERY_TILE = 64, KEY_TILE = 64, TASKS = 24 };

typedef struct context {
    hone_attention a;
    const hone_op_call *call;
    const float *d_out, *out, *lse;
    float *d_q, *d_k, *d_v;
    float *delta;          // [heads, queries]
    float *parts;          // of d_q: chunk c > 0 has rows from its first key on
    int64_t chunk, chunks; // keys in a chunk, chunks
} context;

// Enough tasks for many threads; whole tiles of keys. Depends on shape alone.
static int64_t chunk_keys(const hone_attention *a) {
    const int64_t tiles = (a->keys + KEY_TILE - 1) / KEY_TILE;
    int64_t chunks = (TASKS + a->kv_heads - 1) / a->kv_heads;
    if (chunks > tiles) chunks = tiles;
    return chunks > 0 ? (tiles + chunks - 1) / chunks * KEY_TILE : KEY_TILE;
}

// Queries that chunk c may be seen by, as offset is 0: those from its first key on.
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

// --- delta
// -----------------------------------------------------------------------------------------------------------
HONE_VECTOR static double products(const float *x, const float *y, int64_t n) {
    return hone_sum_products(x, y, n);
}

static void delta_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    for (int64_t t = begin; t < end; t++)
        for (int64_t head = 0; head < a->heads; head++) {
            const int64_t at = t * a->q_columns + head * a->head;
            c->delta[head * a->queries + t] = (float)products(c->d_out + at, c->out + at, a->head);
        }
}

// --- tiles
// -----------------------------------------------------------------------------------------------------------
// p and ds of one query over the seen part [a, b) of n keys, from its scores and dp; 0 beside it.
HONE_VECTOR static void backward_row(float *p, float *ds, int64_t a, int64_t b, int64_t n, float lse,
                                     float delta, float scale) {
    int64_t low = a, high = b;
    hone_attention_mask(p, &low, &high);
    HONE_INDEPENDENT for (int64_t j = low; j < high; j++) {
        p[j] = hone_exp(p[j] - lse);
        ds[j] = p[j] * (ds[j] - delta) * scale;
    }
    if (a > 0) {
        memset(p, 0, (size_t)a * sizeof *p);
        memset(ds, 0, (size_t)a * sizeof *ds);
    }
    if (b < n) {
        memset(p + b, 0, (size_t)(n - b) * sizeof *p);
        memset(ds + b, 0, (size_t)(n - b) * sizeof *ds);
    }
}

// Queries [t0, t1) of a head against keys [k0, k1) of `chunk`.
static void add_tile(const context *c, float *p, float *ds, int64_t chunk, int64_t head, int64_t t0,
                     int64_t t1, int64_t k0, int64_t k1) {
    const hone_attention *const a = &c->a;
    const int64_t m = t1 - t0, n = k1 - k0, d = a->head;
    const int64_t q_at = t0 * a->q_columns + head * d, k_at = k0 * a->k_columns + head / a->group * d;
    hone_sgemm(false, true, m, n, d, a->scale, a->q + q_at, a->q_columns, a->k + k_at, a->k_columns, 0, p,
               KEY_TILE);
    hone_sgemm(false, true, m, n, d, 1, c->d_out + q_at, a->q_columns, a->v + k_at, a->k_columns, 0, ds,
               KEY_TILE);
    for (int64_t r = 0; r < m; r++) {
        int64_t low, high;
        hone_attention_range(a, t0 + r, &low, &high);
        low = low > k0 ? (low < k1 ? low - k0 : n) : 0;
        high = high < k1 ? high - k0 : n;
        if (high < low) high = low;
        const int64_t at = head * a->queries + t0 + r;
        backward_row(p + r * KEY_TILE, ds + r * KEY_TILE, low, high, n, c->lse[at], c->delta[at], a->scale);
    }
    hone_sgemm(true, false, n, d, m, 1, p, KEY_TILE, c->d_out + q_at, a->q_columns, 1, c->d_v + k_at,
               a->k_columns);
    hone_sgemm(true, false, n, d, m, 1, ds, KEY_TILE, a->q + q_at, a->q_columns, 1, c->d_k + k_at,
               a->k_columns);
    hone_sgemm(false, false, m, d, n, 1, ds, KEY_TILE, a->k + k_at, a->k_columns, 1,
               part_row(c, chunk, t0) + head * d, a->q_columns);
}

static void clear_rows(float *rows, int64_t count, int64_t columns, int64_t stride) {
    for (int64_t r = 0; r < count; r++) memset(rows + r * stride, 0, (size_t)columns * sizeof(float));
}

static void chunk_task(void *opaque, int64_t index, int thread) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    // The first chunks are seen by the most queries: they go first, so that threads finish together.
    const int64_t kv = index % a->kv_heads, chunk = index / a->kv_heads;
    const int64_t begin = chunk * c->chunk, end = begin + c->chunk < a->keys ? begin + c->chunk : a->keys;
    float *const p = hone_call_scratch(c->call, thread), *const ds = p + QUERY_TILE * KEY_TILE;
    clear_rows(c->d_k + begin * a->k_columns + kv * a->head, end - begin, a->head, a->k_columns);
    clear_rows(c->d_v + begin * a->k_columns + kv * a->head, end - begin, a->head, a->k_columns);
    if (part_rows(c, chunk) > 0)
        clear_rows(part_row(c, chunk, begin) + kv * a->group * a->head, part_rows(c, chunk),
                   a->group * a->head, a->q_columns);
    for (int64_t k = begin; k < end; k += KEY_TILE)
        for (int64_t t = k / QUERY_TILE * QUERY_TILE; t < a->queries; t += QUERY_TILE) {
            int64_t t0 = t, t1 = t + QUERY_TILE < a->queries ? t + QUERY_TILE : a->queries;
            int64_t k0 = k, k1 = k + KEY_TILE < end ? k + KEY_TILE : end;
            if (!hone_attention_trim(a, &t0, &t1, &k0, &k1)) continue;
            for (int64_t g = 0; g < a->group; g++)
                add_tile(c, p, ds, chunk, kv * a->group + g, t0, t1, k0, k1);
        }
}

// --- d_q
// -------------------------------------------------------------------------------------------------------------
HONE_VECTOR static void add_row(float *out, const float *x, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] += x[i];
}

static void join_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t t = begin; t < end; t++)
        for (int64_t chunk = 1; chunk < c->chunks && chunk * c->chunk <= t; chunk++)
            add_row(c->d_q + t * c->a.q_columns, part_row(c, chunk, t), c->a.q_columns);
}

// --- the operator
// ----------------------------------------------------------------------------------------------------
static context resolve(const hone_op_call *call) {
    context c = {.a = hone_attention_of(call, 1, 6), .call = call};
    c.a.window = call->operands[10].integer;
    c.chunk = chunk_keys(&c.a);
    c.chunks = (c.a.keys + c.chunk - 1) / c.chunk;
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

static hone_cpu_needs needs(const hone_op_call *call) {
    const context c = resolve(call);
    int64_t rows = 0;
    for (int64_t i = 1; i < c.chunks; i++) rows += part_rows(&c, i);
    return (hone_cpu_needs){.workspace_bytes =
                                (size_t)(rows * c.a.q_columns + c.a.heads * c.a.queries) * sizeof(float),
                            .thread_scratch_bytes = 2 * QUERY_TILE * KEY_TILE * sizeof(float)};
}

static void cpu(const hone_op_call *call) {
    context c = resolve(call);
    c.d_out = hone_operand_floats(call, 0);
    c.out = hone_operand_floats(call, 4);
    c.lse = hone_operand_floats(call, 5);
    c.d_q = call->outputs[0].data;
    c.d_k = call->outputs[1].data;
    c.d_v = call->outputs[2].data;
    c.delta = call->workspace;
    c.parts = c.delta + c.a.heads * c.a.queries;
    if (c.a.keys == 0) memset(c.d_q, 0, (size_t)(c.a.queries * c.a.q_columns) * sizeof(float));
    hone_call_rows(call, c.a.queries, c.a.q_columns, delta_range, &c);
    hone_call_parallel(call, c.chunks * c.a.kv_heads, chunk_task, &c);
    hone_call_rows(call, c.a.queries, c.a.q_columns, join_range, &c);
}

const hone_op hone_op_attention_backward = {
    .schema = "hone::attention_backward(Tensor d_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, "
              "Tensor row_start, "
              "int heads, int kv_heads, float scale, int window=0) -> (Tensor, Tensor, Tensor)",
    .summary = "gradients of hone::attention at offset 0 for q, k and v, recomputing its scores from lse",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
};
