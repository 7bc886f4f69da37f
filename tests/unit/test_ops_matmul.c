// SPDX-License-Identifier: Apache-2.0
// Products on the CPU: every table of inner loops against plain sums, the start-up check, bits and threads, codes.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/pool.h"
#include "base/random.h"
#include "ops/linear_q4gsw/codes.h"
#include "ops/matmul/blas.h"
#include "ops/matmul/gemm_ways.h"

// --- helpers ---------------------------------------------------------------------------------------------------------

static void *take(size_t bytes) {
    void *memory = NULL;
    hone_error error;
    assert_int_equal(hone_allocate_raw(bytes, 1, "a test", &memory, &error), HONE_OK);
    return memory;
}

static float *draw(hone_random *random, int64_t count) {
    float *const values = take((size_t)count * sizeof(float));
    for (int64_t i = 0; i < count; i++) values[i] = hone_random_float(random) * 2 - 1;
    return values;
}

// Runs work on `threads` threads with exactly the memory it asks for, full of NaN.
typedef struct desk {
    hone_op_call call;
    hone_pool *pool;
} desk;

static desk desk_open(hone_cpu_needs needs, int threads) {
    desk d = {0};
    hone_error error;
    assert_int_equal(hone_pool_create(threads, &d.pool, &error), HONE_OK);
    const size_t each = (needs.thread_scratch_bytes + 63) / 64 * 64;
    d.call = (hone_op_call){.pool = d.pool,
                            .workspace = take(needs.workspace_bytes),
                            .thread_scratch = take(each * (size_t)threads),
                            .thread_scratch_bytes = each};
    memset(d.call.workspace, 0xFF, needs.workspace_bytes);
    memset(d.call.thread_scratch, 0xFF, each * (size_t)threads);
    return d;
}

static void desk_close(desk *d) {
    hone_free(d->call.workspace);
    hone_free(d->call.thread_scratch);
    hone_pool_destroy(d->pool);
}

static void multiply(const hone_gemm *g, int threads) {
    desk d = desk_open(hone_gemm_needs(g), threads);
    hone_gemm_run(&d.call, g);
    desk_close(&d);
}

// Largest difference in parts of the largest value.
static double distance(const float *got, const double *want, int64_t count) {
    double most = 0, difference = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isnan(got[i])) return INFINITY;
        most = fmax(most, fabs(want[i]));
        difference = fmax(difference, fabs(got[i] - want[i]));
    }
    return most > 0 ? difference / most : difference;
}

// Calls check(state) with each table that this processor can use.
static void with_each_table(void (*check)(hone_random *random)) {
    for (size_t i = 0; hone_kernels_all[i]; i++) {
        if (!hone_kernels_all[i]->usable()) continue;
        hone_kernels_use(hone_kernels_all[i]);
        hone_random random = hone_random_seed(7, i);
        check(&random);
    }
    hone_kernels_use(NULL);
}

// --- the product on one thread ---------------------------------------------------------------------------------------

static void check_sgemm(hone_random *random) {
    static const int64_t shapes[][3] = {{1, 1, 1},   {0, 3, 4},     {3, 0, 4},      {5, 6, 0},  {7, 17, 33},
                                        {8, 32, 64}, {97, 33, 129}, {100, 31, 300}, {2, 200, 9}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        for (int variant = 0; variant < 12; variant++) {
            const bool ta = variant & 1, tb = variant & 2;
            const float beta = (float)(variant / 4) / 2, alpha = variant % 3 == 0 ? 1 : -0.75f;
            const int64_t lda = (ta ? m : k) + 2, ldb = (tb ? k : n) + 1, ldc = n + 3;
            float *const a = draw(random, (ta ? k : m) * lda), *const b = draw(random, (tb ? n : k) * ldb);
            float *const c = draw(random, m * ldc);
            double *const want = take((size_t)(m * ldc) * sizeof(double));
            for (int64_t i = 0; i < m * ldc; i++) {
                const int64_t row = i / ldc, column = i % ldc;
                double sum = 0;
                for (int64_t p = 0; p < k && column < n; p++)
                    sum += (double)a[ta ? p * lda + row : row * lda + p] * b[tb ? column * ldb + p : p * ldb + column];
                want[i] = column < n ? alpha * sum + (double)beta * c[i] : c[i];
                if (beta == 0 && column < n) c[i] = NAN; // must not be read
            }
            hone_sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
            assert_true(distance(c, want, m * ldc) < 2e-6);
            hone_free(a);
            hone_free(b);
            hone_free(c);
            hone_free(want);
        }
    }
}

