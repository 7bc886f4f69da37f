// SPDX-License-Identifier: Apache-2.0
// Sums and means over any set of dimensions, accumulated in double in an order that depends on shape alone.
#include "ops/op.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

// Dimensions of one kind, outermost first; neighbours are merged.
typedef struct axes {
    int rank;
    int64_t dims[HONE_MAX_RANK], strides[HONE_MAX_RANK], count;
} axes;

typedef struct context {
    axes kept, reduced;
    bool inner_reduced; // the reduced dimensions hold the innermost one
    const float *in;
    float *out;
    double *parts; // sums of blocks when there is one output
    double factor;
} context;

// --- which dimensions ------------------------------------------------------------------------------------------------
// Marks the dimensions that operand `at` names; none or an empty list means all.
static hone_status marked_dims(const hone_op_call *call, size_t at, const hone_tensor_type *self, bool *marked,
                               hone_error *error) {
    const hone_operand *const dims = at < call->operand_count ? &call->operands[at] : 0;
    const bool all = !dims || dims->kind != HONE_ARGUMENT_INTEGERS || dims->count == 0;
    for (int d = 0; d < HONE_MAX_RANK; d++) marked[d] = all && d < self->rank;
    for (size_t i = 0; !all && i < dims->count; i++) {
        int dim;
        HONE_TRY(hone_op_dim(call, dims->integers[i], self->rank, &dim, error));
        HONE_OP_CHECK(!marked[dim], "dimension %d is named twice", dim);
        marked[dim] = self->rank > 0;
    }
    return HONE_OK;
}

static void push(axes *list, int64_t size, int64_t stride) {
    list->count *= size;
    if (size == 1) return;
    const int last = list->rank - 1;
    if (last >= 0 && list->strides[last] == stride * size) {
        list->dims[last] *= size;
        list->strides[last] = stride;
        return;
    }
    list->dims[list->rank] = size;
    list->strides[list->rank++] = stride;
}

static void split_axes(const hone_tensor_type *self, const bool *marked, context *c) {
    int64_t strides[HONE_MAX_RANK], step = 1;
    for (int d = self->rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= self->dims[d];
    }
    c->kept = c->reduced = (axes){.count = 1};
    c->inner_reduced = true;
    for (int d = 0; d < self->rank; d++) {
        push(marked[d] ? &c->reduced : &c->kept, self->dims[d], strides[d]);
        if (self->dims[d] != 1) c->inner_reduced = marked[d];
    }
}

// Offset of element `index` in the order of the axes' dimensions.
static int64_t offset_of(const axes *list, int rank, int64_t index) {
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0; d--) {
        offset += index % list->dims[d] * list->strides[d];
        index /= list->dims[d];
    }
    return offset;
}

// --- sums ------------------------------------------------------------------------------------------------------------
HONE_VECTOR static double sum_run(const float *x, int64_t n) {
    return hone_sum_floats(x, n);
}

HONE_VECTOR static void add_run(double *sums, const float *x, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) sums[i] += x[i];
}

// The innermost dimension is summed: each output is the sum of runs.
static void sum_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const int outer = c->reduced.rank > 0 ? c->reduced.rank - 1 : 0;
    const int64_t run = c->reduced.rank > 0 ? c->reduced.dims[outer] : 1;
    const int64_t runs = run > 0 ? c->reduced.count / run : 0;
    for (int64_t o = begin; o < end; o++) {
        const float *const base = c->in + offset_of(&c->kept, c->kept.rank, o);
        double sum = 0;
        for (int64_t r = 0; r < runs; r++) sum += sum_run(base + offset_of(&c->reduced, outer, r), run);
        c->out[o] = (float)(sum * c->factor);
    }
}

enum { COLUMNS = 128 };

// The innermost dimension is kept: neighbouring outputs are summed together, row by row.
static void sum_columns(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const int last = c->kept.rank - 1;
    for (int64_t o = begin; o < end;) {
        const int64_t place = o % c->kept.dims[last], left = c->kept.dims[last] - place;
        int64_t n = left < end - o ? left : end - o;
        if (n > COLUMNS) n = COLUMNS;
        const float *const base = c->in + offset_of(&c->kept, c->kept.rank, o);
        double sums[COLUMNS] = {0};
        for (int64_t r = 0; r < c->reduced.count; r++)
            add_run(sums, base + offset_of(&c->reduced, c->reduced.rank, r), n);
        for (int64_t i = 0; i < n; i++) c->out[o + i] = (float)(sums[i] * c->factor);
        o += n;
    }
}

static void sum_block(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    c->parts[begin / HONE_BLOCK] = sum_run(c->in + begin, end - begin);
}

static bool is_whole(const context *c) {
    return c->kept.count == 1 && c->reduced.rank <= 1;
}

static void reduce(const hone_op_call *call, context *c, bool mean) {
    const int64_t each = c->reduced.count > 0 ? c->reduced.count : 1;
    c->factor = mean ? 1.0 / (double)c->reduced.count : 1;
    if (is_whole(c)) {
        double sum = 0;
        hone_call_elements(call, c->reduced.count, sum_block, c);
        for (int64_t i = 0; i * HONE_BLOCK < c->reduced.count; i++) sum += c->parts[i];
        c->out[0] = (float)(sum * c->factor);
    } else if (c->inner_reduced) {
        hone_call_ranges(call, c->kept.count, HONE_BLOCK / each + 1, sum_rows, c);
    } else {
        const int64_t grain = HONE_BLOCK / each + 1;
        hone_call_ranges(call, c->kept.count, grain < COLUMNS ? COLUMNS : grain, sum_columns, c);
    }
}

