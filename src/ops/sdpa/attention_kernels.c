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
    MOST_WINDOW = 1 << 30,
    MOST_SPLIT = 1 << 30, // all columns
    SPREAD = 1024         // pairs of tiles: as many groups, where there are so few that each takes one
};
static const size_t MOST_JOINED_BYTES = (size_t)64 << 20; // of d_k and of d_v of each head
// Of parts of an output, and of those of all outputs where a dispatch makes all. The executor has steps run side by side
// as long as they have little working memory.
static const size_t MOST_PARTS_BYTES = (size_t)7 << 20, MOST_TILE_PARTS_BYTES = (size_t)9 << 20;

static size_t aligned(size_t bytes) {
    return (bytes / HONE_BUFFER_ALIGNMENT + 1) * HONE_BUFFER_ALIGNMENT;
}

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
    add_words(list, d, (const int64_t[]){s->split, s->splits, s->in_place, s->d_v}, 4);
}

// Working memory for parts of out, and what is left of their rows; of d_q; of d_k and d_v.
static size_t out_bytes(const hone_attention_sizes *s) {
    return (size_t)((s->splits - 1) * s->queries * s->heads * s->values * 4);
}
static size_t row_bytes(const hone_attention_sizes *s) {
    return (size_t)(s->splits * s->queries * s->heads * 8);
}
static size_t forward_bytes(const hone_attention_sizes *s) {
    return out_bytes(s) + row_bytes(s);
}
static size_t query_bytes(const hone_attention_sizes *s) {
    int64_t rows = s->in_place ? -s->queries : 0;
    for (int64_t i = 0; i < s->splits && i * s->split < s->queries; i++) rows += s->queries - i * s->split;
    return (size_t)(rows * s->q_row * 4);
}
static size_t key_bytes(const hone_attention_sizes *s) {
    int64_t rows = 0;
    for (int64_t i = 0; i < s->splits; i++) rows += (i + 1) * s->split < s->keys ? (i + 1) * s->split : s->keys;
    return (size_t)(rows * s->sharing * s->k_row * 4);
}
static size_t both_key_bytes(const hone_attention_sizes *s) {
    return 2 * key_bytes(s);
}

// Tiles of rows by tiles of columns are spread over SPREAD groups, or one group a pair: so a group goes over a part of
// the columns only, and leaves a matrix of its own for these to be added up. The more pairs there are, the more of them a
// group takes, until it takes all columns of its rows. Returns how many tiles of columns.
static int64_t split_columns(hone_attention_sizes *s, int64_t columns, int64_t parts,
                             size_t (*bytes)(const hone_attention_sizes *), size_t most) {
    const int64_t tiles = tiles_of(columns), pairs = s->tiles * s->heads * parts * tiles;
    for (int64_t each = pairs > SPREAD ? (pairs + SPREAD - 1) / SPREAD : 1; each < tiles; each++) {
        s->split = each * ROWS;
        s->splits = (tiles + each - 1) / each;
        if (bytes(s) <= most) return each;
    }
    s->split = MOST_SPLIT;
    s->splits = 1;
    return tiles;
}

// Whether all matrices can be read and written by vectors of four.
static bool is_wide(const hone_attention_sizes *s) {
    const int64_t steps[] = {s->features, s->values, s->q_row,  s->q_head,  s->k_row,
                             s->k_head,   s->v_row,  s->v_head, s->out_row, s->out_head};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i] % 4 != 0) return false;
    }
    return s->queries > 0 && s->keys > 0 && s->features > 0 && s->values > 0;
}

// --- forward ---------------------------------------------------------------------------------------------------------
// Operands that are not there; bindings must not overlap.
static void bind_optional(hone_kernel_list *list, hone_kernel_dispatch *d, const hone_tensor *tensor, size_t spare) {
    if (tensor)
        hone_kernel_bind(list, d, tensor);
    else
        hone_kernel_bind_scratch(list, d, spare, 4);
}

