// SPDX-License-Identifier: Apache-2.0
// What a graph is made of, for the files of this folder and for devices.
#ifndef HONE_GRAPH_INTERNAL_H
#define HONE_GRAPH_INTERNAL_H

#include <hone/graph.h>

#include "base/arena.h"
#include "graph/schema.h"

#define HONE_NO_NODE UINT32_MAX

typedef enum hone_storage {
    HONE_STORAGE_TEMPORARY, // made by a node, lives in the arena
    HONE_STORAGE_CONSTANT,  // in a buffer, never written by the graph
    HONE_STORAGE_STATE      // in a buffer, written by nodes or the host
} hone_storage;

typedef struct hone_value_info {
    const hone_tensor_type *type; // one for all values of that type
    const char *name;             // constants and state; NULL otherwise
    hone_buffer *buffer;          // constants and state; NULL while only shapes are planned
    size_t offset;
    hone_storage storage;
    uint32_t node; // that makes it; HONE_NO_NODE for constants and state
    bool keep;
    bool checkpoint;
} hone_value_info;

struct hone_node {
    const hone_schema *schema;
    const hone_argument *arguments; // [schema->argument_count], defaults filled in; owned by the arena
    const hone_value *inputs;       // [input_count] tensor arguments, flattened
    const hone_value *outputs;      // [output_count]
    uint32_t input_count;
    uint32_t output_count;
    int segment;
    const char *label; // may be NULL
};

struct hone_graph {
    hone_arena arena;
    const hone_tensor_type **types; // [type_room] a hash of the types that there are; NULL where none is
    size_t type_count, type_room;   // the room is a power of two, at most half of it taken
    hone_value_info *values;        // values[0] is "no value"
    size_t value_count, value_capacity;
    hone_node *nodes;
    size_t node_count, node_capacity;
    uint64_t repeating_segments; // bit s: segment s repeats
    int segment;
    const char *label;
    hone_error failure; // the first one; status HONE_OK while there is none
};

#define HONE_MAX_SEGMENTS 64

// The tensors of a node's operands, resolved for a shape rule or a CPU function.
typedef struct hone_operand_sources {
    // The tensor of value `v`, type and bytes; called once for each tensor input.
    hone_tensor (*tensor)(const void *context, hone_value v);
    const void *context;
} hone_operand_sources;

// The whole number nearest to zero from x; the ends of int64 where x lies beyond them, 0 for NaN.
static inline int64_t hone_whole(double x) {
    if (x != x) return 0;
    return x >= 9223372036854775808.0 ? INT64_MAX : x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

// Room for so many more nodes and values, exactly: a graph whose size is known beforehand then holds no more than it needs.
HONE_MUST_USE hone_status hone_graph_reserve(hone_graph *graph, size_t nodes, size_t values, hone_error *error);

// Fills operands[argument_count] and tensors[input_count] (which the operands point into).
void hone_node_operands(const hone_node *node, const hone_operand_sources *sources, hone_operand *operands,
                        hone_tensor *tensors);

#endif
