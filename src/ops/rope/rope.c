// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: pairs of features of each head turned by an angle that grows with the position.
//
// x [T, H * hd], cosines and sines [P, C] with C <= hd / 2, positions [T]. For row t, p = positions[t], pair
// i < C:
//   (a, b) -> (a cos[p, i] - b sin[p, i], a sin[p, i] + b cos[p, i])
// with (a, b) the features (2i, 2i + 1) of the head, or (i, i + C) with `halves`. Features from 2C on stay as
// they are.
#include <string.h>

#include "ops/op.h"
#include "ops/rope/rope.h"
#include "ops/rope/rotary.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

typedef struct context {
    const hone_op_call *call;
    float *out;
    const float *x, *cosines, *sines;
    const int32_t *positions;
    int64_t columns, head, pairs, table;
    int heads;
    bool inverse, halves;
} context;

HONE_VECTOR static void turn_neighbours(float *out, const float *x, const float *cosines, const float *sines, int64_t n,
                                        float sign) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float a = x[2 * i], b = x[2 * i + 1], s = sign * sines[i];
        out[2 * i] = a * cosines[i] - b * s;
        out[2 * i + 1] = a * s + b * cosines[i];
    }
}

HONE_VECTOR static void turn_halves(float *out, const float *x, const float *cosines, const float *sines, int64_t n,
                                    float sign) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float a = x[i], b = x[i + n], s = sign * sines[i];
        out[i] = a * cosines[i] - b * s;
        out[i + n] = a * s + b * cosines[i];
    }
}

static void turn_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const float sign = c->inverse ? -1.0f : 1.0f;
    for (int64_t row = begin; row < end; row++) {
        const int64_t position = hone_call_index(c->call, c->positions[row], c->table);
        const float *const cosines = c->cosines + position * c->pairs, *const sines = c->sines + position * c->pairs;
        for (int head = 0; head < c->heads; head++) {
            const int64_t at = row * c->columns + head * c->head;
            if (c->halves)
                turn_halves(c->out + at, c->x + at, cosines, sines, c->pairs, sign);
            else
                turn_neighbours(c->out + at, c->x + at, cosines, sines, c->pairs, sign);
            if (c->out != c->x && c->head > 2 * c->pairs)
                memcpy(c->out + at + 2 * c->pairs, c->x + at + 2 * c->pairs,
                       (size_t)(c->head - 2 * c->pairs) * sizeof(float));
        }
    }
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 3; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, i, 2, error));
    }
    HONE_TRY(hone_op_want_dtype(call, 3, HONE_DTYPE_I32, error));
    HONE_TRY(hone_op_want_rank(call, 3, 1, error));
    const hone_tensor *const x = hone_operand_tensor(call, 0), *const cosines = hone_operand_tensor(call, 1);
    const int64_t heads = call->operands[4].integer;
    HONE_OP_CHECK(heads >= 1 && x->type.dims[1] % heads == 0, "%s does not divide into %lld heads",
                  hone_op_type_text(x), (long long)heads);
    HONE_OP_CHECK(hone_shape_equal(&cosines->type, &hone_operand_tensor(call, 2)->type),
                  "cosines %s and sines %s must have one shape", hone_op_type_text(cosines),
                  hone_op_type_text(hone_operand_tensor(call, 2)));
    HONE_OP_CHECK(2 * cosines->type.dims[1] <= x->type.dims[1] / heads,
                  "a table of %lld pairs does not fit heads of %lld features", (long long)cosines->type.dims[1],
                  (long long)(x->type.dims[1] / heads));
    HONE_OP_CHECK(hone_operand_tensor(call, 3)->type.dims[0] == x->type.dims[0], "positions %s must be one a row of %s",
                  hone_op_type_text(hone_operand_tensor(call, 3)), hone_op_type_text(x));
    HONE_OP_CHECK(cosines->type.dims[0] >= 1 || x->type.dims[0] == 0, "the table has no positions");
    call->outputs[0].type = x->type;
    return HONE_OK;
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const x = hone_operand_tensor(call, 0), *const cosines = hone_operand_tensor(call, 1);
    context c = {.call = call,
                 .out = call->outputs[0].data,
                 .x = x->data,
                 .cosines = cosines->data,
                 .sines = hone_operand_floats(call, 2),
                 .positions = hone_operand_tensor(call, 3)->data,
                 .columns = x->type.dims[1],
                 .head = x->type.dims[1] / call->operands[4].integer,
                 .pairs = cosines->type.dims[1],
                 .table = cosines->type.dims[0],
                 .heads = (int)call->operands[4].integer,
                 .inverse = call->operands[5].integer != 0,
                 .halves = call->operands[6].integer != 0};
    hone_call_rows(call, x->type.dims[0], c.columns, turn_rows, &c);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] =
        hone_emit(call->graph, "hone::rope", HONE_T(hone_grad_out(call, 0)), HONE_T(hone_grad_in(call, 1)),
                  HONE_T(hone_grad_in(call, 2)), HONE_T(hone_grad_in(call, 3)), *hone_node_argument(call->node, 4),
                  HONE_B(!hone_node_argument(call->node, 5)->integer), *hone_node_argument(call->node, 6));
    return HONE_OK;
}

static const hone_op op_rope = {
    .schema = "hone::rope(Tensor x, Tensor cosines, Tensor sines, Tensor positions, int heads, bool inverse=False, "
              "bool halves=False) -> Tensor",
    .summary = "turns feature pairs of each head of x [T, H*hd] by the table's angle at the row's position",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = infer,
    .cpu = cpu,
    .gradient = gradient,
    .gradient_text = "d_x = the same turn of d, backwards; the tables get none",
    .variants = hone_kernels_rope,
};

const hone_op *const hone_ops_rope[] = {
    &op_rope,
    &hone_op_rotary,
    &hone_op_rotary_hf,
    &hone_op_rotary_hf_backward,
    &hone_op_rotary_interleaved,
    &hone_op_rotary_interleaved_backward,
    0,
};
