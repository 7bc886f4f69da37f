// SPDX-License-Identifier: Apache-2.0
// Programs through their public face: ports, calls, state, numbers, plans, late devices, saving.
#include "support/scratch.h"

#include <math.h>

#include <hone/program.h>

#include "device/null/null.h"
#include "formats/npy.h"
#include "support/pte_maker.h"

static hone_device *device;

static const char *vector_path(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/programs/vectors/%s", HONE_SOURCE_DIR, name);
    return path;
}

static hone_pte *open_vector(const char *name, const hone_pte_options *options) {
    char file[256];
    hone_pte *pte;
    snprintf(file, sizeof file, "%s/model.pte", name);
    OK(hone_pte_open(device, vector_path(file), options, &pte, &why));
    return pte;
}

static hone_tensor read_vector(const char *name, const char *array) {
    char file[256];
    hone_tensor tensor;
    snprintf(file, sizeof file, "%s/%s.npy", name, array);
    OK(hone_npy_read(vector_path(file), &tensor, &why));
    return tensor;
}

static float at(const hone_tensor *tensor, int64_t i) {
    return ((const float *)tensor->data)[i];
}

static void close_to(const hone_tensor *got, const char *name, const char *array) {
    hone_tensor wanted = read_vector(name, array);
    assert_true(hone_type_equal(&got->type, &wanted.type));
    for (int64_t i = 0; i < hone_type_elements(&got->type); i++) {
        if (!(fabsf(at(got, i) - at(&wanted, i)) <= 1e-5f + 1e-5f * fabsf(at(&wanted, i))))
            fail_msg("%s/%s: element %d is %g instead of %g", name, array, (int)i, at(got, i), at(&wanted, i));
    }
    hone_free(wanted.data);
}

static int set_up(void **state) {
    (void)state;
    hone_error error;
    return scratch_enter(state) ||
           hone_device_open(&(hone_device_description){.name = "null", .threads = 1}, &device, &error) != HONE_OK;
}
static int tear_down(void **state) {
    hone_device_close(device);
    return scratch_leave(state);
}

// --- look -----------------------------------------------------------------------------------------------------------

static void ports_are_told(void **state) {
    (void)state;
    hone_pte *const pte = open_vector("composite_mlp__buffers_6_8_3", NULL);
    size_t index = 7;
    assert_int_equal(hone_pte_input_count(pte), 2);
    assert_int_equal(hone_pte_output_count(pte), 3);
    assert_int_equal(hone_pte_input(pte, 1)->type.dtype, HONE_DTYPE_I64);
    assert_null(hone_pte_input(pte, 2));
    assert_true(hone_pte_find_input(pte, "input1", &index) && index == 1);
    assert_false(hone_pte_find_output(pte, "nobody", &index));
    assert_int_equal(hone_pte_state_count(pte), 12);
    assert_string_equal(hone_pte_state(pte, 0)->name, "delegate0.value0");
    assert_int_equal(hone_pte_scalar_count(pte), 8);
    assert_string_equal(hone_pte_scalar_at(pte, 0).name, "lr");
    assert_int_equal(hone_pte_scalar_at(pte, 0).places, 4);
    assert_true(hone_pte_scalar_at(pte, 0).uniform);
    hone_pte_close(pte);
    hone_pte *const mutated = open_vector("adamw_step__user_inputs_mutated", NULL);
    assert_true(hone_pte_input(mutated, 0)->mutated);
    assert_false(hone_pte_input(mutated, 3)->mutated);
    hone_pte_close(mutated);
    hone_pte *const shared = open_vector("adamw_step__buffers_alias_4x3", NULL);
    assert_int_equal(hone_pte_measure(shared).constants, 4);  // three times the same number, once on the device
    assert_int_equal(hone_pte_measure(shared).state, 3 * 48); // but m and v, both zeros, each for itself
    hone_pte_close(shared);
    hone_pte *const gradients = open_vector("composite_lora__grads_5x32x12_r4", NULL);
    assert_true(hone_pte_output_count(gradients) > 0);
    hone_pte_close(gradients);
    hone_pte *const rows = open_vector("dynamic_shape__linear_rows", NULL);
    assert_true(hone_pte_input(rows, 0)->bounded);
    hone_pte_close(rows);
}

// --- calls ----------------------------------------------------------------------------------------------------------

