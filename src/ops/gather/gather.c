// SPDX-License-Identifier: Apache-2.0
// Elements picked by index along a dimension, and the sums that are their gradients.
//
// gather:       out[.., i, ..] = self[.., index[.., i, ..], ..]       scatter_add is its transpose
// index_select: out[.., i, ..] = self[.., index[i], ..]               index_add is its transpose
// An index outside the dimension is clamped and flagged.
#include "ops/gather/gather.h"

#include <string.h>

#include "ops/op.h"
#include "ops/shared/parallel.h"

typedef struct context {
    const hone_op_call *call;
    char *out;
    const char *in;
    const hone_tensor *index;
    size_t element;
    int dim;
    hone_tensor_type small, large;         // the side that has the index's places, and the side that is indexed
    int64_t strides[HONE_MAX_RANK];        // of the large side
    int64_t small_step, large_step, inner; // along dim; inner: elements below it on the large side
    int64_t count;                         // places along dim on the small side
    float alpha;
} context;

static int64_t index_at(const context *c, int64_t i) {
    const int64_t index = c->index->type.dtype == HONE_DTYPE_I64 ? ((const int64_t *)c->index->data)[i]
                                                                 : ((const int32_t *)c->index->data)[i];
    return hone_call_index(c->call, index, c->large.rank > 0 ? c->large.dims[c->dim] : 1);
}

static void set_sides(context *c, const hone_tensor_type *small, const hone_tensor_type *large, int dim) {
    int64_t step = 1;
    c->small = *small;
    c->large = *large;
    c->dim = dim;
    c->small_step = 1;
    for (int d = large->rank - 1; d >= 0; d--) {
        c->strides[d] = step;
        step *= large->dims[d];
        if (d > dim) c->small_step *= small->dims[d];
    }
    c->large_step = c->inner = large->rank > 0 ? c->strides[dim] : 1;
    c->count = small->rank > 0 ? small->dims[dim] : 1;
}

static hone_status check_index(const hone_op_call *call, size_t at, hone_error *error) {
    const hone_tensor *const index = hone_operand_tensor(call, at);
    HONE_OP_CHECK(index->type.dtype == HONE_DTYPE_I32 || index->type.dtype == HONE_DTYPE_I64,
                  "index must be i32 or i64, not %s", hone_op_type_text(index));
    return HONE_OK;
}

static int dim_of(const hone_op_call *call, int rank) {
    const int64_t dim = call->operands[1].integer;
    return (int)(dim < 0 && rank > 0 ? dim + rank : dim < 0 ? 0 : dim);
}

// --- gather and scatter_add ------------------------------------------------------------------------------------------
// A line runs along dim; first elements of line `number` on both sides.
static void line_start(const context *c, int64_t number, int64_t *small, int64_t *large) {
    *large = 0;
    *small = number / c->small_step * c->small_step * c->count + number % c->small_step;
    for (int d = c->small.rank - 1; d >= 0; d--) {
        if (d == c->dim) continue;
        *large += number % c->small.dims[d] * c->strides[d];
        number /= c->small.dims[d];
    }
}

static void gather_lines(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t line = begin; line < end; line++) {
        int64_t small, large;
        line_start(c, line, &small, &large);
        for (int64_t i = 0; i < c->count; i++, small += c->small_step)
            memcpy(c->out + (size_t)small * c->element,
                   c->in + (size_t)(large + index_at(c, small) * c->large_step) * c->element, c->element);
    }
}

static void scatter_lines(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t line = begin; line < end; line++) {
        int64_t small, large;
        line_start(c, line, &small, &large);
        for (int64_t i = 0; i < c->count; i++, small += c->small_step)
            ((float *)c->out)[large + index_at(c, small) * c->large_step] += ((const float *)c->in)[small];
    }
}

// self at 0, dim at 1, index at 2: every place of index must exist in self but along dim.
static hone_status gather_check(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    int dim;
    HONE_TRY(check_index(call, 2, error));
    HONE_TRY(hone_op_dim(call, call->operands[1].integer, self->type.rank, &dim, error));
    bool fits = self->type.rank == index->type.rank;
    for (int d = 0; d < self->type.rank && fits; d++)
        fits = d == dim ? self->type.dims[d] > 0 || hone_type_elements(&index->type) == 0
                        : index->type.dims[d] <= self->type.dims[d];
    HONE_OP_CHECK(fits, "index %s does not fit self %s in dimension %d", hone_op_type_text(index),
                  hone_op_type_text(self), dim);
    return HONE_OK;
}

