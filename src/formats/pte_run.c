// SPDX-License-Identifier: Apache-2.0
// One call of a program as a machine of phases: check and prepare, upload and submit, wait, read the outputs back.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/pte_program.h"
#include "graph/internal.h"

// --- look -----------------------------------------------------------------------------------------------------------

size_t hone_pte_input_count(const hone_pte *pte) {
    return pte->input_count;
}
const hone_pte_port *hone_pte_input(const hone_pte *pte, size_t index) {
    return index < pte->input_count ? &pte->inputs[index] : NULL;
}
size_t hone_pte_output_count(const hone_pte *pte) {
    return pte->output_count;
}
const hone_pte_port *hone_pte_output(const hone_pte *pte, size_t index) {
    return index < pte->output_count ? &pte->outputs[index] : NULL;
}

static bool find(const hone_pte_port *ports, size_t count, const char *name, size_t *index) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ports[i].name, name) != 0) continue;
        *index = i;
        return true;
    }
    return false;
}

bool hone_pte_find_input(const hone_pte *pte, const char *name, size_t *index) {
    return find(pte->inputs, pte->input_count, name, index);
}
bool hone_pte_find_output(const hone_pte *pte, const char *name, size_t *index) {
    return find(pte->outputs, pte->output_count, name, index);
}

// --- what is given --------------------------------------------------------------------------------------------------

static hone_status refuse_input(const hone_pte *pte, uint32_t index, const hone_tensor *given, hone_error *error) {
    char a[128], b[128];
    const hone_pte_port *const port = &pte->inputs[index];
    HONE_FAIL(error, MISMATCH, "'%s': input %" PRIu32 " (%s) is %s, but %s is wanted%s", pte->file->flat.file, index,
              port->name, hone_type_print(&given->type, a, sizeof a), hone_type_print(&port->type, b, sizeof b),
              port->bounded ? " at most" : "");
}

static hone_status check_input(const hone_pte *pte, uint32_t index, const hone_tensor *given, hone_tensor_type *out,
                               hone_error *error) {
    const hone_pte_port *const port = &pte->inputs[index];
    HONE_TRY(hone_type_check(&given->type, port->name, error));
    bool fits = given->type.rank == port->type.rank && pte_may_give(given->type.dtype, port->type.dtype);
    for (int d = 0; d < port->type.rank && fits; d++) {
        fits = given->type.dims[d] == port->type.dims[d] || (port->bounded && given->type.dims[d] < port->type.dims[d]);
    }
    if (!fits) return refuse_input(pte, index, given, error);
    HONE_FAIL_IF(!given->data && hone_type_elements(&given->type) > 0, error, INVALID_ARGUMENT,
                 "input %" PRIu32 " has no data", index);
    *out = given->type;
    out->dtype = hone_pte_device_dtype(port->type.dtype);
    return HONE_OK;
}

// A number among the inputs is fixed in the file: another one would need another program.
static hone_status check_number(hone_pte *pte, uint32_t index, const hone_tensor *given, hone_error *error) {
    hone_pte_value value;
    HONE_TRY(hone_pte_method_value(pte->file, &pte->method,
                                   hone_flat_u32_at(&pte->file->flat, pte->method.inputs, index), &value, error));
    double wanted = 0, got = 0;
    if (value.kind == HONE_PTE_TENSOR || hone_type_elements(&pte->inputs[index].type) == 0) return HONE_OK;
    wanted = value.kind == HONE_PTE_REAL ? value.real : (double)value.integer;
    pte_widen(HONE_DTYPE_F64, &got, given->type.dtype, given->data, 1);
    HONE_FAIL_IF(got != wanted, error, MISMATCH, "'%s': input %" PRIu32 " is %g, but the program was made for %g there",
                 pte->file->flat.file, index, got, wanted);
    return HONE_OK;
}

static hone_status check_indices(const hone_pte *pte, const pte_entry *entry, const hone_tensor *inputs,
                                 hone_error *error) {
    for (size_t c = 0; c < entry->check_count; c++) {
        const pte_check *const check = &entry->checks[c];
        const hone_tensor *const input = &inputs[check->input];
        const int64_t count = hone_type_elements(&input->type);
        for (int64_t i = 0; i < count; i++) {
            const int64_t index = pte_integer_at(input, i);
            if (index >= check->low && index < check->high) continue;
            char range[64];
            if (check->low == INT64_MIN) {
                snprintf(range, sizeof range, "less than %" PRId64, check->high);
            } else {
                snprintf(range, sizeof range, "%" PRId64 " to %" PRId64, check->low, check->high - 1);
            }
            HONE_FAIL(error, BAD_DATA,
                      "'%s': element %" PRId64 " of input %" PRIu32 " (%s) is %" PRId64 ", but %s takes %s",
                      pte->file->flat.file, i, check->input, pte->inputs[check->input].name, index, check->what, range);
        }
    }
    return HONE_OK;
}

