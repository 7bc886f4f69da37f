// SPDX-License-Identifier: Apache-2.0
// A GPU that is lost in any way during training: the run ends in the bits of an undisturbed one, and no step is reported
// twice. And where submits are cut decides about no bit.
// usage: gpu_recovery DEVICE. Exit 77: there is no such device.
#define _GNU_SOURCE // dl_iterate_phdr
#include <link.h>

#include "support/training.h"

#include "device/gpu/gpu.h"

#define STEPS 12

static const hone_lora_options lora_options = {.rank = 4, .alpha = 8, .seed = 3};
static const hone_train_options options = {
    .steps = STEPS, .batch = 2, .accumulate = 2, .learning_rate = 1e-2, .dropout = 0.1, .seed = 5, .copy_every = 3};
static hone_text rows;
static const char *device_name;
// Of the undisturbed run.
static float *weights;
static double losses[STEPS], eval_loss;
static uint64_t submits[STEPS + 1]; // behind each step

// One run, two steps ahead; weights and losses must be the undisturbed run's, unless this is it.
static int64_t run(bool first, int submit_ms, const char **text) {
    training t = {0};
    const hone_device_description description = {.name = device_name, .submit_ms = submit_ms};
    training_must(&t, hone_device_open(&description, &t.device, &t.error));
    training_must(&t, hone_model_open(t.device, "model.gguf", &t.model, &t.error));
    training_must(&t, training_scan(t.model, rows.bytes, rows.length, &t.data, &t.error));
    training_must(&t, hone_lora_create(t.model, &lora_options, &t.lora, &t.error));
    training_start(&t, &options);
    if (!first) hone_trainer_go_ahead(t.trainer, STEPS);
    for (int i = 0; i < STEPS; i++) {
        const hone_step_report report = training_step(&t);
        assert_int_equal(report.step, i + 1);
        if (first) {
            losses[i] = report.loss;
            submits[i + 1] = hone_gpu_submits(t.device);
        }
        assert_true(report.loss == losses[i]);
    }
    const double evaluated = training_evaluate(&t);
    if (first) eval_loss = evaluated;
    assert_true(evaluated == eval_loss);
    float *const own = training_weights(&t);
    if (first)
        weights = own;
    else
        assert_memory_equal(own, weights, t.lora->floats * sizeof(float));
    static char kept[512];
    const char *told;
    const int64_t count = hone_trainer_recoveries(t.trainer, &told);
    snprintf(kept, sizeof(kept), "%s", told);
    if (text) *text = kept;
    if (!first) free(own);
    training_close(&t);
    return count;
}

static void test_cuts_decide_about_no_bit(void **state) {
    (void)state;
    assert_int_equal(run(false, 1, NULL), 0);
    assert_int_equal(run(false, 60000, NULL), 0);
}

static void test_every_kind_of_loss(void **state) {
    (void)state;
    static const struct {
        const char *kind, *says;
    } faults[] = {{"submit", "during a submit"}, {"wait", "during waiting"},   {"download", "during reading back"},
                  {"zeros", "submits have run"}, {"idle", "submits have run"}, {"hang", "has not finished"}};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        for (int step = 0; step < STEPS; step += 4) { // in the first, with a new shape; between copies; at a copy
            hone_error error;
            char plan[64];
            const char *text;
            snprintf(plan, sizeof(plan), "%s@%llu", faults[i].kind, (unsigned long long)submits[step] + 2);
            assert_int_equal(hone_gpu_plan_fault(plan, &error), HONE_OK);
            const int64_t recoveries = run(false, 0, &text);
            if (recoveries != 1 || !strstr(text, faults[i].says))
                fail_msg("%s: %lld, %s", plan, (long long)recoveries, text);
        }
    }
    assert_int_equal(hone_gpu_plan_fault(NULL, NULL), HONE_OK);
}

// Each of the devices that are opened after the first is lost, too, until the fourth.
static void test_several_losses(void **state) {
    (void)state;
    hone_error error;
    char plan[64];
    snprintf(plan, sizeof(plan), "zeros@%llux3", (unsigned long long)submits[8] + 1);
    assert_int_equal(hone_gpu_plan_fault(plan, &error), HONE_OK);
    assert_in_range(run(false, 0, NULL), 1, 3);
    assert_int_equal(hone_gpu_plan_fault(NULL, NULL), HONE_OK);
}

static void test_a_fault_is_spelt_right(void **state) {
    (void)state;
    hone_error error;
    assert_int_equal(hone_gpu_plan_fault("fire@3", &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_gpu_plan_fault("wait", &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_gpu_plan_fault("wait@20junk", &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_gpu_plan_fault("wait@20xjunk", &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_gpu_plan_fault("wait@-1", &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_gpu_plan_fault("wait@20x2", &error), HONE_OK);
    assert_int_equal(hone_gpu_plan_fault(NULL, &error), HONE_OK);
}

static int count_library(struct dl_phdr_info *info, size_t size, void *count) {
    (void)info;
    (void)size;
    ++*(int *)count;
    return 0;
}

static int libraries(void) {
    int count = 0;
    dl_iterate_phdr(count_library, &count);
    return count;
}

// Drivers do not bear being loaded dozens of times in a process, which losses would come to.
static void test_a_driver_stays_loaded(void **state) {
    (void)state;
    hone_device *device = NULL;
    hone_error error;
    hone_status status;
    do status = hone_device_open(&(hone_device_description){.name = device_name}, &device, &error);
    while (status == HONE_PENDING);
    assert_int_equal(status, HONE_OK);
    const int open = libraries();
    hone_device_close(device);
    assert_int_equal(libraries(), open);
}

static int enter(void **state) {
    hone_error error;
    if (scratch_enter(state) || tiny_model_write("model.gguf", &(tiny_model){.seed = 1}, &error) != HONE_OK) return 1;
    training_rows(&rows, 13, 3, 40, 11);
    run(true, 0, NULL);
    // From here on no wait has a kernel to compile, and what hangs is to be noticed soon.
    setenv("HONE_PATIENCE", "10", 1);
    return 0;
}

static int leave(void **state) {
    hone_text_clear(&rows);
    free(weights);
    unlink("model.gguf");
    return scratch_leave(state);
}

int main(int argc, char **argv) {
    hone_error error;
    hone_device *device = NULL;
    device_name = argc > 1 ? argv[1] : "vulkan";
    hone_status status;
    do status = hone_device_open(&(hone_device_description){.name = device_name}, &device, &error);
    while (status == HONE_PENDING);
    if (status != HONE_OK) {
        printf("%s\n", error.message);
        return status == HONE_NOT_FOUND ? 77 : 1;
    }
    hone_device_close(device);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts_decide_about_no_bit), cmocka_unit_test(test_every_kind_of_loss),
        cmocka_unit_test(test_several_losses),           cmocka_unit_test(test_a_fault_is_spelt_right),
        cmocka_unit_test(test_a_driver_stays_loaded),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
