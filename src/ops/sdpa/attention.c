// SPDX-License-Identifier: Apache-2.0
// Causal attention over packed rows or a cache, in tiles: scores of a tile exist only while it is worked on.
//
// q [T, H*hd], k and v [S, Hk*hd], row_start [T]. Query t stands at key position offset + t and sees the keys
// [max(row_start[t], offset + t - window + 1 if window > 0), offset + t]:
//   out[t, h] = sum_s p_s v[s, h / group],  p = softmax over seen s of scale * <q[t, h], k[s, h / group]>
//   lse[h, t] = log sum_s exp(scale * <q, k>), for the backward pass
// A query that sees nothing (padding has row_start > position) gives zeros and lse 0.
//
// A task is a tile of queries of one head; it goes over its keys from first to last, keeping for each query
// the largest score so far and the sum of exponentials relative to it (both rescaled when the largest grows).
#include <math.h>
#include <string.h>

#include "ops/matmul/blas.h"
#include "ops/sdpa/attention.h"
#include "ops/sdpa/attention_one.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

enum { QUERY_TILE = 64, KEY_TILE = 128 };

typedef struct context {
    hone_attention a;
    const hone_op_call *call;
    float *out, *lse;
    int64_t tiles; // of queries
} context;

// The state of one tile's queries between tiles of keys.
typedef struct running {
    float max[QUERY_TILE], sum[QUERY_TILE];
} running;

// Scores of one query to exponentials relative to the largest so far; returns what the older sums shrink by.
HONE_VECTOR static float soften_row(float *row, int64_t a, int64_t b, int64_t n, float *max, float *sum) {
    hone_attention_mask(row, &a, &b);
    const float tile_max = hone_max_floats(row + a, b - a), old_max = *max;
    const float new_max = tile_max > old_max ? tile_max : old_max;
    for (int64_t j = a; j < b; j++) row[j] = hone_exp(row[j] - new_max);
    hone_f32x16 lanes = {0};
    for (int64_t j = a; j < b; j += HONE_ATTENTION_LANES) lanes += *(const hone_f32x16 *)(row + j);
    if (a > 0) memset(row, 0, (size_t)a * sizeof *row);
    if (b < n) memset(row + b, 0, (size_t)(n - b) * sizeof *row);
    const float shrink = new_max == old_max ? 1.0f : hone_exp(old_max - new_max);
    *max = new_max;
    *sum = *sum * shrink + hone_sum_f32x16(&lanes);
    return shrink;
}

HONE_VECTOR static void scale_row(float *x, float factor, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

// Adds keys [k0, k1) to the queries [t0, t1) of a head.
static void add_keys(const context *c, running *state, float *scores, int64_t head, int64_t t0, int64_t t1,
                     int64_t k0, int64_t k1, bool first) {
    const hone_attention *const a = &c->a;
    const int64_t m = t1 - t0, n = k1 - k0, kv = head / a->group * a->head;
    hone_sgemm(false, true, m, n, a->head, a->scale, a->q + t0 * a->q_columns + head * a->head, a->q_columns,
               a->k + k0 * a->k_columns + kv, a->k_columns, 0, scores, KEY_TILE);
    float *const out = c->out + t0 * a->q_columns + head * a->head;
    for (int64_t r = 0; r < m; r++) {
        float *const row = scores + r * KEY_TILE;
        int64_t low, high;
        hone_attention_range(a, t0 + r, &low, &high);
        low = low > k0 ? low - k0 : 0;
        high = high < k1 ? high - k0 : n;
        if (low >= high) {
            memset(row, 0, (size_t)n * sizeof *row);
            continue;
        }
        const float shrink = soften_row(row, low, high, n, &state->max[r], &state->sum[r]);
        if (!first && shrink != 1) scale_row(out + r * a->q_columns, shrink, a->head);
    }
    hone_sgemm(false, false, m, a->head, n, 1, scores, KEY_TILE, a->v + k0 * a->k_columns + kv, a->k_columns,
               first ? 0 : 1, out, a->q_columns);
}

static void tile_task(void *opaque, int64_t index, int thread) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    // The last tiles see the most keys: they go first, so that threads finish together.
    const int64_t head = index % a->heads, tile = c->tiles - 1 - index / a->heads;
    const int64_t t0 = tile * QUERY_TILE, t1 = t0 + QUERY_TILE < a->queries ? t0 + QUERY_TILE : a->queries;
    float *const scores = hone_call_scratch(c->call, thread);
    running state;
    for (int r = 0; r < QUERY_TILE; r++) state.max[r] = -INFINITY, state.sum[r] = 0;
    int64_t seen0 = t0, seen1 = t1, k0 = 0, k1 = a->keys;
    bool first = true;
    if (hone_attention_trim(a, &seen0, &seen1, &k0, &k1))
        for (int64_t k = k0; k < k1; k += KEY_TILE, first = false)
            add_keys(c, &state, scores, head, t0, t1, k, k + KEY_TILE < k1 ? k + KEY_TILE : k1, first);
    for (int64_t r = 0; r < t1 - t0; r++) {
        float *const out = c->out + (t0 + r) * a->q_columns + head * a->head;
        const bool empty = state.max[r] == -INFINITY && state.sum[r] == 0;
        if (empty)
            memset(out, 0, (size_t)a->head * sizeof *out);
        else
            scale_row(out, 1.0f / state.sum[r], a->head);
        c->lse[head * a->queries + t0 + r] = empty ? 0.0f : state.max[r] + hone_log(state.sum[r]);
    }
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_attention_check(call, 0, 3, error));
    const hone_tensor *const q = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(call->operands[8].integer >= 0, "window must be 0 (none) or more, not %lld",
                  (long long)call->operands[8].integer);
    call->outputs[0].type = q->type;
    call->outputs[1].type = hone_type(HONE_DTYPE_F32, 2, call->operands[4].integer, q->type.dims[0]);
    return HONE_OK;
}

