// SPDX-License-Identifier: Apache-2.0
// The stages of the scan: rows cut from the file, checked byte by byte, parsed, made into ids and labels.
#ifndef HONE_TEXT_DATASET_INSIDE_H
#define HONE_TEXT_DATASET_INSIDE_H

#include <jansson.h>

#include "base/file.h"
#include "text/dataset.h"

// --- dataset_reader.c: one row after the other, only one in memory ------------------------------------------------------

typedef struct hone_raw_row {
    char *bytes; // one JSON object and what stands round it in its line; in the reader's memory
    size_t length;
    uint64_t number;       // from 1
    uint64_t line, column; // where bytes[0] stands, from 1; columns count characters
    const char *name;      // of the file
    bool last;             // nothing follows in the file
} hone_raw_row;

typedef struct hone_row_reader {
    hone_source *source;
    uint64_t offset; // of the next byte to read from the source
    char *buffer;    // [capacity], bytes [begin, end) are not yet used up
    size_t begin, end, capacity;
    uint64_t line, column; // of buffer[begin]
    uint64_t rows;
    bool started;
    bool array; // rows are elements of one array; else each has its line
    bool finished;
    bool replace_invalid;
    uint64_t replaced; // places
    hone_text fixed;   // the row with its invalid UTF-8 replaced
} hone_row_reader;

// The next row that is not blank; *found is false behind the last.
HONE_MUST_USE hone_status hone_row_next(hone_row_reader *reader, hone_raw_row *row, bool *found, hone_error *error);
void hone_row_reader_clear(hone_row_reader *reader);

// "FILE, line L, column C: " and the text, for what stands at bytes[offset]. Returns HONE_BAD_DATA.
hone_status hone_row_fail(const hone_raw_row *row, size_t offset, hone_error *error, const char *format, ...)
    HONE_PRINTF(4, 5);
// Puts the place before the message that a deeper function left.
void hone_row_prefix(const hone_raw_row *row, size_t offset, hone_error *error);
// Appends bytes[0, length) with each place that is not UTF-8 as U+FFFD; counts them.
void hone_replace_invalid(const char *bytes, size_t length, hone_text *out, uint64_t *replaced);

// --- dataset_json.c: strict JSON ------------------------------------------------------------------------------------------

// Arrays of whole numbers are read on the way and blanked out, so that no tree of a node for each is built.
typedef struct hone_row_numbers {
    hone_ids ids, labels;
    bool has_ids, has_labels;
    int64_t vocabulary; // numbers are below this; labels may be HONE_NOT_TRAINED too
} hone_row_numbers;

// Parses the row; json_decref the result. Faults are told with their place.
HONE_MUST_USE hone_status hone_row_parse(hone_raw_row *row, hone_row_numbers *numbers, json_t **out, hone_error *error);
// Where the value of `key` stands; of its element `index` unless SIZE_MAX; of the value of `inner` in that unless NULL.
// 0 if there is no such thing. For messages.
size_t hone_row_locate(const hone_raw_row *row, const char *key, size_t index, const char *inner);

// --- dataset_rows.c: the forms of rows --------------------------------------------------------------------------------

typedef struct hone_scan {
    hone_tokenizer *tokenizer;
    hone_dataset_options options;
    hone_chat *chat;  // made when first needed
    hone_chat *plain; // the format "none", for prompts where the model has no template
    hone_dataset *dataset;
    hone_ids ids, labels; // of all rows; labels hold 0 and 1 until a row is finished
    hone_ids prompts;
    hone_chat_message *messages; // scratch
    size_t message_capacity;
    hone_chat_rendering rendering; // scratch
    hone_row_numbers numbers;      // scratch
} hone_scan;

// Adds one parsed row.
HONE_MUST_USE hone_status hone_scan_row(hone_scan *scan, const hone_raw_row *raw, json_t *object, hone_error *error);
// Appends the ids of a plain text, with BOS and the end token where they belong.
HONE_MUST_USE hone_status hone_scan_text(hone_scan *scan, const char *bytes, size_t length, hone_error *error);
// Turns what was appended to ids and labels from `first` on into a row, or counts it as skipped. `cut` tells whether
// `sequence` limits it; `answer` may be NULL.
HONE_MUST_USE hone_status hone_scan_finish(hone_scan *scan, size_t first, uint64_t number, uint64_t line,
                                           const hone_dataset_row *answer, hone_error *error);

#endif
