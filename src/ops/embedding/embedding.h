// SPDX-License-Identifier: Apache-2.0
// The kernel variants of this family.
#ifndef HONE_OPS_EMBEDDING_H
#define HONE_OPS_EMBEDDING_H

#include "ops/linear_q4gsw/codes.h"
#include "ops/shared/variants.h"

void hone_embedding_codes_kernel(const hone_op_call *call, hone_kernel_list *list, const hone_codes *table);
HONE_DECLARE_KERNEL(embedding)
HONE_DECLARE_KERNEL(embedding_backward)
HONE_DECLARE_KERNEL(embedding_exported)

#endif
