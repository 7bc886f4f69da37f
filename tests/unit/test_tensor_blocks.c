// SPDX-License-Identifier: Apache-2.0
// Block formats: decoding against one plain formula per value, codes against decoding bit for bit, encoding, refusals.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/random.h"
#include "tensor/blocks.h"

#define X(suffix, number, name, elements, bytes) number,
static const hone_block_type all_types[] = {HONE_BLOCK_LIST(X)};
#undef X
enum { TYPE_COUNT = sizeof all_types / sizeof *all_types };

static uint16_t u16_at(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static float half_at(const uint8_t *bytes) {
    return hone_half_to_float(u16_at(bytes));
}

// Value i of a block, written from the description of the format and from nothing else.
static float simple_value(hone_block_type type, const uint8_t *block, int i) {
    const int nibble = i % 32 < 16 ? 0 : 4;
    const uint32_t word =
        (uint32_t)block[2] | (uint32_t)block[3] << 8 | (uint32_t)block[4] << 16 | (uint32_t)block[5] << 24;
    const int low = i % 16;
    switch (type) {
    case HONE_BLOCK_Q4_0:
        return (float)((block[2 + low] >> nibble & 15) - 8) * half_at(block);
    case HONE_BLOCK_Q4_1:
        return (float)(block[4 + low] >> nibble & 15) * half_at(block) + half_at(block + 2);
    case HONE_BLOCK_Q5_0:
        return (float)((block[6 + low] >> nibble & 15) + (int)(word >> i & 1) * 16 - 16) * half_at(block);
    case HONE_BLOCK_Q5_1: {
        const int fifth = block[4 + i / 8] >> i % 8 & 1;
        return (float)((block[8 + low] >> nibble & 15) + 16 * fifth) * half_at(block) + half_at(block + 2);
    }
    case HONE_BLOCK_Q8_0:
        return (float)(block[2 + i] > 127 ? block[2 + i] - 256 : block[2 + i]) * half_at(block);
    default:
        return 0;
    }
}

// The same for the formats with blocks of 256.
static float super_value(hone_block_type type, const uint8_t *block, int i) {
    if (type == HONE_BLOCK_Q6_K) {
        const int half = i / 128;
        const int quarter = i % 128 / 32;
        const int l = i % 32;
        const int low = block[half * 64 + (quarter & 1) * 32 + l] >> (quarter < 2 ? 0 : 4) & 15;
        const int high = block[128 + half * 32 + l] >> (2 * quarter) & 3;
        const int scale = block[192 + i / 16] > 127 ? block[192 + i / 16] - 256 : block[192 + i / 16];
        return half_at(block + 208) * (float)scale * (float)(low + 16 * high - 32);
    }
    const uint8_t *const s = block + 4;
    const int group = i / 32;
    int scale = 0;
    int minimum = 0;
    if (group < 4) {
        scale = s[group] % 64;
        minimum = s[group + 4] % 64;
    } else {
        scale = s[group + 4] % 16 + s[group - 4] / 64 * 16;
        minimum = s[group + 4] / 16 + s[group] / 64 * 16;
    }
    const int codes_at = type == HONE_BLOCK_Q4_K ? 16 : 48;
    int code = block[codes_at + group / 2 * 32 + i % 32] >> (group % 2 * 4) & 15;
    if (type == HONE_BLOCK_Q5_K) code += (block[16 + i % 32] >> group & 1) * 16;
    return half_at(block) * (float)scale * (float)code - half_at(block + 2) * (float)minimum;
}

static float plain_value(hone_block_type type, const uint8_t *block, int i) {
    float value = 0;
    uint32_t bits = 0;
    switch (type) {
    case HONE_BLOCK_F32:
        memcpy(&value, block, sizeof value);
        return value;
    case HONE_BLOCK_F16:
        return half_at(block);
    case HONE_BLOCK_BF16:
        bits = (uint32_t)u16_at(block) << 16;
        memcpy(&value, &bits, sizeof value);
        return value;
    case HONE_BLOCK_Q4_K:
    case HONE_BLOCK_Q5_K:
    case HONE_BLOCK_Q6_K:
        return super_value(type, block, i);
    default:
        return simple_value(type, block, i);
    }
}

// Random bytes whose floats and halves are finite: the top exponent bit of each is cleared.
static void fill_blocks(const hone_block_layout *layout, uint8_t *blocks, size_t count, uint64_t seed) {
    hone_random random = hone_random_seed(seed, layout->type + 1);
    const size_t bytes = (size_t)layout->bytes;
    for (size_t i = 0; i < count * bytes; i++) blocks[i] = (uint8_t)hone_random_u32(&random);
    for (size_t i = 0; i < count; i++) {
        uint8_t *const block = blocks + i * bytes;
        if (layout->type == HONE_BLOCK_Q6_K) {
            block[209] &= 0xBF;
        } else {
            block[layout->type == HONE_BLOCK_F32 ? 3 : 1] &= 0xBF;
            if (layout->bytes > 4) block[3] &= 0xBF; // where the format has no second half this changes a code
        }
    }
}

static void same_bits(float a, float b, const char *name, size_t at) {
    if (memcmp(&a, &b, sizeof a) == 0) return;
    fail_msg("%s, value %zu: %a is not %a", name, at, (double)a, (double)b);
}

static void layouts_are_found_by_number(void **state) {
    (void)state;
    for (int t = 0; t < TYPE_COUNT; t++) assert_int_equal(hone_block_find(all_types[t])->type, all_types[t]);
    assert_int_equal(hone_block_find(HONE_BLOCK_Q6_K)->bytes, 210);
    assert_null(hone_block_find(16));
    assert_null(hone_block_find(UINT32_MAX));
    assert_string_equal(hone_block_name(HONE_BLOCK_Q4_K), "Q4_K");
    assert_string_equal(hone_block_name(16), "IQ2_XXS");
    assert_string_equal(hone_block_name(39), "MXFP4");
    assert_string_equal(hone_block_name(99), "type 99");
    assert_string_equal(hone_block_name(UINT32_MAX), "type 4294967295");
}

static void decoding_follows_the_description(void **state) {
    (void)state;
    enum { BLOCKS = 300 };
    for (int t = 0; t < TYPE_COUNT; t++) {
        const hone_block_layout *const layout = hone_block_find(all_types[t]);
        const size_t elements = (size_t)layout->elements;
        const size_t bytes = (size_t)layout->bytes;
        // One byte off: a mapped or copied piece of a file need not be aligned.
        uint8_t *const raw = malloc(BLOCKS * bytes + 1);
        float *const values = malloc(BLOCKS * elements * sizeof *values);
        fill_blocks(layout, raw + 1, BLOCKS, 7);
        assert_int_equal(hone_block_decode(layout->type, raw + 1, values, BLOCKS * elements, NULL), HONE_OK);
        for (size_t i = 0; i < BLOCKS * elements; i++) {
            const float wanted = plain_value(layout->type, raw + 1 + i / elements * bytes, (int)(i % elements));
            same_bits(values[i], wanted, layout->name, i);
        }
        free(values);
        free(raw);
    }
}

typedef struct coded {
    uint8_t *codes;
    uint8_t *scales;
    uint8_t *minimums;
} coded;

static float number_at(hone_dtype dtype, const uint8_t *bytes, size_t index) {
    float value = 0;
    if (dtype == HONE_DTYPE_F16) return half_at(bytes + 2 * index);
    memcpy(&value, bytes + 4 * index, sizeof value);
    return value;
}

// The value that the header of blocks.h promises, from codes alone.
static float coded_value(hone_code_layout layout, const coded *in, int64_t rows, int64_t columns, int64_t n,
                         int64_t k) {
    const size_t scale_at = (size_t)(k / layout.group * rows + n);
    int code = 0;
    if (layout.format == HONE_CODES_4) {
        code = in->codes[n * ((columns + 1) / 2) + k / 2] >> (k % 2 * 4) & 15;
        if (!layout.minimums) code -= 8;
    } else {
        int8_t signed_code;
        memcpy(&signed_code, &in->codes[n * columns + k], 1);
        code = signed_code;
    }
    const float product = (float)code * number_at(layout.scale_dtype, in->scales, scale_at);
    return layout.minimums ? product + number_at(layout.scale_dtype, in->minimums, scale_at) : product;
}

static void check_repack(const hone_block_layout *layout, int64_t rows, int64_t columns, int64_t first_piece) {
    const hone_code_layout codes = hone_block_codes(layout->type);
    const size_t count = (size_t)(rows * columns);
    const size_t row_bytes = (size_t)(columns / layout->elements * layout->bytes);
    uint8_t *const blocks = malloc((size_t)rows * row_bytes);
    float *const values = malloc(count * sizeof *values);
    coded out = {malloc(count * 4), malloc(count), malloc(count)};
    fill_blocks(layout, blocks, count / (size_t)layout->elements, (uint64_t)rows);
    assert_int_equal(hone_block_decode(layout->type, blocks, values, count, NULL), HONE_OK);
    memset(out.codes, 0xA5, count * 4);
    // In two pieces, the later one first: each knows its place.
    assert_int_equal(hone_block_repack(layout->type, blocks + (size_t)first_piece * row_bytes, first_piece,
                                       rows - first_piece, rows, columns, out.codes, out.scales, out.minimums, NULL),
                     HONE_OK);
    assert_int_equal(hone_block_repack(layout->type, blocks, 0, first_piece, rows, columns, out.codes, out.scales,
                                       codes.minimums ? out.minimums : NULL, NULL),
                     HONE_OK);
    if (codes.format == HONE_CODES_NONE) {
        assert_memory_equal(out.codes, blocks, (size_t)rows * row_bytes);
    } else {
        for (int64_t i = 0; i < rows * columns; i++) {
            const float value = coded_value(codes, &out, rows, columns, i / columns, i % columns);
            same_bits(value, values[i], layout->name, (size_t)i);
        }
    }
    free(out.minimums);
    free(out.scales);
    free(out.codes);
    free(values);
    free(blocks);
}

static void repacking_loses_nothing(void **state) {
    (void)state;
    for (int t = 0; t < TYPE_COUNT; t++) {
        const hone_block_layout *const layout = hone_block_find(all_types[t]);
        check_repack(layout, 5, 3 * layout->elements, 2);
        check_repack(layout, 1, layout->elements, 0);
        check_repack(layout, 40, 2 * layout->elements, 40);
        check_repack(layout, 3, 0, 1);
    }
}

static void repacking_checks_its_arguments(void **state) {
    (void)state;
    uint8_t bytes[512] = {0};
    hone_error error = {0};
    assert_int_equal(hone_block_repack(HONE_BLOCK_Q4_0, bytes, 0, 1, 1, 33, bytes, bytes, NULL, &error),
                     HONE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "33"));
    assert_int_equal(hone_block_repack(HONE_BLOCK_Q4_0, bytes, 1, 1, 1, 32, bytes, bytes, NULL, &error),
                     HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_block_repack(HONE_BLOCK_Q4_0, bytes, -1, 1, 1, 32, bytes, bytes, NULL, &error),
                     HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_block_repack(HONE_BLOCK_Q4_1, bytes, 0, 1, 1, 32, bytes, bytes, NULL, &error),
                     HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_block_repack(16, bytes, 0, 1, 1, 32, bytes, bytes, NULL, &error), HONE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "IQ2_XXS"));
    assert_int_equal(hone_block_decode(HONE_BLOCK_Q4_K, bytes, NULL, 255, &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_block_decode(10, bytes, NULL, 256, &error), HONE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "Q2_K"));
    assert_int_equal(hone_block_decode(HONE_BLOCK_Q4_K, bytes, NULL, 0, NULL), HONE_OK);
}