static hone_status gather_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(gather_check(call, error));
    call->outputs[0].type = hone_operand_tensor(call, 2)->type;
    call->outputs[0].type.dtype = hone_operand_tensor(call, 0)->type.dtype;
    return HONE_OK;
}

static hone_status scatter_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const index = hone_operand_tensor(call, 2), *const source = hone_operand_tensor(call, 3);
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 3, HONE_DTYPE_F32, error));
    HONE_TRY(gather_check(call, error));
    HONE_OP_CHECK(hone_shape_equal(&index->type, &source->type), "src %s must have the shape of index %s",
                  hone_op_type_text(source), hone_op_type_text(index));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

static void copy_self(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const size_t bytes = hone_type_bytes(&self->type);
    if (bytes > 0 && self->data != call->outputs[0].data) memcpy(call->outputs[0].data, self->data, bytes);
}

static void run_lines(const hone_op_call *call, hone_range_task *task, const char *in) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    context c = {.call = call,
                 .out = call->outputs[0].data,
                 .in = in,
                 .index = index,
                 .element = hone_dtype_bytes(self->type.dtype)};
    set_sides(&c, &index->type, &self->type, dim_of(call, self->type.rank));
    const int64_t elements = hone_type_elements(&index->type);
    if (elements > 0) hone_call_rows(call, elements / c.count, c.count, task, &c);
}

static void gather_cpu(const hone_op_call *call) {
    run_lines(call, gather_lines, hone_operand_tensor(call, 0)->data);
}

static void scatter_cpu(const hone_op_call *call) {
    copy_self(call);
    run_lines(call, scatter_lines, hone_operand_tensor(call, 3)->data);
}

// --- index_select and index_add --------------------------------------------------------------------------------------
// Rows are what lies below dim; row r of the small side is (r / count, r % count).
static void select_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const size_t bytes = (size_t)c->inner * c->element;
    for (int64_t row = begin; row < end; row++) {
        const int64_t from = row / c->count * c->large.dims[c->dim] + index_at(c, row % c->count);
        memcpy(c->out + (size_t)row * bytes, c->in + (size_t)from * bytes, bytes);
    }
}

enum { COLUMN_BLOCK = 64 };

// A range of columns of all rows, so that rows with one index are added in order by one task.
static void add_columns(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const int64_t outer = hone_type_elements(&c->small) / (c->count * c->inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < c->count; i++) {
            float *const out = (float *)c->out + (o * c->large.dims[c->dim] + index_at(c, i)) * c->inner;
            const float *const in = (const float *)c->in + (o * c->count + i) * c->inner;
            for (int64_t j = begin; j < end; j++) out[j] += c->alpha * in[j];
        }
}

static hone_status select_check(const hone_op_call *call, int *dim, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    HONE_TRY(check_index(call, 2, error));
    HONE_OP_CHECK(self->type.rank > 0 && index->type.rank <= 1, "index %s must be a vector of places in self %s",
                  hone_op_type_text(index), hone_op_type_text(self));
    HONE_TRY(hone_op_dim(call, call->operands[1].integer, self->type.rank, dim, error));
    HONE_OP_CHECK(self->type.dims[*dim] > 0 || hone_type_elements(&index->type) == 0, "self %s has nothing to select",
                  hone_op_type_text(self));
    return HONE_OK;
}

static hone_status select_infer(const hone_op_call *call, hone_error *error) {
    int dim;
    HONE_TRY(select_check(call, &dim, error));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    call->outputs[0].type.dims[dim] = hone_type_elements(&hone_operand_tensor(call, 2)->type);
    return HONE_OK;
}

static hone_status add_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const source = hone_operand_tensor(call, 3);
    int dim;
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 3, HONE_DTYPE_F32, error));
    HONE_TRY(select_check(call, &dim, error));
    hone_tensor_type wanted = self->type;
    wanted.dims[dim] = hone_type_elements(&hone_operand_tensor(call, 2)->type);
    HONE_OP_CHECK(hone_shape_equal(&wanted, &source->type), "source %s does not fit index %s and self %s",
                  hone_op_type_text(source), hone_op_type_text(hone_operand_tensor(call, 2)), hone_op_type_text(self));
    call->outputs[0].type = self->type;
    return HONE_OK;
}

