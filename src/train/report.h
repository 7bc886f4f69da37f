// SPDX-License-Identifier: Apache-2.0
// report.html: a run on one page that needs nothing else, made from its metrics.
#ifndef HONE_TRAIN_REPORT_H
#define HONE_TRAIN_REPORT_H

#include "train/metrics.h"

typedef struct hone_report_field {
    const char *name;
    const char *value;
} hone_report_field;

typedef struct hone_report {
    const char *title;
    const char *state; // one line: "114 of 114 steps, done"
    const hone_report_field *settings;
    size_t setting_count;
    const hone_metrics *metrics;
} hone_report;

// Written by rename: a reader sees the old page or the new one.
HONE_MUST_USE hone_status hone_report_write(const char *path, const hone_report *report, hone_error *error);
// The same into a text.
HONE_MUST_USE hone_status hone_report_print(const hone_report *report, hone_text *out, hone_error *error);

#endif
