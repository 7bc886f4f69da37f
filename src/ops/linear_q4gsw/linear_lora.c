// SPDX-License-Identifier: Apache-2.0
// A linear layer whose frozen weight W[N,K] is kept in codes, with what training adds to it, in one pass over the output.
// x is [..,K], M its leading dimensions multiplied, R the rank of the LoRA (Hu et al., 2021).
//   forward   y[m,n] = base[m,n] + sum over k of x[m,k] * W[n,k] + factor * sum over r of low[m,r] * up[n,r]
//   backward  d_x[m,k] = base[m,k] + sum over n of d_out[m,n] * W[n,k] + sum over r of low[m,r] * down[r,k]
// where low = x @ down^T in the forward pass, and its gradient in the backward pass. Codes of u8 are two of 4 bits, with
// zero at 8 unless there are minimums; codes of i8 are one of 8 bits. The weight gets no gradient.
#include "ops/linear_q4gsw/linear_lora.h"
#include "ops/matmul/operators.h"

// Operands of both, and where those of either stand.
enum { IN, WEIGHTS, SCALES, MINIMUMS, GROUP, BASE, LOW, OTHER, FACTOR, COLUMNS = FACTOR };

static bool is_backward(const hone_op_call *call) {
    return call->op == &hone_op_linear_lora_backward;
}

static hone_code_operands operands_of(const hone_op_call *call) {
    const bool four = hone_operand_tensor(call, WEIGHTS)->type.dtype == HONE_DTYPE_U8;
    return (hone_code_operands){WEIGHTS, SCALES, MINIMUMS, GROUP, is_backward(call) ? COLUMNS : -1, four ? 4 : 8};
}

static int64_t known_columns(const hone_op_call *call) {
    return is_backward(call) ? -1 : hone_type_columns(&hone_operand_tensor(call, IN)->type);
}

static hone_codes weight_of(const hone_op_call *call) {
    const hone_code_operands at = operands_of(call);
    return hone_codes_of(call, &at, known_columns(call));
}

// low[M,R] and up[N,R], or low[M,R] and down[R,K]; both or neither.
static hone_status infer_added(const hone_op_call *call, hone_error *error) {
    const hone_tensor_type *const out = &call->outputs[0].type;
    const hone_tensor *const low = hone_operand_tensor(call, LOW), *const other = hone_operand_tensor(call, OTHER);
    HONE_OP_CHECK(!low == !other, "%s is missing: both matrices are given or neither",
                  low ? "the second matrix" : "low");
    if (!low) return HONE_OK;
    HONE_TRY(hone_op_want_dtype(call, LOW, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, OTHER, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, OTHER, 2, error));
    const bool backward = is_backward(call);
    HONE_OP_CHECK(low->type.rank >= 1 && hone_type_rows(&low->type) == hone_type_rows(out) &&
                      hone_type_columns(&low->type) == other->type.dims[backward ? 0 : 1] &&
                      hone_type_columns(out) == other->type.dims[backward ? 1 : 0],
                  "%s and %s do not give %s", hone_op_type_text(low), hone_op_type_text(other),
                  hone_op_type_text(&call->outputs[0]));
    return HONE_OK;
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, IN, HONE_DTYPE_F32, error));
    const hone_tensor *const in = hone_operand_tensor(call, IN), *const codes = hone_operand_tensor(call, WEIGHTS);
    HONE_OP_CHECK(in->type.rank >= 1, "the input must have a dimension, not be %s", hone_op_type_text(in));
    HONE_OP_CHECK(codes->type.dtype == HONE_DTYPE_U8 || codes->type.dtype == HONE_DTYPE_I8,
                  "codes must be u8 or i8, not %s", hone_op_type_text(codes));
    const hone_code_operands at = operands_of(call);
    HONE_TRY(hone_codes_infer(call, &at, known_columns(call), error));
    const hone_codes w = weight_of(call);
    HONE_OP_CHECK(!is_backward(call) || hone_type_columns(&in->type) == w.n,
                  "rows of d_out %s must be as long as the codes %s have rows", hone_op_type_text(in),
                  hone_op_type_text(codes));
    hone_tensor_type out = in->type;
    out.dims[out.rank - 1] = is_backward(call) ? w.k : w.n;
    const hone_tensor *const base = hone_operand_tensor(call, BASE);
    call->outputs[0].type = out;
    HONE_OP_CHECK(!base || hone_type_equal(&base->type, &out), "base %s must have the product's shape %s",
                  hone_op_type_text(base), hone_op_type_text(&call->outputs[0]));
    return infer_added(call, error);
}