static void sgemm_is_right_with_each_table(void **state) {
    (void)state;
    with_each_table(check_sgemm);
}

// --- the check -------------------------------------------------------------------------------------------------------

static bool always(void) {
    return true;
}

static bool never(void) {
    return false;
}

// Wrong in the last column only, as a processor's or compiler's fault might be.
static void broken_tile(int64_t k, const float *a, int64_t a_step, const float *b, int64_t b_step, float *c,
                        int64_t c_step, bool add) {
    const hone_kernels *const plain = hone_kernels_all[0];
    plain->tile(k, a, a_step, b, b_step, c, c_step, add);
    if (k > 100) c[plain->tile_columns - 1] += 1;
}

static void broken_dots(int64_t k, const float *x, int64_t ldx, int64_t x_count, const float *y, int64_t ldy,
                        int64_t y_count, float *out, int64_t r_step, int64_t s_step, bool add) {
    hone_kernels_all[0]->dots(k, x, ldx, x_count, y, ldy, y_count, out, r_step, s_step, add);
    if (k % 16) out[(x_count - 1) * r_step + (y_count - 1) * s_step] *= 1.5f;
}

static void wrong_tables_are_switched_off(void **state) {
    (void)state;
    hone_kernels wrong_tile = *hone_kernels_all[0], wrong_dots = *hone_kernels_all[0], absent = *hone_kernels_all[0];
    size_t last = 0;
    while (hone_kernels_all[last + 1]) last++;
    const hone_kernels *const plain = hone_kernels_all[last];
    wrong_tile.tile = broken_tile;
    wrong_tile.usable = always;
    wrong_dots.dots = broken_dots;
    wrong_dots.usable = always;
    absent.usable = never;
    // The broken loops call the first table's, which must be one that runs here.
    if (!hone_kernels_all[0]->usable()) skip();

    hone_error error = {0};
    const hone_kernels *const tables[] = {&absent, &wrong_tile, &wrong_dots, plain, NULL};
    assert_int_equal(hone_kernels_check(tables, &error), HONE_OK);
    assert_ptr_equal(hone_kernels_get(), plain);
    const hone_kernels *const none[] = {&wrong_tile, NULL};
    assert_int_equal(hone_kernels_check(none, &error), HONE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "wrong on this processor"));

    assert_int_equal(hone_kernels_check(hone_kernels_all, &error), HONE_OK);
    assert_ptr_equal(hone_kernels_get(), hone_kernels_all[0]);
    assert_int_equal(hone_blas_check(&error), HONE_OK);
    assert_string_equal(hone_blas_name(), hone_kernels_all[0]->name);
}

// --- threads ---------------------------------------------------------------------------------------------------------

enum { STRESS_THREADS = 4, STRESS_CALLS = 2500, STRESS_SIDE = 40 };

typedef struct stress {
    pthread_t thread;
    float *a, *b, *first, *c;
    atomic_int *wrong;
} stress;

static void product_of(const stress *s, float *out) {
    const int64_t n = STRESS_SIDE;
    hone_sgemm(false, true, n, n, n, 1, s->a, n, s->b, n, 0, out, n);
}

static void *stress_main(void *argument) {
    stress *const s = argument;
    for (int i = 0; i < STRESS_CALLS; i++) {
        product_of(s, s->c);
        if (memcmp(s->c, s->first, STRESS_SIDE * STRESS_SIDE * sizeof(float)) != 0) atomic_fetch_add(s->wrong, 1);
    }
    return NULL;
}

// Each thread has a product of its own; all run at once, 10,000 times.
static void sgemm_may_run_on_several_threads_at_once(void **state) {
    (void)state;
    stress runs[STRESS_THREADS];
    atomic_int wrong = 0;
    hone_random random = hone_random_seed(1, 2);
    const int64_t count = STRESS_SIDE * STRESS_SIDE;
    for (int i = 0; i < STRESS_THREADS; i++) {
        runs[i] = (stress){.a = draw(&random, count),
                           .b = draw(&random, count),
                           .first = draw(&random, count),
                           .c = draw(&random, count),
                           .wrong = &wrong};
        product_of(&runs[i], runs[i].first);
    }
    for (int i = 0; i < STRESS_THREADS; i++)
        assert_int_equal(pthread_create(&runs[i].thread, NULL, stress_main, &runs[i]), 0);
    for (int i = 0; i < STRESS_THREADS; i++) {
        pthread_join(runs[i].thread, NULL);
        hone_free(runs[i].a);
        hone_free(runs[i].b);
        hone_free(runs[i].first);
        hone_free(runs[i].c);
    }
    assert_int_equal(wrong, 0);
}

