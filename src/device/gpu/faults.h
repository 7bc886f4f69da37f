// SPDX-License-Identifier: Apache-2.0
// Faults for tests, between the executor and any driver.
#ifndef HONE_DEVICE_GPU_FAULTS_H
#define HONE_DEVICE_GPU_FAULTS_H

#include "device/gpu/driver.h"

// Puts the layer before the driver, if HONE_FAULT or a test has planned a fault.
HONE_MUST_USE hone_status gpu_put_faults_before(hone_gpu_driver **driver, hone_error *error);

#endif
