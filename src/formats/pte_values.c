// SPDX-License-Identifier: Apache-2.0
// Values of a method or a delegate as values of the graph: inputs, constants, state, and what calls have made.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/pte_builder.h"
#include "graph/internal.h"

hone_status pte_scope_value(hone_pte *pte, const pte_scope *scope, uint32_t id, hone_pte_value *out,
                            hone_error *error) {
    if (scope->delegate < 0) return hone_pte_method_value(pte->file, &pte->method, id, out, error);
    return hone_pte_blob_value(&pte->blobs[scope->delegate], id, out, error);
}

void pte_bind(pte_scope *scope, uint32_t id, hone_value value) {
    scope->bindings[id] = (pte_binding){.value = value, .bound = true};
}

void pte_give_integer(pte_scope *scope, uint32_t id, int64_t integer) {
    scope->bindings[id] = (pte_binding){.integer = integer, .bound = true};
}

hone_value pte_call(pte_builder *b, const char *op, const hone_argument *arguments, size_t count, hone_error *error) {
    if (!hone_op_find(op)) {
        hone_error_set(error, HONE_UNSUPPORTED, "this version of hone has no operator %s", op);
        return (hone_value){0};
    }
    const hone_value value = hone_graph_call(b->graph, op, arguments, count, NULL, 0);
    const hone_status status = hone_graph_status(b->graph, error);
    if (status != HONE_OK) return (hone_value){0};
    return value.id ? value : (hone_value){UINT32_MAX}; // an operator without results
}

// --- where elements come from ---------------------------------------------------------------------------------------

hone_status pte_tie_to(pte_builder *b, hone_value value, pte_origin origin, hone_error *error) {
    HONE_TRY(HONE_GROW(&b->origins, &b->origin_capacity, (size_t)value.id + 1, "origins of values", error));
    while (b->origin_count <= value.id) b->origins[b->origin_count++] = (pte_origin){0};
    b->origins[value.id] = origin;
    return HONE_OK;
}

pte_origin pte_origin_of(const pte_builder *b, hone_value value) {
    return value.id < b->origin_count ? b->origins[value.id] : (pte_origin){0};
}

hone_status pte_cast(pte_builder *b, hone_value value, hone_dtype dtype, hone_value *out, hone_error *error) {
    *out = value;
    if (hone_graph_type(b->graph, value)->dtype == dtype) return HONE_OK;
    *out = PTE_CALL(b, "aten::_to_copy", error, HONE_T(value), HONE_I(hone_pte_code(dtype)));
    PTE_TRY_VALUE(*out, error);
    return pte_tie_to(b, *out, pte_origin_of(b, value), error);
}

// --- constants and state --------------------------------------------------------------------------------------------

static hone_status add_late(pte_builder *b, hone_value value, bool state, uint32_t index, hone_error *error) {
    pte_entry *const entry = b->entry;
    HONE_TRY(HONE_GROW(&entry->late, &entry->late_capacity, entry->late_count + 1, "values of a program", error));
    entry->late[entry->late_count++] = (pte_late){value, state, index};
    return HONE_OK;
}

hone_status pte_state_name(hone_pte *pte, const pte_scope *scope, uint32_t id, const hone_pte_value *value,
                           const char **out, hone_error *error) {
    char name[64];
    if (scope->delegate < 0) {
        snprintf(name, sizeof name, "value%" PRIu32, id);
    } else {
        snprintf(name, sizeof name, "delegate%d.value%" PRIu32, scope->delegate, id);
    }
    const char *const text = value->text.length ? value->text.bytes : name;
    return hone_arena_string(&pte->arena, text, strlen(text), out, error);
}

static hone_status new_state(pte_builder *b, const pte_scope *scope, uint32_t id, const hone_pte_value *value,
                             bool scratch, uint32_t *out, hone_error *error) {
    hone_pte *const pte = b->pte;
    pte_state state = {.type = value->type,
                       .code = value->code,
                       .scratch = scratch,
                       .delegate = scope->delegate,
                       .value = id,
                       .port = {.type = value->type, .mutated = true}};
    (void)hone_pte_dtype(value->host_code, &state.port.type.dtype);
    if (!scratch && value->constant >= 0) {
        HONE_TRY(pte_value_range(pte, scope, value, &state.range, error));
        state.initial = true;
    }
    HONE_TRY(pte_state_name(pte, scope, id, value, &state.port.name, error));
    HONE_TRY(HONE_GROW(&pte->states, &pte->state_capacity, pte->state_count + 1, "the state of a program", error));
    *out = (uint32_t)pte->state_count;
    pte->states[pte->state_count++] = state;
    return HONE_OK;
}

// The state of storage `id`, which is not yet in this graph.
static hone_status enter_state(pte_builder *b, pte_scope *scope, uint32_t id, const hone_pte_value *value,
                               const hone_tensor_type *type, bool scratch, hone_value *out, hone_error *error) {
    uint32_t index = 0;
    if (scope->held[id]) {
        index = scope->held[id] - 1;
    } else {
        HONE_TRY(new_state(b, scope, id, value, scratch, &index, error));
        scope->held[id] = index + 1;
    }
    *out = hone_graph_state(b->graph, b->pte->states[index].port.name, *type, NULL, 0);
    HONE_TRY(hone_graph_status(b->graph, error));
    return add_late(b, *out, true, index, error);
}

