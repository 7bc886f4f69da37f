// SPDX-License-Identifier: Apache-2.0
// The bump allocator: blocks in a list, the newest first; a request larger than a block gets one of its own.
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#define ALIGNMENT     16
#define DEFAULT_BYTES ((size_t)16 << 10)
#define LARGEST_BYTES ((size_t)1 << 20)

typedef struct hone_arena_block {
    alignas(ALIGNMENT) struct hone_arena_block *previous;
    size_t capacity; // bytes behind this header
    size_t used;     // a multiple of ALIGNMENT
} hone_arena_block;

static hone_status new_block(size_t capacity, hone_arena_block **out, hone_error *error) {
    size_t bytes = 0;
    HONE_FAIL_IF(!hone_add_size(capacity, sizeof(hone_arena_block), &bytes), error, OUT_OF_MEMORY,
                 "out of memory: no %zu bytes for an arena", capacity);
    HONE_TRY(hone_allocate(1, bytes, "an arena", (void **)out, error));
    (*out)->capacity = capacity;
    return HONE_OK;
}

// Makes a block that has `bytes` free and links it; *out is it.
static hone_status add_block(hone_arena *arena, size_t bytes, hone_arena_block **out, hone_error *error) {
    const size_t usual = arena->block_bytes ? arena->block_bytes : DEFAULT_BYTES;
    if (bytes > usual / 4 && arena->last) {
        // Large: goes behind the newest block, whose free rest stays in use.
        HONE_TRY(new_block(bytes, out, error));
        (*out)->previous = arena->last->previous;
        arena->last->previous = *out;
        return HONE_OK;
    }
    HONE_TRY(new_block(bytes > usual ? bytes : usual, out, error));
    (*out)->previous = arena->last;
    arena->last = *out;
    if (usual < LARGEST_BYTES) arena->block_bytes = usual * 2;
    return HONE_OK;
}

hone_status hone_arena_allocate(hone_arena *arena, size_t count, size_t size, void **out, hone_error *error) {
    memset(out, 0, sizeof *out); // by bytes: the caller's pointer has another type
    size_t bytes = 0;
    HONE_FAIL_IF(!hone_mul_size(count, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT, error, OUT_OF_MEMORY,
                 "out of memory: an arena would need %zu times %zu bytes", count, size);
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes == 0) bytes = ALIGNMENT; // so that two empty objects differ
    hone_arena_block *block = arena->last;
    if (!block || block->capacity - block->used < bytes) HONE_TRY(add_block(arena, bytes, &block, error));
    void *const pointer = (char *)(block + 1) + block->used;
    block->used += bytes;
    memcpy(out, &pointer, sizeof pointer);
    return HONE_OK;
}

hone_status hone_arena_string(hone_arena *arena, const char *text, size_t length, const char **out, hone_error *error) {
    *out = NULL;
    size_t bytes = 0;
    HONE_FAIL_IF(!hone_add_size(length, 1, &bytes), error, OUT_OF_MEMORY, "out of memory: a string of %zu bytes",
                 length);
    char *copy = NULL;
    HONE_TRY(HONE_ARENA_ARRAY(arena, &copy, bytes, error));
    if (length > 0) memcpy(copy, text, length);
    *out = copy; // zeroed memory ends it
    return HONE_OK;
}

void hone_arena_clear(hone_arena *arena) {
    hone_arena_block *block = arena->last;
    while (block) {
        hone_arena_block *const previous = block->previous;
        hone_free(block);
        block = previous;
    }
    arena->last = NULL;
}
