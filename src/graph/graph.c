// SPDX-License-Identifier: Apache-2.0
// Building graphs: values, nodes, the checks of each call.
#include "graph/internal.h"

#include <string.h>

hone_status hone_graph_create(hone_graph **out, hone_error *error) {
    *out = NULL;
    hone_graph *graph;
    HONE_TRY(HONE_NEW(&graph, "a graph", error));
    graph->arena.block_bytes = 64 * 1024;
    const hone_status status = HONE_GROW(&graph->values, &graph->value_capacity, 64, "graph values", error);
    if (status != HONE_OK) {
        hone_free(graph);
        return status;
    }
    static const hone_tensor_type none = {0};
    graph->values[0] = (hone_value_info){.type = &none, .node = HONE_NO_NODE};
    graph->value_count = 1;
    *out = graph;
    return HONE_OK;
}

hone_status hone_graph_reserve(hone_graph *graph, size_t nodes, size_t values, hone_error *error) {
    HONE_TRY(HONE_GROW(&graph->nodes, &graph->node_capacity, graph->node_count + nodes, "graph nodes", error));
    return HONE_GROW(&graph->values, &graph->value_capacity, graph->value_count + values, "graph values", error);
}

void hone_graph_destroy(hone_graph *graph) {
    if (!graph) return;
    hone_arena_clear(&graph->arena);
    hone_free(graph->types);
    hone_free(graph->values);
    hone_free(graph->nodes);
    hone_free(graph);
}

hone_status hone_graph_status(const hone_graph *graph, hone_error *error) {
    if (graph->failure.status != HONE_OK && error) *error = graph->failure;
    return graph->failure.status;
}

void hone_graph_fail(hone_graph *graph, const hone_error *error) {
    if (graph->failure.status == HONE_OK) graph->failure = *error;
}

static bool failed(const hone_graph *graph) {
    return graph->failure.status != HONE_OK;
}

// --- types: each stands in the graph once, for programs have many values of few types ------------------------------------

static size_t type_bucket(const hone_graph *graph, const hone_tensor_type *type) {
    uint64_t hash = (uint64_t)type->dtype * 31 + (uint64_t)type->rank;
    for (int d = 0; d < type->rank; d++) hash = (hash ^ (uint64_t)type->dims[d]) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 29) & (graph->type_room - 1);
}

// Where the type stands, or where it belongs.
static const hone_tensor_type **find_type(const hone_graph *graph, const hone_tensor_type *type) {
    size_t at = type_bucket(graph, type);
    while (graph->types[at] && !hone_type_equal(graph->types[at], type)) at = (at + 1) & (graph->type_room - 1);
    return &graph->types[at];
}

static hone_status grow_types(hone_graph *graph, hone_error *error) {
    const hone_tensor_type **const old = graph->types;
    const size_t room = graph->type_room;
    const hone_tensor_type **fresh;
    if (2 * (graph->type_count + 1) <= room) return HONE_OK;
    HONE_TRY(HONE_NEW_ARRAY(&fresh, room ? 2 * room : 16, "the types of a graph", error));
    graph->types = fresh;
    graph->type_room = room ? 2 * room : 16;
    for (size_t i = 0; i < room; i++) {
        if (old[i]) *find_type(graph, old[i]) = old[i];
    }
    hone_free(old);
    return HONE_OK;
}

static hone_status enter_type(hone_graph *graph, const hone_tensor_type *type, const hone_tensor_type **out,
                              hone_error *error) {
    HONE_TRY(grow_types(graph, error));
    const hone_tensor_type **const place = find_type(graph, type);
    if (!*place) {
        hone_tensor_type *copy;
        HONE_TRY(HONE_ARENA_ARRAY(&graph->arena, &copy, 1, error));
        *copy = *type;
        *place = copy;
        graph->type_count++;
    }
    *out = *place;
    return HONE_OK;
}

// --- values -----------------------------------------------------------------------------------------------------------

static hone_status add_value(hone_graph *graph, const hone_value_info *info, hone_value *out, hone_error *error) {
    HONE_TRY(HONE_GROW(&graph->values, &graph->value_capacity, graph->value_count + 1, "graph values", error));
    out->id = (uint32_t)graph->value_count;
    graph->values[graph->value_count++] = *info;
    return HONE_OK;
}