static hone_status begin(hone_pte *pte, const hone_tensor *inputs, hone_error *error) {
    hone_tensor_type *types;
    HONE_TRY(HONE_NEW_ARRAY(&types, pte->input_count, "the inputs of a program", error));
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < pte->input_count; i++) {
        HONE_TRY_GOTO(check_input(pte, i, &inputs[i], &types[i], error), done);
        HONE_TRY_GOTO(check_number(pte, i, &inputs[i], error), done);
    }
    HONE_TRY_GOTO(pte_entry_choose(pte, types, inputs, &pte->running, error), done);
    status = check_indices(pte, pte->running, inputs, error);
done:
    hone_free(types);
    return status;
}

// --- onto the device and off ----------------------------------------------------------------------------------------

static hone_status submit(hone_pte *pte, const hone_tensor *inputs, hone_error *error) {
    const pte_entry *const entry = pte->running;
    HONE_TRY(pte_numbers_now(pte, entry, inputs, error));
    for (size_t i = 0; i < entry->late_count; i++) {
        const pte_late *const late = &entry->late[i];
        if (late->state) continue;
        char what[96];
        snprintf(what, sizeof what, "input %" PRIu32 " (%.60s)", late->index, pte->inputs[late->index].name);
        HONE_TRY(pte_upload(pte, &inputs[late->index], entry->types[late->index].dtype, pte->input_buffers[late->index],
                            what, error));
    }
    HONE_TRY(hone_program_submit(entry->program, 0, pte->live, pte->scalar_count, error));
    pte->step++;
    return HONE_OK;
}

static hone_status check_flags(const hone_pte *pte, hone_error *error) {
    const uint32_t flags = hone_program_flags(pte->running->program);
    HONE_FAIL_IF(flags & HONE_FLAG_INDEX, error, BAD_DATA,
                 "'%s', call %" PRId64 ": an index that the program computes leaves its table", pte->file->flat.file,
                 pte->step);
    HONE_FAIL_IF(flags & HONE_FLAG_COUNT, error, BAD_DATA,
                 "'%s', call %" PRId64 ": n_valid is not positive though there are labels; set it, or run live",
                 pte->file->flat.file, pte->step);
    return HONE_OK;
}

static hone_status make_room(void **data, size_t *room, size_t bytes, hone_error *error) {
    if (*data && *room >= bytes) return HONE_OK;
    void *fresh;
    HONE_TRY(hone_allocate_raw(bytes, 1, "an output of a program", &fresh, error));
    hone_free(*data);
    *data = fresh;
    *room = bytes;
    return HONE_OK;
}

static hone_status download(hone_pte *pte, uint32_t index, hone_error *error) {
    const pte_output *const output = &pte->running->outputs[index];
    hone_tensor *const result = &pte->results[index];
    result->type = pte->outputs[index].type;
    const hone_graph *const graph = pte->running->graph;
    if (output->value.id) {
        const hone_dtype dtype = result->type.dtype;
        result->type = *hone_graph_type(graph, output->value);
        result->type.dtype = dtype;
    }
    HONE_TRY(make_room(&result->data, &pte->result_bytes[index], hone_type_bytes(&result->type), error));
    if (!output->value.id) { // a number
        const hone_dtype dtype = result->type.dtype == HONE_DTYPE_BOOL ? HONE_DTYPE_U8 : HONE_DTYPE_I64;
        const uint8_t truth = output->integer != 0;
        if (hone_type_elements(&result->type) > 0)
            pte_widen(result->type.dtype, result->data, dtype,
                      dtype == HONE_DTYPE_U8 ? (const void *)&truth : &output->integer, 1);
        return HONE_OK;
    }
    hone_tensor_type type = *hone_graph_type(graph, output->value);
    const bool same = type.dtype == result->type.dtype;
    if (!same) HONE_TRY(make_room(&pte->staging, &pte->staging_bytes, hone_type_bytes(&type), error));
    void *const to = same ? result->data : pte->staging;
    const hone_value_info *const info = &graph->values[output->value.id];
    hone_buffer *buffer = info->buffer;
    size_t offset = 0;
    if (info->storage == HONE_STORAGE_TEMPORARY)
        HONE_TRY(hone_program_locate(pte->running->program, output->value, &buffer, &offset, error));
    HONE_TRY(hone_buffer_download(buffer, offset, to, hone_type_bytes(&type), error));
    if (!same) pte_widen(result->type.dtype, result->data, type.dtype, to, (size_t)hone_type_elements(&type));
    return HONE_OK;
}

