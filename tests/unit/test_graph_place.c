// SPDX-License-Identifier: Apache-2.0
// The memory planner on made-up lives: the same places as by looking at everything, in time that does not explode.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/plan.h"

typedef struct lives {
    hone_plan plan;
} lives;

static uint32_t random_state;

static uint32_t below(uint32_t n) {
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)(random_state >> 4) * n) >> 28);
}

typedef enum lives_kind { SHORT, LONG, NESTED, MIXED, KINDS } lives_kind;

static lives make(uint32_t count, lives_kind kind, uint32_t sizes) {
    lives l = {.plan = {.value_count = count + 1, .step_count = count}};
    l.plan.values = calloc(count + 1, sizeof *l.plan.values);
    for (uint32_t v = 1; v <= count; v++) {
        hone_plan_value *const value = &l.plan.values[v];
        const uint32_t left = count - v;
        value->root = v;
        value->bytes = below(sizes) * 100;
        value->first = v - 1;
        const uint32_t lasts[KINDS] = {v - 1 + below(4), v - 1 + below(left + 1), count - v, v - 1 + below(4)};
        value->last = lasts[kind] < value->first ? value->first : lasts[kind];
        if (kind == MIXED && below(4) == 0) value->last = value->first + below(left + 1);
        if (below(50) == 0) value->last = count;                    // kept
        if (below(20) == 0) value->storage = HONE_STORAGE_CONSTANT; // no matter of the planner
    }
    return l;
}

