// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: buffers are host memory, a program is the plan's steps, whose operands are resolved as each one runs:
// that takes a fraction of a microsecond, and to hold them would take several times the memory of the plan.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"
#include "device/device.h"
#include "ops/matmul/blas.h"

typedef struct cpu_device {
    hone_device base;
    hone_pool *pool;
    bool poison; // tests: working memory is NaN, so that a read of what was never written shows
} cpu_device;

// What a step took so far.
typedef struct cpu_time {
    double seconds;
    uint64_t calls;
} cpu_time;

typedef struct cpu_program {
    hone_program base;
    hone_call_room room;
    void *workspace;
    void *scratch;
    size_t workspace_bytes, scratch_bytes, thread_scratch_bytes;
    uint32_t flags;
    cpu_time *times; // [plan->step_count], once it is profiled
    bool profiled;
} cpu_program;

static void cpu_close(hone_device *device) {
    cpu_device *const cpu = (cpu_device *)device;
    hone_pool_destroy(cpu->pool);
    hone_free(cpu);
}

static hone_status cpu_buffer_declare(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                      hone_error *error) {
    (void)device;
    (void)bytes;
    return HONE_NEW(out, what, error);
}

static hone_status cpu_buffer_commit(hone_device *device, hone_buffer *buffer, const char *what, hone_error *error) {
    (void)device;
    return hone_allocate(buffer->bytes, 1, what, &buffer->data, error);
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
    // While a program is only measured, nothing has a place.
    void *const data = buffer && buffer->data ? (char *)buffer->data + root->offset : NULL;
    return (hone_tensor){.type = own->type, .data = data};
}

// The call of one step, in the program's room for operands. Live numbers are 0.
static hone_op_call resolve(cpu_program *program, const hone_node *node) {
    hone_node_operands(node, &(hone_operand_sources){plan_tensor, program}, program->room.operands,
                       program->room.tensors);
    for (size_t i = 0; i < node->output_count; i++) program->room.outputs[i] = plan_tensor(program, node->outputs[i]);
    return (hone_op_call){.op = node->schema->op,
                          .operands = program->room.operands,
                          .operand_count = node->schema->argument_count,
                          .outputs = program->room.outputs,
                          .output_count = node->output_count,
                          .pool = ((cpu_device *)program->base.device)->pool,
                          .workspace = program->workspace,
                          .thread_scratch = program->scratch,
                          .thread_scratch_bytes = program->thread_scratch_bytes,
                          .flags = &program->flags};
}

static hone_cpu_needs find_needs(cpu_program *program) {
    const hone_plan *const plan = program->base.plan;
    hone_cpu_needs most = {0};
    for (size_t s = 0; s < plan->step_count; s++) {
        const hone_plan_step *const step = &plan->steps[s];
        if (!step->node.schema->op->cpu_needs || step->alias) continue;
        const hone_op_call call = resolve(program, &step->node);
        const hone_cpu_needs needs = call.op->cpu_needs(&call);
        if (needs.workspace_bytes > most.workspace_bytes) most.workspace_bytes = needs.workspace_bytes;
        if (needs.thread_scratch_bytes > most.thread_scratch_bytes)
            most.thread_scratch_bytes = needs.thread_scratch_bytes;
    }
    most.thread_scratch_bytes = (most.thread_scratch_bytes + 63) / 64 * 64;
    return most;
}

static hone_status prepare(cpu_program *program, hone_error *error) {
    HONE_TRY(hone_call_room_make(program->base.plan, "a program", &program->room, error));
    const hone_cpu_needs most = find_needs(program);
    const size_t threads = (size_t)hone_pool_threads(((cpu_device *)program->base.device)->pool);
    HONE_TRY(hone_allocate_raw(most.workspace_bytes, 1, "working memory of operators", &program->workspace, error));
    HONE_TRY(
        hone_allocate_raw(threads, most.thread_scratch_bytes, "working memory of threads", &program->scratch, error));
    program->workspace_bytes = most.workspace_bytes;
    program->scratch_bytes = threads * most.thread_scratch_bytes;
    program->base.working = program->workspace_bytes + program->scratch_bytes;
    program->thread_scratch_bytes = most.thread_scratch_bytes;
    return HONE_OK;
}

static void cpu_program_destroy(hone_program *base) {
    cpu_program *const program = (cpu_program *)base;
    hone_call_room_free(&program->room);
    hone_free(program->times);
    hone_free(program->workspace);
    hone_free(program->scratch);
    hone_free(program);
}

static hone_status cpu_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena,
                                      hone_program **out, hone_error *error) {
    cpu_program *program;
    HONE_TRY(HONE_NEW(&program, "a program", error));
    program->base = (hone_program){.device = device, .plan = plan, .arena = arena};
    const hone_status status = prepare(program, error);
    if (status != HONE_OK) {
        cpu_program_destroy(&program->base);
        return status;
    }
    // Other buffers are promised to be zeros; of the arena a plan may count on nothing.
    if (((const cpu_device *)device)->poison && arena->data) memset(arena->data, 0xFF, plan->bytes.temporaries);
    *out = &program->base;
    return HONE_OK;
}

