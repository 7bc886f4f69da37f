// SPDX-License-Identifier: Apache-2.0
// Broadcasting: merged strides, runs over the innermost dimension, and sums back to an input's shape.
#include "ops/shared/broadcast.h"

#include <hone/graph.h>

#include "ops/shared/parallel.h"

void hone_broadcast_make(hone_broadcast *b, const hone_tensor_type *out, const hone_tensor_type *const *inputs,
                         int count) {
    int64_t step[HONE_BROADCAST_INPUTS] = {1, 1, 1};
    *b = (hone_broadcast){.inputs = count, .count = hone_type_elements(out)};
    // From the innermost dimension outwards; the list is turned round at the end.
    for (int from_last = 1; from_last <= out->rank; from_last++) {
        const int64_t size = out->dims[out->rank - from_last];
        int64_t stride[HONE_BROADCAST_INPUTS];
        for (int i = 0; i < count; i++) {
            const int64_t own = from_last <= inputs[i]->rank ? inputs[i]->dims[inputs[i]->rank - from_last] : 1;
            stride[i] = own == 1 ? 0 : step[i];
            step[i] *= own;
        }
        if (size == 1) continue;
        bool merges = b->rank > 0;
        for (int i = 0; i < count && merges; i++)
            merges = stride[i] == b->strides[i][b->rank - 1] * b->dims[b->rank - 1];
        if (merges) {
            b->dims[b->rank - 1] *= size;
            continue;
        }
        b->dims[b->rank] = size;
        for (int i = 0; i < count; i++) b->strides[i][b->rank] = stride[i];
        b->rank++;
    }
    for (int low = 0, high = b->rank - 1; low < high; low++, high--) {
        const int64_t size = b->dims[low];
        b->dims[low] = b->dims[high];
        b->dims[high] = size;
        for (int i = 0; i < count; i++) {
            const int64_t stride = b->strides[i][low];
            b->strides[i][low] = b->strides[i][high];
            b->strides[i][high] = stride;
        }
    }
    if (b->rank == 0) { // one element
        b->rank = 1;
        b->dims[0] = 1;
    }
}

typedef struct each {
    const hone_broadcast *b;
    hone_broadcast_run *run;
    void *context;
} each;

static void each_range(void *context, int64_t begin, int64_t end) {
    const each *const e = context;
    const hone_broadcast *const b = e->b;
    const int last = b->rank - 1;
    int64_t index[HONE_MAX_RANK], at[HONE_BROADCAST_INPUTS] = {0}, step[HONE_BROADCAST_INPUTS] = {0};
    for (int d = last; d >= 0; d--) {
        int64_t inner = 1;
        for (int k = d + 1; k <= last; k++) inner *= b->dims[k];
        index[d] = begin / inner % b->dims[d];
        for (int i = 0; i < b->inputs; i++) at[i] += index[d] * b->strides[i][d];
    }
    for (int i = 0; i < b->inputs; i++) step[i] = b->strides[i][last];
    for (int64_t out = begin; out < end;) {
        int64_t count = b->dims[last] - index[last];
        if (count > end - out) count = end - out;
        e->run(e->context, out, at, step, count);
        out += count;
        index[last] += count;
        for (int i = 0; i < b->inputs; i++) at[i] += count * step[i];
        for (int d = last; d > 0 && index[d] == b->dims[d]; d--) { // carry
            index[d] = 0;
            index[d - 1]++;
            for (int i = 0; i < b->inputs; i++) at[i] += b->strides[i][d - 1] - b->dims[d] * b->strides[i][d];
        }
    }
}

void hone_broadcast_each(const hone_op_call *call, const hone_broadcast *b, hone_broadcast_run *run, void *context) {
    each e = {.b = b, .run = run, .context = context};
    hone_call_elements(call, b->count, each_range, &e);
}

hone_value hone_broadcast_gradient(hone_graph *graph, hone_value gradient, hone_value input) {
    const hone_tensor_type *const from = hone_graph_type(graph, gradient);
    const hone_tensor_type *const to = hone_graph_type(graph, input);
    if (!from || !to || hone_shape_equal(from, to)) return gradient;
    const hone_tensor_type target = *to; // the graph may move its values when it grows
    int64_t dims[HONE_MAX_RANK];
    size_t count = 0;
    for (int d = 0; d < from->rank; d++) {
        const int own = d - (from->rank - target.rank);
        if (own < 0 || (target.dims[own] == 1 && from->dims[d] != 1)) dims[count++] = d;
    }
    if (count > 0) gradient = hone_emit(graph, "aten::sum.dim_IntList", HONE_T(gradient), HONE_IS(dims, count));
    return hone_emit(graph, "aten::view_copy", HONE_T(gradient), HONE_IS(target.dims, (size_t)target.rank));
}
