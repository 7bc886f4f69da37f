// SPDX-License-Identifier: Apache-2.0
// Products with a weight W[N,K]: the linear layer, what it adds to a sum, and the weight's gradient.
// M is the product of the leading dimensions of x[..,K].
#include <string.h>

#include "ops/matmul/matmul_kernels.h"
#include "ops/matmul/operators.h"

hone_status hone_want_matrix(const hone_op_call *call, size_t operand, hone_error *error) {
    const hone_tensor *const t = hone_operand_tensor(call, operand);
    HONE_TRY(hone_op_want_rank(call, operand, 2, error));
    const hone_dtype dtype = t->type.dtype;
    HONE_OP_CHECK(dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16,
                  "the matrix must be f32, f16 or bf16, not %s", hone_op_type_text(t));
    return HONE_OK;
}

static hone_value emit_mm(hone_graph *graph, hone_value a, hone_value b, double factor) {
    return factor == 1 ? hone_emit(graph, "aten::mm", HONE_T(a), HONE_T(b))
                       : hone_emit(graph, "hone::mm_scaled", HONE_T(a), HONE_T(b), HONE_R(factor));
}

hone_value hone_emit_rows_mm(hone_graph *graph, hone_value d, hone_value matrix, double factor) {
    const hone_tensor_type *const type = hone_graph_type(graph, d), *const right = hone_graph_type(graph, matrix);
    if (!type || !right || type->rank == 2) return emit_mm(graph, d, matrix, factor);
    hone_tensor_type out = *type; // a copy: adding nodes moves the types
    const int64_t flat[2] = {hone_type_rows(&out), hone_type_columns(&out)};
    out.dims[out.rank - 1] = right->dims[1];
    const hone_value rows = hone_emit(graph, "aten::view_copy", HONE_T(d), HONE_IS(flat, 2));
    const hone_value product = emit_mm(graph, rows, matrix, factor);
    return hone_emit(graph, "aten::view_copy", HONE_T(product), HONE_IS(out.dims, (size_t)out.rank));
}

hone_value hone_emit_dw(hone_graph *graph, hone_value d_out, hone_value x, double factor) {
    return factor == 1 ? hone_emit(graph, "et_vk::linear_dW", HONE_T(d_out), HONE_T(x))
                       : hone_emit(graph, "hone::linear_dW_scaled", HONE_T(d_out), HONE_T(x), HONE_R(factor));
}

hone_status hone_want_trainable(const hone_gradient_call *call, size_t input, hone_error *error) {
    const hone_tensor_type *const type = hone_graph_type(call->graph, hone_grad_in(call, input));
    HONE_FAIL_IF(!type || type->dtype != HONE_DTYPE_F32, error, UNSUPPORTED,
                 "%.*s: only an f32 weight can have a gradient", (int)strcspn(hone_node_op(call->node)->schema, "("),
                 hone_node_op(call->node)->schema);
    return HONE_OK;
}

// --- aten::linear ----------------------------------------------------------------------------------------------------
// x[..,K], weight[N,K], bias[N] -> [..,N]: out[m,n] = bias[n] + sum over k of x[m,k] * weight[n,k].

// x at operand `at`, the weight behind it; writes the output's type.
static hone_status infer_product(const hone_op_call *call, size_t at, hone_tensor_type *out, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, at, HONE_DTYPE_F32, error));
    HONE_TRY(hone_want_matrix(call, at + 1, error));
    const hone_tensor *const x = hone_operand_tensor(call, at), *const weight = hone_operand_tensor(call, at + 1);
    HONE_OP_CHECK(x->type.rank >= 1 && hone_type_columns(&x->type) == weight->type.dims[1],
                  "rows of x %s and of the weight %s differ in length", hone_op_type_text(x),
                  hone_op_type_text(weight));
    *out = x->type;
    out->dims[out->rank - 1] = weight->type.dims[0];
    return HONE_OK;
}

