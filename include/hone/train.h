// SPDX-License-Identifier: Apache-2.0
// Fine-tuning: options, the step machine, evaluation, saving and resuming.
#ifndef HONE_TRAIN_H
#define HONE_TRAIN_H

#include <hone/data.h>
#include <hone/graph.h>
#include <hone/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_schedule { HONE_SCHEDULE_LINEAR, HONE_SCHEDULE_CONSTANT, HONE_SCHEDULE_COSINE } hone_schedule;

#define HONE_BETA_ZERO (-1.0) // beta1 or beta2 of exactly 0; hone_trainer_options has 0 there

// Zero means the default that stands behind each field.
typedef struct hone_train_options {
    int64_t steps;            // optimiser steps; 0 = by epochs
    double epochs;            // 1 if steps is 0 too
    int64_t batch;            // rows in a micro-batch; 8. They lie one behind another and do not see each other
    int64_t accumulate;       // micro-batches in a step; 1
    int64_t sequence;         // tokens of the longest row kept; the data set's
    bool pack;                // fill a micro-batch with rows up to batch * sequence tokens
    double learning_rate;     // 2e-4
    double learning_rate_min; // what linear and cosine end in; 0
    hone_schedule schedule;
    int64_t warmup;      // steps of linear rise
    double beta1, beta2; // 0.9, 0.999; HONE_BETA_ZERO for 0
    double epsilon;      // 1e-8
    double weight_decay; // 0
    double clip;         // largest gradient norm; 0 = none
    double dropout;      // on the input of A; 0
    uint64_t seed;
    bool in_order;            // rows as in the file, instead of shuffled anew each epoch
    hone_recompute recompute; // HONE_RECOMPUTE_CHEAP, or _LAYERS for least memory
    size_t max_bytes;         // refuse, before activations are allocated, what needs more in all; 0 = no limit
    const hone_dataset
        *evaluated; // what hone_trainer_evaluate will be given: its programs are counted too; may be NULL
    int64_t
        copy_every; // on a device that may be lost: steps between copies of the state to the host (also every 30 s); 50
    int reopen;     // how often in a row a lost device is opened again; 5, below 0: never
    bool evaluate_only; // no gradients, no moments: only hone_trainer_evaluate may be called
} hone_train_options;

// What happened in one optimiser step.
typedef struct hone_step_report {
    int64_t step;         // from 1
    int64_t steps;        // planned in all
    double loss;          // mean over the supervised tokens of the whole step
    double gradient_norm; // before clipping, over all LoRA tensors
    double learning_rate;
    int64_t tokens;           // read, padding not counted
    int64_t supervised;       // of them trained
    double seconds;           // since the step before was known to be done; queued steps may become known together
    double tokens_per_second; // over this one or, where steps are queued, the last few; NaN: not known
    bool skipped;             // loss or gradient was not finite: nothing was changed
    double epoch;             // rows seen / rows
} hone_step_report;

typedef struct hone_trainer hone_trainer;

// Trains `lora` on `data`; both, and the model, are borrowed and must outlive the trainer. With evaluate_only `lora` may
// be NULL: the base alone.
HONE_API HONE_MUST_USE hone_status hone_trainer_create(hone_model *model, hone_lora *lora, const hone_dataset *data,
                                                       const hone_train_options *options, hone_trainer **out,
                                                       hone_error *error);
HONE_API void hone_trainer_destroy(hone_trainer *trainer); // NULL is allowed
// The options with every default filled in; steps is the planned number.
HONE_API const hone_train_options *hone_trainer_options(const hone_trainer *trainer);
// One optimiser step. HONE_PENDING: call again. HONE_OK: *report is filled in. HONE_NOT_FINITE: the third bad step in a
// row, the text names its rows. After the last step *report has step == steps; calling again is an error.
HONE_API HONE_MUST_USE hone_status hone_trainer_step(hone_trainer *trainer, hone_step_report *report,
                                                     hone_error *error);
