// SPDX-License-Identifier: Apache-2.0
// The order of rows, and micro-batches as arrays.
#include "train/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

hone_status hone_order_create(const hone_dataset *data, const hone_train_options *options, hone_order *out,
                              hone_error *error) {
    *out = (hone_order){.data = data,
                        .seed = options->seed,
                        .in_order = options->in_order,
                        .batch = options->batch,
                        .pack_tokens = options->pack ? options->batch * options->sequence : 0,
                        .ready_epoch = -1};
    return HONE_NEW_ARRAY(&out->rows, data->row_count, "the order of rows", error);
}

void hone_order_clear(hone_order *order) {
    hone_free(order->rows);
    order->rows = NULL;
}

// Fisher-Yates from (seed, epoch): a resumed run finds the same order without having stored it.
static void arrange(hone_order *order) {
    if (order->ready_epoch == order->epoch) return;
    const size_t count = order->data->row_count;
    for (size_t i = 0; i < count; i++) order->rows[i] = (uint32_t)i;
    hone_random random = hone_random_seed(order->seed, (uint64_t)order->epoch + 1);
    for (size_t i = count; i > 1 && !order->in_order; i--) {
        const uint32_t j = hone_random_below(&random, (uint32_t)i);
        const uint32_t row = order->rows[i - 1];
        order->rows[i - 1] = order->rows[j];
        order->rows[j] = row;
    }
    order->ready_epoch = order->epoch;
}

// Rows that the next micro-batch takes, from `cursor` on.
static size_t take(const hone_order *order, size_t cursor) {
    const size_t left = order->data->row_count - cursor;
    if (order->pack_tokens == 0) return left < (size_t)order->batch ? left : (size_t)order->batch;
    size_t count = 0;
    int64_t tokens = 0;
    while (count < left) {
        tokens += (int64_t)order->data->rows[order->rows[cursor + count]].length;
        if (count > 0 && tokens > order->pack_tokens) break;
        count++;
    }
    return count;
}

bool hone_order_at_end(const hone_order *order) {
    return order->cursor >= order->data->row_count;
}

void hone_order_next(hone_order *order, const uint32_t **rows, size_t *count) {
    if (hone_order_at_end(order)) {
        order->epoch++;
        order->cursor = 0;
    }
    arrange(order);
    *count = take(order, order->cursor);
    *rows = order->rows + order->cursor;
    order->cursor += *count;
}

int64_t hone_order_batches(hone_order *order) {
    arrange(order);
    int64_t batches = 0;
    for (size_t cursor = 0; cursor < order->data->row_count; batches++) cursor += take(order, cursor);
    return batches;
}

static int descending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

// The sum of the `count` largest of all rows' lengths (or trained tokens).
static hone_status sum_of_largest(const hone_dataset *data, size_t count, bool supervised, int64_t *sum,
                                  hone_error *error) {
    int64_t *values;
    HONE_TRY(HONE_NEW_ARRAY(&values, data->row_count, "row lengths", error));
    for (size_t i = 0; i < data->row_count; i++)
        values[i] = (int64_t)(supervised ? data->rows[i].supervised : data->rows[i].length);
    qsort(values, data->row_count, sizeof(*values), descending);
    *sum = 0;
    for (size_t i = 0; i < count && i < data->row_count; i++) *sum += values[i];
    hone_free(values);
    return HONE_OK;
}

hone_status hone_order_largest(const hone_order *order, int64_t *tokens, int64_t *supervised, hone_error *error) {
    const bool packed = order->pack_tokens > 0;
    const size_t rows = packed ? 1 : (size_t)order->batch;
    HONE_TRY(sum_of_largest(order->data, rows, false, tokens, error));
    if (packed) {
        int64_t all;
        HONE_TRY(sum_of_largest(order->data, order->data->row_count, false, &all, error));
        const int64_t most = all < order->pack_tokens ? all : order->pack_tokens;
        if (*tokens < most) *tokens = most;
        *supervised = *tokens;
        return HONE_OK;
    }
    return sum_of_largest(order->data, rows, true, supervised, error);
}

hone_status hone_batch_create(int64_t capacity, hone_batch *out, hone_error *error) {
    const size_t unit = HONE_BUFFER_ALIGNMENT / sizeof(int32_t);
    *out = (hone_batch){.capacity = capacity, .stride = ((size_t)capacity + unit - 1) / unit * unit};
    HONE_TRY(HONE_NEW_ARRAY(&out->block, HONE_BATCH_STRIDES * out->stride, "a batch", error));
    int32_t **const arrays[] = {&out->ids, &out->positions, &out->row_start, &out->targets, &out->selected, &out->keys};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) *arrays[i] = out->block + i * out->stride;
    return HONE_OK;
}

void hone_batch_clear(hone_batch *batch) {
    hone_free(batch->block);
    *batch = (hone_batch){0};
}

int64_t hone_batch_padded(int64_t tokens, int padding) {
    // Coarser for longer batches: never more than an eighth is padding beyond the first step.
    int64_t step = padding;
    while (step * 16 <= tokens) step *= 2;
    return (tokens + step - 1) / step * step;
}

int64_t hone_batch_count(const hone_dataset *data, const uint32_t *rows, size_t count) {
    int64_t supervised = 0;
    for (size_t i = 0; i < count; i++) supervised += (int64_t)data->rows[rows[i]].supervised;
    return supervised;
}

void hone_batch_fill(hone_batch *batch, const hone_dataset *data, const uint32_t *rows, size_t count, int64_t epoch,
                     int padding) {
    int64_t t = 0;
    batch->supervised = 0;
    for (size_t i = 0; i < count; i++) {
        const hone_dataset_row *const row = &data->rows[rows[i]];
        const int64_t start = t;
        for (size_t j = 0; j < row->length; j++, t++) {
            const int32_t label = j + 1 < row->length ? data->labels[row->first + j + 1] : HONE_NOT_TRAINED;
            batch->ids[t] = data->ids[row->first + j];
            batch->positions[t] = (int32_t)j;
            batch->row_start[t] = (int32_t)start;
            batch->targets[t] = label >= 0 ? label : -1;
            // Another mask each epoch; wraps after 2^32 rows, as the hash takes 32 bits.
            batch->keys[2 * t] = (int32_t)(uint32_t)((uint64_t)epoch * data->row_count + rows[i]);
            batch->keys[2 * t + 1] = (int32_t)j;
            if (label >= 0) batch->selected[batch->supervised++] = (int32_t)t;
        }
    }
    batch->tokens = t;
    batch->padded = hone_batch_padded(t, padding);
    for (int64_t s = batch->supervised; s < batch->padded; s++) batch->selected[s] = -1;
    for (; t < batch->padded; t++) { // sees only itself, is trained on nothing
        batch->ids[t] = batch->positions[t] = 0;
        batch->row_start[t] = (int32_t)t;
        batch->targets[t] = -1;
        batch->keys[2 * t] = batch->keys[2 * t + 1] = 0;
    }
}
