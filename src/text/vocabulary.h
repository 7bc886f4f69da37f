// SPDX-License-Identifier: Apache-2.0
// The tokens of a vocabulary: their bytes in one pool, found by bytes through a hash table, or by prefix.
#ifndef HONE_TEXT_VOCABULARY_H
#define HONE_TEXT_VOCABULARY_H

#include "text/tokenizer.h"

typedef struct hone_vocabulary {
    size_t count;
    char *bytes;       // of all tokens, end to end
    uint32_t *offsets; // [count + 1]
    uint8_t *kinds;    // [count] of hone_token_kind
    uint32_t *slots;   // open addressing, id + 1 of the tokens that merges may make; 0 = empty
    uint32_t slot_mask;
    int32_t *added; // [added_count] control and user-defined tokens, sorted by bytes, each text once
    size_t added_count;
    uint32_t added_from[257]; // first of `added` whose first byte is at least the index
    int32_t byte_ids[256];    // token of each single byte, -1 = the vocabulary has none
} hone_vocabulary;

HONE_MUST_USE hone_status hone_vocabulary_build(hone_vocabulary *vocabulary, const hone_gguf_string *tokens,
                                                const int32_t *kinds, size_t count, hone_error *error);
void hone_vocabulary_clear(hone_vocabulary *vocabulary);

static inline uint32_t hone_vocabulary_length(const hone_vocabulary *vocabulary, int32_t id) {
    return vocabulary->offsets[id + 1] - vocabulary->offsets[id];
}

// -1 = none. `find` looks among the tokens that merges may make, `find_added` among the others.
int32_t hone_vocabulary_find(const hone_vocabulary *vocabulary, const char *bytes, size_t length);
int32_t hone_vocabulary_find_added(const hone_vocabulary *vocabulary, const char *bytes, size_t length);
// The longest user-defined token that `bytes` begins with, or control token not longer than `control_room`;
// -1 = none.
int32_t hone_vocabulary_match_added(const hone_vocabulary *vocabulary, const char *bytes, size_t length,
                                    size_t control_room);

// Bytes of a text in GPT-2's printable alphabet (each byte is one character), written to `out` (at most
// `length`). SIZE_MAX if a character is not of that alphabet.
size_t hone_byte_alphabet_decode(const char *text, size_t length, char *out);

#endif
