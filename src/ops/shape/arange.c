// SPDX-License-Identifier: Apache-2.0
// Numbers at equal distances.
#include <math.h>

#include "ops/shape/move.h"
#include "ops/shared/kernels.h"
#include "ops/shared/parallel.h"

typedef struct context {
    void *out;
    const hone_operand *start, *step;
} context;

static bool is_whole(const hone_operand *number) {
    return number->kind != HONE_ARGUMENT_REAL;
}

// ceil((end - start) / step), without rounding where all three are whole numbers.
static hone_status count_of(const hone_op_call *call, int64_t *out, hone_error *error) {
    const hone_operand *const start = &call->operands[0], *const end = &call->operands[1],
                              *const step = &call->operands[2];
    const int64_t most = (int64_t)1 << 40;
    HONE_OP_CHECK(!start->live && !end->live && !step->live,
                  "the numbers say how many elements there are: none may live");
    HONE_OP_CHECK(step->real != 0, "step must not be 0");
    HONE_OP_CHECK(isfinite(start->real) && isfinite(end->real) && isfinite(step->real), "%g to %g by %g is no range",
                  start->real, end->real, step->real);
    HONE_OP_CHECK(start->real == end->real || (end->real > start->real) == (step->real > 0),
                  "%g by %g never comes to %g", start->real, step->real, end->real);
    const double steps = ceil((end->real - start->real) / step->real);
    HONE_OP_CHECK(steps <= (double)most, "%g elements are too many", steps);
    *out = (int64_t)steps;
    int64_t distance;
    if (!is_whole(start) || !is_whole(end) || !is_whole(step) ||
        __builtin_sub_overflow(end->integer, start->integer, &distance) || step->integer == INT64_MIN)
        return HONE_OK;
    const int64_t way = distance < 0 ? -(distance + 1) : distance - (distance > 0),
                  by = step->integer < 0 ? -step->integer : step->integer;
    *out = distance == 0 ? 0 : way / by + 1;
    return HONE_OK;
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    const hone_operand *const dtype = &call->operands[3];
    bool whole = true;
    int64_t count = 0;
    for (size_t i = 0; i < 3; i++) whole = whole && is_whole(&call->operands[i]);
    hone_dtype type = whole ? HONE_DTYPE_I64 : HONE_DTYPE_F32; // ATen's rule
    if (dtype->kind != HONE_ARGUMENT_NONE) HONE_TRY(hone_scalar_type(call, dtype->integer, &type, error));
    HONE_OP_CHECK(type == HONE_DTYPE_F32 || type == HONE_DTYPE_I32 || type == HONE_DTYPE_I64,
                  "elements can be f32, i32 or i64, not %s", hone_dtype_name(type));
    for (size_t i = 0; i < 3; i++)
        HONE_OP_CHECK(type == HONE_DTYPE_F32 || call->operands[i].live ||
                          call->operands[i].real == (double)call->operands[i].integer,
                      "%g is not a whole number, as %s elements need", call->operands[i].real, hone_dtype_name(type));
    HONE_TRY(count_of(call, &count, error));
    call->outputs[0].type = hone_type(type, 1, count);
    return hone_type_check(&call->outputs[0].type, "aten::arange", error);
}

static void range_f32(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const double start = c->start->real, step = c->step->real;
    for (int64_t i = begin; i < end; i++) ((float *)c->out)[i] = (float)(start + (double)i * step);
}

// Wraps in 64 bits and again in 32, as all whole numbers do.
static int64_t element(const context *c, int64_t i) {
    return (int64_t)((uint64_t)c->start->integer + (uint64_t)i * (uint64_t)c->step->integer);
}

static void range_i32(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t i = begin; i < end; i++) ((uint32_t *)c->out)[i] = (uint32_t)element(c, i);
}

static void range_i64(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t i = begin; i < end; i++) ((int64_t *)c->out)[i] = element(c, i);
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const out = &call->outputs[0];
    context c = {.out = out->data, .start = &call->operands[0], .step = &call->operands[2]};
    hone_call_elements(call, out->type.dims[0],
                       out->type.dtype == HONE_DTYPE_F32   ? range_f32
                       : out->type.dtype == HONE_DTYPE_I32 ? range_i32
                                                           : range_i64,
                       &c);
}

// The lower half first.
static void add_halves(hone_kernel_list *list, hone_kernel_dispatch *d, int64_t number) {
    hone_kernel_word(list, d, (int64_t)((uint64_t)number & UINT32_MAX));
    hone_kernel_word(list, d, (int64_t)((uint64_t)number >> 32));
}

static void kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const out = &call->outputs[0];
    const hone_dtype dtype = out->type.dtype;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "shape.range_words", hone_kernel_groups(out->type.dims[0], HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, out);
    hone_kernel_word(list, d, out->type.dims[0]);
    hone_kernel_number(list, d, call->operands[0].real);
    hone_kernel_number(list, d, call->operands[2].real);
    add_halves(list, d, call->operands[0].integer);
    add_halves(list, d, call->operands[2].integer);
    hone_kernel_word(list, d, dtype == HONE_DTYPE_F32 ? 0 : dtype == HONE_DTYPE_I32 ? 1 : 2);
    for (size_t i = 0; i < 3; i += 2)
        hone_kernel_number(list, d, call->operands[i].real - (double)(float)call->operands[i].real);
}
HONE_PLAIN_KERNEL_RULE(arange, kernel)

const hone_op hone_op_arange = {
    .schema = "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None) -> Tensor",
    .summary = "start, start + step, ... up to but without end; without dtype f32, or i64 for whole numbers",
    .flags = HONE_OP_CHEAP,
    .infer = infer,
    .cpu = cpu,
    .variants = hone_kernels_arange,
};