static hone_value add_outside(hone_graph *graph, const char *name, hone_tensor_type type, hone_storage storage,
                              hone_buffer *buffer, size_t offset) {
    hone_value value = {0};
    if (failed(graph)) return value;
    hone_error error = {0};
    hone_value_info info = {.storage = storage, .buffer = buffer, .offset = offset, .node = HONE_NO_NODE};
    if (hone_type_check(&type, name ? name : "a value", &error) != HONE_OK ||
        (name && hone_arena_string(&graph->arena, name, strlen(name), &info.name, &error) != HONE_OK) ||
        enter_type(graph, &type, &info.type, &error) != HONE_OK || add_value(graph, &info, &value, &error) != HONE_OK) {
        hone_graph_fail(graph, &error);
        return (hone_value){0};
    }
    return value;
}

hone_value hone_graph_constant(hone_graph *graph, const char *name, hone_tensor_type type, hone_buffer *buffer,
                               size_t offset) {
    return add_outside(graph, name, type, HONE_STORAGE_CONSTANT, buffer, offset);
}

hone_value hone_graph_state(hone_graph *graph, const char *name, hone_tensor_type type, hone_buffer *buffer,
                            size_t offset) {
    return add_outside(graph, name, type, HONE_STORAGE_STATE, buffer, offset);
}

void hone_graph_keep(hone_graph *graph, hone_value value) {
    graph->values[value.id].keep = true;
}

void hone_graph_checkpoint(hone_graph *graph, hone_value value) {
    graph->values[value.id].checkpoint = true;
}

int hone_graph_segment(hone_graph *graph, bool repeats) {
    if (graph->segment + 1 >= HONE_MAX_SEGMENTS) {
        hone_error error;
        hone_error_set(&error, HONE_INVALID_ARGUMENT, "a graph has at most %d segments", HONE_MAX_SEGMENTS);
        hone_graph_fail(graph, &error);
        return graph->segment;
    }
    if (graph->node_count > 0) graph->segment++; // a graph may begin with an announced segment
    if (repeats) graph->repeating_segments |= (uint64_t)1 << graph->segment;
    return graph->segment;
}

void hone_graph_label(hone_graph *graph, const char *label) {
    graph->label = NULL;
    hone_error error;
    if (label && !failed(graph) &&
        hone_arena_string(&graph->arena, label, strlen(label), &graph->label, &error) != HONE_OK)
        hone_graph_fail(graph, &error);
}

// --- operands ----------------------------------------------------------------------------------------------------

static void fill_operand(const hone_argument *argument, hone_schema_type type, hone_operand *out) {
    *out = (hone_operand){.kind = argument->kind, .integer = argument->integer, .real = argument->real};
    switch (argument->kind) {
    case HONE_ARGUMENT_INTEGER:
    case HONE_ARGUMENT_BOOLEAN:
        out->real = (double)argument->integer;
        if (type == HONE_SCHEMA_REAL) out->kind = HONE_ARGUMENT_REAL;
        break;
    case HONE_ARGUMENT_REAL:
        out->integer = hone_whole(argument->real);
        break;
    case HONE_ARGUMENT_INTEGERS:
        out->integers = argument->integers;
        out->count = argument->count;
        break;
    case HONE_ARGUMENT_STRING:
        out->string = argument->string;
        break;
    case HONE_ARGUMENT_LIVE:
        out->live = true;
        out->kind = type == HONE_SCHEMA_INTEGER ? HONE_ARGUMENT_INTEGER : HONE_ARGUMENT_REAL;
        out->integer = 0;
        out->real = 0;
        break;
    default:
        break;
    }
}

