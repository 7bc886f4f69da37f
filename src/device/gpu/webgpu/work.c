// SPDX-License-Identifier: Apache-2.0
// WebGPU work: buffers, copies, pipelines, and lists of dispatches that are encoded again at each submit.
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "device/gpu/webgpu/internal.h"

struct hone_gpu_pipeline {
    WGPUComputePipeline pipeline;
};

typedef struct webgpu_command {
    WGPUComputePipeline pipeline;
    WGPUBindGroup group;
    uint32_t groups[2];
} webgpu_command;

struct hone_gpu_recording {
    webgpu_command *commands;
    size_t count;
    // Where timed, two timestamps for each command: WebGPU takes them at the ends of a pass, so each command has its own.
    WGPUQuerySet queries;
    hone_gpu_buffer times;
    uint64_t *ticks; // [2 count]
};

// --- waiting ---------------------------------------------------------------------------------------------------------
#define POLL_SECONDS 0.1
#define POLL_SPINS   50 // before it sleeps between its looks

hone_status webgpu_poll(webgpu_driver *gpu, const bool *done, const char *what, hone_error *error) {
    const double start = hone_clock_seconds();
    for (unsigned looks = 0;; looks++) {
        gpu->DevicePoll(gpu->device, false, NULL);
        HONE_TRY(webgpu_check(gpu, what, error));
        if (*done) return HONE_OK;
        if (hone_clock_seconds() - start > POLL_SECONDS) return HONE_PENDING;
        const struct timespec pause = {.tv_nsec = looks < POLL_SPINS ? 1000 : 50000};
        nanosleep(&pause, NULL);
    }
}

// --- memory ----------------------------------------------------------------------------------------------------------
hone_status webgpu_buffer_create(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                                 hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    hone_gpu_buffer *buffer;
    HONE_TRY(HONE_NEW(&buffer, what, error));
    const WGPUBufferDescriptor descriptor = {.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_Uniform |
                                                      WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
                                             .size = bytes};
    buffer->buffer = gpu->DeviceCreateBuffer(gpu->device, &descriptor);
    const hone_status status = webgpu_check(gpu, what, error);
    if (status != HONE_OK) {
        webgpu_buffer_destroy(driver, buffer);
        return status;
    }
    *out = buffer;
    return HONE_OK;
}

void webgpu_buffer_destroy(hone_gpu_driver *driver, hone_gpu_buffer *buffer) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    if (buffer->buffer) gpu->BufferRelease(buffer->buffer); // the library keeps it until its last use is over
    hone_free(buffer);
}

hone_status webgpu_upload(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, const void *data,
                          size_t bytes, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    gpu->QueueWriteBuffer(gpu->queue, buffer->buffer, offset, data, bytes);
    return webgpu_check(gpu, "an upload", error);
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *driver, void *unused) {
    (void)message;
    (void)unused;
    webgpu_driver *const gpu = driver;
    gpu->reading = status == WGPUMapAsyncStatus_Success ? WEBGPU_MAPPED : WEBGPU_MAP_FAILED;
    gpu->mapped = true;
}

static void begin_read(webgpu_driver *gpu, hone_gpu_buffer *buffer, size_t offset, size_t bytes) {
    WGPUCommandEncoder encoder = gpu->DeviceCreateCommandEncoder(gpu->device, NULL);
    gpu->CommandEncoderCopyBufferToBuffer(encoder, buffer->buffer, offset, gpu->read_buffer, 0, bytes);
    WGPUCommandBuffer commands = gpu->CommandEncoderFinish(encoder, NULL);
    gpu->CommandEncoderRelease(encoder);
    if (commands) {
        gpu->QueueSubmit(gpu->queue, 1, &commands);
        gpu->submitted++;
        gpu->CommandBufferRelease(commands);
    }
    gpu->reading = WEBGPU_MAPPING;
    gpu->mapped = false;
    gpu->BufferMapAsync(gpu->read_buffer, WGPUMapMode_Read, 0, bytes,
                        (WGPUBufferMapCallbackInfo){
                            .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_mapped, .userdata1 = gpu});
}

hone_status webgpu_download(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                            hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    while (gpu->read_bytes < bytes) {
        const size_t at = gpu->read_bytes;
        const size_t n = bytes - at < WEBGPU_READ_BYTES ? bytes - at : WEBGPU_READ_BYTES;
        if (gpu->reading == WEBGPU_IDLE) begin_read(gpu, buffer, offset + at, n);
        hone_status status = webgpu_poll(gpu, &gpu->mapped, "reading back", error);
        if (status == HONE_PENDING) return status;
        const void *const mapped =
            gpu->reading == WEBGPU_MAPPED ? gpu->BufferGetConstMappedRange(gpu->read_buffer, 0, n) : NULL;
        if (status == HONE_OK && !mapped)
            status = hone_error_set(error, HONE_DEVICE_LOST, "webgpu: the GPU's memory could not be read back");
        if (mapped) memcpy((char *)data + at, mapped, n);
        if (gpu->reading == WEBGPU_MAPPED) gpu->BufferUnmap(gpu->read_buffer);
        gpu->reading = WEBGPU_IDLE;
        gpu->read_bytes = status == HONE_OK ? at + n : 0;
        HONE_TRY(status);
    }
    gpu->read_bytes = 0;
    return HONE_OK;
}

