// SPDX-License-Identifier: Apache-2.0
// How rows are picked and put back on a GPU.
#include "ops/gather/gather.h"
#include "ops/shape/move.h"
#include "ops/shared/kernels.h"

static void words(hone_kernel_list *list, hone_kernel_dispatch *d, const int64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) hone_kernel_word(list, d, values[i]);
}

// Where a chunk begins; a live chunk may be any number, which the kernel then finds to be beyond the rows.
static int64_t first_of(const hone_operand *chunk, int64_t rows) {
    const int64_t most = INT32_MAX;
    return chunk->integer < 0 ? -1 : rows > 0 && chunk->integer > most / rows ? most : chunk->integer * rows;
}

static void gather(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const source = hone_operand_tensor(call, 0), *const rows = hone_operand_tensor(call, 1);
    const int64_t count = call->operands[3].integer, columns = source->type.rank == 2 ? source->type.dims[1] : 1;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "gather.rows_gather", hone_kernel_groups(count * columns, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, source);
    hone_kernel_bind(list, d, rows);
    hone_kernel_bind(list, d, &call->outputs[0]);
    words(list, d,
          (const int64_t[]){count * columns, columns, first_of(&call->operands[2], count), rows->type.dims[0],
                            source->type.dims[0], source->type.rank == 2 ? 0 : -1},
          6);
}

static void scatter(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const target = hone_operand_tensor(call, 0), *const rows = hone_operand_tensor(call, 1),
                             *const source = hone_operand_tensor(call, 2);
    const int64_t count = source->type.dims[0], columns = source->type.dims[1];
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "gather.rows_scatter", hone_kernel_groups(count * columns, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, target);
    hone_kernel_bind(list, d, rows);
    hone_kernel_bind(list, d, source);
    words(list, d,
          (const int64_t[]){count, columns, first_of(&call->operands[3], count), rows->type.dims[0],
                            target->type.dims[0], 0},
          6);
}

static void zero(const hone_op_call *call, hone_kernel_list *list) {
    static const unsigned char element[8] = {0};
    hone_kernel_fill(list, hone_operand_tensor(call, 0), element);
}

HONE_PLAIN_KERNEL_RULE(rows_gather, gather)
HONE_PLAIN_KERNEL_RULE(rows_scatter, scatter)
HONE_PLAIN_KERNEL_RULE(zero, zero)
