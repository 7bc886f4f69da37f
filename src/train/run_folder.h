// SPDX-License-Identifier: Apache-2.0
// A run's folder: adapter.gguf, adapter_model.safetensors and adapter_config.json, state.hone (with `keep` above 1 also
// the states before it, as state-STEP.hone), metrics.jsonl and report.html.
#ifndef HONE_TRAIN_RUN_FOLDER_H
#define HONE_TRAIN_RUN_FOLDER_H

#include "train/report.h"

typedef struct hone_run_folder {
    char *path;
    char *state; // path of state.hone
    hone_metrics *metrics;
    bool created;       // by this process
    int64_t saved_step; // of state.hone; -1 = there is none
} hone_run_folder;

// Before anything is loaded: refuses a path that exists (without `resume`), or one without a state (with it).
HONE_MUST_USE hone_status hone_run_folder_check(const char *path, bool resume, hone_error *error);
// Makes the folder and an empty metrics.jsonl.
HONE_MUST_USE hone_status hone_run_folder_create(const char *path, hone_run_folder **out, hone_error *error);
// Goes on in a folder whose state.hone is of `step`.
HONE_MUST_USE hone_status hone_run_folder_resume(const char *path, int64_t step, hone_run_folder **out,
                                                 hone_error *error);
// Metrics made safe, then state, adapter and report, each by rename. Until the first state is complete the folder is
// not worth keeping. `keep` >= 1 states stay. An adapter that learnt nothing is an error only when `last`.
HONE_MUST_USE hone_status hone_run_folder_save(hone_run_folder *folder, hone_trainer *trainer,
                                               const hone_report *report, int keep, bool last, hone_error *error);
// A folder that this process made and in which nothing was saved is removed. NULL is allowed.
void hone_run_folder_close(hone_run_folder *folder);

#endif
