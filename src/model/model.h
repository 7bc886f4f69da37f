// SPDX-License-Identifier: Apache-2.0
// A model on a device: its shape, its weights as codes, its LoRA, and the graphs built from them.
#ifndef HONE_MODEL_MODEL_H
#define HONE_MODEL_MODEL_H

#include <hone/graph.h>
#include <hone/model.h>

#include "base/arena.h"
#include "device/device.h"
#include "formats/adapter.h"
#include "formats/gguf.h"
#include "tensor/blocks.h"
#include "text/tokenizer.h"

// A matrix [rows, columns] (or a vector, rows = 1) in one buffer: values as they are, or codes, scales and minimums.
typedef struct hone_weight {
    const char *name;        // as in the file; NULL: the model has no such weight
    hone_code_layout layout; // format HONE_CODES_NONE: dense
    hone_dtype dtype;        // of the values (dense)
    int64_t rows, columns;
    hone_buffer *buffer;
    size_t scales, minimums; // offsets in the buffer
} hone_weight;

// The matrices of a block, in the order of the HONE_TARGET_* bits.
enum {
    HONE_MATRIX_Q,
    HONE_MATRIX_K,
    HONE_MATRIX_V,
    HONE_MATRIX_O,
    HONE_MATRIX_GATE,
    HONE_MATRIX_UP,
    HONE_MATRIX_DOWN,
    HONE_BLOCK_MATRICES
};
#define HONE_MATRIX_HEAD HONE_BLOCK_MATRICES

typedef struct hone_llama_block {
    hone_weight attention_norm, inner_norm;
    hone_weight matrices[HONE_BLOCK_MATRICES];
} hone_llama_block;

struct hone_model {
    hone_device *device;
    hone_arena arena; // names
    char *path;
    hone_model_config config;
    hone_tokenizer *tokenizer;
    hone_weight embedding, output_norm, head; // head.name is NULL when tied: the embedding serves
    hone_llama_block *blocks;                 // [config.layers]
    hone_device_user user;                    // for a device that was lost
    float *rope_factors;                      // [rope_columns / 2] frequencies are divided by these; NULL = none
};

// The matrix that a LoRA target names; layer is ignored for the head.
const hone_weight *hone_model_matrix(const hone_model *model, int64_t layer, int matrix);
// The head: output.weight, or the embedding where they are tied.
const hone_weight *hone_model_head(const hone_model *model);
// "blk.3.attn_q.weight" into text.
void hone_matrix_name(int64_t layer, int matrix, char *text, size_t size);

HONE_MUST_USE hone_status hone_config_read(const hone_gguf *gguf, hone_model_config *out, hone_error *error);
// Loads every weight of the config from the file; refuses what is missing, misshapen or of a type that is not read.
HONE_MUST_USE hone_status hone_weights_load(hone_model *model, const hone_gguf *gguf, hone_error *error);
// Once more, into buffers that have lost their bytes. Another file than the one that was loaded is HONE_MISMATCH.
HONE_MUST_USE hone_status hone_weights_reload(hone_model *model, const hone_gguf *gguf, hone_error *error);
void hone_weights_free(hone_model *model);

// --- into graphs -----------------------------------------------------------------------------------------------------
// A LoRA's part of a linear layer: factor * low @ up^T.
typedef struct hone_added {
    hone_value low, up;
    double factor;
} hone_added;
// base + x [.., columns] @ W^T + added, whatever the format of W; base may be {0}, added NULL.
hone_value hone_weight_linear(hone_graph *graph, const hone_weight *weight, hone_value x, hone_value base,
                              const hone_added *added);
// Rows of W by number: indices i32 [T] -> [T, columns].
hone_value hone_weight_rows(hone_graph *graph, const hone_weight *weight, hone_value indices);
// A vector or dense matrix as a constant.
hone_value hone_weight_constant(hone_graph *graph, const hone_weight *weight);

// cos and sin of all angles, [positions, rope_columns / 2] each, computed in fp64: one buffer, cosines first, sines at
// *sines_offset. Its memory and values come with fill.
HONE_MUST_USE hone_status hone_rope_tables_declare(const hone_model *model, int64_t positions, hone_buffer **out,
                                                   size_t *sines_offset, hone_error *error);
HONE_MUST_USE hone_status hone_rope_tables_fill(const hone_model *model, int64_t positions, hone_buffer *tables,
                                                hone_error *error);

// --- LoRA ------------------------------------------------------------------------------------------------------------
typedef struct hone_lora_entry {
    int64_t layer;
    int matrix; // HONE_MATRIX_*
    const hone_weight *weight;
    int64_t rank, n_in, n_out;
    size_t a, b; // offsets in floats: A [rank, n_in], B [n_out, rank]; multiples of HONE_BUFFER_ALIGNMENT / 4
} hone_lora_entry;

struct hone_lora {
    hone_model *model;
    hone_lora_options options;
    hone_lora_entry *entries; // block by block, within a block in the order of HONE_MATRIX_*; the head last
    size_t count;
    size_t floats;     // in the buffer, gaps included; gaps are zero and stay zero
    size_t parameters; // without gaps
    hone_buffer *buffer;
};

// Host copies: everything in the buffer, [floats].
HONE_MUST_USE hone_status hone_lora_download(const hone_lora *lora, float *out, hone_error *error);
HONE_MUST_USE hone_status hone_lora_upload(hone_lora *lora, const float *values, hone_error *error);
// Writes adapter.gguf and PEFT's two files. HONE_BAD_DATA if every B is zero.
HONE_MUST_USE hone_status hone_lora_save(const hone_lora *lora, const char *folder, hone_error *error);

// --- the llama family ----------------------------------------------------------------------------------------------
typedef struct hone_llama_inputs {
    hone_value tokens;    // i32 [T]
    hone_value positions; // i32 [T]
    hone_value row_start; // i32 [T] first key that a token may see
    hone_value cosines, sines;
    const hone_value *lora_values; // [2 * lora->count] A and B of each entry; NULL without LoRA
    // Generation: key and value caches [layers] each, and the live slot with the number of tokens already in them.
    const hone_value *key_caches, *value_caches;
    int offset_slot;
    double dropout;          // on the input of each A
    hone_value dropout_keys; // i32 [T, 2]: row id and position, when dropout > 0
    int64_t dropout_seed;
} hone_llama_inputs;

// State values for A and B of each entry into values [2 * lora->count], over `buffer` (NULL: the LoRA's own).
void hone_lora_values(hone_graph *graph, const hone_lora *lora, hone_buffer *buffer, const char *prefix,
                      hone_value *values);
// tokens -> hidden [T, D] after the last norm.
hone_value hone_llama_body(hone_graph *graph, const hone_model *model, const hone_lora *lora,
                           const hone_llama_inputs *inputs);
// hidden [R, D] -> logits [R, V].
hone_value hone_llama_head(hone_graph *graph, const hone_model *model, const hone_lora *lora,
                           const hone_llama_inputs *inputs, hone_value hidden);

#endif
