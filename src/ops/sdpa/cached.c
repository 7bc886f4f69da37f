// SPDX-License-Identifier: Apache-2.0
// Attention over caches of keys and values as ExecuTorch's programs have it, and writing those caches.
//
// cache [1,C,H,D], value [1,S,H,D]: rows start_pos .. start_pos + S - 1 of the cache become value. In attention, query i
// stands at position start_pos + i and sees all cached rows up to its own. What would lie beyond the cache is refused
// when shapes are checked; where start_pos is only known at run time, it is cut off and flagged.
#include <math.h>
#include <string.h>

#include "ops/sdpa/attention.h"
#include "ops/sdpa/attention_kernels.h"
#include "ops/shared/parallel.h"

// Operands `cache` [1,C,H,D] and `value` [1,S,H,D] with start_pos at `start`; `heads`: H must be the same.
static hone_status check_places(const hone_op_call *call, size_t cache_at, size_t value_at, size_t start, bool heads,
                                hone_error *error) {
    const hone_tensor *const cache = hone_operand_tensor(call, cache_at), *const value =
                                                                              hone_operand_tensor(call, value_at);
    HONE_TRY(hone_op_want_dtype(call, cache_at, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, cache_at, 4, error));
    HONE_TRY(hone_op_want_dtype(call, value_at, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_rank(call, value_at, 4, error));
    HONE_OP_CHECK(cache->type.dims[0] == 1 && value->type.dims[0] == 1,
                  "only batches of 1 have a cache, not %s with %s", hone_op_type_text(value), hone_op_type_text(cache));
    HONE_OP_CHECK(value->type.dims[3] == cache->type.dims[3] && (!heads || value->type.dims[2] == cache->type.dims[2]),
                  "%s does not fit the cache %s", hone_op_type_text(value), hone_op_type_text(cache));
    const int64_t position = call->operands[start].integer, size = cache->type.dims[1], rows = value->type.dims[1];
    HONE_OP_CHECK(call->operands[start].live || (position >= 0 && position <= size && rows <= size - position),
                  "%lld positions from %lld on are not all in a cache of %lld", (long long)rows, (long long)position,
                  (long long)size);
    return HONE_OK;
}

// start_pos, kept near the cache so that sums with it cannot overflow.
static int64_t start_of(const hone_operand *start, int64_t cache, int64_t rows) {
    const int64_t position = start->integer;
    return position < -rows ? -rows : position > cache ? cache : position;
}

// --- writing ---------------------------------------------------------------------------------------------------------
static hone_status update_infer(const hone_op_call *call, hone_error *error) {
    return check_places(call, 0, 1, 2, true, error);
}

typedef struct rows {
    float *to;
    const float *from;
    int64_t columns;
} rows;

static void copy_rows(void *opaque, int64_t begin, int64_t end) {
    const rows *const r = opaque;
    memcpy(r->to + begin * r->columns, r->from + begin * r->columns,
           (size_t)((end - begin) * r->columns) * sizeof(float));
}

static void update_cpu(const hone_op_call *call) {
    const hone_tensor *const cache = hone_operand_tensor(call, 0), *const value = hone_operand_tensor(call, 1);
    const int64_t size = cache->type.dims[1], count = value->type.dims[1];
    const int64_t start = start_of(&call->operands[2], size, count);
    const int64_t begin = start < 0 ? -start : 0, end = count < size - start ? count : size - start;
    if (begin > 0 || end < count) hone_call_flag(call, HONE_FLAG_INDEX);
    rows r = {.columns = cache->type.dims[2] * cache->type.dims[3]};
    if (end <= begin || r.columns == 0) return;
    r.to = (float *)cache->data + (start + begin) * r.columns;
    r.from = (const float *)value->data + begin * r.columns;
    hone_call_rows(call, end - begin, r.columns, copy_rows, &r);
}

// --- attention -------------------------------------------------------------------------------------------------------
static hone_status attention_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const k = hone_operand_tensor(call, 1),
                             *const v = hone_operand_tensor(call, 2);
    HONE_TRY(check_places(call, 1, 0, 3, false, error));
    HONE_TRY(check_places(call, 2, 0, 3, false, error));
    HONE_OP_CHECK(hone_shape_equal(&k->type, &v->type), "k_cache %s and v_cache %s must have one shape",
                  hone_op_type_text(k), hone_op_type_text(v));
    HONE_OP_CHECK(k->type.dims[2] > 0 && q->type.dims[2] % k->type.dims[2] == 0,
                  "%lld heads cannot share %lld heads of keys and values", (long long)q->type.dims[2],
                  (long long)k->type.dims[2]);
    call->outputs[0].type = q->type;
    return HONE_OK;
}

