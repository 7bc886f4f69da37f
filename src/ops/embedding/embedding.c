// SPDX-License-Identifier: Apache-2.0
// Rows of a table W[V,K] by index, kept as floats, halves or codes, and the gradient of a table of floats.
// indices[..] in i32 or i64 -> out[..,K]: out[i] = W[indices[i]]. An index out of range is clamped and flagged.
#include <string.h>

#include "ops/embedding/embedding.h"
#include "ops/shared/parallel.h"

static int64_t index_at(const hone_op_call *call, const hone_tensor *indices, int64_t i, int64_t rows) {
    const int64_t index = indices->type.dtype == HONE_DTYPE_I64 ? ((const int64_t *)indices->data)[i]
                                                                : ((const int32_t *)indices->data)[i];
    return hone_call_index(call, index, rows);
}

// indices at `operand` into `rows` rows; the output is [indices.., columns].
static hone_status infer_rows(const hone_op_call *call, size_t operand, int64_t rows, int64_t columns,
                              hone_error *error) {
    const hone_tensor *const indices = hone_operand_tensor(call, operand);
    HONE_OP_CHECK(indices && (indices->type.dtype == HONE_DTYPE_I32 || indices->type.dtype == HONE_DTYPE_I64),
                  "indices must be i32 or i64, not %s", hone_op_type_text(indices));
    HONE_OP_CHECK(indices->type.rank < HONE_MAX_RANK, "indices %s have too many dimensions",
                  hone_op_type_text(indices));
    HONE_OP_CHECK(rows > 0 || hone_type_elements(&indices->type) == 0, "the table has no rows");
    hone_tensor_type out = indices->type;
    out.dtype = HONE_DTYPE_F32;
    out.dims[out.rank++] = columns;
    call->outputs[0].type = out;
    return HONE_OK;
}

// --- aten::embedding -------------------------------------------------------------------------------------------------

static hone_status embedding_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_rank(call, 0, 2, error));
    const hone_tensor *const weight = hone_operand_tensor(call, 0);
    const hone_dtype dtype = weight->type.dtype;
    HONE_OP_CHECK(dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16,
                  "the table must be f32, f16 or bf16, not %s", hone_op_type_text(weight));
    HONE_OP_CHECK(call->operands[3].integer == 0, "scale_grad_by_freq is not supported");
    HONE_OP_CHECK(call->operands[4].integer == 0, "sparse gradients are not supported");
    return infer_rows(call, 1, weight->type.dims[0], weight->type.dims[1], error);
}

static void embedding_range(void *context, int64_t begin, int64_t end) {
    const hone_op_call *const call = context;
    const hone_tensor *const weight = hone_operand_tensor(call, 0), *const indices = hone_operand_tensor(call, 1);
    const int64_t rows = weight->type.dims[0], columns = weight->type.dims[1];
    float *const out = call->outputs[0].data;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = index_at(call, indices, i, rows);
        hone_floats(weight->type.dtype, weight->data, row * columns, columns, out + i * columns);
    }
}

static void embedding_cpu(const hone_op_call *call) {
    hone_op_call copy = *call;
    const hone_tensor_type *const out = &call->outputs[0].type;
    hone_call_rows(call, hone_type_rows(out), hone_type_columns(out), embedding_range, &copy);
}

static hone_status embedding_gradient(const hone_gradient_call *call, hone_error *error) {
    if (!call->wanted[0]) return HONE_OK;
    const hone_tensor_type weight = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    HONE_FAIL_IF(weight.dtype != HONE_DTYPE_F32, error, UNSUPPORTED,
                 "aten::embedding: only an f32 table can have a gradient");
    call->input_gradients[0] =
        hone_emit(call->graph, "hone::embedding_backward", HONE_T(hone_grad_out(call, 0)),
                  HONE_T(hone_grad_in(call, 1)), HONE_I(weight.dims[0]), *hone_node_argument(call->node, 2));
    return HONE_OK;
}

static const hone_op embedding = {
    .schema = "aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
              "bool sparse=False) -> Tensor",
    .summary = "rows of weight[V,K] by index; padding_idx keeps its row out of the gradient",
    .infer = embedding_infer,
    .cpu = embedding_cpu,
    .gradient = embedding_gradient,
    .gradient_text = "weight: embedding_backward(g, indices, V, padding_idx)",
    .variants = hone_kernels_embedding,
};

// --- hone::embedding_backward ----------------------------------------------------------------------------------------
// d_out[..,K], indices[..] -> [V,K]: row r is the sum of the rows of d_out whose index is r, in their order.