static hone_status linear_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(infer_product(call, 0, &call->outputs[0].type, error));
    const hone_tensor *const bias = hone_operand_tensor(call, 2);
    if (!bias) return HONE_OK;
    HONE_TRY(hone_op_want_dtype(call, 2, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(bias->type.rank == 1 && bias->type.dims[0] == hone_type_columns(&call->outputs[0].type),
                  "bias %s must have one value for each of the weight's rows", hone_op_type_text(bias));
    return HONE_OK;
}

// x @ weight^T with x at operand `at`, into output 0.
static hone_gemm product_of(const hone_op_call *call, size_t at) {
    const hone_tensor *const x = hone_operand_tensor(call, at), *const weight = hone_operand_tensor(call, at + 1);
    const int64_t m = hone_type_rows(&x->type), n = weight->type.dims[0], k = weight->type.dims[1];
    return (hone_gemm){
        .m = m,
        .n = n,
        .k = k,
        .left = {.data = x->data, .ld = k, .factor = 1, .m = m},
        .right = {.data = weight->data, .dtype = weight->type.dtype, .ld = k, .transposed = true},
        .c = call->outputs[0].data,
        .ldc = n,
    };
}

static hone_gemm linear_product(const hone_op_call *call) {
    hone_gemm g = product_of(call, 0);
    g.start = hone_operand_floats(call, 2);
    g.start_column = 1;
    g.start_factor = 1;
    return g;
}

static hone_cpu_needs linear_needs(const hone_op_call *call) {
    const hone_gemm g = linear_product(call);
    return hone_gemm_needs(&g);
}

static void linear_cpu(const hone_op_call *call) {
    const hone_gemm g = linear_product(call);
    hone_gemm_run(call, &g);
}

// Gradients of x and of the weight, whose inputs stand at `at` and behind.
static hone_status product_gradient(const hone_gradient_call *call, size_t at, double factor, hone_error *error) {
    const hone_value g = hone_grad_out(call, 0), x = hone_grad_in(call, at), weight = hone_grad_in(call, at + 1);
    if (call->wanted[at]) call->input_gradients[at] = hone_emit_rows_mm(call->graph, g, weight, factor);
    if (call->wanted[at + 1]) {
        HONE_TRY(hone_want_trainable(call, at + 1, error));
        call->input_gradients[at + 1] = hone_emit_dw(call->graph, g, x, factor);
    }
    return HONE_OK;
}

static hone_status linear_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value g = hone_grad_out(call, 0);
    HONE_TRY(product_gradient(call, 0, 1, error));
    if (!call->wanted[2]) return HONE_OK;
    const int64_t leading[HONE_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int rank = hone_graph_type(call->graph, g)->rank;
    call->input_gradients[2] = rank < 2 ? g
                                        : hone_emit(call->graph, "aten::sum.dim_IntList", HONE_T(g),
                                                    HONE_IS(leading, (size_t)rank - 1), HONE_B(false));
    return HONE_OK;
}

static hone_gemm_kernel linear_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = linear_product(call);
    return hone_gemm_kernel_of(call, gemm, 0, &call->outputs[0], hone_operand_tensor(call, 2));
}
HONE_PRODUCT_KERNELS(linear, linear_kernel)

static double linear_flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 0);
}

const hone_op hone_op_linear = {
    .schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .summary = "input[..,K] @ weight[N,K]^T + bias[N]",
    .infer = linear_infer,
    .cpu = linear_cpu,
    .cpu_needs = linear_needs,
    .gradient = linear_gradient,
    .gradient_text = "input: g @ weight; weight: linear_dW(g, input); bias: g summed over rows",
    .variants = hone_kernels_linear,
    .flop = linear_flop,
};

// --- hone::linear_add ------------------------------------------------------------------------------------------------
// base[..,N], x[..,K], weight[N,K] -> [..,N]: out = base + factor * x @ weight^T.

static hone_status linear_add_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(infer_product(call, 1, &call->outputs[0].type, error));
    const hone_tensor *const base = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(hone_type_equal(&base->type, &call->outputs[0].type), "base %s must have the product's shape %s",
                  hone_op_type_text(base), hone_op_type_text(&call->outputs[0]));
    return HONE_OK;
}

static hone_gemm linear_add_product(const hone_op_call *call) {
    hone_gemm g = product_of(call, 1);
    g.left.factor = (float)call->operands[3].real;
    g.start = hone_operand_floats(call, 0);
    g.start_row = g.n;
    g.start_column = 1;
    g.start_factor = 1;
    return g;
}

static hone_cpu_needs linear_add_needs(const hone_op_call *call) {
    const hone_gemm g = linear_add_product(call);
    return hone_gemm_needs(&g);
}

static void linear_add_cpu(const hone_op_call *call) {
    const hone_gemm g = linear_add_product(call);
    hone_gemm_run(call, &g);
}

static hone_status linear_add_gradient(const hone_gradient_call *call, hone_error *error) {
    if (call->wanted[0]) call->input_gradients[0] = hone_grad_out(call, 0);
    return product_gradient(call, 1, hone_node_argument(call->node, 3)->real, error);
}

