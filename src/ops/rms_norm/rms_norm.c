// SPDX-License-Identifier: Apache-2.0
// Root-mean-square normalisation of rows, and its gradients.
//
// x [.., D], weight [D], r = 1 / sqrt(mean(x^2) + eps) for each row:
//   out       = x * r * weight
//   d_x       = r * (weight * d - x * r * mean(weight * d * x * r))
//   d_weight  = sum over rows of d * x * r
// Means are taken in double, so rows of 1e30 do not overflow and the mean square need not be kept.
#include <math.h>

#include "ops/op.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

typedef struct context {
    float *out;
    const float *d_out, *x, *weight;
    double *scales; // [rows]
    int64_t rows, columns;
    double eps;
} context;

HONE_INLINE double row_scale(const float *x, int64_t n, double eps) {
    return 1.0 / sqrt(hone_sum_squares(x, n) / (double)n + eps);
}

// --- forward
// ---------------------------------------------------------------------------------------------------------
HONE_VECTOR static void normalise_row(float *out, const float *x, const float *weight, int64_t n, double eps) {
    const float scale = (float)row_scale(x, n, eps);
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = x[i] * scale * weight[i];
}

static void normalise_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++)
        normalise_row(c->out + row * c->columns, c->x + row * c->columns, c->weight, c->columns, c->eps);
}

// x at operand `at`, weight behind it.
static hone_status check_weight(const hone_op_call *call, size_t at, hone_error *error) {
    const hone_tensor *const x = hone_operand_tensor(call, at), *const weight = hone_operand_tensor(call, at + 1);
    HONE_TRY(hone_op_want_dtype(call, at + 1, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, at + 1, 1, error));
    HONE_OP_CHECK(weight->type.dims[0] == hone_type_columns(&x->type), "weight %s must be as long as rows of %s",
                  hone_op_type_text(weight), hone_op_type_text(x));
    return HONE_OK;
}

static hone_status check_x(const hone_op_call *call, size_t at, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, at, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_operand_tensor(call, at)->type.rank >= 1, "x must have rows, not be a scalar");
    return HONE_OK;
}

static hone_status norm_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_x(call, 0, error));
    HONE_TRY(check_weight(call, 0, error));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

static void norm_cpu(const hone_op_call *call) {
    const hone_tensor *const x = hone_operand_tensor(call, 0);
    context c = {.out = call->outputs[0].data,
                 .x = x->data,
                 .weight = hone_operand_floats(call, 1),
                 .columns = hone_type_columns(&x->type),
                 .eps = call->operands[2].real};
    hone_call_rows(call, hone_type_rows(&x->type), c.columns, normalise_rows, &c);
}

static hone_status norm_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value d = hone_grad_out(call, 0), x = hone_grad_in(call, 0), weight = hone_grad_in(call, 1);
    const hone_argument eps = *hone_node_argument(call->node, 2);
    (void)error;
    if (call->wanted[0])
        call->input_gradients[0] =
            hone_emit(call->graph, "hone::rms_norm_backward", HONE_T(d), HONE_T(x), HONE_T(weight), eps);
    if (call->wanted[1])
        call->input_gradients[1] = hone_emit(call->graph, "hone::rms_norm_weight_backward", HONE_T(d), HONE_T(x), eps);
    return HONE_OK;
}

// --- d_x
// -------------------------------------------------------------------------------------------------------------
HONE_VECTOR static void backward_row(float *d_x, const float *d_out, const float *x, const float *weight, int64_t n,
                                     double eps) {
    const double scale = row_scale(x, n, eps);
    hone_f64x8 lanes = {0};
    double rest = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const hone_f64x8 d = __builtin_convertvector(*(const hone_f32x8 *)(d_out + i), hone_f64x8);
        const hone_f64x8 w = __builtin_convertvector(*(const hone_f32x8 *)(weight + i), hone_f64x8);
        const hone_f64x8 v = __builtin_convertvector(*(const hone_f32x8 *)(x + i), hone_f64x8);
        lanes += d * w * v;
    }
    for (; i < n; i++) rest += (double)d_out[i] * weight[i] * x[i];
    const float mean = (float)((hone_sum_f64x8(&lanes) + rest) * scale / (double)n), r = (float)scale;
    HONE_INDEPENDENT for (int64_t j = 0; j < n; j++) {
        const float normal = x[j] * r;
        d_x[j] = (d_out[j] * weight[j] - normal * mean) * r;
    }
}

static void backward_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = row * c->columns;
        backward_row(c->out + at, c->d_out + at, c->x + at, c->weight, c->columns, c->eps);
    }
}

