// SPDX-License-Identifier: Apache-2.0
// hone data: what a data file is to a model, before anything is trained.
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "data.h"

typedef struct data_settings {
    cli_common common;
    cli_data_settings data;
    int64_t show;
} data_settings;

static const cli_option options[] = {
    {CLI_HEADING, .help = "Options"},
    {CLI_INTEGER, "show", .value = "N", .offset = offsetof(data_settings, show),
     .help = "print the first N rows token by token: what is learnt, id, text (0)"},
    CLI_DATA_OPTIONS(data_settings, data),
    {CLI_END},
};

static bool learnt(const hone_dataset *data, size_t i) {
    return data->labels[i] != HONE_NOT_TRAINED;
}

static void print_row(const hone_dataset *data, const hone_tokenizer *tokenizer, size_t index, hone_text *text) {
    const hone_dataset_row *const row = &data->rows[index];
    hone_text_print(text, "row %zu, line %llu: %zu tokens, %zu learnt\n", index + 1, (unsigned long long)row->line,
                    row->length, row->supervised);
    for (size_t i = row->first; i < row->first + row->length; i++) {
        const hone_gguf_string token = hone_tokenizer_text(tokenizer, data->ids[i]);
        hone_text_print(text, "  %c %6d  ", learnt(data, i) ? '+' : '.', (int)data->ids[i]);
        hone_text_json(text, token.bytes ? token.bytes : "", token.length);
        hone_text_append(text, "\n", 1);
    }
}

static void print_row_json(const hone_dataset *data, const hone_tokenizer *tokenizer, size_t index, hone_text *text) {
    const hone_dataset_row *const row = &data->rows[index];
    hone_text_print(text, "{\"row\":%zu,\"line\":%llu,\"length\":%zu,\"supervised\":%zu,\"tokens\":[", index + 1,
                    (unsigned long long)row->line, row->length, row->supervised);
    for (size_t i = row->first; i < row->first + row->length; i++) {
        const hone_gguf_string token = hone_tokenizer_text(tokenizer, data->ids[i]);
        hone_text_print(text, "%s{\"id\":%d,\"text\":", i > row->first ? "," : "", (int)data->ids[i]);
        hone_text_json(text, token.bytes ? token.bytes : "", token.length);
        hone_text_print(text, ",\"trained\":%s}", learnt(data, i) ? "true" : "false");
    }
    hone_text_print(text, "]}\n");
}

static hone_status show_rows(const data_settings *settings, const hone_dataset *data, const hone_tokenizer *tokenizer,
                             hone_error *error) {
    hone_text text = {0};
    hone_status status = HONE_OK;
    for (size_t i = 0; status == HONE_OK && i < data->row_count && (int64_t)i < settings->show; i++) {
        text.length = 0;
        (settings->common.json ? print_row_json : print_row)(data, tokenizer, i, &text);
        status = hone_text_status(&text, error);
        if (status != HONE_OK) break;
        fwrite(text.bytes, 1, text.length, stdout);
        if (ferror(stdout)) status = cli_flush(error);
    }
    hone_text_clear(&text);
    return status;
}

// The first of them; how many there are says "skipped".
static void print_skipped_json(const hone_dataset_statistics *s, hone_text *text) {
    const size_t named = s->skipped < HONE_SKIPPED_NAMED ? (size_t)s->skipped : HONE_SKIPPED_NAMED;
    hone_text_append(text, "[", 1);
    for (size_t i = 0; i < named; i++) {
        const hone_skipped_row *const row = &s->skipped_rows[i];
        const char *const reason = hone_skip_reason_text(row->reason);
        hone_text_print(text, "%s{\"row\":%llu,\"line\":%llu,\"reason\":", i ? "," : "", (unsigned long long)row->row,
                        (unsigned long long)row->line);
        hone_text_json(text, reason, strlen(reason));
        hone_text_append(text, "}", 1);
    }
    hone_text_append(text, "]", 1);
}

static hone_status print_statistics_json(const hone_dataset *data, hone_error *error) {
    cli_json json = {0};
    cli_data_json(&json, data);
    cli_json_text(&json, "chat_format", data->chat_format);
    hone_text skipped = {0};
    print_skipped_json(&data->statistics, &skipped);
    cli_json_raw(&json, "skipped_rows", skipped.bytes ? skipped.bytes : "[]");
    hone_text_clear(&skipped);
    return cli_json_print(&json, error);
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    const data_settings *const settings = opaque;
    hone_error error = {0};
    cli_vocabulary vocabulary = {0};
    hone_dataset *data = NULL;
    hone_status status = cli_vocabulary_open(arguments[0], &vocabulary, &error);
    if (status == HONE_OK)
        status = cli_data_scan(&settings->data, arguments[1], vocabulary.tokenizer, vocabulary.context, false, &data,
                               &error);
    if (status == HONE_OK) status = show_rows(settings, data, vocabulary.tokenizer, &error);
    if (status == HONE_OK && settings->common.json) {
        status = print_statistics_json(data, &error);
    } else if (status == HONE_OK) {
        cli_data_print(data);
    }
    hone_dataset_destroy(data);
    cli_vocabulary_close(&vocabulary);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_data = {
    .name = "data",
    .arguments = "MODEL DATA",
    .summary = "scan a data file and count what is in it",
    .details = "DATA is a file of JSON lines, a JSON array, or plain text (*.txt). Rows: {\"messages\": [{\"role\", "
               "\"content\"}]},\n"
               "{\"conversations\": [{\"from\", \"value\"}]}, {\"prompt\", \"completion\"}, {\"instruction\", "
               "\"input\", \"output\"},\n"
               "{\"text\"} or ready-made {\"ids\": [..], \"labels\": [..]}. Only the model's tokenizer is read, not "
               "its weights.",
    .options = options,
    .least = 2,
    .most = 2,
    .settings_bytes = sizeof(data_settings),
    .run = run,
};
