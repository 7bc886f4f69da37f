// SPDX-License-Identifier: Apache-2.0
// A choice for each element, and the larger and smaller of two.
#include <string.h>

#include "ops/op.h"
#include "ops/shared/broadcast.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"
#include "ops/where/where.h"

typedef struct context {
    char *out;
    const uint8_t *condition;
    const char *yes, *no;
    size_t element;
} context;

HONE_VECTOR static void choose_words(uint32_t *out, const uint8_t *condition, int64_t step, const uint32_t *yes,
                                     int64_t yes_step, const uint32_t *no, int64_t no_step, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const uint32_t mask = 0u - (uint32_t)(condition[i * step] != 0);
        out[i] = (yes[i * yes_step] & mask) | (no[i * no_step] & ~mask);
    }
}

static void choose(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const context *const c = opaque;
    if (c->element == sizeof(uint32_t)) {
        choose_words((uint32_t *)c->out + out, c->condition + at[0], step[0], (const uint32_t *)c->yes + at[1], step[1],
                     (const uint32_t *)c->no + at[2], step[2], count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const bool chosen = c->condition[at[0] + i * step[0]];
        const char *const from = chosen ? c->yes + (size_t)(at[1] + i * step[1]) * c->element
                                        : c->no + (size_t)(at[2] + i * step[2]) * c->element;
        memcpy(c->out + (size_t)(out + i) * c->element, from, c->element);
    }
}

static hone_status where_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 1);
    hone_tensor_type values;
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_BOOL, error));
    HONE_TRY(hone_op_want_dtype(call, 2, self->type.dtype, error));
    HONE_TRY(hone_op_broadcast(call, &self->type, &hone_operand_tensor(call, 2)->type, &values, error));
    return hone_op_broadcast(call, &values, &hone_operand_tensor(call, 0)->type, &call->outputs[0].type, error);
}

static void where_cpu(const hone_op_call *call) {
    const hone_tensor *const t[] = {hone_operand_tensor(call, 0), hone_operand_tensor(call, 1),
                                    hone_operand_tensor(call, 2)};
    context c = {.out = call->outputs[0].data,
                 .condition = t[0]->data,
                 .yes = t[1]->data,
                 .no = t[2]->data,
                 .element = hone_dtype_bytes(t[1]->type.dtype)};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type,
                        (const hone_tensor_type *[]){&t[0]->type, &t[1]->type, &t[2]->type}, 3);
    hone_broadcast_each(call, &broadcast, choose, &c);
}

static hone_value choose_value(hone_graph *graph, hone_value condition, hone_value yes, hone_value no) {
    return hone_emit(graph, "aten::where.self", HONE_T(condition), HONE_T(yes), HONE_T(no));
}

static hone_value zero_of(hone_graph *graph) {
    return hone_emit(graph, "aten::full", HONE_IS(0, 0), HONE_R(0));
}

static hone_status where_gradient(const hone_gradient_call *call, hone_error *error) {
    const hone_value condition = hone_grad_in(call, 0), d = hone_grad_out(call, 0), zero = zero_of(call->graph);
    (void)error;
    for (size_t i = 1; i < 3; i++) {
        if (!call->wanted[i]) continue;
        const hone_value share = choose_value(call->graph, condition, i == 1 ? d : zero, i == 1 ? zero : d);
        call->input_gradients[i] = hone_broadcast_gradient(call->graph, share, hone_grad_in(call, i));
    }
    return HONE_OK;
}

// --- minimum and maximum ---------------------------------------------------------------------------------------------
typedef struct extreme {
    void *out;
    const void *a, *b;
    float sign; // 1: the larger, -1: the smaller
    bool whole; // i32 elements
} extreme;

// NaN on either side is the result.
HONE_VECTOR static void pick(float *out, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n,
                             float sign) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float x = a[i * a_step], y = b[i * b_step];
        out[i] = hone_select((x * sign >= y * sign) | (x != x), x, y);
    }
}

