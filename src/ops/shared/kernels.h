// SPDX-License-Identifier: Apache-2.0
// What the families' kernel rules share.
#ifndef HONE_OPS_SHARED_KERNELS_H
#define HONE_OPS_SHARED_KERNELS_H

#include "ops/kernel.h"
#include "ops/op.h"
#include "ops/shared/broadcast.h"

#define HONE_KERNEL_THREADS 256 // in a group of an elementwise kernel

// The words that broadcast.slang reads: count, rank, dims, strides of three inputs. They are the dispatch's first.
void hone_kernel_broadcast(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_broadcast *broadcast);

// Elementwise work on tensors larger than the least that devices bind at a time is done in parts:
// for (int64_t first = 0; first < count; first += HONE_KERNEL_PART) { n = hone_kernel_part(first, count); .. }
#define HONE_KERNEL_PART ((int64_t)1 << 24) // elements, of 8 bytes at most: 128 MiB
static inline int64_t hone_kernel_part(int64_t first, int64_t count) {
    return count - first < HONE_KERNEL_PART ? count - first : HONE_KERNEL_PART;
}
// Elements `first` to first + count of a tensor as the next binding; first * bytes of an element is a multiple of
// HONE_BUFFER_ALIGNMENT.
void hone_kernel_bind_elements(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor,
                               int64_t first, int64_t count);

#endif