static hone_status run(hone_pte *pte, const hone_tensor *inputs, hone_tensor *outputs, hone_error *error) {
    hone_status status;
    do {
        status = hone_pte_run(pte, inputs, hone_pte_input_count(pte), outputs, hone_pte_output_count(pte), error);
    } while (status == HONE_PENDING);
    return status;
}

static void state_stays_and_can_be_reset(void **state) {
    (void)state;
    const char *const name = "mutable_buffer__ema_alias";
    hone_pte *const pte = open_vector(name, NULL);
    for (int round = 0; round < 2; round++) {
        for (int step = 0; step < 3; step++) {
            char in[32], out[32];
            hone_tensor result;
            snprintf(in, sizeof in, "in_%d_0", step);
            snprintf(out, sizeof out, "out_%d_0", step);
            hone_tensor input = read_vector(name, in);
            OK(run(pte, &input, &result, &why));
            close_to(&result, name, out);
            hone_free(input.data);
        }
        assert_int_equal(hone_pte_step(pte), 3);
        OK(hone_pte_reset(pte, &why));
        assert_int_equal(hone_pte_step(pte), 0);
    }
    hone_pte_close(pte);
}

static void state_is_read_and_written(void **state) {
    (void)state;
    hone_pte *const pte = open_vector("mutable_buffer__ema_alias", NULL);
    float before[7], after[7];
    hone_tensor input = read_vector("mutable_buffer__ema_alias", "in_0_0"), first, second;
    assert_int_equal(hone_pte_state_count(pte), 1);
    OK(hone_pte_state_read(pte, 0, before, &why));
    OK(run(pte, &input, &first, &why));
    const float wanted = at(&first, 3);
    OK(run(pte, &input, &second, &why));
    assert_true(at(&second, 3) != wanted);
    OK(hone_pte_state_read(pte, 0, after, &why));
    assert_true(memcmp(before, after, sizeof before) != 0);
    OK(hone_pte_state_write(pte, 0, before, &why));
    OK(run(pte, &input, &second, &why));
    assert_true(at(&second, 3) == wanted);
    assert_int_equal(hone_pte_state_read(pte, 1, after, &why), HONE_INVALID_ARGUMENT);
    hone_free(input.data);
    hone_pte_close(pte);
}

static void wrong_inputs_are_refused(void **state) {
    (void)state;
    hone_pte *const pte = open_vector("mm__2x3x4", NULL);
    hone_tensor in[2] = {read_vector("mm__2x3x4", "in_0"), read_vector("mm__2x3x4", "in_1")}, out;
    hone_error error;
    assert_int_equal(hone_pte_run(pte, in, 1, &out, 1, &error), HONE_INVALID_ARGUMENT);
    hone_tensor wrong[2] = {in[1], in[1]};
    assert_int_equal(run(pte, wrong, &out, &error), HONE_MISMATCH);
    assert_non_null(strstr(error.message, "input 0 (input0) is f32[3,4], but f32[2,3] is wanted"));
    OK(run(pte, in, &out, &why));
    close_to(&out, "mm__2x3x4", "out_0");
    // Whole numbers and f64 may stand for floats, if they fit.
    const int64_t whole[6] = {1, 2, 3, 4, 5, 6};
    double wide[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1e300};
    hone_tensor other[2] = {{.type = hone_type(HONE_DTYPE_I64, 2, (int64_t)2, (int64_t)3), .data = (void *)whole},
                            {.type = hone_type(HONE_DTYPE_F64, 2, (int64_t)3, (int64_t)4), .data = wide}};
    assert_int_equal(run(pte, other, &out, &error), HONE_BAD_DATA);
    assert_non_null(strstr(error.message, "element 11"));
    wide[11] = 0;
    OK(run(pte, other, &out, &why));
    assert_true(at(&out, 0) == 1 && at(&out, 6) == 6 && at(&out, 7) == 0);
    for (int i = 0; i < 2; i++) hone_free(in[i].data);
    hone_pte_close(pte);
}

