// SPDX-License-Identifier: Apache-2.0
// The speed of products, which all else is measured against.
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "bench.h"

static hone_status fill(bench_product *p, hone_error *error) {
    const size_t count = 2 * (size_t)p->n * (size_t)p->n;
    float *values = NULL;
    HONE_TRY(HONE_NEW_ARRAY(&values, count, "the matrices", error));
    hone_random random = hone_random_seed(1, 1);
    for (size_t i = 0; i < count; i++) values[i] = hone_random_float(&random) - 0.5f;
    const hone_status status = hone_buffer_upload(p->matrices, 0, values, count * sizeof(float), error);
    hone_free(values);
    return status;
}

static hone_status open(hone_device *device, bench_product *p, hone_error *error) {
    const size_t bytes = (size_t)p->n * (size_t)p->n * sizeof(float);
    HONE_TRY(hone_buffer_create(device, 2 * bytes, "the matrices", &p->matrices, error));
    HONE_TRY(fill(p, error));
    HONE_TRY(hone_graph_create(&p->graph, error));
    const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 2, p->n, p->n);
    const hone_value a = hone_graph_constant(p->graph, "a", type, p->matrices, 0);
    const hone_value b = hone_graph_constant(p->graph, "b", type, p->matrices, bytes);
    hone_graph_keep(p->graph, hone_emit(p->graph, "aten::mm", HONE_T(a), HONE_T(b)));
    HONE_TRY(hone_graph_status(p->graph, error));
    const hone_plan_options options = {.max_arena_bytes = hone_device_piece_bytes(device)};
    HONE_TRY(hone_plan_create(p->graph, &options, &p->plan, error));
    hone_status status;
    CLI_WAIT(status, hone_program_create(device, p->plan, NULL, &p->program, error), error);
    return status;
}

hone_status bench_product_open(hone_device *device, int64_t n, bench_product *out, hone_error *error) {
    *out = (bench_product){.n = n};
    const hone_status status = open(device, out, error);
    if (status != HONE_OK) bench_product_close(out);
    return status;
}

void bench_product_close(bench_product *product) {
    hone_program_destroy(product->program);
    hone_plan_destroy(product->plan);
    hone_graph_destroy(product->graph);
    hone_buffer_destroy(product->matrices);
    *product = (bench_product){0};
}

hone_status bench_product_time(bench_product *product, double *seconds, hone_error *error) {
    const double start = hone_clock_seconds();
    HONE_TRY(hone_program_submit(product->program, 0, NULL, 0, error));
    hone_status status;
    CLI_WAIT(status, hone_program_wait(product->program, error), error);
    *seconds = hone_clock_seconds() - start;
    return status;
}

double bench_product_flop(const bench_product *product) {
    return 2.0 * (double)product->n * (double)product->n * (double)product->n;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Between the sorted times around it.
static double quantile(const double *seconds, size_t count, double part) {
    const double place = part * (double)(count - 1);
    const size_t at = (size_t)place;
    const double next = at + 1 < count ? seconds[at + 1] : seconds[at];
    return seconds[at] + (place - (double)at) * (next - seconds[at]);
}

bench_times bench_sum_up(double *seconds, size_t count) {
    if (count == 0) return (bench_times){0};
    qsort(seconds, count, sizeof seconds[0], compare);
    return (bench_times){.least = seconds[0],
                         .lower = quantile(seconds, count, 0.25),
                         .median = quantile(seconds, count, 0.5),
                         .upper = quantile(seconds, count, 0.75)};
}

void bench_times_json(cli_json *json, bench_times times) {
    cli_json_number(json, "seconds_min", times.least);
    cli_json_number(json, "seconds_p25", times.lower);
    cli_json_number(json, "seconds_median", times.median);
    cli_json_number(json, "seconds_p75", times.upper);
}

bool bench_warming_up(size_t calls, double start) {
    if (calls < BENCH_WARM_UPS) return true;
    return calls < BENCH_MOST_WARM_UPS && hone_clock_seconds() - start < BENCH_WARM_UP_SECONDS;
}
