// SPDX-License-Identifier: Apache-2.0
// Tensors of one number.
#include <string.h>

#include "base/half.h"
#include "ops/shape/move.h"
#include "ops/shared/parallel.h"

typedef struct context {
    char *out;
    size_t element;
    unsigned char bytes[8]; // of one element
} context;

static void fill_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    char *const to = c->out + (size_t)begin * c->element;
    const size_t bytes = (size_t)(end - begin) * c->element;
    memcpy(to, c->bytes, c->element);
    for (size_t done = c->element; done < bytes; done *= 2) // what is there already, copied behind itself
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

void hone_encode_number(hone_dtype dtype, const hone_operand *number, unsigned char *bytes) {
    const float f32 = (float)number->real;
    const int64_t whole = number->kind == HONE_ARGUMENT_REAL ? (int64_t)number->real : number->integer;
    const int32_t i32 = (int32_t)whole;
    const uint16_t half = hone_float_to_half(f32), bf16 = hone_float_to_bf16(f32);
    const uint8_t byte = dtype == HONE_DTYPE_BOOL ? number->real != 0 : (uint8_t)whole;
    switch (dtype) {
    case HONE_DTYPE_F32:
        memcpy(bytes, &f32, sizeof f32);
        break;
    case HONE_DTYPE_F64:
        memcpy(bytes, &number->real, sizeof number->real);
        break;
    case HONE_DTYPE_F16:
        memcpy(bytes, &half, sizeof half);
        break;
    case HONE_DTYPE_BF16:
        memcpy(bytes, &bf16, sizeof bf16);
        break;
    case HONE_DTYPE_I32:
        memcpy(bytes, &i32, sizeof i32);
        break;
    case HONE_DTYPE_I64:
        memcpy(bytes, &whole, sizeof whole);
        break;
    default:
        bytes[0] = byte;
    }
}

void hone_fill_number(const hone_op_call *call, const hone_operand *number) {
    const hone_tensor *const out = &call->outputs[0];
    context c = {.out = out->data, .element = hone_dtype_bytes(out->type.dtype)};
    hone_encode_number(out->type.dtype, number, c.bytes);
    hone_call_elements(call, hone_type_elements(&out->type), fill_range, &c);
}

hone_status hone_check_number(const hone_op_call *call, const hone_operand *number, hone_dtype dtype,
                              hone_error *error) {
    const double x = number->real;
    const double low = dtype == HONE_DTYPE_I8 ? INT8_MIN : dtype == HONE_DTYPE_I32 ? INT32_MIN : 0;
    const double high = dtype == HONE_DTYPE_I8 ? INT8_MAX : dtype == HONE_DTYPE_I32 ? INT32_MAX : UINT8_MAX;
    if (number->live || (dtype != HONE_DTYPE_I8 && dtype != HONE_DTYPE_I32 && dtype != HONE_DTYPE_U8)) return HONE_OK;
    HONE_OP_CHECK(x >= low && x <= high && x == (double)(int64_t)x, "%g is no number of type %s", x,
                  hone_dtype_name(dtype));
    return HONE_OK;
}

// ATen's rule: what is not given comes from the kind of the number.
static hone_status wanted_dtype(const hone_op_call *call, size_t at, hone_dtype otherwise, hone_dtype *out,
                                hone_error *error) {
    *out = otherwise;
    if (call->operands[at].kind == HONE_ARGUMENT_NONE) return HONE_OK;
    return hone_scalar_type(call, call->operands[at].integer, out, error);
}

static hone_status full_infer(const hone_op_call *call, hone_error *error) {
    const hone_operand *const size = &call->operands[0], *const number = &call->operands[1];
    hone_dtype dtype;
    HONE_OP_CHECK(size->count <= HONE_MAX_RANK, "size has %zu dimensions, more than %d", size->count, HONE_MAX_RANK);
    HONE_TRY(wanted_dtype(call, 2,
                          number->kind == HONE_ARGUMENT_BOOLEAN   ? HONE_DTYPE_BOOL
                          : number->kind == HONE_ARGUMENT_INTEGER ? HONE_DTYPE_I64
                                                                  : HONE_DTYPE_F32,
                          &dtype, error));
    call->outputs[0].type = hone_type_of(dtype, (int)size->count, size->integers);
    return hone_type_check(&call->outputs[0].type, "aten::full", error);
}

static hone_status full_like_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    call->outputs[0].type = self->type;
    return wanted_dtype(call, 2, self->type.dtype, &call->outputs[0].type.dtype, error);
}

static hone_status fill_infer(const hone_op_call *call, hone_error *error) {
    (void)error;
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

static void full_cpu(const hone_op_call *call) {
    hone_fill_number(call, &call->operands[1]);
}

const hone_op hone_op_full = {
    .schema = "aten::full(int[] size, Scalar fill_value, *, ScalarType? dtype=None) -> Tensor",
    .summary = "a tensor of one number; without dtype f32, or i64 for a whole number",
    .flags = HONE_OP_CHEAP,
    .infer = full_infer,
    .cpu = full_cpu,
    .variants = hone_kernels_fill,
};
const hone_op hone_op_full_like = {
    .schema = "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None) -> Tensor",
    .summary = "one number in the shape of self, and of its type unless dtype says otherwise",
    .flags = HONE_OP_CHEAP,
    .infer = full_like_infer,
    .cpu = full_cpu,
    .variants = hone_kernels_fill,
};
const hone_op hone_op_fill = {
    .schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
    .summary = "one number in the shape and type of self",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = fill_infer,
    .cpu = full_cpu,
    .variants = hone_kernels_fill,
};
