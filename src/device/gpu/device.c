// SPDX-License-Identifier: Apache-2.0
// A GPU as a device: opening the driver that the name asks for, pipelines by name, counts of dispatches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu/gpu.h"
#include "device/gpu/internal.h"

static void gpu_close(hone_device *device) {
    gpu_device *const gpu = (gpu_device *)device;
    hone_gpu_driver *const driver = gpu->driver;
    for (size_t i = 0; i < gpu->pipeline_count; i++)
        driver->vtable->pipeline_destroy(driver, gpu->pipelines[i].pipeline);
    if (gpu->patch_words) driver->vtable->buffer_destroy(driver, gpu->patch_words);
    driver->vtable->close(driver);
    hone_free(gpu->pipelines);
    hone_free(gpu->counts);
    hone_free(gpu);
}

static const hone_device_vtable gpu_vtable = {
    .close = gpu_close,
    .buffer_create = gpu_buffer_create,
    .buffer_destroy = gpu_buffer_destroy,
    .upload = gpu_upload,
    .download = gpu_download,
    .program_create = gpu_program_create,
    .program_destroy = gpu_program_destroy,
    .submit = gpu_submit,
    .wait = gpu_wait,
    .flags = gpu_flags,
};

typedef hone_status open_driver(int index, bool least, hone_gpu_driver **out, hone_error *error);

// "vulkan" gives -1, "vulkan:2" gives 2.
static hone_status parse_name(const char *name, open_driver **open, int *index, hone_error *error) {
    static const struct {
        const char *name;
        open_driver *open;
    } drivers[] = {{"vulkan", hone_vulkan_driver_open}, {"webgpu", hone_webgpu_driver_open}};
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        const size_t length = strlen(drivers[i].name);
        if (strncmp(name, drivers[i].name, length) != 0) continue;
        *open = drivers[i].open;
        *index = -1;
        if (!name[length]) return HONE_OK;
        char *end = NULL;
        const long number = name[length] == ':' ? strtol(name + length + 1, &end, 10) : -1;
        if (!end || end == name + length + 1 || *end || number < 0 || number > 255) break;
        *index = (int)number;
        return HONE_OK;
    }
    HONE_FAIL(error, INVALID_ARGUMENT, "there is no device '%s': use vulkan, vulkan:N, webgpu or webgpu:N", name);
}

static void force_least(hone_gpu_limits *limits) {
    const size_t buffer = (size_t)256 << 20;
    const size_t binding = (size_t)128 << 20;
    if (limits->buffer_bytes > buffer) limits->buffer_bytes = buffer;
    if (limits->binding_bytes > binding) limits->binding_bytes = binding;
    if (limits->groups > 65535) limits->groups = 65535;
    limits->features = 0;
}

hone_status hone_gpu_open(const hone_device_description *description, hone_device **out, hone_error *error) {
    *out = NULL;
    open_driver *open = NULL;
    int index = -1;
    HONE_TRY(parse_name(description->name, &open, &index, error));
    const char *const limits = getenv("HONE_LIMITS");
    const bool least = limits && strcmp(limits, "webgpu-min") == 0;
    HONE_FAIL_IF(limits && limits[0] && !least, error, INVALID_ARGUMENT, "HONE_LIMITS=%s: it can be webgpu-min only",
                 limits);
    gpu_device *gpu;
    HONE_TRY(HONE_NEW(&gpu, "a device", error));
    const hone_status status = open(index, least, &gpu->driver, error);
    if (status != HONE_OK) {
        hone_free(gpu);
        return status;
    }
    if (least) force_least(&gpu->driver->limits);
    if (gpu->driver->limits.groups > 65535) gpu->driver->limits.groups = 65535; // rows stay far from 2^32
    gpu->base.vtable = &gpu_vtable;
    gpu->base.padding = 64;
    const char *const poison = getenv("HONE_POISON");
    gpu->poison = poison && poison[0] == '1';
    snprintf(gpu->base.name, sizeof(gpu->base.name), "%s", description->name);
    snprintf(gpu->base.detail, sizeof(gpu->base.detail), "%s", gpu->driver->detail);
    *out = &gpu->base;
    return HONE_OK;
}

uint64_t hone_gpu_dispatches(const hone_device *device, const hone_op *op) {
    const gpu_device *const gpu = (const gpu_device *)device;
    uint64_t dispatches = 0;
    for (size_t i = 0; i < gpu->count_count; i++) {
        if (!op || gpu->counts[i].op == op) dispatches += gpu->counts[i].dispatches;
    }
    return dispatches;
}

hone_status gpu_pipeline_get(gpu_device *gpu, const char *entry, uint32_t binding_count, hone_gpu_pipeline **out,
                             hone_error *error) {
    for (size_t i = 0; i < gpu->pipeline_count; i++) {
        if (strcmp(gpu->pipelines[i].entry, entry) != 0 || gpu->pipelines[i].binding_count != binding_count) continue;
        *out = gpu->pipelines[i].pipeline;
        return HONE_OK;
    }
    const char *const dot = strchr(entry, '.');
    const hone_gpu_code *code = hone_gpu_codes;
    while (code->name && !(dot && strlen(code->name) == (size_t)(dot - entry) &&
                           strncmp(code->name, entry, (size_t)(dot - entry)) == 0))
        code++;
    HONE_FAIL_IF(!code->name, error, UNSUPPORTED, "the kernel '%s' is not built in", entry);
    HONE_TRY(HONE_GROW(&gpu->pipelines, &gpu->pipeline_capacity, gpu->pipeline_count + 1, "pipelines", error));
    HONE_TRY(gpu->driver->vtable->pipeline_create(gpu->driver, code, dot + 1, binding_count, out, error));
    gpu->pipelines[gpu->pipeline_count++] = (gpu_pipeline){entry, binding_count, *out};
    return HONE_OK;
}
