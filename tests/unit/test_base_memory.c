// SPDX-License-Identifier: Apache-2.0
// The memory gate: sizes, alignment, counts, the failure hook, and all of it from several threads.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"

static void sizes_are_checked(void **state) {
    (void)state;
    size_t result = 7;
    assert_false(hone_mul_size(SIZE_MAX, 2, &result));
    assert_false(hone_mul_size(SIZE_MAX / 2 + 1, 2, &result));
    assert_false(hone_add_size(SIZE_MAX, 1, &result));
    assert_int_equal(result, 7);
    assert_true(hone_mul_size(SIZE_MAX / 2, 2, &result));
    assert_true(result == SIZE_MAX - 1);
    assert_true(hone_mul_size(SIZE_MAX, 0, &result) && result == 0);
    assert_true(hone_mul_size(0, SIZE_MAX, &result) && result == 0);
    assert_true(hone_add_size(SIZE_MAX - 1, 1, &result) && result == SIZE_MAX);
}

static void blocks_are_aligned_zeroed_and_counted(void **state) {
    (void)state;
    const hone_memory_count before = hone_memory_counted();
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 13, 5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int raw = 0; raw < 2; raw++) {
            void *pointer = NULL;
            const hone_status status = raw ? hone_allocate_raw(sizes[i], 1, "a test", &pointer, NULL)
                                           : hone_allocate(sizes[i], 1, "a test", &pointer, NULL);
            assert_int_equal(status, HONE_OK);
            assert_non_null(pointer);
            assert_int_equal((uintptr_t)pointer % 64, 0);
            if (!raw) {
                for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(((char *)pointer)[j], 0);
            }
            if (sizes[i] > 0) memset(pointer, 0xA5, sizes[i]);
            const hone_memory_count held = hone_memory_counted();
            assert_int_equal(held.bytes - before.bytes, sizes[i]);
            assert_int_equal(held.blocks - before.blocks, 1);
            assert_true(held.peak_bytes >= held.bytes);
            hone_free(pointer);
        }
    }
    hone_free(NULL);
    const hone_memory_count after = hone_memory_counted();
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(after.requests - before.requests, 2 * sizeof sizes / sizeof sizes[0]);
    assert_true(after.peak_bytes >= 5 << 20);
}

static void impossible_sizes_say_what_for(void **state) {
    (void)state;
    hone_error error = {0};
    void *pointer = &error;
    assert_int_equal(hone_allocate(SIZE_MAX / 2, 3, "the tensor table", &pointer, &error), HONE_OUT_OF_MEMORY);
    assert_null(pointer);
    assert_non_null(strstr(error.message, "the tensor table"));
    assert_int_equal(hone_allocate(SIZE_MAX, 1, "x", &pointer, &error), HONE_OUT_OF_MEMORY);
    assert_int_equal(hone_allocate_raw(SIZE_MAX - 10, 1, "x", &pointer, &error), HONE_OUT_OF_MEMORY);
    assert_null(pointer);
}

static hone_status request(void) {
    void *pointer = NULL;
    HONE_TRY(hone_allocate(1, 8, "a request", &pointer, NULL));
    hone_free(pointer);
    return HONE_OK;
}

static void hook_fails_one_or_all_later(void **state) {
    (void)state;
    hone_memory_fail_after(2, false);
    assert_int_equal(request(), HONE_OK);
    assert_int_equal(request(), HONE_OK);
    assert_int_equal(request(), HONE_OUT_OF_MEMORY);
    assert_int_equal(request(), HONE_OK);
    hone_memory_fail_after(1, true);
    assert_int_equal(request(), HONE_OK);
    for (int i = 0; i < 5; i++) assert_int_equal(request(), HONE_OUT_OF_MEMORY);
    hone_memory_fail_after(0, false);
    assert_int_equal(request(), HONE_OUT_OF_MEMORY);
    assert_int_equal(request(), HONE_OK);
    hone_memory_fail_after(0, true);
    assert_int_equal(request(), HONE_OUT_OF_MEMORY);
    hone_memory_fail_after(UINT64_MAX, true);
    assert_int_equal(request(), HONE_OK);
}

static void grow_keeps_the_contents(void **state) {
    (void)state;
    const hone_memory_count before = hone_memory_counted();
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(HONE_GROW(&items, &capacity, (size_t)i + 1, "numbers", NULL), HONE_OK);
        assert_true(capacity > i);
        items[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(items[i], i);
    assert_true(hone_memory_counted().requests - before.requests < 20); // it doubles

    // A failure leaves all as it was.
    uint32_t *const same = items;
    const size_t same_capacity = capacity;
    hone_memory_fail_after(0, false);
    assert_int_equal(HONE_GROW(&items, &capacity, capacity + 1, "numbers", NULL), HONE_OUT_OF_MEMORY);
    assert_int_equal(HONE_GROW(&items, &capacity, SIZE_MAX, "numbers", NULL), HONE_OUT_OF_MEMORY);
    assert_int_equal(HONE_GROW(&items, &capacity, SIZE_MAX / 4 + 2, "numbers", NULL), HONE_OUT_OF_MEMORY);
    assert_ptr_equal(items, same);
    assert_int_equal(capacity, same_capacity);
    assert_int_equal(items[9999], 9999);
    hone_free(items);
    assert_int_equal(hone_memory_counted().bytes, before.bytes);
}

static void strings_are_copied(void **state) {
    (void)state;
    char *copy = NULL;
    assert_int_equal(hone_copy_string("abcdef", 3, &copy, NULL), HONE_OK);
    assert_string_equal(copy, "abc");
    hone_free(copy);
    assert_int_equal(hone_copy_string(NULL, 0, &copy, NULL), HONE_OK);
    assert_string_equal(copy, "");
    hone_free(copy);
    assert_int_equal(hone_copy_string("a", SIZE_MAX, &copy, NULL), HONE_OUT_OF_MEMORY);
}

enum { THREADS = 4, ROUNDS = 2000 };
static atomic_int failures;

static void *allocate_often(void *argument) {
    (void)argument;
    for (size_t i = 0; i < ROUNDS; i++) {
        void *pointer = NULL;
        if (hone_allocate(i % 100, 3, "a thread", &pointer, NULL) != HONE_OK) atomic_fetch_add(&failures, 1);
        hone_free(pointer);
    }
    return NULL;
}

static void counts_are_exact_over_threads(void **state) {
    (void)state;
    for (int hooked = 0; hooked < 2; hooked++) {
        atomic_store(&failures, 0);
        const hone_memory_count before = hone_memory_counted();
        hone_memory_fail_after(hooked ? THREADS * ROUNDS - 100 : UINT64_MAX, true);
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, NULL), 0);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        const hone_memory_count after = hone_memory_counted();
        assert_int_equal(after.bytes, before.bytes);
        assert_int_equal(after.blocks, before.blocks);
        assert_int_equal(after.requests - before.requests, THREADS * ROUNDS);
        assert_int_equal(atomic_load(&failures), hooked ? 100 : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(blocks_are_aligned_zeroed_and_counted),
        cmocka_unit_test(impossible_sizes_say_what_for),
        cmocka_unit_test(hook_fails_one_or_all_later),
        cmocka_unit_test(grow_keeps_the_contents),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(counts_are_exact_over_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
