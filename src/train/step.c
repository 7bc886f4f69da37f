// SPDX-License-Identifier: Apache-2.0
// One optimiser step, phase by phase: clear, micro-batches, update, metrics. Nothing here waits for the device but the reading
// of metrics, and that may be of a step queued two steps ago: see hone_trainer_go_ahead.
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

static hone_queued_step *queued(hone_trainer *trainer, size_t index) {
    return &trainer->queued[(trainer->queued_first + index) % (HONE_MOST_AHEAD + 1)];
}

// The step has been queued: what is known of it, and its metrics on their way.
static hone_status queue_metrics(hone_trainer *trainer, hone_error *error) {
    hone_queued_step *const q = queued(trainer, trainer->queued_count);
    HONE_TRY(hone_fetch_begin(q->metrics, trainer->buffers.metrics, 0, error));
    q->read = q->last_straw = false;
    q->started = trainer->started;
    q->report = (hone_step_report){
        .step = trainer->step + 1,
        .steps = trainer->options.steps,
        .learning_rate = hone_schedule_rate(&trainer->options, trainer->step + 1),
        .tokens = trainer->step_tokens,
        .supervised = trainer->step_supervised,
        .epoch = (double)trainer->order.epoch + (double)trainer->order.cursor / (double)trainer->data->row_count,
    };
    q->row_count = 0;
    for (size_t m = 0; m < trainer->micro_count; m++) {
        for (size_t i = 0; i < trainer->micro[m].count; i++, q->row_count++) {
            if (q->row_count < HONE_NAMED_ROWS)
                q->lines[q->row_count] = trainer->data->rows[trainer->micro[m].rows[i]].line;
        }
    }
    trainer->step++;
    trainer->queued_count++;
    return HONE_OK;
}

// A step is known to be done now. Steps that lie in the queue together may become known in one go: their speed is that of
// the last few of them.
static void take_time(hone_trainer *trainer, hone_queued_step *q, double now) {
    const size_t room = HONE_MOST_AHEAD + 1;
    const bool alone = q->started >= trainer->last_read;
    if (alone) {
        trainer->pace.count = 0;
        trainer->pace.begun = q->started;
    }
    const size_t count = ++trainer->pace.count;
    const size_t slot = (count - 1) % room;
    const double since = count > room ? trainer->pace.time[slot] : trainer->pace.begun;
    trainer->pace.time[slot] = now;
    trainer->pace.tokens[slot] = (double)q->report.tokens;
    double tokens = 0;
    for (size_t i = 0; i < room && i < count; i++) tokens += trainer->pace.tokens[i];
    q->report.tokens_per_second = now > since ? tokens / (now - since) : (double)NAN;
    q->report.seconds = now - (alone ? q->started : trainer->last_read);
    trainer->last_read = now;
}

static hone_status read_metrics(hone_trainer *trainer, hone_queued_step *q, hone_error *error) {
    if (q->read) return HONE_OK;
    HONE_TRY(hone_fetch_end(q->metrics, error));
    float loss, control[4];
    memcpy(&loss, q->metrics->data, sizeof(loss));
    memcpy(control, (const char *)q->metrics->data + HONE_METRICS_CONTROL, sizeof(control));
    take_time(trainer, q, hone_clock_seconds());
    q->report.loss = (double)loss;
    q->report.gradient_norm = (double)control[0];
    q->report.skipped = control[2] == 0;
    q->read = true;
    hone_trainer_end(trainer, "step", &trainer->times.seconds, q->started);
    trainer->times.steps += trainer->profiled;
    trainer->bad_steps = q->report.skipped ? trainer->bad_steps + 1 : 0;
    trainer->skipped += q->report.skipped;
    q->last_straw = trainer->bad_steps >= BAD_STEPS;
    return HONE_OK;
}

hone_status hone_trainer_settle(hone_trainer *trainer, hone_error *error) {
    for (size_t i = 0; i < trainer->queued_count; i++) HONE_TRY(read_metrics(trainer, queued(trainer, i), error));
    return HONE_OK;
}

static void name_rows(const hone_queued_step *q, hone_text *text) {
    const size_t named = q->row_count < HONE_NAMED_ROWS ? q->row_count : HONE_NAMED_ROWS;
    for (size_t i = 0; i < named; i++) hone_text_print(text, "%s%llu", i ? ", " : "", (unsigned long long)q->lines[i]);
    if (q->row_count > named) hone_text_print(text, " and %zu more", q->row_count - named);
}

// printf gives NaN a sign that means nothing.
static const char *number_text(double value, char text[32]) {
    if (isnan(value)) return "NaN";
    snprintf(text, 32, "%.4g", value);
    return text;
}