// Chunks of keys, each a group of its own for each query, then joined.
static void few_queries(hone_kernel_list *list, hone_attention_sizes *sizes, const hone_tensor *const qkv[3],
                        const hone_tensor *places, const hone_tensor *out, const hone_tensor *lse) {
    const int64_t rows = sizes->queries * sizes->heads, spare = 3 * HONE_BUFFER_ALIGNMENT;
    sizes->tiles = (sizes->keys + CHUNK - 1) / CHUNK;
    const size_t bytes = (size_t)(rows * sizes->tiles * (2 + sizes->values) * 4);
    hone_kernel_dispatch *d = hone_kernel_add(list, "few.attention_few", (uint64_t)(rows * sizes->tiles));
    for (size_t i = 0; i < 3; i++) hone_kernel_bind(list, d, qkv[i]);
    bind_optional(list, d, places, 0);
    hone_kernel_bind_scratch(list, d, (size_t)spare, bytes ? bytes : 4);
    add_sizes(list, d, sizes);
    d = hone_kernel_add(list, "few.attention_few_join", (uint64_t)rows);
    hone_kernel_bind_scratch(list, d, (size_t)spare, bytes ? bytes : 4);
    for (size_t i = 1; i < 3; i++) hone_kernel_bind_scratch(list, d, i * HONE_BUFFER_ALIGNMENT, 4);
    bind_optional(list, d, places, 0);
    hone_kernel_bind(list, d, out);
    bind_optional(list, d, lse, (size_t)spare + (bytes / HONE_BUFFER_ALIGNMENT + 1) * HONE_BUFFER_ALIGNMENT);
    add_sizes(list, d, sizes);
}

// Parts of the columns to out.
static void join_forward(hone_kernel_list *list, const hone_attention_sizes *s, const size_t places[2],
                         const size_t bytes[2], const hone_tensor *const operands[3]) {
    const int64_t quads = s->queries * s->heads * ((s->values + 3) / 4);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "sdpa.attention_join", hone_kernel_groups(quads, HONE_KERNEL_THREADS));
    for (size_t i = 0; i < 2; i++) hone_kernel_bind_scratch(list, d, places[i], bytes[i]);
    hone_kernel_bind_scratch(list, d, 2 * HONE_BUFFER_ALIGNMENT, 4);
    bind_optional(list, d, operands[0], 0);
    hone_kernel_bind(list, d, operands[1]);
    bind_optional(list, d, operands[2], HONE_BUFFER_ALIGNMENT);
    add_sizes(list, d, s);
}

void hone_attention_forward(hone_kernel_list *list, const hone_attention_sizes *sizes, const hone_tensor *const qkv[3],
                            const hone_tensor *places, const hone_tensor *out, const hone_tensor *lse) {
    static const char *const names[2][3] = {
        {"sdpa.attention_64", "sdpa.attention_128", "sdpa.attention_256"},
        {"sdpa.attention_64_wide", "sdpa.attention_128_wide", "sdpa.attention_256_wide"}};
    const int64_t kept = sizes->values <= 64 ? 64 : sizes->values <= 128 ? 128 : FORWARD_FEATURES;
    const int64_t parts = sizes->values > 0 ? (sizes->values + kept - 1) / kept : 1;
    hone_attention_sizes own = *sizes;
    own.tiles = tiles_of(own.queries);
    own.with_lse = lse != NULL;
    if (own.queries <= FEW_QUERIES && own.kind != HONE_PLACES_MASK) {
        few_queries(list, &own, qkv, places, out, lse);
        return;
    }
    split_columns(&own, own.keys, parts, forward_bytes, MOST_PARTS_BYTES);
    const size_t bytes[] = {out_bytes(&own), row_bytes(&own)};
    const size_t at[] = {3 * HONE_BUFFER_ALIGNMENT, 3 * HONE_BUFFER_ALIGNMENT + aligned(bytes[0])};
    hone_kernel_dispatch *const d = hone_kernel_add(list,
                                                    names[is_wide(&own)][kept == 64    ? 0
                                                                         : kept == 128 ? 1
                                                                                       : 2],
                                                    (uint64_t)(own.tiles * own.heads * parts * own.splits));
    for (size_t i = 0; i < 3; i++) hone_kernel_bind(list, d, qkv[i]);
    bind_optional(list, d, places, 0);
    hone_kernel_bind(list, d, out);
    if (own.splits > 1) {
        hone_kernel_bind_scratch(list, d, at[1], bytes[1]);
        hone_kernel_bind_scratch(list, d, at[0], bytes[0]);
    } else {
        bind_optional(list, d, lse, HONE_BUFFER_ALIGNMENT);
        hone_kernel_bind_scratch(list, d, 2 * HONE_BUFFER_ALIGNMENT, 16);
    }
    add_sizes(list, d, &own);
    if (own.splits > 1) join_forward(list, &own, at, bytes, (const hone_tensor *const[]){places, out, lse});
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
// Working memory: pairs and spans twice, for d_q and for d_k and d_v, then parts of d_q, of d_k and of d_v. No two
// dispatches that could run side by side share any of it.
typedef struct backward_pass {
    hone_attention a;
    int64_t kept, parts;                  // features that a group keeps sums of; groups for all features
    hone_attention_sizes queries, keys;   // of the dispatch that makes d_q, of that for d_k and d_v
    size_t pairs, query_bytes, key_bytes; // of parts of d_q, and of each of the others; 0 if there are none
} backward_pass;

static size_t query_parts(const backward_pass *p) {
    return 2 * p->pairs;
}
static size_t key_parts(const backward_pass *p) {
    return query_parts(p) + aligned(p->query_bytes);
}

static hone_kernel_dispatch *add_backward(const hone_op_call *call, hone_kernel_list *list, const backward_pass *p,
                                          const hone_attention_sizes *s, const char *const names[2][2], size_t pairs,
                                          int64_t groups) {
    const size_t operands[] = {0, 1, 2, 6, 3}; // d_out, q, k, row_start, v
    hone_kernel_dispatch *const d = hone_kernel_add(list, names[is_wide(s)][p->kept == 64 ? 0 : 1], (uint64_t)groups);
    for (size_t i = 0; i < 5; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, operands[i]));
    hone_kernel_bind_scratch(list, d, pairs, p->pairs);
    add_sizes(list, d, s);
    return d;
}

