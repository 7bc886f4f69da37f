// SPDX-License-Identifier: Apache-2.0
// What CPU functions may ask of their call: threads and scratch.
#include <hone/op.h>

#include "base/pool.h"

void hone_call_parallel(const hone_op_call *call, int64_t count, void (*task)(void *context, int64_t index, int thread),
                        void *context) {
    hone_pool_run(call->pool, count, task, context);
}

void *hone_call_scratch(const hone_op_call *call, int thread) {
    return (char *)call->thread_scratch + (size_t)thread * call->thread_scratch_bytes;
}
