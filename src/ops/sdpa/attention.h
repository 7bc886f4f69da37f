// SPDX-License-Identifier: Apache-2.0
// What the forward and backward passes of attention share: its shape, what a query may see, tiles.
#ifndef HONE_OPS_SDPA_ATTENTION_H
#define HONE_OPS_SDPA_ATTENTION_H

#include "ops/op.h"
#include "ops/shared/vector.h"

extern const hone_op hone_op_attention;
extern const hone_op hone_op_attention_backward;
extern const hone_op hone_op_cache_write;

typedef struct hone_attention {
    const float *q, *k, *v;   // [queries, q_columns], [keys, k_columns] twice
    const int32_t *row_start; // [queries]
    int64_t queries, keys;
    int64_t q_columns, k_columns, head; // heads * head, kv_heads * head, features of a head
    int64_t heads, kv_heads, group;     // group = heads / kv_heads
    int64_t offset, window;
    float scale;
} hone_attention;

// Operands q, k, v from `first` on, row_start at `row_start`, then heads, kv_heads and scale.
hone_status hone_attention_check(const hone_op_call *call, size_t first, size_t row_start, hone_error *error);
hone_attention hone_attention_of(const hone_op_call *call, size_t first, size_t row_start);

// The keys that query t sees: [*first, *end), empty when *first >= *end.
static inline void hone_attention_range(const hone_attention *a, int64_t t, int64_t *first, int64_t *end) {
    const int64_t position = a->offset + t;
    int64_t low = a->row_start[t] > 0 ? a->row_start[t] : 0;
    if (a->window > 0 && low < position - a->window + 1) low = position - a->window + 1;
    *first = low;
    *end = position + 1 < a->keys ? position + 1 : a->keys;
}

// Shrinks the block of queries [*t0, *t1) and keys [*k0, *k1) to the rows and columns in which something is
// seen; false if nothing is.
bool hone_attention_trim(const hone_attention *a, int64_t *t0, int64_t *t1, int64_t *k0, int64_t *k1);

// Rows of tiles are padded to whole lanes, so that no exponential is taken one by one.
enum { HONE_ATTENTION_LANES = 16 };

// Puts -infinity beside the seen part [a, b) of a row, out to whole lanes, and returns that wider range.
HONE_INLINE void hone_attention_mask(float *row, int64_t *a, int64_t *b) {
    const int64_t low = *a / HONE_ATTENTION_LANES * HONE_ATTENTION_LANES;
    const int64_t high = (*b + HONE_ATTENTION_LANES - 1) / HONE_ATTENTION_LANES * HONE_ATTENTION_LANES;
    for (int64_t j = low; j < *a; j++) row[j] = -__builtin_inff();
    for (int64_t j = *b; j < high; j++) row[j] = -__builtin_inff();
    *a = low;
    *b = high;
}

#endif
