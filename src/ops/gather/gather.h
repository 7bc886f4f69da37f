// SPDX-License-Identifier: Apache-2.0
// The operators of this family that stand in rows.c and scatter.c.
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

#endif
