// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers: published patterns that cut a text into words before the merges run inside each.
#ifndef HONE_TEXT_PRETOKENIZER_H
#define HONE_TEXT_PRETOKENIZER_H

#include "base/memory.h"

#define HONE_PRE_STAGES 3

// One row of the table.
typedef struct hone_pre_row {
    const char *name;                      // as in tokenizer.ggml.pre
    const char *patterns[HONE_PRE_STAGES]; // PCRE2; each cuts the pieces of the one before. A piece is a subject of
                                           // its own: its end is the end of the text for look-ahead
    bool nfc;                              // text is brought to Unicode's NFC first
    bool whole_words;                      // a word that is a token is that token, whatever the merges say
    bool add_bos;                          // where the file does not say
} hone_pre_row;

// NULL = not known.
const hone_pre_row *hone_pre_find(const char *name);

// The names of all rows, for messages.
void hone_pre_list(char *out, size_t size);

typedef struct hone_pre_tokenizer hone_pre_tokenizer;
HONE_MUST_USE hone_status hone_pre_create(const hone_pre_row *row, hone_pre_tokenizer **out, hone_error *error);
void hone_pre_destroy(hone_pre_tokenizer *pre); // NULL is allowed

// Calls `word` for each word of text[0, length), in order; together they are the text. The text must be valid
// UTF-8.
typedef hone_status hone_pre_word(void *context, const char *bytes, size_t length, hone_error *error);
HONE_MUST_USE hone_status hone_pre_split(hone_pre_tokenizer *pre, const char *text, size_t length, hone_pre_word *word,
                                         void *context, hone_error *error);

#endif
