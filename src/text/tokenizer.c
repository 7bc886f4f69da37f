// SPDX-License-Identifier: Apache-2.0
// The tokenizer: control tokens first, then words, then merges; and back from ids to bytes.
#include <string.h>

#include "text/bpe.h"
#include "text/normalize.h"
#include "text/pretokenizer.h"
#include "text/vocabulary.h"

#define END_TOKENS   8
#define KEPT_SCRATCH ((size_t)1 << 20) // bytes

struct hone_tokenizer {
    hone_vocabulary vocabulary;
    hone_bpe bpe;
    const hone_pre_row *row;
    hone_pre_tokenizer *pre;
    char *chat_template;
    int32_t bos, eos, eot, pad;
    bool add_bos, add_eos;
    int32_t ends[END_TOKENS]; // where generation stops
    size_t end_count;
    uint64_t dropped;
    hone_text joined;  // scratch: the parts of a text, end to end
    size_t *part_ends; // scratch: [parts] offsets in that text
    size_t part_end_capacity;
};

// --- create
// ----------------------------------------------------------------------------------------------------------

static hone_status check_id(const hone_tokenizer *tokenizer, int32_t id, const char *what, hone_error *error) {
    HONE_FAIL_IF(id < -1 || (id >= 0 && (size_t)id >= tokenizer->vocabulary.count), error, BAD_FORMAT,
                 "the %s token has the id %d, outside the vocabulary of %zu; the file is damaged", what, (int)id,
                 tokenizer->vocabulary.count);
    return HONE_OK;
}

static int32_t find_control(const hone_tokenizer *tokenizer, const char *text) {
    return hone_vocabulary_find_added(&tokenizer->vocabulary, text, strlen(text));
}

static void add_end(hone_tokenizer *tokenizer, int32_t id) {
    if (id < 0 || hone_tokenizer_is_end(tokenizer, id) || tokenizer->end_count == END_TOKENS) return;
    tokenizer->ends[tokenizer->end_count++] = id;
}

