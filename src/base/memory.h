// SPDX-License-Identifier: Apache-2.0
// The one gate for heap memory: checked sizes, counted bytes, and a hook that makes the n-th request fail.
#ifndef HONE_BASE_MEMORY_H
#define HONE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// a * b or a + b into *result; false on overflow, *result then untouched.
bool hone_mul_size(size_t a, size_t b, size_t *result);
bool hone_add_size(size_t a, size_t b, size_t *result);

// `count * size` zeroed bytes, aligned to 64. `what` names the purpose in the error text ("the tensor
// table"). Zero bytes give a valid pointer that must be freed too. Free with hone_free.
HONE_MUST_USE hone_status hone_allocate(size_t count, size_t size, const char *what, void **out, hone_error *error);

// As hone_allocate, without zeroing: for large buffers that are about to be written.
HONE_MUST_USE hone_status hone_allocate_raw(size_t count, size_t size, const char *what, void **out, hone_error *error);

// HONE_NEW(&pointer, "the tokenizer", error): one zeroed object; HONE_NEW_ARRAY likewise for several.
#define HONE_NEW(out, what, error)              hone_allocate(1, sizeof(**(out)), (what), (void **)(out), (error))
#define HONE_NEW_ARRAY(out, count, what, error) hone_allocate((count), sizeof(**(out)), (what), (void **)(out), (error))

// Grows *items (of `item_size`) so that it holds at least `needed`; doubles, keeps the contents, updates
// *capacity. On failure *items and *capacity are as before.
HONE_MUST_USE hone_status hone_grow(void **items, size_t *capacity, size_t needed, size_t item_size, const char *what,
                                    hone_error *error);
#define HONE_GROW(items, capacity, needed, what, error)                                                                \
    hone_grow((void **)(items), (capacity), (needed), sizeof(**(items)), (what), (error))

// Frees what hone_allocate gave; NULL is allowed.
void hone_free(void *pointer);

// A copy of `length` bytes plus a NUL.
HONE_MUST_USE hone_status hone_copy_string(const char *text, size_t length, char **out, hone_error *error);

// Bytes now held through this gate, the most ever held, and requests made. Tests compare them before and
// after.
typedef struct hone_memory_count {
    size_t bytes;
    size_t peak_bytes;
    uint64_t requests;
    size_t blocks;
} hone_memory_count;
hone_memory_count hone_memory_counted(void);

// For tests: the request after `after` more successful ones fails (as does every later one if `all_later`).
// UINT64_MAX switches it off.
void hone_memory_fail_after(uint64_t after, bool all_later);

#endif
