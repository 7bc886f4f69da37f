// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family, and the forward pass as its operators share it.
#ifndef HONE_OPS_SDPA_ATTENTION_KERNELS_H
#define HONE_OPS_SDPA_ATTENTION_KERNELS_H

#include "ops/sdpa/attention.h"
#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(attention)
HONE_DECLARE_KERNEL(attention_backward)
HONE_DECLARE_KERNEL(cache_write)
HONE_DECLARE_KERNEL(update_cache)
HONE_DECLARE_KERNEL(cached_attention)
HONE_DECLARE_KERNEL(masked_attention)

// What the operand beside q, k and v is.
enum { HONE_PLACES_NONE, HONE_PLACES_ROW_START, HONE_PLACES_MASK };

// What sdpa.slang reads from its words, in their order.
typedef struct hone_attention_sizes {
    int64_t queries, keys, features, values, heads, sharing, tiles, offset, window;
    float scale;
    int64_t q_row, q_head, k_row, k_head, v_row, v_head, out_row, out_head;
    int64_t kind; // HONE_PLACES_*
    int64_t with_lse, joined;
    int64_t mask_query, mask_key, mask_rank; // steps; leading dimensions
    int64_t mask_dims[HONE_MAX_RANK], mask_steps[HONE_MAX_RANK];
    int64_t split, splits; // columns that a group goes over; groups that share them
    int64_t in_place, d_v; // the first columns' parts lie in the output; where parts of d_v begin behind those of d_k
} hone_attention_sizes;

hone_attention_sizes hone_attention_sizes_of(const hone_attention *a);
// q, k, v -> out; places is row_start, a mask or NULL, lse may be NULL.
void hone_attention_forward(hone_kernel_list *list, const hone_attention_sizes *sizes, const hone_tensor *const qkv[3],
                            const hone_tensor *places, const hone_tensor *out, const hone_tensor *lse);

// Row `start` and on of `cache`, which has `size` rows, become the `count` rows; those beyond it are dropped and flagged.
void hone_cache_write_kernel(hone_kernel_list *list, const hone_tensor *cache, int64_t size, const hone_tensor *rows,
                             int64_t count, int64_t start);
// Flags an index that is out of range, if `raised`.
void hone_cache_flag_kernel(hone_kernel_list *list, bool raised);

#endif
