// SPDX-License-Identifier: Apache-2.0
// A graph of the whole program for given shapes of its inputs: portable kernels and delegates, in the order of the file.
#include <inttypes.h>
#include <string.h>

#include "formats/pte_builder.h"
#include "graph/internal.h"

static void reset_bindings(pte_scope *scope) {
    memset(scope->bindings, 0, scope->count * sizeof *scope->bindings);
    scope->called = false;
}

// Before a delegate is called once more: what its calls have made is forgotten, constants and state stay.
static void forget_results(const pte_builder *b, const pte_scope *scope) {
    for (uint32_t i = 0; i < scope->count; i++) {
        const hone_value value = scope->bindings[i].value;
        if (!value.id || b->graph->values[value.id].storage == HONE_STORAGE_TEMPORARY)
            scope->bindings[i] = (pte_binding){0};
    }
}

// Puts the place of the call before the message.
static void explain(const pte_site *site, hone_error *error) {
    const char *const file = site->b->pte->file->flat.file;
    if (!error) return;
    if (error->status == HONE_INVALID_ARGUMENT) error->status = HONE_BAD_FORMAT;
    if (strncmp(error->message, "'", 1) == 0 && strstr(error->message, file)) return; // it says where already
    const char *const dot = site->overload[0] ? "." : "";
    if (site->scope->delegate < 0) {
        hone_error_prefix(error, "'%s': call %" PRIu32 " (%.80s%s%.40s)", file, site->index, site->name, dot,
                          site->overload);
    } else {
        hone_error_prefix(error, "'%s': delegate %d, call %" PRIu32 " (%.80s%s%.40s)", file, site->scope->delegate,
                          site->index, site->name, dot, site->overload);
    }
}

// The lists of past calls are of no use any more.
static void drop_lists(pte_builder *b) {
    enum { CALLS_BETWEEN = 256 };
    if (++b->calls % CALLS_BETWEEN) return;
    hone_arena_clear(&b->arena);
    b->arena.block_bytes = 0;
}

static hone_status add_call(pte_builder *b, pte_scope *scope, const hone_pte_call *call, uint32_t index,
                            hone_error *error) {
    pte_site site = {.b = b,
                     .scope = scope,
                     .op = pte_op_find(call->name.bytes, call->overload.bytes),
                     .name = call->name.bytes,
                     .overload = call->overload.bytes,
                     .index = index,
                     .arguments = call->arguments,
                     .out = PTE_NONE};
    if (!site.op) HONE_FAIL(error, UNSUPPORTED, "'%s': %s", scope->flat->file, pte_op_refusal(site.name));
    const uint32_t count = call->arguments.count;
    site.inputs = count;
    if (!site.op->in_place || scope->delegate < 0) { // the last argument is the result, of kernels once more before it
        if (count > 0) site.out = hone_flat_u32_at(scope->flat, call->arguments, --site.inputs);
        if (scope->delegate < 0 && site.inputs > 0 &&
            hone_flat_u32_at(scope->flat, call->arguments, site.inputs - 1) == site.out)
            site.inputs--;
    }
    HONE_FAIL_IF(site.out != PTE_NONE && site.out >= scope->count, error, BAD_FORMAT,
                 "'%s': the result of call %" PRIu32 " (%.80s) is value %" PRIu32 " of %" PRIu32, scope->flat->file,
                 index, site.name, site.out, scope->count);
    hone_error own = {0};
    drop_lists(b);
    if (pte_emit(&site, &own) == HONE_OK) return HONE_OK;
    explain(&site, &own);
    if (error) *error = own;
    return own.status;
}

// --- delegates ------------------------------------------------------------------------------------------------------

// Argument `id` of the method becomes input `index` of the delegate.
static hone_status enter_input(pte_builder *b, pte_scope *scope, uint32_t id, uint32_t index, hone_error *error) {
    hone_pte *const pte = b->pte;
    const uint32_t target = hone_flat_u32_at(scope->flat, pte->blobs[scope->delegate].inputs, index);
    hone_pte_value given, wanted;
    HONE_TRY(hone_pte_method_value(pte->file, &pte->method, id, &given, error));
    HONE_TRY(pte_scope_value(pte, scope, target, &wanted, error));
    if (wanted.kind != HONE_PTE_TENSOR) {
        int64_t integer = 0;
        if (wanted.kind == HONE_PTE_NOTHING) return HONE_OK;
        if (wanted.kind == HONE_PTE_REAL && given.kind == HONE_PTE_REAL) return HONE_OK;
        HONE_TRY(pte_fetch_integer(b, &pte->scope, id, &integer, error));
        pte_give_integer(scope, target, integer);
        return HONE_OK;
    }
    hone_value value;
    HONE_TRY(pte_fetch(b, &pte->scope, id, &value, error));
    const hone_tensor_type *const type = hone_graph_type(b->graph, value);
    bool fits = type->rank == wanted.type.rank;
    for (int d = 0; d < type->rank && fits; d++)
        fits = type->dims[d] == wanted.type.dims[d] || (pte->dynamic && type->dims[d] < wanted.type.dims[d]);
    char a[128], c[128];
    HONE_FAIL_IF(!fits, error, BAD_FORMAT, "'%s': input %" PRIu32 " of delegate %d is %s, but is given %s",
                 scope->flat->file, index, scope->delegate, hone_type_print(&wanted.type, c, sizeof c),
                 hone_type_print(type, a, sizeof a));
    HONE_TRY(pte_cast(b, value, wanted.type.dtype, &value, error));
    pte_bind(scope, target, value);
    return HONE_OK;
}

