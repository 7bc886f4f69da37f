// SPDX-License-Identifier: Apache-2.0
// A border of one number put round a tensor, or taken off.
#include "ops/shape/move.h"

// Places of one dimension that stay: `count` of them, from `from` in self to `to` in the result.
typedef struct kept {
    int64_t from, to, count;
} kept;

// pad lists (before, after) from the last dimension on; what it does not name stays.
static void resolve(const hone_operand *pad, const hone_tensor_type *self, int d, kept *out, int64_t *size) {
    const size_t at = 2 * (size_t)(self->rank - 1 - d);
    const int64_t before = at < pad->count ? pad->integers[at] : 0;
    const int64_t after = at < pad->count ? pad->integers[at + 1] : 0;
    const int64_t end = after < 0 ? self->dims[d] + after : self->dims[d];
    out->from = before < 0 ? -before : 0;
    out->to = before > 0 ? before : 0;
    out->count = end > out->from ? end - out->from : 0;
    *size = self->dims[d] + before + after;
}

static hone_status check_pad(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const pad = &call->operands[1];
    HONE_OP_CHECK(pad->count % 2 == 0 && pad->count <= 2 * (size_t)self->type.rank,
                  "pad has %zu numbers; two for each of the last dimensions of %s are wanted", pad->count,
                  hone_op_type_text(self));
    for (size_t i = 0; i < pad->count; i++)
        HONE_OP_CHECK(pad->integers[i] > -((int64_t)1 << 40) && pad->integers[i] < (int64_t)1 << 40, "pad holds %lld",
                      (long long)pad->integers[i]);
    return HONE_OK;
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_TRY(check_pad(call, error));
    HONE_TRY(hone_check_number(call, &call->operands[2], self->type.dtype, error));
    call->outputs[0].type = self->type;
    for (int d = 0; d < self->type.rank; d++) {
        kept k;
        int64_t *const size = &call->outputs[0].type.dims[d];
        resolve(&call->operands[1], &self->type, d, &k, size);
        HONE_OP_CHECK(*size >= 0, "dimension %d of %s would become %lld", d, hone_op_type_text(self), (long long)*size);
    }
    return HONE_OK;
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    hone_move move = {.rank = self->type.rank, .element = hone_dtype_bytes(self->type.dtype)};
    int64_t to = 0, from = 0;
    hone_move_strides(&self->type, move.from);
    hone_move_strides(&out->type, move.to);
    bool any = true;
    for (int d = 0; d < move.rank; d++) {
        kept k;
        int64_t size;
        resolve(&call->operands[1], &self->type, d, &k, &size);
        move.dims[d] = k.count;
        to += k.to * move.to[d];
        from += k.from * move.from[d];
        any = any && k.count > 0;
    }
    hone_fill_number(call, &call->operands[2]);
    if (any)
        hone_move_run(call, &move, (char *)out->data + (size_t)to * move.element,
                      (const char *)self->data + (size_t)from * move.element);
}

static void kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    hone_placement part = {.from_first = 0};
    unsigned char element[8] = {0};
    hone_move_strides(&self->type, part.from);
    for (int d = 0; d < self->type.rank; d++) {
        kept k;
        int64_t size;
        resolve(&call->operands[1], &self->type, d, &k, &size);
        part.first[d] = k.to;
        part.step[d] = 1;
        part.count[d] = k.count;
        part.from_first += k.from * part.from[d];
    }
    if (hone_type_elements(&self->type) == 0) part.from_first = 0;
    hone_encode_number(out->type.dtype, &call->operands[2], element);
    hone_kernel_put(list, out, self, &part, element);
}
HONE_PLAIN_KERNEL_RULE(pad, kernel)

// What was put on is taken off again, and the other way round.
static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_argument *const pad = hone_node_argument(call->node, 1);
    int64_t back[2 * HONE_MAX_RANK] = {0};
    (void)error;
    for (size_t i = 0; i < pad->count; i++) back[i] = -pad->integers[i];
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::constant_pad_nd", HONE_T(hone_grad_out(call, 0)), HONE_IS(back, pad->count));
    return HONE_OK;
}

const hone_op hone_op_pad = {
    .schema = "aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
    .summary = "value put round self: pad lists before and after from the last dimension on; negative ones take away",
    .infer = infer,
    .cpu = cpu,
    .gradient = gradient,
    .variants = hone_kernels_pad,
    .gradient_text = "d_self = d with the border taken off, 0 where self was cut",
};