static hone_status enter_constant(pte_builder *b, pte_scope *scope, uint32_t id, const hone_pte_value *value,
                                  hone_value *out, hone_error *error) {
    hone_pte *const pte = b->pte;
    if (!scope->held[id]) {
        hone_pte_range range;
        uint32_t index = 0;
        HONE_TRY(pte_value_range(pte, scope, value, &range, error));
        HONE_TRY(pte_constant_get(pte, range, value, false, &index, error));
        scope->held[id] = index + 1;
    }
    *out = hone_graph_constant(b->graph, NULL, value->type, pte->constants[scope->held[id] - 1].buffer, 0);
    return hone_graph_status(b->graph, error);
}

hone_status pte_fetch(pte_builder *b, pte_scope *scope, uint32_t id, hone_value *out, hone_error *error) {
    hone_pte *const pte = b->pte;
    const char *const file = pte->file->flat.file;
    HONE_FAIL_IF(id >= scope->count, error, BAD_FORMAT, "'%s': value %" PRIu32 " is read, but there are %" PRIu32, file,
                 id, scope->count);
    const uint32_t storage = scope->bindings[id].bound ? id : scope->storage[id];
    const pte_binding *const binding = &scope->bindings[storage];
    if (binding->bound) {
        HONE_FAIL_IF(!binding->value.id, error, BAD_FORMAT, "'%s': value %" PRIu32 " is a number, not a tensor", file,
                     id);
        *out = binding->value;
        return HONE_OK;
    }
    hone_pte_value value;
    HONE_TRY(pte_scope_value(pte, scope, storage, &value, error));
    HONE_FAIL_IF(value.kind != HONE_PTE_TENSOR, error, BAD_FORMAT, "'%s': value %" PRIu32 " is not a tensor", file, id);
    const bool own = scope->delegate < 0 && (value.constant < 0 || value.initial); // a buffer of the method's own
    HONE_FAIL_IF(value.constant < 0 && !own, error, BAD_FORMAT,
                 "'%s': value %" PRIu32 " is read before a call has made it", file, id);
    if (own || scope->mutations[storage]) {
        HONE_TRY(enter_state(b, scope, storage, &value, &value.type, false, out, error));
    } else {
        HONE_TRY(enter_constant(b, scope, storage, &value, out, error));
    }
    pte_bind(scope, storage, *out);
    return HONE_OK;
}

hone_status pte_fetch_integer(pte_builder *b, pte_scope *scope, uint32_t id, int64_t *out, hone_error *error) {
    hone_pte *const pte = b->pte;
    const char *const file = pte->file->flat.file;
    hone_pte_value value;
    HONE_TRY(pte_scope_value(pte, scope, id, &value, error));
    const pte_binding *const binding = &scope->bindings[id];
    if (binding->bound && !binding->value.id) {
        *out = binding->integer;
        return HONE_OK;
    }
    HONE_FAIL_IF(value.kind == HONE_PTE_SYMBOL, error, BAD_FORMAT,
                 "'%s': the number in value %" PRIu32 " is read before a call has made it", file, id);
    bool whole = value.kind == HONE_PTE_INTEGER || value.kind == HONE_PTE_BOOLEAN;
    if (value.kind == HONE_PTE_REAL && value.real >= -0x1p63 && value.real < 0x1p63) {
        value.integer = (int64_t)value.real;
        whole = (double)value.integer == value.real;
    }
    HONE_FAIL_IF(!whole, error, BAD_FORMAT, "'%s': value %" PRIu32 " is not a whole number", file, id);
    *out = value.integer;
    return HONE_OK;
}

// Notes for each value of the method which instruction is the last to have it among its arguments.
static hone_status note_reads(hone_pte *pte, hone_error *error) {
    if (pte->last_read) return HONE_OK;
    HONE_TRY(HONE_NEW_ARRAY(&pte->last_read, pte->scope.count, "the values of a program", error));
    for (uint32_t i = 0; i < pte->method.instructions.count; i++) {
        hone_pte_call call;
        HONE_TRY(hone_pte_method_call(pte->file, &pte->method, i, &call, error));
        if (call.kind == HONE_PTE_MOVE) pte->last_any = i + 1;
        for (uint32_t j = 0; j < call.arguments.count; j++) {
            const uint32_t argument = hone_flat_u32_at(&pte->file->flat, call.arguments, j);
            hone_pte_value value;
            HONE_TRY(hone_pte_method_value(pte->file, &pte->method, argument, &value, error));
            if (value.kind == HONE_PTE_VALUES) pte->last_any = i + 1;
            pte->last_read[argument] = i + 1;
        }
    }
    return HONE_OK;
}