static void backward_queries(const hone_op_call *call, hone_kernel_list *list, const backward_pass *p) {
    static const char *const names[2][2] = {{"sdpa.attention_d_q_64", "sdpa.attention_d_q_128"},
                                            {"sdpa.attention_d_q_64_wide", "sdpa.attention_d_q_128_wide"}};
    const hone_attention_sizes *const s = &p->queries;
    hone_kernel_dispatch *const d =
        add_backward(call, list, p, s, names, 0, s->tiles * s->heads * p->parts * s->splits);
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_bind_scratch(list, d, query_parts(p), p->query_bytes ? p->query_bytes : 16);
}

static void backward_keys(const hone_op_call *call, hone_kernel_list *list, const backward_pass *p) {
    static const char *const names[2][2] = {{"sdpa.attention_d_kv_64", "sdpa.attention_d_kv_128"},
                                            {"sdpa.attention_d_kv_64_wide", "sdpa.attention_d_kv_128_wide"}};
    const hone_attention_sizes *const s = &p->keys;
    hone_kernel_dispatch *const d =
        add_backward(call, list, p, s, names, p->pairs, s->tiles * (s->heads / s->joined) * p->parts * s->splits);
    for (size_t i = 0; i < 2; i++) {
        if (p->key_bytes)
            hone_kernel_bind_scratch(list, d, key_parts(p) + i * aligned(p->key_bytes), p->key_bytes);
        else
            hone_kernel_bind(list, d, &call->outputs[1 + i]);
    }
}

// A group for each pair of tiles, which leaves parts of all three.
static void backward_tiles(const hone_op_call *call, hone_kernel_list *list, const backward_pass *p) {
    static const char *const names[2][2] = {{"sdpa.attention_d_tile_64", "sdpa.attention_d_tile_128"},
                                            {"sdpa.attention_d_tile_64_wide", "sdpa.attention_d_tile_128_wide"}};
    hone_attention_sizes s = p->keys;
    s.d_v = (int64_t)(aligned(p->key_bytes) / 4);
    hone_kernel_dispatch *const d = add_backward(call, list, p, &s, names, 0, s.tiles * s.heads * p->parts * s.splits);
    hone_kernel_bind_scratch(list, d, query_parts(p), p->query_bytes);
    hone_kernel_bind_scratch(list, d, key_parts(p), aligned(p->key_bytes) + p->key_bytes);
}

