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

typedef struct hone_device_description {
    const char *name; // "cpu", "vulkan", "vulkan:1", "webgpu", "auto" (default), "null"
    int threads;      // CPU threads; 0 = one a core
} hone_device_description;

// Opens a device. A GPU that is absent or refused is HONE_NOT_FOUND or HONE_UNSUPPORTED with a line that says why;
// "auto" then takes the CPU. May return HONE_PENDING: call again with the same *out.
HONE_API HONE_MUST_USE hone_status hone_device_open(const hone_device_description *description, hone_device **out,
                                                    hone_error *error);
// Whether this build has devices of that kind ("cpu", "vulkan", "webgpu"); whether one is there, opening it tells.
HONE_API bool hone_device_built(const char *name);
HONE_API void hone_device_close(hone_device *device); // NULL is allowed
HONE_API const char *hone_device_name(const hone_device *device);
// One line of detail: processor or GPU, threads, driver.
HONE_API const char *hone_device_detail(const hone_device *device);

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
// Memory held by all buffers of the device, and their number. Tests watch that both stay constant.
HONE_API void hone_device_usage(const hone_device *device, size_t *bytes, size_t *buffers);

#ifdef __cplusplus
}
#endif
#endif
