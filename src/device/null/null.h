// SPDX-License-Identifier: Apache-2.0
// The device for tests: computes as the CPU does, but can be told to answer late, to fail, or to give zeros.
#ifndef HONE_DEVICE_NULL_H
#define HONE_DEVICE_NULL_H

#include "device/device.h"

typedef struct hone_null_script {
    int pending;              // how often each call that may say HONE_PENDING says it before it goes on
    uint64_t fail_at_submit;  // the n-th submit (from 1) and all later ones report HONE_DEVICE_LOST; 0 = never
    int losses;               // after so many of them the device works again; 0 = it stays lost
    uint64_t zeros_at_submit; // the n-th submit (from 1) does not compute and zeroes the arena instead; 0 = never
    int ahead;                // steps that a trainer may queue before it reads results, as on a GPU; 0 to begin with
} hone_null_script;

// From now on; counting starts again. The device must have been opened as "null".
void hone_null_set_script(hone_device *device, const hone_null_script *script);
// Submits since then.
uint64_t hone_null_submits(const hone_device *device);

#endif
