// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: buffers are host memory, a program is a list of calls whose operands are resolved once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"
#include "device/device.h"
#include "ops/matmul/blas.h"

typedef struct cpu_device {
    hone_device base;
    hone_pool *pool;
    bool poison; // tests: new memory is NaN, so that a read of what was never written shows
} cpu_device;

// Where a live number goes.
typedef struct cpu_live {
    hone_operand *operand;
    size_t slot;
} cpu_live;

typedef struct cpu_step {
    hone_op_call call;
    uint32_t live_first, live_count; // of program->live
    double seconds;
    uint64_t calls;
    bool alias;
} cpu_step;

typedef struct cpu_program {
    hone_program base;
    hone_arena memory; // operands and tensors of the steps
    cpu_step *steps;   // [plan->step_count]
    cpu_live *live;
    size_t live_count, live_capacity;
    void *workspace;
    void *scratch;
    size_t workspace_bytes, scratch_bytes;
    uint32_t flags;
    bool profiled;
} cpu_program;

static void cpu_close(hone_device *device) {
    cpu_device *const cpu = (cpu_device *)device;
    hone_pool_destroy(cpu->pool);
    hone_free(cpu);
}

static hone_status cpu_buffer_create(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                     hone_error *error) {
    hone_buffer *buffer;
    HONE_TRY(HONE_NEW(&buffer, what, error));
    const hone_status status = hone_allocate(bytes, 1, what, &buffer->data, error);
    if (status != HONE_OK) {
        hone_free(buffer);
        return status;
    }
    if (((const cpu_device *)device)->poison) memset(buffer->data, 0xFF, bytes);
    *out = buffer;
    return HONE_OK;
}

static void cpu_buffer_destroy(hone_buffer *buffer) {
    hone_free(buffer->data);
    hone_free(buffer);
}

static hone_status cpu_upload(hone_buffer *buffer, size_t offset, const void *data, size_t bytes, hone_error *error) {
    (void)error;
    memcpy((char *)buffer->data + offset, data, bytes);
    return HONE_OK;
}

static hone_status cpu_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    (void)error;
    memcpy(data, (const char *)buffer->data + offset, bytes);
    return HONE_OK;
}

static hone_tensor plan_tensor(const void *context, hone_value value) {
    const cpu_program *const program = context;
    const hone_plan *const plan = program->base.plan;
    const hone_plan_value *const own = &plan->values[value.id];
    const hone_plan_value *const root = &plan->values[own->root];
    const hone_buffer *const buffer = root->storage == HONE_STORAGE_TEMPORARY ? program->base.arena : root->buffer;
    return (hone_tensor){.type = own->type, .data = (char *)buffer->data + root->offset};
}

static hone_status note_live(cpu_program *program, cpu_step *step, hone_operand *operands, const hone_node *node,
                             hone_error *error) {
    step->live_first = (uint32_t)program->live_count;
    for (size_t i = 0; i < node->schema->argument_count; i++) {
        if (node->arguments[i].kind != HONE_ARGUMENT_LIVE) continue;
        HONE_TRY(HONE_GROW(&program->live, &program->live_capacity, program->live_count + 1, "live numbers", error));
        program->live[program->live_count++] = (cpu_live){&operands[i], (size_t)node->arguments[i].integer};
        step->live_count++;
    }
    return HONE_OK;
}

// Resolves the operands of one step and adds what it needs to the maxima.
static hone_status prepare_step(cpu_program *program, size_t index, hone_cpu_needs *most, hone_error *error) {
    const hone_plan_step *const planned = &program->base.plan->steps[index];
    const hone_node *const node = &planned->node;
    cpu_step *const step = &program->steps[index];
    hone_operand *operands;
    hone_tensor *tensors;
    hone_tensor *outputs;
    HONE_TRY(HONE_ARENA_ARRAY(&program->memory, &operands, node->schema->argument_count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&program->memory, &tensors, node->input_count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&program->memory, &outputs, node->output_count, error));
    hone_node_operands(node, &(hone_operand_sources){plan_tensor, program}, operands, tensors);
    for (size_t i = 0; i < node->output_count; i++) outputs[i] = plan_tensor(program, node->outputs[i]);
    step->alias = planned->alias;
    step->call = (hone_op_call){.op = node->schema->op,
                                .operands = operands,
                                .operand_count = node->schema->argument_count,
                                .outputs = outputs,
                                .output_count = node->output_count,
                                .pool = ((cpu_device *)program->base.device)->pool,
                                .flags = &program->flags};
    HONE_TRY(note_live(program, step, operands, node, error));
    if (!node->schema->op->cpu_needs || step->alias) return HONE_OK;
    const hone_cpu_needs needs = node->schema->op->cpu_needs(&step->call);
    if (needs.workspace_bytes > most->workspace_bytes) most->workspace_bytes = needs.workspace_bytes;
    if (needs.thread_scratch_bytes > most->thread_scratch_bytes)
        most->thread_scratch_bytes = needs.thread_scratch_bytes;
    return HONE_OK;
}

