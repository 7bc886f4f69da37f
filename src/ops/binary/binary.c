// SPDX-License-Identifier: Apache-2.0
// Sums, differences, products and quotients of two tensors, or of a tensor and a number, with broadcasting.
#include "ops/binary/binary.h"
#include "ops/op.h"
#include "ops/shared/broadcast.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

// One run of outputs; a and b move by their steps, 0 or 1. `alpha` scales b in sums and differences.
typedef void run_f32(float *out, const float *a, const float *b, int64_t step_a, int64_t step_b, int64_t n,
                     float alpha);
typedef void run_i32(int32_t *out, const int32_t *a, const int32_t *b, int64_t step_a, int64_t step_b, int64_t n,
                     int32_t alpha);

#define DEFINE_RUN(name, type, expression)                                                                             \
    HONE_VECTOR static void name(type *out, const type *a, const type *b, int64_t step_a, int64_t step_b, int64_t n,   \
                                 type alpha) {                                                                         \
        (void)alpha;                                                                                                   \
        if (step_a && step_b) {                                                                                        \
            HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                         \
                const type x = a[i], y = b[i];                                                                         \
                out[i] = (expression);                                                                                 \
            }                                                                                                          \
        } else if (step_a) {                                                                                           \
            const type y = b[0];                                                                                       \
            HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                         \
                const type x = a[i];                                                                                   \
                out[i] = (expression);                                                                                 \
            }                                                                                                          \
        } else {                                                                                                       \
            const type x = a[0];                                                                                       \
            HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                         \
                const type y = b[i * step_b];                                                                          \
                out[i] = (expression);                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_RUN(add_f32, float, x + alpha * y)
DEFINE_RUN(sub_f32, float, x - alpha * y)
DEFINE_RUN(mul_f32, float, x *y)
DEFINE_RUN(div_f32, float, x / y)
// Whole numbers wrap, as ATen's do: through unsigned, where that is defined.
DEFINE_RUN(add_i32, int32_t, (int32_t)((uint32_t)x + (uint32_t)alpha * (uint32_t)y))
DEFINE_RUN(sub_i32, int32_t, (int32_t)((uint32_t)x - (uint32_t)alpha * (uint32_t)y))
DEFINE_RUN(mul_i32, int32_t, (int32_t)((uint32_t)x *(uint32_t)y))

typedef struct context {
    hone_broadcast broadcast;
    run_f32 *f32;
    run_i32 *i32;
    void *out;
    const void *a, *b;
    double alpha;
} context;

static void run(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const context *const c = opaque;
    if (c->f32)
        c->f32((float *)c->out + out, (const float *)c->a + at[0], (const float *)c->b + at[1], step[0], step[1], count,
               (float)c->alpha);
    else
        c->i32((int32_t *)c->out + out, (const int32_t *)c->a + at[0], (const int32_t *)c->b + at[1], step[0], step[1],
               count, (int32_t)c->alpha);
}

// --- with a tensor
// ---------------------------------------------------------------------------------------------------
static hone_status infer_tensor(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || self->type.dtype == HONE_DTYPE_I32,
                  "elements must be f32 or i32, not %s", hone_op_type_text(self));
    HONE_TRY(hone_op_want_dtype(call, 1, self->type.dtype, error));
    return hone_op_broadcast(call, &self->type, &hone_operand_tensor(call, 1)->type, &call->outputs[0].type, error);
}

// Quotients of whole numbers would be real: only f32 is taken.
static hone_status infer_tensor_f32(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    return infer_tensor(call, error);
}

static void run_tensor(const hone_op_call *call, run_f32 *f32, run_i32 *i32) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const other = hone_operand_tensor(call, 1);
    context c = {.out = call->outputs[0].data, .a = self->data, .b = other->data};
    if (self->type.dtype == HONE_DTYPE_F32)
        c.f32 = f32;
    else
        c.i32 = i32;
    c.alpha = call->operand_count > 2 ? call->operands[2].real : 1;
    hone_broadcast_make(&c.broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&self->type, &other->type},
                        2);
    hone_broadcast_each(call, &c.broadcast, run, &c);
}

static void add_tensor(const hone_op_call *call) {
    run_tensor(call, add_f32, add_i32);
}
static void sub_tensor(const hone_op_call *call) {
    run_tensor(call, sub_f32, sub_i32);
}
static void mul_tensor(const hone_op_call *call) {
    run_tensor(call, mul_f32, mul_i32);
}
static void div_tensor(const hone_op_call *call) {
    run_tensor(call, div_f32, 0);
}

