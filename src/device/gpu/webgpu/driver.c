// SPDX-License-Identifier: Apache-2.0
// Opening WebGPU: the library, the GPU, its limits, layouts for every count of bindings.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "device/gpu/webgpu/internal.h"

#define WEBGPU_MAX_GPUS 16

static void copy_text(char *out, size_t size, WGPUStringView text) {
    const size_t length = !text.data ? 0 : text.length == WGPU_STRLEN ? strlen(text.data) : text.length;
    snprintf(out, size, "%.*s", length < size ? (int)length : (int)size - 1, text.data ? text.data : "");
}

static void note(webgpu_driver *gpu, hone_status status, WGPUStringView message) {
    pthread_mutex_lock(&gpu->lock);
    gpu->base.lost |= status == HONE_DEVICE_LOST;
    // The first is the cause; but what comes before a loss is its consequence.
    if (!gpu->failed || status == HONE_DEVICE_LOST) {
        gpu->failed = true;
        gpu->failure = status;
        copy_text(gpu->message, sizeof(gpu->message), message);
        for (char *c = gpu->message; *c; c++) {
            if (*c == '\n') *c = ' ';
        }
    }
    pthread_mutex_unlock(&gpu->lock);
}

static void on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *driver, void *unused) {
    (void)device;
    (void)unused;
    note(driver, type == WGPUErrorType_OutOfMemory ? HONE_OUT_OF_MEMORY : HONE_UNSUPPORTED, message);
}

static void on_lost(WGPUDevice const *device, WGPUDeviceLostReason reason, WGPUStringView message, void *driver,
                    void *unused) {
    (void)device;
    (void)unused;
    if (reason == WGPUDeviceLostReason_Destroyed) return; // by closing it
    note(driver, HONE_DEVICE_LOST, message);
}

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void *driver,
                      void *unused) {
    (void)unused;
    webgpu_driver *const gpu = driver;
    if (status == WGPURequestDeviceStatus_Success)
        gpu->device = device;
    else
        note(gpu, HONE_UNSUPPORTED, message);
}

hone_status webgpu_check(webgpu_driver *gpu, const char *what, hone_error *error) {
    hone_status status = HONE_OK;
    pthread_mutex_lock(&gpu->lock);
    if (gpu->base.lost)
        status = hone_error_set(error, HONE_DEVICE_LOST, "webgpu: the GPU was lost during %s: %s", what, gpu->message);
    else if (gpu->failed)
        status = hone_error_set(error, gpu->failure, "webgpu: %s: %s", what, gpu->message);
    gpu->failed = false;
    pthread_mutex_unlock(&gpu->lock);
    return status;
}

static hone_status make_instance(webgpu_driver *gpu, hone_error *error) {
    HONE_TRY(webgpu_load(gpu, error));
    // Without OpenGL, whose probing prints to stderr.
    const WGPUInstanceExtras extras = {.chain = {.sType = (WGPUSType)WGPUSType_InstanceExtras},
                                       .backends = WGPUInstanceBackend_Primary};
    const WGPUInstanceDescriptor descriptor = {.nextInChain = (WGPUChainedStruct *)&extras.chain};
    gpu->instance = gpu->CreateInstance(&descriptor);
    HONE_FAIL_IF(!gpu->instance, error, NOT_FOUND, "webgpu: the library could not be started");
    return HONE_OK;
}

static int worth(WGPUAdapterType type) {
    switch (type) {
    case WGPUAdapterType_DiscreteGPU:
        return 4;
    case WGPUAdapterType_IntegratedGPU:
        return 3;
    case WGPUAdapterType_CPU:
        return 1;
    default:
        return 2;
    }
}

static hone_status list_gpus(webgpu_driver *gpu, WGPUAdapter *adapters, size_t *count, hone_error *error) {
    const WGPUInstanceEnumerateAdapterOptions options = {.backends = WGPUInstanceBackend_Primary};
    *count = gpu->InstanceEnumerateAdapters(gpu->instance, &options, NULL);
    HONE_FAIL_IF(*count == 0, error, NOT_FOUND, "webgpu: no GPU with a driver was found");
    HONE_FAIL_IF(*count > WEBGPU_MAX_GPUS, error, UNSUPPORTED, "webgpu: more than %d GPUs", WEBGPU_MAX_GPUS);
    *count = gpu->InstanceEnumerateAdapters(gpu->instance, &options, adapters);
    return HONE_OK;
}

