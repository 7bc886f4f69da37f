// SPDX-License-Identifier: Apache-2.0
// A plan as devices read it: steps in order, and the place of every value.
#ifndef HONE_GRAPH_PLAN_H
#define HONE_GRAPH_PLAN_H

#include "graph/internal.h"

// A value of the plan: one of the graph, or the copy that a recomputed node makes.
typedef struct hone_plan_value {
    hone_tensor_type type;
    hone_buffer *buffer; // constants and state
    size_t offset;       // constants and state: in buffer; temporaries: in the arena
    size_t bytes;
    hone_storage storage;
    uint32_t root;        // the value whose bytes these are (itself, unless a view or written in place)
    uint32_t first, last; // steps in which a root lives
    uint32_t origin;      // the graph's value
    bool keep;
    bool mutated; // state that a step writes
} hone_plan_value;

typedef struct hone_plan_step {
    hone_node node; // its inputs and outputs name plan values, not graph values
    bool recomputed;
    bool alias; // a view: nothing to run
} hone_plan_step;

struct hone_plan {
    const hone_graph *graph;
    hone_arena arena;
    hone_plan_value *values; // [0] is "no value"
    size_t value_count, value_capacity;
    hone_plan_step *steps;
    size_t step_count, step_capacity;
    uint32_t segment_first[HONE_MAX_SEGMENTS + 1]; // steps of segment s: [segment_first[s], segment_first[s + 1])
    int segment_count;
    uint32_t *of_graph; // [graph values] plan value of the forward pass; 0 if not in the plan
    hone_plan_bytes bytes;
};

// Room for the operands of a call, enough for any step of a plan.
typedef struct hone_call_room {
    hone_operand *operands;
    hone_tensor *tensors, *outputs;
} hone_call_room;
// After a failure what there is of it is there to be freed.
HONE_MUST_USE hone_status hone_call_room_make(const hone_plan *plan, const char *what, hone_call_room *out,
                                              hone_error *error);
void hone_call_room_free(hone_call_room *room);

// Lays out the temporaries: sets offset of every root, and bytes.temporaries and lower_bound. Offsets are multiples of
// HONE_BUFFER_ALIGNMENT. With `piece` > 0, no temporary lies across a multiple of it, and a larger one is refused.
HONE_MUST_USE hone_status hone_plan_place(hone_plan *plan, size_t piece, hone_error *error);

#endif
