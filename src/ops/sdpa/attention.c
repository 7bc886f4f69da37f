// SPDX-License-Identifier: Apache-2.0
// Causal attention over packed rows or a cache, in tiles: scores of a tile exist only while it is worked on.
//
// q [T, H*hd], k and v [S, Hk*hd], row_start [T]. Query t stands at key position offset + t and sees the keys
// [max(row_start[t], offset + t - window + 1 if window > 0), offset + t]:
//   out[t, h] = sum_s p_s v[s, h / group],  p = softmax over seen s of scale * <q[t, h], k[s, h / group]>
//   lse[h, t] = log sum_s exp(scale * <q, k>), for the backward pass
// A query that sees nothing (padding has row_start > position) gives zeros and lse 0.
//
// A task is a tile of queries of one head; it goes over its keys from first to last, keeping for each query the largest
// score so far and the sum of exponentials relative to it (both rescaled when the largest grows). Scores are kept with
// keys as rows, scores[key][query]: then all of softmax is vertical, and they are already what the product with v
// wants on its left. For that, keys are transposed once, before the tasks, into the workspace.
#include <math.h>
#include <string.h>

#include "ops/sdpa/attention.h"
#include "ops/sdpa/attention_kernels.h"
#include "ops/sdpa/attention_one.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

enum { TILE = HONE_ATTENTION_TILE, ROWS = HONE_ATTENTION_ROWS, FEW_QUERIES = 4 };

typedef struct context {
    hone_attention a;
    const hone_op_call *call;
    const hone_kernels *kernels;
    float *out, *lse;
    float *keys; // [kv_heads, key tiles]: transposed tiles
    int64_t query_tiles, key_tiles;
} context;

// One thread's buffers, in its scratch.
typedef struct buffers {
    float *queries; // transposed and scaled
    float *scores;  // [ROWS][TILE]
    float *sums;    // [ROWS][padded features]: sum of p v
    float *values;  // room for padded values
} buffers;

static float *transposed_keys(const context *c, int64_t kv, int64_t tile) {
    return c->keys + (kv * c->key_tiles + tile) * hone_attention_transposed_floats(c->a.head);
}

// --- keys ------------------------------------------------------------------------------------------------------------
// The end of what any query sees.
static int64_t keys_end(const hone_attention *a) {
    const int64_t end = a->offset + a->queries;
    return end < 0 ? 0 : end < a->keys ? end : a->keys;
}

static void transpose_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    for (int64_t i = begin; i < end; i++) {
        const int64_t kv = i % a->kv_heads, tile = i / a->kv_heads, left = keys_end(a) - tile * TILE;
        hone_attention_transpose(c->kernels, a->k + tile * TILE * a->k_columns + kv * a->head, a->k_columns,
                                 left < TILE ? left : TILE, a->head, 1, transposed_keys(c, kv, tile));
    }
}

// --- tiles -----------------------------------------------------------------------------------------------------------
// Scores that a query does not see become -infinity, whatever stands there.
HONE_VECTOR static void mask_scores(float *scores, const hone_attention_view *view) {
    int32_t low[TILE] = {0}, high[TILE] = {0};
    memcpy(low, view->low, (size_t)view->queries * sizeof *low);
    memcpy(high, view->high, (size_t)view->queries * sizeof *high);
    for (int32_t key = (int32_t)view->least_low; key < view->most_high; key++) {
        float *const row = scores + key * TILE;
        for (int i = 0; i < TILE; i++) row[i] = hone_select((key >= low[i]) & (key < high[i]), row[i], -INFINITY);
    }
}

HONE_VECTOR void hone_attention_soften(float *scores, int64_t low, int64_t high, hone_attention_running *state) {
    float max[TILE], sum[TILE];
    memcpy(max, state->max, sizeof max);
    for (int64_t key = low; key < high; key++) {
        const float *const row = scores + key * TILE;
        for (int i = 0; i < TILE; i++) max[i] = row[i] > max[i] ? row[i] : max[i];
    }
    for (int i = 0; i < TILE; i++) {
        const float base = hone_select(max[i] == -INFINITY, 0.0f, max[i]); // nothing seen yet: all terms are 0
        state->shrink[i] = hone_exp(state->max[i] - base);
        state->max[i] = max[i];
        max[i] = base;
        sum[i] = state->sum[i] * state->shrink[i];
    }
    for (int64_t key = low; key < high; key++) {
        float *const row = scores + key * TILE;
        for (int i = 0; i < TILE; i++) {
            row[i] = hone_exp(row[i] - max[i]);
            sum[i] += row[i];
        }
    }
    memcpy(state->sum, sum, sizeof sum);
}

