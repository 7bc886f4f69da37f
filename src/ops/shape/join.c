// SPDX-License-Identifier: Apache-2.0
// Tensors put one behind another along a dimension, and the reverse.
#include <string.h>

#include "ops/shape/move.h"

// The copy between `part` and the places [at, at + size) along dim of `whole`; *first is the first element there.
static hone_move piece_move(const hone_tensor *whole, const hone_tensor *part, int dim, int64_t at, bool into_whole,
                            int64_t *first) {
    hone_move move = {.rank = whole->type.rank, .element = hone_dtype_bytes(whole->type.dtype)};
    int64_t *const wide = into_whole ? move.to : move.from, *const narrow = into_whole ? move.from : move.to;
    memcpy(move.dims, part->type.dims, sizeof move.dims);
    hone_move_strides(&whole->type, wide);
    hone_move_strides(&part->type, narrow);
    *first = at * wide[dim];
    return move;
}

static void move_piece(const hone_op_call *call, const hone_tensor *whole, const hone_tensor *part, int dim, int64_t at,
                       bool into_whole) {
    int64_t first;
    const hone_move move = piece_move(whole, part, dim, at, into_whole, &first);
    char *const place = (char *)whole->data + (size_t)first * move.element;
    hone_move_run(call, &move, into_whole ? (void *)place : part->data, into_whole ? part->data : (void *)place);
}

// An empty vector joins anything, as in ATen.
static bool is_nothing(const hone_tensor *tensor) {
    return tensor->type.rank == 1 && tensor->type.dims[0] == 0;
}

static hone_status cat_infer(const hone_op_call *call, hone_error *error) {
    const hone_operand *const tensors = &call->operands[0];
    HONE_OP_CHECK(tensors->count > 0, "there is nothing to join");
    const hone_tensor *first = &tensors->tensors[0];
    for (size_t i = 0; i < tensors->count && is_nothing(first); i++) first = &tensors->tensors[i];
    HONE_OP_CHECK(first->type.rank > 0, "scalars cannot be joined");
    int dim;
    HONE_TRY(hone_op_dim(call, call->operands[1].integer, first->type.rank, &dim, error));
    call->outputs[0].type = first->type;
    int64_t total = 0;
    for (size_t i = 0; i < tensors->count; i++) {
        const hone_tensor *const tensor = &tensors->tensors[i];
        HONE_OP_CHECK(tensor->type.dtype == first->type.dtype, "%s and %s differ in type", hone_op_type_text(first),
                      hone_op_type_text(tensor));
        if (is_nothing(tensor)) continue;
        bool fits = tensor->type.rank == first->type.rank;
        for (int d = 0; d < first->type.rank && fits; d++)
            fits = d == dim || tensor->type.dims[d] == first->type.dims[d];
        HONE_OP_CHECK(fits, "%s and %s cannot be joined in dimension %d", hone_op_type_text(first),
                      hone_op_type_text(tensor), dim);
        total += tensor->type.dims[dim];
    }
    call->outputs[0].type.dims[dim] = total;
    return HONE_OK;
}

static void cat_cpu(const hone_op_call *call) {
    const hone_operand *const tensors = &call->operands[0];
    const hone_tensor *const out = &call->outputs[0];
    const int64_t given = call->operands[1].integer;
    const int dim = (int)(given < 0 ? given + out->type.rank : given);
    int64_t at = 0;
    for (size_t i = 0; i < tensors->count; i++) {
        if (is_nothing(&tensors->tensors[i])) continue;
        move_piece(call, out, &tensors->tensors[i], dim, at, true);
        at += tensors->tensors[i].type.dims[dim];
    }
}

static void cat_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_operand *const tensors = &call->operands[0];
    const hone_tensor *const out = &call->outputs[0];
    const int64_t given = call->operands[1].integer;
    const int dim = (int)(given < 0 ? given + out->type.rank : given);
    int64_t at = 0, first;
    for (size_t i = 0; i < tensors->count; i++) {
        const hone_tensor *const part = &tensors->tensors[i];
        if (is_nothing(part)) continue;
        const hone_move move = piece_move(out, part, dim, at, true, &first);
        hone_kernel_move(list, &move, out, first, part, 0);
        at += part->type.dims[dim];
    }
}
HONE_PLAIN_KERNEL_RULE(cat, cat_kernel)

