// SPDX-License-Identifier: Apache-2.0
// Slices: a segment's dispatches cut into recordings, none of which is expected to run for longer than the budget, since
// watchdogs end command buffers that run for seconds. What a dispatch takes is not known before it has run: a segment's
// first run is of small slices whose times are taken, and then it is cut again. Cuts decide about no bit.
#include "base/clock.h"
#include "device/gpu/internal.h"

static hone_status record_slice(gpu_program *program, gpu_segment *segment, size_t first, size_t count, bool timed,
                                hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    hone_gpu_command *commands;
    HONE_TRY(HONE_GROW(&segment->slices, &segment->capacity, segment->count + 1, "recordings", error));
    HONE_TRY(HONE_NEW_ARRAY(&commands, count + 1, "a recording", error));
    for (size_t i = 0; i < count; i++) commands[i] = program->dispatches[first + i].command;
    gpu_slice *const slice = &segment->slices[segment->count];
    *slice = (gpu_slice){.first = first, .count = count, .timed = timed};
    if (gpu->scramble && !timed) gpu_scramble(commands, count);
    commands[count] = gpu->canary;
    const hone_status status =
        gpu->driver->vtable->record(gpu->driver, commands, count + 1, timed, &slice->recording, error);
    segment->count += status == HONE_OK;
    hone_free(commands);
    return status;
}

static void drop_segment(gpu_program *program, gpu_segment *segment) {
    hone_gpu_driver *const driver = ((gpu_device *)program->base.device)->driver;
    for (size_t i = 0; i < segment->count; i++) driver->vtable->recording_destroy(driver, segment->slices[i].recording);
    segment->count = 0;
    segment->recorded = false;
}

void gpu_drop_recordings(gpu_program *program) {
    for (int s = 0; s < HONE_MAX_SEGMENTS; s++) drop_segment(program, &program->segments[s]);
}

void gpu_free_recordings(gpu_program *program) {
    gpu_drop_recordings(program);
    for (int s = 0; s < HONE_MAX_SEGMENTS; s++) hone_free(program->segments[s].slices);
    hone_free(program->expected);
}

static size_t within_budget(const gpu_program *program, const gpu_segment *segment, size_t at, size_t most) {
    const double budget = program->base.device->submit_seconds;
    if (!segment->learnt) return most < GPU_FIRST_SLICE ? most : GPU_FIRST_SLICE;
    if (!program->expected) return most;
    double seconds = program->expected[at];
    size_t count = 1;
    while (count < most) {
        seconds += program->expected[at + count];
        if (seconds > budget) break;
        count++;
    }
    return count;
}

// How many dispatches from `at` on go together.
static size_t cut(const gpu_program *program, const gpu_segment *segment, size_t at) {
    const size_t left = segment->end - at;
    const size_t most = left < GPU_MOST_SLICE ? left : GPU_MOST_SLICE;
    size_t count = within_budget(program, segment, at, most);
    // A step that is timed goes together, so that it is one event of a trace.
    const gpu_dispatch *const next = &program->dispatches[at];
    while (program->timed && count < most && next[count].step == next[count - 1].step) count++;
    return count;
}

static hone_status record_segment(gpu_program *program, gpu_segment *segment, hone_error *error) {
    const hone_gpu_driver *const driver = ((gpu_device *)program->base.device)->driver;
    drop_segment(program, segment);
    if (segment->end - segment->first <= GPU_FIRST_SLICE) segment->learnt = true; // nothing would be cut
    if (!segment->learnt && !program->expected)
        HONE_TRY(HONE_NEW_ARRAY(&program->expected, program->dispatch_count, "times", error));
    const bool timed = program->timed || (!segment->learnt && driver->limits.timestamps);
    for (size_t at = segment->first; at < segment->end;) {
        const size_t count = cut(program, segment, at);
        HONE_TRY(record_slice(program, segment, at, count, timed, error));
        at += count;
    }
    segment->recorded = true;
    return HONE_OK;
}

