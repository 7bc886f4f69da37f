// SPDX-License-Identifier: Apache-2.0
// The trainer's insides, shared by the files that run it, evaluate with it, and save it.
#ifndef HONE_TRAIN_TRAINER_H
#define HONE_TRAIN_TRAINER_H

#include "device/device.h"
#include "train/batch.h"
#include "train/step_plan.h"

#define HONE_PLANS        8  // of different shapes, kept at a time
#define HONE_PROFILE_ROWS 96 // different operators in a profile

typedef enum hone_trainer_phase {
    HONE_PHASE_IDLE,    // between steps
    HONE_PHASE_CLEAR,   // gradients and loss to zero
    HONE_PHASE_PREPARE, // the next micro-batch: arrays, plan, program
    HONE_PHASE_RUN,     // it has been queued
    HONE_PHASE_UPDATE,  // norm, clipping, AdamW, and the metrics on their way to the host
    HONE_PHASE_TIMES    // while a profile is taken: what has run is waited for
} hone_trainer_phase;

#define HONE_MOST_AHEAD  2 // steps that may be queued beyond one whose metrics have not been read
#define HONE_NAMED_ROWS  8 // of a step, in the message that stops a run
#define HONE_EVAL_BEHIND 2 // batches of an evaluation that may be queued beyond one that is not known to be done

// A step that has been queued: its report, which lacks what the device computes until the metrics have been read.
typedef struct hone_queued_step {
    hone_fetch *metrics;
    hone_step_report report;
    bool read;
    bool last_straw; // the third bad one in a row
    double started;
    size_t row_count;
    uint64_t lines[HONE_NAMED_ROWS]; // of its first rows
} hone_queued_step;

typedef struct hone_micro_batch {
    const uint32_t *rows; // into the order of the epoch
    size_t count;
} hone_micro_batch;

typedef enum hone_recovery_phase {
    HONE_RECOVERY_NONE,
    HONE_RECOVERY_PAUSE,  // before the next try
    HONE_RECOVERY_REOPEN, // the device, its bytes, the copy
    HONE_RECOVERY_REPLAY  // the steps since the copy
} hone_recovery_phase;

// What a lost device is made good with; see recover.c.
typedef struct hone_recovery {
    hone_device_user user;
    // --- the last copy
    bool valid;
    int64_t step, bad_steps, skipped, epoch;
    size_t cursor;
    float *blocks[2]; // LoRA, first and second moments, each as the LoRA's buffer; NULL until the first copy
    int current;      // which of them is the last copy
    size_t copying;   // tensors of the next one that are there
    double copied;    // when it was taken
    // --- after a loss
    hone_recovery_phase phase;
    int tries;        // since a step was done that had not been done before
    double resume_at; // the end of a pause
    int64_t target;   // steps that have been reported
    bool dead;        // it stays lost
    bool back;        // it was opened again, but has not done anything since
    int64_t count;    // losses that were made good
    char cause[400], text[512];
} hone_recovery;

struct hone_trainer {
    hone_model *model;
    hone_lora *lora;
    const hone_dataset *data;
    hone_train_options options; // defaults filled in
    hone_step_settings settings;
    hone_step_buffers buffers;
    hone_buffer *arena; // shared by all programs: they never run at the same time
    hone_order order;
    hone_batch batch;
    hone_step_plan plans[HONE_PLANS];
    uint64_t uses;
    hone_step_plan update;
    hone_train_bytes bytes;
    int64_t steps_per_epoch;
    bool profiled;
    hone_train_times times;
    hone_phase_report *watch; // may be NULL
    void *watch_context;
    hone_profile_row kept_rows[HONE_PROFILE_ROWS]; // of programs that are gone
    size_t kept_row_count;

    // --- goes into the state file
    int64_t step;      // optimiser steps queued, skipped ones included: those that the weights on the device are of
    int64_t bad_steps; // skipped in a row
    int64_t skipped;   // in all

    // --- the step in progress
    hone_trainer_phase phase;
    hone_micro_batch *micro; // [accumulate]
    size_t micro_count, micro_next;
    int64_t step_supervised, step_tokens;
    double started;

    // --- steps queued and not reported yet, oldest first, in a ring
    hone_queued_step queued[HONE_MOST_AHEAD + 1];
    size_t queued_first, queued_count;
    int64_t last;     // no step beyond this one is begun before all others have been reported
    double last_read; // when metrics were read last
    // Of the steps that lay in the queue together, the last ones: when each was done, and what it read.
    struct {
        double time[HONE_MOST_AHEAD + 1], tokens[HONE_MOST_AHEAD + 1];
        size_t count; // since the queue was empty
        double begun; // when it began to fill
    } pace;

    hone_recovery recovery;