static void labels_are_checked_before_anything_runs(void **state) {
    (void)state;
    hone_pte *const pte = open_vector("composite_mlp__buffers_6_8_3", NULL);
    float x[24] = {0};
    int64_t labels[4] = {0, 2, -100, 3};
    hone_tensor in[2] = {{.type = hone_type(HONE_DTYPE_F32, 2, (int64_t)4, (int64_t)6), .data = x},
                         {.type = hone_type(HONE_DTYPE_I64, 1, (int64_t)4), .data = labels}};
    hone_tensor out[3];
    hone_error error;
    assert_int_equal(run(pte, in, out, &error), HONE_BAD_DATA);
    if (!strstr(error.message, "element 3 of input 1 (input1) is 3")) fail_msg("%s", error.message);
    assert_int_equal(hone_pte_step(pte), 0);
    labels[3] = (int64_t)1 << 40;
    assert_int_equal(run(pte, in, out, &error), HONE_BAD_DATA);
    labels[3] = -((int64_t)1 << 40); // ignored as a label, but no i32
    assert_int_equal(run(pte, in, out, &error), HONE_BAD_DATA);
    if (!strstr(error.message, "-1099511627776")) fail_msg("%s", error.message);
    labels[3] = 1;
    OK(run(pte, in, out, &why));
    hone_pte_close(pte);
}

static void plans_are_kept_for_eight_shapes(void **state) {
    (void)state;
    hone_pte *const pte = open_vector("dynamic_shape__linear_rows", NULL);
    float x[8 * 5];
    for (int i = 0; i < 40; i++) x[i] = (float)i;
    hone_tensor out;
    float first[4] = {0};
    for (int round = 0; round < 3; round++) {
        for (int64_t rows = 0; rows <= 8; rows++) {
            const hone_tensor in = {.type = hone_type(HONE_DTYPE_F32, 2, rows, (int64_t)5), .data = x};
            OK(run(pte, &in, &out, &why));
            assert_int_equal(out.type.dims[0], rows);
            assert_true(hone_pte_measure(pte).plans <= 8);
            if (rows > 0 && round == 0 && rows == 1) memcpy(first, out.data, sizeof first);
            if (rows > 0) assert_memory_equal(first, out.data, sizeof first);
        }
    }
    const hone_tensor large = {.type = hone_type(HONE_DTYPE_F32, 2, (int64_t)9, (int64_t)5), .data = x};
    hone_error error;
    assert_int_equal(run(pte, &large, &out, &error), HONE_MISMATCH);
    assert_non_null(strstr(error.message, "at most"));
    hone_pte_close(pte);
}

static void operators_are_counted(void **state) {
    (void)state;
    hone_device *cpu = NULL;
    hone_pte *pte;
    hone_profile_row rows[8];
    OK(hone_device_open(&(hone_device_description){.name = "cpu", .threads = 1}, &cpu, &why));
    OK(hone_pte_open(cpu, vector_path("dynamic_shape__linear_rows/model.pte"), NULL, &pte, &why));
    hone_pte_profile(pte, true);
    float x[40] = {0};
    hone_tensor out;
    for (int64_t i = 0; i < 30; i++) { // more shapes than plans
        const hone_tensor in = {.type = hone_type(HONE_DTYPE_F32, 2, i % 9, (int64_t)5), .data = x};
        OK(run(pte, &in, &out, &why));
    }
    assert_int_equal(hone_pte_profile_rows(pte, rows, 8), 1);
    assert_string_equal(rows[0].op->schema, hone_op_find("aten::linear")->schema);
    assert_int_equal(rows[0].calls, 30);
    hone_pte_close(pte);
    hone_device_close(cpu);
}

static void a_late_device_is_waited_for(void **state) {
    (void)state;
    const char *const name = "adamw_step__buffers_alias_4x3";
    hone_pte *const pte = open_vector(name, NULL);
    hone_tensor input = read_vector(name, "in_0_0"), out[3];
    hone_null_set_script(device, &(hone_null_script){.pending = 3});
    int pending = 0;
    hone_status status;
    while ((status = hone_pte_run(pte, &input, 1, out, 3, &why)) == HONE_PENDING) pending++;
    hone_null_set_script(device, &(hone_null_script){0});
    if (status != HONE_OK) fail_msg("%s", why.message);
    assert_int_equal(pending, 3 * 5); // building, waiting, three outputs
    assert_int_equal(hone_null_submits(device), 0);
    close_to(&out[0], name, "out_0_0");
    hone_null_set_script(device, &(hone_null_script){.fail_at_submit = 1});
    hone_error error;
    assert_int_equal(run(pte, &input, out, &error), HONE_DEVICE_LOST);
    hone_null_set_script(device, &(hone_null_script){0});
    assert_int_equal(hone_pte_step(pte), 1);
    hone_free(input.data);
    hone_pte_close(pte);
}

