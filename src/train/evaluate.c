// SPDX-License-Identifier: Apache-2.0
// Evaluation: the mean loss over a data set with the weights as they are, through the same plans without a backward pass.
#include <math.h>
#include <string.h>

#include "train/trainer.h"

// Rows longer than any that training has would not fit the buffers: they are refused before anything runs.
static hone_status begin(hone_trainer *trainer, const hone_dataset *data, hone_error *error) {
    HONE_FAIL_IF(trainer->phase != HONE_PHASE_IDLE, error, INVALID_ARGUMENT, "a training step is in progress");
    hone_train_options options = trainer->options;
    options.in_order = true;
    options.pack = true;
    HONE_TRY(hone_order_create(data, &options, &trainer->eval_order, error));
    trainer->eval_order.pack_tokens = trainer->batch.capacity;
    trainer->eval_supervised = 0;
    for (size_t i = 0; i < data->row_count; i++) {
        const hone_dataset_row *const row = &data->rows[i];
        trainer->eval_supervised += (int64_t)row->supervised;
        HONE_FAIL_IF(
            (int64_t)row->length > trainer->batch.capacity || (int64_t)row->length > trainer->buffers.positions, error,
            BAD_DATA, "'%s' line %llu: the row has %zu tokens, but room was made for %lld: cut rows with --sequence",
            data->name, (unsigned long long)row->line, row->length,
            (long long)(trainer->buffers.positions < trainer->batch.capacity ? trainer->buffers.positions
                                                                             : trainer->batch.capacity));
    }
    const float zero = 0;
    HONE_TRY(hone_buffer_upload(trainer->buffers.metrics, 0, &zero, sizeof(zero), error));
    trainer->micro_count = trainer->micro_next = 0;
    trainer->evaluating = true;
    return HONE_OK;
}

static hone_step_shape shape_of(const hone_trainer *trainer) {
    return hone_trainer_shape(trainer->batch.padded, trainer->batch.supervised, false);
}

static hone_status run(hone_trainer *trainer, const hone_dataset *data, hone_error *error) {
    const double live[HONE_LIVE_COUNT] = {[HONE_LIVE_VALID] = (double)trainer->eval_supervised};
    hone_step_plan *plan;
    for (;;) {
        if (trainer->micro_count == trainer->micro_next) { // nothing is under way
            if (hone_order_at_end(&trainer->eval_order)) return HONE_OK;
            const uint32_t *rows;
            size_t count;
            hone_order_next(&trainer->eval_order, &rows, &count);
            hone_batch_fill(&trainer->batch, data, rows, count, 0, hone_trainer_padding(trainer));
            trainer->micro_count++;
            trainer->eval_queued = false;
        }
        HONE_TRY(hone_trainer_plan(trainer, shape_of(trainer), &plan, error));
        if (!trainer->eval_queued) {
            HONE_TRY(hone_trainer_queue(trainer, plan, live, error));
            trainer->eval_queued = true;
        }
        HONE_TRY(hone_program_wait(plan->program, error));
        trainer->micro_next++;
    }
}

static void end(hone_trainer *trainer) {
    trainer->evaluating = false;
    hone_order_clear(&trainer->eval_order);
}

hone_status hone_trainer_evaluate(hone_trainer *trainer, const hone_dataset *data, double *loss, int64_t *tokens,
                                  hone_error *error) {
    hone_status status = trainer->evaluating ? HONE_OK : begin(trainer, data, error);
    if (status == HONE_OK) status = run(trainer, data, error);
    float sum = 0;
    if (status == HONE_OK) status = hone_buffer_download(trainer->buffers.metrics, 0, &sum, sizeof(sum), error);
    if (status == HONE_PENDING) return status;
    end(trainer);
    if (status != HONE_OK) return status;
    HONE_FAIL_IF(!isfinite(sum), error, NOT_FINITE, "the loss over '%s' is not finite", data->name);
    *loss = (double)sum;
    if (tokens) *tokens = trainer->eval_supervised;
    return HONE_OK;
}
