// SPDX-License-Identifier: Apache-2.0
// The LoRA beside a model: choosing matrices, laying out A and B in one buffer, and the way to and from adapter files.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/device.h"
#include "model/model.h"

static const struct {
    const char *name;
    uint32_t bit;
} target_words[] = {{"q", HONE_TARGET_Q},       {"k", HONE_TARGET_K},       {"v", HONE_TARGET_V},
                    {"o", HONE_TARGET_O},       {"gate", HONE_TARGET_GATE}, {"up", HONE_TARGET_UP},
                    {"down", HONE_TARGET_DOWN}, {"head", HONE_TARGET_HEAD}, {"all", HONE_TARGET_ALL_LAYERS}};

hone_status hone_targets_parse(const char *text, uint32_t *out, hone_error *error) {
    uint32_t bits = 0;
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        uint32_t bit = 0;
        for (size_t i = 0; i < sizeof(target_words) / sizeof(target_words[0]); i++) {
            if (strlen(target_words[i].name) == length && memcmp(target_words[i].name, at, length) == 0)
                bit = target_words[i].bit;
        }
        HONE_FAIL_IF(!bit, error, INVALID_ARGUMENT,
                     "'%.*s' is no target; q, k, v, o, gate, up, down, head and all are, joined by commas", (int)length,
                     at);
        bits |= bit;
        if (at[length] == 0) break;
        at += length + 1;
    }
    *out = bits;
    return HONE_OK;
}

static size_t aligned_floats(int64_t floats) {
    const size_t step = HONE_BUFFER_ALIGNMENT / sizeof(float);
    return ((size_t)floats + step - 1) / step * step;
}

static void add_entry(hone_lora *lora, int64_t layer, int matrix, int64_t rank) {
    const hone_weight *const weight = hone_model_matrix(lora->model, layer, matrix);
    hone_lora_entry *const e = &lora->entries[lora->count++];
    *e = (hone_lora_entry){.layer = layer,
                           .matrix = matrix,
                           .weight = weight,
                           .rank = rank,
                           .n_in = weight->columns,
                           .n_out = weight->rows};
    e->a = lora->floats;
    e->b = e->a + aligned_floats(rank * e->n_in);
    lora->floats = e->b + aligned_floats(rank * e->n_out);
    lora->parameters += (size_t)(rank * (e->n_in + e->n_out));
}

static hone_status check_options(const hone_model *model, const hone_lora_options *o, hone_error *error) {
    HONE_FAIL_IF(o->rank < 1 || o->rank > 4096, error, INVALID_ARGUMENT, "a rank of %d cannot be: 1 to 4096 can",
                 o->rank);
    HONE_FAIL_IF(!((float)o->alpha > 0) || !isfinite((float)o->alpha), error, INVALID_ARGUMENT,
                 "alpha must be an fp32 number above 0, not %g", o->alpha);
    HONE_FAIL_IF(
        (o->targets & HONE_TARGET_HEAD) && model->config.tied, error, UNSUPPORTED,
        "the head of this model is its embedding table (tied), so it cannot have a LoRA of its own: leave 'head' out");
    return HONE_OK;
}

// The object without values: entries laid out, buffer allocated. rank(layer, matrix) is 0 where there is no LoRA.
static hone_status make(hone_model *model, const hone_lora_options *options,
                        int64_t (*rank)(const void *context, int64_t layer, int matrix), const void *context,
                        hone_lora **out, hone_error *error) {
    hone_lora *lora;
    HONE_TRY(HONE_NEW(&lora, "a LoRA", error));
    lora->model = model;
    lora->options = *options;
    hone_status status =
        HONE_NEW_ARRAY(&lora->entries, (size_t)model->config.layers * HONE_BLOCK_MATRICES + 1, "a LoRA", error);
    for (int64_t layer = 0; layer < model->config.layers && status == HONE_OK; layer++) {
        for (int m = 0; m < HONE_BLOCK_MATRICES; m++) {
            const int64_t r = rank(context, layer, m);
            if (r > 0) add_entry(lora, layer, m, r);
        }
    }
    if (status == HONE_OK && rank(context, 0, HONE_MATRIX_HEAD) > 0)
        add_entry(lora, 0, HONE_MATRIX_HEAD, rank(context, 0, HONE_MATRIX_HEAD));
    if (status == HONE_OK && lora->count == 0)
        status = hone_error_set(error, HONE_INVALID_ARGUMENT, "a LoRA needs at least one target");
    if (status == HONE_OK)
        status = hone_buffer_create(model->device, lora->floats * sizeof(float), "the LoRA", &lora->buffer, error);
    if (status != HONE_OK) {
        hone_lora_destroy(lora);
        return status;
    }
    *out = lora;
    return HONE_OK;
}

