// SPDX-License-Identifier: Apache-2.0
// What the steps of a plan move and compute, from shapes alone.
#include "graph/cost.h"

#include "base/memory.h"

static hone_tensor type_only(const void *context, hone_value value) {
    return (hone_tensor){.type = ((const hone_plan *)context)->values[value.id].type};
}

static hone_op_call call_of(const hone_plan *plan, const hone_node *node, const hone_call_room *r) {
    hone_node_operands(node, &(hone_operand_sources){type_only, plan}, r->operands, r->tensors);
    for (size_t i = 0; i < node->output_count; i++) r->outputs[i] = type_only(plan, node->outputs[i]);
    return (hone_op_call){.op = node->schema->op,
                          .operands = r->operands,
                          .operand_count = node->schema->argument_count,
                          .outputs = r->outputs,
                          .output_count = node->output_count};
}

static bool met_before(const hone_plan *plan, const hone_node *node, size_t input) {
    for (size_t i = 0; i < input; i++) {
        if (plan->values[node->inputs[i].id].root == plan->values[node->inputs[input].id].root) return true;
    }
    return false;
}

static double bytes_of(const hone_plan *plan, const hone_node *node) {
    double bytes = 0;
    for (size_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i].id && !met_before(plan, node, i)) bytes += (double)plan->values[node->inputs[i].id].bytes;
    }
    for (size_t i = 0; i < node->output_count; i++) bytes += (double)plan->values[node->outputs[i].id].bytes;
    for (size_t a = 0; a < node->schema->argument_count; a++) { // written, besides having been read
        const hone_argument *const argument = &node->arguments[a];
        if (node->schema->arguments[a].mutated && argument->kind == HONE_ARGUMENT_TENSOR)
            bytes += (double)plan->values[argument->value.id].bytes;
    }
    return bytes;
}

void hone_plan_costs(const hone_plan *plan, hone_profile_row *rows, size_t count) {
    hone_call_room r;
    // Without memory they stay 0: they are only there to be looked at.
    const bool flops = hone_call_room_make(plan, "a profile", &r, NULL) == HONE_OK;
    size_t row = 0;
    for (size_t s = 0; s < plan->step_count && row < count; s++) {
        const hone_plan_step *const step = &plan->steps[s];
        if (step->alias) continue;
        const hone_op *const op = step->node.schema->op;
        const double calls = (double)rows[row].calls;
        rows[row].bytes = calls * bytes_of(plan, &step->node);
        if (flops && op->flop) {
            const hone_op_call call = call_of(plan, &step->node, &r);
            rows[row].flop = calls * op->flop(&call);
        }
        row++;
    }
    hone_call_room_free(&r);
}
