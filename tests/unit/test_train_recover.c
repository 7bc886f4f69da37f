// SPDX-License-Identifier: Apache-2.0
// A device that is lost during training, played by the null device: at any submit, with answers that come late, several
// times, while a state is saved, and for good.
#include "support/training.h"

#include "device/null/null.h"

#define STEPS 8

static const hone_lora_options lora_options = {.rank = 4, .alpha = 8, .seed = 3};
static const hone_train_options options = {
    .steps = STEPS, .batch = 3, .learning_rate = 1e-2, .dropout = 0.1, .seed = 5, .copy_every = 3};
static hone_text rows;

static int enter(void **state) {
    hone_error error;
    if (scratch_enter(state) || tiny_model_write("model.gguf", &(tiny_model){.seed = 1}, &error) != HONE_OK) return 1;
    training_rows(&rows, 13, 3, 40, 11);
    return rows.failed;
}

static int leave(void **state) {
    hone_text_clear(&rows);
    unlink("model.gguf");
    return scratch_leave(state);
}

static void begin(training *t, const hone_null_script *script) {
    training_open(t, script ? "null" : "cpu", 1, &rows, &lora_options);
    if (script) hone_null_set_script(t->device, script);
    training_start(t, &options);
    hone_trainer_go_ahead(t->trainer, STEPS);
}

static float *finish(training *t, size_t *floats) {
    float *const weights = training_weights(t);
    *floats = t->lora->floats;
    training_close(t);
    return weights;
}

static float *run(const hone_null_script *script, double *losses, double *eval, int64_t *recoveries, size_t *floats) {
    training t;
    begin(&t, script);
    for (int i = 0; i < STEPS; i++) {
        const hone_step_report report = training_step(&t);
        assert_int_equal(report.step, i + 1);
        losses[i] = report.loss;
    }
    *eval = training_evaluate(&t);
    if (recoveries) *recoveries = hone_trainer_recoveries(t.trainer, NULL);
    return finish(&t, floats);
}

static void test_a_loss_at_any_submit_changes_no_bit(void **state) {
    (void)state;
    double want[STEPS], losses[STEPS], want_eval, eval;
    size_t floats;
    int64_t recoveries;
    float *const whole = run(NULL, want, &want_eval, NULL, &floats);
    int lost = 0;
    for (uint64_t at = 1; at < 60; at += 5) {
        const hone_null_script script = {
            .fail_at_submit = at, .losses = 1 + at % 3 / 2, .pending = at % 2 ? 2 : 0, .ahead = at % 4 ? 2 : 0};
        float *const weights = run(&script, losses, &eval, &recoveries, &floats);
        assert_memory_equal(losses, want, sizeof(want));
        assert_true(eval == want_eval);
        assert_memory_equal(weights, whole, floats * sizeof(float));
        lost += recoveries > 0;
        free(weights);
    }
    assert_true(lost >= 6);
    free(whole);
}

static void test_a_state_is_saved_through_a_loss(void **state) {
    (void)state;
    double want[STEPS], want_eval;
    size_t floats;
    float *const whole = run(NULL, want, &want_eval, NULL, &floats);
    training t;
    begin(&t, &(hone_null_script){0});
    hone_trainer_go_ahead(t.trainer, 5);
    for (int i = 0; i < 5; i++) training_step(&t);
    // An evaluation that nobody finishes finds the device lost; the state is asked for then.
    hone_null_set_script(t.device, &(hone_null_script){.fail_at_submit = 1, .losses = 1});
    double loss;
    assert_int_equal(hone_trainer_evaluate(t.trainer, t.data, &loss, NULL, &t.error), HONE_PENDING);
    training_must(&t, hone_trainer_save_state(t.trainer, "state.hone", &t.error));
    assert_int_equal(hone_trainer_recoveries(t.trainer, NULL), 1);
    training_close(&t);
    begin(&t, NULL);
    training_must(&t, hone_trainer_load_state(t.trainer, "state.hone", &t.error));
    for (int i = 5; i < STEPS; i++) assert_true(training_step(&t).loss == want[i]);
    float *const weights = finish(&t, &floats);
    assert_memory_equal(weights, whole, floats * sizeof(float));
    free(weights);
    free(whole);
    unlink("state.hone");
}

static void test_a_device_that_stays_lost_leaves_its_last_copy(void **state) {
    (void)state;
    double want[STEPS], want_eval;
    size_t floats;
    float *const whole = run(NULL, want, &want_eval, NULL, &floats);
    training t;
    hone_train_options few = options;
    few.reopen = 2;
    training_open(&t, "null", 1, &rows, &lora_options);
    training_start(&t, &few);
    for (int i = 0; i < 5; i++) training_step(&t);
    hone_null_set_script(t.device, &(hone_null_script){.fail_at_submit = 1});
    hone_step_report report;
    hone_status status;
    do status = hone_trainer_step(t.trainer, &report, &t.error);
    while (status == HONE_PENDING);
    assert_int_equal(status, HONE_DEVICE_LOST);
    assert_non_null(strstr(t.error.message, "2 tries"));
    assert_int_equal(hone_trainer_step(t.trainer, &report, &t.error), HONE_DEVICE_LOST);
    assert_int_equal(hone_trainer_done_steps(t.trainer), 3);
    training_must(&t, hone_trainer_save_state(t.trainer, "state.hone", &t.error));
    assert_int_equal(hone_trainer_save_adapter(t.trainer, ".", &t.error), HONE_DEVICE_LOST);
    training_close(&t);
    begin(&t, NULL); // on another device
    training_must(&t, hone_trainer_load_state(t.trainer, "state.hone", &t.error));
    for (int i = 3; i < STEPS; i++) assert_true(training_step(&t).loss == want[i]);
    float *const weights = finish(&t, &floats);
    assert_memory_equal(weights, whole, floats * sizeof(float));
    free(weights);
    free(whole);
    unlink("state.hone");
}

static void test_without_tries_a_loss_is_an_error(void **state) {
    (void)state;
    training t;
    hone_train_options none = options;
    none.reopen = -1;
    training_open(&t, "null", 1, &rows, &lora_options);
    hone_null_set_script(t.device, &(hone_null_script){.fail_at_submit = 3, .losses = 1});
    training_start(&t, &none);
    hone_step_report report;
    assert_int_equal(hone_trainer_step(t.trainer, &report, &t.error), HONE_DEVICE_LOST);
    training_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loss_at_any_submit_changes_no_bit),
        cmocka_unit_test(test_a_state_is_saved_through_a_loss),
        cmocka_unit_test(test_a_device_that_stays_lost_leaves_its_last_copy),
        cmocka_unit_test(test_without_tries_a_loss_is_an_error),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
