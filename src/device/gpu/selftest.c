// SPDX-License-Identifier: Apache-2.0
// The self-test: each kernel of each operator runs the cases that the build has put into the library, and the CPU runs them
// too. A machine of phases that may be left with HONE_PENDING wherever the GPU may be late.
#include "device/gpu/selftest.h"

#include <stdio.h>
#include <string.h>

#include "ops/case.h"

#define TEST_SEED 20240229

// The call of a case on one of the two devices.
typedef struct test_side {
    hone_device *device;
    hone_buffer *inputs[HONE_CASE_INPUTS];
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program;
    hone_value input_values[HONE_CASE_INPUTS];
} test_side;

// What is compared: an output, or an input that the operator writes.
typedef struct test_result {
    hone_tensor_type type;
    char what[32];
    bool input;
    size_t index;
    double *want; // as the CPU has it
    void *got;
} test_result;

typedef enum test_phase { TEST_CASE, TEST_KERNEL, TEST_CREATE, TEST_WAIT, TEST_READ, TEST_NEXT } test_phase;

struct gpu_testing {
    bool all; // else only the cases marked `first`
    hone_device *cpu;
    const hone_case *at;            // the case at hand; its op is NULL at the end
    const hone_op *op;              // the case's
    const hone_kernel_variant *row; // the kernel at hand
    uint64_t tested;                // bit i: row i of the operator has run a case
    test_phase phase;
    hone_arena arena; // of the case
    hone_case_tensor inputs[HONE_CASE_INPUTS];
    bool mutated[HONE_CASE_INPUTS];
    double live[HONE_CASE_ARGUMENTS];
    size_t live_count;
    test_result results[HONE_CASE_OUTPUTS + HONE_CASE_INPUTS];
    size_t result_count, reading;
    test_side reference, own;
    void (*report)(void *context, const hone_self_test_result *result);
    void *context;
};

// --- one side --------------------------------------------------------------------------------------------------------
static void side_close(test_side *side) {
    hone_program_destroy(side->program);
    hone_plan_destroy(side->plan);
    hone_graph_destroy(side->graph);
    for (size_t i = 0; i < HONE_CASE_INPUTS; i++) hone_buffer_destroy(side->inputs[i]);
    *side = (test_side){0};
}

// All but the program.
static hone_status side_open(gpu_testing *test, hone_device *device, test_side *side, hone_error *error) {
    *side = (test_side){.device = device};
    for (size_t i = 0; i < test->at->input_count; i++) {
        const hone_case_tensor *const input = &test->inputs[i];
        const size_t bytes = (input->bytes + 3) / 4 * 4; // the GPU sees whole words
        HONE_TRY(hone_buffer_create(device, bytes ? bytes : 4, "the self-test", &side->inputs[i], error));
        HONE_TRY(hone_buffer_upload(side->inputs[i], 0, input->data, input->bytes, error));
    }
    HONE_TRY(hone_graph_create(&side->graph, error));
    const hone_case_buffers buffers = {side->inputs, 0};
    HONE_TRY(hone_case_emit(side->graph, test->at, &buffers, side->input_values, error));
    const hone_node *const node = hone_graph_node(side->graph, hone_graph_node_count(side->graph) - 1);
    for (size_t i = 0; i < hone_node_output_count(node); i++) hone_graph_keep(side->graph, hone_node_output(node, i));
    return hone_plan_create(side->graph, NULL, &side->plan, error);
}

static hone_status side_read(const test_side *side, const test_result *result, void *data, hone_error *error) {
    const hone_node *const node = hone_graph_node(side->graph, hone_graph_node_count(side->graph) - 1);
    hone_buffer *buffer = side->inputs[result->index];
    size_t offset = 0;
    if (!result->input)
        HONE_TRY(hone_program_locate(side->program, hone_node_output(node, result->index), &buffer, &offset, error));
    return hone_buffer_download(buffer, offset, data, hone_type_bytes(&result->type), error);
}

