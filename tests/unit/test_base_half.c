// SPDX-License-Identifier: Apache-2.0
// 16-bit floats: every value there and back, rounding at every border, and arrays with the bits of the single
// calls.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/random.h"

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The value of a half by its definition.
static double value_of_half(uint16_t half) {
    const int exponent = half >> 10 & 31;
    const int mantissa = half & 0x3FF;
    const double size = exponent == 31  ? (mantissa ? (double)NAN : (double)INFINITY)
                        : exponent == 0 ? ldexp(mantissa, -24)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return half & 0x8000 ? -size : size;
}

// A double rounded to the nearest half (ties to even) by arithmetic, as a double.
static double rounded_to_half(double value) {
    if (!isfinite(value) || value == 0) return value;
    const int exponent = ilogb(value) < -14 ? -14 : ilogb(value);
    const double unit = ldexp(1, exponent - 10);
    const double rounded = nearbyint(value / unit) * unit;
    return fabs(rounded) > 65504 ? copysign((double)INFINITY, value) : copysign(rounded, value);
}

static void each_half_has_its_value(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t half = (uint16_t)i;
        const double expected = value_of_half(half);
        const float value = hone_half_to_float(half);
        if (isnan(expected)) {
            assert_true(isnan(value));
            assert_int_equal(hone_float_to_half(value), half | 0x200); // payload and sign stay
            continue;
        }
        assert_true((double)value == expected);
        assert_int_equal(signbit(value) != 0, half >> 15);
        assert_int_equal(hone_float_to_half(value), half);
    }
}

static void check_float(float value) {
    const uint16_t half = hone_float_to_half(value);
    if (isnan(value)) {
        assert_true((half & 0x7FFF) > 0x7C00);
    } else {
        assert_true(value_of_half(half) == rounded_to_half((double)value));
    }
    assert_int_equal(half >> 15, bits_of(value) >> 31);
}

static void halves_are_rounded_to_even(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x7C00; i++) {
        // The border between this half and the next, and the floats beside it.
        const double next = i == 0x7BFF ? 65536 : value_of_half((uint16_t)(i + 1));
        const float border = (float)((value_of_half((uint16_t)i) + next) / 2); // exact
        for (int step = -2; step <= 2; step++) {
            const float value = float_of(bits_of(border) + (uint32_t)step);
            check_float(value);
            check_float(-value);
        }
    }
    assert_int_equal(hone_float_to_half(65519.996f), 0x7BFF);
    assert_int_equal(hone_float_to_half(65520.0f), 0x7C00);
    assert_int_equal(hone_float_to_half(0x1p-25f), 0);
    assert_int_equal(hone_float_to_half(-0x1p-25f), 0x8000);
    assert_int_equal(hone_float_to_half(0x1.000002p-25f), 1);
    assert_int_equal(hone_float_to_half(0x1.8p-24f), 2);
    assert_int_equal(hone_float_to_half(0x1.ffep-15f), 0x0400); // carries into the smallest normal
}

static void floats_of_all_sizes(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 4099) check_float(float_of((uint32_t)bits));
    static const uint32_t special[] = {0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000,
                                       0x7FFFFFFF, 0x7F7FFFFF, 1,          0x80000001};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) check_float(float_of(special[i]));
}

static void bf16_is_the_upper_half(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        const float value = hone_bf16_to_float((uint16_t)i);
        assert_int_equal(bits_of(value), i << 16);
        const uint16_t quiet = (i & 0x7FFF) > 0x7F80 ? 0x40 : 0;
        assert_int_equal(hone_float_to_bf16(value), i | quiet);
    }
    for (uint32_t i = 0; i < 0x7F80; i++) { // up to the border with infinity
        const uint16_t even = (uint16_t)(i + (i & 1));
        assert_int_equal(hone_float_to_bf16(float_of(i << 16 | 0x7FFF)), i);
        assert_int_equal(hone_float_to_bf16(float_of(i << 16 | 0x8000)), even);
        assert_int_equal(hone_float_to_bf16(float_of(i << 16 | 0x8001)), i + 1);
        assert_int_equal(hone_float_to_bf16(float_of(i << 16 | 0x80008000u)), even | 0x8000);
    }
    assert_int_equal(hone_float_to_bf16(float_of(0x7F800001)), 0x7FC0); // would be infinity if merely cut
    assert_int_equal(hone_float_to_bf16(float_of(0x7FFFFFFF)), 0x7FFF); // would be -0 if rounded
}

static void arrays_agree_with_single_calls(void **state) {
    (void)state;
    enum { COUNT = 0x10000 };
    static uint16_t halves[COUNT + 8], back[COUNT + 8];
    static float floats[COUNT + 8];
    for (uint32_t i = 0; i < COUNT; i++) halves[i] = (uint16_t)i;
    hone_half_to_float_array(halves, floats, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(bits_of(floats[i]), bits_of(hone_half_to_float(halves[i])));

    hone_random random = hone_random_seed(11, 0);
    for (int round = 0; round < 64; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            // All bit patterns in the first half of the rounds, later only sizes near those of halves.
            const uint32_t bits = hone_random_u32(&random);
            floats[i] = float_of(round < 32 ? bits : (bits & 0x8FFFFFFF) + 0x30000000);
        }
        hone_float_to_half_array(floats, back, COUNT);
        for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(back[i], hone_float_to_half(floats[i]));
    }
    // Lengths that are no multiple of 8, at odd places, with nothing written behind.
    for (size_t count = 0; count < 40; count++) {
        memset(back, 0x5A, sizeof back);
        memset(floats, 0x5A, sizeof floats);
        hone_half_to_float_array(halves + 0x3C00 + 1, floats + 1, count);
        hone_float_to_half_array(floats + 1, back + 1, count);
        assert_memory_equal(back + 1, halves + 0x3C00 + 1, count * 2);
        assert_int_equal(bits_of(floats[count + 1]), 0x5A5A5A5A);
        assert_int_equal(back[count + 1], 0x5A5A);
        assert_int_equal(back[0], 0x5A5A);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_half_has_its_value),
        cmocka_unit_test(halves_are_rounded_to_even),
        cmocka_unit_test(floats_of_all_sizes),
        cmocka_unit_test(bf16_is_the_upper_half),
        cmocka_unit_test(arrays_agree_with_single_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
