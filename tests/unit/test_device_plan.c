// SPDX-License-Identifier: Apache-2.0
// Plans and programs on small graphs: dead code, places, views, writing in place, segments, gradients, own operators.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/plan.h"

typedef struct bench {
    hone_device *device;
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program;
    hone_buffer *buffer; // states of 1 KiB each
    hone_error error;
} bench;

#define SLOT 1024

#define must(b, call)                                                                                                  \
    do {                                                                                                               \
        const hone_status must_status = (call);                                                                        \
        if (must_status != HONE_OK) fail_msg("%s: %s", #call, (b)->error.message);                                     \
    } while (0)

static void start(bench *b) {
    *b = (bench){0};
    must(b, hone_device_open(&(hone_device_description){"cpu", 2}, &b->device, &b->error));
    must(b, hone_graph_create(&b->graph, &b->error));
    must(b, hone_buffer_create(b->device, 16 * SLOT, "states", &b->buffer, &b->error));
}

static void stop(bench *b) {
    hone_program_destroy(b->program);
    hone_plan_destroy(b->plan);
    hone_graph_destroy(b->graph);
    hone_buffer_destroy(b->buffer);
    hone_device_close(b->device);
}

static hone_value state(bench *b, int slot, hone_tensor_type type) {
    return hone_graph_state(b->graph, "state", type, b->buffer, (size_t)slot * SLOT);
}

static void make(bench *b, const hone_plan_options *options) {
    must(b, hone_graph_status(b->graph, &b->error));
    must(b, hone_plan_create(b->graph, options, &b->plan, &b->error));
    must(b, hone_program_create(b->device, b->plan, NULL, &b->program, &b->error));
}

static void run(bench *b, int segment, const double *live, size_t count) {
    must(b, hone_program_submit(b->program, segment, live, count, &b->error));
    must(b, hone_program_wait(b->program, &b->error));
}

static void write_floats(bench *b, int slot, const float *values, size_t count) {
    must(b, hone_buffer_upload(b->buffer, (size_t)slot * SLOT, values, count * sizeof(float), &b->error));
}

static void read_slot(bench *b, int slot, float *values, size_t count) {
    must(b, hone_buffer_download(b->buffer, (size_t)slot * SLOT, values, count * sizeof(float), &b->error));
}

static void read_value(bench *b, hone_value value, float *values, size_t count) {
    hone_buffer *buffer;
    size_t offset;
    must(b, hone_program_locate(b->program, value, &buffer, &offset, &b->error));
    must(b, hone_buffer_download(buffer, offset, values, count * sizeof(float), &b->error));
}

// Two temporaries that live at the same time must not share a byte.
static void check_places(const hone_plan *plan) {
    for (uint32_t v = 1; v < plan->value_count; v++) {
        const hone_plan_value *const a = &plan->values[v];
        if (a->storage != HONE_STORAGE_TEMPORARY || a->root != v) continue;
        assert_true(a->offset % HONE_BUFFER_ALIGNMENT == 0);
        assert_true(a->offset + a->bytes <= plan->bytes.temporaries);
        for (uint32_t w = v + 1; w < plan->value_count; w++) {
            const hone_plan_value *const c = &plan->values[w];
            if (c->storage != HONE_STORAGE_TEMPORARY || c->root != w) continue;
            const bool together = a->first <= c->last && c->first <= a->last;
            const bool overlap = a->offset < c->offset + c->bytes && c->offset < a->offset + a->bytes;
            assert_false(together && overlap);
        }
    }
}

static void test_what_nobody_needs_is_dropped(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    const hone_value x = state(&b, 0, hone_type(HONE_DTYPE_F32, 1, (int64_t)4));
    hone_emit(b.graph, "aten::exp", HONE_T(x));
    const hone_value y = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(x), HONE_R(3));
    hone_graph_keep(b.graph, y);
    make(&b, NULL);
    assert_int_equal(hone_plan_measure(b.plan).nodes, 1);
    write_floats(&b, 0, (const float[]){1, 2, 3, 4}, 4);
    run(&b, 0, NULL, 0);
    float out[4];
    read_value(&b, y, out, 4);
    assert_memory_equal(out, ((const float[]){3, 6, 9, 12}), sizeof(out));
    stop(&b);
}

