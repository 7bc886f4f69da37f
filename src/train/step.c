// SPDX-License-Identifier: Apache-2.0
// One optimiser step, phase by phase: clear, micro-batches, update, metrics.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "train/schedule.h"
#include "train/trainer.h"

#define BAD_STEPS 3 // in a row before training stops

static void live_numbers(const hone_trainer *trainer, double *live) {
    const hone_train_options *const o = &trainer->options;
    const int64_t t = trainer->step + 1; // of the step in progress; a skipped one keeps its number
    live[HONE_LIVE_VALID] = (double)trainer->step_supervised;
    live[HONE_LIVE_CHUNK] = 0;
    live[HONE_LIVE_RATE] = hone_schedule_rate(o, t);
    live[HONE_LIVE_CORRECTION1] = hone_bias_correction(o->beta1, t);
    live[HONE_LIVE_CORRECTION2] = hone_bias_correction(o->beta2, t);
    live[HONE_LIVE_DECAY] = o->weight_decay;
    live[HONE_LIVE_CLIP] = o->clip;
}

// Takes the step's micro-batches from the order. They stay within one epoch: its last step may have fewer.
static void begin(hone_trainer *trainer) {
    trainer->started = hone_clock_seconds();
    trainer->micro_count = trainer->micro_next = 0;
    trainer->step_supervised = trainer->step_tokens = 0;
    do {
        hone_micro_batch *const micro = &trainer->micro[trainer->micro_count++];
        hone_order_next(&trainer->order, &micro->rows, &micro->count);
        trainer->step_supervised += hone_batch_count(trainer->data, micro->rows, micro->count);
        for (size_t i = 0; i < micro->count; i++)
            trainer->step_tokens += (int64_t)trainer->data->rows[micro->rows[i]].length;
    } while ((int64_t)trainer->micro_count < trainer->options.accumulate && !hone_order_at_end(&trainer->order));
}

static hone_status prepare(hone_trainer *trainer, hone_error *error) {
    const hone_micro_batch *const micro = &trainer->micro[trainer->micro_next];
    const double begun = hone_trainer_begin(trainer);
    hone_batch_fill(&trainer->batch, trainer->data, micro->rows, micro->count, trainer->order.epoch,
                    hone_trainer_padding(trainer));
    hone_trainer_end(trainer, "batch", &trainer->times.batch, begun);
    hone_step_plan *plan;
    double live[HONE_LIVE_COUNT];
    live_numbers(trainer, live);
    HONE_TRY(hone_trainer_plan(trainer, hone_trainer_shape(trainer->batch.padded, trainer->batch.supervised, true),
                               &plan, error));
    return hone_trainer_queue(trainer, plan, live, error);
}

static hone_status wait_micro(hone_trainer *trainer, hone_error *error) {
    hone_step_plan *plan;
    HONE_TRY(hone_trainer_plan(trainer, hone_trainer_shape(trainer->batch.padded, trainer->batch.supervised, true),
                               &plan, error));
    return hone_trainer_wait(trainer, plan->program, error);
}

// The lines of the rows of the step, for the message that stops a run.
static void name_rows(const hone_trainer *trainer, hone_text *text) {
    size_t named = 0;
    for (size_t m = 0; m < trainer->micro_count; m++) {
        for (size_t i = 0; i < trainer->micro[m].count; i++, named++) {
            if (named < 8)
                hone_text_print(text, "%s%llu", named ? ", " : "",
                                (unsigned long long)trainer->data->rows[trainer->micro[m].rows[i]].line);
        }
    }
    if (named > 8) hone_text_print(text, " and %zu more", named - 8);
}

// printf gives NaN a sign that means nothing.
static const char *number_text(double value, char text[32]) {
    if (isnan(value)) return "NaN";
    snprintf(text, 32, "%.4g", value);
    return text;
}

