// SPDX-License-Identifier: Apache-2.0
// GGUF's block formats: sizes, exact decoding to float, and the two code formats hone keeps in memory.
#ifndef HONE_TENSOR_BLOCKS_H
#define HONE_TENSOR_BLOCKS_H

#include <hone/tensor.h>

#include "base/error.h"

// X(SUFFIX, number in GGUF, name, elements a block, bytes a block)
#define HONE_BLOCK_LIST(X)                                                                                             \
    X(F32, 0, "F32", 1, 4)                                                                                             \
    X(F16, 1, "F16", 1, 2)                                                                                             \
    X(Q4_0, 2, "Q4_0", 32, 18)                                                                                         \
    X(Q4_1, 3, "Q4_1", 32, 20)                                                                                         \
    X(Q5_0, 6, "Q5_0", 32, 22)                                                                                         \
    X(Q5_1, 7, "Q5_1", 32, 24)                                                                                         \
    X(Q8_0, 8, "Q8_0", 32, 34)                                                                                         \
    X(Q4_K, 12, "Q4_K", 256, 144)                                                                                      \
    X(Q5_K, 13, "Q5_K", 256, 176)                                                                                      \
    X(Q6_K, 14, "Q6_K", 256, 210)                                                                                      \
    X(BF16, 30, "BF16", 1, 2)

typedef uint32_t hone_block_type; // GGUF's number; unknown ones are allowed and have no layout
enum {
#define HONE_BLOCK_ENUM(suffix, number, name, elements, bytes) HONE_BLOCK_##suffix = number,
    HONE_BLOCK_LIST(HONE_BLOCK_ENUM)
#undef HONE_BLOCK_ENUM
};

typedef struct hone_block_layout {
    hone_block_type type;
    const char *name;
    int elements; // a block
    int bytes;    // a block
} hone_block_layout;

// NULL for a type that hone does not read.
const hone_block_layout *hone_block_find(hone_block_type type);
// The name of any GGUF type number, known to be defined there or not ("IQ2_XXS", "type 99"); for messages.
const char *hone_block_name(hone_block_type type);

// `count` elements (a multiple of the block's) exactly as GGUF defines them: code * d + m in float.
HONE_MUST_USE hone_status hone_block_decode(hone_block_type type, const void *blocks, float *out, size_t count,
                                            hone_error *error);

// How a tensor is kept in memory.
typedef enum hone_code_format {
    HONE_CODES_NONE, // F32, F16, BF16: as it is
    HONE_CODES_4,    // u8 [N, ceil(K/2)]: even column in the low nibble, odd in the high one (q4gsw's packing)
    HONE_CODES_8     // i8 [N, K]
} hone_code_format;

// value = (code - zero) * scale[k / group][n] + minimum[k / group][n]; scales and minimums are group major,
// [ceil(K / group), N], zero is 8 for 4-bit codes without minimum (plain q4gsw) and 0 otherwise. Nothing is
// lost: scales are f16 where the file has f16, f32 where it holds products (Q4_K, Q5_K, Q6_K).
typedef struct hone_code_layout {
    hone_code_format format;
    int group;
    hone_dtype scale_dtype;
    bool minimums; // and their dtype is scale_dtype
} hone_code_layout;
hone_code_layout hone_block_codes(hone_block_type type);

// Rows [first_row, first_row + rows) of a tensor [total_rows, columns] from blocks to codes. `blocks` begins
// at first_row; codes, scales and minimums point to the whole tensor's places (minimums NULL if there are
// none).
HONE_MUST_USE hone_status hone_block_repack(hone_block_type type, const void *blocks, int64_t first_row, int64_t rows,
                                            int64_t total_rows, int64_t columns, void *codes, void *scales,
                                            void *minimums, hone_error *error);

// The inverse for tests and writers: floats to blocks of F32, F16, BF16, Q8_0, Q4_0, Q4_1 by the usual
// rounding.
HONE_MUST_USE hone_status hone_block_encode(hone_block_type type, const float *values, void *blocks, size_t count,
                                            hone_error *error);

#endif
