// SPDX-License-Identifier: Apache-2.0
// 16-bit floats by integer arithmetic, and by the processor's F16C instructions with the same bits.
//
//   half      s eeeee mmmmmmmmmm         bias 15, subnormals in units of 2^-24, largest 65504
//   bfloat16  s eeeeeeee mmmmmmm         the upper half of a float
//   float     s eeeeeeee mmm(23)         bias 127
#include "base/half.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_F16C 1
#include <immintrin.h>
#else
#define HAVE_F16C 0
#endif

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float hone_half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 31;
    const uint32_t mantissa = half & 0x3FF;
    if (exponent == 31) {
        // A NaN keeps its payload and becomes quiet, as in F16C.
        return float_of(sign | 0x7F800000u | (mantissa ? 0x00400000u : 0) | mantissa << 13);
    }
    if (exponent == 0) return float_of(sign | bits_of((float)mantissa * 0x1p-24f)); // exact
    return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t hone_float_to_half(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t size = bits & 0x7FFFFFFF;
    if (size > 0x7F800000u) return (uint16_t)(sign | 0x7E00 | (size >> 13 & 0x3FF)); // quiet NaN
    if (size >= 0x477FF000u) return (uint16_t)(sign | 0x7C00);                       // from 65520 on: infinity
    if (size >= 0x38800000u) {                                                       // normal from 2^-14 on
        const uint32_t rebased = size - (112u << 23);
        return (uint16_t)(sign | (rebased + 0xFFF + (rebased >> 13 & 1)) >> 13);
    }
    if (size <= 0x33000000u) return (uint16_t)sign; // up to 2^-25, a tie with zero, which is even
    const uint32_t mantissa = (size & 0x7FFFFF) | 0x800000;
    const uint32_t shift = 126 - (size >> 23); // 14..24
    const uint32_t whole = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1);
    const uint32_t tie = 1u << (shift - 1);
    const uint32_t up = rest > tie || (rest == tie && (whole & 1)) ? 1 : 0;
    return (uint16_t)(sign | (whole + up)); // a carry out of the mantissa is 2^-14, the smallest normal
}

float hone_bf16_to_float(uint16_t bf16) {
    return float_of((uint32_t)bf16 << 16);
}

uint16_t hone_float_to_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40); // rounding could make a NaN infinite
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

#if HAVE_F16C
// Both convert the largest multiple of 8 and return how many that was.
__attribute__((target("f16c,avx"))) static size_t half_to_float_f16c(const uint16_t *half, float *out, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(half + i))));
    }
    return i;
}

__attribute__((target("f16c,avx"))) static size_t float_to_half_f16c(const float *values, uint16_t *out, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(out + i), eight);
    }
    return i;
}

static int have_f16c(void) {
    return __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
}
#endif

void hone_half_to_float_array(const uint16_t *half, float *out, size_t count) {
    size_t i = 0;
#if HAVE_F16C
    if (have_f16c()) i = half_to_float_f16c(half, out, count);
#endif
    for (; i < count; i++) out[i] = hone_half_to_float(half[i]);
}

void hone_float_to_half_array(const float *values, uint16_t *out, size_t count) {
    size_t i = 0;
#if HAVE_F16C
    if (have_f16c()) i = float_to_half_f16c(values, out, count);
#endif
    for (; i < count; i++) out[i] = hone_float_to_half(values[i]);
}
