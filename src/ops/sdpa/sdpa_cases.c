// SPDX-License-Identifier: Apache-2.0
// Cases of attention over packed rows and over a cache.
#include "ops/shared/cases.h"

typedef struct shape {
    int64_t queries, keys, heads, kv_heads, head, offset, window;
    double scale;
} shape;

// `q` and `k` are the numbers of those inputs, `heads` that of the argument; offset at heads + 3 when there is one.
static shape shape_of(const hone_reference *run, int q, int k, int heads, bool has_offset) {
    const hone_argument *const a = run->arguments + heads;
    const hone_tensor_type *const types = run->input_types;
    return (shape){.queries = types[q].dims[0],
                   .keys = types[k].dims[0],
                   .heads = a[0].integer,
                   .kv_heads = a[1].integer,
                   .head = types[q].dims[1] / a[0].integer,
                   .offset = has_offset ? (int64_t)hone_case_number(&a[3], 0) : 0,
                   .window = (int64_t)hone_case_number(&a[has_offset ? 4 : 3], 0),
                   .scale = a[2].real};
}

static bool sees(const shape *s, const double *row_start, int64_t t, int64_t key) {
    const int64_t position = s->offset + t;
    return key <= position && key >= (int64_t)row_start[t] && (s->window <= 0 || key > position - s->window);
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void attention(const hone_reference *run) {
    const shape s = shape_of(run, 0, 1, 4, true);
    const double *const q = run->inputs[0], *const k = run->inputs[1], *const v = run->inputs[2];
    for (int64_t t = 0; t < s.queries; t++)
        for (int64_t h = 0; h < s.heads; h++) {
            const int64_t at = (t * s.heads + h) * s.head, kv = h / (s.heads / s.kv_heads);
            double max = -INFINITY, sum = 0;
            double *const out = run->outputs[0] + at;
            for (int64_t i = 0; i < s.head; i++) out[i] = 0;
            for (int64_t j = 0; j < s.keys; j++)
                if (sees(&s, run->inputs[3], t, j))
                    max = fmax(max, s.scale * dot(q + at, k + (j * s.kv_heads + kv) * s.head, s.head));
            for (int64_t j = 0; j < s.keys; j++) {
                if (!sees(&s, run->inputs[3], t, j)) continue;
                const double *const value = v + (j * s.kv_heads + kv) * s.head;
                const double p = exp(s.scale * dot(q + at, k + (j * s.kv_heads + kv) * s.head, s.head) - max);
                sum += p;
                for (int64_t i = 0; i < s.head; i++) out[i] += p * value[i];
            }
            for (int64_t i = 0; i < s.head && sum > 0; i++) out[i] /= sum;
            run->outputs[1][h * s.queries + t] = sum > 0 ? max + log(sum) : 0;
        }
}

static void backward(const hone_reference *run) {
    const shape s = shape_of(run, 1, 2, 7, false);
    const double *const d_out = run->inputs[0], *const q = run->inputs[1], *const k = run->inputs[2],
                        *const v = run->inputs[3], *const out = run->inputs[4], *const lse = run->inputs[5];
    double *const d_q = run->outputs[0], *const d_k = run->outputs[1], *const d_v = run->outputs[2];
    for (int64_t i = 0; i < s.queries * s.heads * s.head; i++) d_q[i] = 0;
    for (int64_t i = 0; i < s.keys * s.kv_heads * s.head; i++) d_k[i] = d_v[i] = 0;
    for (int64_t t = 0; t < s.queries; t++)
        for (int64_t h = 0; h < s.heads; h++)
            for (int64_t j = 0; j < s.keys; j++) {
                if (!sees(&s, run->inputs[6], t, j)) continue;
                const int64_t qa = (t * s.heads + h) * s.head;
                const int64_t ka = (j * s.kv_heads + h / (s.heads / s.kv_heads)) * s.head;
                const double p = exp(s.scale * dot(q + qa, k + ka, s.head) - lse[h * s.queries + t]);
                const double ds = p * (dot(d_out + qa, v + ka, s.head) - dot(d_out + qa, out + qa, s.head)) * s.scale;
                for (int64_t i = 0; i < s.head; i++) {
                    d_q[qa + i] += ds * k[ka + i];
                    d_k[ka + i] += ds * q[qa + i];
                    d_v[ka + i] += p * d_out[qa + i];
                }
            }
}

static void cache_write(const hone_reference *run) {
    const int64_t size = run->input_types[0].dims[0], columns = run->input_types[0].dims[1];
    const int64_t offset = (int64_t)hone_case_number(&run->arguments[2], 0);
    for (int64_t t = 0; t < run->input_types[1].dims[0]; t++)
        for (int64_t i = 0; i < columns; i++)
            if (offset + t >= 0 && offset + t < size)
                run->inputs[0][(offset + t) * columns + i] = run->inputs[1][t * columns + i];
}

// T queries, S keys, heads of d; H query heads over G heads of keys.
#define QKV(T, S, H, G, d) HONE_F32(T, (H) * (d)), HONE_F32(S, (G) * (d)), HONE_F32(S, (G) * (d))
#define FORWARD(name_, ...)                                                                                            \
    {"hone::attention", name_, .reference = attention, .tolerance = HONE_TOLERANCE_PRODUCT, .no_seed = 2, __VA_ARGS__}
#define TAKES(H, G, scale, ...)                                                                                        \
    HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_CASE_I(H), HONE_CASE_I(G), HONE_CASE_R(scale),     \
               __VA_ARGS__)
