// SPDX-License-Identifier: Apache-2.0
// Comparisons and logic: tensors of any plain type to tensors of bool, with broadcasting. None has a gradient.
//
// Elements are widened to double a few at a time, which holds f32, i32 and bool exactly and i64 up to 2^53.
#include "ops/compare/compare.h"
#include "ops/op.h"
#include "ops/shared/broadcast.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

enum { CHUNK = 256 };

typedef void kernel(uint8_t *out, const double *a, const double *b, int64_t n);

#define DEFINE_KERNEL(name, expression)                                                                                \
    HONE_VECTOR static void name(uint8_t *out, const double *a, const double *b, int64_t n) {                          \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const double x = a[i], y = b[i];                                                                           \
            (void)y;                                                                                                   \
            out[i] = (expression);                                                                                     \
        }                                                                                                              \
    }
DEFINE_KERNEL(equal, x == y)
DEFINE_KERNEL(not_equal, x != y)
DEFINE_KERNEL(less, x < y)
DEFINE_KERNEL(less_equal, x <= y)
DEFINE_KERNEL(greater, x > y)
DEFINE_KERNEL(greater_equal, x >= y)
DEFINE_KERNEL(negated, x == 0)
DEFINE_KERNEL(both, (x != 0) & (y != 0))
DEFINE_KERNEL(either, (x != 0) | (y != 0))

typedef struct context {
    kernel *run;
    uint8_t *out;
    const hone_tensor *a, *b;
} context;

// n elements from `at`, stepping by 0 or 1.
static void widen(double *out, const hone_tensor *tensor, int64_t at, int64_t step, int64_t n) {
    switch (tensor->type.dtype) {
    case HONE_DTYPE_F32:
        for (int64_t i = 0; i < n; i++) out[i] = ((const float *)tensor->data)[at + i * step];
        break;
    case HONE_DTYPE_I32:
        for (int64_t i = 0; i < n; i++) out[i] = ((const int32_t *)tensor->data)[at + i * step];
        break;
    case HONE_DTYPE_I64:
        for (int64_t i = 0; i < n; i++) out[i] = (double)((const int64_t *)tensor->data)[at + i * step];
        break;
    case HONE_DTYPE_F64:
        for (int64_t i = 0; i < n; i++) out[i] = ((const double *)tensor->data)[at + i * step];
        break;
    default: // bool, u8
        for (int64_t i = 0; i < n; i++) out[i] = ((const uint8_t *)tensor->data)[at + i * step];
    }
}

static void run(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const context *const c = opaque;
    double a[CHUNK], b[CHUNK];
    for (int64_t begin = 0; begin < count; begin += CHUNK) {
        const int64_t n = count - begin < CHUNK ? count - begin : CHUNK;
        widen(a, c->a, at[0] + begin * step[0], step[0], n);
        widen(b, c->b, at[1] + begin * step[1], step[1], n);
        c->run(c->out + out + begin, a, b, n);
    }
}

static void compare(const hone_op_call *call, kernel *function, const hone_tensor *a, const hone_tensor *b) {
    context c = {.run = function, .out = call->outputs[0].data, .a = a, .b = b};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_broadcast_each(call, &broadcast, run, &c);
}

static void with_tensor(const hone_op_call *call, kernel *function) {
    compare(call, function, hone_operand_tensor(call, 0), hone_operand_tensor(call, 1));
}

// The number takes the elements' precision first, as in ATen: 0.1 equals the float 0.1.
static void with_scalar(const hone_op_call *call, kernel *function) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    double number = call->operands[1].real;
    if (self->type.dtype == HONE_DTYPE_F32) number = (float)number;
    const hone_tensor scalar = {.type = {.dtype = HONE_DTYPE_F64}, .data = &number};
    compare(call, function, self, &scalar);
}

static void alone(const hone_op_call *call, kernel *function) {
    compare(call, function, hone_operand_tensor(call, 0), hone_operand_tensor(call, 0));
}

static hone_status check_dtype(const hone_op_call *call, size_t at, hone_error *error) {
    const hone_tensor *const tensor = hone_operand_tensor(call, at);
    const hone_dtype dtype = tensor->type.dtype;
    HONE_OP_CHECK(dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_I32 || dtype == HONE_DTYPE_I64 ||
                      dtype == HONE_DTYPE_BOOL || dtype == HONE_DTYPE_U8,
                  "elements must be f32, i32, i64, u8 or bool, not %s", hone_op_type_text(tensor));
    return HONE_OK;
}

static hone_status infer_one(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_dtype(call, 0, error));
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    call->outputs[0].type.dtype = HONE_DTYPE_BOOL;
    return HONE_OK;
}

static hone_status infer_two(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_dtype(call, 0, error));
    HONE_TRY(check_dtype(call, 1, error));
    HONE_TRY(hone_op_broadcast(call, &hone_operand_tensor(call, 0)->type, &hone_operand_tensor(call, 1)->type,
                               &call->outputs[0].type, error));
    call->outputs[0].type.dtype = HONE_DTYPE_BOOL;
    return HONE_OK;
}

#define OPERATOR(id, schema_, summary_, rule, how, function)                                                           \
    static void cpu_##id(const hone_op_call *call) {                                                                   \
        how(call, function);                                                                                           \
    }                                                                                                                  \
    static const hone_op op_##id = {.schema = schema_,                                                                 \
                                    .summary = summary_,                                                               \
                                    .flags = HONE_OP_CHEAP,                                                            \
                                    .infer = rule,                                                                     \
                                    .cpu = cpu_##id,                                                                   \
                                    .variants = hone_kernels_##id};
#define COMPARISON(name, sign, function)                                                                               \
    OPERATOR(name##_tensor, "aten::" #name ".Tensor(Tensor self, Tensor other) -> Tensor",                             \
             "self " sign " other, bool", infer_two, with_tensor, function)                                            \
    OPERATOR(name##_scalar, "aten::" #name ".Scalar(Tensor self, Scalar other) -> Tensor",                             \
             "self " sign " other, bool", infer_one, with_scalar, function)

COMPARISON(eq, "==", equal)
COMPARISON(ne, "!=", not_equal)
COMPARISON(lt, "<", less)
COMPARISON(le, "<=", less_equal)
COMPARISON(gt, ">", greater)
COMPARISON(ge, ">=", greater_equal)
OPERATOR(logical_not, "aten::logical_not(Tensor self) -> Tensor", "self == 0, bool", infer_one, alone, negated)
OPERATOR(logical_and, "aten::logical_and(Tensor self, Tensor other) -> Tensor", "self != 0 and other != 0, bool",
         infer_two, with_tensor, both)
OPERATOR(logical_or, "aten::logical_or(Tensor self, Tensor other) -> Tensor", "self != 0 or other != 0, bool",
         infer_two, with_tensor, either)

const hone_op *const hone_ops_compare[] = {
    &op_eq_tensor,   &op_eq_scalar,   &op_ne_tensor,  &op_ne_scalar,
    &op_lt_tensor,   &op_lt_scalar,   &op_le_tensor,  &op_le_scalar,
    &op_gt_tensor,   &op_gt_scalar,   &op_ge_tensor,  &op_ge_scalar,
    &op_logical_not, &op_logical_and, &op_logical_or, 0,
};
