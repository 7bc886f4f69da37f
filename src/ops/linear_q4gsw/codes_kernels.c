// SPDX-License-Identifier: Apache-2.0
// How products with weights in codes run on a GPU.
#include "ops/linear_q4gsw/codes.h"
#include "ops/matmul/matmul_kernels.h"

typedef struct entries {
    const char *small, *large;
} entries;

// The quickest loaders want what they read at once, four codes of a row or two of each of four rows, in one word and one
// group.
static entries entries_of(const hone_codes *w, bool backward) {
    static const entries down = {"linear_q4gsw.down", "linear_q4gsw.down_large"},
                         down_any = {"linear_q4gsw.down_any", NULL},
                         along = {"linear_q4gsw.along", "linear_q4gsw.along_large"},
                         along_any = {"linear_q4gsw.any", NULL};
    if (!backward) return w->group % 2 == 0 && (w->bits == 4 || w->row_bytes % 2 == 0) ? down : down_any;
    return w->group % 4 == 0 && w->row_bytes % (w->bits == 4 ? 2 : 4) == 0 ? along : along_any;
}

static void bind_rest(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_codes_kernel *kernel) {
    hone_kernel_bind(list, d, kernel->scales);
    hone_kernel_bind(list, d, kernel->minimums);
    hone_kernel_bind(list, d, kernel->low);
    hone_kernel_bind(list, d, kernel->up);
}

// Words 20 to 30.
static void codes_words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_codes_kernel *kernel) {
    const hone_codes *const w = kernel->codes;
    const int64_t words[] = {0,
                             0,
                             w->row_bytes,
                             w->group,
                             w->step,
                             w->bits,
                             w->zero,
                             kernel->minimums != NULL,
                             kernel->scales->type.dtype == HONE_DTYPE_F16,
                             kernel->low ? hone_type_columns(&kernel->low->type) : 0};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) hone_kernel_word(list, d, words[i]);
    hone_kernel_number(list, d, kernel->factor);
}

void hone_codes_kernel_plain(hone_kernel_list *list, const hone_codes_kernel *kernel) {
    const hone_codes *const w = kernel->codes;
    const int64_t k = kernel->backward ? w->n : w->k, n = kernel->backward ? w->k : w->n;
    const hone_gemm g = {.m = hone_type_rows(&kernel->in->type),
                         .n = n,
                         .k = k,
                         .left = {.ld = k, .factor = 1},
                         .start_row = kernel->start_row,
                         .start_column = 1,
                         .start_factor = 1};
    const entries entry = entries_of(w, kernel->backward);
    const hone_gemm_kernel product = {.entry = entry.small,
                                      .entry_large = entry.large,
                                      .gemm = &g,
                                      .left = kernel->in,
                                      .right = kernel->weights,
                                      .out = kernel->out,
                                      .start = kernel->start};
    hone_kernel_dispatch *const d = hone_gemm_kernel_begin(list, &product);
    bind_rest(list, d, kernel);
    codes_words(list, d, kernel);
    hone_gemm_kernel_end(list, &product);
}

// --- few rows --------------------------------------------------------------------------------------------------------
enum { FEW_ROWS = 4, WEIGHT_ROWS = 4 }; // at most, and of a group, in few_rows.slang

// Its threads read whole words, each of one group and one row.
bool hone_codes_kernel_is_few(const hone_codes_kernel *kernel) {
    const hone_codes *const w = kernel->codes;
    const int64_t m = hone_type_rows(&kernel->in->type);
    return !kernel->backward && m >= 1 && m <= FEW_ROWS && w->group % (32 / w->bits) == 0 && w->row_bytes % 4 == 0;
}

void hone_codes_kernel_few(hone_kernel_list *list, const hone_codes_kernel *kernel) {
    const hone_codes *const w = kernel->codes;
    hone_kernel_dispatch *const d = hone_kernel_add(list, "few_rows.few_rows", hone_kernel_groups(w->n, WEIGHT_ROWS));
    hone_kernel_bind(list, d, kernel->in);
    hone_kernel_bind(list, d, kernel->weights);
    hone_kernel_bind(list, d, kernel->out);
    hone_kernel_bind(list, d, kernel->start);
    bind_rest(list, d, kernel);
    const int64_t words[] = {hone_type_rows(&kernel->in->type), w->n, w->k, kernel->start_row, kernel->start != NULL};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) hone_kernel_word(list, d, words[i]);
    for (size_t i = 7; i < 20; i++) hone_kernel_word(list, d, 0);
    codes_words(list, d, kernel);
}
