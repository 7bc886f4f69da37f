// SPDX-License-Identifier: Apache-2.0
// xxHash, compiled from its header into this file only: inlined into its callers it draws false warnings from gcc 12.
#include "formats/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH64_state_t) <= sizeof(hone_hash), "the state must fit");

static XXH64_state_t *state_of(hone_hash *hash) {
    return (XXH64_state_t *)(void *)hash->words;
}

void hone_hash_begin(hone_hash *hash) {
    XXH64_reset(state_of(hash), 0);
}

void hone_hash_add(hone_hash *hash, const void *data, size_t bytes) {
    if (bytes > 0) XXH64_update(state_of(hash), data, bytes);
}

uint64_t hone_hash_end(const hone_hash *hash) {
    return XXH64_digest((const XXH64_state_t *)(const void *)hash->words);
}

uint64_t hone_hash_of(const void *data, size_t bytes) {
    return XXH64(data, bytes, 0);
}
