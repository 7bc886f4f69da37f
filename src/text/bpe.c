// SPDX-License-Identifier: Apache-2.0
// Merging in time that grows with n log n, for words of any length.
//
// Symbols lie in an array with one place for each byte of the word. A symbol that covers [s, e) is written at
// s and at e - 1, so that its neighbours are found without links: the next begins at e, the one before ends
// at s - 1 and its length is that of its token. ranks[s] is the rank of the merge with the next symbol, NONE
// where there is none or where no symbol begins. The least rank is found through minima of blocks of 64, of
// blocks of blocks, and so on:
//
//   ranks    |....64....|....64....| ... n
//   level 0  |  minimum |  minimum | ... n / 64
//   level 1  |       minimum of 64   ... n / 4096
//
// Short words are a single block: then this is a plain search.
#include "text/bpe.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NONE        UINT32_MAX
#define BLOCK       64
#define LEVELS      6 // 64^6 places are more than any word has
#define CACHE_SLOTS 8192
#define CACHE_BYTES 30
#define CACHE_IDS   8
#define CHUNK       8192 // bytes of a long word that are merged at a time

typedef struct hone_word_slot {
    int32_t ids[CACHE_IDS];
    uint8_t length; // 0 = empty
    uint8_t count;
    char bytes[CACHE_BYTES];
} hone_word_slot;

// --- the table of merges
// ---------------------------------------------------------------------------------------------

