// SPDX-License-Identifier: Apache-2.0
// Attention as ExecuTorch's programs have it: any number of heads, scores with a mask added, in tiles.
//
// q [..,S,D], k [..,S_kv,D], v [..,S_kv,Dv] with the same leading dimensions, mask broadcast to [..,S,S_kv]:
//   out[.., i] = sum_j p_j v[.., j],  p = softmax over j of (scale * <q[.., i], k[.., j]> + mask[.., i, j])
// A query whose scores are all -infinity gives NaN, as softmax does; without keys it gives 0.
//
// A task is a tile of queries of one head. It goes over the keys from first to last a tile at a time, with the largest
// score so far and the sum of exponentials relative to it: no more than a tile of scores exists at a time. The gradient
// is made of other operators and does keep all scores, [.., S, S_kv], between the passes and in the backward one.
#include <math.h>
#include <string.h>

#include "ops/sdpa/attention.h"
#include "ops/sdpa/attention_kernels.h"
#include "ops/shared/broadcast.h"
#include "ops/shared/vector.h"

enum { TILE = HONE_ATTENTION_TILE, ROWS = HONE_ATTENTION_ROWS };

typedef struct context {
    const hone_op_call *call;
    const hone_kernels *kernels;
    float *out;
    const float *q, *k, *v, *mask; // mask may be NULL
    int64_t queries, keys, features, values, query_tiles;
    int rank;                            // of the leading dimensions
    int64_t dims[HONE_MAX_RANK];         // leading
    int64_t mask_strides[HONE_MAX_RANK]; // leading, queries, keys; 0 where the mask repeats
    float scale;
} context;

// One thread's buffers, in its scratch.
typedef struct buffers {
    float *queries, *keys; // transposed; queries scaled
    float *scores;         // [ROWS][TILE], keys as rows
    float *sums;           // [ROWS][padded values]
    float *values;         // room for padded values
    float *mask;           // a tile of it, keys as rows
} buffers;

static size_t scratch_floats(const context *c) {
    const int64_t padded = hone_attention_padded(c->values);
    return (size_t)(2 * hone_attention_transposed_floats(c->features) + ROWS * TILE + ROWS * padded + TILE * padded +
                    hone_attention_transposed_floats(TILE));
}

static buffers buffers_of(const context *c, int thread) {
    buffers b = {.queries = hone_call_scratch(c->call, thread)};
    b.keys = b.queries + hone_attention_transposed_floats(c->features);
    b.scores = b.keys + hone_attention_transposed_floats(c->features);
    b.sums = b.scores + ROWS * TILE;
    b.values = b.sums + ROWS * hone_attention_padded(c->values);
    b.mask = b.values + TILE * hone_attention_padded(c->values);
    return b;
}

// --- a tile ----------------------------------------------------------------------------------------------------------
HONE_VECTOR static void add_all(float *out, const float *x, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] += x[i];
}

// The mask has queries as rows, the scores have keys: rows of keys are turned first.
static void add_mask(const context *c, const buffers *b, const float *mask, int64_t queries, int64_t keys) {
    const int64_t query_step = c->mask_strides[c->rank];
    if (c->mask_strides[c->rank + 1] != 0) {
        hone_attention_transpose(c->kernels, mask, query_step, queries, keys, 1, b->mask);
        add_all(b->scores, b->mask, keys * TILE);
        return;
    }
    for (int64_t i = 0; i < TILE; i++) b->mask[i] = i < queries ? mask[i * query_step] : 0;
    for (int64_t j = 0; j < keys; j++) add_all(b->scores + j * TILE, b->mask, TILE);
}

// Keys [k0, k0 + keys) of a head.
static void add_tile(const context *c, const buffers *b, hone_attention_running *state, int64_t head, int64_t k0,
                     int64_t keys, int64_t queries, const float *mask) {
    const hone_kernels *const kernels = c->kernels;
    const int64_t padded = hone_attention_padded(c->values);
    hone_attention_transpose(kernels, c->k + (head * c->keys + k0) * c->features, c->features, keys, c->features, 1,
                             b->keys);
    for (int64_t i = 0; i < queries; i += kernels->tile_columns)
        for (int64_t j = 0; j < keys; j += kernels->tile_rows)
            kernels->tile(c->features, b->keys + j, TILE, b->queries + i, TILE, b->scores + j * TILE + i, TILE, false);
    if (mask) add_mask(c, b, mask + k0 * c->mask_strides[c->rank + 1], queries, keys);
    hone_attention_soften(b->scores, 0, keys, state);
    for (int64_t i = 0; i < queries; i++)
        if (state->shrink[i] != 1)
            hone_attention_scale(b->sums + i * padded, b->sums + i * padded, state->shrink[i], padded);
    int64_t step = c->values;
    const float *const values =
        hone_attention_rows(c->v + (head * c->keys + k0) * c->values, &step, keys, c->values, b->values);
    for (int64_t d = 0; d < padded; d += kernels->tile_columns)
        for (int64_t i = 0; i < queries; i += kernels->tile_rows)
            kernels->tile(keys, b->scores + i, TILE, values + d, step, b->sums + i * padded + d, padded, true);
}

