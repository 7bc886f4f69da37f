// SPDX-License-Identifier: Apache-2.0
// A device that is lost during training: between steps a copy of all that the next step depends on is taken to the host
// now and then; after a loss the device is opened again, the copy goes back, and the steps since are done again. They give
// the same bits, so nobody is told of them a second time.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "device/device.h"
#include "train/trainer.h"

#define COPIES        2 // the last one, and that which is being made
#define COPY_SECONDS  30.0
#define FIRST_PAUSE   0.1 // before the device is opened again; each further try waits three times as long
#define PAUSE_GROWTH  3.0
#define LONGEST_SLEEP 0.05

static bool guarded(const hone_trainer *trainer) {
    return !trainer->options.evaluate_only && trainer->options.reopen > 0 &&
           hone_device_can_reopen(trainer->model->device);
}

// --- the copy --------------------------------------------------------------------------------------------------------

bool hone_trainer_copy_due(const hone_trainer *trainer) {
    const hone_recovery *const r = &trainer->recovery;
    if (!guarded(trainer) || r->dead || r->phase != HONE_RECOVERY_NONE) return false;
    if (!r->valid || r->copying > 0) return true;
    return trainer->step > r->step &&
           (trainer->step - r->step >= trainer->options.copy_every || hone_clock_seconds() - r->copied >= COPY_SECONDS);
}

size_t hone_trainer_copy_bytes(const hone_trainer *trainer) {
    hone_buffer *buffers[3];
    const char *names[3];
    if (!guarded(trainer)) return 0;
    return COPIES * hone_trainer_tensors(trainer, buffers, names) * trainer->lora->floats * sizeof(float);
}

// The block that does not hold the last copy: one that fails half way must not cost the one before.
static hone_status fill_block(hone_trainer *trainer, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    hone_buffer *buffers[3];
    const char *names[3];
    const size_t count = hone_trainer_tensors(trainer, buffers, names);
    const size_t floats = trainer->lora->floats;
    for (int i = 0; i < COPIES; i++) {
        if (!r->blocks[i]) HONE_TRY(HONE_NEW_ARRAY(&r->blocks[i], count * floats, "the copy of the state", error));
    }
    for (; r->copying < count; r->copying++)
        HONE_TRY(hone_buffer_download(buffers[r->copying], 0, r->blocks[!r->current] + r->copying * floats,
                                      floats * sizeof(float), error));
    return HONE_OK;
}

static hone_status take_copy(hone_trainer *trainer, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    const hone_status status = fill_block(trainer, error);
    if (status == HONE_PENDING) return status;
    r->copying = 0;
    HONE_TRY(status);
    r->current = !r->current;
    r->valid = true;
    r->step = trainer->step;
    r->bad_steps = trainer->bad_steps;
    r->skipped = trainer->skipped;
    r->epoch = trainer->order.epoch;
    r->cursor = trainer->order.cursor;
    r->copied = hone_clock_seconds();
    return HONE_OK;
}

static void restore_numbers(hone_trainer *trainer) {
    const hone_recovery *const r = &trainer->recovery;
    trainer->step = r->step;
    trainer->bad_steps = r->bad_steps;
    trainer->skipped = r->skipped;
    trainer->order.epoch = r->epoch;
    trainer->order.cursor = r->cursor;
}

static hone_status restore_copy(hone_trainer *trainer, hone_error *error) {
    hone_buffer *buffers[3];
    const char *names[3];
    const size_t count = hone_trainer_tensors(trainer, buffers, names);
    const size_t floats = trainer->lora->floats;
    for (size_t i = 0; i < count; i++)
        HONE_TRY(
            hone_buffer_upload(buffers[i], 0, hone_trainer_copy(trainer) + i * floats, floats * sizeof(float), error));
    restore_numbers(trainer);
    return HONE_OK;
}

const float *hone_trainer_copy(const hone_trainer *trainer) {
    return trainer->recovery.blocks[trainer->recovery.current];
}

// --- as a user of the device -----------------------------------------------------------------------------------------

