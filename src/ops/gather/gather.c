// SPDX-License-Identifier: Apache-2.0
// Elements picked by index.
#include "ops/gather/gather.h"

const hone_op *const hone_ops_gather[] = {&hone_op_rows_gather, &hone_op_rows_scatter, &hone_op_zero, 0};
