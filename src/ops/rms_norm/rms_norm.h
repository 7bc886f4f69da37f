// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_RMS_NORM_H
#define HONE_OPS_RMS_NORM_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(rms_norm)
HONE_DECLARE_KERNEL(rms_norm_backward)
HONE_DECLARE_KERNEL(rms_norm_weight_backward)

#endif