// The mask's element for the head's first query and key.
static const float *mask_of(const context *c, int64_t head) {
    const float *at = c->mask;
    for (int d = c->rank - 1; d >= 0 && at; d--) {
        at += head % c->dims[d] * c->mask_strides[d];
        head /= c->dims[d];
    }
    return at;
}

static void tile_task(void *opaque, int64_t index, int thread) {
    const context *const c = opaque;
    const int64_t head = index / c->query_tiles, t0 = index % c->query_tiles * TILE;
    const int64_t queries = t0 + TILE < c->queries ? TILE : c->queries - t0, padded = hone_attention_padded(c->values);
    const buffers b = buffers_of(c, thread);
    hone_attention_running state;
    for (int i = 0; i < TILE; i++) state.max[i] = -INFINITY, state.sum[i] = 0;
    memset(b.sums, 0, (size_t)(ROWS * padded) * sizeof(float));
    memset(b.scores, 0, (size_t)(ROWS * TILE) * sizeof(float)); // columns beyond the queries are numbers too
    hone_attention_transpose(c->kernels, c->q + (head * c->queries + t0) * c->features, c->features, queries,
                             c->features, c->scale, b.queries);
    const float *mask = mask_of(c, head);
    if (mask) mask += t0 * c->mask_strides[c->rank];
    for (int64_t k0 = 0; k0 < c->keys; k0 += TILE)
        add_tile(c, &b, &state, head, k0, k0 + TILE < c->keys ? TILE : c->keys - k0, queries, mask);
    for (int64_t i = 0; i < queries; i++)
        hone_attention_scale(c->out + (head * c->queries + t0 + i) * c->values, b.sums + i * padded,
                             c->keys > 0 ? 1.0f / state.sum[i] : 0.0f, c->values);
}

// --- the operator ----------------------------------------------------------------------------------------------------
static hone_status check_mask(const hone_op_call *call, const hone_tensor_type *scores, hone_error *error) {
    const hone_tensor *const mask = hone_operand_tensor(call, 3);
    if (!mask) return HONE_OK;
    HONE_TRY(hone_op_want_dtype(call, 3, HONE_DTYPE_F32, error));
    const hone_tensor whole = {.type = *scores};
    bool fits = mask->type.rank <= scores->rank;
    for (int i = 1; i <= mask->type.rank && fits; i++) {
        const int64_t size = mask->type.dims[mask->type.rank - i];
        fits = size == 1 || size == scores->dims[scores->rank - i];
    }
    HONE_OP_CHECK(fits, "attn_mask %s does not broadcast to the scores %s", hone_op_type_text(mask),
                  hone_op_type_text(&whole));
    return HONE_OK;
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 3; i++) HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const k = hone_operand_tensor(call, 1),
                             *const v = hone_operand_tensor(call, 2);
    const int rank = q->type.rank;
    HONE_OP_CHECK(rank >= 2, "q must be [.., S, D], not %s", hone_op_type_text(q));
    bool fits = k->type.rank == rank && v->type.rank == rank;
    for (int d = 0; d < rank - 2 && fits; d++)
        fits = k->type.dims[d] == q->type.dims[d] && v->type.dims[d] == q->type.dims[d];
    fits = fits && k->type.dims[rank - 1] == q->type.dims[rank - 1] && k->type.dims[rank - 2] == v->type.dims[rank - 2];
    HONE_OP_CHECK(fits, "q %s, k %s and v %s are no [.., S, D], [.., S_kv, D] and [.., S_kv, Dv]", hone_op_type_text(q),
                  hone_op_type_text(k), hone_op_type_text(v));
    hone_tensor_type scores = q->type;
    scores.dims[rank - 1] = k->type.dims[rank - 2];
    HONE_TRY(check_mask(call, &scores, error));
    call->outputs[0].type = q->type;
    call->outputs[0].type.dims[rank - 1] = v->type.dims[rank - 1];
    return HONE_OK;
}

