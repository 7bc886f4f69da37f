// SPDX-License-Identifier: Apache-2.0
// Ranges of an operator's work as numbered tasks of the call's threads.
#include "ops/shared/parallel.h"

typedef struct ranges {
    hone_range_task *task;
    void *context;
    int64_t count, grain;
} ranges;

static void run_range(void *context, int64_t index, int thread) {
    const ranges *const r = context;
    const int64_t begin = index * r->grain;
    const int64_t end = begin + r->grain < r->count ? begin + r->grain : r->count;
    (void)thread;
    r->task(r->context, begin, end);
}

void hone_call_ranges(const hone_op_call *call, int64_t count, int64_t grain, hone_range_task *task, void *context) {
    if (count <= 0) return;
    if (count <= grain) {
        task(context, 0, count);
        return;
    }
    ranges r = {.task = task, .context = context, .count = count, .grain = grain};
    hone_call_parallel(call, (count + grain - 1) / grain, run_range, &r);
}
