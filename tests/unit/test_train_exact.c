// SPDX-License-Identifier: Apache-2.0
// What must be exact in training: resume, threads, recomputation, pending devices, and the split into micro-batches. Also run
// on GPUs, with HONE_TEST_DEVICE; what the CPU computes is then the measure.
#include "support/training.h"

#include <math.h>

#include "device/null/null.h"
#include "formats/checkpoint.h"
#include "train/trainer.h"

static const hone_lora_options lora_options = {.rank = 4, .alpha = 8, .seed = 3};
static hone_text rows; // of unequal lengths

// A run without anything, which several tests compare with.
static struct {
    float *weights;
    size_t floats;
    double losses[20];
} whole;

static int enter(void **state) {
    if (scratch_enter(state)) return 1;
    hone_error error;
    if (tiny_model_write("model.gguf", &(tiny_model){.seed = 1}, &error) != HONE_OK) return 1;
    training_rows(&rows, 13, 3, 40, 11);
    return rows.failed;
}

static int leave(void **state) {
    hone_text_clear(&rows);
    free(whole.weights);
    unlink("model.gguf");
    return scratch_leave(state);
}

static const hone_train_options base_options = {.steps = 20,
                                                .batch = 2,
                                                .accumulate = 2,
                                                .learning_rate = 1e-2,
                                                .warmup = 3,
                                                .weight_decay = 0.01,
                                                .clip = 0.5,
                                                .seed = 5};

// Runs all steps and returns the weights; losses into `losses` [steps] if not NULL.
static float *run(const char *device, int threads, const hone_train_options *options, double *losses, size_t *floats) {
    training t;
    training_open(&t, device, threads, &rows, &lora_options);
    training_start(&t, options);
    for (int64_t i = 0; i < hone_trainer_options(t.trainer)->steps; i++) {
        const hone_step_report report = training_step(&t);
        assert_int_equal(report.step, i + 1);
        assert_false(report.skipped);
        if (losses) losses[i] = report.loss;
    }
    float *const weights = training_weights(&t);
    *floats = t.lora->floats;
    training_close(&t);
    return weights;
}

static void run_whole(void) {
    if (!whole.weights) whole.weights = run(NULL, 2, &base_options, whole.losses, &whole.floats);
}

// As a hone wrote it that did not note what makes the rows.
static hone_status write_older(const char *from, const char *to, hone_error *error) {
    static const char *const newer[] = {"data.sequence", "data.chat_format", "data.loss", "data.replace_invalid",
                                        "data.held_out"};
    hone_checkpoint *state;
    hone_checkpoint_writer *writer = NULL;
    HONE_TRY(hone_checkpoint_open(from, &state, error));
    hone_status status = hone_checkpoint_create(to, &writer, error);
    for (size_t i = 0; i < state->count && status == HONE_OK; i++) {
        const hone_section *const s = &state->sections[i];
        const hone_tensor tensor = {s->type, (void *)(uintptr_t)s->data};
        bool drop = false;
        for (size_t n = 0; n < sizeof(newer) / sizeof(newer[0]); n++) drop |= strcmp(s->name, newer[n]) == 0;
        if (drop) continue;
        if (s->kind == HONE_SECTION_U64) status = hone_checkpoint_put_u64(writer, s->name, s->integer, error);
        if (s->kind == HONE_SECTION_F64) status = hone_checkpoint_put_f64(writer, s->name, s->real, error);
        if (s->kind == HONE_SECTION_TEXT) status = hone_checkpoint_put_text(writer, s->name, s->text, error);
        if (s->kind == HONE_SECTION_TENSOR) status = hone_checkpoint_put_tensor(writer, s->name, &tensor, error);
    }
    if (status == HONE_OK) status = hone_checkpoint_commit(&writer, error);
    hone_checkpoint_abandon(&writer);
    hone_checkpoint_close(state);
    return status;
}

