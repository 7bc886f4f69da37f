// SPDX-License-Identifier: Apache-2.0
// Which dimensions a reduction keeps and which it reduces, as strided axes.
#ifndef HONE_OPS_REDUCE_AXES_H
#define HONE_OPS_REDUCE_AXES_H

#include "ops/op.h"
#include "ops/shared/variants.h"

// Dimensions of one kind, outermost first; neighbours are merged.
typedef struct hone_axes {
    int rank;
    int64_t dims[HONE_MAX_RANK], strides[HONE_MAX_RANK], count;
} hone_axes;

typedef struct hone_reduction {
    hone_axes kept, reduced;
    bool inner_reduced; // the reduced dimensions hold the innermost one
} hone_reduction;

// Marks the dimensions that operand `at` names; none or an empty list means all, as does at >= the number of operands.
hone_status hone_reduction_dims(const hone_op_call *call, size_t at, const hone_tensor_type *self, bool *marked,
                                hone_error *error);
// self without the marked dimensions, or with 1 in their place; the dtype of self.
hone_tensor_type hone_reduction_type(const hone_tensor_type *self, const bool *marked, bool keep);
void hone_reduction_split(const hone_tensor_type *self, const bool *marked, hone_reduction *out);

// Offset of element `index` in the order of the first `rank` of the axes' dimensions.
int64_t hone_axes_offset(const hone_axes *list, int rank, int64_t index);

// One output, made of elements without gaps.
static inline bool hone_reduction_is_whole(const hone_reduction *r) {
    return r->kept.count == 1 && r->reduced.rank <= 1;
}

// Sums of whole numbers and truths: i32 that wraps, or f32.
void hone_sum_whole(const hone_op_call *call, const hone_reduction *r);

extern const hone_op hone_op_amax, hone_op_amin, hone_op_argmax, hone_op_argmin;

HONE_DECLARE_KERNEL(sum)
HONE_DECLARE_KERNEL(mean)
HONE_DECLARE_KERNEL(amax)
HONE_DECLARE_KERNEL(amin)
HONE_DECLARE_KERNEL(argmax)
HONE_DECLARE_KERNEL(argmin)

#endif
