// SPDX-License-Identifier: Apache-2.0
// The speed of a training step and of generation, beside that of products measured in between.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "bench.h"
#include "profile.h"
#include "text/dataset.h"

#define PRODUCT     1024 // a square of that; large enough for full speed, small enough to repeat often
#define PRODUCT_GPU 2048
#define PROMPT      128 // tokens read before generation is timed
#define MOST_STEPS  1000

typedef struct training {
    const bench_settings *settings;
    cli_session session;
    hone_dataset *data;
    hone_trainer *trainer;
    bench_product product;
    cli_profile profile;
    double fastest; // FLOP/s of the product, best of all
    double seconds[MOST_STEPS];
    double total; // of the steps
    bool ahead;   // steps are queued one behind another: when each is known says nothing about it alone
} training;

// Rows of random ids, as a data file would have them.
static hone_status make_data(training *t, hone_error *error) {
    const bench_settings *const s = t->settings;
    hone_text rows = {0};
    hone_random random = hone_random_seed(1, 2);
    const uint32_t vocabulary = (uint32_t)hone_model_shape(t->session.model)->vocabulary;
    for (int64_t row = 0; row < s->batch; row++) {
        hone_text_print(&rows, "{\"ids\":[");
        for (int64_t i = 0; i < s->sequence; i++)
            hone_text_print(&rows, i ? ",%u" : "%u", (unsigned)hone_random_below(&random, vocabulary));
        hone_text_print(&rows, "]}\n");
    }
    hone_source *source = NULL;
    hone_status status = hone_text_status(&rows, error);
    if (status == HONE_OK) status = hone_memory_source(rows.bytes, rows.length, "random rows", &source, error);
    const hone_dataset_options options = {.sequence = (size_t)s->sequence, .vocabulary = vocabulary};
    if (status == HONE_OK)
        status = hone_dataset_scan_source(source, cli_session_tokenizer(&t->session), &options, &t->data, error);
    hone_source_close(&source);
    hone_text_clear(&rows);
    return status;
}

static hone_status open_training(training *t, hone_error *error) {
    const bench_settings *const s = t->settings;
    HONE_TRY(cli_session_open(&s->common, s->train, NULL, &t->session, error));
    HONE_FAIL_IF(s->sequence > hone_model_shape(t->session.model)->context, error, INVALID_ARGUMENT,
                 "--sequence %lld is more than the model was made for: at most %lld", (long long)s->sequence,
                 (long long)hone_model_shape(t->session.model)->context);
    HONE_TRY(make_data(t, error));
    const hone_lora_options lora = {.rank = (int)s->rank, .seed = 1};
    HONE_TRY(hone_lora_create(t->session.model, &lora, &t->session.lora, error));
    const hone_train_options options = {.steps = s->steps + 1,
                                        .batch = s->batch,
                                        .learning_rate = 1e-5,
                                        .schedule = HONE_SCHEDULE_CONSTANT,
                                        .recompute = s->recompute ? HONE_RECOMPUTE_LAYERS : HONE_RECOMPUTE_CHEAP,
                                        .in_order = true};
    hone_status status;
    CLI_WAIT(status, hone_trainer_create(t->session.model, t->session.lora, t->data, &options, &t->trainer, error),
             error);
    HONE_TRY(status);
    if (s->profile) cli_profile_open(&t->profile, t->session.device, t->trainer);
    hone_device_facts facts;
    hone_device_facts_read(t->session.device, &facts);
    return bench_product_open(t->session.device, facts.driver && !facts.software ? PRODUCT_GPU : PRODUCT, &t->product,
                              error);
}

static hone_status measure_product(training *t, hone_error *error) {
    for (int i = 0; i < 5; i++) {
        double seconds = 0;
        HONE_TRY(bench_product_time(&t->product, &seconds, error));
        t->fastest = fmax(t->fastest, bench_product_flop(&t->product) / seconds);
    }
    return HONE_OK;
}

