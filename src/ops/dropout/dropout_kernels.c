// SPDX-License-Identifier: Apache-2.0
// How dropout runs on a GPU.
#include "ops/dropout/dropout.h"
#include "ops/shared/kernels.h"

static void dropout(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const out = &call->outputs[0];
    const int64_t count = hone_type_elements(&out->type);
    const double p = call->operands[2].real;
    const uint64_t seed = (uint64_t)call->operands[3].integer + (uint64_t)call->operands[4].integer;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "dropout.dropout", hone_kernel_groups((count + 3) / 4, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_bind(list, d, out);
    hone_kernel_word(list, d, count);
    hone_kernel_word(list, d, out->type.dims[1]);
    hone_kernel_word(list, d, (uint32_t)seed);
    hone_kernel_word(list, d, (uint32_t)(seed >> 32));
    hone_kernel_word(list, d, (uint32_t)(p * 4294967296.0));
    hone_kernel_number(list, d, 1.0 / (1.0 - p));
}

HONE_PLAIN_KERNEL_RULE(dropout, dropout)
