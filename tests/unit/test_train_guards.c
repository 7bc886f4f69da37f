// SPDX-License-Identifier: Apache-2.0
// Guard rails: learning by heart, numbers that are not finite, memory that stays constant, requests that fail. Also run on
// GPUs, with HONE_TEST_DEVICE.
#include "support/training.h"

#include <math.h>

#include "device/null/null.h"

static hone_text rows;
static const hone_lora_options lora_options = {.rank = 4, .alpha = 8, .seed = 3};

static int enter(void **state) {
    if (scratch_enter(state)) return 1;
    hone_error error;
    if (tiny_model_write("model.gguf", &(tiny_model){.seed = 1, .layers = 1}, &error) != HONE_OK) return 1;
    training_rows(&rows, 4, 4, 12, 11);
    return rows.failed;
}

static int leave(void **state) {
    hone_text_clear(&rows);
    unlink("model.gguf");
    return scratch_leave(state);
}

static void test_one_row_is_learnt_by_heart(void **state) {
    (void)state;
    hone_text one = {0};
    training_rows(&one, 1, 20, 20, 5);
    training t;
    training_open(&t, NULL, 2, &one, &(hone_lora_options){.rank = 16});
    training_start(&t, &(hone_train_options){.steps = 50, .learning_rate = 2e-2, .schedule = HONE_SCHEDULE_CONSTANT});
    const double start = training_step(&t).loss;
    double end = start;
    for (int i = 1; i < 50; i++) end = training_step(&t).loss;
    assert_true(end < start / 10);
    double loss;
    int64_t tokens;
    hone_status status;
    do status = hone_trainer_evaluate(t.trainer, t.data, &loss, &tokens, &t.error);
    while (status == HONE_PENDING);
    training_must(&t, status);
    assert_true(loss < start / 10);
    assert_int_equal(tokens, (int64_t)t.data->rows[0].supervised);
    training_close(&t);
    hone_text_clear(&one);
}

static void test_nan_is_skipped_and_then_stops(void **state) {
    (void)state;
    training t;
    training_open(&t, NULL, 2, &rows, &lora_options);
    training_start(&t, &(hone_train_options){.steps = 10, .batch = 2, .learning_rate = 1e-2});
    training_step(&t);
    float *const weights = training_weights(&t);
    const float good = weights[t.lora->entries[0].a];
    weights[t.lora->entries[0].a] = NAN;
    training_must(&t, hone_lora_upload(t.lora, weights, &t.error));
    for (int i = 0; i < 2; i++) {
        const hone_step_report report = training_step(&t);
        assert_true(report.skipped);
        float *const after = training_weights(&t);
        weights[t.lora->entries[0].a] = after[t.lora->entries[0].a] = 0; // NaN is not equal to itself
        assert_memory_equal(weights, after, t.lora->floats * sizeof(float));
        free(after);
    }
    // A good step in between starts the count again, and the run goes on from where it was.
    weights[t.lora->entries[0].a] = good;
    training_must(&t, hone_lora_upload(t.lora, weights, &t.error));
    assert_false(training_step(&t).skipped);
    float *const poisoned = training_weights(&t);
    poisoned[t.lora->entries[0].b] = INFINITY;
    training_must(&t, hone_lora_upload(t.lora, poisoned, &t.error));
    training_step(&t);
    training_step(&t);
    hone_step_report report;
    hone_status status;
    do status = hone_trainer_step(t.trainer, &report, &t.error);
    while (status == HONE_PENDING);
    assert_int_equal(status, HONE_NOT_FINITE);
    assert_non_null(strstr(t.error.message, "third step in a row"));
    assert_non_null(strstr(t.error.message, "lines"));
    training_close(&t);
    free(weights);
    free(poisoned);
}

// Its metrics come when two more steps have been queued: the third is named all the same, and what is saved is whole.
static void test_the_third_bad_step_may_be_known_late(void **state) {
    (void)state;
    training t;
    training_open(&t, training_on_gpu() ? NULL : "null", 2, &rows, &lora_options);
    training_start(&t, &(hone_train_options){.steps = 10, .batch = 2, .learning_rate = 1e-2, .in_order = true});
    if (!training_on_gpu()) hone_null_set_script(t.device, &(hone_null_script){.pending = 1, .ahead = 2});
    training_step(&t);
    float *const weights = training_weights(&t);
    float *const poisoned = training_weights(&t);
    poisoned[t.lora->entries[0].b] = INFINITY;
    training_must(&t, hone_lora_upload(t.lora, poisoned, &t.error));
    hone_trainer_go_ahead(t.trainer, 10);
    assert_true(training_step(&t).skipped);
    assert_int_equal(hone_trainer_steps_ahead(t.trainer), 2);
    assert_true(training_step(&t).skipped);
    hone_step_report report;
    hone_status status;
    do status = hone_trainer_step(t.trainer, &report, &t.error);
    while (status == HONE_PENDING);
    assert_int_equal(status, HONE_NOT_FINITE);
    assert_non_null(strstr(t.error.message, "step 4:"));
    assert_non_null(strstr(t.error.message, "at lines 3, 4)"));
    assert_int_equal(hone_trainer_steps_ahead(t.trainer), 0);
    assert_int_equal(hone_trainer_done_steps(t.trainer), 6); // those behind it have run too
    assert_int_equal(hone_trainer_save_state(t.trainer, "state.hone", &t.error), HONE_NOT_FINITE);
    assert_int_equal(access("state.hone", F_OK), -1);
    training_must(&t, hone_lora_upload(t.lora, weights, &t.error));
    training_must(&t, hone_trainer_save_state(t.trainer, "state.hone", &t.error));
    unlink("state.hone");
    training_close(&t);
    free(weights);
    free(poisoned);
}

