// SPDX-License-Identifier: Apache-2.0
// And, or and not of the bits of whole numbers and truths.
#include "ops/bitwise/bitwise.h"
#include "ops/op.h"
#include "ops/shared/broadcast.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

// One run of outputs; a and b move by their steps, 0 or 1.
typedef void kernel(void *out, const void *a, const void *b, int64_t step_a, int64_t step_b, int64_t n);

#define DEFINE(name, type, expression)                                                                                 \
    HONE_VECTOR static void name(void *out, const void *a, const void *b, int64_t step_a, int64_t step_b, int64_t n) { \
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                             \
            const type x = ((const type *)a)[i * step_a], y = ((const type *)b)[i * step_b];                           \
            (void)y;                                                                                                   \
            ((type *)out)[i] = (type)(expression);                                                                     \
        }                                                                                                              \
    }
#define DEFINE_SIZES(name, expression)                                                                                 \
    DEFINE(name##_8, uint8_t, expression)                                                                              \
    DEFINE(name##_32, uint32_t, expression)                                                                            \
    DEFINE(name##_64, uint64_t, expression)                                                                            \
    static kernel *name##_of(const hone_tensor_type *type) {                                                           \
        const size_t bytes = hone_dtype_bytes(type->dtype);                                                            \
        return bytes == 8 ? name##_64 : bytes == 4 ? name##_32 : name##_8;                                             \
    }
DEFINE_SIZES(both, x &y)
DEFINE_SIZES(either, x | y)
DEFINE_SIZES(inverse, ~x)
DEFINE(untrue, uint8_t, x == 0)

typedef struct context {
    kernel *run;
    char *out;
    const char *a, *b;
    int64_t element;
} context;

static void run(void *opaque, int64_t out, const int64_t *at, const int64_t *step, int64_t count) {
    const context *const c = opaque;
    c->run(c->out + out * c->element, c->a + at[0] * c->element, c->b + at[1] * c->element, step[0], step[1], count);
}

static void apply(const hone_op_call *call, kernel *function, const hone_tensor *a, const hone_tensor *b) {
    context c = {.run = function,
                 .out = call->outputs[0].data,
                 .a = a->data,
                 .b = b->data,
                 .element = (int64_t)hone_dtype_bytes(a->type.dtype)};
    hone_broadcast broadcast;
    hone_broadcast_make(&broadcast, &call->outputs[0].type, (const hone_tensor_type *[]){&a->type, &b->type}, 2);
    hone_broadcast_each(call, &broadcast, run, &c);
}

static hone_status infer_one(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_dtype dtype = self->type.dtype;
    HONE_OP_CHECK(dtype == HONE_DTYPE_BOOL || dtype == HONE_DTYPE_U8 || dtype == HONE_DTYPE_I8 ||
                      dtype == HONE_DTYPE_I32 || dtype == HONE_DTYPE_I64,
                  "elements must be bool or whole numbers, not %s", hone_op_type_text(self));
    call->outputs[0].type = self->type;
    return HONE_OK;
}

static hone_status infer_two(const hone_op_call *call, hone_error *error) {
    HONE_TRY(infer_one(call, error));
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_TRY(hone_op_want_dtype(call, 1, self->type.dtype, error));
    return hone_op_broadcast(call, &self->type, &hone_operand_tensor(call, 1)->type, &call->outputs[0].type, error);
}

static void and_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    apply(call, both_of(&self->type), self, hone_operand_tensor(call, 1));
}

static void or_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    apply(call, either_of(&self->type), self, hone_operand_tensor(call, 1));
}

static void not_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    apply(call, self->type.dtype == HONE_DTYPE_BOOL ? untrue : inverse_of(&self->type), self, self);
}

static const hone_op op_and = {
    .schema = "aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
    .summary = "self & other, broadcast",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer_two,
    .cpu = and_cpu,
    .variants = hone_kernels_bitwise_and,
};
static const hone_op op_or = {
    .schema = "aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
    .summary = "self | other, broadcast",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1,
    .infer = infer_two,
    .cpu = or_cpu,
    .variants = hone_kernels_bitwise_or,
};
static const hone_op op_not = {
    .schema = "aten::bitwise_not(Tensor self) -> Tensor",
    .summary = "~self; the other truth for bool",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = infer_one,
    .cpu = not_cpu,
    .variants = hone_kernels_bitwise_not,
};

const hone_op *const hone_ops_bitwise[] = {&op_and, &op_or, &op_not, 0};