// m, n, k, left transposed, right transposed, and the way they are to go.
typedef struct shape {
    int64_t m, n, k;
    bool left, right;
    hone_gemm_way way;
} shape;

static const shape shapes[] = {
    {0, 5, 3, false, false, HONE_GEMM_NOTHING},
    {5, 7, 0, false, true, HONE_GEMM_START},
    {3, 500, 130, false, true, HONE_GEMM_WEIGHT_ROWS},
    {300, 8, 600, false, true, HONE_GEMM_FEW_COLUMNS},
    {300, 17, 1000, false, false, HONE_GEMM_FEW_COLUMNS},
    {8, 600, 300, true, false, HONE_GEMM_FEW_ROWS},
    {1, 301, 300, false, false, HONE_GEMM_FEW_ROWS},
    {600, 8, 300, true, false, HONE_GEMM_FEW_COLUMNS_ACROSS},
    {601, 20, 300, true, false, HONE_GEMM_FEW_COLUMNS_ACROSS},
    {520, 70, 576, false, true, HONE_GEMM_BLOCKS},
    {530, 133, 1100, false, false, HONE_GEMM_BLOCKS},
    {133, 130, 500, true, false, HONE_GEMM_BLOCKS},
    {40, 41, 42, true, true, HONE_GEMM_BLOCKS},
};

static hone_gemm gemm_of(const shape *s, const float *a, const float *b, float *c) {
    return (hone_gemm){
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .left = {a, s->left ? s->m : s->k, s->left, 1, s->m},
        .right = {.data = b, .dtype = HONE_DTYPE_F32, .ld = s->right ? s->k : s->n, .transposed = s->right},
        .c = c,
        .ldc = s->n,
    };
}

static void check_threads(hone_random *random) {
    static const int threads[] = {2, 3, 8};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *const s = &shapes[i];
        float *const a = draw(random, s->m * s->k), *const b = draw(random, s->k * s->n);
        float *const one = draw(random, s->m * s->n), *const more = draw(random, s->m * s->n);
        const hone_gemm g = gemm_of(s, a, b, one);
        assert_int_equal(hone_gemm_choose(&g), s->way);
        multiply(&g, 1);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            const hone_gemm again = gemm_of(s, a, b, more);
            multiply(&again, threads[t]);
            assert_memory_equal(one, more, (size_t)(s->m * s->n) * sizeof(float));
        }
        double *const want = take((size_t)(s->m * s->n) * sizeof(double));
        for (int64_t e = 0; e < s->m * s->n; e++) {
            const int64_t row = e / s->n, column = e % s->n;
            want[e] = 0;
            for (int64_t p = 0; p < s->k; p++)
                want[e] += (double)a[s->left ? p * s->m + row : row * s->k + p] *
                           b[s->right ? column * s->k + p : p * s->n + column];
        }
        assert_true(distance(one, want, s->m * s->n) < 2e-6);
        hone_free(a);
        hone_free(b);
        hone_free(one);
        hone_free(more);
        hone_free(want);
    }
}

static void bits_do_not_depend_on_threads(void **state) {
    (void)state;
    with_each_table(check_threads);
}

// --- codes -----------------------------------------------------------------------------------------------------------

typedef struct format {
    int bits;
    bool minimums, half;
    int64_t group;
} format;

static const format formats[] = {
    {4, false, false, 32}, {4, false, true, 64}, {4, true, true, 32}, {4, true, false, 20}, {4, false, true, 5},
    {8, false, true, 32},  {8, true, false, 16}, {8, true, true, 64}, {8, false, false, 7},
};

typedef struct weight {
    hone_codes codes;
    uint8_t *bytes;
    void *scales, *minimums;
    float *values; // [n,k], decoded by the formula
} weight;

// Some numbers as f32, or rounded to f16.
static void *draw_scales(hone_random *random, int64_t count, bool half, double low) {
    void *const out = take((size_t)count * (half ? 2 : 4));
    for (int64_t i = 0; i < count; i++) {
        const float value = (float)(low + 0.1 * hone_random_float(random));
        if (half) {
            ((uint16_t *)out)[i] = hone_float_to_half(value);
        } else {
            ((float *)out)[i] = value;
        }
    }
    return out;
}

static float read_scale(const void *scales, bool half, int64_t at) {
    return half ? hone_half_to_float(((const uint16_t *)scales)[at]) : ((const float *)scales)[at];
}

