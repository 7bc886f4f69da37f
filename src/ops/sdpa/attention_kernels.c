// SPDX-License-Identifier: Apache-2.0
// How attention over packed rows runs on a GPU.
#include "ops/sdpa/attention_kernels.h"

#include "ops/shared/kernels.h"

enum {
    ROWS = 64,       // of a tile
    CHUNK = 64,      // keys of a group where there are few queries
    FEW_QUERIES = 4, // at most, as on the CPU
    SPAN = 16,       // queries of a group that prepares the backward pass
    FORWARD_FEATURES = 256,
    BACKWARD_FEATURES = 128, // that a group keeps sums of
    MOST_WINDOW = 1 << 30
};
static const size_t MOST_PARTS_BYTES = (size_t)64 << 20; // of d_k and of d_v

static int64_t tiles_of(int64_t rows) {
    return (rows + ROWS - 1) / ROWS;
}

hone_attention_sizes hone_attention_sizes_of(const hone_attention *a) {
    hone_attention_sizes s = {.queries = a->queries,
                              .keys = a->keys,
                              .features = a->head,
                              .values = a->head,
                              .heads = a->heads,
                              .sharing = a->group,
                              .tiles = tiles_of(a->queries),
                              .window = a->window < MOST_WINDOW ? a->window : MOST_WINDOW,
                              .scale = a->scale,
                              .q_row = a->q_columns,
                              .q_head = a->head,
                              .k_row = a->k_columns,
                              .k_head = a->head,
                              .v_row = a->k_columns,
                              .v_head = a->head,
                              .out_row = a->q_columns,
                              .out_head = a->head,
                              .kind = HONE_PLACES_ROW_START,
                              .joined = 1};
    // A live offset may be any number: far beyond both ends is as good as a little.
    s.offset = a->offset < -a->queries ? -a->queries : a->offset > a->keys + s.window ? a->keys + s.window : a->offset;
    return s;
}

static void add_words(hone_kernel_list *list, hone_kernel_dispatch *d, const int64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) hone_kernel_word(list, d, words[i]);
}

static void add_sizes(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_attention_sizes *s) {
    const int64_t before[] = {s->queries, s->keys,  s->features, s->values, s->heads,
                              s->sharing, s->tiles, s->offset,   s->window};
    const int64_t behind[] = {s->q_row,    s->q_head, s->k_row,    s->k_head, s->v_row,      s->v_head,   s->out_row,
                              s->out_head, s->kind,   s->with_lse, s->joined, s->mask_query, s->mask_key, s->mask_rank};
    add_words(list, d, before, sizeof(before) / sizeof(before[0]));
    hone_kernel_number(list, d, s->scale);
    add_words(list, d, behind, sizeof(behind) / sizeof(behind[0]));
    add_words(list, d, s->mask_dims, HONE_MAX_RANK);
    add_words(list, d, s->mask_steps, HONE_MAX_RANK);
}

// --- forward ---------------------------------------------------------------------------------------------------------
// Operands that are not there; bindings must not overlap.
static void bind_optional(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_tensor *tensor, size_t spare) {
    if (tensor)
        hone_kernel_bind(list, d, tensor);
    else
        hone_kernel_bind_scratch(list, d, spare, 4);
}

static void bind_forward(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_tensor *const qkv[3],
                         const hone_tensor *places, const hone_tensor *out, const hone_tensor *lse) {
    for (size_t i = 0; i < 3; i++) hone_kernel_bind(list, d, qkv[i]);
    bind_optional(list, d, places, 0);
    hone_kernel_bind(list, d, out);
    bind_optional(list, d, lse, HONE_BUFFER_ALIGNMENT);
}

