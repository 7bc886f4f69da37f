// SPDX-License-Identifier: Apache-2.0
// Linear layers whose frozen weight W[N,K] is kept in codes, and their gradients for x.
// x is [..,K], M its leading dimensions multiplied; g the group size.
//   forward   y[m,n] = bias[n] + sum over k of x[m,k] * W[n,k]
//   backward  d_x[m,k] = sum over n of d_out[m,n] * W[n,k]
//   4-bit, symmetric: W = (code - 8) * scale      4-bit with minimums: W = code * scale + minimum
//   8-bit:            W = code * scale (+ minimum)
// The gradient of either direction is the other one; weights, scales, minimums and bias get none.
#include "ops/linear_q4gsw/linear_lora.h"

// An operator of this family: the descriptor first, so that a call's `op` leads to the rest.
typedef struct code_op {
    hone_op op;
    hone_code_operands at;
    int bias;          // operand, or -1
    const char *other; // the operator of the gradient
    bool backward;
} code_op;

static const code_op *family(const hone_op *op) {
    return (const code_op *)(const void *)op;
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    const code_op *const self = family(call->op);
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    const hone_tensor *const in = hone_operand_tensor(call, 0), *const codes = hone_operand_tensor(call, 1);
    HONE_OP_CHECK(in->type.rank >= 1, "the input must have a dimension, not be %s", hone_op_type_text(in));
    const int64_t length = hone_type_columns(&in->type);
    HONE_TRY(hone_codes_infer(call, &self->at, self->backward ? -1 : length, error));
    const hone_codes w = hone_codes_of(call, &self->at, self->backward ? -1 : length);
    HONE_OP_CHECK(!self->backward || length == w.n, "rows of d_out %s must be as long as the codes %s have rows",
                  hone_op_type_text(in), hone_op_type_text(codes));
    if (self->bias >= 0 && hone_operand_tensor(call, (size_t)self->bias)) {
        HONE_TRY(hone_op_want_dtype(call, (size_t)self->bias, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, (size_t)self->bias, 1, error));
        const hone_tensor *const bias = hone_operand_tensor(call, (size_t)self->bias);
        HONE_OP_CHECK(bias->type.dims[0] == w.n, "bias %s must have a value for each of %lld rows",
                      hone_op_type_text(bias), (long long)w.n);
    }
    hone_tensor_type out = in->type;
    out.dims[out.rank - 1] = self->backward ? w.k : w.n;
    call->outputs[0].type = out;
    return HONE_OK;
}

// d_out[M,N] @ W[N,K].
static hone_gemm backward_product(const hone_op_call *call, const hone_codes *w) {
    const hone_tensor *const d_out = hone_operand_tensor(call, 0);
    return hone_codes_backward(w, hone_type_rows(&d_out->type), d_out->data, NULL, call->outputs[0].data);
}

static hone_codes weight_of(const hone_op_call *call) {
    const code_op *const self = family(call->op);
    return hone_codes_of(call, &self->at, self->backward ? -1 : hone_type_columns(&call->operands[0].tensors->type));
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const hone_codes w = weight_of(call);
    if (!family(call->op)->backward)
        return hone_codes_linear_needs(&w, hone_type_rows(&call->operands[0].tensors->type));
    const hone_gemm g = backward_product(call, &w);
    return hone_gemm_needs(&g);
}

static void cpu(const hone_op_call *call) {
    const code_op *const self = family(call->op);
    const hone_codes w = weight_of(call);
    if (self->backward) {
        const hone_gemm g = backward_product(call, &w);
        hone_gemm_run(call, &g);
        return;
    }
    const hone_tensor *const x = hone_operand_tensor(call, 0);
    const float *const bias = self->bias >= 0 ? hone_operand_floats(call, (size_t)self->bias) : NULL;
    hone_codes_linear(call, &w, hone_type_rows(&x->type), x->data, bias, 0, call->outputs[0].data);
}

static hone_codes_kernel product_kernel(const hone_op_call *call, hone_codes *codes) {
    const code_op *const self = family(call->op);
    *codes = weight_of(call);
    return (hone_codes_kernel){.codes = codes,
                               .in = hone_operand_tensor(call, 0),
                               .weights = hone_operand_tensor(call, 1),
                               .scales = hone_operand_tensor(call, (size_t)self->at.scales),
                               .minimums =
                                   self->at.minimums >= 0 ? hone_operand_tensor(call, (size_t)self->at.minimums) : NULL,
                               .out = &call->outputs[0],
                               .start = self->bias >= 0 ? hone_operand_tensor(call, (size_t)self->bias) : NULL,
                               .backward = self->backward};
}
HONE_CODES_KERNELS(linear_codes, product_kernel)

