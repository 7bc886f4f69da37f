// SPDX-License-Identifier: Apache-2.0
// Cross entropy and its gradient for the logits in one pass.
//
// logits [R, V], labels [R], n_valid a number:
//   loss = sum over rows with label >= 0 of (logsumexp(logits) - logits[label]) / n_valid
//   dlogits = (softmax(logits) - onehot(label)) / n_valid, 0 in rows with label < 0
// dlogits may lie over logits: each row is read to its end before it is written, but for the exponentials,
// which stand where their logits stood. Losses of rows are added in double in the order of the rows.
#include <math.h>
#include <string.h>

#include "ops/fused_ce/fused_ce.h"
#include "ops/op.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

typedef struct context {
    const hone_op_call *call;
    const float *logits;
    const int32_t *labels;
    float *gradients;
    double *losses; // [R]
    int64_t columns;
    double n_valid;
} context;

// out = exp(x - max), and their sum: in double, so that 1 - p stays right where the label is nearly certain.
HONE_VECTOR static double exponentials(float *out, const float *x, float max, int64_t n) {
    enum { CHUNK = 512 }; // stays in the first cache between the two loops
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        const int64_t end = begin + CHUNK < n ? begin + CHUNK : n;
        HONE_INDEPENDENT for (int64_t i = begin; i < end; i++) out[i] = hone_exp(x[i] - max);
        total += hone_sum_floats(out + begin, end - begin);
    }
    return total;
}

HONE_VECTOR static void scale(float *x, float factor, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

HONE_VECTOR static float largest(const float *x, int64_t n) {
    return hone_max_floats(x, n);
}

static void rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const int64_t n = c->columns;
    for (int64_t row = begin; row < end; row++) {
        const float *const x = c->logits + row * n;
        float *const out = c->gradients + row * n;
        c->losses[row] = 0;
        if (c->labels[row] < 0) {
            memset(out, 0, (size_t)n * sizeof *out);
            continue;
        }
        if (c->n_valid <= 0) hone_call_flag(c->call, HONE_FLAG_COUNT);
        const int64_t label = hone_call_index(c->call, c->labels[row], n);
        const float max = largest(x, n);
        const double logit = x[label];
        const double sum = exponentials(out, x, max, n);
        // A count that makes no sense gives NaN, which no guard mistakes for a result.
        const double share = c->n_valid > 0 ? 1 / c->n_valid : (double)NAN;
        c->losses[row] = (log(sum) + (max - logit)) * share;
        const double rest = (out[label] / sum - 1) * share; // before rounding, as the two are often nearly equal
        scale(out, (float)(share / sum), n);
        out[label] = (float)rest;
    }
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, 0, 2, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_I32, error));
    HONE_TRY(hone_op_want_rank(call, 1, 1, error));
    const hone_tensor *const logits = hone_operand_tensor(call, 0), *const labels = hone_operand_tensor(call, 1);
    HONE_OP_CHECK(labels->type.dims[0] == logits->type.dims[0], "labels %s must be one a row of logits %s",
                  hone_op_type_text(labels), hone_op_type_text(logits));
    HONE_OP_CHECK(logits->type.dims[1] > 0 || logits->type.dims[0] == 0, "logits %s have no columns",
                  hone_op_type_text(logits));
    call->outputs[0].type = hone_type(HONE_DTYPE_F32, 0);
    call->outputs[1].type = logits->type;
    return HONE_OK;
}

static hone_cpu_needs needs(const hone_op_call *call) {
    return (hone_cpu_needs){.workspace_bytes = (size_t)hone_operand_tensor(call, 0)->type.dims[0] * sizeof(double)};
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const logits = hone_operand_tensor(call, 0);
    const int64_t count = logits->type.dims[0];
    context c = {.call = call,
                 .logits = logits->data,
                 .labels = hone_operand_tensor(call, 1)->data,
                 .gradients = call->outputs[1].data,
                 .losses = call->workspace,
                 .columns = logits->type.dims[1],
                 .n_valid = call->operands[2].real};
    hone_call_rows(call, count, c.columns, rows, &c);
    double loss = 0;
    for (int64_t row = 0; row < count; row++) loss += c.losses[row];
    *(float *)call->outputs[0].data = (float)loss;
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    if (call->output_gradients[1].id)
        HONE_FAIL(error, UNSUPPORTED, "et_vk::fused_ce: its output dlogits has no gradient of its own");
    if (call->wanted[0])
        call->input_gradients[0] = hone_emit(call->graph, "aten::mul.Tensor", HONE_T(hone_node_output(call->node, 1)),
                                             HONE_T(hone_grad_out(call, 0)));
    return HONE_OK;
}

static const hone_op op_fused_ce = {
    .schema = "et_vk::fused_ce(Tensor logits, Tensor labels, float n_valid) -> (Tensor, Tensor)",
    .summary = "loss [] = sum over rows with label >= 0 of (logsumexp - logit[label]) / n_valid, and its "
               "gradient [R, V]",
    .flags = HONE_OP_IN_PLACE_OUTPUT_1,
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .gradient = gradient,
    .gradient_text = "d_logits = d_loss * dlogits",
    .variants = hone_kernels_fused_ce,
};

const hone_op *const hone_ops_fused_ce[] = {&op_fused_ce, 0};
