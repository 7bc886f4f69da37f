// SPDX-License-Identifier: Apache-2.0
// Building the graphs of a training step. Letters: T tokens, D width, C rows of a head chunk, V vocabulary.
#include "train/step_plan.h"

#include <string.h>

static hone_value batch_array(hone_graph *graph, const hone_step_buffers *buffers, const char *name, int array,
                              hone_tensor_type type) {
    return hone_graph_state(graph, name, type, buffers->batch, (size_t)array * buffers->stride);
}

typedef struct step_values {
    hone_llama_inputs in;
    hone_value targets, selected; // i32 [T]
    hone_value hidden_gradient;   // [T, D]
    hone_value loss;              // []
    hone_value *lora;             // [2 * entries]
    hone_value *gradients;        // [2 * entries]
    hone_value *wanted;           // [2 * entries] what hone_graph_gradients gives; not read
    size_t lora_count;            // 2 * entries
} step_values;

static void declare(hone_graph *g, const hone_step_settings *s, const hone_step_buffers *b, hone_step_shape shape,
                    step_values *v) {
    const hone_model_config *const c = &s->model->config;
    const hone_tensor_type words = hone_type(HONE_DTYPE_I32, 1, shape.tokens);
    const hone_tensor_type table = hone_type(HONE_DTYPE_F32, 2, b->positions, c->rope_columns / 2);
    v->in = (hone_llama_inputs){
        .tokens = batch_array(g, b, "tokens", HONE_BATCH_IDS, words),
        .positions = batch_array(g, b, "positions", HONE_BATCH_POSITIONS, words),
        .row_start = batch_array(g, b, "row_start", HONE_BATCH_ROW_START, words),
        .cosines = hone_graph_constant(g, "cosines", table, b->tables, 0),
        .sines = hone_graph_constant(g, "sines", table, b->tables, b->sines),
        .lora_values = v->lora_count ? v->lora : NULL,
        .dropout = shape.backward ? s->dropout : 0,
        .dropout_seed = (int64_t)(s->seed & INT64_MAX),
    };
    if (v->in.dropout > 0)
        v->in.dropout_keys =
            batch_array(g, b, "keys", HONE_BATCH_KEYS, hone_type(HONE_DTYPE_I32, 2, shape.tokens, (int64_t)2));
    v->targets = batch_array(g, b, "targets", HONE_BATCH_TARGETS, words);
    v->selected = batch_array(g, b, "selected", HONE_BATCH_SELECTED, words);
    v->loss = hone_graph_state(g, "loss", hone_type(HONE_DTYPE_F32, 0), b->metrics, 0);
    if (v->lora_count) hone_lora_values(g, s->lora, NULL, "", v->lora);
    if (!shape.backward) return;
    v->hidden_gradient = hone_graph_state(g, "hidden gradient", hone_type(HONE_DTYPE_F32, 2, shape.tokens, c->width),
                                          b->hidden_gradient, 0);
    if (v->lora_count) hone_lora_values(g, s->lora, b->gradients, "gradient of ", v->gradients);
}

static bool head_has_lora(const hone_lora *lora) {
    return lora && lora->count && lora->entries[lora->count - 1].matrix == HONE_MATRIX_HEAD;
}

// One chunk of supervised rows: gather, logits, loss, and the gradient back to the rows it came from.
static hone_status build_head(hone_graph *g, const hone_step_settings *s, hone_step_shape shape, step_values *v,
                              hone_value hidden, hone_error *error) {
    const hone_argument chunk = HONE_LIVE(HONE_LIVE_CHUNK);
    const hone_argument rows = HONE_I(shape.chunk);
    const hone_value h = hone_emit(g, "hone::rows_gather", HONE_T(hidden), HONE_T(v->selected), chunk, rows);
    const hone_value labels = hone_emit(g, "hone::rows_gather", HONE_T(v->targets), HONE_T(v->selected), chunk, rows);
    hone_llama_inputs in = v->in; // the head sees the chunk's rows, and so do its dropout keys
    if (in.dropout > 0 && head_has_lora(s->lora))
        in.dropout_keys = hone_emit(g, "hone::rows_gather", HONE_T(in.dropout_keys), HONE_T(v->selected), chunk, rows);
    const hone_value logits = hone_llama_head(g, s->model, s->lora, &in, h);
    hone_value results[2];
    hone_emit_all(g, "et_vk::fused_ce", results, 2, HONE_T(logits), HONE_T(labels), HONE_LIVE(HONE_LIVE_VALID));
    hone_emit(g, "hone::accumulate_", HONE_T(v->loss), HONE_T(results[0]));
    if (!shape.backward) return hone_graph_status(g, error);
    // The head's own LoRA is differentiated here; its gradients add up over the chunks.
    const size_t own = head_has_lora(s->lora) ? 2 : 0;
    const size_t first = v->lora_count - own;
    hone_value wrt[3] = {h}, into[3] = {{0}}, given[3];
    for (size_t i = 0; i < own; i++) {
        wrt[1 + i] = v->lora[first + i];
        into[1 + i] = v->gradients[first + i];
    }
    HONE_TRY(hone_graph_gradients(g, &logits, &results[1], 1, wrt, 1 + own, into, given, error));
    hone_emit(g, "hone::rows_scatter_", HONE_T(v->hidden_gradient), HONE_T(v->selected), HONE_T(given[0]), chunk);
    return hone_graph_status(g, error);
}

