// SPDX-License-Identifier: Apache-2.0
// XXH64, seed 0, of bytes as they come: for noticing damage, not against forgery.
#ifndef HONE_FORMATS_HASH_H
#define HONE_FORMATS_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct hone_hash {
    uint64_t words[16]; // the library's state
} hone_hash;

void hone_hash_begin(hone_hash *hash);
void hone_hash_add(hone_hash *hash, const void *data, size_t bytes);
uint64_t hone_hash_end(const hone_hash *hash); // of all added so far; more may follow
uint64_t hone_hash_of(const void *data, size_t bytes);

#endif
