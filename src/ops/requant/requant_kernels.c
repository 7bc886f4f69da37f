// SPDX-License-Identifier: Apache-2.0
// How latent weights become codes on a GPU.
#include "ops/requant/requant.h"
#include "ops/shared/kernels.h"

static void requant(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const latent = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    const hone_tensor *const out = &call->outputs[0];
    const int64_t bytes = hone_type_elements(&out->type);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "requant.requant", hone_kernel_groups((bytes + 3) / 4, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, latent);
    hone_kernel_bind(list, d, scales);
    hone_kernel_bind(list, d, out);
    hone_kernel_word(list, d, bytes);
    hone_kernel_word(list, d, out->type.dims[1]);
    hone_kernel_word(list, d, latent->type.dims[1]);
    const int64_t group = call->operands[2].integer; // one larger than a row is as large as the row
    hone_kernel_word(list, d, group < INT32_MAX ? group : INT32_MAX);
    hone_kernel_word(list, d, scales->type.dims[1]);
}

HONE_PLAIN_KERNEL_RULE(requant, requant)
