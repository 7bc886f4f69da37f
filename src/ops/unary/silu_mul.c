// SPDX-License-Identifier: Apache-2.0
// The gated activation of llama's feed-forward block as one pass: silu(gate) * up, and its gradient.
//
// With s = 1 / (1 + exp(-gate)): out = gate s up, d_gate = d up s (1 + gate (1 - s)), d_up = d gate s.
#include "ops/op.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"
#include "ops/unary/unary.h"

typedef struct context {
    float *out, *out_up;
    const float *d_out, *gate, *up;
} context;

HONE_VECTOR static void forward(const context *c, int64_t begin, int64_t end) {
    float *const out = c->out;
    const float *const gate = c->gate, *const up = c->up;
    HONE_INDEPENDENT for (int64_t i = begin; i < end; i++) {
        const float g = gate[i];
        out[i] = g / (1.0f + hone_exp(-g)) * up[i];
    }
}

HONE_VECTOR static void backward(const context *c, int64_t begin, int64_t end) {
    float *const d_gate = c->out, *const d_up = c->out_up;
    const float *const d_out = c->d_out, *const gate = c->gate, *const up = c->up;
    HONE_INDEPENDENT for (int64_t i = begin; i < end; i++) {
        const float d = d_out[i], g = gate[i], u = up[i];
        const float s = hone_sigmoid(g);
        d_gate[i] = d * u * (s * (1.0f + g * (1.0f - s)));
        d_up[i] = d * (g * s);
    }
}

static void forward_range(void *opaque, int64_t begin, int64_t end) {
    forward(opaque, begin, end);
}
static void backward_range(void *opaque, int64_t begin, int64_t end) {
    backward(opaque, begin, end);
}

static hone_status same_shapes(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < call->operand_count; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_OP_CHECK(hone_shape_equal(&hone_operand_tensor(call, i)->type, &hone_operand_tensor(call, 0)->type),
                      "shapes must be the same, not %s and %s", hone_op_type_text(hone_operand_tensor(call, 0)),
                      hone_op_type_text(hone_operand_tensor(call, i)));
    }
    for (size_t i = 0; i < call->output_count; i++) call->outputs[i].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

static void forward_cpu(const hone_op_call *call) {
    context c = {
        .out = call->outputs[0].data, .gate = hone_operand_floats(call, 0), .up = hone_operand_floats(call, 1)};
    hone_call_elements(call, hone_type_elements(&call->outputs[0].type), forward_range, &c);
}

static void backward_cpu(const hone_op_call *call) {
    context c = {.out = call->outputs[0].data,
                 .out_up = call->outputs[1].data,
                 .d_out = hone_operand_floats(call, 0),
                 .gate = hone_operand_floats(call, 1),
                 .up = hone_operand_floats(call, 2)};
    hone_call_elements(call, hone_type_elements(&call->outputs[0].type), backward_range, &c);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    hone_value both[2] = {{0}, {0}};
    hone_emit_all(call->graph, "hone::silu_mul_backward", both, 2, HONE_T(hone_grad_out(call, 0)),
                  HONE_T(hone_grad_in(call, 0)), HONE_T(hone_grad_in(call, 1)));
    for (size_t i = 0; i < 2; i++)
        if (call->wanted[i]) call->input_gradients[i] = both[i];
    return HONE_OK;
}

const hone_op hone_op_silu_mul = {
    .schema = "hone::silu_mul(Tensor gate, Tensor up) -> Tensor",
    .summary = "gate / (1 + exp(-gate)) * up, of one shape",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = same_shapes,
    .cpu = forward_cpu,
    .gradient = gradient,
    .gradient_text = "both by hone::silu_mul_backward",
    .variants = hone_kernels_silu_mul,
};
// Each element is read before any output is written: d_gate may lie over gate, d_up over d_out.
const hone_op hone_op_silu_mul_backward = {
    .schema = "hone::silu_mul_backward(Tensor d_out, Tensor gate, Tensor up) -> (Tensor, Tensor)",
    .summary = "gradients of silu_mul: d_out * up * s * (1 + gate * (1 - s)) and d_out * gate * s, s = "
               "sigmoid(gate)",
    .flags = HONE_OP_IN_PLACE_1 | HONE_OP_IN_PLACE_OUTPUT_1,
    .infer = same_shapes,
    .cpu = backward_cpu,
    .variants = hone_kernels_silu_mul_backward,
};
