// SPDX-License-Identifier: Apache-2.0
// The operators of this family that stand in rows.c and scatter.c; its kernels.
#ifndef HONE_OPS_GATHER_H
#define HONE_OPS_GATHER_H

#include <hone/op.h>

#include "ops/shared/variants.h"

extern const hone_op hone_op_rows_gather;
extern const hone_op hone_op_rows_scatter;
extern const hone_op hone_op_zero;
extern const hone_op hone_op_scatter_value;
extern const hone_op hone_op_scatter_src;

HONE_DECLARE_KERNEL(rows_gather)
HONE_DECLARE_KERNEL(rows_scatter)
HONE_DECLARE_KERNEL(zero)
HONE_DECLARE_KERNEL(gather)
HONE_DECLARE_KERNEL(index_select)
HONE_DECLARE_KERNEL(scatter_src)
HONE_DECLARE_KERNEL(scatter_value)
HONE_DECLARE_KERNEL(scatter_add)
HONE_DECLARE_KERNEL(index_add)

// out [.., places, inner] += factor * source [.., indices, inner], row by row in the order of the indices; those of
// `skipped` (-1: none) are left out.
typedef struct hone_index_add {
    const hone_tensor *indices, *source, *out;
    int64_t places, inner;
    double factor;
    int64_t skipped;
} hone_index_add;
void hone_kernel_index_add(hone_kernel_list *list, const hone_index_add *sum);

#endif
