// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor along one dimension, and their gradients: the part put back among zeros.
#include <string.h>

#include "ops/shape/move.h"

// Positions first, first + step, ... along dim: count of them.
typedef struct part {
    int dim;
    int64_t first, step, count;
} part;

// As ATen: bounds count from the end when negative, and are clamped.
static hone_status resolve_slice(const hone_op_call *call, const hone_tensor_type *whole, size_t at, part *out,
                                 hone_error *error) {
    const hone_operand *const start = &call->operands[at + 1], *const end = &call->operands[at + 2];
    HONE_OP_CHECK(whole->rank > 0, "a scalar has no slices");
    HONE_TRY(hone_op_dim(call, call->operands[at].integer, whole->rank, &out->dim, error));
    const int64_t size = whole->dims[out->dim];
    int64_t first = start->kind == HONE_ARGUMENT_NONE ? 0 : start->integer;
    int64_t last = end->kind == HONE_ARGUMENT_NONE ? size : end->integer;
    out->step = call->operands[at + 3].integer;
    HONE_OP_CHECK(out->step >= 1, "step must be positive, not %lld", (long long)out->step);
    if (first < 0) first += size;
    if (last < 0) last += size;
    out->first = first < 0 ? 0 : first > size ? size : first;
    last = last < out->first ? out->first : last > size ? size : last;
    out->count = (last - out->first) / out->step + ((last - out->first) % out->step != 0);
    return HONE_OK;
}

static hone_status resolve_select(const hone_op_call *call, const hone_tensor_type *whole, size_t at, part *out,
                                  hone_error *error) {
    HONE_OP_CHECK(whole->rank > 0, "a scalar has nothing to select");
    HONE_TRY(hone_op_dim(call, call->operands[at].integer, whole->rank, &out->dim, error));
    const int64_t size = whole->dims[out->dim], index = call->operands[at + 1].integer;
    HONE_OP_CHECK(index >= -size && index < size, "index %lld is not within a dimension of %lld", (long long)index,
                  (long long)size);
    out->first = index < 0 ? index + size : index;
    out->step = 1;
    out->count = 1;
    return HONE_OK;
}

// The copy between the part of `whole` and the packed tensor that holds the part alone; *first is the part's first element.
static hone_move part_move(const hone_tensor_type *whole, const part *p, bool into_whole, int64_t *first) {
    hone_tensor_type packed = *whole;
    packed.dims[p->dim] = p->count;
    hone_move move = {.rank = whole->rank, .element = hone_dtype_bytes(whole->dtype)};
    int64_t *const wide = into_whole ? move.to : move.from, *const narrow = into_whole ? move.from : move.to;
    memcpy(move.dims, packed.dims, sizeof move.dims);
    hone_move_strides(&packed, narrow);
    hone_move_strides(whole, wide);
    *first = p->first * wide[p->dim];
    wide[p->dim] *= p->step;
    return move;
}

static void move_part(const hone_op_call *call, const hone_tensor_type *whole, const part *p, void *whole_data,
                      void *part_data, bool into_whole) {
    int64_t first;
    const hone_move move = part_move(whole, p, into_whole, &first);
    char *const start = (char *)whole_data + (size_t)first * move.element;
    hone_move_run(call, &move, into_whole ? (void *)start : part_data, into_whole ? part_data : (void *)start);
}

static hone_tensor_type without(const hone_tensor_type *type, int dim) {
    hone_tensor_type out = {.dtype = type->dtype};
    for (int d = 0; d < type->rank; d++)
        if (d != dim) out.dims[out.rank++] = type->dims[d];
    return out;
}

// --- forward ---------------------------------------------------------------------------------------------------------
static hone_status slice_infer(const hone_op_call *call, hone_error *error) {
    part p;
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    HONE_TRY(resolve_slice(call, &hone_operand_tensor(call, 0)->type, 1, &p, error));
    call->outputs[0].type.dims[p.dim] = p.count;
    return HONE_OK;
}

static hone_status select_infer(const hone_op_call *call, hone_error *error) {
    part p;
    HONE_TRY(resolve_select(call, &hone_operand_tensor(call, 0)->type, 1, &p, error));
    call->outputs[0].type = without(&hone_operand_tensor(call, 0)->type, p.dim);
    return HONE_OK;
}

static void slice_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    part p;
    if (resolve_slice(call, &self->type, 1, &p, 0) == HONE_OK)
        move_part(call, &self->type, &p, self->data, call->outputs[0].data, false);
}

static void select_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    part p;
    if (resolve_select(call, &self->type, 1, &p, 0) == HONE_OK)
        move_part(call, &self->type, &p, self->data, call->outputs[0].data, false);
}

static void take_kernel(const hone_op_call *call, hone_kernel_list *list, bool slice) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    part p;
    int64_t first;
    if ((slice ? resolve_slice : resolve_select)(call, &self->type, 1, &p, &list->failure) != HONE_OK) return;
    const hone_move move = part_move(&self->type, &p, false, &first);
    hone_kernel_move(list, &move, &call->outputs[0], 0, self, first);
}
HONE_PLAIN_KERNEL(slice, take_kernel, true)
HONE_PLAIN_KERNEL(select, take_kernel, false)

// --- gradients -------------------------------------------------------------------------------------------------------
static hone_status whole_of(const hone_op_call *call, hone_tensor_type *out, hone_error *error) {
    const hone_operand *const sizes = &call->operands[1];
    HONE_OP_CHECK(sizes->count <= HONE_MAX_RANK, "input_sizes has %zu dimensions", sizes->count);
    *out = hone_type_of(hone_operand_tensor(call, 0)->type.dtype, (int)sizes->count, sizes->integers);
    return hone_type_check(out, "input_sizes", error);
}

