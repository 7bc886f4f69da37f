// SPDX-License-Identifier: Apache-2.0
// How reductions run on a GPU.
#include <string.h>

#include "ops/reduce/axes.h"
#include "ops/shared/kernels.h"

#define FULL          1024 // groups that keep a device busy: below that, outputs are reduced in parts first
#define COLUMNS       32   // outputs that a group reduces together where neighbours lie together
#define ROWS          8    // outputs that a group reduces together where each one's elements lie together
#define ROWS_LEAST    32   // elements of an output that are worth more than a thread
#define GROUP_LEAST   2048 // elements of an output that are worth a group
#define FEW           64   // outputs whose groups leave most of a device idle: then fewer are worth one
#define FEW_LEAST     256
#define COLUMNS_LEAST 16
#define GROUP_PART    4096 // elements of the smallest part
#define COLUMNS_PART  64

typedef enum layout { BY_GROUP, BY_ROWS, BY_COLUMNS, BY_THREAD } layout;

// A kernel for each layout, and their own words.
typedef struct kind {
    const char *entries[4];
    uint32_t own[3];
} kind;
#define KERNELS(name)                                                                                                  \
    {"reduce." name "_group", "reduce." name "_rows", "reduce." name "_columns", "reduce." name "_thread"}

static layout layout_of(const hone_reduction *axes) {
    const int64_t count = axes->reduced.count;
    if (!axes->inner_reduced) return count >= COLUMNS_LEAST ? BY_COLUMNS : BY_THREAD;
    if (count < ROWS_LEAST) return BY_THREAD;
    return count < (axes->kept.count < FEW ? FEW_LEAST : GROUP_LEAST) ? BY_ROWS : BY_GROUP;
}

static void axes_words(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_axes *axes) {
    hone_kernel_word(list, d, axes->rank);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < axes->rank ? axes->dims[i] : 1);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < axes->rank ? axes->strides[i] : 0);
}

// `self` NULL: from the states in working memory; `out` NULL: to there, by parts.
static void add(hone_kernel_list *list, const hone_tensor *self, const hone_tensor *out, const hone_reduction *axes,
                const kind *of, int64_t parts, size_t bytes) {
    const layout how = layout_of(axes);
    const int64_t outputs = axes->kept.count;
    const uint64_t groups = how == BY_GROUP     ? (uint64_t)(outputs * parts)
                            : how == BY_ROWS    ? hone_kernel_groups(outputs, ROWS)
                            : how == BY_COLUMNS ? hone_kernel_groups(outputs, COLUMNS) * (uint64_t)parts
                                                : hone_kernel_groups(outputs, HONE_KERNEL_THREADS);
    hone_kernel_dispatch *const d = hone_kernel_add(list, of->entries[how], groups);
    if (self)
        hone_kernel_bind(list, d, self);
    else
        hone_kernel_bind_scratch(list, d, 0, bytes);
    if (out)
        hone_kernel_bind(list, d, out);
    else
        hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_word(list, d, outputs);
    hone_kernel_word(list, d, parts);
    hone_kernel_word(list, d, axes->reduced.count);
    axes_words(list, d, &axes->kept);
    axes_words(list, d, &axes->reduced);
    hone_kernel_word(list, d, !self);
    hone_kernel_word(list, d, !out);
    for (size_t i = 0; i < 3; i++) hone_kernel_word(list, d, of->own[i]);
}

static int64_t parts_of(const hone_reduction *axes) {
    const layout how = layout_of(axes);
    const int64_t groups = how == BY_COLUMNS ? (axes->kept.count + COLUMNS - 1) / COLUMNS : axes->kept.count;
    if (how == BY_ROWS || how == BY_THREAD || groups == 0) return 1;
    const int64_t useful = axes->reduced.count / (how == BY_GROUP ? GROUP_PART : COLUMNS_PART), wanted = FULL / groups;
    const int64_t parts = useful < wanted ? useful : wanted;
    return parts > 1 ? parts : 1;
}

static void reduce(const hone_op_call *call, hone_kernel_list *list, const hone_reduction *axes, const kind *of) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    const int64_t parts = parts_of(axes), outputs = axes->kept.count;
    if (parts == 1) {
        add(list, self, out, axes, of, 1, 0);
        return;
    }
    const size_t bytes = (size_t)(outputs * parts) * 8;
    add(list, self, NULL, axes, of, parts, bytes);
    const hone_reduction rest = {.kept = {.rank = 1, .dims = {outputs}, .strides = {parts}, .count = outputs},
                                 .reduced = {.rank = 1, .dims = {parts}, .strides = {1}, .count = parts},
                                 .inner_reduced = true};
    add(list, NULL, out, &rest, of, 1, bytes);
}

static bool split(const hone_op_call *call, hone_kernel_list *list, size_t dims_at, hone_reduction *axes) {
    const hone_tensor_type *const self = &hone_operand_tensor(call, 0)->type;
    bool marked[HONE_MAX_RANK] = {false};
    if (hone_reduction_dims(call, dims_at, self, marked, &list->failure) != HONE_OK) return false;
    hone_reduction_split(self, marked, axes);
    return true;
}

// --- sums and means --------------------------------------------------------------------------------------------------
static void sum(const hone_op_call *call, hone_kernel_list *list, bool mean) {
    const hone_dtype dtype = hone_operand_tensor(call, 0)->type.dtype;
    hone_reduction axes;
    if (!split(call, list, call->operand_count == 4 ? 1 : call->operand_count, &axes)) return;
    if (dtype == HONE_DTYPE_F32) {
        const float factor = mean ? (float)(1.0 / (double)axes.reduced.count) : 1.0f;
        kind real = {KERNELS("sum"), {0}};
        memcpy(real.own, &factor, sizeof(factor));
        reduce(call, list, &axes, &real);
        return;
    }
    reduce(call, list, &axes,
           &(kind){KERNELS("whole"), {hone_dtype_bytes(dtype) == 1, call->outputs[0].type.dtype == HONE_DTYPE_F32}});
}

// --- the best element and its place ----------------------------------------------------------------------------------
static void best(const hone_op_call *call, hone_kernel_list *list, const hone_reduction *axes, bool smallest,
                 bool place) {
    const bool whole = hone_operand_tensor(call, 0)->type.dtype == HONE_DTYPE_I32;
    reduce(call, list, axes, &(kind){KERNELS("best"), {whole, smallest, place}});
}

static void value(const hone_op_call *call, hone_kernel_list *list, bool smallest) {
    hone_reduction axes;
    if (split(call, list, 1, &axes)) best(call, list, &axes, smallest, false);
}

static void place(const hone_op_call *call, hone_kernel_list *list, bool smallest) {
    const hone_tensor_type *const self = &hone_operand_tensor(call, 0)->type;
    const hone_operand *const dim = &call->operands[1];
    bool marked[HONE_MAX_RANK];
    hone_reduction axes;
    for (int d = 0; d < HONE_MAX_RANK; d++) marked[d] = dim->kind == HONE_ARGUMENT_NONE;
    if (dim->kind != HONE_ARGUMENT_NONE && self->rank > 0)
        marked[dim->integer < 0 ? dim->integer + self->rank : dim->integer] = true;
    hone_reduction_split(self, marked, &axes);
    best(call, list, &axes, smallest, true);
}

HONE_PLAIN_KERNEL(sum, sum, false)
HONE_PLAIN_KERNEL(mean, sum, true)
HONE_PLAIN_KERNEL(amax, value, false)
HONE_PLAIN_KERNEL(amin, value, true)
HONE_PLAIN_KERNEL(argmax, place, false)
HONE_PLAIN_KERNEL(argmin, place, true)