static hone_status cat_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_tensor_type out = *hone_graph_type(call->graph, hone_grad_out(call, 0));
    const int64_t given = hone_node_argument(call->node, 1)->integer;
    const int dim = (int)(given < 0 ? given + out.rank : given);
    int64_t at = 0;
    (void)error;
    for (size_t i = 0; i < hone_node_input_count(call->node); i++) {
        const hone_tensor_type *const type = hone_graph_type(call->graph, hone_grad_in(call, i));
        if (type->rank != out.rank) continue; // an empty vector
        const int64_t size = type->dims[dim];
        if (call->wanted[i])
            call->input_gradients[i] = hone_emit(call->graph, "aten::slice_copy.Tensor", HONE_T(hone_grad_out(call, 0)),
                                                 HONE_I(dim), HONE_I(at), HONE_I(at + size));
        at += size;
    }
    return HONE_OK;
}

static hone_status split_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const sizes = &call->operands[1];
    int dim;
    HONE_OP_CHECK(self->type.rank > 0, "a scalar cannot be split");
    HONE_TRY(hone_op_dim(call, call->operands[2].integer, self->type.rank, &dim, error));
    HONE_OP_CHECK(sizes->count == call->output_count, "%zu sizes cannot give %zu tensors", sizes->count,
                  call->output_count);
    int64_t total = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        const int64_t size = sizes->integers[i];
        HONE_OP_CHECK(size >= 0 && size <= self->type.dims[dim] - total, "sizes do not add up to dimension %d of %s",
                      dim, hone_op_type_text(self));
        total += size;
        call->outputs[i].type = self->type;
        call->outputs[i].type.dims[dim] = size;
    }
    HONE_OP_CHECK(total == self->type.dims[dim], "sizes do not add up to dimension %d of %s", dim,
                  hone_op_type_text(self));
    return HONE_OK;
}

static void split_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const int64_t given = call->operands[2].integer;
    const int dim = (int)(given < 0 ? given + self->type.rank : given);
    int64_t at = 0;
    for (size_t i = 0; i < call->output_count; i++) {
        move_piece(call, self, &call->outputs[i], dim, at, false);
        at += call->outputs[i].type.dims[dim];
    }
}

static void split_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const int64_t given = call->operands[2].integer;
    const int dim = (int)(given < 0 ? given + self->type.rank : given);
    int64_t at = 0, first;
    for (size_t i = 0; i < call->output_count; i++) {
        const hone_move move = piece_move(self, &call->outputs[i], dim, at, false, &first);
        hone_kernel_move(list, &move, &call->outputs[i], 0, self, first);
        at += call->outputs[i].type.dims[dim];
    }
}
HONE_PLAIN_KERNEL_RULE(split, split_kernel)

static hone_status split_gradient(const hone_gradient_call *call, hone_error *error) {
    enum { MOST = 256 };
    const size_t count = hone_node_output_count(call->node);
    hone_value parts[MOST];
    if (count > MOST) HONE_FAIL(error, UNSUPPORTED, "aten::split_with_sizes_copy: more than %d parts", MOST);
    for (size_t i = 0; i < count; i++) {
        parts[i] = hone_grad_out(call, i);
        if (parts[i].id) continue;
        const hone_tensor_type type = *hone_graph_type(call->graph, hone_node_output(call->node, i));
        parts[i] = hone_emit(call->graph, "aten::full", HONE_IS(type.dims, (size_t)type.rank), HONE_R(0));
    }
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::cat", HONE_TS(parts, count), *hone_node_argument(call->node, 2));
    return HONE_OK;
}

const hone_op hone_op_cat = {
    .schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    .summary = "the tensors one behind another along dim",
    .infer = cat_infer,
    .cpu = cat_cpu,
    .gradient = cat_gradient,
    .gradient_text = "each tensor gets its slice of d",
    .variants = hone_kernels_cat,
};
const hone_op hone_op_split = {
    .schema = "aten::split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    .summary = "self cut along dim into parts of split_sizes",
    .infer = split_infer,
    .cpu = split_cpu,
    .gradient = split_gradient,
    .gradient_text = "d_self = the parts' gradients joined",
    .variants = hone_kernels_split,
};
