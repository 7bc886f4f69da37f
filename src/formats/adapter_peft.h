// SPDX-License-Identifier: Apache-2.0
// What PEFT's reader and writer share: the names of modules and the order of rotary rows.
#ifndef HONE_FORMATS_ADAPTER_PEFT_H
#define HONE_FORMATS_ADAPTER_PEFT_H

#include "formats/adapter.h"

#define HONE_PEFT_PREFIX       "base_model.model."
#define HONE_PEFT_LONGEST_NAME 256

// One row of the table of modules: "attn_q" of a block is "self_attn.q_proj" of a layer.
typedef struct hone_peft_module {
    int64_t layer;    // -1 for the head
    const char *path; // "self_attn.q_proj", or "lm_head"
    const char *leaf; // "q_proj", or "lm_head": what target_modules lists
} hone_peft_module;

// false if the tensor has no counterpart.
bool hone_peft_module_of(const char *tensor, hone_peft_module *out);
// "model.layers.3.self_attn.q_proj", or "lm_head"
void hone_peft_print_module(const hone_peft_module *module, char *text, size_t size);
// The inverse: the name of the base tensor; false if the path is none that is known.
bool hone_peft_tensor_of(const char *path, bool tied_head, char *text, size_t size);

// How many heads the rows of B of this tensor are made of; 0 if its rows stay where they are.
int64_t hone_peft_heads(const hone_peft_options *options, const char *tensor);
HONE_MUST_USE hone_status hone_peft_check_heads(const hone_peft_options *options, const hone_adapter_entry *entry,
                                                hone_error *error);
// Rows of [heads * head_dim, columns] from interleaved pairs to halves, or back; `in` and `out` are distinct.
void hone_peft_reorder(const float *in, float *out, int64_t heads, int64_t head_dim, int64_t columns, bool to_halves);

#endif