// --- pipelines -------------------------------------------------------------------------------------------------------
hone_status webgpu_pipeline_create(hone_gpu_driver *driver, const hone_gpu_code *code, const char *function,
                                   uint32_t binding_count, hone_gpu_pipeline **out, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    const WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                         .code = webgpu_text(code->wgsl)};
    const WGPUShaderModuleDescriptor shader = {.nextInChain = (WGPUChainedStruct *)&source.chain};
    // The kernels keep to their bounds by themselves, as they must on Vulkan. What a browser adds to every access and every
    // loop takes a quarter of a product's speed; as the least device, this one adds it too.
    WGPUShaderModule module =
        gpu->checked ? gpu->DeviceCreateShaderModule(gpu->device, &shader)
                     : gpu->DeviceCreateShaderModuleTrusted(gpu->device, &shader, WGPUShaderRuntimeChecks_None);
    const hone_status compiled = webgpu_check(gpu, code->name, error);
    if (compiled != HONE_OK) {
        if (module) gpu->ShaderModuleRelease(module);
        return compiled;
    }
    const WGPUComputePipelineDescriptor descriptor = {
        .layout = gpu->layouts[binding_count], .compute = {.module = module, .entryPoint = webgpu_text(function)}};
    WGPUComputePipeline made = gpu->DeviceCreateComputePipeline(gpu->device, &descriptor);
    gpu->ShaderModuleRelease(module);
    hone_gpu_pipeline *pipeline;
    hone_status status = webgpu_check(gpu, function, error);
    if (status == HONE_OK) status = HONE_NEW(&pipeline, "a pipeline", error);
    if (status != HONE_OK) {
        if (made) gpu->ComputePipelineRelease(made);
        return status;
    }
    pipeline->pipeline = made;
    *out = pipeline;
    return HONE_OK;
}

void webgpu_pipeline_destroy(hone_gpu_driver *driver, hone_gpu_pipeline *pipeline) {
    ((webgpu_driver *)driver)->ComputePipelineRelease(pipeline->pipeline);
    hone_free(pipeline);
}

// --- recordings ------------------------------------------------------------------------------------------------------
static void make_command(webgpu_driver *gpu, const hone_gpu_command *command, webgpu_command *out) {
    WGPUBindGroupEntry entries[HONE_KERNEL_BINDINGS + 1];
    memset(entries, 0, sizeof(entries));
    for (uint32_t i = 0; i <= command->binding_count; i++) {
        const hone_gpu_range *const range = i ? &command->bindings[i - 1] : &command->parameters;
        entries[i].binding = i;
        entries[i].buffer = range->buffer->buffer;
        entries[i].offset = range->offset;
        entries[i].size = range->bytes;
    }
    const WGPUBindGroupDescriptor descriptor = {.layout = gpu->group_layouts[command->binding_count],
                                                .entryCount = command->binding_count + 1,
                                                .entries = entries};
    *out = (webgpu_command){.pipeline = command->pipeline->pipeline,
                            .group = gpu->DeviceCreateBindGroup(gpu->device, &descriptor),
                            .groups = {command->groups[0], command->groups[1]}};
}

static hone_status make_queries(webgpu_driver *gpu, hone_gpu_recording *recording, size_t count, hone_error *error) {
    const WGPUQuerySetDescriptor set = {.type = WGPUQueryType_Timestamp, .count = 2 * (uint32_t)count};
    const WGPUBufferDescriptor buffer = {.usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc,
                                         .size = 2 * count * sizeof(uint64_t)};
    HONE_TRY(HONE_NEW_ARRAY(&recording->ticks, 2 * count, "timestamps", error));
    recording->queries = gpu->DeviceCreateQuerySet(gpu->device, &set);
    recording->times.buffer = gpu->DeviceCreateBuffer(gpu->device, &buffer);
    return webgpu_check(gpu, "timestamps", error);
}

hone_status webgpu_record(hone_gpu_driver *driver, const hone_gpu_command *commands, size_t count, bool timed,
                          hone_gpu_recording **out, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    hone_gpu_recording *recording;
    hone_status status;
    HONE_TRY(HONE_NEW(&recording, "a recording", error));
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&recording->commands, count, "a recording", error), failed);
    if (timed) HONE_TRY_GOTO(make_queries(gpu, recording, count, error), failed);
    for (; recording->count < count; recording->count++)
        make_command(gpu, &commands[recording->count], &recording->commands[recording->count]);
    HONE_TRY_GOTO(webgpu_check(gpu, "bindings", error), failed);
    *out = recording;
    return HONE_OK;
