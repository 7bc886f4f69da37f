// SPDX-License-Identifier: Apache-2.0
// Opening a program: its ports, the scopes of its values, and the graph for the shapes in the file.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/pte_builder.h"

// --- scopes ---------------------------------------------------------------------------------------------------------

static hone_status open_scope(pte_scope *scope, hone_flat *flat, int delegate, uint32_t count, hone_error *error) {
    *scope = (pte_scope){.delegate = delegate, .flat = flat, .count = count};
    HONE_TRY(HONE_NEW_ARRAY(&scope->storage, count, "the values of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&scope->mutations, count, "the values of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&scope->held, count, "the values of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&scope->bindings, count, "the values of a program", error));
    for (uint32_t i = 0; i < count; i++) scope->storage[i] = i;
    return HONE_OK;
}

static void close_scope(pte_scope *scope) {
    hone_free(scope->storage);
    hone_free(scope->mutations);
    hone_free(scope->held);
    hone_free(scope->bindings);
}

// Equal delegates share one blob in the file: its description is read once, the values are each one's own.
static hone_status open_blob(hone_pte *pte, uint32_t index, hone_error *error) {
    hone_pte_blob *const blob = &pte->blobs[index];
    HONE_TRY(hone_pte_blob_locate(pte->file, &pte->method, index, blob, error));
    for (uint32_t d = 0; d < index; d++) {
        const hone_pte_blob *const other = &pte->blobs[d];
        if (other->whole.offset != blob->whole.offset || other->whole.bytes != blob->whole.bytes) continue;
        const bool half = blob->half;
        *blob = *other;
        blob->half = half;
        blob->shared = true;
        return HONE_OK;
    }
    return hone_pte_blob_read(pte->file, index, blob, error);
}

static hone_status open_scopes(hone_pte *pte, hone_error *error) {
    enum { MOST_DELEGATES = 4096, VALUES_AT_LEAST = 4096 };
    const uint32_t count = pte->method.delegates.count;
    const char *const name = pte->file->flat.file;
    const uint64_t size = pte->file->source->size;
    uint64_t bytes = 0, values = 0;
    HONE_FAIL_IF(count > MOST_DELEGATES, error, UNSUPPORTED, "'%s' has %" PRIu32 " delegates; at most %d are run", name,
                 count, MOST_DELEGATES);
    HONE_TRY(HONE_NEW_ARRAY(&pte->blobs, count, "the delegates of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&pte->delegates, count, "the delegates of a program", error));
    HONE_TRY(open_scope(&pte->scope, &pte->file->flat, -1, pte->method.values.count, error));
    for (uint32_t d = 0; d < count; d++) {
        hone_pte_blob *const blob = &pte->blobs[d];
        HONE_TRY(open_blob(pte, d, error));
        bytes += blob->shared ? 0 : blob->flat.size;
        values += blob->values.count;
        // What overlaps, or is named again and again, must not make a small file into much memory.
        HONE_FAIL_IF(bytes > size || values > (size / 4 > VALUES_AT_LEAST ? size / 4 : VALUES_AT_LEAST), error,
                     BAD_FORMAT, "'%s': its delegates overlap (byte %" PRIu64 "): the file is damaged", name,
                     blob->whole.offset);
        HONE_TRY(open_scope(&pte->delegates[d], &blob->flat, (int)d, blob->values.count, error));
    }
    return HONE_OK;
}

// --- ports ----------------------------------------------------------------------------------------------------------

// Type and name of a value of the method as the host sees it.
static hone_status describe(hone_pte *pte, uint32_t id, const char *word, uint32_t index, hone_pte_port *out,
                            hone_error *error) {
    hone_pte_value value;
    char name[32];
    HONE_TRY(hone_pte_method_value(pte->file, &pte->method, id, &value, error));
    switch (value.kind) {
    case HONE_PTE_TENSOR:
        out->type = value.type;
        (void)hone_pte_dtype(value.code, &out->type.dtype);
        out->bounded = value.bounded;
        break;
    case HONE_PTE_REAL:
        out->type = hone_type(HONE_DTYPE_F64, 0);
        break;
    case HONE_PTE_BOOLEAN:
        out->type = hone_type(HONE_DTYPE_BOOL, 0);
        break;
    case HONE_PTE_INTEGER:
        out->type = hone_type(HONE_DTYPE_I64, 0);
        break;
    default:
        out->type = hone_type(HONE_DTYPE_I64, 1, (int64_t)0); // nothing
        break;
    }
    snprintf(name, sizeof name, "%s%" PRIu32, word, index);
    const bool named = value.kind == HONE_PTE_TENSOR && value.text.length > 0;
    return hone_arena_string(&pte->arena, named ? value.text.bytes : name, named ? value.text.length : strlen(name),
                             &out->name, error);
}

static hone_status open_ports(hone_pte *pte, hone_error *error) {
    enum { PORTS_AT_LEAST = 4096 };
    hone_flat *const flat = &pte->file->flat;
    pte->input_count = pte->method.inputs.count;
    pte->output_count = pte->method.outputs.count;
    // An input or output of its own takes more bytes in the file; those that share them would make a small file into much
    // memory.
    const uint64_t most = pte->file->source->size / 64 > PORTS_AT_LEAST ? pte->file->source->size / 64 : PORTS_AT_LEAST;
    HONE_FAIL_IF((uint64_t)pte->input_count + pte->output_count > most, error, UNSUPPORTED,
                 "'%s' has %" PRIu32 " inputs and %" PRIu32 " outputs; a file of its size may have %" PRIu64 " in all",
                 flat->file, pte->input_count, pte->output_count, most);
    HONE_TRY(HONE_NEW_ARRAY(&pte->inputs, pte->input_count, "the inputs of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&pte->input_buffers, pte->input_count, "the inputs of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&pte->outputs, pte->output_count, "the outputs of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&pte->results, pte->output_count, "the outputs of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&pte->result_bytes, pte->output_count, "the outputs of a program", error));
    for (uint32_t i = 0; i < pte->input_count; i++) {
        const uint32_t id = hone_flat_u32_at(flat, pte->method.inputs, i);
        HONE_TRY(describe(pte, id, "input", i, &pte->inputs[i], error));
        pte->dynamic |= pte->inputs[i].bounded;
    }
    uint32_t *input_of; // [values] 1 + the input, 0 = none
    HONE_TRY(HONE_NEW_ARRAY(&input_of, pte->scope.count, "the inputs of a program", error));
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < pte->input_count; i++) input_of[hone_flat_u32_at(flat, pte->method.inputs, i)] = i + 1;
    for (uint32_t i = 0; i < pte->output_count && status == HONE_OK; i++) {
        const uint32_t id = hone_flat_u32_at(flat, pte->method.outputs, i);
        status = describe(pte, id, "output", i, &pte->outputs[i], error);
        if (status != HONE_OK || !input_of[id]) continue;
        hone_pte_port *const input = &pte->inputs[input_of[id] - 1];
        input->mutated = pte->outputs[i].mutated = true;
        pte->outputs[i].name = input->name;
    }
    hone_free(input_of);
    return status;
}

// A training step's file says in methods of their own which output is the first gradient, and of what.
static hone_status name_gradients(hone_pte *pte, hone_error *error) {
    hone_pte_file *const file = pte->file;
    hone_pte_method names = {0}, first = {0};
    hone_pte_value value = {0};
    char text[160];
    bool has[2];
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, k ? "__et_training_gradients_index_%.80s" : "__et_training_fqn_%.80s",
                 pte->method.name.bytes);
        has[k] = hone_pte_method_find(file, text, k ? &first : &names, NULL) == HONE_OK;
        HONE_TRY(hone_flat_status(&file->flat, error));
    }
    if (!has[0] || !has[1] || first.outputs.count != 1) return HONE_OK;
    HONE_TRY(hone_pte_method_value(file, &first, hone_flat_u32_at(&file->flat, first.outputs, 0), &value, error));
    if (value.kind != HONE_PTE_INTEGER || value.integer < 0) return HONE_OK;
    const uint64_t begin = (uint64_t)value.integer;
    for (uint32_t i = 0; i < names.outputs.count && begin + i < pte->output_count; i++) {
        HONE_TRY(hone_pte_method_value(file, &names, hone_flat_u32_at(&file->flat, names.outputs, i), &value, error));
        if (value.kind != HONE_PTE_STRING || value.text.length == 0) continue;
        HONE_TRY(
            hone_arena_string(&pte->arena, value.text.bytes, value.text.length, &pte->outputs[begin + i].name, error));
    }
    return HONE_OK;
}

// --- all of it ------------------------------------------------------------------------------------------------------

static hone_status choose_method(hone_pte *pte, const char *name, hone_error *error) {
    if (name) return hone_pte_method_find(pte->file, name, &pte->method, error);
    if (hone_pte_method_find(pte->file, "forward", &pte->method, NULL) == HONE_OK) return HONE_OK;
    HONE_TRY(hone_flat_status(&pte->file->flat, error));
    return hone_pte_method_at(pte->file, 0, &pte->method, error);
}

// The states that a caller sees.
static hone_status list_states(hone_pte *pte, hone_error *error) {
    HONE_TRY(HONE_NEW_ARRAY(&pte->listed, pte->state_count, "the state of a program", error));
    for (uint32_t i = 0; i < pte->state_count; i++) {
        if (!pte->states[i].scratch) pte->listed[pte->listed_count++] = i;
    }
    return HONE_OK;
}

static hone_status open_file(hone_pte *pte, const char *method, hone_error *error) {
    HONE_TRY(choose_method(pte, method, error));
    HONE_TRY(open_scopes(pte, error));
    HONE_TRY(open_ports(pte, error));
    HONE_TRY(name_gradients(pte, error));
    HONE_TRY(pte_step_read(pte, error));
    return pte_scan(pte, error);
}

hone_status pte_open_file(hone_source *source, const char *method, hone_pte **out, hone_error *error) {
    hone_pte *pte;
    *out = NULL;
    HONE_TRY(HONE_NEW(&pte, "a program", error));
    hone_status status = hone_pte_file_read(source, &pte->file, error);
    if (status == HONE_OK) status = open_file(pte, method, error);
    if (status == HONE_OK) {
        *out = pte;
        return HONE_OK;
    }
    if (pte->file) pte->file->source = NULL; // stays with the caller
    hone_pte_close(pte);
    return status;
}

// The graph for the shapes in the file; constants go onto the device.
static hone_status open_graph(hone_pte *pte, hone_error *error) {
    hone_tensor_type *types;
    pte_entry *entry = NULL;
    HONE_TRY(pte_check_needs(pte, error));
    HONE_TRY(hone_allocate_raw(PTE_CHUNK, 2 * sizeof(double), "room for conversions", &pte->scratch, error));
    HONE_TRY(HONE_NEW_ARRAY(&pte->live, pte->scalar_count, "the numbers of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&types, pte->input_count, "the inputs of a program", error));
    for (uint32_t i = 0; i < pte->input_count; i++) {
        types[i] = pte->inputs[i].type;
        types[i].dtype = hone_pte_device_dtype(types[i].dtype);
    }
    const hone_status status = pte_build(pte, types, NULL, &entry, error);
    hone_free(types);
    HONE_TRY(status);
    pte_entry_add(pte, entry);
    return list_states(pte, error);
}

hone_status hone_pte_open_source(hone_device *device, hone_source *source, const hone_pte_options *options,
                                 hone_pte **out, hone_error *error) {
    hone_pte *pte;
    *out = NULL;
    HONE_TRY(pte_open_file(source, options ? options->method : NULL, &pte, error));
    pte->device = device;
    pte->is_live = options && options->live;
    const hone_status status = open_graph(pte, error);
    if (status != HONE_OK) {
        if (error && !strstr(error->message, source->name)) hone_error_prefix(error, "'%s'", source->name);
        pte->file->source = NULL; // stays with the caller
        hone_pte_close(pte);
        return status;
    }
    *out = pte;
    return HONE_OK;
}

hone_status hone_pte_open(hone_device *device, const char *path, const hone_pte_options *options, hone_pte **out,
                          hone_error *error) {
    hone_source *source = NULL;
    *out = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_pte_open_source(device, source, options, out, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

void hone_pte_close(hone_pte *pte) {
    if (!pte) return;
    pte_entries_clear(pte);
    for (uint32_t d = 0; d < pte->method.delegates.count && pte->blobs && pte->delegates; d++) {
        if (!pte->blobs[d].shared) hone_pte_blob_clear(&pte->blobs[d]);
        close_scope(&pte->delegates[d]);
    }
    close_scope(&pte->scope);
    hone_free(pte->blobs);
    hone_free(pte->delegates);
    for (size_t i = 0; i < pte->constant_count; i++) hone_buffer_destroy(pte->constants[i].buffer);
    for (size_t i = 0; i < pte->state_count; i++) hone_buffer_destroy(pte->states[i].buffer);
    for (uint32_t i = 0; i < pte->input_count && pte->input_buffers; i++) hone_buffer_destroy(pte->input_buffers[i]);
    for (uint32_t i = 0; i < pte->output_count && pte->results; i++) hone_free(pte->results[i].data);
    for (size_t i = 0; i < pte->listed_count && pte->saved; i++) hone_free(pte->saved[i]);
    hone_buffer_destroy(pte->plan_arena);
    void *const owned[] = {pte->constants, pte->buckets,  pte->states,        pte->listed,       pte->scalars,
                           pte->live,      pte->profile,  pte->inputs,        pte->outputs,      pte->staging,
                           pte->scratch,   pte->results,  pte->input_buffers, pte->result_bytes, pte->needs,
                           pte->saved,     pte->last_read};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) hone_free(owned[i]);
    hone_arena_clear(&pte->arena);
    hone_pte_file_close(pte->file);
    hone_free(pte);
}
