// SPDX-License-Identifier: Apache-2.0
// Threads that share numbered tasks. Who runs a task never changes its result: tasks are fixed by shape, not
// by threads.
#ifndef HONE_BASE_POOL_H
#define HONE_BASE_POOL_H

#include "base/memory.h"

typedef struct hone_pool hone_pool;

// `threads` >= 1 counts the calling thread; 0 = one per available core. pthreads; workers spin briefly, then
// sleep.
HONE_MUST_USE hone_status hone_pool_create(int threads, hone_pool **out, hone_error *error);
void hone_pool_destroy(hone_pool *pool);
int hone_pool_threads(const hone_pool *pool);

// Calls task(context, index, thread) for each index in [0, count), each once, and returns when all are done.
// `thread` in [0, threads) names the runner, for per-thread scratch. NULL pool = run here, thread 0.
// Must not be called from inside a task.
typedef void hone_pool_task(void *context, int64_t index, int thread);
void hone_pool_run(hone_pool *pool, int64_t count, hone_pool_task *task, void *context);

#endif
