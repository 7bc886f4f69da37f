// SPDX-License-Identifier: Apache-2.0
// Language models: opening one on a device, the LoRA beside it, and generating text.
#ifndef HONE_MODEL_H
#define HONE_MODEL_H

#include <hone/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// The shape of a llama-family model. Letters: V vocabulary, D width, L layers, H heads, Hk key/value heads, F inner width.
typedef struct hone_model_config {
    char architecture[64]; // "llama"
    char name[128];        // as the file calls itself; may be empty
    int64_t vocabulary;    // V
    int64_t width;         // D
    int64_t layers;        // L
    int64_t heads;         // H
    int64_t kv_heads;      // Hk
    int64_t head_size;     // columns of one head
    int64_t inner;         // F
    int64_t context;       // tokens the model was made for
    int64_t rope_columns;  // features of a head that are rotated
    double rope_base;
    double rope_scale;         // positions are divided by this (linear scaling); 1 = none
    double epsilon;            // of the RMS norms
    bool tied;                 // the head is the embedding table
    uint64_t parameters;       // of the base
    uint64_t layer_parameters; // those that multiply a token: all matrices, the head included
    uint64_t file_hash;        // xxHash64 over the file's metadata and the sizes and samples of its tensors
} hone_model_config;

typedef struct hone_model hone_model;
typedef struct hone_lora hone_lora;
struct hone_tokenizer;

// Opens a GGUF file: metadata, tokenizer, and the weights as codes on the device. The model keeps the device.
// "not a GGUF", a cut file, another family and a tensor type that is not read each have their own message.
HONE_API HONE_MUST_USE hone_status hone_model_open(hone_device *device, const char *path, hone_model **out,
                                                   hone_error *error);
HONE_API void hone_model_close(hone_model *model); // NULL is allowed
HONE_API const hone_model_config *hone_model_shape(const hone_model *model);
// Owned by the model. Encoding works in memory inside the tokenizer: one thread at a time.
HONE_API struct hone_tokenizer *hone_model_tokenizer(const hone_model *model);
HONE_API const char *hone_model_path(const hone_model *model);

// --- LoRA: y = x W^T + alpha / rank * (x A^T) B^T beside chosen matrices --------------------------------------------
enum {
    HONE_TARGET_Q = 1,
    HONE_TARGET_K = 2,
    HONE_TARGET_V = 4,
    HONE_TARGET_O = 8,
    HONE_TARGET_GATE = 16,
    HONE_TARGET_UP = 32,
    HONE_TARGET_DOWN = 64,
    HONE_TARGET_HEAD = 128,
    HONE_TARGET_ALL_LAYERS = 127
};
// "q,k,v,o,gate,up,down,head" or "all" to bits; an unknown word is an error that lists the known ones.
HONE_API HONE_MUST_USE hone_status hone_targets_parse(const char *text, uint32_t *out, hone_error *error);

typedef struct hone_lora_options {
    int rank;         // 0 = 16
    double alpha;     // 0 = 2 * rank
    uint32_t targets; // 0 = HONE_TARGET_ALL_LAYERS
    uint64_t seed;    // of A, uniform in +-1/sqrt(n_in); B is zero
} hone_lora_options;

HONE_API HONE_MUST_USE hone_status hone_lora_create(hone_model *model, const hone_lora_options *options,
                                                    hone_lora **out, hone_error *error);
// From an adapter file (GGUF) or a PEFT folder; one made for another base is refused, saying what differs.
HONE_API HONE_MUST_USE hone_status hone_lora_open(hone_model *model, const char *path, hone_lora **out,
                                                  hone_error *error);
HONE_API void hone_lora_destroy(hone_lora *lora); // NULL is allowed
HONE_API size_t hone_lora_parameters(const hone_lora *lora);

// --- generation ---------------------------------------------------------------------------------------------------
typedef struct hone_sampling {
    double temperature; // 0 = always the likeliest token
    double top_p;       // 0 or 1 = all
    uint64_t seed;
} hone_sampling;

typedef struct hone_generator hone_generator;

// `lora` may be NULL. `context` tokens of key/value cache; 0 = the model's own context.
HONE_API HONE_MUST_USE hone_status hone_generator_create(hone_model *model, const hone_lora *lora, int64_t context,
                                                         hone_generator **out, hone_error *error);
HONE_API void hone_generator_destroy(hone_generator *generator);
// Device memory of the key/value cache, and of all that the generator takes once it has read and chosen tokens.
HONE_API HONE_MUST_USE hone_status hone_generator_bytes(const hone_generator *generator, size_t *cache, size_t *total,
                                                        hone_error *error);
// Appends tokens to what has been read. May return HONE_PENDING: call again with the same arguments.
// More than fit into the context is HONE_INVALID_ARGUMENT.
HONE_API HONE_MUST_USE hone_status hone_generator_feed(hone_generator *generator, const int32_t *tokens, size_t count,
                                                       hone_error *error);
// Chooses the next token from the logits of the last one and appends it. May return HONE_PENDING.
HONE_API HONE_MUST_USE hone_status hone_generator_next(hone_generator *generator, const hone_sampling *sampling,
                                                       int32_t *token, hone_error *error);
// The logits of the last token read, [V]; valid until the next call. NULL while nothing has been read.
HONE_API const float *hone_generator_logits(const hone_generator *generator);
// Forgets all but the first `count` tokens.
HONE_API void hone_generator_rewind(hone_generator *generator, size_t count);
HONE_API size_t hone_generator_length(const hone_generator *generator);

#ifdef __cplusplus
}
#endif
#endif