static void test_chains_are_written_in_place(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    hone_value x = hone_emit(b.graph, "aten::mul.Scalar",
                             HONE_T(state(&b, 0, hone_type(HONE_DTYPE_F32, 1, (int64_t)200))), HONE_R(2));
    for (int i = 0; i < 10; i++) x = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(x), HONE_R(1.5));
    hone_graph_keep(b.graph, x);
    make(&b, NULL);
    check_places(b.plan);
    assert_int_equal(hone_plan_measure(b.plan).temporaries, 1024);
    stop(&b);
}

static void test_a_value_that_is_read_later_is_not_overwritten(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    const hone_value x = hone_emit(b.graph, "aten::mul.Scalar",
                                   HONE_T(state(&b, 0, hone_type(HONE_DTYPE_F32, 1, (int64_t)4))), HONE_R(2));
    const hone_value y = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(x), HONE_R(10));
    const hone_value z = hone_emit(b.graph, "aten::add.Tensor", HONE_T(x), HONE_T(y));
    hone_graph_keep(b.graph, z);
    make(&b, NULL);
    check_places(b.plan);
    write_floats(&b, 0, (const float[]){1, 2, 3, 4}, 4);
    run(&b, 0, NULL, 0);
    float out[4];
    read_value(&b, z, out, 4);
    assert_memory_equal(out, ((const float[]){22, 44, 66, 88}), sizeof(out));
    stop(&b);
}

static void test_a_view_of_changing_state_is_a_copy(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    const hone_value s = state(&b, 0, hone_type(HONE_DTYPE_F32, 1, (int64_t)4));
    const int64_t size[] = {2, 2};
    const hone_value v = hone_emit(b.graph, "aten::view_copy", HONE_T(s), HONE_IS(size, 2));
    hone_emit(b.graph, "hone::accumulate_", HONE_T(s), HONE_T(s));
    const hone_value y = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(v), HONE_R(1));
    hone_graph_keep(b.graph, y);
    make(&b, NULL);
    write_floats(&b, 0, (const float[]){1, 2, 3, 4}, 4);
    run(&b, 0, NULL, 0);
    float out[4];
    read_value(&b, y, out, 4);
    assert_memory_equal(out, ((const float[]){1, 2, 3, 4}), sizeof(out));
    read_slot(&b, 0, out, 4);
    assert_memory_equal(out, ((const float[]){2, 4, 6, 8}), sizeof(out));
    stop(&b);
}

static void test_a_repeating_segment_reads_the_same_bytes_each_time(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 1, (int64_t)4);
    const hone_value total = state(&b, 1, type);
    const hone_value x = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(state(&b, 0, type)), HONE_R(2));
    assert_int_equal(hone_graph_segment(b.graph, true), 1);
    // x dies here in the order of nodes, so it would be overwritten if the segment ran only once.
    hone_value y = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(x), HONE_LIVE(0));
    y = hone_emit(b.graph, "aten::mul.Scalar", HONE_T(y), HONE_R(10));
    hone_emit(b.graph, "hone::accumulate_", HONE_T(total), HONE_T(y));
    make(&b, NULL);
    check_places(b.plan);
    write_floats(&b, 0, (const float[]){1, 2, 3, 4}, 4);
    run(&b, 0, NULL, 0);
    for (int i = 1; i <= 3; i++) run(&b, 1, (const double[]){i}, 1);
    float out[4];
    read_slot(&b, 1, out, 4);
    assert_memory_equal(out, ((const float[]){120, 240, 360, 480}), sizeof(out)); // 2 x 10 (1 + 2 + 3)
    assert_int_equal(hone_program_submit(b.program, 2, NULL, 0, &b.error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_program_submit(b.program, 1, NULL, 0, &b.error),
                     HONE_INVALID_ARGUMENT); // its live number is missing
    stop(&b);
}

