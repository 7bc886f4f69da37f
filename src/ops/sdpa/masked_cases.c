// SPDX-License-Identifier: Apache-2.0
// Cases of attention with a mask, and over caches of four dimensions.
#include "ops/shared/cases.h"

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// out = sum of v weighted by the softmax of n scores; rows of v are `step` apart.
static void mix(double *out, const double *scores, int64_t n, const double *v, int64_t step, int64_t values) {
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) max = fmax(max, scores[j]);
    for (int64_t d = 0; d < values; d++) out[d] = 0;
    for (int64_t j = 0; j < n; j++) {
        const double weight = exp(scores[j] - max);
        sum += weight;
        for (int64_t d = 0; d < values; d++) out[d] += weight * v[j * step + d];
    }
    for (int64_t d = 0; d < values && n > 0; d++) out[d] /= sum;
}

enum { MOST_KEYS = 4096 };

static void masked(const hone_reference *run) {
    const hone_tensor_type *const q = &run->input_types[0], *const v = &run->input_types[2];
    const int64_t queries = q->dims[q->rank - 2], features = q->dims[q->rank - 1], keys = v->dims[v->rank - 2];
    const int64_t values = v->dims[v->rank - 1];
    const double scale = hone_case_number(&run->arguments[4], 1 / sqrt((double)features));
    const bool has_mask = run->arguments[3].kind == HONE_ARGUMENT_TENSOR;
    hone_tensor_type whole = *q;
    whole.dims[q->rank - 1] = keys;
    for (int64_t row = 0; row < (queries ? hone_case_count(&whole) / (keys ? keys : 1) : 0); row++) {
        const int64_t head = row / queries;
        double scores[MOST_KEYS];
        for (int64_t j = 0; j < keys; j++) {
            scores[j] =
                scale * dot(run->inputs[0] + row * features, run->inputs[1] + (head * keys + j) * features, features);
            if (has_mask)
                scores[j] += run->inputs[3][hone_case_broadcast(&whole, row * keys + j, &run->input_types[3])];
        }
        mix(run->outputs[0] + row * values, scores, keys, run->inputs[2] + head * keys * values, values, values);
    }
}

static void no_keys(const hone_reference *run) {
    for (int64_t i = 0; i < hone_case_count(&run->output_types[0]); i++) run->outputs[0][i] = 0;
}

static void cached(const hone_reference *run) {
    const int64_t *const q = run->input_types[0].dims, *const k = run->input_types[1].dims;
    const int64_t start = (int64_t)hone_case_number(&run->arguments[3], 0), step = k[2] * k[3];
    const double scale = hone_case_number(&run->arguments[4], 1 / sqrt((double)q[3]));
    for (int64_t i = 0; i < q[1]; i++)
        for (int64_t h = 0; h < q[2]; h++) {
            const int64_t at = (i * q[2] + h) * q[3], kv = h / (q[2] / k[2]) * k[3];
            int64_t seen = start + i + 1;
            seen = seen < 0 ? 0 : seen > k[1] ? k[1] : seen;
            double scores[MOST_KEYS];
            for (int64_t j = 0; j < seen; j++)
                scores[j] = scale * dot(run->inputs[0] + at, run->inputs[1] + j * step + kv, k[3]);
            mix(run->outputs[0] + at, scores, seen, run->inputs[2] + kv, step, k[3]);
        }
}

static void update(const hone_reference *run) {
    const int64_t *const cache = run->input_types[0].dims, rows = run->input_types[1].dims[1];
    const int64_t start = (int64_t)hone_case_number(&run->arguments[2], 0), columns = cache[2] * cache[3];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns && start + i >= 0 && start + i < cache[1]; j++)
            run->inputs[0][(start + i) * columns + j] = run->inputs[1][i * columns + j];
}

#define SDPA  "et_vk::sdpa"
#define PLAIN HONE_IN(0), HONE_IN(1), HONE_IN(2)
#define MASK  HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3)
#define ATTEND(name_, ...)                                                                                             \
    {SDPA,                                                                                                             \
     name_,                                                                                                            \
     .reference = masked,                                                                                              \
     .tolerance = HONE_TOLERANCE_PRODUCT,                                                                              \
     .gradient_tolerance = HONE_TOLERANCE_PRODUCT,                                                                     \
     __VA_ARGS__}
#define EDGE(op_, name_, function, ...)                                                                                \
    {op_, name_, .reference = function, .tolerance = HONE_TOLERANCE_PRODUCT, __VA_ARGS__}
#define CAUSAL                                                                                                         \
    HONE_F32_OF((0, -INFINITY, -INFINITY, -INFINITY, 0, 0, -INFINITY, -INFINITY, 0, 0, 0, -INFINITY, 0, 0, 0, 0), 4, 4)

