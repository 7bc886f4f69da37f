// SPDX-License-Identifier: Apache-2.0
// Data files as train, eval and data read them: shared options, the scan, what it found.
#ifndef HONE_CLI_DATA_H
#define HONE_CLI_DATA_H

#include "options.h"
#include "output.h"
#include "text/dataset.h"

typedef struct cli_data_settings {
    int64_t sequence; // 0 = CLI_SEQUENCE, at most the model's context
    const char *chat_format;
    int loss; // a place in cli_loss_words, as hone_loss_cover
    bool replace_invalid;
} cli_data_settings;

#define CLI_SEQUENCE 1024

extern const char *const cli_loss_words[];

// Rows of an option table for a settings struct that has a cli_data_settings as `member`.
#define CLI_DATA_OPTIONS(type, member)                                                                                 \
    {CLI_INTEGER,                                                                                                      \
     "sequence",                                                                                                       \
     .value = "N",                                                                                                     \
     .offset = offsetof(type, member.sequence),                                                                        \
     .low = 2,                                                                                                         \
     .high = 1 << 24,                                                                                                  \
     .help = "tokens of the longest row kept, longer ones are cut and counted; plain text is cut into such rows "      \
             "(1024, at most the model's context)"},                                                                   \
        {CLI_TEXT, "chat-format", .value = "NAME", .offset = offsetof(type, member.chat_format),                       \
         .help = "how conversations are written (found from the model's template)"},                                   \
        {CLI_CHOICE,                                                                                                   \
         "loss",                                                                                                       \
         .value = "WHICH",                                                                                             \
         .offset = offsetof(type, member.loss),                                                                        \
         .words = cli_loss_words,                                                                                      \
         .help = "all tokens, or only the assistant's answers (assistant; all for plain text)"},                       \
        {CLI_FLAG, "replace-invalid", .offset = offsetof(type, member.replace_invalid),                                \
         .help = "bytes that are not UTF-8 become U+FFFD instead of being refused"}

// `answers`: keep prompts and expected answers. `context`: of the model, 0 = not known.
HONE_MUST_USE hone_status cli_data_scan(const cli_data_settings *settings, const char *path, hone_tokenizer *tokenizer,
                                        int64_t context, bool answers, hone_dataset **out, hone_error *error);
// What the scan found, a few lines on standard output.
void cli_data_print(const hone_dataset *data);
// The same as pairs: rows, tokens, supervised, truncated, skipped, longest ..
void cli_data_json(cli_json *json, const hone_dataset *data);

#endif
