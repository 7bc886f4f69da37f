// SPDX-License-Identifier: Apache-2.0
// A small random llama model as a GGUF file, so that tests need no model of anybody's: a byte-level
// vocabulary with a few merges, ChatML's control tokens and template, and matrices in any mix of block types.
#ifndef HONE_TESTS_TINY_MODEL_H
#define HONE_TESTS_TINY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <hone/status.h>

// Zero means the default that stands behind each field.
typedef struct tiny_model {
    int layers;               // 2
    int width;                // 64; a multiple of 32
    int inner;                // 2 * width; a multiple of 32
    int heads;                // 4
    int kv_heads;             // 2
    int context;              // 512
    uint64_t seed;            // 0 is a seed too
    const char *types;        // block types that the matrices take in turn, the embedding first; TINY_MODEL_MIX
    const char *architecture; // "llama"
    const char *pre;          // name of the pre-tokenizer; "smollm"
    bool untied;              // a head of its own instead of the embedding table
    bool no_template;         // no chat template
    bool add_bos;             // the vocabulary wants <|im_start|> before each text
} tiny_model;

#define TINY_MODEL_MIX "Q8_0,Q4_1,Q4_0,Q4_1,F16,F32,Q8_0"

// Writes the file; what cannot be (a width that is no multiple of a block, an unknown type) is
// HONE_INVALID_ARGUMENT.
HONE_MUST_USE hone_status tiny_model_write(const char *path, const tiny_model *model, hone_error *error);

// Ids of its control tokens, and of the token of one byte.
enum { TINY_END_OF_TEXT = 0, TINY_IM_START = 1, TINY_IM_END = 2, TINY_FIRST_BYTE = 3 };
// Tokens of its vocabulary.
int tiny_model_vocabulary(void);

#endif
