// SPDX-License-Identifier: Apache-2.0
// Running a program: live numbers into the parameters, slices to the queue, error flags back.
#include "device/gpu/internal.h"
#include "graph/internal.h"

// Live numbers of the segment's steps; what they change is uploaded in queue order before the segment.
static hone_status set_live(gpu_program *program, int segment, const double *live, size_t live_count,
                            hone_error *error) {
    const hone_plan *const plan = program->base.plan;
    hone_gpu_driver *const driver = ((gpu_device *)program->base.device)->driver;
    size_t first = program->dispatch_count;
    size_t end = 0;
    for (uint32_t s = plan->segment_first[segment]; s < plan->segment_first[segment + 1]; s++) {
        gpu_step *const step = &program->steps[s];
        if (!step->live || step->alias) continue;
        const hone_node *const node = &plan->steps[s].node;
        hone_operand *const operands = (hone_operand *)step->call.operands; // the arena's, made by this program
        for (size_t i = 0; i < node->schema->argument_count; i++) {
            if (node->arguments[i].kind != HONE_ARGUMENT_LIVE) continue;
            const size_t slot = (size_t)node->arguments[i].integer;
            HONE_FAIL_IF(slot >= live_count, error, INVALID_ARGUMENT, "live number %zu is read, but only %zu are given",
                         slot, live_count);
            operands[i].real = live[slot];
            operands[i].integer = hone_whole(live[slot]);
        }
        HONE_TRY(gpu_step_words(program, step, &first, &end, error));
    }
    const size_t block = sizeof(*program->words);
    return first < end ? driver->vtable->upload(driver, program->parameters, first * block, program->words[first],
                                                (end - first) * block, error)
                       : HONE_OK;
}

hone_status gpu_submit(hone_program *base, int segment, const double *live, size_t live_count, hone_error *error) {
    gpu_program *const program = (gpu_program *)base;
    HONE_TRY(gpu_alive((const gpu_device *)base->device, error));
    HONE_TRY(gpu_learn_late(program, &program->segments[segment], error));
    HONE_TRY(gpu_record(program, error)); // what is to be cut again, or was dropped by a change of the profile
    HONE_TRY(set_live(program, segment, live, live_count, error));
    HONE_TRY(gpu_submit_segment(program, &program->segments[segment], error));
    program->flags_dirty |= program->uses_flags;
    return HONE_OK;
}

hone_status gpu_wait(hone_program *base, hone_error *error) {
    gpu_program *const program = (gpu_program *)base;
    gpu_device *const gpu = (gpu_device *)base->device;
    HONE_TRY(gpu_alive(gpu, error));
    hone_gpu_driver *const driver = gpu->driver;
    HONE_TRY(gpu_heard(gpu, driver->vtable->wait(driver, error), error));
    HONE_TRY(gpu_canary_check(gpu, false, error));
    HONE_TRY(gpu_learn(program, error)); // now that it is known to have run
    if (!program->flags_dirty) return HONE_OK;
    uint32_t flags = 0;
    hone_status status;
    do {
        status =
            gpu_heard(gpu, driver->vtable->download(driver, program->flags, 0, &flags, sizeof(flags), error), error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    program->flags_dirty = false;
    if (!flags) return HONE_OK;
    program->raised |= flags;
    const uint32_t none = 0;
    return driver->vtable->upload(driver, program->flags, 0, &none, sizeof(none), error);
}

uint32_t gpu_flags(hone_program *base) {
    gpu_program *const program = (gpu_program *)base;
    const uint32_t flags = program->raised;
    program->raised = 0;
    return flags;
}
