// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along any dimension, with their gradients.
//
// For each line x of n elements along dim, max = max(x), sum = sum exp(x - max):
//   softmax y = exp(x - max) / sum,          d_x = y (d - <d, y>)
//   log_softmax y = x - max - log(sum),      d_x = d - exp(y) sum(d)
// A line of -infinity gives NaN, as exp(-inf + inf) is. Sums are taken in double.
#include <math.h>

#include "ops/op.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"
#include "ops/softmax/softmax.h"

typedef struct context {
    float *out;
    const float *x;   // self; the output for gradients
    const float *d;   // gradient
    int64_t n, inner; // elements of a line, elements between two of them
    bool log;
} context;

// --- lines in one piece ----------------------------------------------------------------------------------------------
HONE_VECTOR static void softmax_line(float *out, const float *x, int64_t n) {
    const float max = hone_max_floats(x, n);
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = hone_exp(x[i] - max);
    const float scale = (float)(1.0 / hone_sum_floats(out, n));
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] *= scale;
}

// Exponentials pass through a small buffer, as out may be x.
HONE_VECTOR static void log_softmax_line(float *out, const float *x, int64_t n) {
    enum { CHUNK = 256 };
    float chunk[CHUNK];
    const float max = hone_max_floats(x, n);
    double sum = 0;
    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        const int64_t count = n - begin < CHUNK ? n - begin : CHUNK;
        HONE_INDEPENDENT for (int64_t i = 0; i < count; i++) chunk[i] = hone_exp(x[begin + i] - max);
        sum += hone_sum_floats(chunk, count);
    }
    const float shift = (float)log(sum);
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = x[i] - max - shift;
}

HONE_VECTOR static void softmax_backward_line(float *out, const float *d, const float *y, int64_t n) {
    const float dot = (float)hone_sum_products(d, y, n);
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = y[i] * (d[i] - dot);
}

HONE_VECTOR static void log_softmax_backward_line(float *out, const float *d, const float *y, int64_t n) {
    const float sum = (float)hone_sum_floats(d, n);
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = d[i] - hone_exp(y[i]) * sum;
}

static void lines(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t line = begin; line < end; line++) {
        const int64_t at = line * c->n;
        if (c->d && c->log)
            log_softmax_backward_line(c->out + at, c->d + at, c->x + at, c->n);
        else if (c->d)
            softmax_backward_line(c->out + at, c->d + at, c->x + at, c->n);
        else if (c->log)
            log_softmax_line(c->out + at, c->x + at, c->n);
        else
            softmax_line(c->out + at, c->x + at, c->n);
    }
}

// --- lines with gaps: neighbouring ones are worked on together -------------------------------------------------------
enum { TOGETHER = 64 };

HONE_VECTOR static void softmax_columns(const context *c, int64_t at, int64_t width) {
    float max[TOGETHER];
    double sum[TOGETHER] = {0};
    for (int64_t j = 0; j < width; j++) max[j] = -INFINITY;
    for (int64_t i = 0; i < c->n; i++) {
        const float *const x = c->x + at + i * c->inner;
        HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) max[j] = x[j] > max[j] ? x[j] : max[j];
    }
    for (int64_t i = 0; i < c->n; i++) {
        const float *const x = c->x + at + i * c->inner;
        HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) sum[j] += hone_exp(x[j] - max[j]);
    }
    float factor[TOGETHER];
    for (int64_t j = 0; j < width; j++) factor[j] = (float)(c->log ? log(sum[j]) : 1.0 / sum[j]);
    for (int64_t i = 0; i < c->n; i++) {
        const float *const x = c->x + at + i * c->inner;
        float *const out = c->out + at + i * c->inner;
        if (c->log) {
            HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) out[j] = x[j] - max[j] - factor[j];
        } else {
            HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) out[j] = hone_exp(x[j] - max[j]) * factor[j];
        }
    }
}

HONE_VECTOR static void backward_columns(const context *c, int64_t at, int64_t width) {
    double sum[TOGETHER] = {0};
    for (int64_t i = 0; i < c->n; i++) {
        const float *const y = c->x + at + i * c->inner, *const d = c->d + at + i * c->inner;
        if (c->log) {
            HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) sum[j] += d[j];
        } else {
            HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) sum[j] += (double)d[j] * y[j];
        }
    }
    for (int64_t i = 0; i < c->n; i++) {
        const float *const y = c->x + at + i * c->inner, *const d = c->d + at + i * c->inner;
        float *const out = c->out + at + i * c->inner;
        if (c->log) {
            HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) out[j] = d[j] - hone_exp(y[j]) * (float)sum[j];
        } else {
            HONE_INDEPENDENT for (int64_t j = 0; j < width; j++) out[j] = y[j] * (d[j] - (float)sum[j]);
        }
    }
}