static hone_status finish(hone_trainer *trainer, const char *metrics, hone_step_report *report, hone_error *error) {
    float loss, control[4];
    memcpy(&loss, metrics, sizeof(loss));
    memcpy(control, metrics + HONE_METRICS_CONTROL, sizeof(control));
    *report = (hone_step_report){
        .step = trainer->step + 1,
        .steps = trainer->options.steps,
        .loss = (double)loss,
        .gradient_norm = (double)control[0],
        .learning_rate = hone_schedule_rate(&trainer->options, trainer->step + 1),
        .tokens = trainer->step_tokens,
        .supervised = trainer->step_supervised,
        .seconds = hone_clock_seconds() - trainer->started,
        .skipped = control[2] == 0,
        .epoch = (double)trainer->order.epoch + (double)trainer->order.cursor / (double)trainer->data->row_count,
    };
    hone_trainer_end(trainer, "step", &trainer->times.seconds, trainer->started);
    trainer->times.steps += trainer->profiled;
    trainer->step++;
    trainer->bad_steps = report->skipped ? trainer->bad_steps + 1 : 0;
    trainer->skipped += report->skipped;
    if (trainer->bad_steps < BAD_STEPS) return HONE_OK;
    hone_text rows = {0};
    char loss_text[32], norm_text[32];
    name_rows(trainer, &rows);
    hone_error_set(error, HONE_NOT_FINITE,
                   "step %lld: loss (%s) or gradient norm (%s) is not finite for the third step in a row (rows of '%s' "
                   "at lines %s): "
                   "use a lower learning rate, or look at these rows; none of the three changed a weight",
                   (long long)report->step, number_text(report->loss, loss_text),
                   number_text(report->gradient_norm, norm_text), trainer->data->name, rows.bytes ? rows.bytes : "?");
    hone_text_clear(&rows);
    return HONE_NOT_FINITE;
}

static hone_status read_metrics(hone_trainer *trainer, hone_step_report *report, hone_error *error) {
    char metrics[HONE_METRICS_BYTES];
    HONE_TRY(hone_trainer_wait(trainer, trainer->update.program, error));
    HONE_TRY(hone_buffer_download(trainer->buffers.metrics, 0, metrics, sizeof(metrics), error));
    trainer->phase = HONE_PHASE_IDLE;
    return finish(trainer, metrics, report, error);
}

hone_status hone_trainer_step(hone_trainer *trainer, hone_step_report *report, hone_error *error) {
    HONE_FAIL_IF(trainer->options.evaluate_only, error, INVALID_ARGUMENT, "this trainer only evaluates");
    HONE_FAIL_IF(trainer->phase == HONE_PHASE_IDLE && trainer->step >= trainer->options.steps, error, INVALID_ARGUMENT,
                 "all %lld steps are done", (long long)trainer->options.steps);
    double live[HONE_LIVE_COUNT];
    for (;;) {
        switch (trainer->phase) {
        case HONE_PHASE_IDLE:
            begin(trainer);
            trainer->phase = HONE_PHASE_CLEAR;
            break;
        case HONE_PHASE_CLEAR:
            live_numbers(trainer, live);
            HONE_TRY(hone_trainer_queue_update(trainer, HONE_SEGMENT_CLEAR, live, error));
            trainer->phase = HONE_PHASE_PREPARE;
            break;
        case HONE_PHASE_PREPARE:
            HONE_TRY(prepare(trainer, error));
            trainer->phase = HONE_PHASE_RUN;
            break;
        case HONE_PHASE_RUN:
            HONE_TRY(wait_micro(trainer, error));
            trainer->phase = ++trainer->micro_next < trainer->micro_count ? HONE_PHASE_PREPARE : HONE_PHASE_UPDATE;
            break;
        case HONE_PHASE_UPDATE:
            live_numbers(trainer, live);
            HONE_TRY(hone_trainer_queue_update(trainer, HONE_SEGMENT_UPDATE, live, error));
            trainer->phase = HONE_PHASE_READ;
            break;
        case HONE_PHASE_READ:
            return read_metrics(trainer, report, error);
        }
    }
}

hone_status hone_trainer_gradients(hone_trainer *trainer, float *out, size_t count, hone_error *error) {
    HONE_FAIL_IF(trainer->options.evaluate_only, error, INVALID_ARGUMENT, "this trainer only evaluates");
    HONE_FAIL_IF(count != trainer->lora->floats, error, INVALID_ARGUMENT, "there are %zu floats, not %zu",
                 trainer->lora->floats, count);
    return hone_buffer_download(trainer->buffers.gradients, 0, out, count * sizeof(float), error);
}
