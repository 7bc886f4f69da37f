// SPDX-License-Identifier: Apache-2.0
// What the measurements of hone bench share.
#ifndef HONE_CLI_BENCH_H
#define HONE_CLI_BENCH_H

#include "commands.h"

typedef struct bench_settings {
    cli_common common;
    const char *train, *generate, *op;
    int64_t sequence, batch, steps, rank, tokens;
    bool recompute, profile;
    const char *trace;
} bench_settings;

// A square product [n, n] x [n, n] in fp32, through the same operator that a model uses.
typedef struct bench_product {
    int64_t n;
    hone_buffer *matrices; // both
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program;
} bench_product;
HONE_MUST_USE hone_status bench_product_open(hone_device *device, int64_t n, bench_product *out, hone_error *error);
void bench_product_close(bench_product *product);
// Seconds of one product.
HONE_MUST_USE hone_status bench_product_time(bench_product *product, double *seconds, hone_error *error);
double bench_product_flop(const bench_product *product);

// What is timed call by call is run so often before: a GPU's clocks rise only under load, and memory that is new is slower.
enum { BENCH_WARM_UPS = 3, BENCH_MOST_WARM_UPS = 2000 };
#define BENCH_WARM_UP_SECONDS 0.3
// Whether `calls` calls since `start` of the host's clock are too few.
bool bench_warming_up(size_t calls, double start);

// Least, quartiles and median of seconds [count]; sorts them.
typedef struct bench_times {
    double least, lower, median, upper;
} bench_times;
bench_times bench_sum_up(double *seconds, size_t count);
void bench_times_json(cli_json *json, bench_times times);

HONE_MUST_USE hone_status bench_training(const bench_settings *settings, hone_error *error);
// Cases with settings->op in the operator's name.
HONE_MUST_USE hone_status bench_operators(const bench_settings *settings, hone_error *error);
HONE_MUST_USE hone_status bench_generation(const bench_settings *settings, hone_error *error);

#endif