// Ranges of lines, counted over outer and inner places.
static void columns(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t line = begin; line < end;) {
        const int64_t place = line % c->inner, left = c->inner - place;
        int64_t width = left < end - line ? left : end - line;
        if (width > TOGETHER) width = TOGETHER;
        const int64_t at = line / c->inner * c->inner * c->n + place;
        if (c->d)
            backward_columns(c, at, width);
        else
            softmax_columns(c, at, width);
        line += width;
    }
}

// --- operators -------------------------------------------------------------------------------------------------------
static void run(const hone_op_call *call, context c, int64_t dim) {
    const hone_tensor_type *const type = &call->outputs[0].type;
    int dimension = 0;
    int64_t outer = 1;
    c.out = call->outputs[0].data;
    c.n = c.inner = 1;
    if (hone_op_dim(call, dim, type->rank, &dimension, 0) != HONE_OK) return; // the shape rule has checked it
    for (int d = 0; d < type->rank; d++)
        if (d < dimension)
            outer *= type->dims[d];
        else if (d > dimension)
            c.inner *= type->dims[d];
        else
            c.n = type->dims[d];
    if (c.inner == 1)
        hone_call_rows(call, outer, c.n, lines, &c);
    else if (c.n > 0)
        hone_call_ranges(call, outer * c.inner, HONE_BLOCK / c.n > TOGETHER ? HONE_BLOCK / c.n : TOGETHER, columns, &c);
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    int dim;
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(!call->operands[2].integer, "half_to_float needs f16 elements");
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return hone_op_dim(call, call->operands[1].integer, call->outputs[0].type.rank, &dim, error);
}

static hone_status infer_backward(const hone_op_call *call, hone_error *error) {
    int dim;
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_shape_equal(&hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type),
                  "grad_output %s and output %s must have one shape", hone_op_type_text(hone_operand_tensor(call, 0)),
                  hone_op_type_text(hone_operand_tensor(call, 1)));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return hone_op_dim(call, call->operands[2].integer, call->outputs[0].type.rank, &dim, error);
}

static void forward_cpu(const hone_op_call *call, bool log) {
    run(call, (context){.x = hone_operand_floats(call, 0), .log = log}, call->operands[1].integer);
}

static void backward_cpu(const hone_op_call *call, bool log) {
    run(call, (context){.d = hone_operand_floats(call, 0), .x = hone_operand_floats(call, 1), .log = log},
        call->operands[2].integer);
}

static void softmax_cpu(const hone_op_call *call) {
    forward_cpu(call, false);
}
static void log_softmax_cpu(const hone_op_call *call) {
    forward_cpu(call, true);
}
static void softmax_backward_cpu(const hone_op_call *call) {
    backward_cpu(call, false);
}
static void log_softmax_backward_cpu(const hone_op_call *call) {
    backward_cpu(call, true);
}

static void set_gradient(const hone_gradient_call *call, const char *op) {
    call->input_gradients[0] =
        hone_emit(call->graph, op, HONE_T(hone_grad_out(call, 0)), HONE_T(hone_node_output(call->node, 0)),
                  *hone_node_argument(call->node, 1), HONE_I(6));
}

static hone_status softmax_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    set_gradient(call, "aten::_softmax_backward_data");
    return HONE_OK;
}

static hone_status log_softmax_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    set_gradient(call, "aten::_log_softmax_backward_data");
    return HONE_OK;
}

static const hone_op op_softmax = {
    .schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    .summary = "exp(x - max) / sum exp(x - max) along dim; a line of -inf is NaN",
    .flags = HONE_OP_IN_PLACE,
    .infer = infer,
    .cpu = softmax_cpu,
    .gradient = softmax_gradient,
    .gradient_text = "out * (d - sum(d * out))",
    .variants = hone_kernels_softmax,
};
static const hone_op op_log_softmax = {
    .schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    .summary = "x - max - log sum exp(x - max) along dim; a line of -inf is NaN",
    .flags = HONE_OP_IN_PLACE,
    .infer = infer,
    .cpu = log_softmax_cpu,
    .gradient = log_softmax_gradient,
    .gradient_text = "d - exp(out) * sum(d)",
    .variants = hone_kernels_log_softmax,
};
static const hone_op op_softmax_backward = {
    .schema =
        "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    .summary = "output * (grad_output - sum(grad_output * output)) along dim",
    .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer_backward,
    .cpu = softmax_backward_cpu,
    .variants = hone_kernels_softmax_backward,
};
static const hone_op op_log_softmax_backward = {
    .schema = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> "
              "Tensor",
    .summary = "grad_output - exp(output) * sum(grad_output) along dim",
    .flags = HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer_backward,
    .cpu = log_softmax_backward_cpu,
    .variants = hone_kernels_log_softmax_backward,
};

const hone_op *const hone_ops_softmax[] = {&op_softmax, &op_log_softmax, &op_softmax_backward, &op_log_softmax_backward,
                                           0};
