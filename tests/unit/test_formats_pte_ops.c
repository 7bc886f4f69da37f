// SPDX-License-Identifier: Apache-2.0
// Operators and quirks of programs that no recorded program shows, in programs made by hand.
#include "support/scratch.h"

#include <math.h>

#include <hone/program.h>

#include "base/file.h"
#include "support/pte_maker.h"

static hone_device *device;

static int set_up(void **state) {
    (void)state;
    hone_error error;
    return hone_device_open(&(hone_device_description){.name = "cpu", .threads = 1}, &device, &error) != HONE_OK;
}
static int tear_down(void **state) {
    (void)state;
    hone_device_close(device);
    return 0;
}

typedef struct opened {
    hone_pte *pte;
    uint8_t *bytes;
    hone_tensor out[MADE_ITEMS];
} opened;

static hone_status try_open(const made_program *program, opened *o, hone_error *error) {
    size_t size;
    hone_source *source;
    *o = (opened){.bytes = made_file(program, &size)};
    OK(hone_memory_source(o->bytes, size, "made.pte", &source, &why));
    const hone_status status = hone_pte_open_source(device, source, NULL, &o->pte, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

static opened open_made(const made_program *program) {
    opened o;
    if (try_open(program, &o, &why) != HONE_OK) fail_msg("%s", why.message);
    return o;
}
static void close_made(opened *o) {
    hone_pte_close(o->pte);
    free(o->bytes);
}

static hone_tensor floats(const float *data, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t dims[4] = {a, b, c, d};
    return (hone_tensor){.type = hone_type_of(HONE_DTYPE_F32, rank, dims), .data = (void *)(uintptr_t)data};
}
static hone_tensor longs(const int64_t *data, int rank, int64_t a, int64_t b) {
    const int64_t dims[2] = {a, b};
    return (hone_tensor){.type = hone_type_of(HONE_DTYPE_I64, rank, dims), .data = (void *)(uintptr_t)data};
}

static hone_status call(opened *o, const hone_tensor *inputs, size_t count, hone_error *error) {
    return hone_pte_run(o->pte, inputs, count, o->out, hone_pte_output_count(o->pte), error);
}
static void run(opened *o, const hone_tensor *inputs, size_t count) {
    if (call(o, inputs, count, &why) != HONE_OK) fail_msg("%s", why.message);
}
static void gives(const hone_tensor *got, int64_t count, const float *wanted) {
    assert_int_equal(hone_type_elements(&got->type), count);
    for (int64_t i = 0; i < count; i++) {
        const float value = ((const float *)got->data)[i];
        if (!(fabsf(value - wanted[i]) <= 1e-5f * (1 + fabsf(wanted[i]))))
            fail_msg("element %d is %g, not %g", (int)i, value, wanted[i]);
    }
}
#define GIVES(got, ...)                                                                                                \
    gives((got), (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)), (const float[]){__VA_ARGS__})

// The outputs of a delegate as the method sees them in another element type.
static void widen(made_program *p, int value, int dtype) {
    p->method.values[value].dtype = dtype;
}

// --- numbers and indices --------------------------------------------------------------------------------------------

static void whole_numbers_go_in_and_out_as_i64(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 2, 3), n = MADE_I32(g, 2), dim = made_integer(g, 1), keep = made_boolean(g, false);
    const int most = MADE_I32(g, 2), sum = MADE_I32(g, 2), alpha = made_real(g, 1.0);
    MADE_CALL(g, "aten.argmax.default", x, dim, keep, most);
    MADE_CALL(g, "aten.add.Tensor", most, n, alpha, sum); // alpha as a float, as the exporter may have it
    made_input(g, x);
    made_input(g, n);
    made_output(g, sum);
    made_wrap(&p);
    widen(&p, 1, 4);
    widen(&p, 2, 4);
    opened o = open_made(&p);
    const float data[6] = {3, 9, 1, 7, 2, 5};
    const int64_t more[2] = {100, -200};
    run(&o, (hone_tensor[]){floats(data, 2, 2, 3, 0, 0), longs(more, 1, 2, 0)}, 2);
    assert_int_equal(o.out[0].type.dtype, HONE_DTYPE_I64);
    assert_int_equal(((const int64_t *)o.out[0].data)[0], 101);
    assert_int_equal(((const int64_t *)o.out[0].data)[1], -200);
    close_made(&o);
}

