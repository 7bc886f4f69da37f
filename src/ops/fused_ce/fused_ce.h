// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_FUSED_CE_H
#define HONE_OPS_FUSED_CE_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(fused_ce)

#endif