// Chunks of keys, each a group of its own for each query, then joined.
static void few_queries(hone_kernel_list *list, hone_attention_sizes *sizes, const hone_tensor *const qkv[3],
                        const hone_tensor *places, const hone_tensor *out, const hone_tensor *lse) {
    const int64_t rows = sizes->queries * sizes->heads, spare = 3 * HONE_BUFFER_ALIGNMENT;
    sizes->tiles = (sizes->keys + CHUNK - 1) / CHUNK;
    const size_t bytes = (size_t)(rows * sizes->tiles * (2 + sizes->values) * 4);
    hone_kernel_dispatch *d = hone_kernel_add(list, "sdpa.attention_few", (uint64_t)(rows * sizes->tiles));
    for (size_t i = 0; i < 3; i++) hone_kernel_bind(list, d, qkv[i]);
    bind_optional(list, d, places, 0);
    hone_kernel_bind_scratch(list, d, (size_t)spare, bytes ? bytes : 4);
    add_sizes(list, d, sizes);
    d = hone_kernel_add(list, "sdpa.attention_few_join", (uint64_t)rows);
    hone_kernel_bind_scratch(list, d, (size_t)spare, bytes ? bytes : 4);
    for (size_t i = 1; i < 3; i++) hone_kernel_bind_scratch(list, d, i * HONE_BUFFER_ALIGNMENT, 4);
    bind_optional(list, d, places, 0);
    hone_kernel_bind(list, d, out);
    bind_optional(list, d, lse, (size_t)spare + (bytes / HONE_BUFFER_ALIGNMENT + 1) * HONE_BUFFER_ALIGNMENT);
    add_sizes(list, d, sizes);
}

void hone_attention_forward(hone_kernel_list *list, const hone_attention_sizes *sizes, const hone_tensor *const qkv[3],
                            const hone_tensor *places, const hone_tensor *out, const hone_tensor *lse) {
    const int64_t kept = sizes->values <= 64 ? 64 : sizes->values <= 128 ? 128 : FORWARD_FEATURES;
    const int64_t parts = sizes->values > 0 ? (sizes->values + kept - 1) / kept : 1;
    hone_attention_sizes own = *sizes;
    own.tiles = tiles_of(own.queries);
    own.with_lse = lse != NULL;
    if (own.queries <= FEW_QUERIES && own.kind != HONE_PLACES_MASK) {
        few_queries(list, &own, qkv, places, out, lse);
        return;
    }
    hone_kernel_dispatch *const d = hone_kernel_add(list,
                                                    kept == 64    ? "sdpa.attention_64"
                                                    : kept == 128 ? "sdpa.attention_128"
                                                                  : "sdpa.attention_256",
                                                    (uint64_t)(own.tiles * own.heads * parts));
    bind_forward(list, d, qkv, places, out, lse);
    add_sizes(list, d, &own);
}

static void forward(const hone_op_call *call, hone_kernel_list *list) {
    hone_attention a = hone_attention_of(call, 0, 3);
    a.offset = call->operands[7].integer;
    a.window = call->operands[8].integer;
    const hone_attention_sizes sizes = hone_attention_sizes_of(&a);
    const hone_tensor *const qkv[] = {hone_operand_tensor(call, 0), hone_operand_tensor(call, 1),
                                      hone_operand_tensor(call, 2)};
    hone_attention_forward(list, &sizes, qkv, hone_operand_tensor(call, 3), &call->outputs[0], &call->outputs[1]);
}

// --- backward --------------------------------------------------------------------------------------------------------
// Where things lie in the working memory: pairs and spans, then the parts of d_k and of d_v.
typedef struct scratch_layout {
    size_t pairs, part; // bytes
} scratch_layout;

static size_t aligned(size_t bytes) {
    return (bytes / HONE_BUFFER_ALIGNMENT + 1) * HONE_BUFFER_ALIGNMENT;
}

static scratch_layout layout_of(const hone_attention *a) {
    const int64_t spans = (a->queries + SPAN - 1) / SPAN;
    return (scratch_layout){.pairs = aligned((size_t)(a->heads * a->queries * 2 + spans) * 4),
                            .part = aligned((size_t)(a->heads * a->keys * a->head) * 4)};
}

static void bind_inputs(const hone_op_call *call, hone_kernel_list *list, hone_kernel_dispatch *d,
                        const scratch_layout *layout) {
    const size_t operands[] = {0, 1, 2, 6, 3}; // d_out, q, k, row_start, v
    for (size_t i = 0; i < 5; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, operands[i]));
    hone_kernel_bind_scratch(list, d, 0, layout->pairs);
}