static void indices_may_count_from_the_end(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 2, 3, 2), i = MADE_I32(g, 2, 2), j = MADE_I32(g, 2), none = made_nothing(g);
    const int64_t one[2] = {none, i}, two[2] = {j, j};
    const int first = made_list(g, 2, one), second = made_list(g, 2, two);
    const int a = MADE_F32(g, 2, 2, 2, 2), b = MADE_F32(g, 2, 2);
    MADE_CALL(g, "aten.index.Tensor", x, first, a);
    MADE_CALL(g, "aten.index.Tensor", x, second, b);
    made_input(g, x);
    made_input(g, i);
    made_input(g, j);
    made_output(g, a);
    made_output(g, b);
    made_wrap(&p);
    opened o = open_made(&p);
    float data[12];
    for (int k = 0; k < 12; k++) data[k] = (float)k;
    int64_t rows[4] = {0, -1, 2, 1}, pair[2] = {1, -2};
    const hone_tensor in[3] = {floats(data, 3, 2, 3, 2, 0), longs(rows, 2, 2, 2), longs(pair, 1, 2, 0)};
    run(&o, in, 3);
    GIVES(&o.out[0], 0, 1, 4, 5, 4, 5, 2, 3, 6, 7, 10, 11, 10, 11, 8, 9);
    GIVES(&o.out[1], 8, 9, 2, 3); // x[1][1], x[-2][-2]
    rows[0] = 3;
    hone_error error;
    assert_int_equal(call(&o, in, 3, &error), HONE_BAD_DATA);
    rows[0] = -4;
    assert_int_equal(call(&o, in, 3, &error), HONE_BAD_DATA);
    close_made(&o);
}

static void computed_indices_are_noticed(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int table = MADE_F32(g, 3, 2), i = MADE_I32(g, 2), n = MADE_I32(g, 2), alpha = made_integer(g, 1);
    const int sum = MADE_I32(g, 2), padding = made_integer(g, -1), no = made_boolean(g, false);
    const int out = MADE_F32(g, 2, 2);
    const float rows[6] = {0, 1, 2, 3, 4, 5};
    made_constant(&p, g, table, rows, sizeof rows);
    MADE_CALL(g, "aten.add.Tensor", i, n, alpha, sum);
    MADE_CALL(g, "aten.embedding.default", table, sum, padding, no, no, out);
    made_input(g, i);
    made_input(g, n);
    made_output(g, out);
    made_wrap(&p);
    opened o = open_made(&p);
    int64_t a[2] = {0, 1}, b[2] = {1, 1};
    run(&o, (hone_tensor[]){longs(a, 1, 2, 0), longs(b, 1, 2, 0)}, 2);
    GIVES(&o.out[0], 2, 3, 4, 5);
    b[1] = 2;
    hone_error error;
    assert_int_equal(call(&o, (hone_tensor[]){longs(a, 1, 2, 0), longs(b, 1, 2, 0)}, 2, &error), HONE_BAD_DATA);
    assert_non_null(strstr(error.message, "computes"));
    close_made(&o);
}

// --- shapes that a program computes ---------------------------------------------------------------------------------