// --- CPU -------------------------------------------------------------------------------------------------------------
// base + d_out[M,N] @ W[N,K].
static hone_gemm backward_product(const hone_op_call *call, const hone_codes *w) {
    const hone_tensor *const d_out = hone_operand_tensor(call, IN);
    return hone_codes_backward(w, hone_type_rows(&d_out->type), d_out->data, hone_operand_floats(call, BASE),
                               call->outputs[0].data);
}

// What is added to the output.
static hone_gemm added_product(const hone_op_call *call) {
    const hone_tensor *const low = hone_operand_tensor(call, LOW), *const other = hone_operand_tensor(call, OTHER);
    const hone_tensor *const out = &call->outputs[0];
    const int64_t m = hone_type_rows(&low->type), k = hone_type_columns(&low->type);
    const int64_t n = hone_type_columns(&out->type);
    const bool backward = is_backward(call);
    return (hone_gemm){
        .m = m,
        .n = n,
        .k = k,
        .left = {.data = low->data, .ld = k, .factor = backward ? 1 : (float)call->operands[FACTOR].real, .m = m},
        .right = {.data = other->data, .dtype = HONE_DTYPE_F32, .ld = backward ? n : k, .transposed = !backward},
        .c = out->data,
        .ldc = n,
        .start = out->data,
        .start_row = n,
        .start_column = 1,
        .start_factor = 1,
    };
}

static hone_cpu_needs needs(const hone_op_call *call) {
    const hone_codes w = weight_of(call);
    const hone_gemm g = backward_product(call, &w);
    hone_cpu_needs most = is_backward(call)
                              ? hone_gemm_needs(&g)
                              : hone_codes_linear_needs(&w, hone_type_rows(&hone_operand_tensor(call, IN)->type));
    if (!hone_operand_tensor(call, LOW)) return most;
    const hone_gemm added = added_product(call);
    const hone_cpu_needs other = hone_gemm_needs(&added);
    if (other.workspace_bytes > most.workspace_bytes) most.workspace_bytes = other.workspace_bytes;
    if (other.thread_scratch_bytes > most.thread_scratch_bytes) most.thread_scratch_bytes = other.thread_scratch_bytes;
    return most;
}

static void cpu(const hone_op_call *call) {
    const hone_codes w = weight_of(call);
    const hone_tensor *const in = hone_operand_tensor(call, IN);
    if (is_backward(call)) {
        const hone_gemm g = backward_product(call, &w);
        hone_gemm_run(call, &g);
    } else {
        hone_codes_linear(call, &w, hone_type_rows(&in->type), in->data, hone_operand_floats(call, BASE), w.n,
                          call->outputs[0].data);
    }
    if (!hone_operand_tensor(call, LOW)) return;
    const hone_gemm added = added_product(call);
    hone_gemm_run(call, &added);
}

// --- GPU -------------------------------------------------------------------------------------------------------------
static hone_codes_kernel product_kernel(const hone_op_call *call, hone_codes *codes) {
    const bool backward = is_backward(call);
    *codes = weight_of(call);
    return (hone_codes_kernel){.codes = codes,
                               .in = hone_operand_tensor(call, IN),
                               .weights = hone_operand_tensor(call, WEIGHTS),
                               .scales = hone_operand_tensor(call, SCALES),
                               .minimums = hone_operand_tensor(call, MINIMUMS),
                               .out = &call->outputs[0],
                               .start = hone_operand_tensor(call, BASE),
                               .start_row = backward ? codes->k : codes->n,
                               .low = hone_operand_tensor(call, LOW),
                               .up = hone_operand_tensor(call, OTHER),
                               .factor = backward ? 1 : call->operands[FACTOR].real,
                               .backward = backward};
}
HONE_CODES_KERNELS(linear_lora, product_kernel)

