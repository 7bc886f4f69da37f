// SPDX-License-Identifier: Apache-2.0
// Elements replaced at places picked by index along a dimension.
//
// out = self, then out[.., index[.., i, ..], ..] = src[.., i, ..], or one value. Of several places i with the same index
// the last wins. An index outside the dimension is clamped and flagged.
#include <string.h>

#include "ops/gather/gather.h"
#include "ops/op.h"
#include "ops/shape/move.h"
#include "ops/shared/parallel.h"

typedef struct context {
    const hone_op_call *call;
    char *out;
    const char *from; // src, or the bytes of the one value
    const hone_tensor *index;
    size_t element;
    int dim;
    int64_t size;                                                                         // of out along dim
    int64_t out_step[HONE_MAX_RANK], index_step[HONE_MAX_RANK], from_step[HONE_MAX_RANK]; // from_step 0: one value
} context;

static int64_t index_at(const context *c, int64_t at) {
    const int64_t index = c->index->type.dtype == HONE_DTYPE_I64 ? ((const int64_t *)c->index->data)[at]
                                                                 : ((const int32_t *)c->index->data)[at];
    return hone_call_index(c->call, index, c->size);
}

// A line runs along dim. Two lines never meet, so lines can be worked on at the same time.
static void scatter_lines(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_tensor_type *const type = &c->index->type;
    const int64_t count = type->rank > 0 ? type->dims[c->dim] : 1;
    for (int64_t line = begin; line < end; line++) {
        int64_t rest = line, out = 0, index = 0, from = 0;
        for (int d = type->rank - 1; d >= 0; d--) {
            if (d == c->dim) continue;
            const int64_t place = rest % type->dims[d];
            rest /= type->dims[d];
            out += place * c->out_step[d];
            index += place * c->index_step[d];
            from += place * c->from_step[d];
        }
        for (int64_t i = 0; i < count; i++) {
            const int64_t to = out + index_at(c, index + i * c->index_step[c->dim]) * c->out_step[c->dim];
            memcpy(c->out + (size_t)to * c->element, c->from + (size_t)(from + i * c->from_step[c->dim]) * c->element,
                   c->element);
        }
    }
}

static hone_status infer(const hone_op_call *call, const hone_tensor *src, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    const hone_tensor_type *const type = &index->type;
    int dim;
    HONE_OP_CHECK(type->dtype == HONE_DTYPE_I32 || type->dtype == HONE_DTYPE_I64, "index must be i32 or i64, not %s",
                  hone_op_type_text(index));
    HONE_TRY(hone_op_dim(call, call->operands[1].integer, self->type.rank, &dim, error));
    bool fits = self->type.rank == type->rank;
    for (int d = 0; d < self->type.rank && fits; d++)
        fits = d == dim ? self->type.dims[d] > 0 || hone_type_elements(type) == 0 : type->dims[d] <= self->type.dims[d];
    HONE_OP_CHECK(fits, "index %s does not fit self %s in dimension %d", hone_op_type_text(index),
                  hone_op_type_text(self), dim);
    bool covers = !src || src->type.rank == type->rank;
    for (int d = 0; src && d < type->rank && covers; d++) covers = type->dims[d] <= src->type.dims[d];
    HONE_OP_CHECK(covers, "src %s is smaller than index %s", hone_op_type_text(src), hone_op_type_text(index));
    call->outputs[0].type = self->type;
    return HONE_OK;
}

static hone_status value_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_check_number(call, &call->operands[3], hone_operand_tensor(call, 0)->type.dtype, error));
    return infer(call, 0, error);
}

static hone_status src_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 3, hone_operand_tensor(call, 0)->type.dtype, error));
    return infer(call, hone_operand_tensor(call, 3), error);
}

static void run(const hone_op_call *call, const void *from, const hone_tensor_type *from_type) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const index = hone_operand_tensor(call, 2);
    const int64_t dim = call->operands[1].integer, elements = hone_type_elements(&index->type);
    const size_t bytes = hone_type_bytes(&self->type);
    context c = {.call = call,
                 .out = call->outputs[0].data,
                 .from = from,
                 .index = index,
                 .element = hone_dtype_bytes(self->type.dtype),
                 .dim = self->type.rank == 0 ? 0 : (int)(dim < 0 ? dim + self->type.rank : dim)};
    if (bytes > 0 && c.out != self->data) memcpy(c.out, self->data, bytes);
    if (elements == 0) return;
    c.size = self->type.rank > 0 ? self->type.dims[c.dim] : 1;
    hone_move_strides(&self->type, c.out_step);
    hone_move_strides(&index->type, c.index_step);
    if (from_type) hone_move_strides(from_type, c.from_step);
    const int64_t count = index->type.rank > 0 ? index->type.dims[c.dim] : 1;
    hone_call_rows(call, elements / count, count, scatter_lines, &c);
}

static void value_cpu(const hone_op_call *call) {
    unsigned char bytes[8];
    hone_encode_number(hone_operand_tensor(call, 0)->type.dtype, &call->operands[3], bytes);
    run(call, bytes, 0);
}

static void src_cpu(const hone_op_call *call) {
    const hone_tensor *const src = hone_operand_tensor(call, 3);
    run(call, src->data, &src->type);
}

static hone_value with_zeros(const hone_gradient_call *call) {
    return hone_emit(call->graph, "aten::scatter.value", HONE_T(hone_grad_out(call, 0)),
                     *hone_node_argument(call->node, 1), HONE_T(hone_grad_in(call, 1)), HONE_R(0));
}

static hone_status value_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0]) call->input_gradients[0] = with_zeros(call);
    return HONE_OK;
}

static hone_status src_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0]) call->input_gradients[0] = with_zeros(call);
    if (!call->wanted[2]) return HONE_OK;
    const hone_tensor_type index = *hone_graph_type(call->graph, hone_grad_in(call, 1));
    const hone_tensor_type src = *hone_graph_type(call->graph, hone_grad_in(call, 2));
    hone_value d = hone_emit(call->graph, "aten::gather", HONE_T(hone_grad_out(call, 0)),
                             *hone_node_argument(call->node, 1), HONE_T(hone_grad_in(call, 1)));
    int64_t pad[2 * HONE_MAX_RANK] = {0}; // what of src lies beyond index
    for (int i = 0; i < src.rank; i++) pad[2 * i + 1] = src.dims[src.rank - 1 - i] - index.dims[src.rank - 1 - i];
    if (!hone_shape_equal(&index, &src))
        d = hone_emit(call->graph, "aten::constant_pad_nd", HONE_T(d), HONE_IS(pad, 2 * (size_t)src.rank));
    call->input_gradients[2] = d;
    return HONE_OK;
}

const hone_op hone_op_scatter_value = {
    .schema = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .summary = "self with value at the places index along dim; indices outside are clamped and flagged",
    .flags = HONE_OP_IN_PLACE,
    .infer = value_infer,
    .cpu = value_cpu,
    .variants = hone_kernels_scatter_value,
    .gradient = value_gradient,
    .gradient_text = "d_self = d with 0 at index",
};
const hone_op hone_op_scatter_src = {
    .schema = "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .summary = "self with src at the places index along dim, the last of equal ones; indices outside are clamped and "
               "flagged",
    .flags = HONE_OP_IN_PLACE,
    .infer = src_infer,
    .cpu = src_cpu,
    .variants = hone_kernels_scatter_src,
    .gradient = src_gradient,
    .gradient_text =
        "d_self = d with 0 at index, d_src = d gathered at index (all of equal indices get it, as in PyTorch)",
};
