// SPDX-License-Identifier: Apache-2.0
// GPU devices: how they are opened, and what tests read of them.
#ifndef HONE_DEVICE_GPU_GPU_H
#define HONE_DEVICE_GPU_GPU_H

#include <hone/device.h>
#include <hone/op.h>

// "vulkan", "vulkan:N", "webgpu", "webgpu:N". With HONE_LIMITS=webgpu-min in the environment the device offers WebGPU's
// default limits and no more, whatever it could do. `hardware`: a GPU in software is refused.
HONE_MUST_USE hone_status hone_gpu_open(const char *name, bool hardware, hone_device **out, hone_error *error);
// For tests: this device runs the operator by these rows (ended by one without name, they outlive the device) instead of
// the operator's own.
HONE_MUST_USE hone_status hone_gpu_replace(hone_device *device, const hone_op *op, const hone_kernel_variant *rows,
                                           hone_error *error);
// Dispatches of the operator that programs of this device have submitted; of all operators for NULL.
uint64_t hone_gpu_dispatches(const hone_device *device, const hone_op *op);
// Submits of programs since the device was opened, or opened again.
uint64_t hone_gpu_submits(const hone_device *device);
// For tests: what HONE_FAULT says, see faults.c; NULL plans none. Devices opened (again) from now on obey.
HONE_MUST_USE hone_status hone_gpu_plan_fault(const char *text, hone_error *error);

#endif
