// SPDX-License-Identifier: Apache-2.0
// hone eval: loss and perplexity on a data file, and how many answers come out exactly as expected.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "commands.h"
#include "data.h"

#define TOKENS_BEYOND 8 // an answer that is so much longer than the expected one is wrong already

typedef struct eval_settings {
    cli_common common;
    cli_data_settings data;
    const char *adapter;
    int64_t batch, show;
    bool answers;
} eval_settings;

#define AT(member) .offset = offsetof(eval_settings, member)

static const cli_option options[] = {
    {CLI_HEADING, .help = "Options"},
    {CLI_TEXT, "adapter", .value = "A", AT(adapter), .help = "LoRA: adapter.gguf, or a run or PEFT folder"},
    {CLI_FLAG, "answers", AT(answers),
     .help = "generate the answer of each row, always the likeliest token, and compare it with the expected one"},
    {CLI_INTEGER, "show", .value = "N", AT(show), .low = 0, .high = 1e9,
     .help = "with --answers: print the first N rows' expected and given answers (0; all with -v)"},
    {CLI_INTEGER, "batch", .value = "N", AT(batch), .low = 1, .high = 1 << 20,
     .help = "rows at a time for the loss (8)"},
    CLI_DATA_OPTIONS(eval_settings, data),
    {CLI_END},
};

static void defaults(void *opaque) {
    eval_settings *const s = opaque;
    s->batch = 8;
}

typedef struct evaluation {
    const eval_settings *settings;
    cli_session session;
    hone_dataset *data;
    hone_generator *generator;
    hone_ids fed;    // what the generator has read
    hone_ids answer; // scratch: the expected answer's tokens
    hone_text text;  // scratch: the given answer
    double loss;
    int64_t tokens;
    int64_t asked, exact;
    cli_progress progress;
} evaluation;

static hone_status measure_loss(evaluation *e, hone_error *error) {
    const hone_train_options train_options = {.batch = e->settings->batch, .evaluate_only = true, .in_order = true};
    hone_trainer *trainer = NULL;
    hone_status status;
    cli_progress_show(&e->progress, true, "measuring the loss of %lld rows", (long long)e->data->row_count);
    CLI_WAIT(status, hone_trainer_create(e->session.model, e->session.lora, e->data, &train_options, &trainer, error),
             error);
    if (status == HONE_OK)
        CLI_WAIT(status, hone_trainer_evaluate(trainer, e->data, &e->loss, &e->tokens, error), error);
    hone_trainer_destroy(trainer);
    return status;
}

// --- answers ------------------------------------------------------------------------------------------------------------

static const int32_t *prompt_of(const evaluation *e, const hone_dataset_row *row) {
    return e->data->prompt_ids + row->prompt_first;
}

static const char *expected_of(const evaluation *e, const hone_dataset_row *row) {
    return row->answer_length ? e->data->answers.bytes + row->answer_first : "";
}

// Tokens that may come before an answer counts as wrong.
static hone_status answer_limit(evaluation *e, const hone_dataset_row *row, size_t *out, hone_error *error) {
    e->answer.count = 0;
    HONE_TRY(hone_tokenizer_encode(cli_session_tokenizer(&e->session), expected_of(e, row), row->answer_length, 0,
                                   &e->answer, error));
    *out = e->answer.count + TOKENS_BEYOND;
    return HONE_OK;
}

// The cache holds the longest prompt and its answer; rows that do not fit into the model are refused with their line.
static hone_status open_generator(evaluation *e, hone_error *error) {
    const int64_t context = hone_model_shape(e->session.model)->context;
    int64_t most = 0;
    for (size_t i = 0; i < e->data->row_count; i++) {
        const hone_dataset_row *const row = &e->data->rows[i];
        size_t limit;
        if (!row->has_answer) continue;
        HONE_TRY(answer_limit(e, row, &limit, error));
        const int64_t needed = (int64_t)(row->prompt_length + limit);
        HONE_FAIL_IF((int64_t)row->prompt_length >= context, error, BAD_DATA,
                     "'%s' line %llu: the prompt has %zu tokens, the model was made for up to %lld", e->data->name,
                     (unsigned long long)row->line, row->prompt_length, (long long)context);
        if (needed > most) most = needed;
        e->asked++;
    }
    HONE_FAIL_IF(e->asked == 0, error, BAD_DATA,
                 "'%s' has no row with an answer to compare: --answers needs conversations, prompts or instructions",
                 e->data->name);
    hone_status status;
    CLI_WAIT(
        status,
        hone_generator_create(e->session.model, e->session.lora, most < context ? most : context, &e->generator, error),
        error);
    return status;
}

