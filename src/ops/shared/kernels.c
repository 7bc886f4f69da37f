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

// At most n, from `first` on, in rows of an alignment each.
static int64_t reach(const hone_kernel_list *list, const hone_tensor *tensor, int64_t first, int64_t n) {
    const int64_t each = HONE_BUFFER_ALIGNMENT / (int64_t)hone_dtype_bytes(tensor->type.dtype);
    size_t before;
    const int64_t rows = (n + each - 1) / each;
    const int64_t fit =
        hone_kernel_rows_in_reach(list, tensor, HONE_BUFFER_ALIGNMENT, first / each, rows, &before) * each;
    return fit < n ? fit : n;
}

int64_t hone_kernel_part(const hone_kernel_list *list, const hone_op_call *call, int64_t first, int64_t count) {
    const int64_t left = count - first < HONE_KERNEL_PART ? count - first : HONE_KERNEL_PART;
    int64_t n = left, each = 1;
    for (size_t i = 0; i < call->operand_count + call->output_count; i++) {
        const hone_tensor *const tensor =
            i < call->operand_count ? hone_operand_tensor(call, i) : &call->outputs[i - call->operand_count];
        if (!tensor || hone_type_elements(&tensor->type) != count) continue;
        const int64_t own = HONE_BUFFER_ALIGNMENT / (int64_t)hone_dtype_bytes(tensor->type.dtype);
        if (own > each) each = own;
        n = reach(list, tensor, first, n);
    }
    if (n < count - first) n = n / each * each; // the next part begins where all can be bound
    return n > 0 ? n : left;                    // nothing fits: the device will say so
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
