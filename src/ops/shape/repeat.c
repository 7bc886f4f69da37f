// SPDX-License-Identifier: Apache-2.0
// Dimensions turned round, and whole tensors repeated along them.
#include <string.h>

#include "ops/shape/move.h"
#include "ops/shared/kernels.h"
#include "ops/shared/parallel.h"

// --- flip ------------------------------------------------------------------------------------------------------------
static hone_status flip_marks(const hone_op_call *call, bool *marked, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const dims = &call->operands[1];
    for (size_t i = 0; i < dims->count; i++) {
        int dim;
        HONE_TRY(hone_op_dim(call, dims->integers[i], self->type.rank, &dim, error));
        HONE_OP_CHECK(!marked[dim], "dims names dimension %d twice", dim);
        marked[dim] = true;
    }
    return HONE_OK;
}

static hone_status flip_infer(const hone_op_call *call, hone_error *error) {
    bool marked[HONE_MAX_RANK] = {false};
    HONE_TRY(flip_marks(call, marked, error));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

// The copy, and the element of self that it begins with; self is not empty.
static int64_t flip_move(const hone_op_call *call, hone_move *move) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    bool marked[HONE_MAX_RANK] = {false};
    int64_t start = 0;
    *move = (hone_move){.rank = self->type.rank, .element = hone_dtype_bytes(self->type.dtype)};
    memcpy(move->dims, self->type.dims, sizeof move->dims);
    hone_move_strides(&self->type, move->from);
    hone_move_strides(&out->type, move->to);
    if (flip_marks(call, marked, 0) != HONE_OK) return 0;
    for (int d = 0; d < move->rank; d++) {
        if (!marked[d]) continue;
        start += (move->dims[d] - 1) * move->from[d];
        move->from[d] = -move->from[d];
    }
    return start;
}

static void flip_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    hone_move move;
    if (hone_type_elements(&self->type) == 0) return;
    const int64_t start = flip_move(call, &move);
    hone_move_run(call, &move, call->outputs[0].data, (const char *)self->data + (size_t)start * move.element);
}

static void flip_kernel(const hone_op_call *call, hone_kernel_list *list) {
    hone_move move;
    const int64_t start = flip_move(call, &move);
    if (hone_type_elements(&call->outputs[0].type) > 0)
        hone_kernel_move(list, &move, &call->outputs[0], 0, hone_operand_tensor(call, 0), start);
}
HONE_PLAIN_KERNEL_RULE(flip, flip_kernel)

static hone_status flip_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::flip", HONE_T(hone_grad_out(call, 0)), *hone_node_argument(call->node, 1));
    return HONE_OK;
}

// --- repeat ----------------------------------------------------------------------------------------------------------
// self with leading dimensions of 1, so that repeats has a number for each.
static hone_tensor_type widened(const hone_tensor_type *self, size_t rank) {
    hone_tensor_type out = {.dtype = self->dtype, .rank = (int)rank};
    const int more = out.rank - self->rank;
    for (int d = 0; d < out.rank; d++) out.dims[d] = d < more ? 1 : self->dims[d - more];
    return out;
}

static hone_status repeat_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const repeats = &call->operands[1];
    HONE_OP_CHECK(repeats->count <= HONE_MAX_RANK && (int)repeats->count >= self->type.rank,
                  "repeats has %zu numbers; one for each dimension of %s is wanted, and up to %d", repeats->count,
                  hone_op_type_text(self), HONE_MAX_RANK);
    hone_tensor_type out = widened(&self->type, repeats->count);
    for (int d = 0; d < out.rank; d++) {
        HONE_OP_CHECK(repeats->integers[d] >= 0, "repeats holds %lld", (long long)repeats->integers[d]);
        HONE_OP_CHECK(!__builtin_mul_overflow(out.dims[d], repeats->integers[d], &out.dims[d]), "repeats is too large");
    }
    call->outputs[0].type = out;
    return HONE_OK;
}

typedef struct context {
    char *out;
    const char *in;
    hone_tensor_type self, whole;
    size_t line_bytes; // of self's innermost dimension
    int64_t times;     // that a line follows itself
} context;