// --- operators -------------------------------------------------------------------------------------------------------
// dims and keepdim at operands 1 and 2 when `has_dims`, dtype last.
static hone_status infer(const hone_op_call *call, bool has_dims, hone_error *error) {
    const hone_tensor_type self = hone_operand_tensor(call, 0)->type;
    const hone_operand *const dtype = &call->operands[call->operand_count - 1];
    bool marked[HONE_MAX_RANK];
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(dtype->kind == HONE_ARGUMENT_NONE || dtype->integer == 6, "only sums in f32 are supported");
    HONE_TRY(marked_dims(call, has_dims ? 1 : call->operand_count, &self, marked, error));
    hone_tensor_type out = {.dtype = HONE_DTYPE_F32};
    for (int d = 0; d < self.rank; d++)
        if (!marked[d])
            out.dims[out.rank++] = self.dims[d];
        else if (has_dims && call->operands[2].integer)
            out.dims[out.rank++] = 1;
    call->outputs[0].type = out;
    return HONE_OK;
}

static hone_status infer_dims(const hone_op_call *call, hone_error *error) {
    return infer(call, true, error);
}
static hone_status infer_all(const hone_op_call *call, hone_error *error) {
    return infer(call, false, error);
}

static context resolve(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    context c = {.in = self->data, .out = call->outputs[0].data, .parts = call->workspace};
    bool marked[HONE_MAX_RANK] = {false};
    // The shape rule has checked the dimensions.
    if (marked_dims(call, call->operand_count == 4 ? 1 : call->operand_count, &self->type, marked, 0) == HONE_OK)
        split_axes(&self->type, marked, &c);
    return c;
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const context c = resolve(call);
    return (hone_cpu_needs){.workspace_bytes =
                                is_whole(&c) ? ((size_t)c.reduced.count / HONE_BLOCK + 1) * sizeof(double) : 0};
}

static void sum_cpu(const hone_op_call *call) {
    context c = resolve(call);
    reduce(call, &c, false);
}

static void mean_cpu(const hone_op_call *call) {
    context c = resolve(call);
    reduce(call, &c, true);
}

// d with the reduced dimensions as 1, repeated to the shape of self; *count is what was reduced to one.
static hone_value spread(const hone_gradient_call *call, bool has_dims, int64_t *count) {
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    const hone_argument *const dims = has_dims ? hone_node_argument(call->node, 1) : 0;
    const bool all = !dims || dims->kind != HONE_ARGUMENT_INTEGERS || dims->count == 0;
    int64_t shape[HONE_MAX_RANK];
    *count = 1;
    for (int d = 0; d < self.rank; d++) {
        bool reduced = all;
        for (size_t i = 0; !all && i < dims->count; i++)
            reduced = reduced || dims->integers[i] == d || dims->integers[i] + self.rank == d;
        shape[d] = reduced ? 1 : self.dims[d];
        if (reduced) *count *= self.dims[d];
    }
    const hone_value kept =
        hone_emit(call->graph, "aten::view_copy", HONE_T(hone_grad_out(call, 0)), HONE_IS(shape, (size_t)self.rank));
    return hone_emit(call->graph, "aten::expand_copy", HONE_T(kept), HONE_IS(self.dims, (size_t)self.rank));
}

static hone_status sum_gradient(const hone_gradient_call *call, hone_error *error) {
    int64_t count;
    (void)error;
    call->input_gradients[0] = spread(call, true, &count);
    return HONE_OK;
}

static hone_status sum_all_gradient(const hone_gradient_call *call, hone_error *error) {
    int64_t count;
    (void)error;
    call->input_gradients[0] = spread(call, false, &count);
    return HONE_OK;
}

static void set_mean_gradient(const hone_gradient_call *call, bool has_dims) {
    int64_t count;
    const hone_value wide = spread(call, has_dims, &count);
    call->input_gradients[0] = hone_emit(call->graph, "aten::div.Scalar", HONE_T(wide), HONE_R((double)count));
}

static hone_status mean_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    set_mean_gradient(call, true);
    return HONE_OK;
}

static hone_status mean_all_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    set_mean_gradient(call, false);
    return HONE_OK;
}

static const hone_op op_sum_dims = {
    .schema = "aten::sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .summary = "sum over the dimensions dim; none means all",
    .infer = infer_dims,
    .cpu = sum_cpu,
    .cpu_needs = needs,
    .gradient = sum_gradient,
    .gradient_text = "d_self = d repeated along the summed dimensions",
};
static const hone_op op_mean_dims = {
    .schema = "aten::mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .summary = "mean over the dimensions dim; none means all; NaN over no elements",
    .infer = infer_dims,
    .cpu = mean_cpu,
    .cpu_needs = needs,
    .gradient = mean_gradient,
    .gradient_text = "d_self = d / count repeated along the averaged dimensions",
};
static const hone_op op_sum = {
    .schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .summary = "sum of all elements, a scalar",
    .infer = infer_all,
    .cpu = sum_cpu,
    .cpu_needs = needs,
    .gradient = sum_all_gradient,
    .gradient_text = "d_self = d repeated",
};
static const hone_op op_mean = {
    .schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .summary = "mean of all elements, a scalar; NaN over no elements",
    .infer = infer_all,
    .cpu = mean_cpu,
    .cpu_needs = needs,
    .gradient = mean_all_gradient,
    .gradient_text = "d_self = d / count repeated",
};

const hone_op *const hone_ops_reduce[] = {&op_sum_dims, &op_mean_dims, &op_sum, &op_mean, 0};
