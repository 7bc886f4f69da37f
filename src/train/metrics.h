// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: one JSON object a line for each step and each evaluation, and the same numbers in memory for charts.
#ifndef HONE_TRAIN_METRICS_H
#define HONE_TRAIN_METRICS_H

#include <hone/train.h>

#include "base/text.h"

// One line of the file.
typedef struct hone_metrics_row {
    int64_t step;
    bool evaluation; // of the validation data after that step; only `loss` and `tokens` are filled in
    bool skipped;    // the step's loss or gradient was not finite
    double loss;     // NaN where there is none
    double gradient_norm;
    double learning_rate;
    double tokens_per_second;
    double seconds;
    int64_t tokens;
    int64_t supervised;
} hone_metrics_row;

typedef struct hone_metrics {
    char *path;
    int descriptor;
    uint64_t bytes; // of complete lines
    hone_metrics_row *rows;
    size_t count, capacity;
} hone_metrics;

// A new file; one that is there already is HONE_EXISTS.
HONE_MUST_USE hone_status hone_metrics_create(const char *path, hone_metrics **out, hone_error *error);
// Goes on with a file after `step`: later lines, and a last one that was cut, are dropped from it, so that no step
// stands in it twice. A file that is gone begins anew.
HONE_MUST_USE hone_status hone_metrics_resume(const char *path, int64_t step, hone_metrics **out, hone_error *error);
// Appends a line, or nothing when that fails. The line, without its newline, is also left in `line` (may be NULL).
HONE_MUST_USE hone_status hone_metrics_step(hone_metrics *metrics, const hone_step_report *report, hone_text *line,
                                            hone_error *error);
HONE_MUST_USE hone_status hone_metrics_evaluation(hone_metrics *metrics, int64_t step, double loss, int64_t tokens,
                                                  hone_text *line, hone_error *error);
// Whether there is an evaluation of that step.
bool hone_metrics_evaluated(const hone_metrics *metrics, int64_t step);
// Returns when what was appended is safe.
HONE_MUST_USE hone_status hone_metrics_sync(hone_metrics *metrics, hone_error *error);
void hone_metrics_close(hone_metrics *metrics); // NULL is allowed

// A number as JSON has it: null where it is not finite.
void hone_metrics_number(hone_text *text, double value);

#endif
