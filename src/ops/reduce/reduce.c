// SPDX-License-Identifier: Apache-2.0
// Sums and means over any set of dimensions, accumulated in double in an order that depends on shape alone.
#include "ops/op.h"
#include "ops/reduce/axes.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

typedef struct context {
    hone_reduction axes;
    const float *in;
    float *out;
    double *parts; // sums of blocks when there is one output
    double factor;
} context;

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
    const int outer = c->axes.reduced.rank > 0 ? c->axes.reduced.rank - 1 : 0;
    const int64_t run = c->axes.reduced.rank > 0 ? c->axes.reduced.dims[outer] : 1;
    const int64_t runs = run > 0 ? c->axes.reduced.count / run : 0;
    for (int64_t o = begin; o < end; o++) {
        const float *const base = c->in + hone_axes_offset(&c->axes.kept, c->axes.kept.rank, o);
        double sum = 0;
        for (int64_t r = 0; r < runs; r++) sum += sum_run(base + hone_axes_offset(&c->axes.reduced, outer, r), run);
        c->out[o] = (float)(sum * c->factor);
    }
}

enum { COLUMNS = 128 };

// The innermost dimension is kept: neighbouring outputs are summed together, row by row.
static void sum_columns(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const int last = c->axes.kept.rank - 1;
    for (int64_t o = begin; o < end;) {
        const int64_t place = o % c->axes.kept.dims[last], left = c->axes.kept.dims[last] - place;
        int64_t n = left < end - o ? left : end - o;
        if (n > COLUMNS) n = COLUMNS;
        const float *const base = c->in + hone_axes_offset(&c->axes.kept, c->axes.kept.rank, o);
        double sums[COLUMNS] = {0};
        for (int64_t r = 0; r < c->axes.reduced.count; r++)
            add_run(sums, base + hone_axes_offset(&c->axes.reduced, c->axes.reduced.rank, r), n);
        for (int64_t i = 0; i < n; i++) c->out[o + i] = (float)(sums[i] * c->factor);
        o += n;
    }
}

static void sum_block(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    c->parts[begin / HONE_BLOCK] = sum_run(c->in + begin, end - begin);
}

static void reduce(const hone_op_call *call, context *c, bool mean) {
    const int64_t each = c->axes.reduced.count > 0 ? c->axes.reduced.count : 1;
    c->factor = mean ? 1.0 / (double)c->axes.reduced.count : 1;
    if (hone_reduction_is_whole(&c->axes)) {
        double sum = 0;
        hone_call_elements(call, c->axes.reduced.count, sum_block, c);
        for (int64_t i = 0; i * HONE_BLOCK < c->axes.reduced.count; i++) sum += c->parts[i];
        c->out[0] = (float)(sum * c->factor);
    } else if (c->axes.inner_reduced) {
        hone_call_ranges(call, c->axes.kept.count, HONE_BLOCK / each + 1, sum_rows, c);
    } else {
        const int64_t grain = HONE_BLOCK / each + 1;
        hone_call_ranges(call, c->axes.kept.count, grain < COLUMNS ? COLUMNS : grain, sum_columns, c);
    }
}

// --- operators -------------------------------------------------------------------------------------------------------
enum { F32_CODE = 6, I32_CODE = 3 };

static bool is_whole_type(hone_dtype dtype) {
    return dtype == HONE_DTYPE_I32 || dtype == HONE_DTYPE_BOOL || dtype == HONE_DTYPE_U8;
}

// dims and keepdim at operands 1 and 2 when there are four of them, dtype last.
static hone_status infer(const hone_op_call *call, bool mean, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const bool has_dims = call->operand_count == 4, whole = is_whole_type(self->type.dtype);
    const hone_operand *const dtype = &call->operands[call->operand_count - 1];
    const int64_t code = dtype->kind == HONE_ARGUMENT_NONE ? (whole ? I32_CODE : F32_CODE) : dtype->integer;
    bool marked[HONE_MAX_RANK];
    if (mean || !whole) HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(code == F32_CODE || (whole && code == I32_CODE), "sums of %s are not made as ScalarType %lld",
                  hone_dtype_name(self->type.dtype), (long long)code);
    HONE_TRY(hone_reduction_dims(call, has_dims ? 1 : call->operand_count, &self->type, marked, error));
    call->outputs[0].type = hone_reduction_type(&self->type, marked, has_dims && call->operands[2].integer);
    call->outputs[0].type.dtype = code == F32_CODE ? HONE_DTYPE_F32 : HONE_DTYPE_I32;
    return HONE_OK;
}

static hone_status infer_sum(const hone_op_call *call, hone_error *error) {
    return infer(call, false, error);
}
static hone_status infer_mean(const hone_op_call *call, hone_error *error) {
    return infer(call, true, error);
}

static context resolve(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    context c = {.in = self->data, .out = call->outputs[0].data, .parts = call->workspace};
    bool marked[HONE_MAX_RANK] = {false};
    // The shape rule has checked the dimensions.
    if (hone_reduction_dims(call, call->operand_count == 4 ? 1 : call->operand_count, &self->type, marked, 0) ==
        HONE_OK)
        hone_reduction_split(&self->type, marked, &c.axes);
    return c;
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const context c = resolve(call);
    return (hone_cpu_needs){.workspace_bytes = hone_reduction_is_whole(&c.axes)
                                                   ? ((size_t)c.axes.reduced.count / HONE_BLOCK + 1) * sizeof(double)
                                                   : 0};
}

static void sum_cpu(const hone_op_call *call) {
    context c = resolve(call);
    if (is_whole_type(hone_operand_tensor(call, 0)->type.dtype))
        hone_sum_whole(call, &c.axes);
    else
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
    .summary = "sum over the dimensions dim; none means all; whole numbers and truths are summed as i32",
    .infer = infer_sum,
    .cpu = sum_cpu,
    .cpu_needs = needs,
    .gradient = sum_gradient,
    .gradient_text = "d_self = d repeated along the summed dimensions",
    .variants = hone_kernels_sum,
};
static const hone_op op_mean_dims = {
    .schema = "aten::mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .summary = "mean over the dimensions dim; none means all; NaN over no elements",
    .infer = infer_mean,
    .cpu = mean_cpu,
    .cpu_needs = needs,
    .gradient = mean_gradient,
    .gradient_text = "d_self = d / count repeated along the averaged dimensions",
    .variants = hone_kernels_mean,
};
static const hone_op op_sum = {
    .schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .summary = "sum of all elements, a scalar; whole numbers and truths are summed as i32",
    .infer = infer_sum,
    .cpu = sum_cpu,
    .cpu_needs = needs,
    .gradient = sum_all_gradient,
    .gradient_text = "d_self = d repeated",
    .variants = hone_kernels_sum,
};
static const hone_op op_mean = {
    .schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .summary = "mean of all elements, a scalar; NaN over no elements",
    .infer = infer_mean,
    .cpu = mean_cpu,
    .cpu_needs = needs,
    .gradient = mean_all_gradient,
    .gradient_text = "d_self = d / count repeated",
    .variants = hone_kernels_mean,
};

const hone_op *const hone_ops_reduce[] = {&op_sum_dims,  &op_mean_dims,   &op_sum,         &op_mean, &hone_op_amax,
                                          &hone_op_amin, &hone_op_argmax, &hone_op_argmin, 0};
