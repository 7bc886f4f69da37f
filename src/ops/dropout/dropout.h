// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_DROPOUT_H
#define HONE_OPS_DROPOUT_H

#include "ops/shared/variants.h"

HONE_DECLARE_KERNEL(dropout)

#endif