// Lines of the result: each is one line of self, several times.
static void repeat_lines(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const int last = c->whole.rank - 1;
    for (int64_t line = begin; line < end; line++) {
        int64_t rest = line, from = 0, step = 1;
        for (int d = last - 1; d >= 0; d--) {
            from += rest % c->whole.dims[d] % c->self.dims[d] * step;
            rest /= c->whole.dims[d];
            step *= c->self.dims[d];
        }
        char *to = c->out + (size_t)(line * c->times) * c->line_bytes;
        for (int64_t i = 0; i < c->times; i++, to += c->line_bytes)
            memcpy(to, c->in + (size_t)from * c->line_bytes, c->line_bytes);
    }
}

static void repeat_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    const hone_operand *const repeats = &call->operands[1];
    context c = {.out = out->data,
                 .in = self->data,
                 .self = widened(&self->type, repeats->count),
                 .whole = out->type,
                 .line_bytes = hone_dtype_bytes(self->type.dtype),
                 .times = 1};
    const int64_t elements = hone_type_elements(&out->type);
    if (elements == 0) return;
    if (c.whole.rank > 0) {
        c.line_bytes *= (size_t)c.self.dims[c.whole.rank - 1];
        c.times = repeats->integers[c.whole.rank - 1];
    }
    const int64_t columns = hone_type_columns(&out->type);
    hone_call_rows(call, elements / columns, columns, repeat_lines, &c);
}

static void repeat_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const out = &call->outputs[0];
    const hone_tensor_type small = widened(&self->type, call->operands[1].count);
    const int64_t words = (int64_t)(hone_type_bytes(&out->type) + 3) / 4;
    int64_t strides[HONE_MAX_RANK];
    hone_move_strides(&small, strides);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "shape.repeat_words", hone_kernel_groups(words, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, self);
    hone_kernel_bind(list, d, out);
    hone_kernel_word(list, d, words);
    hone_kernel_word(list, d, out->type.rank);
    const int64_t *const rows[] = {out->type.dims, small.dims, strides};
    for (size_t row = 0; row < 3; row++)
        for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < out->type.rank ? rows[row][i] : 1);
    hone_kernel_word(list, d, hone_kernel_per_word(out->type.dtype));
    hone_kernel_word(list, d, hone_dtype_bytes(out->type.dtype) == 8 ? 2 : 1);
}
HONE_PLAIN_KERNEL_RULE(repeat, repeat_kernel)

// One repeated dimension after another: seen as [before, times, rest], then summed over the times.
static hone_status repeat_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_argument *const repeats = hone_node_argument(call->node, 1);
    const hone_tensor_type self = *hone_graph_type(call->graph, hone_grad_in(call, 0));
    hone_tensor_type now = *hone_graph_type(call->graph, hone_grad_out(call, 0));
    const hone_tensor_type small = widened(&self, repeats->count);
    hone_value d = hone_grad_out(call, 0);
    (void)error;
    for (int k = 0; k < now.rank; k++) {
        if (repeats->integers[k] == 1) continue;
        int64_t view[3] = {1, repeats->integers[k], small.dims[k]};
        for (int j = 0; j < k; j++) view[0] *= now.dims[j];
        for (int j = k + 1; j < now.rank; j++) view[2] *= now.dims[j];
        d = hone_emit(call->graph, "aten::view_copy", HONE_T(d), HONE_IS(view, 3));
        d = hone_emit(call->graph, "aten::sum.dim_IntList", HONE_T(d), HONE_IS((const int64_t[]){1}, 1));
        now.dims[k] = small.dims[k];
    }
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::view_copy", HONE_T(d), HONE_IS(self.dims, (size_t)self.rank));
    return HONE_OK;
}

const hone_op hone_op_flip = {
    .schema = "aten::flip(Tensor self, int[] dims) -> Tensor",
    .summary = "self with the order along dims turned round",
    .infer = flip_infer,
    .cpu = flip_cpu,
    .gradient = flip_gradient,
    .gradient_text = "d_self = d turned round again",
    .variants = hone_kernels_flip,
};
const hone_op hone_op_repeat = {
    .schema = "aten::repeat(Tensor self, int[] repeats) -> Tensor",
    .summary = "self repeats[d] times along each dimension; more numbers than dimensions give new leading ones",
    .infer = repeat_infer,
    .cpu = repeat_cpu,
    .gradient = repeat_gradient,
    .gradient_text = "d_self = d summed over the repetitions",
    .variants = hone_kernels_repeat,
};
