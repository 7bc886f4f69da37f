// SPDX-License-Identifier: Apache-2.0
// The linear layer with a LoRA beside its weight in codes, as operators.
#ifndef HONE_OPS_LINEAR_Q4GSW_LINEAR_LORA_H
#define HONE_OPS_LINEAR_Q4GSW_LINEAR_LORA_H

#include "ops/linear_q4gsw/codes.h"

extern const hone_op hone_op_linear_lora, hone_op_linear_lora_backward;

#endif