static int64_t rank_from_options(const void *context, int64_t layer, int matrix) {
    const hone_lora_options *const o = context;
    (void)layer;
    return o->targets >> matrix & 1 ? o->rank : 0;
}

hone_status hone_lora_create(hone_model *model, const hone_lora_options *options, hone_lora **out, hone_error *error) {
    *out = NULL;
    hone_lora_options o = options ? *options : (hone_lora_options){0};
    if (o.rank == 0) o.rank = 16;
    if (o.alpha == 0) o.alpha = 2.0 * o.rank;
    if (o.targets == 0) o.targets = HONE_TARGET_ALL_LAYERS;
    HONE_TRY(check_options(model, &o, error));
    hone_lora *lora;
    HONE_TRY(make(model, &o, rank_from_options, &o, &lora, error));
    if (model->device->counts_only) {
        *out = lora;
        return HONE_OK;
    }
    float *values;
    hone_status status = HONE_NEW_ARRAY(&values, lora->floats, "a LoRA", error);
    if (status == HONE_OK) {
        for (size_t i = 0; i < lora->count; i++) { // one stream a tensor: the values do not depend on the other targets
            const hone_lora_entry *const e = &lora->entries[i];
            hone_random random =
                hone_random_seed(o.seed, (uint64_t)e->layer * (HONE_BLOCK_MATRICES + 1) + (uint64_t)e->matrix);
            const double bound = 1.0 / sqrt((double)e->n_in);
            for (int64_t j = 0; j < e->rank * e->n_in; j++)
                values[e->a + (size_t)j] = (float)((2.0 * (double)hone_random_float(&random) - 1.0) * bound);
        }
        status = hone_lora_upload(lora, values, error);
        hone_free(values);
    }
    if (status != HONE_OK) {
        hone_lora_destroy(lora);
        return status;
    }
    *out = lora;
    return HONE_OK;
}

void hone_lora_destroy(hone_lora *lora) {
    if (!lora) return;
    hone_buffer_destroy(lora->buffer);
    hone_free(lora->entries);
    hone_free(lora);
}

size_t hone_lora_parameters(const hone_lora *lora) {
    return lora->parameters;
}

hone_status hone_lora_download(const hone_lora *lora, float *out, hone_error *error) {
    return hone_buffer_download(lora->buffer, 0, out, lora->floats * sizeof(float), error);
}

hone_status hone_lora_upload(hone_lora *lora, const float *values, hone_error *error) {
    return hone_buffer_upload(lora->buffer, 0, values, lora->floats * sizeof(float), error);
}

// --- adapter files -------------------------------------------------------------------------------------------------

typedef struct adapter_ranks {
    const hone_adapter *adapter;
    const hone_model *model;
} adapter_ranks;

static const hone_adapter_entry *find_entry(const hone_adapter *adapter, int64_t layer, int matrix) {
    char name[96];
    hone_matrix_name(layer, matrix, name, sizeof(name));
    return hone_adapter_find(adapter, name);
}

static int64_t rank_from_adapter(const void *context, int64_t layer, int matrix) {
    const hone_adapter_entry *const entry = find_entry(((const adapter_ranks *)context)->adapter, layer, matrix);
    return entry ? entry->rank : 0;
}

