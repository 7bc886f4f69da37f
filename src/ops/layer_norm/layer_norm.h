// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_LAYER_NORM_H
#define HONE_OPS_LAYER_NORM_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(layer_norm)
HONE_DECLARE_KERNEL(layer_norm_backward)
HONE_DECLARE_KERNEL(layer_norm_weight_backward)

#endif
