// SPDX-License-Identifier: Apache-2.0
// Products of matrices [M,K] @ [K,N], alone, added to something, and in batches.
#include "ops/matmul/blas.h"
#include "ops/matmul/matmul_kernels.h"
#include "ops/matmul/operators.h"

// left @ right with the operands at `at` and `at + 1`; their shapes must fit.
static hone_status infer_mm(const hone_op_call *call, size_t at, hone_tensor_type *out, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, at, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, at, 2, error));
    HONE_TRY(hone_want_matrix(call, at + 1, error));
    const hone_tensor *const left = hone_operand_tensor(call, at), *const right = hone_operand_tensor(call, at + 1);
    HONE_OP_CHECK(left->type.dims[1] == right->type.dims[0],
                  "%s and %s do not fit: columns of the first are rows of "
                  "the second",
                  hone_op_type_text(left), hone_op_type_text(right));
    *out = hone_type(HONE_DTYPE_F32, 2, left->type.dims[0], right->type.dims[1]);
    return HONE_OK;
}

static hone_gemm mm_product(const hone_op_call *call, size_t at) {
    const hone_tensor *const left = hone_operand_tensor(call, at), *const right = hone_operand_tensor(call, at + 1);
    const int64_t m = left->type.dims[0], k = left->type.dims[1], n = right->type.dims[1];
    return (hone_gemm){
        .m = m,
        .n = n,
        .k = k,
        .left = {.data = left->data, .ld = k, .factor = 1, .m = m},
        .right = {.data = right->data, .dtype = right->type.dtype, .ld = n},
        .c = call->outputs[0].data,
        .ldc = n,
    };
}

// Gradients of the two matrices at `at`: g[M,N] @ right[K,N]^T, and left[M,K]^T @ g[M,N].
static hone_status mm_gradients(const hone_gradient_call *call, size_t at, hone_error *error) {
    const hone_value g = hone_grad_out(call, 0), left = hone_grad_in(call, at), right = hone_grad_in(call, at + 1);
    if (call->wanted[at]) call->input_gradients[at] = hone_emit(call->graph, "aten::linear", HONE_T(g), HONE_T(right));
    if (call->wanted[at + 1]) {
        HONE_TRY(hone_want_trainable(call, at + 1, error));
        call->input_gradients[at + 1] = hone_emit(call->graph, "et_vk::linear_dW", HONE_T(left), HONE_T(g));
    }
    return HONE_OK;
}

// --- aten::mm --------------------------------------------------------------------------------------------------------

static hone_status mm_infer(const hone_op_call *call, hone_error *error) {
    return infer_mm(call, 0, &call->outputs[0].type, error);
}

static hone_cpu_needs mm_needs(const hone_op_call *call) {
    const hone_gemm g = mm_product(call, 0);
    return hone_gemm_needs(&g);
}

static void mm_cpu(const hone_op_call *call) {
    const hone_gemm g = mm_product(call, 0);
    hone_gemm_run(call, &g);
}

static hone_status mm_gradient(const hone_gradient_call *call, hone_error *error) {
    return mm_gradients(call, 0, error);
}

static hone_gemm_kernel mm_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = mm_product(call, 0);
    return hone_gemm_kernel_of(call, gemm, 0, &call->outputs[0], NULL);
}
HONE_PRODUCT_KERNELS(mm, mm_kernel)

static double mm_flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 0);
}

static const hone_op mm = {
    .schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
    .summary = "self[M,K] @ mat2[K,N]",
    .infer = mm_infer,
    .cpu = mm_cpu,
    .cpu_needs = mm_needs,
    .gradient = mm_gradient,
    .gradient_text = "self: g @ mat2^T; mat2: self^T @ g",
    .variants = hone_kernels_mm,
    .flop = mm_flop,
};

// --- hone::mm_scaled -------------------------------------------------------------------------------------------------
// mat1[M,K], mat2[K,N] -> [M,N]: out = factor * mat1 @ mat2.

static hone_gemm mm_scaled_product(const hone_op_call *call) {
    hone_gemm g = mm_product(call, 0);
    g.left.factor = (float)call->operands[2].real;
    return g;
}

