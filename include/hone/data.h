// SPDX-License-Identifier: Apache-2.0
// Training data for a model, and text to tokens and back.
#ifndef HONE_DATA_H
#define HONE_DATA_H

#include <hone/model.h>

#ifdef __cplusplus
extern "C" {
#endif

// Rows of token ids with what is learnt of each.
typedef struct hone_dataset hone_dataset;

// Zero means the default that stands behind each field.
typedef struct hone_data_options {
    size_t sequence;         // most tokens of a row, longer ones are cut and counted; the model's context
    const char *chat_format; // found from the model's template
    bool loss_all;           // every token is learnt, not only answers
    bool replace_invalid;    // bytes that are not UTF-8 become U+FFFD instead of being refused
} hone_data_options;

// What a scan found.
typedef struct hone_data_counts {
    uint64_t rows;       // in the file
    uint64_t used;       // to train on: those with nothing to learn are left out
    uint64_t tokens;     // of the used rows
    uint64_t supervised; // of them learnt
    uint64_t truncated;  // rows that were cut
} hone_data_counts;

// Reads and checks a whole file of rows (docs/data.md has the forms). A fault is HONE_BAD_DATA with file, line, column and
// a hint; so is a file of which nothing can be learnt. options may be NULL.
HONE_API HONE_MUST_USE hone_status hone_data_open(hone_model *model, const char *path, const hone_data_options *options,
                                                  hone_dataset **out, hone_error *error);
HONE_API void hone_data_close(hone_dataset *data); // NULL is allowed
HONE_API hone_data_counts hone_data_count(const hone_dataset *data);

// UTF-8 text to token ids. With `special` control tokens in the text are recognised, else they are plain text. *ids is
// the caller's, released with hone_tokens_free. One thread at a time.
HONE_API HONE_MUST_USE hone_status hone_tokens_encode(hone_model *model, const char *text, size_t length, bool special,
                                                      int32_t **ids, size_t *count, hone_error *error);
HONE_API void hone_tokens_free(int32_t *ids); // NULL is allowed
// The bytes of one token: borrowed from the model, no NUL behind. NULL and 0 outside of the vocabulary.
HONE_API const char *hone_token_bytes(const hone_model *model, int32_t id, size_t *length);
// Whether generation stops at this token.
HONE_API bool hone_token_is_end(const hone_model *model, int32_t id);

#ifdef __cplusplus
}
#endif
#endif
