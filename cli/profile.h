// SPDX-License-Identifier: Apache-2.0
// --profile: where the time of training steps goes, as a table, as JSON lines and as a trace for chrome://tracing and Perfetto.
#ifndef HONE_CLI_PROFILE_H
#define HONE_CLI_PROFILE_H

#include <hone/hone.h>

#include "output.h"

typedef struct cli_profile_event {
    const char *name;
    size_t name_length;
    char label[40];
    double start, seconds;
    bool device; // an operator, else a stretch of the host's time
} cli_profile_event;

typedef struct cli_profile {
    hone_device *device;
    hone_trainer *trainer; // NULL: not profiled
    cli_profile_event *events;
    size_t count, capacity, dropped;
    hone_profile_row *before; // [before_count] at the mark
    size_t before_count;
    hone_train_times times; // at the mark
    struct {
        hone_profile_row *rows; // NULL: not paused
        size_t row_count;
        hone_train_times times;
        size_t events, dropped;
    } paused; // at the pause
} cli_profile;

// Switches the trainer's profile on. The profile must stay where it is until it is closed.
void cli_profile_open(cli_profile *profile, hone_device *device, hone_trainer *trainer);
// Counts from here on: what was before, plans being made and caches being cold, is left out.
HONE_MUST_USE hone_status cli_profile_mark(cli_profile *profile, hone_error *error);
// What the trainer does between these two, evaluations, is left out of table, step and trace. Nothing where there is no
// profile.
HONE_MUST_USE hone_status cli_profile_pause(cli_profile *profile, hone_error *error);
HONE_MUST_USE hone_status cli_profile_go_on(cli_profile *profile, hone_error *error);
// The table, or a line for each operator and one for the step; and the trace into `path`.
HONE_MUST_USE hone_status cli_profile_print(const cli_profile *profile, bool json, const char *path, hone_error *error);
void cli_profile_close(cli_profile *profile);

#endif
