// SPDX-License-Identifier: Apache-2.0
// From a graph to steps: what is needed, what the backward pass computes again, who shares bytes with whom.
#include "graph/plan.h"

#include <string.h>

typedef struct planner {
    hone_graph *graph;
    hone_plan *plan;
    hone_plan_options options;
    bool *needed;     // [nodes] has an effect, or something needed reads it
    bool *stored;     // [graph values] the backward pass reads the forward pass's bytes
    uint32_t *copies; // [graph values] plan value that a recomputed node made; 0 = none
    uint32_t *stack;  // graph nodes waiting to be recomputed
    size_t stack_count, stack_capacity;
} planner;

static bool is_forward(const planner *p, uint32_t node) {
    return node != HONE_NO_NODE && node < p->options.first_backward_node;
}

static bool has_effect(const hone_node *node) {
    return node->schema->mutates || (node->schema->op->flags & HONE_OP_EFFECT);
}

// Backwards from effects and kept values; what nobody reads is dropped.
static void find_needed(planner *p) {
    const hone_graph *const graph = p->graph;
    for (size_t n = graph->node_count; n-- > 0;) {
        const hone_node *const node = &graph->nodes[n];
        bool needed = p->needed[n] || has_effect(node);
        for (size_t i = 0; i < node->output_count; i++) needed |= graph->values[node->outputs[i].id].keep;
        p->needed[n] = needed;
        for (size_t i = 0; i < node->input_count && needed; i++) {
            const uint32_t maker = graph->values[node->inputs[i].id].node;
            if (node->inputs[i].id && maker != HONE_NO_NODE) p->needed[maker] = true;
        }
    }
}

// Which forward values the backward pass keeps. A cheap node's output is computed again only if its own inputs are at
// hand anyway: else a chain of residual sums would be kept alive to save one of them.
static void choose_stored(planner *p) {
    const hone_graph *const graph = p->graph;
    bool *const read_later = p->stored; // first: does a backward node read it?
    for (size_t n = p->options.first_backward_node; n < graph->node_count; n++) {
        if (!p->needed[n]) continue;
        const hone_node *const node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; i++) read_later[node->inputs[i].id] = true;
    }
    for (size_t n = 0; n < p->options.first_backward_node && n < graph->node_count; n++) {
        const hone_node *const node = &graph->nodes[n];
        for (size_t i = 0; i < node->output_count; i++) {
            const uint32_t v = node->outputs[i].id;
            if (p->options.recompute == HONE_RECOMPUTE_LAYERS) {
                read_later[v] = graph->values[v].checkpoint || has_effect(node);
                continue;
            }
            if (p->options.recompute == HONE_RECOMPUTE_NONE ||
                !(node->schema->op->flags & (HONE_OP_CHEAP | HONE_OP_VIEW)))
                continue;
            bool at_hand = true;
            for (size_t j = 0; j < node->input_count; j++) {
                const hone_value_info *const input = &graph->values[node->inputs[j].id];
                // A cheap input that is itself computed again counts as at hand: `stored` is false, `needed` true.
                at_hand &= input->node == HONE_NO_NODE || read_later[node->inputs[j].id];
            }
            if (at_hand && read_later[v] && !graph->values[v].checkpoint) p->copies[v] = UINT32_MAX; // to be recomputed
        }
    }
    if (p->options.recompute == HONE_RECOMPUTE_LAYERS) return;
    for (size_t v = 0; v < graph->value_count; v++) {
        // In these modes everything else that a recomputed node may read is kept too.
        p->stored[v] = p->copies[v] != UINT32_MAX;
        p->copies[v] = 0;
    }
}

static hone_status add_plan_value(planner *p, uint32_t origin, uint32_t *out, hone_error *error) {
    hone_plan *const plan = p->plan;
    HONE_TRY(HONE_GROW(&plan->values, &plan->value_capacity, plan->value_count + 1, "plan values", error));
    const hone_value_info *const info = &p->graph->values[origin];
    *out = (uint32_t)plan->value_count++;
    plan->values[*out] = (hone_plan_value){.type = *info->type,
                                           .storage = info->storage,
                                           .buffer = info->buffer,
                                           .offset = info->offset,
                                           .bytes = hone_type_bytes(info->type),
                                           .root = *out,
                                           .keep = info->keep,
                                           .origin = origin};
    return HONE_OK;
}