static hone_cpu_needs mm_scaled_needs(const hone_op_call *call) {
    const hone_gemm g = mm_scaled_product(call);
    return hone_gemm_needs(&g);
}

static void mm_scaled_cpu(const hone_op_call *call) {
    const hone_gemm g = mm_scaled_product(call);
    hone_gemm_run(call, &g);
}

static hone_status mm_scaled_gradient(const hone_gradient_call *call, hone_error *error) {
    HONE_TRY(mm_gradients(call, 0, error));
    for (size_t i = 0; i < 2; i++) {
        if (call->wanted[i])
            call->input_gradients[i] = hone_emit(call->graph, "aten::mul.Scalar", HONE_T(call->input_gradients[i]),
                                                 *hone_node_argument(call->node, 2));
    }
    return HONE_OK;
}

static hone_gemm_kernel mm_scaled_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = mm_scaled_product(call);
    return hone_gemm_kernel_of(call, gemm, 0, &call->outputs[0], NULL);
}
HONE_PRODUCT_KERNELS(mm_scaled, mm_scaled_kernel)

static const hone_op mm_scaled = {
    .schema = "hone::mm_scaled(Tensor mat1, Tensor mat2, float factor) -> Tensor",
    .summary = "factor * mat1[M,K] @ mat2[K,N]",
    .infer = mm_infer,
    .cpu = mm_scaled_cpu,
    .cpu_needs = mm_scaled_needs,
    .gradient = mm_scaled_gradient,
    .gradient_text = "mat1: factor * g @ mat2^T; mat2: factor * mat1^T @ g",
    .variants = hone_kernels_mm_scaled,
    .flop = mm_flop,
};

// --- hone::mm_add ----------------------------------------------------------------------------------------------------
// base[M,N], mat1[M,K], mat2[K,N] -> [M,N]: out = base + mat1 @ mat2.

static hone_status mm_add_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(infer_mm(call, 1, &call->outputs[0].type, error));
    const hone_tensor *const base = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(hone_type_equal(&base->type, &call->outputs[0].type), "base %s must have the product's shape %s",
                  hone_op_type_text(base), hone_op_type_text(&call->outputs[0]));
    return HONE_OK;
}

static hone_gemm mm_add_product(const hone_op_call *call) {
    hone_gemm g = mm_product(call, 1);
    g.start = hone_operand_floats(call, 0);
    g.start_row = g.n;
    g.start_column = 1;
    g.start_factor = 1;
    return g;
}

static hone_cpu_needs mm_add_needs(const hone_op_call *call) {
    const hone_gemm g = mm_add_product(call);
    return hone_gemm_needs(&g);
}

static void mm_add_cpu(const hone_op_call *call) {
    const hone_gemm g = mm_add_product(call);
    hone_gemm_run(call, &g);
}

static hone_status mm_add_gradient(const hone_gradient_call *call, hone_error *error) {
    if (call->wanted[0]) call->input_gradients[0] = hone_grad_out(call, 0);
    return mm_gradients(call, 1, error);
}

static hone_gemm_kernel mm_add_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = mm_add_product(call);
    return hone_gemm_kernel_of(call, gemm, 1, &call->outputs[0], hone_operand_tensor(call, 0));
}
HONE_PRODUCT_KERNELS(mm_add, mm_add_kernel)

static double mm_add_flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 1);
}

static const hone_op mm_add = {
    .schema = "hone::mm_add(Tensor base, Tensor mat1, Tensor mat2) -> Tensor",
    .summary = "base[M,N] + mat1[M,K] @ mat2[K,N]",
    .flags = HONE_OP_IN_PLACE,
    .infer = mm_add_infer,
    .cpu = mm_add_cpu,
    .cpu_needs = mm_add_needs,
    .gradient = mm_add_gradient,
    .gradient_text = "base: g; mat1: g @ mat2^T; mat2: mat1^T @ g",
    .variants = hone_kernels_mm_add,
    .flop = mm_add_flop,
};

// --- aten::addmm -----------------------------------------------------------------------------------------------------
// self (broadcast to [M,N]), mat1[M,K], mat2[K,N] -> [M,N]: out = beta * self + alpha * mat1 @ mat2. With beta = 0,
// self is not read, as in ATen.

