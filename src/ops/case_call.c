// SPDX-License-Identifier: Apache-2.0
// A case as a call in a graph.
#include <stdio.h>

#include "graph/schema.h"
#include "ops/case.h"

hone_status hone_case_mutated(const hone_case *drawn, bool *mutated, hone_error *error) {
    const hone_schema *const schema = hone_schema_find(drawn->op);
    HONE_FAIL_IF(!schema, error, NOT_FOUND, "there is no operator '%s'", drawn->op);
    HONE_FAIL_IF(drawn->argument_count > schema->argument_count, error, INVALID_ARGUMENT,
                 "the case gives %zu arguments, the schema has %zu", drawn->argument_count, schema->argument_count);
    for (size_t i = 0; i < drawn->input_count; i++) mutated[i] = false;
    for (size_t i = 0; i < drawn->argument_count; i++) {
        const hone_argument *const argument = &drawn->arguments[i];
        const size_t count = argument->kind == HONE_ARGUMENT_TENSOR    ? 1
                             : argument->kind == HONE_ARGUMENT_TENSORS ? argument->count
                                                                       : 0;
        const hone_value *const values = argument->kind == HONE_ARGUMENT_TENSOR ? &argument->value : argument->values;
        for (size_t j = 0; j < count; j++) {
            HONE_FAIL_IF(values[j].id == 0 || values[j].id > drawn->input_count, error, INVALID_ARGUMENT,
                         "argument %zu of the case names input %d of %zu", i, (int)values[j].id - 1,
                         drawn->input_count);
            if (schema->arguments[i].mutated) mutated[values[j].id - 1] = true;
        }
    }
    return HONE_OK;
}

hone_status hone_case_emit(hone_graph *graph, const hone_case *drawn, const hone_case_buffers *buffers,
                           hone_value *values, hone_error *error) {
    bool mutated[HONE_CASE_INPUTS];
    HONE_TRY(hone_case_mutated(drawn, mutated, error));
    for (size_t i = 0; i < drawn->input_count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "input%zu", i);
        hone_buffer *const buffer = buffers ? buffers->buffers[i] : NULL;
        const size_t offset = buffers ? buffers->offset : 0;
        const hone_tensor_type *const type = &drawn->inputs[i].type;
        // What can be differentiated or written is state; codes and indices are constants.
        values[i] = mutated[i] || hone_case_is_float(type->dtype)
                        ? hone_graph_state(graph, name, *type, buffer, offset)
                        : hone_graph_constant(graph, name, *type, buffer, offset);
    }
    hone_argument arguments[HONE_CASE_ARGUMENTS];
    hone_value lists[HONE_CASE_INPUTS];
    size_t listed = 0;
    int64_t live = 0;
    for (size_t i = 0; i < drawn->argument_count; i++) {
        arguments[i] = drawn->arguments[i];
        if (arguments[i].kind == HONE_ARGUMENT_TENSOR) arguments[i].value = values[arguments[i].value.id - 1];
        if (arguments[i].kind == HONE_ARGUMENT_LIVE) arguments[i].integer = live++;
        if (arguments[i].kind != HONE_ARGUMENT_TENSORS) continue;
        HONE_FAIL_IF(listed + arguments[i].count > HONE_CASE_INPUTS, error, INVALID_ARGUMENT,
                     "the case lists more than %d tensors", HONE_CASE_INPUTS);
        for (size_t j = 0; j < arguments[i].count; j++) lists[listed + j] = values[arguments[i].values[j].id - 1];
        arguments[i].values = &lists[listed];
        listed += arguments[i].count;
    }
    hone_value outputs[HONE_CASE_OUTPUTS];
    hone_graph_call(graph, drawn->op, arguments, drawn->argument_count, outputs, drawn->list_outputs);
    return hone_graph_status(graph, error);
}

static hone_status try_output_types(const hone_case *drawn, hone_tensor_type *types, size_t *count, hone_error *error) {
    hone_graph *graph;
    hone_value values[HONE_CASE_INPUTS];
    HONE_TRY(hone_graph_create(&graph, error));
    const hone_status status = hone_case_emit(graph, drawn, NULL, values, error);
    if (status == HONE_OK) {
        const hone_node *const node = hone_graph_node(graph, hone_graph_node_count(graph) - 1);
        *count = hone_node_output_count(node);
        for (size_t i = 0; i < *count; i++) types[i] = *hone_graph_type(graph, hone_node_output(node, i));
    }
    hone_graph_destroy(graph);
    return status;
}

hone_status hone_case_output_types(hone_case *drawn, hone_tensor_type *types, size_t *count, hone_error *error) {
    const hone_schema *const schema = hone_schema_find(drawn->op);
    HONE_FAIL_IF(!schema, error, NOT_FOUND, "there is no operator '%s'", drawn->op);
    drawn->list_outputs = 0;
    if (!schema->output_list) return try_output_types(drawn, types, count, error);
    // An operator that gives a list refuses every length but the right one.
    hone_status status = HONE_OK;
    for (drawn->list_outputs = 1; drawn->list_outputs <= HONE_CASE_OUTPUTS; drawn->list_outputs++) {
        status = try_output_types(drawn, types, count, error);
        if (status == HONE_OK) return HONE_OK;
    }
    return status;
}

size_t hone_case_live(const hone_case *drawn, double *live) {
    size_t count = 0;
    for (size_t i = 0; i < drawn->argument_count; i++) {
        if (drawn->arguments[i].kind == HONE_ARGUMENT_LIVE) live[count++] = drawn->arguments[i].real;
    }
    return count;
}