// A first step that makes plans and warms caches, then the measured ones, a few products before and behind each; where the
// next steps are queued already, as in a run on a GPU, before and behind all of them.
static hone_status measure_steps(training *t, hone_error *error) {
    for (int64_t i = -1; i < t->settings->steps; i++) {
        hone_step_report report = {0};
        hone_status status;
        if (hone_trainer_steps_ahead(t->trainer) == 0) HONE_TRY(measure_product(t, error));
        if (i >= 0) hone_trainer_go_ahead(t->trainer, t->settings->steps + 1);
        const double start = hone_clock_seconds();
        CLI_WAIT(status, hone_trainer_step(t->trainer, &report, error), error);
        HONE_TRY(status);
        if (i >= 0) {
            t->seconds[i] = hone_clock_seconds() - start;
            t->total += t->seconds[i];
            t->ahead |= hone_trainer_steps_ahead(t->trainer) > 0;
        }
        if (i < 0 && t->settings->profile) HONE_TRY(cli_profile_mark(&t->profile, error));
    }
    return measure_product(t, error);
}

// 4 P T + 6 L T + 6 T^2 d layers, the last a row: forward and the gradient to the input of frozen matrices, forward and
// both gradients of the LoRA, attention with half its square.
static double step_flop(const training *t) {
    const hone_model_config *const c = hone_model_shape(t->session.model);
    const double rows = (double)t->settings->batch, row = (double)t->settings->sequence;
    const double lora = (double)hone_lora_parameters(t->session.lora);
    return 4 * (double)c->layer_parameters * rows * row + 6 * lora * rows * row +
           6 * row * row * (double)c->width * (double)c->layers * rows;
}

static hone_status print_training(training *t, hone_error *error) {
    const bench_settings *const s = t->settings;
    const bench_times times = bench_sum_up(t->seconds, (size_t)s->steps);
    const double flop = step_flop(t);
    const double tokens = (double)(s->batch * s->sequence);
    const double step = t->ahead ? t->total / (double)s->steps : times.median;
    const uint64_t peak = hone_process_peak_bytes();
    if (s->common.json) {
        cli_json json = {0};
        cli_json_text(&json, "case", "train");
        cli_json_integer(&json, "batch", s->batch);
        cli_json_integer(&json, "sequence", s->sequence);
        cli_json_integer(&json, "rank", s->rank);
        cli_json_integer(&json, "steps", s->steps);
        bench_times_json(&json, times);
        cli_json_number(&json, "seconds_mean", t->total / (double)s->steps);
        cli_json_number(&json, "tokens_per_s", tokens / step);
        cli_json_number(&json, "gflop", flop / 1e9);
        cli_json_number(&json, "gflop_per_s", flop / step / 1e9);
        cli_json_number(&json, "product_gflop_per_s", t->fastest / 1e9);
        cli_json_number(&json, "share", flop / step / t->fastest);
        cli_json_integer(&json, "peak_bytes", (int64_t)peak);
        return cli_json_print(&json, error);
    }
    printf("training step of %lld x %lld tokens, rank %lld%s, %lld steps\n", (long long)s->batch,
           (long long)s->sequence, (long long)s->rank, s->recompute ? ", layers recomputed" : "", (long long)s->steps);
    if (t->ahead)
        printf("  time      %.1f ms a step, queued one behind another\n", step * 1e3);
    else
        printf("  time      %.1f ms least, %.1f ms median\n", times.least * 1e3, times.median * 1e3);
    printf("  speed     %.1f tokens/s, %.1f GFLOP/s of %.1f GFLOP a step\n", tokens / step, flop / step / 1e9,
           flop / 1e9);
    printf("  share     %.1f %% of this machine's own product speed, %.1f GFLOP/s\n", 100 * flop / step / t->fastest,
           t->fastest / 1e9);
    printf("  memory    %s at most\n", cli_bytes(peak));
    return cli_flush(error);
}