// --- a case ----------------------------------------------------------------------------------------------------------
static hone_status add_result(gpu_testing *test, const hone_tensor_type *type, bool input, size_t index,
                              hone_error *error) {
    test_result *const result = &test->results[test->result_count++];
    *result = (test_result){.type = *type, .input = input, .index = index};
    snprintf(result->what, sizeof(result->what), "%s %zu", input ? "input" : "output", index);
    const size_t bytes = hone_type_bytes(type);
    const size_t elements = (size_t)hone_type_elements(type);
    HONE_TRY(HONE_ARENA_ARRAY(&test->arena, &result->want, elements + 1, error));
    HONE_TRY(hone_arena_allocate(&test->arena, bytes + 1, 1, &result->got, error));
    HONE_TRY(side_read(&test->reference, result, result->got, error)); // the CPU answers at once
    hone_case_decode(type->dtype, result->got, elements, result->want);
    return HONE_OK;
}

static void case_close(gpu_testing *test) {
    side_close(&test->own);
    side_close(&test->reference);
    hone_arena_clear(&test->arena);
    test->result_count = 0;
}

// Draws the numbers and lets the CPU run the case.
static hone_status case_open(gpu_testing *test, hone_error *error) {
    hone_random random = hone_random_seed(TEST_SEED, (uint64_t)(test->at - hone_selftest_cases));
    HONE_TRY(hone_case_mutated(test->at, test->mutated, error));
    test->live_count = hone_case_live(test->at, test->live);
    for (size_t i = 0; i < test->at->input_count; i++)
        HONE_TRY(hone_case_draw(&test->at->inputs[i], &random, &test->arena, &test->inputs[i], error));
    test_side *const side = &test->reference;
    HONE_TRY(side_open(test, test->cpu, side, error));
    HONE_TRY(hone_program_create(side->device, side->plan, NULL, &side->program, error));
    HONE_TRY(hone_program_submit(side->program, 0, test->live, test->live_count, error));
    const hone_node *const node = hone_graph_node(side->graph, hone_graph_node_count(side->graph) - 1);
    for (size_t i = 0; i < hone_node_output_count(node); i++)
        HONE_TRY(add_result(test, hone_graph_type(side->graph, hone_node_output(node, i)), false, i, error));
    for (size_t i = 0; i < test->at->input_count; i++) {
        if (test->mutated[i]) HONE_TRY(add_result(test, &test->at->inputs[i].type, true, i, error));
    }
    return HONE_OK;
}

// --- verdicts --------------------------------------------------------------------------------------------------------
static void tell(const gpu_testing *test, const hone_kernel_variant *row, hone_verdict verdict, const char *text) {
    char op[128];
    if (!test->report) return;
    snprintf(op, sizeof(op), "%.*s", (int)hone_op_name_length(test->op), test->op->schema);
    const hone_self_test_result result = {.op = op,
                                          .kernel = row->name,
                                          .name = verdict == HONE_VERDICT_UNTESTED ? NULL : test->at->name,
                                          .text = text,
                                          .verdict = verdict};
    test->report(test->context, &result);
}

static hone_status judge_wrong(gpu_device *gpu, const char *text, hone_error *error) {
    gpu_testing *const test = gpu->test;
    tell(test, test->row, HONE_VERDICT_WRONG, text);
    test->phase = TEST_NEXT;
    return gpu_switch_off(gpu, test->op, test->row, text, error);
}

// The CPU and the GPU may each be off by the tolerance, to different sides.
static hone_status judge(gpu_device *gpu, hone_error *error) {
    gpu_testing *const test = gpu->test;
    for (size_t i = 0; i < test->result_count; i++) {
        const test_result *const result = &test->results[i];
        char difference[512];
        char text[600];
        if (hone_case_compare(&result->type, result->got, result->want, 2 * test->at->tolerance, difference,
                              sizeof(difference)))
            continue;
        snprintf(text, sizeof(text), "[%s] %s %s", test->at->name, result->what, difference);
        return judge_wrong(gpu, text, error);
    }
    tell(test, test->row, HONE_VERDICT_RIGHT, NULL);
    test->phase = TEST_NEXT;
    return HONE_OK;
}

