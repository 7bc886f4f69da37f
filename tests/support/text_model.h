// SPDX-License-Identifier: Apache-2.0
// For tests of text: a small byte-level vocabulary in plain memory, and the real model where it is at hand.
#ifndef HONE_TESTS_TEXT_MODEL_H
#define HONE_TESTS_TEXT_MODEL_H

#include "support/scratch.h"
#include "text/tokenizer.h"

// What 20 MB of text may take, on a machine that does other things too.
#if defined(__SANITIZE_ADDRESS__)
#define TEXT_SECONDS 120
#else
#define TEXT_SECONDS 12
#endif

// Ids: a byte b is b; then the merged tokens, in the order of the merges; then the added ones.
static const char *const text_merges[] = {
    "a a", "aa aa", "h e", "l l", "he ll", "hell o", "\xC4\xA0 hello", "\xC4\x8A \xC4\x8A"};
#define TEXT_MERGES (sizeof text_merges / sizeof *text_merges)
enum {
    TEXT_AA = 256,
    TEXT_AAAA,
    TEXT_HE,
    TEXT_LL,
    TEXT_HELL,
    TEXT_HELLO,
    TEXT_SPACE_HELLO, // " hello"
    TEXT_TWO_LINES,   // "\n\n"
    TEXT_END_OF_TEXT,
    TEXT_IM_START,
    TEXT_IM_END,
    TEXT_IM_END_LONG, // "<|im_end|>>": a longer token with the same beginning
    TEXT_TAG,         // "<tag>", user-defined
    TEXT_UNUSED,
    TEXT_SIZE
};

static const char text_template[] =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe "
    "good.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

static inline size_t text_alphabet(unsigned byte, char out[4]) {
    uint32_t hidden = 256;
    for (unsigned b = 0; b <= byte; b++) {
        const bool seen = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        if (b == byte) return hone_utf8_encode(seen ? b : hidden, out);
        hidden += !seen;
    }
    return 0;
}

typedef struct text_options {
    const char *pre;      // NULL = smollm
    const char *template; // NULL = none
    bool add_bos;
    bool no_eos;
    int missing_byte; // this byte has no token; 0 = all have one
} text_options;

static inline hone_status text_create(const text_options *options, hone_tokenizer **out, hone_error *error) {
    char texts[TEXT_SIZE][16];
    hone_gguf_string tokens[TEXT_SIZE];
    int32_t kinds[TEXT_SIZE];
    hone_gguf_string merges[TEXT_MERGES];
    static const char *const added[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_end|>>", "<tag>", "[PAD]"};
    static const int32_t added_kinds[] = {HONE_TOKEN_CONTROL, HONE_TOKEN_CONTROL,      HONE_TOKEN_CONTROL,
                                          HONE_TOKEN_CONTROL, HONE_TOKEN_USER_DEFINED, HONE_TOKEN_UNUSED};
    for (unsigned i = 0; i < TEXT_SIZE; i++) {
        size_t length = 0;
        kinds[i] = HONE_TOKEN_NORMAL;
        if (i < 256) {
            length = text_alphabet(i, texts[i]);
            if (options->missing_byte != 0 && i == (unsigned)options->missing_byte) kinds[i] = HONE_TOKEN_UNUSED;
        } else if (i < TEXT_END_OF_TEXT) {
            const char *const merge = text_merges[i - 256];
            merges[i - 256] = (hone_gguf_string){merge, strlen(merge)};
            const size_t left = strcspn(merge, " ");
            length = (size_t)snprintf(texts[i], sizeof texts[i], "%.*s%s", (int)left, merge, merge + left + 1);
        } else {
            length = (size_t)snprintf(texts[i], sizeof texts[i], "%s", added[i - TEXT_END_OF_TEXT]);
            kinds[i] = added_kinds[i - TEXT_END_OF_TEXT];
        }
        tokens[i] = (hone_gguf_string){texts[i], length};
    }
    const hone_tokenizer_description description = {
        .tokens = tokens,
        .token_count = TEXT_SIZE,
        .kinds = kinds,
        .merges = merges,
        .merge_count = TEXT_MERGES,
        .pre_tokenizer = options->pre ? options->pre : "smollm",
        .chat_template = options->template,
        .bos = options->add_bos ? TEXT_END_OF_TEXT : -1,
        .eos = options->no_eos ? -1 : TEXT_IM_END,
        .eot = -1,
        .pad = -1,
        .add_bos = options->add_bos,
    };
    return hone_tokenizer_create(&description, out, error);
}

// The real model's tokenizer, or NULL (and a line that says so) where there is no model.
static inline hone_tokenizer *text_real_tokenizer(void) {
    char path[4096];
    const char *const named = getenv("HONE_MODEL");
    snprintf(path, sizeof path, "%s", named ? named : HONE_SOURCE_DIR "/models/SmolLM2-135M-Instruct.Q4_1.gguf");
    if (access(path, R_OK) != 0) {
        print_message("skipped: no model at %s (HONE_MODEL names it)\n", path);
        return NULL;
    }
    hone_gguf *gguf = NULL;
    hone_tokenizer *tokenizer = NULL;
    OK(hone_gguf_open(path, &gguf, &why));
    OK(hone_tokenizer_from_gguf(gguf, NULL, &tokenizer, &why));
    hone_gguf_close(gguf);
    return tokenizer;
}

#endif
