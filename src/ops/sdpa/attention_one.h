// SPDX-License-Identifier: Apache-2.0
// Attention of a single query over a cache: the case of generation.
#ifndef HONE_OPS_SDPA_ATTENTION_ONE_H
#define HONE_OPS_SDPA_ATTENTION_ONE_H

#include "ops/sdpa/attention.h"

hone_cpu_needs hone_attention_one_needs(const hone_attention *a);
// Query t alone; out [T, H*hd], lse [H, T].
void hone_attention_one(const hone_op_call *call, const hone_attention *a, int64_t t, float *out, float *lse);

#endif
