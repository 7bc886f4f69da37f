// SPDX-License-Identifier: Apache-2.0
// The shape of a llama-family model, read from GGUF metadata and checked.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"

static hone_status read_integer(const hone_gguf *gguf, const hone_model_config *config, const char *suffix, int64_t low,
                                int64_t high, int64_t *out, hone_error *error) {
    char key[160];
    snprintf(key, sizeof(key), "%s.%s", config->architecture, suffix);
    HONE_TRY(hone_gguf_integer(gguf, key, out, error));
    HONE_FAIL_IF(*out < low || *out > high, error, BAD_FORMAT, "%s is %lld; %lld to %lld can be", key, (long long)*out,
                 (long long)low, (long long)high);
    return HONE_OK;
}

static hone_status read_optional(const hone_gguf *gguf, const hone_model_config *config, const char *suffix,
                                 double *out, hone_error *error) {
    char key[160];
    snprintf(key, sizeof(key), "%s.%s", config->architecture, suffix);
    if (!hone_gguf_find(gguf, key)) return HONE_OK;
    HONE_TRY(hone_gguf_real(gguf, key, out, error));
    HONE_FAIL_IF(!isfinite(*out), error, BAD_FORMAT, "%s is %g, which cannot be", key, *out);
    return HONE_OK;
}

static hone_status read_rope(const hone_gguf *gguf, hone_model_config *config, hone_error *error) {
    double columns = (double)config->head_size;
    config->rope_base = 10000.0;
    config->rope_scale = 1.0;
    HONE_TRY(read_optional(gguf, config, "rope.dimension_count", &columns, error));
    HONE_TRY(read_optional(gguf, config, "rope.freq_base", &config->rope_base, error));
    config->rope_columns = (int64_t)columns;
    HONE_FAIL_IF(config->rope_columns < 2 || config->rope_columns > config->head_size || config->rope_columns % 2,
                 error, BAD_FORMAT,
                 "%s.rope.dimension_count is %lld; an even number up to the head size of %lld can be",
                 config->architecture, (long long)config->rope_columns, (long long)config->head_size);
    HONE_FAIL_IF(!(config->rope_base > 0), error, BAD_FORMAT, "%s.rope.freq_base must be above 0",
                 config->architecture);
    char key[160];
    snprintf(key, sizeof(key), "%s.rope.scaling.type", config->architecture);
    if (!hone_gguf_find(gguf, key)) return HONE_OK;
    const char *scaling;
    HONE_TRY(hone_gguf_text(gguf, key, &scaling, error));
    if (strcmp(scaling, "none") == 0) return HONE_OK;
    HONE_FAIL_IF(strcmp(scaling, "linear") != 0, error, UNSUPPORTED, "%s '%s' is not supported; only linear scaling is",
                 key, scaling);
    HONE_TRY(read_optional(gguf, config, "rope.scaling.factor", &config->rope_scale, error));
    HONE_FAIL_IF(!(config->rope_scale > 0), error, BAD_FORMAT, "%s.rope.scaling.factor must be above 0",
                 config->architecture);
    return HONE_OK;
}

static hone_status read_heads(const hone_gguf *gguf, hone_model_config *config, hone_error *error) {
    HONE_TRY(read_integer(gguf, config, "attention.head_count", 1, 65536, &config->heads, error));
    config->kv_heads = config->heads;
    char key[160];
    snprintf(key, sizeof(key), "%s.attention.head_count_kv", config->architecture);
    if (hone_gguf_find(gguf, key))
        HONE_TRY(read_integer(gguf, config, "attention.head_count_kv", 1, config->heads, &config->kv_heads, error));
    HONE_FAIL_IF(config->heads % config->kv_heads, error, BAD_FORMAT,
                 "%lld heads cannot share %lld key and value heads evenly", (long long)config->heads,
                 (long long)config->kv_heads);
    snprintf(key, sizeof(key), "%s.attention.key_length", config->architecture);
    if (hone_gguf_find(gguf, key)) {
        HONE_TRY(read_integer(gguf, config, "attention.key_length", 1, 65536, &config->head_size, error));
    } else {
        HONE_FAIL_IF(config->width % config->heads, error, BAD_FORMAT,
                     "a width of %lld cannot be split into %lld heads", (long long)config->width,
                     (long long)config->heads);
        config->head_size = config->width / config->heads;
    }
    return HONE_OK;
}

hone_status hone_config_read(const hone_gguf *gguf, hone_model_config *out, hone_error *error) {
    *out = (hone_model_config){0};
    const char *type = "model";
    if (hone_gguf_find(gguf, "general.type")) HONE_TRY(hone_gguf_text(gguf, "general.type", &type, error));
    HONE_FAIL_IF(strcmp(type, "adapter") == 0, error, UNSUPPORTED,
                 "this is an adapter, not a model: give it with --adapter");
    const char *text;
    HONE_TRY(hone_gguf_text(gguf, "general.architecture", &text, error));
    HONE_FAIL_IF(strcmp(text, "llama") != 0, error, UNSUPPORTED,
                 "the model family '%s' is not supported by this version; 'llama' is", text);
    snprintf(out->architecture, sizeof(out->architecture), "%s", text);
    if (hone_gguf_find(gguf, "general.name")) {
        HONE_TRY(hone_gguf_text(gguf, "general.name", &text, error));
        snprintf(out->name, sizeof(out->name), "%s", text);
    }
    HONE_TRY(read_integer(gguf, out, "embedding_length", 1, 1 << 20, &out->width, error));
    HONE_TRY(read_integer(gguf, out, "block_count", 1, 4096, &out->layers, error));
    HONE_TRY(read_integer(gguf, out, "feed_forward_length", 1, 1 << 24, &out->inner, error));
    HONE_TRY(read_integer(gguf, out, "context_length", 1, INT32_MAX, &out->context, error));
    HONE_TRY(read_heads(gguf, out, error));
    out->epsilon = 1e-5;
    HONE_TRY(read_optional(gguf, out, "attention.layer_norm_rms_epsilon", &out->epsilon, error));
    HONE_FAIL_IF(!(out->epsilon >= 0), error, BAD_FORMAT, "%s.attention.layer_norm_rms_epsilon must not be below 0",
                 out->architecture);
    HONE_TRY(read_rope(gguf, out, error));
    const hone_gguf_tensor *const embedding = hone_gguf_find_tensor(gguf, "token_embd.weight");
    HONE_FAIL_IF(!embedding || embedding->rank != 2, error, BAD_FORMAT, "the matrix 'token_embd.weight' is missing");
    out->vocabulary = embedding->dims[0];
    out->tied = hone_gguf_find_tensor(gguf, "output.weight") == NULL;
    return HONE_OK;
}