HONE_VECTOR static void pick_whole(int32_t *out, const int32_t *a, int64_t a_step, const int32_t *b, int64_t b_step,
                                   int64_t n, bool larger) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const int32_t x = a[i * a_step], y = b[i * b_step];
        out[i] = (x >= y) == larger ? x : y;
    }
}

static void pick_run(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const extreme *const e = opaque;
    if (e->whole)
        pick_whole((int32_t *)e->out + out, (const int32_t *)e->a + at[0], step[0], (const int32_t *)e->b + at[1],
                   step[1], count, e->sign > 0);
    else
        pick((float *)e->out + out, (const float *)e->a + at[0], step[0], (const float *)e->b + at[1], step[1], count,
             e->sign);
}

static hone_status extreme_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || self->type.dtype == HONE_DTYPE_I32,
                  "elements must be f32 or i32, not %s", hone_op_type_text(self));
    HONE_TRY(hone_op_want_dtype(call, 1, self->type.dtype, error));
    return hone_op_broadcast(call, &self->type, &hone_operand_tensor(call, 1)->type, &call->outputs[0].type, error);
}

static void run_extreme(const hone_op_call *call, float sign) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    extreme e = {.out = call->outputs[0].data,
                 .a = a->data,
                 .b = b->data,
                 .sign = sign,
                 .whole = a->type.dtype == HONE_DTYPE_I32};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_broadcast_each(call, &broadcast, pick_run, &e);
}

static void maximum_cpu(const hone_op_call *call) {
    run_extreme(call, 1);
}
static void minimum_cpu(const hone_op_call *call) {
    run_extreme(call, -1);
}

// Equal operands share the gradient, as in PyTorch.
static void share_gradient(const hone_gradient_call *call, const char *wins) {
    hone_graph *const graph = call->graph;
    const hone_value d = hone_grad_out(call, 0), zero = zero_of(graph);
    const hone_value half = hone_emit(graph, "aten::mul.Scalar", HONE_T(d), HONE_R(0.5));
    for (size_t i = 0; i < 2; i++) {
        if (!call->wanted[i]) continue;
        const hone_value own = hone_grad_in(call, i), other = hone_grad_in(call, 1 - i);
        const hone_value ahead = hone_emit(graph, wins, HONE_T(own), HONE_T(other));
        const hone_value level = hone_emit(graph, "aten::eq.Tensor", HONE_T(own), HONE_T(other));
        const hone_value share = choose_value(graph, ahead, d, choose_value(graph, level, half, zero));
        call->input_gradients[i] = hone_broadcast_gradient(graph, share, own);
    }
}

static hone_status maximum_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    share_gradient(call, "aten::gt.Tensor");
    return HONE_OK;
}

static hone_status minimum_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    share_gradient(call, "aten::lt.Tensor");
    return HONE_OK;
}

static const hone_op op_where = {
    .schema = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    .summary = "self where condition, else other; broadcast",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE_1,
    .infer = where_infer,
    .cpu = where_cpu,
    .gradient = where_gradient,
    .gradient_text = "d where condition for self, elsewhere for other, each summed to its shape",
    .variants = hone_kernels_where,
};
static const hone_op op_maximum = {
    .schema = "aten::maximum(Tensor self, Tensor other) -> Tensor",
    .summary = "the larger of self and other, broadcast; NaN wins",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = extreme_infer,
    .cpu = maximum_cpu,
    .gradient = maximum_gradient,
    .gradient_text = "d to the larger, half to each where they are equal",
    .variants = hone_kernels_maximum,
};
static const hone_op op_minimum = {
    .schema = "aten::minimum(Tensor self, Tensor other) -> Tensor",
    .summary = "the smaller of self and other, broadcast; NaN wins",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = extreme_infer,
    .cpu = minimum_cpu,
    .gradient = minimum_gradient,
    .gradient_text = "d to the smaller, half to each where they are equal",
    .variants = hone_kernels_minimum,
};

const hone_op *const hone_ops_where[] = {&op_where, &op_maximum, &op_minimum, 0};
