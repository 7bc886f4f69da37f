// SPDX-License-Identifier: Apache-2.0
// The null device: a CPU device behind a script of delays and failures, so that step machines can be tested.
#include "device/null/null.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

typedef struct null_device {
    hone_device base;
    hone_device *inner; // does the work
    hone_null_script script;
    uint64_t submits;
    bool lost;
    int losses;                      // so far
    int creating, reading, fetching; // answers "pending" given to the program_create, download or fetch in progress
    int running;                     // answers "pending" that wait still gives before what was submitted is done
} null_device;

typedef struct null_program {
    hone_program base;
    hone_program *inner;
} null_program;

// True while the caller must come again; counts in the counter of its own kind of call.
static bool still_pending(const null_device *device, int *given) {
    if (*given < device->script.pending) {
        ++*given;
        return true;
    }
    *given = 0;
    return false;
}

static void null_close(hone_device *base) {
    null_device *const device = (null_device *)base;
    hone_device_close(device->inner);
    hone_free(device);
}

static hone_status null_buffer_declare(hone_device *base, size_t bytes, const char *what, hone_buffer **out,
                                       hone_error *error) {
    hone_device *const inner = ((null_device *)base)->inner;
    return inner->vtable->buffer_declare(inner, bytes, what, out, error);
}

static hone_status null_buffer_commit(hone_device *base, hone_buffer *buffer, const char *what, hone_error *error) {
    hone_device *const inner = ((null_device *)base)->inner;
    return inner->vtable->buffer_commit(inner, buffer, what, error);
}

static void null_buffer_destroy(hone_buffer *buffer) {
    ((null_device *)buffer->device)->inner->vtable->buffer_destroy(buffer);
}

static hone_status null_upload(hone_buffer *buffer, size_t offset, const void *data, size_t bytes, hone_error *error) {
    return ((null_device *)buffer->device)->inner->vtable->upload(buffer, offset, data, bytes, error);
}

static hone_status null_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    null_device *const device = (null_device *)buffer->device;
    if (still_pending(device, &device->reading)) return HONE_PENDING;
    HONE_FAIL_IF(device->lost, error, DEVICE_LOST, "the device was lost");
    return device->inner->vtable->download(buffer, offset, data, bytes, error);
}

static hone_status null_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error) {
    hone_device *const inner = ((null_device *)fetch->device)->inner;
    return inner->vtable->download(buffer, offset, fetch->data, fetch->bytes, error);
}

static hone_status null_fetch_end(hone_fetch *fetch, hone_error *error) {
    null_device *const device = (null_device *)fetch->device;
    if (still_pending(device, &device->fetching)) return HONE_PENDING;
    HONE_FAIL_IF(device->lost, error, DEVICE_LOST, "the device was lost");
    return HONE_OK;
}

static hone_status null_program_create(hone_device *base, const hone_plan *plan, hone_buffer *arena, hone_program **out,
                                       hone_error *error) {
    null_device *const device = (null_device *)base;
    null_program *program = (null_program *)*out;
    if (!program) {
        HONE_TRY(HONE_NEW(&program, "a program", error));
        program->base = (hone_program){.device = base, .plan = plan, .arena = arena};
        hone_device *const inner = device->inner;
        const hone_status status = inner->vtable->program_create(inner, plan, arena, &program->inner, error);
        if (status != HONE_OK) {
            hone_free(program);
            return status;
        }
        program->base.working = program->inner->working;
        *out = &program->base;
    }
    return still_pending(device, &device->creating) ? HONE_PENDING : HONE_OK;
}

static void null_program_destroy(hone_program *base) {
    null_program *const program = (null_program *)base;
    program->inner->device->vtable->program_destroy(program->inner);
    hone_free(program);
}

static hone_status null_program_bytes(hone_device *base, const hone_plan *plan, size_t *out, hone_error *error) {
    return hone_program_bytes(((null_device *)base)->inner, plan, out, error);
}

static hone_status null_submit(hone_program *base, int segment, const double *live, size_t live_count,
                               hone_error *error) {
    null_device *const device = (null_device *)base->device;
    const uint64_t number = ++device->submits;
    device->running = device->script.pending;
    const bool over = device->script.losses && device->losses >= device->script.losses;
    if (device->script.fail_at_submit && number >= device->script.fail_at_submit && !device->lost && !over) {
        device->lost = true;
        device->losses++;
    }
    if (device->lost) HONE_FAIL(error, DEVICE_LOST, "the device was lost at submit %llu", (unsigned long long)number);
    if (device->script.zeros_at_submit == number) {
        memset(base->arena->data, 0, base->arena->bytes);
        return HONE_OK;
    }
    hone_program *const inner = ((null_program *)base)->inner;
    return inner->device->vtable->submit(inner, segment, live, live_count, error);
}

static hone_status null_wait(hone_program *base, hone_error *error) {
    (void)error;
    null_device *const device = (null_device *)base->device;
    if (device->running == 0) return HONE_OK;
    device->running--;
    return HONE_PENDING;
}

static hone_status null_reopen(hone_device *base, hone_error *error) {
    null_device *const device = (null_device *)base;
    (void)error;
    for (const hone_buffer *buffer = base->first_buffer; buffer; buffer = buffer->next)
        memset(buffer->data, 0, buffer->bytes);
    device->lost = false;
    device->creating = device->reading = device->fetching = device->running = 0;
    return HONE_OK;
}

static uint32_t null_flags(hone_program *base) {
    hone_program *const inner = ((null_program *)base)->inner;
    return inner->device->vtable->flags(inner);
}

static const hone_device_vtable null_vtable = {
    .close = null_close,
    .buffer_declare = null_buffer_declare,
    .buffer_commit = null_buffer_commit,
    .buffer_destroy = null_buffer_destroy,
    .upload = null_upload,
    .download = null_download,
    .fetch_begin = null_fetch_begin,
    .fetch_end = null_fetch_end,
    .program_create = null_program_create,
    .program_destroy = null_program_destroy,
    .program_bytes = null_program_bytes,
    .submit = null_submit,
    .wait = null_wait,
    .flags = null_flags,
    .reopen = null_reopen,
};

hone_status hone_null_open(const hone_device_description *description, hone_device **out, hone_error *error) {
    *out = NULL;
    null_device *device;
    HONE_TRY(HONE_NEW(&device, "a device", error));
    const hone_status status = hone_cpu_open(description, &device->inner, error);
    if (status != HONE_OK) {
        hone_free(device);
        return status;
    }
    device->base.vtable = &null_vtable;
    device->base.padding = device->inner->padding;
    snprintf(device->base.name, sizeof(device->base.name), "null");
    snprintf(device->base.detail, sizeof(device->base.detail), "for tests");
    *out = &device->base;
    return HONE_OK;
}

void hone_null_set_script(hone_device *base, const hone_null_script *script) {
    null_device *const device = (null_device *)base;
    device->script = *script;
    device->submits = 0;
    device->lost = false;
    device->losses = 0;
    device->creating = device->reading = device->fetching = device->running = 0;
    device->base.ahead = script->ahead;
}

uint64_t hone_null_submits(const hone_device *base) {
    return ((const null_device *)base)->submits;
}
