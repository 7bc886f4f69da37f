// SPDX-License-Identifier: Apache-2.0
// A bump allocator for objects that die together: graph nodes, parsed metadata, strings.
#ifndef HONE_BASE_ARENA_H
#define HONE_BASE_ARENA_H

#include "base/memory.h"

typedef struct hone_arena {
    struct hone_arena_block *last; // newest block; older ones are linked behind it
    size_t block_bytes;            // size of the next block; 0 = default of 16 KiB
} hone_arena;                      // zero-initialised is an empty arena

// Zeroed bytes, aligned to 16, valid until hone_arena_clear.
HONE_MUST_USE hone_status hone_arena_allocate(hone_arena *arena, size_t count, size_t size, void **out,
                                              hone_error *error);

// A NUL-terminated copy.
HONE_MUST_USE hone_status hone_arena_string(hone_arena *arena, const char *text, size_t length, const char **out,
                                            hone_error *error);

#define HONE_ARENA_ARRAY(arena, out, count, error)                                                                     \
    hone_arena_allocate((arena), (count), sizeof(**(out)), (void **)(out), (error))

// Frees all of it; the arena is empty and usable again.
void hone_arena_clear(hone_arena *arena);

#endif