static hone_attention resolve(const hone_op_call *call) {
    hone_attention a = hone_attention_of(call, 0, 3);
    a.offset = call->operands[7].integer;
    a.window = call->operands[8].integer;
    return a;
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const hone_attention a = resolve(call);
    if (a.queries == 1) return hone_attention_one_needs(&a);
    return (hone_cpu_needs){.thread_scratch_bytes = QUERY_TILE * KEY_TILE * sizeof(float)};
}

static void cpu(const hone_op_call *call) {
    context c = {
        .a = resolve(call), .call = call, .out = call->outputs[0].data, .lse = call->outputs[1].data};
    if (c.a.queries == 1) {
        hone_attention_one(call, &c.a, c.out, c.lse);
        return;
    }
    c.tiles = (c.a.queries + QUERY_TILE - 1) / QUERY_TILE;
    hone_call_parallel(call, c.tiles * c.a.heads, tile_task, &c);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_argument *const argument[] = {
        hone_node_argument(call->node, 4), hone_node_argument(call->node, 5),
        hone_node_argument(call->node, 6), hone_node_argument(call->node, 7),
        hone_node_argument(call->node, 8)};
    if (call->output_gradients[1].id) HONE_FAIL(error, UNSUPPORTED, "hone::attention: lse has no gradient");
    if (argument[3]->kind == HONE_ARGUMENT_LIVE || argument[3]->integer != 0)
        HONE_FAIL(error, UNSUPPORTED, "hone::attention: only offset 0 has a gradient");
    hone_value all[3] = {{0}, {0}, {0}};
    hone_emit_all(call->graph, "hone::attention_backward", all, 3, HONE_T(hone_grad_out(call, 0)),
                  HONE_T(hone_grad_in(call, 0)), HONE_T(hone_grad_in(call, 1)), HONE_T(hone_grad_in(call, 2)),
                  HONE_T(hone_node_output(call->node, 0)), HONE_T(hone_node_output(call->node, 1)),
                  HONE_T(hone_grad_in(call, 3)), *argument[0], *argument[1], *argument[2], *argument[4]);
    for (size_t i = 0; i < 3; i++)
        if (call->wanted[i]) call->input_gradients[i] = all[i];
    return HONE_OK;
}

const hone_op hone_op_attention = {
    .schema = "hone::attention(Tensor q, Tensor k, Tensor v, Tensor row_start, int heads, int kv_heads, "
              "float scale, "
              "int offset=0, int window=0) -> (Tensor, Tensor)",
    .summary = "out [T, H*hd] = softmax(scale * q k^T) v over keys [max(row_start, t - window + 1), t], t "
               "from offset; "
               "and its logsumexp [H, T]",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .gradient = gradient,
    .gradient_text = "d_q, d_k, d_v by hone::attention_backward, from out and lse",
};
