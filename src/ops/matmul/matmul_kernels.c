// SPDX-License-Identifier: Apache-2.0
// The words of a product for a GPU.
#include "ops/matmul/matmul_kernels.h"

enum {
    TILE = 64,
    TILE_LARGE = 128,
    ENOUGH_LARGE = 96, // groups of large tiles that keep a GPU busy
};

static int64_t tiles_of(int64_t size, int64_t tile) {
    return (size + tile - 1) / tile;
}

hone_kernel_dispatch *hone_gemm_kernel_add(hone_kernel_list *list, const hone_gemm_kernel *kernel) {
    const hone_gemm *const g = kernel->gemm;
    const int64_t batch = kernel->batch ? kernel->batch : 1;
    const bool large =
        batch * tiles_of(g->n, TILE_LARGE) * tiles_of(g->m, TILE_LARGE) >= ENOUGH_LARGE && g->m > TILE && g->n > TILE;
    const int64_t tile = large ? TILE_LARGE : TILE;
    const int64_t across = tiles_of(g->n, tile), down = tiles_of(g->m, tile);
    const char *entry = large ? kernel->entry_large : kernel->entry;
    if (!entry) entry = large ? "matmul.matmul_large" : "matmul.matmul";
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, (uint64_t)(batch * across * down));
    hone_kernel_bind(list, d, kernel->left);
    hone_kernel_bind(list, d, kernel->right);
    hone_kernel_bind(list, d, kernel->out);
    const bool own_start = kernel->start == kernel->out;
    hone_kernel_bind(list, d, own_start ? NULL : kernel->start);
    const int64_t sizes[] = {g->m, g->n, g->k, g->left.ld, g->left.transposed};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) hone_kernel_word(list, d, sizes[i]);
    hone_kernel_number(list, d, g->left.factor);
    hone_kernel_word(list, d, g->start_row);
    hone_kernel_word(list, d, g->start_column);
    hone_kernel_number(list, d, kernel->start ? g->start_factor : 0);
    hone_kernel_word(list, d, own_start);
    const int64_t batches[] = {g->m * g->k, g->k * g->n, g->m * g->n, across, down, 0, 0, 0};
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
        hone_kernel_word(list, d, i < 3 && batch == 1 ? 0 : batches[i]);
    return d;
}

void hone_gemm_kernel_plain(hone_kernel_list *list, const hone_gemm_kernel *kernel) {
    hone_kernel_dispatch *const d = hone_gemm_kernel_add(list, kernel);
    const hone_dtype dtype = kernel->right->type.dtype;
    hone_kernel_word(list, d, kernel->gemm->right.ld);
    hone_kernel_word(list, d, kernel->gemm->right.transposed);
    hone_kernel_word(list, d, dtype == HONE_DTYPE_F16 ? 1 : dtype == HONE_DTYPE_BF16 ? 2 : 0);
}