static hone_attention attention_of(const hone_op_call *call) {
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const k = hone_operand_tensor(call, 1);
    const hone_operand *const scale = &call->operands[4];
    hone_attention a = {.q = q->data,
                        .k = k->data,
                        .v = hone_operand_floats(call, 2),
                        .queries = q->type.dims[1],
                        .keys = k->type.dims[1],
                        .head = q->type.dims[3],
                        .heads = q->type.dims[2],
                        .kv_heads = k->type.dims[2]};
    a.q_columns = a.heads * a.head;
    a.k_columns = a.kv_heads * a.head;
    a.group = a.heads / a.kv_heads;
    a.offset = start_of(&call->operands[3], a.keys, a.queries);
    a.scale = (float)(scale->kind == HONE_ARGUMENT_NONE ? 1 / sqrt((double)a.head) : scale->real);
    return a;
}

// Behind what attention itself needs: where rows start, all 0, and the logarithms that nobody reads.
static size_t own_place(const hone_cpu_needs *needs) {
    return (needs->workspace_bytes + 63) / 64 * 64;
}

static hone_cpu_needs attention_needs(const hone_op_call *call) {
    const hone_attention a = attention_of(call);
    hone_cpu_needs needs = hone_attention_needs(&a);
    needs.workspace_bytes = own_place(&needs) + (size_t)(a.queries * (1 + a.heads)) * sizeof(float);
    return needs;
}

static void attention_cpu(const hone_op_call *call) {
    hone_attention a = attention_of(call);
    const hone_cpu_needs needs = hone_attention_needs(&a);
    if (hone_type_elements(&call->outputs[0].type) == 0) return;
    int32_t *const starts = (int32_t *)(void *)((char *)call->workspace + own_place(&needs));
    memset(starts, 0, (size_t)a.queries * sizeof *starts);
    if (a.offset < 0 || a.offset + a.queries > a.keys) hone_call_flag(call, HONE_FLAG_INDEX);
    a.row_start = starts;
    hone_attention_run(call, &a, call->outputs[0].data, (float *)(starts + a.queries));
}

// --- on a GPU --------------------------------------------------------------------------------------------------------
static void update_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const cache = hone_operand_tensor(call, 0), *const value = hone_operand_tensor(call, 1);
    hone_cache_write_kernel(list, cache, cache->type.dims[1], value, value->type.dims[1], call->operands[2].integer);
}

static void attention_kernel(const hone_op_call *call, hone_kernel_list *list) {
    const hone_attention a = attention_of(call);
    const hone_tensor *const qkv[] = {hone_operand_tensor(call, 0), hone_operand_tensor(call, 1),
                                      hone_operand_tensor(call, 2)};
    hone_attention_sizes sizes = hone_attention_sizes_of(&a);
    sizes.kind = HONE_PLACES_NONE;
    if (hone_type_elements(&call->outputs[0].type) == 0) return;
    hone_attention_forward(list, &sizes, qkv, NULL, &call->outputs[0], NULL);
    if (call->operands[3].live) hone_cache_flag_kernel(list, a.offset < 0 || a.offset + a.queries > a.keys);
}

HONE_PLAIN_KERNEL_RULE(update_cache, update_kernel)
HONE_PLAIN_KERNEL_RULE(cached_attention, attention_kernel)

const hone_op hone_op_update_cache = {
    .schema = "llama::update_cache_(Tensor(a!) cache, Tensor value, int start_pos) -> ()",
    .summary = "cache[0, start_pos + i] = value[0, i] for cache [1,C,H,D] and value [1,S,H,D]",
    .flags = HONE_OP_EFFECT,
    .infer = update_infer,
    .cpu = update_cpu,
    .variants = hone_kernels_update_cache,
};
const hone_op hone_op_cached_attention = {
    .schema = "llama::sdpa_with_cache(Tensor q, Tensor k_cache, Tensor v_cache, int start_pos, float? scale=None) -> "
              "Tensor",
    .summary = "softmax(scale * q k^T) v over cached rows 0 .. start_pos + i for query i of q [1,S,Hq,D]; Hq may be a "
               "multiple of the caches' heads",
    .infer = attention_infer,
    .cpu = attention_cpu,
    .cpu_needs = attention_needs,
    .variants = hone_kernels_cached_attention,
};
