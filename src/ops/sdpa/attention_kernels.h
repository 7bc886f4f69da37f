// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_SDPA_ATTENTION_KERNELS_H
#define HONE_OPS_SDPA_ATTENTION_KERNELS_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(attention)
HONE_DECLARE_KERNEL(attention_backward)

#endif
