// SPDX-License-Identifier: Apache-2.0
// The inner loops for x86-64 with AVX-512 (F, BW, DQ, VL).
#include "ops/matmul/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

#include "base/half.h"

#define NAME(name)     avx512_##name
#define TARGET         __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define INLINE         TARGET static inline __attribute__((always_inline))
#define LANES          16
#define TILE_ROWS      8
#define TILE_VECTORS   2
#define DOT_ROWS       2
#define DOT_COLUMNS    8
#define MATVEC_ROWS(m) ((m) == 1 ? 16 : (m) == 2 ? 8 : 4)

typedef float vec __attribute__((vector_size(64)));
typedef float quad __attribute__((vector_size(16)));
typedef uint8_t bytes __attribute__((vector_size(16)));

INLINE vec vec_load(const float *from) {
    return (vec)_mm512_loadu_ps(from);
}
INLINE void vec_store(float *to, vec v) {
    _mm512_storeu_ps(to, (__m512)v);
}
INLINE vec vec_splat(float x) {
    return (vec)_mm512_set1_ps(x);
}
INLINE vec vec_fma(vec a, vec b, vec c) {
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

INLINE void half_strip(const char *from, vec out[1]) {
    out[0] = (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}

// The values of sixteen codes: a permutation reads the low four bits of each index and looks them up.
INLINE vec values_of(__m512i codes, int zero) {
    const vec plain = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return (vec)_mm512_permutexvar_ps(codes, (__m512)(plain - vec_splat((float)zero)));
}

INLINE void nibble_strip(bytes codes, int zero, vec low[1], vec high[1]) {
    const __m512i wide = _mm512_cvtepu8_epi32((__m128i)codes);
    low[0] = values_of(wide, zero);
    // Converted instead of looked up: shuffles are what there is least of.
    high[0] = (vec)_mm512_cvtepi32_ps(_mm512_srli_epi32(wide, 4)) - vec_splat((float)zero);
}

// Eight bytes: lanes 0-7 take the nibbles of the first four in order, lanes 8-15 those of the others.
INLINE void nibble_row(bytes codes, int zero, vec out[1]) {
    const __m512i half = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i shift = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i word = _mm512_permutexvar_epi32(half, _mm512_castsi128_si512((__m128i)codes));
    out[0] = values_of(_mm512_srlv_epi32(word, shift), zero);
}

INLINE void byte_strip(bytes codes, vec out[1]) {
    out[0] = (vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32((__m128i)codes));
}

#include "ops/matmul/kernels_tile.h"

#include "ops/matmul/kernels_codes.h"

static bool usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

const hone_kernels hone_kernels_avx512 = {
    .name = "avx512",
    .usable = usable,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .tile = avx512_tile,
    .transpose = avx512_transpose,
    .dots = avx512_dots,
    .decode_rows = avx512_decode_rows,
    .decode_columns = avx512_decode_columns,
    .matvec = avx512_matvec,
};
#endif
