// SPDX-License-Identifier: Apache-2.0
// Building and searching the token table.
//
// GPT-2's alphabet writes each byte as one printable character, so that a vocabulary can stand in a text
// file: the bytes ! to ~, U+A1 to U+AC and U+AE to U+FF are themselves; the other 68, in order, are U+0100 to
// U+0143. Tokens are kept as the bytes they stand for.
#include "text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALPHABET_SIZE 0x144

static bool printable_byte(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The byte that a character of the alphabet stands for, -1 for other characters.
static int alphabet_byte(uint32_t character) {
    if (character < 0x100) return printable_byte(character) ? (int)character : -1;
    if (character >= ALPHABET_SIZE) return -1;
    // The unprintable bytes in order: 0-32, 127-160, 173.
    const int index = (int)character - 0x100;
    return index <= 32 ? index : index <= 66 ? 127 + index - 33 : 173;
}

size_t hone_byte_alphabet_decode(const char *text, size_t length, char *out) {
    size_t written = 0;
    for (size_t i = 0; i < length;) {
        uint32_t character = 0;
        const size_t n = hone_utf8_length(text + i, length - i, &character);
        const int byte = n > 0 ? alphabet_byte(character) : -1;
        if (byte < 0) return SIZE_MAX;
        out[written++] = (char)byte;
        i += n;
    }
    return written;
}

static bool is_added(unsigned kind) {
    return kind == HONE_TOKEN_CONTROL || kind == HONE_TOKEN_USER_DEFINED || kind == HONE_TOKEN_UNKNOWN;
}

static const char *token_bytes(const hone_vocabulary *vocabulary, int32_t id) {
    return vocabulary->bytes + vocabulary->offsets[id];
}

static uint32_t hash_bytes(const char *bytes, size_t length) {
    return (uint32_t)XXH3_64bits(bytes, length);
}

int32_t hone_vocabulary_find(const hone_vocabulary *vocabulary, const char *bytes, size_t length) {
    for (uint32_t slot = hash_bytes(bytes, length);; slot++) {
        const uint32_t entry = vocabulary->slots[slot & vocabulary->slot_mask];
        if (entry == 0) return -1;
        const int32_t id = (int32_t)(entry - 1);
        if (hone_vocabulary_length(vocabulary, id) == length && memcmp(token_bytes(vocabulary, id), bytes, length) == 0)
            return id;
    }
}

static hone_status copy_tokens(hone_vocabulary *vocabulary, const hone_gguf_string *tokens, const int32_t *kinds,
                               hone_error *error) {
    const size_t count = vocabulary->count;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        HONE_FAIL_IF(!hone_add_size(total, tokens[i].length, &total) || total > UINT32_MAX, error, BAD_FORMAT,
                     "the vocabulary's tokens are longer than 4 GiB together; the file is damaged");
    }
    HONE_TRY(HONE_NEW_ARRAY(&vocabulary->bytes, total, "the vocabulary's bytes", error));
    HONE_TRY(HONE_NEW_ARRAY(&vocabulary->offsets, count + 1, "the vocabulary's offsets", error));
    HONE_TRY(HONE_NEW_ARRAY(&vocabulary->kinds, count, "the vocabulary's kinds", error));
    uint32_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t kind = kinds ? kinds[i] : HONE_TOKEN_NORMAL;
        HONE_FAIL_IF(kind < HONE_TOKEN_NORMAL || kind > HONE_TOKEN_BYTE, error, BAD_FORMAT,
                     "token %zu of the vocabulary has the kind %d; kinds are 1 to 6", i, (int)kind);
        vocabulary->kinds[i] = (uint8_t)kind;
        char *const place = vocabulary->bytes + used;
        size_t length =
            is_added((unsigned)kind) ? SIZE_MAX : hone_byte_alphabet_decode(tokens[i].bytes, tokens[i].length, place);
        if (length == SIZE_MAX) { // an added token, or one that no merge can make: as written
            length = tokens[i].length;
            if (length > 0) memcpy(place, tokens[i].bytes, length);
            if (!is_added((unsigned)kind)) vocabulary->kinds[i] = HONE_TOKEN_UNUSED;
        }
        used += (uint32_t)length;
        vocabulary->offsets[i + 1] = used;
    }
    return HONE_OK;
}

static hone_status build_slots(hone_vocabulary *vocabulary, hone_error *error) {
    size_t size = 16;
    while (size < 2 * vocabulary->count) size *= 2;
    HONE_TRY(HONE_NEW_ARRAY(&vocabulary->slots, size, "the vocabulary's hash table", error));
    vocabulary->slot_mask = (uint32_t)(size - 1);
    for (size_t i = 0; i < vocabulary->count; i++) {
        const unsigned kind = vocabulary->kinds[i];
        if (is_added(kind) || kind == HONE_TOKEN_UNUSED) continue;
        const int32_t id = (int32_t)i;
        const char *const bytes = token_bytes(vocabulary, id);
        const size_t length = hone_vocabulary_length(vocabulary, id);
        if (length == 0 || hone_vocabulary_find(vocabulary, bytes, length) >= 0) continue;
        uint32_t slot = hash_bytes(bytes, length) & vocabulary->slot_mask;
        while (vocabulary->slots[slot] != 0) slot = (slot + 1) & vocabulary->slot_mask;
        vocabulary->slots[slot] = (uint32_t)i + 1;
    }
    for (int byte = 0; byte < 256; byte++) {
        const char text = (char)byte;
        vocabulary->byte_ids[byte] = hone_vocabulary_find(vocabulary, &text, 1);
    }
    return HONE_OK;
}