void hone_node_operands(const hone_node *node, const hone_operand_sources *sources, hone_operand *operands,
                        hone_tensor *tensors) {
    size_t input = 0;
    for (size_t i = 0; i < node->schema->argument_count; i++) {
        const hone_argument *const argument = &node->arguments[i];
        const hone_schema_type type = node->schema->arguments[i].type;
        fill_operand(argument, type, &operands[i]);
        if (type != HONE_SCHEMA_TENSOR && type != HONE_SCHEMA_TENSORS) continue;
        const size_t count = type == HONE_SCHEMA_TENSOR ? 1 : argument->count;
        operands[i].count = argument->kind == HONE_ARGUMENT_NONE ? 0 : count;
        operands[i].tensors = operands[i].count ? &tensors[input] : NULL;
        for (size_t j = 0; j < count; j++, input++) {
            if (node->inputs[input].id) tensors[input] = sources->tensor(sources->context, node->inputs[input]);
        }
    }
}

// --- calls ---------------------------------------------------------------------------------------------------------

static const char *kind_name(hone_argument_kind kind) {
    static const char *const names[] = {"nothing",       "a tensor",      "a list of tensors",       "a whole number",
                                        "a real number", "a truth value", "a list of whole numbers", "a string",
                                        "a live number"};
    return names[kind];
}

static bool kind_fits(hone_argument_kind kind, const hone_schema_argument *wanted) {
    switch ((hone_schema_type)wanted->type) {
    case HONE_SCHEMA_TENSOR:
        return kind == HONE_ARGUMENT_TENSOR;
    case HONE_SCHEMA_TENSORS:
        return kind == HONE_ARGUMENT_TENSORS;
    case HONE_SCHEMA_INTEGER:
        return kind == HONE_ARGUMENT_INTEGER || kind == HONE_ARGUMENT_LIVE;
    case HONE_SCHEMA_REAL:
    case HONE_SCHEMA_SCALAR:
        return kind == HONE_ARGUMENT_REAL || kind == HONE_ARGUMENT_INTEGER || kind == HONE_ARGUMENT_BOOLEAN ||
               kind == HONE_ARGUMENT_LIVE;
    case HONE_SCHEMA_BOOLEAN:
        return kind == HONE_ARGUMENT_BOOLEAN || kind == HONE_ARGUMENT_INTEGER;
    case HONE_SCHEMA_INTEGERS:
        return kind == HONE_ARGUMENT_INTEGERS;
    case HONE_SCHEMA_STRING:
        return kind == HONE_ARGUMENT_STRING;
    }
    return false;
}

static hone_status default_argument(hone_graph *graph, const hone_schema_argument *wanted, hone_argument *out,
                                    hone_error *error) {
    *out = (hone_argument){.kind = wanted->default_kind};
    if (out->kind == HONE_ARGUMENT_INTEGER || out->kind == HONE_ARGUMENT_BOOLEAN) {
        out->integer = (int64_t)wanted->default_number;
    } else if (out->kind == HONE_ARGUMENT_REAL) {
        out->real = wanted->default_number;
    } else if (out->kind == HONE_ARGUMENT_STRING) {
        return hone_arena_string(&graph->arena, wanted->default_text, wanted->default_length, &out->string, error);
    }
    return HONE_OK;
}

// Copies what the argument points to into the graph, or takes the default.
static hone_status copy_argument(hone_graph *graph, const hone_schema *schema, size_t index, const hone_argument *given,
                                 hone_argument *out, hone_error *error) {
    const hone_schema_argument *const wanted = &schema->arguments[index];
    if (given->kind == HONE_ARGUMENT_NONE) {
        HONE_FAIL_IF(!wanted->has_default, error, INVALID_ARGUMENT, "%.*s: argument '%.*s' is missing",
                     (int)schema->name_length, schema->op->schema, wanted->name_length, wanted->name);
        return default_argument(graph, wanted, out, error);
    }
    HONE_FAIL_IF(!kind_fits(given->kind, wanted), error, INVALID_ARGUMENT, "%.*s: argument '%.*s' cannot be %s",
                 (int)schema->name_length, schema->op->schema, wanted->name_length, wanted->name,
                 kind_name(given->kind));
    *out = *given;
    if (given->kind == HONE_ARGUMENT_INTEGERS) {
        int64_t *copy;
        HONE_TRY(HONE_ARENA_ARRAY(&graph->arena, &copy, given->count, error));
        if (given->count) memcpy(copy, given->integers, given->count * sizeof(*copy));
        out->integers = copy;
    } else if (given->kind == HONE_ARGUMENT_TENSORS) {
        hone_value *copy;
        HONE_TRY(HONE_ARENA_ARRAY(&graph->arena, &copy, given->count, error));
        if (given->count) memcpy(copy, given->values, given->count * sizeof(*copy));
        out->values = copy;
    } else if (given->kind == HONE_ARGUMENT_STRING) {
        HONE_TRY(hone_arena_string(&graph->arena, given->string, strlen(given->string), &out->string, error));
    }
    return HONE_OK;
}