static void drop_program(hone_trainer *trainer, hone_step_plan *plan) {
    hone_trainer_keep_profile(trainer, plan->program);
    hone_program_destroy(plan->program);
    plan->program = NULL;
}

static void drop(void *self) {
    hone_trainer *const trainer = self;
    for (int i = 0; i < HONE_PLANS; i++) drop_program(trainer, &trainer->plans[i]);
    drop_program(trainer, &trainer->update);
    trainer->phase = HONE_PHASE_IDLE;
    trainer->step -= (int64_t)trainer->queued_count; // those are done again
    trainer->queued_first = trainer->queued_count = 0;
    if (trainer->evaluating) hone_trainer_evaluate_end(trainer);
}

static hone_status restore(void *self, hone_error *error) {
    hone_trainer *const trainer = self;
    const hone_step_buffers *const b = &trainer->buffers;
    return b->tables ? hone_rope_tables_fill(trainer->model, b->positions, b->tables, error) : HONE_OK;
}

void hone_trainer_use_device(hone_trainer *trainer) {
    trainer->recovery.user = (hone_device_user){.drop = drop, .restore = restore, .self = trainer};
    hone_device_add_user(trainer->model->device, &trainer->recovery.user);
}

void hone_trainer_leave_device(hone_trainer *trainer) {
    hone_device_remove_user(trainer->model->device, &trainer->recovery.user);
    for (int i = 0; i < COPIES; i++) hone_free(trainer->recovery.blocks[i]);
}

// --- recovery --------------------------------------------------------------------------------------------------------

static hone_status give_up(hone_trainer *trainer, const hone_error *why, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    r->phase = HONE_RECOVERY_NONE;
    r->dead = true;
    r->back = false;
    drop(trainer);
    if (r->valid) restore_numbers(trainer);
    HONE_FAIL_IF(r->tries == 0, error, DEVICE_LOST, "%s", why->message);
    HONE_FAIL(error, DEVICE_LOST, "the GPU was lost (%s) and could not be brought back in %d tries (%s)", r->cause,
              r->tries, why->message);
}

// After a loss, also one while an earlier loss is dealt with: HONE_OK means that hone_trainer_proceed has to do.
static hone_status begin(hone_trainer *trainer, const hone_error *why, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    if (r->phase == HONE_RECOVERY_NONE) {
        r->target = hone_trainer_done_steps(trainer);
        if (!r->back) snprintf(r->cause, sizeof(r->cause), "%.399s", why->message);
    }
    if (!guarded(trainer) || !r->valid || r->dead || r->tries >= trainer->options.reopen)
        return give_up(trainer, why, error);
    double pause = FIRST_PAUSE;
    for (int i = 0; i < r->tries; i++) pause *= PAUSE_GROWTH;
    r->tries++;
    r->resume_at = hone_clock_seconds() + pause;
    r->copying = 0;
    r->phase = HONE_RECOVERY_PAUSE;
    return HONE_OK;
}

static hone_status rest(hone_recovery *r) {
    const double left = r->resume_at - hone_clock_seconds();
    if (left <= 0) return HONE_OK;
    const double now = left < LONGEST_SLEEP ? left : LONGEST_SLEEP;
    nanosleep(&(struct timespec){.tv_nsec = (long)(now * 1e9)}, NULL);
    return HONE_PENDING;
}

static hone_status replay(hone_trainer *trainer, hone_error *error) {
    hone_step_report again;
    while (hone_trainer_done_steps(trainer) < trainer->recovery.target)
        HONE_TRY(hone_trainer_step_once(trainer, &again, error));
    return HONE_OK;
}

static hone_status advance(hone_trainer *trainer, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    if (r->phase == HONE_RECOVERY_PAUSE) {
        HONE_TRY(rest(r));
        r->phase = HONE_RECOVERY_REOPEN;
    }
    if (r->phase == HONE_RECOVERY_REOPEN) {
        HONE_TRY(hone_device_reopen(trainer->model->device, error));
        HONE_TRY(restore_copy(trainer, error));
        r->phase = HONE_RECOVERY_REPLAY;
    }
    return replay(trainer, error);
}

