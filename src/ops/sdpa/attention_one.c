// SPDX-License-Identifier: Apache-2.0
// One query over thousands of cached keys: reads each key and value once for all heads that share it.
//
// A task is a chunk of keys of one kv head; it leaves, for each query head of the group, the largest score,
// the sum of exponentials and the weighted sum of values. These are joined per head in the order of the
// chunks.
#include "ops/sdpa/attention_one.h"

#include <math.h>
#include <string.h>

#include "ops/shared/math.h"
#include "ops/shared/parallel.h"

enum {
    KEY_CHUNK = 256,
    NEAR_KEYS = 64, // whose values stay in the first cache for all heads of a group
    LANES = 16
};

typedef struct context {
    const hone_attention *a;
    const hone_op_call *call;
    const hone_kernels *kernels;
    const float *q; // of the query
    float *parts;   // [chunks of keys, heads, 2 + head]: max, sum, values
    int64_t first, end, first_chunk, chunks;
} context;

static int64_t part_floats(const hone_attention *a) {
    return 2 + a->head;
}

// out += sum_j weights[j] * v[j].
HONE_VECTOR static void add_values(const hone_attention *a, const float *weights, const float *v, int64_t n,
                                   float *out) {
    int64_t i = 0;
    for (; i + 4 * LANES <= a->head; i += 4 * LANES) {
        hone_f32x16 *const sum = (hone_f32x16 *)(out + i);
        hone_f32x16 s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
        for (int64_t j = 0; j < n; j++) {
            const hone_f32x16 *const row = (const hone_f32x16 *)(v + j * a->k_columns + i);
            s0 += row[0] * weights[j];
            s1 += row[1] * weights[j];
            s2 += row[2] * weights[j];
            s3 += row[3] * weights[j];
        }
        sum[0] = s0;
        sum[1] = s1;
        sum[2] = s2;
        sum[3] = s3;
    }
    for (int64_t j = 0; j < n && i < a->head; j++) {
        const float *const row = v + j * a->k_columns, w = weights[j];
        HONE_INDEPENDENT for (int64_t d = i; d < a->head; d++) out[d] += row[d] * w;
    }
}

// Products to exponentials of scores relative to the largest of them. Places up to whole lanes are filled, so that no exponential
// is taken one by one.
HONE_VECTOR static void soften(float *row, int64_t n, float scale, float *max, float *sum) {
    const int64_t whole = (n + LANES - 1) / LANES * LANES;
    for (int64_t j = 0; j < n; j++) row[j] *= scale;
    for (int64_t j = n; j < whole; j++) row[j] = -INFINITY;
    *max = hone_max_floats(row, whole);
    for (int64_t j = 0; j < whole; j++) row[j] = hone_exp(row[j] - *max);
    hone_f32x16 lanes = {0};
    for (int64_t j = 0; j < whole; j += LANES) lanes += *(const hone_f32x16 *)(row + j);
    *sum = hone_sum_f32x16(&lanes);
}

static void chunk_task(void *opaque, int64_t index, int thread) {
    const context *const c = opaque;
    const hone_attention *const a = c->a;
    const int64_t kv = index % a->kv_heads, chunk = c->first_chunk + index / a->kv_heads;
    const int64_t begin = chunk * KEY_CHUNK > c->first ? chunk * KEY_CHUNK : c->first;
    const int64_t end = (chunk + 1) * KEY_CHUNK < c->end ? (chunk + 1) * KEY_CHUNK : c->end;
    float *const scores = hone_call_scratch(c->call, thread);
    const int64_t at = begin * a->k_columns + kv * a->head;
    c->kernels->dots(a->head, c->q + kv * a->group * a->head, a->head, a->group, a->k + at, a->k_columns, end - begin,
                     scores, KEY_CHUNK, 1, false);
    float *const parts = c->parts + ((chunk - c->first_chunk) * a->heads + kv * a->group) * part_floats(a);
    for (int64_t g = 0; g < a->group; g++) {
        float *const part = parts + g * part_floats(a);
        soften(scores + g * KEY_CHUNK, end - begin, a->scale, &part[0], &part[1]);
        memset(part + 2, 0, (size_t)a->head * sizeof *part);
    }
    for (int64_t j = 0; j < end - begin; j += NEAR_KEYS) {
        const int64_t n = end - begin - j < NEAR_KEYS ? end - begin - j : NEAR_KEYS;
        for (int64_t g = 0; g < a->group; g++)
            add_values(a, scores + g * KEY_CHUNK + j, a->v + at + j * a->k_columns, n, parts + g * part_floats(a) + 2);
    }
}

HONE_VECTOR static void add_scaled(float *out, const float *x, float factor, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] += x[i] * factor;
}

static void join_head(const context *c, int64_t head, float *out, float *lse) {
    const hone_attention *const a = c->a;
    const float *const parts = c->parts + head * part_floats(a);
    const int64_t stride = a->heads * part_floats(a);
    float max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < c->chunks; i++)
        if (parts[i * stride] > max) max = parts[i * stride];
    for (int64_t i = 0; i < c->chunks; i++) sum += parts[i * stride + 1] * hone_exp(parts[i * stride] - max);
    memset(out, 0, (size_t)a->head * sizeof *out);
    for (int64_t i = 0; i < c->chunks; i++)
        add_scaled(out, parts + i * stride + 2, hone_exp(parts[i * stride] - max) / sum, a->head);
    *lse = max + hone_log(sum);
}

hone_cpu_needs hone_attention_one_needs(const hone_attention *a) {

    const int64_t chunks = a->keys / KEY_CHUNK + 1;
    return (hone_cpu_needs){.workspace_bytes = (size_t)(chunks * a->heads * part_floats(a)) * sizeof(float),
                            .thread_scratch_bytes = (size_t)a->group * KEY_CHUNK * sizeof(float)};
}

void hone_attention_one(const hone_op_call *call, const hone_attention *a, int64_t t, float *out, float *lse) {
    context c = {
        .a = a, .call = call, .kernels = hone_kernels_get(), .q = a->q + t * a->q_columns, .parts = call->workspace};
    out += t * a->q_columns;
    hone_attention_range(a, t, &c.first, &c.end);
    const bool empty = c.first >= c.end;
    if (empty) memset(out, 0, (size_t)a->q_columns * sizeof *out);
    c.first_chunk = c.first / KEY_CHUNK;
    c.chunks = empty ? 0 : (c.end - 1) / KEY_CHUNK - c.first_chunk + 1;
    if (!empty) hone_call_parallel(call, c.chunks * a->kv_heads, chunk_task, &c);
    for (int64_t head = 0; head < a->heads; head++) {
        lse[head * a->queries + t] = 0;
        if (!empty) join_head(&c, head, out + head * a->head, lse + head * a->queries + t);
    }
}