static hone_gemm_kernel linear_add_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = linear_add_product(call);
    return hone_gemm_kernel_of(call, gemm, 1, &call->outputs[0], hone_operand_tensor(call, 0));
}
HONE_PRODUCT_KERNELS(linear_add, linear_add_kernel)

static double linear_add_flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 1);
}

const hone_op hone_op_linear_add = {
    .schema = "hone::linear_add(Tensor base, Tensor x, Tensor weight, float factor=1.0) -> Tensor",
    .summary = "base[..,N] + factor * x[..,K] @ weight[N,K]^T",
    .flags = HONE_OP_IN_PLACE,
    .infer = linear_add_infer,
    .cpu = linear_add_cpu,
    .cpu_needs = linear_add_needs,
    .gradient = linear_add_gradient,
    .gradient_text = "base: g; x: factor * g @ weight; weight: factor * linear_dW(g, x)",
    .variants = hone_kernels_linear_add,
    .flop = linear_add_flop,
};

// --- et_vk::linear_dW ------------------------------------------------------------------------------------------------
// d_out[..,N], x[..,K] -> [N,K]: out[n,k] = sum over m of d_out[m,n] * x[m,k].

// d_out at operand `at`, x behind it.
static hone_status infer_dw(const hone_op_call *call, size_t at, hone_tensor_type *out, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, at, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, at + 1, HONE_DTYPE_F32, error));
    const hone_tensor *const d_out = hone_operand_tensor(call, at), *const x = hone_operand_tensor(call, at + 1);
    HONE_OP_CHECK(d_out->type.rank >= 1 && x->type.rank >= 1 &&
                      hone_type_rows(&d_out->type) == hone_type_rows(&x->type),
                  "d_out %s and x %s must have as many rows", hone_op_type_text(d_out), hone_op_type_text(x));
    *out = hone_type(HONE_DTYPE_F32, 2, hone_type_columns(&d_out->type), hone_type_columns(&x->type));
    return HONE_OK;
}

static hone_gemm dw_product(const hone_op_call *call, size_t at, void *out) {
    const hone_tensor *const d_out = hone_operand_tensor(call, at), *const x = hone_operand_tensor(call, at + 1);
    const int64_t n = hone_type_columns(&d_out->type), k = hone_type_columns(&x->type);
    return (hone_gemm){
        .m = n,
        .n = k,
        .k = hone_type_rows(&x->type),
        .left = {.data = d_out->data, .ld = n, .transposed = true, .factor = 1, .m = n},
        .right = {.data = x->data, .dtype = HONE_DTYPE_F32, .ld = k},
        .c = out,
        .ldc = k,
    };
}

static hone_status dw_infer(const hone_op_call *call, hone_error *error) {
    return infer_dw(call, 0, &call->outputs[0].type, error);
}

static hone_cpu_needs dw_needs(const hone_op_call *call) {
    const hone_gemm g = dw_product(call, 0, NULL);
    return hone_gemm_needs(&g);
}

static void dw_cpu(const hone_op_call *call) {
    const hone_gemm g = dw_product(call, 0, call->outputs[0].data);
    hone_gemm_run(call, &g);
}

static hone_status dw_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const hone_value g = hone_grad_out(call, 0), d_out = hone_grad_in(call, 0), x = hone_grad_in(call, 1);
    if (call->wanted[0]) call->input_gradients[0] = hone_emit(call->graph, "aten::linear", HONE_T(x), HONE_T(g));
    if (call->wanted[1]) call->input_gradients[1] = hone_emit_rows_mm(call->graph, d_out, g, 1);
    return HONE_OK;
}

static hone_gemm_kernel linear_dw_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = dw_product(call, 0, NULL);
    return hone_gemm_kernel_of(call, gemm, 0, &call->outputs[0], NULL);
}
HONE_PRODUCT_KERNELS(linear_dw, linear_dw_kernel)

static double dw_flop(const hone_op_call *call) {
    return hone_product_flop(&call->outputs[0], hone_type_rows(&hone_operand_tensor(call, 0)->type));
}

const hone_op hone_op_linear_dw = {
    .schema = "et_vk::linear_dW(Tensor d_out, Tensor x) -> Tensor",
    .summary = "d_out[..,N]^T @ x[..,K] over all rows: the gradient of a weight [N,K]",
    .infer = dw_infer,
    .cpu = dw_cpu,
    .cpu_needs = dw_needs,
    .gradient = dw_gradient,
    .gradient_text = "d_out: x @ g^T; x: d_out @ g",
    .variants = hone_kernels_linear_dw,
    .flop = dw_flop,
};

