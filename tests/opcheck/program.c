// SPDX-License-Identifier: Apache-2.0
// Runs a case on a device: buffers with guards, the graph, its plan and program, what comes back.
#include "opcheck/check.h"

#include <stdio.h>
#include <string.h>

#include "graph/plan.h"

size_t check_round_up(size_t bytes) {
    return (bytes + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

hone_status check_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    if (bytes == 0) return HONE_OK;
    hone_status status;
    do {
        status = hone_buffer_download(buffer, offset, data, bytes, error);
    } while (status == HONE_PENDING);
    return status;
}

static void add_result(check_program *program, hone_value value, const char *what, size_t index) {
    check_result *const result = &program->results[program->result_count++];
    *result = (check_result){.value = value, .index = index};
    snprintf(result->what, sizeof(result->what), "%s %zu", what, index);
    if (!value.id) return;
    result->type = *hone_graph_type(program->graph, value);
    result->bytes = hone_type_bytes(&result->type);
    hone_graph_keep(program->graph, value);
}

// --- buffers
// -------------------------------------------------------------------------------------------------------

static hone_status create_buffer(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                 hone_error *error) {
    return hone_buffer_create(device, CHECK_GUARD + check_round_up(bytes) + CHECK_GUARD, what, out, error);
}

// Gives every temporary a place of its own with a guard before and behind it. Sharing bytes would hide reads
// of what was never written, and writes beside the own place.
static void spread(hone_plan *plan) {
    size_t end = CHECK_GUARD;
    for (uint32_t v = 1; v < plan->value_count; v++) {
        hone_plan_value *const value = &plan->values[v];
        if (value->storage != HONE_STORAGE_TEMPORARY || value->root != v) continue;
        value->offset = end;
        end += check_round_up(value->bytes ? value->bytes : 4) + CHECK_GUARD;
    }
    plan->bytes.temporaries = end;
}

// A gradient may be a seed as it is, which the program then does not know.
static hone_status locate(check_program *program, check_result *result, hone_error *error) {
    if (!result->value.id) return HONE_OK;
    for (size_t i = 0; i < CHECK_OUTPUTS; i++) {
        if (program->seed_values[i].id != result->value.id) continue;
        result->buffer = program->seeds[i];
        result->offset = CHECK_GUARD;
        return HONE_OK;
    }
    return hone_program_locate(program->program, result->value, &result->buffer, &result->offset, error);
}

static hone_status make_program(check_program *program, size_t first_backward_node, hone_error *error) {
    const hone_plan_options options = {.first_backward_node = first_backward_node,
                                       .max_arena_bytes = hone_device_piece_bytes(program->device)};
    HONE_TRY(hone_plan_create(program->graph, &options, &program->plan, error));
    spread(program->plan);
    HONE_TRY(
        hone_buffer_create(program->device, program->plan->bytes.temporaries, "the arena", &program->arena, error));
    hone_status status;
    do {
        status = hone_program_create(program->device, program->plan, program->arena, &program->program, error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    for (size_t i = 0; i < program->result_count; i++) HONE_TRY(locate(program, &program->results[i], error));
    return HONE_OK;
}

static hone_status begin(check_program *program, hone_device *device, const check_case *drawn, hone_error *error) {
    *program = (check_program){.device = device, .drawn = drawn};
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        HONE_TRY(create_buffer(device, drawn->inputs[i].bytes, "a case's input", &program->inputs[i], error));
    }
    program->live_count = hone_case_live(&drawn->call, program->live);
    HONE_TRY(hone_graph_create(&program->graph, error));
    const hone_case_buffers buffers = {program->inputs, CHECK_GUARD};
    return hone_case_emit(program->graph, &drawn->call, &buffers, program->input_values, error);
}

hone_status check_program_forward(check_program *program, hone_device *device, const check_case *drawn,
                                  hone_error *error) {
    HONE_TRY(begin(program, device, drawn, error));
    const hone_node *const node = hone_graph_node(program->graph, 0);
    for (size_t i = 0; i < drawn->output_count; i++) add_result(program, hone_node_output(node, i), "output", i);
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        if (drawn->mutated[i]) add_result(program, program->input_values[i], "mutated input", i);
    }
    return make_program(program, 0, error);
}

hone_status check_program_gradient(check_program *program, hone_device *device, const check_case *drawn,
                                   const hone_case_tensor *seeds, uint32_t wrt, hone_error *error) {
    HONE_TRY(begin(program, device, drawn, error));
    program->backward = true;
    const hone_node *const node = hone_graph_node(program->graph, 0);
    hone_value outputs[CHECK_OUTPUTS];
    hone_value seeds_given[CHECK_OUTPUTS];
    size_t seeded = 0;
    for (size_t i = 0; i < drawn->output_count; i++) {
        if (!seeds[i].values) continue;
        HONE_TRY(create_buffer(device, seeds[i].bytes, "a seed", &program->seeds[i], error));
        HONE_TRY(hone_buffer_upload(program->seeds[i], CHECK_GUARD, seeds[i].data, seeds[i].bytes, error));
        program->seed_values[i] =
            hone_graph_state(program->graph, "seed", seeds[i].type, program->seeds[i], CHECK_GUARD);
        outputs[seeded] = hone_node_output(node, i);
        seeds_given[seeded++] = program->seed_values[i];
    }
    hone_value inputs[HONE_CASE_INPUTS];
    hone_value gradients[HONE_CASE_INPUTS] = {0};
    size_t indices[HONE_CASE_INPUTS];
    size_t count = 0;
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        if (!(wrt >> i & 1)) continue;
        indices[count] = i;
        inputs[count++] = program->input_values[i];
    }
    const size_t first_backward_node = hone_graph_node_count(program->graph);
    HONE_TRY(hone_graph_gradients(program->graph, outputs, seeds_given, seeded, inputs, count, NULL, gradients, error));
    for (size_t i = 0; i < count; i++) add_result(program, gradients[i], "gradient of input", indices[i]);
    HONE_TRY(hone_graph_status(program->graph, error));
    bool any = false;
    for (size_t i = 0; i < count; i++) any |= gradients[i].id != 0;
    return any ? make_program(program, first_backward_node, error) : HONE_OK;
}

