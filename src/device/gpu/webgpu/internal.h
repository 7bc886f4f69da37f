// SPDX-License-Identifier: Apache-2.0
// What the files of the WebGPU driver share.
#ifndef HONE_DEVICE_GPU_WEBGPU_INTERNAL_H
#define HONE_DEVICE_GPU_WEBGPU_INTERNAL_H

#include <pthread.h>

#include <webgpu.h>
#include <wgpu.h>

#include "base/memory.h"
#include "device/gpu/driver.h"

// Every function the driver calls, taken from the library at run time.
#define WEBGPU_FUNCTIONS(X)                                                                                            \
    X(GetVersion)                                                                                                      \
    X(CreateInstance)                                                                                                  \
    X(InstanceRelease)                                                                                                 \
    X(InstanceEnumerateAdapters)                                                                                       \
    X(AdapterGetInfo)                                                                                                  \
    X(AdapterInfoFreeMembers)                                                                                          \
    X(AdapterHasFeature)                                                                                               \
    X(AdapterGetLimits)                                                                                                \
    X(AdapterRequestDevice)                                                                                            \
    X(AdapterRelease)                                                                                                  \
    X(DeviceGetQueue)                                                                                                  \
    X(DevicePoll)                                                                                                      \
    X(DeviceRelease)                                                                                                   \
    X(DeviceCreateBuffer)                                                                                              \
    X(BufferDestroy)                                                                                                   \
    X(BufferRelease)                                                                                                   \
    X(BufferMapAsync)                                                                                                  \
    X(BufferGetConstMappedRange)                                                                                       \
    X(BufferUnmap)                                                                                                     \
    X(QueueOnSubmittedWorkDone)                                                                                        \
    X(QueueGetTimestampPeriod)                                                                                         \
    X(QueueRelease)                                                                                                    \
    X(QueueWriteBuffer)                                                                                                \
    X(QueueSubmit)                                                                                                     \
    X(DeviceCreateShaderModule)                                                                                        \
    X(DeviceCreateShaderModuleTrusted)                                                                                 \
    X(ShaderModuleRelease)                                                                                             \
    X(DeviceCreateComputePipeline)                                                                                     \
    X(ComputePipelineRelease)                                                                                          \
    X(DeviceCreateBindGroupLayout)                                                                                     \
    X(BindGroupLayoutRelease)                                                                                          \
    X(DeviceCreatePipelineLayout)                                                                                      \
    X(PipelineLayoutRelease)                                                                                           \
    X(DeviceCreateBindGroup)                                                                                           \
    X(BindGroupRelease)                                                                                                \
    X(DeviceCreateQuerySet)                                                                                            \
    X(QuerySetRelease)                                                                                                 \
    X(CommandEncoderResolveQuerySet)                                                                                   \
    X(DeviceCreateCommandEncoder)                                                                                      \
    X(CommandEncoderBeginComputePass)                                                                                  \
    X(CommandEncoderCopyBufferToBuffer)                                                                                \
    X(CommandEncoderFinish)                                                                                            \
    X(CommandEncoderRelease)                                                                                           \
    X(CommandBufferRelease)                                                                                            \
    X(ComputePassEncoderSetPipeline)                                                                                   \
    X(ComputePassEncoderSetBindGroup)                                                                                  \
    X(ComputePassEncoderDispatchWorkgroups)                                                                            \
    X(ComputePassEncoderEnd)                                                                                           \
    X(ComputePassEncoderRelease)

#define WEBGPU_READ_BYTES ((size_t)4 << 20)

typedef enum webgpu_reading { WEBGPU_IDLE, WEBGPU_MAPPING, WEBGPU_MAPPED, WEBGPU_MAP_FAILED } webgpu_reading;

typedef struct webgpu_driver {
    hone_gpu_driver base;
    void *library;
    char version[16]; // of the library
#define WEBGPU_MEMBER(name) __typeof__(wgpu##name) *name;
    WEBGPU_FUNCTIONS(WEBGPU_MEMBER)
#undef WEBGPU_MEMBER
    WGPUInstance instance;
    WGPUAdapter adapter;
    WGPUDevice device;
    WGPUQueue queue;
    WGPUBindGroupLayout group_layouts[HONE_KERNEL_BINDINGS + 1]; // by count of storage bindings
    WGPUPipelineLayout layouts[HONE_KERNEL_BINDINGS + 1];
    WGPUBuffer read_buffer; // what is read back passes through it
    webgpu_reading reading;
    size_t read_bytes;
    uint64_t submitted, finished, asked; // submits; known to be done; done when the callback under way has come
    bool asking, answered, mapped;       // set by callbacks
    double tick;                         // seconds of a timestamp's unit
    bool checked;                        // kernels are compiled with checks of bounds, as a browser does
    pthread_mutex_t lock;                // of the next four: pipelines are made from several threads
    bool failed;                         // a callback has reported an error that no call has returned yet
    hone_status failure;                 // its status
    char message[512];
} webgpu_driver;

struct hone_gpu_buffer {
    WGPUBuffer buffer;
};

// Finds the library, opens it and takes its functions.
HONE_MUST_USE hone_status webgpu_load(webgpu_driver *gpu, hone_error *error);
// Lets the library call back until *done is true, for a tenth of a second at most; HONE_PENDING if it is not. (The library's
// own waiting has no limit.)
HONE_MUST_USE hone_status webgpu_poll(webgpu_driver *gpu, const bool *done, const char *what, hone_error *error);
// What callbacks have reported since the last call, as the status of `what`.
HONE_MUST_USE hone_status webgpu_check(webgpu_driver *gpu, const char *what, hone_error *error);
static inline WGPUStringView webgpu_text(const char *text) {
    return (WGPUStringView){text, WGPU_STRLEN};
}

// --- entries of the table
hone_status webgpu_buffer_create(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                                 hone_error *error);
void webgpu_buffer_destroy(hone_gpu_driver *driver, hone_gpu_buffer *buffer);
hone_status webgpu_upload(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, const void *data,
                          size_t bytes, hone_error *error);
hone_status webgpu_download(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                            hone_error *error);
hone_status webgpu_fetch_create(hone_gpu_driver *driver, size_t bytes, hone_gpu_fetch **out, hone_error *error);
void webgpu_fetch_destroy(hone_gpu_driver *driver, hone_gpu_fetch *fetch);
hone_status webgpu_fetch_begin(hone_gpu_driver *driver, hone_gpu_fetch *fetch, const hone_gpu_range *from,
                               hone_error *error);
hone_status webgpu_fetch_end(hone_gpu_driver *driver, hone_gpu_fetch *fetch, void *data, hone_error *error);
hone_status webgpu_pipeline_create(hone_gpu_driver *driver, const hone_gpu_code *code, const char *function,
                                   uint32_t binding_count, hone_gpu_pipeline **out, hone_error *error);
void webgpu_pipeline_destroy(hone_gpu_driver *driver, hone_gpu_pipeline *pipeline);
hone_status webgpu_record(hone_gpu_driver *driver, const hone_gpu_command *commands, size_t count, bool timed,
                          hone_gpu_recording **out, hone_error *error);
hone_status webgpu_timestamps(hone_gpu_driver *driver, hone_gpu_recording *recording, double *seconds,
                              hone_error *error);
void webgpu_recording_destroy(hone_gpu_driver *driver, hone_gpu_recording *recording);
hone_status webgpu_submit(hone_gpu_driver *driver, hone_gpu_recording *recording, hone_error *error);
hone_status webgpu_wait(hone_gpu_driver *driver, hone_error *error);

#endif