    // --- the evaluation in progress
    bool evaluating;
    bool eval_queued; // the batch under way has been given to the device
    hone_order eval_order;
    int64_t eval_supervised;
    hone_fetch *eval_loss[HONE_EVAL_BEHIND + 1]; // the sum so far behind each of the last batches
    float eval_sum;
};

// Makes the plan for a shape, or finds it, and its program. May return HONE_PENDING.
HONE_MUST_USE hone_status hone_trainer_plan(hone_trainer *trainer, hone_step_shape shape, hone_step_plan **out,
                                            hone_error *error);
// Fills trainer->bytes from buffers that are declared and the plans of the largest batch and of the update; *arena is what
// the largest program wants. HONE_OUT_OF_MEMORY where that is more than the options allow.
HONE_MUST_USE hone_status hone_trainer_count(hone_trainer *trainer, size_t *arena, hone_error *error);
// The order in which an evaluation of `data` goes through its rows.
HONE_MUST_USE hone_status hone_trainer_evaluation_order(const hone_trainer *trainer, const hone_dataset *data,
                                                        hone_order *out, hone_error *error);
// Lengths are padded to a multiple of this, or of a multiple of it.
int hone_trainer_padding(const hone_trainer *trainer);
// The shape for a batch: T as padded, and the chunk of the head that wastes least.
hone_step_shape hone_trainer_shape(int64_t padded, int64_t supervised, bool backward);
// Uploads trainer->batch and queues forward, head chunks and (if the shape has it) backward.
HONE_MUST_USE hone_status hone_trainer_queue(hone_trainer *trainer, hone_step_plan *plan, const double *live,
                                             hone_error *error);
// Queues one segment of the update's program.
HONE_MUST_USE hone_status hone_trainer_queue_update(hone_trainer *trainer, int segment, const double *live,
                                                    hone_error *error);

// Reads the metrics of all steps that have been queued; they are reported by the calls of hone_trainer_step that follow.
// May return HONE_PENDING.
HONE_MUST_USE hone_status hone_trainer_settle(hone_trainer *trainer, hone_error *error);

// One step or evaluation on a device that is not lost: HONE_DEVICE_LOST is returned as it is.
HONE_MUST_USE hone_status hone_trainer_step_once(hone_trainer *trainer, hone_step_report *report, hone_error *error);
HONE_MUST_USE hone_status hone_trainer_evaluate_once(hone_trainer *trainer, const hone_dataset *data, double *loss,
                                                     int64_t *tokens, hone_error *error);
void hone_trainer_evaluate_end(hone_trainer *trainer); // whatever it has reached

// What decided about the rows that a state was trained on. *known: false where a hone that did not note it wrote the state.
HONE_MUST_USE hone_status hone_state_read_origin(const char *path, hone_dataset_origin *out, bool *known,
                                                 hone_error *error);

// The three tensors of the state, each in the layout of the LoRA's buffer; returns 3.
size_t hone_trainer_tensors(const hone_trainer *trainer, hone_buffer *buffers[3], const char *names[3]);
// What all copies of them take on the host; 0 where none are made.
size_t hone_trainer_copy_bytes(const hone_trainer *trainer);
// The same three as of the last copy; NULL before the first.
const float *hone_trainer_copy(const hone_trainer *trainer);
// Whether the state should be copied before more steps are queued.
bool hone_trainer_copy_due(const hone_trainer *trainer);
void hone_trainer_use_device(hone_trainer *trainer);
void hone_trainer_leave_device(hone_trainer *trainer);
// Before anything is asked of the device: goes on with a recovery, then takes a copy if one is due. May be HONE_PENDING.
HONE_MUST_USE hone_status hone_trainer_ready(hone_trainer *trainer, hone_error *error);
// After it: a loss that can be made good becomes HONE_PENDING; anything else is returned, and `why` is left in `error`.
HONE_MUST_USE hone_status hone_trainer_lost(hone_trainer *trainer, hone_status status, const hone_error *why,
                                            hone_error *error);
// Until the recovery is over.
HONE_MUST_USE hone_status hone_trainer_proceed(hone_trainer *trainer, hone_error *error);

// A stretch of the host's time: begin gives the clock, end adds what has passed since to one of trainer->times. Both do
// nothing while the profile is off.
double hone_trainer_begin(const hone_trainer *trainer);
void hone_trainer_end(hone_trainer *trainer, const char *phase, double *seconds, double begun);
// hone_program_wait, and how long it took.
HONE_MUST_USE hone_status hone_trainer_wait(hone_trainer *trainer, hone_program *program, hone_error *error);

// Adds what was measured of a program that is about to go (may be NULL) to what is kept.
void hone_trainer_keep_profile(hone_trainer *trainer, const hone_program *program);

#endif