hone_status gpu_record(gpu_program *program, hone_error *error) {
    const hone_plan *const plan = program->base.plan;
    for (int s = 0; s < HONE_MAX_SEGMENTS; s++) {
        gpu_segment *const segment = &program->segments[s];
        const uint32_t begin = plan->segment_first[s];
        const uint32_t end = plan->segment_first[s + 1];
        if (begin == end || segment->recorded) continue;
        segment->first = program->steps[begin].first;
        segment->end = program->steps[end - 1].first + program->steps[end - 1].count;
        HONE_TRY(record_segment(program, segment, error));
    }
    return HONE_OK;
}

// --- times -----------------------------------------------------------------------------------------------------------
static hone_status wait_all(gpu_device *gpu, hone_error *error) {
    hone_status status;
    do {
        status = gpu_heard(gpu, gpu->driver->vtable->wait(gpu->driver, error), error);
    } while (status == HONE_PENDING);
    return status;
}

static double expected_seconds(const gpu_program *program, const gpu_segment *segment, const gpu_slice *slice) {
    if (!segment->learnt || !program->expected) return (double)slice->count * GPU_UNKNOWN_SECONDS;
    double seconds = 0;
    for (size_t i = 0; i < slice->count; i++) seconds += program->expected[slice->first + i];
    return seconds;
}

hone_status gpu_submit_segment(gpu_program *program, gpu_segment *segment, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    // Without timestamps the host's clock says what a slice takes, which must be alone on the GPU then.
    const bool watch = !segment->learnt && !gpu->driver->limits.timestamps;
    if (watch) HONE_TRY(wait_all(gpu, error));
    for (size_t i = 0; i < segment->count; i++) {
        gpu_slice *const slice = &segment->slices[i];
        if (slice->ran && program->timed) { // the times of two runs have one place only
            HONE_TRY(wait_all(gpu, error));
            HONE_TRY(gpu_read_slice(program, slice, error));
        }
        const double start = watch ? hone_clock_seconds() : 0;
        slice->ran = true;
        if (program->timed) slice->submitted = hone_clock_seconds();
        gpu->queued_seconds += expected_seconds(program, segment, slice);
        HONE_TRY(gpu_heard(gpu, gpu->driver->vtable->submit(gpu->driver, slice->recording, error), error));
        gpu->submits++;
        for (size_t d = slice->first; d < slice->first + slice->count; d++)
            gpu->counts[program->steps[program->dispatches[d].step].count_index].dispatches++;
        if (!watch) continue;
        HONE_TRY(wait_all(gpu, error));
        const double each = (hone_clock_seconds() - start) / (double)slice->count;
        for (size_t d = slice->first; d < slice->first + slice->count; d++) program->expected[d] = each;
    }
    if (watch) {
        segment->learnt = true;
        segment->recorded = false;
    }
    return HONE_OK;
}

hone_status gpu_learn(gpu_program *program, hone_error *error) {
    for (int s = 0; s < HONE_MAX_SEGMENTS; s++) {
        gpu_segment *const segment = &program->segments[s];
        bool ran = false;
        for (size_t i = 0; i < segment->count; i++) {
            ran |= segment->slices[i].ran;
            HONE_TRY(gpu_read_slice(program, &segment->slices[i], error));
        }
        if (!ran || segment->learnt) continue;
        segment->learnt = true;
        segment->recorded = false; // submit cuts again
    }
    return HONE_OK;
}

// A program that nobody waits for: its first run is waited for when the second comes.
hone_status gpu_learn_late(gpu_program *program, const gpu_segment *segment, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    if (segment->learnt || segment->count == 0 || !segment->slices[0].ran) return HONE_OK;
    HONE_TRY(wait_all(gpu, error));
    HONE_TRY(gpu_canary_check(gpu, false, error)); // what has not run has no times
    return gpu_learn(program, error);
}
