// SPDX-License-Identifier: Apache-2.0
// Time by operator over all programs of a trainer.
#include <stdlib.h>

#include "base/clock.h"
#include "train/trainer.h"

double hone_trainer_begin(const hone_trainer *trainer) {
    return trainer->profiled ? hone_clock_seconds() : 0;
}

void hone_trainer_end(hone_trainer *trainer, const char *phase, double *seconds, double begun) {
    if (!trainer->profiled || begun == 0) return; // off, or switched on in between
    const double passed = hone_clock_seconds() - begun;
    *seconds += passed;
    if (trainer->watch) trainer->watch(trainer->watch_context, phase, begun, passed);
}

hone_status hone_trainer_wait(hone_trainer *trainer, hone_program *program, hone_error *error) {
    const double begun = hone_trainer_begin(trainer);
    const hone_status status = hone_program_wait(program, error);
    hone_trainer_end(trainer, "wait", &trainer->times.wait, begun);
    return status;
}

hone_train_times hone_trainer_times(const hone_trainer *trainer) {
    return trainer->times;
}

void hone_trainer_watch(hone_trainer *trainer, hone_phase_report *report, void *context) {
    trainer->watch = report;
    trainer->watch_context = context;
}

void hone_trainer_profile(hone_trainer *trainer, bool on) {
    trainer->profiled = on;
    for (int i = 0; i < HONE_PLANS; i++) {
        if (trainer->plans[i].program) hone_program_profile(trainer->plans[i].program, on);
    }
    if (trainer->update.program) hone_program_profile(trainer->update.program, on);
}

static int by_seconds(const void *a, const void *b) {
    const hone_profile_row *const x = a;
    const hone_profile_row *const y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static void merge(const hone_profile_row *row, hone_profile_row *rows, size_t capacity, size_t *count) {
    for (size_t i = 0; i < *count; i++) {
        if (rows[i].op != row->op) continue;
        rows[i].seconds += row->seconds;
        rows[i].calls += row->calls;
        rows[i].bytes += row->bytes;
        rows[i].flop += row->flop;
        return;
    }
    if (*count >= capacity) return;
    rows[*count] = *row;
    rows[(*count)++].label = NULL;
}

static void merge_program(const hone_program *program, hone_profile_row *rows, size_t capacity, size_t *count) {
    if (!program) return;
    const size_t own = hone_program_profile_rows(program, NULL, 0);
    hone_profile_row *each;
    hone_error ignored;
    if (HONE_NEW_ARRAY(&each, own, "a profile", &ignored) != HONE_OK) return;
    hone_program_profile_rows(program, each, own);
    for (size_t r = 0; r < own; r++) merge(&each[r], rows, capacity, count);
    hone_free(each);
}

void hone_trainer_keep_profile(hone_trainer *trainer, const hone_program *program) {
    if (trainer->profiled) merge_program(program, trainer->kept_rows, HONE_PROFILE_ROWS, &trainer->kept_row_count);
}

size_t hone_trainer_profile_rows(const hone_trainer *trainer, hone_profile_row *rows, size_t capacity) {
    size_t count = 0;
    for (size_t r = 0; r < trainer->kept_row_count; r++) merge(&trainer->kept_rows[r], rows, capacity, &count);
    for (int i = 0; i < HONE_PLANS; i++) merge_program(trainer->plans[i].program, rows, capacity, &count);
    merge_program(trainer->update.program, rows, capacity, &count);
    qsort(rows, count, sizeof(*rows), by_seconds);
    return count;
}
