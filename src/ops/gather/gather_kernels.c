// SPDX-License-Identifier: Apache-2.0
// How elements are picked by index, and put back, on a GPU.
#include <string.h>

#include "ops/gather/gather.h"
#include "ops/op.h"
#include "ops/shape/move.h"
#include "ops/shared/kernels.h"

static int64_t index_words(const hone_tensor *index) {
    return index->type.dtype == HONE_DTYPE_I64 ? 2 : 1;
}
static int64_t element_words(hone_dtype dtype) {
    return hone_dtype_bytes(dtype) == 8 ? 2 : 1;
}

static int dim_of(const hone_op_call *call, int rank) {
    const int64_t dim = call->operands[1].integer;
    return (int)(dim < 0 && rank > 0 ? dim + rank : dim < 0 ? 0 : dim);
}

// A word for each of 8 dimensions; scalars have one of 1.
static void add_dims(hone_kernel_list *list, hone_kernel_dispatch *d, const int64_t *dims, int rank) {
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < rank ? dims[i] : 1);
}
static void add_strides(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_tensor_type *type) {
    int64_t strides[HONE_MAX_RANK];
    hone_move_strides(type, strides);
    add_dims(list, d, strides, type->rank);
}

// --- gather and index_select -----------------------------------------------------------------------------------------
static void pick(const hone_op_call *call, hone_kernel_list *list, bool vector) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    const hone_tensor *const out = &call->outputs[0];
    const int64_t elements = hone_type_elements(&out->type);
    const int64_t words = elements ? (int64_t)(hone_type_bytes(&out->type) + 3) / 4 : 0;
    const int dim = dim_of(call, self->type.rank);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "gather.gather_words", hone_kernel_groups(words, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, self);
    hone_kernel_bind(list, d, index);
    hone_kernel_bind(list, d, out);
    hone_kernel_bind_flags(list, d);
    hone_kernel_word(list, d, words);
    hone_kernel_word(list, d, out->type.rank);
    add_dims(list, d, out->type.dims, out->type.rank);
    add_strides(list, d, &self->type);
    hone_kernel_word(list, d, dim);
    hone_kernel_word(list, d, self->type.rank > 0 ? self->type.dims[dim] : 1);
    hone_kernel_word(list, d, index_words(index));
    hone_kernel_word(list, d, vector);
    hone_kernel_word(list, d, hone_kernel_per_word(self->type.dtype));
    hone_kernel_word(list, d, element_words(self->type.dtype));
}

// --- scatter ---------------------------------------------------------------------------------------------------------
typedef enum what { PUT_SOURCE, PUT_VALUE, ADD_SOURCE } what;

static void scatter(const hone_op_call *call, hone_kernel_list *list, what put) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    const hone_tensor *const source = put == PUT_VALUE ? NULL : hone_operand_tensor(call, 3), *const out =
                                                                                                  &call->outputs[0];
    const int dim = dim_of(call, self->type.rank), rank = self->type.rank;
    const int64_t elements = hone_type_elements(&index->type), each = hone_kernel_per_word(self->type.dtype);
    const int64_t words = (int64_t)(hone_type_bytes(&out->type) + 3) / 4;
    int64_t strides[HONE_MAX_RANK];
    uint32_t value[2] = {0, 0};
    if (put == PUT_VALUE) hone_encode_number(self->type.dtype, &call->operands[3], (unsigned char *)value);
    hone_kernels_copy[0].dispatch(call, list); // bytes onto themselves where out is self
    if (elements == 0) return;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, each > 1 ? "gather.scatter_shared" : "gather.scatter_elements",
                        hone_kernel_groups(each > 1 ? words : elements, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, index);
    hone_kernel_bind(list, d, source);
    hone_kernel_bind(list, d, out);
    hone_kernel_bind_flags(list, d);
    hone_kernel_word(list, d, elements);
    hone_kernel_word(list, d, rank);
    add_dims(list, d, index->type.dims, rank);
    add_strides(list, d, &out->type);
    add_strides(list, d, source ? &source->type : &index->type);
    hone_kernel_word(list, d, dim);
    hone_kernel_word(list, d, rank > 0 ? self->type.dims[dim] : 1);
    hone_kernel_word(list, d, index_words(index));
    hone_kernel_word(list, d, put);
    hone_kernel_word(list, d, element_words(self->type.dtype));
    hone_kernel_word(list, d, value[0]);
    hone_kernel_word(list, d, value[1]);
    hone_move_strides(&index->type, strides);
    hone_kernel_word(list, d, rank > 0 ? index->type.dims[dim] : 1);
    hone_kernel_word(list, d, rank > 0 ? strides[dim] : 1);
    hone_kernel_word(list, d, each);
    hone_kernel_word(list, d, words);
    add_dims(list, d, out->type.dims, rank);
}

// --- index_add -------------------------------------------------------------------------------------------------------
void hone_kernel_index_add(hone_kernel_list *list, const hone_index_add *sum) {
    const int64_t count = hone_type_elements(&sum->indices->type), elements = hone_type_elements(&sum->source->type);
    const size_t bytes = count ? (size_t)count * 4 : 4;
    hone_kernel_dispatch *d =
        hone_kernel_add(list, "gather.index_links", hone_kernel_groups(count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, sum->indices);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind_scratch(list, d, (bytes / HONE_BUFFER_ALIGNMENT + 1) * HONE_BUFFER_ALIGNMENT, 4);
    hone_kernel_bind_flags(list, d);
    hone_kernel_word(list, d, count);
    hone_kernel_word(list, d, index_words(sum->indices));
    hone_kernel_word(list, d, sum->places);
    d = hone_kernel_add(list, "gather.index_sum", hone_kernel_groups(elements, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, sum->indices);
    hone_kernel_bind_scratch(list, d, 0, bytes);
    hone_kernel_bind(list, d, sum->source);
    hone_kernel_bind_flags(list, d);
    hone_kernel_bind(list, d, sum->out);
    const int64_t words[] = {elements, index_words(sum->indices), sum->places, count, sum->inner};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) hone_kernel_word(list, d, words[i]);
    hone_kernel_number(list, d, sum->factor);
    hone_kernel_word(list, d, sum->skipped);
}

static void index_add(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const int dim = dim_of(call, self->type.rank);
    hone_index_add sum = {.indices = hone_operand_tensor(call, 2),
                          .source = hone_operand_tensor(call, 3),
                          .out = &call->outputs[0],
                          .places = self->type.dims[dim],
                          .inner = 1,
                          .factor = call->operands[4].real,
                          .skipped = -1};
    for (int d = dim + 1; d < self->type.rank; d++) sum.inner *= self->type.dims[d];
    hone_kernels_copy[0].dispatch(call, list);
    hone_kernel_index_add(list, &sum);
}

HONE_PLAIN_KERNEL(gather, pick, false)
HONE_PLAIN_KERNEL(index_select, pick, true)
HONE_PLAIN_KERNEL(scatter_src, scatter, PUT_SOURCE)
HONE_PLAIN_KERNEL(scatter_value, scatter, PUT_VALUE)
HONE_PLAIN_KERNEL(scatter_add, scatter, ADD_SOURCE)
HONE_PLAIN_KERNEL_RULE(index_add, index_add)