// Appends a step for graph node n. Its inputs are looked up for the backward pass if `backward`.
static hone_status add_step(planner *p, uint32_t n, int segment, bool backward, bool recomputed, hone_error *error) {
    hone_plan *const plan = p->plan;
    const hone_node *const source = &p->graph->nodes[n];
    hone_plan_step step = {.node = *source, .recomputed = recomputed};
    hone_value *inputs, *outputs;
    HONE_TRY(HONE_ARENA_ARRAY(&plan->arena, &inputs, (size_t)source->input_count + source->output_count, error));
    outputs = inputs + source->input_count;
    for (size_t i = 0; i < source->input_count; i++) {
        const uint32_t v = source->inputs[i].id;
        if (v == 0) continue;
        if (p->graph->values[v].node == HONE_NO_NODE && !plan->of_graph[v])
            HONE_TRY(add_plan_value(p, v, &plan->of_graph[v], error));
        inputs[i].id = backward && p->copies[v] ? p->copies[v] : plan->of_graph[v];
    }
    for (size_t i = 0; i < source->output_count; i++) {
        const uint32_t v = source->outputs[i].id;
        HONE_TRY(add_plan_value(p, v, &outputs[i].id, error));
        if (recomputed) {
            p->copies[v] = outputs[i].id;
            plan->values[outputs[i].id].keep = false; // the first one is the kept one
        } else {
            plan->of_graph[v] = outputs[i].id;
        }
    }
    step.node.inputs = inputs;
    step.node.outputs = outputs;
    step.node.segment = segment;
    HONE_TRY(HONE_GROW(&plan->steps, &plan->step_capacity, plan->step_count + 1, "plan steps", error));
    plan->steps[plan->step_count++] = step;
    return HONE_OK;
}

static bool must_recompute(const planner *p, uint32_t v) {
    return v && is_forward(p, p->graph->values[v].node) && !p->stored[v] && !p->copies[v];
}

static hone_status push(planner *p, uint32_t node, hone_error *error) {
    HONE_TRY(HONE_GROW(&p->stack, &p->stack_capacity, p->stack_count + 1, "the recompute list", error));
    p->stack[p->stack_count++] = node;
    return HONE_OK;
}

// Adds the nodes that make value v again, inputs first. A list of its own instead of recursion: a deep model must not
// use up the stack.
static hone_status recompute(planner *p, uint32_t v, int segment, hone_error *error) {
    HONE_TRY(push(p, p->graph->values[v].node, error));
    while (p->stack_count > 0) {
        const uint32_t n = p->stack[p->stack_count - 1];
        const hone_node *const node = &p->graph->nodes[n];
        const size_t before = p->stack_count;
        for (size_t i = 0; i < node->input_count; i++) {
            if (must_recompute(p, node->inputs[i].id))
                HONE_TRY(push(p, p->graph->values[node->inputs[i].id].node, error));
        }
        if (p->stack_count > before) continue;
        p->stack_count--;
        bool done = node->output_count > 0;
        for (size_t i = 0; i < node->output_count; i++) done &= p->copies[node->outputs[i].id] != 0;
        if (!done) HONE_TRY(add_step(p, n, segment, true, true, error));
    }
    return HONE_OK;
}

static hone_status add_steps(planner *p, hone_error *error) {
    size_t needed = 0;
    for (uint32_t n = 0; n < p->graph->node_count; n++) needed += p->needed[n];
    HONE_TRY(HONE_GROW(&p->plan->steps, &p->plan->step_capacity, needed, "plan steps", error));
    for (uint32_t n = 0; n < p->graph->node_count; n++) {
        if (!p->needed[n]) continue;
        const hone_node *const node = &p->graph->nodes[n];
        const bool backward = p->options.first_backward_node > 0 && n >= p->options.first_backward_node;
        for (size_t i = 0; i < node->input_count && backward; i++) {
            if (must_recompute(p, node->inputs[i].id)) HONE_TRY(recompute(p, node->inputs[i].id, node->segment, error));
        }
        HONE_TRY(add_step(p, n, node->segment, backward, false, error));
    }
    return HONE_OK;
}

static void find_segments(hone_plan *plan) {
    int segment = -1;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        while (segment < plan->steps[s].node.segment) plan->segment_first[++segment] = s;
    }
    plan->segment_count = segment + 1;
    for (int s = plan->segment_count; s <= HONE_MAX_SEGMENTS; s++) plan->segment_first[s] = (uint32_t)plan->step_count;
}

// The last step at which a value read at step s must still hold its bytes.
static uint32_t read_until(const hone_plan *plan, uint32_t s, uint32_t first) {
    const int segment = plan->steps[s].node.segment;
    const bool repeats = plan->graph->repeating_segments >> segment & 1;
    return repeats && first < plan->segment_first[segment] ? plan->segment_first[segment + 1] - 1 : s;
}

