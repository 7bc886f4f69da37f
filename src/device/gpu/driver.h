// SPDX-License-Identifier: Apache-2.0
// What a GPU interface implements for the executor: Vulkan and WebGPU each are one such table.
//
// One queue, in order: what is uploaded, submitted and downloaded takes effect in the order of the calls. Functions that
// may return HONE_PENDING are called again with the same arguments until they return something else; a native driver
// waits a bounded time inside. Offsets that reach a driver are multiples of HONE_BUFFER_ALIGNMENT where they bind, and of
// limits.copy_alignment where they copy.
#ifndef HONE_DEVICE_GPU_DRIVER_H
#define HONE_DEVICE_GPU_DRIVER_H

#include <hone/device.h>

#include "ops/kernel.h"

typedef struct hone_gpu_driver hone_gpu_driver;
typedef struct hone_gpu_buffer hone_gpu_buffer;       // each driver's own
typedef struct hone_gpu_pipeline hone_gpu_pipeline;   // each driver's own
typedef struct hone_gpu_recording hone_gpu_recording; // each driver's own

typedef struct hone_gpu_fetch hone_gpu_fetch; // each driver's own

typedef struct hone_gpu_limits {
    size_t buffer_bytes;  // of one buffer
    size_t binding_bytes; // of one binding
    uint32_t groups;      // in one dimension of a dispatch
    uint32_t features;    // HONE_KERNEL_*: what variants may need
    size_t copy_alignment;
    bool timestamps;
    bool threads; // pipeline_create may be called from several threads at a time
    bool overlap; // bindings of one dispatch may overlap
} hone_gpu_limits;

// A kernel as the build embeds it. Each driver takes the form that it reads.
typedef struct hone_gpu_code {
    const char *name; // the file: "binary"
    const uint32_t *spirv;
    const size_t *spirv_bytes;
    const char *wgsl;
} hone_gpu_code;

// Changes with every kernel and every file that decides how kernels are called.
extern const char hone_gpu_kernels_hash[];

typedef struct hone_gpu_range {
    hone_gpu_buffer *buffer;
    size_t offset, bytes;
} hone_gpu_range;

// One dispatch.
typedef struct hone_gpu_command {
    hone_gpu_pipeline *pipeline;
    hone_gpu_range parameters; // HONE_KERNEL_WORDS words, bound as uniform
    hone_gpu_range bindings[HONE_KERNEL_BINDINGS];
    uint32_t binding_count; // the pipeline's
    uint32_t groups[2];
    bool waits; // for the commands before it; the first of a recording always does
} hone_gpu_command;

typedef struct hone_gpu_driver_vtable {
    void (*close)(hone_gpu_driver *driver);

    // --- memory: created zeroed; bytes is a multiple of HONE_BUFFER_ALIGNMENT, at most limits.buffer_bytes
    hone_status (*buffer_create)(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                                 hone_error *error);
    // After everything that was submitted; the driver waits if it must.
    void (*buffer_destroy)(hone_gpu_driver *driver, hone_gpu_buffer *buffer);
    // The data is copied at once.
    hone_status (*upload)(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, const void *data,
                          size_t bytes, hone_error *error);
    // May return HONE_PENDING.
    hone_status (*download)(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                            hone_error *error);

    // A few bytes on their way to the host: the copy is queued by fetch_begin, and what is submitted later does not delay it.
    // A fetch that was begun is ended before it is begun again; it may be destroyed at any time.
    hone_status (*fetch_create)(hone_gpu_driver *driver, size_t bytes, hone_gpu_fetch **out, hone_error *error);
    void (*fetch_destroy)(hone_gpu_driver *driver, hone_gpu_fetch *fetch);
    hone_status (*fetch_begin)(hone_gpu_driver *driver, hone_gpu_fetch *fetch, const hone_gpu_range *from,
                               hone_error *error);
    // May return HONE_PENDING.
    hone_status (*fetch_end)(hone_gpu_driver *driver, hone_gpu_fetch *fetch, void *data, hone_error *error);

    // --- kernels: `function` of `code` with its count of storage bindings. May return HONE_PENDING.
    hone_status (*pipeline_create)(hone_gpu_driver *driver, const hone_gpu_code *code, const char *function,
                                   uint32_t binding_count, hone_gpu_pipeline **out, hone_error *error);
    void (*pipeline_destroy)(hone_gpu_driver *driver, hone_gpu_pipeline *pipeline);

    // --- work: commands are made ready once and submitted as often as wanted, each after the one before it
    // `timed`: so that timestamps can be asked for; where limits.timestamps says so.
    hone_status (*record)(hone_gpu_driver *driver, const hone_gpu_command *commands, size_t count, bool timed,
                          hone_gpu_recording **out, hone_error *error);
    void (*recording_destroy)(hone_gpu_driver *driver, hone_gpu_recording *recording);
    hone_status (*submit)(hone_gpu_driver *driver, hone_gpu_recording *recording, hone_error *error);
    // Until all that was submitted is done. May return HONE_PENDING. A lost device is HONE_DEVICE_LOST.
    hone_status (*wait)(hone_gpu_driver *driver, hone_error *error);

    // Seconds of the timed recording's last run, which is done (wait), one for each command. May return HONE_PENDING.
    hone_status (*timestamps)(hone_gpu_driver *driver, hone_gpu_recording *recording, double *seconds,
                              hone_error *error);
} hone_gpu_driver_vtable;

// What a person or a cache wants to know of an opened GPU.
typedef struct hone_gpu_facts {
    char gpu[128];        // "NVIDIA H200"
    char driver[128];     // "NVIDIA 550.90.07": with its version, for caches hold what was found out with one driver
    size_t memory_bytes;  // 0: the interface does not tell
    size_t staging_bytes; // that the driver itself holds for copies
    bool software;        // it computes on the CPU
} hone_gpu_facts;

// Each driver's own struct begins with this one.
struct hone_gpu_driver {
    const hone_gpu_driver_vtable *vtable;
    hone_gpu_limits limits;
    hone_gpu_facts facts;
    // Whoever finds it lost, the driver or the executor, says so here: what was submitted is not waited for any more.
    bool lost;
};

typedef struct hone_gpu_request {
    int index;     // -1: the best one
    bool least;    // ask for no more than WebGPU's default limits
    bool hardware; // refuse a GPU in software
} hone_gpu_request;

// Each interface's way to open a GPU, and to count those it shows. HONE_NOT_FOUND says what is missing.
HONE_MUST_USE hone_status hone_vulkan_driver_open(const hone_gpu_request *request, hone_gpu_driver **out,
                                                  hone_error *error);
HONE_MUST_USE hone_status hone_vulkan_count(size_t *out, hone_error *error);
HONE_MUST_USE hone_status hone_webgpu_driver_open(const hone_gpu_request *request, hone_gpu_driver **out,
                                                  hone_error *error);
HONE_MUST_USE hone_status hone_webgpu_count(size_t *out, hone_error *error);

#endif
