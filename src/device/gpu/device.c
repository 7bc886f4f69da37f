// SPDX-License-Identifier: Apache-2.0
// A GPU as a device: opening the driver that the name asks for, pipelines by name, counts of dispatches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu/faults.h"
#include "device/gpu/gpu.h"
#include "device/gpu/selftest.h"

static void gpu_close(hone_device *device) {
    gpu_device *const gpu = (gpu_device *)device;
    gpu_drop_driver(gpu);
    gpu_switched_off_clear(gpu);
    hone_free(gpu->replaced);
    hone_free(gpu->pipelines);
    hone_free(gpu->counts);
    hone_free(gpu);
}

static void list_features(uint32_t features, char *out, size_t size) {
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {HONE_KERNEL_SUBGROUPS, "subgroups"}, {HONE_KERNEL_F16, "f16"}, {HONE_KERNEL_COOPERATIVE, "cooperative"}};
    size_t length = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!(features & names[i].bit) || length >= size) continue;
        length += (size_t)snprintf(out + length, size - length, "%s%s", length ? ", " : "", names[i].name);
    }
}

static void gpu_facts(hone_device *device, hone_device_facts *out) {
    gpu_device *const gpu = (gpu_device *)device;
    const hone_gpu_driver *const driver = gpu->driver;
    if (!driver) return; // lost
    *out = (hone_device_facts){.hardware = driver->facts.gpu,
                               .driver = driver->facts.driver,
                               .software = driver->facts.software,
                               .memory_bytes = driver->facts.memory_bytes,
                               .buffer_bytes = driver->limits.buffer_bytes,
                               .binding_bytes = driver->limits.binding_bytes,
                               .groups = driver->limits.groups,
                               .features = gpu->features,
                               .off_count = gpu->off_count,
                               .off = (const char *const *)gpu->off_lines};
}

static const hone_device_vtable gpu_vtable = {
    .close = gpu_close,
    .buffer_declare = gpu_buffer_declare,
    .buffer_commit = gpu_buffer_commit,
    .buffer_destroy = gpu_buffer_destroy,
    .upload = gpu_upload,
    .download = gpu_download,
    .fetch_create = gpu_fetch_create,
    .fetch_destroy = gpu_fetch_destroy,
    .fetch_begin = gpu_fetch_begin,
    .fetch_end = gpu_fetch_end,
    .program_create = gpu_program_create,
    .program_destroy = gpu_program_destroy,
    .program_bytes = gpu_program_bytes,
    .submit = gpu_submit,
    .wait = gpu_wait,
    .flags = gpu_flags,
    .profile = gpu_profile,
    .profile_rows = gpu_profile_rows,
    .prepare = gpu_prepare,
    .self_test = gpu_self_test,
    .facts = gpu_facts,
    .reopen = gpu_reopen,
};

typedef struct gpu_interface {
    const char *name;
    hone_status (*open)(const hone_gpu_request *request, hone_gpu_driver **out, hone_error *error);
} gpu_interface;

// "vulkan" gives -1, "vulkan:2" gives 2.
static hone_status parse_name(const char *name, const gpu_interface **out, int *index, hone_error *error) {
    static const gpu_interface drivers[] = {{"vulkan", hone_vulkan_driver_open}, {"webgpu", hone_webgpu_driver_open}};
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        const size_t length = strlen(drivers[i].name);
        if (strncmp(name, drivers[i].name, length) != 0) continue;
        *out = &drivers[i];
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
    limits->features = 0;
    limits->timestamps = false;
}