// Output `index` of the delegate becomes argument `id` of the method.
static hone_status leave_output(pte_builder *b, pte_scope *scope, uint32_t id, uint32_t index, hone_error *error) {
    hone_pte *const pte = b->pte;
    const uint32_t source = hone_flat_u32_at(scope->flat, pte->blobs[scope->delegate].outputs, index);
    hone_pte_value given;
    HONE_TRY(pte_scope_value(pte, scope, source, &given, error));
    if (given.kind != HONE_PTE_TENSOR) {
        int64_t integer = 0;
        HONE_TRY(pte_fetch_integer(b, scope, source, &integer, error));
        pte_give_integer(&pte->scope, id, integer);
        return HONE_OK;
    }
    hone_value value;
    uint32_t input;
    HONE_TRY(pte_fetch(b, scope, source, &value, error));
    if (pte_is_input(b, value, &input) &&
        pte->scope.mutations[hone_flat_u32_at(&pte->file->flat, pte->method.inputs, input)]) {
        value = PTE_CALL(b, "aten::clone", error, HONE_T(value)); // a kernel will change it
        PTE_TRY_VALUE(value, error);
    }
    return pte_give(b, &pte->scope, id, value, error);
}

static hone_status call_delegate(pte_builder *b, const hone_pte_call *call, hone_error *error) {
    hone_pte *const pte = b->pte;
    hone_flat *const flat = &pte->file->flat;
    pte_scope *const scope = &pte->delegates[call->delegate];
    hone_pte_blob *const blob = &pte->blobs[call->delegate];
    if (scope->called) forget_results(b, scope);
    scope->called = true;
    const uint32_t count = call->arguments.count;
    HONE_FAIL_IF(count < blob->inputs.count || count - blob->inputs.count > blob->outputs.count, error, BAD_FORMAT,
                 "'%s': delegate %" PRIu32 " has %" PRIu32 " inputs and %" PRIu32 " outputs, but %" PRIu32 " arguments",
                 flat->file, call->delegate, blob->inputs.count, blob->outputs.count, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = hone_flat_u32_at(flat, call->arguments, i);
        HONE_FAIL_IF(id >= pte->scope.count, error, BAD_FORMAT,
                     "'%s': delegate %" PRIu32 " is given value %" PRIu32 " of %" PRIu32, flat->file, call->delegate,
                     id, pte->scope.count);
    }
    for (uint32_t i = 0; i < blob->inputs.count; i++)
        HONE_TRY(enter_input(b, scope, hone_flat_u32_at(flat, call->arguments, i), i, error));
    for (uint32_t i = 0; i < blob->chain.count; i++) {
        hone_pte_call inner;
        HONE_TRY(hone_pte_blob_call(blob, i, &inner, error));
        HONE_TRY(add_call(b, scope, &inner, i, error));
    }
    // Leading outputs beyond the arguments are new values of state that nothing takes.
    const uint32_t first = blob->outputs.count - (count - blob->inputs.count);
    for (uint32_t i = blob->inputs.count; i < count; i++)
        HONE_TRY(
            leave_output(b, scope, hone_flat_u32_at(flat, call->arguments, i), first + i - blob->inputs.count, error));
    return HONE_OK;
}

// --- the method -----------------------------------------------------------------------------------------------------

static hone_status move(pte_builder *b, const hone_pte_call *call, hone_error *error) {
    pte_scope *const scope = &b->pte->scope;
    HONE_FAIL_IF(call->from >= scope->count || call->to >= scope->count, error, BAD_FORMAT,
                 "'%s': value %" PRIu32 " is moved to %" PRIu32 ", but there are %" PRIu32, scope->flat->file,
                 call->from, call->to, scope->count);
    scope->bindings[call->to] = scope->bindings[call->from];
    return HONE_OK;
}

