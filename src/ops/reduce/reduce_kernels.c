// SPDX-License-Identifier: Apache-2.0
// How sums and means run on a GPU.
#include "ops/reduce/axes.h"
#include "ops/shared/kernels.h"
#include "ops/shared/variants.h"

#define PART_ELEMENTS 16384 // of one output that a group sums; outputs with more are summed in parts first
#define MAX_PARTS     1024

static void axes_words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_axes *axes) {
    hone_kernel_word(list, d, axes->rank);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < axes->rank ? axes->dims[i] : 1);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < axes->rank ? axes->strides[i] : 0);
}

static void sum_words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_reduction *axes, int64_t parts,
                      double factor) {
    hone_kernel_word(list, d, axes->kept.count);
    hone_kernel_word(list, d, parts);
    hone_kernel_word(list, d, axes->reduced.count);
    axes_words(list, d, &axes->kept);
    axes_words(list, d, &axes->reduced);
    hone_kernel_number(list, d, factor);
}

// Few outputs of many elements: parts of each into working memory, then their sums.
static void sum_in_parts(const hone_op_call *call, hone_kernel_list *list, const hone_reduction *axes, int64_t parts,
                         double factor) {
    const int64_t outputs = axes->kept.count;
    const size_t bytes = (size_t)(outputs * parts) * 4;
    hone_kernel_dispatch *d = hone_kernel_add(list, "reduce.sum_group", (uint64_t)(outputs * parts));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    hone_kernel_bind_scratch(list, d, 0, bytes);
    sum_words(list, d, axes, parts, 1);
    const hone_reduction rest = {.kept = {.rank = 1, .dims = {outputs}, .strides = {parts}, .count = outputs},
                                 .reduced = {.rank = 1, .dims = {parts}, .strides = {1}, .count = parts}};
    d = hone_kernel_add(list, "reduce.sum_group", (uint64_t)outputs);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind(list, d, &call->outputs[0]);
    sum_words(list, d, &rest, 1, factor);
}

static void sum(const hone_op_call *call, hone_kernel_list *list, bool mean) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    hone_reduction axes;
    bool marked[HONE_MAX_RANK] = {false};
    const size_t at = call->operand_count == 4 ? 1 : call->operand_count;
    if (hone_reduction_dims(call, at, &self->type, marked, &list->failure) != HONE_OK) return;
    hone_reduction_split(&self->type, marked, &axes);
    const double factor = mean ? 1.0 / (double)axes.reduced.count : 1;
    int64_t parts = (axes.reduced.count + PART_ELEMENTS - 1) / PART_ELEMENTS;
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    if (parts > 1 && axes.kept.count <= 4096) {
        sum_in_parts(call, list, &axes, parts, factor);
        return;
    }
    const bool grouped = axes.inner_reduced && axes.reduced.count >= 64;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, grouped ? "reduce.sum_group" : "reduce.sum_thread",
                        grouped ? (uint64_t)axes.kept.count : hone_kernel_groups(axes.kept.count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, self);
    hone_kernel_bind(list, d, &call->outputs[0]);
    sum_words(list, d, &axes, 1, factor);
}

static bool takes(const hone_op_call *call) {
    return hone_operand_tensor(call, 0)->type.dtype == HONE_DTYPE_F32;
}
static void sum_rule(const hone_op_call *call, hone_kernel_list *list) {
    sum(call, list, false);
}
static void mean_rule(const hone_op_call *call, hone_kernel_list *list) {
    sum(call, list, true);
}

HONE_PLAIN_KERNEL_IF(sum, takes, sum_rule)
HONE_PLAIN_KERNEL_IF(mean, takes, mean_rule)
