// SPDX-License-Identifier: Apache-2.0
// How AdamW and what guards it run on a GPU.
#include "ops/adamw_step/adamw_step.h"
#include "ops/shared/kernels.h"

enum {
    PART = 1 << 16, // elements of the gradient in a part
    UPDATES = 1024  // elements of a group of adamw_step
};

// Tensors param, m, v, grad, control when guarded; numbers behind them.
static void step(const hone_op_call *call, hone_kernel_list *list, bool guarded) {
    const hone_operand *const o = call->operands + (guarded ? 5 : 4);
    const int64_t count = hone_type_elements(&hone_operand_tensor(call, 0)->type);
    hone_kernel_dispatch *const d = hone_kernel_add(list, "adamw_step.adamw_step", hone_kernel_groups(count, UPDATES));
    for (size_t i = 0; i < 4; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, i));
    hone_kernel_bind(list, d, guarded ? hone_operand_tensor(call, 4) : NULL);
    hone_kernel_word(list, d, count);
    hone_kernel_word(list, d, guarded);
    const double numbers[] = {o[0].real, o[0].real * o[4].real, o[1].real, 1 - o[1].real,
                              o[2].real, 1 - o[2].real,         o[3].real, o[5].real,
                              o[6].real};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) hone_kernel_number(list, d, numbers[i]);
}

static void control(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const gradient = hone_operand_tensor(call, 0), *const loss = hone_operand_tensor(call, 1);
    const int64_t count = hone_type_elements(&gradient->type), parts = (count + PART - 1) / PART;
    const size_t bytes = parts ? (size_t)parts * 8 : 8;
    hone_kernel_dispatch *d = hone_kernel_add(list, "adamw_step.gradient_parts", (uint64_t)parts);
    hone_kernel_bind(list, d, gradient);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_word(list, d, count);
    hone_kernel_word(list, d, PART);
    d = hone_kernel_add(list, "adamw_step.gradient_control", 1);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind(list, d, loss);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, parts);
    hone_kernel_number(list, d, call->operands[2].real);
    hone_kernel_word(list, d, hone_type_elements(&loss->type));
}

HONE_PLAIN_KERNEL(adamw_step, step, false)
HONE_PLAIN_KERNEL(adamw_step_guarded, step, true)
HONE_PLAIN_KERNEL_RULE(gradient_control, control)