// --- numbers --------------------------------------------------------------------------------------------------------

// One step of AdamW on a single number, by the formulas.
static double adamw(double *p, double *m, double *v, double g, double lr, double decay, double c1, double c2) {
    *p -= lr * decay * *p;
    *m = 0.9 * *m + 0.1 * g;
    *v = 0.999 * *v + 0.001 * g * g;
    return *p -= lr * (*m / c1) / (sqrt(*v / c2) + 1e-8);
}

// p, m and v of one number as state; the gradient is the input.
static uint8_t *make_adamw(double correction, size_t *size) {
    made_program program = {.named = true};
    made_graph *const g = &program.delegates[0];
    const float start[3] = {1, 0, 0};
    int32_t a[12];
    for (int i = 0; i < 3; i++) {
        const int constant = MADE_F32(g, 1);
        made_constant(&program, g, constant, &start[i], sizeof(float));
        a[i] = MADE_F32(g, 1);
        MADE_CALL(g, "et_vk.prepack.default", constant, a[i]);
    }
    a[3] = MADE_F32(g, 1);
    made_input(g, a[3]);
    const double numbers[7] = {0.01, 0.9, 0.999, 1e-8, 0.01, correction, correction};
    for (int i = 0; i < 7; i++) a[4 + i] = numbers[i] == 1 ? made_integer(g, 1) : made_real(g, numbers[i]);
    int64_t out[3];
    for (int i = 0; i < 3; i++) out[i] = MADE_F32(g, 1);
    a[11] = made_list(g, 3, out);
    made_call_of(g, "adamw_step.default", "", 12, a);
    made_output(g, (int)out[0]);
    made_wrap(&program);
    return made_file(&program, size);
}

static hone_pte *open_bytes(const uint8_t *bytes, size_t size, const hone_pte_options *options) {
    hone_source *source;
    hone_pte *pte;
    OK(hone_memory_source(bytes, size, "made.pte", &source, &why));
    OK(hone_pte_open_source(device, source, options, &pte, &why));
    return pte;
}

static void numbers_are_replayed_set_or_live(void **state) {
    (void)state;
    size_t size;
    for (int way = 0; way < 4; way++) { // replayed; live; set; live, but no correction in the file
        uint8_t *const bytes = make_adamw(way == 3 ? 1 : 0.5, &size);
        hone_pte *const pte = open_bytes(bytes, size, &(hone_pte_options){.live = way == 1 || way == 3});
        double p = 1, m = 0, v = 0, lr = 0.01;
        for (int t = 1; t <= 5; t++) {
            float gradient = (float)t - 2.5f;
            const hone_tensor in = {.type = hone_type(HONE_DTYPE_F32, 1, (int64_t)1), .data = &gradient};
            hone_tensor out;
            if (way == 2) lr = 0.1 / t;
            if (way == 2) OK(hone_pte_set(pte, "lr", lr, &why));
            OK(run(pte, &in, &out, &why));
            const double c1 = way == 1 ? 1 - pow(0.9, t) : way == 3 ? 1 : 0.5;
            const double c2 = way == 1 ? 1 - pow(0.999, t) : way == 3 ? 1 : 0.5;
            const double wanted = adamw(&p, &m, &v, gradient, lr, 0.01, c1, c2);
            if (!(fabs(at(&out, 0) - wanted) < 1e-6))
                fail_msg("way %d, step %d: %g, not %g", way, t, at(&out, 0), wanted);
        }
        hone_error error;
        assert_int_equal(hone_pte_set(pte, "momentum", 1, &error), HONE_NOT_FOUND);
        assert_non_null(strstr(error.message, "it has lr, beta1"));
        assert_int_equal(hone_pte_set(pte, "lr", NAN, &error), HONE_INVALID_ARGUMENT);
        assert_int_equal(hone_pte_set(pte, "lr", 1e39, &error), HONE_INVALID_ARGUMENT);
        assert_int_equal(hone_pte_set(pte, "beta2", 0.99999999, &error), HONE_INVALID_ARGUMENT); // 1 as f32
        assert_int_equal(hone_pte_set(pte, "bias_correction1", 0, &error), HONE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "above 0 and up to 1"));
        hone_pte_close(pte);
        free(bytes);
    }
}