// Encoded and decoded, a value is at most half a step away (a whole one at Q4_0's upper end), and what rounding the
// scale to a half adds.
static void encoding_is_close(void **state) {
    (void)state;
    enum { COUNT = 32 * 50 };
    float values[COUNT];
    float back[COUNT];
    uint8_t blocks[COUNT * 4];
    hone_random random = hone_random_seed(3, 5);
    for (int i = 0; i < COUNT; i++) values[i] = hone_random_normal(&random);
    const struct {
        hone_block_type type;
        double step; // of the largest magnitude in a block
    } cases[] = {{HONE_BLOCK_F32, 0},          {HONE_BLOCK_F16, 1e-3},     {HONE_BLOCK_BF16, 8e-3},
                 {HONE_BLOCK_Q8_0, 0.5 / 127}, {HONE_BLOCK_Q4_0, 1.0 / 8}, {HONE_BLOCK_Q4_1, 1.03 / 15}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        assert_int_equal(hone_block_encode(cases[c].type, values, blocks, COUNT, NULL), HONE_OK);
        assert_int_equal(hone_block_decode(cases[c].type, blocks, back, COUNT, NULL), HONE_OK);
        for (int i = 0; i < COUNT; i++) {
            double largest = 0;
            for (int j = i / 32 * 32; j < i / 32 * 32 + 32; j++) largest = fmax(largest, fabs((double)values[j]));
            assert_true(fabs((double)values[i] - (double)back[i]) <= (cases[c].step + 5e-4) * largest);
        }
    }
}

