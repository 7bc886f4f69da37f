// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as the model's own vocabulary does it: byte-level BPE with a named
// pre-tokenizer.
#ifndef HONE_TEXT_TOKENIZER_H
#define HONE_TEXT_TOKENIZER_H

#include "base/text.h"
#include "formats/gguf.h"

typedef struct hone_tokenizer hone_tokenizer;

typedef enum hone_token_kind { // as numbered in GGUF's tokenizer.ggml.token_type
    HONE_TOKEN_NORMAL = 1,
    HONE_TOKEN_UNKNOWN = 2,
    HONE_TOKEN_CONTROL = 3,      // in text only where the caller trusts it (HONE_ENCODE_SPECIAL)
    HONE_TOKEN_USER_DEFINED = 4, // whole words of the vocabulary that no merge makes: always recognised
    HONE_TOKEN_UNUSED = 5,       // padding of the vocabulary: never made from text
    HONE_TOKEN_BYTE = 6,
} hone_token_kind;

// A vocabulary in plain memory; all of it is copied.
typedef struct hone_tokenizer_description {
    const hone_gguf_string *tokens; // [token_count], in GPT-2's printable byte alphabet as GGUF has them
    size_t token_count;
    const int32_t *kinds;           // [token_count] of hone_token_kind; NULL = all normal
    const hone_gguf_string *merges; // [merge_count] "left right", best first
    size_t merge_count;
    const char *pre_tokenizer;  // a name of hone_pre_tokenizer_name
    const char *chat_template;  // NULL = none
    int32_t bos, eos, eot, pad; // -1 = none
    bool add_bos, add_eos;      // what the vocabulary wants round a text
} hone_tokenizer_description;

typedef struct hone_tokenizer_options {
    const char *pre_tokenizer; // instead of the one the file names; NULL = the file's
} hone_tokenizer_options;

HONE_MUST_USE hone_status hone_tokenizer_create(const hone_tokenizer_description *description, hone_tokenizer **out,
                                                hone_error *error);
// From a model's metadata; options may be NULL. Other kinds of vocabulary and unknown pre-tokenizers are
// HONE_UNSUPPORTED, by name.
HONE_MUST_USE hone_status hone_tokenizer_from_gguf(const hone_gguf *gguf, const hone_tokenizer_options *options,
                                                   hone_tokenizer **out, hone_error *error);
void hone_tokenizer_destroy(hone_tokenizer *tokenizer); // NULL is allowed

// The known pre-tokenizers, for messages and help: NULL behind the last.
const char *hone_pre_tokenizer_name(size_t index);

// --- encode and decode
// ----------------------------------------------------------------------------------------------- Encoding
// works in memory inside the tokenizer: one thread at a time may encode. All else only reads.

typedef struct hone_ids {
    int32_t *items;
    size_t count, capacity;
} hone_ids;                         // zero-initialised is empty
void hone_ids_clear(hone_ids *ids); // frees; empty and usable again

enum {
    HONE_ENCODE_SPECIAL = 1, // control tokens in the text are recognised (longest first); else they are plain text
    HONE_ENCODE_BOS = 2,     // begins with BOS if the vocabulary adds one, but never with two
};

// Appends the ids of `text` (UTF-8; else HONE_BAD_DATA). Bytes that the vocabulary has no token for are left
// out, as Hugging Face's tokenizers do; hone_tokenizer_dropped counts them.
HONE_MUST_USE hone_status hone_tokenizer_encode(hone_tokenizer *tokenizer, const char *text, size_t length,
                                                unsigned flags, hone_ids *ids, hone_error *error);

// A piece of a text that is encoded as one: pre-tokens and merges go across the borders of parts.
typedef struct hone_text_part {
    const char *bytes; // borrowed
    size_t length;
    bool special; // control tokens are recognised inside this part
    bool trained; // what the loss covers
} hone_text_part;

// Appends the ids of the concatenation to `ids`, and to `trained` (if not NULL) one 0 or 1 for each: that of
// the part in which the token begins.
HONE_MUST_USE hone_status hone_tokenizer_encode_parts(hone_tokenizer *tokenizer, const hone_text_part *parts,
                                                      size_t part_count, hone_ids *ids, hone_ids *trained,
                                                      hone_error *error);
// Bytes left out so far, for which the vocabulary has no token.
uint64_t hone_tokenizer_dropped(const hone_tokenizer *tokenizer);

enum {
    HONE_DECODE_SKIP_CONTROL = 1, // control tokens give no text
};
// Appends the bytes of the tokens. They need not end on a whole UTF-8 character. An id outside the vocabulary
// is HONE_BAD_DATA.
HONE_MUST_USE hone_status hone_tokenizer_decode(const hone_tokenizer *tokenizer, const int32_t *ids, size_t count,
                                                unsigned flags, hone_text *out, hone_error *error);

// --- look
// ------------------------------------------------------------------------------------------------------------
size_t hone_tokenizer_size(const hone_tokenizer *tokenizer); // ids are 0 .. size - 1
// The bytes a token stands for (no NUL behind; {NULL, 0} outside the vocabulary).
hone_gguf_string hone_tokenizer_text(const hone_tokenizer *tokenizer, int32_t id);
hone_token_kind hone_tokenizer_kind(const hone_tokenizer *tokenizer, int32_t id);
// The token that stands for exactly these bytes, control tokens first; -1 = none.
int32_t hone_tokenizer_find(const hone_tokenizer *tokenizer, const char *text, size_t length);
int32_t hone_tokenizer_bos(const hone_tokenizer *tokenizer); // -1 = none; likewise below
int32_t hone_tokenizer_eos(const hone_tokenizer *tokenizer);
int32_t hone_tokenizer_eot(const hone_tokenizer *tokenizer); // end of a turn; the EOS where there is no other
int32_t hone_tokenizer_pad(const hone_tokenizer *tokenizer);
bool hone_tokenizer_adds_bos(const hone_tokenizer *tokenizer);
bool hone_tokenizer_adds_eos(const hone_tokenizer *tokenizer);
// Generation stops at these: EOS, end of turn, end of text.
bool hone_tokenizer_is_end(const hone_tokenizer *tokenizer, int32_t id);
const char *hone_tokenizer_pre_name(const hone_tokenizer *tokenizer);
const char *hone_tokenizer_chat_template(const hone_tokenizer *tokenizer); // NULL = none

#endif
