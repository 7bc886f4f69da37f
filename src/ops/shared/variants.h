// SPDX-License-Identifier: Apache-2.0
// The usual table of variants: one plain row.
#ifndef HONE_OPS_SHARED_VARIANTS_H
#define HONE_OPS_SHARED_VARIANTS_H

#include "ops/kernel.h"

#define HONE_DECLARE_KERNEL(id) extern const hone_kernel_variant hone_kernels_##id[];
// Defines hone_kernels_<id>, whose one row adds the dispatches by rule(call, list, ...).
#define HONE_PLAIN_KERNEL(id, rule, ...)                                                                               \
    static void id##_dispatch(const hone_op_call *call, hone_kernel_list *list) {                                      \
        rule(call, list, __VA_ARGS__);                                                                                 \
    }                                                                                                                  \
    HONE_DECLARE_KERNEL(id)                                                                                            \
    const hone_kernel_variant hone_kernels_##id[] = {{"plain", 0, 0, id##_dispatch}, {0}};
// The same where rule(call, list) itself is the row's.
#define HONE_PLAIN_KERNEL_RULE(id, rule)                                                                               \
    HONE_DECLARE_KERNEL(id)                                                                                            \
    const hone_kernel_variant hone_kernels_##id[] = {{"plain", 0, 0, rule}, {0}};
// With a condition that the call must meet.
#define HONE_PLAIN_KERNEL_IF(id, takes, rule)                                                                          \
    HONE_DECLARE_KERNEL(id)                                                                                            \
    const hone_kernel_variant hone_kernels_##id[] = {{"plain", 0, takes, rule}, {0}};

#endif
