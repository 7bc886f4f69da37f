// SPDX-License-Identifier: Apache-2.0
// How latent weights become codes on a GPU.
#include "ops/requant/requant.h"
#include "ops/shared/kernels.h"

// By rows in parts of a multiple of 256, so that parts begin where tensors may be bound.
static void requant(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const latent = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    const hone_tensor *const out = &call->outputs[0];
    const int64_t rows = out->type.dims[0], row_bytes = out->type.dims[1], columns = latent->type.dims[1];
    const int64_t fit = columns ? HONE_KERNEL_PART / columns / 256 * 256 : 0, most = fit ? fit : 256;
    const int64_t group = call->operands[2].integer; // one larger than a row is as large as the row
    for (int64_t row = 0; row < rows && columns; row += most) {
        const int64_t part = rows - row < most ? rows - row : most, bytes = part * row_bytes;
        hone_kernel_dispatch *const d =
            hone_kernel_add(list, "requant.requant", hone_kernel_groups((bytes + 3) / 4, HONE_KERNEL_THREADS));
        hone_kernel_bind_elements(list, d, latent, row * columns, part * columns);
        hone_kernel_bind(list, d, scales);
        hone_kernel_bind_elements(list, d, out, row * row_bytes, bytes);
        hone_kernel_word(list, d, bytes);
        hone_kernel_word(list, d, row_bytes);
        hone_kernel_word(list, d, columns);
        hone_kernel_word(list, d, group < INT32_MAX ? group : INT32_MAX);
        hone_kernel_word(list, d, scales->type.dims[1]);
        hone_kernel_word(list, d, row);
    }
}

HONE_PLAIN_KERNEL_RULE(requant, requant)
