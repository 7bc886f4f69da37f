// SPDX-License-Identifier: Apache-2.0
// Dimensions in another order, and repeated along.
#include "ops/shape/move.h"
#include "ops/shared/broadcast.h"

static hone_status permute_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const dims = &call->operands[1];
    bool seen[HONE_MAX_RANK] = {false};
    HONE_OP_CHECK((int)dims->count == self->type.rank, "dims must name each dimension of %s", hone_op_type_text(self));
    call->outputs[0].type = self->type;
    for (int d = 0; d < self->type.rank; d++) {
        int from;
        HONE_TRY(hone_op_dim(call, dims->integers[d], self->type.rank, &from, error));
        HONE_OP_CHECK(!seen[from], "dims names dimension %d twice", from);
        seen[from] = true;
        call->outputs[0].type.dims[d] = self->type.dims[from];
    }
    return HONE_OK;
}

static hone_move permute_move(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    hone_move move = {.rank = self->type.rank, .element = hone_dtype_bytes(self->type.dtype)};
    int64_t strides[HONE_MAX_RANK];
    hone_move_strides(&self->type, strides);
    hone_move_strides(&out->type, move.to);
    for (int d = 0; d < move.rank; d++) {
        const int64_t from = call->operands[1].integers[d];
        move.dims[d] = out->type.dims[d];
        move.from[d] = strides[from < 0 ? from + move.rank : from];
    }
    return move;
}

static void permute_cpu(const hone_op_call *call) {
    const hone_move move = permute_move(call);
    hone_move_run(call, &move, call->outputs[0].data, hone_operand_tensor(call, 0)->data);
}

static void permute_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_move move = permute_move(call);
    hone_kernel_move(list, &move, &call->outputs[0], 0, hone_operand_tensor(call, 0), 0);
}
HONE_PLAIN_KERNEL_RULE(permute, permute_kernel)

static hone_status permute_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_argument *const dims = hone_node_argument(call->node, 1);
    const int64_t rank = (int64_t)dims->count;
    int64_t back[HONE_MAX_RANK] = {0};
    (void)error;
    for (int64_t d = 0; d < rank; d++) back[dims->integers[d] < 0 ? dims->integers[d] + rank : dims->integers[d]] = d;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::permute_copy", HONE_T(hone_grad_out(call, 0)), HONE_IS(back, (size_t)rank));
    return HONE_OK;
}

static hone_status expand_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const size = &call->operands[1];
    const int rank = (int)size->count, new_dims = rank - self->type.rank;
    HONE_OP_CHECK(size->count <= HONE_MAX_RANK && new_dims >= 0, "%s cannot expand to %zu dimensions",
                  hone_op_type_text(self), size->count);
    hone_tensor_type out = {.dtype = self->type.dtype, .rank = rank};
    for (int d = 0; d < rank; d++) {
        const int64_t own = d < new_dims ? 1 : self->type.dims[d - new_dims];
        out.dims[d] = size->integers[d] == -1 && d >= new_dims ? own : size->integers[d];
        HONE_OP_CHECK(out.dims[d] >= 0 && (own == 1 || own == out.dims[d]), "%s cannot expand to %lld in dimension %d",
                      hone_op_type_text(self), (long long)out.dims[d], d);
    }
    call->outputs[0].type = out;
    return HONE_OK;
}

static hone_move expand_move(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    hone_move move = {.rank = out->type.rank, .element = hone_dtype_bytes(self->type.dtype)};
    const int new_dims = out->type.rank - self->type.rank;
    int64_t strides[HONE_MAX_RANK];
    hone_move_strides(&self->type, strides);
    hone_move_strides(&out->type, move.to);
    for (int d = 0; d < move.rank; d++) {
        move.dims[d] = out->type.dims[d];
        move.from[d] = d < new_dims || self->type.dims[d - new_dims] == 1 ? 0 : strides[d - new_dims];
    }
    return move;
}

static void expand_cpu(const hone_op_call *call) {
    const hone_move move = expand_move(call);
    hone_move_run(call, &move, call->outputs[0].data, hone_operand_tensor(call, 0)->data);
}

static void expand_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_move move = expand_move(call);
    hone_kernel_move(list, &move, &call->outputs[0], 0, hone_operand_tensor(call, 0), 0);
}
HONE_PLAIN_KERNEL_RULE(expand, expand_kernel)

static hone_status expand_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_broadcast_gradient(call->graph, hone_grad_out(call, 0), hone_grad_in(call, 0));
    return HONE_OK;
}

const hone_op hone_op_permute = {
    .schema = "aten::permute_copy(Tensor self, int[] dims) -> Tensor",
    .summary = "dimension d of the result is dimension dims[d] of self",
    .infer = permute_infer,
    .cpu = permute_cpu,
    .gradient = permute_gradient,
    .gradient_text = "d_self = d in the order of before",
    .variants = hone_kernels_permute,
};
const hone_op hone_op_expand = {
    .schema = "aten::expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor",
    .summary = "self repeated along dimensions of 1 and new leading ones; -1 keeps a dimension",
    .flags = HONE_OP_CHEAP,
    .infer = expand_infer,
    .cpu = expand_cpu,
    .gradient = expand_gradient,
    .gradient_text = "d_self = d summed over the repeated dimensions",
    .variants = hone_kernels_expand,
};