HONE_VECTOR void hone_attention_scale(float *out, const float *x, float factor, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = x[i] * factor;
}

// scores[key][query] for what is seen of the tile.
static void score_tile(const context *c, const buffers *b, const float *keys, const hone_attention_view *view) {
    const hone_kernels *const kernels = c->kernels;
    for (int64_t q = 0; q < view->queries; q += kernels->tile_columns) {
        int64_t low, high;
        hone_attention_keys(view, q, q + kernels->tile_columns, &low, &high);
        for (int64_t key = low; key < high; key += kernels->tile_rows)
            kernels->tile(c->a.head, keys + key, TILE, b->queries + q, TILE, b->scores + key * TILE + q, TILE, false);
    }
}

// sums[query] += sum over keys of scores[key][query] values[key].
static void add_values(const context *c, const buffers *b, const float *values, int64_t step,
                       const hone_attention_view *view) {
    const hone_kernels *const kernels = c->kernels;
    const int64_t padded = hone_attention_padded(c->a.head);
    for (int64_t j = 0; j < padded; j += kernels->tile_columns)
        for (int64_t q = 0; q < view->queries; q += kernels->tile_rows) {
            int64_t low, high;
            hone_attention_keys(view, q, q + kernels->tile_rows, &low, &high);
            if (low < high)
                kernels->tile(high - low, b->scores + low * TILE + q, TILE, values + low * step + j, step,
                              b->sums + q * padded + j, padded, true);
        }
}

// Adds key tile `tile` to the `queries` of a head that begin at t0.
static void add_tile(const context *c, const buffers *b, hone_attention_running *state, int64_t head, int64_t t0,
                     int64_t queries, int64_t tile) {
    const hone_attention *const a = &c->a;
    const int64_t kv = head / a->group, k0 = tile * TILE, padded = hone_attention_padded(a->head);
    const int64_t left = keys_end(a) - k0, keys = left < TILE ? left : TILE;
    hone_attention_view view;
    if (!hone_attention_look(a, t0, queries, k0, keys, &view)) return;
    score_tile(c, b, transposed_keys(c, kv, tile), &view);
    if (!view.whole || queries < TILE) mask_scores(b->scores, &view);
    hone_attention_soften(b->scores, view.least_low, view.most_high, state);
    for (int64_t r = 0; r < queries; r++)
        if (state->shrink[r] != 1)
            hone_attention_scale(b->sums + r * padded, b->sums + r * padded, state->shrink[r], padded);
    int64_t step = a->k_columns;
    const float *const values =
        hone_attention_rows(a->v + k0 * a->k_columns + kv * a->head, &step, keys, a->head, b->values);
    add_values(c, b, values, step, &view);
}

static buffers buffers_of(const context *c, int thread) {
    const int64_t padded = hone_attention_padded(c->a.head);
    buffers b = {.queries = hone_call_scratch(c->call, thread)};
    b.scores = b.queries + hone_attention_transposed_floats(c->a.head);
    b.sums = b.scores + ROWS * TILE;
    b.values = b.sums + ROWS * padded;
    return b;
}

