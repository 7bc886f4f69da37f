// SPDX-License-Identifier: Apache-2.0
// Dropout whose mask is a hash of where an element belongs, not of when it is computed: recomputation, a resumed run
// and any split into micro-batches draw the same mask.
//
// x [T, C], keys i32 [T, 2] = (row id, position). With u = hash(seed + tag, row id, position, column) in [0, 2^32):
// out = x / (1 - p) where u >= p 2^32, else 0. The gradient is the same operator on the gradient.
#include "base/random.h"
#include "ops/dropout/dropout.h"
#include "ops/op.h"
#include "ops/shared/parallel.h"

typedef struct context {
    const float *x;
    const int32_t *keys;
    float *out;
    int64_t columns;
    uint64_t seed;
    uint32_t threshold;
    float scale;
} context;

static hone_status infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, 0, 2, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_I32, error));
    HONE_TRY(hone_op_want_rank(call, 1, 2, error));
    const hone_tensor_type *const keys = &hone_operand_tensor(call, 1)->type;
    HONE_OP_CHECK(keys->dims[0] == hone_operand_tensor(call, 0)->type.dims[0] && keys->dims[1] == 2,
                  "keys must be [rows of x, 2], not %s", hone_op_type_text(hone_operand_tensor(call, 1)));
    HONE_OP_CHECK(call->operands[2].real >= 0 && call->operands[2].real < 1,
                  "the probability must be from 0 up to 1, not %g", call->operands[2].real);
    call->outputs[0].type = hone_operand_tensor(call, 0)->type;
    return HONE_OK;
}

static void rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t t = begin; t < end; t++) {
        const uint32_t row = (uint32_t)c->keys[2 * t];
        const uint32_t position = (uint32_t)c->keys[2 * t + 1];
        for (int64_t i = 0; i < c->columns; i++) {
            const uint32_t u = hone_random_hash(c->seed, row, position, (uint32_t)i);
            c->out[t * c->columns + i] = u >= c->threshold ? c->x[t * c->columns + i] * c->scale : 0.0f;
        }
    }
}

static void cpu(const hone_op_call *call) {
    const double p = call->operands[2].real;
    context c = {
        .x = hone_operand_floats(call, 0),
        .keys = hone_operand_tensor(call, 1)->data,
        .out = call->outputs[0].data,
        .columns = hone_type_columns(&call->outputs[0].type),
        .seed = (uint64_t)call->operands[3].integer + (uint64_t)call->operands[4].integer,
        .threshold = (uint32_t)(p * 4294967296.0),
        .scale = (float)(1.0 / (1.0 - p)),
    };
    hone_call_rows(call, hone_type_rows(&call->outputs[0].type), c.columns, rows, &c);
}

static hone_status gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (!call->wanted[0]) return HONE_OK;
    call->input_gradients[0] = hone_emit(call->graph, "hone::dropout", HONE_T(hone_grad_out(call, 0)),
                                         HONE_T(hone_grad_in(call, 1)), *hone_node_argument(call->node, 2),
                                         *hone_node_argument(call->node, 3), *hone_node_argument(call->node, 4));
    return HONE_OK;
}

static const hone_op dropout = {
    .schema = "hone::dropout(Tensor x, Tensor keys, float probability, int seed, int tag=0) -> Tensor",
    .summary = "x / (1 - p) where hash(seed + tag, key, column) says so, else 0",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = infer,
    .cpu = cpu,
    .gradient = gradient,
    .gradient_text = "x: dropout(grad) with the same mask",
    .variants = hone_kernels_dropout,
};

const hone_op *const hone_ops_dropout[] = {&dropout, NULL};
