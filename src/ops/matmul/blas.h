// SPDX-License-Identifier: Apache-2.0
// The product of two float matrices on the calling thread, for every operator that needs one inside a task.
#ifndef HONE_OPS_MATMUL_BLAS_H
#define HONE_OPS_MATMUL_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// C[m,n] = alpha * op(A)[m,k] @ op(B)[k,n] + beta * C, row-major as cblas_sgemm has it: lda, ldb and ldc are the
// elements between two rows as stored, op transposes if asked. beta 0 does not read C; m, n and k may be 0. Safe to
// call from several threads at once; the bits of an element of C depend on its row of op(A), its column of op(B) and k.
void hone_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

// To be called once at start-up: compares the inner loops with a plain product on awkward shapes and switches off those
// that are wrong on this processor. Fails (HONE_UNSUPPORTED) only if none is right.
HONE_MUST_USE hone_status hone_blas_check(hone_error *error);

// The inner loops in use: "avx512", "avx2" or "plain".
const char *hone_blas_name(void);

#endif
