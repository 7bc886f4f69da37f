// SPDX-License-Identifier: Apache-2.0
// Opening WebGPU: the library, the GPU, its limits, layouts for every count of bindings.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu/webgpu/internal.h"

#define WEBGPU_MAX_GPUS 16

static void note(webgpu_driver *gpu, WGPUStringView message) {
    if (gpu->failed) return; // the first is the cause
    gpu->failed = true;
    const size_t length = !message.data ? 0 : message.length == WGPU_STRLEN ? strlen(message.data) : message.length;
    snprintf(gpu->message, sizeof(gpu->message), "%.*s", length > 500 ? 500 : (int)length,
             message.data ? message.data : "");
    for (char *c = gpu->message; *c; c++) {
        if (*c == '\n') *c = ' ';
    }
}

static void on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *driver, void *unused) {
    (void)device;
    (void)type;
    (void)unused;
    note(driver, message);
}

static void on_lost(WGPUDevice const *device, WGPUDeviceLostReason reason, WGPUStringView message, void *driver,
                    void *unused) {
    (void)device;
    (void)unused;
    if (reason == WGPUDeviceLostReason_Destroyed) return; // by closing it
    ((webgpu_driver *)driver)->lost = true;
    note(driver, message);
}

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void *driver,
                      void *unused) {
    (void)unused;
    webgpu_driver *const gpu = driver;
    if (status == WGPURequestDeviceStatus_Success)
        gpu->device = device;
    else
        note(gpu, message);
}

hone_status webgpu_check(webgpu_driver *gpu, const char *what, hone_error *error) {
    if (!gpu->failed) return HONE_OK;
    gpu->failed = false;
    HONE_FAIL_IF(gpu->lost, error, DEVICE_LOST, "webgpu: the GPU was lost during %s: %s", what, gpu->message);
    HONE_FAIL_IF(strstr(gpu->message, "emory"), error, OUT_OF_MEMORY, "webgpu: %s: %s", what, gpu->message);
    HONE_FAIL(error, UNSUPPORTED, "webgpu: %s: %s", what, gpu->message);
}

static void *open_library(void) {
    const char *const wanted = getenv("HONE_WGPU");
    const char *const names[] = {wanted, "libwgpu_native.so", HONE_WGPU_LIBRARY};
    void *library = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++) {
        if (names[i]) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static hone_status load(webgpu_driver *gpu, hone_error *error) {
    gpu->library = open_library();
    HONE_FAIL_IF(!gpu->library, error, NOT_FOUND,
                 "webgpu: libwgpu_native.so is not installed; HONE_WGPU=/path/to/it names one");
#define WEBGPU_LOAD(name)                                                                                              \
    *(void **)&gpu->name = dlsym(gpu->library, "wgpu" #name);                                                          \
    HONE_FAIL_IF(!gpu->name, error, NOT_FOUND, "webgpu: the library lacks wgpu%s: it is another version", #name);
    WEBGPU_FUNCTIONS(WEBGPU_LOAD)
#undef WEBGPU_LOAD
    // Without OpenGL, whose probing prints to stderr.
    const WGPUInstanceExtras extras = {.chain = {.sType = (WGPUSType)WGPUSType_InstanceExtras},
                                       .backends = WGPUInstanceBackend_Primary};
    const WGPUInstanceDescriptor descriptor = {.nextInChain = (WGPUChainedStruct *)&extras.chain};
    gpu->instance = gpu->CreateInstance(&descriptor);
    HONE_FAIL_IF(!gpu->instance, error, NOT_FOUND, "webgpu: the library could not be started");
    return HONE_OK;
}

static int worth(WGPUAdapterType type) {
    return type == WGPUAdapterType_DiscreteGPU ? 3 : type == WGPUAdapterType_IntegratedGPU ? 2 : 1;
}

static hone_status choose_gpu(webgpu_driver *gpu, int index, hone_error *error) {
    WGPUAdapter adapters[WEBGPU_MAX_GPUS];
    const WGPUInstanceEnumerateAdapterOptions options = {.backends = WGPUInstanceBackend_Primary};
    const size_t found = gpu->InstanceEnumerateAdapters(gpu->instance, &options, NULL);
    HONE_FAIL_IF(found == 0, error, NOT_FOUND, "webgpu: no GPU with a driver was found");
    HONE_FAIL_IF(found > WEBGPU_MAX_GPUS, error, UNSUPPORTED, "webgpu: more than %d GPUs", WEBGPU_MAX_GPUS);
    const size_t count = gpu->InstanceEnumerateAdapters(gpu->instance, &options, adapters);
    int best = -1;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        WGPUAdapterInfo info = {0};
        gpu->AdapterGetInfo(adapters[i], &info);
        const int now = worth(info.adapterType);
        if (index >= 0 ? (int)i == index : now > best) {
            best = now;
            chosen = i;
            snprintf(gpu->base.detail, sizeof(gpu->base.detail), "%.*s",
                     info.device.length > 100 ? 100 : (int)info.device.length,
                     info.device.data ? info.device.data : "");
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
                                         .overlap = true};
    if (!least) {
        gpu->base.limits.buffer_bytes = there.maxBufferSize;
        gpu->base.limits.binding_bytes = there.maxStorageBufferBindingSize;
        wanted.maxBufferSize = there.maxBufferSize;
        wanted.maxStorageBufferBindingSize = there.maxStorageBufferBindingSize;
    }
    const WGPUDeviceDescriptor descriptor = {
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
    if (gpu->instance) gpu->InstanceRelease(gpu->instance);
    // The library stays loaded: its own threads may still be on their way out.
    hone_free(gpu);
}

static const hone_gpu_driver_vtable webgpu_vtable = {
    .close = webgpu_close,
    .buffer_create = webgpu_buffer_create,
    .buffer_destroy = webgpu_buffer_destroy,
    .upload = webgpu_upload,
    .download = webgpu_download,
    .pipeline_create = webgpu_pipeline_create,
    .pipeline_destroy = webgpu_pipeline_destroy,
    .record = webgpu_record,
    .recording_destroy = webgpu_recording_destroy,
    .submit = webgpu_submit,
    .wait = webgpu_wait,
};

hone_status hone_webgpu_driver_open(int index, bool least, hone_gpu_driver **out, hone_error *error) {
    *out = NULL;
    webgpu_driver *gpu;
    HONE_TRY(HONE_NEW(&gpu, "the WebGPU driver", error));
    gpu->base.vtable = &webgpu_vtable;
    hone_status status;
    HONE_TRY_GOTO(load(gpu, error), failed);
    HONE_TRY_GOTO(choose_gpu(gpu, index, error), failed);
    HONE_TRY_GOTO(open_device(gpu, least, error), failed);
    HONE_TRY_GOTO(make_layouts(gpu, error), failed);
    *out = &gpu->base;
    return HONE_OK;
failed:
    webgpu_close(&gpu->base);
    return status;
}
