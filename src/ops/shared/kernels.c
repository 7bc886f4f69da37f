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
