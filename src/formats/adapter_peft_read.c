// SPDX-License-Identifier: Apache-2.0
// Reads an adapter that PEFT wrote; the layout is at the head of adapter_peft_write.c. What hone does not have (DoRA,
// biases, whole modules saved beside the LoRA) is refused by name rather than left out.
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/adapter_peft.h"
#include "formats/safetensors.h"

#define LONGEST_CONFIG ((uint64_t)1 << 20)

typedef struct reader {
    const char *folder;
    const hone_peft_options *options;
    json_t *config;
    hone_safetensors *tensors;
    hone_adapter *adapter;
} reader;

// --- the configuration -----------------------------------------------------------------------------------------------

static hone_status load_config(reader *in, const char *path, hone_error *error) {
    char *text = NULL;
    size_t size = 0;
    HONE_TRY(hone_file_read_all(path, LONGEST_CONFIG, &text, &size, error));
    json_error_t json_error;
    in->config = json_loadb(text, size, JSON_REJECT_DUPLICATES, &json_error);
    hone_free(text);
    if (json_is_object(in->config)) return HONE_OK;
    HONE_FAIL_IF(in->config, error, BAD_FORMAT, "'%s' is not a JSON object", path);
    const bool memory = json_error_code(&json_error) == json_error_out_of_memory;
    return hone_error_set(error, memory ? HONE_OUT_OF_MEMORY : HONE_BAD_FORMAT, "'%s' is not JSON: %s (line %d)", path,
                          json_error.text, json_error.line);
}

// A flag that must be absent, null or false.
static hone_status refuse_flag(const reader *in, const char *key, const char *what, hone_error *error) {
    const json_t *const value = json_object_get(in->config, key);
    HONE_FAIL_IF(value && !json_is_null(value) && !json_is_false(value), error, UNSUPPORTED,
                 "'%s': the adapter uses %s (%s), which hone does not have", in->folder, what, key);
    return HONE_OK;
}

static hone_status check_config(const reader *in, hone_error *error) {
    const char *const type = json_string_value(json_object_get(in->config, "peft_type"));
    HONE_FAIL_IF(!type || strcmp(type, "LORA") != 0, error, UNSUPPORTED,
                 "'%s' is not a LoRA adapter: its peft_type is %s", in->folder, type ? type : "missing");
    const char *const bias = json_string_value(json_object_get(in->config, "bias"));
    HONE_FAIL_IF(bias && strcmp(bias, "none") != 0, error, UNSUPPORTED,
                 "'%s': the adapter trains biases (bias is '%s'), which hone does not have", in->folder, bias);
    HONE_TRY(refuse_flag(in, "use_dora", "DoRA", error));
    HONE_TRY(refuse_flag(in, "fan_in_fan_out", "transposed weights", error));
    return refuse_flag(in, "lora_bias", "biases", error);
}

static hone_status create_adapter(reader *in, hone_error *error) {
    const char *const base = json_string_value(json_object_get(in->config, "base_model_name_or_path"));
    HONE_TRY(hone_adapter_create(in->options->architecture, base, NULL, &in->adapter, error));
    const json_t *const alpha = json_object_get(in->config, "lora_alpha");
    in->adapter->has_alpha = json_is_number(alpha);
    in->adapter->alpha = (float)json_number_value(alpha);
    in->adapter->rank_stabilised = json_is_true(json_object_get(in->config, "use_rslora"));
    HONE_FAIL_IF(!in->adapter->has_alpha, error, BAD_FORMAT,
                 "'%s': adapter_config.json has no lora_alpha, so the adapter's scale is not known", in->folder);
    return HONE_OK;
}

// Whether PEFT would apply a pattern's key to a module: the key is the path's end, from a dot on ("^" : all of it).
static bool pattern_fits(const char *key, const char *path) {
    if (key[0] == '^') return strcmp(key + 1, path) == 0;
    const size_t length = strlen(path);
    const size_t key_length = strlen(key);
    if (key_length > length || strcmp(path + length - key_length, key) != 0) return false;
    return key_length == length || path[length - key_length - 1] == '.';
}

// The number that `table` (rank_pattern, alpha_pattern) holds for a module, or `usual`. As in PEFT, the first fit counts.
static hone_status look_up(const reader *in, const char *table, const char *path, double usual, double *out,
                           hone_error *error) {
    *out = usual;
    json_t *const patterns = json_object_get(in->config, table);
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(patterns, key, value) {
        HONE_FAIL_IF(strpbrk(key + (key[0] == '^'), "^$*+?()[]{}|\\"), error, UNSUPPORTED,
                     "'%s': '%s' in %s is a regular expression, which hone does not read", in->folder, key, table);
        if (!pattern_fits(key, path)) continue;
        HONE_FAIL_IF(!json_is_number(value), error, BAD_FORMAT, "'%s': '%s' in %s is not a number", in->folder, key,
                     table);
        *out = json_number_value(value);
        return HONE_OK;
    }
    return HONE_OK;
}

// --- the tensors -----------------------------------------------------------------------------------------------------

// One alpha serves the whole adapter; a module with its own gets it through B.
static hone_status apply_alpha(const reader *in, const char *path, hone_adapter_entry *entry, hone_error *error) {
    const double usual = (double)in->adapter->alpha;
    double alpha = 0;
    HONE_TRY(look_up(in, "alpha_pattern", path, usual, &alpha, error));
    if (alpha == usual) return HONE_OK;
    HONE_FAIL_IF(!isfinite(alpha) || !(usual > 0), error, BAD_FORMAT, "'%s': the alpha of '%s' is no scale", in->folder,
                 path);
    const float factor = (float)(alpha / usual);
    for (int64_t i = 0; i < entry->n_out * entry->rank; i++) entry->b[i] *= factor;
    return HONE_OK;
}