// exp(x) * x + x in each mode of recomputation: the same gradient, fewer kept bytes.
static void test_recomputation_gives_the_same_gradient(void **unused) {
    (void)unused;
    float expected[64] = {0};
    for (int mode = HONE_RECOMPUTE_CHEAP; mode <= HONE_RECOMPUTE_LAYERS; mode++) {
        bench b;
        start(&b);
        const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 1, (int64_t)64);
        const hone_value x = state(&b, 0, type);
        hone_value h = x;
        for (int layer = 0; layer < 4; layer++) {
            hone_graph_checkpoint(b.graph, h);
            const hone_value e = hone_emit(b.graph, "aten::sigmoid", HONE_T(h));
            h = hone_emit(b.graph, "aten::add.Tensor",
                          HONE_T(hone_emit(b.graph, "aten::mul.Tensor", HONE_T(e), HONE_T(h))), HONE_T(h));
        }
        const size_t first_backward = hone_graph_node_count(b.graph);
        const hone_value seed = state(&b, 1, type);
        hone_value gradient;
        must(&b, hone_graph_gradients(b.graph, &h, &seed, 1, &x, 1, NULL, &gradient, &b.error));
        hone_graph_keep(b.graph, gradient);
        make(&b, &(hone_plan_options){mode, first_backward});
        check_places(b.plan);
        if (mode == HONE_RECOMPUTE_LAYERS) assert_true(hone_plan_measure(b.plan).recomputed > 0);
        if (mode == HONE_RECOMPUTE_NONE) assert_int_equal(hone_plan_measure(b.plan).recomputed, 0);
        float values[64], ones[64], out[64];
        for (int i = 0; i < 64; i++) {
            values[i] = (float)(i - 32) / 8;
            ones[i] = 1;
        }
        write_floats(&b, 0, values, 64);
        write_floats(&b, 1, ones, 64);
        run(&b, 0, NULL, 0);
        read_value(&b, gradient, out, 64);
        if (mode == HONE_RECOMPUTE_CHEAP) {
            memcpy(expected, out, sizeof(out));
            assert_true(out[40] > 1);
        } else {
            assert_memory_equal(out, expected, sizeof(out));
        }
        stop(&b);
    }
}

static void test_gradients_go_into_state_and_add_up(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    const hone_value x = state(&b, 0, hone_type(HONE_DTYPE_F32, 2, (int64_t)3, (int64_t)2));
    const hone_value w = state(&b, 1, hone_type(HONE_DTYPE_F32, 2, (int64_t)1, (int64_t)2));
    const hone_value into = state(&b, 2, hone_type(HONE_DTYPE_F32, 2, (int64_t)1, (int64_t)2));
    const hone_value y = hone_emit(b.graph, "aten::linear", HONE_T(x), HONE_T(w));
    const hone_value seed = state(&b, 3, hone_type(HONE_DTYPE_F32, 2, (int64_t)3, (int64_t)1));
    hone_value gradient;
    const size_t first_backward = hone_graph_node_count(b.graph);
    must(&b, hone_graph_gradients(b.graph, &y, &seed, 1, &w, 1, &into, &gradient, &b.error));
    make(&b, &(hone_plan_options){HONE_RECOMPUTE_CHEAP, first_backward});
    write_floats(&b, 0, (const float[]){1, 2, 3, 4, 5, 6}, 6);
    write_floats(&b, 2, (const float[]){100, 200}, 2);
    write_floats(&b, 3, (const float[]){1, 1, 2}, 3);
    run(&b, 0, NULL, 0);
    run(&b, 0, NULL, 0);
    float out[2];
    read_slot(&b, 2, out, 2);
    assert_memory_equal(out, ((const float[]){128, 236}), sizeof(out)); // 100 + 2 (1 + 3 + 10), 200 + 2 (2 + 4 + 12)
    assert_int_equal(hone_plan_measure(b.plan).nodes, 1);               // neither y nor the plain product is read
    stop(&b);
}