void check_program_close(check_program *program) {
    hone_program_destroy(program->program);
    hone_plan_destroy(program->plan);
    hone_graph_destroy(program->graph);
    for (size_t i = 0; i < HONE_CASE_INPUTS; i++) hone_buffer_destroy(program->inputs[i]);
    for (size_t i = 0; i < CHECK_OUTPUTS; i++) hone_buffer_destroy(program->seeds[i]);
    hone_buffer_destroy(program->arena);
}

// --- running
// -------------------------------------------------------------------------------------------------------

// 0xFF bytes are NaN in every float type: what reads a guard or an unwritten place ends in NaN, and what
// writes beside its place leaves something else than 0xFF.
static hone_status fill(hone_buffer *buffer, size_t offset, size_t bytes, hone_error *error) {
    static unsigned char pattern[1 << 16];
    memset(pattern, 0xFF, sizeof(pattern));
    for (size_t at = 0; at < bytes; at += sizeof(pattern)) {
        const size_t n = bytes - at < sizeof(pattern) ? bytes - at : sizeof(pattern);
        HONE_TRY(hone_buffer_upload(buffer, offset + at, pattern, n, error));
    }
    return HONE_OK;
}

static hone_status prepare(check_program *program, hone_error *error) {
    for (size_t i = 0; i < program->drawn->row->input_count; i++) {
        const hone_case_tensor *const input = &program->drawn->inputs[i];
        hone_buffer *const buffer = program->inputs[i];
        HONE_TRY(fill(buffer, 0, CHECK_GUARD, error));
        const size_t behind = CHECK_GUARD + input->bytes / 4 * 4;
        HONE_TRY(fill(buffer, behind, hone_buffer_bytes(buffer) - behind, error));
        if (input->bytes) HONE_TRY(hone_buffer_upload(buffer, CHECK_GUARD, input->data, input->bytes, error));
    }
    return fill(program->arena, 0, hone_buffer_bytes(program->arena), error);
}