static void test_state_knows_its_rows(void **state) {
    (void)state;
    training t;
    hone_dataset_origin origin;
    bool known;
    training_open(&t, NULL, 1, &rows, &lora_options);
    t.data->origin = (hone_dataset_origin){
        .sequence = 77, .chat_format = "chatml", .loss = HONE_LOSS_ALL, .replace_invalid = true, .held_out = 0.1};
    training_start(&t, &base_options);
    training_must(&t, hone_trainer_save_state(t.trainer, "state.hone", &t.error));
    training_must(&t, hone_state_read_origin("state.hone", &origin, &known, &t.error));
    assert_true(known);
    assert_int_equal(origin.sequence, 77);
    assert_string_equal(origin.chat_format, "chatml");
    assert_int_equal(origin.loss, HONE_LOSS_ALL);
    assert_true(origin.replace_invalid);
    assert_true(origin.held_out == 0.1);
    // An older one says nothing of it, and is loaded all the same.
    training_must(&t, write_older("state.hone", "older.hone", &t.error));
    training_must(&t, hone_state_read_origin("older.hone", &origin, &known, &t.error));
    assert_false(known);
    training_must(&t, hone_trainer_load_state(t.trainer, "older.hone", &t.error));
    // What was asked for decides nothing where the rows are the same; where they differ it is named.
    t.data->origin.loss = HONE_LOSS_DEFAULT;
    training_must(&t, hone_trainer_load_state(t.trainer, "state.hone", &t.error));
    t.data->labels[t.data->rows[0].first + 1] ^= 1;
    assert_int_equal(hone_trainer_load_state(t.trainer, "state.hone", &t.error), HONE_MISMATCH);
    assert_non_null(strstr(t.error.message, "its loss is all, not default"));
    assert_int_equal(hone_trainer_load_state(t.trainer, "older.hone", &t.error), HONE_MISMATCH);
    assert_non_null(strstr(t.error.message, "other data"));
    training_close(&t);
    unlink("state.hone");
    unlink("older.hone");
}

static void test_resume_is_the_same_run(void **state) {
    (void)state;
    run_whole();
    training t;
    training_open(&t, NULL, 2, &rows, &lora_options);
    training_start(&t, &base_options);
    for (int i = 0; i < 10; i++) training_step(&t);
    training_must(&t, hone_trainer_save_state(t.trainer, "state.hone", &t.error));
    training_close(&t);
    // Another process would begin like this: other initial weights, which the state replaces.
    training_open(&t, NULL, 1, &rows, &(hone_lora_options){.rank = 4, .alpha = 8, .seed = 99});
    training_start(&t, &base_options);
    training_must(&t, hone_trainer_load_state(t.trainer, "state.hone", &t.error));
    assert_int_equal(hone_trainer_done_steps(t.trainer), 10);
    for (int i = 10; i < 20; i++) {
        const hone_step_report report = training_step(&t);
        assert_true(report.loss == whole.losses[i]);
    }
    float *const resumed = training_weights(&t);
    assert_memory_equal(whole.weights, resumed, whole.floats * sizeof(float));
    training_close(&t);
    unlink("state.hone");
    free(resumed);
}

// Where each step takes long, fewer show the same.
static hone_train_options short_options(void) {
    hone_train_options options = base_options;
    if (training_on_gpu()) options.steps = 5;
    return options;
}

static void same_bits(int threads, const hone_train_options *options) {
    size_t floats;
    const hone_train_options plain = short_options();
    float *const one = run(NULL, 1, &plain, NULL, &floats);
    float *const other = run(NULL, threads, options, NULL, &floats);
    assert_memory_equal(one, other, floats * sizeof(float));
    free(one);
    free(other);
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    const hone_train_options options = short_options();
    same_bits(2, &options);
    if (!training_on_gpu()) same_bits(3, &options);
}

static void test_recomputation_does_not_matter(void **state) {
    (void)state;
    hone_train_options options = short_options();
    options.recompute = HONE_RECOMPUTE_LAYERS;
    same_bits(2, &options);
    options.recompute = HONE_RECOMPUTE_NONE;
    same_bits(2, &options);
}

static void test_dropout_is_the_same_with_recomputation(void **state) {
    (void)state;
    hone_train_options options = short_options();
    const hone_train_options plain = options;
    options.dropout = 0.2;
    size_t floats;
    float *const kept = run(NULL, 2, &options, NULL, &floats);
    options.recompute = HONE_RECOMPUTE_LAYERS;
    float *const again = run(NULL, 1, &options, NULL, &floats);
    assert_memory_equal(kept, again, floats * sizeof(float));
    float *const none = run(NULL, 2, &plain, NULL, &floats);
    assert_memory_not_equal(kept, none, floats * sizeof(float));
    free(kept);
    free(again);
    free(none);
}

