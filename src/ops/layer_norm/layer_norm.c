// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the last dimensions, and its gradients.
//
// input [.., normalized_shape], a row its last dimensions, D their elements; r = 1 / sqrt(mean((x - mean)^2) + eps):
//   y        = n * weight + bias,  n = (x - mean) * r
//   d_x      = r * (g - mean(g) - n * mean(g * n)),  g = weight * d
//   d_weight = sum over rows of d * n,  d_bias = sum over rows of d
// Mean and deviation are taken in double, in two passes: rows of 1e30, or of large numbers that differ little, lose nothing.
// The gradients take them from x again, as the f32 outputs mean and rstd have lost that precision.
#include <math.h>

#include "ops/layer_norm/layer_norm.h"
#include "ops/op.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

typedef struct statistics {
    double mean, scale;
} statistics;

typedef struct context {
    float *out, *mean, *rstd;
    const float *d_out, *x, *weight, *bias; // weight and bias may be NULL
    statistics *of_rows;
    int64_t rows, columns;
    double eps;
} context;

HONE_VECTOR static statistics row_statistics(const float *x, int64_t n, double eps) {
    const double mean = hone_sum_floats(x, n) / (double)n;
    hone_f64x8 lanes = {0};
    double rest = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const hone_f64x8 v = __builtin_convertvector(*(const hone_f32x8 *)(x + i), hone_f64x8) - mean;
        lanes += v * v;
    }
    for (; i < n; i++) rest += (x[i] - mean) * (x[i] - mean);
    return (statistics){mean, 1.0 / sqrt((hone_sum_f64x8(&lanes) + rest) / (double)n + eps)};
}

// --- forward ---------------------------------------------------------------------------------------------------------
HONE_VECTOR static void normalise(float *out, const float *x, const float *weight, const float *bias, int64_t n,
                                  statistics s) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = (float)((x[i] - s.mean) * s.scale);
    if (weight) {
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] *= weight[i];
    }
    if (bias) {
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] += bias[i];
    }
}

static void forward_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++) {
        const float *const x = c->x + row * c->columns;
        const statistics s = row_statistics(x, c->columns, c->eps);
        normalise(c->out + row * c->columns, x, c->weight, c->bias, c->columns, s);
        c->mean[row] = (float)s.mean;
        c->rstd[row] = (float)s.scale;
    }
}

// x at operand `at`, normalized_shape at `shape`: the last dimensions of x must be those.
static hone_status check_shape(const hone_op_call *call, size_t at, size_t shape, hone_error *error) {
    const hone_tensor *const x = hone_operand_tensor(call, at);
    const hone_operand *const last = &call->operands[shape];
    HONE_TRY(hone_op_want_dtype(call, at, HONE_DTYPE_F32, error));
    bool fits = last->count >= 1 && last->count <= (size_t)x->type.rank;
    for (size_t i = 0; i < last->count && fits; i++)
        fits = last->integers[i] == x->type.dims[(size_t)x->type.rank - last->count + i];
    HONE_OP_CHECK(fits, "normalized_shape must be the last dimensions of %s", hone_op_type_text(x));
    return HONE_OK;
}

// An optional operand in the shape of a row.
static hone_status check_row(const hone_op_call *call, size_t at, size_t shape, hone_error *error) {
    const hone_tensor *const row = hone_operand_tensor(call, at);
    const hone_operand *const last = &call->operands[shape];
    if (!row) return HONE_OK;
    HONE_TRY(hone_op_want_dtype(call, at, HONE_DTYPE_F32, error));
    bool fits = row->type.rank == (int)last->count;
    for (size_t i = 0; i < last->count && fits; i++) fits = row->type.dims[i] == last->integers[i];
    HONE_OP_CHECK(fits, "%s must have the shape normalized_shape", hone_op_type_text(row));
    return HONE_OK;
}

static hone_status norm_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_shape(call, 0, 1, error));
    HONE_TRY(check_row(call, 2, 1, error));
    HONE_TRY(check_row(call, 3, 1, error));
    const hone_tensor_type x = hone_operand_tensor(call, 0)->type;
    hone_tensor_type row = x;
    for (size_t i = 0; i < call->operands[1].count; i++) row.dims[row.rank - 1 - (int)i] = 1;
    call->outputs[0].type = x;
    call->outputs[1].type = call->outputs[2].type = row;
    return HONE_OK;
}

