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
typedef uint16_t shorts __attribute__((vector_size(16)));
typedef int32_t quad_integer __attribute__((vector_size(16)));

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

// Interleaving with zeros, low and high halves: what every instruction set has an instruction for. Little-endian.
#define ZIP_BYTES_LOW(a, b) __builtin_shufflevector((a), (b), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_BYTES_HIGH(a, b)                                                                                           \
    __builtin_shufflevector((a), (b), 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define ZIP_SHORTS_LOW(a, b) (quad_integer) __builtin_shufflevector((shorts)(a), (shorts)(b), 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_SHORTS_HIGH(a, b)                                                                                          \
    (quad_integer) __builtin_shufflevector((shorts)(a), (shorts)(b), 4, 12, 5, 13, 6, 14, 7, 15)

INLINE vec to_floats(quad_integer whole) {
    return __builtin_convertvector(whole, vec);
}

INLINE void unsigned_strip(bytes codes, int zero, vec out[4]) {
    const quad_integer offset = {zero, zero, zero, zero};
    const bytes none = {0}, low = ZIP_BYTES_LOW(codes, none), high = ZIP_BYTES_HIGH(codes, none);
    out[0] = to_floats(ZIP_SHORTS_LOW(low, none) - offset);
    out[1] = to_floats(ZIP_SHORTS_HIGH(low, none) - offset);
    out[2] = to_floats(ZIP_SHORTS_LOW(high, none) - offset);
    out[3] = to_floats(ZIP_SHORTS_HIGH(high, none) - offset);
}

INLINE void nibble_strip(bytes codes, int zero, vec low[4], vec high[4]) {
    unsigned_strip(codes & 15, zero, low);
    unsigned_strip(codes >> 4, zero, high);
}

// Eight bytes: their low and high nibbles by turns.
INLINE void nibble_row(bytes codes, int zero, vec out[4]) {
    const bytes low = codes & 15, high = codes >> 4;
    unsigned_strip(ZIP_BYTES_LOW(low, high), zero, out);
}

// Each byte in the highest of its lane, shifted down with its sign.
INLINE void byte_strip(bytes codes, vec out[4]) {
    const bytes none = {0}, low = ZIP_BYTES_LOW(none, codes), high = ZIP_BYTES_HIGH(none, codes);
    out[0] = to_floats(ZIP_SHORTS_LOW(none, low) >> 24);
    out[1] = to_floats(ZIP_SHORTS_HIGH(none, low) >> 24);
    out[2] = to_floats(ZIP_SHORTS_LOW(none, high) >> 24);
    out[3] = to_floats(ZIP_SHORTS_HIGH(none, high) >> 24);
}

// Halves in the low 16 bits. The exponent moves by multiplying, which is exact and makes subnormals normal.
INLINE vec half_quad(quad_integer half) {
    const vec value = (vec)((half & 0x7FFF) << 13) * vec_splat(0x1p112f);
    const quad_integer infinite = (half & 0x7C00) == 0x7C00; // or NaN
    return (vec)((quad_integer)value | (infinite & 0x7F800000) | (half & 0x8000) << 16);
}

INLINE void half_strip(const char *from, vec out[4]) {
    const bytes none = {0};
    bytes raw[2];
    memcpy(raw, from, sizeof raw);
    for (int i = 0; i < 2; i++) {
        out[2 * i] = half_quad(ZIP_SHORTS_LOW(raw[i], none));
        out[2 * i + 1] = half_quad(ZIP_SHORTS_HIGH(raw[i], none));
    }
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
