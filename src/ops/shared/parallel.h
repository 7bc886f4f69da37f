// SPDX-License-Identifier: Apache-2.0
// Work of a CPU function split into ranges that depend on shape alone, so that bits do not depend on threads.
#ifndef HONE_OPS_SHARED_PARALLEL_H
#define HONE_OPS_SHARED_PARALLEL_H

#include <hone/op.h>

#define HONE_BLOCK 16384 // elements of an elementwise operator that one task handles

typedef void hone_range_task(void *context, int64_t begin, int64_t end);

// Runs task over [0, count) in ranges of `grain`; a single range runs on the calling thread.
void hone_call_ranges(const hone_op_call *call, int64_t count, int64_t grain, hone_range_task *task, void *context);

// Elements in ranges of HONE_BLOCK; rows in ranges of about as many elements.
static inline void hone_call_elements(const hone_op_call *call, int64_t count, hone_range_task *task, void *context) {
    hone_call_ranges(call, count, HONE_BLOCK, task, context);
}
static inline void hone_call_rows(const hone_op_call *call, int64_t rows, int64_t columns, hone_range_task *task,
                                  void *context) {
    hone_call_ranges(call, rows, columns < HONE_BLOCK ? HONE_BLOCK / (columns > 0 ? columns : 1) : 1, task, context);
}

// Raises an error flag of the run; from any thread.
static inline void hone_call_flag(const hone_op_call *call, uint32_t flag) {
    if (call->flags) __atomic_fetch_or(call->flags, flag, __ATOMIC_RELAXED);
}

// An index within [0, size): clamped, and flagged, when it is not. size >= 1.
static inline int64_t hone_call_index(const hone_op_call *call, int64_t index, int64_t size) {
    if (index >= 0 && index < size) return index;
    hone_call_flag(call, HONE_FLAG_INDEX);
    return index < 0 ? 0 : size - 1;
}

#endif
