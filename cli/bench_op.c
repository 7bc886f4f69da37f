// SPDX-License-Identifier: Apache-2.0
// hone bench --op: the cases of one operator that are made for timing, by the device's own clock.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "ops/case.h"

enum { MOST_SAMPLES = 200, LEAST_SAMPLES = 5, MOST_ROWS = 64 };
#define SAMPLE_SECONDS 0.5

typedef struct bench_case {
    hone_case call;
    hone_arena arena;
    hone_case_tensor inputs[HONE_CASE_INPUTS];
    hone_buffer *buffers[HONE_CASE_INPUTS];
    hone_value values[HONE_CASE_INPUTS];
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program;
    double live[HONE_CASE_ARGUMENTS];
    size_t live_count;
    double bytes;  // every input and output once, what is written in place twice
    double before; // seconds that the profile has counted so far
    bool gpu, own_clock;
} bench_case;

static void close_case(bench_case *c) {
    hone_program_destroy(c->program);
    hone_plan_destroy(c->plan);
    hone_graph_destroy(c->graph);
    for (size_t i = 0; i < HONE_CASE_INPUTS; i++) hone_buffer_destroy(c->buffers[i]);
    hone_arena_clear(&c->arena);
}

static hone_status upload_inputs(hone_device *device, bench_case *c, hone_error *error) {
    bool mutated[HONE_CASE_INPUTS];
    hone_random random = hone_random_seed(1, 1);
    HONE_TRY(hone_case_mutated(&c->call, mutated, error));
    for (size_t i = 0; i < c->call.input_count; i++) {
        hone_case_tensor *const input = &c->inputs[i];
        HONE_TRY(hone_case_draw(&c->call.inputs[i], &random, &c->arena, input, error));
        const size_t words = (input->bytes + 3) / 4;
        HONE_TRY(hone_buffer_create(device, words ? 4 * words : 4, "an input", &c->buffers[i], error));
        HONE_TRY(hone_buffer_upload(c->buffers[i], 0, input->data, input->bytes, error));
        c->bytes += (double)input->bytes * (mutated[i] ? 2 : 1);
    }
    return HONE_OK;
}

static hone_status open_case(hone_device *device, const hone_case *from, bench_case *c, hone_error *error) {
    *c = (bench_case){.call = *from};
    HONE_TRY(upload_inputs(device, c, error));
    c->live_count = hone_case_live(&c->call, c->live);
    HONE_TRY(hone_graph_create(&c->graph, error));
    const hone_case_buffers buffers = {c->buffers, 0};
    HONE_TRY(hone_case_emit(c->graph, &c->call, &buffers, c->values, error));
    const hone_node *const node = hone_graph_node(c->graph, hone_graph_node_count(c->graph) - 1);
    for (size_t i = 0; i < hone_node_output_count(node); i++) {
        hone_graph_keep(c->graph, hone_node_output(node, i));
        c->bytes += (double)hone_type_bytes(hone_graph_type(c->graph, hone_node_output(node, i)));
    }
    HONE_TRY(hone_plan_create(c->graph, NULL, &c->plan, error));
    hone_status status;
    CLI_WAIT(status, hone_program_create(device, c->plan, NULL, &c->program, error), error);
    hone_device_facts facts;
    hone_device_facts_read(device, &facts);
    c->gpu = facts.driver != NULL; // the CPU's clock is the host's
    if (status == HONE_OK) hone_program_profile(c->program, c->gpu);
    return status;
}

// What the device has counted; false where it has no clock of its own.
static bool counted(const bench_case *c, double *seconds) {
    hone_profile_row rows[MOST_ROWS];
    const size_t count = hone_program_profile_rows(c->program, rows, MOST_ROWS);
    *seconds = 0;
    for (size_t i = 0; i < count && i < MOST_ROWS; i++) *seconds += rows[i].seconds;
    return count > 0 && *seconds > 0;
}

