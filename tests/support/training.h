// SPDX-License-Identifier: Apache-2.0
// For tests that train: a tiny model, rows made of random ids, and one training run in a call.
#ifndef HONE_TESTS_TRAINING_H
#define HONE_TESTS_TRAINING_H

#include <hone/hone.h>

#include "base/random.h"
#include "base/text.h"
#include "model/model.h"
#include "scratch.h"
#include "text/dataset.h"
#include "tiny_model.h"

// The device that the test is about: HONE_TEST_DEVICE in the environment, else the CPU.
static inline const char *training_device(void) {
    const char *const name = getenv("HONE_TEST_DEVICE");
    return name && name[0] ? name : "cpu";
}

static inline bool training_on_gpu(void) {
    return strcmp(training_device(), "cpu") != 0;
}

// Everything a run needs. The model file lies in the scratch folder under `model.gguf`.
typedef struct training {
    hone_device *device;
    hone_model *model;
    hone_lora *lora;
    hone_dataset *data;
    hone_trainer *trainer;
    hone_error error;
} training;

#define training_must(t, call)                                                                                         \
    do {                                                                                                               \
        const hone_status training_status = (call);                                                                    \
        if (training_status != HONE_OK) fail_msg("%s: %s", #call, (t)->error.message);                                 \
    } while (0)

// `rows` lines of {"ids", "labels"} with lengths from `shortest` to `longest` and about half of the labels trained.
static inline void training_rows(hone_text *lines, int rows, int shortest, int longest, uint64_t seed) {
    hone_random random = hone_random_seed(seed, 7);
    for (int r = 0; r < rows; r++) {
        const int length = shortest + (int)hone_random_below(&random, (uint32_t)(longest - shortest + 1));
        hone_text labels = {0};
        hone_text_print(lines, "{\"ids\":[");
        for (int i = 0; i < length; i++) {
            const int id = TINY_FIRST_BYTE + (int)hone_random_below(&random, 200);
            const bool trained = i > 0 && (hone_random_below(&random, 2) || i == length - 1);
            hone_text_print(lines, "%s%d", i ? "," : "", id);
            hone_text_print(&labels, "%s%d", i ? "," : "", trained ? id : -100);
        }
        hone_text_print(lines, "],\"labels\":[%s]}\n", labels.bytes);
        hone_text_clear(&labels);
    }
}

static inline hone_status training_scan(hone_model *model, const char *lines, size_t length, hone_dataset **out,
                                        hone_error *error) {
    hone_source *source;
    hone_status status = hone_memory_source(lines, length, "rows", &source, error);
    if (status != HONE_OK) return status;
    status = hone_dataset_scan_source(source, hone_model_tokenizer(model), NULL, out, error);
    hone_source_close(&source);
    return status;
}

// Opens all but the trainer. `device` may be NULL for the device that the test is about.
static inline void training_open_file(training *t, const char *model, const char *device, int threads,
                                      const hone_text *rows, const hone_lora_options *lora) {
    *t = (training){0};
    const hone_device_description description = {device ? device : training_device(), threads};
    hone_status status;
    do status = hone_device_open(&description, &t->device, &t->error);
    while (status == HONE_PENDING);
    training_must(t, status);
    training_must(t, hone_model_open(t->device, model, &t->model, &t->error));
    training_must(t, training_scan(t->model, rows->bytes, rows->length, &t->data, &t->error));
    training_must(t, hone_lora_create(t->model, lora, &t->lora, &t->error));
}

static inline void training_open(training *t, const char *device, int threads, const hone_text *rows,
                                 const hone_lora_options *lora) {
    training_open_file(t, "model.gguf", device, threads, rows, lora);
}

static inline void training_start(training *t, const hone_train_options *options) {
    training_must(t, hone_trainer_create(t->model, t->lora, t->data, options, &t->trainer, &t->error));
}

static inline void training_close(training *t) {
    hone_trainer_destroy(t->trainer);
    hone_lora_destroy(t->lora);
    hone_dataset_destroy(t->data);
    hone_model_close(t->model);
    hone_device_close(t->device);
}

static inline hone_step_report training_step(training *t) {
    hone_step_report report = {0};
    hone_status status;
    do status = hone_trainer_step(t->trainer, &report, &t->error);
    while (status == HONE_PENDING);
    if (status != HONE_OK) fail_msg("step: %s", t->error.message);
    return report;
}

// The LoRA's floats; free() them.
static inline float *training_weights(training *t) {
    float *const values = malloc(t->lora->floats * sizeof(float));
    assert_non_null(values);
    hone_status status;
    do status = hone_lora_download(t->lora, values, &t->error);
    while (status == HONE_PENDING);
    assert_int_equal(status, HONE_OK);
    return values;
}

// The mean loss over the rows it trains on.
static inline double training_evaluate(training *t) {
    double loss = 0;
    hone_status status;
    do status = hone_trainer_evaluate(t->trainer, t->data, &loss, NULL, &t->error);
    while (status == HONE_PENDING);
    training_must(t, status);
    return loss;
}

#endif