static void touch(hone_plan *plan, uint32_t value, uint32_t step) {
    hone_plan_value *const root = &plan->values[plan->values[value].root];
    const uint32_t until = read_until(plan, step, root->first);
    if (until > root->last) root->last = until;
}

static void find_mutated(hone_plan *plan) {
    for (size_t s = 0; s < plan->step_count; s++) {
        const hone_node *const node = &plan->steps[s].node;
        size_t input = 0;
        for (size_t i = 0; i < node->schema->argument_count && node->schema->mutates; i++) {
            const hone_schema_argument *const argument = &node->schema->arguments[i];
            const bool list = argument->type == HONE_SCHEMA_TENSORS;
            if (argument->type != HONE_SCHEMA_TENSOR && !list) continue;
            const size_t count = list ? node->arguments[i].count : 1;
            for (size_t j = 0; j < count; j++, input++) {
                if (argument->mutated) plan->values[node->inputs[input].id].mutated = true;
            }
        }
    }
}

// A view may share bytes, unless they are state that a step changes: the view must go on showing what it copied.
static bool may_alias(const hone_plan *plan, const hone_plan_step *step) {
    const hone_plan_value *const input = &plan->values[step->node.inputs[0].id];
    const hone_plan_value *const output = &plan->values[step->node.outputs[0].id];
    return (step->node.schema->op->flags & HONE_OP_VIEW) && output->bytes == input->bytes &&
           output->type.dtype == input->type.dtype && !plan->values[input->root].mutated &&
           !(output->keep && plan->values[input->root].storage != HONE_STORAGE_TEMPORARY);
}

static void find_lifetimes(hone_plan *plan) {
    for (uint32_t s = 0; s < plan->step_count; s++) {
        hone_plan_step *const step = &plan->steps[s];
        for (size_t i = 0; i < step->node.input_count; i++) touch(plan, step->node.inputs[i].id, s);
        for (size_t i = 0; i < step->node.output_count; i++) {
            hone_plan_value *const output = &plan->values[step->node.outputs[i].id];
            output->first = output->last = s;
            if (i == 0 && may_alias(plan, step)) {
                output->root = plan->values[step->node.inputs[0].id].root;
                step->alias = true;
                touch(plan, step->node.outputs[i].id, s);
                plan->values[output->root].keep |= output->keep;
            }
        }
    }
    for (size_t v = 1; v < plan->value_count; v++) {
        if (plan->values[v].keep) plan->values[plan->values[v].root].last = (uint32_t)plan->step_count;
    }
}

// The value whose bytes these are, while outputs are still being joined to inputs: a view's root may have been joined since,
// but only once, right where it was made.
static uint32_t root_of(const hone_plan *plan, uint32_t value) {
    return plan->values[plan->values[value].root].root;
}

// May output `o` of step s be written over input `i`? Only over a temporary that nobody reads later or beside.
static bool may_overwrite(const hone_plan *plan, uint32_t s, size_t i, size_t o) {
    const hone_node *const node = &plan->steps[s].node;
    if (i >= node->input_count || o >= node->output_count || !node->inputs[i].id) return false;
    const uint32_t root = root_of(plan, node->inputs[i].id);
    const hone_plan_value *const input = &plan->values[root];
    const hone_plan_value *const output = &plan->values[node->outputs[o].id];
    if (input->storage != HONE_STORAGE_TEMPORARY || input->last != s || input->keep) return false;
    if (!hone_type_equal(&plan->values[node->inputs[i].id].type, &output->type) || input->bytes != output->bytes)
        return false;
    for (size_t j = 0; j < node->input_count; j++) {
        if (j != i && root_of(plan, node->inputs[j].id) == root) return false;
    }
    for (size_t j = 0; j < node->output_count; j++) { // taken already
        if (j != o && root_of(plan, node->outputs[j].id) == root) return false;
    }
    return true;
}

static void join(hone_plan *plan, uint32_t input, uint32_t output) {
    hone_plan_value *const value = &plan->values[output];
    const uint32_t root = root_of(plan, input);
    if (value->last > plan->values[root].last) plan->values[root].last = value->last;
    plan->values[root].keep |= value->keep;
    value->root = root;
}

