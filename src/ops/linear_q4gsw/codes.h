// SPDX-License-Identifier: Apache-2.0
// Weights in codes as operands: the checks of their shapes, and products with them.
#ifndef HONE_OPS_LINEAR_Q4GSW_CODES_H
#define HONE_OPS_LINEAR_Q4GSW_CODES_H

#include "ops/matmul/gemm.h"
#include "ops/shared/variants.h"

// Which operands of a call make up the weight.
typedef struct hone_code_operands {
    int codes, scales, minimums; // minimums -1: the operator has none
    int group;
    int columns; // "int? columns", or -1
    int bits;    // 4 or 8
} hone_code_operands;

// Codes u8 [N, ceil(K/2)] or i8 [N,K], scales [ceil(K/g), >= N] in f32 or f16, minimums like the scales. K is `columns`
// if >= 0, else the columns operand, else all that the codes hold.
hone_status hone_codes_infer(const hone_op_call *call, const hone_code_operands *at, int64_t columns,
                             hone_error *error);
// The same operands as a weight; pointers are NULL while shapes are inferred.
hone_codes hone_codes_of(const hone_op_call *call, const hone_code_operands *at, int64_t columns);

// y[m,n] = start[m * start_row + n] + x[m,k] @ W[n,k]^T; start may be NULL. Up to 4 rows are taken against the codes
// themselves.
hone_cpu_needs hone_codes_linear_needs(const hone_codes *codes, int64_t m);
void hone_codes_linear(const hone_op_call *call, const hone_codes *codes, int64_t m, const float *x, const float *start,
                       int64_t start_row, float *y);

// start[M,K] + d_out[M,N] @ W[N,K] into out; start may be NULL.
hone_gemm hone_codes_backward(const hone_codes *codes, int64_t m, const float *d_out, const float *start, float *out);

// What a product with codes on a GPU takes beside x and the codes; all but `out` may be NULL.
typedef struct hone_codes_kernel {
    const hone_codes *codes;
    const hone_tensor *in, *weights, *scales, *minimums, *out;
    const hone_tensor *start; // one value a column if start_row is 0, else one an element
    int64_t start_row;
    const hone_tensor *low, *up; // factor * low[M,R] @ up^T is added, or @ up where it is the backward product
    double factor;
    bool backward;
} hone_codes_kernel;
void hone_codes_kernel_plain(hone_kernel_list *list, const hone_codes_kernel *kernel);
// The same for few rows; what is taken is known by shapes and types alone.
bool hone_codes_kernel_is_few(const hone_codes_kernel *kernel);
void hone_codes_kernel_few(hone_kernel_list *list, const hone_codes_kernel *kernel);

// Defines hone_kernels_<id> and hone_kernels_<id>_backward, the rows of operators that are such products;
// product(call, &codes) returns what it binds.
#define HONE_CODES_KERNELS(id, product)                                                                                \
    static bool id##_is_few(const hone_op_call *call) {                                                                \
        hone_codes codes;                                                                                              \
        const hone_codes_kernel kernel = product(call, &codes);                                                        \
        return hone_codes_kernel_is_few(&kernel);                                                                      \
    }                                                                                                                  \
    static void id##_few(const hone_op_call *call, hone_kernel_list *list) {                                           \
        hone_codes codes;                                                                                              \
        const hone_codes_kernel kernel = product(call, &codes);                                                        \
        hone_codes_kernel_few(list, &kernel);                                                                          \
    }                                                                                                                  \
    static void id##_plain(const hone_op_call *call, hone_kernel_list *list) {                                         \
        hone_codes codes;                                                                                              \
        const hone_codes_kernel kernel = product(call, &codes);                                                        \
        hone_codes_kernel_plain(list, &kernel);                                                                        \
    }                                                                                                                  \
    HONE_DECLARE_KERNEL(id)                                                                                            \
    HONE_DECLARE_KERNEL(id##_backward)                                                                                 \
    const hone_kernel_variant hone_kernels_##id[] = {                                                                  \
        {"few", 0, id##_is_few, id##_few}, {"plain", 0, 0, id##_plain}, {0}};                                          \
    const hone_kernel_variant hone_kernels_##id##_backward[] = {{"plain", 0, 0, id##_plain}, {0}};

#endif
