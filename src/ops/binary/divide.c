// SPDX-License-Identifier: Apache-2.0
// Quotients that are rounded to whole numbers: down ("floor") or towards 0 ("trunc"); plain ones without a mode.
//
// floor is that of the exact quotient, as in Python: floor(1 / 0.1f) is 9, because 0.1f is a little more than 0.1. trunc
// is that of the rounded quotient, as in ATen. A whole number divided by 0 gives 0; floats give what / gives.
#include <math.h>
#include <string.h>

#include "ops/binary/binary.h"
#include "ops/op.h"
#include "ops/shared/broadcast.h"
#include "ops/shared/vector.h"

typedef enum mode { PLAIN, FLOOR, TRUNC, UNKNOWN } mode;

static mode mode_of(const char *text) {
    return !text ? PLAIN : strcmp(text, "floor") == 0 ? FLOOR : strcmp(text, "trunc") == 0 ? TRUNC : UNKNOWN;
}

// In double the quotient of two floats is never rounded up to a whole number that it is below of, up to 2^29.
static float floor_of(float a, float b) {
    if (b == 0 || a != a || b != b) return a / b;
    if (isinf(a)) return NAN; // as ATen, whose remainder is NaN there
    if (isinf(b)) return a != 0 && (a < 0) != (b < 0) ? -1.0f : a / b;
    return (float)floor((double)a / b);
}

static void floor_f32(float *out, const float *a, int64_t step_a, const float *b, int64_t step_b, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = floor_of(a[i * step_a], b[i * step_b]);
}

HONE_VECTOR static void trunc_f32(float *out, const float *a, int64_t step_a, const float *b, int64_t step_b,
                                  int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = __builtin_truncf(a[i * step_a] / b[i * step_b]);
}

HONE_VECTOR static void plain_f32(float *out, const float *a, int64_t step_a, const float *b, int64_t step_b,
                                  int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = a[i * step_a] / b[i * step_b];
}

// The one quotient that does not fit is the dividend itself.
static int32_t whole_quotient(int32_t a, int32_t b, mode m) {
    if (b == 0) return 0;
    if (b == -1) return (int32_t)(0u - (uint32_t)a);
    const int32_t quotient = a / b;
    return m == FLOOR && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

typedef struct context {
    void *out;
    const void *a, *b;
    bool whole;
    mode mode;
} context;

static void run(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const context *const c = opaque;
    if (c->whole) {
        const int32_t *const a = (const int32_t *)c->a + at[0], *const b = (const int32_t *)c->b + at[1];
        for (int64_t i = 0; i < count; i++)
            ((int32_t *)c->out)[out + i] = whole_quotient(a[i * step[0]], b[i * step[1]], c->mode);
        return;
    }
    (c->mode == FLOOR   ? floor_f32
     : c->mode == TRUNC ? trunc_f32
                        : plain_f32)((float *)c->out + out, (const float *)c->a + at[0], step[0],
                                     (const float *)c->b + at[1], step[1], count);
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const mode m = mode_of(call->operands[2].string);
    HONE_OP_CHECK(m != UNKNOWN, "rounding_mode must be floor or trunc, not '%s'", call->operands[2].string);
    HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || self->type.dtype == HONE_DTYPE_I32,
                  "elements must be f32 or i32, not %s", hone_op_type_text(self));
    HONE_OP_CHECK(m != PLAIN || self->type.dtype == HONE_DTYPE_F32,
                  "without a rounding_mode, quotients of whole numbers are not whole: only f32 is taken");
    HONE_TRY(hone_op_want_dtype(call, 1, self->type.dtype, error));
    return hone_op_broadcast(call, &self->type, &hone_operand_tensor(call, 1)->type, &call->outputs[0].type, error);
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const a = hone_operand_tensor(call, 0), *const b = hone_operand_tensor(call, 1);
    context c = {.out = call->outputs[0].data,
                 .a = a->data,
                 .b = b->data,
                 .whole = a->type.dtype == HONE_DTYPE_I32,
                 .mode = mode_of(call->operands[2].string)};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_broadcast_each(call, &broadcast, run, &c);
}

static void plain_gradient(const hone_gradient_call *call) {
    hone_graph *const graph = call->graph;
    const hone_value self = hone_grad_in(call, 0), other = hone_grad_in(call, 1);
    const hone_value share = hone_emit(graph, "aten::div.Tensor", HONE_T(hone_grad_out(call, 0)), HONE_T(other));
    if (call->wanted[0]) call->input_gradients[0] = hone_broadcast_gradient(graph, share, self);
    if (!call->wanted[1]) return;
    const hone_value product =
        hone_emit(graph, "aten::mul.Tensor", HONE_T(share), HONE_T(hone_node_output(call->node, 0)));
    call->input_gradients[1] = hone_broadcast_gradient(graph, hone_emit(graph, "aten::neg", HONE_T(product)), other);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (mode_of(hone_node_argument(call->node, 2)->string) == PLAIN) {
        plain_gradient(call);
        return HONE_OK;
    }
    for (size_t i = 0; i < 2; i++)
        if (call->wanted[i])
            call->input_gradients[i] =
                hone_emit(call->graph, "aten::full_like", HONE_T(hone_grad_in(call, i)), HONE_R(0));
    return HONE_OK;
}

const hone_op hone_op_div_mode = {
    .schema = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode=None) -> Tensor",
    .summary = "self / other, rounded down ('floor') or towards 0 ('trunc'), broadcast; a whole number / 0 is 0",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer,
    .cpu = cpu,
    .gradient = gradient,
    .gradient_text = "as aten::div.Tensor without a mode, 0 with one",
    .variants = hone_kernels_div_mode,
};
