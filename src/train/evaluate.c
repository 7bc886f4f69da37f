// SPDX-License-Identifier: Apache-2.0
// Evaluation: the mean loss over a data set with the weights as they are, through the same plans without a backward pass.
#include <math.h>
#include <string.h>

#include "train/trainer.h"

hone_status hone_trainer_evaluation_order(const hone_trainer *trainer, const hone_dataset *data, hone_order *out,
                                          hone_error *error) {
    hone_train_options options = trainer->options;
    options.in_order = true;
    options.pack = true;
    HONE_TRY(hone_order_create(data, &options, out, error));
    out->pack_tokens = trainer->batch.capacity;
    return HONE_OK;
}

// Rows longer than any that training has would not fit the buffers: they are refused before anything runs.
static hone_status begin(hone_trainer *trainer, const hone_dataset *data, hone_error *error) {
    HONE_FAIL_IF(trainer->phase != HONE_PHASE_IDLE, error, INVALID_ARGUMENT, "a training step is in progress");
    for (int i = 0; i <= HONE_EVAL_BEHIND; i++) { // an evaluation before this one may have failed
        while (trainer->eval_loss[i]->begun) HONE_TRY(hone_fetch_end(trainer->eval_loss[i], error));
    }
    HONE_TRY(hone_trainer_evaluation_order(trainer, data, &trainer->eval_order, error));
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
    trainer->eval_queued = true;
    trainer->eval_sum = 0;
    trainer->evaluating = true;
    return HONE_OK;
}

static hone_step_shape shape_of(const hone_trainer *trainer) {
    return hone_trainer_shape(trainer->batch.padded, trainer->batch.supervised, false);
}

// Waits for the batch that was queued `micro_next`th; what is queued behind it goes on meanwhile.
static hone_status finish_oldest(hone_trainer *trainer, hone_error *error) {
    hone_fetch *const fetch = trainer->eval_loss[trainer->micro_next % (HONE_EVAL_BEHIND + 1)];
    HONE_TRY(hone_fetch_end(fetch, error));
    memcpy(&trainer->eval_sum, fetch->data, sizeof(trainer->eval_sum));
    trainer->micro_next++;
    return HONE_OK;
}

static hone_status queue_batch(hone_trainer *trainer, hone_error *error) {
    const double live[HONE_LIVE_COUNT] = {[HONE_LIVE_VALID] = (double)trainer->eval_supervised};
    hone_step_plan *plan;
    HONE_TRY(hone_trainer_plan(trainer, shape_of(trainer), &plan, error));
    HONE_TRY(hone_trainer_queue(trainer, plan, live, error));
    trainer->eval_queued = true;
    hone_fetch *const fetch = trainer->eval_loss[trainer->micro_count % (HONE_EVAL_BEHIND + 1)];
    HONE_TRY(hone_fetch_begin(fetch, trainer->buffers.metrics, 0, error));
    trainer->micro_count++;
    return trainer->profiled ? hone_trainer_wait(trainer, plan->program, error) : HONE_OK;
}

static hone_status run(hone_trainer *trainer, const hone_dataset *data, hone_error *error) {
    const int ahead = trainer->model->device->ahead;
    const size_t behind = ahead < HONE_EVAL_BEHIND ? (size_t)ahead : HONE_EVAL_BEHIND;
    for (;;) {
        const size_t under_way = trainer->micro_count - trainer->micro_next;
        const bool more = !trainer->eval_queued || !hone_order_at_end(&trainer->eval_order);
        if (!more && under_way == 0) return HONE_OK;
        if (!more || under_way > behind) {
            HONE_TRY(finish_oldest(trainer, error));
            continue;
        }
        if (trainer->eval_queued) {
            const uint32_t *rows;
            size_t count;
            hone_order_next(&trainer->eval_order, &rows, &count);
            hone_batch_fill(&trainer->batch, data, rows, count, 0, hone_trainer_padding(trainer));
            trainer->eval_queued = false;
        }
        HONE_TRY(queue_batch(trainer, error));
    }
}

void hone_trainer_evaluate_end(hone_trainer *trainer) {
    trainer->evaluating = false;
    hone_order_clear(&trainer->eval_order);
}

hone_status hone_trainer_evaluate_once(hone_trainer *trainer, const hone_dataset *data, double *loss, int64_t *tokens,
                                       hone_error *error) {
    hone_status status = trainer->evaluating ? HONE_OK : begin(trainer, data, error);
    if (status == HONE_OK) status = run(trainer, data, error);
    if (status == HONE_PENDING) return status;
    hone_trainer_evaluate_end(trainer);
    if (status != HONE_OK) return status;
    const float sum = trainer->eval_sum;
    HONE_FAIL_IF(!isfinite(sum), error, NOT_FINITE, "the loss over '%s' is not finite", data->name);
    *loss = (double)sum;
    if (tokens) *tokens = trainer->eval_supervised;
    return HONE_OK;
}