static hone_status check_rank(const reader *in, const char *path, int64_t rank, hone_error *error) {
    double wanted = 0;
    const json_t *const general = json_object_get(in->config, "r");
    HONE_TRY(look_up(in, "rank_pattern", path, json_is_integer(general) ? json_number_value(general) : (double)rank,
                     &wanted, error));
    HONE_FAIL_IF(wanted != (double)rank, error, MISMATCH,
                 "'%s': '%s' has rank %" PRId64 ", but adapter_config.json says %g", in->folder, path, rank, wanted);
    return HONE_OK;
}

static hone_status read_values(const reader *in, const hone_safetensors_tensor *a, const hone_safetensors_tensor *b,
                               hone_adapter_entry *entry, hone_error *error) {
    HONE_TRY(hone_peft_check_heads(in->options, entry, error));
    HONE_TRY(hone_safetensors_read_floats(in->tensors, a, entry->a, error));
    const int64_t heads = hone_peft_heads(in->options, entry->name);
    if (heads == 0) return hone_safetensors_read_floats(in->tensors, b, entry->b, error);
    float *halves = NULL;
    HONE_TRY(hone_allocate_raw((size_t)entry->n_out * (size_t)entry->rank, sizeof *halves, "an adapter's B",
                               (void **)&halves, error));
    const hone_status status = hone_safetensors_read_floats(in->tensors, b, halves, error);
    if (status == HONE_OK) {
        hone_peft_reorder(halves, entry->b, heads, in->options->head_dim, entry->rank, false);
    }
    hone_free(halves);
    return status;
}

static hone_status read_pair(const reader *in, const char *path, const hone_safetensors_tensor *a,
                             const hone_safetensors_tensor *b, hone_error *error) {
    char name[HONE_PEFT_LONGEST_NAME];
    HONE_FAIL_IF(!hone_peft_tensor_of(path, in->options->tied_head, name, sizeof name), error, UNSUPPORTED,
                 "'%s': module '%s' has no counterpart in GGUF", in->folder, path);
    HONE_FAIL_IF(a->type.rank != 2 || b->type.rank != 2 || a->type.dims[0] != b->type.dims[1] || a->type.dims[0] < 1 ||
                     a->type.dims[1] < 1 || b->type.dims[0] < 1,
                 error, BAD_FORMAT, "'%s': lora_A and lora_B of '%s' do not fit together", in->folder, path);
    const int64_t rank = a->type.dims[0];
    HONE_TRY(check_rank(in, path, rank, error));
    hone_adapter_entry *entry = NULL;
    HONE_FAIL_IF(hone_adapter_find(in->adapter, name), error, BAD_FORMAT, "'%s': module '%s' appears twice", in->folder,
                 path);
    HONE_TRY(hone_adapter_add(in->adapter, name, rank, a->type.dims[1], b->type.dims[0], &entry, error));
    HONE_TRY(read_values(in, a, b, entry, error));
    return apply_alpha(in, path, entry, error);
}

static hone_status read_tensors(const reader *in, hone_error *error) {
    static const char a_end[] = ".lora_A.weight";
    static const char b_end[] = ".lora_B.weight";
    const size_t prefix = strlen(HONE_PEFT_PREFIX);
    for (size_t i = 0; i < in->tensors->tensor_count; i++) {
        const hone_safetensors_tensor *const tensor = &in->tensors->tensors[i];
        const size_t length = strlen(tensor->name);
        char name[HONE_PEFT_LONGEST_NAME];
        const size_t end = length - (sizeof a_end - 1);
        const bool fits = length < sizeof name && length > prefix + sizeof a_end - 1 &&
                          strncmp(tensor->name, HONE_PEFT_PREFIX, prefix) == 0;
        const bool is_a = fits && strcmp(tensor->name + end, a_end) == 0;
        HONE_FAIL_IF(!fits || (!is_a && strcmp(tensor->name + end, b_end) != 0), error, UNSUPPORTED,
                     "'%s': '%s' is not part of a plain LoRA, and hone reads nothing else", in->folder, tensor->name);
        memcpy(name, tensor->name, length + 1);
        memcpy(name + end, is_a ? b_end : a_end, sizeof a_end);
        const hone_safetensors_tensor *const partner = hone_safetensors_find(in->tensors, name);
        HONE_FAIL_IF(!partner, error, BAD_FORMAT, "'%s': '%s' has no partner '%s'", in->folder, tensor->name, name);
        if (!is_a) continue;
        name[end] = 0;
        HONE_TRY(read_pair(in, name + prefix, tensor, partner, error));
    }
    return hone_adapter_check(in->adapter, in->folder, error);
}

hone_status hone_adapter_read_peft(const char *folder, const hone_peft_options *options, hone_adapter **out,
                                   hone_error *error) {
    *out = NULL;
    reader in = {.folder = folder, .options = options};
    char *tensors = NULL;
    char *config = NULL;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(hone_path_join(folder, "adapter_config.json", &config, error), done);
    HONE_TRY_GOTO(hone_path_join(folder, "adapter_model.safetensors", &tensors, error), done);
    HONE_TRY_GOTO(load_config(&in, config, error), done);
    HONE_TRY_GOTO(check_config(&in, error), done);
    HONE_TRY_GOTO(create_adapter(&in, error), done);
    HONE_TRY_GOTO(hone_safetensors_open(tensors, &in.tensors, error), done);
    HONE_TRY_GOTO(read_tensors(&in, error), done);
    *out = in.adapter;
    in.adapter = NULL;
done:
    hone_adapter_destroy(in.adapter);
    hone_safetensors_close(in.tensors);
    json_decref(in.config);
    hone_free(tensors);
    hone_free(config);
    return status;
}
