// SPDX-License-Identifier: Apache-2.0
// Devices and the buffers they own.
#ifndef HONE_DEVICE_H
#define HONE_DEVICE_H

#include <hone/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_device hone_device;
typedef struct hone_buffer hone_buffer;

// What opening a GPU does about its kernels; see hone_device_self_test.
typedef enum hone_testing {
    HONE_TESTING_ONCE,  // tests them where that has not been done with this driver; switches off what is wrong
    HONE_TESTING_KNOWN, // switches off what an earlier test has found
    HONE_TESTING_NONE   // takes all as they are
} hone_testing;

typedef struct hone_device_description {
    const char *name;     // "cpu", "vulkan", "vulkan:1", "webgpu", "auto" (default), "null"
    int threads;          // CPU threads; 0 = one a core
    hone_testing testing; // of a GPU's kernels as it is opened
    int submit_ms;        // work is handed to a GPU in parts that should not take longer; 500
} hone_device_description;

// Opens a device. *out is NULL before the first call. A GPU that is absent or refused is HONE_NOT_FOUND or
// HONE_UNSUPPORTED with a line that says why; "auto" takes Vulkan on a real GPU (not one in software), else WebGPU on one,
// else the CPU. May return HONE_PENDING: call again with the same *out. The first time that a GPU is opened with a driver,
// its kernels are tested against the CPU: hone_device_self_test.
HONE_API HONE_MUST_USE hone_status hone_device_open(const hone_device_description *description, hone_device **out,
                                                    hone_error *error);
// Whether this build has devices of that kind ("cpu", "vulkan", "webgpu"); whether one is there, opening it tells.
HONE_API bool hone_device_built(const char *name);
// How many devices of the kind ("cpu", "vulkan", "webgpu") this machine shows: "vulkan:0" to "vulkan:N-1". None is an
// error that says why.
HONE_API HONE_MUST_USE hone_status hone_device_count(const char *kind, size_t *out, hone_error *error);
HONE_API void hone_device_close(hone_device *device); // NULL is allowed
HONE_API const char *hone_device_name(const hone_device *device);
// One line of detail: processor or GPU, threads, driver.
HONE_API const char *hone_device_detail(const hone_device *device);

// What there is to know of an opened device. Texts are the device's own.
typedef struct hone_device_facts {
    const char *hardware; // "NVIDIA H200", "16 threads"
    const char *driver;   // with its version; NULL where there is none
    bool software;        // a GPU interface that computes on the CPU
    size_t memory_bytes;  // 0: it does not tell
    size_t buffer_bytes;  // of one buffer, and of one binding; 0: no limit
    size_t binding_bytes;
    uint32_t groups;        // of threads, in one dimension of a dispatch; 0: none
    const char *features;   // what its kernels make use of: "subgroups, f16"; "" for nothing beyond the plain ones
    size_t off_count;       // kernels that the self-test has found wrong here: they are not used
    const char *const *off; // [off_count] "aten::mm tiled: output 0 [3,4] is 2, should be 1"
} hone_device_facts;
HONE_API void hone_device_facts_read(hone_device *device, hone_device_facts *out);

typedef enum hone_verdict {
    HONE_VERDICT_RIGHT,
    HONE_VERDICT_WRONG,   // the kernel is switched off
    HONE_VERDICT_UNTESTED // it needs what the device lacks, or no case is for it
} hone_verdict;

// One case of one kernel.
typedef struct hone_self_test_result {
    const char *op;     // "aten::mm"
    const char *kernel; // "tiled"
    const char *name;   // of the case; NULL for UNTESTED
    const char *text;   // what is wrong, or why it was not tested; NULL for RIGHT
    hone_verdict verdict;
} hone_self_test_result;

// Runs every kernel of every operator on a few small and awkward shapes and compares with the CPU; a kernel that is wrong is
// switched off for this device. What is found is kept in the user's cache folder for the driver's version, and taken from
// there when the device is opened again. `report` (may be NULL) is called for each case. A device without kernels has
// nothing to test. May return HONE_PENDING: call again with the same arguments. No programs may exist.
HONE_API HONE_MUST_USE hone_status hone_device_self_test(hone_device *device,
                                                         void (*report)(void *context,
                                                                        const hone_self_test_result *result),
                                                         void *context, hone_error *error);

// Device memory of `bytes`, zeroed. Offsets of tensors within a buffer are multiples of HONE_BUFFER_ALIGNMENT.
#define HONE_BUFFER_ALIGNMENT 256
HONE_API HONE_MUST_USE hone_status hone_buffer_create(hone_device *device, size_t bytes, const char *what,
                                                      hone_buffer **out, hone_error *error);
HONE_API void hone_buffer_destroy(hone_buffer *buffer); // NULL is allowed
HONE_API size_t hone_buffer_bytes(const hone_buffer *buffer);
// Queue-ordered: after what was submitted before, before what is submitted later. The data is copied at once.
HONE_API HONE_MUST_USE hone_status hone_buffer_upload(hone_buffer *buffer, size_t offset, const void *data,
                                                      size_t bytes, hone_error *error);
// May return HONE_PENDING: call again with the same arguments until it is done.
HONE_API HONE_MUST_USE hone_status hone_buffer_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes,
                                                        hone_error *error);
// Device memory is made of pieces of so many bytes, which no value may straddle: give it to hone_plan_options as
// max_arena_bytes. 0: there is no such limit.
HONE_API size_t hone_device_piece_bytes(const hone_device *device);
// Memory held by all buffers of the device, and their number. Tests watch that both stay constant.
HONE_API void hone_device_usage(const hone_device *device, size_t *bytes, size_t *buffers);

// All memory of the device that hone knows of.
typedef struct hone_device_memory {
    size_t buffers; // held now
    size_t working; // held now by programs, arenas not counted
    size_t staging; // the driver's, for copies
    size_t peak;    // the most of all three together
} hone_device_memory;
HONE_API hone_device_memory hone_device_memory_read(const hone_device *device);

// A device that only counts what `like` would hold: its buffers have no memory, uploads go nowhere, programs take no memory
// and cannot run. Models and trainers that are opened on it say what they need, without reading a weight. `like` must
// outlive it.
HONE_API HONE_MUST_USE hone_status hone_device_open_counting(hone_device *like, hone_device **out, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
