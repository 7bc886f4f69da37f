// SPDX-License-Identifier: Apache-2.0
// Powers whose exponents are a tensor.
#include <math.h>

#include "ops/binary/binary.h"
#include "ops/op.h"
#include "ops/shared/broadcast.h"

typedef struct context {
    float *out;
    const float *base, *exponent;
} context;

static void run(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const context *const c = opaque;
    for (int64_t i = 0; i < count; i++)
        c->out[out + i] = powf(c->base[at[0] + i * step[0]], c->exponent[at[1] + i * step[1]]);
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    return hone_op_broadcast(call, &hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type,
                             &call->outputs[0].type, error);
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const base = hone_operand_tensor(call, 0), *const exponent = hone_operand_tensor(call, 1);
    context c = {.out = call->outputs[0].data, .base = base->data, .exponent = exponent->data};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&base->type, &exponent->type},
                        2);
    hone_broadcast_each(call, &broadcast, run, &c);
}

static hone_value zero_where(hone_graph *graph, hone_value condition, hone_value otherwise) {
    const hone_value zero = hone_emit(graph, "aten::full", HONE_IS(0, 0), HONE_R(0));
    return hone_emit(graph, "aten::where.self", HONE_T(condition), HONE_T(zero), HONE_T(otherwise));
}

// PyTorch's: x^0 is flat in x, also at 0, where x^-1 is infinite.
static hone_value base_gradient(const hone_gradient_call *call, hone_value base, hone_value exponent) {
    hone_graph *const graph = call->graph;
    const hone_value lower = hone_emit(graph, "aten::sub.Scalar", HONE_T(exponent), HONE_R(1));
    const hone_value power = hone_emit(graph, "aten::pow.Tensor_Tensor", HONE_T(base), HONE_T(lower));
    const hone_value slope = hone_emit(graph, "aten::mul.Tensor", HONE_T(power), HONE_T(exponent));
    const hone_value product = hone_emit(graph, "aten::mul.Tensor", HONE_T(hone_grad_out(call, 0)), HONE_T(slope));
    const hone_value flat = hone_emit(graph, "aten::eq.Scalar", HONE_T(exponent), HONE_R(0));
    return zero_where(graph, flat, product);
}

// And 0^y is flat in y for y >= 0, where the logarithm of 0 is infinite.
static hone_value exponent_gradient(const hone_gradient_call *call, hone_value base, hone_value exponent) {
    hone_graph *const graph = call->graph;
    const hone_value log = hone_emit(graph, "aten::log", HONE_T(base));
    const hone_value slope = hone_emit(graph, "aten::mul.Tensor", HONE_T(hone_node_output(call->node, 0)), HONE_T(log));
    const hone_value product = hone_emit(graph, "aten::mul.Tensor", HONE_T(hone_grad_out(call, 0)), HONE_T(slope));
    const hone_value of_zero = hone_emit(graph, "aten::eq.Scalar", HONE_T(base), HONE_R(0));
    const hone_value rising = hone_emit(graph, "aten::ge.Scalar", HONE_T(exponent), HONE_R(0));
    const hone_value flat = hone_emit(graph, "aten::logical_and", HONE_T(of_zero), HONE_T(rising));
    return zero_where(graph, flat, product);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value base = hone_grad_in(call, 0), exponent = hone_grad_in(call, 1);
    (void)error;
    if (call->wanted[0])
        call->input_gradients[0] = hone_broadcast_gradient(call->graph, base_gradient(call, base, exponent), base);
    if (call->wanted[1])
        call->input_gradients[1] =
            hone_broadcast_gradient(call->graph, exponent_gradient(call, base, exponent), exponent);
    return HONE_OK;
}

const hone_op hone_op_pow_tensor = {
    .schema = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    .summary = "self^exponent, broadcast",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer,
    .cpu = cpu,
    .gradient = gradient,
    .gradient_text = "d_self = d * exponent * self^(exponent - 1), 0 where exponent is 0; d_exponent = d * out * "
                     "log(self), 0 where self is 0 and exponent >= 0",
    .variants = hone_kernels_pow_tensor,
};
