// SPDX-License-Identifier: Apache-2.0
// The clock goes forward, memory use is seen, and the core count follows the affinity mask.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // sched_setaffinity
#endif
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

static void clock_goes_forward(void **state) {
    (void)state;
    double last = hone_clock_seconds();
    for (int i = 0; i < 1000; i++) {
        const double now = hone_clock_seconds();
        assert_true(now >= last);
        last = now;
    }
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    const double passed = hone_clock_seconds() - last;
    assert_true(passed > 0.019 && passed < 60);
}

#if defined(__linux__)
static void memory_use_is_seen(void **state) {
    (void)state;
    const uint64_t before = hone_process_bytes();
    assert_true(before > 100 * 1024);
    const size_t size = (size_t)64 << 20;
    char *bytes = NULL;
    assert_int_equal(HONE_NEW_ARRAY(&bytes, size, "a test", NULL), HONE_OK);
    for (size_t i = 0; i < size; i += 512) ((volatile char *)bytes)[i] = 1;
    assert_true(hone_process_bytes() >= before + size / 2);
    hone_free(bytes);
    assert_true(hone_process_peak_bytes() >= before + size / 2);
}

static void cores_follow_the_affinity(void **state) {
    (void)state;
    const int before = hone_core_count();
    assert_in_range(before, 1, sysconf(_SC_NPROCESSORS_CONF));
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) skip(); // more processors than this mask holds
    int first = 0;
    while (!CPU_ISSET(first, &all)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(hone_core_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(hone_core_count(), before);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_goes_forward),
#if defined(__linux__)
        cmocka_unit_test(memory_use_is_seen),
        cmocka_unit_test(cores_follow_the_affinity),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
