// SPDX-License-Identifier: Apache-2.0
// hone run in parts: what was asked for, the files of its calls, and the loop.
#ifndef HONE_CLI_RUN_H
#define HONE_CLI_RUN_H

#include "commands.h"

typedef struct run_settings {
    cli_common common;
    cli_texts inputs, set;
    const char *output, *calls, *method, *save;
    bool live;
    int schedule;
    int64_t warmup;
    double rate_min;
} run_settings;

typedef struct running {
    run_settings *settings;
    const char *program; // its path
    hone_device *device;
    hone_pte *pte;
    const char **paths;  // [input_count] of the files given by --input
    hone_tensor *inputs; // [input_count], data owned
    hone_tensor *outputs;
    size_t input_count, output_count;
    int64_t calls;   // in all
    bool step_files; // in_<step>_<i>.npy
    bool misused;    // the failure is one of the command line
    double rate;     // lr before the schedule
    bool has_rate;   // the program reads one, and the schedule gives it
    double seconds;  // of calls so far
    hone_text path;
} running;

// Fills in paths, calls and step_files. A file that is missing, or a name that no call would read, is refused.
HONE_MUST_USE hone_status run_find_inputs(running *r, hone_error *error);
// Before the first call: whether what will be written can be, and is none of the files that are read.
HONE_MUST_USE hone_status run_check_outputs(running *r, hone_error *error);
HONE_MUST_USE hone_status run_read_inputs(running *r, int64_t step, hone_error *error);
HONE_MUST_USE hone_status run_write_outputs(running *r, int64_t step, hone_error *error);
// Behind the last call: makes the names of all outputs last.
HONE_MUST_USE hone_status run_sync_outputs(const running *r, hone_error *error);

#endif
