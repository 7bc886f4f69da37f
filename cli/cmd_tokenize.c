// SPDX-License-Identifier: Apache-2.0
// hone tokenize: JSON strings in, arrays of ids out, a line each; or back.
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

typedef struct tokenize_settings {
    cli_common common;
    bool special, bos, decode;
} tokenize_settings;

static const cli_option options[] = {
    {CLI_HEADING, .help = "Options"},
    {CLI_FLAG, "special", .offset = offsetof(tokenize_settings, special),
     .help = "control tokens in the text are recognised; else they are plain text"},
    {CLI_FLAG, "bos", .offset = offsetof(tokenize_settings, bos),
     .help = "begin with the beginning-of-text token where the vocabulary wants one"},
    {CLI_FLAG, "decode", .offset = offsetof(tokenize_settings, decode), .help = "arrays of ids in, JSON strings out"},
    {CLI_END},
};

typedef struct translation {
    const tokenize_settings *settings;
    hone_tokenizer *tokenizer;
    hone_ids ids;
    hone_text text;
    uint64_t line;
} translation;

static hone_status parse(const translation *t, const char *line, size_t length, json_t **out, hone_error *error) {
    json_error_t where;
    *out = json_loadb(line, length, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &where);
    HONE_FAIL_IF(!*out, error, BAD_DATA, "standard input, line %llu, column %d: not JSON: %s",
                 (unsigned long long)t->line, where.column, where.text);
    return HONE_OK;
}

static hone_status encode(translation *t, const json_t *value, hone_error *error) {
    HONE_FAIL_IF(!json_is_string(value), error, BAD_DATA,
                 "standard input, line %llu: each line must be a JSON string, as \"some text\"",
                 (unsigned long long)t->line);
    const unsigned flags =
        (t->settings->special ? HONE_ENCODE_SPECIAL : 0u) | (t->settings->bos ? HONE_ENCODE_BOS : 0u);
    t->ids.count = 0;
    HONE_TRY(hone_tokenizer_encode(t->tokenizer, json_string_value(value), json_string_length(value), flags, &t->ids,
                                   error));
    hone_text_append(&t->text, "[", 1);
    for (size_t i = 0; i < t->ids.count; i++) hone_text_print(&t->text, i ? ", %d" : "%d", (int)t->ids.items[i]);
    hone_text_append(&t->text, "]\n", 2);
    return hone_text_status(&t->text, error);
}

static hone_status decode(translation *t, const json_t *value, hone_error *error) {
    HONE_FAIL_IF(!json_is_array(value), error, BAD_DATA,
                 "standard input, line %llu: each line must be a JSON array of ids, as [1, 2, 3]",
                 (unsigned long long)t->line);
    hone_text decoded = {0};
    hone_status status = HONE_OK;
    for (size_t i = 0; status == HONE_OK && i < json_array_size(value); i++) {
        const json_t *const item = json_array_get(value, i);
        const json_int_t number = json_integer_value(item);
        if (!json_is_integer(item) || number < 0 || number >= (json_int_t)hone_tokenizer_size(t->tokenizer)) {
            status = hone_error_set(error, HONE_BAD_DATA, "standard input, line %llu: item %zu is no id from 0 to %zu",
                                    (unsigned long long)t->line, i + 1, hone_tokenizer_size(t->tokenizer) - 1);
            break;
        }
        const int32_t id = (int32_t)number;
        status = hone_tokenizer_decode(t->tokenizer, &id, 1, 0, &decoded, error);
    }
    if (status == HONE_OK) {
        hone_text_json(&t->text, decoded.bytes ? decoded.bytes : "", decoded.length);
        hone_text_append(&t->text, "\n", 1);
        status = hone_text_status(&t->text, error);
    }
    hone_text_clear(&decoded);
    return status;
}

static hone_status translate_line(translation *t, const char *line, size_t length, hone_error *error) {
    json_t *value = NULL;
    HONE_TRY(parse(t, line, length, &value, error));
    t->text.length = 0;
    const hone_status status = t->settings->decode ? decode(t, value, error) : encode(t, value, error);
    json_decref(value);
    HONE_TRY(status);
    fwrite(t->text.bytes, 1, t->text.length, stdout);
    return ferror(stdout) ? cli_flush(error) : HONE_OK;
}

static hone_status translate_all(translation *t, hone_error *error) {
    char *line = NULL;
    size_t capacity = 0;
    hone_status status = HONE_OK;
    ssize_t length;
    while (status == HONE_OK && (length = getline(&line, &capacity, stdin)) >= 0) {
        t->line++;
        while (length > 0 && strchr("\r\n \t", line[length - 1])) length--;
        if (length > 0) status = translate_line(t, line, (size_t)length, error);
    }
    if (status == HONE_OK && ferror(stdin)) status = hone_error_system(error, errno, "cannot read standard input");
    free(line);
    return status == HONE_OK ? cli_flush(error) : status;
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    hone_error error = {0};
    cli_vocabulary vocabulary;
    translation t = {.settings = opaque};
    hone_status status = cli_vocabulary_open(arguments[0], &vocabulary, &error);
    if (status == HONE_OK) {
        t.tokenizer = vocabulary.tokenizer;
        status = translate_all(&t, &error);
        cli_vocabulary_close(&vocabulary);
    }
    hone_ids_clear(&t.ids);
    hone_text_clear(&t.text);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_tokenize = {
    .name = "tokenize",
    .arguments = "MODEL [OPTIONS] < LINES",
    .summary = "text to token ids and back",
    .details =
        "Each line of standard input is a JSON string; its ids come out as a JSON array on a line. Empty lines are\n"
        "passed over. Only the model's tokenizer is read, not its weights.",
    .options = options,
    .least = 1,
    .most = 1,
    .settings_bytes = sizeof(tokenize_settings),
    .run = run,
};