static weight draw_weight(hone_random *random, const format *f, int64_t n, int64_t k) {
    const int64_t row_bytes = f->bits == 4 ? (k + 1) / 2 : k, step = n + 3, groups = (k + f->group - 1) / f->group;
    weight w = {.bytes = take((size_t)(n * row_bytes)), .values = take((size_t)(n * k) * sizeof(float))};
    w.scales = draw_scales(random, groups * step, f->half, 0.01);
    if (f->minimums) w.minimums = draw_scales(random, groups * step, f->half, -0.5);
    for (int64_t i = 0; i < n * row_bytes; i++) w.bytes[i] = (uint8_t)hone_random_u32(random);
    w.codes = (hone_codes){w.bytes, w.scales, w.minimums, n, k, step, row_bytes, f->group, f->bits, 0, f->half};
    if (f->bits == 4 && !f->minimums) w.codes.zero = 8;
    for (int64_t i = 0; i < n * k; i++) {
        const int64_t row = i / k, column = i % k, at = column / f->group * step + row;
        const uint8_t byte = w.bytes[row * row_bytes + (f->bits == 4 ? column / 2 : column)];
        int code = (int8_t)byte;
        if (f->bits == 4) code = (column % 2 ? byte >> 4 : byte & 15) - w.codes.zero;
        const float product = (float)code * read_scale(w.scales, f->half, at);
        w.values[i] = w.minimums ? product + read_scale(w.minimums, f->half, at) : product;
    }
    return w;
}

static void weight_close(weight *w) {
    hone_free(w->bytes);
    hone_free(w->scales);
    hone_free(w->minimums);
    hone_free(w->values);
}

// Both directions give the formula's value to the bit: one rounding for the product, one for the sum.
static void check_decoding(hone_random *random) {
    enum { N = 37, K = 93, STEP = 48 };
    static float strip[K * STEP];
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        weight w = draw_weight(random, &formats[f], N, K);
        for (int64_t n0 = 0; n0 < N; n0 += HONE_STRIP) {
            for (int64_t k0 = 0; k0 < K; k0 += 64) {
                const int64_t k1 = k0 + 64 < K ? k0 + 64 : K;
                hone_kernels_get()->decode_rows(&w.codes, k0, k1, n0, strip, STEP);
                for (int64_t k = k0; k < k1; k++) {
                    for (int64_t n = n0; n < n0 + HONE_STRIP && n < N; n++)
                        assert_true(strip[(k - k0) * STEP + n - n0] == w.values[n * K + k]);
                }
            }
        }
        for (int64_t k0 = 0; k0 < K; k0 += HONE_STRIP) {
            hone_kernels_get()->decode_columns(&w.codes, 5, N, k0, strip, STEP);
            for (int64_t n = 5; n < N; n++) {
                for (int64_t k = k0; k < k0 + HONE_STRIP && k < K; k++)
                    assert_true(strip[(n - 5) * STEP + k - k0] == w.values[n * K + k]);
            }
        }
        weight_close(&w);
    }
}

static void codes_decode_to_the_bit(void **state) {
    (void)state;
    with_each_table(check_decoding);
}

// Up to four rows go straight against the codes; the same rows among others go through decoded tiles.
static void check_vectors(hone_random *random) {
    enum { N = 83, ROWS = 6 };
    static const int64_t columns[] = {32, 93, 160, 7};
    for (size_t i = 0; i < sizeof formats / sizeof *formats * (sizeof columns / sizeof *columns); i++) {
        const int64_t k = columns[i % 4];
        weight w = draw_weight(random, &formats[i / 4], N, k);
        float *const x = draw(random, ROWS * k), *const bias = draw(random, N);
        float *const tiles = draw(random, ROWS * N), *const vectors = draw(random, ROWS * N);
        double *const want = take(ROWS * N * sizeof(double));
        for (int64_t e = 0; e < ROWS * N; e++) {
            want[e] = bias[e % N];
            for (int64_t p = 0; p < k; p++) want[e] += (double)x[e / N * k + p] * w.values[e % N * k + p];
        }
        desk d = desk_open(hone_codes_linear_needs(&w.codes, ROWS), 2);
        hone_codes_linear(&d.call, &w.codes, ROWS, x, bias, 0, tiles);
        desk_close(&d);
        assert_true(distance(tiles, want, ROWS * N) < 2e-6);
        for (int64_t m = 1; m <= HONE_MATVEC_MOST_ROWS; m++) {
            d = desk_open(hone_codes_linear_needs(&w.codes, m), 3);
            hone_codes_linear(&d.call, &w.codes, m, x, bias, 0, vectors);
            desk_close(&d);
            assert_true(distance(vectors, want, m * N) < 4e-6);
        }
        hone_free(x);
        hone_free(bias);
        hone_free(tiles);
        hone_free(vectors);
        hone_free(want);
        weight_close(&w);
    }
}

