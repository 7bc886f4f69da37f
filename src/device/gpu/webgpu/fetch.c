// SPDX-License-Identifier: Apache-2.0
// A few bytes on their way to the host: a buffer of their own each, which is mapped as soon as the copy into it is done.
#include <string.h>

#include "base/clock.h"
#include "device/gpu/webgpu/internal.h"

struct hone_gpu_fetch {
    WGPUBuffer buffer;
    size_t bytes;
    webgpu_reading reading;
    bool answered; // set by the callback
};

#define DESTROY_SECONDS 10 // that a callback is waited for

hone_status webgpu_fetch_create(hone_gpu_driver *driver, size_t bytes, hone_gpu_fetch **out, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    hone_gpu_fetch *fetch;
    HONE_TRY(HONE_NEW(&fetch, "reading back", error));
    const WGPUBufferDescriptor descriptor = {.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, .size = bytes};
    fetch->bytes = bytes;
    fetch->buffer = gpu->DeviceCreateBuffer(gpu->device, &descriptor);
    const hone_status status = webgpu_check(gpu, "reading back", error);
    if (status != HONE_OK) {
        webgpu_fetch_destroy(driver, fetch);
        return status;
    }
    *out = fetch;
    return HONE_OK;
}

void webgpu_fetch_destroy(hone_gpu_driver *driver, hone_gpu_fetch *fetch) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    const double start = hone_clock_seconds();
    bool gone = fetch->reading == WEBGPU_MAPPING && !fetch->answered; // the callback writes into it when it comes
    while (gone && hone_clock_seconds() - start < DESTROY_SECONDS) {
        const hone_status status = webgpu_poll(gpu, &fetch->answered, "reading back", NULL);
        gone = !fetch->answered;
        if (status != HONE_OK && status != HONE_PENDING) break;
    }
    if (fetch->reading == WEBGPU_MAPPED) gpu->BufferUnmap(fetch->buffer);
    if (fetch->buffer) gpu->BufferRelease(fetch->buffer);
    if (!gone) hone_free(fetch); // else the library may still write there: better lost than written over
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *opaque, void *unused) {
    (void)message;
    (void)unused;
    hone_gpu_fetch *const fetch = opaque;
    fetch->reading = status == WGPUMapAsyncStatus_Success ? WEBGPU_MAPPED : WEBGPU_MAP_FAILED;
    fetch->answered = true;
}

hone_status webgpu_fetch_begin(hone_gpu_driver *driver, hone_gpu_fetch *fetch, const hone_gpu_range *from,
                               hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    WGPUCommandEncoder encoder = gpu->DeviceCreateCommandEncoder(gpu->device, NULL);
    gpu->CommandEncoderCopyBufferToBuffer(encoder, from->buffer->buffer, from->offset, fetch->buffer, 0, fetch->bytes);
    WGPUCommandBuffer commands = gpu->CommandEncoderFinish(encoder, NULL);
    gpu->CommandEncoderRelease(encoder);
    HONE_TRY(webgpu_check(gpu, "reading back", error));
    gpu->QueueSubmit(gpu->queue, 1, &commands);
    gpu->submitted++;
    gpu->CommandBufferRelease(commands);
    fetch->reading = WEBGPU_MAPPING;
    fetch->answered = false;
    gpu->BufferMapAsync(fetch->buffer, WGPUMapMode_Read, 0, fetch->bytes,
                        (WGPUBufferMapCallbackInfo){
                            .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_mapped, .userdata1 = fetch});
    return webgpu_check(gpu, "reading back", error);
}

hone_status webgpu_fetch_end(hone_gpu_driver *driver, hone_gpu_fetch *fetch, void *data, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    HONE_TRY(webgpu_poll(gpu, &fetch->answered, "reading back", error));
    const void *const mapped =
        fetch->reading == WEBGPU_MAPPED ? gpu->BufferGetConstMappedRange(fetch->buffer, 0, fetch->bytes) : NULL;
    if (mapped) memcpy(data, mapped, fetch->bytes);
    if (fetch->reading == WEBGPU_MAPPED) gpu->BufferUnmap(fetch->buffer);
    fetch->reading = WEBGPU_IDLE;
    HONE_FAIL_IF(!mapped, error, DEVICE_LOST, "webgpu: the GPU's memory could not be read back");
    return HONE_OK;
}