static void set_mask(context *c, const hone_tensor *mask) {
    int64_t step = 1;
    if (!mask) return;
    c->mask = mask->data;
    for (int i = 1; i <= mask->type.rank; i++) {
        const int64_t size = mask->type.dims[mask->type.rank - i];
        c->mask_strides[c->rank + 2 - i] = size == 1 ? 0 : step;
        step *= size;
    }
}

static context resolve(const hone_op_call *call) {
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const v = hone_operand_tensor(call, 2);
    const int rank = q->type.rank;
    const hone_operand *const scale = &call->operands[4];
    context c = {.call = call,
                 .out = call->outputs[0].data,
                 .q = q->data,
                 .k = hone_operand_floats(call, 1),
                 .v = v->data,
                 .queries = q->type.dims[rank - 2],
                 .keys = v->type.dims[rank - 2],
                 .features = q->type.dims[rank - 1],
                 .values = v->type.dims[rank - 1],
                 .rank = rank - 2};
    c.query_tiles = (c.queries + TILE - 1) / TILE;
    c.scale = (float)(scale->kind == HONE_ARGUMENT_NONE ? 1 / sqrt((double)c.features) : scale->real);
    memcpy(c.dims, q->type.dims, (size_t)c.rank * sizeof *c.dims);
    set_mask(&c, hone_operand_tensor(call, 3));
    return c;
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const context c = resolve(call);
    return (hone_cpu_needs){.thread_scratch_bytes = scratch_floats(&c) * sizeof(float)};
}

static void cpu(const hone_op_call *call) {
    context c = resolve(call);
    if (hone_type_elements(&call->outputs[0].type) == 0) return;
    c.kernels = hone_kernels_get();
    const int64_t heads = hone_type_elements(&call->outputs[0].type) / (c.queries * c.values);
    hone_call_parallel(call, heads * c.query_tiles, tile_task, &c);
}

// --- on a GPU --------------------------------------------------------------------------------------------------------
static void kernel(const hone_op_call *call, hone_kernel_list *list) {
    const context c = resolve(call);
    const hone_tensor *const qkv[] = {hone_operand_tensor(call, 0), hone_operand_tensor(call, 1),
                                      hone_operand_tensor(call, 2)};
    const hone_tensor *const mask = hone_operand_tensor(call, 3);
    if (hone_type_elements(&call->outputs[0].type) == 0) return;
    hone_attention_sizes sizes = {.queries = c.queries,
                                  .keys = c.keys,
                                  .features = c.features,
                                  .values = c.values,
                                  .heads = hone_type_elements(&call->outputs[0].type) / (c.queries * c.values),
                                  .sharing = 1,
                                  .offset = c.keys, // all keys are seen
                                  .scale = c.scale,
                                  .q_row = c.features,
                                  .q_head = c.queries * c.features,
                                  .k_row = c.features,
                                  .k_head = c.keys * c.features,
                                  .v_row = c.values,
                                  .v_head = c.keys * c.values,
                                  .out_row = c.values,
                                  .out_head = c.queries * c.values,
                                  .kind = mask ? HONE_PLACES_MASK : HONE_PLACES_NONE,
                                  .joined = 1,
                                  .mask_query = c.mask_strides[c.rank],
                                  .mask_key = c.mask_strides[c.rank + 1],
                                  .mask_rank = c.rank};
    memcpy(sizes.mask_dims, c.dims, (size_t)c.rank * sizeof *c.dims);
    memcpy(sizes.mask_steps, c.mask_strides, (size_t)c.rank * sizeof *c.mask_strides);
    hone_attention_forward(list, &sizes, qkv, mask, &call->outputs[0], NULL);
}

HONE_PLAIN_KERNEL_RULE(masked_attention, kernel)

// --- gradient --------------------------------------------------------------------------------------------------------
typedef struct matrices {
    hone_graph *graph;
    hone_tensor_type scores; // [.., S, S_kv]
    int64_t heads;           // leading dimensions multiplied
} matrices;

// [.., rows, columns] as [heads, rows, columns], for bmm.
static hone_value stacked(const matrices *m, hone_value value) {
    const hone_tensor_type type = *hone_graph_type(m->graph, value);
    const int64_t dims[] = {m->heads, type.dims[type.rank - 2], type.dims[type.rank - 1]};
    return hone_emit(m->graph, "aten::view_copy", HONE_T(value), HONE_IS(dims, 3));
}

