// SPDX-License-Identifier: Apache-2.0
// Parameters that the kernels of several families read.
#include "ops/shared/kernels.h"

void hone_kernel_broadcast(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_broadcast *broadcast) {
    hone_kernel_word(list, dispatch, broadcast->count);
    hone_kernel_word(list, dispatch, broadcast->rank);
    for (int d = 0; d < HONE_MAX_RANK; d++)
        hone_kernel_word(list, dispatch, d < broadcast->rank ? broadcast->dims[d] : 1);
    for (int i = 0; i < HONE_BROADCAST_INPUTS; i++) {
        for (int d = 0; d < HONE_MAX_RANK; d++)
            hone_kernel_word(list, dispatch,
                             i < broadcast->inputs && d < broadcast->rank ? broadcast->strides[i][d] : 0);
    }
}

void hone_kernel_bind_elements(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor,
                               int64_t first, int64_t count) {
    const size_t element = hone_dtype_bytes(tensor->type.dtype);
    const size_t bytes = ((size_t)count * element + 3) / 4 * 4;
    const uint32_t at = dispatch->binding_count;
    hone_kernel_bind(list, dispatch, tensor);
    if (dispatch->binding_count == at) return; // it has failed
    dispatch->bindings[at].offset = (size_t)first * element;
    dispatch->bindings[at].bytes = bytes ? bytes : 4;
}