static void vectors_agree_with_tiles(void **state) {
    (void)state;
    with_each_table(check_vectors);
}

// --- refusals --------------------------------------------------------------------------------------------------------

// The first tensors of an operator's call, by type only; integers stand behind them.
static hone_status infer(const char *name, const hone_tensor *tensors, size_t count, int64_t integer,
                         hone_error *error) {
    hone_operand operands[8] = {0};
    hone_tensor output = {0};
    for (size_t i = 0; i < count; i++)
        operands[i] = (hone_operand){.kind = HONE_ARGUMENT_TENSOR, .tensors = &tensors[i], .count = 1};
    operands[count] = (hone_operand){.kind = HONE_ARGUMENT_INTEGER, .integer = integer, .real = (double)integer};
    const hone_op *const op = hone_op_find(name);
    assert_non_null(op);
    const hone_op_call call = {
        .op = op, .operands = operands, .operand_count = 8, .outputs = &output, .output_count = 1};
    return op->infer(&call, error);
}

static void assert_refused(const char *name, hone_tensor_type a, hone_tensor_type b, hone_tensor_type c, size_t count,
                           const char *text) {
    const hone_tensor tensors[3] = {{.type = a}, {.type = b}, {.type = c}};
    hone_error error = {0};
    assert_int_equal(infer(name, tensors, count, 32, &error), HONE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, name));
    if (!strstr(error.message, text)) fail_msg("\"%s\" does not say \"%s\"", error.message, text);
}

static hone_tensor_type type2(hone_dtype dtype, int64_t rows, int64_t columns) {
    return hone_type(dtype, 2, rows, columns);
}

static void wrong_shapes_are_refused_in_words(void **state) {
    (void)state;
    const hone_tensor_type f = type2(HONE_DTYPE_F32, 3, 64), none = {0};
    const hone_tensor_type codes = type2(HONE_DTYPE_U8, 10, 32), scales = type2(HONE_DTYPE_F32, 2, 10);
    assert_refused("aten::mm", f, f, none, 2, "f32[3,64] and f32[3,64] do not fit");
    assert_refused("aten::mm", type2(HONE_DTYPE_F16, 3, 3), f, none, 2, "'self' must be f32, not f16[3,3]");
    assert_refused("aten::mm", hone_type(HONE_DTYPE_F32, 1, (int64_t)3), f, none, 2, "'self' must have 2 dimensions");
    assert_refused("aten::mm", f, type2(HONE_DTYPE_I32, 64, 3), none, 2, "must be f32, f16 or bf16, not i32[64,3]");
    assert_refused("aten::linear", f, type2(HONE_DTYPE_F32, 5, 63), none, 2, "differ in length");
    assert_refused("hone::linear_add", f, f, f, 3, "base f32[3,64]");
    assert_refused("et_vk::linear_dW", f, type2(HONE_DTYPE_F32, 4, 2), none, 2, "as many rows");
    assert_refused("aten::bmm", f, f, none, 2, "'self' must have 3 dimensions");
    assert_refused("et_vk::linear_q4gsw", f, type2(HONE_DTYPE_U8, 10, 31), scales, 3, "rows of 64 columns");
    assert_refused("et_vk::linear_q4gsw", f, codes, type2(HONE_DTYPE_F32, 3, 10), 3, "must have 2 groups");
    assert_refused("et_vk::linear_q4gsw", f, codes, type2(HONE_DTYPE_F32, 2, 9), 3, "at least 10 rows'");
    assert_refused("et_vk::linear_q4gsw", f, codes, type2(HONE_DTYPE_BF16, 2, 10), 3, "must be f32 or f16");
    assert_refused("et_vk::linear_q4gsw", f, type2(HONE_DTYPE_F32, 10, 32), scales, 3, "'weights' must be u8");
    assert_refused("et_vk::linear_q4gsw_backward", f, codes, scales, 3, "rows of d_out f32[3,64]");

    const hone_tensor tensors[3] = {{.type = f}, {.type = codes}, {.type = scales}};
    hone_error error = {0};
    assert_int_equal(infer("et_vk::linear_q4gsw", tensors, 3, 0, &error), HONE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "group_size must be positive"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgemm_is_right_with_each_table),
        cmocka_unit_test(wrong_tables_are_switched_off),
        cmocka_unit_test(sgemm_may_run_on_several_threads_at_once),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(codes_decode_to_the_bit),
        cmocka_unit_test(vectors_agree_with_tiles),
        cmocka_unit_test(wrong_shapes_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