static hone_status run_case(bench_case *c, double *seconds, hone_error *error) {
    const double start = hone_clock_seconds();
    HONE_TRY(hone_program_submit(c->program, 0, c->live, c->live_count, error));
    hone_status status;
    CLI_WAIT(status, hone_program_wait(c->program, error), error);
    HONE_TRY(status);
    *seconds = hone_clock_seconds() - start;
    double now;
    c->own_clock = c->gpu && counted(c, &now);
    if (c->own_clock) {
        *seconds = now - c->before;
        c->before = now;
    }
    return HONE_OK;
}

static hone_status print(const bench_settings *settings, const bench_case *c, bench_times times, hone_error *error) {
    if (settings->common.json) {
        cli_json json = {0};
        cli_json_text(&json, "op", c->call.op);
        cli_json_text(&json, "case", c->call.name);
        cli_json_text(&json, "clock", c->own_clock ? "device" : "host");
        bench_times_json(&json, times);
        cli_json_number(&json, "gb_per_s", c->bytes / times.median / 1e9);
        if (c->call.flop) cli_json_number(&json, "tflop_per_s", (double)c->call.flop / times.median / 1e12);
        return cli_json_print(&json, error);
    }
    printf("%-32s %-34s %10.4f ms %10.4f ms %9.1f GB/s", c->call.op, c->call.name, times.least * 1e3,
           times.median * 1e3, c->bytes / times.median / 1e9);
    if (c->call.flop) printf(" %8.3f TFLOP/s", (double)c->call.flop / times.median / 1e12);
    printf("\n");
    return cli_flush(error);
}

static hone_status measure(const bench_settings *settings, hone_device *device, const hone_case *from,
                           hone_error *error) {
    bench_case c;
    double seconds[MOST_SAMPLES];
    size_t count = 0;
    hone_status status = open_case(device, from, &c, error);
    double start = hone_clock_seconds();
    for (size_t i = 0; status == HONE_OK && bench_warming_up(i, start); i++) {
        status = run_case(&c, &seconds[0], error);
        if (status == HONE_OK && cli_interrupted()) status = cli_stopped(error);
    }
    start = hone_clock_seconds();
    while (status == HONE_OK && count < MOST_SAMPLES &&
           (count < LEAST_SAMPLES || hone_clock_seconds() - start < SAMPLE_SECONDS)) {
        status = run_case(&c, &seconds[count++], error);
        if (status == HONE_OK && cli_interrupted()) status = cli_stopped(error);
    }
    if (status == HONE_OK) status = print(settings, &c, bench_sum_up(seconds, count), error);
    close_case(&c);
    return status;
}

// A case that the device cannot run is named and passed over.
static hone_status measure_all(const bench_settings *settings, hone_device *device, hone_error *error) {
    for (const hone_case *from = hone_bench_cases; from->op; from++) {
        if (!strstr(from->op, settings->op)) continue;
        const hone_status status = measure(settings, device, from, error);
        if (status != HONE_UNSUPPORTED) HONE_TRY(status);
        if (status == HONE_UNSUPPORTED) cli_note("%s [%s]: %s", from->op, from->name, error->message);
    }
    return HONE_OK;
}

static bool any_case(const char *name) {
    const hone_case *at = hone_bench_cases;
    while (at->op && !strstr(at->op, name)) at++;
    return at->op != NULL;
}

hone_status bench_operators(const bench_settings *settings, hone_error *error) {
    hone_device *device = NULL;
    HONE_FAIL_IF(!any_case(settings->op), error, NOT_FOUND,
                 "no case with '%s' in its operator's name is there to be timed", settings->op);
    hone_status status = cli_device_open(&settings->common, &device, error);
    if (status == HONE_OK && !settings->common.json)
        printf("on %s, %s\n%-32s %-34s %13s %13s %14s\n", hone_device_name(device), hone_device_detail(device),
               "operator", "case", "least", "median", "at the median");
    if (status == HONE_OK) status = measure_all(settings, device, error);
    hone_device_close(device);
    return status;
}