// A failure of the kernel's own is a verdict; one of memory or of the device ends the test.
static hone_status judge_failure(gpu_device *gpu, hone_status status, hone_error *error) {
    gpu_testing *const test = gpu->test;
    hone_error why = *error;
    if (gpu->forced_refused || status == HONE_PENDING) {
        test->phase = status == HONE_PENDING ? test->phase : TEST_NEXT;
        return status == HONE_PENDING ? status : HONE_OK;
    }
    if (status == HONE_OUT_OF_MEMORY || status == HONE_INTERRUPTED) return status;
    if (status == HONE_DEVICE_LOST) {
        // Remembered, so that the next one does not fall into it again.
        if (gpu_switch_off(gpu, test->op, test->row, why.message, error) == HONE_OK) gpu_switched_off_save(gpu, false);
        return hone_error_set(error, status, "%s was lost by kernel %s of %.*s, which is switched off now: try again",
                              gpu->base.name, test->row->name, (int)hone_op_name_length(test->op), test->op->schema);
    }
    return judge_wrong(gpu, why.message, error);
}

// --- the machine -----------------------------------------------------------------------------------------------------
static void next_row(gpu_device *gpu) {
    gpu_testing *const test = gpu->test;
    side_close(&test->own);
    gpu->forced = NULL;
    test->row++;
    test->phase = TEST_KERNEL;
}

static hone_status begin_kernel(gpu_device *gpu, hone_error *error) {
    gpu_testing *const test = gpu->test;
    if (gpu_is_off(gpu, test->op, test->row)) {
        test->phase = TEST_NEXT;
        return HONE_OK;
    }
    gpu->forced_op = test->op;
    gpu->forced = test->row;
    gpu->forced_refused = false;
    test->phase = TEST_CREATE;
    return side_open(test, &gpu->base, &test->own, error);
}

static hone_status create(gpu_device *gpu, hone_error *error) {
    gpu_testing *const test = gpu->test;
    test_side *const own = &test->own;
    HONE_TRY(hone_program_create(own->device, own->plan, NULL, &own->program, error));
    HONE_TRY(hone_program_submit(own->program, 0, test->live, test->live_count, error));
    test->tested |= (uint64_t)1 << (test->row - gpu_variants(gpu, test->op));
    test->phase = TEST_WAIT;
    return HONE_OK;
}

static hone_status read_results(gpu_testing *test, hone_error *error) {
    for (; test->reading < test->result_count; test->reading++)
        HONE_TRY(side_read(&test->own, &test->results[test->reading], test->results[test->reading].got, error));
    return HONE_OK;
}

// One phase of the kernel at hand.
static hone_status run_kernel(gpu_device *gpu, hone_error *error) {
    gpu_testing *const test = gpu->test;
    hone_error why = {0};
    hone_status status = HONE_OK;
    switch (test->phase) {
    case TEST_KERNEL:
        status = begin_kernel(gpu, &why);
        break;
    case TEST_CREATE:
        status = create(gpu, &why);
        break;
    case TEST_WAIT:
        status = hone_program_wait(test->own.program, &why);
        test->reading = 0;
        if (status == HONE_OK) test->phase = TEST_READ;
        break;
    case TEST_READ:
        status = read_results(test, &why);
        if (status == HONE_OK) return judge(gpu, error);
        break;
    default:
        next_row(gpu);
        return HONE_OK;
    }
    if (status == HONE_OK) return HONE_OK;
    status = judge_failure(gpu, status, &why);
    if (status != HONE_OK && error) *error = why;
    return status;
}

// After the last case of an operator: which of its kernels have run none.
static void tell_untested(gpu_device *gpu) {
    gpu_testing *const test = gpu->test;
    const hone_kernel_variant *const rows = gpu_variants(gpu, test->op);
    for (size_t i = 0; rows[i].name && i < 64; i++) {
        if (test->tested >> i & 1 || gpu_is_off(gpu, test->op, &rows[i])) continue;
        const bool lacks = rows[i].needs & ~gpu->driver->limits.features;
        tell(test, &rows[i], HONE_VERDICT_UNTESTED,
             lacks ? "needs what this GPU or its driver lacks" : "no case is for it");
    }
}

