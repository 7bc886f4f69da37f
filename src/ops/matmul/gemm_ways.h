// SPDX-License-Identifier: Apache-2.0
// What gemm.c and gemm_narrow.c share.
#ifndef HONE_OPS_MATMUL_GEMM_WAYS_H
#define HONE_OPS_MATMUL_GEMM_WAYS_H

#include "ops/matmul/gemm.h"

enum {
    HONE_MOST_VECTORS = 8, // rows of A that count as a few vectors against the rows of a weight
    HONE_MOST_NARROW = 24, // rows or columns of C below which packing the other operand would not pay
};

typedef enum hone_gemm_way {
    HONE_GEMM_NOTHING, // C is empty
    HONE_GEMM_START,   // k = 0: C is what it begins with
    HONE_GEMM_WEIGHT_ROWS,
    HONE_GEMM_FEW_COLUMNS,
    HONE_GEMM_FEW_ROWS,
    HONE_GEMM_FEW_COLUMNS_ACROSS,
    HONE_GEMM_BLOCKS,
} hone_gemm_way;

hone_gemm_way hone_gemm_choose(const hone_gemm *gemm);

// Writes what C begins with to rows [m0, m1), columns [n0, n1).
void hone_gemm_start(const hone_gemm *gemm, int64_t m0, int64_t m1, int64_t n0, int64_t n1);

hone_cpu_needs hone_gemm_narrow_needs(const hone_gemm *gemm);
void hone_gemm_run_narrow(const hone_op_call *call, const hone_gemm *gemm);

#endif
