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

// Elementwise work on tensors larger than what a device binds at a time, or that lie across two pieces of its memory, is
// done in parts:
// for (int64_t first = 0, n; first < count; first += n) { n = hone_kernel_part(list, call, first, count); .. }
// n counts elements that every tensor of the call with `count` of them can bind.
#define HONE_KERNEL_PART ((int64_t)1 << 24) // elements at most, of 8 bytes: 128 MiB
int64_t hone_kernel_part(const hone_kernel_list *list, const hone_op_call *call, int64_t first, int64_t count);
// Elements `first` to first + count of a tensor as the next binding; first * bytes of an element is a multiple of
// HONE_BUFFER_ALIGNMENT.
void hone_kernel_bind_elements(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor,
                               int64_t first, int64_t count);

#endif
