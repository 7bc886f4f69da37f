// SPDX-License-Identifier: Apache-2.0
// Whether a GPU still does what it is asked to: it answers in time, and the last dispatch of each submit has counted. A GPU
// that says it is done but runs nothing, or reads back zeros, has not.
#include "base/clock.h"
#include "device/gpu/internal.h"

#define LEAST_PATIENCE 60.0 // seconds
#define PATIENCE       10.0 // times what is queued should take

hone_status gpu_alive(const gpu_device *gpu, hone_error *error) {
    HONE_FAIL_IF(!gpu->driver || gpu->driver->lost, error, DEVICE_LOST, "%s: the GPU was lost", gpu->base.name);
    return HONE_OK;
}

hone_status gpu_heard(gpu_device *gpu, hone_status status, hone_error *error) {
    if (status == HONE_DEVICE_LOST) gpu->driver->lost = true;
    if (status == HONE_OK) gpu->pending_since = 0;
    if (status != HONE_PENDING) return status;
    const double now = hone_clock_seconds();
    if (gpu->pending_since == 0) gpu->pending_since = now;
    const double most = gpu->patience > 0 ? gpu->patience : LEAST_PATIENCE + PATIENCE * gpu->queued_seconds;
    if (now - gpu->pending_since <= most) return HONE_PENDING;
    gpu->driver->lost = true;
    HONE_FAIL(error, DEVICE_LOST, "%s: the GPU has not finished its work in %.0f seconds, which counts as lost",
              gpu->base.name, most);
}

hone_status gpu_canary_make(gpu_device *gpu, hone_error *error) {
    hone_gpu_driver *const driver = gpu->driver;
    if (gpu->canary.pipeline) return HONE_OK;
    const uint32_t words[HONE_KERNEL_WORDS] = {1, 1};
    if (!gpu->canary_words)
        HONE_TRY(driver->vtable->buffer_create(driver, sizeof(words), "a count", &gpu->canary_words, error));
    if (!gpu->canary_count)
        HONE_TRY(driver->vtable->buffer_create(driver, HONE_BUFFER_ALIGNMENT, "a count", &gpu->canary_count, error));
    HONE_TRY(driver->vtable->upload(driver, gpu->canary_words, 0, words, sizeof(words), error));
    gpu->canary.parameters = (hone_gpu_range){gpu->canary_words, 0, sizeof(words)};
    gpu->canary.bindings[0] = (hone_gpu_range){gpu->canary_count, 0, HONE_BUFFER_ALIGNMENT};
    gpu->canary.binding_count = 1;
    gpu->canary.groups[0] = gpu->canary.groups[1] = 1;
    gpu->canary.waits = true; // all that the submit does comes before it
    gpu->submits = gpu->checked = 0;
    return gpu_pipeline_get(gpu, "patch.count_submit", 1, &gpu->canary.pipeline, error);
}

void gpu_canary_drop(gpu_device *gpu) {
    hone_gpu_driver *const driver = gpu->driver;
    if (gpu->canary_words) driver->vtable->buffer_destroy(driver, gpu->canary_words);
    if (gpu->canary_count) driver->vtable->buffer_destroy(driver, gpu->canary_count);
    gpu->canary_words = gpu->canary_count = NULL;
    gpu->canary.pipeline = NULL;
    gpu->submits = gpu->checked = 0;
    gpu->pending_since = gpu->queued_seconds = 0;
}

hone_status gpu_canary_compare(gpu_device *gpu, uint32_t counted, uint32_t submits, hone_error *error) {
    if (counted == submits) {
        if (submits == gpu->submits) gpu->queued_seconds = 0;
        gpu->checked = submits;
        return HONE_OK;
    }
    gpu->driver->lost = true;
    HONE_FAIL(error, DEVICE_LOST,
              "%s: the GPU says it is done, but %u submits have run where %u were made: its results are void",
              gpu->base.name, counted, submits);
}

hone_status gpu_canary_check(gpu_device *gpu, bool always, hone_error *error) {
    hone_gpu_driver *const driver = gpu->driver;
    if (!gpu->canary_count || (gpu->checked == gpu->submits && !always)) return HONE_OK;
    uint32_t counted = 0;
    hone_status status;
    do {
        status = driver->vtable->download(driver, gpu->canary_count, 0, &counted, sizeof(counted), error);
        status = gpu_heard(gpu, status, error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    return gpu_canary_compare(gpu, counted, gpu->submits, error);
}
