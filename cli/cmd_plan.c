// SPDX-License-Identifier: Apache-2.0
// hone plan: what a training run would hold and take, before anything is loaded.
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "model/model.h"
#include "train.h"

#define PRODUCT  1024 // a square of that, as in hone bench
#define PRODUCTS 3
#define SLOW     0.2 // seconds of a product after which one is enough

// What is said besides the memory of training.
typedef struct outlook {
    train_choice choices[TRAIN_MOST_CHOICES];
    size_t choice_count;
    int64_t context; // tokens of the cache
    size_t cache, generation;
    double flop, speed; // of a step; of the device's products, a second
} outlook;

// The floating-point operations of a mean step, as hone bench counts them; layers that are computed again count once more.
static double step_flop(const train_run *run) {
    const hone_model_config *const c = hone_model_shape(run->session.model);
    const double parameters = (double)c->layer_parameters;
    const double lora = (double)hone_lora_parameters(run->session.lora);
    const double passes = run->options.recompute == HONE_RECOMPUTE_LAYERS ? 6 : 4;
    double flop = 0;
    for (size_t i = 0; i < run->data->row_count; i++) {
        const double t = (double)run->data->rows[i].length;
        flop += passes * parameters * t + 6 * lora * t + 6 * t * t * (double)c->width * (double)c->layers;
    }
    const double rows = (double)run->data->row_count;
    return flop / rows * fmin(rows, (double)(run->options.batch * run->options.accumulate));
}

static hone_status measure_speed(const train_run *run, double *speed, hone_error *error) {
    bench_product product;
    HONE_TRY(bench_product_open(run->device, PRODUCT, &product, error));
    hone_status status = HONE_OK;
    for (int i = 0; i < PRODUCTS && status == HONE_OK; i++) {
        double seconds = 0;
        status = bench_product_time(&product, &seconds, error);
        if (status == HONE_OK && seconds > 0) *speed = fmax(*speed, bench_product_flop(&product) / seconds);
        if (seconds > SLOW) break;
    }
    bench_product_close(&product);
    return status;
}

static hone_status look_out(train_run *run, outlook *o, hone_error *error) {
    hone_generator *generator = NULL;
    o->choice_count = train_find_choices(run, run->bytes.total - 1, o->choices);
    o->context = (int64_t)train_longest_row(run->data);
    hone_status status = hone_generator_create(run->session.model, run->session.lora, o->context, &generator, error);
    if (status == HONE_OK) status = hone_generator_bytes(generator, &o->cache, &o->generation, error);
    hone_generator_destroy(generator);
    HONE_TRY(status);
    o->generation += run->bytes.weights + run->bytes.adapter + run->bytes.staging;
    o->flop = step_flop(run);
    return measure_speed(run, &o->speed, error);
}

static void print_text(const train_run *run, const outlook *o) {
    char text[128], cost[128];
    train_print_plan(run);
    for (size_t i = 0; i < o->choice_count; i++)
        printf("%s%-12s %s%s\n", i ? "                  " : "less     with     ", cli_bytes(o->choices[i].bytes),
               train_choice_text(run, &o->choices[i], text, sizeof text),
               train_choice_cost(run, &o->choices[i], cost, sizeof cost));
    printf("time     %.3g TFLOP a step: %s or more, at the %.3g TFLOP/s of this device's fp32 products\n",
           o->flop / 1e12, cli_duration(o->flop / o->speed), o->speed / 1e12);
    printf("generate %s with %s tokens of context, %s of it key/value cache\n", cli_bytes(o->generation),
           cli_count(o->context), cli_bytes(o->cache));
}

static hone_status print_json(const train_run *run, const outlook *o, hone_error *error) {
    char text[128];
    cli_json json = {0};
    hone_text list = {0};
    cli_json_bool(&json, "plan", true);
    cli_json_text(&json, "device", hone_device_name(run->device));
    cli_json_integer(&json, "rows", (int64_t)run->data->row_count);
    cli_json_integer(&json, "longest", (int64_t)train_longest_row(run->data));
    cli_json_integer(&json, "adapter_parameters", (int64_t)hone_lora_parameters(run->session.lora));
    train_bytes_json(run, &json);
    hone_text_print(&list, "[");
    for (size_t i = 0; i < o->choice_count; i++)
        hone_text_print(&list, "%s{\"options\":\"%s\",\"total_bytes\":%llu,\"learnt\":%zu}", i ? "," : "",
                        train_choice_text(run, &o->choices[i], text, sizeof text),
                        (unsigned long long)o->choices[i].bytes, o->choices[i].learnt);
    hone_text_print(&list, "]");
    cli_json_raw(&json, "less", list.bytes ? list.bytes : "[]");
    hone_text_clear(&list);
    cli_json_integer(&json, "context", o->context);
    cli_json_integer(&json, "cache_bytes", (int64_t)o->cache);
    cli_json_integer(&json, "generate_bytes", (int64_t)o->generation);
    cli_json_number(&json, "gflop", o->flop / 1e9);
    cli_json_number(&json, "product_gflop_per_s", o->speed / 1e9);
    cli_json_number(&json, "seconds_least", o->flop / o->speed);
    return cli_json_print(&json, error);
}

static hone_status plan(train_run *run, hone_error *error) {
    outlook o = {0};
    HONE_TRY(train_prepare_plan(run, error));
    HONE_TRY(look_out(run, &o, error));
    if (run->settings->common.json) return print_json(run, &o, error);
    print_text(run, &o);
    return cli_flush(error);
}

static int run_plan(void *opaque, const char *const *arguments, size_t count) {
    train_settings *const settings = opaque;
    if (settings->resume || settings->output)
        return cli_usage("'hone plan' writes no run: use 'hone train --dry-run' for one that is to be resumed");
    settings->dry_run = true;
    const int wrong = train_check_settings(settings);
    if (wrong) return wrong;
    cli_interrupt_watch(NULL);
    train_run run = {.settings = settings, .model_path = arguments[0], .data_path = count > 1 ? arguments[1] : NULL};
    hone_error error = {0};
    const hone_status status = plan(&run, &error);
    train_close(&run);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_plan = {
    .name = "plan",
    .arguments = "MODEL [DATA] [OPTIONS]",
    .summary = "what training would hold and take, by kind, before anything is loaded",
    .details = "With the options of 'hone train'. Without DATA, for one batch of rows of --sequence tokens. Nothing is "
               "loaded: "
               "the run\n"
               "is made on a device that only counts, and so is each alternative under 'less'. What does not fit into "
               "--max-memory or,\n"
               "without it, the GPU's memory, is an error that says what would fit.",
    .options = train_option_table,
    .computes = true,
    .least = 1,
    .most = 2,
    .settings_bytes = sizeof(train_settings),
    .defaults = train_defaults,
    .run = run_plan,
};
