// SPDX-License-Identifier: Apache-2.0
// hone train in parts: what was asked for, what was made of it, and the loop.
#ifndef HONE_CLI_TRAIN_H
#define HONE_CLI_TRAIN_H

#include "commands.h"
#include "data.h"
#include "profile.h"
#include "train/run_folder.h"

typedef struct train_settings {
    cli_common common;
    cli_data_settings data;
    const char *output;
    int method, precision, schedule;
    int64_t rank;
    double alpha;
    const char *target;
    double dropout;
    double epochs;
    int64_t steps, batch, accumulate;
    bool pack;
    double rate, rate_min;
    const char *warmup; // steps, or a part of them "5%"
    double beta1, beta2, epsilon, weight_decay, clip;
    int64_t seed;
    bool in_order;
    const char *valid; // a file, or a part of the rows "10%"
    int64_t eval_every, save_every, keep;
    bool recompute, resume, profile, dry_run;
    const char *init_adapter;
    uint64_t max_memory;
} train_settings;

#define TRAIN_MOST_FIELDS 40

// A run from the first look at its files to the last.
typedef struct train_run {
    const train_settings *settings;
    const char *model_path, *data_path;
    cli_session session;
    hone_dataset *data, *valid; // valid may be NULL
    hone_train_options options;
    hone_lora_options lora_options;
    hone_trainer *trainer;
    hone_trainer *evaluator; // of longer rows than the trainer has room for; NULL: the trainer evaluates
    hone_run_folder *folder;
    cli_profile profile;                         // where --profile asks for it
    hone_report_field fields[TRAIN_MOST_FIELDS]; // the settings, for the report
    char values[TRAIN_MOST_FIELDS][160];
    size_t field_count;

    cli_progress progress;
    double started;
    double step_seconds;                     // running mean
    double first_loss, last_loss, eval_loss; // NaN: none yet
    int64_t tokens;
    int64_t skipped;
    bool unheard; // standard output takes no more
} train_run;

// Whether the option was on the command line.
bool train_given(const train_settings *settings, size_t offset);

// Everything up to the first step; nothing is written. On failure train_close cleans up.
HONE_MUST_USE hone_status train_prepare(train_run *run, hone_error *error);
void train_print_plan(const train_run *run);
HONE_MUST_USE hone_status train_print_plan_json(const train_run *run, hone_error *error);
void train_close(train_run *run);
// Memory by kind, of all that the run makes.
hone_train_bytes train_bytes(const train_run *run);

// The steps, evaluations and saves. HONE_INTERRUPTED when asked to stop: the state is saved then.
HONE_MUST_USE hone_status train_loop(train_run *run, hone_error *error);
// Evaluates, adapter and report in the folder, the last line.
HONE_MUST_USE hone_status train_finish(train_run *run, hone_error *error);
HONE_MUST_USE hone_status train_print_profile(const train_run *run, hone_error *error);

// The settings as text, for the report.
void train_fill_fields(train_run *run);

#endif