hone_status check_program_run(check_program *program, bool quick, hone_error *error) {
    if (!program->program) return HONE_OK; // no gradient exists
    if (!quick) HONE_TRY(prepare(program, error));
    HONE_TRY(hone_program_submit(program->program, 0, program->live, program->live_count, error));
    hone_status status;
    do {
        status = hone_program_wait(program->program, error);
    } while (status == HONE_PENDING);
    return status;
}

hone_status check_program_read(check_program *program, size_t index, void *data, hone_error *error) {
    const check_result *const result = &program->results[index];
    return check_download(result->buffer, result->offset, data, result->bytes, error);
}

// --- what must not change
// --------------------------------------------------------------------------------------------

static hone_status input_intact(check_program *program, size_t index, hone_error *error) {
    const hone_case_tensor *const input = &program->drawn->inputs[index];
    const size_t total = hone_buffer_bytes(program->inputs[index]);
    unsigned char *bytes;
    HONE_TRY(hone_allocate_raw(total, 1, "a guard check", (void **)&bytes, error));
    hone_status status = check_download(program->inputs[index], 0, bytes, total, error);
    for (size_t i = 0; i < total && status == HONE_OK; i++) {
        const bool inside = i >= CHECK_GUARD && i < CHECK_GUARD + input->bytes;
        if (inside && program->drawn->mutated[index]) continue;
        const unsigned char want = inside ? ((const unsigned char *)input->data)[i - CHECK_GUARD] : 0xFF;
        if (bytes[i] == want) continue;
        if (inside) {
            status = hone_error_set(error, HONE_MISMATCH, "input %zu is changed at byte %zu", index, i - CHECK_GUARD);
        } else {
            status = hone_error_set(error, HONE_MISMATCH, "written outside input %zu, %lld bytes from its start", index,
                                    (long long)i - CHECK_GUARD);
        }
    }
    hone_free(bytes);
    return status;
}

// A byte at `at` of the arena that no value owns: named by the value before it.
static hone_status stray(const check_program *program, size_t at, hone_error *error) {
    uint32_t nearest = 0;
    for (uint32_t v = 1; v < program->plan->value_count; v++) {
        const hone_plan_value *const value = &program->plan->values[v];
        if (value->storage == HONE_STORAGE_TEMPORARY && value->root == v && value->offset <= at) nearest = v;
    }
    const hone_plan_value *const value = &program->plan->values[nearest];
    const char *what = "an inner value";
    for (size_t i = 0; i < program->result_count; i++) {
        if (nearest && program->results[i].value.id == value->origin) what = program->results[i].what;
    }
    if (!nearest) return hone_error_set(error, HONE_MISMATCH, "written before the first result");
    return hone_error_set(error, HONE_MISMATCH, "written outside the results: %zu bytes behind %s",
                          at - value->offset - value->bytes, what);
}

static hone_status arena_intact(check_program *program, hone_error *error) {
    const size_t total = hone_buffer_bytes(program->arena);
    unsigned char *bytes;
    HONE_TRY(hone_allocate_raw(total, 1, "a guard check", (void **)&bytes, error));
    hone_status status = check_download(program->arena, 0, bytes, total, error);
    for (uint32_t v = 1; v < program->plan->value_count && status == HONE_OK; v++) {
        const hone_plan_value *const value = &program->plan->values[v];
        if (value->storage != HONE_STORAGE_TEMPORARY || value->root != v) continue;
        // An empty value owns 4 bytes; small types may be whole words on a GPU.
        memset(bytes + value->offset, 0xFF, value->bytes ? (value->bytes + 3) / 4 * 4 : 4);
    }
    for (size_t at = 0; at < total && status == HONE_OK; at++) {
        if (bytes[at] != 0xFF) status = stray(program, at, error);
    }
    hone_free(bytes);
    return status;
}

hone_status check_program_intact(check_program *program, hone_error *error) {
    if (!program->program) return HONE_OK;
    for (size_t i = 0; i < program->drawn->row->input_count; i++) HONE_TRY(input_intact(program, i, error));
    return arena_intact(program, error);
}