// The node's alpha times `value`; a live alpha is passed on as it is.
static hone_value times_alpha(const hone_gradient_call *call, hone_value value) {
    const hone_argument *const alpha = hone_node_argument(call->node, 2);
    const bool is_one = alpha->kind == HONE_ARGUMENT_NONE ||
                        (alpha->kind == HONE_ARGUMENT_INTEGER && alpha->integer == 1) ||
                        (alpha->kind == HONE_ARGUMENT_REAL && alpha->real == 1);
    return is_one ? value : hone_emit(call->graph, "aten::mul.Scalar", HONE_T(value), *alpha);
}

static void set(const hone_gradient_call *call, size_t input, hone_value gradient) {
    call->input_gradients[input] = hone_broadcast_gradient(call->graph, gradient, hone_grad_in(call, input));
}

static hone_status add_tensor_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0]) set(call, 0, hone_grad_out(call, 0));
    if (call->wanted[1]) set(call, 1, times_alpha(call, hone_grad_out(call, 0)));
    return HONE_OK;
}

static hone_status sub_tensor_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0]) set(call, 0, hone_grad_out(call, 0));
    if (call->wanted[1]) {
        const hone_value scaled = times_alpha(call, hone_grad_out(call, 0));
        set(call, 1, hone_emit(call->graph, "aten::mul.Scalar", HONE_T(scaled), HONE_R(-1)));
    }
    return HONE_OK;
}

static hone_status mul_tensor_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    for (size_t i = 0; i < 2; i++)
        if (call->wanted[i])
            set(call, i,
                hone_emit(call->graph, "aten::mul.Tensor", HONE_T(hone_grad_out(call, 0)),
                          HONE_T(hone_grad_in(call, 1 - i))));
    return HONE_OK;
}

static hone_status div_tensor_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const hone_value self =
        hone_emit(call->graph, "aten::div.Tensor", HONE_T(hone_grad_out(call, 0)), HONE_T(hone_grad_in(call, 1)));
    if (call->wanted[0]) set(call, 0, self);
    if (call->wanted[1]) {
        const hone_value product =
            hone_emit(call->graph, "aten::mul.Tensor", HONE_T(self), HONE_T(hone_node_output(call->node, 0)));
        set(call, 1, hone_emit(call->graph, "aten::mul.Scalar", HONE_T(product), HONE_R(-1)));
    }
    return HONE_OK;
}

// --- with a number
// ---------------------------------------------------------------------------------------------------
static hone_status infer_scalar(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || self->type.dtype == HONE_DTYPE_I32,
                  "elements must be f32 or i32, not %s", hone_op_type_text(self));
    for (size_t i = 1; i < call->operand_count; i++)
        HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || call->operands[i].real == (int32_t)call->operands[i].real,
                      "%g is not a whole number, as i32 elements need", call->operands[i].real);
    call->outputs[0].type = self->type;
    return HONE_OK;
}

static hone_status infer_scalar_f32(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    return infer_scalar(call, error);
}

static void run_scalar(const hone_op_call *call, run_f32 *f32, run_i32 *i32) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const float real = (float)call->operands[1].real;
    const int32_t whole = self->type.dtype == HONE_DTYPE_I32 ? (int32_t)call->operands[1].real : 0;
    const hone_tensor_type scalar = {.dtype = self->type.dtype};
    context c = {.out = call->outputs[0].data, .a = self->data};
    if (self->type.dtype == HONE_DTYPE_F32)
        c.f32 = f32, c.b = &real;
    else
        c.i32 = i32, c.b = &whole;
    c.alpha = call->operand_count > 2 ? call->operands[2].real : 1;
    hone_broadcast_make(&c.broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&self->type, &scalar}, 2);
    hone_broadcast_each(call, &c.broadcast, run, &c);
}

static void add_scalar(const hone_op_call *call) {
    run_scalar(call, add_f32, add_i32);
}
static void sub_scalar(const hone_op_call *call) {
    run_scalar(call, sub_f32, sub_i32);
}
static void mul_scalar(const hone_op_call *call) {
    run_scalar(call, mul_f32, mul_i32);
}
static void div_scalar(const hone_op_call *call) {
    run_scalar(call, div_f32, 0);
}

static hone_status pass_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_grad_out(call, 0);
    return HONE_OK;
}

static hone_status mul_scalar_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::mul.Scalar", HONE_T(hone_grad_out(call, 0)), *hone_node_argument(call->node, 1));
    return HONE_OK;
}

static hone_status div_scalar_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::div.Scalar", HONE_T(hone_grad_out(call, 0)), *hone_node_argument(call->node, 1));
    return HONE_OK;
}

