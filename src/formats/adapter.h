// SPDX-License-Identifier: Apache-2.0
// A LoRA adapter on disk: llama.cpp's GGUF layout and PEFT's folder, in and out, independent of any model.
#ifndef HONE_FORMATS_ADAPTER_H
#define HONE_FORMATS_ADAPTER_H

#include "base/file.h"

// The change of a base tensor [n_out, n_in] is scale * B A. Rows and columns are in the order of the GGUF
// file.
typedef struct hone_adapter_entry {
    char *name; // of the base tensor: "blk.0.attn_q.weight"; "token_embd.weight" is the head of a model that
                // ties it
    int64_t rank;
    int64_t n_in;
    int64_t n_out;
    float *a; // [rank, n_in]
    float *b; // [n_out, rank]
} hone_adapter_entry;

typedef struct hone_adapter {
    char *architecture; // "llama"; NULL if the file does not say (PEFT)
    char *base_name;    // of the model it was trained on; NULL if not known
    char *base_hash;    // of that model's file; NULL if not known
    float alpha;
    bool has_alpha;
    bool rank_stabilised; // scale = alpha / sqrt(rank) instead of alpha / rank
    hone_adapter_entry *entries;
    size_t count;
    size_t capacity;
} hone_adapter;

// Strings are copied; NULL is allowed for each.
HONE_MUST_USE hone_status hone_adapter_create(const char *architecture, const char *base_name, const char *base_hash,
                                              hone_adapter **out, hone_error *error);
// Adds an entry of zeros. *out is valid until the next is added.
HONE_MUST_USE hone_status hone_adapter_add(hone_adapter *adapter, const char *name, int64_t rank, int64_t n_in,
                                           int64_t n_out, hone_adapter_entry **out, hone_error *error);
void hone_adapter_destroy(hone_adapter *adapter); // NULL is allowed
// NULL if absent.
const hone_adapter_entry *hone_adapter_find(const hone_adapter *adapter, const char *name);
// What B A is multiplied with.
double hone_adapter_scale(const hone_adapter *adapter, const hone_adapter_entry *entry);
// What every reader and writer asks: an alpha that is a scale, at least one entry, no NaN and no infinity.
HONE_MUST_USE hone_status hone_adapter_check(const hone_adapter *adapter, const char *file, hone_error *error);

// --- llama.cpp's layout
// ----------------------------------------------------------------------------------------------

HONE_MUST_USE hone_status hone_adapter_read_gguf(const char *path, hone_adapter **out, hone_error *error);
// GGUF knows only alpha / rank: a rank-stabilised adapter is written with an alpha (and, where ranks differ,
// a B) that gives the same scale.
HONE_MUST_USE hone_status hone_adapter_write_gguf(const char *path, const hone_adapter *adapter, hone_error *error);

// --- PEFT's layout: adapter_model.safetensors and adapter_config.json in a folder
// ----------------------------------------

typedef struct hone_peft_options {
    const char *base_model;   // write: base_model_name_or_path; NULL takes the adapter's base_name
    const char *architecture; // read: what the adapter will say
    bool permuted;            // rows of q and k are in interleaved pairs, as in GGUF files of the llama family
    bool tied_head;           // read: lm_head is token_embd.weight, not output.weight
    int64_t n_head;           // needed if permuted
    int64_t n_head_kv;
    int64_t head_dim;
} hone_peft_options;

HONE_MUST_USE hone_status hone_adapter_read_peft(const char *folder, const hone_peft_options *options,
                                                 hone_adapter **out, hone_error *error);
// The folder is made if it is not there.
HONE_MUST_USE hone_status hone_adapter_write_peft(const char *folder, const hone_adapter *adapter,
                                                  const hone_peft_options *options, hone_error *error);

#endif