static hone_status slice_backward_infer(const hone_op_call *call, hone_error *error) {
    hone_tensor_type whole;
    part p;
    HONE_TRY(whole_of(call, &whole, error));
    HONE_TRY(resolve_slice(call, &whole, 2, &p, error));
    hone_tensor_type packed = whole;
    packed.dims[p.dim] = p.count;
    HONE_OP_CHECK(hone_shape_equal(&packed, &hone_operand_tensor(call, 0)->type),
                  "grad_output %s does not have the shape of the slice",
                  hone_op_type_text(hone_operand_tensor(call, 0)));
    call->outputs[0].type = whole;
    return HONE_OK;
}

static hone_status select_backward_infer(const hone_op_call *call, hone_error *error) {
    hone_tensor_type whole;
    part p;
    HONE_TRY(whole_of(call, &whole, error));
    HONE_TRY(resolve_select(call, &whole, 2, &p, error));
    const hone_tensor_type packed = without(&whole, p.dim);
    HONE_OP_CHECK(hone_shape_equal(&packed, &hone_operand_tensor(call, 0)->type),
                  "grad_output %s does not have the shape of what was selected",
                  hone_op_type_text(hone_operand_tensor(call, 0)));
    call->outputs[0].type = whole;
    return HONE_OK;
}

static void put_back(const hone_op_call *call, const part *p) {
    const hone_tensor *const out = &call->outputs[0];
    memset(out->data, 0, hone_type_bytes(&out->type));
    move_part(call, &out->type, p, out->data, hone_operand_tensor(call, 0)->data, true);
}

static void slice_backward_cpu(const hone_op_call *call) {
    part p;
    if (resolve_slice(call, &call->outputs[0].type, 2, &p, 0) == HONE_OK) put_back(call, &p);
}

static void select_backward_cpu(const hone_op_call *call) {
    part p;
    if (resolve_select(call, &call->outputs[0].type, 2, &p, 0) == HONE_OK) put_back(call, &p);
}

static void put_kernel(const hone_op_call *call, hone_kernel_list *list, bool slice) {
    static const unsigned char zero[8] = {0};
    const hone_tensor *const out = &call->outputs[0];
    part p;
    int64_t first;
    if ((slice ? resolve_slice : resolve_select)(call, &out->type, 2, &p, &list->failure) != HONE_OK) return;
    const hone_move move = part_move(&out->type, &p, true, &first);
    hone_placement placement = {.from_first = 0};
    for (int d = 0; d < move.rank; d++) {
        placement.first[d] = d == p.dim ? p.first : 0;
        placement.step[d] = d == p.dim ? p.step : 1;
        placement.count[d] = move.dims[d];
        placement.from[d] = move.from[d];
    }
    hone_kernel_put(list, out, hone_operand_tensor(call, 0), &placement, zero);
}
HONE_PLAIN_KERNEL(slice_backward, put_kernel, true)
HONE_PLAIN_KERNEL(select_backward, put_kernel, false)

static hone_status slice_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    (void)error;
    call->input_gradients[0] = hone_emit(call->graph, "hone::slice_backward", HONE_T(hone_grad_out(call, 0)),
                                         HONE_IS(self.dims, (size_t)self.rank), *hone_node_argument(call->node, 1),
                                         *hone_node_argument(call->node, 2), *hone_node_argument(call->node, 3),
                                         *hone_node_argument(call->node, 4));
    return HONE_OK;
}

static hone_status select_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    (void)error;
    call->input_gradients[0] = hone_emit(call->graph, "aten::select_backward", HONE_T(hone_grad_out(call, 0)),
                                         HONE_IS(self.dims, (size_t)self.rank), *hone_node_argument(call->node, 1),
                                         *hone_node_argument(call->node, 2));
    return HONE_OK;
}

const hone_op hone_op_slice = {
    .schema = "aten::slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    .summary = "self[.., start:end:step, ..]; bounds are clamped, negative ones count from the end",
    .infer = slice_infer,
    .cpu = slice_cpu,
    .gradient = slice_gradient,
    .gradient_text = "d_self by hone::slice_backward",
    .variants = hone_kernels_slice,
};
const hone_op hone_op_slice_backward = {
    .schema = "hone::slice_backward(Tensor grad_output, int[] input_sizes, int dim=0, int? start=None, int? end=None, "
              "int step=1) -> Tensor",
    .summary = "zeros of input_sizes with grad_output where slice_copy took its elements from",
    .infer = slice_backward_infer,
    .cpu = slice_backward_cpu,
    .variants = hone_kernels_slice_backward,
};
const hone_op hone_op_select = {
    .schema = "aten::select_copy.int(Tensor self, int dim, int index) -> Tensor",
    .summary = "self[.., index, ..] without the dimension",
    .infer = select_infer,
    .cpu = select_cpu,
    .gradient = select_gradient,
    .gradient_text = "d_self by aten::select_backward",
    .variants = hone_kernels_select,
};
const hone_op hone_op_select_backward = {
    .schema = "aten::select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor",
    .summary = "zeros of input_sizes with grad_output at index of dim",
    .infer = select_backward_infer,
    .cpu = select_backward_cpu,
    .variants = hone_kernels_select_backward,
};
