// SPDX-License-Identifier: Apache-2.0
// Opening and closing a model.
#include "model/model.h"

#include <string.h>

static hone_status open_gguf(hone_model *model, const hone_gguf *gguf, hone_error *error) {
    HONE_TRY(hone_config_read(gguf, &model->config, error));
    HONE_TRY(hone_tokenizer_from_gguf(gguf, NULL, &model->tokenizer, error));
    HONE_FAIL_IF((int64_t)hone_tokenizer_size(model->tokenizer) > model->config.vocabulary, error, BAD_FORMAT,
                 "the vocabulary has %zu tokens, but the embedding table only %lld rows",
                 hone_tokenizer_size(model->tokenizer), (long long)model->config.vocabulary);
    return hone_weights_load(model, gguf, error);
}

// Programs on a model are others': each drops its own.
static void drop(void *self) {
    (void)self;
}

static hone_status restore(void *self, hone_error *error) {
    hone_model *const model = self;
    hone_gguf *gguf;
    HONE_TRY(hone_gguf_open(model->path, &gguf, error));
    const hone_status status = hone_weights_reload(model, gguf, error);
    hone_gguf_close(gguf);
    if (status != HONE_OK && !(error && strstr(error->message, model->path)))
        hone_error_prefix(error, "'%s'", model->path);
    return status;
}

hone_status hone_model_open(hone_device *device, const char *path, hone_model **out, hone_error *error) {
    *out = NULL;
    hone_gguf *gguf;
    HONE_TRY(hone_gguf_open(path, &gguf, error));
    hone_model *model;
    hone_status status = HONE_NEW(&model, "a model", error);
    if (status != HONE_OK) {
        hone_gguf_close(gguf);
        return status;
    }
    model->device = device;
    status = hone_copy_string(path, strlen(path), &model->path, error);
    if (status == HONE_OK) {
        status = open_gguf(model, gguf, error);
        if (status != HONE_OK && !(error && strstr(error->message, path))) hone_error_prefix(error, "'%s'", path);
    }
    hone_gguf_close(gguf);
    if (status != HONE_OK) {
        hone_model_close(model);
        return status;
    }
    model->user = (hone_device_user){.drop = drop, .restore = restore, .self = model};
    hone_device_add_user(device, &model->user);
    *out = model;
    return HONE_OK;
}

void hone_model_close(hone_model *model) {
    if (!model) return;
    hone_device_remove_user(model->device, &model->user);
    hone_weights_free(model);
    hone_tokenizer_destroy(model->tokenizer);
    hone_arena_clear(&model->arena);
    hone_free(model->path);
    hone_free(model);
}

const hone_model_config *hone_model_shape(const hone_model *model) {
    return &model->config;
}

hone_tokenizer *hone_model_tokenizer(const hone_model *model) {
    return model->tokenizer;
}

const char *hone_model_path(const hone_model *model) {
    return model->path;
}