static hone_status enter_inputs(pte_builder *b, const hone_tensor_type *types, hone_error *error) {
    hone_pte *const pte = b->pte;
    pte_entry *const entry = b->entry;
    for (uint32_t i = 0; i < pte->input_count; i++) {
        const uint32_t id = hone_flat_u32_at(&pte->file->flat, pte->method.inputs, i);
        hone_pte_value value;
        entry->types[i] = types[i];
        HONE_TRY(hone_pte_method_value(pte->file, &pte->method, id, &value, error));
        if (value.kind != HONE_PTE_TENSOR) continue; // checked against the file when it is given
        const hone_value input = hone_graph_state(b->graph, pte->inputs[i].name, types[i], NULL, 0);
        HONE_TRY(hone_graph_status(b->graph, error));
        HONE_TRY(HONE_GROW(&entry->late, &entry->late_capacity, entry->late_count + 1, "values of a program", error));
        entry->late[entry->late_count++] = (pte_late){input, false, i};
        HONE_TRY(pte_tie_to(b, input, (pte_origin){PTE_IN_ORDER, i}, error));
        pte_bind(&pte->scope, id, input);
    }
    return HONE_OK;
}

static hone_status leave_outputs(pte_builder *b, hone_error *error) {
    hone_pte *const pte = b->pte;
    for (uint32_t i = 0; i < pte->output_count; i++) {
        const uint32_t id = hone_flat_u32_at(&pte->file->flat, pte->method.outputs, i);
        pte_output *const output = &b->entry->outputs[i];
        hone_pte_value value;
        HONE_TRY(hone_pte_method_value(pte->file, &pte->method, id, &value, error));
        if (value.kind != HONE_PTE_TENSOR) {
            if (value.kind == HONE_PTE_INTEGER || value.kind == HONE_PTE_BOOLEAN)
                HONE_TRY(pte_fetch_integer(b, &pte->scope, id, &output->integer, error));
            continue;
        }
        HONE_TRY(pte_fetch(b, &pte->scope, id, &output->value, error));
        hone_graph_keep(b->graph, output->value);
    }
    return HONE_OK;
}

static hone_status build(pte_builder *b, const hone_tensor_type *types, hone_error *error) {
    hone_pte *const pte = b->pte;
    reset_bindings(&pte->scope);
    for (uint32_t d = 0; d < pte->method.delegates.count; d++) reset_bindings(&pte->delegates[d]);
    HONE_TRY(enter_inputs(b, types, error));
    for (uint32_t i = 0; i < pte->method.instructions.count; i++) {
        hone_pte_call call;
        b->instruction = i;
        HONE_TRY(hone_pte_method_call(pte->file, &pte->method, i, &call, error));
        if (call.kind == HONE_PTE_KERNEL) {
            HONE_TRY(add_call(b, &pte->scope, &call, i, error));
        } else if (call.kind == HONE_PTE_DELEGATE) {
            HONE_TRY(call_delegate(b, &call, error));
        } else if (call.kind == HONE_PTE_MOVE) {
            HONE_TRY(move(b, &call, error));
        }
    }
    return leave_outputs(b, error);
}

hone_status pte_build(hone_pte *pte, const hone_tensor_type *types, const hone_tensor *inputs, pte_entry **out,
                      hone_error *error) {
    pte_entry *entry;
    *out = NULL;
    HONE_TRY(HONE_NEW(&entry, "a graph of a program", error));
    pte_builder b = {.pte = pte, .entry = entry, .inputs = inputs};
    entry->counts = true;
    pte->work = 0;
    hone_status status;
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&entry->types, pte->input_count, "the inputs of a program", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&entry->labels, pte->input_count, "the inputs of a program", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&entry->outputs, pte->output_count, "the outputs of a program", error), done);
    HONE_TRY_GOTO(hone_graph_create(&entry->graph, error), done);
    HONE_TRY_GOTO(hone_graph_reserve(entry->graph, pte->calls, pte->calls + pte->input_count, error), done);
    b.graph = entry->graph;
    status = build(&b, types, error);
done:
    hone_arena_clear(&b.arena);
    hone_free(b.origins);
    if (status != HONE_OK) {
        pte_entry_destroy(entry);
        return status;
    }
    *out = entry;
    return HONE_OK;
}

// --- what has been built --------------------------------------------------------------------------------------------

void pte_entry_destroy(pte_entry *entry) {
    if (!entry) return;
    hone_program_destroy(entry->program);
    hone_plan_destroy(entry->plan);
    hone_graph_destroy(entry->graph);
    hone_free(entry->types);
    hone_free(entry->labels);
    hone_free(entry->outputs);
    hone_free(entry->late);
    hone_free(entry->checks);
    hone_free(entry->readings);
    hone_free(entry);
}