// Whether another try may help: the device itself is what is missing.
static bool worth_a_try(const hone_recovery *r, hone_status status) {
    if (status == HONE_DEVICE_LOST) return true;
    return r->phase == HONE_RECOVERY_REOPEN &&
           (status == HONE_NOT_FOUND || status == HONE_UNSUPPORTED || status == HONE_OUT_OF_MEMORY);
}

hone_status hone_trainer_proceed(hone_trainer *trainer, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    while (r->phase != HONE_RECOVERY_NONE) {
        hone_error why = {0};
        const hone_status status = advance(trainer, &why);
        if (status == HONE_PENDING) return status;
        if (status == HONE_OK) {
            r->phase = HONE_RECOVERY_NONE;
            r->back = true;
        } else if (worth_a_try(r, status)) {
            HONE_TRY(begin(trainer, &why, error));
        } else if (r->phase == HONE_RECOVERY_REOPEN) {
            return give_up(trainer, &why, error);
        } else { // the step's own failure
            r->phase = HONE_RECOVERY_NONE;
            if (error) *error = why;
            return status;
        }
    }
    return HONE_OK;
}

hone_status hone_trainer_ready(hone_trainer *trainer, hone_error *error) {
    HONE_FAIL_IF(trainer->recovery.dead, error, DEVICE_LOST, "the GPU was lost and could not be brought back");
    HONE_TRY(hone_trainer_proceed(trainer, error));
    // Steps that are under way come to their end first: step.c begins none while a copy is due.
    const bool between = trainer->phase == HONE_PHASE_IDLE && trainer->queued_count == 0 && !trainer->evaluating;
    return between && hone_trainer_copy_due(trainer) ? take_copy(trainer, error) : HONE_OK;
}

// Only a device that has done something since it was opened again has been brought back.
static void note_success(hone_recovery *r) {
    if (!r->back) return;
    r->back = false;
    r->count++;
    snprintf(r->text, sizeof(r->text), "%.300s; it was opened again, and %lld steps were done again from a copy",
             r->cause, (long long)(r->target - r->step));
}

hone_status hone_trainer_lost(hone_trainer *trainer, hone_status status, const hone_error *why, hone_error *error) {
    if (status == HONE_DEVICE_LOST && guarded(trainer) && !trainer->recovery.dead) {
        HONE_TRY(begin(trainer, why, error));
        return HONE_PENDING;
    }
    if (status == HONE_OK) note_success(&trainer->recovery);
    if (status != HONE_OK && status != HONE_PENDING && error) *error = *why;
    return status;
}

// --- what callers see ------------------------------------------------------------------------------------------------

hone_status hone_trainer_step(hone_trainer *trainer, hone_step_report *report, hone_error *error) {
    hone_recovery *const r = &trainer->recovery;
    hone_error why = {0};
    hone_status status = hone_trainer_ready(trainer, &why);
    if (status == HONE_OK) status = hone_trainer_step_once(trainer, report, &why);
    if (status == HONE_OK && report->step > r->target) r->tries = 0; // it has got further than ever
    return hone_trainer_lost(trainer, status, &why, error);
}

hone_status hone_trainer_evaluate(hone_trainer *trainer, const hone_dataset *data, double *loss, int64_t *tokens,
                                  hone_error *error) {
    hone_error why = {0};
    hone_status status = hone_trainer_ready(trainer, &why);
    if (status == HONE_OK) status = hone_trainer_evaluate_once(trainer, data, loss, tokens, &why);
    return hone_trainer_lost(trainer, status, &why, error);
}

hone_status hone_trainer_recover(hone_trainer *trainer, hone_error *error) {
    const hone_error why = {.message = "the GPU was lost during an evaluation"};
    if (trainer->recovery.phase == HONE_RECOVERY_NONE) HONE_TRY(begin(trainer, &why, error));
    return hone_trainer_proceed(trainer, error);
}

int64_t hone_trainer_recoveries(const hone_trainer *trainer, const char **text) {
    if (text) *text = trainer->recovery.text;
    return trainer->recovery.count;
}