static void sizes_are_computed(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 8, 3), zero = made_integer(g, 0), three = made_integer(g, 3), rows = made_symbol(g);
    const int all = made_symbol(g), half = made_symbol(g), two = made_integer(g, 2), rest = made_symbol(g);
    const int minus = made_integer(g, -1);
    MADE_CALL(g, "sym_size.int", x, zero, rows);
    MADE_CALL(g, "mul", rows, three, all);
    MADE_CALL(g, "floordiv", all, two, half);
    MADE_CALL(g, "sub", all, half, rest);
    MADE_CALL(g, "add", rest, half, all); // again all of them
    const int64_t sizes[2] = {all, minus};
    const int shape = made_list(g, 2, sizes), out = MADE_F32(g, 24, 1);
    MADE_CALL(g, "aten.view_copy.default", x, shape, out);
    made_input(g, x);
    made_output(g, out);
    made_wrap(&p);
    p.method.values[0].bounded = true;
    opened o = open_made(&p);
    float data[24];
    for (int i = 0; i < 24; i++) data[i] = (float)i;
    for (int64_t n = 8; n > 0; n -= 3) {
        run(&o, (hone_tensor[]){floats(data, 2, n, 3, 0, 0)}, 1);
        assert_int_equal(o.out[0].type.dims[0], 3 * n);
        gives(&o.out[0], 3 * n, data);
    }
    close_made(&o);
}

static void a_number_in_an_input_may_place_a_slice(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 6), place = MADE_I32(g, 1), zero = made_integer(g, 0), two = made_integer(g, 2);
    const int start = made_symbol(g), end = made_symbol(g), one = made_integer(g, 1), out = MADE_F32(g, 2);
    MADE_CALL(g, "et_vk.select_as_symint.default", place, zero, zero, start);
    MADE_CALL(g, "add", start, two, end);
    MADE_CALL(g, "aten.slice_copy.Tensor", x, zero, start, end, one, out);
    made_input(g, x);
    made_input(g, place);
    made_output(g, out);
    made_wrap(&p);
    widen(&p, 1, 4);
    opened o = open_made(&p);
    const float data[6] = {0, 1, 2, 3, 4, 5};
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < 5; i++) {
            run(&o, (hone_tensor[]){floats(data, 1, 6, 0, 0, 0), longs(&i, 1, 1, 0)}, 2);
            GIVES(&o.out[0], (float)i, (float)i + 1);
        }
    }
    assert_int_equal(hone_pte_measure(o.pte).plans, 5);
    const int64_t beyond = 5;
    hone_error error;
    assert_int_not_equal(call(&o, (hone_tensor[]){floats(data, 1, 6, 0, 0, 0), longs(&beyond, 1, 1, 0)}, 2, &error),
                         HONE_OK);
    close_made(&o);
}

// At [0, .., index, .., 0] of any shape, also seen through views; but never of what the program computes.
static void a_number_may_stand_in_any_shape(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) { // as it is; seen as a vector; computed; a float
        made_program p = {0};
        made_graph *const g = &p.delegates[0];
        const uint32_t shape[2] = {2, 3};
        const int x = MADE_F32(g, 6), table = made_tensor(g, way == 3 ? 6 : 3, 2, shape), zero = made_integer(g, 0);
        const int one = made_integer(g, 1), start = made_symbol(g), end = made_symbol(g), out = MADE_F32(g, 1);
        const int six = made_integers(g, 1, (const int64_t[]){6}), flat = MADE_I32(g, 6), three = made_integer(g, 3);
        const int sum = MADE_I32(g, 2, 3);
        if (way == 1) MADE_CALL(g, "aten.view_copy.default", table, six, flat);
        if (way == 2) MADE_CALL(g, "aten.add.Tensor", table, table, one, sum);
        if (way == 1) MADE_CALL(g, "et_vk.select_as_symint.default", flat, zero, three, start);
        if (way != 1) MADE_CALL(g, "et_vk.select_as_symint.default", way == 2 ? sum : table, zero, one, start);
        MADE_CALL(g, "aten.sym_constrain_range.default", start);
        MADE_CALL(g, "add", start, one, end);
        MADE_CALL(g, "aten.slice_copy.Tensor", x, zero, start, end, one, out);
        made_input(g, x);
        made_input(g, table);
        made_output(g, out);
        made_wrap(&p);
        opened o;
        hone_error error;
        const hone_status status = try_open(&p, &o, &error);
        if (way >= 2) {
            assert_int_equal(status, HONE_UNSUPPORTED);
            assert_non_null(strstr(error.message, way == 2 ? "must stand in an input" : "input 1 holds floats"));
            free(o.bytes);
            continue;
        }
        if (status != HONE_OK) fail_msg("%s", error.message);
        const float data[6] = {0, 10, 20, 30, 40, 50};
        for (int32_t i = 0; i < 6; i++) { // element [1, 0] is the fourth
            const int32_t numbers[6] = {9, 9, 9, i, 9, 9};
            const hone_tensor given = {.type = hone_type(HONE_DTYPE_I32, 2, (int64_t)2, (int64_t)3),
                                       .data = (void *)(uintptr_t)numbers};
            run(&o, (hone_tensor[]){floats(data, 1, 6, 0, 0, 0), given}, 2);
            GIVES(&o.out[0], (float)i * 10);
        }
        close_made(&o);
    }
}

