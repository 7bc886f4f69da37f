// SPDX-License-Identifier: Apache-2.0
// hone bench: how fast products, a training step and generation are on this machine.
#include <stdio.h>

#include "base/clock.h"
#include "bench.h"

#define AT(member) .offset = offsetof(bench_settings, member)

static const cli_option options[] = {
    {CLI_HEADING, .help = "What is measured, one after another (products, unless one of these is given)"},
    {CLI_TEXT, "train", .value = "MODEL", AT(train),
     .help = "a LoRA training step of this model, as a share of product speed"},
    {CLI_TEXT, "generate", .value = "MODEL", AT(generate), .help = "generation with this model"},
    {CLI_TEXT, "op", .value = "NAME", AT(op),
     .help = "the operators with NAME in their name, by the device's own clock"},
    {CLI_HEADING, .help = "Options of --train"},
    {CLI_INTEGER, "sequence", .value = "N", AT(sequence), .low = 2, .high = 1 << 20, .help = "tokens of a row (512)"},
    {CLI_INTEGER, "batch", .value = "N", AT(batch), .low = 1, .high = 1 << 16, .help = "rows at a time (1)"},
    {CLI_INTEGER, "steps", .value = "N", AT(steps), .low = 1, .high = 1000,
     .help = "measured steps, after one more (5)"},
    {CLI_INTEGER, "rank", .value = "N", AT(rank), .low = 1, .high = 4096,
     .help = "of the LoRA on all seven matrices (8)"},
    {CLI_FLAG, "recompute", AT(recompute), .help = "compute layers again in the backward pass"},
    {CLI_FLAG, "profile", AT(profile), .help = "print what each operator takes, and write a trace of the steps"},
    {CLI_TEXT, "trace", .value = "FILE", AT(trace),
     .help = "the trace of --profile, for chrome://tracing or Perfetto (trace.json)"},
    {CLI_HEADING, .help = "Options of --generate"},
    {CLI_INTEGER, "tokens", .value = "N", AT(tokens), .low = 1, .high = 4096, .help = "tokens to generate (64)"},
    {CLI_REFUSED, "shape", .help = "is not in this version: give a model to --train"},
    {CLI_REFUSED, "tune", .help = "is not in this version"},
    {CLI_END},
};

static void defaults(void *opaque) {
    bench_settings *const s = opaque;
    s->sequence = 512;
    s->batch = 1;
    s->steps = 5;
    s->rank = 8;
    s->tokens = 64;
    s->trace = "trace.json";
}

enum { MOST_REPEATS = 200 };

static hone_status measure_product(hone_device *device, const bench_settings *settings, int64_t n, hone_error *error) {
    bench_product product;
    double seconds[MOST_REPEATS];
    size_t count = 0;
    HONE_TRY(bench_product_open(device, n, &product, error));
    hone_status status = HONE_OK;
    double start = hone_clock_seconds();
    for (size_t i = 0; status == HONE_OK && bench_warming_up(i, start); i++)
        status = bench_product_time(&product, &seconds[0], error);
    start = hone_clock_seconds();
    while (status == HONE_OK && count < MOST_REPEATS && (count < 5 || hone_clock_seconds() - start < 0.5)) {
        status = bench_product_time(&product, &seconds[count++], error);
        if (status == HONE_OK && cli_interrupted()) status = cli_stopped(error);
    }
    const double flop = bench_product_flop(&product);
    bench_product_close(&product);
    HONE_TRY(status);
    const bench_times times = bench_sum_up(seconds, count);
    if (!settings->common.json) {
        printf("%6lld %12.3f ms %12.3f ms %10.1f GFLOP/s\n", (long long)n, times.least * 1e3, times.median * 1e3,
               flop / times.least / 1e9);
        return cli_flush(error);
    }
    cli_json json = {0};
    cli_json_text(&json, "case", "aten::mm");
    cli_json_integer(&json, "n", n);
    bench_times_json(&json, times);
    cli_json_number(&json, "gflop_per_s", flop / times.least / 1e9);
    return cli_json_print(&json, error);
}

static hone_status bench_products(const bench_settings *settings, hone_error *error) {
    static const int64_t sizes[] = {256, 512, 1024, 2048};
    hone_device *device = NULL;
    hone_status status = cli_device_open(&settings->common, &device, error);
    if (status == HONE_OK && !settings->common.json) {
        printf("fp32 products of square matrices on %s, %s\n%6s %15s %15s %18s\n", hone_device_name(device),
               hone_device_detail(device), "n", "least", "median", "at the least");
    }
    for (size_t i = 0; status == HONE_OK && i < sizeof(sizes) / sizeof(sizes[0]); i++)
        status = measure_product(device, settings, sizes[i], error);
    hone_device_close(device);
    return status;
}

// An option of a measurement that was not asked for would change nothing.
static int check_used(const bench_settings *s) {
    static const struct {
        size_t offset;
        const char *name;
        bool generate; // of --generate, else of --train
    } options_of[] = {
        {offsetof(bench_settings, sequence), "sequence", false},
        {offsetof(bench_settings, batch), "batch", false},
        {offsetof(bench_settings, steps), "steps", false},
        {offsetof(bench_settings, rank), "rank", false},
        {offsetof(bench_settings, recompute), "recompute", false},
        {offsetof(bench_settings, profile), "profile", false},
        {offsetof(bench_settings, trace), "trace", false},
        {offsetof(bench_settings, tokens), "tokens", true},
    };
    for (size_t i = 0; i < sizeof(options_of) / sizeof(options_of[0]); i++) {
        if (!cli_given(&cli_bench, s, options_of[i].offset)) continue;
        const char *const name = options_of[i].name;
        if (options_of[i].generate && !s->generate)
            return cli_usage("--%s is an option of generation: give --generate MODEL", name);
        if (!options_of[i].generate && !s->train)
            return cli_usage("--%s is an option of the training step: give --train MODEL", name);
    }
    if (cli_given(&cli_bench, s, offsetof(bench_settings, trace)) && !s->profile)
        return cli_usage("--trace needs --profile");
    return CLI_DONE;
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)arguments;
    (void)count;
    const bench_settings *const settings = opaque;
    hone_error error = {0};
    hone_status status = HONE_OK;
    const int code = check_used(settings);
    if (code) return code;
    cli_interrupt_watch(NULL);
    if (settings->train) status = bench_training(settings, &error);
    if (status == HONE_OK && settings->generate) status = bench_generation(settings, &error);
    if (status == HONE_OK && settings->op) status = bench_operators(settings, &error);
    if (!settings->train && !settings->generate && !settings->op) status = bench_products(settings, &error);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_bench = {
    .name = "bench",
    .arguments = "[OPTIONS]",
    .summary = "speed of products, operators, a training step, generation",
    .details =
        "A training step of T tokens a row counts 4 P T + 6 L T + 6 T^2 d layers FLOP a row: P parameters of all "
        "matrices\n"
        "(the head once), L of the LoRA, width d. Its share is of the best product speed measured in the same run.",
    .options = options,
    .computes = true,
    .settings_bytes = sizeof(bench_settings),
    .defaults = defaults,
    .run = run,
};
