// SPDX-License-Identifier: Apache-2.0
// The table of pre-tokenizers and the cutting, by PCRE2.
#include "text/pretokenizer.h"

#include <stdio.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/tokenizer.h"

// White space as the engines that the patterns were written for have it. PCRE2's own \s takes in U+180E,
// which Unicode no longer counts as a space. To be used inside brackets.
#define SPACE         "\\p{Z}\\t-\\r\\x{85}"
#define END_OF_SPACES "[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+"

// GPT-2: contractions; letters, numbers or signs with the blank before them; spaces, of which the last stays
// with what follows.
#define GPT2 "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|" END_OF_SPACES

// cl100k and its kin differ in how many digits make a word.
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CL100K(digits)                                                                                                 \
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*|"                      \
                "[" SPACE "]*[\\r\\n]+|" END_OF_SPACES

// o200k and its kin cut where lower case is followed by upper case.
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(contraction, digits)                                                                                     \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" contraction "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" contraction \
    "|" digits "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n/]*|[" SPACE "]*[\\r\\n]+|" END_OF_SPACES

#define DEEPSEEK3                                                                                                      \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"               \
    " ?[\\p{P}\\p{S}]+[\\r\\n]*|[" SPACE "]*[\\r\\n]+|" END_OF_SPACES

static const hone_pre_row pre_rows[] = {
    {"smollm", {"\\p{N}", GPT2}},
    {"starcoder", {"\\p{N}", GPT2}},
    {"refact", {"\\p{N}", GPT2}},
    {"gpt-2", {GPT2}},
    {"llama-bpe", {CL100K("\\p{N}{1,3}")}, .whole_words = true, .add_bos = true},
    {"llama3", {CL100K("\\p{N}{1,3}")}, .whole_words = true, .add_bos = true},
    {"llama-v3", {CL100K("\\p{N}{1,3}")}, .whole_words = true, .add_bos = true},
    {"qwen2", {CL100K("\\p{N}")}, .nfc = true},
    {"tekken", {O200K("", "\\p{N}")}, .whole_words = true, .add_bos = true},
    {"gpt-4o", {O200K(CONTRACTION "?", "\\p{N}{1,3}")}, .whole_words = true},
    {"deepseek-v3", {"\\p{N}{1,3}", "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+", DEEPSEEK3}},
};
#define ROW_COUNT (sizeof pre_rows / sizeof *pre_rows)

const hone_pre_row *hone_pre_find(const char *name) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(pre_rows[i].name, name) == 0) return &pre_rows[i];
    }
    return NULL;
}

const char *hone_pre_tokenizer_name(size_t index) {
    return index < ROW_COUNT ? pre_rows[index].name : NULL;
}

void hone_pre_list(char *out, size_t size) {
    size_t length = 0;
    out[0] = 0;
    for (size_t i = 0; i < ROW_COUNT && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%s", i > 0 ? ", " : "", pre_rows[i].name);
}

struct hone_pre_tokenizer {
    const hone_pre_row *row;
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *codes[HONE_PRE_STAGES];
    bool compiled[HONE_PRE_STAGES]; // to machine code
    pcre2_match_data *matches[HONE_PRE_STAGES];
};

static void *take_memory(PCRE2_SIZE size, void *data) {
    (void)data;
    void *pointer = NULL;
    return hone_allocate_raw(1, size, "the pre-tokenizer", &pointer, NULL) == HONE_OK ? pointer : NULL;
}

static void give_memory(void *pointer, void *data) {
    (void)data;
    hone_free(pointer);
}

void hone_pre_destroy(hone_pre_tokenizer *pre) {
    if (!pre) return;
    for (int i = 0; i < HONE_PRE_STAGES; i++) {
        pcre2_match_data_free(pre->matches[i]);
        pcre2_code_free(pre->codes[i]);
    }
    pcre2_match_context_free(pre->limits);
    pcre2_general_context_free(pre->memory);
    hone_free(pre);
}

static hone_status compile(hone_pre_tokenizer *pre, int stage, hone_error *error) {
    const char *const pattern = pre->row->patterns[stage];
    pcre2_compile_context *const context = pcre2_compile_context_create(pre->memory);
    HONE_FAIL_IF(!context, error, OUT_OF_MEMORY, "out of memory: the pre-tokenizer");
    int code = 0;
    PCRE2_SIZE offset = 0;
    pre->codes[stage] =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &offset, context);
    pcre2_compile_context_free(context);
    HONE_FAIL_IF(!pre->codes[stage] && code == PCRE2_ERROR_HEAP_FAILED, error, OUT_OF_MEMORY,
                 "out of memory: the pre-tokenizer");
    HONE_FAIL_IF(!pre->codes[stage], error, UNSUPPORTED,
                 "the PCRE2 library does not take the pattern of pre-tokenizer '%s' (error %d at byte %zu); "
                 "it must be "
                 "built with Unicode support",
                 pre->row->name, code, (size_t)offset);
    pre->matches[stage] = pcre2_match_data_create(1, pre->memory);
    HONE_FAIL_IF(!pre->matches[stage], error, OUT_OF_MEMORY, "out of memory: the pre-tokenizer");
    // Where machine code cannot be made (some systems forbid it), matching is slower and the same.
    pre->compiled[stage] = pcre2_jit_compile(pre->codes[stage], PCRE2_JIT_COMPLETE) == 0;
    return HONE_OK;
}