// --- operators made of others ---------------------------------------------------------------------------------------

static void tensors_of_one_number(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool like, filled;
        float wanted;
    } calls[] = {{"aten.full.default", false, true, 7},       {"aten.zeros.default", false, false, 0},
                 {"aten.ones.default", false, false, 1},      {"aten.full_like.default", true, true, 7},
                 {"aten.zeros_like.default", true, false, 0}, {"aten.ones_like.default", true, false, 1}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        made_program p = {0};
        made_graph *const g = &p.delegates[0];
        const int64_t sizes[2] = {2, 2};
        const int x = MADE_F32(g, 2, 2), shape = made_integers(g, 2, sizes), seven = made_integer(g, 7);
        const int none = made_nothing(g), no = made_boolean(g, false), out = MADE_F32(g, 2, 2);
        const int first = calls[i].like ? x : shape;
        if (calls[i].filled) {
            MADE_CALL(g, calls[i].name, first, seven, none, none, none, no, out);
        } else {
            MADE_CALL(g, calls[i].name, first, none, none, none, no, out);
        }
        made_input(g, x);
        made_output(g, out);
        made_wrap(&p);
        opened o = open_made(&p);
        const float data[4] = {0};
        const float w = calls[i].wanted;
        run(&o, (hone_tensor[]){floats(data, 2, 2, 2, 0, 0)}, 1);
        GIVES(&o.out[0], w, w, w, w);
        close_made(&o);
    }
}

static void ranges_grids_and_turned_matrices(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 2, 3), one = made_integer(g, 1), nine = made_integer(g, 9), three = made_integer(g, 3);
    const int none = made_nothing(g), no = made_boolean(g, false), range = MADE_F32(g, 3);
    const int stride = made_integer(g, 10), offset = made_real(g, 0.5), grid = MADE_F32(g, 6, 2);
    const int turned = MADE_F32(g, 3, 2), scalar = made_tensor(g, 6, 0, NULL);
    MADE_CALL(g, "aten.arange.start_step", one, nine, three, none, none, none, no, range);
    MADE_CALL(g, "et_vk.grid_priors.default", x, stride, offset, grid);
    MADE_CALL(g, "aten.t_copy.default", x, turned);
    MADE_CALL(g, "aten.scalar_tensor.default", nine, none, none, none, none, scalar);
    made_input(g, x);
    made_output(g, range);
    made_output(g, grid);
    made_output(g, turned);
    made_output(g, scalar);
    made_wrap(&p);
    opened o = open_made(&p);
    const float data[6] = {0, 1, 2, 3, 4, 5};
    run(&o, (hone_tensor[]){floats(data, 2, 2, 3, 0, 0)}, 1);
    GIVES(&o.out[0], 1, 4, 7);
    GIVES(&o.out[1], 5, 5, 15, 5, 25, 5, 5, 15, 15, 15, 25, 15);
    GIVES(&o.out[2], 0, 3, 1, 4, 2, 5);
    GIVES(&o.out[3], 9);
    close_made(&o);
}

