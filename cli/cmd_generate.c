// SPDX-License-Identifier: Apache-2.0
// hone generate: a prompt in, the model's text out as it comes.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "commands.h"
#include "text/chat.h"

#define MOST_PROMPT ((size_t)256 << 20)

typedef struct generate_settings {
    cli_common common;
    const char *prompt, *adapter, *system, *chat_format;
    int64_t max_tokens, seed;
    double temperature, top_p;
    bool chat, special;
} generate_settings;

#define AT(member) .offset = offsetof(generate_settings, member)

static const cli_option options[] = {
    {CLI_HEADING, .help = "Options"},
    {CLI_TEXT, "prompt", 'p', .value = "TEXT", AT(prompt), .may_be_empty = true,
     .help = "what the model goes on from; - reads standard input"},
    {CLI_TEXT, "adapter", .value = "A", AT(adapter), .help = "LoRA: adapter.gguf, or a run or PEFT folder"},
    {CLI_INTEGER, "max-tokens", .value = "N", AT(max_tokens), .low = 1, .high = 1 << 24,
     .help = "stop after so many tokens, if not before (256)"},
    {CLI_NUMBER, "temperature", .value = "X", AT(temperature), .low = 0, .high = 100,
     .help = "0 always takes the likeliest token (0)"},
    {CLI_NUMBER, "top-p", .value = "P", AT(top_p), .low = 0, .high = 1, .above = true,
     .help = "sample from the likeliest tokens that have this probability together (1)"},
    {CLI_INTEGER, "seed", .value = "N", AT(seed), .low = 0, .high = 9007199254740992.0, .help = "of the sampling (1)"},
    {CLI_FLAG, "chat", AT(chat), .help = "the prompt is a user's message in the model's chat format"},
    {CLI_TEXT, "system", .value = "TEXT", AT(system), .may_be_empty = true,
     .help = "with --chat: the system message (the format's own)"},
    {CLI_TEXT, "chat-format", .value = "NAME", AT(chat_format), .help = "with --chat: instead of the model's own"},
    {CLI_FLAG, "special", AT(special), .help = "without --chat: control tokens in the prompt are recognised"},
    {CLI_END},
};

static void defaults(void *opaque) {
    generate_settings *const s = opaque;
    s->max_tokens = 256;
    s->top_p = 1;
    s->seed = 1;
}

typedef struct generation {
    const generate_settings *settings;
    cli_session session;
    hone_generator *generator;
    hone_ids prompt;
    hone_text text; // all that was generated
    size_t shown;   // bytes of it that have been printed
    int64_t tokens;
    double seconds;
} generation;

static hone_status read_prompt(const char *option, hone_text *out, hone_error *error) {
    if (strcmp(option, "-") != 0) {
        hone_text_append(out, option, strlen(option));
        return hone_text_status(out, error);
    }
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0 && out->length < MOST_PROMPT) hone_text_append(out, piece, n);
    if (ferror(stdin)) return hone_error_system(error, errno, "cannot read standard input");
    HONE_FAIL_IF(out->length == 0, error, BAD_DATA, "the prompt on standard input is empty");
    return hone_text_status(out, error);
}

static hone_status encode_chat(generation *g, const hone_text *prompt, hone_error *error) {
    const generate_settings *const s = g->settings;
    hone_tokenizer *const tokenizer = cli_session_tokenizer(&g->session);
    hone_chat *chat = NULL;
    HONE_TRY(hone_chat_create(s->chat_format, tokenizer, &chat, error));
    hone_chat_message messages[2];
    size_t count = 0;
    if (s->system) messages[count++] = (hone_chat_message){"system", s->system, strlen(s->system)};
    messages[count++] = (hone_chat_message){"user", prompt->bytes, prompt->length};
    const hone_status status = hone_chat_encode(chat, tokenizer, messages, count, true, &g->prompt, error);
    hone_chat_destroy(chat);
    return status;
}

static hone_status encode_prompt(generation *g, hone_error *error) {
    hone_text prompt = {0};
    hone_status status = read_prompt(g->settings->prompt, &prompt, error);
    if (status == HONE_OK && g->settings->chat) {
        status = encode_chat(g, &prompt, error);
    } else if (status == HONE_OK) {
        const unsigned flags = HONE_ENCODE_BOS | (g->settings->special ? HONE_ENCODE_SPECIAL : 0u);
        status = hone_tokenizer_encode(cli_session_tokenizer(&g->session), prompt.bytes, prompt.length, flags,
                                       &g->prompt, error);
    }
    hone_text_clear(&prompt);
    HONE_TRY(status);
    HONE_FAIL_IF(g->prompt.count == 0, error, BAD_DATA, "the prompt has no tokens");
    return HONE_OK;
}

