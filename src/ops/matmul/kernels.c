// SPDX-License-Identifier: Apache-2.0
// The choice among the tables of inner loops.
#include "ops/matmul/kernels.h"

#include <stdatomic.h>
#include <stddef.h>

extern const hone_kernels hone_kernels_avx512, hone_kernels_avx2, hone_kernels_plain;

const hone_kernels *const hone_kernels_all[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    &hone_kernels_avx512,
    &hone_kernels_avx2,
#endif
    &hone_kernels_plain,
    NULL,
};

static _Atomic(const hone_kernels *) chosen;

const hone_kernels *hone_kernels_get(void) {
    const hone_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (kernels) return kernels;
    // Two threads may both get here; they choose the same table.
    size_t i = 0;
    while (!hone_kernels_all[i]->usable()) i++;
    hone_kernels_use(hone_kernels_all[i]);
    return hone_kernels_all[i];
}

void hone_kernels_use(const hone_kernels *kernels) {
    atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
}