static void test_an_adapter_that_learnt_nothing_is_refused(void **state) {
    (void)state;
    training t;
    training_open(&t, NULL, 1, &rows, &lora_options);
    training_start(&t, &(hone_train_options){.steps = 1});
    assert_int_equal(hone_trainer_save_adapter(t.trainer, ".", &t.error), HONE_BAD_DATA);
    assert_non_null(strstr(t.error.message, "learnt nothing"));
    training_close(&t);
}

static void test_bytes_stay_constant(void **state) {
    (void)state;
    const char *const named = getenv("HONE_TEST_STEPS");
    const int steps = named ? atoi(named) : 10000;
    training t;
    training_open(&t, NULL, 1, &rows, &lora_options);
    training_start(&t, &(hone_train_options){.steps = steps, .batch = 2, .learning_rate = 1e-4});
    hone_trainer_go_ahead(t.trainer, steps);
    training_step(&t);
    training_step(&t);
    const hone_memory_count before = hone_memory_counted();
    size_t device_bytes, buffers;
    hone_device_usage(t.device, &device_bytes, &buffers);
    for (int i = 2; i < steps; i++) training_step(&t);
    const hone_memory_count after = hone_memory_counted();
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.blocks, before.blocks);
    size_t device_bytes_after, buffers_after;
    hone_device_usage(t.device, &device_bytes_after, &buffers_after);
    assert_int_equal(device_bytes, device_bytes_after);
    assert_int_equal(buffers, buffers_after);
    training_close(&t);
}

// A whole small run: open, train two steps, save everything. Returns the first failure.
static hone_status small_run(hone_error *error) {
    hone_device *device = NULL;
    hone_model *model = NULL;
    hone_dataset *data = NULL;
    hone_lora *lora = NULL;
    hone_trainer *trainer = NULL;
    hone_step_report report;
    double loss;
    int64_t tokens;
    hone_status status = hone_device_open(&(hone_device_description){"cpu", 1}, &device, error);
    if (status == HONE_OK) status = hone_model_open(device, "model.gguf", &model, error);
    if (status == HONE_OK) status = training_scan(model, rows.bytes, rows.length, &data, error);
    if (status == HONE_OK) status = hone_lora_create(model, &lora_options, &lora, error);
    const hone_train_options options = {.steps = 2, .batch = 2, .learning_rate = 1e-2};
    if (status == HONE_OK) status = hone_trainer_create(model, lora, data, &options, &trainer, error);
    for (int i = 0; i < 2 && status == HONE_OK; i++) status = hone_trainer_step(trainer, &report, error);
    if (status == HONE_OK) status = hone_trainer_evaluate(trainer, data, &loss, &tokens, error);
    if (status == HONE_OK) status = hone_trainer_save_state(trainer, "state.hone", error);
    if (status == HONE_OK) status = hone_trainer_load_state(trainer, "state.hone", error);
    if (status == HONE_OK) status = hone_trainer_save_adapter(trainer, ".", error);
    hone_trainer_destroy(trainer);
    hone_lora_destroy(lora);
    hone_dataset_destroy(data);
    hone_model_close(model);
    hone_device_close(device);
    return status;
}

static void remove_results(void) {
    static const char *const names[] = {"state.hone", "adapter.gguf", "adapter_model.safetensors",
                                        "adapter_config.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) unlink(names[i]);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    hone_error error = {0};
    const hone_memory_count before = hone_memory_counted();
    if (small_run(&error) != HONE_OK) fail_msg("%s", error.message);
    remove_results();
    const uint64_t requests = hone_memory_counted().requests - before.requests;
    assert_int_equal(hone_memory_counted().bytes, before.bytes);
    print_message("%llu requests\n", (unsigned long long)requests);
    uint64_t failed = 0;
    for (uint64_t n = 0; n < requests; n++) {
        error = (hone_error){0};
        hone_memory_fail_after(n, false);
        const hone_status status = small_run(&error);
        hone_memory_fail_after(UINT64_MAX, false);
        remove_results();
        if (status != HONE_OK) {
            if (status != HONE_OUT_OF_MEMORY || !error.message[0])
                fail_msg("request %llu: %s", (unsigned long long)n, error.message);
            failed++;
        }
        if (hone_memory_counted().bytes != before.bytes)
            fail_msg("request %llu: %zu bytes lost", (unsigned long long)n, hone_memory_counted().bytes - before.bytes);
    }
    assert_true(failed >= requests - requests / 20); // few requests are optional
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_row_is_learnt_by_heart),
        cmocka_unit_test(test_nan_is_skipped_and_then_stops),
        cmocka_unit_test(test_the_third_bad_step_may_be_known_late),
        cmocka_unit_test(test_an_adapter_that_learnt_nothing_is_refused),
        cmocka_unit_test(test_bytes_stay_constant),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
