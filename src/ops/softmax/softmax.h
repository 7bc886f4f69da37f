// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_SOFTMAX_H
#define HONE_OPS_SOFTMAX_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(softmax)
HONE_DECLARE_KERNEL(log_softmax)
HONE_DECLARE_KERNEL(softmax_backward)
HONE_DECLARE_KERNEL(log_softmax_backward)

#endif
