// SPDX-License-Identifier: Apache-2.0
// The family's list; checks, views and copies that its files share; writing a key or value cache.
#include <string.h>

#include "ops/sdpa/attention.h"
#include "ops/sdpa/attention_kernels.h"
#include "ops/shared/parallel.h"

hone_status hone_attention_check(const hone_op_call *call, size_t first, size_t row_start, hone_error *error) {
    for (size_t i = first; i < first + 3; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, i, 2, error));
    }
    HONE_TRY(hone_op_want_dtype(call, row_start, HONE_DTYPE_I32, error));
    HONE_TRY(hone_op_want_rank(call, row_start, 1, error));
    const hone_tensor *const q = hone_operand_tensor(call, first), *const k = hone_operand_tensor(call, first + 1),
                             *const v = hone_operand_tensor(call, first + 2);
    const int64_t heads = call->operands[row_start + 1].integer, kv_heads = call->operands[row_start + 2].integer;
    HONE_OP_CHECK(heads >= 1 && kv_heads >= 1 && heads % kv_heads == 0,
                  "%lld heads cannot share %lld heads of keys and values", (long long)heads, (long long)kv_heads);
    HONE_OP_CHECK(q->type.dims[1] % heads == 0, "q %s does not divide into %lld heads", hone_op_type_text(q),
                  (long long)heads);
    HONE_OP_CHECK(k->type.dims[1] == q->type.dims[1] / heads * kv_heads && hone_shape_equal(&k->type, &v->type),
                  "k %s and v %s must be [S, %lld]", hone_op_type_text(k), hone_op_type_text(v),
                  (long long)(q->type.dims[1] / heads * kv_heads));
    HONE_OP_CHECK(hone_operand_tensor(call, row_start)->type.dims[0] == q->type.dims[0],
                  "row_start %s must be one a row of q %s", hone_op_type_text(hone_operand_tensor(call, row_start)),
                  hone_op_type_text(q));
    return HONE_OK;
}

hone_attention hone_attention_of(const hone_op_call *call, size_t first, size_t row_start) {
    const hone_tensor *const q = hone_operand_tensor(call, first), *const k = hone_operand_tensor(call, first + 1);
    hone_attention a = {.q = q->data,
                        .k = k->data,
                        .v = hone_operand_floats(call, first + 2),
                        .row_start = hone_operand_tensor(call, row_start)->data,
                        .queries = q->type.dims[0],
                        .keys = k->type.dims[0],
                        .q_columns = q->type.dims[1],
                        .k_columns = k->type.dims[1],
                        .heads = call->operands[row_start + 1].integer,
                        .kv_heads = call->operands[row_start + 2].integer,
                        .scale = (float)call->operands[row_start + 3].real};
    a.head = a.q_columns / a.heads;
    a.group = a.heads / a.kv_heads;
    return a;
}

// --- tiles -----------------------------------------------------------------------------------------------------------
bool hone_attention_look(const hone_attention *a, int64_t first_query, int64_t queries, int64_t first_key, int64_t keys,
                         hone_attention_view *view) {
    view->queries = queries;
    view->keys = keys;
    view->least_low = keys;
    view->most_high = 0;
    view->whole = true;
    for (int64_t i = 0; i < queries; i++) {
        int64_t low, high;
        hone_attention_range(a, first_query + i, &low, &high);
        low = low > first_key ? low - first_key : 0;
        high = high < first_key + keys ? high - first_key : keys;
        if (low >= high)
            low = high = 0;
        else if (low < view->least_low)
            view->least_low = low;
        if (high > view->most_high) view->most_high = high;
        view->whole = view->whole && low == 0 && high == keys;
        view->low[i] = (int32_t)low;
        view->high[i] = (int32_t)high;
    }
    return view->most_high > 0;
}

void hone_attention_keys(const hone_attention_view *view, int64_t q0, int64_t q1, int64_t *low, int64_t *high) {
    *low = view->whole ? 0 : view->keys;
    *high = view->whole ? view->keys : 0;
    for (int64_t i = q0; i < q1 && i < view->queries && !view->whole; i++) {
        if (view->high[i] == 0) continue;
        if (view->low[i] < *low) *low = view->low[i];
        if (view->high[i] > *high) *high = view->high[i];
    }
}

void hone_attention_queries(const hone_attention_view *view, int64_t k0, int64_t k1, int64_t *low, int64_t *high) {
    *low = 0;
    *high = view->queries;
    if (view->whole) return;
    while (*low < *high && !(view->low[*low] < k1 && view->high[*low] > k0)) (*low)++;
    while (*low < *high && !(view->low[*high - 1] < k1 && view->high[*high - 1] > k0)) (*high)--;
}

const float *hone_attention_rows(const float *rows, int64_t *step, int64_t count, int64_t features, float *room) {
    const int64_t padded = hone_attention_padded(features);
    if (padded == features) return rows;
    for (int64_t i = 0; i < count; i++) {
        memcpy(room + i * padded, rows + i * *step, (size_t)features * sizeof(float));
        memset(room + i * padded + features, 0, (size_t)(padded - features) * sizeof(float));
    }
    *step = padded;
    return room;
}

// --- cache
// -----------------------------------------------------------------------------------------------------------
static hone_status cache_write_infer(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 2; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, i, 2, error));
    }
    HONE_OP_CHECK(hone_operand_tensor(call, 0)->type.dims[1] == hone_operand_tensor(call, 1)->type.dims[1],
                  "rows %s do not fit the cache %s", hone_op_type_text(hone_operand_tensor(call, 1)),
                  hone_op_type_text(hone_operand_tensor(call, 0)));
    return HONE_OK;
}

static void cache_write_cpu(const hone_op_call *call) {
    const hone_tensor *const cache = hone_operand_tensor(call, 0), *const rows = hone_operand_tensor(call, 1);
    const int64_t size = cache->type.dims[0], columns = cache->type.dims[1], offset = call->operands[2].integer;
    const int64_t begin = offset < 0 ? (-offset < rows->type.dims[0] ? -offset : rows->type.dims[0]) : 0;
    int64_t end = rows->type.dims[0];
    if (offset >= size)
        end = begin;
    else if (end > size - offset)
        end = size - offset;
    if (end - begin != rows->type.dims[0]) hone_call_flag(call, HONE_FLAG_INDEX);
    if (end > begin && columns > 0)
        memcpy((float *)cache->data + (offset + begin) * columns, (const float *)rows->data + begin * columns,
               (size_t)((end - begin) * columns) * sizeof(float));
}

static void cache_write_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const cache = hone_operand_tensor(call, 0), *const rows = hone_operand_tensor(call, 1);
    hone_cache_write_kernel(list, cache, cache->type.dims[0], rows, rows->type.dims[0], call->operands[2].integer);
}
HONE_PLAIN_KERNEL_RULE(cache_write, cache_write_kernel)

const hone_op hone_op_cache_write = {
    .schema = "hone::cache_write_(Tensor(a!) cache, Tensor rows, int offset) -> ()",
    .summary = "cache[offset .. offset + T) = rows [T, C]; rows beyond the cache are dropped and flagged",
    .flags = HONE_OP_EFFECT,
    .infer = cache_write_infer,
    .cpu = cache_write_cpu,
    .variants = hone_kernels_cache_write,
};

const hone_op *const hone_ops_sdpa[] = {
    &hone_op_attention,
    &hone_op_attention_backward,
    &hone_op_cache_write,
    &hone_op_masked_attention,
    &hone_op_update_cache,
    &hone_op_cached_attention,
    0,
};
