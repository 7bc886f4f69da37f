// SPDX-License-Identifier: Apache-2.0
// The inner loops in plain C over vectors of four floats, which every processor and WebAssembly have.
#include <string.h>

#include "base/half.h"
#include "ops/matmul/kernels.h"

#define NAME(name) plain_##name
#define TARGET
#define INLINE         static inline __attribute__((always_inline))
#define LANES          4
#define TILE_VECTORS   4
#define DOT_ROWS       1
#define DOT_COLUMNS    2
#define MATVEC_ROWS(m) 1

typedef float quad __attribute__((vector_size(16)));
typedef quad vec;
typedef uint8_t bytes __attribute__((vector_size(16)));

INLINE vec vec_load(const float *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}
INLINE void vec_store(float *to, vec v) {
    memcpy(to, &v, sizeof v);
}
INLINE vec vec_splat(float x) {
    return (vec){x, x, x, x};
}

#if defined(__aarch64__)
#include <arm_neon.h>
#define TILE_ROWS 4
INLINE vec vec_fma(vec a, vec b, vec c) {
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#else
#define TILE_ROWS 2 // 8 sums, 4 of the right and 2 of the left operand fit 16 registers
INLINE vec vec_fma(vec a, vec b, vec c) {
    return a * b + c;
}
#endif

INLINE void half_strip(const char *from, vec out[4]) {
    uint16_t half[HONE_STRIP];
    float value[HONE_STRIP];
    memcpy(half, from, sizeof half);
    for (int i = 0; i < HONE_STRIP; i++) value[i] = hone_half_to_float(half[i]);
    memcpy(out, value, sizeof value);
}

INLINE void nibble_strip(bytes codes, int zero, vec low[4], vec high[4]) {
    float even[HONE_STRIP], odd[HONE_STRIP];
    for (int i = 0; i < HONE_STRIP; i++) {
        even[i] = (float)((codes[i] & 15) - zero);
        odd[i] = (float)((codes[i] >> 4) - zero);
    }
    memcpy(low, even, sizeof even);
    memcpy(high, odd, sizeof odd);
}

INLINE void nibble_row(bytes codes, int zero, vec out[4]) {
    float value[HONE_STRIP];
    for (int i = 0; i < HONE_STRIP; i++) value[i] = (float)((codes[i / 2] >> i % 2 * 4 & 15) - zero);
    memcpy(out, value, sizeof value);
}

INLINE void byte_strip(bytes codes, vec out[4]) {
    float value[HONE_STRIP];
    for (int i = 0; i < HONE_STRIP; i++) value[i] = (float)(int8_t)codes[i];
    memcpy(out, value, sizeof value);
}

#include "ops/matmul/kernels_tile.h"

#include "ops/matmul/kernels_codes.h"

static bool usable(void) {
    return true;
}

const hone_kernels hone_kernels_plain = {
    .name = "plain",
    .usable = usable,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .tile = plain_tile,
    .transpose = plain_transpose,
    .dots = plain_dots,
    .decode_rows = plain_decode_rows,
    .decode_columns = plain_decode_columns,
    .matvec = plain_matvec,
};
