// SPDX-License-Identifier: Apache-2.0
// The names of modules in PEFT and of tensors in GGUF, and the order of rotary rows.
//
// GGUF files of the llama family hold the rows of q and k so that the two rows which rotate together are neighbours;
// Hugging Face's Llama rotates row i of a head with row i + head_dim / 2. For head h, i < head_dim / 2, j in {0, 1}:
//
//   PEFT's row  h * head_dim + j * head_dim / 2 + i   is   GGUF's row  h * head_dim + 2 * i + j
//
// Only B has these rows; A's columns are the layer's input and stay as they are.
#include "formats/adapter_peft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct module_name {
    const char *tensor;
    const char *path;
} module_name;

static const module_name modules[] = {
    {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_gate", "mlp.gate_proj"},  {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

enum { MODULE_COUNT = sizeof modules / sizeof *modules };

// The digits at *text, up to a dot; moves behind the dot. At most six digits, no leading zero.
static bool take_layer(const char **text, int64_t *layer) {
    const char *at = *text;
    int64_t value = 0;
    int digits = 0;
    for (; *at >= '0' && *at <= '9' && digits < 6; at++, digits++) value = value * 10 + (*at - '0');
    if (digits == 0 || *at != '.' || (digits > 1 && **text == '0')) return false;
    *text = at + 1;
    *layer = value;
    return true;
}

static bool take_prefix(const char **text, const char *prefix) {
    const size_t length = strlen(prefix);
    if (strncmp(*text, prefix, length) != 0) return false;
    *text += length;
    return true;
}

bool hone_peft_module_of(const char *tensor, hone_peft_module *out) {
    if (strcmp(tensor, "output.weight") == 0 || strcmp(tensor, "token_embd.weight") == 0) {
        *out = (hone_peft_module){.layer = -1, .path = "lm_head", .leaf = "lm_head"};
        return true;
    }
    int64_t layer = 0;
    if (!take_prefix(&tensor, "blk.") || !take_layer(&tensor, &layer)) return false;
    for (int i = 0; i < MODULE_COUNT; i++) {
        const size_t length = strlen(modules[i].tensor);
        if (strncmp(tensor, modules[i].tensor, length) != 0 || strcmp(tensor + length, ".weight") != 0) continue;
        *out = (hone_peft_module){.layer = layer, .path = modules[i].path, .leaf = strchr(modules[i].path, '.') + 1};
        return true;
    }
    return false;
}

void hone_peft_print_module(const hone_peft_module *module, char *text, size_t size) {
    if (module->layer < 0) {
        snprintf(text, size, "%s", module->path);
    } else {
        snprintf(text, size, "model.layers.%" PRId64 ".%s", module->layer, module->path);
    }
}

bool hone_peft_tensor_of(const char *path, bool tied_head, char *text, size_t size) {
    if (strcmp(path, "lm_head") == 0) {
        snprintf(text, size, "%s", tied_head ? "token_embd.weight" : "output.weight");
        return true;
    }
    int64_t layer = 0;
    // An adapter of the model without its head lacks the "model.".
    (void)take_prefix(&path, "model.");
    if (!take_prefix(&path, "layers.") || !take_layer(&path, &layer)) return false;
    for (int i = 0; i < MODULE_COUNT; i++) {
        if (strcmp(path, modules[i].path) != 0) continue;
        snprintf(text, size, "blk.%" PRId64 ".%s.weight", layer, modules[i].tensor);
        return true;
    }
    return false;
}

int64_t hone_peft_heads(const hone_peft_options *options, const char *tensor) {
    hone_peft_module module = {0};
    if (!options->permuted || !hone_peft_module_of(tensor, &module)) return 0;
    if (strcmp(module.leaf, "q_proj") == 0) return options->n_head;
    if (strcmp(module.leaf, "k_proj") == 0) return options->n_head_kv;
    return 0;
}

hone_status hone_peft_check_heads(const hone_peft_options *options, const hone_adapter_entry *entry,
                                  hone_error *error) {
    const int64_t heads = hone_peft_heads(options, entry->name);
    if (heads == 0) return HONE_OK;
    const int64_t head_dim = options->head_dim;
    HONE_FAIL_IF(heads < 0 || head_dim < 2 || head_dim % 2 != 0 || entry->n_out % head_dim != 0 ||
                     entry->n_out / head_dim != heads,
                 error, MISMATCH,
                 "the adapter of '%s' has %" PRId64 " rows, but the model has %" PRId64 " heads of %" PRId64
                 ": it belongs to another model",
                 entry->name, entry->n_out, heads, head_dim);
    return HONE_OK;
}

void hone_peft_reorder(const float *in, float *out, int64_t heads, int64_t head_dim, int64_t columns, bool to_halves) {
    for (int64_t row = 0; row < heads * head_dim; row++) {
        const int64_t within = row % head_dim; // of PEFT's order
        const int64_t i = within % (head_dim / 2);
        const int64_t j = within / (head_dim / 2);
        const int64_t pair_row = row - within + 2 * i + j;
        const int64_t from = to_halves ? pair_row : row;
        const int64_t to = to_halves ? row : pair_row;
        memcpy(out + to * columns, in + from * columns, (size_t)columns * sizeof *out);
    }
}
