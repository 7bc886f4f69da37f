// SPDX-License-Identifier: Apache-2.0
// The PyTorch training run of ../shared/reference, done again: losses, gradient norms, logits and gradients of a real
// model against the fp64 record, on any device. Needs the model and the folder; without them it says so and passes.
// usage: golden_reference MODEL FOLDER STEPS [DEVICE [text|chat]]; both kinds where none is named
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hone/hone.h>
#include <jansson.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/npy.h"
#include "model/model.h"
#include "text/dataset.h"

static int failures;

static void expect(bool ok, const char *what, double got, double limit) {
    if (!ok) {
        failures++;
        printf("FAIL %s: %.3g, allowed %.3g\n", what, got, limit);
    }
}

static void must(hone_status status, const hone_error *error, const char *what) {
    if (status == HONE_OK) return;
    printf("FAIL %s: %s\n", what, error->message);
    exit(1);
}

// A call that may say HONE_PENDING, as often as it says so.
#define MUST_WAIT(call, error, what)                                                                                   \
    do {                                                                                                               \
        hone_status waiting;                                                                                           \
        do waiting = (call);                                                                                           \
        while (waiting == HONE_PENDING);                                                                               \
        must(waiting, error, what);                                                                                    \
    } while (0)

typedef struct reference {
    const char *folder;
    const char *kind; // "text" or "chat"
    int64_t steps;
    bool gpu;
    hone_model *model;
} reference;