static void weights_of_4_bits_with_a_scale_a_row(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 1, 4), w = made_tensor(g, 0, 2, MADE_DIMS(2, 2)), s = MADE_F32(g, 2);
    const int out = MADE_F32(g, 1, 2);
    const uint8_t codes[4] = {0x9a, 0x08, 0xf7, 0x98}; // rows 1 2 -8 0 and 7 -1 1 0: even columns in the high half
    const float scales[2] = {0.5f, 2};
    made_constant(&p, g, w, codes, sizeof codes);
    made_constant(&p, g, s, scales, sizeof scales);
    MADE_CALL(g, "et_vk.linear_qcs4w.default", x, w, s, out);
    made_input(g, x);
    made_output(g, out);
    made_wrap(&p);
    opened o = open_made(&p);
    const float data[4] = {1, 10, 100, 1000};
    run(&o, (hone_tensor[]){floats(data, 2, 1, 4, 0, 0)}, 1);
    GIVES(&o.out[0], 0.5f * (1 + 20 - 800), 2 * (7 - 10 + 100));
    close_made(&o);
}

static void a_norm_may_have_any_factor(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 2, 2), d = MADE_F32(g, 2, 2), eps = made_integer(g, 0), out = MADE_F32(g, 2, 2);
    MADE_CALL(g, "et_vk.rms_norm.default", x, d, eps, out);
    made_input(g, x);
    made_input(g, d);
    made_output(g, out);
    made_wrap(&p);
    opened o = open_made(&p);
    const float data[4] = {1, 7, 3, 4}, factor[4] = {1, 2, 3, 4};
    run(&o, (hone_tensor[]){floats(data, 2, 2, 2, 0, 0), floats(factor, 2, 2, 2, 0, 0)}, 2);
    GIVES(&o.out[0], 0.2f, 2.8f, 9 / sqrtf(12.5f), 16 / sqrtf(12.5f));
    close_made(&o);
}

static void halves_are_rounded_where_the_program_asks(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const g = &p.delegates[0];
    const int x = MADE_F32(g, 2), half = made_tensor(g, 5, 1, MADE_DIMS(2)), out = MADE_F32(g, 2);
    const int none = made_nothing(g);
    MADE_CALL(g, "aten._to_copy.default", x, none, half);
    MADE_CALL(g, "aten._to_copy.default", half, none, out);
    made_input(g, x);
    made_output(g, out);
    made_output(g, half);
    made_wrap(&p);
    opened o = open_made(&p);
    const float data[2] = {1.0001f, 2049};
    run(&o, (hone_tensor[]){floats(data, 1, 2, 0, 0, 0)}, 1);
    GIVES(&o.out[0], 1, 2048);
    assert_int_equal(o.out[1].type.dtype, HONE_DTYPE_F16);
    assert_int_equal(((const uint16_t *)o.out[1].data)[0], 0x3c00);
    close_made(&o);
}

// --- a cache --------------------------------------------------------------------------------------------------------

// One query after another against all keys at once: softmax over what came before.
static void attend(const float *q, const float *k, const float *v, int rows, float *out) {
    enum { D = 4 };
    for (int i = 0; i < rows; i++) {
        double sum = 0, weights[8];
        for (int j = 0; j <= i; j++) {
            double dot = 0;
            for (int d = 0; d < D; d++) dot += q[i * D + d] * k[j * D + d];
            sum += weights[j] = exp(dot / 2); // scale 1/sqrt(4)
        }
        for (int d = 0; d < D; d++) {
            double value = 0;
            for (int j = 0; j <= i; j++) value += weights[j] / sum * v[j * D + d];
            out[i * D + d] = (float)value;
        }
    }
}

