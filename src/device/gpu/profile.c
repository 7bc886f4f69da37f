// SPDX-License-Identifier: Apache-2.0
// Times on the GPU's own clock: recordings with a timestamp round each dispatch, added up by step.
#include "device/gpu/internal.h"

// A program is recorded without timestamps until someone asks, for they keep dispatches from following each other closely.
void gpu_profile(hone_program *base, bool on) {
    gpu_program *const program = (gpu_program *)base;
    hone_gpu_driver *const driver = ((gpu_device *)base->device)->driver;
    if (on == program->timed || !driver->limits.timestamps) return;
    if (on && !program->seconds) {
        // Without memory for the times there are none.
        if (HONE_NEW_ARRAY(&program->seconds, program->dispatch_count + 1, "times", NULL) != HONE_OK) return;
        if (HONE_NEW_ARRAY(&program->runs, program->dispatch_count + 1, "times", NULL) != HONE_OK) {
            hone_free(program->seconds);
            program->seconds = NULL;
            return;
        }
    }
    program->timed = on;
    gpu_drop_recordings(program); // submit makes them again
}

// One event for all dispatches of a step.
static void trace_slice(gpu_program *program, const gpu_slice *slice, const double *seconds) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    double at = slice->submitted > gpu->traced ? slice->submitted : gpu->traced;
    for (size_t i = 0; i < slice->count;) {
        const uint32_t s = program->dispatches[slice->first + i].step;
        double own = 0;
        for (; i < slice->count && program->dispatches[slice->first + i].step == s; i++) own += seconds[i];
        gpu->base.trace(gpu->base.trace_context, program->steps[s].call.op, program->base.plan->steps[s].node.label, at,
                        own);
        at += own;
    }
    gpu->traced = at;
}

hone_status gpu_read_slice(gpu_program *program, gpu_slice *slice, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    double seconds[GPU_MOST_SLICE + 1]; // the last is the canary's
    if (!slice->ran || !slice->timed) {
        slice->ran = false;
        return HONE_OK;
    }
    hone_status status;
    do {
        status = gpu_heard(gpu, gpu->driver->vtable->timestamps(gpu->driver, slice->recording, seconds, error), error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    slice->ran = false;
    for (size_t i = 0; i < slice->count; i++) {
        const size_t d = slice->first + i;
        if (program->expected) program->expected[d] = seconds[i];
        if (!program->timed) continue;
        program->seconds[d] += seconds[i];
        program->runs[d]++;
    }
    if (program->timed && program->base.device->trace) trace_slice(program, slice, seconds);
    return HONE_OK;
}

size_t gpu_profile_rows(const hone_program *base, hone_profile_row *rows, size_t capacity) {
    const gpu_program *const program = (const gpu_program *)base;
    size_t count = 0;
    for (size_t s = 0; s < base->plan->step_count && program->seconds; s++) {
        const gpu_step *const step = &program->steps[s];
        if (step->alias) continue;
        if (count < capacity) {
            hone_profile_row *const row = &rows[count];
            *row = (hone_profile_row){.op = step->call.op, .label = base->plan->steps[s].node.label};
            for (size_t d = step->first; d < step->first + step->count; d++) row->seconds += program->seconds[d];
            if (step->count) row->calls = program->runs[step->first];
        }
        count++;
    }
    return count;
}
