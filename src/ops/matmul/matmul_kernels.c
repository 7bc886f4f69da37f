// SPDX-License-Identifier: Apache-2.0
// The dispatches of a product for a GPU.
#include "ops/matmul/matmul_kernels.h"

#include "ops/shared/kernels.h"

enum {
    TILE = 64,
    TILE_LARGE = 128,
    STEPS = 32,       // of k between two barriers, for the smaller tiles
    BUSY = 96,        // groups of large tiles that keep a GPU busy
    BUSY_PARTS = 160, // groups that it is worth to cut K into parts for
    MOST_PARTS = 32,
    LEAST_STEPS = 2 * STEPS // of k of a part
};

static int64_t tiles_of(int64_t size, int64_t tile) {
    return (size + tile - 1) / tile;
}

// By the product's shape alone, so that results do not depend on the device. *large: with the larger tiles.
static hone_gemm_cut cut_of(const hone_gemm_kernel *kernel, bool *large) {
    const hone_gemm *const g = kernel->gemm;
    hone_gemm_cut c = {.batch = kernel->batch ? kernel->batch : 1};
    *large = kernel->entry_large && g->m > TILE && g->n > TILE &&
             c.batch * tiles_of(g->n, TILE_LARGE) * tiles_of(g->m, TILE_LARGE) >= BUSY;
    c.across = tiles_of(g->n, *large ? TILE_LARGE : TILE);
    c.down = tiles_of(g->m, *large ? TILE_LARGE : TILE);
    const int64_t tiles = c.batch * c.across * c.down;
    int64_t parts = tiles > 0 && !*large ? tiles_of(BUSY_PARTS, tiles) : 1;
    if (parts > g->k / LEAST_STEPS) parts = g->k / LEAST_STEPS;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    if (parts < 1) parts = 1;
    c.part = tiles_of(tiles_of(g->k, parts), STEPS) * STEPS;
    c.parts = c.part ? tiles_of(g->k, c.part) : 1;
    return c;
}

// Words 2 to 19; word 15 is another one for sum_parts.
static void words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_gemm_kernel *kernel,
                  const hone_gemm_cut *c, int64_t word15) {
    const hone_gemm *const g = kernel->gemm;
    const int64_t sizes[] = {g->m, g->n, g->k, g->left.ld, g->left.transposed};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) hone_kernel_word(list, d, sizes[i]);
    hone_kernel_number(list, d, g->left.factor);
    hone_kernel_word(list, d, g->start_row);
    hone_kernel_word(list, d, g->start_column);
    hone_kernel_number(list, d, kernel->start ? g->start_factor : 0);
    hone_kernel_word(list, d, kernel->start == kernel->out);
    const bool batches = c->batch > 1;
    const int64_t rest[] = {
        batches ? g->m * g->k : 0, batches ? g->k * g->n : 0, g->m * g->n, word15, c->down, c->part, c->parts, 0};
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) hone_kernel_word(list, d, rest[i]);
}

static int64_t elements_of(const hone_gemm_kernel *kernel, const hone_gemm_cut *c) {
    return c->batch * kernel->gemm->m * kernel->gemm->n;
}

static size_t part_bytes(const hone_gemm_kernel *kernel, const hone_gemm_cut *c) {
    return (size_t)(elements_of(kernel, c) * c->parts) * sizeof(float);
}

hone_kernel_dispatch *hone_gemm_kernel_cut(hone_kernel_list *list, const hone_gemm_kernel *kernel, const char *entry,
                                           const hone_gemm_cut *c) {
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, (uint64_t)(c->batch * c->across * c->down * c->parts));
    hone_kernel_bind(list, d, kernel->left);
    hone_kernel_bind(list, d, kernel->right);
    if (c->parts > 1)
        hone_kernel_bind_scratch(list, d, 0, part_bytes(kernel, c));
    else
        hone_kernel_bind(list, d, kernel->out);
    hone_kernel_bind(list, d, c->parts > 1 || kernel->start == kernel->out ? NULL : kernel->start);
    words(list, d, kernel, c, c->across);
    return d;
}

void hone_gemm_kernel_sum(hone_kernel_list *list, const hone_gemm_kernel *kernel, const hone_gemm_cut *c) {
    if (c->parts == 1) return;
    const int64_t elements = elements_of(kernel, c);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "matmul.sum_parts", hone_kernel_groups(elements, HONE_KERNEL_THREADS));
    hone_kernel_bind_scratch(list, d, 0, part_bytes(kernel, c));
    hone_kernel_bind(list, d, NULL);
    hone_kernel_bind(list, d, kernel->out);
    hone_kernel_bind(list, d, kernel->start == kernel->out ? NULL : kernel->start);
    words(list, d, kernel, c, elements);
}

hone_kernel_dispatch *hone_gemm_kernel_begin(hone_kernel_list *list, const hone_gemm_kernel *kernel) {
    bool large;
    const hone_gemm_cut c = cut_of(kernel, &large);
    return hone_gemm_kernel_cut(list, kernel, large ? kernel->entry_large : kernel->entry, &c);
}

void hone_gemm_kernel_end(hone_kernel_list *list, const hone_gemm_kernel *kernel) {
    bool large;
    const hone_gemm_cut c = cut_of(kernel, &large);
    hone_gemm_kernel_sum(list, kernel, &c);
}

void hone_gemm_kernel_plain(hone_kernel_list *list, const hone_gemm_kernel *kernel) {
    const hone_dtype dtype = kernel->right->type.dtype;
    hone_gemm_kernel own = *kernel;
    own.entry = dtype == HONE_DTYPE_F32 ? "matmul.matmul" : "matmul.matmul_halves";
    own.entry_large = dtype == HONE_DTYPE_F32 ? "matmul.matmul_large" : "matmul.matmul_halves_large";
    hone_kernel_dispatch *const d = hone_gemm_kernel_begin(list, &own);
    hone_kernel_word(list, d, kernel->gemm->right.ld);
    hone_kernel_word(list, d, kernel->gemm->right.transposed);
    hone_kernel_word(list, d, dtype == HONE_DTYPE_F16);
    hone_gemm_kernel_end(list, &own);
}

hone_gemm_kernel hone_gemm_kernel_of(const hone_op_call *call, const hone_gemm *gemm, size_t left,
                                     const hone_tensor *out, const hone_tensor *start) {
    return (hone_gemm_kernel){.gemm = gemm,
                              .left = hone_operand_tensor(call, left),
                              .right = hone_operand_tensor(call, left + 1),
                              .out = out,
                              .start = start};
}