// Reads the prompt; what it begins with in common with the row before is in the cache already.
static hone_status feed(evaluation *e, const hone_dataset_row *row, hone_error *error) {
    const int32_t *const prompt = prompt_of(e, row);
    size_t common = 0;
    while (common < e->fed.count && common + 1 < row->prompt_length && e->fed.items[common] == prompt[common]) common++;
    hone_generator_rewind(e->generator, common);
    e->fed.count = common;
    hone_status status;
    CLI_WAIT(status, hone_generator_feed(e->generator, prompt + common, row->prompt_length - common, error), error);
    HONE_TRY(status);
    HONE_TRY(HONE_GROW(&e->fed.items, &e->fed.capacity, row->prompt_length, "a prompt", error));
    memcpy(e->fed.items + common, prompt + common, (row->prompt_length - common) * sizeof(prompt[0]));
    e->fed.count = row->prompt_length;
    return HONE_OK;
}

static hone_status answer(evaluation *e, const hone_dataset_row *row, hone_error *error) {
    const hone_tokenizer *const tokenizer = hone_model_tokenizer(e->session.model);
    const hone_sampling greedy = {0};
    const size_t context = (size_t)hone_model_shape(e->session.model)->context;
    size_t limit;
    HONE_TRY(answer_limit(e, row, &limit, error));
    HONE_TRY(feed(e, row, error));
    e->text.length = 0;
    for (size_t i = 0; i < limit && hone_generator_length(e->generator) < context; i++) {
        hone_status status;
        int32_t token = 0;
        if (cli_interrupted()) return cli_stopped(error);
        CLI_WAIT(status, hone_generator_next(e->generator, &greedy, &token, error), error);
        HONE_TRY(status);
        if (hone_tokenizer_is_end(tokenizer, token)) break;
        HONE_TRY(hone_tokenizer_decode(tokenizer, &token, 1, HONE_DECODE_SKIP_CONTROL, &e->text, error));
    }
    return HONE_OK;
}

static hone_status show_answer(evaluation *e, const hone_dataset_row *row, bool exact, hone_error *error) {
    const char *const given = e->text.length ? e->text.bytes : "";
    hone_text prompt = {0};
    hone_status status = hone_tokenizer_decode(hone_model_tokenizer(e->session.model), prompt_of(e, row),
                                               row->prompt_length, HONE_DECODE_SKIP_CONTROL, &prompt, error);
    if (status == HONE_OK && e->settings->common.json) {
        cli_json json = {0};
        cli_json_integer(&json, "line", (int64_t)row->line);
        cli_json_bytes(&json, "prompt", prompt.bytes ? prompt.bytes : "", prompt.length);
        cli_json_bytes(&json, "expected", expected_of(e, row), row->answer_length);
        cli_json_bytes(&json, "given", given, e->text.length);
        cli_json_bool(&json, "exact", exact);
        status = cli_json_print(&json, error);
    } else if (status == HONE_OK) {
        hone_text line = {0};
        cli_progress_clear(&e->progress);
        hone_text_print(&line, "line %llu: %s\n  prompt    ", (unsigned long long)row->line,
                        exact ? "exact" : "differs");
        hone_text_json(&line, prompt.bytes ? prompt.bytes : "", prompt.length);
        hone_text_print(&line, "\n  expected  ");
        hone_text_json(&line, expected_of(e, row), row->answer_length);
        hone_text_print(&line, "\n  given     ");
        hone_text_json(&line, given, e->text.length);
        printf("%s\n", line.bytes ? line.bytes : "");
        hone_text_clear(&line);
        status = cli_flush(error);
    }
    hone_text_clear(&prompt);
    return status;
}