// The head's LoRA is differentiated chunk by chunk, with masks of its own rows.
static void test_the_head_may_have_a_lora_and_dropout(void **state) {
    (void)state;
    hone_error error;
    assert_int_equal(tiny_model_write("untied.gguf", &(tiny_model){.seed = 1, .untied = true}, &error), HONE_OK);
    training t;
    hone_text many = {0};
    training_rows(&many, 8, 60, 80, 9); // more trained rows than one chunk holds
    const hone_lora_options head = {.rank = 4, .targets = HONE_TARGET_ALL_LAYERS | HONE_TARGET_HEAD, .seed = 2};
    const int steps = training_on_gpu() ? 10 : 30;
    double first = 0, last = 0;
    training_open_file(&t, "untied.gguf", NULL, 2, &many, &head);
    training_start(&t, &(hone_train_options){.steps = steps, .batch = 8, .learning_rate = 1e-2, .dropout = 0.1});
    for (int i = 0; i < steps; i++) {
        last = training_step(&t).loss;
        if (i == 0) first = last;
    }
    assert_true(last < first);
    assert_int_equal(t.lora->entries[t.lora->count - 1].matrix, HONE_MATRIX_HEAD);
    float *const weights = training_weights(&t);
    float largest = 0;
    const hone_lora_entry *const e = &t.lora->entries[t.lora->count - 1];
    for (int64_t j = 0; j < e->n_out * e->rank; j++) largest = fmaxf(largest, fabsf(weights[e->b + (size_t)j]));
    assert_true(largest > 0);
    free(weights);
    training_close(&t);
    hone_text_clear(&many);
    unlink("untied.gguf");
}

// Layers without a LoRA, in codes and in halves, hand on gradients too.
static void test_dense_matrices_beside_codes(void **state) {
    (void)state;
    hone_error error;
    const tiny_model mixed = {.seed = 1, .types = "Q4_0,F16,Q4_0,Q8_0,Q4_1,BF16,Q4_0"};
    assert_int_equal(tiny_model_write("mixed.gguf", &mixed, &error), HONE_OK);
    static const uint32_t targets[] = {HONE_TARGET_O, HONE_TARGET_V, HONE_TARGET_Q | HONE_TARGET_DOWN};
    hone_text many = {0};
    training_rows(&many, 4, 10, 20, 9);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        training t;
        const hone_lora_options lora = {.rank = 4, .targets = targets[i], .seed = 2};
        double first = 0, last = 0;
        training_open_file(&t, "mixed.gguf", NULL, 2, &many, &lora);
        training_start(&t, &(hone_train_options){.steps = 6, .batch = 4, .learning_rate = 2e-2});
        for (int step = 0; step < 6; step++) {
            last = training_step(&t).loss;
            if (step == 0) first = last;
        }
        assert_true(last < first);
        training_close(&t);
    }
    hone_text_clear(&many);
    unlink("mixed.gguf");
}

// With `ahead`, up to so many steps are queued before the metrics of one are read.
static void late_device(int ahead) {
    size_t floats;
    double losses[20];
    float *const one = run("cpu", 1, &base_options, losses, &floats);
    training t;
    training_open(&t, "null", 2, &rows, &lora_options);
    training_start(&t, &base_options);
    hone_null_set_script(t.device, &(hone_null_script){.pending = 3, .ahead = ahead});
    hone_trainer_go_ahead(t.trainer, 20);
    int pending = 0;
    for (int i = 0; i < 20; i++) {
        hone_step_report report;
        hone_status status;
        while ((status = hone_trainer_step(t.trainer, &report, &t.error)) == HONE_PENDING) pending++;
        assert_int_equal(status, HONE_OK);
        assert_int_equal(report.step, i + 1);
        assert_true(report.loss == losses[i]);
        assert_int_equal(hone_trainer_done_steps(t.trainer), i + 1);
        assert_int_equal(hone_trainer_steps_ahead(t.trainer), ahead < 19 - i ? ahead : 19 - i);
    }
    assert_true(pending >= 20 * 3);
    float *const late = training_weights(&t);
    assert_memory_equal(one, late, floats * sizeof(float));
    training_close(&t);
    free(one);
    free(late);
}