static void attention_remembers(void **state) {
    (void)state;
    if (!hone_op_find("llama::sdpa_with_cache")) {
        print_message("skipped: no llama::sdpa_with_cache\n");
        return;
    }
    made_program p = {.named = true};
    made_graph *const g = &p.delegates[0];
    const float zeros[24] = {0};
    int in[3], cache[2], packed[2];
    for (int i = 0; i < 3; i++) in[i] = MADE_F32(g, 1, 1, 1, 4);
    for (int i = 0; i < 2; i++) {
        cache[i] = MADE_F32(g, 1, 6, 1, 4);
        made_constant(&p, g, cache[i], zeros, sizeof zeros);
        packed[i] = MADE_F32(g, 1, 6, 1, 4);
        MADE_CALL(g, "et_vk.prepack.default", cache[i], packed[i]);
    }
    const int place = MADE_I32(g, 1), start = made_symbol(g), zero = made_integer(g, 0), one = made_integer(g, 1);
    const int none = made_nothing(g), yes = made_boolean(g, true), out = MADE_F32(g, 1, 1, 1, 4);
    MADE_CALL(g, "et_vk.select_as_symint.default", place, zero, zero, start);
    MADE_CALL(g, "sdpa_with_kv_cache.default", in[0], in[1], in[2], packed[0], packed[1], start, one, none, zero, yes,
              none, out);
    for (int i = 0; i < 3; i++) made_input(g, in[i]);
    made_input(g, place);
    made_output(g, out);
    made_wrap(&p);
    opened o = open_made(&p);
    assert_int_equal(hone_pte_state_count(o.pte), 2);
    float q[24], k[24], v[24], wanted[24];
    for (int i = 0; i < 24; i++) {
        q[i] = (float)(i * 7 % 11) / 5 - 1;
        k[i] = (float)(i * 5 % 13) / 6 - 1;
        v[i] = (float)i;
    }
    attend(q, k, v, 6, wanted);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < 6; i++) {
            run(&o,
                (hone_tensor[]){floats(q + 4 * i, 4, 1, 1, 1, 4), floats(k + 4 * i, 4, 1, 1, 1, 4),
                                floats(v + 4 * i, 4, 1, 1, 1, 4), longs(&i, 1, 1, 0)},
                4);
            gives(&o.out[0], 4, wanted + 4 * i);
        }
        OK(hone_pte_reset(o.pte, &why));
    }
    close_made(&o);
}

// --- what is mutated ------------------------------------------------------------------------------------------------

