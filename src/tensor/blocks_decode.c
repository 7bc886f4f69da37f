// SPDX-License-Identifier: Apache-2.0
// Blocks to floats. Layouts: the table in blocks.c.
#include "tensor/blocks_inside.h"

#include <string.h>

#include "base/half.h"

static uint16_t load_u16(const uint8_t *bytes) {
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t load_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

// Nibbles of 16 bytes: low ones are values 0-15, high ones 16-31.
static void unpack_nibbles(const uint8_t *bytes, int zero, int8_t *codes) {
    for (int i = 0; i < 16; i++) {
        codes[i] = (int8_t)((bytes[i] & 15) - zero);
        codes[i + 16] = (int8_t)((bytes[i] >> 4) - zero);
    }
}

static void unpack_five_bits(const uint8_t *bytes, uint32_t high, int zero, int8_t *codes) {
    for (int i = 0; i < 16; i++) {
        codes[i] = (int8_t)(((bytes[i] & 15) | (high >> i & 1) << 4) - (uint32_t)zero);
        codes[i + 16] = (int8_t)((bytes[i] >> 4 | (high >> (i + 16) & 1) << 4) - (uint32_t)zero);
    }
}

static void take_scale(const uint8_t *bytes, hone_block_parts *parts) {
    parts->half_scale = load_u16(bytes);
    parts->scales[0] = hone_half_to_float(parts->half_scale);
}

static void take_minimum(const uint8_t *bytes, hone_block_parts *parts) {
    parts->half_minimum = load_u16(bytes);
    parts->minimums[0] = hone_half_to_float(parts->half_minimum);
}

// The eight scales and minimums of Q4_K and Q5_K from the sixteen bytes before their codes.
static void take_k_scales(const uint8_t *block, hone_block_parts *parts) {
    const float d = hone_half_to_float(load_u16(block));
    const float dmin = hone_half_to_float(load_u16(block + 2));
    const uint8_t *const s = block + 4;
    for (int j = 0; j < 8; j++) {
        const int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
        const int minimum = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4;
        parts->scales[j] = d * (float)scale;
        parts->minimums[j] = -(dmin * (float)minimum);
    }
}

static void take_q4_k(const uint8_t *block, hone_block_parts *parts) {
    take_k_scales(block, parts);
    for (int pair = 0; pair < 4; pair++) {
        const uint8_t *const q = block + 16 + 32 * pair;
        int8_t *const codes = parts->codes + 64 * pair;
        for (int l = 0; l < 32; l++) {
            codes[l] = (int8_t)(q[l] & 15);
            codes[l + 32] = (int8_t)(q[l] >> 4);
        }
    }
}

static void take_q5_k(const uint8_t *block, hone_block_parts *parts) {
    take_k_scales(block, parts);
    const uint8_t *const high = block + 16;
    for (int pair = 0; pair < 4; pair++) {
        const uint8_t *const q = block + 48 + 32 * pair;
        int8_t *const codes = parts->codes + 64 * pair;
        for (int l = 0; l < 32; l++) {
            codes[l] = (int8_t)((q[l] & 15) | (high[l] >> (2 * pair) & 1) << 4);
            codes[l + 32] = (int8_t)(q[l] >> 4 | (high[l] >> (2 * pair + 1) & 1) << 4);
        }
    }
}

static void take_q6_k(const uint8_t *block, hone_block_parts *parts) {
    for (int half = 0; half < 2; half++) {
        const uint8_t *const low = block + 64 * half;
        const uint8_t *const high = block + 128 + 32 * half;
        int8_t *const codes = parts->codes + 128 * half;
        for (int l = 0; l < 32; l++) {
            codes[l] = (int8_t)(((low[l] & 15) | (high[l] & 3) << 4) - 32);
            codes[l + 32] = (int8_t)(((low[l + 32] & 15) | (high[l] >> 2 & 3) << 4) - 32);
            codes[l + 64] = (int8_t)((low[l] >> 4 | (high[l] >> 4 & 3) << 4) - 32);
            codes[l + 96] = (int8_t)((low[l + 32] >> 4 | (high[l] >> 6 & 3) << 4) - 32);
        }
    }
    const float d = hone_half_to_float(load_u16(block + 208));
    for (int j = 0; j < 16; j++) {
        int8_t scale;
        memcpy(&scale, block + 192 + j, 1);
        parts->scales[j] = d * (float)scale;
    }
}

void hone_block_take_apart(hone_block_type type, const uint8_t *block, hone_block_parts *parts) {
    switch (type) {
    case HONE_BLOCK_Q4_0:
        take_scale(block, parts);
        unpack_nibbles(block + 2, 8, parts->codes);
        break;
    case HONE_BLOCK_Q4_1:
        take_scale(block, parts);
        take_minimum(block + 2, parts);
        unpack_nibbles(block + 4, 0, parts->codes);
        break;
    case HONE_BLOCK_Q5_0:
        take_scale(block, parts);
        unpack_five_bits(block + 6, load_u32(block + 2), 16, parts->codes);
        break;
    case HONE_BLOCK_Q5_1:
        take_scale(block, parts);
        take_minimum(block + 2, parts);
        unpack_five_bits(block + 8, load_u32(block + 4), 0, parts->codes);
        break;
    case HONE_BLOCK_Q8_0:
        take_scale(block, parts);
        memcpy(parts->codes, block + 2, 32);
        break;
    case HONE_BLOCK_Q4_K:
        take_q4_k(block, parts);
        break;
    case HONE_BLOCK_Q5_K:
        take_q5_k(block, parts);
        break;
    case HONE_BLOCK_Q6_K:
        take_q6_k(block, parts);
        break;
    default:
        break;
    }
}

static void decode_bf16(const uint8_t *bytes, float *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = hone_bf16_to_float(load_u16(bytes + 2 * i));
}

// Through an aligned piece: a file's halves may lie at an odd address.
static void decode_half(const uint8_t *bytes, float *out, size_t count) {
    uint16_t piece[256];
    while (count > 0) {
        const size_t n = count < 256 ? count : 256;
        memcpy(piece, bytes, 2 * n);
        hone_half_to_float_array(piece, out, n);
        bytes += 2 * n;
        out += n;
        count -= n;
    }
}

static void decode_codes(const hone_block_layout *layout, const uint8_t *bytes, float *out, size_t count) {
    const hone_code_layout codes = hone_block_codes(layout->type);
    const int groups = layout->elements / codes.group;
    hone_block_parts parts;
    for (size_t done = 0; done < count; done += (size_t)layout->elements) {
        hone_block_take_apart(layout->type, bytes, &parts);
        for (int j = 0; j < groups; j++) {
            const int8_t *const code = parts.codes + j * codes.group;
            const float scale = parts.scales[j];
            // Adding 0 where there is no minimum would turn -0 into +0.
            if (codes.minimums) {
                const float minimum = parts.minimums[j];
                for (int i = 0; i < codes.group; i++) out[i] = (float)code[i] * scale + minimum;
            } else {
                for (int i = 0; i < codes.group; i++) out[i] = (float)code[i] * scale;
            }
            out += codes.group;
        }
        bytes += layout->bytes;
    }
}

hone_status hone_block_decode(hone_block_type type, const void *blocks, float *out, size_t count, hone_error *error) {
    const hone_block_layout *const layout = hone_block_find(type);
    HONE_FAIL_IF(!layout, error, UNSUPPORTED, "values of type %s cannot be read", hone_block_name(type));
    HONE_FAIL_IF(count % (size_t)layout->elements != 0, error, INVALID_ARGUMENT,
                 "%zu values are no whole number of %s blocks of %d", count, layout->name, layout->elements);
    switch (type) {
    case HONE_BLOCK_F32:
        if (count > 0) memcpy(out, blocks, count * sizeof *out);
        break;
    case HONE_BLOCK_F16:
        decode_half(blocks, out, count);
        break;
    case HONE_BLOCK_BF16:
        decode_bf16(blocks, out, count);
        break;
    default:
        decode_codes(layout, blocks, out, count);
        break;
    }
    return HONE_OK;
}
