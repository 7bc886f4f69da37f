// SPDX-License-Identifier: Apache-2.0
// For tests of the data scan: scanning bytes in memory with the small vocabulary, and showing rows as text.
#ifndef HONE_TESTS_TEXT_SCAN_H
#define HONE_TESTS_TEXT_SCAN_H

#include "support/text_model.h"
#include "text/dataset.h"

// Scans `bytes` as a file called data.jsonl. The message, if it fails, is in `why`.
static inline hone_status scan_bytes(hone_tokenizer *tokenizer, const char *bytes, size_t length,
                                     const hone_dataset_options *options, hone_dataset **out) {
    hone_source *source = NULL;
    OK(hone_memory_source(bytes, length, "data.jsonl", &source, &why));
    const hone_status status = hone_dataset_scan_source(source, tokenizer, options, out, &why);
    hone_source_close(&source);
    return status;
}

static inline void scan_must(hone_tokenizer *tokenizer, const char *text, const hone_dataset_options *options,
                             hone_dataset **out) {
    const hone_status status = scan_bytes(tokenizer, text, strlen(text), options, out);
    if (status != HONE_OK) fail_msg("%s: %s", text, why.message);
}

// The row's text, with what is trained in [[ ]].
static inline void show_row(const hone_tokenizer *tokenizer, const hone_dataset *dataset, size_t row, hone_text *out) {
    const hone_dataset_row *const r = &dataset->rows[row];
    bool open = false;
    size_t supervised = 0;
    for (size_t i = r->first; i < r->first + r->length; i++) {
        const bool trained = dataset->labels[i] != HONE_NOT_TRAINED;
        if (trained) assert_int_equal(dataset->labels[i], dataset->ids[i]);
        supervised += trained;
        if (trained != open) hone_text_print(out, "%s", open ? "]]" : "[[");
        open = trained;
        const hone_gguf_string text = hone_tokenizer_text(tokenizer, dataset->ids[i]);
        hone_text_append(out, text.bytes, text.length);
    }
    if (open) hone_text_print(out, "]]");
    assert_int_equal(supervised, r->supervised);
    assert_int_equal(dataset->labels[r->first], HONE_NOT_TRAINED);
}

static inline void expect_row(const hone_tokenizer *tokenizer, const hone_dataset *dataset, size_t row,
                              const char *expected) {
    hone_text text = {0};
    assert_true(row < dataset->row_count);
    show_row(tokenizer, dataset, row, &text);
    assert_string_equal(text.bytes, expected);
    hone_text_clear(&text);
}

#endif
