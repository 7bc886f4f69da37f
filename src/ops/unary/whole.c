// SPDX-License-Identifier: Apache-2.0
// Functions of one whole number: i32 elements of operators that also take f32.
#include "ops/shared/parallel.h"
#include "ops/unary/unary.h"

// The smallest number has no positive counterpart: it stays as it is, through unsigned, where wrapping is defined.
typedef int32_t function(int32_t x, int32_t low, int32_t high);

HONE_INLINE int32_t opposite(int32_t x) {
    return (int32_t)(0u - (uint32_t)x);
}

#define DEFINE(name, expression)                                                                                       \
    HONE_VECTOR static void name##_run(int32_t *out, const int32_t *in, int64_t n, int32_t low, int32_t high) {        \
        (void)low;                                                                                                     \
        (void)high;                                                                                                    \
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                             \
            const int32_t x = in[i];                                                                                   \
            out[i] = (expression);                                                                                     \
        }                                                                                                              \
    }

DEFINE(absolute, x < 0 ? opposite(x) : x)
DEFINE(negative, opposite(x))
DEFINE(positive, x > 0 ? x : 0)
DEFINE(within, x<low ? (low < high ? low : high) : x> high ? high : x)

typedef struct context {
    void (*run)(int32_t *out, const int32_t *in, int64_t n, int32_t low, int32_t high);
    int32_t *out;
    const int32_t *in;
    int32_t low, high;
} context;

static void range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    c->run(c->out + begin, c->in + begin, end - begin, c->low, c->high);
}

static bool apply(const hone_op_call *call, context c) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    if (self->type.dtype != HONE_DTYPE_I32) return false;
    c.out = call->outputs[0].data;
    c.in = self->data;
    hone_call_elements(call, hone_type_elements(&self->type), range, &c);
    return true;
}

bool hone_unary_whole_abs(const hone_op_call *call) {
    return apply(call, (context){.run = absolute_run});
}
bool hone_unary_whole_neg(const hone_op_call *call) {
    return apply(call, (context){.run = negative_run});
}
bool hone_unary_whole_relu(const hone_op_call *call) {
    return apply(call, (context){.run = positive_run});
}

static int32_t bound(const hone_operand *number, int32_t otherwise) {
    if (number->kind == HONE_ARGUMENT_NONE) return otherwise;
    return number->real < INT32_MIN ? INT32_MIN : number->real > INT32_MAX ? INT32_MAX : (int32_t)number->real;
}

bool hone_unary_whole_clamp(const hone_op_call *call) {
    return apply(call, (context){.run = within_run,
                                 .low = bound(&call->operands[1], INT32_MIN),
                                 .high = bound(&call->operands[2], INT32_MAX)});
}

hone_status hone_unary_infer_number(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || self->type.dtype == HONE_DTYPE_I32,
                  "elements must be f32 or i32, not %s", hone_op_type_text(self));
    for (size_t i = 1; i < call->operand_count; i++) {
        const hone_operand *const number = &call->operands[i];
        HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || number->kind == HONE_ARGUMENT_NONE || number->live ||
                          number->real == (double)number->integer,
                      "%g is not a whole number, as i32 elements need", number->real);
    }
    call->outputs[0].type = self->type;
    return HONE_OK;
}
