// SPDX-License-Identifier: Apache-2.0
// The thread pool. One word, `state`, says whether a job is open, which one, and how many workers are inside
// it:
//
//   bits 63..32  number of the job      bit 31  open      bits 30..0  workers inside
//
// A worker enters an open job by adding one, takes task numbers until there are none, and leaves by
// subtracting one. The caller works too, then closes the job and waits only for those inside: a worker that
// slept through a short job delays nobody. The job's fields are written while no worker can be inside, and
// read between entering and leaving.
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "base/clock.h"

#define MOST_THREADS 1024
#define SPIN_SECONDS 30e-6 // longer than the gap between two operators, shorter than going to sleep and waking
#define JOB_ONE      (UINT64_C(1) << 32)
#define OPEN         (UINT64_C(1) << 31)
#define INSIDE       (OPEN - 1)

typedef struct worker {
    struct hone_pool *pool;
    pthread_t thread;
    int number; // 1 .. threads - 1; the caller of hone_pool_run is 0
} worker;

struct hone_pool {
    alignas(64) atomic_uint_least64_t state;
    alignas(64) _Atomic int64_t next; // the first task nobody has taken
    // The open job.
    alignas(64) int64_t count;
    hone_pool_task *task;
    void *context;

    int threads;
    int started; // workers that run
    bool spin;   // there is more than one core
    worker *workers;
    atomic_int sleepers; // workers that wait, or are about to, on `wake`
    atomic_bool stop;
    pthread_mutex_t run;  // held for a whole hone_pool_run: callers take turns
    pthread_mutex_t lock; // for the two conditions
    pthread_cond_t wake;  // a job was opened, or stop
    pthread_cond_t left;  // the last worker left a closed job
};

static _Thread_local bool inside_task;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

// Spins until ready(pool, argument) or SPIN_SECONDS have passed; true if ready.
static bool spin_until(hone_pool *pool, bool (*ready)(hone_pool *pool, uint32_t argument), uint32_t argument) {
    if (ready(pool, argument)) return true;
    if (!pool->spin) return false;
    const double end = hone_clock_seconds() + SPIN_SECONDS;
    do {
        for (int i = 0; i < 16; i++) {
            pause_briefly();
            if (ready(pool, argument)) return true;
        }
    } while (hone_clock_seconds() < end);
    return false;
}

// A job that this worker has not seen yet is open, or it is time to end.
static bool has_work(hone_pool *pool, uint32_t seen) {
    const uint64_t state = atomic_load(&pool->state);
    return atomic_load(&pool->stop) || ((state & OPEN) && (uint32_t)(state >> 32) != seen);
}

static bool all_left(hone_pool *pool, uint32_t unused) {
    (void)unused;
    return (atomic_load(&pool->state) & INSIDE) == 0;
}

static void work(hone_pool *pool, int thread) {
    inside_task = true;
    const int64_t count = pool->count;
    for (;;) {
        const int64_t index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (index >= count) break;
        pool->task(pool->context, index, thread);
    }
    inside_task = false;
}

static void sleep_until_work(hone_pool *pool, uint32_t seen) {
    pthread_mutex_lock(&pool->lock);
    // Announced before the state is looked at, while hone_pool_run looks at `sleepers` after it opened the
    // job: one of the two sees the other.
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_work(pool, seen)) pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *argument) {
    const worker *const self = argument;
    hone_pool *const pool = self->pool;
    uint32_t seen = 0;
    while (!atomic_load(&pool->stop)) {
        if (!spin_until(pool, has_work, seen)) sleep_until_work(pool, seen);
        uint64_t state = atomic_load(&pool->state);
        if (!(state & OPEN) || (uint32_t)(state >> 32) == seen) continue;
        if (!atomic_compare_exchange_strong(&pool->state, &state, state + 1)) continue;
        seen = (uint32_t)(state >> 32);
        work(pool, self->number);
        const uint64_t before = atomic_fetch_sub(&pool->state, 1);
        if (!(before & OPEN) && (before & INSIDE) == 1) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->left);
            pthread_mutex_unlock(&pool->lock);
        }
    }
    return NULL;
}

static void open_job(hone_pool *pool, int64_t count, hone_pool_task *task, void *context) {
    pool->count = count;
    pool->task = task;
    pool->context = context;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    // No worker is inside and the job is closed, so nobody else writes the state now.
    atomic_store(&pool->state, (atomic_load(&pool->state) + JOB_ONE) | OPEN);
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->lock);
    if (count > pool->threads / 2) {
        pthread_cond_broadcast(&pool->wake);
    } else {
        for (int64_t i = 1; i < count; i++) pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
}

static void close_job(hone_pool *pool) {
    atomic_fetch_and(&pool->state, ~OPEN);
    if (spin_until(pool, all_left, 0)) return;
    pthread_mutex_lock(&pool->lock);
    while (!all_left(pool, 0)) pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void hone_pool_run(hone_pool *pool, int64_t count, hone_pool_task *task, void *context) {
    if (!pool) {
        for (int64_t i = 0; i < count; i++) task(context, i, 0);
        return;
    }
    assert(!inside_task && "hone_pool_run called from inside a task");
    pthread_mutex_lock(&pool->run);
    if (count <= 1 || pool->started == 0) {
        inside_task = true;
        for (int64_t i = 0; i < count; i++) task(context, i, 0);
        inside_task = false;
    } else {
        open_job(pool, count, task, context);
        work(pool, 0);
        close_job(pool);
    }
    pthread_mutex_unlock(&pool->run);
}

// Workers take no signals: those of the program go to its own threads.
static hone_status start_workers(hone_pool *pool, hone_error *error) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = 0;
    while (code == 0 && pool->started < pool->threads - 1) {
        worker *const self = &pool->workers[pool->started];
        *self = (worker){.pool = pool, .number = pool->started + 1};
        code = pthread_create(&self->thread, NULL, worker_main, self);
        if (code == 0) pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) return HONE_OK;
    return hone_error_system(error, code, "cannot start thread %d of %d (fewer may work)", pool->started + 2,
                             pool->threads);
}

hone_status hone_pool_create(int threads, hone_pool **out, hone_error *error) {
    *out = NULL;
    const int cores = hone_core_count();
    const int wanted = threads == 0 ? (cores < MOST_THREADS ? cores : MOST_THREADS) : threads;
    HONE_FAIL_IF(wanted < 1 || wanted > MOST_THREADS, error, INVALID_ARGUMENT,
                 "%d threads asked for; give 1 to %d, or 0 for one per core", threads, MOST_THREADS);
    hone_pool *pool = NULL;
    HONE_TRY(HONE_NEW(&pool, "the thread pool", error));
    pool->threads = wanted;
    pool->spin = cores > 1;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&pool->workers, (size_t)wanted, "the thread pool", error), no_threads);
    // With default attributes none of these can fail on the systems hone runs on.
    pthread_mutex_init(&pool->run, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->left, NULL);
    status = start_workers(pool, error);
    if (status != HONE_OK) {
        hone_pool_destroy(pool);
        return status;
    }
    *out = pool;
    return HONE_OK;
no_threads:
    hone_free(pool);
    return status;
}

void hone_pool_destroy(hone_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->run);
    hone_free(pool->workers);
    hone_free(pool);
}

int hone_pool_threads(const hone_pool *pool) {
    return pool ? pool->threads : 1;
}