static char *path_of(const reference *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static char *path_of(const reference *r, const char *format, ...) {
    static char path[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = snprintf(path, sizeof(path), "%s/", r->folder);
    vsnprintf(path + length, sizeof(path) - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}

// The rows of tokens.npy as {"ids": [...]} lines.
static void text_rows(const reference *r, hone_dataset **out) {
    hone_error error;
    hone_tensor tokens;
    must(hone_npy_read(path_of(r, "tokens.npy"), &tokens, &error), &error, "tokens.npy");
    hone_text lines = {0};
    const int32_t *const ids = tokens.data;
    for (int64_t row = 0; row < tokens.type.dims[0]; row++) {
        for (int64_t t = 0; t < tokens.type.dims[1]; t++)
            hone_text_print(&lines, "%s%d", t ? "," : "{\"ids\":[", ids[row * tokens.type.dims[1] + t]);
        hone_text_print(&lines, "]}\n");
    }
    hone_source *source;
    must(hone_memory_source(lines.bytes, lines.length, "tokens.npy", &source, &error), &error, "rows");
    must(hone_dataset_scan_source(source, hone_model_tokenizer(r->model), NULL, out, &error), &error, "rows");
    hone_source_close(&source);
    hone_text_clear(&lines);
    hone_free(tokens.data);
}

static void check_logits(const reference *r, const hone_dataset *data) {
    hone_error error;
    hone_tensor wanted;
    must(hone_npy_read(path_of(r, "%s_logits_4x64_f64.npy", r->kind), &wanted, &error), &error, "logits");
    hone_generator *generator;
    must(hone_generator_create(r->model, NULL, 256, &generator, &error), &error, "generator");
    double worst = 0;
    for (int64_t t = 0; t < wanted.type.dims[0]; t++) {
        MUST_WAIT(hone_generator_feed(generator, &data->ids[t], 1, &error), &error, "feed");
        const float *const logits = hone_generator_logits(generator);
        for (int64_t v = 0; v < wanted.type.dims[1]; v++) {
            const double difference = fabs(logits[v] - ((const double *)wanted.data)[t * wanted.type.dims[1] + v]);
            worst = difference > worst ? difference : worst;
        }
    }
    // The same four tokens read as one piece of a prompt.
    hone_generator_rewind(generator, 0);
    MUST_WAIT(hone_generator_feed(generator, data->ids, (size_t)wanted.type.dims[0], &error), &error, "feed");
    const float *const logits = hone_generator_logits(generator);
    for (int64_t v = 0; v < wanted.type.dims[1]; v++) {
        const double difference =
            fabs(logits[v] - ((const double *)wanted.data)[(wanted.type.dims[0] - 1) * wanted.type.dims[1] + v]);
        worst = difference > worst ? difference : worst;
    }
    printf("%s: first logits: largest difference %.2e\n", r->kind, worst);
    expect(worst <= 3e-4, "logits", worst, 3e-4);
    hone_generator_destroy(generator);
    hone_free(wanted.data);
}

// The L2 norms of all tensors against the fp64 record, and the stored gradients of B against those of the fp32 run. The
// latter are taken as one vector: that run's own rounding puts single tensors up to 2e-4 away from the exact gradient.
static void check_gradients(const reference *r, hone_trainer *trainer, const hone_lora *lora, const json_t *record) {
    hone_error error;
    float *gradients;
    must(hone_allocate(lora->floats, sizeof(float), "gradients", (void **)&gradients, &error), &error, "memory");
    MUST_WAIT(hone_trainer_gradients(trainer, gradients, lora->floats, &error), &error, "gradients");
    const json_t *const norms = json_object_get(record, "grad_l2_step0");
    double worst_norm = 0, worst = 0, all_difference = 0, all_norm = 0;
    int checked = 0;
    for (size_t i = 0; i < lora->count; i++) {
        const hone_lora_entry *const e = &lora->entries[i];
        char name[96], key[112];
        hone_matrix_name(e->layer, e->matrix, name, sizeof(name));
        double own = 0;
        for (int64_t j = 0; j < e->n_out * e->rank; j++)
            own += (double)gradients[e->b + (size_t)j] * gradients[e->b + (size_t)j];
        snprintf(key, sizeof(key), "%s.lora_b", name);
        const double norm = json_number_value(json_object_get(norms, key));
        const double norm_error = fabs(sqrt(own) - norm) / norm;
        expect(norm_error <= 2e-4, key, norm_error, 2e-4);
        if (norm_error > worst_norm) worst_norm = norm_error;
        const char *const path = path_of(r, "%s_grads_step0/%s.npy", r->kind, key);
        if (!hone_path_exists(path)) continue;
        hone_tensor wanted;
        must(hone_npy_read(path, &wanted, &error), &error, "gradient");
        if (hone_type_elements(&wanted.type) != e->n_out * e->rank || wanted.type.dtype != HONE_DTYPE_F32) {
            printf("FAIL %s has another shape\n", path);
            exit(1);
        }
        double difference = 0;
        for (int64_t j = 0; j < e->n_out * e->rank; j++) {
            const double d = (double)gradients[e->b + (size_t)j] - ((const float *)wanted.data)[j];
            difference += d * d;
        }
        if (sqrt(difference / own) > worst) worst = sqrt(difference / own);
        all_difference += difference;
        all_norm += own;
        checked++;
        hone_free(wanted.data);
    }
    const double all = sqrt(all_difference / all_norm);
    printf("%s: gradients of step 0: norms of %zu tensors within %.2e of fp64; %d tensors within %.2e of fp32, the "
           "worst %.2e\n",
           r->kind, lora->count, worst_norm, checked, all, worst);
    expect(all <= 2e-4, "gradients", all, 2e-4);
    expect(checked == 21, "gradients checked", checked, 21);
    hone_free(gradients);
}

static void check_steps(const reference *r, const hone_dataset *data) {
    hone_error error;
    json_error_t where;
    json_t *const record = json_load_file(path_of(r, "%s_f64.json", r->kind), 0, &where);
    const json_t *const steps = json_object_get(record, "steps");
    hone_lora *lora;
    must(hone_lora_open(r->model, path_of(r, "lora_init.gguf"), &lora, &error), &error, "lora_init.gguf");
    const hone_train_options options = {.steps = r->steps,
                                        .batch = 1,
                                        .learning_rate = 2e-4,
                                        .schedule = HONE_SCHEDULE_CONSTANT,
                                        .weight_decay = 0.01,
                                        .in_order = true};
    hone_trainer *trainer;
    must(hone_trainer_create(r->model, lora, data, &options, &trainer, &error), &error, "trainer");
    const double loss_most = r->gpu ? 1e-4 : 2e-5;
    double worst_loss = 0, worst_norm = 0;
    for (int64_t i = 0; i < r->steps; i++) {
        hone_step_report report;
        MUST_WAIT(hone_trainer_step(trainer, &report, &error), &error, "step");
        const json_t *const wanted = json_array_get(steps, (size_t)i);
        const double loss = json_number_value(json_object_get(wanted, "loss"));
        const double norm = json_number_value(json_object_get(wanted, "grad_norm"));
        const double loss_error = fabs(report.loss - loss) / loss;
        const double norm_error = fabs(report.gradient_norm - norm) / norm;
        if (loss_error > worst_loss) worst_loss = loss_error;
        if (norm_error > worst_norm) worst_norm = norm_error;
        expect(loss_error <= loss_most, "loss", loss_error, loss_most);
        expect(norm_error <= 1e-4, "gradient norm", norm_error, 1e-4);
        expect(report.supervised == json_integer_value(json_object_get(wanted, "n_targets")), "targets",
               (double)report.supervised, json_number_value(json_object_get(wanted, "n_targets")));
        if (i == 0) check_gradients(r, trainer, lora, record);
    }
    printf("%s: %lld steps: loss within %.2e, gradient norm within %.2e of the record\n", r->kind, (long long)r->steps,
           worst_loss, worst_norm);
    hone_trainer_destroy(trainer);
    hone_lora_destroy(lora);
    json_decref(record);
}

int main(int argc, char **argv) {
    hone_error error;
    reference r = {.folder = argc > 2 ? argv[2] : "", .steps = argc > 3 ? atoll(argv[3]) : 3};
    if (argc < 3 || !hone_path_exists(argv[1]) || !hone_path_exists(path_of(&r, "tokens.npy"))) {
        printf("skipped: the model or the reference folder is not there\n");
        return 0;
    }
    const char *const kind = argc > 5 ? argv[5] : NULL;
    hone_device *device = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0); // a GPU in software takes minutes
    const hone_device_description description = {.name = argc > 4 ? argv[4] : "cpu"};
    MUST_WAIT(hone_device_open(&description, &device, &error), &error, "device");
    r.gpu = strcmp(description.name, "cpu") != 0;
    must(hone_model_open(device, argv[1], &r.model, &error), &error, "model");
    hone_dataset *data;
    if (!kind || strcmp(kind, "text") == 0) {
        r.kind = "text";
        text_rows(&r, &data);
        check_logits(&r, data);
        check_steps(&r, data);
        hone_dataset_destroy(data);
    }
    if (!kind || strcmp(kind, "chat") == 0) {
        r.kind = "chat";
        must(hone_dataset_scan(path_of(&r, "chat.jsonl"), hone_model_tokenizer(r.model), NULL, &data, &error), &error,
             "chat.jsonl");
        check_logits(&r, data);
        check_steps(&r, data);
        hone_dataset_destroy(data);
    }
    hone_model_close(r.model);
    hone_device_close(device);
    printf("%s\n", failures ? "FAILED" : "all within the tolerances");
    return failures != 0;
}
