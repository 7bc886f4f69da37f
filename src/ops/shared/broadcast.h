// SPDX-License-Identifier: Apache-2.0
// Elementwise work over operands of broadcast shapes, handed out as runs of the innermost dimension.
#ifndef HONE_OPS_SHARED_BROADCAST_H
#define HONE_OPS_SHARED_BROADCAST_H

#include <hone/op.h>

#define HONE_BROADCAST_INPUTS 3

// How output elements map to elements of the inputs; neighbouring dimensions that all inputs treat alike are
// merged.
typedef struct hone_broadcast {
    int inputs, rank;
    int64_t count; // output elements
    int64_t dims[HONE_MAX_RANK];
    int64_t strides[HONE_BROADCAST_INPUTS][HONE_MAX_RANK]; // in elements; 0 where the input repeats
} hone_broadcast;

// One run: `count` outputs from element `out`; input i starts at element at[i] and moves by step[i], 0 or 1.
typedef void hone_broadcast_run(void *context, int64_t out, const int64_t *at, const int64_t *step, int64_t count);

void hone_broadcast_make(hone_broadcast *b, const hone_tensor_type *out, const hone_tensor_type *const *inputs,
                         int count);
// All runs of all output elements, in parallel blocks.
void hone_broadcast_each(const hone_op_call *call, const hone_broadcast *b, hone_broadcast_run *run, void *context);

// Gradient rules: `gradient` summed over the dimensions in which `input` was repeated, in input's shape.
hone_value hone_broadcast_gradient(hone_graph *graph, hone_value gradient, hone_value input);

#endif
