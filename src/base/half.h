// SPDX-License-Identifier: Apache-2.0
// IEEE half and bfloat16 to and from float, round to nearest even; NaN stays NaN.
#ifndef HONE_BASE_HALF_H
#define HONE_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

float hone_half_to_float(uint16_t half);
uint16_t hone_float_to_half(float value);
float hone_bf16_to_float(uint16_t bf16);
uint16_t hone_float_to_bf16(float value);
void hone_half_to_float_array(const uint16_t *half, float *out, size_t count);
void hone_float_to_half_array(const float *values, uint16_t *out, size_t count);

#endif
