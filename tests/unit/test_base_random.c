// SPDX-License-Identifier: Apache-2.0
// Random numbers: the published sequence, ranges, moments, saved state, and a hash that stays as it is.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/random.h"

static void sequence_is_the_published_one(void **state) {
    (void)state;
    // From the demo program of the PCG paper's reference code: seed 42, stream 54.
    static const uint32_t expected[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e};
    hone_random random = hone_random_seed(42, 54);
    for (int i = 0; i < 6; i++) assert_int_equal(hone_random_u32(&random), expected[i]);
}

static void saved_state_goes_on(void **state) {
    (void)state;
    hone_random random = hone_random_seed(1, 2);
    for (int i = 0; i < 100; i++) (void)hone_random_normal(&random);
    hone_random saved = random;
    for (int i = 0; i < 100; i++) {
        assert_true(hone_random_normal(&random) == hone_random_normal(&saved));
        assert_int_equal(hone_random_below(&random, 1000003), hone_random_below(&saved, 1000003));
    }
    hone_random other = hone_random_seed(1, 3);
    assert_int_not_equal(hone_random_u32(&random), hone_random_u32(&other));
}

static void below_is_uniform(void **state) {
    (void)state;
    hone_random random = hone_random_seed(7, 0);
    int counts[7] = {0};
    for (int i = 0; i < 70000; i++) counts[hone_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(counts[i], 9500, 10500);
    // With 3 * 2^30 a plain remainder would give the lowest third twice as often.
    int low = 0;
    for (int i = 0; i < 30000; i++) low += hone_random_below(&random, 3u << 30) < 1u << 30;
    assert_in_range(low, 9500, 10500);
    for (int i = 0; i < 100; i++) assert_int_equal(hone_random_below(&random, 1), 0);
    for (int i = 0; i < 100; i++) assert_true(hone_random_below(&random, UINT32_MAX) < UINT32_MAX);
}

static void floats_stay_below_one(void **state) {
    (void)state;
    hone_random random = hone_random_seed(3, 0);
    double sum = 0, least = 1, most = 0;
    for (int i = 0; i < 1000000; i++) {
        const double value = (double)hone_random_float(&random);
        sum += value;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    assert_true(least >= 0 && least < 1e-4);
    assert_true(most < 1 && most > 1 - 1e-4);
    assert_true(fabs(sum / 1e6 - 0.5) < 2e-3);
}

static void normals_have_their_moments(void **state) {
    (void)state;
    hone_random random = hone_random_seed(5, 9);
    double moments[5] = {0};
    enum { COUNT = 1000000 };
    int beyond = 0;
    for (int i = 0; i < COUNT; i++) {
        const double value = (double)hone_random_normal(&random);
        assert_true(isfinite(value));
        double power = 1;
        for (int k = 0; k < 5; k++, power *= value) moments[k] += power / COUNT;
        beyond += fabs(value) > 1.959964;
    }
    assert_true(fabs(moments[1]) < 5e-3);
    assert_true(fabs(moments[2] - 1) < 1e-2);
    assert_true(fabs(moments[3]) < 2e-2);
    assert_true(fabs(moments[4] - 3) < 6e-2);
    assert_true(fabs(beyond / (double)COUNT - 0.05) < 1e-3);
}

static void hash_never_changes(void **state) {
    (void)state;
    // Shaders and saved runs rely on these values.
    assert_int_equal(hone_random_hash(0, 0, 0, 0), 0x0eaa7511);
    assert_int_equal(hone_random_hash(UINT64_C(0x0123456789abcdef), 1, 2, 3), 0xed6f3f4d);
    assert_int_equal(hone_random_hash(UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX), 0x5b9efbc7);
}

static void hash_mixes_each_input_bit(void **state) {
    (void)state;
    // Flipping any one input bit flips each output bit about half of the time.
    for (int bit = 0; bit < 64 + 96; bit++) {
        int flips[32] = {0};
        enum { TRIALS = 2000 };
        for (uint32_t trial = 0; trial < TRIALS; trial++) {
            uint64_t seed = trial * UINT64_C(0x100000001);
            uint32_t words[3] = {trial, trial / 7, trial % 13};
            const uint32_t plain = hone_random_hash(seed, words[0], words[1], words[2]);
            if (bit < 64) {
                seed ^= UINT64_C(1) << bit;
            } else {
                words[(bit - 64) / 32] ^= 1u << bit % 32;
            }
            const uint32_t changed = plain ^ hone_random_hash(seed, words[0], words[1], words[2]);
            for (int k = 0; k < 32; k++) flips[k] += changed >> k & 1;
        }
        for (int k = 0; k < 32; k++) assert_in_range(flips[k], TRIALS * 42 / 100, TRIALS * 58 / 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_is_the_published_one),
        cmocka_unit_test(saved_state_goes_on),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(floats_stay_below_one),
        cmocka_unit_test(normals_have_their_moments),
        cmocka_unit_test(hash_never_changes),
        cmocka_unit_test(hash_mixes_each_input_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