// --- gradients -------------------------------------------------------------------------------------------------------
enum { INPUT_BASE = 4, INPUT_LOW, INPUT_OTHER }; // among tensors alone

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value g = hone_grad_out(call, 0), low = hone_grad_in(call, INPUT_LOW),
                     up = hone_grad_in(call, INPUT_OTHER);
    const double factor = hone_node_argument(call->node, FACTOR)->real;
    if (call->wanted[IN]) {
        const int64_t columns = hone_type_columns(hone_graph_type(call->graph, hone_grad_in(call, IN)));
        call->input_gradients[IN] =
            hone_emit(call->graph, "hone::linear_lora_backward", HONE_T(g), *hone_node_argument(call->node, WEIGHTS),
                      *hone_node_argument(call->node, SCALES), *hone_node_argument(call->node, MINIMUMS),
                      *hone_node_argument(call->node, GROUP), HONE_NO, HONE_NO, HONE_NO, HONE_I(columns));
    }
    if (call->wanted[INPUT_BASE]) call->input_gradients[INPUT_BASE] = g;
    if (call->wanted[INPUT_LOW]) call->input_gradients[INPUT_LOW] = hone_emit_rows_mm(call->graph, g, up, factor);
    if (call->wanted[INPUT_OTHER]) {
        HONE_TRY(hone_want_trainable(call, INPUT_OTHER, error));
        call->input_gradients[INPUT_OTHER] = hone_emit_dw(call->graph, g, low, factor);
    }
    return HONE_OK;
}

static hone_status backward_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value g = hone_grad_out(call, 0), low = hone_grad_in(call, INPUT_LOW),
                     down = hone_grad_in(call, INPUT_OTHER);
    if (call->wanted[IN])
        call->input_gradients[IN] =
            hone_emit(call->graph, "hone::linear_lora", HONE_T(g), *hone_node_argument(call->node, WEIGHTS),
                      *hone_node_argument(call->node, SCALES), *hone_node_argument(call->node, MINIMUMS),
                      *hone_node_argument(call->node, GROUP));
    if (call->wanted[INPUT_BASE]) call->input_gradients[INPUT_BASE] = g;
    if (call->wanted[INPUT_LOW])
        call->input_gradients[INPUT_LOW] = hone_emit(call->graph, "aten::linear", HONE_T(g), HONE_T(down));
    if (call->wanted[INPUT_OTHER]) {
        HONE_TRY(hone_want_trainable(call, INPUT_OTHER, error));
        call->input_gradients[INPUT_OTHER] = hone_emit_dw(call->graph, low, g, 1);
    }
    return HONE_OK;
}

static double flop(const hone_op_call *call) {
    double sum = hone_product_flop_of(call, IN);
    const hone_tensor *const low = hone_operand_tensor(call, LOW);
    if (low) sum += hone_product_flop(&call->outputs[0], hone_type_columns(&low->type));
    return sum;
}

const hone_op hone_op_linear_lora = {
    .schema = "hone::linear_lora(Tensor x, Tensor weights, Tensor scales, Tensor? minimums, int group_size, "
              "Tensor? base=None, Tensor? low=None, Tensor? up=None, float factor=1.0) -> Tensor",
    .summary = "base + x[..,K] @ W[N,K]^T + factor * low[..,R] @ up[N,R]^T, W of 4 (u8) or 8 bits (i8)",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .gradient = gradient,
    .gradient_text = "x: linear_lora_backward(g, weights, ...); base: g; low: factor * g @ up; up: factor * g^T @ low",
    .variants = hone_kernels_linear_lora,
    .flop = flop,
};

const hone_op hone_op_linear_lora_backward = {
    .schema =
        "hone::linear_lora_backward(Tensor d_out, Tensor weights, Tensor scales, Tensor? minimums, int group_size, "
        "Tensor? base=None, Tensor? low=None, Tensor? down=None, int? columns=None) -> Tensor",
    .summary = "base + d_out[..,N] @ W[N,K] + low[..,R] @ down[R,K], W of 4 (u8) or 8 bits (i8)",
    .infer = infer,
    .cpu = cpu,
    .cpu_needs = needs,
    .gradient = backward_gradient,
    .gradient_text = "d_out: linear_lora(g, weights, ...); base: g; low: g @ down^T; down: low^T @ g",
    .variants = hone_kernels_linear_lora_backward,
    .flop = flop,
};
