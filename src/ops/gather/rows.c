// SPDX-License-Identifier: Apache-2.0
// Rows picked by number, a chunk at a time: how the head and the loss see only the rows that are trained.
//
// rows [S] holds row numbers of source [T, D]; chunk c covers rows[c * n .. c * n + n). A row number outside
// [0, T), or a place beyond S, is absent: it gathers zeros (-1 for labels) and scatters nothing. None of
// these has a gradient.
#include <string.h>

#include "ops/gather/gather.h"
#include "ops/op.h"
#include "ops/shared/parallel.h"

typedef struct context {
    char *out;
    const char *source;
    const int32_t *rows;
    int64_t first, listed, limit; // of rows: this chunk's first, all; row numbers below limit are there
    size_t row_bytes;
    int absent; // byte that fills what is absent
} context;

static int64_t row_number(const context *c, int64_t i) {
    const int64_t at = c->first + i;
    if (at < 0 || at >= c->listed) return -1;
    return c->rows[at] < c->limit ? c->rows[at] : -1;
}

static void gather_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = row_number(c, i);
        char *const out = c->out + (size_t)i * c->row_bytes;
        if (row < 0)
            memset(out, c->absent, c->row_bytes);
        else
            memcpy(out, c->source + (size_t)row * c->row_bytes, c->row_bytes);
    }
}

static hone_status gather_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const source = hone_operand_tensor(call, 0);
    const bool words = source->type.dtype == HONE_DTYPE_I32 && source->type.rank >= 1 && source->type.rank <= 2;
    HONE_OP_CHECK(words || (source->type.dtype == HONE_DTYPE_F32 && source->type.rank == 2),
                  "source must be f32 rows [T, D], i32 rows [T, D] or i32 labels [T], not %s",
                  hone_op_type_text(source));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_I32, error));
    HONE_TRY(hone_op_want_rank(call, 1, 1, error));
    HONE_OP_CHECK(call->operands[3].integer >= 0 && !call->operands[3].live,
                  "chunk_rows must be a fixed number >= 0, not %lld", (long long)call->operands[3].integer);
    call->outputs[0].type = source->type;
    call->outputs[0].type.dims[0] = call->operands[3].integer;
    return HONE_OK;
}

static void gather_cpu(const hone_op_call *call) {
    const hone_tensor *const source = hone_operand_tensor(call, 0), *const rows = hone_operand_tensor(call, 1);
    const int64_t count = call->operands[3].integer;
    const int64_t columns = source->type.rank == 2 ? source->type.dims[1] : 1;
    context c = {.out = call->outputs[0].data,
                 .source = source->data,
                 .rows = rows->data,
                 .first = call->operands[2].integer * count,
                 .listed = rows->type.dims[0],
                 .limit = source->type.dims[0],
                 .row_bytes = (size_t)columns * hone_dtype_bytes(source->type.dtype),
                 .absent = source->type.rank == 2 ? 0 : 0xff};
    hone_call_rows(call, count, columns, gather_range, &c);
}

static hone_status scatter_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const target = hone_operand_tensor(call, 0), *const source = hone_operand_tensor(call, 2);
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, 0, 2, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_I32, error));
    HONE_TRY(hone_op_want_rank(call, 1, 1, error));
    HONE_TRY(hone_op_want_dtype(call, 2, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, 2, 2, error));
    HONE_OP_CHECK(source->type.dims[1] == target->type.dims[1], "rows of source %s do not fit those of target %s",
                  hone_op_type_text(source), hone_op_type_text(target));
    return HONE_OK;
}

// One task: a row number that occurs twice takes the later source row, always.
static void scatter_cpu(const hone_op_call *call) {
    const hone_tensor *const target = hone_operand_tensor(call, 0), *const rows = hone_operand_tensor(call, 1),
                             *const source = hone_operand_tensor(call, 2);
    const int64_t count = source->type.dims[0];
    const context c = {.rows = rows->data,
                       .first = call->operands[3].integer * count,
                       .listed = rows->type.dims[0],
                       .limit = target->type.dims[0]};
    const size_t row_bytes = (size_t)target->type.dims[1] * sizeof(float);
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = row_number(&c, i);
        if (row >= 0)
            memcpy((char *)target->data + (size_t)row * row_bytes, (const char *)source->data + (size_t)i * row_bytes,
                   row_bytes);
    }
}

static hone_status zero_infer(const hone_op_call *call, hone_error *error) {
    (void)call;
    (void)error;
    return HONE_OK;
}

static void zero_range(void *opaque, int64_t begin, int64_t end) {
    memset((char *)opaque + begin, 0, (size_t)(end - begin));
}

static void zero_cpu(const hone_op_call *call) {
    const hone_tensor *const target = hone_operand_tensor(call, 0);
    hone_call_ranges(call, (int64_t)hone_type_bytes(&target->type), HONE_BLOCK * 16, zero_range, target->data);
}

const hone_op hone_op_rows_gather = {
    .schema = "hone::rows_gather(Tensor source, Tensor rows, int chunk, int chunk_rows) -> Tensor",
    .summary = "out[r] = source[rows[chunk * chunk_rows + r]]; absent rows are 0 (labels -1)",
    .infer = gather_infer,
    .cpu = gather_cpu,
    .variants = hone_kernels_rows_gather,
};
const hone_op hone_op_rows_scatter = {
    .schema = "hone::rows_scatter_(Tensor(a!) target, Tensor rows, Tensor source, int chunk) -> ()",
    .summary = "target[rows[chunk * n + r]] = source[r] for the n rows of source; absent rows are skipped",
    .flags = HONE_OP_EFFECT,
    .infer = scatter_infer,
    .cpu = scatter_cpu,
    .variants = hone_kernels_rows_scatter,
};
const hone_op hone_op_zero = {
    .schema = "hone::zero_(Tensor(a!) target) -> ()",
    .summary = "target = 0",
    .flags = HONE_OP_EFFECT,
    .infer = zero_infer,
    .cpu = zero_cpu,
    .variants = hone_kernels_zero,
};
