// SPDX-License-Identifier: Apache-2.0
// Splitting a data set in place: the held rows are copied out, the others close ranks.
#include "train/holdout.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

#define STREAM 0x686F6C64 // of the random numbers, so that the order of training does not follow from the choice

// marks[i] = 1 for `wanted` of `count` rows.
static void choose(uint8_t *marks, size_t count, size_t wanted, uint64_t seed) {
    hone_random random = hone_random_seed(seed, STREAM);
    size_t left = wanted;
    for (size_t i = 0; i < count; i++) {
        if (hone_random_below(&random, (uint32_t)(count - i)) >= left) continue;
        marks[i] = 1;
        left--;
    }
}

static hone_status allocate_held(const hone_dataset *data, const uint8_t *marks, size_t rows, hone_dataset *held,
                                 hone_error *error) {
    size_t tokens = 0;
    for (size_t i = 0; i < data->row_count; i++) tokens += marks[i] ? data->rows[i].length : 0;
    HONE_TRY(HONE_NEW_ARRAY(&held->rows, rows, "held-out rows", error));
    HONE_TRY(HONE_NEW_ARRAY(&held->ids, tokens, "held-out rows", error));
    HONE_TRY(HONE_NEW_ARRAY(&held->labels, tokens, "held-out rows", error));
    held->row_capacity = rows;
    held->token_capacity = held->label_capacity = tokens;
    held->chat_format = data->chat_format;
    return hone_copy_string(data->name, strlen(data->name), &held->name, error);
}

static void append(hone_dataset *to, const hone_dataset *from, const hone_dataset_row *row) {
    const size_t first = to->token_count;
    memmove(to->ids + first, from->ids + row->first, row->length * sizeof(to->ids[0]));
    memmove(to->labels + first, from->labels + row->first, row->length * sizeof(to->labels[0]));
    hone_dataset_row *const copy = &to->rows[to->row_count++];
    *copy = *row;
    copy->first = first;
    to->token_count += row->length;
    to->statistics.used++;
    to->statistics.tokens += row->length;
    to->statistics.supervised += row->supervised;
}

static void split(hone_dataset *data, const uint8_t *marks, hone_dataset *held) {
    const size_t count = data->row_count;
    data->row_count = data->token_count = 0;
    data->statistics.used = data->statistics.tokens = data->statistics.supervised = 0;
    for (size_t i = 0; i < count; i++) {
        const hone_dataset_row row = data->rows[i]; // a copy: the place is written to
        append(marks[i] ? held : data, data, &row);
    }
    held->statistics.rows = held->statistics.used;
    for (size_t i = 0; i < held->row_count; i++) {
        hone_dataset_row *const row = &held->rows[i];
        row->has_answer = false; // the answers stay where they are
        if (row->length > held->statistics.longest) {
            held->statistics.longest = row->length;
            held->statistics.longest_line = row->line;
        }
    }
}

hone_status hone_dataset_hold_out(hone_dataset *data, double fraction, uint64_t seed, hone_dataset **held,
                                  hone_error *error) {
    *held = NULL;
    const size_t count = data->row_count;
    HONE_FAIL_IF(count < 2 || count > UINT32_MAX, error, BAD_DATA,
                 "'%s' has %zu usable rows: none can be held out for validation", data->name, count);
    size_t wanted = (size_t)llround(fraction * (double)count);
    if (wanted < 1) wanted = 1;
    if (wanted > count - 1) wanted = count - 1;
    uint8_t *marks = NULL;
    hone_dataset *made = NULL;
    hone_status status = HONE_NEW_ARRAY(&marks, count, "held-out rows", error);
    if (status == HONE_OK) status = HONE_NEW(&made, "held-out rows", error);
    if (status == HONE_OK) {
        choose(marks, count, wanted, seed);
        status = allocate_held(data, marks, wanted, made, error);
    }
    if (status == HONE_OK) {
        split(data, marks, made);
        made->origin = data->origin;
        data->origin.held_out = fraction;
        *held = made;
    } else {
        hone_dataset_destroy(made);
    }
    hone_free(marks);
    return status;
}
