// SPDX-License-Identifier: Apache-2.0
// Writes an adapter as PEFT does: adapter_model.safetensors with the tensors
//
//   base_model.model.model.layers.N.self_attn.q_proj.lora_A.weight   F32 [rank, n_in]
//   base_model.model.model.layers.N.self_attn.q_proj.lora_B.weight   F32 [n_out, rank], rows in Hugging Face's order
//   base_model.model.lm_head.lora_A.weight, ...                      the head
//
// and adapter_config.json. The scale is lora_alpha / rank, or lora_alpha / sqrt(rank) with use_rslora.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "formats/adapter_peft.h"
#include "formats/safetensors.h"

// --- the tensors -----------------------------------------------------------------------------------------------------

static hone_status add_item(hone_arena *arena, const char *module, const char *end, int64_t rows, int64_t columns,
                            const float *values, hone_safetensors_item *item, hone_error *error) {
    char name[HONE_PEFT_LONGEST_NAME];
    const int length = snprintf(name, sizeof name, "%s%s%s", HONE_PEFT_PREFIX, module, end);
    HONE_TRY(hone_arena_string(arena, name, (size_t)length, &item->name, error));
    item->tensor.type = hone_type(HONE_DTYPE_F32, 2, rows, columns);
    memcpy(&item->tensor.data, &values, sizeof values); // a writer only reads
    return HONE_OK;
}

static hone_status add_entry(hone_arena *arena, const hone_adapter_entry *entry, const hone_peft_options *options,
                             hone_safetensors_item *items, hone_error *error) {
    hone_peft_module module = {0};
    HONE_FAIL_IF(!hone_peft_module_of(entry->name, &module), error, UNSUPPORTED,
                 "the adapter of '%s' has no counterpart in PEFT's layout", entry->name);
    HONE_TRY(hone_peft_check_heads(options, entry, error));
    const float *b = entry->b;
    const int64_t heads = hone_peft_heads(options, entry->name);
    if (heads > 0) {
        float *halves = NULL;
        HONE_TRY(HONE_ARENA_ARRAY(arena, &halves, (size_t)entry->n_out * (size_t)entry->rank, error));
        hone_peft_reorder(entry->b, halves, heads, options->head_dim, entry->rank, true);
        b = halves;
    }
    char path[HONE_PEFT_LONGEST_NAME / 2];
    hone_peft_print_module(&module, path, sizeof path);
    HONE_TRY(add_item(arena, path, ".lora_A.weight", entry->rank, entry->n_in, entry->a, &items[0], error));
    return add_item(arena, path, ".lora_B.weight", entry->n_out, entry->rank, b, &items[1], error);
}

static hone_status write_tensors(const char *path, const hone_adapter *adapter, const hone_peft_options *options,
                                 hone_error *error) {
    hone_arena arena = {0};
    hone_safetensors_item *items = NULL;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(HONE_ARENA_ARRAY(&arena, &items, 2 * adapter->count, error), done);
    for (size_t i = 0; i < adapter->count; i++) {
        HONE_TRY_GOTO(add_entry(&arena, &adapter->entries[i], options, &items[2 * i], error), done);
    }
    status = hone_safetensors_write(path, items, 2 * adapter->count, NULL, 0, error);
done:
    hone_arena_clear(&arena);
    return status;
}

// --- the configuration -----------------------------------------------------------------------------------------------

// PEFT looks for modules by the end of their path. A leaf ("q_proj") is enough if every layer has it; otherwise PEFT
// would add fresh ones in the layers between, so each is listed with its full path.
static bool leaves_suffice(const hone_adapter *adapter) {
    int64_t layers = 0;
    hone_peft_module module = {0};
    for (size_t i = 0; i < adapter->count; i++) {
        if (hone_peft_module_of(adapter->entries[i].name, &module) && module.layer >= layers) layers = module.layer + 1;
    }
    for (size_t i = 0; i < adapter->count; i++) {
        hone_peft_module other = {0};
        int64_t same = 0;
        (void)hone_peft_module_of(adapter->entries[i].name, &module);
        if (module.layer < 0) continue;
        for (size_t j = 0; j < adapter->count; j++) {
            (void)hone_peft_module_of(adapter->entries[j].name, &other);
            if (other.layer >= 0 && other.leaf == module.leaf) same++;
        }
        if (same != layers) return false;
    }
    return true;
}