static hone_status check_value(const hone_graph *graph, const hone_schema *schema, size_t argument, hone_value value,
                               hone_error *error) {
    const hone_schema_argument *const wanted = &schema->arguments[argument];
    HONE_FAIL_IF(value.id == 0 || value.id >= graph->value_count, error, INVALID_ARGUMENT,
                 "%.*s: argument '%.*s' is not a value of this graph", (int)schema->name_length, schema->op->schema,
                 wanted->name_length, wanted->name);
    HONE_FAIL_IF(wanted->mutated && graph->values[value.id].storage != HONE_STORAGE_STATE, error, INVALID_ARGUMENT,
                 "%.*s: argument '%.*s' is mutated, so it must be state", (int)schema->name_length, schema->op->schema,
                 wanted->name_length, wanted->name);
    return HONE_OK;
}

// The node's inputs, and room for its outputs.
static hone_status collect_inputs(hone_graph *graph, hone_node *node, hone_value **outputs, hone_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < node->schema->argument_count; i++) {
        const hone_schema_type type = node->schema->arguments[i].type;
        if (type == HONE_SCHEMA_TENSOR) count++;
        if (type == HONE_SCHEMA_TENSORS) count += node->arguments[i].count;
    }
    hone_value *inputs; // the outputs stand behind them
    HONE_TRY(HONE_ARENA_ARRAY(&graph->arena, &inputs, count + node->output_count, error));
    size_t at = 0;
    for (size_t i = 0; i < node->schema->argument_count; i++) {
        const hone_argument *const argument = &node->arguments[i];
        if (argument->kind == HONE_ARGUMENT_TENSOR) {
            HONE_TRY(check_value(graph, node->schema, i, argument->value, error));
            inputs[at++] = argument->value;
        } else if (argument->kind == HONE_ARGUMENT_TENSORS) {
            for (size_t j = 0; j < argument->count; j++) {
                HONE_TRY(check_value(graph, node->schema, i, argument->values[j], error));
                inputs[at++] = argument->values[j];
            }
        } else if (node->schema->arguments[i].type == HONE_SCHEMA_TENSOR) {
            at++; // absent
        }
    }
    node->inputs = inputs;
    node->outputs = *outputs = inputs + count;
    node->input_count = (uint32_t)count;
    return HONE_OK;
}

static hone_tensor type_only(const void *context, hone_value value) {
    const hone_graph *const graph = context;
    return (hone_tensor){.type = *graph->values[value.id].type};
}

// Runs the shape rule: types of the outputs.
static hone_status infer_types(const hone_graph *graph, const hone_node *node, hone_tensor *tensors,
                               hone_tensor *results, hone_error *error) {
    hone_operand operands[HONE_SCHEMA_ARGUMENTS];
    hone_node_operands(node, &(hone_operand_sources){type_only, graph}, operands, tensors);
    const hone_op_call call = {.op = node->schema->op,
                               .operands = operands,
                               .operand_count = node->schema->argument_count,
                               .outputs = results,
                               .output_count = node->output_count};
    HONE_TRY(node->schema->op->infer(&call, error));
    for (size_t i = 0; i < node->output_count; i++) HONE_TRY(hone_type_check(&results[i].type, "an output", error));
    return HONE_OK;
}

