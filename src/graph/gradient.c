// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation: walks the nodes backwards and lets each operator's rule add the nodes of its gradient.
#include "graph/internal.h"

#include <string.h>

typedef struct pass {
    hone_graph *graph;
    size_t value_count;   // of the graph when the pass began: only these take part
    bool *depends;        // [value_count] reached from wrt
    hone_value *gradient; // [value_count] sum so far
    uint32_t *readers;    // [value_count] nodes still to be visited that read it
    hone_value *into;     // [value_count] state that takes the complete gradient; {0} = none
} pass;

static bool differentiable(const hone_tensor_type *type) {
    return type->dtype == HONE_DTYPE_F32 || type->dtype == HONE_DTYPE_F16 || type->dtype == HONE_DTYPE_BF16;
}

// Which values depend on wrt: only along them do gradients flow.
static void mark(pass *p, const hone_value *wrt, size_t wrt_count, size_t node_count) {
    for (size_t i = 0; i < wrt_count; i++) p->depends[wrt[i].id] = true;
    for (size_t n = 0; n < node_count; n++) {
        const hone_node *const node = &p->graph->nodes[n];
        bool any = false;
        for (size_t i = 0; i < node->input_count; i++) {
            any |= p->depends[node->inputs[i].id];
            p->readers[node->inputs[i].id]++;
        }
        for (size_t i = 0; i < node->output_count && any; i++) {
            if (differentiable(p->graph->values[node->outputs[i].id].type)) p->depends[node->outputs[i].id] = true;
        }
    }
}

// The node that made `value` if it is a call of `op`, else NULL.
static const hone_node *made_by(const hone_graph *graph, hone_value value, const char *op) {
    const uint32_t n = graph->values[value.id].node;
    if (n == HONE_NO_NODE) return NULL;
    const hone_node *const node = &graph->nodes[n];
    return strncmp(node->schema->op->schema, op, node->schema->name_length) == 0 && !op[node->schema->name_length]
               ? node
               : NULL;
}

static hone_argument argument(const hone_node *node, size_t i) {
    return *hone_node_argument(node, i);
}

// hone::linear_lora_backward's arguments that are given or not: what it adds to, and the two matrices of a product.
enum { LORA_BASE = 5, LORA_LOW, LORA_DOWN, LORA_COLUMNS };

// The same call of linear_lora_backward, with these.
static hone_value lora_backward(pass *p, const hone_node *node, hone_argument base, hone_argument low,
                                hone_argument down) {
    return hone_emit(p->graph, "hone::linear_lora_backward", argument(node, 0), argument(node, 1), argument(node, 2),
                     argument(node, 3), argument(node, 4), base, low, down, argument(node, LORA_COLUMNS));
}

static bool lacks(const hone_node *node, size_t i) {
    return argument(node, i).kind == HONE_ARGUMENT_NONE;
}

// Whether a product of matrices is what a LoRA brings. That of a dense layer has a right matrix of any type, and is better
// off by itself.
enum { LORA_MOST_RANK = 512 };
static bool is_of_lora(const pass *p, const hone_node *product) {
    const hone_tensor_type *const right = p->graph->values[product->inputs[1].id].type;
    return right->dtype == HONE_DTYPE_F32 && right->dims[0] <= LORA_MOST_RANK;
}

// Adds to the sum so far. Products are added by operators that add as they multiply: a linear layer's gradient takes what
// is there before it, and the product that its LoRA brings behind it. The plan drops what nobody reads then.
static void contribute(pass *p, hone_value value, hone_value gradient) {
    hone_value *const sum = &p->gradient[value.id];
    if (!sum->id) {
        *sum = gradient;
        return;
    }
    const hone_node *const linear = made_by(p->graph, gradient, "hone::linear_lora_backward");
    const hone_node *const product = made_by(p->graph, gradient, "aten::mm");
    const hone_node *const before = made_by(p->graph, *sum, "hone::linear_lora_backward");
    if (linear && lacks(linear, LORA_BASE)) {
        *sum = lora_backward(p, linear, HONE_T(*sum), argument(linear, LORA_LOW), argument(linear, LORA_DOWN));
    } else if (product && before && lacks(before, LORA_LOW) && is_of_lora(p, product)) {
        *sum = lora_backward(p, before, argument(before, LORA_BASE), HONE_T(product->inputs[0]),
                             HONE_T(product->inputs[1]));
    } else if (product) {
        const hone_value a = product->inputs[0];
        const hone_value b = product->inputs[1];
        *sum = hone_emit(p->graph, "hone::mm_add", HONE_T(*sum), HONE_T(a), HONE_T(b));
    } else {
        *sum = hone_emit(p->graph, "aten::add.Tensor", HONE_T(*sum), HONE_T(gradient));
    }
}

