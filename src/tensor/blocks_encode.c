// SPDX-License-Identifier: Apache-2.0
// Floats to blocks, for writers and tests: the usual rounding, one scale a block. Layouts: the table in
// blocks.c.
//
//   Q8_0  d = max|x| / 127, q = x / d rounded, halves away from zero
//   Q4_0  d = (the x of largest magnitude, with its sign) / -8, q = min(15, floor(x / d + 8.5))
//   Q4_1  m = min x, d = (max x - m) / 15, q = min(15, floor((x - m) / d + 0.5))
//
// x / d is x times the float reciprocal of the float d; the half that is stored is d rounded afterwards.
#include "tensor/blocks_inside.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

static const float largest_half = 65504.0f;

static void put_half(uint8_t *bytes, float value) {
    const uint16_t half = hone_float_to_half(value);
    memcpy(bytes, &half, sizeof half);
}

static void encode_q8_0(const float *values, uint8_t *block) {
    float largest = 0;
    for (int i = 0; i < 32; i++) largest = fmaxf(largest, fabsf(values[i]));
    const float d = largest / 127;
    const float inverse = d != 0 ? 1 / d : 0;
    put_half(block, d);
    for (int i = 0; i < 32; i++) {
        const float scaled = fmaxf(-127, fminf(127, roundf(values[i] * inverse)));
        block[2 + i] = (uint8_t)(int8_t)scaled;
    }
}

// `values` times `inverse` plus `offset`, cut to 0..15, into nibbles. NaN (0 times infinity, where d is so
// small that its reciprocal overflows) becomes 0: comparisons with it are false.
static void encode_nibbles(const float *values, float subtract, float inverse, float offset, uint8_t *bytes) {
    uint8_t codes[32];
    for (int i = 0; i < 32; i++) {
        const float scaled = (values[i] - subtract) * inverse + offset;
        codes[i] = scaled >= 15 ? 15 : scaled > 0 ? (uint8_t)scaled : 0;
    }
    for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(codes[i] | codes[i + 16] << 4);
}

static void encode_q4_0(const float *values, uint8_t *block) {
    float largest = 0;
    for (int i = 0; i < 32; i++) {
        if (fabsf(values[i]) > fabsf(largest)) largest = values[i];
    }
    const float d = largest / -8;
    put_half(block, d);
    encode_nibbles(values, 0, d != 0 ? 1 / d : 0, 8.5f, block + 2);
}

static void encode_q4_1(const float *values, uint8_t *block) {
    float low = values[0];
    float high = values[0];
    for (int i = 1; i < 32; i++) {
        low = fminf(low, values[i]);
        high = fmaxf(high, values[i]);
    }
    const float d = (high - low) / 15;
    put_half(block, d);
    put_half(block + 2, low);
    encode_nibbles(values, low, d != 0 ? 1 / d : 0, 0.5f, block + 4);
}

// Whether a block's scale and minimum can be stored as halves at all.
static hone_status check_values(const float *values, size_t first, const char *name, hone_error *error) {
    for (size_t i = 0; i < 32; i++) {
        HONE_FAIL_IF(!isfinite(values[i]), error, NOT_FINITE, "value %zu is %f and has no %s form", first + i,
                     (double)values[i], name);
        HONE_FAIL_IF(fabsf(values[i]) > largest_half, error, BAD_DATA,
                     "value %zu is %g, too large for %s, whose scale is a half", first + i, (double)values[i], name);
    }
    return HONE_OK;
}

static hone_status encode_codes(const hone_block_layout *layout, const float *values, uint8_t *block, size_t count,
                                hone_error *error) {
    for (size_t done = 0; done < count; done += 32) {
        HONE_TRY(check_values(values, done, layout->name, error));
        if (layout->type == HONE_BLOCK_Q8_0) {
            encode_q8_0(values, block);
        } else if (layout->type == HONE_BLOCK_Q4_0) {
            encode_q4_0(values, block);
        } else {
            encode_q4_1(values, block);
        }
        values += 32;
        block += layout->bytes;
    }
    return HONE_OK;
}

hone_status hone_block_encode(hone_block_type type, const float *values, void *blocks, size_t count,
                              hone_error *error) {
    const hone_block_layout *const layout = hone_block_find(type);
    HONE_FAIL_IF(!layout, error, UNSUPPORTED, "values of type %s cannot be written", hone_block_name(type));
    HONE_FAIL_IF(count % (size_t)layout->elements != 0, error, INVALID_ARGUMENT,
                 "%zu values are no whole number of %s blocks of %d", count, layout->name, layout->elements);
    uint8_t *const bytes = blocks;
    switch (type) {
    case HONE_BLOCK_F32:
        if (count > 0) memcpy(bytes, values, count * sizeof *values);
        return HONE_OK;
    case HONE_BLOCK_F16:
        for (size_t i = 0; i < count; i++) put_half(bytes + 2 * i, values[i]);
        return HONE_OK;
    case HONE_BLOCK_BF16:
        for (size_t i = 0; i < count; i++) {
            const uint16_t bf16 = hone_float_to_bf16(values[i]);
            memcpy(bytes + 2 * i, &bf16, sizeof bf16);
        }
        return HONE_OK;
    case HONE_BLOCK_Q4_0:
    case HONE_BLOCK_Q4_1:
    case HONE_BLOCK_Q8_0:
        return encode_codes(layout, values, bytes, count, error);
    default:
        HONE_FAIL(error, UNSUPPORTED, "writing %s is not possible; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are",
                  layout->name);
    }
}