static void join_in_place(hone_plan *plan) {
    static const struct {
        uint32_t flag;
        uint8_t input, output;
    } rules[] = {{HONE_OP_IN_PLACE, 0, 0}, {HONE_OP_IN_PLACE_1, 1, 0}, {HONE_OP_IN_PLACE_OUTPUT_1, 0, 1}};
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const hone_plan_step *const step = &plan->steps[s];
        for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]) && !step->alias; r++) {
            if (!(step->node.schema->op->flags & rules[r].flag) ||
                !may_overwrite(plan, s, rules[r].input, rules[r].output))
                continue;
            const uint32_t output = step->node.outputs[rules[r].output].id;
            if (plan->values[output].root != output) continue;
            join(plan, step->node.inputs[rules[r].input].id, output);
        }
    }
    for (uint32_t v = 0; v < plan->value_count; v++) plan->values[v].root = root_of(plan, v); // views follow their root
}

static void count_outside(hone_plan *plan) {
    for (size_t v = 1; v < plan->value_count; v++) {
        if (plan->values[v].storage == HONE_STORAGE_CONSTANT) plan->bytes.constants += plan->values[v].bytes;
        if (plan->values[v].storage == HONE_STORAGE_STATE) plan->bytes.state += plan->values[v].bytes;
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        plan->bytes.nodes += !plan->steps[s].alias;
        plan->bytes.recomputed += plan->steps[s].recomputed && !plan->steps[s].alias;
    }
}

// What a forward pass leaves behind for the backward pass.
static void count_saved(hone_plan *plan) {
    const int last = plan->segment_count - 1;
    for (size_t v = 1; v < plan->value_count && last >= 2; v++) {
        const hone_plan_value *const value = &plan->values[v];
        if (value->storage != HONE_STORAGE_TEMPORARY || value->root != v) continue;
        if (value->first < plan->segment_first[1] && value->last >= plan->segment_first[last])
            plan->bytes.saved +=
                (value->bytes + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
    }
}

static hone_status make(planner *p, hone_error *error) {
    hone_graph *const graph = p->graph;
    hone_plan *const plan = p->plan;
    HONE_TRY(HONE_NEW_ARRAY(&p->needed, graph->node_count, "a plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&p->stored, graph->value_count, "a plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&p->copies, graph->value_count, "a plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&plan->of_graph, graph->value_count, "a plan", error));
    HONE_TRY(HONE_GROW(&plan->values, &plan->value_capacity, graph->value_count, "plan values", error));
    memset(&plan->values[0], 0, sizeof(plan->values[0]));
    plan->value_count = 1;
    find_needed(p);
    choose_stored(p);
    HONE_TRY(add_steps(p, error));
    find_segments(plan);
    find_mutated(plan);
    find_lifetimes(plan);
    join_in_place(plan);
    count_outside(plan);
    HONE_TRY(hone_plan_place(plan, p->options.max_arena_bytes, error));
    count_saved(plan);
    return HONE_OK;
}

hone_status hone_plan_create(hone_graph *graph, const hone_plan_options *options, hone_plan **out, hone_error *error) {
    *out = NULL;
    HONE_TRY(hone_graph_status(graph, error));
    hone_plan *plan;
    HONE_TRY(HONE_NEW(&plan, "a plan", error));
    plan->graph = graph;
    planner p = {.graph = graph, .plan = plan, .options = options ? *options : (hone_plan_options){0}};
    const hone_status status = make(&p, error);
    hone_free(p.needed);
    hone_free(p.stored);
    hone_free(p.copies);
    hone_free(p.stack);
    if (status != HONE_OK) {
        hone_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return HONE_OK;
}

void hone_plan_destroy(hone_plan *plan) {
    if (!plan) return;
    hone_arena_clear(&plan->arena);
    hone_free(plan->values);
    hone_free(plan->steps);
    hone_free(plan->of_graph);
    hone_free(plan);
}

hone_plan_bytes hone_plan_measure(const hone_plan *plan) {
    return plan->bytes;
}

hone_status hone_call_room_make(const hone_plan *plan, const char *what, hone_call_room *out, hone_error *error) {
    size_t operands = 0, tensors = 0, outputs = 0;
    *out = (hone_call_room){0};
    for (size_t s = 0; s < plan->step_count; s++) {
        const hone_node *const node = &plan->steps[s].node;
        if (node->schema->argument_count > operands) operands = node->schema->argument_count;
        if (node->input_count > tensors) tensors = node->input_count;
        if (node->output_count > outputs) outputs = node->output_count;
    }
    HONE_TRY(HONE_NEW_ARRAY(&out->operands, operands, what, error));
    HONE_TRY(HONE_NEW_ARRAY(&out->tensors, tensors, what, error));
    return HONE_NEW_ARRAY(&out->outputs, outputs, what, error);
}

void hone_call_room_free(hone_call_room *room) {
    hone_free(room->operands);
    hone_free(room->tensors);
    hone_free(room->outputs);
    *room = (hone_call_room){0};
}
