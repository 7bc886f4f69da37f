// SPDX-License-Identifier: Apache-2.0
// Times the cases: the smallest and the median time of a call, bytes and operations a second.
#include "opcheck/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

// As hone bench --op does it, but for the calls that are too short for the host's clock.
#define WARM_UPS        3
#define WARM_UP_SECONDS 0.3
#define MOST_WARM_UPS   2000
#define BENCH_SECONDS   0.5
#define LEAST_SAMPLES   5
#define SAMPLES         200
#define SAMPLE_SECONDS  1e-4

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// What the device's own clock has counted so far; 0 where it has none.
static double counted(const check_program *program) {
    hone_profile_row rows[8];
    double seconds = 0;
    const size_t count = hone_program_profile_rows(program->program, rows, 8);
    for (size_t i = 0; i < count && i < 8; i++) seconds += rows[i].seconds;
    return seconds;
}

static hone_status time_calls(check_program *program, size_t calls, double *seconds, hone_error *error) {
    const double before = hone_clock_seconds();
    const double counted_before = counted(program);
    for (size_t i = 0; i < calls; i++) HONE_TRY(check_program_run(program, true, error));
    const double own = counted(program) - counted_before;
    *seconds = (own > 0 ? own : hone_clock_seconds() - before) / (double)calls;
    return HONE_OK;
}

static hone_status warm_up(check_program *program, hone_error *error) {
    const double started = hone_clock_seconds();
    size_t calls = 0;
    do {
        HONE_TRY(check_program_run(program, calls > 0, error)); // the first writes the inputs
        calls++;
    } while (calls < WARM_UPS || (calls < MOST_WARM_UPS && hone_clock_seconds() - started < WARM_UP_SECONDS));
    return HONE_OK;
}

// Short calls are timed many at once, so that the clock's own time does not count.
static hone_status time_case(check_program *program, double *times, size_t *count, hone_error *error) {
    HONE_TRY(warm_up(program, error));
    if (strcmp(hone_device_name(program->device), "cpu") != 0)
        hone_program_profile(program->program, true); // a GPU has a clock of its own
    double once;
    HONE_TRY(time_calls(program, 1, &once, error));
    const size_t calls = once < SAMPLE_SECONDS ? (size_t)(SAMPLE_SECONDS / (once + 1e-9)) + 1 : 1;
    const double started = hone_clock_seconds();
    *count = 0;
    do {
        HONE_TRY(time_calls(program, calls, &times[*count], error));
        (*count)++;
    } while (*count < SAMPLES && (*count < LEAST_SAMPLES || hone_clock_seconds() - started < BENCH_SECONDS));
    return HONE_OK;
}

// Every input and output once; what an operator reads twice or keeps in a cache does not count.
static double bytes_of(const check_case *drawn) {
    size_t bytes = 0;
    for (size_t i = 0; i < drawn->row->input_count; i++) bytes += drawn->inputs[i].bytes << drawn->mutated[i];
    for (size_t i = 0; i < drawn->output_count; i++) bytes += drawn->outputs[i].bytes;
    return (double)bytes;
}

void check_bench(check_session *session, const hone_op_case *row) {
    check_case drawn;
    check_program program = {0};
    hone_error error = {0};
    double times[SAMPLES];
    size_t count;
    if (check_case_open(&drawn, row, session->seed, &error) != HONE_OK ||
        check_program_forward(&program, session->devices[0], &drawn, &error) != HONE_OK ||
        time_case(&program, times, &count, &error) != HONE_OK) {
        check_fail(session, &drawn, 0, "%s", error.message);
    } else {
        qsort(times, count, sizeof(times[0]), by_size);
        const double median = times[count / 2];
        printf("%-36s %-36s %9.4f ms %9.4f ms %8.2f GB/s", row->op, row->name, times[0] * 1e3, median * 1e3,
               bytes_of(&drawn) / median * 1e-9);
        if (row->bench_flop) printf(" %8.1f GFLOP/s", (double)row->bench_flop / median * 1e-9);
        printf("\n");
        fflush(stdout);
        session->case_count++;
    }
    check_program_close(&program);
    check_case_close(&drawn);
}
