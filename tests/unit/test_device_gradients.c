// SPDX-License-Identifier: Apache-2.0
// Where gradients go: into states, also of outputs that no operator reads, and through layers of several kinds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hone/hone.h>
#include <math.h>
#include <string.h>

#define MOST 1024

static hone_device *device;
static hone_error error;

static hone_buffer *buffer_of(const void *data, size_t bytes) {
    hone_buffer *buffer = NULL;
    assert_int_equal(hone_buffer_create(device, bytes, "a test's", &buffer, &error), HONE_OK);
    assert_int_equal(hone_buffer_upload(buffer, 0, data, bytes, &error), HONE_OK);
    return buffer;
}

static hone_buffer *filled(float value, size_t count) {
    float values[MOST];
    for (size_t i = 0; i < count; i++) values[i] = value;
    return buffer_of(values, count * sizeof(float));
}

static float first_of(hone_buffer *buffer) {
    float value;
    assert_int_equal(hone_buffer_download(buffer, 0, &value, sizeof(value), &error), HONE_OK);
    return value;
}

static void run(hone_graph *graph, hone_plan **plan, hone_program **program) {
    assert_int_equal(hone_plan_create(graph, NULL, plan, &error), HONE_OK);
    assert_int_equal(hone_program_create(device, *plan, NULL, program, &error), HONE_OK);
    assert_int_equal(hone_program_submit(*program, 0, NULL, 0, &error), HONE_OK);
    assert_int_equal(hone_program_wait(*program, &error), HONE_OK);
}

// y = tanh(x) with seed g: x gets g (1 - y^2) and y, which nothing reads, gets g itself.
static void test_an_output_that_nothing_reads(void **state) {
    (void)state;
    enum { X, SEED, INTO_X, INTO_Y, COUNT };
    static const float values[COUNT] = {0.5f, 3, 0.25f, 0.75f};
    const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 1, (int64_t)2);
    hone_buffer *buffers[COUNT];
    hone_value v[COUNT], gradients[2];
    hone_graph *graph;
    assert_int_equal(hone_graph_create(&graph, &error), HONE_OK);
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = filled(values[i], 2);
        v[i] = hone_graph_state(graph, "v", type, buffers[i], 0);
    }
    const hone_value y = hone_emit(graph, "aten::tanh", HONE_T(v[X]));
    const hone_value wrt[] = {v[X], y}, into[] = {v[INTO_X], v[INTO_Y]};
    assert_int_equal(hone_graph_gradients(graph, &y, &v[SEED], 1, wrt, 2, into, gradients, &error), HONE_OK);
    hone_graph_keep(graph, gradients[1]);
    hone_plan *plan;
    hone_program *program = NULL;
    run(graph, &plan, &program);
    const double t = tanh(0.5);
    assert_float_equal(first_of(buffers[INTO_X]), 0.25 + 3 * (1 - t * t), 1e-5);
    assert_float_equal(first_of(buffers[INTO_Y]), 0.75 + 3, 1e-6);
    hone_buffer *where;
    size_t offset;
    assert_int_equal(hone_program_locate(program, gradients[1], &where, &offset, &error), HONE_OK);
    assert_ptr_equal(where, buffers[SEED]);
    hone_program_destroy(program);
    hone_plan_destroy(plan);
    hone_graph_destroy(graph);
    for (int i = 0; i < COUNT; i++) hone_buffer_destroy(buffers[i]);
}

// x is read by a layer in codes without a LoRA, whose weight is -1 throughout, and by a dense one of another type, 0.5:
// each of 32 outputs hands back -1 + 0.5.
static void dense_beside_codes(hone_dtype dtype, bool dense_first) {
    enum { N = 32 };
    const hone_tensor_type rows = hone_type(HONE_DTYPE_F32, 2, (int64_t)3, (int64_t)N);
    unsigned char codes[N * N / 2];
    uint16_t halves[N * N];
    memset(codes, 0, sizeof(codes)); // 0 - 8
    for (size_t i = 0; i < N * N; i++) halves[i] = dtype == HONE_DTYPE_F16 ? 0x3800 : 0x3f00;
    hone_buffer *const buffers[] = {
        filled(1, 3 * N),  buffer_of(codes, sizeof(codes)),
        filled(0.125f, N), dtype == HONE_DTYPE_F32 ? filled(0.5f, N * N) : buffer_of(halves, sizeof(halves)),
        filled(1, 3 * N),  filled(0, 3 * N)};
    hone_graph *graph;
    assert_int_equal(hone_graph_create(&graph, &error), HONE_OK);
    const hone_value x = hone_graph_state(graph, "x", rows, buffers[0], 0);
    const hone_value weights =
        hone_graph_constant(graph, "codes", hone_type(HONE_DTYPE_U8, 2, (int64_t)N, (int64_t)N / 2), buffers[1], 0);
    const hone_value scales =
        hone_graph_constant(graph, "scales", hone_type(HONE_DTYPE_F32, 2, (int64_t)1, (int64_t)N), buffers[2], 0);
    const hone_value dense =
        hone_graph_constant(graph, "dense", hone_type(dtype, 2, (int64_t)N, (int64_t)N), buffers[3], 0);
    const hone_value seed = hone_graph_state(graph, "seed", rows, buffers[4], 0);
    const hone_value into = hone_graph_state(graph, "into", rows, buffers[5], 0);
    hone_value layers[2];
    for (int i = 0; i < 2; i++)
        layers[i] = (i == 0) == dense_first ? hone_emit(graph, "aten::linear", HONE_T(x), HONE_T(dense))
                                            : hone_emit(graph, "hone::linear_lora", HONE_T(x), HONE_T(weights),
                                                        HONE_T(scales), HONE_NO, HONE_I(N));
    const hone_value y = hone_emit(graph, "aten::add.Tensor", HONE_T(layers[0]), HONE_T(layers[1]));
    hone_value gradient;
    assert_int_equal(hone_graph_gradients(graph, &y, &seed, 1, &x, 1, &into, &gradient, &error), HONE_OK);
    hone_plan *plan;
    hone_program *program = NULL;
    run(graph, &plan, &program);
    assert_float_equal(first_of(buffers[5]), N * (-1 + 0.5), 1e-5);
    hone_program_destroy(program);
    hone_plan_destroy(plan);
    hone_graph_destroy(graph);
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) hone_buffer_destroy(buffers[i]);
}

static void test_dense_matrices_beside_codes(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        dense_beside_codes(HONE_DTYPE_F32, first);
        dense_beside_codes(HONE_DTYPE_F16, first);
        dense_beside_codes(HONE_DTYPE_BF16, first);
    }
}

static int enter(void **state) {
    (void)state;
    return hone_device_open(&(hone_device_description){.name = "cpu"}, &device, &error) != HONE_OK;
}

static int leave(void **state) {
    (void)state;
    hone_device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_output_that_nothing_reads),
        cmocka_unit_test(test_dense_matrices_beside_codes),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