static uint32_t hash_pair(int32_t left, int32_t right) {
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static uint32_t find_rank(const hone_bpe *bpe, int32_t left, int32_t right) {
    for (uint32_t slot = hash_pair(left, right);; slot++) {
        const uint32_t entry = bpe->slots[slot & bpe->slot_mask];
        if (entry == 0) return NONE;
        const hone_merge *const merge = &bpe->merges[entry - 1];
        if (merge->left == left && merge->right == right) return entry - 1;
    }
}

// The token that a side of a merge, or its result, names; -1 = none.
static int32_t find_side(const hone_vocabulary *vocabulary, const char *bytes, size_t length) {
    const int32_t id = hone_vocabulary_find(vocabulary, bytes, length);
    return id >= 0 ? id : hone_vocabulary_find_added(vocabulary, bytes, length);
}

// `text` is "left right" in the byte alphabet, which has no blank; `buffer` holds at least its length.
static hone_status read_merge(const hone_vocabulary *vocabulary, const hone_gguf_string *text, size_t rank,
                              char *buffer, hone_merge *merge, hone_error *error) {
    const char *const blank = text->length > 0 ? memchr(text->bytes, ' ', text->length) : NULL;
    const size_t left_length = blank ? (size_t)(blank - text->bytes) : 0;
    HONE_FAIL_IF(!blank || left_length == 0 || left_length + 1 == text->length, error, BAD_FORMAT,
                 "merge %zu of the vocabulary is '%.*s', not two tokens with a blank between; the file is damaged",
                 rank, (int)(text->length < 80 ? text->length : 80), text->bytes);
    const size_t left = hone_byte_alphabet_decode(text->bytes, left_length, buffer);
    const size_t right = left == SIZE_MAX
                             ? SIZE_MAX
                             : hone_byte_alphabet_decode(blank + 1, text->length - left_length - 1, buffer + left);
    if (right != SIZE_MAX) {
        merge->left = find_side(vocabulary, buffer, left);
        merge->right = find_side(vocabulary, buffer + left, right);
        merge->result = find_side(vocabulary, buffer, left + right);
    }
    HONE_FAIL_IF(right == SIZE_MAX || merge->left < 0 || merge->right < 0 || merge->result < 0, error, BAD_FORMAT,
                 "merge %zu of the vocabulary, '%.*s', joins or makes what is not a token; the file is damaged", rank,
                 (int)(text->length < 80 ? text->length : 80), text->bytes);
    return HONE_OK;
}

static hone_status read_merges(hone_bpe *bpe, const hone_vocabulary *vocabulary, const hone_gguf_string *merges,
                               size_t count, char *buffer, hone_error *error) {
    for (size_t i = 0; i < count; i++) {
        hone_merge merge = {0};
        HONE_TRY(read_merge(vocabulary, &merges[i], i, buffer, &merge, error));
        bpe->merges[i] = merge;
        uint32_t slot = hash_pair(merge.left, merge.right) & bpe->slot_mask;
        bool again = false; // of two equal pairs the better rank counts
        for (; bpe->slots[slot] != 0 && !again; slot = (slot + 1) & bpe->slot_mask) {
            const hone_merge *const other = &bpe->merges[bpe->slots[slot] - 1];
            again = other->left == merge.left && other->right == merge.right;
        }
        if (!again) bpe->slots[slot] = (uint32_t)i + 1;
    }
    return HONE_OK;
}

hone_status hone_bpe_build(hone_bpe *bpe, const hone_vocabulary *vocabulary, const hone_gguf_string *merges,
                           size_t count, hone_error *error) {
    *bpe = (hone_bpe){.merge_count = count};
    HONE_FAIL_IF(count > INT32_MAX / 4, error, UNSUPPORTED, "the vocabulary has %zu merges; %d is the most", count,
                 INT32_MAX / 4);
    size_t size = 16;
    while (size < 2 * count) size *= 2;
    size_t longest = 1;
    for (size_t i = 0; i < count; i++) longest = merges[i].length > longest ? merges[i].length : longest;
    HONE_TRY(HONE_NEW_ARRAY(&bpe->merges, count, "the table of merges", error));
    HONE_TRY(HONE_NEW_ARRAY(&bpe->slots, size, "the hash table of merges", error));
    HONE_TRY(HONE_NEW_ARRAY(&bpe->cache, CACHE_SLOTS, "the cache of words", error));
    bpe->slot_mask = (uint32_t)(size - 1);
    char *buffer = NULL;
    HONE_TRY(HONE_NEW_ARRAY(&buffer, longest, "a merge", error));
    const hone_status status = read_merges(bpe, vocabulary, merges, count, buffer, error);
    hone_free(buffer);
    return status;
}

void hone_bpe_clear(hone_bpe *bpe) {
    hone_free(bpe->merges);
    hone_free(bpe->slots);
    hone_free(bpe->symbols);
    hone_free(bpe->ranks);
    hone_free(bpe->minima);
    hone_free(bpe->cache);
    *bpe = (hone_bpe){0};
}

// --- the word in work
// ------------------------------------------------------------------------------------------------

typedef struct word {
    const hone_bpe *bpe;
    const hone_vocabulary *vocabulary;
    int32_t *symbols;
    uint32_t *ranks;
    size_t length;            // places
    uint32_t *levels[LEVELS]; // minima
    size_t counts[LEVELS];    // of each level; the last has at most BLOCK
    int level_count;
} word;

static uint32_t least(const uint32_t *values, size_t count) {
    uint32_t result = NONE;
    for (size_t i = 0; i < count; i++) result = values[i] < result ? values[i] : result;
    return result;
}

static size_t first_of(const uint32_t *values, uint32_t value) {
    size_t i = 0;
    while (values[i] != value) i++;
    return i;
}

// Brings the minima above block `index` of the ranks up to date.
static void refresh(word *w, size_t index) {
    const uint32_t *below = w->ranks;
    size_t below_count = w->length;
    for (int level = 0; level < w->level_count; level++, index /= BLOCK) {
        const size_t first = index * BLOCK;
        const uint32_t minimum = least(below + first, below_count - first < BLOCK ? below_count - first : BLOCK);
        if (w->levels[level][index] == minimum) return;
        w->levels[level][index] = minimum;
        below = w->levels[level];
        below_count = w->counts[level];
    }
}

// Fills symbols and ranks; all levels of minima.
static void start(word *w) {
    const size_t n = w->length;
    for (size_t i = 0; i + 1 < n; i++) w->ranks[i] = find_rank(w->bpe, w->symbols[i], w->symbols[i + 1]);
    w->ranks[n - 1] = NONE;
    const uint32_t *below = w->ranks;
    size_t below_count = n;
    for (int level = 0; level < w->level_count; level++) {
        for (size_t i = 0; i < w->counts[level]; i++) {
            const size_t first = i * BLOCK;
            w->levels[level][i] = least(below + first, below_count - first < BLOCK ? below_count - first : BLOCK);
        }
        below = w->levels[level];
        below_count = w->counts[level];
    }
}

// The leftmost place of the least rank; false if no merge is left.
static bool find_best(const word *w, size_t *place, uint32_t *rank) {
    const int top = w->level_count - 1;
    const uint32_t *const values = top < 0 ? w->ranks : w->levels[top];
    *rank = least(values, top < 0 ? w->length : w->counts[top]);
    if (*rank == NONE) return false;
    size_t index = first_of(values, *rank);
    for (int level = top; level >= 0; level--) {
        const uint32_t *const below = level > 0 ? w->levels[level - 1] : w->ranks;
        index = index * BLOCK + first_of(below + index * BLOCK, *rank);
    }
    *place = index;
    return true;
}

// Merges the symbol at `place` with the next. Returns the least of the two ranks that this makes.
static uint32_t merge_at(word *w, size_t place, uint32_t rank) {
    const hone_merge *const merge = &w->bpe->merges[rank];
    const size_t middle = place + hone_vocabulary_length(w->vocabulary, merge->left);
    const size_t end = middle + hone_vocabulary_length(w->vocabulary, merge->right);
    w->symbols[place] = merge->result;
    w->symbols[end - 1] = merge->result;
    w->ranks[middle] = NONE;
    uint32_t after = NONE;
    if (end < w->length) after = find_rank(w->bpe, merge->result, w->symbols[end]);
    w->ranks[place] = after;
    uint32_t before = NONE;
    const size_t block = place / BLOCK;
    if (place > 0) {
        const int32_t left = w->symbols[place - 1];
        const size_t left_place = place - hone_vocabulary_length(w->vocabulary, left);
        before = find_rank(w->bpe, left, merge->result);
        w->ranks[left_place] = before;
        if (left_place / BLOCK != block) refresh(w, left_place / BLOCK);
    }
    if (middle / BLOCK != block) refresh(w, middle / BLOCK);
    return after < before ? after : before;
}

// Merges until nothing is left to merge. Within a block, further places of the same rank follow at once: as
// long as no better rank has come up, they are next in order anyway.
static void merge_all(word *w) {
    size_t place = 0;
    uint32_t rank = 0;
    while (find_best(w, &place, &rank)) {
        const size_t block = place / BLOCK;
        const size_t block_end = (block + 1) * BLOCK < w->length ? (block + 1) * BLOCK : w->length;
        bool better = false;
        for (; place < block_end && !better; place++) {
            if (w->ranks[place] == rank) better = merge_at(w, place, rank) < rank;
        }
        refresh(w, block);
    }
}

static hone_status reserve(hone_bpe *bpe, word *w, hone_error *error) {
    HONE_TRY(HONE_GROW(&bpe->symbols, &bpe->symbol_capacity, w->length, "the symbols of a word", error));
    HONE_TRY(HONE_GROW(&bpe->ranks, &bpe->rank_capacity, w->length, "the ranks of a word", error));
    size_t total = 0;
    for (size_t count = w->length; count > BLOCK && w->level_count < LEVELS;) {
        count = (count + BLOCK - 1) / BLOCK;
        w->counts[w->level_count++] = count;
        total += count;
    }
    HONE_TRY(HONE_GROW(&bpe->minima, &bpe->minimum_capacity, total, "the minima of a word", error));
    uint32_t *place = bpe->minima;
    for (int level = 0; level < w->level_count; place += w->counts[level], level++) w->levels[level] = place;
    w->symbols = bpe->symbols;
    w->ranks = bpe->ranks;
    return HONE_OK;
}

// Appends the tokens of bytes[0, length), each of which has one.
static hone_status encode_piece(hone_bpe *bpe, const hone_vocabulary *vocabulary, const char *bytes, size_t length,
                                hone_ids *ids, hone_error *error) {
    word w = {.bpe = bpe, .vocabulary = vocabulary, .length = length};
    if (length == 0) return HONE_OK;
    HONE_TRY(reserve(bpe, &w, error));
    for (size_t i = 0; i < length; i++) w.symbols[i] = vocabulary->byte_ids[(unsigned char)bytes[i]];
    start(&w);
    merge_all(&w);
    for (size_t i = 0; i < length; i += hone_vocabulary_length(vocabulary, w.symbols[i])) {
        HONE_TRY(HONE_GROW(&ids->items, &ids->capacity, ids->count + 1, "token ids", error));
        ids->items[ids->count++] = w.symbols[i];
    }
    return HONE_OK;
}

// Does the text of two tokens, merged alone, give these two again? `bytes` is that text.
static hone_status check_pair(hone_bpe *bpe, const hone_vocabulary *vocabulary, const char *bytes, int32_t left,
                              int32_t right, bool *valid, hone_error *error) {
    hone_ids pair = {0};
    const size_t length = hone_vocabulary_length(vocabulary, left) + hone_vocabulary_length(vocabulary, right);
    const hone_status status = encode_piece(bpe, vocabulary, bytes, length, &pair, error);
    *valid = pair.count == 2 && pair.items[0] == left && pair.items[1] == right;
    hone_ids_clear(&pair);
    return status;
}

// A long word, CHUNK bytes at a time, so that memory does not grow with it. This gives the same tokens, because a row of
// tokens is the encoding of its text if and only if each two neighbours are the encoding of theirs: as long as no merge
// has gone across a border, what happens inside two neighbouring tokens is what would happen if they stood alone; so the
// first merge to go across a border would do so in the two alone as well. Where a chunk was cut, the last tokens are
// taken back and merged once more with what follows, and the pair at the joint is checked.
static hone_status encode_long(hone_bpe *bpe, const hone_vocabulary *vocabulary, const char *bytes, size_t length,
                               hone_ids *ids, hone_error *error) {
    const size_t first = ids->count;
    size_t done = 0;  // bytes that ids[first, count) spell
    size_t again = 8; // tokens to take back
    while (done < length) {
        size_t from = done;
        size_t kept = ids->count;
        for (size_t i = 0; i < again && kept > first; i++)
            from -= hone_vocabulary_length(vocabulary, ids->items[--kept]);
        const size_t to = length - done < CHUNK ? length : done + CHUNK;
        hone_ids piece = {0};
        hone_status status = encode_piece(bpe, vocabulary, bytes + from, to - from, &piece, error);
        bool valid = kept == first;
        if (status == HONE_OK && !valid) {
            const int32_t left = ids->items[kept - 1];
            status = check_pair(bpe, vocabulary, bytes + from - hone_vocabulary_length(vocabulary, left), left,
                                piece.items[0], &valid, error);
        }
        if (status == HONE_OK && valid)
            status = HONE_GROW(&ids->items, &ids->capacity, kept + piece.count, "token ids", error);
        if (status == HONE_OK && valid) {
            memcpy(ids->items + kept, piece.items, piece.count * sizeof *piece.items);
            ids->count = kept + piece.count;
            done = to;
        }
        again = valid ? 8 : 2 * again;
        hone_ids_clear(&piece);
        HONE_TRY(status);
    }
    return HONE_OK;
}

// Leaves out the bytes that have no token, as if they were not there: their neighbours merge.
static hone_status encode_word(hone_bpe *bpe, const hone_vocabulary *vocabulary, const char *bytes, size_t length,
                               hone_ids *ids, uint64_t *dropped, hone_error *error) {
    size_t missing = 0;
    for (size_t i = 0; i < length; i++) missing += vocabulary->byte_ids[(unsigned char)bytes[i]] < 0;
    char *buffer = NULL;
    if (missing > 0) {
        *dropped += missing;
        HONE_TRY(HONE_NEW_ARRAY(&buffer, length, "a word", error));
        size_t kept = 0;
        for (size_t i = 0; i < length; i++) {
            if (vocabulary->byte_ids[(unsigned char)bytes[i]] >= 0) buffer[kept++] = bytes[i];
        }
        bytes = buffer;
        length = kept;
    }
    const hone_status status = length <= CHUNK ? encode_piece(bpe, vocabulary, bytes, length, ids, error)
                                               : encode_long(bpe, vocabulary, bytes, length, ids, error);
    hone_free(buffer);
    return status;
}

hone_status hone_bpe_encode(hone_bpe *bpe, const hone_vocabulary *vocabulary, const char *bytes, size_t length,
                            hone_ids *ids, uint64_t *dropped, hone_error *error) {
    if (length == 0) return HONE_OK;
    HONE_FAIL_IF(length > INT32_MAX, error, BAD_DATA,
                 "a single word of the text has %zu bytes; break the text up, %d is the most", length, INT32_MAX);
    hone_word_slot *slot = NULL;
    if (length <= CACHE_BYTES) {
        slot = &bpe->cache[XXH3_64bits(bytes, length) % CACHE_SLOTS];
        if (slot->length == length && memcmp(slot->bytes, bytes, length) == 0) {
            HONE_TRY(HONE_GROW(&ids->items, &ids->capacity, ids->count + slot->count, "token ids", error));
            memcpy(ids->items + ids->count, slot->ids, slot->count * sizeof *slot->ids);
            ids->count += slot->count;
            return HONE_OK;
        }
    }
    const size_t before = ids->count;
    const uint64_t dropped_before = *dropped;
    HONE_TRY(encode_word(bpe, vocabulary, bytes, length, ids, dropped, error));
    const size_t count = ids->count - before;
    if (slot && count <= CACHE_IDS && *dropped == dropped_before) { // words with gaps are rare and counted each time
        slot->length = (uint8_t)length;
        slot->count = (uint8_t)count;
        memcpy(slot->bytes, bytes, length);
        if (count > 0) memcpy(slot->ids, ids->items + before, count * sizeof *slot->ids);
    }
    return HONE_OK;
}