// Each query head makes d_k and d_v of its own, for there are few tiles of keys; they are added up at the end, unless
// that would take too much memory.
static void backward_keys(const hone_op_call *call, hone_kernel_list *list, const hone_attention *a,
                          const hone_attention_sizes *sizes, const scratch_layout *layout) {
    const int64_t kept = a->head <= 64 ? 64 : BACKWARD_FEATURES, parts = a->head > 0 ? (a->head + kept - 1) / kept : 1;
    const bool apart = a->group > 1 && layout->part <= MOST_PARTS_BYTES;
    hone_attention_sizes own = *sizes;
    own.tiles = tiles_of(a->keys);
    own.joined = apart ? 1 : a->group;
    hone_kernel_dispatch *d = hone_kernel_add(list, kept == 64 ? "sdpa.attention_d_kv_64" : "sdpa.attention_d_kv_128",
                                              (uint64_t)(own.tiles * (a->heads / own.joined) * parts));
    bind_inputs(call, list, d, layout);
    for (size_t i = 0; i < 2; i++) {
        if (apart)
            hone_kernel_bind_scratch(list, d, layout->pairs + i * layout->part, layout->part);
        else
            hone_kernel_bind(list, d, &call->outputs[1 + i]);
    }
    add_sizes(list, d, &own);
    if (!apart) return;
    const int64_t count = a->keys * a->k_columns;
    d = hone_kernel_add(list, "sdpa.attention_join", hone_kernel_groups(count, HONE_KERNEL_THREADS));
    for (size_t i = 0; i < 2; i++) hone_kernel_bind_scratch(list, d, layout->pairs + i * layout->part, layout->part);
    for (size_t i = 0; i < 2; i++) hone_kernel_bind(list, d, &call->outputs[1 + i]);
    add_words(list, d, (const int64_t[]){count, a->group}, 2);
}

// Operands d_out, q, k, v, out, lse, row_start.
static void backward(const hone_op_call *call, hone_kernel_list *list) {
    hone_attention a = hone_attention_of(call, 1, 6);
    a.window = call->operands[10].integer;
    const hone_attention_sizes sizes = hone_attention_sizes_of(&a);
    const scratch_layout layout = layout_of(&a);
    const int64_t kept = a.head <= 64 ? 64 : BACKWARD_FEATURES, parts = a.head > 0 ? (a.head + kept - 1) / kept : 1;
    hone_kernel_dispatch *d =
        hone_kernel_add(list, "sdpa.attention_delta", (uint64_t)((a.queries + SPAN - 1) / SPAN * a.heads));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 0));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 4));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 5));
    hone_kernel_bind(list, d, hone_operand_tensor(call, 6));
    hone_kernel_bind_scratch(list, d, 0, layout.pairs);
    add_sizes(list, d, &sizes);
    d = hone_kernel_add(list, kept == 64 ? "sdpa.attention_d_q_64" : "sdpa.attention_d_q_128",
                        (uint64_t)(sizes.tiles * a.heads * parts));
    bind_inputs(call, list, d, &layout);
    hone_kernel_bind(list, d, &call->outputs[0]);
    add_sizes(list, d, &sizes);
    backward_keys(call, list, &a, &sizes, &layout);
}

HONE_PLAIN_KERNEL_RULE(attention, forward)
HONE_PLAIN_KERNEL_RULE(attention_backward, backward)

// --- caches ----------------------------------------------------------------------------------------------------------
void hone_cache_write_kernel(hone_kernel_list *list, const hone_tensor *cache, int64_t size, const hone_tensor *rows,
                             int64_t count, int64_t start) {
    const int64_t elements = hone_type_elements(&rows->type);
    const int64_t place = start < -count ? -count : start > size ? size : start; // sums with it cannot overflow
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "cache.cache_write", hone_kernel_groups(elements, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, cache);
    hone_kernel_bind(list, d, rows);
    hone_kernel_bind(list, d, NULL);
    hone_kernel_bind_flags(list, d);
    add_words(
        list, d,
        (const int64_t[]){elements, count > 0 ? elements / count : 0, place, size, place < 0 || place + count > size},
        5);
}

void hone_cache_flag_kernel(hone_kernel_list *list, bool raised) {
    hone_kernel_dispatch *const d = hone_kernel_add(list, "cache.cache_flag", 1);
    for (size_t i = 0; i < 3; i++) hone_kernel_bind_scratch(list, d, i * HONE_BUFFER_ALIGNMENT, 4);
    hone_kernel_bind_flags(list, d);
    hone_kernel_word(list, d, raised);
}
