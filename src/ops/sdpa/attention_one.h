// SPDX-License-Identifier: Apache-2.0
// Attention of a single query over a cache: the case of generation.
#ifndef HONE_OPS_SDPA_ATTENTION_ONE_H
#define HONE_OPS_SDPA_ATTENTION_ONE_H

#include "ops/sdpa/attention.h"

hone_cpu_needs hone_attention_one_needs(const hone_attention *a);
// a->queries must be 1; out [1, H*hd], lse [H, 1].
void hone_attention_one(const hone_op_call *call, const hone_attention *a, float *out, float *lse);

#endif