// AdamW of parameters that are computed, or of an input that is returned as it was.
static void mutation_stays_where_it_belongs(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        made_program p = {0};
        made_graph *const g = &p.delegates[0];
        int32_t a[12];
        int64_t out[3];
        for (int i = 0; i < 4; i++) made_input(g, a[i] = MADE_F32(g, 1));
        const int doubled = MADE_F32(g, 1), one = made_integer(g, 1), parameter = a[0];
        if (way == 0) {
            MADE_CALL(g, "aten.add.Tensor", a[0], a[0], one, doubled);
            a[0] = doubled;
        }
        const double numbers[7] = {0.5, 0.9, 0.999, 0, 0, 1, 1};
        for (int i = 0; i < 7; i++) a[4 + i] = made_real(g, numbers[i]);
        for (int i = 0; i < 3; i++) out[i] = MADE_F32(g, 1);
        a[11] = made_list(g, 3, out);
        made_call_of(g, "adamw_step.default", "", 12, a);
        for (int i = 0; i < 3; i++) made_output(g, (int)out[i]);
        if (way == 1) { // the method looks at the input afterwards
            made_wrap(&p);
            made_graph *const m = &p.method;
            const int alpha = made_integer(m, 1), sum = MADE_F32(m, 1);
            MADE_KERNEL(m, "aten::add", "out", 0, 0, alpha, sum, sum);
            made_output(m, sum);
        } else {
            made_output(g, parameter);
            made_wrap(&p);
        }
        opened o = open_made(&p);
        assert_int_equal(hone_pte_state_count(o.pte), 0);
        for (int round = 0; round < 3; round++) {
            const float x = 3, m = 0, v = 0, d = 2;
            run(&o,
                (hone_tensor[]){floats(&x, 1, 1, 0, 0, 0), floats(&m, 1, 1, 0, 0, 0), floats(&v, 1, 1, 0, 0, 0),
                                floats(&d, 1, 1, 0, 0, 0)},
                4);
            // m = 0.2, v = 0.004, so the step is 0.5 * 0.2 / sqrt(0.004)
            GIVES(&o.out[0], (way == 0 ? 6 : 3) - 0.1f / sqrtf(0.004f));
            GIVES(&o.out[1], 0.2f);
            GIVES(&o.out[2], 0.004f);
            GIVES(&o.out[3], way == 0 ? 3.0f : 6.0f);
        }
        close_made(&o);
    }
}

// Beside delegates: a buffer that is read before anything writes it begins as zeros and stays.
static void buffers_of_the_method_stay(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const m = &p.method;
    const int x = MADE_F32(m, 2), buffer = MADE_F32(m, 2), one = made_integer(m, 1), sum = MADE_F32(m, 2);
    const int no = made_boolean(m, false), twice = MADE_F32(m, 2), two = made_real(m, 2);
    MADE_KERNEL(m, "aten::add", "out", buffer, x, one, sum, sum);
    MADE_KERNEL(m, "aten::mul", "Scalar_out", sum, two, twice, twice);
    MADE_KERNEL(m, "aten::copy_", "", buffer, sum, no, buffer);
    made_input(m, x);
    made_output(m, twice);
    made_output(m, x); // an input may come out as it went in
    opened o = open_made(&p);
    const float data[2] = {1, 10};
    for (int step = 1; step <= 3; step++) {
        run(&o, (hone_tensor[]){floats(data, 1, 2, 0, 0, 0)}, 1);
        GIVES(&o.out[0], 2 * (float)step, 20 * (float)step);
        GIVES(&o.out[1], 1, 10);
    }
    assert_int_equal(hone_pte_state_count(o.pte), 1);
    OK(hone_pte_reset(o.pte, &why));
    run(&o, (hone_tensor[]){floats(data, 1, 2, 0, 0, 0)}, 1);
    GIVES(&o.out[0], 2, 20);
    hone_error error;
    assert_int_equal(hone_pte_save(o.pte, "x.pte", &error), HONE_UNSUPPORTED);
    close_made(&o);
}

// The same delegate twice: x becomes buffer + x, and the buffer grows by one each time.
static void a_delegate_may_be_called_again(void **state) {
    (void)state;
    made_program p = {.named = true, .delegate_count = 1};
    made_graph *const g = &p.delegates[0], *const m = &p.method;
    const float start = 10, step = 1;
    const int buffer = MADE_F32(g, 1), one = MADE_F32(g, 1), x = MADE_F32(g, 1), alpha = made_integer(g, 1);
    const int packed = MADE_F32(g, 1), grown = MADE_F32(g, 1), out = MADE_F32(g, 1);
    made_constant(&p, g, buffer, &start, sizeof start);
    made_constant(&p, g, one, &step, sizeof step);
    MADE_CALL(g, "et_vk.prepack.default", buffer, packed);
    MADE_CALL(g, "et_vk.prepack.default", one, grown);
    MADE_CALL(g, "aten.add.Tensor", packed, x, alpha, out);
    MADE_CALL(g, "aten.add.Tensor", packed, grown, alpha, packed);
    made_input(g, x);
    made_output(g, out);
    const int first = MADE_F32(m, 1), second = MADE_F32(m, 1), third = MADE_F32(m, 1);
    m->calls[m->call_count++] = (made_call){.delegate = 0, .arguments = {first, second}, .count = 2};
    m->calls[m->call_count++] = (made_call){.delegate = 0, .arguments = {second, third}, .count = 2};
    made_input(m, first);
    made_output(m, second);
    made_output(m, third);
    opened o = open_made(&p);
    const float data = 100;
    for (int round = 0; round < 2; round++) {
        run(&o, (hone_tensor[]){floats(&data, 1, 1, 0, 0, 0)}, 1);
        GIVES(&o.out[0], 110 + 2 * (float)round);
        GIVES(&o.out[1], 121 + 4 * (float)round);
    }
    close_made(&o);
}