// Every entry of the file must belong to a matrix of this model and fit it.
static hone_status check_adapter(const hone_model *model, const hone_adapter *adapter, const char *path,
                                 hone_error *error) {
    HONE_FAIL_IF(adapter->architecture && strcmp(adapter->architecture, model->config.architecture) != 0, error,
                 MISMATCH, "adapter '%s' is for the family '%s', the model is '%s'", path, adapter->architecture,
                 model->config.architecture);
    if (adapter->base_hash && !model->device->counts_only) { // which has read no weights to have a hash of
        char own[24];
        snprintf(own, sizeof(own), "%016llx", (unsigned long long)model->config.file_hash);
        HONE_FAIL_IF(strcmp(own, adapter->base_hash) != 0, error, MISMATCH,
                     "adapter '%s' was trained on another base (%s, hash %s; this one has %s): use it with that one",
                     path, adapter->base_name ? adapter->base_name : "no name", adapter->base_hash, own);
    }
    size_t met = 0;
    for (int64_t layer = 0; layer < model->config.layers; layer++) {
        for (int m = 0; m <= HONE_BLOCK_MATRICES; m++) {
            if (m == HONE_MATRIX_HEAD && (layer > 0 || model->config.tied)) continue;
            const hone_adapter_entry *const entry = find_entry(adapter, layer, m);
            if (!entry) continue;
            met++;
            const hone_weight *const weight = hone_model_matrix(model, layer, m);
            HONE_FAIL_IF(entry->n_in != weight->columns || entry->n_out != weight->rows, error, MISMATCH,
                         "adapter '%s': '%s' is for a matrix [%lld, %lld], the model's is [%lld, %lld]: it belongs to "
                         "another base",
                         path, entry->name, (long long)entry->n_out, (long long)entry->n_in, (long long)weight->rows,
                         (long long)weight->columns);
        }
    }
    for (size_t i = 0; met < adapter->count && i < adapter->count; i++) {
        bool known = false;
        for (int64_t layer = 0; layer < model->config.layers && !known; layer++) {
            for (int m = 0; m <= HONE_BLOCK_MATRICES && !known; m++) {
                if (m == HONE_MATRIX_HEAD && model->config.tied) continue;
                known = find_entry(adapter, layer, m) == &adapter->entries[i];
            }
        }
        HONE_FAIL_IF(!known, error, MISMATCH, "adapter '%s' has '%s', which this model cannot take", path,
                     adapter->entries[i].name);
    }
    return HONE_OK;
}

static hone_status from_adapter(hone_model *model, const hone_adapter *adapter, hone_lora **out, hone_error *error) {
    const adapter_ranks ranks = {adapter, model};
    hone_lora_options options = {.rank = (int)adapter->entries[0].rank};
    // One alpha serves all entries; what another rank or scale needs beyond alpha / rank goes into B.
    options.alpha = hone_adapter_scale(adapter, &adapter->entries[0]) * (double)options.rank;
    hone_lora *lora;
    HONE_TRY(make(model, &options, rank_from_adapter, &ranks, &lora, error));
    float *values;
    hone_status status = HONE_NEW_ARRAY(&values, lora->floats, "a LoRA", error);
    for (size_t i = 0; i < lora->count && status == HONE_OK; i++) {
        const hone_lora_entry *const e = &lora->entries[i];
        const hone_adapter_entry *const entry = find_entry(adapter, e->layer, e->matrix);
        lora->options.targets |= 1u << e->matrix;
        memcpy(values + e->a, entry->a, (size_t)(e->rank * e->n_in) * sizeof(float));
        const double fold = hone_adapter_scale(adapter, entry) / (options.alpha / (double)e->rank);
        for (int64_t j = 0; j < e->n_out * e->rank; j++)
            values[e->b + (size_t)j] = fold == 1.0 ? entry->b[j] : (float)(entry->b[j] * fold);
    }
    if (status == HONE_OK) {
        status = hone_lora_upload(lora, values, error);
        hone_free(values);
    }
    if (status != HONE_OK) {
        hone_lora_destroy(lora);
        return status;
    }
    *out = lora;
    return HONE_OK;
}