// --- the machine ----------------------------------------------------------------------------------------------------

static hone_status go_on(hone_pte *pte, const hone_tensor *inputs, hone_error *error) {
    switch (pte->phase) {
    case PTE_IDLE:
        HONE_TRY(begin(pte, inputs, error));
        pte->phase = PTE_CREATE;
        // fallthrough
    case PTE_CREATE:
        HONE_TRY(pte_entry_prepare(pte, pte->running, error));
        HONE_TRY(submit(pte, inputs, error));
        pte->phase = PTE_WAIT;
        // fallthrough
    case PTE_WAIT:
        HONE_TRY(hone_program_wait(pte->running->program, error));
        HONE_TRY(check_flags(pte, error));
        pte->phase = PTE_DOWNLOAD;
        pte->downloaded = 0;
        // fallthrough
    case PTE_DOWNLOAD:
        for (; pte->downloaded < pte->output_count; pte->downloaded++) HONE_TRY(download(pte, pte->downloaded, error));
    }
    return HONE_OK;
}

hone_status hone_pte_run(hone_pte *pte, const hone_tensor *inputs, size_t input_count, hone_tensor *outputs,
                         size_t output_count, hone_error *error) {
    HONE_FAIL_IF(input_count != pte->input_count || output_count != pte->output_count, error, INVALID_ARGUMENT,
                 "'%s' takes %" PRIu32 " inputs and gives %" PRIu32 " outputs, not %zu and %zu", pte->file->flat.file,
                 pte->input_count, pte->output_count, input_count, output_count);
    const hone_status status = go_on(pte, inputs, error);
    if (status == HONE_PENDING) return status;
    pte->phase = PTE_IDLE;
    for (size_t i = 0; i < output_count && status == HONE_OK; i++) outputs[i] = pte->results[i];
    return status;
}

// --- state ----------------------------------------------------------------------------------------------------------

size_t hone_pte_state_count(const hone_pte *pte) {
    return pte->listed_count;
}
const hone_pte_port *hone_pte_state(const hone_pte *pte, size_t index) {
    return index < pte->listed_count ? &pte->states[pte->listed[index]].port : NULL;
}

static hone_status find_state(hone_pte *pte, size_t index, pte_state **out, hone_error *error) {
    HONE_FAIL_IF(index >= pte->listed_count, error, INVALID_ARGUMENT, "'%s' has no state %zu: it has %zu",
                 pte->file->flat.file, index, pte->listed_count);
    *out = &pte->states[pte->listed[index]];
    return (*out)->buffer ? HONE_OK : pte_state_begin(pte, *out, error);
}

hone_status hone_pte_state_read(hone_pte *pte, size_t index, void *data, hone_error *error) {
    pte_state *state = NULL;
    HONE_TRY(find_state(pte, index, &state, error));
    const size_t bytes = hone_type_bytes(&state->type);
    if (state->type.dtype == state->port.type.dtype) return hone_buffer_download(state->buffer, 0, data, bytes, error);
    HONE_TRY(make_room(&pte->staging, &pte->staging_bytes, bytes, error));
    HONE_TRY(hone_buffer_download(state->buffer, 0, pte->staging, bytes, error));
    pte_widen(state->port.type.dtype, data, state->type.dtype, pte->staging, (size_t)hone_type_elements(&state->type));
    return HONE_OK;
}

hone_status hone_pte_state_write(hone_pte *pte, size_t index, const void *data, hone_error *error) {
    pte_state *state = NULL;
    HONE_TRY(find_state(pte, index, &state, error));
    const hone_tensor given = {.type = state->port.type, .data = (void *)(uintptr_t)data};
    return pte_upload(pte, &given, state->type.dtype, state->buffer, state->port.name, error);
}

hone_status hone_pte_reset(hone_pte *pte, hone_error *error) {
    for (size_t i = 0; i < pte->state_count; i++) {
        if (pte->states[i].buffer && !pte->states[i].scratch) HONE_TRY(pte_state_begin(pte, &pte->states[i], error));
    }
    pte->step = pte->file_step;
    pte->phase = PTE_IDLE;
    return HONE_OK;
}
