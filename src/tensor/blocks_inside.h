// SPDX-License-Identifier: Apache-2.0
// One block taken apart into plain codes, scales and minimums: the step that decoding and repacking share.
#ifndef HONE_TENSOR_BLOCKS_INSIDE_H
#define HONE_TENSOR_BLOCKS_INSIDE_H

#include "tensor/blocks.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the formats are read as little endian; this processor is not"
#endif

enum { HONE_LARGEST_BLOCK = 256, HONE_MOST_GROUPS = 16 };

// value[i] = code[i] * scale[i / group] + minimum[i / group], codes with their zero already subtracted.
typedef struct hone_block_parts {
    int8_t codes[HONE_LARGEST_BLOCK];
    float scales[HONE_MOST_GROUPS];   // exact: a half, or the product that the format defines
    float minimums[HONE_MOST_GROUPS]; // as above; -(dmin * mn) where the format subtracts
    uint16_t half_scale;              // the file's bits, in formats whose code layout keeps halves
    uint16_t half_minimum;
} hone_block_parts;

// `block` is one block of a format that has codes (not F32, F16, BF16).
void hone_block_take_apart(hone_block_type type, const uint8_t *block, hone_block_parts *parts);

#endif