static void test_a_late_device_does_not_matter(void **state) {
    (void)state;
    late_device(0);
    late_device(2);
}

// Steps queued ahead change nothing; no step is begun beyond the one that was named, and a state holds all that were begun.
static void test_going_ahead_does_not_matter(void **state) {
    (void)state;
    run_whole();
    training t;
    training_open(&t, training_on_gpu() ? NULL : "null", 1, &rows, &lora_options);
    training_start(&t, &base_options);
    if (!training_on_gpu()) hone_null_set_script(t.device, &(hone_null_script){.pending = 1, .ahead = 2});
    hone_trainer_go_ahead(t.trainer, 10);
    for (int i = 0; i < 9; i++) assert_true(training_step(&t).loss == whole.losses[i]);
    assert_int_equal(hone_trainer_steps_ahead(t.trainer), 1);
    training_must(&t, hone_trainer_save_state(t.trainer, "state.hone", &t.error)); // waits for the tenth
    assert_true(training_step(&t).loss == whole.losses[9]);
    training_close(&t);
    training_open(&t, NULL, 1, &rows, &lora_options);
    training_start(&t, &base_options);
    training_must(&t, hone_trainer_load_state(t.trainer, "state.hone", &t.error));
    hone_trainer_go_ahead(t.trainer, 20);
    for (int i = 10; i < 20; i++) assert_true(training_step(&t).loss == whole.losses[i]);
    float *const resumed = training_weights(&t);
    assert_memory_equal(whole.weights, resumed, whole.floats * sizeof(float));
    training_close(&t);
    unlink("state.hone");
    free(resumed);
}

// Gradients and loss of the first step, for a split of the same four rows.
static float *first_gradients(int64_t batch, int64_t accumulate, double *loss, size_t *floats) {
    training t;
    hone_text four = {0};
    training_rows(&four, 4, 3, 40, 21);
    training_open(&t, NULL, 2, &four, &lora_options);
    // B must not be zero, or the gradients of A are.
    float *const weights = training_weights(&t);
    hone_random random = hone_random_seed(4, 4);
    for (size_t i = 0; i < t.lora->count; i++) {
        const hone_lora_entry *const e = &t.lora->entries[i];
        for (int64_t j = 0; j < e->n_out * e->rank; j++) weights[e->b + (size_t)j] = 0.1f * hone_random_normal(&random);
    }
    training_must(&t, hone_lora_upload(t.lora, weights, &t.error));
    free(weights);
    training_start(&t, &(hone_train_options){.steps = 1, .batch = batch, .accumulate = accumulate, .in_order = true});
    *loss = training_step(&t).loss;
    *floats = t.lora->floats;
    float *const gradients = malloc(*floats * sizeof(float));
    assert_non_null(gradients);
    training_must(&t, hone_trainer_gradients(t.trainer, gradients, *floats, &t.error));
    training_close(&t);
    hone_text_clear(&four);
    return gradients;
}

static void test_the_split_into_micro_batches_does_not_matter(void **state) {
    (void)state;
    size_t floats;
    double loss, other_loss;
    float *const together = first_gradients(4, 1, &loss, &floats);
    for (int64_t batch = 1; batch <= 2; batch++) {
        float *const split = first_gradients(batch, 4 / batch, &other_loss, &floats);
        assert_true(fabs(loss - other_loss) <= 1e-6 * loss);
        double largest = 0, difference = 0;
        for (size_t i = 0; i < floats; i++) {
            largest = fmax(largest, fabs((double)together[i]));
            difference = fmax(difference, fabs((double)together[i] - (double)split[i]));
        }
        assert_true(largest > 0);
        assert_true(difference <= 1e-5 * largest);
        free(split);
    }
    free(together);
}