failed:
    webgpu_recording_destroy(driver, recording);
    return status;
}

void webgpu_recording_destroy(hone_gpu_driver *driver, hone_gpu_recording *recording) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    for (size_t i = 0; i < recording->count; i++) {
        if (recording->commands[i].group) gpu->BindGroupRelease(recording->commands[i].group);
    }
    if (recording->queries) gpu->QuerySetRelease(recording->queries);
    if (recording->times.buffer) gpu->BufferRelease(recording->times.buffer);
    hone_free(recording->ticks);
    hone_free(recording->commands);
    hone_free(recording);
}

static void encode(webgpu_driver *gpu, WGPUComputePassEncoder pass, const webgpu_command *command) {
    gpu->ComputePassEncoderSetPipeline(pass, command->pipeline);
    gpu->ComputePassEncoderSetBindGroup(pass, 0, command->group, 0, NULL);
    gpu->ComputePassEncoderDispatchWorkgroups(pass, command->groups[0], command->groups[1], 1);
}

static void end_pass(webgpu_driver *gpu, WGPUComputePassEncoder pass) {
    gpu->ComputePassEncoderEnd(pass);
    gpu->ComputePassEncoderRelease(pass);
}

static void encode_timed(webgpu_driver *gpu, WGPUCommandEncoder encoder, const hone_gpu_recording *recording) {
    for (uint32_t i = 0; i < recording->count; i++) {
        const WGPUPassTimestampWrites times = {
            .querySet = recording->queries, .beginningOfPassWriteIndex = 2 * i, .endOfPassWriteIndex = 2 * i + 1};
        const WGPUComputePassDescriptor descriptor = {.timestampWrites = &times};
        WGPUComputePassEncoder pass = gpu->CommandEncoderBeginComputePass(encoder, &descriptor);
        encode(gpu, pass, &recording->commands[i]);
        end_pass(gpu, pass);
    }
    gpu->CommandEncoderResolveQuerySet(encoder, recording->queries, 0, 2 * (uint32_t)recording->count,
                                       recording->times.buffer, 0);
}

hone_status webgpu_submit(hone_gpu_driver *driver, hone_gpu_recording *recording, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    WGPUCommandEncoder encoder = gpu->DeviceCreateCommandEncoder(gpu->device, NULL);
    if (recording->queries) {
        encode_timed(gpu, encoder, recording);
    } else {
        WGPUComputePassEncoder pass = gpu->CommandEncoderBeginComputePass(encoder, NULL);
        for (size_t i = 0; i < recording->count; i++) encode(gpu, pass, &recording->commands[i]);
        end_pass(gpu, pass);
    }
    WGPUCommandBuffer commands = gpu->CommandEncoderFinish(encoder, NULL);
    gpu->CommandEncoderRelease(encoder);
    HONE_TRY(webgpu_check(gpu, "encoding", error));
    gpu->QueueSubmit(gpu->queue, 1, &commands);
    gpu->submitted++;
    gpu->CommandBufferRelease(commands);
    return webgpu_check(gpu, "a submit", error);
}

static void on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *driver, void *unused) {
    (void)status; // an error comes with a lost device, which has its own callback
    (void)message;
    (void)unused;
    webgpu_driver *const gpu = driver;
    gpu->finished = gpu->asked;
    gpu->asking = false;
    gpu->answered = true;
}

hone_status webgpu_wait(hone_gpu_driver *driver, hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    HONE_TRY(webgpu_check(gpu, "waiting", error));
    while (gpu->finished < gpu->submitted) {
        if (!gpu->asking) {
            gpu->asking = true;
            gpu->answered = false;
            gpu->asked = gpu->submitted;
            gpu->QueueOnSubmittedWorkDone(
                gpu->queue, (WGPUQueueWorkDoneCallbackInfo){
                                .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_done, .userdata1 = gpu});
        }
        HONE_TRY(webgpu_poll(gpu, &gpu->answered, "waiting", error));
    }
    return HONE_OK;
}

hone_status webgpu_timestamps(hone_gpu_driver *driver, hone_gpu_recording *recording, double *seconds,
                              hone_error *error) {
    webgpu_driver *const gpu = (webgpu_driver *)driver;
    HONE_FAIL_IF(!recording->queries, error, UNSUPPORTED, "webgpu: what was recorded is not timed");
    HONE_TRY(webgpu_download(driver, &recording->times, 0, recording->ticks, 2 * recording->count * sizeof(uint64_t),
                             error));
    for (size_t i = 0; i < recording->count; i++) {
        const uint64_t begin = recording->ticks[2 * i];
        const uint64_t end = recording->ticks[2 * i + 1];
        seconds[i] = end > begin ? (double)(end - begin) * gpu->tick : 0;
    }
    return HONE_OK;
}