// A gradient that nothing can add to any more goes where it is wanted.
static void deliver_value(pass *p, uint32_t v) {
    if (!p->into[v].id || !p->gradient[v].id) return;
    const hone_node *const plain = made_by(p->graph, p->gradient[v], "et_vk::linear_dW");
    const hone_node *const scaled = made_by(p->graph, p->gradient[v], "hone::linear_dW_scaled");
    const hone_node *const product = plain ? plain : scaled;
    if (product) { // one operator that adds as it multiplies; the plain product is then read by nobody
        const hone_value d_out = product->inputs[0];
        const hone_value x = product->inputs[1];
        const double factor = scaled ? argument(scaled, 2).real : 1;
        hone_emit(p->graph, "hone::linear_dW_add_", HONE_T(p->into[v]), HONE_T(d_out), HONE_T(x), HONE_R(factor));
    } else {
        hone_emit(p->graph, "hone::accumulate_", HONE_T(p->into[v]), HONE_T(p->gradient[v]));
    }
}

// After node n has been visited.
static void deliver(pass *p, const hone_node *node) {
    for (size_t i = 0; i < node->input_count; i++) {
        const uint32_t v = node->inputs[i].id;
        if (v != 0 && --p->readers[v] == 0) deliver_value(p, v);
    }
}

static hone_status differentiate(pass *p, size_t index, hone_error *error) {
    // Copied: rules add nodes, and the array may move. What it points to lies in the arena and stays.
    const hone_node node = p->graph->nodes[index];
    bool flows = false;
    bool wants = false;
    hone_value incoming[HONE_SCHEMA_OUTPUTS] = {0};
    for (size_t i = 0; i < node.output_count && i < HONE_SCHEMA_OUTPUTS; i++) {
        incoming[i] = p->gradient[node.outputs[i].id];
        flows |= incoming[i].id != 0;
    }
    if (!flows) return HONE_OK;
    bool *wanted;
    hone_value *given;
    HONE_TRY(HONE_ARENA_ARRAY(&p->graph->arena, &wanted, node.input_count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&p->graph->arena, &given, node.input_count, error));
    for (size_t i = 0; i < node.input_count; i++) {
        const hone_value input = node.inputs[i];
        wanted[i] = input.id && p->depends[input.id] && differentiable(p->graph->values[input.id].type);
        wants |= wanted[i];
    }
    if (!wants) return HONE_OK;
    HONE_FAIL_IF(!node.schema->op->gradient, error, UNSUPPORTED, "%.*s has no gradient, but one is needed of it",
                 (int)node.schema->name_length, node.schema->op->schema);
    p->graph->label = node.label;
    const hone_gradient_call call = {p->graph, &node, incoming, given, wanted};
    HONE_TRY(node.schema->op->gradient(&call, error));
    HONE_TRY(hone_graph_status(p->graph, error));
    for (size_t i = 0; i < node.input_count; i++) {
        if (wanted[i] && given[i].id) contribute(p, node.inputs[i], given[i]);
    }
    return hone_graph_status(p->graph, error);
}

hone_status hone_graph_gradients(hone_graph *graph, const hone_value *outputs, const hone_value *seeds,
                                 size_t output_count, const hone_value *wrt, size_t wrt_count, const hone_value *into,
                                 hone_value *gradients, hone_error *error) {
    HONE_TRY(hone_graph_status(graph, error));
    const size_t node_count = graph->node_count;
    pass p = {.graph = graph, .value_count = graph->value_count};
    hone_status status;
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&p.depends, p.value_count, "a gradient pass", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&p.gradient, p.value_count, "a gradient pass", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&p.readers, p.value_count, "a gradient pass", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&p.into, p.value_count, "a gradient pass", error), done);
    mark(&p, wrt, wrt_count, node_count);
    for (size_t i = 0; i < wrt_count && into; i++) p.into[wrt[i].id] = into[i];
    for (size_t i = 0; i < output_count; i++) {
        if (!hone_shape_equal(hone_graph_type(graph, outputs[i]), hone_graph_type(graph, seeds[i]))) {
            status =
                hone_error_set(error, HONE_INVALID_ARGUMENT, "the seed of output %zu has another shape than it", i);
            goto done;
        }
        contribute(&p, outputs[i], seeds[i]);
    }
    for (size_t i = 0; i < wrt_count; i++) { // outputs that no node reads
        if (p.readers[wrt[i].id] == 0) deliver_value(&p, wrt[i].id);
    }
    for (size_t n = node_count; n-- > 0;) {
        HONE_TRY_GOTO(differentiate(&p, n, error), done);
        const hone_node node = graph->nodes[n]; // copied: delivering adds nodes
        deliver(&p, &node);
    }
    for (size_t i = 0; i < wrt_count; i++) gradients[i] = p.gradient[wrt[i].id];
    status = hone_graph_status(graph, error);
done:
    graph->label = NULL;
    hone_free(p.depends);
    hone_free(p.gradient);
    hone_free(p.readers);
    hone_free(p.into);
    return status;
}