// A method without delegates, with lists of value numbers, constants and a number among its inputs.
static void kernels_run_alone(void **state) {
    (void)state;
    made_program p = {0};
    made_graph *const m = &p.method;
    const int x = MADE_F32(m, 2, 3), y = MADE_F32(m, 2, 3), given = made_integer(m, 5), zero = made_integer(m, 0);
    const float data[6] = {1, 1, 1, 2, 2, 2};
    made_constant(&p, m, y, data, sizeof data);
    const int64_t dims[1] = {zero}, parts[2] = {x, y};
    const int list = made_integers(m, 1, dims), tensors = made_list(m, 2, parts), none = made_nothing(m);
    const int keep = made_boolean(m, true), joined = MADE_F32(m, 4, 3), total = MADE_F32(m, 1, 3);
    const int mean = made_tensor(m, 6, 0, NULL);
    MADE_KERNEL(m, "aten::cat", "out", tensors, zero, joined, joined);
    MADE_KERNEL(m, "aten::sum", "IntList_out", joined, list, keep, none, total, total);
    MADE_KERNEL(m, "aten::mean", "dtype_out", joined, none, mean, mean);
    made_input(m, x);
    made_input(m, given);
    made_output(m, total);
    made_output(m, mean);
    made_output(m, y);
    opened o = open_made(&p);
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const int64_t five = 5, six = 6;
    run(&o, (hone_tensor[]){floats(values, 2, 2, 3, 0, 0), longs(&five, 0, 0, 0)}, 2);
    GIVES(&o.out[0], 8, 10, 12);
    GIVES(&o.out[1], 2.5f);
    GIVES(&o.out[2], 1, 1, 1, 2, 2, 2);
    hone_error error;
    assert_int_equal(call(&o, (hone_tensor[]){floats(values, 2, 2, 3, 0, 0), longs(&six, 0, 0, 0)}, 2, &error),
                     HONE_MISMATCH);
    assert_non_null(strstr(error.message, "made for 5"));
    close_made(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_go_in_and_out_as_i64),
        cmocka_unit_test(indices_may_count_from_the_end),
        cmocka_unit_test(computed_indices_are_noticed),
        cmocka_unit_test(sizes_are_computed),
        cmocka_unit_test(a_number_in_an_input_may_place_a_slice),
        cmocka_unit_test(a_number_may_stand_in_any_shape),
        cmocka_unit_test(tensors_of_one_number),
        cmocka_unit_test(ranges_grids_and_turned_matrices),
        cmocka_unit_test(weights_of_4_bits_with_a_scale_a_row),
        cmocka_unit_test(a_norm_may_have_any_factor),
        cmocka_unit_test(halves_are_rounded_where_the_program_asks),
        cmocka_unit_test(attention_remembers),
        cmocka_unit_test(mutation_stays_where_it_belongs),
        cmocka_unit_test(buffers_of_the_method_stay),
        cmocka_unit_test(a_delegate_may_be_called_again),
        cmocka_unit_test(kernels_run_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