// --- hone::linear_dW_scaled ------------------------------------------------------------------------------------------
// d_out[..,N], x[..,K] -> [N,K]: out = factor * d_out^T @ x.

static hone_gemm dw_scaled_product(const hone_op_call *call, void *out) {
    hone_gemm g = dw_product(call, 0, out);
    g.left.factor = (float)call->operands[2].real;
    return g;
}

static hone_cpu_needs dw_scaled_needs(const hone_op_call *call) {
    const hone_gemm g = dw_scaled_product(call, NULL);
    return hone_gemm_needs(&g);
}

static void dw_scaled_cpu(const hone_op_call *call) {
    const hone_gemm g = dw_scaled_product(call, call->outputs[0].data);
    hone_gemm_run(call, &g);
}

static hone_status dw_scaled_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const hone_value g = hone_grad_out(call, 0), d_out = hone_grad_in(call, 0), x = hone_grad_in(call, 1);
    const double factor = hone_node_argument(call->node, 2)->real;
    if (call->wanted[0]) {
        const hone_value product = hone_emit(call->graph, "aten::linear", HONE_T(x), HONE_T(g));
        call->input_gradients[0] = hone_emit(call->graph, "aten::mul.Scalar", HONE_T(product), HONE_R(factor));
    }
    if (call->wanted[1]) call->input_gradients[1] = hone_emit_rows_mm(call->graph, d_out, g, factor);
    return HONE_OK;
}

static hone_gemm_kernel linear_dw_scaled_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = dw_scaled_product(call, NULL);
    return hone_gemm_kernel_of(call, gemm, 0, &call->outputs[0], NULL);
}
HONE_PRODUCT_KERNELS(linear_dw_scaled, linear_dw_scaled_kernel)

const hone_op hone_op_linear_dw_scaled = {
    .schema = "hone::linear_dW_scaled(Tensor d_out, Tensor x, float factor) -> Tensor",
    .summary = "factor * d_out[..,N]^T @ x[..,K] over all rows",
    .infer = dw_infer,
    .cpu = dw_scaled_cpu,
    .cpu_needs = dw_scaled_needs,
    .gradient = dw_scaled_gradient,
    .gradient_text = "d_out: factor * x @ g^T; x: factor * d_out @ g",
    .variants = hone_kernels_linear_dw_scaled,
    .flop = dw_flop,
};

// --- hone::linear_dW_add_ --------------------------------------------------------------------------------------------
// into[N,K] += factor * d_out[..,N]^T @ x[..,K], for gradients that add up over micro-batches.

static hone_status dw_add_infer(const hone_op_call *call, hone_error *error) {
    hone_tensor_type type;
    HONE_TRY(infer_dw(call, 1, &type, error));
    const hone_tensor *const into = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(hone_type_equal(&into->type, &type), "'into' %s must have the shape of d_out^T @ x",
                  hone_op_type_text(into));
    return HONE_OK;
}

static hone_gemm dw_add_product(const hone_op_call *call) {
    float *const into = hone_operand_tensor(call, 0)->data;
    hone_gemm g = dw_product(call, 1, into);
    g.left.factor = (float)call->operands[3].real;
    g.start = into;
    g.start_row = g.ldc;
    g.start_column = 1;
    g.start_factor = 1;
    return g;
}

static hone_cpu_needs dw_add_needs(const hone_op_call *call) {
    const hone_gemm g = dw_add_product(call);
    return hone_gemm_needs(&g);
}

static void dw_add_cpu(const hone_op_call *call) {
    const hone_gemm g = dw_add_product(call);
    hone_gemm_run(call, &g);
}

static hone_gemm_kernel linear_dw_add_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = dw_add_product(call);
    return hone_gemm_kernel_of(call, gemm, 1, hone_operand_tensor(call, 0), hone_operand_tensor(call, 0));
}
HONE_PRODUCT_KERNELS(linear_dw_add, linear_dw_add_kernel)

static double dw_add_flop(const hone_op_call *call) {
    return hone_product_flop(hone_operand_tensor(call, 0), hone_type_rows(&hone_operand_tensor(call, 1)->type));
}

const hone_op hone_op_linear_dw_add = {
    .schema = "hone::linear_dW_add_(Tensor(a!) into, Tensor d_out, Tensor x, float factor=1.0) -> ()",
    .summary = "into[N,K] += factor * d_out[..,N]^T @ x[..,K]",
    .flags = HONE_OP_EFFECT,
    .infer = dw_add_infer,
    .cpu = dw_add_cpu,
    .cpu_needs = dw_add_needs,
    .variants = hone_kernels_linear_dw_add,
    .flop = dw_add_flop,
};