static hone_status addmm_infer(const hone_op_call *call, hone_error *error) {
    hone_tensor_type broadcast;
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(infer_mm(call, 1, &call->outputs[0].type, error));
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_TRY(hone_op_broadcast(call, &self->type, &call->outputs[0].type, &broadcast, error));
    HONE_OP_CHECK(hone_type_equal(&broadcast, &call->outputs[0].type), "self %s does not broadcast to %s",
                  hone_op_type_text(self), hone_op_type_text(&call->outputs[0]));
    return HONE_OK;
}

static hone_gemm addmm_product(const hone_op_call *call) {
    hone_gemm g = mm_product(call, 1);
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const int rank = self->type.rank;
    const int64_t columns = hone_type_columns(&self->type);
    g.left.factor = (float)call->operands[4].real;
    g.start_factor = (float)call->operands[3].real;
    g.start = g.start_factor == 0 ? NULL : self->data;
    g.start_column = columns == 1 ? 0 : 1;
    g.start_row = rank == 2 && self->type.dims[0] != 1 ? columns : 0;
    return g;
}

static hone_cpu_needs addmm_needs(const hone_op_call *call) {
    const hone_gemm g = addmm_product(call);
    return hone_gemm_needs(&g);
}

static void addmm_cpu(const hone_op_call *call) {
    const hone_gemm g = addmm_product(call);
    hone_gemm_run(call, &g);
}

// value * argument, where the argument (a number, perhaps live) is not the constant 1.
static hone_value scaled(const hone_gradient_call *call, hone_value value, size_t argument) {
    const hone_argument number = *hone_node_argument(call->node, argument);
    const bool one = (number.kind == HONE_ARGUMENT_REAL && number.real == 1) ||
                     (number.kind == HONE_ARGUMENT_INTEGER && number.integer == 1) || number.kind == HONE_ARGUMENT_NONE;
    return one ? value : hone_emit(call->graph, "aten::mul.Scalar", HONE_T(value), number);
}

// g summed over the dimensions along which self was repeated.
static hone_value summed_to_self(const hone_gradient_call *call) {
    const hone_value g = hone_grad_out(call, 0);
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    const hone_tensor_type out = *hone_graph_type(call->graph, g);
    if (hone_shape_equal(&self, &out)) return g;
    int64_t dims[2];
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const int at = self.rank - 2 + i; // of self, counted from the right as in broadcasting
        if (at < 0 || (self.dims[at] == 1 && out.dims[i] != 1)) dims[count++] = i;
    }
    const hone_value sum =
        count == 0 ? g : hone_emit(call->graph, "aten::sum.dim_IntList", HONE_T(g), HONE_IS(dims, count), HONE_B(true));
    return hone_emit(call->graph, "aten::view_copy", HONE_T(sum), HONE_IS(self.dims, (size_t)self.rank));
}

static hone_status addmm_gradient(const hone_gradient_call *call, hone_error *error) {
    if (call->wanted[0]) call->input_gradients[0] = scaled(call, summed_to_self(call), 3);
    HONE_TRY(mm_gradients(call, 1, error));
    for (size_t i = 1; i <= 2; i++) {
        if (call->wanted[i]) call->input_gradients[i] = scaled(call, call->input_gradients[i], 4);
    }
    return HONE_OK;
}

static hone_gemm_kernel addmm_kernel(const hone_op_call *call, hone_gemm *gemm) {
    *gemm = addmm_product(call);
    return hone_gemm_kernel_of(call, gemm, 1, &call->outputs[0], hone_operand_tensor(call, 0));
}
HONE_PRODUCT_KERNELS(addmm, addmm_kernel)

static double addmm_flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 1);
}

static const hone_op addmm = {
    .schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    .summary = "beta * self + alpha * mat1[M,K] @ mat2[K,N], self broadcast",
    .infer = addmm_infer,
    .cpu = addmm_cpu,
    .cpu_needs = addmm_needs,
    .gradient = addmm_gradient,
    .gradient_text = "self: beta * g summed to its shape; mat1: alpha * g @ mat2^T; mat2: alpha * mat1^T @ g",
    .variants = hone_kernels_addmm,
    .flop = addmm_flop,
};

