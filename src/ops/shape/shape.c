// SPDX-License-Identifier: Apache-2.0
// Operators that only give elements another shape, and the family's list.
#include <string.h>

#include "ops/shape/move.h"

// The plan usually makes the output an alias and never calls this.
static void copy_bytes(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const size_t bytes = hone_type_bytes(&self->type);
    if (bytes > 0 && call->outputs[0].data != self->data) memcpy(call->outputs[0].data, self->data, bytes);
}

static hone_status view_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const size = &call->operands[1];
    hone_tensor_type *const out = &call->outputs[0].type;
    HONE_OP_CHECK(size->count <= HONE_MAX_RANK, "size has %zu dimensions, more than %d", size->count, HONE_MAX_RANK);
    *out = (hone_tensor_type){.dtype = self->type.dtype, .rank = (int)size->count};
    const int64_t elements = hone_type_elements(&self->type);
    int unknown = -1;
    int64_t known = 1;
    for (int d = 0; d < out->rank; d++) {
        out->dims[d] = size->integers[d];
        HONE_OP_CHECK(out->dims[d] >= -1, "size holds %lld", (long long)out->dims[d]);
        HONE_OP_CHECK(out->dims[d] != -1 || unknown < 0, "size holds -1 twice");
        if (out->dims[d] == -1)
            unknown = d;
        else
            HONE_OP_CHECK(!__builtin_mul_overflow(known, out->dims[d], &known), "size is too large");
    }
    if (unknown >= 0) {
        HONE_OP_CHECK(known > 0 && elements % known == 0, "%s does not divide into the size", hone_op_type_text(self));
        out->dims[unknown] = elements / known;
        known = elements;
    }
    HONE_OP_CHECK(known == elements, "%s cannot be seen as %s", hone_op_type_text(self),
                  hone_op_type_text(&call->outputs[0]));
    return HONE_OK;
}

static hone_status unsqueeze_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    int dim;
    HONE_OP_CHECK(self->type.rank < HONE_MAX_RANK, "%s has no room for a dimension", hone_op_type_text(self));
    HONE_TRY(hone_op_dim(call, call->operands[1].integer, self->type.rank + 1, &dim, error));
    hone_tensor_type out = {.dtype = self->type.dtype, .rank = self->type.rank + 1};
    for (int d = 0; d < out.rank; d++) out.dims[d] = d == dim ? 1 : self->type.dims[d < dim ? d : d - 1];
    call->outputs[0].type = out;
    return HONE_OK;
}

// Takes out the marked dimensions that are 1; the others of them stay, as in ATen.
static void squeeze(const hone_op_call *call, const bool *marked) {
    const hone_tensor_type *const self = &hone_operand_tensor(call, 0)->type;
    hone_tensor_type out = {.dtype = self->dtype};
    for (int d = 0; d < self->rank; d++)
        if (!marked[d] || self->dims[d] != 1) out.dims[out.rank++] = self->dims[d];
    call->outputs[0].type = out;
}

static hone_status squeeze_infer(const hone_op_call *call, hone_error *error) {
    bool marked[HONE_MAX_RANK];
    (void)error;
    memset(marked, 1, sizeof marked);
    squeeze(call, marked);
    return HONE_OK;
}

static hone_status squeeze_dim_infer(const hone_op_call *call, hone_error *error) {
    bool marked[HONE_MAX_RANK] = {false};
    int dim;
    HONE_TRY(hone_op_dim(call, call->operands[1].integer, hone_operand_tensor(call, 0)->type.rank, &dim, error));
    marked[dim] = true;
    squeeze(call, marked);
    return HONE_OK;
}

static hone_status squeeze_dims_infer(const hone_op_call *call, hone_error *error) {
    bool marked[HONE_MAX_RANK] = {false};
    for (size_t i = 0; i < call->operands[1].count; i++) {
        int dim;
        HONE_TRY(
            hone_op_dim(call, call->operands[1].integers[i], hone_operand_tensor(call, 0)->type.rank, &dim, error));
        marked[dim] = true;
    }
    squeeze(call, marked);
    return HONE_OK;
}

static hone_status clone_infer(const hone_op_call *call, hone_error *error) {
    (void)error;
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

static hone_status view_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    call->input_gradients[0] = hone_emit(call->graph, "aten::view_copy", HONE_T(hone_grad_out(call, 0)),
                                         HONE_IS(self.dims, (size_t)self.rank));
    return HONE_OK;
}

static hone_status clone_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_grad_out(call, 0);
    return HONE_OK;
}

#define VIEW_OP(rule)                                                                                                  \
    .flags = HONE_OP_VIEW | HONE_OP_CHEAP, .infer = (rule), .cpu = copy_bytes, .gradient = view_gradient,              \
    .gradient_text = "d_self = d in the shape of self", .variants = hone_kernels_copy

const hone_op hone_op_view = {
    .schema = "aten::view_copy(Tensor self, int[] size) -> Tensor",
    .summary = "the same elements as size; one dimension may be -1",
    VIEW_OP(view_infer),
};
const hone_op hone_op_unsqueeze = {
    .schema = "aten::unsqueeze_copy(Tensor self, int dim) -> Tensor",
    .summary = "a dimension of 1 put in at dim",
    VIEW_OP(unsqueeze_infer),
};
const hone_op hone_op_squeeze = {
    .schema = "aten::squeeze_copy(Tensor self) -> Tensor",
    .summary = "all dimensions of 1 taken out",
    VIEW_OP(squeeze_infer),
};
const hone_op hone_op_squeeze_dim = {
    .schema = "aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor",
    .summary = "dimension dim taken out if it is 1",
    VIEW_OP(squeeze_dim_infer),
};
const hone_op hone_op_squeeze_dims = {
    .schema = "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
    .summary = "those of the dimensions that are 1 taken out",
    VIEW_OP(squeeze_dims_infer),
};
const hone_op hone_op_clone = {
    .schema = "aten::clone(Tensor self, *, int? memory_format=None) -> Tensor",
    .summary = "a copy with bytes of its own",
    .infer = clone_infer,
    .cpu = copy_bytes,
    .gradient = clone_gradient,
    .gradient_text = "d_self = d",
    .variants = hone_kernels_copy,
};

const hone_op *const hone_ops_shape[] = {
    &hone_op_view,         &hone_op_unsqueeze,
    &hone_op_squeeze,      &hone_op_squeeze_dim,
    &hone_op_squeeze_dims, &hone_op_clone,
    &hone_op_permute,      &hone_op_expand,
    &hone_op_select,       &hone_op_select_backward,
    &hone_op_slice,        &hone_op_slice_backward,
    &hone_op_cat,          &hone_op_split,
    &hone_op_full,         &hone_op_full_like,
    &hone_op_fill,         &hone_op_pad,
    &hone_op_flip,         &hone_op_repeat,
    &hone_op_arange,       0,
};
