// SPDX-License-Identifier: Apache-2.0
// The self-test of a GPU's kernels, and which of them are switched off.
#ifndef HONE_DEVICE_GPU_SELFTEST_H
#define HONE_DEVICE_GPU_SELFTEST_H

#include "device/gpu/internal.h"

// Entries of the table.
hone_status gpu_prepare(hone_device *device, hone_error *error);
hone_status gpu_self_test(hone_device *device, void (*report)(void *context, const hone_self_test_result *result),
                          void *context, hone_error *error);

void gpu_self_test_end(gpu_device *gpu);
// Lines of what is switched off.
void gpu_switched_off_clear(gpu_device *gpu);

#endif