static void join_backward(const hone_op_call *call, hone_kernel_list *list, const backward_pass *p) {
    const hone_attention *const a = &p->a;
    if (p->query_bytes) {
        hone_kernel_dispatch *const d = hone_kernel_add(
            list, "sdpa.attention_join_queries", hone_kernel_groups(a->queries * a->q_columns, HONE_KERNEL_THREADS));
        hone_kernel_bind_scratch(list, d, query_parts(p), p->query_bytes);
        hone_kernel_bind(list, d, &call->outputs[0]);
        add_sizes(list, d, &p->queries);
    }
    if (p->key_bytes) {
        hone_kernel_dispatch *const d = hone_kernel_add(
            list, "sdpa.attention_join_keys", hone_kernel_groups(a->keys * a->k_columns, HONE_KERNEL_THREADS));
        for (size_t i = 0; i < 2; i++)
            hone_kernel_bind_scratch(list, d, key_parts(p) + i * aligned(p->key_bytes), p->key_bytes);
        for (size_t i = 0; i < 2; i++) hone_kernel_bind(list, d, &call->outputs[1 + i]);
        add_sizes(list, d, &p->keys);
    }
}

// Whether a dispatch makes all from pairs of tiles, as one to a group gives few parts.
static bool cut_to_tiles(backward_pass *p) {
    p->keys.split = p->queries.split = ROWS;
    p->keys.splits = tiles_of(p->a.queries);
    p->queries.splits = p->keys.tiles;
    p->query_bytes = query_bytes(&p->queries);
    p->key_bytes = key_bytes(&p->keys);
    return p->keys.tiles * p->queries.tiles * p->a.heads * p->parts <= SPREAD && p->query_bytes > 0 &&
           p->key_bytes > 0 && p->query_bytes + 2 * p->key_bytes <= MOST_TILE_PARTS_BYTES;
}

// Each query head makes d_k and d_v of its own, for there are few tiles of keys; they are added up at the end, unless
// that would take too much memory.
static void cut_apart(backward_pass *p) {
    const hone_attention *const a = &p->a;
    p->queries.in_place = 1;
    split_columns(&p->queries, a->keys, p->parts, query_bytes, MOST_PARTS_BYTES / 2);
    p->query_bytes = query_bytes(&p->queries);
    split_columns(&p->keys, a->queries, p->parts, both_key_bytes, MOST_PARTS_BYTES);
    p->key_bytes = key_bytes(&p->keys);
    if (p->key_bytes > MOST_JOINED_BYTES) p->keys.joined = a->group;
    if (p->keys.splits == 1 && (a->group == 1 || p->keys.joined > 1)) p->key_bytes = 0;
}

// Operands d_out, q, k, v, out, lse, row_start.
static void backward(const hone_op_call *call, hone_kernel_list *list) {
    backward_pass p = {.a = hone_attention_of(call, 1, 6)};
    p.a.window = call->operands[10].integer;
    p.queries = p.keys = hone_attention_sizes_of(&p.a);
    p.keys.tiles = tiles_of(p.a.keys);
    p.kept = p.a.head <= 64 ? 64 : BACKWARD_FEATURES;
    p.parts = p.a.head > 0 ? (p.a.head + p.kept - 1) / p.kept : 1;
    const bool tiles = cut_to_tiles(&p);
    if (!tiles) cut_apart(&p);
    const int64_t spans = (p.a.queries + SPAN - 1) / SPAN;
    p.pairs = aligned((size_t)(p.a.heads * p.a.queries * 2 + spans) * 4);
    hone_kernel_dispatch *const d = hone_kernel_add(list, "sdpa.attention_delta", (uint64_t)(spans * p.a.heads));
    const size_t operands[] = {0, 4, 5, 6}; // d_out, out, lse, row_start
    for (size_t i = 0; i < 4; i++) hone_kernel_bind(list, d, hone_operand_tensor(call, operands[i]));
    for (size_t i = 0; i < 2; i++) hone_kernel_bind_scratch(list, d, i * p.pairs, p.pairs);
    add_sizes(list, d, &p.queries);
    if (tiles) {
        backward_tiles(call, list, &p);
    } else {
        backward_queries(call, list, &p);
        backward_keys(call, list, &p);
    }
    join_backward(call, list, &p);
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