static void test_failures_stick_and_say_where(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    const hone_value x = state(&b, 0, hone_type(HONE_DTYPE_F32, 2, (int64_t)3, (int64_t)2));
    hone_graph_label(b.graph, "blk.7");
    const hone_value bad = hone_emit(b.graph, "aten::mm", HONE_T(x), HONE_T(x));
    assert_int_equal(bad.id, 0);
    assert_int_equal(hone_emit(b.graph, "aten::exp", HONE_T(bad)).id, 0);
    assert_int_equal(hone_graph_status(b.graph, &b.error), HONE_INVALID_ARGUMENT);
    assert_non_null(strstr(b.error.message, "blk.7"));
    assert_non_null(strstr(b.error.message, "aten::mm"));
    assert_int_equal(hone_plan_create(b.graph, NULL, &b.plan, &b.error), HONE_INVALID_ARGUMENT);
    stop(&b);
    start(&b);
    hone_emit(b.graph, "aten::nothing_of_the_kind", HONE_I(1));
    assert_int_equal(hone_graph_status(b.graph, &b.error), HONE_NOT_FOUND);
    stop(&b);
}

// An operator that the library does not know: y = x^3.
static hone_status cube_infer(const hone_op_call *call, hone_error *error) {
    (void)error;
    call->outputs[0].type = call->operands[0].tensors[0].type;
    return HONE_OK;
}
static void cube_cpu(const hone_op_call *call) {
    const float *const x = call->operands[0].tensors[0].data;
    float *const y = call->outputs[0].data;
    for (int64_t i = 0; i < hone_type_elements(&call->outputs[0].type); i++) y[i] = x[i] * x[i] * x[i];
}
static hone_status cube_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const hone_value x = hone_node_input(call->node, 0);
    const hone_value square = hone_emit(call->graph, "aten::mul.Tensor", HONE_T(x), HONE_T(x));
    const hone_value slope = hone_emit(call->graph, "aten::mul.Scalar", HONE_T(square), HONE_R(3));
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::mul.Tensor", HONE_T(slope), HONE_T(call->output_gradients[0]));
    return HONE_OK;
}
static const hone_op cube = {
    .schema = "test::cube(Tensor self) -> Tensor", .infer = cube_infer, .cpu = cube_cpu, .gradient = cube_gradient};

static void test_an_own_operator_runs_and_trains(void **unused) {
    (void)unused;
    bench b;
    start(&b);
    must(&b, hone_op_register(&cube, &b.error));
    const hone_value x = state(&b, 0, hone_type(HONE_DTYPE_F32, 1, (int64_t)2));
    const hone_value y = hone_emit(b.graph, "test::cube", HONE_T(x));
    const hone_value seed = state(&b, 1, hone_type(HONE_DTYPE_F32, 1, (int64_t)2));
    hone_value gradient;
    must(&b, hone_graph_gradients(b.graph, &y, &seed, 1, &x, 1, NULL, &gradient, &b.error));
    hone_graph_keep(b.graph, y);
    hone_graph_keep(b.graph, gradient);
    make(&b, NULL);
    write_floats(&b, 0, (const float[]){2, -3}, 2);
    write_floats(&b, 1, (const float[]){1, 10}, 2);
    run(&b, 0, NULL, 0);
    float out[2];
    read_value(&b, y, out, 2);
    assert_memory_equal(out, ((const float[]){8, -27}), sizeof(out));
    read_value(&b, gradient, out, 2);
    assert_memory_equal(out, ((const float[]){12, 270}), sizeof(out));
    stop(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_nobody_needs_is_dropped),
        cmocka_unit_test(test_chains_are_written_in_place),
        cmocka_unit_test(test_a_value_that_is_read_later_is_not_overwritten),
        cmocka_unit_test(test_a_view_of_changing_state_is_a_copy),
        cmocka_unit_test(test_a_repeating_segment_reads_the_same_bytes_each_time),
        cmocka_unit_test(test_recomputation_gives_the_same_gradient),
        cmocka_unit_test(test_gradients_go_into_state_and_add_up),
        cmocka_unit_test(test_failures_stick_and_say_where),
        cmocka_unit_test(test_an_own_operator_runs_and_trains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
