// SPDX-License-Identifier: Apache-2.0
// A tokenizer from a model's metadata: the keys tokenizer.ggml.* and tokenizer.chat_template.
#include <inttypes.h>
#include <string.h>

#include "text/pretokenizer.h"
#include "text/tokenizer.h"

// The strings of an array; *count = 0 if the key is absent and may be.
static hone_status read_strings(const hone_gguf *gguf, const char *key, bool needed, const hone_gguf_string **out,
                                size_t *count, hone_error *error) {
    *out = NULL;
    *count = 0;
    const hone_gguf_entry *const entry = hone_gguf_find(gguf, key);
    HONE_FAIL_IF(!entry && needed, error, BAD_FORMAT, "key '%s' is missing; the file has no vocabulary", key);
    if (!entry) return HONE_OK;
    HONE_FAIL_IF(entry->kind != HONE_GGUF_ARRAY || entry->element_kind != HONE_GGUF_STRING, error, BAD_FORMAT,
                 "key '%s' is not an array of strings; the file is damaged", key);
    *out = entry->elements;
    *count = (size_t)entry->count;
    return HONE_OK;
}

static hone_status read_kinds(const hone_gguf *gguf, size_t token_count, const int32_t **out, hone_error *error) {
    const char *const key = "tokenizer.ggml.token_type";
    *out = NULL;
    const hone_gguf_entry *const entry = hone_gguf_find(gguf, key);
    if (!entry) return HONE_OK;
    HONE_FAIL_IF(entry->kind != HONE_GGUF_ARRAY ||
                     (entry->element_kind != HONE_GGUF_I32 && entry->element_kind != HONE_GGUF_U32),
                 error, BAD_FORMAT, "key '%s' is not an array of 32-bit integers; the file is damaged", key);
    HONE_FAIL_IF(entry->count != token_count, error, BAD_FORMAT,
                 "key '%s' has %" PRIu64 " entries for %zu tokens; the file is damaged", key, entry->count,
                 token_count);
    *out = entry->elements;
    return HONE_OK;
}

// A token's id; -1 where the key is absent or holds no id (some writers put 0xFFFFFFFF).
static hone_status read_id(const hone_gguf *gguf, const char *key, int32_t *out, hone_error *error) {
    *out = -1;
    if (!hone_gguf_find(gguf, key)) return HONE_OK;
    int64_t value = 0;
    HONE_TRY(hone_gguf_integer(gguf, key, &value, error));
    if (value == -1 || value == UINT32_MAX) return HONE_OK;
    HONE_FAIL_IF(value < 0 || value > INT32_MAX, error, BAD_FORMAT,
                 "key '%s' is %" PRId64 ", which is no token; the file is damaged", key, value);
    *out = (int32_t)value;
    return HONE_OK;
}

static hone_status read_flag(const hone_gguf *gguf, const char *key, bool otherwise, bool *out, hone_error *error) {
    *out = otherwise;
    const hone_gguf_entry *const entry = hone_gguf_find(gguf, key);
    if (!entry) return HONE_OK;
    HONE_FAIL_IF(entry->kind != HONE_GGUF_BOOL, error, BAD_FORMAT, "key '%s' is not a boolean; the file is damaged",
                 key);
    *out = entry->unsigned_integer != 0;
    return HONE_OK;
}

hone_status hone_tokenizer_from_gguf(const hone_gguf *gguf, const hone_tokenizer_options *options, hone_tokenizer **out,
                                     hone_error *error) {
    *out = NULL;
    const char *model = NULL;
    HONE_TRY(hone_gguf_text(gguf, "tokenizer.ggml.model", &model, error));
    const bool sentence_piece = strcmp(model, "llama") == 0;
    HONE_FAIL_IF(strcmp(model, "gpt2") != 0, error, UNSUPPORTED,
                 "vocabularies of the kind '%s'%s are not supported yet by this version; take a model with a "
                 "byte-level BPE "
                 "vocabulary ('gpt2')",
                 model, sentence_piece ? " (SentencePiece)" : "");
    hone_tokenizer_description description = {0};
    HONE_TRY(read_strings(gguf, "tokenizer.ggml.tokens", true, &description.tokens, &description.token_count, error));
    HONE_TRY(read_strings(gguf, "tokenizer.ggml.merges", true, &description.merges, &description.merge_count, error));
    HONE_TRY(read_kinds(gguf, description.token_count, &description.kinds, error));
    if (options && options->pre_tokenizer) {
        description.pre_tokenizer = options->pre_tokenizer;
    } else if (hone_gguf_find(gguf, "tokenizer.ggml.pre")) {
        HONE_TRY(hone_gguf_text(gguf, "tokenizer.ggml.pre", &description.pre_tokenizer, error));
    }
    const hone_pre_row *const row = description.pre_tokenizer ? hone_pre_find(description.pre_tokenizer) : NULL;
    HONE_TRY(read_id(gguf, "tokenizer.ggml.bos_token_id", &description.bos, error));
    HONE_TRY(read_id(gguf, "tokenizer.ggml.eos_token_id", &description.eos, error));
    HONE_TRY(read_id(gguf, "tokenizer.ggml.eot_token_id", &description.eot, error));
    HONE_TRY(read_id(gguf, "tokenizer.ggml.padding_token_id", &description.pad, error));
    HONE_TRY(read_flag(gguf, "tokenizer.ggml.add_bos_token", row && row->add_bos, &description.add_bos, error));
    HONE_TRY(read_flag(gguf, "tokenizer.ggml.add_eos_token", false, &description.add_eos, error));
    if (hone_gguf_find(gguf, "tokenizer.chat_template"))
        HONE_TRY(hone_gguf_text(gguf, "tokenizer.chat_template", &description.chat_template, error));
    return hone_tokenizer_create(&description, out, error);
}
