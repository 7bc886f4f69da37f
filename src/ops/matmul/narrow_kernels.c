// SPDX-License-Identifier: Apache-2.0
// Products with few rows or few columns of output on a GPU. A group of 256 threads has some rows and columns, each thread a
// square of 4 x 4 of them for a slice of K, so that such a product takes one dispatch where tiles would need two: one for
// parts of K, since there are too few tiles to keep a GPU busy, and one to add them up.
#include "ops/matmul/matmul_kernels.h"

enum {
    NARROW = 32,      // rows or columns at most
    NARROW_LONG = 16, // the same where the other side is longer than
    LONG = 4096,      //   this: then tiles are many, and read less
    SQUARE = 4,
    GROUP_BITS = 8,  // threads of a group
    ACROSS_BITS = 2, // squares of a group along the narrow side at most
    LEAST_SLICES_BITS = 2,
    BUSY_SLICES_BITS = 4, // at least so many, even where there are groups enough without
    BUSY = 192,           // groups that keep a GPU busy
    STEPS = 128           // of k of one thread at most; more are cut into parts
};

// How the bits of a thread's number are shared out, by the product's shape alone: to squares along the narrow side, along
// the other side and to slices of K.
typedef struct narrow_cut {
    int narrow, other, slices;  // bits of each
    int64_t batch, groups[2];   // along the narrow side and along the other
    int64_t part, parts;        // steps of k of each
    bool few_rows, other_first; // rows are the narrow side; neighbours on the other side are neighbours in memory
} narrow_cut;

static int bits_for(int64_t count) {
    int bits = 0;
    while (((int64_t)1 << bits) < count) bits++;
    return bits;
}

static int64_t groups_of(const narrow_cut *c, int64_t other, int slices) {
    return c->batch * c->groups[0] * hone_pieces(other, (int64_t)SQUARE << (GROUP_BITS - c->narrow - slices));
}

static narrow_cut cut_of(const hone_gemm_kernel *kernel) {
    const hone_gemm *const g = kernel->gemm;
    narrow_cut c = {.batch = kernel->batch ? kernel->batch : 1, .few_rows = g->m < g->n};
    const int64_t narrow = c.few_rows ? g->m : g->n, other = c.few_rows ? g->n : g->m;
    c.other_first = c.few_rows ? !g->right.transposed : g->left.transposed;
    c.narrow = (int)hone_least(bits_for(hone_pieces(narrow, SQUARE)), ACROSS_BITS);
    c.groups[0] = hone_pieces(narrow, (int64_t)SQUARE << c.narrow);
    c.slices = (int)hone_least(bits_for(g->k), GROUP_BITS - c.narrow);
    if (c.slices < LEAST_SLICES_BITS) c.slices = LEAST_SLICES_BITS;
    // Fewer slices, and more of the other side in a group, read the narrow matrix less often.
    while (c.slices > BUSY_SLICES_BITS && groups_of(&c, other, c.slices - 1) >= BUSY &&
           g->k <= (int64_t)STEPS << (c.slices - 1))
        c.slices--;
    c.other = GROUP_BITS - c.narrow - c.slices;
    c.groups[1] = hone_pieces(other, (int64_t)SQUARE << c.other);
    const int64_t slices = (int64_t)1 << c.slices;
    c.part = hone_pieces(hone_pieces(g->k, g->k > 0 ? hone_pieces(g->k, slices * STEPS) : 1), slices) * slices;
    c.parts = c.part ? hone_pieces(g->k, c.part) : 1;
    return c;
}

// Words 20 to 27.
static void narrow_words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_gemm_kernel *kernel,
                         const narrow_cut *c) {
    hone_kernel_word(list, d, kernel->gemm->right.ld);
    hone_kernel_word(list, d, kernel->gemm->right.transposed);
    // The lowest bits belong to what lies side by side in memory; but the narrow matrix, which is small and read by all
    // groups, does best beside slices.
    const int other_bit = c->other_first ? 0 : c->narrow + c->slices;
    const int narrow_bit = c->other_first ? c->other : 0;
    const int slices_bit = c->narrow + (c->other_first ? c->other : 0);
    const int narrow[] = {c->narrow, narrow_bit}, other[] = {c->other, other_bit};
    for (int i = 0; i < 2; i++) hone_kernel_word(list, d, (c->few_rows ? narrow : other)[i]);
    for (int i = 0; i < 2; i++) hone_kernel_word(list, d, (c->few_rows ? other : narrow)[i]);
    hone_kernel_word(list, d, c->slices);
    hone_kernel_word(list, d, slices_bit);
}

bool hone_gemm_kernel_is_narrow(const hone_gemm_kernel *kernel) {
    const hone_gemm *const g = kernel->gemm;
    const int64_t narrow = hone_least(g->m, g->n);
    return kernel->right->type.dtype == HONE_DTYPE_F32 && narrow > 0 &&
           narrow <= (hone_most(g->m, g->n) > LONG ? NARROW_LONG : NARROW);
}

void hone_gemm_kernel_narrow(hone_kernel_list *list, const hone_gemm_kernel *kernel) {
    const narrow_cut c = cut_of(kernel);
    const hone_gemm_cut cut = {.batch = c.batch,
                               .across = c.groups[c.few_rows],
                               .down = c.groups[!c.few_rows],
                               .part = c.part,
                               .parts = c.parts};
    hone_kernel_dispatch *const d = hone_gemm_kernel_cut(list, kernel, "narrow.narrow", &cut);
    narrow_words(list, d, kernel, &c);
    hone_gemm_kernel_sum(list, kernel, &cut);
}
