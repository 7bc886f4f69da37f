// SPDX-License-Identifier: Apache-2.0
// How dropout runs on a GPU.
#include "ops/dropout/dropout.h"
#include "ops/shared/kernels.h"

// By rows in parts of a multiple of 64, so that parts begin where tensors may be bound.
static void dropout(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const out = &call->outputs[0];
    const int64_t rows = out->type.dims[0], columns = out->type.dims[1];
    const int64_t fit = columns ? HONE_KERNEL_PART / columns / 64 * 64 : 0, most = fit ? fit : 64;
    const double p = call->operands[2].real;
    const uint64_t seed = (uint64_t)call->operands[3].integer + (uint64_t)call->operands[4].integer;
    for (int64_t row = 0; row < rows && columns; row += most) {
        const int64_t part = rows - row < most ? rows - row : most, first = row * columns, n = part * columns;
        hone_kernel_dispatch *const d =
            hone_kernel_add(list, "dropout.dropout", hone_kernel_groups((n + 3) / 4, HONE_KERNEL_THREADS));
        hone_kernel_bind_elements(list, d, hone_operand_tensor(call, 0), first, n);
        hone_kernel_bind_elements(list, d, hone_operand_tensor(call, 1), row * 2, part * 2);
        hone_kernel_bind_elements(list, d, out, first, n);
        hone_kernel_word(list, d, n);
        hone_kernel_word(list, d, columns);
        hone_kernel_word(list, d, (uint32_t)seed);
        hone_kernel_word(list, d, (uint32_t)(seed >> 32));
        hone_kernel_word(list, d, (uint32_t)(p * 4294967296.0));
        hone_kernel_number(list, d, 1.0 / (1.0 - p));
    }
}

HONE_PLAIN_KERNEL_RULE(dropout, dropout)
