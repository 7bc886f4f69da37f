// SPDX-License-Identifier: Apache-2.0
// Sums of whole numbers and truths: exact in 64 bits, in any order.
#include "ops/reduce/axes.h"
#include "ops/shared/parallel.h"

typedef struct context {
    const hone_reduction *axes;
    const hone_tensor *in, *out;
} context;

static int64_t element(const hone_tensor *in, int64_t at) {
    return in->type.dtype == HONE_DTYPE_I32 ? ((const int32_t *)in->data)[at] : ((const uint8_t *)in->data)[at];
}

static void put(const hone_tensor *out, int64_t at, int64_t sum) {
    if (out->type.dtype == HONE_DTYPE_F32)
        ((float *)out->data)[at] = (float)sum;
    else
        ((uint32_t *)out->data)[at] = (uint32_t)sum;
}

enum { COLUMNS = 128 };

// Neighbouring outputs together: their elements are neighbours too, unless the innermost dimension is reduced.
static void sum_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_axes *const kept = &c->axes->kept, *const reduced = &c->axes->reduced;
    const int last = c->axes->inner_reduced ? reduced->rank - 1 : kept->rank - 1;
    for (int64_t o = begin; o < end;) {
        int64_t n = 1, sums[COLUMNS] = {0};
        if (!c->axes->inner_reduced) {
            n = kept->dims[last] - o % kept->dims[last];
            n = n > end - o ? end - o : n > COLUMNS ? COLUMNS : n;
        }
        const int64_t base = hone_axes_offset(kept, kept->rank, o);
        // Runs of the innermost reduced dimension, or single rows of n outputs.
        const int64_t run = c->axes->inner_reduced && reduced->rank > 0 ? reduced->dims[last] : 1;
        const int outer = c->axes->inner_reduced && reduced->rank > 0 ? last : reduced->rank;
        for (int64_t r = 0; run > 0 && r < reduced->count / run; r++) {
            const int64_t at = base + hone_axes_offset(reduced, outer, r);
            for (int64_t i = 0; n == 1 && i < run; i++) sums[0] += element(c->in, at + i);
            for (int64_t i = 0; n > 1 && i < n; i++) sums[i] += element(c->in, at + i);
        }
        for (int64_t i = 0; i < n; i++) put(c->out, o + i, sums[i]);
        o += n;
    }
}

void hone_sum_whole(const hone_op_call *call, const hone_reduction *r) {
    context c = {.axes = r, .in = hone_operand_tensor(call, 0), .out = &call->outputs[0]};
    const int64_t grain = HONE_BLOCK / (r->reduced.count > 0 ? r->reduced.count : 1) + 1;
    hone_call_ranges(call, r->kept.count, grain < COLUMNS && !r->inner_reduced ? COLUMNS : grain, sum_range, &c);
}