#define GRADIENT .gradient_tolerance = HONE_TOLERANCE_PRODUCT
#define ONE_ROW  (0)
// Three rows of 5, 1 and the rest; the last two places are padding.
#define PACKED (0, 0, 0, 0, 0, 5, 6, 6, 6, 6, 6, 1000, 1000)

#define BACKWARD(name_, T, S, H, G, d, row_start, window, ...)                                                         \
    {"hone::attention_backward",                                                                                       \
     name_,                                                                                                            \
     HONE_INPUTS(HONE_F32(T, (H) * (d)), QKV(T, S, H, G, d), HONE_F32(T, (H) * (d)), HONE_F32_IN(1, 2, H, T),          \
                 row_start),                                                                                           \
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_IN(2), HONE_IN(3), HONE_IN(4), HONE_IN(5), HONE_IN(6), HONE_CASE_I(H),    \
                HONE_CASE_I(G), HONE_CASE_R(0.3), HONE_CASE_I(window)),                                                \
     .reference = backward,                                                                                            \
     .tolerance = HONE_TOLERANCE_PRODUCT,                                                                              \
     __VA_ARGS__}

const hone_op_case hone_cases_sdpa[] = {
    FORWARD("one head", HONE_INPUTS(QKV(7, 7, 1, 1, 8), HONE_I32_OF(ONE_ROW, 7)), TAKES(1, 1, 0.5, HONE_CASE_I(0)),
            GRADIENT),
    FORWARD("grouped heads, head of 6", HONE_INPUTS(QKV(9, 9, 6, 2, 6), HONE_I32_OF(ONE_ROW, 9)),
            TAKES(6, 2, 0.4, HONE_CASE_I(0)), GRADIENT),
    FORWARD("packed rows and padding", HONE_INPUTS(QKV(13, 13, 4, 2, 5), HONE_I32_OF(PACKED, 13)),
            TAKES(4, 2, 0.4, HONE_CASE_I(0)), GRADIENT),
    FORWARD("window", HONE_INPUTS(QKV(13, 13, 2, 1, 7), HONE_I32_OF(ONE_ROW, 13)),
            TAKES(2, 1, 0.4, HONE_CASE_I(0), HONE_CASE_I(4)), GRADIENT),
    FORWARD("window and packed rows", HONE_INPUTS(QKV(13, 13, 2, 1, 3), HONE_I32_OF(PACKED, 13)),
            TAKES(2, 1, 0.4, HONE_CASE_I(0), HONE_CASE_I(3)), GRADIENT),
    FORWARD("all padding", HONE_INPUTS(QKV(3, 3, 2, 1, 4), HONE_I32_OF((9), 3)), TAKES(2, 1, 0.5, HONE_CASE_I(0))),
    FORWARD("several tiles", HONE_INPUTS(QKV(201, 201, 3, 1, 20), HONE_I32_OF(ONE_ROW, 201)),
            TAKES(3, 1, 0.25, HONE_CASE_I(0))),
    FORWARD("rows that cross tiles", HONE_INPUTS(QKV(150, 150, 2, 2, 12), HONE_I32_IN(0, 149, 150)),
            TAKES(2, 2, 0.25, HONE_CASE_I(0))),
    FORWARD("tiles that no query sees", HONE_INPUTS(QKV(201, 201, 2, 1, 8), HONE_I32_OF((100), 201)),
            TAKES(2, 1, 0.25, HONE_CASE_I(0))),
    FORWARD("window over several tiles", HONE_INPUTS(QKV(201, 201, 2, 1, 9), HONE_I32_OF(ONE_ROW, 201)),
            TAKES(2, 1, 0.25, HONE_CASE_I(0), HONE_CASE_I(70))),
    FORWARD("several tiles a group", HONE_INPUTS(QKV(600, 600, 16, 2, 4), HONE_I32_IN(0, 300, 600)),
            TAKES(16, 2, 0.5, HONE_CASE_I(0))),
    FORWARD("all tiles of a row a group, window", HONE_INPUTS(QKV(70, 130, 342, 2, 4), HONE_I32_OF(ONE_ROW, 70)),
            TAKES(342, 2, 0.5, HONE_CASE_LIVE(60), HONE_CASE_I(50))),
    FORWARD("window begins within a part", HONE_INPUTS(QKV(600, 600, 12, 4, 6), HONE_I32_OF(ONE_ROW, 600)),
            TAKES(12, 4, 0.4, HONE_CASE_I(0), HONE_CASE_I(90))),
    FORWARD("queries from before the first key", HONE_INPUTS(QKV(140, 130, 2, 1, 8), HONE_I32_OF(ONE_ROW, 140)),
            TAKES(2, 1, 0.4, HONE_CASE_LIVE(-70))),
    FORWARD("offset over several parts", HONE_INPUTS(QKV(70, 300, 4, 2, 68), HONE_I32_IN(0, 250, 70)),
            TAKES(4, 2, 0.2, HONE_CASE_LIVE(190))),
    FORWARD("head of 80", HONE_INPUTS(QKV(70, 70, 4, 2, 80), HONE_I32_IN(0, 60, 70)), TAKES(4, 2, 0.1, HONE_CASE_I(0))),
    FORWARD("head of 70", HONE_INPUTS(QKV(70, 70, 4, 2, 70), HONE_I32_IN(0, 60, 70)), TAKES(4, 2, 0.1, HONE_CASE_I(0))),
    FORWARD("head of 131", HONE_INPUTS(QKV(40, 40, 2, 2, 131), HONE_I32_OF(ONE_ROW, 40)),
            TAKES(2, 2, 0.1, HONE_CASE_I(0))),
    FORWARD("head of 258", HONE_INPUTS(QKV(40, 40, 2, 1, 258), HONE_I32_OF(ONE_ROW, 40)),
            TAKES(2, 1, 0.1, HONE_CASE_I(0))),
    FORWARD("head of 260", HONE_INPUTS(QKV(70, 70, 2, 1, 260), HONE_I32_OF(ONE_ROW, 70)),
            TAKES(2, 1, 0.1, HONE_CASE_I(0))),
    FORWARD("large scores",
            HONE_INPUTS(HONE_F32_IN(-60, 60, 70, 16), HONE_F32_IN(-4, 4, 70, 16), HONE_F32(70, 16),
                        HONE_I32_OF(ONE_ROW, 70)),
            TAKES(1, 1, 0.25, HONE_CASE_I(0))),
    FORWARD("offset lives", HONE_INPUTS(QKV(5, 300, 4, 2, 8), HONE_I32_OF(ONE_ROW, 5)),
            TAKES(4, 2, 0.4, HONE_CASE_LIVE(190))),
    FORWARD("queries beyond the keys", HONE_INPUTS(QKV(4, 20, 2, 1, 8), HONE_I32_OF(ONE_ROW, 4)),
            TAKES(2, 1, 0.4, HONE_CASE_I(18))),
    FORWARD("no queries", HONE_INPUTS(QKV(0, 4, 2, 1, 8), HONE_I32_OF(ONE_ROW, 0)), TAKES(2, 1, 0.4, HONE_CASE_I(0))),
    FORWARD("no keys", HONE_INPUTS(QKV(2, 0, 2, 1, 8), HONE_I32_OF(ONE_ROW, 2)), TAKES(2, 1, 0.4, HONE_CASE_I(0))),
    FORWARD("one query, first place", HONE_INPUTS(QKV(1, 40, 4, 2, 8), HONE_I32_OF(ONE_ROW, 1)),
            TAKES(4, 2, 0.4, HONE_CASE_LIVE(0))),
    FORWARD("one query over a cache", HONE_INPUTS(QKV(1, 700, 9, 3, 64), HONE_I32_OF(ONE_ROW, 1)),
            TAKES(9, 3, 0.125, HONE_CASE_LIVE(650))),
    FORWARD("one query, head of 70, begins late", HONE_INPUTS(QKV(1, 600, 6, 2, 70), HONE_I32_OF((300), 1)),
            TAKES(6, 2, 0.3, HONE_CASE_LIVE(599))),
    FORWARD("one query, window", HONE_INPUTS(QKV(1, 600, 2, 1, 17), HONE_I32_OF(ONE_ROW, 1)),
            TAKES(2, 1, 0.3, HONE_CASE_LIVE(520), HONE_CASE_I(100))),
    FORWARD("one query that sees nothing", HONE_INPUTS(QKV(1, 20, 2, 1, 8), HONE_I32_OF((15), 1)),
            TAKES(2, 1, 0.3, HONE_CASE_LIVE(3))),
    FORWARD("SmolLM2, 512 tokens", HONE_INPUTS(QKV(512, 512, 9, 3, 64), HONE_I32_OF(ONE_ROW, 512)),
            TAKES(9, 3, 0.125, HONE_CASE_I(0)), .bench_only = true, .bench_flop = (int64_t)4 * 64 * 9 * 512 * 513 / 2),
    FORWARD("SmolLM2, 2048 tokens", HONE_INPUTS(QKV(2048, 2048, 9, 3, 64), HONE_I32_OF(ONE_ROW, 2048)),
            TAKES(9, 3, 0.125, HONE_CASE_I(0)), .bench_only = true,
            .bench_flop = (int64_t)4 * 64 * 9 * 2048 * 2049 / 2),
    FORWARD("SmolLM2, one query, 1000 keys", HONE_INPUTS(QKV(1, 2048, 9, 3, 64), HONE_I32_OF(ONE_ROW, 1)),
            TAKES(9, 3, 0.125, HONE_CASE_LIVE(999)), .bench_only = true, .bench_flop = (int64_t)4 * 64 * 9 * 1000),
    BACKWARD("one head", 7, 7, 1, 1, 8, HONE_I32_OF(ONE_ROW, 7), 0),
    BACKWARD("packed rows and padding", 13, 13, 4, 2, 5, HONE_I32_OF(PACKED, 13), 0),
    BACKWARD("several tiles, grouped heads", 201, 201, 6, 2, 20, HONE_I32_OF(ONE_ROW, 201), 0),
    BACKWARD("several chunks of several tiles", 700, 700, 8, 8, 9, HONE_I32_OF(ONE_ROW, 700), 0),
    BACKWARD("rows that cross tiles", 150, 150, 2, 2, 12, HONE_I32_IN(0, 149, 150), 0),
    BACKWARD("tiles that no query sees", 201, 201, 2, 1, 8, HONE_I32_OF((100), 201), 0),
    BACKWARD("several tiles a group", 600, 600, 16, 2, 4, HONE_I32_IN(0, 300, 600), 0),
    BACKWARD("several tiles a group, window", 600, 600, 12, 12, 6, HONE_I32_OF(ONE_ROW, 600), 90),
    BACKWARD("all tiles of a row a group", 70, 70, 514, 2, 4, HONE_I32_OF(ONE_ROW, 70), 0),
    BACKWARD("all tiles of a row a group, own keys", 70, 70, 513, 513, 3, HONE_I32_OF(ONE_ROW, 70), 0),
    BACKWARD("head of 80", 70, 70, 4, 2, 80, HONE_I32_IN(0, 60, 70), 0),
    BACKWARD("head of 131", 70, 70, 2, 1, 131, HONE_I32_OF(ONE_ROW, 70), 0),
    BACKWARD("head of 66, two tiles a group", 200, 200, 66, 2, 66, HONE_I32_IN(0, 150, 200), 0),
    BACKWARD("head of 68, two tiles a group", 200, 200, 66, 66, 68, HONE_I32_OF(ONE_ROW, 200), 0),
    BACKWARD("several tiles a group, more keys than queries", 340, 600, 20, 4, 8, HONE_I32_IN(0, 200, 340), 0),
    BACKWARD("several tiles a group, more queries than keys", 600, 340, 20, 4, 8, HONE_I32_IN(0, 500, 600), 0),
    BACKWARD("one tile of keys", 300, 60, 2, 2, 8, HONE_I32_OF(ONE_ROW, 300), 0),
    BACKWARD("one tile of queries", 60, 300, 2, 2, 8, HONE_I32_OF(ONE_ROW, 60), 0),
    BACKWARD("window", 150, 150, 3, 1, 12, HONE_I32_OF(ONE_ROW, 150), 70),
    BACKWARD("more keys than queries", 5, 100, 2, 1, 4, HONE_I32_OF(ONE_ROW, 5), 0),
    BACKWARD("more queries than keys", 100, 5, 2, 1, 4, HONE_I32_OF(ONE_ROW, 100), 0),
    BACKWARD("no keys", 2, 0, 2, 1, 4, HONE_I32_OF(ONE_ROW, 2), 0),
    BACKWARD("no queries", 0, 3, 2, 1, 4, HONE_I32_OF(ONE_ROW, 0), 0),
    BACKWARD("SmolLM2, 512 tokens", 512, 512, 9, 3, 64, HONE_I32_OF(ONE_ROW, 512), 0, .bench_only = true,
             .bench_flop = (int64_t)10 * 64 * 9 * 512 * 513 / 2),
    BACKWARD("SmolLM2, 2048 tokens", 2048, 2048, 9, 3, 64, HONE_I32_OF(ONE_ROW, 2048), 0, .bench_only = true,
             .bench_flop = (int64_t)10 * 64 * 9 * 2048 * 2049 / 2),
    {"hone::cache_write_", "inside", HONE_INPUTS(HONE_F32(9, 6), HONE_F32(3, 6)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(4)), .reference = cache_write},
    {"hone::cache_write_", "partly beyond", HONE_INPUTS(HONE_F32(9, 6), HONE_F32(3, 6)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(7)), .reference = cache_write},
    {"hone::cache_write_", "all beyond", HONE_INPUTS(HONE_F32(9, 6), HONE_F32(3, 6)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(9)), .reference = cache_write},
    {"hone::cache_write_", "before the first", HONE_INPUTS(HONE_F32(9, 6), HONE_F32(3, 6)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_I(-2)), .reference = cache_write},
    {"hone::cache_write_", "64 of 2048 positions", HONE_INPUTS(HONE_F32(2048, 192), HONE_F32(64, 192)),
     HONE_TAKES(HONE_IN(0), HONE_IN(1), HONE_CASE_LIVE(512)), .reference = cache_write, .bench_only = true},
    {0},
};
