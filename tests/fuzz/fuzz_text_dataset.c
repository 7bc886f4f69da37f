// SPDX-License-Identifier: Apache-2.0
// Training data from foreign bytes: a scan either refuses or gives rows that can be trained on.
#include "fuzz/fuzz.h"
#include "fuzz/small_tokenizer.h"
#include "text/dataset.h"

static void check_rows(const hone_dataset *dataset) {
    for (size_t r = 0; r < dataset->row_count; r++) {
        const hone_dataset_row *const row = &dataset->rows[r];
        if (row->length < 2 || row->supervised < 1 || row->first + row->length > dataset->token_count) abort();
        size_t supervised = 0;
        for (size_t i = row->first; i < row->first + row->length; i++) {
            if (dataset->ids[i] < 0) abort();
            supervised += dataset->labels[i] != HONE_NOT_TRAINED;
        }
        if (supervised != row->supervised) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const hone_dataset_options options[] = {
        {.sequence = 64},
        {.sequence = 32, .replace_invalid = true, .loss = HONE_LOSS_ALL, .keep_answers = true},
        {.sequence = 16, .plain_text = true},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        hone_error error;
        hone_source *source;
        hone_dataset *dataset;
        if (hone_memory_source(data, size, "fuzz.jsonl", &source, &error) != HONE_OK) return 0;
        if (hone_dataset_scan_source(source, small_tokenizer(), &options[i], &dataset, &error) == HONE_OK) {
            check_rows(dataset);
            hone_dataset_destroy(dataset);
        }
        hone_source_close(&source);
    }
    return 0;
}