// Adds the output values. What the shape rule works on is gone afterwards: most calls have few operands.
static hone_status infer_outputs(hone_graph *graph, const hone_node *node, hone_value *outputs, hone_error *error) {
    enum { FEW = 8 };
    hone_tensor few[FEW] = {0};
    hone_tensor *tensors = few;
    const size_t count = (size_t)node->input_count + node->output_count;
    if (count > FEW) HONE_TRY(HONE_NEW_ARRAY(&tensors, count, "the operands of a call", error));
    const hone_tensor *const results = tensors + node->input_count;
    hone_status status = infer_types(graph, node, tensors, tensors + node->input_count, error);
    for (size_t i = 0; i < node->output_count && status == HONE_OK; i++) {
        hone_value_info info = {.node = (uint32_t)graph->node_count};
        status = enter_type(graph, &results[i].type, &info.type, error);
        if (status == HONE_OK) status = add_value(graph, &info, &outputs[i], error);
    }
    if (count > FEW) hone_free(tensors);
    return status;
}

static hone_status add_call(hone_graph *graph, const char *op, const hone_argument *given, size_t given_count,
                            size_t wanted_outputs, hone_node **out, hone_error *error) {
    const hone_schema *const schema = hone_schema_find(op);
    HONE_FAIL_IF(!schema, error, NOT_FOUND, "there is no operator '%s'", op);
    HONE_FAIL_IF(given_count > schema->argument_count, error, INVALID_ARGUMENT, "%s takes %zu arguments, not %zu", op,
                 schema->argument_count, given_count);
    hone_argument *arguments;
    HONE_TRY(HONE_ARENA_ARRAY(&graph->arena, &arguments, schema->argument_count, error));
    static const hone_argument none = {.kind = HONE_ARGUMENT_NONE};
    for (size_t i = 0; i < schema->argument_count; i++) {
        HONE_TRY(copy_argument(graph, schema, i, i < given_count ? &given[i] : &none, &arguments[i], error));
    }
    const size_t outputs = schema->output_list ? wanted_outputs : schema->output_count;
    HONE_FAIL_IF(wanted_outputs > outputs, error, INVALID_ARGUMENT, "%s has %zu outputs, not %zu", op, outputs,
                 wanted_outputs);
    hone_node node = {.schema = schema,
                      .arguments = arguments,
                      .output_count = (uint32_t)outputs,
                      .segment = graph->segment,
                      .label = graph->label};
    hone_value *made;
    HONE_TRY(collect_inputs(graph, &node, &made, error));
    HONE_TRY(HONE_GROW(&graph->nodes, &graph->node_capacity, graph->node_count + 1, "graph nodes", error));
    HONE_TRY(infer_outputs(graph, &node, made, error));
    graph->nodes[graph->node_count] = node;
    *out = &graph->nodes[graph->node_count++];
    return HONE_OK;
}

hone_value hone_graph_call(hone_graph *graph, const char *op, const hone_argument *arguments, size_t argument_count,
                           hone_value *outputs, size_t output_count) {
    for (size_t i = 0; i < output_count; i++) outputs[i] = (hone_value){0};
    if (failed(graph)) return (hone_value){0};
    hone_error error = {0};
    hone_node *node = NULL;
    if (add_call(graph, op, arguments, argument_count, output_count, &node, &error) != HONE_OK) {
        if (graph->label) hone_error_prefix(&error, "%s", graph->label);
        hone_graph_fail(graph, &error);
        return (hone_value){0};
    }
    for (size_t i = 0; i < output_count; i++) outputs[i] = node->outputs[i];
    return node->output_count ? node->outputs[0] : (hone_value){0};
}

// --- look ------------------------------------------------------------------------------------------------------------

const hone_tensor_type *hone_graph_type(const hone_graph *graph, hone_value value) {
    return graph->values[value.id < graph->value_count ? value.id : 0].type;
}
size_t hone_graph_node_count(const hone_graph *graph) {
    return graph->node_count;
}
const hone_node *hone_graph_node(const hone_graph *graph, size_t index) {
    return &graph->nodes[index];
}
const hone_op *hone_node_op(const hone_node *node) {
    return node->schema->op;
}
const hone_argument *hone_node_argument(const hone_node *node, size_t index) {
    return &node->arguments[index];
}
size_t hone_node_input_count(const hone_node *node) {
    return node->input_count;
}
hone_value hone_node_input(const hone_node *node, size_t index) {
    return node->inputs[index];
}
size_t hone_node_output_count(const hone_node *node) {
    return node->output_count;
}
hone_value hone_node_output(const hone_node *node, size_t index) {
    return node->outputs[index];
}
