// SPDX-License-Identifier: Apache-2.0
// The llama family as a graph: blocks of attention and gated feed-forward between RMS norms, LoRA beside the matrices.
// Letters: T tokens, D width, H heads, Hk key/value heads, F inner width, V vocabulary, R LoRA rank.
#include <math.h>
#include <stdio.h>

#include "model/model.h"

typedef struct builder {
    hone_graph *graph;
    const hone_model *model;
    const hone_lora *lora;
    const hone_llama_inputs *in;
    size_t lora_next; // entries come in the order in which they are met
} builder;

// base + x W^T, plus the LoRA of this matrix if it has one: scale * (x A^T) B^T. base may be {0}.
static hone_value linear_onto(builder *b, int64_t layer, int matrix, hone_value x, hone_value base) {
    hone_graph *const g = b->graph;
    const hone_weight *const weight = hone_model_matrix(b->model, layer, matrix);
    if (!b->lora || !b->in->lora_values || b->lora_next >= b->lora->count)
        return hone_weight_linear(g, weight, x, base, NULL);
    const hone_lora_entry *const entry = &b->lora->entries[b->lora_next];
    if (entry->matrix != matrix || (matrix != HONE_MATRIX_HEAD && entry->layer != layer))
        return hone_weight_linear(g, weight, x, base, NULL);
    const hone_value a = b->in->lora_values[2 * b->lora_next];
    const hone_value up = b->in->lora_values[2 * b->lora_next + 1];
    hone_value input = x;
    if (b->in->dropout > 0) {
        input = hone_emit(g, "hone::dropout", HONE_T(x), HONE_T(b->in->dropout_keys), HONE_R(b->in->dropout),
                          HONE_I(b->in->dropout_seed), HONE_I((int64_t)b->lora_next));
    }
    b->lora_next++;
    const hone_added added = {.low = hone_emit(g, "aten::linear", HONE_T(input), HONE_T(a)),
                              .up = up,
                              .factor = b->lora->options.alpha / (double)entry->rank};
    return hone_weight_linear(g, weight, x, base, &added);
}

static hone_value linear(builder *b, int64_t layer, int matrix, hone_value x) {
    return linear_onto(b, layer, matrix, x, (hone_value){0});
}

static hone_value norm(const builder *b, hone_value x, const hone_weight *weight) {
    return hone_emit(b->graph, "et_vk::rms_norm", HONE_T(x), HONE_T(hone_weight_constant(b->graph, weight)),
                     HONE_R(b->model->config.epsilon));
}

static hone_value rotate(const builder *b, hone_value x, int64_t heads) {
    return hone_emit(b->graph, "hone::rope", HONE_T(x), HONE_T(b->in->cosines), HONE_T(b->in->sines),
                     HONE_T(b->in->positions), HONE_I(heads));
}

// base + the attention of x, all [T, D]
static hone_value attention(builder *b, int64_t layer, hone_value x, hone_value base) {
    const hone_model_config *const c = &b->model->config;
    hone_graph *const g = b->graph;
    const hone_value q = rotate(b, linear(b, layer, HONE_MATRIX_Q, x), c->heads);
    hone_value k = rotate(b, linear(b, layer, HONE_MATRIX_K, x), c->kv_heads);
    hone_value v = linear(b, layer, HONE_MATRIX_V, x);
    hone_argument offset = HONE_I(0);
    if (b->in->key_caches) {
        offset = HONE_LIVE(b->in->offset_slot);
        hone_emit(g, "hone::cache_write_", HONE_T(b->in->key_caches[layer]), HONE_T(k), offset);
        hone_emit(g, "hone::cache_write_", HONE_T(b->in->value_caches[layer]), HONE_T(v), offset);
        k = b->in->key_caches[layer];
        v = b->in->value_caches[layer];
    }
    const hone_value mixed =
        hone_emit(g, "hone::attention", HONE_T(q), HONE_T(k), HONE_T(v), HONE_T(b->in->row_start), HONE_I(c->heads),
                  HONE_I(c->kv_heads), HONE_R(1.0 / sqrt((double)c->head_size)), offset);
    return linear_onto(b, layer, HONE_MATRIX_O, mixed, base);
}

// base + silu(x gate^T) * (x up^T) down^T, all [T, D]
static hone_value feed_forward(builder *b, int64_t layer, hone_value x, hone_value base) {
    const hone_value gate = linear(b, layer, HONE_MATRIX_GATE, x);
    const hone_value up = linear(b, layer, HONE_MATRIX_UP, x);
    const hone_value inner = hone_emit(b->graph, "hone::silu_mul", HONE_T(gate), HONE_T(up));
    return linear_onto(b, layer, HONE_MATRIX_DOWN, inner, base);
}

hone_value hone_llama_body(hone_graph *graph, const hone_model *model, const hone_lora *lora,
                           const hone_llama_inputs *inputs) {
    builder b = {graph, model, lora, inputs, 0};
    hone_value x = hone_weight_rows(graph, &model->embedding, inputs->tokens);
    char label[48];
    for (int64_t layer = 0; layer < model->config.layers; layer++) {
        const hone_llama_block *const block = &model->blocks[layer];
        hone_graph_checkpoint(graph, x);
        snprintf(label, sizeof(label), "blk.%lld.attn", (long long)layer);
        hone_graph_label(graph, label);
        x = attention(&b, layer, norm(&b, x, &block->attention_norm), x);
        snprintf(label, sizeof(label), "blk.%lld.ffn", (long long)layer);
        hone_graph_label(graph, label);
        x = feed_forward(&b, layer, norm(&b, x, &block->inner_norm), x);
    }
    hone_graph_checkpoint(graph, x);
    hone_graph_label(graph, "output");
    x = norm(&b, x, &model->output_norm);
    hone_graph_label(graph, NULL);
    return x;
}

hone_value hone_llama_head(hone_graph *graph, const hone_model *model, const hone_lora *lora,
                           const hone_llama_inputs *inputs, hone_value hidden) {
    builder b = {graph, model, lora, inputs, lora && lora->count ? lora->count - 1 : 0};
    hone_graph_label(graph, "head");
    const hone_value logits = linear(&b, 0, HONE_MATRIX_HEAD, hidden);
    hone_graph_label(graph, NULL);
    return logits;
}

void hone_lora_values(hone_graph *graph, const hone_lora *lora, hone_buffer *buffer, const char *prefix,
                      hone_value *values) {
    char name[128], matrix[96];
    for (size_t i = 0; i < lora->count; i++) {
        const hone_lora_entry *const e = &lora->entries[i];
        hone_matrix_name(e->layer, e->matrix, matrix, sizeof(matrix));
        hone_buffer *const where = buffer ? buffer : lora->buffer;
        snprintf(name, sizeof(name), "%s%s.lora_a", prefix, matrix);
        values[2 * i] =
            hone_graph_state(graph, name, hone_type(HONE_DTYPE_F32, 2, e->rank, e->n_in), where, e->a * sizeof(float));
        snprintf(name, sizeof(name), "%s%s.lora_b", prefix, matrix);
        values[2 * i + 1] =
            hone_graph_state(graph, name, hone_type(HONE_DTYPE_F32, 2, e->n_out, e->rank), where, e->b * sizeof(float));
    }
}