static hone_status compare_answers(evaluation *e, hone_error *error) {
    const double started = hone_clock_seconds();
    int64_t done = 0;
    for (size_t i = 0; i < e->data->row_count; i++) {
        const hone_dataset_row *const row = &e->data->rows[i];
        if (!row->has_answer) continue;
        HONE_TRY(answer(e, row, error));
        const bool exact = e->text.length == row->answer_length &&
                           (e->text.length == 0 || memcmp(e->text.bytes, expected_of(e, row), row->answer_length) == 0);
        e->exact += exact;
        if (done < e->settings->show || e->settings->common.verbose) HONE_TRY(show_answer(e, row, exact, error));
        done++;
        const double left = (hone_clock_seconds() - started) / (double)done * (double)(e->asked - done);
        cli_progress_show(&e->progress, false, "answer %lld/%lld  %lld exact  %s left", (long long)done,
                          (long long)e->asked, (long long)e->exact, cli_duration(left));
    }
    return HONE_OK;
}

// --- the command ------------------------------------------------------------------------------------------------------------

static hone_status print_result(evaluation *e, hone_error *error) {
    const eval_settings *const s = e->settings;
    if (s->common.json) {
        cli_json json = {0};
        cli_json_number(&json, "loss", e->loss);
        cli_json_number(&json, "perplexity", exp(e->loss));
        cli_json_integer(&json, "tokens", e->tokens);
        cli_json_integer(&json, "rows", (int64_t)e->data->row_count);
        if (s->answers) {
            cli_json_number(&json, "exact", (double)e->exact / (double)e->asked);
            cli_json_integer(&json, "exact_rows", e->exact);
            cli_json_integer(&json, "answers", e->asked);
        }
        return cli_json_print(&json, error);
    }
    cli_progress_clear(&e->progress);
    if (s->answers)
        printf("exact    %lld of %lld answers, %.1f %%\n", (long long)e->exact, (long long)e->asked,
               100.0 * (double)e->exact / (double)e->asked);
    printf("loss     %.4f, perplexity %.4g on %s tokens of %s rows\n", e->loss, exp(e->loss), cli_count(e->tokens),
           cli_count((int64_t)e->data->row_count));
    return cli_flush(error);
}

static hone_status run_all(evaluation *e, const char *model, const char *path, hone_error *error) {
    const eval_settings *const s = e->settings;
    HONE_TRY(cli_session_open(&s->common, model, s->adapter, &e->session, error));
    HONE_TRY(cli_data_scan(&s->data, path, cli_session_tokenizer(&e->session),
                           hone_model_shape(e->session.model)->context, s->answers, &e->data, error));
    if (!s->common.json && !s->common.quiet) {
        printf("device   %s, %s\n", hone_device_name(e->session.device), hone_device_detail(e->session.device));
        cli_data_print(e->data);
        HONE_TRY(cli_flush(error));
    }
    if (s->answers) HONE_TRY(open_generator(e, error));
    HONE_TRY(measure_loss(e, error));
    if (s->answers) HONE_TRY(compare_answers(e, error));
    return print_result(e, error);
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    const eval_settings *const settings = opaque;
    if (settings->show > 0 && !settings->answers) return cli_usage("--show needs --answers");
    cli_interrupt_watch(NULL);
    evaluation e = {.settings = settings};
    hone_error error = {0};
    cli_progress_start(&e.progress, !settings->common.json && !settings->common.quiet);
    const hone_status status = run_all(&e, arguments[0], arguments[1], &error);
    cli_progress_clear(&e.progress);
    hone_generator_destroy(e.generator);
    hone_dataset_destroy(e.data);
    hone_ids_clear(&e.fed);
    hone_ids_clear(&e.answer);
    hone_text_clear(&e.text);
    cli_session_close(&e.session);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_eval = {
    .name = "eval",
    .arguments = "MODEL DATA [OPTIONS]",
    .summary = "loss and perplexity on a data file; with --answers, how many are exact",
    .details = "DATA is as for 'hone train'. With --json the last line is "
               "{\"loss\",\"perplexity\",\"tokens\",\"exact\"}: exact is the\n"
               "part of the answers that equal the expected ones byte for byte, with --answers only.",
    .options = options,
    .computes = true,
    .least = 2,
    .most = 2,
    .settings_bytes = sizeof(eval_settings),
    .defaults = defaults,
    .run = run,
};