// More shapes than plans are kept: those that go may belong to steps that are still under way.
static void test_more_shapes_than_plans(void **state) {
    (void)state;
    hone_text growing = {0};
    for (int i = 0; i < 10; i++) training_rows(&growing, 1, 40 + 50 * i, 40 + 50 * i, (uint64_t)i);
    float *weights[2];
    size_t floats = 0;
    for (int ahead = 0; ahead < 2; ahead++) {
        training t;
        training_open(&t, training_on_gpu() ? NULL : "null", 2, &growing, &lora_options);
        if (!training_on_gpu()) hone_null_set_script(t.device, &(hone_null_script){.pending = 1, .ahead = 2});
        training_start(&t, &(hone_train_options){.steps = 12, .batch = 1, .learning_rate = 1e-2, .in_order = true});
        hone_trainer_go_ahead(t.trainer, ahead ? 12 : 0);
        size_t buffers = 0, after = 0;
        for (int i = 0; i < 12; i++) {
            assert_false(training_step(&t).skipped);
            if (i == 1) hone_device_usage(t.device, NULL, &buffers);
        }
        hone_device_usage(t.device, NULL, &after);
        assert_int_equal(after, buffers);
        weights[ahead] = training_weights(&t);
        floats = t.lora->floats;
        training_close(&t);
    }
    assert_memory_equal(weights[0], weights[1], floats * sizeof(float));
    free(weights[0]);
    free(weights[1]);
    hone_text_clear(&growing);
}

// The likeliest tokens behind a prompt that is longer than what is read at once.
static void generate(training *t, int32_t *tokens, size_t count) {
    int32_t prompt[70];
    hone_random random = hone_random_seed(8, 8);
    for (size_t i = 0; i < 70; i++) prompt[i] = TINY_FIRST_BYTE + (int32_t)hone_random_below(&random, 200);
    hone_generator *generator;
    training_must(t, hone_generator_create(t->model, t->lora, 128, &generator, &t->error));
    hone_status status;
    do status = hone_generator_feed(generator, prompt, 70, &t->error);
    while (status == HONE_PENDING);
    training_must(t, status);
    for (size_t i = 0; i < count; i++) {
        do status = hone_generator_next(generator, NULL, &tokens[i], &t->error);
        while (status == HONE_PENDING);
        training_must(t, status);
    }
    hone_generator_destroy(generator);
}

// Matrices in 4 bits with and without minimum, 8 bits, f16 and f32: losses, an evaluation and greedy text as on the CPU.
static void test_the_cpu_agrees(void **state) {
    (void)state;
    size_t floats;
    double losses[20], evaluated[2];
    int32_t tokens[2][24];
    run_whole();
    float *const weights = run("cpu", 2, &base_options, losses, &floats);
    for (int own = 0; own < 2; own++) { // the same weights on both
        training t;
        training_open(&t, own ? NULL : "cpu", 2, &rows, &lora_options);
        training_must(&t, hone_lora_upload(t.lora, weights, &t.error));
        training_start(&t, &base_options);
        evaluated[own] = training_evaluate(&t);
        generate(&t, tokens[own], 24);
        training_close(&t);
    }
    double worst = 0;
    for (int i = 0; i < 20; i++) worst = fmax(worst, fabs(whole.losses[i] - losses[i]) / losses[i]);
    const double apart = fabs(evaluated[1] - evaluated[0]) / evaluated[0];
    print_message("losses within %.2e of the CPU's, evaluation within %.2e\n", worst, apart);
    assert_true(worst <= 1e-4);
    assert_true(apart <= 1e-5);
    assert_memory_equal(tokens[0], tokens[1], sizeof(tokens[0]));
    free(weights);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_knows_its_rows),
        cmocka_unit_test(test_resume_is_the_same_run),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_recomputation_does_not_matter),
        cmocka_unit_test(test_dropout_is_the_same_with_recomputation),
        cmocka_unit_test(test_the_head_may_have_a_lora_and_dropout),
        cmocka_unit_test(test_dense_matrices_beside_codes),
        cmocka_unit_test(test_a_late_device_does_not_matter),
        cmocka_unit_test(test_going_ahead_does_not_matter),
        cmocka_unit_test(test_the_split_into_micro_batches_does_not_matter),
        cmocka_unit_test(test_more_shapes_than_plans),
        cmocka_unit_test(test_the_cpu_agrees),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
