// SPDX-License-Identifier: Apache-2.0
// How products run on a GPU: the words that shared/product.slang reads.
#ifndef HONE_OPS_MATMUL_MATMUL_KERNELS_H
#define HONE_OPS_MATMUL_MATMUL_KERNELS_H

#include "ops/matmul/gemm.h"
#include "ops/shared/variants.h"

// What a product binds. `gemm` says the sizes and how the operands lie; its pointers are not read.
typedef struct hone_gemm_kernel {
    const char *entry, *entry_large; // with tiles of 64, and of 128 if there are such
    const hone_gemm *gemm;
    const hone_tensor *left, *right, *out, *start; // start may be NULL, or be `out`
    int64_t batch;                                 // products one behind another; 0 means 1
} hone_gemm_kernel;

// How a product is cut into groups.
typedef struct hone_gemm_cut {
    int64_t batch, across, down; // of groups
    int64_t part, parts;         // steps of k of each
} hone_gemm_cut;
// The dispatch with words up to the right matrix's and bindings 1 to 4, and the one that adds up parts, if there are some.
hone_kernel_dispatch *hone_gemm_kernel_cut(hone_kernel_list *list, const hone_gemm_kernel *kernel, const char *entry,
                                           const hone_gemm_cut *cut);
void hone_gemm_kernel_sum(hone_kernel_list *list, const hone_gemm_kernel *kernel, const hone_gemm_cut *cut);

// The dispatch by tiles with words up to the right matrix's and bindings 1 to 4; the caller adds the rest, then ends it.
hone_kernel_dispatch *hone_gemm_kernel_begin(hone_kernel_list *list, const hone_gemm_kernel *kernel);
void hone_gemm_kernel_end(hone_kernel_list *list, const hone_gemm_kernel *kernel);
// All of it, for a right matrix of numbers; entries need not be given.
void hone_gemm_kernel_plain(hone_kernel_list *list, const hone_gemm_kernel *kernel);
// The same for few rows or few columns of output; what is taken is known by shapes and types alone.
bool hone_gemm_kernel_is_narrow(const hone_gemm_kernel *kernel);
void hone_gemm_kernel_narrow(hone_kernel_list *list, const hone_gemm_kernel *kernel);
// A product whose left matrix is operand `left` of a call and whose right matrix is the next one.
hone_gemm_kernel hone_gemm_kernel_of(const hone_op_call *call, const hone_gemm *gemm, size_t left,
                                     const hone_tensor *out, const hone_tensor *start);

// Defines hone_kernels_<id>, the rows of an operator that is such a product; product(call, &gemm) returns what it binds.
#define HONE_PRODUCT_KERNELS(id, product)                                                                              \
    static bool id##_is_narrow(const hone_op_call *call) {                                                             \
        hone_gemm gemm;                                                                                                \
        const hone_gemm_kernel kernel = product(call, &gemm);                                                          \
        return hone_gemm_kernel_is_narrow(&kernel);                                                                    \
    }                                                                                                                  \
    static void id##_narrow(const hone_op_call *call, hone_kernel_list *list) {                                        \
        hone_gemm gemm;                                                                                                \
        const hone_gemm_kernel kernel = product(call, &gemm);                                                          \
        hone_gemm_kernel_narrow(list, &kernel);                                                                        \
    }                                                                                                                  \
    static void id##_plain(const hone_op_call *call, hone_kernel_list *list) {                                         \
        hone_gemm gemm;                                                                                                \
        const hone_gemm_kernel kernel = product(call, &gemm);                                                          \
        hone_gemm_kernel_plain(list, &kernel);                                                                         \
    }                                                                                                                  \
    HONE_DECLARE_KERNEL(id)                                                                                            \
    const hone_kernel_variant hone_kernels_##id[] = {                                                                  \
        {"narrow", 0, id##_is_narrow, id##_narrow}, {"plain", 0, 0, id##_plain}, {0}};

#endif
