// SPDX-License-Identifier: Apache-2.0
// The thread pool: each task once, one runner per thread number, short and long gaps, several callers,
// failures.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/pool.h"

enum { MOST = 10000, THREADS = 64 };

typedef struct counts {
    int runs[MOST]; // not atomic: a task that ran twice at a time is a race that TSan sees
    atomic_bool busy[THREADS];
    atomic_int wrong;
    int threads;
    int64_t slow; // this index sleeps
} counts;

static counts shared;

static void sleep_seconds(double seconds) {
    const struct timespec pause = {.tv_nsec = (long)(seconds * 1e9)};
    nanosleep(&pause, NULL);
}

static void count_task(void *context, int64_t index, int thread) {
    counts *const c = context;
    if (thread < 0 || thread >= c->threads || atomic_exchange(&c->busy[thread], true)) {
        atomic_fetch_add(&c->wrong, 1);
        return;
    }
    c->runs[index]++;
    if (index == c->slow) sleep_seconds(1e-3);
    atomic_store(&c->busy[thread], false);
}

static void check_run(hone_pool *pool, int threads, int64_t count, int64_t slow) {
    memset(shared.runs, 0, sizeof shared.runs);
    shared.threads = threads;
    shared.slow = slow;
    hone_pool_run(pool, count, count_task, &shared);
    assert_int_equal(atomic_load(&shared.wrong), 0);
    for (int64_t i = 0; i < MOST; i++) assert_int_equal(shared.runs[i], i < count);
}

static void each_task_runs_once(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, MOST};
    for (int threads = 1; threads <= 9; threads += threads < 4 ? 1 : 5) {
        hone_pool *pool = NULL;
        assert_int_equal(hone_pool_create(threads, &pool, NULL), HONE_OK);
        assert_int_equal(hone_pool_threads(pool), threads);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_run(pool, threads, sizes[i], -1);
        check_run(pool, threads, 5, 0);
        check_run(pool, threads, 5, 4); // the last one to be taken: the caller waits for it
        hone_pool_destroy(pool);
    }
}

static void no_pool_runs_here(void **state) {
    (void)state;
    check_run(NULL, 1, 100, -1);
    assert_int_equal(hone_pool_threads(NULL), 1);
    hone_pool_destroy(NULL);
}

static void default_is_one_thread_a_core(void **state) {
    (void)state;
    hone_pool *pool = NULL;
    assert_int_equal(hone_pool_create(0, &pool, NULL), HONE_OK);
    assert_int_equal(hone_pool_threads(pool), hone_core_count());
    hone_pool_destroy(pool);
}

static void add_task(void *context, int64_t index, int thread) {
    (void)thread;
    atomic_fetch_add_explicit((_Atomic int64_t *)context, index, memory_order_relaxed);
}

static void many_short_jobs(void **state) {
    (void)state;
    hone_pool *pool = NULL;
    assert_int_equal(hone_pool_create(4, &pool, NULL), HONE_OK);
    _Atomic int64_t sum = 0;
    int64_t expected = 0;
    for (int64_t round = 0; round < 20000; round++) {
        const int64_t count = round % 9;
        hone_pool_run(pool, count, add_task, &sum);
        expected += count * (count - 1) / 2;
        assert_int_equal(atomic_load(&sum), expected);
    }
    hone_pool_destroy(pool);
}

typedef struct meeting {
    atomic_int present;
    atomic_bool late;
} meeting;

static void meet_task(void *context, int64_t index, int thread) {
    (void)index, (void)thread;
    meeting *const m = context;
    atomic_fetch_add(&m->present, 1);
    const double end = hone_clock_seconds() + 20;
    while (atomic_load(&m->present) < 4 && !atomic_load(&m->late)) {
        if (hone_clock_seconds() > end) atomic_store(&m->late, true);
        sleep_seconds(1e-4);
    }
}

static void sleeping_workers_wake(void **state) {
    (void)state;
    hone_pool *pool = NULL;
    assert_int_equal(hone_pool_create(4, &pool, NULL), HONE_OK);
    for (int round = 0; round < 100; round++) {
        // Gaps on both sides of the time that workers spin; each task needs all four to be running.
        sleep_seconds(round % 4 * 20e-6 + (round % 10 == 0 ? 3e-3 : 0));
        meeting m = {0};
        hone_pool_run(pool, 4, meet_task, &m);
        assert_false(atomic_load(&m.late));
        assert_int_equal(atomic_load(&m.present), 4);
    }
    hone_pool_destroy(pool);
}

typedef struct caller {
    pthread_t thread;
    hone_pool *pool;
    int64_t sum;
} caller;

static void *call_often(void *argument) {
    caller *const self = argument;
    _Atomic int64_t sum = 0;
    for (int round = 0; round < 1000; round++) hone_pool_run(self->pool, 5, add_task, &sum);
    self->sum = atomic_load(&sum);
    return NULL;
}

static void callers_take_turns(void **state) {
    (void)state;
    hone_pool *pool = NULL;
    assert_int_equal(hone_pool_create(3, &pool, NULL), HONE_OK);
    caller callers[4] = {0};
    for (int i = 0; i < 4; i++) {
        callers[i].pool = pool;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].sum, 10000);
    }
    hone_pool_destroy(pool);
}

static void created_and_destroyed_at_once(void **state) {
    (void)state;
    const size_t before = hone_memory_counted().bytes;
    for (int i = 0; i < 300; i++) {
        hone_pool *pool = NULL;
        assert_int_equal(hone_pool_create(1 + i % 5, &pool, NULL), HONE_OK);
        _Atomic int64_t sum = 0;
        if (i % 2) hone_pool_run(pool, 4, add_task, &sum);
        hone_pool_destroy(pool);
    }
    assert_int_equal(hone_memory_counted().bytes, before);
}

static void creation_may_fail(void **state) {
    (void)state;
    hone_error error = {0};
    hone_pool *pool = NULL;
    assert_int_equal(hone_pool_create(-1, &pool, &error), HONE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "-1 threads asked for; give 1 to 1024, or 0 for one per core");
    assert_int_equal(hone_pool_create(1025, &pool, NULL), HONE_INVALID_ARGUMENT);
    const size_t before = hone_memory_counted().bytes;
    for (uint64_t n = 0; n < 2; n++) {
        hone_memory_fail_after(n, false);
        assert_int_equal(hone_pool_create(2, &pool, NULL), HONE_OUT_OF_MEMORY);
        assert_null(pool);
        assert_int_equal(hone_memory_counted().bytes, before);
    }
    hone_memory_fail_after(UINT64_MAX, false);
}

static void mask_task(void *context, int64_t index, int thread) {
    (void)index;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (thread != 0 && !sigismember(&mask, SIGINT)) atomic_fetch_add((atomic_int *)context, 1);
    sleep_seconds(1e-4);
}

static void workers_take_no_signals(void **state) {
    (void)state;
    hone_pool *pool = NULL;
    assert_int_equal(hone_pool_create(4, &pool, NULL), HONE_OK);
    atomic_int open = 0;
    hone_pool_run(pool, 50, mask_task, &open);
    assert_int_equal(atomic_load(&open), 0);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGINT)); // the caller's mask is as it was
    hone_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_runs_once),     cmocka_unit_test(no_pool_runs_here),
        cmocka_unit_test(many_short_jobs),         cmocka_unit_test(default_is_one_thread_a_core),
        cmocka_unit_test(sleeping_workers_wake),   cmocka_unit_test(callers_take_turns),
        cmocka_unit_test(creation_may_fail),       cmocka_unit_test(created_and_destroyed_at_once),
        cmocka_unit_test(workers_take_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
