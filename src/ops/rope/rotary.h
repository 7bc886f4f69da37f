// SPDX-License-Identifier: Apache-2.0
// The operators of this family that stand in rotary.c.
#ifndef HONE_OPS_ROPE_ROTARY_H
#define HONE_OPS_ROPE_ROTARY_H

#include <hone/op.h>

extern const hone_op hone_op_rotary, hone_op_rotary_hf, hone_op_rotary_hf_backward;
extern const hone_op hone_op_rotary_interleaved, hone_op_rotary_interleaved_backward;

#endif
