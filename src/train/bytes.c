// SPDX-License-Identifier: Apache-2.0
// What a trainer will hold, by kind, before anything is allocated: its buffers are declared, its plans are made, and the
// programs that its batches will ask for are measured.
#include <math.h>

#include "device/device.h"
#include "train/trainer.h"

#define MOST_BATCHES 2048 // of the order that are looked at for their shapes

static size_t of(const hone_buffer *buffer) {
    return buffer ? hone_buffer_bytes(buffer) : 0;
}

static size_t weights(const hone_model *model) {
    size_t bytes = of(model->embedding.buffer) + of(model->output_norm.buffer) + of(model->head.buffer);
    for (int64_t layer = 0; layer < model->config.layers; layer++) {
        const hone_llama_block *const block = &model->blocks[layer];
        bytes += of(block->attention_norm.buffer) + of(block->inner_norm.buffer);
        for (int m = 0; m < HONE_BLOCK_MATRICES; m++) bytes += of(block->matrices[m].buffer);
    }
    return bytes;
}

// The shapes that come, in the order in which they come: as many as programs are kept.
typedef struct shape_list {
    hone_step_shape shapes[HONE_PLANS];
    size_t count;
} shape_list;

static void add_shape(hone_step_shape shape, shape_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        if (hone_step_shape_same(list->shapes[i], shape)) return;
    }
    if (list->count < HONE_PLANS) list->shapes[list->count++] = shape;
}

static void add_shapes(const hone_trainer *trainer, hone_order *order, double batches, bool backward,
                       shape_list *list) {
    for (int i = 0; i < MOST_BATCHES && i < batches && list->count < HONE_PLANS; i++) {
        const uint32_t *rows;
        size_t row_count;
        int64_t tokens = 0;
        hone_order_next(order, &rows, &row_count);
        for (size_t r = 0; r < row_count; r++) tokens += (int64_t)order->data->rows[rows[r]].length;
        const int64_t padded = hone_batch_padded(tokens, hone_trainer_padding(trainer));
        add_shape(hone_trainer_shape(padded, hone_batch_count(order->data, rows, row_count), backward), list);
    }
}

static hone_status find_training(const hone_trainer *trainer, shape_list *list, hone_error *error) {
    const hone_train_options *const o = &trainer->options;
    hone_order order = {0};
    const hone_status status = hone_order_create(trainer->data, o, &order, error);
    if (status == HONE_OK) {
        const double epoch = (double)hone_order_batches(&order);
        add_shapes(trainer, &order, o->steps > 0 ? (double)o->steps * (double)o->accumulate : ceil(o->epochs * epoch),
                   true, list);
    }
    hone_order_clear(&order);
    return status;
}

static hone_status find_evaluation(const hone_trainer *trainer, const hone_dataset *data, shape_list *list,
                                   hone_error *error) {
    hone_order order = {0};
    const hone_status status = hone_trainer_evaluation_order(trainer, data, &order, error);
    if (status == HONE_OK) add_shapes(trainer, &order, (double)hone_order_batches(&order), false, list);
    hone_order_clear(&order);
    return status;
}

// Adds the program of one shape: its working memory, and what it wants of the arena.
static hone_status add_program(const hone_trainer *trainer, hone_step_shape shape, size_t *working, size_t *arena,
                               hone_error *error) {
    const hone_step_plan *plan = &trainer->plans[0]; // that of the largest batch is there
    hone_step_plan own = {0};
    size_t bytes = 0;
    hone_status status = HONE_OK;
    if (!hone_step_shape_same(shape, plan->shape)) {
        status = hone_step_plan_create(&trainer->settings, &trainer->buffers, shape, &own, error);
        plan = &own;
    }
    if (status == HONE_OK) status = hone_program_bytes(trainer->model->device, plan->plan, &bytes, error);
    if (status == HONE_OK) {
        const size_t temporaries = hone_plan_measure(plan->plan).temporaries;
        if (temporaries > *arena) *arena = temporaries;
        *working += bytes;
    }
    hone_step_plan_clear(&own);
    return status;
}

static hone_status add_programs(const hone_trainer *trainer, size_t *working, size_t *arena, hone_error *error) {
    const bool trains = !trainer->options.evaluate_only;
    const hone_dataset *const evaluated = trains ? trainer->options.evaluated : trainer->data;
    shape_list list = {0};
    size_t update = 0;
    if (trains) {
        HONE_TRY(hone_program_bytes(trainer->model->device, trainer->update.plan, &update, error));
        const size_t temporaries = hone_plan_measure(trainer->update.plan).temporaries;
        if (temporaries > *arena) *arena = temporaries;
        *working += update;
        HONE_TRY(find_training(trainer, &list, error));
    }
    if (evaluated) HONE_TRY(find_evaluation(trainer, evaluated, &list, error));
    for (size_t i = 0; i < list.count; i++) HONE_TRY(add_program(trainer, list.shapes[i], working, arena, error));
    return HONE_OK;
}

hone_status hone_trainer_count(hone_trainer *trainer, size_t *arena, hone_error *error) {
    hone_train_bytes *const b = &trainer->bytes;
    const hone_step_buffers *const buffers = &trainer->buffers;
    const hone_plan_bytes largest = hone_plan_measure(trainer->plans[0].plan);
    *b = (hone_train_bytes){.weights = weights(trainer->model)};
    *arena = largest.temporaries;
    HONE_TRY(add_programs(trainer, &b->working, arena, error));
    if (!trainer->options.evaluate_only) b->adapter = of(trainer->lora->buffer);
    b->gradients = of(buffers->gradients);
    b->moments = of(buffers->first_moment) + of(buffers->second_moment);
    b->saved = largest.saved < *arena ? largest.saved : *arena;
    b->temporaries = *arena - b->saved;
    b->head = of(buffers->hidden_gradient);
    b->inputs = of(buffers->batch) + of(buffers->metrics) + of(buffers->tables);
    b->staging = hone_device_memory_read(trainer->model->device).staging;
    b->total = b->weights + b->adapter + b->gradients + b->moments + b->saved + b->temporaries + b->head + b->inputs +
               b->working + b->staging;
    b->host_copies = hone_trainer_copy_bytes(trainer);
    const size_t limit = trainer->options.max_bytes;
    HONE_FAIL_IF(limit && b->total > limit, error, OUT_OF_MEMORY,
                 "%.1f MB are needed (%.1f MB of them for activations), but %.1f MB are allowed: use a smaller batch, "
                 "shorter rows%s",
                 (double)b->total / 1e6, (double)*arena / 1e6, (double)limit / 1e6,
                 trainer->options.recompute == HONE_RECOMPUTE_LAYERS ? "" : ", or recompute layers");
    return HONE_OK;
}

hone_train_bytes hone_trainer_bytes(const hone_trainer *trainer) {
    return trainer->bytes;
}