// The other direction, with the same weight.
static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const code_op *const self = family(hone_node_op(call->node));
    if (!call->wanted[0]) return HONE_OK;
    hone_argument arguments[6] = {HONE_T(hone_grad_out(call, 0))};
    size_t count = 1;
    for (; count <= (size_t)self->at.group; count++) arguments[count] = *hone_node_argument(call->node, count);
    const int64_t columns = hone_type_columns(hone_graph_type(call->graph, hone_grad_in(call, 0)));
    // An odd number of columns cannot be told from the codes.
    if (!self->backward && self->at.bits == 4 && columns % 2 == 1) arguments[count++] = HONE_I(columns);
    call->input_gradients[0] = hone_graph_call(call->graph, self->other, arguments, count, NULL, 0);
    return HONE_OK;
}

// Decoding not counted: what was asked for is the product.
static double flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 0);
}

#define CODE_OP(the_schema, the_summary, the_text, kernels)                                                            \
    .op = {.schema = the_schema,                                                                                       \
           .summary = the_summary,                                                                                     \
           .infer = infer,                                                                                             \
           .cpu = cpu,                                                                                                 \
           .cpu_needs = needs,                                                                                         \
           .gradient = gradient,                                                                                       \
           .gradient_text = the_text,                                                                                  \
           .variants = kernels,                                                                                        \
           .flop = flop}

static const code_op q4 = {
    CODE_OP("et_vk::linear_q4gsw(Tensor x, Tensor weights, Tensor scales, int group_size, Tensor? bias=None) -> Tensor",
            "x[..,K] @ W[N,K]^T + bias, W = (code - 8) * scale", "x: linear_q4gsw_backward(g, weights, scales)",
            hone_kernels_linear_codes),
    .at = {1, 2, -1, 3, -1, 4},
    .bias = 4,
    .other = "et_vk::linear_q4gsw_backward",
};

static const code_op q4_backward = {
    CODE_OP("et_vk::linear_q4gsw_backward(Tensor d_out, Tensor weights, Tensor scales, int group_size, "
            "int? columns=None) -> Tensor",
            "d_out[..,N] @ W[N,K], W = (code - 8) * scale; K = columns, or twice the bytes of a row",
            "d_out: linear_q4gsw(g, weights, scales)", hone_kernels_linear_codes_backward),
    .at = {1, 2, -1, 3, 4, 4},
    .bias = -1,
    .other = "et_vk::linear_q4gsw",
    .backward = true,
};

static const code_op q4m = {
    CODE_OP("hone::linear_q4gswm(Tensor x, Tensor weights, Tensor scales, Tensor minimums, int group_size) -> Tensor",
            "x[..,K] @ W[N,K]^T, W = code * scale + minimum of 4 bits",
            "x: linear_q4gswm_backward(g, weights, scales, minimums)", hone_kernels_linear_codes),
    .at = {1, 2, 3, 4, -1, 4},
    .bias = -1,
    .other = "hone::linear_q4gswm_backward",
};

static const code_op q4m_backward = {
    CODE_OP("hone::linear_q4gswm_backward(Tensor d_out, Tensor weights, Tensor scales, Tensor minimums, "
            "int group_size, int? columns=None) -> Tensor",
            "d_out[..,N] @ W[N,K], W = code * scale + minimum of 4 bits; K = columns, or twice the bytes of a row",
            "d_out: linear_q4gswm(g, weights, scales, minimums)", hone_kernels_linear_codes_backward),
    .at = {1, 2, 3, 4, 5, 4},
    .bias = -1,
    .other = "hone::linear_q4gswm",
    .backward = true,
};

static const code_op q8 = {
    CODE_OP("hone::linear_q8gsw(Tensor x, Tensor weights, Tensor scales, Tensor? minimums, int group_size) -> Tensor",
            "x[..,K] @ W[N,K]^T, W = code * scale + minimum of 8 bits",
            "x: linear_q8gsw_backward(g, weights, scales, minimums)", hone_kernels_linear_codes),
    .at = {1, 2, 3, 4, -1, 8},
    .bias = -1,
    .other = "hone::linear_q8gsw_backward",
};

static const code_op q8_backward = {
    CODE_OP("hone::linear_q8gsw_backward(Tensor d_out, Tensor weights, Tensor scales, Tensor? minimums, "
            "int group_size) -> Tensor",
            "d_out[..,N] @ W[N,K], W = code * scale + minimum of 8 bits",
            "d_out: linear_q8gsw(g, weights, scales, minimums)", hone_kernels_linear_codes_backward),
    .at = {1, 2, 3, 4, -1, 8},
    .bias = -1,
    .other = "hone::linear_q8gsw",
    .backward = true,
};

const hone_op *const hone_ops_linear_q4gsw[] = {
    &q4.op,
    &q4_backward.op,
    &q4m.op,
    &q4m_backward.op,
    &q8.op,
    &q8_backward.op,
    &hone_op_linear_lora,
    &hone_op_linear_lora_backward,
    NULL,
};