static hone_status open_generator(generation *g, hone_error *error) {
    const int64_t most = hone_model_shape(g->session.model)->context;
    const int64_t prompt = (int64_t)g->prompt.count;
    HONE_FAIL_IF(prompt >= most, error, INVALID_ARGUMENT,
                 "the prompt has %lld tokens, the model was made for up to %lld", (long long)prompt, (long long)most);
    const int64_t wanted = g->settings->max_tokens < most - prompt ? prompt + g->settings->max_tokens : most;
    hone_status status;
    CLI_WAIT(status, hone_generator_create(g->session.model, g->session.lora, wanted, &g->generator, error), error);
    return status;
}

// Prints what has come up to the last whole character; with `all` the rest as well.
static hone_status stream(generation *g, bool all, hone_error *error) {
    if (g->settings->common.json) return HONE_OK;
    hone_text out = {0};
    while (g->shown < g->text.length) {
        const char *const next = g->text.bytes + g->shown;
        const size_t left = g->text.length - g->shown;
        const size_t n = hone_utf8_length(next, left, NULL);
        if (n == 0 && left < 4 && !all) break; // perhaps the beginning of a character
        hone_text_append(&out, n ? next : "\xEF\xBF\xBD", n ? n : 3);
        g->shown += n ? n : 1;
    }
    if (out.length > 0) fwrite(out.bytes, 1, out.length, stdout);
    hone_text_clear(&out);
    return cli_flush(error);
}

static hone_status generate(generation *g, hone_error *error) {
    const generate_settings *const s = g->settings;
    const hone_tokenizer *const tokenizer = hone_model_tokenizer(g->session.model);
    const hone_sampling sampling = {.temperature = s->temperature, .top_p = s->top_p, .seed = (uint64_t)s->seed};
    const size_t context = (size_t)hone_model_shape(g->session.model)->context;
    hone_status status;
    CLI_WAIT(status, hone_generator_feed(g->generator, g->prompt.items, g->prompt.count, error), error);
    HONE_TRY(status);
    const double started = hone_clock_seconds();
    while (g->tokens < s->max_tokens && hone_generator_length(g->generator) < context) {
        if (cli_interrupted()) return cli_stopped(error);
        int32_t token = 0;
        CLI_WAIT(status, hone_generator_next(g->generator, &sampling, &token, error), error);
        HONE_TRY(status);
        g->seconds = hone_clock_seconds() - started;
        g->tokens++;
        if (hone_tokenizer_is_end(tokenizer, token)) break;
        HONE_TRY(hone_tokenizer_decode(tokenizer, &token, 1, HONE_DECODE_SKIP_CONTROL, &g->text, error));
        HONE_TRY(stream(g, false, error));
    }
    return stream(g, true, error);
}

static hone_status print_end(generation *g, hone_error *error) {
    const double speed = g->seconds > 0 ? (double)g->tokens / g->seconds : (double)NAN;
    if (!g->settings->common.json) {
        printf("\n");
        HONE_TRY(cli_flush(error));
        if (g->settings->common.verbose) cli_note("%lld tokens, %.1f a second", (long long)g->tokens, speed);
        return HONE_OK;
    }
    cli_json json = {0};
    cli_json_bytes(&json, "text", g->text.bytes ? g->text.bytes : "", g->text.length);
    cli_json_integer(&json, "tokens", g->tokens);
    cli_json_number(&json, "tokens_per_s", speed);
    return cli_json_print(&json, error);
}

static hone_status run_all(generation *g, const char *model, hone_error *error) {
    HONE_TRY(cli_session_open(&g->settings->common, model, g->settings->adapter, &g->session, error));
    HONE_TRY(encode_prompt(g, error));
    HONE_TRY(open_generator(g, error));
    HONE_TRY(generate(g, error));
    return print_end(g, error);
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    const generate_settings *const settings = opaque;
    if (!settings->prompt) return cli_usage("'hone generate' needs -p TEXT, the prompt");
    if (!settings->chat && (settings->system || settings->chat_format))
        return cli_usage("--system and --chat-format need --chat");
    cli_interrupt_watch(NULL);
    generation g = {.settings = settings};
    hone_error error = {0};
    const hone_status status = run_all(&g, arguments[0], &error);
    if (status != HONE_OK && g.shown > 0) printf("\n");
    hone_generator_destroy(g.generator);
    hone_ids_clear(&g.prompt);
    hone_text_clear(&g.text);
    cli_session_close(&g.session);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_generate = {
    .name = "generate",
    .arguments = "MODEL -p TEXT [OPTIONS]",
    .summary = "let the model go on from a prompt",
    .details = "The text comes as it is made and ends at the model's end token. With --json one line at the end:\n"
               "{\"text\",\"tokens\",\"tokens_per_s\"}; the time of reading the prompt is not counted.",
    .options = options,
    .computes = true,
    .least = 1,
    .most = 1,
    .settings_bytes = sizeof(generate_settings),
    .defaults = defaults,
    .run = run,
};
