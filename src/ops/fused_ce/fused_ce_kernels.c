// SPDX-License-Identifier: Apache-2.0
// How cross entropy runs on a GPU.
#include "ops/fused_ce/fused_ce.h"
#include "ops/shared/kernels.h"

// Groups, each of which goes through its rows one by one: so few rows at a time stay in a GPU's second cache from the first
// reading to the second.
enum { GROUPS = 512 };

static void fused_ce(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const logits = hone_operand_tensor(call, 0);
    const int64_t rows = logits->type.dims[0];
    const int64_t groups = rows < GROUPS ? rows : GROUPS;
    const size_t bytes = rows ? (size_t)rows * 4 : 4;
    hone_kernel_dispatch *d = hone_kernel_add(list, "fused_ce.fused_ce_rows", (uint64_t)groups);
    hone_kernel_bind(list, d, logits);
    hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_bind(list, d, &call->outputs[1]);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind_flags(list, d);
    hone_kernel_word(list, d, rows);
    hone_kernel_word(list, d, logits->type.dims[1]);
    hone_kernel_number(list, d, call->operands[2].real);
    hone_kernel_word(list, d, groups);
    d = hone_kernel_add(list, "fused_ce.fused_ce_loss", 1);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, rows);
}

HONE_PLAIN_KERNEL_RULE(fused_ce, fused_ce)
