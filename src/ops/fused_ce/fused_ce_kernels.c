// SPDX-License-Identifier: Apache-2.0
// How cross entropy runs on a GPU.
#include "ops/fused_ce/fused_ce.h"
#include "ops/shared/kernels.h"

// Groups at most, each of which goes through its rows one by one, as many as the others. Fewer leave more of the rows in a
// GPU's second cache between the two readings, but keep too little under way: on a GPU of 132 processors 132 took 1.27 times
// as long as 396, 264 1.03 times, and 512 1.13 times.
enum { GROUPS = 400 };

typedef struct rows {
    const hone_op_call *call;
    const hone_tensor *logits, *gradients;
    int64_t count, columns;
    size_t row_bytes;
    // Working memory: the losses of all rows, then a row of logits and one of gradients, where one is needed.
    size_t losses_bytes, logits_at, gradients_at;
} rows;

static size_t rounded(size_t bytes) {
    return (bytes + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

// Rows [first, first + count): those of the tensors, or one that lies in working memory.
static void add_rows(hone_kernel_list *list, const rows *r, int64_t first, int64_t count, bool cut) {
    const int64_t rounds = (count + GROUPS - 1) / GROUPS;
    const int64_t groups = (count + rounds - 1) / rounds;
    const size_t from = (size_t)first * r->row_bytes, bytes = (size_t)count * r->row_bytes;
    int64_t logits_word = 0, gradients_word = 0;
    hone_kernel_dispatch *const d = hone_kernel_add(list, "fused_ce.fused_ce_rows", (uint64_t)groups);
    if (cut)
        hone_kernel_bind_scratch(list, d, r->logits_at, r->row_bytes);
    else
        logits_word = hone_kernel_bind_part(list, d, r->logits, from, bytes);
    hone_kernel_bind(list, d, hone_operand_tensor(r->call, 1));
    if (cut)
        hone_kernel_bind_scratch(list, d, r->gradients_at, r->row_bytes);
    else
        gradients_word = hone_kernel_bind_part(list, d, r->gradients, from, bytes);
    hone_kernel_bind_scratch(list, d, 0, r->losses_bytes);
    hone_kernel_bind_flags(list, d);
    hone_kernel_word(list, d, count);
    hone_kernel_word(list, d, r->columns);
    hone_kernel_number(list, d, r->call->operands[2].real);
    hone_kernel_word(list, d, groups);
    hone_kernel_word(list, d, first);
    hone_kernel_word(list, d, logits_word);
    hone_kernel_word(list, d, gradients_word);
}

// Copies bytes [from, from + bytes) of a tensor to `at` of working memory, or back.
static void copy(hone_kernel_list *list, const hone_tensor *tensor, size_t from, size_t bytes, size_t at, bool back) {
    if (bytes == 0) return;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "fused_ce.copy_part", hone_kernel_groups((int64_t)(bytes / 4), HONE_KERNEL_THREADS));
    const int64_t first = hone_kernel_bind_part(list, d, tensor, from, bytes);
    const size_t aside = at % HONE_BUFFER_ALIGNMENT;
    hone_kernel_bind_scratch(list, d, at - aside, bytes + aside);
    hone_kernel_word(list, d, (int64_t)(bytes / 4));
    hone_kernel_word(list, d, back);
    hone_kernel_word(list, d, first);
    hone_kernel_word(list, d, (int64_t)(aside / 4));
}

// A row of which one of the two lies across two pieces of device memory goes through working memory.
static void add_cut_row(hone_kernel_list *list, const rows *r, int64_t row, size_t logits_before,
                        size_t gradients_before) {
    const size_t from = (size_t)row * r->row_bytes;
    copy(list, r->logits, from, logits_before, r->logits_at, false);
    copy(list, r->logits, from + logits_before, r->row_bytes - logits_before, r->logits_at + logits_before, false);
    add_rows(list, r, row, 1, true);
    copy(list, r->gradients, from, gradients_before, r->gradients_at, true);
    copy(list, r->gradients, from + gradients_before, r->row_bytes - gradients_before,
         r->gradients_at + gradients_before, true);
}

static void fused_ce(const hone_op_call *call, hone_kernel_list *list) {
    rows r = {.call = call, .logits = hone_operand_tensor(call, 0), .gradients = &call->outputs[1]};
    r.count = r.logits->type.dims[0];
    r.columns = r.logits->type.dims[1];
    r.row_bytes = (size_t)r.columns * 4;
    r.losses_bytes = r.count ? (size_t)r.count * 4 : 4;
    r.logits_at = rounded(r.losses_bytes);
    r.gradients_at = r.logits_at + rounded(r.row_bytes);
    for (int64_t row = 0; row < r.count;) {
        size_t before[2];
        const int64_t left = r.count - row;
        const int64_t logits = hone_kernel_rows_in_reach(list, r.logits, r.row_bytes, row, left, &before[0]);
        const int64_t gradients = hone_kernel_rows_in_reach(list, r.gradients, r.row_bytes, row, left, &before[1]);
        const int64_t fit = logits < gradients ? logits : gradients;
        if (fit)
            add_rows(list, &r, row, fit, false);
        else
            add_cut_row(list, &r, row, before[0], before[1]);
        row += fit ? fit : 1;
    }
    hone_kernel_dispatch *const d = hone_kernel_add(list, "fused_ce.fused_ce_loss", 1);
    hone_kernel_bind_scratch(list, d, 0, r.losses_bytes);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, r.count);
}

HONE_PLAIN_KERNEL_RULE(fused_ce, fused_ce)