static hone_peft_options peft_options(const hone_model *model) {
    const hone_model_config *const c = &model->config;
    return (hone_peft_options){.architecture = c->architecture,
                               .permuted = true,
                               .tied_head = c->tied,
                               .n_head = c->heads,
                               .n_head_kv = c->kv_heads,
                               .head_dim = c->head_size};
}

hone_status hone_lora_open(hone_model *model, const char *path, hone_lora **out, hone_error *error) {
    *out = NULL;
    hone_adapter *adapter = NULL;
    if (hone_path_is_folder(path)) {
        // A run folder holds both forms of the same adapter; GGUF's carries the hash of its base.
        char *gguf;
        HONE_TRY(hone_path_join(path, "adapter.gguf", &gguf, error));
        const hone_peft_options options = peft_options(model);
        const hone_status status = hone_path_exists(gguf) ? hone_adapter_read_gguf(gguf, &adapter, error)
                                                          : hone_adapter_read_peft(path, &options, &adapter, error);
        hone_free(gguf);
        HONE_TRY(status);
    } else {
        HONE_TRY(hone_adapter_read_gguf(path, &adapter, error));
    }
    hone_status status = check_adapter(model, adapter, path, error);
    if (status == HONE_OK) status = from_adapter(model, adapter, out, error);
    hone_adapter_destroy(adapter);
    return status;
}

static hone_status to_adapter(const hone_lora *lora, const float *values, hone_adapter *adapter, hone_error *error) {
    adapter->alpha = (float)lora->options.alpha;
    adapter->has_alpha = true;
    bool learnt = false;
    char name[96];
    for (size_t i = 0; i < lora->count; i++) {
        const hone_lora_entry *const e = &lora->entries[i];
        hone_adapter_entry *entry;
        hone_matrix_name(e->layer, e->matrix, name, sizeof(name));
        HONE_TRY(hone_adapter_add(adapter, name, e->rank, e->n_in, e->n_out, &entry, error));
        memcpy(entry->a, values + e->a, (size_t)(e->rank * e->n_in) * sizeof(float));
        memcpy(entry->b, values + e->b, (size_t)(e->n_out * e->rank) * sizeof(float));
        for (int64_t j = 0; j < e->n_out * e->rank && !learnt; j++) learnt = entry->b[j] != 0;
    }
    HONE_FAIL_IF(!learnt, error, BAD_DATA,
                 "the adapter learnt nothing: every B is still zero; check the learning rate and the data");
    return HONE_OK;
}

hone_status hone_lora_save(const hone_lora *lora, const char *folder, hone_error *error) {
    const hone_model_config *const c = &lora->model->config;
    char hash[24];
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)c->file_hash);
    float *values = NULL;
    hone_adapter *adapter = NULL;
    char *path = NULL;
    hone_status status;
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&values, lora->floats, "a LoRA", error), done);
    do status = hone_lora_download(lora, values, error);
    while (status == HONE_PENDING);
    if (status != HONE_OK) goto done;
    HONE_TRY_GOTO(hone_adapter_create(c->architecture, c->name, hash, &adapter, error), done);
    HONE_TRY_GOTO(to_adapter(lora, values, adapter, error), done);
    HONE_TRY_GOTO(hone_path_join(folder, "adapter.gguf", &path, error), done);
    HONE_TRY_GOTO(hone_adapter_write_gguf(path, adapter, error), done);
    const hone_peft_options options = peft_options(lora->model);
    HONE_TRY_GOTO(hone_adapter_write_peft(folder, adapter, &options, error), done);
done:
    hone_free(values);
    hone_free(path);
    hone_adapter_destroy(adapter);
    return status;
}