// --- in place
// --------------------------------------------------------------------------------------------------------
static hone_status accumulate_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const into = hone_operand_tensor(call, 0), *const value = hone_operand_tensor(call, 1);
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_shape_equal(&into->type, &value->type), "'value' must have the shape of 'into': %s and %s",
                  hone_op_type_text(value), hone_op_type_text(into));
    return HONE_OK;
}

static void accumulate_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    float *const out = (float *)c->out + begin;
    add_f32(out, out, (const float *)c->b + begin, 1, 1, end - begin, 1);
}

static void accumulate_cpu(const hone_op_call *call) {
    context c = {.out = call->operands[0].tensors->data, .b = call->operands[1].tensors->data};
    hone_call_elements(call, hone_type_elements(&call->operands[0].tensors->type), accumulate_range, &c);
}

#define ELEMENTWISE (HONE_OP_CHEAP | HONE_OP_IN_PLACE)

static const hone_op op_add_tensor = {
    .schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .summary = "self + alpha * other, broadcast",
    .flags = ELEMENTWISE | HONE_OP_IN_PLACE_1,
    .variants = hone_kernels_add_tensor,
    .infer = infer_tensor,
    .cpu = add_tensor,
    .gradient = add_tensor_gradient,
    .gradient_text = "d_self = d, d_other = alpha * d, each summed to its shape",
};
static const hone_op op_sub_tensor = {
    .schema = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .summary = "self - alpha * other, broadcast",
    .flags = ELEMENTWISE | HONE_OP_IN_PLACE_1,
    .variants = hone_kernels_sub_tensor,
    .infer = infer_tensor,
    .cpu = sub_tensor,
    .gradient = sub_tensor_gradient,
    .gradient_text = "d_self = d, d_other = -alpha * d, each summed to its shape",
};
static const hone_op op_mul_tensor = {
    .schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
    .summary = "self * other, broadcast",
    .flags = ELEMENTWISE | HONE_OP_IN_PLACE_1,
    .variants = hone_kernels_mul_tensor,
    .infer = infer_tensor,
    .cpu = mul_tensor,
    .gradient = mul_tensor_gradient,
    .gradient_text = "d_self = d * other, d_other = d * self, each summed to its shape",
};
static const hone_op op_div_tensor = {
    .schema = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
    .summary = "self / other, broadcast",
    .flags = ELEMENTWISE | HONE_OP_IN_PLACE_1,
    .variants = hone_kernels_div_tensor,
    .infer = infer_tensor_f32,
    .cpu = div_tensor,
    .gradient = div_tensor_gradient,
    .gradient_text = "d_self = d / other, d_other = -(d / other) * out, each summed to its shape",
};
static const hone_op op_add_scalar = {
    .schema = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .summary = "self + alpha * other",
    .flags = ELEMENTWISE,
    .variants = hone_kernels_add_scalar,
    .infer = infer_scalar,
    .cpu = add_scalar,
    .gradient = pass_gradient,
    .gradient_text = "d_self = d",
};
static const hone_op op_sub_scalar = {
    .schema = "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .summary = "self - alpha * other",
    .flags = ELEMENTWISE,
    .variants = hone_kernels_sub_scalar,
    .infer = infer_scalar,
    .cpu = sub_scalar,
    .gradient = pass_gradient,
    .gradient_text = "d_self = d",
};
static const hone_op op_mul_scalar = {
    .schema = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
    .summary = "self * other",
    .flags = ELEMENTWISE,
    .variants = hone_kernels_mul_scalar,
    .infer = infer_scalar,
    .cpu = mul_scalar,
    .gradient = mul_scalar_gradient,
    .gradient_text = "d_self = d * other",
};
static const hone_op op_div_scalar = {
    .schema = "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
    .summary = "self / other",
    .flags = ELEMENTWISE,
    .variants = hone_kernels_div_scalar,
    .infer = infer_scalar_f32,
    .cpu = div_scalar,
    .gradient = div_scalar_gradient,
    .gradient_text = "d_self = d / other",
};
static const hone_op op_accumulate = {
    .schema = "hone::accumulate_(Tensor(a!) into, Tensor value) -> ()",
    .summary = "into += value, of the same shape",
    .flags = HONE_OP_EFFECT,
    .variants = hone_kernels_accumulate,
    .infer = accumulate_infer,
    .cpu = accumulate_cpu,
};

const hone_op *const hone_ops_binary[] = {
    &op_add_tensor, &op_sub_tensor, &op_mul_tensor, &op_div_tensor,    &op_add_scalar,      &op_sub_scalar,
    &op_mul_scalar, &op_div_scalar, &op_accumulate, &hone_op_div_mode, &hone_op_pow_tensor, 0,
};
