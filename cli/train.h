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
    int64_t eval_every, save_every, keep, copy_every, reopen;
    bool recompute, resume, profile, dry_run;
    const char *init_adapter;
    uint64_t max_memory;
} train_settings;

#define TRAIN_MOST_FIELDS 40
#define TRAIN_STOPPING    "finishing the steps that are under way, then saving; Ctrl-C again ends at once"

// A run from the first look at its files to the last.
typedef struct train_run {
    const train_settings *settings;
    const char *model_path, *data_path;
    hone_device *device; // what is computed on
    cli_session session; // on it; while only planning, on one that counts
    hone_train_bytes bytes;
    uint64_t limit;             // of memory; 0: not known
    hone_dataset *data, *valid; // valid may be NULL
    hone_train_options options;
    hone_lora_options lora_options;
    hone_dataset_origin origin; // on --resume: what made the rows of the run
    bool origin_known;          // its state says so
    double held_out;            // part of the rows that --valid, or the run, holds out; 0: none
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
    int64_t recoveries; // of the GPU, that the user was told of
    bool unheard;       // standard output takes no more
    bool told_stopping; // that steps are finished first
} train_run;

// What hone plan shares with hone train.
extern const cli_option train_option_table[];
void train_defaults(void *settings);
// What the table cannot say; 0 or an exit code.
int train_check_settings(const train_settings *settings);

// Whether the option was on the command line.
bool train_given(const train_settings *settings, size_t offset);

// Everything up to the first step; nothing is written. What does not fit is refused before anything is allocated on the
// device. On failure train_close cleans up.
HONE_MUST_USE hone_status train_prepare(train_run *run, hone_error *error);
// The plan alone. Without a data path it is made for invented rows.
HONE_MUST_USE hone_status train_prepare_plan(train_run *run, hone_error *error);
void train_print_plan(const train_run *run);
HONE_MUST_USE hone_status train_print_plan_json(const train_run *run, hone_error *error);
void train_close(train_run *run);

// --- parts of the plan
HONE_MUST_USE hone_status train_make_trainers(const train_run *run, const hone_train_options *wanted,
                                              const hone_dataset *data, const hone_dataset *valid,
                                              hone_trainer **trainer, hone_trainer **evaluator, hone_error *error);
size_t train_longest_row(const hone_dataset *data);
// One batch of rows of --sequence tokens, all learnt.
HONE_MUST_USE hone_status train_invent_data(train_run *run, hone_error *error);
// Trainers on the session's device; fills run->bytes and run->limit.
HONE_MUST_USE hone_status train_plan(train_run *run, hone_error *error);
// HONE_OUT_OF_MEMORY, saying what would fit.
HONE_MUST_USE hone_status train_check_memory(const train_run *run, hone_error *error);
// Memory could not be had though the plan was within the limit: adds to the error what would need less. On a plan's session.
void train_advise(const train_run *run, hone_error *error);
void train_print_memory(const train_run *run, bool by_kind);
void train_bytes_json(const train_run *run, cli_json *json);

// Options that a run could have instead, and what they were found to need.
typedef struct train_choice {
    bool recompute;
    int64_t batch, accumulate, sequence;
    uint64_t bytes;
    size_t learnt; // tokens of an epoch
} train_choice;
#define TRAIN_MOST_CHOICES 4
// Those that fit, each planned: layers recomputed (and, if need be, a smaller batch), the largest smaller batch, the longest shorter rows, or all together.
// None: the least that was tried is the last of `choices`, where the batch may be changed.
size_t train_find_choices(const train_run *run, uint64_t limit, train_choice choices[TRAIN_MOST_CHOICES]);
// "--batch 4 --accumulate 2", and what it costs: "" or ", 201 of 6,484 tokens learnt" where rows are cut shorter.
const char *train_choice_text(const train_run *run, const train_choice *choice, char *text, size_t size);
const char *train_choice_cost(const train_run *run, const train_choice *choice, char *text, size_t size);

// The steps, evaluations and saves. HONE_INTERRUPTED when asked to stop: the state is saved then, if a step was done.
HONE_MUST_USE hone_status train_loop(train_run *run, hone_error *error);
// Evaluates, adapter and report in the folder, the last line.
HONE_MUST_USE hone_status train_finish(train_run *run, hone_error *error);
HONE_MUST_USE hone_status train_print_profile(const train_run *run, hone_error *error);

// The settings as text, for the report.
void train_fill_fields(train_run *run);

#endif