static void live_counts_follow_the_labels(void **state) {
    (void)state;
    hone_pte *const replayed = open_vector("composite_mlp__buffers_6_8_3", NULL);
    hone_pte *const live = open_vector("composite_mlp__buffers_6_8_3", &(hone_pte_options){.live = true});
    float x[24];
    for (int i = 0; i < 24; i++) x[i] = (float)(i % 7) - 3;
    int64_t labels[4] = {0, -100, 2, -100};
    const hone_tensor in[2] = {{.type = hone_type(HONE_DTYPE_F32, 2, (int64_t)4, (int64_t)6), .data = x},
                               {.type = hone_type(HONE_DTYPE_I64, 1, (int64_t)4), .data = labels}};
    hone_tensor a[3], b[3];
    OK(run(replayed, in, a, &why));
    OK(run(live, in, b, &why));
    assert_true(fabsf(2 * at(&a[0], 0) - at(&b[0], 0)) < 1e-5f); // the file says 4, two are trained
    for (int i = 0; i < 4; i++) labels[i] = -100;
    OK(run(live, in, b, &why));
    assert_true(at(&b[0], 0) == 0);
    hone_pte_close(replayed);
    hone_pte_close(live);
}

// --- saving ---------------------------------------------------------------------------------------------------------

static void run_some(hone_pte *pte, int first, int count, hone_tensor *out) {
    const char *const name = "adamw_step__buffers_alias_4x3";
    for (int step = first; step < first + count; step++) {
        char in[32];
        snprintf(in, sizeof in, "in_%d_0", step);
        hone_tensor input = read_vector(name, in);
        OK(run(pte, &input, out, &why));
        hone_free(input.data);
    }
}

static void a_saved_program_goes_on(void **state) {
    (void)state;
    const char *const name = "adamw_step__buffers_alias_4x3";
    hone_tensor out[3];
    hone_pte *pte = open_vector(name, NULL);
    run_some(pte, 0, 1, out);
    hone_status status;
    hone_null_set_script(device, &(hone_null_script){.pending = 2});
    while ((status = hone_pte_save(pte, "one.pte", &why)) == HONE_PENDING) continue;
    hone_null_set_script(device, &(hone_null_script){0});
    if (status != HONE_OK) fail_msg("%s", why.message);
    hone_pte_close(pte);
    OK(hone_pte_open(device, "one.pte", NULL, &pte, &why));
    run_some(pte, 1, 1, out);
    close_to(&out[0], name, "out_1_0");
    OK(hone_pte_save(pte, "two.pte", &why)); // now the state has its own place already
    hone_pte_close(pte);
    OK(hone_pte_open(device, "two.pte", NULL, &pte, &why));
    run_some(pte, 2, 1, out);
    for (int i = 0; i < 3; i++) {
        char array[32];
        snprintf(array, sizeof array, "out_2_%d", i);
        close_to(&out[i], name, array);
    }
    hone_pte_close(pte);
    size_t sizes[2];
    free(scratch_read("one.pte", &sizes[0]));
    free(scratch_read("two.pte", &sizes[1]));
    assert_int_equal(sizes[0], sizes[1]);
    unlink("one.pte");
    unlink("two.pte");
    hone_pte *const mlp = open_vector("composite_mlp__buffers_6_8_3", NULL);
    OK(hone_pte_save(mlp, "mlp.pte", &why));
    hone_pte_close(mlp);
    hone_pte *again;
    OK(hone_pte_open(device, "mlp.pte", NULL, &again, &why));
    assert_int_equal(hone_pte_state_count(again), 12);
    hone_pte_close(again);
    unlink("mlp.pte");
}

static void run_made(hone_pte *pte, int first, int count, hone_tensor *out) {
    for (int t = first; t < first + count; t++) {
        float gradient = (float)t - 2.5f;
        const hone_tensor in = {.type = hone_type(HONE_DTYPE_F32, 1, (int64_t)1), .data = &gradient};
        OK(run(pte, &in, out, &why));
    }
}