// --- aten::bmm -------------------------------------------------------------------------------------------------------
// self[B,M,K], mat2[B,K,N] -> [B,M,N]: each of B products by itself, in tasks of some rows.

enum { BATCH_ROWS = 96 };

static hone_status bmm_infer(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 2; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, i, 3, error));
    }
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    HONE_OP_CHECK(a->type.dims[0] == b->type.dims[0] && a->type.dims[2] == b->type.dims[1], "%s and %s do not fit",
                  hone_op_type_text(a), hone_op_type_text(b));
    call->outputs[0].type = hone_type(HONE_DTYPE_F32, 3, a->type.dims[0], a->type.dims[1], b->type.dims[2]);
    return HONE_OK;
}

static void bmm_task(void *context, int64_t index, int thread) {
    (void)thread;
    const hone_op_call *const call = context;
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    const int64_t m = a->type.dims[1], k = a->type.dims[2], n = b->type.dims[2];
    const int64_t parts = hone_pieces(m, BATCH_ROWS);
    const int64_t batch = index / parts, m0 = index % parts * BATCH_ROWS;
    const float *const left = (const float *)a->data + (batch * m + m0) * k;
    const float *const right = (const float *)b->data + batch * k * n;
    float *const out = (float *)call->outputs[0].data + (batch * m + m0) * n;
    hone_sgemm(false, false, hone_least(BATCH_ROWS, m - m0), n, k, 1, left, k, right, n, 0, out, n);
}

static void bmm_cpu(const hone_op_call *call) {
    const hone_tensor_type *const out = &call->outputs[0].type;
    hone_op_call copy = *call;
    if (hone_type_elements(out) == 0) return;
    hone_call_parallel(call, out->dims[0] * hone_pieces(out->dims[1], BATCH_ROWS), bmm_task, &copy);
}

static hone_status bmm_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const int64_t swapped[3] = {0, 2, 1};
    const hone_value g = hone_grad_out(call, 0);
    for (size_t i = 0; i < 2; i++) {
        if (!call->wanted[i]) continue;
        const hone_value other =
            hone_emit(call->graph, "aten::permute_copy", HONE_T(hone_grad_in(call, 1 - i)), HONE_IS(swapped, 3));
        call->input_gradients[i] =
            hone_emit(call->graph, "aten::bmm", HONE_T(i == 0 ? g : other), HONE_T(i == 0 ? other : g));
    }
    return HONE_OK;
}

static hone_gemm_kernel bmm_kernel(const hone_op_call *call, hone_gemm *gemm) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    const int64_t m = a->type.dims[1], k = a->type.dims[2], n = b->type.dims[2];
    const bool any = a->type.dims[0] > 0; // else no rows either, so that nothing is run
    *gemm = (hone_gemm){
        .m = any ? m : 0, .n = n, .k = k, .left = {.ld = k, .factor = 1}, .right = {.dtype = HONE_DTYPE_F32, .ld = n}};
    hone_gemm_kernel kernel = hone_gemm_kernel_of(call, gemm, 0, &call->outputs[0], NULL);
    kernel.batch = a->type.dims[0];
    return kernel;
}
HONE_PRODUCT_KERNELS(bmm, bmm_kernel)

static double bmm_flop(const hone_op_call *call) {
    return hone_product_flop_of(call, 0);
}

static const hone_op bmm = {
    .schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
    .summary = "self[B,M,K] @ mat2[B,K,N] for each of B",
    .infer = bmm_infer,
    .cpu = bmm_cpu,
    .gradient = bmm_gradient,
    .gradient_text = "self: g @ mat2^T; mat2: self^T @ g, for each of B",
    .variants = hone_kernels_bmm,
    .flop = bmm_flop,
};

const hone_op *const hone_ops_matmul[] = {
    &mm,
    &bmm,
    &addmm,
    &mm_scaled,
    &mm_add,
    &hone_op_linear,
    &hone_op_linear_add,
    &hone_op_linear_dw,
    &hone_op_linear_dw_scaled,
    &hone_op_linear_dw_add,
    NULL,
};