// Whether an instruction behind the present one, or the end, looks at value `id` of the method.
static bool used_later(const pte_builder *b, uint32_t id) {
    const hone_pte *const pte = b->pte;
    const uint32_t now = b->instruction + 1;
    bool used = pte->last_read[id] > now || pte->last_any > now;
    for (uint32_t i = 0; i < pte->output_count && !used; i++)
        used = hone_flat_u32_at(&pte->file->flat, pte->method.outputs, i) == id;
    return used;
}

// What the value is outside of the graph; NULL if a call has made it or it is a constant.
static const pte_late *late_of(const pte_builder *b, hone_value value) {
    size_t low = 0, high = b->entry->late_count; // their numbers rise
    if (b->graph->values[value.id].storage != HONE_STORAGE_STATE) return NULL;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (b->entry->late[middle].value.id < value.id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < b->entry->late_count && b->entry->late[low].value.id == value.id ? &b->entry->late[low] : NULL;
}

bool pte_is_state(const pte_builder *b, hone_value value) {
    const pte_late *const late = late_of(b, value);
    return late && late->state;
}

bool pte_is_input(const pte_builder *b, hone_value value, uint32_t *input) {
    const pte_late *const late = late_of(b, value);
    if (late && !late->state) *input = late->index;
    return late && !late->state;
}

hone_status pte_fetch_state(pte_builder *b, pte_scope *scope, uint32_t id, hone_value *out, hone_error *error) {
    HONE_TRY(pte_fetch(b, scope, id, out, error));
    const uint32_t storage = scope->bindings[id].bound ? id : scope->storage[id];
    const pte_late *const late = late_of(b, *out);
    if (late && late->state && late->index + 1 == scope->held[storage]) return HONE_OK; // its own
    if (late && !late->state) { // an input's buffer, if nobody else will look at it
        const uint32_t input = hone_flat_u32_at(&b->pte->file->flat, b->pte->method.inputs, late->index);
        HONE_TRY(note_reads(b->pte, error));
        if (!used_later(b, input)) return HONE_OK;
    }
    hone_pte_value described;
    HONE_TRY(pte_scope_value(b->pte, scope, storage, &described, error));
    const hone_value before = *out;
    const hone_tensor_type type = *hone_graph_type(b->graph, before);
    HONE_TRY(enter_state(b, scope, storage, &described, &type, true, out, error));
    const hone_value written = PTE_CALL(b, "aten::copy_", error, HONE_T(*out), HONE_T(before));
    PTE_TRY_VALUE(written, error);
    pte_bind(scope, id, *out);
    return HONE_OK;
}

// --- results --------------------------------------------------------------------------------------------------------

// The shape that was computed against the one in the file, which is an upper bound where shapes change.
static hone_status check_shape(pte_builder *b, const hone_tensor_type *wanted, hone_value *value, hone_error *error) {
    const hone_tensor_type got = *hone_graph_type(b->graph, *value);
    bool fits = got.rank == wanted->rank;
    for (int d = 0; d < got.rank && fits; d++)
        fits = got.dims[d] == wanted->dims[d] || (b->pte->dynamic && got.dims[d] < wanted->dims[d]);
    if (fits) return HONE_OK;
    if (!b->pte->dynamic && hone_type_elements(&got) == hone_type_elements(wanted)) {
        *value = PTE_CALL(b, "aten::view_copy", error, HONE_T(*value), HONE_IS(wanted->dims, (size_t)wanted->rank));
        PTE_TRY_VALUE(*value, error);
        return HONE_OK;
    }
    char a[128], c[128];
    HONE_FAIL(error, BAD_FORMAT, "it gives %s, but the file says %s", hone_type_print(&got, a, sizeof a),
              hone_type_print(wanted, c, sizeof c));
}

hone_status pte_give(pte_builder *b, pte_scope *scope, uint32_t id, hone_value value, hone_error *error) {
    hone_pte_value declared;
    HONE_TRY(pte_scope_value(b->pte, scope, id, &declared, error));
    HONE_FAIL_IF(declared.kind != HONE_PTE_TENSOR, error, BAD_FORMAT, "'%s': value %" PRIu32 " is not a tensor",
                 b->pte->file->flat.file, id);
    hone_value fitting;
    HONE_TRY(pte_cast(b, value, declared.type.dtype, &fitting, error));
    HONE_TRY(check_shape(b, &declared.type, &fitting, error));
    hone_value state = {0};
    if (scope->delegate >= 0) {
        const uint32_t storage = scope->storage[id];
        hone_pte_value origin = declared;
        if (storage != id) HONE_TRY(pte_scope_value(b->pte, scope, storage, &origin, error));
        if (origin.constant >= 0) HONE_TRY(pte_fetch(b, scope, storage, &state, error));
    } else if (scope->bindings[id].bound) {
        state = scope->bindings[id].value;
    }
    if (!state.id || !pte_is_state(b, state)) {
        pte_bind(scope, id, fitting);
        return HONE_OK;
    }
    if (state.id == fitting.id) return HONE_OK; // the operator has written it itself
    const hone_value written = PTE_CALL(b, "aten::copy_", error, HONE_T(state), HONE_T(fitting));
    PTE_TRY_VALUE(written, error);
    return HONE_OK;
}