static hone_status prepare(cpu_program *program, hone_error *error) {
    const size_t count = program->base.plan->step_count;
    hone_cpu_needs most = {0};
    HONE_TRY(HONE_NEW_ARRAY(&program->steps, count, "a program", error));
    for (size_t i = 0; i < count; i++) HONE_TRY(prepare_step(program, i, &most, error));
    most.thread_scratch_bytes = (most.thread_scratch_bytes + 63) / 64 * 64;
    const size_t threads = (size_t)hone_pool_threads(((cpu_device *)program->base.device)->pool);
    HONE_TRY(hone_allocate_raw(most.workspace_bytes, 1, "working memory of operators", &program->workspace, error));
    HONE_TRY(
        hone_allocate_raw(threads, most.thread_scratch_bytes, "working memory of threads", &program->scratch, error));
    program->workspace_bytes = most.workspace_bytes;
    program->scratch_bytes = threads * most.thread_scratch_bytes;
    for (size_t i = 0; i < count; i++) {
        program->steps[i].call.workspace = program->workspace;
        program->steps[i].call.thread_scratch = program->scratch;
        program->steps[i].call.thread_scratch_bytes = most.thread_scratch_bytes;
    }
    return HONE_OK;
}

static void cpu_program_destroy(hone_program *base) {
    cpu_program *const program = (cpu_program *)base;
    hone_arena_clear(&program->memory);
    hone_free(program->steps);
    hone_free(program->live);
    hone_free(program->workspace);
    hone_free(program->scratch);
    hone_free(program);
}

static hone_status cpu_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena,
                                      hone_program **out, hone_error *error) {
    cpu_program *program;
    HONE_TRY(HONE_NEW(&program, "a program", error));
    program->base = (hone_program){.device = device, .plan = plan, .arena = arena};
    program->memory.block_bytes = 64 * 1024;
    const hone_status status = prepare(program, error);
    if (status != HONE_OK) {
        cpu_program_destroy(&program->base);
        return status;
    }
    *out = &program->base;
    return HONE_OK;
}

static hone_status set_live(const cpu_program *program, const cpu_step *step, const double *live, size_t live_count,
                            hone_error *error) {
    for (uint32_t i = 0; i < step->live_count; i++) {
        const cpu_live *const target = &program->live[step->live_first + i];
        HONE_FAIL_IF(target->slot >= live_count, error, INVALID_ARGUMENT,
                     "live number %zu is read, but only %zu are given", target->slot, live_count);
        target->operand->real = live[target->slot];
        target->operand->integer = hone_whole(live[target->slot]);
    }
    return HONE_OK;
}

static hone_status cpu_submit(hone_program *base, int segment, const double *live, size_t live_count,
                              hone_error *error) {
    cpu_program *const program = (cpu_program *)base;
    const hone_plan *const plan = base->plan;
    for (size_t s = plan->segment_first[segment]; s < plan->segment_first[segment + 1]; s++) {
        cpu_step *const step = &program->steps[s];
        if (step->alias) continue;
        HONE_TRY(set_live(program, step, live, live_count, error));
        if (((const cpu_device *)base->device)->poison) {
            memset(program->workspace, 0xFF, program->workspace_bytes);
            memset(program->scratch, 0xFF, program->scratch_bytes);
        }
        const double start = program->profiled ? hone_clock_seconds() : 0;
        step->call.op->cpu(&step->call);
        if (program->profiled) {
            step->seconds += hone_clock_seconds() - start;
            step->calls++;
        }
    }
    return HONE_OK;
}

static hone_status cpu_wait(hone_program *program, hone_error *error) {
    (void)program;
    (void)error;
    return HONE_OK; // submit has done the work
}

static uint32_t cpu_flags(hone_program *base) {
    cpu_program *const program = (cpu_program *)base;
    const uint32_t flags = program->flags;
    program->flags = 0;
    return flags;
}

static void cpu_profile(hone_program *base, bool on) {
    ((cpu_program *)base)->profiled = on;
}

static size_t cpu_profile_rows(const hone_program *base, hone_profile_row *rows, size_t capacity) {
    const cpu_program *const program = (const cpu_program *)base;
    size_t count = 0;
    for (size_t s = 0; s < base->plan->step_count; s++) {
        const cpu_step *const step = &program->steps[s];
        if (step->alias) continue;
        if (count < capacity) {
            rows[count] =
                (hone_profile_row){step->call.op, base->plan->steps[s].node.label, step->seconds, step->calls};
        }
        count++;
    }
    return count;
}

static const hone_device_vtable cpu_vtable = {
    .close = cpu_close,
    .buffer_create = cpu_buffer_create,
    .buffer_destroy = cpu_buffer_destroy,
    .upload = cpu_upload,
    .download = cpu_download,
    .program_create = cpu_program_create,
    .program_destroy = cpu_program_destroy,
    .submit = cpu_submit,
    .wait = cpu_wait,
    .flags = cpu_flags,
    .profile = cpu_profile,
    .profile_rows = cpu_profile_rows,
};

hone_status hone_cpu_open(const hone_device_description *description, hone_device **out, hone_error *error) {
    *out = NULL;
    HONE_TRY(hone_blas_check(error));
    cpu_device *cpu;
    HONE_TRY(HONE_NEW(&cpu, "a device", error));
    const hone_status status = hone_pool_create(description->threads, &cpu->pool, error);
    if (status != HONE_OK) {
        hone_free(cpu);
        return status;
    }
    cpu->base.vtable = &cpu_vtable;
    cpu->base.padding = 16;
    const char *const poison = getenv("HONE_POISON");
    cpu->poison = poison && poison[0] == '1';
    snprintf(cpu->base.name, sizeof(cpu->base.name), "cpu");
    const int threads = hone_pool_threads(cpu->pool);
    snprintf(cpu->base.detail, sizeof(cpu->base.detail), "%d thread%s", threads, threads == 1 ? "" : "s");
    *out = &cpu->base;
    return HONE_OK;
}