static bool leaf_seen_before(const hone_adapter *adapter, size_t index, const char *leaf) {
    for (size_t i = 0; i < index; i++) {
        hone_peft_module module = {0};
        if (hone_peft_module_of(adapter->entries[i].name, &module) && module.leaf == leaf) return true;
    }
    return false;
}

static void print_targets(hone_text *text, const hone_adapter *adapter) {
    const bool leaves = leaves_suffice(adapter);
    const char *separator = "";
    for (size_t i = 0; i < adapter->count; i++) {
        hone_peft_module module = {0};
        char path[HONE_PEFT_LONGEST_NAME];
        if (!hone_peft_module_of(adapter->entries[i].name, &module)) continue;
        if (leaves && leaf_seen_before(adapter, i, module.leaf)) continue;
        hone_peft_print_module(&module, path, sizeof path);
        hone_text_print(text, "%s\n    \"%s\"", separator, leaves ? module.leaf : path);
        separator = ",";
    }
}

// Entries whose rank is not the general one, by full path.
static void print_ranks(hone_text *text, const hone_adapter *adapter) {
    const char *separator = "";
    for (size_t i = 0; i < adapter->count; i++) {
        const hone_adapter_entry *const entry = &adapter->entries[i];
        hone_peft_module module = {0};
        char path[HONE_PEFT_LONGEST_NAME];
        if (entry->rank == adapter->entries[0].rank || !hone_peft_module_of(entry->name, &module)) continue;
        hone_peft_print_module(&module, path, sizeof path);
        hone_text_print(text, "%s\n    \"%s\": %" PRId64, separator, path, entry->rank);
        separator = ",";
    }
}

static hone_status print_config(hone_text *text, const hone_adapter *adapter, const hone_peft_options *options,
                                hone_error *error) {
    const char *const base = options->base_model ? options->base_model : adapter->base_name;
    hone_text_print(text, "{\n  \"peft_type\": \"LORA\",\n  \"task_type\": \"CAUSAL_LM\",\n");
    hone_text_print(text, "  \"base_model_name_or_path\": ");
    if (base) {
        hone_text_json(text, base, strlen(base));
    } else {
        hone_text_print(text, "null");
    }
    hone_text_print(text, ",\n  \"r\": %" PRId64 ",\n  \"lora_alpha\": %.9g,\n  \"lora_dropout\": 0.0,\n",
                    adapter->entries[0].rank, (double)adapter->alpha);
    hone_text_print(text, "  \"use_rslora\": %s,\n  \"use_dora\": false,\n",
                    adapter->rank_stabilised ? "true" : "false");
    hone_text_print(text, "  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,\n  \"inference_mode\": true,\n"
                          "  \"init_lora_weights\": true,\n  \"modules_to_save\": null,\n");
    hone_text_print(text, "  \"target_modules\": [");
    print_targets(text, adapter);
    hone_text_print(text, "\n  ],\n  \"rank_pattern\": {");
    print_ranks(text, adapter);
    hone_text_print(text, "},\n  \"alpha_pattern\": {}\n}\n");
    return hone_text_status(text, error);
}

static hone_status write_config(const char *path, const hone_adapter *adapter, const hone_peft_options *options,
                                hone_error *error) {
    hone_text text = {0};
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(print_config(&text, adapter, options, error), done);
    status = hone_file_write_all(path, text.bytes, text.length, error);
done:
    hone_text_clear(&text);
    return status;
}

hone_status hone_adapter_write_peft(const char *folder, const hone_adapter *adapter, const hone_peft_options *options,
                                    hone_error *error) {
    HONE_TRY(hone_adapter_check(adapter, folder, error));
    if (!hone_path_is_folder(folder)) HONE_TRY(hone_folder_create(folder, error));
    char *tensors = NULL;
    char *config = NULL;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(hone_path_join(folder, "adapter_model.safetensors", &tensors, error), done);
    HONE_TRY_GOTO(hone_path_join(folder, "adapter_config.json", &config, error), done);
    HONE_TRY_GOTO(write_tensors(tensors, adapter, options, error), done);
    HONE_TRY_GOTO(write_config(config, adapter, options, error), done);
done:
    hone_free(tensors);
    hone_free(config);
    return status;
}