static hone_value as_type(const matrices *m, hone_value value, const hone_tensor_type *type) {
    return hone_emit(m->graph, "aten::view_copy", HONE_T(value), HONE_IS(type->dims, (size_t)type->rank));
}

static hone_value turned(const matrices *m, hone_value value) {
    return hone_emit(m->graph, "aten::permute_copy", HONE_T(value), HONE_IS(((const int64_t[]){0, 2, 1}), 3));
}

static hone_value product(const matrices *m, hone_value a, hone_value b) {
    return hone_emit(m->graph, "aten::bmm", HONE_T(a), HONE_T(b));
}

static hone_value scaled(const matrices *m, hone_value value, hone_argument scale) {
    return hone_emit(m->graph, "aten::mul.Scalar", HONE_T(value), scale);
}

// p = softmax(scale q k^T + mask) once more; then for d_p = d v^T: d_s = p (d_p - <d_p, p>).
static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value q = hone_grad_in(call, 0), k = hone_grad_in(call, 1), v = hone_grad_in(call, 2),
                     mask = hone_grad_in(call, 3);
    const hone_tensor_type types[] = {*hone_graph_type(call->graph, q), *hone_graph_type(call->graph, k),
                                      *hone_graph_type(call->graph, v)};
    const int rank = types[0].rank;
    matrices m = {.graph = call->graph, .scores = types[0], .heads = 1};
    (void)error;
    for (int d = 0; d < rank - 2; d++) m.heads *= types[0].dims[d];
    m.scores.dims[rank - 1] = types[1].dims[rank - 2];
    const hone_argument given = *hone_node_argument(call->node, 4);
    const hone_argument scale =
        given.kind == HONE_ARGUMENT_NONE ? HONE_R(1 / sqrt((double)types[0].dims[rank - 1])) : given;
    const hone_value d = stacked(&m, hone_grad_out(call, 0)), q3 = stacked(&m, q), k3 = stacked(&m, k);
    hone_value scores = scaled(&m, product(&m, q3, turned(&m, k3)), scale);
    if (mask.id) {
        scores = as_type(&m, scores, &m.scores);
        scores = stacked(&m, hone_emit(m.graph, "aten::add.Tensor", HONE_T(scores), HONE_T(mask)));
    }
    const hone_value p = hone_emit(m.graph, "aten::_softmax", HONE_T(scores), HONE_I(-1), HONE_B(0));
    if (call->wanted[2]) call->input_gradients[2] = as_type(&m, product(&m, turned(&m, p), d), &types[2]);
    const hone_value d_p = product(&m, d, turned(&m, stacked(&m, v)));
    const hone_value d_s =
        hone_emit(m.graph, "aten::_softmax_backward_data", HONE_T(d_p), HONE_T(p), HONE_I(-1), HONE_I(6));
    if (call->wanted[0]) call->input_gradients[0] = as_type(&m, scaled(&m, product(&m, d_s, k3), scale), &types[0]);
    if (call->wanted[1])
        call->input_gradients[1] = as_type(&m, scaled(&m, product(&m, turned(&m, d_s), q3), scale), &types[1]);
    if (mask.id && call->wanted[3])
        call->input_gradients[3] = hone_broadcast_gradient(m.graph, as_type(&m, d_s, &m.scores), mask);
    return HONE_OK;
}

// Every query with every key: q k^T and p v.
static double flop(const hone_op_call *call) {
    const hone_tensor_type *const q = &hone_operand_tensor(call, 0)->type, *const k =
                                                                               &hone_operand_tensor(call, 1)->type;
    const double pairs = (double)hone_type_rows(q) * (double)k->dims[k->rank - 2];
    return 2 * pairs * (double)(hone_type_columns(q) + hone_type_columns(&hone_operand_tensor(call, 2)->type));
}

const hone_op hone_op_masked_attention = {
    .schema = "et_vk::sdpa(Tensor q, Tensor k, Tensor v, Tensor? attn_mask=None, float? scale=None) -> Tensor",
    .summary =
        "softmax(scale * q k^T + attn_mask) v for q [..,S,D], k [..,S_kv,D], v [..,S_kv,Dv]; scale is 1 / sqrt(D) "
        "unless given",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .gradient = gradient,
    .gradient_text =
        "d_v = p^T d, d_q = scale d_s k, d_k = scale d_s^T q, d_attn_mask = d_s summed to its shape; with p "
        "the softmax and d_s its gradient by aten::bmm and aten::_softmax: all scores are kept meanwhile",
    .variants = hone_kernels_masked_attention,
    .flop = flop,
};
