// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_REQUANT_H
#define HONE_OPS_REQUANT_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(requant)

#endif