static hone_status choose_gpu(webgpu_driver *gpu, const hone_gpu_request *request, hone_error *error) {
    WGPUAdapter adapters[WEBGPU_MAX_GPUS];
    size_t count;
    HONE_TRY(list_gpus(gpu, adapters, &count, error));
    hone_gpu_facts *const facts = &gpu->base.facts;
    const int index = request->index;
    int best = -1;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        WGPUAdapterInfo info = {0};
        gpu->AdapterGetInfo(adapters[i], &info);
        const int now = worth(info.adapterType);
        if (index >= 0 ? (int)i == index : now > best) {
            char driver[96];
            best = now;
            chosen = i;
            facts->software = info.adapterType == WGPUAdapterType_CPU;
            copy_text(facts->gpu, sizeof(facts->gpu), info.device);
            copy_text(driver, sizeof(driver), info.description);
            snprintf(facts->driver, sizeof(facts->driver), "%s, wgpu-native %s", driver, gpu->version);
        }
        gpu->AdapterInfoFreeMembers(info);
    }
    for (size_t i = 0; i < count; i++) {
        if (best >= 0 && i == chosen)
            gpu->adapter = adapters[i];
        else
            gpu->AdapterRelease(adapters[i]);
    }
    HONE_FAIL_IF(best < 0, error, NOT_FOUND, "webgpu:%d: only GPUs 0 to %zu are there", index, count - 1);
    HONE_FAIL_IF(facts->software && request->hardware, error, NOT_FOUND,
                 "webgpu: %s is no GPU but a program: only --device webgpu takes it", facts->gpu);
    return HONE_OK;
}

static hone_status open_device(webgpu_driver *gpu, bool least, hone_error *error) {
    WGPULimits there = WGPU_LIMITS_INIT;
    WGPULimits wanted = WGPU_LIMITS_INIT;
    gpu->AdapterGetLimits(gpu->adapter, &there);
    gpu->base.limits = (hone_gpu_limits){.buffer_bytes = (size_t)256 << 20,
                                         .binding_bytes = (size_t)128 << 20,
                                         .groups = 65535,
                                         .copy_alignment = 4,
                                         .threads = true,
                                         .overlap = true};
    gpu->checked = least;
    if (!least) {
        gpu->base.limits.buffer_bytes = there.maxBufferSize;
        gpu->base.limits.binding_bytes = there.maxStorageBufferBindingSize;
        wanted.maxBufferSize = there.maxBufferSize;
        wanted.maxStorageBufferBindingSize = there.maxStorageBufferBindingSize;
    }
    const WGPUFeatureName times = WGPUFeatureName_TimestampQuery;
    gpu->base.limits.timestamps = gpu->AdapterHasFeature(gpu->adapter, times);
    const WGPUDeviceDescriptor descriptor = {
        .requiredFeatureCount = gpu->base.limits.timestamps,
        .requiredFeatures = &times,
        .requiredLimits = least ? NULL : &wanted,
        .deviceLostCallbackInfo = {.mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_lost, .userdata1 = gpu},
        .uncapturedErrorCallbackInfo = {.callback = on_error, .userdata1 = gpu}};
    gpu->AdapterRequestDevice(gpu->adapter, &descriptor,
                              (WGPURequestDeviceCallbackInfo){.mode = WGPUCallbackMode_AllowSpontaneous,
                                                              .callback = on_device,
                                                              .userdata1 = gpu}); // wgpu-native answers at once
    HONE_TRY(webgpu_check(gpu, "opening the GPU", error));
    HONE_FAIL_IF(!gpu->device, error, UNSUPPORTED, "webgpu: the GPU was not opened");
    gpu->queue = gpu->DeviceGetQueue(gpu->device);
    gpu->tick = gpu->QueueGetTimestampPeriod(gpu->queue) * 1e-9;
    const WGPUBufferDescriptor read = {.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst,
                                       .size = WEBGPU_READ_BYTES};
    gpu->read_buffer = gpu->DeviceCreateBuffer(gpu->device, &read);
    return webgpu_check(gpu, "a buffer to read through", error);
}