static void encoding_knows_its_limits(void **state) {
    (void)state;
    float values[32] = {0};
    float back[32];
    uint8_t blocks[34];
    hone_error error = {0};
    const hone_block_type types[] = {HONE_BLOCK_Q8_0, HONE_BLOCK_Q4_0, HONE_BLOCK_Q4_1};
    for (size_t t = 0; t < 3; t++) {
        for (int i = 0; i < 32; i++) values[i] = 0;
        assert_int_equal(hone_block_encode(types[t], values, blocks, 32, NULL), HONE_OK);
        assert_int_equal(hone_block_decode(types[t], blocks, back, 32, NULL), HONE_OK);
        for (int i = 0; i < 32; i++) assert_true(back[i] == 0);
        values[5] = 1e-44f; // the reciprocal of its scale overflows
        assert_int_equal(hone_block_encode(types[t], values, blocks, 32, NULL), HONE_OK);
        assert_int_equal(hone_block_decode(types[t], blocks, back, 32, NULL), HONE_OK);
        for (int i = 0; i < 32; i++) assert_true(back[i] == 0);
        values[5] = NAN;
        assert_int_equal(hone_block_encode(types[t], values, blocks, 32, &error), HONE_NOT_FINITE);
        values[5] = INFINITY;
        assert_int_equal(hone_block_encode(types[t], values, blocks, 32, &error), HONE_NOT_FINITE);
        values[5] = 1e6f;
        assert_int_equal(hone_block_encode(types[t], values, blocks, 32, &error), HONE_BAD_DATA);
    }
    assert_int_equal(hone_block_encode(HONE_BLOCK_Q4_0, values, blocks, 31, &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_block_encode(HONE_BLOCK_Q6_K, values, blocks, 0, &error), HONE_UNSUPPORTED);
    assert_int_equal(hone_block_encode(99, values, blocks, 0, &error), HONE_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_found_by_number), cmocka_unit_test(decoding_follows_the_description),
        cmocka_unit_test(repacking_loses_nothing),     cmocka_unit_test(repacking_checks_its_arguments),
        cmocka_unit_test(encoding_is_close),           cmocka_unit_test(encoding_knows_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