static hone_status backward_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    const hone_tensor *const d_out = hone_operand_tensor(call, 0), *const indices = hone_operand_tensor(call, 1);
    const int64_t rows = call->operands[2].integer, columns = hone_type_columns(&d_out->type);
    HONE_OP_CHECK(rows >= 0, "rows must not be negative");
    HONE_TRY(infer_rows(call, 1, rows, columns, error));
    HONE_OP_CHECK(hone_type_equal(&d_out->type, &call->outputs[0].type), "d_out %s does not belong to indices %s",
                  hone_op_type_text(d_out), hone_op_type_text(indices));
    call->outputs[0].type = hone_type(HONE_DTYPE_F32, 2, rows, columns);
    return HONE_OK;
}

// A task owns some rows of the result and looks at all indices, so that no two tasks add to one row.
static void backward_range(void *context, int64_t begin, int64_t end) {
    const hone_op_call *const call = context;
    const hone_tensor *const d_out = hone_operand_tensor(call, 0), *const indices = hone_operand_tensor(call, 1);
    const int64_t rows = call->operands[2].integer, padding = call->operands[3].integer;
    const int64_t columns = call->outputs[0].type.dims[1], count = hone_type_elements(&indices->type);
    float *const out = call->outputs[0].data;
    memset(out + begin * columns, 0, (size_t)((end - begin) * columns) * sizeof(float));
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = index_at(call, indices, i, rows);
        if (row < begin || row >= end || row == padding) continue;
        const float *const from = (const float *)d_out->data + i * columns;
        for (int64_t j = 0; j < columns; j++) out[row * columns + j] += from[j];
    }
}

static void backward_cpu(const hone_op_call *call) {
    enum { TASKS = 32 };
    hone_op_call copy = *call;
    const int64_t rows = call->operands[2].integer;
    hone_call_ranges(call, rows, hone_pieces(rows, TASKS) + 1, backward_range, &copy);
}

static hone_status backward_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (!call->wanted[0]) return HONE_OK;
    const hone_argument *const padding = hone_node_argument(call->node, 3);
    if (padding->kind == HONE_ARGUMENT_INTEGER && padding->integer >= 0)
        HONE_FAIL(error, UNSUPPORTED, "hone::embedding_backward: no gradient where there is a padding_idx");
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::embedding", HONE_T(hone_grad_out(call, 0)), HONE_T(hone_grad_in(call, 1)));
    return HONE_OK;
}

static const hone_op embedding_backward = {
    .schema = "hone::embedding_backward(Tensor d_out, Tensor indices, int rows, int padding_idx=-1) -> Tensor",
    .summary = "rows of d_out[..,K] added into the rows of [V,K] that indices name, in order",
    .infer = backward_infer,
    .cpu = backward_cpu,
    .gradient = backward_gradient,
    .gradient_text = "d_out: embedding(g, indices)",
    .variants = hone_kernels_embedding_backward,
};

// --- tables in codes -------------------------------------------------------------------------------------------------
// W[v,k] = (code - 8) * scale for 4 bits without minimums, else code * scale + minimum; see linear_q4gsw.

enum { MINIMUMS = 2, INDICES = 3 };
static const hone_code_operands codes_4 = {0, 1, MINIMUMS, 4, 5, 4}, codes_8 = {0, 1, MINIMUMS, 4, -1, 8};

static hone_status codes_infer(const hone_op_call *call, const hone_code_operands *at, hone_error *error) {
    HONE_TRY(hone_codes_infer(call, at, -1, error));
    const hone_codes table = hone_codes_of(call, at, -1);
    return infer_rows(call, INDICES, table.n, table.k, error);
}

typedef struct lookup {
    const hone_op_call *call;
    hone_codes table;
} lookup;

static void codes_range(void *context, int64_t begin, int64_t end) {
    const lookup *const l = context;
    const hone_codes *const table = &l->table;
    float *const out = l->call->outputs[0].data;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = index_at(l->call, hone_operand_tensor(l->call, INDICES), i, table->n);
        for (int64_t k = 0; k < table->k; k += HONE_STRIP) {
            float strip[HONE_STRIP];
            hone_kernels_get()->decode_columns(table, row, row + 1, k, strip, HONE_STRIP);
            memcpy(out + i * table->k + k, strip, (size_t)hone_least(HONE_STRIP, table->k - k) * sizeof(float));
        }
    }
}

static void codes_cpu(const hone_op_call *call, const hone_code_operands *at) {
    lookup l = {call, hone_codes_of(call, at, -1)};
    hone_call_rows(call, hone_type_rows(&call->outputs[0].type), l.table.k, codes_range, &l);
}