static hone_status build_step(hone_step_plan *out, const hone_step_settings *s, const hone_step_buffers *b,
                              step_values *v, hone_error *error) {
    hone_graph *const g = out->graph;
    declare(g, s, b, out->shape, v);
    const hone_value hidden = hone_llama_body(g, s->model, s->lora, &v->in);
    hone_graph_checkpoint(g, hidden);
    if (out->shape.backward) hone_emit(g, "hone::zero_", HONE_T(v->hidden_gradient));
    hone_graph_segment(g, true);
    HONE_TRY(hone_graph_status(g, error));
    HONE_TRY(build_head(g, s, out->shape, v, hidden, error));
    hone_plan_options options = {.recompute = s->recompute,
                                 .max_arena_bytes = hone_device_piece_bytes(s->model->device)};
    if (out->shape.backward) {
        hone_graph_segment(g, false);
        options.first_backward_node = hone_graph_node_count(g);
        const size_t layers = v->lora_count - (head_has_lora(s->lora) ? 2 : 0);
        HONE_TRY(
            hone_graph_gradients(g, &hidden, &v->hidden_gradient, 1, v->lora, layers, v->gradients, v->wanted, error));
    }
    return hone_plan_create(g, &options, &out->plan, error);
}

hone_status hone_step_plan_create(const hone_step_settings *settings, const hone_step_buffers *buffers,
                                  hone_step_shape shape, hone_step_plan *out, hone_error *error) {
    *out = (hone_step_plan){.shape = shape};
    step_values v = {.lora_count = settings->lora ? 2 * settings->lora->count : 0};
    hone_value *block;
    HONE_TRY(HONE_NEW_ARRAY(&block, 3 * v.lora_count, "a training graph", error));
    v.lora = block;
    v.gradients = block + v.lora_count;
    v.wanted = block + 2 * v.lora_count;
    hone_status status = hone_graph_create(&out->graph, error);
    if (status == HONE_OK) status = build_step(out, settings, buffers, &v, error);
    hone_free(block);
    if (status != HONE_OK) hone_step_plan_clear(out);
    return status;
}

static hone_status build_update(hone_step_plan *out, const hone_step_settings *s, const hone_step_buffers *b,
                                hone_error *error) {
    hone_graph *const g = out->graph;
    const hone_tensor_type flat = hone_type(HONE_DTYPE_F32, 1, (int64_t)s->lora->floats);
    const hone_value loss = hone_graph_state(g, "loss", hone_type(HONE_DTYPE_F32, 0), b->metrics, 0);
    const hone_value told =
        hone_graph_state(g, "control", hone_type(HONE_DTYPE_F32, 1, (int64_t)4), b->metrics, HONE_METRICS_CONTROL);
    const hone_value parameters = hone_graph_state(g, "parameters", flat, s->lora->buffer, 0);
    const hone_value gradients = hone_graph_state(g, "gradients", flat, b->gradients, 0);
    const hone_value first = hone_graph_state(g, "first moment", flat, b->first_moment, 0);
    const hone_value second = hone_graph_state(g, "second moment", flat, b->second_moment, 0);
    hone_emit(g, "hone::zero_", HONE_T(gradients));
    hone_emit(g, "hone::zero_", HONE_T(loss));
    hone_emit(g, "hone::zero_", HONE_T(told));
    hone_graph_segment(g, false);
    const hone_value control =
        hone_emit(g, "hone::gradient_control", HONE_T(gradients), HONE_T(loss), HONE_LIVE(HONE_LIVE_CLIP));
    hone_emit(g, "hone::accumulate_", HONE_T(told), HONE_T(control));
    hone_emit(g, "hone::adamw_step_guarded", HONE_T(parameters), HONE_T(first), HONE_T(second), HONE_T(gradients),
              HONE_T(control), HONE_LIVE(HONE_LIVE_RATE), HONE_R(s->beta1), HONE_R(s->beta2), HONE_R(s->epsilon),
              HONE_LIVE(HONE_LIVE_DECAY), HONE_LIVE(HONE_LIVE_CORRECTION1), HONE_LIVE(HONE_LIVE_CORRECTION2));
    const hone_plan_options options = {.max_arena_bytes = hone_device_piece_bytes(s->model->device)};
    return hone_plan_create(g, &options, &out->plan, error);
}

hone_status hone_update_plan_create(const hone_step_settings *settings, const hone_step_buffers *buffers,
                                    hone_step_plan *out, hone_error *error) {
    *out = (hone_step_plan){0};
    hone_status status = hone_graph_create(&out->graph, error);
    if (status == HONE_OK) status = build_update(out, settings, buffers, error);
    if (status != HONE_OK) hone_step_plan_clear(out);
    return status;
}

void hone_step_plan_clear(hone_step_plan *plan) {
    hone_program_destroy(plan->program);
    hone_plan_destroy(plan->plan);
    hone_graph_destroy(plan->graph);
    *plan = (hone_step_plan){0};
}
