// SPDX-License-Identifier: Apache-2.0
// Elements of one type as elements of another, and copying into state.
//
// to float:          rounded to the nearest, halves to even
// float to whole:    the fraction is cut off; what does not fit becomes the nearest that does, NaN becomes 0
// whole to whole:    the low bits, as C and ATen convert
// to bool:           x != 0, so NaN is true
#include <string.h>

#include "base/half.h"
#include "ops/cast/cast.h"
#include "ops/op.h"
#include "ops/shape/move.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

enum { CHUNK = 512 };

typedef struct context {
    const hone_tensor *out, *in;
} context;

static bool is_float(hone_dtype dtype) {
    return dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16 || dtype == HONE_DTYPE_F64;
}

// --- floats pass through double, which holds them all ----------------------------------------------------------------
static void read_reals(double *out, const hone_tensor *in, int64_t at, int64_t n) {
    const uint16_t *const small = (const uint16_t *)in->data + at;
    float chunk[CHUNK];
    switch (in->type.dtype) {
    case HONE_DTYPE_F64:
        memcpy(out, (const double *)in->data + at, (size_t)n * sizeof *out);
        return;
    case HONE_DTYPE_F16:
        hone_half_to_float_array(small, chunk, (size_t)n);
        break;
    case HONE_DTYPE_BF16:
        for (int64_t i = 0; i < n; i++) chunk[i] = hone_bf16_to_float(small[i]);
        break;
    default:
        memcpy(chunk, (const float *)in->data + at, (size_t)n * sizeof *chunk);
    }
    for (int64_t i = 0; i < n; i++) out[i] = chunk[i];
}

// Comparisons are false for NaN, so it goes to the last value.
static int64_t within(double x, double low, double high) {
    return x >= high ? (int64_t)high : x > low ? (int64_t)x : x <= low ? (int64_t)low : 0;
}

// 2^63 is no int64_t, and the largest double below it is 2^63 - 1024.
static int64_t within_i64(double x) {
    return x >= 0x1p63 ? INT64_MAX : x > -0x1p63 ? (int64_t)x : x <= -0x1p63 ? INT64_MIN : 0;
}

static void write_reals(const hone_tensor *out, int64_t at, const double *x, int64_t n) {
    uint16_t *const small = (uint16_t *)out->data + at;
    float chunk[CHUNK];
    for (int64_t i = 0; i < n; i++) chunk[i] = (float)x[i];
    switch (out->type.dtype) {
    case HONE_DTYPE_F32:
        memcpy((float *)out->data + at, chunk, (size_t)n * sizeof *chunk);
        break;
    case HONE_DTYPE_F64:
        memcpy((double *)out->data + at, x, (size_t)n * sizeof *x);
        break;
    case HONE_DTYPE_F16:
        hone_float_to_half_array(chunk, small, (size_t)n);
        break;
    case HONE_DTYPE_BF16:
        for (int64_t i = 0; i < n; i++) small[i] = hone_float_to_bf16(chunk[i]);
        break;
    case HONE_DTYPE_I32:
        for (int64_t i = 0; i < n; i++) ((int32_t *)out->data)[at + i] = (int32_t)within(x[i], INT32_MIN, INT32_MAX);
        break;
    case HONE_DTYPE_I64:
        for (int64_t i = 0; i < n; i++) ((int64_t *)out->data)[at + i] = within_i64(x[i]);
        break;
    case HONE_DTYPE_I8:
        for (int64_t i = 0; i < n; i++) ((int8_t *)out->data)[at + i] = (int8_t)within(x[i], INT8_MIN, INT8_MAX);
        break;
    case HONE_DTYPE_BOOL:
        for (int64_t i = 0; i < n; i++) ((uint8_t *)out->data)[at + i] = x[i] != 0;
        break;
    default: // u8
        for (int64_t i = 0; i < n; i++) ((uint8_t *)out->data)[at + i] = (uint8_t)within(x[i], 0, UINT8_MAX);
    }
}

// --- whole numbers pass through int64_t ------------------------------------------------------------------------------
static void read_wholes(int64_t *out, const hone_tensor *in, int64_t at, int64_t n) {
    switch (in->type.dtype) {
    case HONE_DTYPE_I64:
        memcpy(out, (const int64_t *)in->data + at, (size_t)n * sizeof *out);
        break;
    case HONE_DTYPE_I32:
        for (int64_t i = 0; i < n; i++) out[i] = ((const int32_t *)in->data)[at + i];
        break;
    case HONE_DTYPE_I8:
        for (int64_t i = 0; i < n; i++) out[i] = ((const int8_t *)in->data)[at + i];
        break;
    default: // bool, u8
        for (int64_t i = 0; i < n; i++) out[i] = ((const uint8_t *)in->data)[at + i];
    }
}

