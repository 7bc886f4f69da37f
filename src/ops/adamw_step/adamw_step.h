// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_ADAMW_STEP_H
#define HONE_OPS_ADAMW_STEP_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(adamw_step)
HONE_DECLARE_KERNEL(adamw_step_guarded)
HONE_DECLARE_KERNEL(gradient_control)

#endif