static hone_status next_case(gpu_device *gpu, hone_error *error) {
    gpu_testing *const test = gpu->test;
    while (test->at->op && !test->all && !test->at->first) test->at++;
    const hone_op *const op = test->at->op ? hone_op_find(test->at->op) : NULL;
    if (test->op && op != test->op) {
        if (test->all) tell_untested(gpu);
        test->tested = 0;
    }
    test->op = op;
    test->row = op ? gpu_variants(gpu, op) : NULL;
    test->phase = TEST_KERNEL;
    return op ? case_open(test, error) : HONE_OK;
}

static hone_status advance(gpu_device *gpu, hone_error *error) {
    gpu_testing *const test = gpu->test;
    for (;;) {
        if (test->phase == TEST_CASE) HONE_TRY(next_case(gpu, error));
        if (!test->at->op) return HONE_OK;
        while (test->row && test->row->name) HONE_TRY(run_kernel(gpu, error));
        case_close(test);
        test->at++;
        test->phase = TEST_CASE;
    }
}

void gpu_self_test_end(gpu_device *gpu) {
    if (!gpu->test) return;
    case_close(gpu->test);
    hone_device_close(gpu->test->cpu);
    hone_free(gpu->test);
    gpu->test = NULL;
    gpu->forced = NULL;
    gpu->forced_op = NULL;
}

// Nearly all of the time of a first self-test is the driver's compiling.
static hone_status make_pipelines(gpu_device *gpu, hone_error *error) {
    gpu_pipeline *wanted;
    size_t count = 0;
    while (hone_selftest_kernels[count].entry) count++;
    HONE_TRY(HONE_NEW_ARRAY(&wanted, count, "pipelines", error));
    count = 0;
    for (const hone_case_kernel *kernel = hone_selftest_kernels; kernel->entry; kernel++) {
        if (kernel->needs & ~gpu->driver->limits.features) continue;
        wanted[count++] = (gpu_pipeline){.entry = kernel->entry, .binding_count = kernel->binding_count};
    }
    gpu_pipelines_make(gpu, wanted, count);
    hone_free(wanted);
    return HONE_OK;
}

static hone_status begin(gpu_device *gpu, bool all, hone_error *error) {
    if (gpu->test) return HONE_OK;
    HONE_TRY(HONE_NEW(&gpu->test, "the self-test", error));
    gpu->test->all = all;
    gpu->test->at = hone_selftest_cases;
    HONE_TRY(make_pipelines(gpu, error));
    return hone_cpu_open(&(hone_device_description){.name = "cpu"}, &gpu->test->cpu, error);
}

static hone_status proceed(gpu_device *gpu, bool all, hone_error *error) {
    hone_status status = begin(gpu, all, error);
    if (status == HONE_OK) status = advance(gpu, error);
    if (status == HONE_PENDING) return status;
    if (status == HONE_OK) gpu_switched_off_save(gpu, true);
    gpu_self_test_end(gpu);
    return status;
}

hone_status gpu_self_test(hone_device *device, void (*report)(void *context, const hone_self_test_result *result),
                          void *context, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)device;
    HONE_TRY(gpu_alive(gpu, error));
    if (!gpu->test) {
        gpu_switched_off_clear(gpu);
        const hone_status status = begin(gpu, true, error);
        if (status != HONE_OK) {
            gpu_self_test_end(gpu);
            return status;
        }
    }
    gpu->test->report = report;
    gpu->test->context = context;
    return proceed(gpu, true, error);
}

hone_status gpu_prepare(hone_device *device, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)device;
    if (gpu->untested) return HONE_OK;
    if (!gpu->test) {
        bool complete;
        HONE_TRY(gpu_switched_off_load(gpu, &complete, error));
        if (complete || device->testing == HONE_TESTING_KNOWN) return HONE_OK;
    }
    return proceed(gpu, false, error);
}
