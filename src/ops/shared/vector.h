// SPDX-License-Identifier: Apache-2.0
// What the CPU functions vectorise with: clones for each instruction set, loop hints, sums over fixed lanes.
#ifndef HONE_OPS_SHARED_VECTOR_H
#define HONE_OPS_SHARED_VECTOR_H

#include <stdint.h>

// A function under HONE_VECTOR is compiled once for each level of the processor, the best chosen when the
// program starts. All levels give the same bits: no sum is reassociated and nothing is fused unless the
// source says so. Sanitizers instrument the code that chooses, which runs before they are ready.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) &&                \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define HONE_VECTOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HONE_VECTOR
#endif

#if defined(__GNUC__)
#define HONE_INLINE static inline __attribute__((always_inline))
#else
#define HONE_INLINE static inline
#endif

// Before a loop whose iterations do not depend on each other, though its arrays may be one and the same.
#if defined(__clang__)
#define HONE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define HONE_INDEPENDENT _Pragma("GCC ivdep")
#else
#define HONE_INDEPENDENT
#endif

// Lanes at any address. Passed by pointer only: by value they would have no fixed calling convention.
typedef float hone_f32x16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float hone_f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double hone_f64x8 __attribute__((vector_size(64), aligned(8), may_alias));

// Lanes added pairwise, half to half, the same tree on every machine.
HONE_INLINE double hone_sum_f64x8(const hone_f64x8 *v) {
    double a[8], b[4];
    for (int i = 0; i < 8; i++) a[i] = (*v)[i];
    for (int i = 0; i < 4; i++) b[i] = a[i] + a[i + 4];
    return (b[0] + b[2]) + (b[1] + b[3]);
}
HONE_INLINE float hone_sum_f32x16(const hone_f32x16 *v) {
    const hone_f32x8 a = __builtin_shufflevector(*v, *v, 0, 1, 2, 3, 4, 5, 6, 7);
    const hone_f32x8 b = a + __builtin_shufflevector(*v, *v, 8, 9, 10, 11, 12, 13, 14, 15);
    float c[4];
    for (int i = 0; i < 4; i++) c[i] = b[i] + b[i + 4];
    return (c[0] + c[2]) + (c[1] + c[3]);
}

// Sums in double over 8 lanes: exact products, no overflow for any finite float.
HONE_INLINE double hone_sum_squares(const float *x, int64_t n) {
    hone_f64x8 sum = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const hone_f64x8 a = __builtin_convertvector(*(const hone_f32x8 *)(x + i), hone_f64x8);
        sum += a * a;
    }
    double rest = 0;
    for (; i < n; i++) rest += (double)x[i] * x[i];
    return hone_sum_f64x8(&sum) + rest;
}
HONE_INLINE double hone_sum_products(const float *x, const float *y, int64_t n) {
    hone_f64x8 sum = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const hone_f64x8 a = __builtin_convertvector(*(const hone_f32x8 *)(x + i), hone_f64x8);
        const hone_f64x8 b = __builtin_convertvector(*(const hone_f32x8 *)(y + i), hone_f64x8);
        sum += a * b;
    }
    double rest = 0;
    for (; i < n; i++) rest += (double)x[i] * y[i];
    return hone_sum_f64x8(&sum) + rest;
}
HONE_INLINE double hone_sum_floats(const float *x, int64_t n) {
    hone_f64x8 sum = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) sum += __builtin_convertvector(*(const hone_f32x8 *)(x + i), hone_f64x8);
    double rest = 0;
    for (; i < n; i++) rest += x[i];
    return hone_sum_f64x8(&sum) + rest;
}

// The largest element, -infinity for none. NaN is passed over.
HONE_INLINE float hone_max_floats(const float *x, int64_t n) {
    float lanes[16];
    for (int j = 0; j < 16; j++) lanes[j] = -__builtin_inff();
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
    for (; i < n; i++) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
    float max = lanes[0];
    for (int j = 1; j < 16; j++) max = lanes[j] > max ? lanes[j] : max;
    return max;
}

#endif
