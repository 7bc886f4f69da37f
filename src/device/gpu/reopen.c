// SPDX-License-Identifier: Apache-2.0
// A GPU that was lost, opened again under the same device: its buffers are there again, with zeros.
#include <stdio.h>
#include <string.h>

#include "device/gpu/selftest.h"

// All that the driver has made. The device's own buffers stay, without bytes.
void gpu_drop_driver(gpu_device *gpu) {
    hone_gpu_driver *const driver = gpu->driver;
    if (!driver) return;
    gpu_self_test_end(gpu);
    for (hone_buffer *buffer = gpu->base.first_buffer; buffer; buffer = buffer->next) gpu_pieces_destroy(buffer);
    for (hone_fetch *fetch = gpu->base.first_fetch; fetch; fetch = fetch->next) gpu_fetch_destroy(fetch);
    gpu_canary_drop(gpu);
    for (size_t i = 0; i < gpu->pipeline_count; i++)
        driver->vtable->pipeline_destroy(driver, gpu->pipelines[i].pipeline);
    gpu->pipeline_count = 0;
    if (gpu->patch_words) driver->vtable->buffer_destroy(driver, gpu->patch_words);
    gpu->patch_words = NULL;
    driver->vtable->close(driver);
    gpu->driver = NULL;
}

// Plans and choices of kernels were made for the GPU that was there before.
static hone_status check_same(const gpu_device *gpu, const hone_gpu_facts *facts, const hone_gpu_limits *limits,
                              hone_error *error) {
    const hone_gpu_driver *const now = gpu->driver;
    HONE_FAIL_IF(strcmp(facts->gpu, now->facts.gpu) != 0 || strcmp(facts->driver, now->facts.driver) != 0 ||
                     limits->buffer_bytes != now->limits.buffer_bytes ||
                     limits->binding_bytes != now->limits.binding_bytes || limits->features != now->limits.features,
                 error, MISMATCH, "%s was lost, and what is there now is another: %s, %s", gpu->base.name,
                 now->facts.gpu, now->facts.driver);
    return HONE_OK;
}

hone_status gpu_reopen(hone_device *device, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)device;
    if (gpu->driver) {
        gpu->was = gpu->driver->facts;
        gpu->was_limits = gpu->driver->limits;
    }
    gpu_drop_driver(gpu);
    HONE_TRY(gpu_open_driver(gpu, error));
    HONE_TRY(check_same(gpu, &gpu->was, &gpu->was_limits, error));
    for (hone_buffer *buffer = device->first_buffer; buffer; buffer = buffer->next)
        if (buffer->committed) HONE_TRY(gpu_pieces_create(buffer, "what was there before the GPU was lost", error));
    for (hone_fetch *fetch = device->first_fetch; fetch; fetch = fetch->next) {
        if (!fetch->own) HONE_TRY(gpu_fetch_create(fetch, error));
    }
    return HONE_OK;
}
