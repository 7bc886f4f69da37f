// SPDX-License-Identifier: Apache-2.0
// C = start + op(A) @ R on the threads of a call, where R may be kept as floats, halves or codes.
//
// The work is cut by shape alone, and every element of C is summed over k in an order fixed by shape, so bits do not
// depend on the number of threads. Ways, tried from the top:
//
//   weight rows   A[m,k] with m <= 8, R = W^T: rows of W against the rows of A as dot products; W is read once
//   few columns   n <= 24, A[m,k]: rows of A against the columns of R as dot products; A is read once, never packed
//   few rows      m <= 24, R[k,n] floats: tiles read R where it lies
//   few columns   n <= 24, A stored [k,m], R[k,n] floats: the same for C^T
//   blocks        all else: blocks of up to 512 rows and 1024 steps. First A's block is packed, once, into the
//                 workspace; then tasks of some columns each decode their part of R into scratch and go over the rows
#ifndef HONE_OPS_MATMUL_GEMM_H
#define HONE_OPS_MATMUL_GEMM_H

#include "ops/matmul/pack.h"
#include "ops/op.h"

// The right operand R[k,n]: a matrix (data), or a weight W[n,k] or W[k,n] in codes.
typedef struct hone_right {
    const void *data;
    hone_dtype dtype; // f32, f16, bf16
    int64_t ld;       // elements between two rows as stored
    bool transposed;  // stored as [n,k]; for codes: R = W^T, else R = W
    const hone_codes *codes;
} hone_right;

typedef struct hone_gemm {
    int64_t m, n, k;
    hone_left left; // [m,k]; its factor multiplies the whole product
    hone_right right;
    float *c; // [m,n]
    int64_t ldc;
    // What C begins with: element (i, j) is start_factor * start[i * start_row + j * start_column]; NULL = 0. May be c
    // itself, with ldc, 1 and factor 1.
    const float *start;
    int64_t start_row, start_column;
    float start_factor;
} hone_gemm;

// Working memory; looks at shapes, layouts and dtypes only.
hone_cpu_needs hone_gemm_needs(const hone_gemm *gemm);
void hone_gemm_run(const hone_op_call *call, const hone_gemm *gemm);

// f16 or bf16 (or f32) to f32.
void hone_floats(hone_dtype dtype, const void *from, int64_t first, int64_t count, float *out);

#endif
