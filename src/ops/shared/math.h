// SPDX-License-Identifier: Apache-2.0
// exp, log, tanh, erf and what is built from them, free of branches so that loops over them vectorise.
//
// Errors are within 2 units in the last place unless said; NaN gives NaN, infinities and overflow give what
// C's functions give. The coefficients are least-squares fits in 40 digits, reweighted towards the smallest
// largest error.
#ifndef HONE_OPS_SHARED_MATH_H
#define HONE_OPS_SHARED_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ops/shared/vector.h"

HONE_INLINE uint32_t hone_float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
HONE_INLINE float hone_bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
// yes where `condition`, else no: on bits, so that compilers need not ask whether a comparison may trap.
HONE_INLINE float hone_select(int condition, float yes, float no) {
    const uint32_t mask = 0u - (uint32_t)(condition != 0);
    return hone_bits_float((hone_float_bits(yes) & mask) | (hone_float_bits(no) & ~mask));
}

// x = n ln2 + r with |r| <= ln2 / 2; e^x = 2^n (1 + r + r^2 p(r)). 2^n is applied in two factors, so that
// results below 2^-126 round once and those above the largest float become infinite.
HONE_INLINE float hone_exp(float x) {
    const float magic = 12582912.0f; // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
    const float low = hone_select(x < -104.0f, -104.0f, x); // NaN passes
    const float t = hone_select(low > 89.0f, 89.0f, low);
    const float shifted = t * 1.44269504f + magic;
    const float n = shifted - magic;
    const float r = (t - n * 0.693359375f) - n * -2.12194440e-4f; // the first product is exact
    const float p =
        (((1.394121425e-03f * r + 8.363235074e-03f) * r + 4.166637413e-02f) * r + 1.666657665e-01f) * r + 0.5f;
    const float e = 1.0f + (r + r * r * p);
    const int32_t power = (int32_t)(hone_float_bits(shifted) - hone_float_bits(magic));
    const int32_t half = power >> 1;
    const float first = hone_bits_float(((uint32_t)half + 127u) << 23);
    const float second = hone_bits_float(((uint32_t)power - (uint32_t)half + 127u) << 23);
    return e * first * second;
}

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f),
// log(1 + f) = 2s + s^3 q(s^2) = f - s (f - s^2 q).
HONE_INLINE float hone_log(float x) {
    const int tiny = x < 1.17549435e-38f;
    const float scaled = hone_select(tiny, x * 8388608.0f, x);
    const uint32_t shifted = hone_float_bits(scaled) - 0x3f3504f3u; // sqrt(1/2) becomes 0
    const float k = (float)(((int32_t)shifted >> 23) - 23 * tiny);
    const float f = hone_bits_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float q = ((2.333276570e-01f * z + 2.855072301e-01f) * z + 4.000012288e-01f) * z + 6.666666655e-01f;
    const float log = k * 0.693359375f + (f - (s * (f - z * q) - k * -2.12194440e-4f));
    const float positive = hone_select(x > 3.402823466e38f, x, log);
    const float defined = hone_select(x == 0.0f, -__builtin_inff(), positive);
    return hone_select(x >= 0.0f, defined, __builtin_nanf(""));
}

HONE_INLINE float hone_sigmoid(float x) {
    return 1.0f / (1.0f + hone_exp(-x));
}

HONE_INLINE float hone_tanh(float x) {
    const float a = fabsf(x), z = x * x;
    const float p = ((((2.275910933e-03f * z - 8.329608339e-03f) * z + 2.176475582e-02f) * z - 5.395878452e-02f) * z +
                     1.333330177e-01f) *
                        z -
                    3.333333316e-01f;
    const float near = x + x * z * p;
    const float far = 1.0f - 2.0f / (hone_exp(2.0f * a) + 1.0f);
    return hone_select(a < 0.625f, near, copysignf(far, x));
}

// erfc(x) for x >= 0, to about 2^-24 (2 + 2 x^2) of itself: near 0 from erf's odd series, beyond 1 as
// exp(-x^2) t P(t), t = 1 / (1 + x / 2).
HONE_INLINE float hone_erfc_positive(float x) {
    const float z = x * x, t = 1.0f / (1.0f + 0.5f * x);
    float near = -9.680137007e-06f;
    near = near * z + 1.127054470e-04f;
    near = near * z - 8.484711476e-04f;
    near = near * z + 5.221074880e-03f;
    near = near * z - 2.686544582e-02f;
    near = near * z + 1.128378275e-01f;
    near = near * z - 3.761263848e-01f;
    near = near * z + 1.128379167e+00f;
    float far = 9.234620133e-02f;
    far = far * t - 2.229889867e-01f;
    far = far * t + 7.856266319e-02f;
    far = far * t + 6.350180708e-02f;
    far = far * t + 1.778516097e-01f;
    far = far * t + 2.471635964e-01f;
    far = far * t + 2.820166027e-01f;
    far = far * t + 2.820994976e-01f;
    return hone_select(x < 1.0f, 1.0f - x * near, hone_exp(-z) * t * far);
}

// The share of a normal distribution below x: (1 + erf(x / sqrt(2))) / 2.
HONE_INLINE float hone_normal_below(float x) {
    const float tail = 0.5f * hone_erfc_positive(fabsf(x) * 0.707106781f);
    return hone_select(x > 0.0f, 1.0f - tail, tail);
}

#endif