hone_status bench_training(const bench_settings *settings, hone_error *error) {
    training *t = NULL;
    HONE_TRY(HONE_NEW(&t, "the measurement", error));
    t->settings = settings;
    hone_status status = open_training(t, error);
    if (status == HONE_OK) status = measure_steps(t, error);
    if (status == HONE_OK) status = print_training(t, error);
    if (status == HONE_OK && settings->profile)
        status = cli_profile_print(&t->profile, settings->common.json, settings->trace, error);
    cli_profile_close(&t->profile);
    bench_product_close(&t->product);
    hone_trainer_destroy(t->trainer);
    hone_dataset_destroy(t->data);
    cli_session_close(&t->session);
    hone_free(t);
    return status;
}

// --- generation -------------------------------------------------------------------------------------------------------------

static hone_status read_prompt(hone_generator *generator, uint32_t vocabulary, double *seconds, hone_error *error) {
    int32_t prompt[PROMPT];
    hone_random random = hone_random_seed(1, 3);
    for (int i = 0; i < PROMPT; i++) prompt[i] = (int32_t)hone_random_below(&random, vocabulary);
    hone_status status;
    // Once for the plans and caches, once for the clock.
    CLI_WAIT(status, hone_generator_feed(generator, prompt, PROMPT, error), error);
    HONE_TRY(status);
    hone_generator_rewind(generator, 0);
    const double start = hone_clock_seconds();
    CLI_WAIT(status, hone_generator_feed(generator, prompt, PROMPT, error), error);
    *seconds = hone_clock_seconds() - start;
    return status;
}

static hone_status generate(hone_generator *generator, int64_t count, double *seconds, hone_error *error) {
    const hone_sampling sampling = {0};
    for (int64_t i = -1; i < count; i++) { // the first only makes the program
        int32_t token;
        hone_status status;
        const double start = hone_clock_seconds();
        CLI_WAIT(status, hone_generator_next(generator, &sampling, &token, error), error);
        HONE_TRY(status);
        if (i >= 0) seconds[i] = hone_clock_seconds() - start;
    }
    return HONE_OK;
}

static hone_status print_generation(const bench_settings *s, double prompt, double *seconds, hone_error *error) {
    double total = 0;
    for (int64_t i = 0; i < s->tokens; i++) total += seconds[i];
    const bench_times times = bench_sum_up(seconds, (size_t)s->tokens);
    if (s->common.json) {
        cli_json json = {0};
        cli_json_text(&json, "case", "generate");
        cli_json_integer(&json, "tokens", s->tokens);
        bench_times_json(&json, times);
        cli_json_number(&json, "tokens_per_s", (double)s->tokens / total);
        cli_json_integer(&json, "prompt_tokens", PROMPT);
        cli_json_number(&json, "prompt_tokens_per_s", PROMPT / prompt);
        cli_json_integer(&json, "peak_bytes", (int64_t)hone_process_peak_bytes());
        return cli_json_print(&json, error);
    }
    printf("generation of %lld tokens after a prompt of %d\n", (long long)s->tokens, PROMPT);
    printf("  prompt    %.1f tokens/s\n", PROMPT / prompt);
    printf("  speed     %.1f tokens/s; %.2f ms a token least, %.2f ms median\n", (double)s->tokens / total,
           times.least * 1e3, times.median * 1e3);
    printf("  memory    %s at most\n", cli_bytes(hone_process_peak_bytes()));
    return cli_flush(error);
}

hone_status bench_generation(const bench_settings *settings, hone_error *error) {
    cli_session session;
    HONE_TRY(cli_session_open(&settings->common, settings->generate, NULL, &session, error));
    hone_generator *generator = NULL;
    double *seconds = NULL;
    double prompt = 0;
    hone_status status = HONE_NEW_ARRAY(&seconds, (size_t)settings->tokens, "the measurement", error);
    if (status == HONE_OK)
        CLI_WAIT(status, hone_generator_create(session.model, NULL, PROMPT + settings->tokens + 2, &generator, error),
                 error);
    if (status == HONE_OK)
        status = read_prompt(generator, (uint32_t)hone_model_shape(session.model)->vocabulary, &prompt, error);
    if (status == HONE_OK) status = generate(generator, settings->tokens, seconds, error);
    if (status == HONE_OK) status = print_generation(settings, prompt, seconds, error);
    hone_generator_destroy(generator);
    hone_free(seconds);
    cli_session_close(&session);
    return status;
}