static void select_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    context c = {.call = call,
                 .out = out->data,
                 .in = self->data,
                 .index = hone_operand_tensor(call, 2),
                 .element = hone_dtype_bytes(self->type.dtype)};
    set_sides(&c, &out->type, &self->type, dim_of(call, self->type.rank));
    const int64_t elements = hone_type_elements(&out->type);
    if (elements > 0) hone_call_rows(call, elements / c.inner, c.inner, select_rows, &c);
}

static void add_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const source = hone_operand_tensor(call, 3);
    context c = {.call = call,
                 .out = call->outputs[0].data,
                 .in = source->data,
                 .index = hone_operand_tensor(call, 2),
                 .element = sizeof(float),
                 .alpha = (float)call->operands[4].real};
    copy_self(call);
    set_sides(&c, &source->type, &self->type, dim_of(call, self->type.rank));
    if (hone_type_elements(&source->type) > 0) hone_call_ranges(call, c.inner, COLUMN_BLOCK, add_columns, &c);
}

// --- gradients -------------------------------------------------------------------------------------------------------
static hone_value zeros_like_self(const hone_gradient_call *call) {
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    return hone_emit(call->graph, "aten::full", HONE_IS(self.dims, (size_t)self.rank), HONE_R(0));
}

static hone_status gather_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::scatter_add", HONE_T(zeros_like_self(call)), *hone_node_argument(call->node, 1),
                  HONE_T(hone_grad_in(call, 1)), HONE_T(hone_grad_out(call, 0)));
    return HONE_OK;
}

static hone_status select_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::index_add", HONE_T(zeros_like_self(call)), *hone_node_argument(call->node, 1),
                  HONE_T(hone_grad_in(call, 1)), HONE_T(hone_grad_out(call, 0)));
    return HONE_OK;
}

static hone_status scatter_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0]) call->input_gradients[0] = hone_grad_out(call, 0);
    if (call->wanted[2])
        call->input_gradients[2] = hone_emit(call->graph, "aten::gather", HONE_T(hone_grad_out(call, 0)),
                                             *hone_node_argument(call->node, 1), HONE_T(hone_grad_in(call, 1)));
    return HONE_OK;
}

static hone_status add_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0]) call->input_gradients[0] = hone_grad_out(call, 0);
    if (!call->wanted[2]) return HONE_OK;
    const hone_value picked = hone_emit(call->graph, "aten::index_select", HONE_T(hone_grad_out(call, 0)),
                                        *hone_node_argument(call->node, 1), HONE_T(hone_grad_in(call, 1)));
    call->input_gradients[2] =
        hone_emit(call->graph, "aten::mul.Scalar", HONE_T(picked), *hone_node_argument(call->node, 4));
    return HONE_OK;
}

static const hone_op op_gather = {
    .schema = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    .summary = "self[.., index[.., i, ..], ..] along dim; indices outside are clamped and flagged",
    .infer = gather_infer,
    .cpu = gather_cpu,
    .variants = hone_kernels_gather,
    .gradient = gather_gradient,
    .gradient_text = "d added up where it was taken from, by aten::scatter_add",
};
static const hone_op op_scatter_add = {
    .schema = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .summary = "self with src added at index along dim, in the order of src",
    .flags = HONE_OP_IN_PLACE,
    .infer = scatter_infer,
    .cpu = scatter_cpu,
    .variants = hone_kernels_scatter_add,
    .gradient = scatter_gradient,
    .gradient_text = "d for self, d gathered at index for src",
};
static const hone_op op_index_select = {
    .schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
    .summary = "the places index of self along dim; those outside are clamped and flagged",
    .infer = select_infer,
    .cpu = select_cpu,
    .variants = hone_kernels_index_select,
    .gradient = select_gradient,
    .gradient_text = "d added up where it was taken from, by aten::index_add",
};
static const hone_op op_index_add = {
    .schema = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    .summary = "self with alpha * source added at the places index along dim, in the order of index",
    .flags = HONE_OP_IN_PLACE,
    .infer = add_infer,
    .cpu = add_cpu,
    .variants = hone_kernels_index_add,
    .gradient = add_gradient,
    .gradient_text = "d for self, alpha * d at index for source",
};

const hone_op *const hone_ops_gather[] = {&op_gather,           &op_scatter_add,
                                          &op_index_select,     &op_index_add,
                                          &hone_op_rows_gather, &hone_op_rows_scatter,
                                          &hone_op_zero,        &hone_op_scatter_value,
                                          &hone_op_scatter_src, 0};
