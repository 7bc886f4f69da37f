// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one pre-token: the best-ranked pair is merged, leftmost first, until none is left.
#ifndef HONE_TEXT_BPE_H
#define HONE_TEXT_BPE_H

#include "text/vocabulary.h"

typedef struct hone_merge {
    int32_t left, right, result;
} hone_merge;

typedef struct hone_bpe {
    hone_merge *merges; // [merge_count], best first: the index is the rank
    size_t merge_count;
    uint32_t *slots; // open addressing by (left, right): rank + 1; 0 = empty
    uint32_t slot_mask;
    // Scratch of one word, kept from call to call.
    int32_t *symbols; // [n]
    uint32_t *ranks;  // [n]
    uint32_t *minima; // of blocks, of blocks of blocks, ...
    size_t symbol_capacity, rank_capacity, minimum_capacity;
    struct hone_word_slot *cache; // words met before
} hone_bpe;

HONE_MUST_USE hone_status hone_bpe_build(hone_bpe *bpe, const hone_vocabulary *vocabulary,
                                         const hone_gguf_string *merges, size_t count, hone_error *error);
void hone_bpe_clear(hone_bpe *bpe);

// Appends the tokens of word[0, length). Bytes without a token are left out before merging; *dropped counts
// them.
HONE_MUST_USE hone_status hone_bpe_encode(hone_bpe *bpe, const hone_vocabulary *vocabulary, const char *word,
                                          size_t length, hone_ids *ids, uint64_t *dropped, hone_error *error);

#endif