// A device that is lost is opened again by the trainer, within the calls that find it lost: its last copy of the state goes
// back and the steps since are done again, to the same bits and unreported. How often that has been so; *text (may be NULL)
// gets a line about the last time. If it stays lost, the calls return HONE_DEVICE_LOST; then hone_trainer_done_steps is the
// step of the last copy, and hone_trainer_save_state writes it.
HONE_API int64_t hone_trainer_recoveries(const hone_trainer *trainer, const char **text);
// For who uses the same device beside the trainer (a trainer that only evaluates) and is told HONE_DEVICE_LOST: brings it
// back. May return HONE_PENDING.
HONE_API HONE_MUST_USE hone_status hone_trainer_recover(hone_trainer *trainer, hone_error *error);
// Steps that have been reported.
HONE_API int64_t hone_trainer_done_steps(const hone_trainer *trainer);
// Where a device works while the caller goes on, up to two more steps are queued, none beyond step `last`, before the
// metrics of one are waited for: the device has no gap between steps. Each call of hone_trainer_step reports one step all
// the same, in order; but weights, gradients, evaluations and saved states are those of the last step queued, so whoever
// wants them of step N names no step beyond N here, and looks when N has been reported. 0 to begin with: no step is
// begun before the one before it has been reported.
HONE_API void hone_trainer_go_ahead(hone_trainer *trainer, int64_t last);
// Steps queued that hone_trainer_step has not reported yet.
HONE_API int64_t hone_trainer_steps_ahead(const hone_trainer *trainer);

// Mean loss over the supervised tokens of `data` with the weights as they are now. May return HONE_PENDING: call again
// with the same arguments.
HONE_API HONE_MUST_USE hone_status hone_trainer_evaluate(hone_trainer *trainer, const hone_dataset *data, double *loss,
                                                         int64_t *tokens, hone_error *error);

// Everything needed to go on, as one file; bit-exact.
HONE_API HONE_MUST_USE hone_status hone_trainer_save_state(hone_trainer *trainer, const char *path, hone_error *error);
// Goes on from such a file. Another base, data, rank, target or setting that matters is refused, naming the difference.
HONE_API HONE_MUST_USE hone_status hone_trainer_load_state(hone_trainer *trainer, const char *path, hone_error *error);
// The settings a state was saved with, so that a run can go on without naming them again.
HONE_API HONE_MUST_USE hone_status hone_state_read_options(const char *path, hone_train_options *options,
                                                           hone_lora_options *lora, hone_error *error);
// adapter.gguf, adapter_model.safetensors and adapter_config.json into the folder. An adapter that learnt nothing (all of
// B zero) is HONE_BAD_DATA.
HONE_API HONE_MUST_USE hone_status hone_trainer_save_adapter(hone_trainer *trainer, const char *folder,
                                                             hone_error *error);

// Bytes of device memory by kind, known before anything but weights and adapter is allocated; on a device that only counts
// (hone_device_open_counting) before anything at all is.
typedef struct hone_train_bytes {
    size_t weights;
    size_t adapter;     // parameters
    size_t gradients;   // of them, summed over micro-batches
    size_t moments;     // both
    size_t saved;       // activations that the backward pass reads
    size_t temporaries; // the rest of the arena
    size_t head;        // the gradient that the head leaves for the backward pass; its logits are temporaries
    size_t inputs;      // batch, rotary tables, metrics
    size_t working;     // of operators and for parameters of dispatches, by all programs that will be there
    size_t staging;     // the driver's, for copies
    size_t total;
    size_t host_copies; // on the host, not in total: of adapter and moments, where the device may be lost
} hone_train_bytes;
HONE_API hone_train_bytes hone_trainer_bytes(const hone_trainer *trainer);

// For tests: the gradients of the last micro-batches summed, in the order and layout of the LoRA's parameters.
HONE_API HONE_MUST_USE hone_status hone_trainer_gradients(hone_trainer *trainer, float *out, size_t count,
                                                          hone_error *error);
// Seconds in each operator since the start, largest first; rows [capacity], returns how many there are.
HONE_API void hone_trainer_profile(hone_trainer *trainer, bool on);
HONE_API size_t hone_trainer_profile_rows(const hone_trainer *trainer, hone_profile_row *rows, size_t capacity);

// Where the host's time went while the profile was on. What is not in any of these is between the calls.
typedef struct hone_train_times {
    int64_t steps;
    double seconds; // of all steps, from begin to end
    double batch;   // filling arrays
    double plan;    // plans and programs of new shapes
    double encode;  // commands and inputs handed to the device; on the CPU with the operators themselves
    double wait;    // for the device
} hone_train_times;
HONE_API hone_train_times hone_trainer_times(const hone_trainer *trainer);
// Each of those stretches while the profile is on ("step", "batch", "plan", "encode", "wait"), for a trace; start in seconds
// of the host's clock.
typedef void hone_phase_report(void *context, const char *phase, double start, double seconds);
HONE_API void hone_trainer_watch(hone_trainer *trainer, hone_phase_report *report, void *context);

#ifdef __cplusplus
}
#endif
#endif