static hone_status check_d_out(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_x(call, 1, error));
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_shape_equal(&hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type),
                  "d_out %s must have the shape of x %s", hone_op_type_text(hone_operand_tensor(call, 0)),
                  hone_op_type_text(hone_operand_tensor(call, 1)));
    return HONE_OK;
}

static hone_status backward_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_d_out(call, error));
    HONE_TRY(check_weight(call, 1, error));
    call->outputs[0].type = hone_operand_tensor(call, 1)->type;
    return HONE_OK;
}

static void backward_cpu(const hone_op_call *call) {
    const hone_tensor *const x = hone_operand_tensor(call, 1);
    context c = {.out = call->outputs[0].data,
                 .d_out = hone_operand_floats(call, 0),
                 .x = x->data,
                 .weight = hone_operand_floats(call, 2),
                 .columns = hone_type_columns(&x->type),
                 .eps = call->operands[3].real};
    hone_call_rows(call, hone_type_rows(&x->type), c.columns, backward_rows, &c);
}

// --- d_weight
// --------------------------------------------------------------------------------------------------------
HONE_VECTOR static double scale_of_row(const float *x, int64_t n, double eps) {
    return row_scale(x, n, eps);
}

static void scale_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++)
        c->scales[row] = scale_of_row(c->x + row * c->columns, c->columns, c->eps);
}

enum { COLUMN_BLOCK = 64 }; // columns that one task sums over all rows, in the order of the rows

HONE_VECTOR static void weight_columns(const context *c, int64_t begin, int64_t end) {
    double sums[COLUMN_BLOCK] = {0};
    const int64_t n = end - begin;
    for (int64_t row = 0; row < c->rows; row++) {
        const float *const d = c->d_out + row * c->columns + begin, *const x = c->x + row * c->columns + begin;
        const double scale = c->scales[row];
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) sums[i] += (double)d[i] * x[i] * scale;
    }
    for (int64_t i = 0; i < n; i++) c->out[begin + i] = (float)sums[i];
}

static void weight_range(void *opaque, int64_t begin, int64_t end) {
    weight_columns(opaque, begin, end);
}

static hone_status weight_backward_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_d_out(call, error));
    call->outputs[0].type = hone_type(HONE_DTYPE_F32, 1, hone_type_columns(&hone_operand_tensor(call, 1)->type));
    return HONE_OK;
}

static hone_cpu_needs weight_backward_needs(const hone_op_call *call) {
    return (hone_cpu_needs){.workspace_bytes =
                                (size_t)hone_type_rows(&hone_operand_tensor(call, 1)->type) * sizeof(double)};
}

static void weight_backward_cpu(const hone_op_call *call) {
    const hone_tensor *const x = hone_operand_tensor(call, 1);
    context c = {.out = call->outputs[0].data,
                 .d_out = hone_operand_floats(call, 0),
                 .x = x->data,
                 .scales = call->workspace,
                 .rows = hone_type_rows(&x->type),
                 .columns = hone_type_columns(&x->type),
                 .eps = call->operands[2].real};
    hone_call_rows(call, c.rows, c.columns, scale_rows, &c);
    hone_call_ranges(call, c.columns, COLUMN_BLOCK, weight_range, &c);
}

static const hone_op op_rms_norm = {
    .schema = "et_vk::rms_norm(Tensor x, Tensor weight, float eps) -> Tensor",
    .summary = "x / sqrt(mean(x^2) + eps) * weight for each row of x [.., D]",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = norm_infer,
    .cpu = norm_cpu,
    .gradient = norm_gradient,
    .gradient_text = "d_x by hone::rms_norm_backward, d_weight by hone::rms_norm_weight_backward",
    .variants = hone_kernels_rms_norm,
};
static const hone_op op_rms_norm_backward = {
    .schema = "hone::rms_norm_backward(Tensor d_out, Tensor x, Tensor weight, float eps) -> Tensor",
    .summary = "r * (weight * d_out - x * r * mean(weight * d_out * x * r)), r = 1 / sqrt(mean(x^2) + eps)",
    .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = backward_infer,
    .cpu = backward_cpu,
    .variants = hone_kernels_rms_norm_backward,
};
static const hone_op op_rms_norm_weight_backward = {
    .schema = "hone::rms_norm_weight_backward(Tensor d_out, Tensor x, float eps) -> Tensor",
    .summary = "sum over rows of d_out * x * r, r = 1 / sqrt(mean(x^2) + eps)",
    .infer = weight_backward_infer,
    .cpu = weight_backward_cpu,
    .cpu_needs = weight_backward_needs,
    .variants = hone_kernels_rms_norm_weight_backward,
};

const hone_op *const hone_ops_rms_norm[] = {&op_rms_norm, &op_rms_norm_backward, &op_rms_norm_weight_backward, 0};
