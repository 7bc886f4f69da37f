// SPDX-License-Identifier: Apache-2.0
// The table of GGUF's block formats. Layouts, little endian; d, m and dmin are IEEE halves:
//
//   A row of a tensor is cut into blocks of 32 or 256 values; each is coded alone. x[i] is value i of the
//   block.
//
//   format  OFFSET SIZE  what                                  value (float, in the order written)
//   ------  ------ ----  ------------------------------------
//   ------------------------------------------------- F32          0    4  float itself F16          0    2
//   half                                  itself BF16         0    2  upper half of a float itself Q4_0 0 2
//   d                                     x[i] = (q - 8) * d
//                2   16  q: byte b holds x[b] in its low and
//                        x[b+16] in its high nibble
//   Q4_1         0    2  d                                     x[i] = q * d + m
//                2    2  m
//                4   16  q as in Q4_0
//   Q5_0         0    2  d                                     x[i] = ((q | h << 4) - 16) * d
//                2    4  h: bit i is the fifth bit of x[i]
//                6   16  q as in Q4_0
//   Q5_1         0    2  d                                     x[i] = (q | h << 4) * d + m
//                2    2  m
//                4    4  h as in Q5_0
//                8   16  q as in Q4_0
//   Q8_0         0    2  d                                     x[i] = q * d
//                2   32  q: signed bytes
//   Q4_K         0    2  d                                     8 groups j of 32: x = (d * sc[j]) * q - dmin *
//   mn[j]
//                2    2  dmin
//                4   12  sc and mn, six bits each (see below)
//               16  128  q: bytes 32p.. hold group 2p in the
//                        low and 2p+1 in the high nibbles
//   Q5_K         0    2  d                                     as Q4_K with q | h << 4
//                2    2  dmin
//                4   12  sc and mn
//               16   32  h: bit j of byte l is the fifth bit
//                        of value l of group j
//               48  128  q as in Q4_K
//   Q6_K         0  128  low four bits                         16 groups of 16: x = (d * sc[i/16]) * (q - 32)
//              128   64  high two bits
//              192   16  sc: signed bytes
//              208    2  d
//                        Half n (128 values), l in 0..31:
//                        x[128n + l     ]: low[64n + l     ] & 15, high[32n + l] >> 0 & 3
//                        x[128n + l + 32]: low[64n + l + 32] & 15, high[32n + l] >> 2 & 3
//                        x[128n + l + 64]: low[64n + l     ] >> 4, high[32n + l] >> 4 & 3
//                        x[128n + l + 96]: low[64n + l + 32] >> 4, high[32n + l] >> 6 & 3
//
//   The twelve bytes s of Q4_K and Q5_K:
//     j < 4:  sc[j] = s[j] & 63                          mn[j] = s[j+4] & 63
//     j >= 4: sc[j] = (s[j+4] & 15) | (s[j-4] >> 6) << 4  mn[j] = s[j+4] >> 4 | (s[j] >> 6) << 4
#include "tensor/blocks.h"

#include <inttypes.h>
#include <stdio.h>

static const hone_block_layout layouts[] = {
#define BLOCK_LAYOUT(suffix, number, text, block_elements, block_bytes)                                                \
    {.type = number, .name = text, .elements = block_elements, .bytes = block_bytes},
    HONE_BLOCK_LIST(BLOCK_LAYOUT)
#undef BLOCK_LAYOUT
};

// Everything that GGUF has ever numbered, for messages. Entries that hone reads are in `layouts`.
static const char *const other_names[] = {
    [4] = "Q4_2",     [5] = "Q4_3",        [9] = "Q8_1",        [10] = "Q2_K",       [11] = "Q3_K",     [15] = "Q8_K",
    [16] = "IQ2_XXS", [17] = "IQ2_XS",     [18] = "IQ3_XXS",    [19] = "IQ1_S",      [20] = "IQ4_NL",   [21] = "IQ3_S",
    [22] = "IQ2_S",   [23] = "IQ4_XS",     [24] = "I8",         [25] = "I16",        [26] = "I32",      [27] = "I64",
    [28] = "F64",     [29] = "IQ1_M",      [31] = "Q4_0_4_4",   [32] = "Q4_0_4_8",   [33] = "Q4_0_8_8", [34] = "TQ1_0",
    [35] = "TQ2_0",   [36] = "IQ4_NL_4_4", [37] = "IQ4_NL_4_8", [38] = "IQ4_NL_8_8", [39] = "MXFP4",    [40] = "NVFP4",
    [41] = "Q1_0",
};

const hone_block_layout *hone_block_find(hone_block_type type) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].type == type) return &layouts[i];
    }
    return NULL;
}

const char *hone_block_name(hone_block_type type) {
    const hone_block_layout *const layout = hone_block_find(type);
    if (layout) return layout->name;
    if (type < sizeof other_names / sizeof *other_names && other_names[type]) return other_names[type];
    static _Thread_local char number[24]; // valid until this thread asks for the next unknown one
    snprintf(number, sizeof number, "type %" PRIu32, type);
    return number;
}

hone_code_layout hone_block_codes(hone_block_type type) {
    switch (type) {
    case HONE_BLOCK_Q4_0:
        return (hone_code_layout){HONE_CODES_4, 32, HONE_DTYPE_F16, false};
    case HONE_BLOCK_Q4_1:
        return (hone_code_layout){HONE_CODES_4, 32, HONE_DTYPE_F16, true};
    case HONE_BLOCK_Q4_K:
        return (hone_code_layout){HONE_CODES_4, 32, HONE_DTYPE_F32, true};
    case HONE_BLOCK_Q5_0:
    case HONE_BLOCK_Q8_0:
        return (hone_code_layout){HONE_CODES_8, 32, HONE_DTYPE_F16, false};
    case HONE_BLOCK_Q5_1:
        return (hone_code_layout){HONE_CODES_8, 32, HONE_DTYPE_F16, true};
    case HONE_BLOCK_Q5_K:
        return (hone_code_layout){HONE_CODES_8, 32, HONE_DTYPE_F32, true};
    case HONE_BLOCK_Q6_K:
        return (hone_code_layout){HONE_CODES_8, 16, HONE_DTYPE_F32, false};
    default:
        return (hone_code_layout){HONE_CODES_NONE, 1, HONE_DTYPE_F32, false};
    }
}