typedef struct added_token {
    const char *bytes;
    uint32_t length;
    int32_t id;
} added_token;

static int compare_added(const void *left, const void *right) {
    const added_token *const a = left;
    const added_token *const b = right;
    const int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    if (order != 0) return order;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static hone_status build_added(hone_vocabulary *vocabulary, hone_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < vocabulary->count; i++) count += is_added(vocabulary->kinds[i]);
    HONE_TRY(HONE_NEW_ARRAY(&vocabulary->added, count, "the table of control tokens", error));
    added_token *sorted = NULL;
    HONE_TRY(HONE_NEW_ARRAY(&sorted, count, "the table of control tokens", error));
    size_t found = 0;
    for (size_t i = 0; i < vocabulary->count; i++) {
        const uint32_t length = hone_vocabulary_length(vocabulary, (int32_t)i);
        if (!is_added(vocabulary->kinds[i]) || length == 0) continue;
        sorted[found++] = (added_token){token_bytes(vocabulary, (int32_t)i), length, (int32_t)i};
    }
    qsort(sorted, found, sizeof *sorted, compare_added);
    for (size_t i = 0; i < found; i++) {
        const bool again = i > 0 && sorted[i].length == sorted[i - 1].length &&
                           memcmp(sorted[i].bytes, sorted[i - 1].bytes, sorted[i].length) == 0;
        if (!again) vocabulary->added[vocabulary->added_count++] = sorted[i].id;
    }
    hone_free(sorted);
    size_t at = 0;
    for (unsigned byte = 0; byte <= 256; byte++) {
        while (at < vocabulary->added_count && (unsigned char)*token_bytes(vocabulary, vocabulary->added[at]) < byte)
            at++;
        vocabulary->added_from[byte] = (uint32_t)at;
    }
    return HONE_OK;
}

hone_status hone_vocabulary_build(hone_vocabulary *vocabulary, const hone_gguf_string *tokens, const int32_t *kinds,
                                  size_t count, hone_error *error) {
    *vocabulary = (hone_vocabulary){.count = count};
    HONE_FAIL_IF(count == 0, error, BAD_FORMAT, "the vocabulary is empty");
    HONE_FAIL_IF(count > INT32_MAX / 4, error, UNSUPPORTED, "the vocabulary has %zu tokens; %d is the most", count,
                 INT32_MAX / 4);
    HONE_TRY(copy_tokens(vocabulary, tokens, kinds, error));
    HONE_TRY(build_slots(vocabulary, error));
    return build_added(vocabulary, error);
}

void hone_vocabulary_clear(hone_vocabulary *vocabulary) {
    hone_free(vocabulary->bytes);
    hone_free(vocabulary->offsets);
    hone_free(vocabulary->kinds);
    hone_free(vocabulary->slots);
    hone_free(vocabulary->added);
    *vocabulary = (hone_vocabulary){0};
}

// First in added[low, high), all of which agree in their first `depth` bytes and are longer, whose byte at
// `depth` is at least `byte`.
static uint32_t first_at_least(const hone_vocabulary *vocabulary, uint32_t low, uint32_t high, size_t depth,
                               unsigned byte) {
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const unsigned char here = (unsigned char)token_bytes(vocabulary, vocabulary->added[middle])[depth];
        if (here < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Walks down the sorted table as down a tree, one byte a step. Of an equal prefix the shortest token sorts
// first.
static int32_t match_added(const hone_vocabulary *vocabulary, const char *bytes, size_t length, size_t control_room,
                           bool whole) {
    if (length == 0) return -1;
    const unsigned first = (unsigned char)bytes[0];
    uint32_t low = vocabulary->added_from[first];
    uint32_t high = vocabulary->added_from[first + 1];
    int32_t best = -1;
    for (size_t depth = 1; low < high; depth++) {
        const int32_t id = vocabulary->added[low];
        if (hone_vocabulary_length(vocabulary, id) == depth) {
            const bool allowed = vocabulary->kinds[id] == HONE_TOKEN_USER_DEFINED || depth <= control_room;
            if (allowed && (!whole || depth == length)) best = id;
            low++;
        }
        if (depth == length) break;
        const unsigned next = (unsigned char)bytes[depth];
        low = first_at_least(vocabulary, low, high, depth, next);
        high = first_at_least(vocabulary, low, high, depth, next + 1);
    }
    return best;
}

int32_t hone_vocabulary_match_added(const hone_vocabulary *vocabulary, const char *bytes, size_t length,
                                    size_t control_room) {
    return match_added(vocabulary, bytes, length, control_room, false);
}

int32_t hone_vocabulary_find_added(const hone_vocabulary *vocabulary, const char *bytes, size_t length) {
    return match_added(vocabulary, bytes, length, SIZE_MAX, true);
}
