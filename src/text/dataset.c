// SPDX-License-Identifier: Apache-2.0
// The scan from beginning to end, and what is asked of its result.
#include "text/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "text/dataset_inside.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// --- plain text ------------------------------------------------------------------------------------------------------

static hone_status read_whole(hone_source *source, char **out, size_t *length, hone_error *error) {
    HONE_FAIL_IF(source->size > SIZE_MAX - 1, error, OUT_OF_MEMORY, "%s has %" PRIu64 " bytes, more than fit in memory",
                 source->name, source->size);
    *length = (size_t)source->size;
    HONE_TRY(hone_allocate_raw(*length + 1, 1, "the text", (void **)out, error));
    return hone_source_read(source, 0, *out, *length, "the text", error);
}

static hone_status check_text(const hone_raw_row *whole, hone_error *error) {
    const char *const bytes = whole->bytes;
    if (whole->length >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
        return hone_row_fail(whole, 0, error, "the file is UTF-16; save it as UTF-8");
    for (size_t i = 0; i < whole->length;) {
        const size_t n = (unsigned char)bytes[i] < 0x80 ? 1 : hone_utf8_length(bytes + i, whole->length - i, NULL);
        if (n == 0)
            return hone_row_fail(whole, i, error,
                                 "byte 0x%02X is not valid UTF-8; save the file as UTF-8, or let --replace-invalid put "
                                 "U+FFFD there",
                                 (unsigned char)bytes[i]);
        i += n;
    }
    return HONE_OK;
}

static uint64_t count_lines(const hone_tokenizer *tokenizer, const int32_t *ids, size_t count) {
    uint64_t lines = 0;
    for (size_t i = 0; i < count; i++) {
        const hone_gguf_string text = hone_tokenizer_text(tokenizer, ids[i]);
        for (size_t k = 0; k < text.length; k++) lines += text.bytes[k] == '\n';
    }
    return lines;
}

// Cuts what the text gave into windows of `sequence` tokens, one behind the other.
static hone_status cut_windows(hone_scan *scan, hone_error *error) {
    hone_ids whole = scan->ids;
    hone_ids labels = scan->labels;
    scan->ids = (hone_ids){0};
    scan->labels = (hone_ids){0};
    const size_t window = scan->options.sequence > 0 ? scan->options.sequence : whole.count;
    hone_status status = HONE_OK;
    uint64_t line = 1;
    uint64_t number = 1;
    for (size_t at = 0; at < whole.count && status == HONE_OK; at += window) {
        const size_t length = whole.count - at < window ? whole.count - at : window;
        const size_t first = scan->ids.count;
        status = HONE_GROW(&scan->ids.items, &scan->ids.capacity, first + length, "token ids", error);
        if (status == HONE_OK)
            status = HONE_GROW(&scan->labels.items, &scan->labels.capacity, first + length, "token labels", error);
        if (status != HONE_OK) break;
        memcpy(scan->ids.items + first, whole.items + at, length * sizeof *whole.items);
        memcpy(scan->labels.items + first, labels.items + at, length * sizeof *labels.items);
        scan->ids.count = scan->labels.count = first + length;
        status = hone_scan_finish(scan, first, number++, line, NULL, error);
        line += count_lines(scan->tokenizer, whole.items + at, length);
    }
    hone_ids_clear(&whole);
    hone_ids_clear(&labels);
    return status;
}

static hone_status encode_text(hone_scan *scan, hone_raw_row *whole, hone_text *fixed, hone_error *error) {
    if (whole->length >= 3 && memcmp(whole->bytes, "\xEF\xBB\xBF", 3) == 0) { // a byte-order mark
        whole->bytes += 3;
        whole->length -= 3;
    }
    if (scan->options.replace_invalid) {
        hone_replace_invalid(whole->bytes, whole->length, fixed, &scan->dataset->statistics.replaced);
        HONE_TRY(hone_text_status(fixed, error));
        whole->bytes = fixed->bytes;
        whole->length = fixed->length;
    } else {
        HONE_TRY(check_text(whole, error));
    }
    const hone_status status = hone_scan_text(scan, whole->bytes, whole->length, error);
    if (status == HONE_BAD_DATA) hone_row_prefix(whole, 0, error);
    return status;
}

static hone_status scan_plain(hone_scan *scan, hone_source *source, hone_error *error) {
    char *bytes = NULL;
    size_t length = 0;
    hone_text fixed = {0};
    hone_status status = read_whole(source, &bytes, &length, error);
    if (status == HONE_OK) {
        hone_raw_row whole = {.bytes = bytes, .length = length, .line = 1, .column = 1, .name = source->name};
        status = encode_text(scan, &whole, &fixed, error);
    }
    hone_text_clear(&fixed);
    hone_free(bytes);
    return status == HONE_OK ? cut_windows(scan, error) : status;
}

// --- rows ------------------------------------------------------------------------------------------------------------

static hone_status scan_rows(hone_scan *scan, hone_source *source, hone_error *error) {
    hone_row_reader reader = {.source = source, .replace_invalid = scan->options.replace_invalid};
    hone_raw_row raw = {0};
    bool found = false;
    hone_status status = hone_row_next(&reader, &raw, &found, error);
    while (status == HONE_OK && found) {
        json_t *object = NULL;
        status = hone_row_parse(&raw, &scan->numbers, &object, error);
        if (status == HONE_OK) status = hone_scan_row(scan, &raw, object, error);
        json_decref(object);
        if (status == HONE_OK) status = hone_row_next(&reader, &raw, &found, error);
    }
    scan->dataset->statistics.replaced = reader.replaced;
    hone_row_reader_clear(&reader);
    return status;
}

const char *hone_skip_reason_text(hone_skip_reason reason) {
    switch (reason) {
    case HONE_SKIP_EMPTY:
        return "it holds no text";
    case HONE_SKIP_SHORT:
        return "it is one token long, nothing follows";
    case HONE_SKIP_MASKED:
        return "it has no answer to learn";
    case HONE_SKIP_CUT:
        return "its answer lies behind the cut";
    }
    return "";
}

static hone_status check_rows(const hone_scan *scan, hone_source *source, hone_error *error) {
    const hone_dataset_statistics *const statistics = &scan->dataset->statistics;
    HONE_FAIL_IF(statistics->rows == 0, error, BAD_DATA, "%s holds no rows%s", source->name,
                 source->size == 0 ? ": the file is empty" : "; is this the right file?");
    if (statistics->used > 0) return HONE_OK;
    const hone_skipped_row *const first = &statistics->skipped_rows[0];
    const char *hint = "add answers, or train on all of the text with --loss all";
    if (first->reason == HONE_SKIP_CUT) hint = "raise --sequence";
    if (first->reason == HONE_SKIP_EMPTY || first->reason == HONE_SKIP_SHORT) hint = "is this the right file?";
    HONE_FAIL(error, BAD_DATA, "%s, line %" PRIu64 ": there is nothing to learn in row %" PRIu64 " (%s)%s; %s",
              source->name, first->line, first->row, hone_skip_reason_text(first->reason),
              statistics->rows > 1 ? " nor in any other row" : ", the only one", hint);
}

// --- the whole -------------------------------------------------------------------------------------------------------

// Gives back room that doubling left over, if it is much.
static hone_status trim(hone_ids *ids, hone_error *error) {
    if (ids->capacity - ids->count < ids->count / 4 + 1024) return HONE_OK;
    int32_t *exact = NULL;
    HONE_TRY(hone_allocate_raw(ids->count, sizeof *exact, "token ids", (void **)&exact, error));
    memcpy(exact, ids->items, ids->count * sizeof *exact);
    hone_free(ids->items);
    *ids = (hone_ids){.items = exact, .count = ids->count, .capacity = ids->count};
    return HONE_OK;
}

static hone_status scan_all(hone_scan *scan, hone_source *source, hone_error *error) {
    HONE_TRY(hone_copy_string(source->name, strlen(source->name), &scan->dataset->name, error));
    if (scan->options.chat_format) // a name that is wrong is wrong for any data
        HONE_TRY(hone_chat_create(scan->options.chat_format, scan->tokenizer, &scan->chat, error));
    HONE_TRY(scan->options.plain_text ? scan_plain(scan, source, error) : scan_rows(scan, source, error));
    HONE_TRY(check_rows(scan, source, error));
    HONE_TRY(trim(&scan->ids, error));
    return trim(&scan->labels, error);
}

// Hands what was gathered to the dataset, so that it is freed with it in any case.
static void hand_over(hone_scan *scan) {
    hone_dataset *const dataset = scan->dataset;
    dataset->ids = scan->ids.items;
    dataset->token_capacity = scan->ids.capacity;
    dataset->token_count = scan->ids.count;
    dataset->labels = scan->labels.items;
    dataset->label_capacity = scan->labels.capacity;
    dataset->prompt_ids = scan->prompts.items;
    dataset->prompt_capacity = scan->prompts.capacity;
    dataset->prompt_id_count = scan->prompts.count;
    hone_free(scan->messages);
    hone_chat_rendering_clear(&scan->rendering);
    hone_ids_clear(&scan->numbers.ids);
    hone_ids_clear(&scan->numbers.labels);
    hone_chat_destroy(scan->chat);
    hone_chat_destroy(scan->plain);
}

hone_status hone_dataset_scan_source(hone_source *source, hone_tokenizer *tokenizer,
                                     const hone_dataset_options *options, hone_dataset **out, hone_error *error) {
    *out = NULL;
    hone_scan scan = {.tokenizer = tokenizer};
    if (options) scan.options = *options;
    scan.numbers.vocabulary =
        scan.options.vocabulary > 0 ? scan.options.vocabulary : (int64_t)hone_tokenizer_size(tokenizer);
    const uint64_t dropped = hone_tokenizer_dropped(tokenizer);
    HONE_TRY(HONE_NEW(&scan.dataset, "the data", error));
    const hone_status status = scan_all(&scan, source, error);
    hand_over(&scan);
    scan.dataset->origin = (hone_dataset_origin){
        .sequence = scan.options.sequence, .loss = scan.options.loss, .replace_invalid = scan.options.replace_invalid};
    if (scan.options.chat_format)
        snprintf(scan.dataset->origin.chat_format, sizeof scan.dataset->origin.chat_format, "%s",
                 scan.options.chat_format);
    scan.dataset->statistics.dropped = hone_tokenizer_dropped(tokenizer) - dropped;
    if (status != HONE_OK) {
        hone_dataset_destroy(scan.dataset);
        return status;
    }
    *out = scan.dataset;
    return HONE_OK;
}

static bool ends_in_txt(const char *path) {
    const size_t length = strlen(path);
    if (length < 4 || path[length - 4] != '.') return false;
    const char *const ending = path + length - 3;
    return (ending[0] | 0x20) == 't' && (ending[1] | 0x20) == 'x' && (ending[2] | 0x20) == 't';
}

hone_status hone_dataset_scan(const char *path, hone_tokenizer *tokenizer, const hone_dataset_options *options,
                              hone_dataset **out, hone_error *error) {
    *out = NULL;
    hone_dataset_options actual = {0};
    if (options) actual = *options;
    if (ends_in_txt(path)) actual.plain_text = true;
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_dataset_scan_source(source, tokenizer, &actual, out, error);
    hone_source_close(&source);
    return status;
}

void hone_dataset_destroy(hone_dataset *dataset) {
    if (!dataset) return;
    hone_free(dataset->ids);
    hone_free(dataset->labels);
    hone_free(dataset->rows);
    hone_free(dataset->prompt_ids);
    hone_text_clear(&dataset->answers);
    hone_free(dataset->name);
    hone_free(dataset);
}

void hone_dataset_targets(const hone_dataset *dataset, size_t row, int32_t *targets) {
    const hone_dataset_row *const r = &dataset->rows[row];
    memcpy(targets, dataset->labels + r->first + 1, (r->length - 1) * sizeof *targets);
    targets[r->length - 1] = HONE_NOT_TRAINED;
}

uint64_t hone_dataset_hash(const hone_dataset *dataset) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (size_t i = 0; i < dataset->row_count; i++) {
        const hone_dataset_row *const row = &dataset->rows[i];
        const uint64_t length = row->length;
        XXH3_64bits_update(&state, &length, sizeof length);
        XXH3_64bits_update(&state, dataset->ids + row->first, row->length * sizeof *dataset->ids);
        XXH3_64bits_update(&state, dataset->labels + row->first, row->length * sizeof *dataset->labels);
    }
    return XXH3_64bits_digest(&state);
}