static hone_status build(hone_pre_tokenizer *pre, hone_error *error) {
    pre->memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    HONE_FAIL_IF(!pre->memory, error, OUT_OF_MEMORY, "out of memory: the pre-tokenizer");
    pre->limits = pcre2_match_context_create(pre->memory);
    HONE_FAIL_IF(!pre->limits, error, OUT_OF_MEMORY, "out of memory: the pre-tokenizer");
    for (int i = 0; i < HONE_PRE_STAGES && pre->row->patterns[i]; i++) HONE_TRY(compile(pre, i, error));
    return HONE_OK;
}

hone_status hone_pre_create(const hone_pre_row *row, hone_pre_tokenizer **out, hone_error *error) {
    *out = NULL;
    hone_pre_tokenizer *pre = NULL;
    HONE_TRY(HONE_NEW(&pre, "the pre-tokenizer", error));
    pre->row = row;
    const hone_status status = build(pre, error);
    if (status != HONE_OK) {
        hone_pre_destroy(pre);
        return status;
    }
    *out = pre;
    return HONE_OK;
}

// The next match in text[from, length) as [*begin, *end); *begin = length if there is none.
static hone_status next_match(hone_pre_tokenizer *pre, int stage, const char *text, size_t length, size_t from,
                              size_t *begin, size_t *end, hone_error *error) {
    const pcre2_code *const code = pre->codes[stage];
    pcre2_match_data *const match = pre->matches[stage];
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pre->compiled[stage]) found = pcre2_jit_match(code, (PCRE2_SPTR)text, length, from, 0, match, pre->limits);
    // The text was checked once; checking it at each match would take time with the square of its length.
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found =
            pcre2_match(code, (PCRE2_SPTR)text, length, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, pre->limits);
    *begin = *end = length;
    if (found == PCRE2_ERROR_NOMATCH) return HONE_OK;
    HONE_FAIL_IF(found == PCRE2_ERROR_NOMEMORY, error, OUT_OF_MEMORY, "out of memory: cutting the text into words");
    HONE_FAIL_IF(found < 0, error, BAD_DATA,
                 "the text cannot be cut into words at its byte %zu (PCRE2 error %d); break it up into shorter rows",
                 from, found);
    const PCRE2_SIZE *const place = pcre2_get_ovector_pointer(match);
    *begin = place[0];
    *end = place[1];
    return HONE_OK;
}

static hone_status split(hone_pre_tokenizer *pre, int stage, const char *text, size_t length, hone_pre_word *word,
                         void *context, hone_error *error) {
    if (length == 0) return HONE_OK;
    if (stage == HONE_PRE_STAGES || !pre->codes[stage]) return word(context, text, length, error);
    for (size_t at = 0; at < length;) {
        size_t begin = 0;
        size_t end = 0;
        HONE_TRY(next_match(pre, stage, text, length, at, &begin, &end, error));
        if (end == begin && begin < length) { // no pattern of the table can match nothing
            end = begin + hone_utf8_length(text + begin, length - begin, NULL);
            if (end == begin) end = length;
        }
        HONE_TRY(split(pre, stage + 1, text + at, begin - at, word, context, error));
        HONE_TRY(split(pre, stage + 1, text + begin, end - begin, word, context, error));
        at = end;
    }
    return HONE_OK;
}

hone_status hone_pre_split(hone_pre_tokenizer *pre, const char *text, size_t length, hone_pre_word *word, void *context,
                           hone_error *error) {
    // The patterns need steps in proportion to the text. More would be a fault of theirs, and should end.
    const uint64_t limit = 10000000 + 16 * (uint64_t)length;
    pcre2_set_match_limit(pre->limits, limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX);
    return split(pre, 0, text, length, word, context, error);
}
