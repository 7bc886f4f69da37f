// SPDX-License-Identifier: Apache-2.0
// How rows of tables are looked up on a GPU.
#include "ops/embedding/embedding.h"
#include "ops/gather/gather.h"
#include "ops/shape/move.h"
#include "ops/shared/kernels.h"

static int64_t index_words(const hone_tensor *indices) {
    return indices->type.dtype == HONE_DTYPE_I64 ? 2 : 1;
}

// The dispatch with bindings 1 to 4 and words 2 to 7.
static hone_kernel_dispatch *add(hone_kernel_list *list, const char *entry, const hone_tensor *indices,
                                 const hone_tensor *table, const hone_tensor *out, int64_t rows, int64_t kind,
                                 int64_t low_first) {
    const int64_t count = hone_type_elements(&out->type);
    hone_kernel_dispatch *const d = hone_kernel_add(list, entry, hone_kernel_groups(count, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, indices);
    hone_kernel_bind(list, d, table);
    hone_kernel_bind(list, d, out);
    hone_kernel_bind_flags(list, d);
    const int64_t words[] = {count, hone_type_columns(&out->type), rows, index_words(indices), kind, low_first};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) hone_kernel_word(list, d, words[i]);
    return d;
}

static void embedding(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const weight = hone_operand_tensor(call, 0);
    const hone_dtype dtype = weight->type.dtype;
    hone_kernel_dispatch *const d =
        add(list, "embedding.embedding", hone_operand_tensor(call, 1), weight, &call->outputs[0], weight->type.dims[0],
            dtype == HONE_DTYPE_F16    ? 1
            : dtype == HONE_DTYPE_BF16 ? 2
                                       : 0,
            0);
    hone_kernel_bind(list, d, NULL);
    hone_kernel_bind(list, d, NULL);
}

static void backward(const hone_op_call *call, hone_kernel_list *list) {
    static const unsigned char zero[8] = {0};
    const hone_tensor *const out = &call->outputs[0];
    hone_kernel_fill(list, out, zero);
    hone_kernel_index_add(list, &(hone_index_add){.indices = hone_operand_tensor(call, 1),
                                                  .source = hone_operand_tensor(call, 0),
                                                  .out = out,
                                                  .places = call->operands[2].integer,
                                                  .inner = out->type.dims[1],
                                                  .factor = 1,
                                                  .skipped = call->operands[3].integer});
}

// Codes, scales, minimums, indices, as the operators of this family have them.
void hone_embedding_codes_kernel(const hone_op_call *call, hone_kernel_list *list, const hone_codes *table) {
    const hone_tensor *const minimums = hone_operand_tensor(call, 2);
    hone_kernel_dispatch *const d = add(list, "embedding.embedding", hone_operand_tensor(call, 3),
                                        hone_operand_tensor(call, 0), &call->outputs[0], table->n, 3, 0);
    hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_bind(list, d, minimums);
    for (int i = 8; i < 22; i++) hone_kernel_word(list, d, 0);
    const int64_t words[] = {table->row_bytes, table->group,     table->step, table->bits,
                             table->zero,      minimums != NULL, table->half};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) hone_kernel_word(list, d, words[i]);
}

// Codes, scales, group size, indices, is_linear_weight.
static void exported(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const codes = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    hone_kernel_dispatch *const d = add(list, "embedding.embedding", hone_operand_tensor(call, 3), codes,
                                        &call->outputs[0], codes->type.dims[0], 4, call->operands[4].integer != 0);
    hone_kernel_bind(list, d, scales);
    hone_kernel_bind(list, d, NULL);
    for (int i = 8; i < 22; i++) hone_kernel_word(list, d, 0);
    hone_kernel_word(list, d, codes->type.dims[1]);
    hone_kernel_word(list, d, call->operands[2].integer);
    hone_kernel_word(list, d, scales->type.dims[1]);
}

HONE_PLAIN_KERNEL_RULE(embedding, embedding)
HONE_PLAIN_KERNEL_RULE(embedding_backward, backward)
HONE_PLAIN_KERNEL_RULE(embedding_exported, exported)