static hone_status infer_4(const hone_op_call *call, hone_error *error) {
    return codes_infer(call, &codes_4, error);
}
static hone_status infer_8(const hone_op_call *call, hone_error *error) {
    return codes_infer(call, &codes_8, error);
}
static void cpu_4(const hone_op_call *call) {
    codes_cpu(call, &codes_4);
}
static void cpu_8(const hone_op_call *call) {
    codes_cpu(call, &codes_8);
}

static void codes_kernel(const hone_op_call *call, hone_kernel_list *list, const hone_code_operands *at) {
    const hone_codes table = hone_codes_of(call, at, -1);
    hone_embedding_codes_kernel(call, list, &table);
}
HONE_PLAIN_KERNEL(embedding_4, codes_kernel, &codes_4)
HONE_PLAIN_KERNEL(embedding_8, codes_kernel, &codes_8)

static const hone_op embedding_4 = {
    .schema = "hone::embedding_q4gswm(Tensor weights, Tensor scales, Tensor? minimums, Tensor indices, int group_size, "
              "int? columns=None) -> Tensor",
    .summary = "rows of a table in 4-bit codes, packed as linear_q4gsw's weight; K = columns, or twice the bytes of a "
               "row",
    .infer = infer_4,
    .cpu = cpu_4,
    .variants = hone_kernels_embedding_4,
};

static const hone_op embedding_8 = {
    .schema = "hone::embedding_q8gsw(Tensor weights, Tensor scales, Tensor? minimums, Tensor indices, int group_size) "
              "-> Tensor",
    .summary = "rows of a table in 8-bit codes",
    .infer = infer_8,
    .cpu = cpu_8,
    .variants = hone_kernels_embedding_8,
};

// --- et_vk::embedding_q4gsw ------------------------------------------------------------------------------------------
// ExecuTorch's own table: codes u8 [V, K/2] with the even column in the HIGH nibble (in the low one, as linear_q4gsw has
// it, if is_linear_weight), scales f32 [V, K/g] row-major: W[v,k] = (code - 8) * scale[v][k / g].

static hone_status exported_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_U8, error));
    HONE_TRY(hone_op_want_rank(call, 0, 2, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, 1, 2, error));
    const hone_tensor *const codes = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    const int64_t group = call->operands[2].integer, columns = codes->type.dims[1] * 2;
    HONE_OP_CHECK(group >= 1, "group_size must be positive, not %lld", (long long)group);
    HONE_OP_CHECK(scales->type.dims[0] == codes->type.dims[0] && scales->type.dims[1] == hone_pieces(columns, group),
                  "scales %s do not belong to codes %s and groups of %lld", hone_op_type_text(scales),
                  hone_op_type_text(codes), (long long)group);
    return infer_rows(call, 3, codes->type.dims[0], columns, error);
}

static void exported_range(void *context, int64_t begin, int64_t end) {
    const hone_op_call *const call = context;
    const hone_tensor *const codes = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    const int64_t bytes = codes->type.dims[1], groups = scales->type.dims[1], group = call->operands[2].integer;
    const int even_shift = call->operands[4].integer ? 0 : 4;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = index_at(call, hone_operand_tensor(call, 3), i, codes->type.dims[0]);
        const uint8_t *const from = (const uint8_t *)codes->data + row * bytes;
        const float *const scale = (const float *)scales->data + row * groups;
        float *const out = (float *)call->outputs[0].data + i * bytes * 2;
        for (int64_t k = 0; k < bytes * 2; k++) {
            const int shift = k % 2 ? 4 - even_shift : even_shift;
            out[k] = (float)((from[k / 2] >> shift & 15) - 8) * scale[k / group];
        }
    }
}

static void exported_cpu(const hone_op_call *call) {
    hone_op_call copy = *call;
    const hone_tensor_type *const out = &call->outputs[0].type;
    hone_call_rows(call, hone_type_rows(out), hone_type_columns(out), exported_range, &copy);
}

static const hone_op embedding_exported = {
    .schema = "et_vk::embedding_q4gsw(Tensor weight, Tensor weight_scales, int group_size, Tensor indices, "
              "bool is_linear_weight=False) -> Tensor",
    .summary = "rows of a 4-bit table as ExecuTorch packs it: even columns high, scales [V,K/g]",
    .infer = exported_infer,
    .cpu = exported_cpu,
    .variants = hone_kernels_embedding_exported,
};

const hone_op *const hone_ops_embedding[] = {
    &embedding, &embedding_backward, &embedding_4, &embedding_8, &embedding_exported, NULL,
};
