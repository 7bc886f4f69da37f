// SPDX-License-Identifier: Apache-2.0
// Blocks to hone's codes. Nothing is lost: (code - zero) * scale + minimum, in that order, gives the
// decoder's bits.
//
//   format      codes        group  scale            minimum             zero
//   Q4_0        4 bits, 0-15    32  d (f16)          -                      8
//   Q4_1        4 bits, 0-15    32  d (f16)          m (f16)                0
//   Q4_K        4 bits, 0-15    32  d * sc (f32)     -(dmin * mn) (f32)     0
//   Q5_0        8 bits, q - 16  32  d (f16)          -                      0
//   Q5_1        8 bits, 0-31    32  d (f16)          m (f16)                0
//   Q5_K        8 bits, 0-31    32  d * sc (f32)     -(dmin * mn) (f32)     0
//   Q6_K        8 bits, q - 32  16  d * sc (f32)     -                      0
//   Q8_0        8 bits          32  d (f16)          -                      0
//   F32 F16 BF16: rows copied as they are
//
// x - y and x + (-y) are the same float operation, so a stored minimum of -(dmin * mn) changes no bit.
#include "tensor/blocks_inside.h"

#include <string.h>

typedef struct repack_target {
    uint8_t *codes;
    uint8_t *scales;
    uint8_t *minimums;
    int64_t total_rows;
    int64_t columns;
    hone_code_layout layout;
} repack_target;

// The eight-bit code formats keep what take_apart gives; the 4-bit ones want codes without a sign again.
static void put_codes(const repack_target *target, const int8_t *codes, int count, int zero, int64_t row,
                      int64_t column) {
    if (target->layout.format == HONE_CODES_8) {
        memcpy(target->codes + row * target->columns + column, codes, (size_t)count);
        return;
    }
    uint8_t *const out = target->codes + row * ((target->columns + 1) / 2) + column / 2;
    for (int i = 0; i < count / 2; i++) {
        out[i] = (uint8_t)((codes[2 * i] + zero) | (codes[2 * i + 1] + zero) << 4);
    }
}

static void put_scales(const repack_target *target, const hone_block_parts *parts, int groups, int64_t row,
                       int64_t column) {
    const size_t bytes = hone_dtype_bytes(target->layout.scale_dtype);
    const bool halves = target->layout.scale_dtype == HONE_DTYPE_F16;
    for (int j = 0; j < groups; j++) {
        const size_t at = (size_t)((column / target->layout.group + j) * target->total_rows + row) * bytes;
        memcpy(target->scales + at, halves ? (const void *)&parts->half_scale : &parts->scales[j], bytes);
        if (!target->layout.minimums) continue;
        memcpy(target->minimums + at, halves ? (const void *)&parts->half_minimum : &parts->minimums[j], bytes);
    }
}

static hone_status check(const hone_block_layout *layout, int64_t first_row, int64_t rows, int64_t total_rows,
                         int64_t columns, hone_error *error) {
    HONE_FAIL_IF(first_row < 0 || rows < 0 || total_rows < 0 || first_row > total_rows ||
                     rows > total_rows - first_row || columns < 0,
                 error, INVALID_ARGUMENT, "rows %lld to %lld of a tensor of %lld rows and %lld columns",
                 (long long)first_row, (long long)first_row + (long long)rows, (long long)total_rows,
                 (long long)columns);
    HONE_FAIL_IF(columns % layout->elements != 0, error, INVALID_ARGUMENT,
                 "a row of %lld values is no whole number of %s blocks of %d", (long long)columns, layout->name,
                 layout->elements);
    return HONE_OK;
}

hone_status hone_block_repack(hone_block_type type, const void *blocks, int64_t first_row, int64_t rows,
                              int64_t total_rows, int64_t columns, void *codes, void *scales, void *minimums,
                              hone_error *error) {
    const hone_block_layout *const layout = hone_block_find(type);
    HONE_FAIL_IF(!layout, error, UNSUPPORTED, "values of type %s cannot be read", hone_block_name(type));
    HONE_TRY(check(layout, first_row, rows, total_rows, columns, error));
    const repack_target target = {
        .codes = codes,
        .scales = scales,
        .minimums = minimums,
        .total_rows = total_rows,
        .columns = columns,
        .layout = hone_block_codes(type),
    };
    const uint8_t *block = blocks;
    if (target.layout.format == HONE_CODES_NONE) {
        const size_t row_bytes = (size_t)columns * (size_t)layout->bytes;
        if (rows > 0 && columns > 0) {
            memcpy(target.codes + (size_t)first_row * row_bytes, block, (size_t)rows * row_bytes);
        }
        return HONE_OK;
    }
    HONE_FAIL_IF(target.layout.minimums && !minimums, error, INVALID_ARGUMENT,
                 "%s has minimums, and no place for them was given", layout->name);
    const int groups = layout->elements / target.layout.group;
    const int zero = type == HONE_BLOCK_Q4_0 ? 8 : 0;
    hone_block_parts parts;
    for (int64_t row = first_row; row < first_row + rows; row++) {
        for (int64_t column = 0; column < columns; column += layout->elements) {
            hone_block_take_apart(type, block, &parts);
            put_codes(&target, parts.codes, layout->elements, zero, row, column);
            put_scales(&target, &parts, groups, row, column);
            block += layout->bytes;
        }
    }
    return HONE_OK;
}