// End of turn and end of text by the names that models give them.
static void find_ends(hone_tokenizer *tokenizer) {
    static const char *const turn_ends[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|eot|>"};
    static const char *const text_ends[] = {"<|endoftext|>", "<|end_of_text|>", "<|eom_id|>", "<|eom|>"};
    for (size_t i = 0; i < sizeof turn_ends / sizeof *turn_ends && tokenizer->eot < 0; i++)
        tokenizer->eot = find_control(tokenizer, turn_ends[i]);
    if (tokenizer->eot < 0) tokenizer->eot = tokenizer->eos;
    add_end(tokenizer, tokenizer->eos);
    add_end(tokenizer, tokenizer->eot);
    for (size_t i = 0; i < sizeof text_ends / sizeof *text_ends; i++)
        add_end(tokenizer, find_control(tokenizer, text_ends[i]));
}

static hone_status build(hone_tokenizer *tokenizer, const hone_tokenizer_description *description, hone_error *error) {
    const char *const name = description->pre_tokenizer;
    char known[320];
    hone_pre_list(known, sizeof known);
    HONE_FAIL_IF(!name, error, UNSUPPORTED,
                 "the model does not name its pre-tokenizer; name it with --pre-tokenizer (known are %s)", known);
    tokenizer->row = hone_pre_find(name);
    HONE_FAIL_IF(
        !tokenizer->row, error, UNSUPPORTED,
        "pre-tokenizer '%s' is not known to this version; if it cuts text as a known one does, name that one with "
        "--pre-tokenizer (known are %s)",
        name, known);
    HONE_TRY(hone_vocabulary_build(&tokenizer->vocabulary, description->tokens, description->kinds,
                                   description->token_count, error));
    HONE_TRY(
        hone_bpe_build(&tokenizer->bpe, &tokenizer->vocabulary, description->merges, description->merge_count, error));
    HONE_TRY(hone_pre_create(tokenizer->row, &tokenizer->pre, error));
    if (description->chat_template)
        HONE_TRY(hone_copy_string(description->chat_template, strlen(description->chat_template),
                                  &tokenizer->chat_template, error));
    tokenizer->bos = description->bos;
    tokenizer->eos = description->eos;
    tokenizer->eot = description->eot;
    tokenizer->pad = description->pad;
    HONE_TRY(check_id(tokenizer, tokenizer->bos, "begin-of-text", error));
    HONE_TRY(check_id(tokenizer, tokenizer->eos, "end-of-text", error));
    HONE_TRY(check_id(tokenizer, tokenizer->eot, "end-of-turn", error));
    HONE_TRY(check_id(tokenizer, tokenizer->pad, "padding", error));
    tokenizer->add_bos = description->add_bos && tokenizer->bos >= 0;
    tokenizer->add_eos = description->add_eos && tokenizer->eos >= 0;
    find_ends(tokenizer);
    return HONE_OK;
}

hone_status hone_tokenizer_create(const hone_tokenizer_description *description, hone_tokenizer **out,
                                  hone_error *error) {
    *out = NULL;
    hone_tokenizer *tokenizer = NULL;
    HONE_TRY(HONE_NEW(&tokenizer, "the tokenizer", error));
    const hone_status status = build(tokenizer, description, error);
    if (status != HONE_OK) {
        hone_tokenizer_destroy(tokenizer);
        return status;
    }
    *out = tokenizer;
    return HONE_OK;
}

static void drop_scratch(hone_tokenizer *tokenizer) {
    hone_text_clear(&tokenizer->joined);
    hone_free(tokenizer->part_ends);
    tokenizer->part_ends = NULL;
    tokenizer->part_end_capacity = 0;
}

void hone_tokenizer_destroy(hone_tokenizer *tokenizer) {
    if (!tokenizer) return;
    drop_scratch(tokenizer);
    hone_vocabulary_clear(&tokenizer->vocabulary);
    hone_bpe_clear(&tokenizer->bpe);
    hone_pre_destroy(tokenizer->pre);
    hone_free(tokenizer->chat_template);
    hone_free(tokenizer);
}

void hone_ids_clear(hone_ids *ids) {
    hone_free(ids->items);
    *ids = (hone_ids){0};
}

// --- encode
// ----------------------------------------------------------------------------------------------------------

static hone_status push(hone_ids *ids, int32_t id, hone_error *error) {
    HONE_TRY(HONE_GROW(&ids->items, &ids->capacity, ids->count + 1, "token ids", error));
    ids->items[ids->count++] = id;
    return HONE_OK;
}

// One call of encode_parts on its way.
typedef struct encoding {
    hone_tokenizer *tokenizer;
    const char *text; // the parts, joined
    size_t length;
    const hone_text_part *parts;
    const size_t *part_ends;
    size_t part_count;
    size_t part; // the part that the last marked token begins in
    hone_ids *ids;
    hone_ids *trained; // may be NULL
} encoding;

// Marks the token that begins at `offset`. Offsets come in order.
static hone_status mark(encoding *e, size_t offset, hone_error *error) {
    while (e->part + 1 < e->part_count && e->part_ends[e->part] <= offset) e->part++;
    return push(e->trained, e->parts[e->part].trained, error);
}

// Marks the tokens ids[first, count), which spell the word at `offset` (less the bytes that have no token).
static hone_status mark_word(encoding *e, size_t first, size_t offset, hone_error *error) {
    const hone_vocabulary *const vocabulary = &e->tokenizer->vocabulary;
    size_t at = offset;
    for (size_t i = first; i < e->ids->count; i++) {
        const size_t length = hone_vocabulary_length(vocabulary, e->ids->items[i]);
        for (size_t taken = 0; taken < length; at++) {
            if (vocabulary->byte_ids[(unsigned char)e->text[at]] < 0) continue;
            if (taken++ == 0) HONE_TRY(mark(e, at, error));
        }
    }
    return HONE_OK;
}

static hone_status encode_word(void *context, const char *bytes, size_t length, hone_error *error) {
    encoding *const e = context;
    hone_tokenizer *const tokenizer = e->tokenizer;
    const size_t first = e->ids->count;
    const size_t offset = (size_t)(bytes - e->text);
    const int32_t whole =
        tokenizer->row->whole_words ? hone_vocabulary_find(&tokenizer->vocabulary, bytes, length) : -1;
    if (whole >= 0) {
        HONE_TRY(push(e->ids, whole, error));
        return e->trained ? mark(e, offset, error) : HONE_OK;
    }
    HONE_TRY(
        hone_bpe_encode(&tokenizer->bpe, &tokenizer->vocabulary, bytes, length, e->ids, &tokenizer->dropped, error));
    return e->trained ? mark_word(e, first, offset, error) : HONE_OK;
}

// Cuts the text at control and user-defined tokens and encodes what lies between.
static hone_status encode_joined(encoding *e, hone_error *error) {
    hone_tokenizer *const tokenizer = e->tokenizer;
    const hone_vocabulary *const vocabulary = &tokenizer->vocabulary;
    size_t plain = 0;       // where the text that is not yet encoded begins
    size_t part = 0;        // the part that `at` lies in
    size_t special_end = 0; // of the run of special parts around `at`; 0 = there is none
    bool entered = false;
    for (size_t at = 0; at < e->length;) {
        while (part < e->part_count && e->part_ends[part] <= at) {
            part++;
            entered = false;
        }
        if (!entered) {
            entered = true;
            special_end = 0;
            for (size_t i = part; i < e->part_count && e->parts[i].special; i++) special_end = e->part_ends[i];
        }
        const unsigned first = (unsigned char)e->text[at];
        if (vocabulary->added_from[first] == vocabulary->added_from[first + 1]) {
            at++;
            continue;
        }
        const int32_t id = hone_vocabulary_match_added(vocabulary, e->text + at, e->length - at,
                                                       special_end > at ? special_end - at : 0);
        if (id < 0) {
            at++;
            continue;
        }
        HONE_TRY(hone_pre_split(tokenizer->pre, e->text + plain, at - plain, encode_word, e, error));
        HONE_TRY(push(e->ids, id, error));
        if (e->trained) HONE_TRY(mark(e, at, error));
        at += hone_vocabulary_length(vocabulary, id);
        plain = at;
    }
    return hone_pre_split(tokenizer->pre, e->text + plain, e->length - plain, encode_word, e, error);
}

static hone_status check_utf8(const char *bytes, size_t length, hone_error *error) {
    for (size_t i = 0; i < length;) {
        if ((unsigned char)bytes[i] < 0x80) {
            i++;
            continue;
        }
        const size_t n = hone_utf8_length(bytes + i, length - i, NULL);
        HONE_FAIL_IF(n == 0, error, BAD_DATA, "the text is not valid UTF-8 at its byte %zu", i);
        i += n;
    }
    return HONE_OK;
}

// Joins the parts, normalised if the vocabulary asks for it. A single part that may stay as it is, is not
// copied.
static hone_status join(encoding *e, hone_error *error) {
    hone_tokenizer *const tokenizer = e->tokenizer;
    hone_text *const joined = &tokenizer->joined;
    HONE_TRY(
        HONE_GROW(&tokenizer->part_ends, &tokenizer->part_end_capacity, e->part_count, "the parts of a text", error));
    e->part_ends = tokenizer->part_ends;
    for (size_t i = 0; i < e->part_count; i++) HONE_TRY(check_utf8(e->parts[i].bytes, e->parts[i].length, error));
    if (e->part_count == 1 && !tokenizer->row->nfc) {
        e->text = e->parts[0].bytes;
        e->length = tokenizer->part_ends[0] = e->parts[0].length;
        return HONE_OK;
    }
    joined->length = 0;
    for (size_t i = 0; i < e->part_count; i++) {
        const hone_text_part *const part = &e->parts[i];
        if (tokenizer->row->nfc)
            HONE_TRY(hone_normalize(part->bytes, part->length, joined, error));
        else
            hone_text_append(joined, part->bytes, part->length);
        tokenizer->part_ends[i] = joined->length;
    }
    HONE_TRY(hone_text_status(joined, error));
    e->text = joined->bytes ? joined->bytes : "";
    e->length = joined->length;
    return HONE_OK;
}

hone_status hone_tokenizer_encode_parts(hone_tokenizer *tokenizer, const hone_text_part *parts, size_t part_count,
                                        hone_ids *ids, hone_ids *trained, hone_error *error) {
    const size_t ids_before = ids->count;
    const size_t trained_before = trained ? trained->count : 0;
    encoding e = {.tokenizer = tokenizer, .parts = parts, .part_count = part_count, .ids = ids, .trained = trained};
    hone_status status = join(&e, error);
    if (status == HONE_OK) status = encode_joined(&e, error);
    if (status != HONE_OK) {
        ids->count = ids_before;
        if (trained) trained->count = trained_before;
    }
    if (tokenizer->joined.capacity > KEPT_SCRATCH || tokenizer->joined.failed) drop_scratch(tokenizer);
    return status;
}

hone_status hone_tokenizer_encode(hone_tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                                  hone_ids *ids, hone_error *error) {
    const hone_text_part part = {.bytes = text, .length = length, .special = (flags & HONE_ENCODE_SPECIAL) != 0};
    const size_t before = ids->count;
    const bool bos = (flags & HONE_ENCODE_BOS) != 0 && tokenizer->add_bos;
    if (bos) HONE_TRY(push(ids, tokenizer->bos, error));
    const hone_status status = hone_tokenizer_encode_parts(tokenizer, &part, 1, ids, NULL, error);
    if (status != HONE_OK) {
        ids->count = before;
        return status;
    }
    if (bos && ids->count > before + 1 && ids->items[before + 1] == tokenizer->bos) { // the text has its own
        ids->count--;
        memmove(ids->items + before, ids->items + before + 1, (ids->count - before) * sizeof *ids->items);
    }
    return HONE_OK;
}

uint64_t hone_tokenizer_dropped(const hone_tokenizer *tokenizer) {
    return tokenizer->dropped;
}

// --- decode and look
// -------------------------------------------------------------------------------------------------

hone_status hone_tokenizer_decode(const hone_tokenizer *tokenizer, const int32_t *ids, size_t count, unsigned flags,
                                  hone_text *out, hone_error *error) {
    for (size_t i = 0; i < count; i++) {
        HONE_FAIL_IF(ids[i] < 0 || (size_t)ids[i] >= tokenizer->vocabulary.count, error, BAD_DATA,
                     "id %d at position %zu is outside the vocabulary of %zu", (int)ids[i], i,
                     tokenizer->vocabulary.count);
        const unsigned kind = tokenizer->vocabulary.kinds[ids[i]];
        if ((flags & HONE_DECODE_SKIP_CONTROL) && (kind == HONE_TOKEN_CONTROL || kind == HONE_TOKEN_UNKNOWN)) continue;
        const hone_gguf_string text = hone_tokenizer_text(tokenizer, ids[i]);
        hone_text_append(out, text.bytes, text.length);
    }
    return hone_text_status(out, error);
}

size_t hone_tokenizer_size(const hone_tokenizer *tokenizer) {
    return tokenizer->vocabulary.count;
}

hone_gguf_string hone_tokenizer_text(const hone_tokenizer *tokenizer, int32_t id) {
    const hone_vocabulary *const vocabulary = &tokenizer->vocabulary;
    if (id < 0 || (size_t)id >= vocabulary->count) return (hone_gguf_string){0};
    return (hone_gguf_string){vocabulary->bytes + vocabulary->offsets[id], hone_vocabulary_length(vocabulary, id)};
}

hone_token_kind hone_tokenizer_kind(const hone_tokenizer *tokenizer, int32_t id) {
    if (id < 0 || (size_t)id >= tokenizer->vocabulary.count) return HONE_TOKEN_UNUSED;
    return (hone_token_kind)tokenizer->vocabulary.kinds[id];
}

int32_t hone_tokenizer_find(const hone_tokenizer *tokenizer, const char *text, size_t length) {
    const int32_t id = hone_vocabulary_find_added(&tokenizer->vocabulary, text, length);
    return id >= 0 ? id : hone_vocabulary_find(&tokenizer->vocabulary, text, length);
}

bool hone_tokenizer_is_end(const hone_tokenizer *tokenizer, int32_t id) {
    for (size_t i = 0; i < tokenizer->end_count; i++) {
        if (tokenizer->ends[i] == id) return true;
    }
    return false;
}

int32_t hone_tokenizer_bos(const hone_tokenizer *tokenizer) {
    return tokenizer->bos;
}
int32_t hone_tokenizer_eos(const hone_tokenizer *tokenizer) {
    return tokenizer->eos;
}
int32_t hone_tokenizer_eot(const hone_tokenizer *tokenizer) {
    return tokenizer->eot;
}
int32_t hone_tokenizer_pad(const hone_tokenizer *tokenizer) {
    return tokenizer->pad;
}
bool hone_tokenizer_adds_bos(const hone_tokenizer *tokenizer) {
    return tokenizer->add_bos;
}
bool hone_tokenizer_adds_eos(const hone_tokenizer *tokenizer) {
    return tokenizer->add_eos;
}
const char *hone_tokenizer_pre_name(const hone_tokenizer *tokenizer) {
    return tokenizer->row->name;
}
const char *hone_tokenizer_chat_template(const hone_tokenizer *tokenizer) {
    return tokenizer->chat_template;
}