static void write_wholes(const hone_tensor *out, int64_t at, const int64_t *x, int64_t n) {
    switch (out->type.dtype) {
    case HONE_DTYPE_F32: // not through double: that would round twice
        for (int64_t i = 0; i < n; i++) ((float *)out->data)[at + i] = (float)x[i];
        break;
    case HONE_DTYPE_F64:
        for (int64_t i = 0; i < n; i++) ((double *)out->data)[at + i] = (double)x[i];
        break;
    case HONE_DTYPE_F16:
        for (int64_t i = 0; i < n; i++) ((uint16_t *)out->data)[at + i] = hone_float_to_half((float)x[i]);
        break;
    case HONE_DTYPE_BF16:
        for (int64_t i = 0; i < n; i++) ((uint16_t *)out->data)[at + i] = hone_float_to_bf16((float)x[i]);
        break;
    case HONE_DTYPE_I64:
        memcpy((int64_t *)out->data + at, x, (size_t)n * sizeof *x);
        break;
    case HONE_DTYPE_I32:
        for (int64_t i = 0; i < n; i++) ((uint32_t *)out->data)[at + i] = (uint32_t)x[i];
        break;
    case HONE_DTYPE_BOOL:
        for (int64_t i = 0; i < n; i++) ((uint8_t *)out->data)[at + i] = x[i] != 0;
        break;
    default: // u8, i8
        for (int64_t i = 0; i < n; i++) ((uint8_t *)out->data)[at + i] = (uint8_t)x[i];
    }
}

static void convert_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    union {
        double reals[CHUNK];
        int64_t wholes[CHUNK];
    } chunk;
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int64_t n = end - at < CHUNK ? end - at : CHUNK;
        if (is_float(c->in->type.dtype)) {
            read_reals(chunk.reals, c->in, at, n);
            write_reals(c->out, at, chunk.reals, n);
        } else {
            read_wholes(chunk.wholes, c->in, at, n);
            write_wholes(c->out, at, chunk.wholes, n);
        }
    }
}

// --- copies ----------------------------------------------------------------------------------------------------------
typedef struct bytes {
    char *to;
    const char *from;
} bytes;

static void copy_range(void *opaque, int64_t begin, int64_t end) {
    const bytes *const b = opaque;
    memcpy(b->to + begin, b->from + begin, (size_t)(end - begin));
}

static void copy(const hone_op_call *call, const hone_tensor *to, const hone_tensor *from) {
    bytes b = {.to = to->data, .from = from->data};
    if (b.to != b.from) hone_call_ranges(call, (int64_t)hone_type_bytes(&from->type), HONE_BLOCK * 16, copy_range, &b);
}

// --- operators -------------------------------------------------------------------------------------------------------
static hone_status cast_infer(const hone_op_call *call, hone_error *error) {
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    if (call->operands[1].kind == HONE_ARGUMENT_NONE) return HONE_OK;
    return hone_scalar_type(call, call->operands[1].integer, &call->outputs[0].type.dtype, error);
}

static void cast_cpu(const hone_op_call *call) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    context c = {.out = &call->outputs[0], .in = self};
    if (c.out->type.dtype == self->type.dtype)
        copy(call, c.out, self);
    else
        hone_call_elements(call, hone_type_elements(&self->type), convert_range, &c);
}

static hone_status cast_gradient(const hone_gradient_call *call, hone_error *error) {
    static const int64_t codes[] = {[HONE_DTYPE_F32] = 6, [HONE_DTYPE_F16] = 5, [HONE_DTYPE_BF16] = 15};
    const hone_dtype from = hone_graph_type(call->graph, hone_grad_in(call, 0))->dtype;
    const hone_dtype to = hone_graph_type(call->graph, hone_grad_out(call, 0))->dtype;
    (void)error;
    call->input_gradients[0] =
        from == to ? hone_grad_out(call, 0)
                   : hone_emit(call->graph, "aten::_to_copy", HONE_T(hone_grad_out(call, 0)), HONE_I(codes[from]));
    return HONE_OK;
}

static hone_status copy_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0), *const src = hone_operand_tensor(call, 1);
    HONE_OP_CHECK(hone_type_equal(&self->type, &src->type), "src %s must have the type and shape of self %s",
                  hone_op_type_text(src), hone_op_type_text(self));
    return HONE_OK;
}

static void copy_cpu(const hone_op_call *call) {
    copy(call, hone_operand_tensor(call, 0), hone_operand_tensor(call, 1));
}

static const hone_op op_to_copy = {
    .schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .summary = "self as elements of dtype; floats are cut off and saturate where whole numbers are asked for",
    .flags = HONE_OP_CHEAP,
    .infer = cast_infer,
    .cpu = cast_cpu,
    .gradient = cast_gradient,
    .gradient_text = "d_self = d as elements of self's type; none from or to whole numbers",
    .variants = hone_kernels_to_copy,
};
static const hone_op op_copy = {
    .schema = "aten::copy_(Tensor(a!) self, Tensor src) -> ()",
    .summary = "self = src, of one type and shape",
    .flags = HONE_OP_EFFECT,
    .infer = copy_infer,
    .cpu = copy_cpu,
    .variants = hone_kernels_copy_into,
};

const hone_op *const hone_ops_cast[] = {&op_to_copy, &op_copy, 0};
