// SPDX-License-Identifier: Apache-2.0
// The counting device: buffers and programs without memory, in the sizes that they have on another device.
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/device.h"

typedef struct counting_device {
    hone_device base;
    hone_device *like;
} counting_device;

static void counting_close(hone_device *device) {
    hone_free(device);
}

static hone_status counting_declare(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                    hone_error *error) {
    (void)device;
    (void)bytes;
    return HONE_NEW(out, what, error);
}

static hone_status counting_commit(hone_device *device, hone_buffer *buffer, const char *what, hone_error *error) {
    (void)device;
    (void)buffer;
    (void)what;
    (void)error;
    return HONE_OK;
}

static void counting_buffer_destroy(hone_buffer *buffer) {
    hone_free(buffer);
}

static hone_status counting_upload(hone_buffer *buffer, size_t offset, const void *data, size_t bytes,
                                   hone_error *error) {
    (void)buffer;
    (void)offset;
    (void)data;
    (void)bytes;
    (void)error;
    return HONE_OK;
}

static hone_status holds_nothing(hone_error *error) {
    HONE_FAIL(error, UNSUPPORTED, "a device that only counts memory holds no values and runs nothing");
}

static hone_status counting_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    (void)buffer;
    (void)offset;
    (void)data;
    (void)bytes;
    return holds_nothing(error);
}

static hone_status counting_program_bytes(hone_device *device, const hone_plan *plan, size_t *out, hone_error *error) {
    return hone_program_bytes(((counting_device *)device)->like, plan, out, error);
}

static hone_status counting_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena,
                                           hone_program **out, hone_error *error) {
    hone_program *program;
    HONE_TRY(HONE_NEW(&program, "a program", error));
    *program = (hone_program){.device = device, .plan = plan, .arena = arena};
    const hone_status status = counting_program_bytes(device, plan, &program->working, error);
    if (status == HONE_OK)
        *out = program;
    else
        hone_free(program);
    return status;
}

static void counting_program_destroy(hone_program *program) {
    hone_free(program);
}

static hone_status counting_submit(hone_program *program, int segment, const double *live, size_t live_count,
                                   hone_error *error) {
    (void)program;
    (void)segment;
    (void)live;
    (void)live_count;
    return holds_nothing(error);
}

static hone_status counting_wait(hone_program *program, hone_error *error) {
    (void)program;
    (void)error;
    return HONE_OK;
}

static uint32_t counting_flags(hone_program *program) {
    (void)program;
    return 0;
}

static void counting_facts(hone_device *device, hone_device_facts *out) {
    hone_device_facts_read(((counting_device *)device)->like, out);
}

static const hone_device_vtable counting_vtable = {
    .close = counting_close,
    .buffer_declare = counting_declare,
    .buffer_commit = counting_commit,
    .buffer_destroy = counting_buffer_destroy,
    .upload = counting_upload,
    .download = counting_download,
    .program_create = counting_program_create,
    .program_destroy = counting_program_destroy,
    .program_bytes = counting_program_bytes,
    .submit = counting_submit,
    .wait = counting_wait,
    .flags = counting_flags,
    .facts = counting_facts,
};

hone_status hone_device_open_counting(hone_device *like, hone_device **out, hone_error *error) {
    *out = NULL;
    counting_device *device;
    HONE_TRY(HONE_NEW(&device, "a device", error));
    device->like = like;
    device->base.vtable = &counting_vtable;
    device->base.padding = like->padding;
    device->base.piece_bytes = like->piece_bytes;
    device->base.staging = device->base.peak = like->staging;
    device->base.counts_only = true;
    device->base.like_one_that_reopens = hone_device_can_reopen(like);
    memcpy(device->base.name, like->name, sizeof(like->name));
    memcpy(device->base.detail, like->detail, sizeof(like->detail));
    *out = &device->base;
    return HONE_OK;
}
