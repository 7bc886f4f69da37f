// SPDX-License-Identifier: Apache-2.0
// A tokenizer with a token for each byte, two merges and ChatML's control tokens, made once in a process.
#ifndef HONE_FUZZ_SMALL_TOKENIZER_H
#define HONE_FUZZ_SMALL_TOKENIZER_H

#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

// GPT-2's alphabet: printable bytes stand for themselves, the others for the code points from 256 on, in order.
static inline size_t small_byte_token(unsigned byte, char out[4]) {
    uint32_t shifted = 256;
    for (unsigned b = 0; b <= byte; b++) {
        const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE);
        if (b == byte) return hone_utf8_encode(printable ? b : shifted, out);
        if (!printable) shifted++;
    }
    return 0;
}

static inline hone_tokenizer *small_tokenizer(void) {
    enum { BYTES = 256, EXTRA = 5 };
    static hone_tokenizer *tokenizer;
    if (tokenizer) return tokenizer;
    static char texts[BYTES][4];
    hone_gguf_string tokens[BYTES + EXTRA];
    int32_t kinds[BYTES + EXTRA];
    for (unsigned b = 0; b < BYTES; b++) {
        tokens[b] = (hone_gguf_string){texts[b], small_byte_token(b, texts[b])};
        kinds[b] = HONE_TOKEN_NORMAL;
    }
    static const char *const extra[EXTRA] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "ab", "abc"};
    for (int i = 0; i < EXTRA; i++) {
        tokens[BYTES + i] = (hone_gguf_string){extra[i], strlen(extra[i])};
        kinds[BYTES + i] = i < 3 ? HONE_TOKEN_CONTROL : HONE_TOKEN_NORMAL;
    }
    static const hone_gguf_string merges[] = {{"a b", 3}, {"ab c", 4}};
    const hone_tokenizer_description description = {
        .tokens = tokens,
        .token_count = BYTES + EXTRA,
        .kinds = kinds,
        .merges = merges,
        .merge_count = 2,
        .pre_tokenizer = "smollm",
        .chat_template = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
                         "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
                         "Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + "
                         "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
                         "{{ '<|im_start|>assistant\n' }}{% endif %}",
        .bos = BYTES + 1,
        .eos = BYTES + 2,
        .eot = BYTES + 2,
        .pad = BYTES + 2,
    };
    hone_error error = {0};
    if (hone_tokenizer_create(&description, &tokenizer, &error) != HONE_OK) abort();
    return tokenizer;
}

#endif