static hone_status refuse(const hone_trainer *trainer, const hone_queued_step *q, hone_error *error) {
    hone_text rows = {0};
    char loss_text[32], norm_text[32];
    name_rows(q, &rows);
    hone_error_set(error, HONE_NOT_FINITE,
                   "step %lld: loss (%s) or gradient norm (%s) is not finite for the third step in a row (rows of '%s' "
                   "at lines %s): "
                   "use a lower learning rate, or look at these rows; none of the three changed a weight",
                   (long long)q->report.step, number_text(q->report.loss, loss_text),
                   number_text(q->report.gradient_norm, norm_text), trainer->data->name, rows.bytes ? rows.bytes : "?");
    hone_text_clear(&rows);
    return HONE_NOT_FINITE;
}

// The oldest of the queued steps. If it ends the run, those behind it are waited for: what is saved then is theirs too.
static hone_status report_oldest(hone_trainer *trainer, hone_step_report *report, hone_error *error) {
    hone_queued_step *const q = queued(trainer, 0);
    HONE_TRY(read_metrics(trainer, q, error));
    if (q->last_straw) HONE_TRY(hone_trainer_settle(trainer, error));
    *report = q->report;
    trainer->queued_first = (trainer->queued_first + 1) % (HONE_MOST_AHEAD + 1);
    trainer->queued_count--;
    if (!q->last_straw) return HONE_OK;
    trainer->queued_count = 0;
    return refuse(trainer, q, error);
}

static bool may_begin(const hone_trainer *trainer) {
    if (trainer->step >= trainer->options.steps) return false;
    if (trainer->queued_count == 0) return true;
    const int ahead = trainer->model->device->ahead;
    const size_t most = ahead < HONE_MOST_AHEAD ? (size_t)ahead : HONE_MOST_AHEAD;
    return trainer->queued_count <= most && trainer->step < trainer->last && !trainer->profiled &&
           !hone_trainer_copy_due(trainer);
}

void hone_trainer_go_ahead(hone_trainer *trainer, int64_t last) {
    trainer->last = last;
}

int64_t hone_trainer_steps_ahead(const hone_trainer *trainer) {
    return (int64_t)trainer->queued_count;
}

static hone_status wait_update(hone_trainer *trainer, hone_error *error) {
    return trainer->profiled ? hone_trainer_wait(trainer, trainer->update.program, error) : HONE_OK;
}

// What is to be done in the phase; leaves the next one behind.
static hone_status advance(hone_trainer *trainer, hone_error *error) {
    double live[HONE_LIVE_COUNT];
    switch (trainer->phase) {
    case HONE_PHASE_IDLE:
        begin(trainer);
        trainer->phase = HONE_PHASE_CLEAR;
        return HONE_OK;
    case HONE_PHASE_CLEAR:
        live_numbers(trainer, live);
        HONE_TRY(hone_trainer_queue_update(trainer, HONE_SEGMENT_CLEAR, live, error));
        trainer->phase = HONE_PHASE_PREPARE;
        return HONE_OK;
    case HONE_PHASE_PREPARE:
        HONE_TRY(prepare(trainer, error));
        trainer->phase = HONE_PHASE_RUN;
        return HONE_OK;
    case HONE_PHASE_RUN:
        if (trainer->profiled) HONE_TRY(wait_micro(trainer, error));
        trainer->phase = ++trainer->micro_next < trainer->micro_count ? HONE_PHASE_PREPARE : HONE_PHASE_UPDATE;
        return HONE_OK;
    case HONE_PHASE_UPDATE:
        live_numbers(trainer, live);
        HONE_TRY(hone_trainer_queue_update(trainer, HONE_SEGMENT_UPDATE, live, error));
        trainer->phase = HONE_PHASE_TIMES;
        return queue_metrics(trainer, error);
    case HONE_PHASE_TIMES:
        HONE_TRY(wait_update(trainer, error));
        trainer->phase = HONE_PHASE_IDLE;
        return HONE_OK;
    }
    return HONE_OK;
}

hone_status hone_trainer_step_once(hone_trainer *trainer, hone_step_report *report, hone_error *error) {
    HONE_FAIL_IF(trainer->options.evaluate_only, error, INVALID_ARGUMENT, "this trainer only evaluates");
    HONE_FAIL_IF(trainer->phase == HONE_PHASE_IDLE && trainer->queued_count == 0 &&
                     trainer->step >= trainer->options.steps,
                 error, INVALID_ARGUMENT, "all %lld steps are done", (long long)trainer->options.steps);
    while (trainer->phase != HONE_PHASE_IDLE || may_begin(trainer)) HONE_TRY(advance(trainer, error));
    return report_oldest(trainer, report, error);
}

hone_status hone_trainer_gradients(hone_trainer *trainer, float *out, size_t count, hone_error *error) {
    HONE_FAIL_IF(trainer->options.evaluate_only, error, INVALID_ARGUMENT, "this trainer only evaluates");
    HONE_FAIL_IF(count != trainer->lora->floats, error, INVALID_ARGUMENT, "there are %zu floats, not %zu",
                 trainer->lora->floats, count);
    return hone_buffer_download(trainer->buffers.gradients, 0, out, count * sizeof(float), error);
}