static hone_status cpu_program_bytes(hone_device *device, const hone_plan *plan, size_t *out, hone_error *error) {
    cpu_program program = {.base = {.device = device, .plan = plan}};
    const hone_status status = hone_call_room_make(plan, "a program", &program.room, error);
    if (status == HONE_OK) {
        const hone_cpu_needs most = find_needs(&program);
        *out =
            most.workspace_bytes + (size_t)hone_pool_threads(((cpu_device *)device)->pool) * most.thread_scratch_bytes;
    }
    hone_call_room_free(&program.room);
    return status;
}

static hone_status set_live(cpu_program *program, const hone_node *node, const double *live, size_t live_count,
                            hone_error *error) {
    for (size_t i = 0; i < node->schema->argument_count; i++) {
        if (node->arguments[i].kind != HONE_ARGUMENT_LIVE) continue;
        const size_t slot = (size_t)node->arguments[i].integer;
        HONE_FAIL_IF(slot >= live_count, error, INVALID_ARGUMENT, "live number %zu is read, but only %zu are given",
                     slot, live_count);
        program->room.operands[i].real = live[slot];
        program->room.operands[i].integer = hone_whole(live[slot]);
    }
    return HONE_OK;
}

static hone_status cpu_submit(hone_program *base, int segment, const double *live, size_t live_count,
                              hone_error *error) {
    cpu_program *const program = (cpu_program *)base;
    const hone_plan *const plan = base->plan;
    for (size_t s = plan->segment_first[segment]; s < plan->segment_first[segment + 1]; s++) {
        const hone_plan_step *const step = &plan->steps[s];
        if (step->alias) continue;
        const hone_op_call call = resolve(program, &step->node);
        HONE_TRY(set_live(program, &step->node, live, live_count, error));
        if (((const cpu_device *)base->device)->poison) {
            memset(program->workspace, 0xFF, program->workspace_bytes);
            memset(program->scratch, 0xFF, program->scratch_bytes);
        }
        const double start = program->profiled ? hone_clock_seconds() : 0;
        call.op->cpu(&call);
        if (program->profiled) {
            const double seconds = hone_clock_seconds() - start;
            program->times[s].seconds += seconds;
            program->times[s].calls++;
            if (base->device->trace)
                base->device->trace(base->device->trace_context, call.op, step->node.label, start, seconds);
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

// Without memory for the times there are none: they are only there to be looked at.
static void cpu_profile(hone_program *base, bool on) {
    cpu_program *const program = (cpu_program *)base;
    if (on && !program->times && HONE_NEW_ARRAY(&program->times, base->plan->step_count, "a profile", NULL) != HONE_OK)
        return;
    program->profiled = on;
}

static size_t cpu_profile_rows(const hone_program *base, hone_profile_row *rows, size_t capacity) {
    const cpu_program *const program = (const cpu_program *)base;
    size_t count = 0;
    for (size_t s = 0; s < base->plan->step_count && program->times; s++) {
        const hone_plan_step *const step = &base->plan->steps[s];
        if (step->alias) continue;
        if (count < capacity) {
            rows[count] = (hone_profile_row){.op = step->node.schema->op,
                                             .label = step->node.label,
                                             .seconds = program->times[s].seconds,
                                             .calls = program->times[s].calls};
        }
        count++;
    }
    return count;
}

static hone_status cpu_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error) {
    return cpu_download(buffer, offset, fetch->data, fetch->bytes, error);
}

static hone_status cpu_fetch_end(hone_fetch *fetch, hone_error *error) {
    (void)fetch;
    (void)error;
    return HONE_OK;
}

static const hone_device_vtable cpu_vtable = {
    .close = cpu_close,
    .buffer_declare = cpu_buffer_declare,
    .buffer_commit = cpu_buffer_commit,
    .buffer_destroy = cpu_buffer_destroy,
    .upload = cpu_upload,
    .download = cpu_download,
    .fetch_begin = cpu_fetch_begin,
    .fetch_end = cpu_fetch_end,
    .program_create = cpu_program_create,
    .program_destroy = cpu_program_destroy,
    .program_bytes = cpu_program_bytes,
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
    cpu->base.vtable = &cpu_vtable;
    cpu->base.padding = 16;
    hone_status status = hone_device_switch("HONE_POISON", "1", "0", &cpu->poison, error);
    if (status == HONE_OK) status = hone_pool_create(description->threads, &cpu->pool, error);
    if (status != HONE_OK) {
        cpu_close(&cpu->base);
        return status;
    }
    snprintf(cpu->base.name, sizeof(cpu->base.name), "cpu");
    const int threads = hone_pool_threads(cpu->pool);
    snprintf(cpu->base.detail, sizeof(cpu->base.detail), "%d thread%s", threads, threads == 1 ? "" : "s");
    *out = &cpu->base;
    return HONE_OK;
}
