// SPDX-License-Identifier: Apache-2.0
// Arenas: zeroed, aligned, not overlapping, small and large requests mixed, every allocation failure.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/random.h"

static void objects_do_not_overlap(void **state) {
    (void)state;
    enum { OBJECTS = 3000 };
    static unsigned char *objects[OBJECTS];
    static size_t sizes[OBJECTS];
    const hone_memory_count before = hone_memory_counted();
    hone_arena arena = {0};
    for (int round = 0; round < 3; round++) { // the same arena again after clear
        hone_random random = hone_random_seed(1, (uint64_t)round);
        for (int i = 0; i < OBJECTS; i++) {
            const uint32_t limit = hone_random_below(&random, 50) == 0 ? 40000 : 200;
            sizes[i] = hone_random_below(&random, limit);
            assert_int_equal(HONE_ARENA_ARRAY(&arena, &objects[i], sizes[i], NULL), HONE_OK);
            assert_int_equal((uintptr_t)objects[i] % 16, 0);
            for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(objects[i][j], 0);
            if (sizes[i] > 0) memset(objects[i], i & 0xFF, sizes[i]);
        }
        for (int i = 0; i < OBJECTS; i++) {
            for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(objects[i][j], i & 0xFF);
        }
        hone_arena_clear(&arena);
        assert_int_equal(hone_memory_counted().bytes, before.bytes);
    }
    hone_arena_clear(&arena); // an empty one
}

static void empty_objects_differ(void **state) {
    (void)state;
    hone_arena arena = {0};
    void *a = NULL, *b = NULL;
    assert_int_equal(hone_arena_allocate(&arena, 0, 8, &a, NULL), HONE_OK);
    assert_int_equal(hone_arena_allocate(&arena, 8, 0, &b, NULL), HONE_OK);
    assert_non_null(a);
    assert_ptr_not_equal(a, b);
    hone_arena_clear(&arena);
}

static void large_objects_waste_no_block(void **state) {
    (void)state;
    hone_arena arena = {0};
    char *small = NULL, *large = NULL, *next = NULL;
    assert_int_equal(HONE_ARENA_ARRAY(&arena, &small, 16, NULL), HONE_OK);
    assert_int_equal(HONE_ARENA_ARRAY(&arena, &large, 1 << 20, NULL), HONE_OK);
    assert_int_equal(HONE_ARENA_ARRAY(&arena, &next, 16, NULL), HONE_OK);
    assert_ptr_equal(next, small + 16); // still from the first block
    memset(large, 1, 1 << 20);
    hone_arena_clear(&arena);
    // A large one first, in an arena of tiny blocks.
    arena = (hone_arena){.block_bytes = 64};
    assert_int_equal(HONE_ARENA_ARRAY(&arena, &large, 100000, NULL), HONE_OK);
    assert_int_equal(HONE_ARENA_ARRAY(&arena, &small, 1, NULL), HONE_OK);
    memset(large, 1, 100000);
    hone_arena_clear(&arena);
}

static void strings_end(void **state) {
    (void)state;
    hone_arena arena = {0};
    const char *text = NULL;
    assert_int_equal(hone_arena_string(&arena, "abcdef", 4, &text, NULL), HONE_OK);
    assert_string_equal(text, "abcd");
    assert_int_equal(hone_arena_string(&arena, NULL, 0, &text, NULL), HONE_OK);
    assert_string_equal(text, "");
    hone_arena_clear(&arena);
}

static void impossible_sizes_fail(void **state) {
    (void)state;
    hone_arena arena = {0};
    hone_error error = {0};
    void *pointer = &arena;
    assert_int_equal(hone_arena_allocate(&arena, SIZE_MAX / 2, 3, &pointer, &error), HONE_OUT_OF_MEMORY);
    assert_null(pointer);
    assert_int_equal(hone_arena_allocate(&arena, SIZE_MAX, 1, &pointer, &error), HONE_OUT_OF_MEMORY);
    assert_int_equal(hone_arena_allocate(&arena, SIZE_MAX - 31, 1, &pointer, &error), HONE_OUT_OF_MEMORY);
    const char *text = "";
    assert_int_equal(hone_arena_string(&arena, "", SIZE_MAX, &text, &error), HONE_OUT_OF_MEMORY);
    hone_arena_clear(&arena);
}

static void stays_usable_after_a_failure(void **state) {
    (void)state;
    const hone_memory_count before = hone_memory_counted();
    hone_arena arena = {0};
    int failed = 0;
    for (int i = 0; i < 1000; i++) {
        void *pointer = NULL;
        hone_memory_fail_after(0, false);
        failed += hone_arena_allocate(&arena, 1, 500, &pointer, NULL) != HONE_OK;
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(hone_arena_allocate(&arena, 1, 500, &pointer, NULL), HONE_OK);
        memset(pointer, 1, 500);
    }
    assert_in_range(failed, 1, 100);
    hone_arena_clear(&arena);
    assert_int_equal(hone_memory_counted().bytes, before.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_do_not_overlap),       cmocka_unit_test(empty_objects_differ),
        cmocka_unit_test(large_objects_waste_no_block), cmocka_unit_test(strings_end),
        cmocka_unit_test(impossible_sizes_fail),        cmocka_unit_test(stays_usable_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
