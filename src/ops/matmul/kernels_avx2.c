// SPDX-License-Identifier: Apache-2.0
// The inner loops for x86-64 with AVX2, FMA and F16C.
#include "ops/matmul/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

#include "base/half.h"

#define NAME(name)     avx2_##name
#define TARGET         __attribute__((target("avx2,fma,f16c")))
#define INLINE         TARGET static inline __attribute__((always_inline))
#define LANES          8
#define TILE_ROWS      6
#define TILE_VECTORS   2
#define DOT_ROWS       2
#define DOT_COLUMNS    2
#define MATVEC_ROWS(m) ((m) == 1 ? 4 : 1)

typedef float vec __attribute__((vector_size(32)));
typedef float quad __attribute__((vector_size(16)));
typedef uint8_t bytes __attribute__((vector_size(16)));

INLINE vec vec_load(const float *from) {
    return (vec)_mm256_loadu_ps(from);
}
INLINE void vec_store(float *to, vec v) {
    _mm256_storeu_ps(to, (__m256)v);
}
INLINE vec vec_splat(float x) {
    return (vec)_mm256_set1_ps(x);
}
INLINE vec vec_fma(vec a, vec b, vec c) {
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

INLINE void half_strip(const char *from, vec out[2]) {
    out[0] = (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)from));
    out[1] = (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + 16)));
}

INLINE vec values_of(__m256i codes, int zero) {
    return (vec)_mm256_cvtepi32_ps(_mm256_sub_epi32(codes, _mm256_set1_epi32(zero)));
}

INLINE void nibble_strip(bytes codes, int zero, vec low[2], vec high[2]) {
    for (int part = 0; part < 2; part++) {
        const __m128i eight = part ? _mm_srli_si128((__m128i)codes, 8) : (__m128i)codes;
        const __m256i wide = _mm256_cvtepu8_epi32(eight);
        low[part] = values_of(_mm256_and_si256(wide, _mm256_set1_epi32(15)), zero);
        high[part] = values_of(_mm256_srli_epi32(wide, 4), zero);
    }
}

// Eight bytes: each four of them spread over eight lanes and shifted.
INLINE void nibble_row(bytes codes, int zero, vec out[2]) {
    const __m256i shift = _mm256_set_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    for (int part = 0; part < 2; part++) {
        const __m128i four = part ? _mm_srli_si128((__m128i)codes, 4) : (__m128i)codes;
        const __m256i word = _mm256_srlv_epi32(_mm256_broadcastd_epi32(four), shift);
        out[part] = values_of(_mm256_and_si256(word, _mm256_set1_epi32(15)), zero);
    }
}

INLINE void byte_strip(bytes codes, vec out[2]) {
    for (int part = 0; part < 2; part++) {
        const __m128i eight = part ? _mm_srli_si128((__m128i)codes, 8) : (__m128i)codes;
        out[part] = (vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
    }
}

#include "ops/matmul/kernels_tile.h"

#include "ops/matmul/kernels_codes.h"

static bool usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

const hone_kernels hone_kernels_avx2 = {
    .name = "avx2",
    .usable = usable,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .tile = avx2_tile,
    .transpose = avx2_transpose,
    .dots = avx2_dots,
    .decode_rows = avx2_decode_rows,
    .decode_columns = avx2_decode_columns,
    .matvec = avx2_matvec,
};
#endif
