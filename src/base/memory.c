// SPDX-License-Identifier: Apache-2.0
// The gate for heap memory. Each block has a header of 64 bytes before what the caller sees:
//
//   base ........ header (64 bytes: size, base, mark) | the caller's bytes, aligned to 64
#include "base/memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT  64
#define MARK_LIVE  UINT64_C(0x686f6e656c697665)
#define MARK_FREED UINT64_C(0x686f6e6566726565)

// From here on zeroed blocks come from calloc, whose fresh pages cost nothing until touched; the block is
// then not exact to its last byte, so address-sanitized builds never take that way.
#if defined(__SANITIZE_ADDRESS__)
#define LAZY_BYTES SIZE_MAX
#else
#define LAZY_BYTES ((size_t)1 << 20)
#endif

typedef struct block_header {
    size_t size;   // the caller's bytes
    void *base;    // what the C library gave
    uint64_t mark; // MARK_LIVE; notices a foreign pointer or a second free
} block_header;

_Static_assert(sizeof(block_header) <= ALIGNMENT, "the header must fit in front of an aligned block");

static atomic_size_t held_bytes;
static atomic_size_t peak_bytes;
static atomic_size_t held_blocks;
static atomic_uint_least64_t requests;
// Twice the number of requests still to succeed, plus one if all later ones fail; UINT64_MAX = off.
static atomic_uint_least64_t fail_state = UINT64_MAX;

bool hone_mul_size(size_t a, size_t b, size_t *result) {
    if (b != 0 && a > SIZE_MAX / b) return false;
    *result = a * b;
    return true;
}

bool hone_add_size(size_t a, size_t b, size_t *result) {
    if (a > SIZE_MAX - b) return false;
    *result = a + b;
    return true;
}

void hone_memory_fail_after(uint64_t after, bool all_later) {
    atomic_store(&fail_state, after > UINT64_MAX / 2 - 1 ? UINT64_MAX : 2 * after + (all_later ? 1 : 0));
}

// Counts one request against the hook; true if this is one that has to fail.
static bool must_fail(void) {
    uint64_t state = atomic_load_explicit(&fail_state, memory_order_relaxed);
    for (;;) {
        if (state == UINT64_MAX) return false;
        if (state == 1) return true;
        const uint64_t next = state == 0 ? UINT64_MAX : state - 2;
        if (atomic_compare_exchange_weak(&fail_state, &state, next)) return state == 0;
    }
}

static void count_block(size_t size) {
    const size_t now = atomic_fetch_add_explicit(&held_bytes, size, memory_order_relaxed) + size;
    size_t peak = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
    while (peak < now && !atomic_compare_exchange_weak_explicit(&peak_bytes, &peak, now, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
    atomic_fetch_add_explicit(&held_blocks, 1, memory_order_relaxed);
}

hone_memory_count hone_memory_counted(void) {
    return (hone_memory_count){
        .bytes = atomic_load(&held_bytes),
        .peak_bytes = atomic_load(&peak_bytes),
        .requests = atomic_load(&requests),
        .blocks = atomic_load(&held_blocks),
    };
}

// The caller's pointer, or NULL. Sets *base.
static char *take(size_t size, bool zero, void **base) {
    size_t total = 0;
    if (zero && size >= LAZY_BYTES) {
        if (!hone_add_size(size, 2 * ALIGNMENT - 1, &total)) return NULL;
        *base = calloc(1, total);
        if (!*base) return NULL;
        const uintptr_t address = (uintptr_t)*base;
        const size_t gap = (ALIGNMENT - address % ALIGNMENT) % ALIGNMENT;
        return (char *)*base + gap + ALIGNMENT;
    }
    if (!hone_add_size(size, ALIGNMENT, &total)) return NULL;
    if (posix_memalign(base, ALIGNMENT, total) != 0) return NULL;
    char *const bytes = (char *)*base + ALIGNMENT;
    if (zero) memset(bytes, 0, size);
    return bytes;
}

static hone_status allocate(size_t count, size_t size, bool zero, const char *what, void **out, hone_error *error) {
    // Callers pass T ** as void **; storing by memcpy keeps that within the aliasing rules.
    memset(out, 0, sizeof *out);
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    size_t bytes = 0;
    HONE_FAIL_IF(!hone_mul_size(count, size, &bytes), error, OUT_OF_MEMORY,
                 "out of memory: %s would need %zu times %zu bytes", what, count, size);
    void *base = NULL;
    char *const pointer = must_fail() ? NULL : take(bytes, zero, &base);
    HONE_FAIL_IF(!pointer, error, OUT_OF_MEMORY, "out of memory: no %zu bytes for %s", bytes, what);
    block_header *const header = (block_header *)(void *)(pointer - ALIGNMENT);
    *header = (block_header){.size = bytes, .base = base, .mark = MARK_LIVE};
    count_block(bytes);
    memcpy(out, &pointer, sizeof *out);
    return HONE_OK;
}

hone_status hone_allocate(size_t count, size_t size, const char *what, void **out, hone_error *error) {
    return allocate(count, size, true, what, out, error);
}

hone_status hone_allocate_raw(size_t count, size_t size, const char *what, void **out, hone_error *error) {
    return allocate(count, size, false, what, out, error);
}

void hone_free(void *pointer) {
    if (!pointer) return;
    block_header *const header = (block_header *)(void *)((char *)pointer - ALIGNMENT);
    assert(header->mark == MARK_LIVE && "hone_free: not from hone_allocate, or freed before");
    header->mark = MARK_FREED;
    atomic_fetch_sub_explicit(&held_bytes, header->size, memory_order_relaxed);
    atomic_fetch_sub_explicit(&held_blocks, 1, memory_order_relaxed);
    free(header->base);
}

hone_status hone_grow(void **items, size_t *capacity, size_t needed, size_t item_size, const char *what,
                      hone_error *error) {
    if (needed <= *capacity) return HONE_OK;
    size_t larger = *capacity < 8 ? 8 : *capacity;
    if (!hone_mul_size(larger, 2, &larger) || larger < needed) larger = needed;
    void *old = NULL;
    memcpy(&old, items, sizeof old); // as in allocate: the caller's pointer has another type
    void *grown = NULL;
    HONE_TRY(hone_allocate_raw(larger, item_size, what, &grown, error));
    const size_t kept = *capacity * item_size;
    if (kept > 0) memcpy(grown, old, kept);
    memset((char *)grown + kept, 0, larger * item_size - kept);
    hone_free(old);
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return HONE_OK;
}

hone_status hone_copy_string(const char *text, size_t length, char **out, hone_error *error) {
    size_t bytes = 0;
    HONE_FAIL_IF(!hone_add_size(length, 1, &bytes), error, OUT_OF_MEMORY, "out of memory: a string of %zu bytes",
                 length);
    HONE_TRY(hone_allocate_raw(bytes, 1, "a string", (void **)out, error));
    if (length > 0) memcpy(*out, text, length);
    (*out)[length] = 0;
    return HONE_OK;
}