static hone_status make_layouts(webgpu_driver *gpu, hone_error *error) {
    WGPUBindGroupLayoutEntry entries[HONE_KERNEL_BINDINGS + 1];
    memset(entries, 0, sizeof(entries));
    for (uint32_t i = 0; i <= HONE_KERNEL_BINDINGS; i++) {
        entries[i].binding = i;
        entries[i].visibility = WGPUShaderStage_Compute;
        entries[i].buffer.type = i ? WGPUBufferBindingType_Storage : WGPUBufferBindingType_Uniform;
        const WGPUBindGroupLayoutDescriptor group = {.entryCount = i + 1, .entries = entries};
        gpu->group_layouts[i] = gpu->DeviceCreateBindGroupLayout(gpu->device, &group);
        const WGPUPipelineLayoutDescriptor layout = {.bindGroupLayoutCount = 1,
                                                     .bindGroupLayouts = &gpu->group_layouts[i]};
        gpu->layouts[i] = gpu->DeviceCreatePipelineLayout(gpu->device, &layout);
    }
    return webgpu_check(gpu, "layouts", error);
}

// As on Vulkan, which this uses: the first instance keeps a GPU's driver loaded for good.
static bool keeps_instance(const webgpu_driver *gpu) {
    static _Atomic(WGPUInstance) kept;
    WGPUInstance none = NULL;
    return gpu->instance && atomic_compare_exchange_strong(&kept, &none, gpu->instance);
}

static void webgpu_close(hone_gpu_driver *driver) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    for (uint32_t i = 0; i <= HONE_KERNEL_BINDINGS; i++) {
        if (gpu->layouts[i]) gpu->PipelineLayoutRelease(gpu->layouts[i]);
        if (gpu->group_layouts[i]) gpu->BindGroupLayoutRelease(gpu->group_layouts[i]);
    }
    if (gpu->read_buffer) gpu->BufferRelease(gpu->read_buffer);
    if (gpu->queue) gpu->QueueRelease(gpu->queue);
    if (gpu->device) gpu->DeviceRelease(gpu->device);
    if (gpu->adapter) gpu->AdapterRelease(gpu->adapter);
    if (gpu->instance && !keeps_instance(gpu)) gpu->InstanceRelease(gpu->instance);
    pthread_mutex_destroy(&gpu->lock);
    // The library stays loaded: its own threads may still be on their way out.
    hone_free(gpu);
}

static const hone_gpu_driver_vtable webgpu_vtable = {
    .close = webgpu_close,
    .buffer_create = webgpu_buffer_create,
    .buffer_destroy = webgpu_buffer_destroy,
    .upload = webgpu_upload,
    .download = webgpu_download,
    .fetch_create = webgpu_fetch_create,
    .fetch_destroy = webgpu_fetch_destroy,
    .fetch_begin = webgpu_fetch_begin,
    .fetch_end = webgpu_fetch_end,
    .pipeline_create = webgpu_pipeline_create,
    .pipeline_destroy = webgpu_pipeline_destroy,
    .record = webgpu_record,
    .recording_destroy = webgpu_recording_destroy,
    .submit = webgpu_submit,
    .wait = webgpu_wait,
    .timestamps = webgpu_timestamps,
};

static hone_status new_driver(webgpu_driver **out, hone_error *error) {
    HONE_TRY(HONE_NEW(out, "the WebGPU driver", error));
    (*out)->base.vtable = &webgpu_vtable;
    pthread_mutex_init(&(*out)->lock, NULL); // which cannot fail without attributes
    return HONE_OK;
}

hone_status hone_webgpu_driver_open(const hone_gpu_request *request, hone_gpu_driver **out, hone_error *error) {
    *out = NULL;
    webgpu_driver *gpu;
    HONE_TRY(new_driver(&gpu, error));
    hone_status status;
    HONE_TRY_GOTO(make_instance(gpu, error), failed);
    HONE_TRY_GOTO(choose_gpu(gpu, request, error), failed);
    HONE_TRY_GOTO(open_device(gpu, request->least, error), failed);
    HONE_TRY_GOTO(make_layouts(gpu, error), failed);
    *out = &gpu->base;
    return HONE_OK;
failed:
    webgpu_close(&gpu->base);
    return status;
}

hone_status hone_webgpu_count(size_t *out, hone_error *error) {
    WGPUAdapter adapters[WEBGPU_MAX_GPUS];
    size_t count = 0;
    webgpu_driver *gpu;
    *out = 0;
    HONE_TRY(new_driver(&gpu, error));
    hone_status status = make_instance(gpu, error);
    if (status == HONE_OK) status = list_gpus(gpu, adapters, &count, error);
    if (status == HONE_OK) {
        for (size_t i = 0; i < count; i++) gpu->AdapterRelease(adapters[i]);
        *out = count;
    }
    webgpu_close(&gpu->base);
    return status;
}
