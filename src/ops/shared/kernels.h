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

#endif
