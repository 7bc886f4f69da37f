// SPDX-License-Identifier: Apache-2.0
// Graphs as text, one node a line, for people and for golden tests.
#include "base/text.h"
#include "graph/internal.h"

static void print_value(const hone_graph *graph, hone_value value, hone_text *text) {
    const hone_value_info *const info = &graph->values[value.id];
    if (value.id == 0) {
        hone_text_print(text, "None");
    } else if (info->name) {
        hone_text_print(text, "@%s", info->name);
    } else {
        hone_text_print(text, "%%%u", value.id);
    }
}

static void print_argument(const hone_graph *graph, const hone_argument *argument, hone_text *text) {
    switch (argument->kind) {
    case HONE_ARGUMENT_NONE:
        hone_text_print(text, "None");
        break;
    case HONE_ARGUMENT_TENSOR:
        print_value(graph, argument->value, text);
        break;
    case HONE_ARGUMENT_TENSORS:
        for (size_t i = 0; i < argument->count; i++) {
            hone_text_print(text, i ? ", " : "[");
            print_value(graph, argument->values[i], text);
        }
        hone_text_print(text, argument->count ? "]" : "[]");
        break;
    case HONE_ARGUMENT_INTEGER:
        hone_text_print(text, "%lld", (long long)argument->integer);
        break;
    case HONE_ARGUMENT_REAL:
        hone_text_print(text, "%.9g", argument->real);
        break;
    case HONE_ARGUMENT_BOOLEAN:
        hone_text_print(text, argument->integer ? "True" : "False");
        break;
    case HONE_ARGUMENT_INTEGERS:
        for (size_t i = 0; i < argument->count; i++)
            hone_text_print(text, "%s%lld", i ? ", " : "[", (long long)argument->integers[i]);
        hone_text_print(text, argument->count ? "]" : "[]");
        break;
    case HONE_ARGUMENT_STRING:
        hone_text_print(text, "'%s'", argument->string);
        break;
    case HONE_ARGUMENT_LIVE:
        hone_text_print(text, "live[%lld]", (long long)argument->integer);
        break;
    }
}

hone_status hone_graph_print(const hone_graph *graph, char **out, hone_error *error) {
    hone_text text = {0};
    char type[128];
    int segment = -1;
    for (size_t n = 0; n < graph->node_count; n++) {
        const hone_node *const node = &graph->nodes[n];
        if (node->segment != segment) hone_text_print(&text, "segment %d:\n", segment = node->segment);
        for (size_t i = 0; i < node->output_count; i++) {
            hone_text_print(&text, "%s%%%u %s", i ? ", " : "", node->outputs[i].id,
                            hone_type_print(graph->values[node->outputs[i].id].type, type, sizeof(type)));
        }
        hone_text_print(&text, "%s%.*s(", node->output_count ? " = " : "", (int)node->schema->name_length,
                        node->schema->op->schema);
        for (size_t i = 0; i < node->schema->argument_count; i++) {
            if (i) hone_text_print(&text, ", ");
            print_argument(graph, &node->arguments[i], &text);
        }
        hone_text_print(&text, node->label ? ")  # %s\n" : ")\n", node->label);
    }
    const hone_status status = hone_text_status(&text, error);
    if (status != HONE_OK) {
        hone_text_clear(&text);
        return status;
    }
    if (!text.bytes) return hone_copy_string("", 0, out, error);
    *out = text.bytes; // from the same gate that hone_graph_print_free gives back to
    return HONE_OK;
}

void hone_graph_print_free(char *text) {
    hone_free(text);
}
