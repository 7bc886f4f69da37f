// SPDX-License-Identifier: Apache-2.0
// Scanning data files for the commands.
#include "data.h"

#include <stdio.h>

// In the order of hone_loss_cover.
const char *const cli_loss_words[] = {"default", "all", "assistant", NULL};

hone_status cli_data_scan(const cli_data_settings *settings, const char *path, hone_tokenizer *tokenizer,
                          int64_t context, bool answers, hone_dataset **out, hone_error *error) {
    int64_t sequence = settings->sequence ? settings->sequence : CLI_SEQUENCE;
    HONE_FAIL_IF(settings->sequence && context > 0 && sequence > context, error, INVALID_ARGUMENT,
                 "--sequence %lld is more than the model was made for: at most %lld", (long long)sequence,
                 (long long)context);
    if (context > 0 && sequence > context) sequence = context;
    const hone_dataset_options options = {
        .sequence = (size_t)sequence,
        .chat_format = settings->chat_format,
        .loss = (hone_loss_cover)settings->loss,
        .replace_invalid = settings->replace_invalid,
        .keep_answers = answers,
    };
    return hone_dataset_scan(path, tokenizer, &options, out, error);
}

static void print_skipped(const hone_dataset_statistics *s) {
    printf("skipped  %s with nothing to learn:", cli_count((int64_t)s->skipped));
    const size_t named = s->skipped < HONE_SKIPPED_NAMED ? (size_t)s->skipped : HONE_SKIPPED_NAMED;
    for (size_t i = 0; i < named; i++) {
        const hone_skipped_row *const row = &s->skipped_rows[i];
        printf("%s line %llu (%s)", i ? "," : "", (unsigned long long)row->line, hone_skip_reason_text(row->reason));
    }
    printf("%s\n", named < s->skipped ? ", ..." : "");
}

void cli_data_print(const hone_dataset *data) {
    const hone_dataset_statistics *const s = &data->statistics;
    printf("data     %s: %s%s%s rows, %s tokens, %s learnt; longest row %s", data->name, cli_count((int64_t)s->used),
           s->used == s->rows ? "" : " of ", s->used == s->rows ? "" : cli_count((int64_t)s->rows),
           cli_count((int64_t)s->tokens), cli_count((int64_t)s->supervised), cli_count((int64_t)s->longest));
    if (data->chat_format) printf("; chat format %s", data->chat_format);
    printf("\n");
    if (s->truncated)
        printf("cut      %s rows at --sequence; %s tokens behind the cuts are lost\n", cli_count((int64_t)s->truncated),
               cli_count((int64_t)s->lost));
    if (s->skipped) print_skipped(s);
    if (s->replaced) printf("replaced %s places that were not UTF-8\n", cli_count((int64_t)s->replaced));
    if (s->dropped) printf("dropped  %s bytes that the vocabulary has no token for\n", cli_count((int64_t)s->dropped));
}

void cli_data_json(cli_json *json, const hone_dataset *data) {
    const hone_dataset_statistics *const s = &data->statistics;
    const struct {
        const char *key;
        uint64_t value;
    } pairs[] = {
        {"rows", s->rows},
        {"used", s->used},
        {"tokens", s->tokens},
        {"supervised", s->supervised},
        {"truncated", s->truncated},
        {"lost", s->lost},
        {"skipped", s->skipped},
        {"longest", s->longest},
        {"longest_line", s->longest_line},
        {"replaced", s->replaced},
        {"dropped", s->dropped},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        cli_json_integer(json, pairs[i].key, (int64_t)pairs[i].value);
}
