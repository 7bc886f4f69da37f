// SPDX-License-Identifier: Apache-2.0
// Reading the dimensions of a reduction, and sorting them into kept and reduced axes.
#include "ops/reduce/axes.h"

hone_status hone_reduction_dims(const hone_op_call *call, size_t at, const hone_tensor_type *self, bool *marked,
                                hone_error *error) {
    const hone_operand *const dims = at < call->operand_count ? &call->operands[at] : 0;
    const bool all = !dims || dims->kind != HONE_ARGUMENT_INTEGERS || dims->count == 0;
    for (int d = 0; d < HONE_MAX_RANK; d++) marked[d] = all && d < self->rank;
    for (size_t i = 0; !all && i < dims->count; i++) {
        int dim;
        HONE_TRY(hone_op_dim(call, dims->integers[i], self->rank, &dim, error));
        HONE_OP_CHECK(!marked[dim], "dimension %d is named twice", dim);
        marked[dim] = self->rank > 0;
    }
    return HONE_OK;
}

hone_tensor_type hone_reduction_type(const hone_tensor_type *self, const bool *marked, bool keep) {
    hone_tensor_type out = {.dtype = self->dtype};
    for (int d = 0; d < self->rank; d++)
        if (!marked[d])
            out.dims[out.rank++] = self->dims[d];
        else if (keep)
            out.dims[out.rank++] = 1;
    return out;
}

static void push(hone_axes *list, int64_t size, int64_t stride) {
    list->count *= size;
    if (size == 1) return;
    const int last = list->rank - 1;
    if (last >= 0 && list->strides[last] == stride * size) {
        list->dims[last] *= size;
        list->strides[last] = stride;
        return;
    }
    list->dims[list->rank] = size;
    list->strides[list->rank++] = stride;
}

void hone_reduction_split(const hone_tensor_type *self, const bool *marked, hone_reduction *out) {
    int64_t strides[HONE_MAX_RANK], step = 1;
    for (int d = self->rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= self->dims[d];
    }
    out->kept = out->reduced = (hone_axes){.count = 1};
    out->inner_reduced = true;
    for (int d = 0; d < self->rank; d++) {
        push(marked[d] ? &out->reduced : &out->kept, self->dims[d], strides[d]);
        if (self->dims[d] != 1) out->inner_reduced = marked[d];
    }
}

int64_t hone_axes_offset(const hone_axes *list, int rank, int64_t index) {
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0; d--) {
        offset += index % list->dims[d] * list->strides[d];
        index /= list->dims[d];
    }
    return offset;
}