static context context_of(const hone_op_call *call, size_t x, size_t shape, size_t eps) {
    const hone_tensor *const tensor = hone_operand_tensor(call, x);
    context c = {.out = call->outputs[0].data,
                 .x = tensor->data,
                 .of_rows = call->workspace,
                 .columns = 1,
                 .eps = call->operands[eps].real,
                 .rows = 1};
    const int split = tensor->type.rank - (int)call->operands[shape].count;
    for (int d = 0; d < tensor->type.rank; d++) *(d < split ? &c.rows : &c.columns) *= tensor->type.dims[d];
    return c;
}

static void norm_cpu(const hone_op_call *call) {
    context c = context_of(call, 0, 1, 4);
    c.mean = call->outputs[1].data;
    c.rstd = call->outputs[2].data;
    c.weight = hone_operand_floats(call, 2);
    c.bias = hone_operand_floats(call, 3);
    hone_call_rows(call, c.rows, c.columns, forward_rows, &c);
}

static hone_status norm_gradient(const hone_gradient_call *call, hone_error *error) {
    hone_graph *const graph = call->graph;
    const hone_value d = hone_grad_out(call, 0), x = hone_grad_in(call, 0), weight = hone_grad_in(call, 1);
    const hone_argument shape = *hone_node_argument(call->node, 1), eps = *hone_node_argument(call->node, 4);
    if (hone_grad_out(call, 1).id || hone_grad_out(call, 2).id)
        HONE_FAIL(error, UNSUPPORTED, "aten::native_layer_norm: mean and rstd have no gradient");
    if (call->wanted[0])
        call->input_gradients[0] = hone_emit(graph, "hone::layer_norm_backward", HONE_T(d), HONE_T(x), shape,
                                             weight.id ? HONE_T(weight) : HONE_NO, eps);
    if (call->wanted[1])
        call->input_gradients[1] =
            hone_emit(graph, "hone::layer_norm_weight_backward", HONE_T(d), HONE_T(x), shape, eps);
    if (!call->wanted[2]) return HONE_OK;
    const int64_t leading = hone_graph_type(graph, d)->rank - (int64_t)shape.count;
    int64_t dims[HONE_MAX_RANK];
    for (int64_t i = 0; i < leading; i++) dims[i] = i;
    call->input_gradients[2] =
        leading > 0 ? hone_emit(graph, "aten::sum.dim_IntList", HONE_T(d), HONE_IS(dims, (size_t)leading)) : d;
    return HONE_OK;
}

// --- d_x -------------------------------------------------------------------------------------------------------------
HONE_VECTOR static void backward_row(float *d_x, const float *d_out, const float *x, const float *weight, int64_t n,
                                     statistics s) {
    hone_f64x8 sums = {0}, products = {0};
    double sum = 0, product = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        hone_f64x8 g = __builtin_convertvector(*(const hone_f32x8 *)(d_out + i), hone_f64x8);
        if (weight) g *= __builtin_convertvector(*(const hone_f32x8 *)(weight + i), hone_f64x8);
        sums += g;
        products += g * (__builtin_convertvector(*(const hone_f32x8 *)(x + i), hone_f64x8) - s.mean);
    }
    for (; i < n; i++) {
        const double g = weight ? (double)d_out[i] * weight[i] : d_out[i];
        sum += g;
        product += g * (x[i] - s.mean);
    }
    const double mean_g = (hone_sum_f64x8(&sums) + sum) / (double)n;
    const double slope = (hone_sum_f64x8(&products) + product) / (double)n * s.scale * s.scale;
    HONE_INDEPENDENT for (int64_t j = 0; j < n; j++) {
        const double g = weight ? (double)d_out[j] * weight[j] : d_out[j];
        d_x[j] = (float)(s.scale * (g - mean_g - (x[j] - s.mean) * slope));
    }
}

static void backward_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = row * c->columns;
        const statistics s = row_statistics(c->x + at, c->columns, c->eps);
        backward_row(c->out + at, c->d_out + at, c->x + at, c->weight, c->columns, s);
    }
}