static size_t rounded(size_t bytes) {
    const size_t least = bytes ? bytes : 4;
    return (least + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

static const hone_plan_value *sorted_values;
static int by_size(const void *a, const void *b) {
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const hone_plan_value *const x = &sorted_values[i], *const y = &sorted_values[j];
    if (rounded(x->bytes) != rounded(y->bytes)) return rounded(x->bytes) < rounded(y->bytes) ? 1 : -1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return i < j ? -1 : 1;
}

// Whether `value` at `offset` meets one of the `count` placed before it; *next is then the end of that one.
static bool meets(const hone_plan_value *values, const uint32_t *placed, uint32_t count, uint32_t value, size_t offset,
                  size_t *next) {
    const hone_plan_value *const own = &values[value];
    for (uint32_t i = 0; i < count; i++) {
        const hone_plan_value *const other = &values[placed[i]];
        if (other->last < own->first || other->first > own->last) continue;
        if (offset >= other->offset + rounded(other->bytes) || other->offset >= offset + rounded(own->bytes)) continue;
        *next = other->offset + rounded(other->bytes);
        return true;
    }
    return false;
}

// By the definition: the lowest offset that is free for the whole life, the largest first.
static size_t place_slowly(hone_plan_value *values, uint32_t count, size_t piece) {
    uint32_t *const order = calloc(count, sizeof *order);
    uint32_t n = 0;
    size_t most = 0;
    for (uint32_t v = 1; v <= count; v++)
        if (values[v].storage == HONE_STORAGE_TEMPORARY) order[n++] = v;
    sorted_values = values;
    qsort(order, n, sizeof *order, by_size);
    for (uint32_t i = 0; i < n; i++) {
        const size_t bytes = rounded(values[order[i]].bytes);
        size_t at = 0, next = 0;
        for (;;) {
            if (meets(values, order, i, order[i], at, &next)) {
                at = next;
            } else if (piece && at % piece + bytes > piece) {
                at = (at / piece + 1) * piece;
            } else {
                break;
            }
        }
        values[order[i]].offset = at;
        if (at + bytes > most) most = at + bytes;
    }
    free(order);
    return most;
}

static void places_are_those_of_the_definition(void **state) {
    (void)state;
    hone_error error;
    random_state = 7;
    for (int round = 0; round < 160; round++) {
        const uint32_t count = 1 + below(round % 8 == 0 ? 900 : 120);
        const size_t piece = round % 3 == 2 ? (size_t)4096 << below(4) : 0;
        lives l = make(count, (lives_kind)(round % KINDS), round % 5 == 0 ? 3 : 40);
        hone_plan_value *const wanted = malloc((count + 1) * sizeof *wanted);
        memcpy(wanted, l.plan.values, (count + 1) * sizeof *wanted);
        const size_t most = place_slowly(wanted, count, piece);
        assert_int_equal(hone_plan_place(&l.plan, piece, &error), HONE_OK);
        assert_int_equal(l.plan.bytes.temporaries, most);
        assert_true(l.plan.bytes.lower_bound <= most);
        for (uint32_t v = 1; v <= count; v++) assert_int_equal(l.plan.values[v].offset, wanted[v].offset);
        free(wanted);
        free(l.plan.values);
    }
}

// Seconds of this process, so that others on the machine do not count.
static double seconds_for(uint32_t count, lives_kind kind) {
    hone_error error;
    random_state = 1;
    lives l = make(count, kind, 40);
    const clock_t start = clock();
    assert_int_equal(hone_plan_place(&l.plan, 0, &error), HONE_OK);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    free(l.plan.values);
    return seconds;
}

// Eight times the values may take some ten times as long; looking at all pairs takes 64 times.
static void short_lives_take_no_square_time(void **state) {
    (void)state;
    double best = 1e9;
    for (int attempt = 0; attempt < 3 && best > 24; attempt++) {
        const double ratio = seconds_for(160000, SHORT) / (seconds_for(20000, SHORT) + 1e-4);
        if (ratio < best) best = ratio;
    }
    if (best > 24) fail_msg("eight times the values take %g times as long", best);
}

static int by_offset(const void *a, const void *b) {
    const hone_plan_value *const *const x = a, *const *const y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

// So many that live together that the last ones go on top: they still share no byte, and little is lost.
static void very_many_long_lives_find_places(void **state) {
    (void)state;
    enum { COUNT = 60000, STEPS = 16 };
    hone_error error;
    random_state = 3;
    lives l = make(COUNT, LONG, 40);
    const clock_t start = clock();
    assert_int_equal(hone_plan_place(&l.plan, 0, &error), HONE_OK);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 60) fail_msg("%g seconds", seconds); // some 0.8; with sanitizers ten times that
    assert_true(l.plan.bytes.temporaries <= 2 * l.plan.bytes.lower_bound);
    const hone_plan_value **const alive = calloc(COUNT, sizeof(*alive));
    for (int i = 0; i < STEPS; i++) { // those alive at a step lie one behind another
        const uint32_t step = below(COUNT);
        size_t n = 0;
        for (uint32_t v = 1; v <= COUNT; v++) {
            const hone_plan_value *const value = &l.plan.values[v];
            if (value->storage == HONE_STORAGE_TEMPORARY && value->first <= step && step <= value->last)
                alive[n++] = value;
        }
        qsort(alive, n, sizeof(*alive), by_offset);
        for (size_t j = 1; j < n; j++)
            assert_true(alive[j - 1]->offset + rounded(alive[j - 1]->bytes) <= alive[j]->offset);
        assert_true(n == 0 || alive[n - 1]->offset + rounded(alive[n - 1]->bytes) <= l.plan.bytes.temporaries);
    }
    free(alive);
    free(l.plan.values);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hone_error error = {0};
    random_state = 5;
    lives l = make(300, MIXED, 40);
    const size_t held = hone_memory_counted().bytes;
    hone_status status;
    int failures = -1;
    do {
        hone_memory_fail_after((uint64_t)++failures, true);
        status = hone_plan_place(&l.plan, 0, &error);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(hone_memory_counted().bytes, held);
    } while (status == HONE_OUT_OF_MEMORY);
    assert_int_equal(status, HONE_OK);
    assert_true(failures >= 5);
    free(l.plan.values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_the_definition),
        cmocka_unit_test(short_lives_take_no_square_time),
        cmocka_unit_test(very_many_long_lives_find_places),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