const hone_op_case hone_cases_masked[] = {
    ATTEND("plain", HONE_INPUTS(HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 5, 8)), HONE_TAKES(PLAIN)),
    ATTEND("more keys than queries, odd sizes, scale",
           HONE_INPUTS(HONE_F32(1, 2, 3, 7), HONE_F32(1, 2, 9, 7), HONE_F32(1, 2, 9, 5)),
           HONE_TAKES(PLAIN, HONE_CASE_NO, HONE_CASE_R(0.3))),
    ATTEND("one of all", HONE_INPUTS(HONE_F32(1, 1, 1, 1), HONE_F32(1, 1, 1, 1), HONE_F32(1, 1, 1, 1)),
           HONE_TAKES(PLAIN)),
    ATTEND("two tiles of keys", HONE_INPUTS(HONE_F32(1, 2, 3, 2), HONE_F32(1, 2, 67, 2), HONE_F32(1, 2, 67, 3)),
           HONE_TAKES(PLAIN)),
    EDGE(SDPA, "several tiles of queries and keys", masked,
         HONE_INPUTS(HONE_F32(1, 2, 70, 33), HONE_F32(1, 2, 131, 33), HONE_F32(1, 2, 131, 33)), HONE_TAKES(PLAIN)),
    ATTEND("three dimensions", HONE_INPUTS(HONE_F32(3, 5, 8), HONE_F32(3, 6, 8), HONE_F32(3, 6, 8)), HONE_TAKES(PLAIN)),
    ATTEND("two dimensions", HONE_INPUTS(HONE_F32(5, 8), HONE_F32(6, 8), HONE_F32(6, 8)), HONE_TAKES(PLAIN)),
    ATTEND("scale lives", HONE_INPUTS(HONE_F32(1, 2, 3, 4), HONE_F32(1, 2, 5, 4), HONE_F32(1, 2, 5, 4)),
           HONE_TAKES(PLAIN, HONE_CASE_NO, HONE_CASE_LIVE(0.7))),
    ATTEND("mask of its own for each head",
           HONE_INPUTS(HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 3, 5, 7)),
           HONE_TAKES(MASK)),
    ATTEND("mask for all heads",
           HONE_INPUTS(HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 3, 7, 8), HONE_F32(5, 7)),
           HONE_TAKES(MASK, HONE_CASE_R(0.5))),
    ATTEND("mask a row of keys",
           HONE_INPUTS(HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 1, 1, 7)),
           HONE_TAKES(MASK)),
    ATTEND("mask a column of queries",
           HONE_INPUTS(HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 3, 7, 8), HONE_F32(3, 5, 1)),
           HONE_TAKES(MASK), .no_gradient = 8),
    ATTEND("mask a scalar",
           HONE_INPUTS(HONE_F32(2, 3, 5, 8), HONE_F32(2, 3, 7, 8), HONE_F32(2, 3, 7, 8), HONE_F32_SCALAR),
           HONE_TAKES(MASK), .no_gradient = 8),
    ATTEND("-infinity above the diagonal",
           HONE_INPUTS(HONE_F32(2, 2, 4, 8), HONE_F32(2, 2, 4, 8), HONE_F32(2, 2, 4, 8), CAUSAL), HONE_TAKES(MASK),
           .no_gradient = 8),
    EDGE(SDPA, "mask over several tiles", masked,
         HONE_INPUTS(HONE_F32(1, 2, 70, 16), HONE_F32(1, 2, 131, 16), HONE_F32(1, 2, 131, 16),
                     HONE_F32_IN(-9, 9, 70, 131)),
         HONE_TAKES(MASK)),
    EDGE(SDPA, "mask, values wider than keys", masked,
         HONE_INPUTS(HONE_F32(3, 9, 10), HONE_F32(3, 40, 10), HONE_F32(3, 40, 140), HONE_F32(3, 1, 40)),
         HONE_TAKES(MASK)),
    EDGE(SDPA, "a query that sees nothing is NaN", masked,
         HONE_INPUTS(HONE_F32(1, 1, 3, 4), HONE_F32(1, 1, 5, 4), HONE_F32(1, 1, 5, 4),
                     HONE_F32_OF((0, -INFINITY, 0), 3, 1)),
         HONE_TAKES(MASK)),
    EDGE(SDPA, "large scores", masked,
         HONE_INPUTS(HONE_F32_IN(-99, 99, 1, 2, 5, 8), HONE_F32_IN(-99, 99, 1, 2, 9, 8), HONE_F32(1, 2, 9, 8)),
         HONE_TAKES(PLAIN)),
    EDGE(SDPA, "no queries", masked, HONE_INPUTS(HONE_F32(1, 2, 0, 8), HONE_F32(1, 2, 9, 8), HONE_F32(1, 2, 9, 8)),
         HONE_TAKES(PLAIN)),
    EDGE(SDPA, "no heads", masked, HONE_INPUTS(HONE_F32(1, 0, 3, 8), HONE_F32(1, 0, 9, 8), HONE_F32(1, 0, 9, 8)),
         HONE_TAKES(PLAIN)),
    EDGE(SDPA, "no keys", no_keys, HONE_INPUTS(HONE_F32(1, 2, 3, 8), HONE_F32(1, 2, 0, 8), HONE_F32(1, 2, 0, 8)),
         HONE_TAKES(PLAIN)),
    EDGE(SDPA, "SmolLM2, 512 tokens, causal mask", masked,
         HONE_INPUTS(HONE_F32(1, 9, 512, 64), HONE_F32(1, 9, 512, 64), HONE_F32(1, 9, 512, 64), HONE_F32(512, 512)),
         HONE_TAKES(MASK), .bench_only = true, .bench_flop = (int64_t)9 * 512 * 512 * 64 * 4),
    EDGE(SDPA, "one query, 1000 keys", masked,
         HONE_INPUTS(HONE_F32(1, 9, 1, 64), HONE_F32(1, 9, 1000, 64), HONE_F32(1, 9, 1000, 64)), HONE_TAKES(PLAIN),
         .bench_only = true, .bench_flop = 9 * 1000 * 64 * 4),
    EDGE("llama::sdpa_with_cache", "first tokens", cached,
         HONE_INPUTS(HONE_F32(1, 6, 4, 8), HONE_F32(1, 9, 2, 8), HONE_F32(1, 9, 2, 8)),
         HONE_TAKES(PLAIN, HONE_CASE_I(0))),
    EDGE("llama::sdpa_with_cache", "one token, scale", cached,
         HONE_INPUTS(HONE_F32(1, 1, 3, 5), HONE_F32(1, 9, 1, 5), HONE_F32(1, 9, 1, 5)),
         HONE_TAKES(PLAIN, HONE_CASE_I(8), HONE_CASE_R(0.7))),
    EDGE("llama::sdpa_with_cache", "several tiles", cached,
         HONE_INPUTS(HONE_F32(1, 70, 4, 16), HONE_F32(1, 200, 2, 16), HONE_F32(1, 200, 2, 16)),
         HONE_TAKES(PLAIN, HONE_CASE_I(99))),
    EDGE("llama::sdpa_with_cache", "position lives", cached,
         HONE_INPUTS(HONE_F32(1, 2, 4, 8), HONE_F32(1, 9, 2, 8), HONE_F32(1, 9, 2, 8)),
         HONE_TAKES(PLAIN, HONE_CASE_LIVE(5))),
    EDGE("llama::sdpa_with_cache", "position lives beyond the cache", cached,
         HONE_INPUTS(HONE_F32(1, 6, 4, 8), HONE_F32(1, 9, 2, 8), HONE_F32(1, 9, 2, 8)),
         HONE_TAKES(PLAIN, HONE_CASE_LIVE(7))),
    EDGE("llama::sdpa_with_cache", "no tokens", cached,
         HONE_INPUTS(HONE_F32(1, 0, 4, 8), HONE_F32(1, 9, 2, 8), HONE_F32(1, 9, 2, 8)),
         HONE_TAKES(PLAIN, HONE_CASE_I(3))),
    EDGE("llama::sdpa_with_cache", "SmolLM2, one token, 1000 cached", cached,
         HONE_INPUTS(HONE_F32(1, 1, 9, 64), HONE_F32(1, 1000, 3, 64), HONE_F32(1, 1000, 3, 64)),
         HONE_TAKES(PLAIN, HONE_CASE_I(999)), .bench_only = true, .bench_flop = 9 * 1000 * 64 * 4),
    EDGE("llama::update_cache_", "at the start", update, HONE_INPUTS(HONE_F32(1, 9, 2, 5), HONE_F32(1, 4, 2, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(0))),
    EDGE("llama::update_cache_", "up to the end", update, HONE_INPUTS(HONE_F32(1, 9, 2, 5), HONE_F32(1, 4, 2, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(5))),
    EDGE("llama::update_cache_", "position lives, beyond the end", update,
         HONE_INPUTS(HONE_F32(1, 9, 2, 5), HONE_F32(1, 4, 2, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(7))),
    EDGE("llama::update_cache_", "position lives, before the start", update,
         HONE_INPUTS(HONE_F32(1, 9, 2, 5), HONE_F32(1, 4, 2, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(-3))),
    EDGE("llama::update_cache_", "position lives, far away", update,
         HONE_INPUTS(HONE_F32(1, 9, 2, 5), HONE_F32(1, 4, 2, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(1e9))),
    EDGE("llama::update_cache_", "nothing", update, HONE_INPUTS(HONE_F32(1, 9, 2, 5), HONE_F32(1, 0, 2, 5)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(9))),
    EDGE("llama::update_cache_", "several blocks", update, HONE_INPUTS(HONE_F32(1, 99, 9, 64), HONE_F32(1, 60, 9, 64)),
         HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(30))),
    {"llama::update_cache_", "64 of 2048 positions", HONE_INPUTS(HONE_F32(1, 2048, 3, 64), HONE_F32(1, 64, 3, 64)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(512)), .reference = update, .bench_only = true},
    {0},
};