static hone_status check_d_out(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_shape(call, 1, 2, error));
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_shape_equal(&hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type),
                  "d_out %s must have the shape of input %s", hone_op_type_text(hone_operand_tensor(call, 0)),
                  hone_op_type_text(hone_operand_tensor(call, 1)));
    return HONE_OK;
}

static hone_status backward_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_d_out(call, error));
    HONE_TRY(check_row(call, 3, 2, error));
    call->outputs[0].type = hone_operand_tensor(call, 1)->type;
    return HONE_OK;
}

static void backward_cpu(const hone_op_call *call) {
    context c = context_of(call, 1, 2, 4);
    c.d_out = hone_operand_floats(call, 0);
    c.weight = hone_operand_floats(call, 3);
    hone_call_rows(call, c.rows, c.columns, backward_rows, &c);
}

// --- d_weight --------------------------------------------------------------------------------------------------------
static void statistics_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++)
        c->of_rows[row] = row_statistics(c->x + row * c->columns, c->columns, c->eps);
}

enum { COLUMN_BLOCK = 64 }; // columns that one task sums over all rows, in the order of the rows

HONE_VECTOR static void weight_columns(const context *c, int64_t begin, int64_t end) {
    double sums[COLUMN_BLOCK] = {0};
    const int64_t n = end - begin;
    for (int64_t row = 0; row < c->rows; row++) {
        const float *const d = c->d_out + row * c->columns + begin, *const x = c->x + row * c->columns + begin;
        const statistics s = c->of_rows[row];
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) sums[i] += d[i] * ((x[i] - s.mean) * s.scale);
    }
    for (int64_t i = 0; i < n; i++) c->out[begin + i] = (float)sums[i];
}

static void weight_range(void *opaque, int64_t begin, int64_t end) {
    weight_columns(opaque, begin, end);
}

static hone_status weight_backward_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_d_out(call, error));
    call->outputs[0].type = hone_type_of(HONE_DTYPE_F32, (int)call->operands[2].count, call->operands[2].integers);
    return HONE_OK;
}

static hone_cpu_needs weight_backward_needs(const hone_op_call *call) {
    return (hone_cpu_needs){.workspace_bytes = (size_t)context_of(call, 1, 2, 3).rows * sizeof(statistics)};
}

static void weight_backward_cpu(const hone_op_call *call) {
    context c = context_of(call, 1, 2, 3);
    c.d_out = hone_operand_floats(call, 0);
    hone_call_rows(call, c.rows, c.columns, statistics_rows, &c);
    hone_call_ranges(call, c.columns, COLUMN_BLOCK, weight_range, &c);
}

static const hone_op op_layer_norm = {
    .schema = "aten::native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) "
              "-> (Tensor, Tensor, Tensor)",
    .summary =
        "(x - mean) * rstd * weight + bias over the last dimensions, rstd = 1 / sqrt(variance + eps); mean; rstd",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = norm_infer,
    .cpu = norm_cpu,
    .variants = hone_kernels_layer_norm,
    .gradient = norm_gradient,
    .gradient_text = "d_input by hone::layer_norm_backward, d_weight by hone::layer_norm_weight_backward, d_bias = d "
                     "summed over rows; mean and rstd have none",
};
static const hone_op op_layer_norm_backward = {
    .schema =
        "hone::layer_norm_backward(Tensor d_out, Tensor input, int[] normalized_shape, Tensor? weight, float eps) "
        "-> Tensor",
    .summary = "rstd * (g - mean(g) - n * mean(g * n)), g = weight * d_out, n = (input - mean) * rstd",
    .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = backward_infer,
    .cpu = backward_cpu,
    .variants = hone_kernels_layer_norm_backward,
};
static const hone_op op_layer_norm_weight_backward = {
    .schema =
        "hone::layer_norm_weight_backward(Tensor d_out, Tensor input, int[] normalized_shape, float eps) -> Tensor",
    .summary = "sum over rows of d_out * (input - mean) * rstd",
    .infer = weight_backward_infer,
    .cpu = weight_backward_cpu,
    .variants = hone_kernels_layer_norm_weight_backward,
    .cpu_needs = weight_backward_needs,
};

const hone_op *const hone_ops_layer_norm[] = {&op_layer_norm, &op_layer_norm_backward, &op_layer_norm_weight_backward,
                                              0};
