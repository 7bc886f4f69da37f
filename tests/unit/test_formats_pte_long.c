// SPDX-License-Identifier: Apache-2.0
// Programs of tens of thousands of operators: what they cost in time and memory, also where their bytes lie.
#include "support/scratch.h"

#include <time.h>

#include <hone/program.h>

#include "base/file.h"
#include "support/long_program.h"

static hone_device *device;

static int set_up(void **state) {
    (void)state;
    hone_error error;
    return hone_device_open(&(hone_device_description){.name = "cpu", .threads = 1}, &device, &error) != HONE_OK;
}
static int tear_down(void **state) {
    (void)state;
    hone_device_close(device);
    return 0;
}

// For a file that is made to take long. Sanitizers take some ten times as long.
#ifdef __SANITIZE_ADDRESS__
#define MOST_SECONDS 20
#else
#define MOST_SECONDS 2
#endif

typedef struct cost {
    double seconds; // of this process
    double factor;  // the most memory at a time, beyond the arena of its values, by the bytes of the file
    float out;
} cost;

static hone_status open_and_call(const uint8_t *bytes, size_t size, cost *out, hone_error *error) {
    hone_source *source;
    hone_pte *pte;
    float data[4] = {1, 2, 3, 4};
    const hone_tensor in = {.type = hone_type(HONE_DTYPE_F32, 1, (int64_t)4), .data = data};
    hone_tensor result;
    const size_t before = hone_memory_counted().bytes;
    const clock_t start = clock();
    OK(hone_memory_source(bytes, size, "x.pte", &source, &why));
    hone_status status = hone_pte_open_source(device, source, NULL, &pte, error);
    if (status != HONE_OK) {
        hone_source_close(&source);
    } else {
        status = hone_pte_run(pte, &in, 1, &result, 1, error);
        const size_t own = hone_pte_measure(pte).temporaries;
        if (status == HONE_OK) out->out = ((const float *)result.data)[1];
        out->factor = (double)(hone_memory_counted().peak_bytes - before - own) / (double)size;
        hone_pte_close(pte);
    }
    out->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(hone_memory_counted().bytes, before);
    return status;
}

static cost cost_of(long_shape shape, int calls) {
    size_t size;
    cost out = {0};
    uint8_t *const bytes = long_program(shape, calls, &size);
    if (open_and_call(bytes, size, &out, &why) != HONE_OK) fail_msg("%s", why.message);
    free(bytes);
    return out;
}

// The peak counts from the begin of the process, so those that take less come first.
static void memory_keeps_to_the_size_of_the_file(void **state) {
    (void)state;
    static const struct {
        long_shape shape;
        double most; // as small as it is now
    } cases[] = {{LONG_CHAIN, 8.2}, {LONG_NUMBERED, 5.8}, {LONG_PAIRS, 9.1}, {LONG_WIDE, 8.4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cost c = cost_of(cases[i].shape, 60000);
        if (c.factor > cases[i].most) fail_msg("program %zu takes %.2f times its size in memory", i, c.factor);
    }
}

static void long_programs_are_right(void **state) {
    (void)state;
    assert_true(cost_of(LONG_CHAIN, 5000).out == 2);
    assert_true(cost_of(LONG_NUMBERED, 5000).out == 2);
    assert_true(cost_of(LONG_PAIRS, 10).out == 2 * 144); // Fibonacci's numbers: 2, 3, 5 ..
    assert_true(cost_of(LONG_WIDE, 10).out == 2 * 6);
}

// Eight times the calls take some nine times as long; what looks at all pairs would take 64 times.
static void time_does_not_grow_with_the_square(void **state) {
    (void)state;
    static const long_shape shapes[] = {LONG_CHAIN, LONG_PAIRS, LONG_NUMBERED};
    for (size_t i = 0; i < 3; i++) {
        double best = 1e9;
        for (int attempt = 0; attempt < 3 && best > 24; attempt++) {
            const double ratio = cost_of(shapes[i], 80000).seconds / (cost_of(shapes[i], 10000).seconds + 1e-4);
            if (ratio < best) best = ratio;
        }
        if (best > 24) fail_msg("shape %zu: eight times the calls take %g times as long", i, best);
    }
}

static void what_is_shared_makes_no_endless_work(void **state) {
    (void)state;
    static const struct {
        long_shape shape;
        hone_status status;
        const char *text;
    } cases[] = {{LONG_ARGUMENTS, HONE_UNSUPPORTED, "too many arguments"},
                 {LONG_LIST, HONE_UNSUPPORTED, "too many arguments"},
                 {LONG_NAME, HONE_BAD_FORMAT, "longer than any name"}};
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        cost c = {0};
        hone_error error = {0};
        uint8_t *const bytes = long_program(cases[i].shape, 60000, &size);
        const hone_status status = open_and_call(bytes, size, &c, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].text))
            fail_msg("lie %zu: %s", i, error.message);
        if (c.seconds > MOST_SECONDS) fail_msg("lie %zu takes %g seconds", i, c.seconds);
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_to_the_size_of_the_file),
        cmocka_unit_test(long_programs_are_right),
        cmocka_unit_test(time_does_not_grow_with_the_square),
        cmocka_unit_test(what_is_shared_makes_no_endless_work),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