// k calls, saved, k more: as 2k at once, bit for bit, with the bias corrections of steps k + 1 and on.
static void a_saved_program_goes_on_counting(void **state) {
    (void)state;
    enum { HALF = 4 };
    const hone_pte_options live = {.live = true};
    size_t size;
    hone_tensor out;
    uint8_t *const bytes = make_adamw(0.5, &size);
    hone_pte *pte = open_bytes(bytes, size, &live);
    run_made(pte, 1, 2 * HALF, &out);
    const float whole = at(&out, 0);
    hone_pte_close(pte);
    pte = open_bytes(bytes, size, &live);
    run_made(pte, 1, HALF, &out);
    OK(hone_pte_save(pte, "half.pte", &why));
    hone_pte_close(pte);
    for (int round = 0; round < 3; round++) { // saved again before any call: the count stays
        OK(hone_pte_open(device, "half.pte", &live, &pte, &why));
        assert_int_equal(hone_pte_step(pte), HALF);
        if (round < 2) OK(hone_pte_save(pte, "half.pte", &why));
        if (round < 2) hone_pte_close(pte);
    }
    for (int round = 0; round < 2; round++) {
        run_made(pte, HALF + 1, HALF, &out);
        assert_true(at(&out, 0) == whole);
        assert_int_equal(hone_pte_step(pte), 2 * HALF);
        OK(hone_pte_reset(pte, &why)); // as the file has it
        assert_int_equal(hone_pte_step(pte), HALF);
    }
    hone_pte_close(pte);
    double p = 1, m = 0, v = 0, wanted = 0;
    for (int t = 1; t <= 2 * HALF; t++)
        wanted = adamw(&p, &m, &v, t - 2.5, 0.01, 0.01, 1 - pow(0.9, t), 1 - pow(0.999, t));
    assert_true(fabs(whole - wanted) < 1e-6);
    free(bytes);
    unlink("half.pte");
}

static void a_count_of_calls_that_cannot_be_is_refused(void **state) {
    (void)state;
    size_t size, at_mark = 0;
    hone_tensor out;
    uint8_t *bytes = make_adamw(0.5, &size);
    hone_pte *pte = open_bytes(bytes, size, NULL);
    run_made(pte, 1, 1, &out);
    OK(hone_pte_save(pte, "one.pte", &why));
    hone_pte_close(pte);
    free(bytes);
    bytes = (uint8_t *)scratch_read("one.pte", &size);
    for (size_t i = 0; i + 8 <= size; i++)
        if (memcmp(bytes + i, "HoneStep", 8) == 0) at_mark = i;
    assert_true(at_mark > 0);
    memset(bytes + at_mark + 8, 0xff, 8);
    hone_source *source;
    hone_error error;
    OK(hone_memory_source(bytes, size, "made.pte", &source, &why));
    assert_int_equal(hone_pte_open_source(device, source, NULL, &pte, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "count of calls"));
    hone_source_close(&source);
    free(bytes);
    unlink("one.pte");
}

// --- memory ---------------------------------------------------------------------------------------------------------

static hone_status use(const char *name, hone_error *error) {
    char file[256], path[1024];
    hone_pte *pte = NULL;
    hone_tensor input = {0}, out[3];
    snprintf(file, sizeof file, "%s/model.pte", name);
    snprintf(path, sizeof path, "%s", vector_path(file));
    hone_status status = hone_pte_open(device, path, NULL, &pte, error);
    snprintf(file, sizeof file, "%s/in_0_0.npy", name);
    if (status == HONE_OK) status = hone_npy_read(vector_path(file), &input, error);
    if (status == HONE_OK) status = run(pte, &input, out, error);
    if (status == HONE_OK) status = hone_pte_save(pte, "x.pte", error);
    hone_free(input.data);
    hone_pte_close(pte);
    unlink("x.pte");
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const size_t held = scratch_held();
    uint64_t n = 0;
    for (;; n++) {
        hone_error error = {0};
        hone_memory_fail_after(n, n % 2 == 0);
        const hone_status status = use("adamw_step__buffers_alias_4x3", &error);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        if (status == HONE_OK) break;
        if (status != HONE_OUT_OF_MEMORY) fail_msg("request %d: %s", (int)n, error.message);
    }
    assert_true(n > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_are_told),
        cmocka_unit_test(state_stays_and_can_be_reset),
        cmocka_unit_test(state_is_read_and_written),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(labels_are_checked_before_anything_runs),
        cmocka_unit_test(plans_are_kept_for_eight_shapes),
        cmocka_unit_test(operators_are_counted),
        cmocka_unit_test(a_late_device_is_waited_for),
        cmocka_unit_test(numbers_are_replayed_set_or_live),
        cmocka_unit_test(live_counts_follow_the_labels),
        cmocka_unit_test(a_saved_program_goes_on),
        cmocka_unit_test(a_saved_program_goes_on_counting),
        cmocka_unit_test(a_count_of_calls_that_cannot_be_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