static size_t piece_bytes(size_t most) {
    const size_t bytes = most < GPU_PIECE_BYTES ? most : GPU_PIECE_BYTES;
    return bytes / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

hone_status gpu_open_driver(gpu_device *gpu, hone_error *error) {
    HONE_TRY(gpu->open(&gpu->request, &gpu->driver, error));
    hone_gpu_limits *const limits = &gpu->driver->limits;
    if (gpu->request.least) force_least(limits);
    if (limits->groups > 65535) limits->groups = 65535; // rows stay far from 2^32
    return gpu_put_faults_before(&gpu->driver, error);
}

// What tests ask for by the environment.
static hone_status read_environment(gpu_device *gpu, hone_error *error) {
    bool self_test = true;
    HONE_TRY(hone_device_switch("HONE_SCRAMBLE", "1", "0", &gpu->scramble, error));
    HONE_TRY(hone_device_switch("HONE_POISON", "1", "0", &gpu->poison, error));
    HONE_TRY(hone_device_switch("HONE_SELF_TEST", "on", "off", &self_test, error));
    gpu->untested = !self_test;
    const char *const patience = getenv("HONE_PATIENCE");
    if (!patience || !patience[0]) return HONE_OK;
    char *end;
    gpu->patience = strtod(patience, &end);
    HONE_FAIL_IF(*end || !(gpu->patience > 0 && gpu->patience < 1e9), error, INVALID_ARGUMENT,
                 "HONE_PATIENCE=%.100s: it is a number of seconds above 0", patience);
    return HONE_OK;
}

hone_status hone_gpu_open(const char *name, bool hardware, hone_device **out, hone_error *error) {
    *out = NULL;
    const gpu_interface *interface = NULL;
    hone_gpu_request request = {.hardware = hardware};
    HONE_TRY(parse_name(name, &interface, &request.index, error));
    const char *const limits = getenv("HONE_LIMITS");
    request.least = limits && strcmp(limits, "webgpu-min") == 0;
    HONE_FAIL_IF(limits && limits[0] && !request.least, error, INVALID_ARGUMENT,
                 "HONE_LIMITS=%s: it can be webgpu-min only", limits);
    gpu_device *gpu;
    HONE_TRY(HONE_NEW(&gpu, "a device", error));
    gpu->base.vtable = &gpu_vtable;
    gpu->request = request;
    gpu->open = interface->open;
    hone_status status = read_environment(gpu, error);
    if (status == HONE_OK) status = gpu_open_driver(gpu, error);
    if (status != HONE_OK) {
        gpu_close(&gpu->base);
        return status;
    }
    gpu->base.padding = 64;
    gpu->base.ahead = GPU_STEPS_AHEAD;
    gpu->base.piece_bytes = piece_bytes(gpu->driver->limits.buffer_bytes);
    gpu->base.staging = gpu->base.peak = gpu->driver->facts.staging_bytes;
    gpu->kind = interface->name;
    list_features(gpu->driver->limits.features, gpu->features, sizeof(gpu->features));
    snprintf(gpu->base.name, sizeof(gpu->base.name), "%s", name);
    snprintf(gpu->base.detail, sizeof(gpu->base.detail), "%s, %s", gpu->driver->facts.gpu, gpu->driver->facts.driver);
    *out = &gpu->base;
    return HONE_OK;
}

hone_status hone_gpu_replace(hone_device *device, const hone_op *op, const hone_kernel_variant *rows,
                             hone_error *error) {
    gpu_device *const gpu = (gpu_device *)device;
    HONE_TRY(HONE_GROW(&gpu->replaced, &gpu->replaced_capacity, gpu->replaced_count + 1, "a test", error));
    gpu->replaced[gpu->replaced_count++] = (gpu_replacement){op, rows};
    return HONE_OK;
}

const hone_kernel_variant *gpu_variants(const gpu_device *gpu, const hone_op *op) {
    for (size_t i = gpu->replaced_count; i-- > 0;) {
        if (gpu->replaced[i].op == op) return gpu->replaced[i].rows;
    }
    return op->variants;
}

uint64_t hone_gpu_dispatches(const hone_device *device, const hone_op *op) {
    const gpu_device *const gpu = (const gpu_device *)device;
    uint64_t dispatches = 0;
    for (size_t i = 0; i < gpu->count_count; i++) {
        if (!op || gpu->counts[i].op == op) dispatches += gpu->counts[i].dispatches;
    }
    return dispatches;
}

uint64_t hone_gpu_submits(const hone_device *device) {
    return ((const gpu_device *)device)->submits;
}