static void tile_task(void *opaque, int64_t index, int thread) {
    const context *const c = opaque;
    const hone_attention *const a = &c->a;
    // The last tiles see the most keys: they go first, so that threads finish together.
    const int64_t head = index % a->heads, t0 = (c->query_tiles - 1 - index / a->heads) * TILE;
    const int64_t queries = t0 + TILE < a->queries ? TILE : a->queries - t0, padded = hone_attention_padded(a->head);
    const buffers b = buffers_of(c, thread);
    hone_attention_running state;
    for (int i = 0; i < TILE; i++) state.max[i] = -INFINITY, state.sum[i] = 0;
    memset(b.sums, 0, (size_t)(ROWS * padded) * sizeof(float));
    hone_attention_transpose(c->kernels, a->q + t0 * a->q_columns + head * a->head, a->q_columns, queries, a->head,
                             a->scale, b.queries);
    for (int64_t tile = 0; tile * TILE < keys_end(a); tile++) add_tile(c, &b, &state, head, t0, queries, tile);
    for (int64_t r = 0; r < queries; r++) {
        int64_t low, high;
        hone_attention_range(a, t0 + r, &low, &high);
        // All scores -infinity is not the same as no keys: it gives NaN.
        const float factor = low < high ? 1.0f / state.sum[r] : 0.0f;
        hone_attention_scale(c->out + (t0 + r) * a->q_columns + head * a->head, b.sums + r * padded, factor, a->head);
        c->lse[head * a->queries + t0 + r] = low < high ? state.max[r] + hone_log(state.sum[r]) : 0.0f;
    }
}

// --- the operator ----------------------------------------------------------------------------------------------------
static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_attention_check(call, 0, 3, error));
    const hone_tensor *const q = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(call->operands[8].integer >= 0, "window must be 0 (none) or more, not %lld",
                  (long long)call->operands[8].integer);
    call->outputs[0].type = q->type;
    call->outputs[1].type = hone_type(HONE_DTYPE_F32, 2, call->operands[4].integer, q->type.dims[0]);
    return HONE_OK;
}

static context resolve(const hone_op_call *call, const hone_attention *a, float *out, float *lse) {
    return (context){.a = *a,
                     .call = call,
                     .out = out,
                     .lse = lse,
                     .keys = call->workspace,
                     .query_tiles = (a->queries + TILE - 1) / TILE,
                     .key_tiles = (a->keys + TILE - 1) / TILE};
}

hone_cpu_needs hone_attention_needs(const hone_attention *a) {
    const int64_t padded = hone_attention_padded(a->head), transposed = hone_attention_transposed_floats(a->head);
    if (a->queries <= FEW_QUERIES) return hone_attention_one_needs(a);
    return (hone_cpu_needs){
        .workspace_bytes = (size_t)(a->kv_heads * ((a->keys + TILE - 1) / TILE) * transposed) * sizeof(float),
        .thread_scratch_bytes = (size_t)(transposed + ROWS * TILE + ROWS * padded + TILE * padded) * sizeof(float)};
}

void hone_attention_run(const hone_op_call *call, const hone_attention *a, float *out, float *lse) {
    context c = resolve(call, a, out, lse);
    c.kernels = hone_kernels_get();
    for (int64_t t = 0; t < a->queries && a->queries <= FEW_QUERIES; t++) hone_attention_one(call, a, t, out, lse);
    if (a->queries <= FEW_QUERIES) return;
    hone_call_ranges(call, (keys_end(a) + TILE - 1) / TILE * a->kv_heads, 4, transpose_range, &c);
    hone_call_parallel(call, c.query_tiles * a->heads, tile_task, &c);
}

static hone_attention attention_of(const hone_op_call *call) {
    hone_attention a = hone_attention_of(call, 0, 3);
    a.offset = call->operands[7].integer;
    a.window = call->operands[8].integer;
    return a;
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const hone_attention a = attention_of(call);
    return hone_attention_needs(&a);
}

static void cpu(const hone_op_call *call) {
    const hone_attention a = attention_of(call);
    hone_attention_run(call, &a, call->outputs[0].data, call->outputs[1].data);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_argument *const argument[] = {hone_node_argument(call->node, 4), hone_node_argument(call->node, 5),
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

// Two products a pair: q k^T and p v.
static double flop(const hone_op_call *call) {
    const hone_attention a = attention_of(call);
    return 4 * hone_attention_terms(&a);
}

const hone_op hone_op_attention = {
    .schema = "hone::attention(Tensor q, Tensor k, Tensor v, Tensor row_start, int heads, int kv_heads, float scale, "
              "int offset=0, int window=0) -> (Tensor, Tensor)",
    .summary = "out [T, H*hd] = softmax(scale * q k^T) v over keys [max(row_start, t - window + 1), t], t from offset; "
               "and its logsumexp [H, T]",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .gradient = gradient,
    .gradient_text = "d_q, d_k, d_v by hone::attention_backward, from out and lse",
    .variants = hone_kernels_attention,
    .flop = flop,
};
