// SPDX-License-Identifier: Apache-2.0
// From rows to micro-batches: the order of an epoch, which rows go together, and the arrays that a step reads.
#ifndef HONE_TRAIN_BATCH_H
#define HONE_TRAIN_BATCH_H

#include <hone/train.h>

#include "base/memory.h"
#include "text/dataset.h"

// Where training stands in its data. Together with the seed it determines everything that follows.
typedef struct hone_order {
    const hone_dataset *data;
    uint64_t seed;
    bool in_order;
    int64_t batch;       // rows of a micro-batch
    int64_t pack_tokens; // > 0: fill up to so many tokens instead
    int64_t epoch;       // from 0
    size_t cursor;       // rows of this epoch that have been given out
    uint32_t *rows;      // [row_count] this epoch's order
    int64_t ready_epoch; // the epoch that `rows` holds; -1 = none
} hone_order;

HONE_MUST_USE hone_status hone_order_create(const hone_dataset *data, const hone_train_options *options,
                                            hone_order *out, hone_error *error);
void hone_order_clear(hone_order *order);
// The next micro-batch: rows of the current epoch into *rows (borrowed until the next call), at least one. Begins the
// next epoch when the current one is used up; a short last batch is given as it is.
void hone_order_next(hone_order *order, const uint32_t **rows, size_t *count);
// Whether the current epoch has no more rows.
bool hone_order_at_end(const hone_order *order);
// Micro-batches in a whole epoch.
int64_t hone_order_batches(hone_order *order);
// The most tokens and supervised tokens that any micro-batch can have.
HONE_MUST_USE hone_status hone_order_largest(const hone_order *order, int64_t *tokens, int64_t *supervised,
                                             hone_error *error);

// One micro-batch as arrays: rows one behind another, padding at the end. They lie in one block, in the order of the fields
// and each `stride` elements behind the last, as on the device: one copy takes them there.
#define HONE_BATCH_STRIDES 7 // of the block: one an array, two for the keys
typedef struct hone_batch {
    int64_t tokens;                       // of the rows
    int64_t padded;                       // T: tokens and padding
    int64_t supervised;                   // of them trained
    int64_t capacity;                     // of each array below
    size_t stride;                        // elements; a multiple of HONE_BUFFER_ALIGNMENT bytes
    int32_t *block;                       // [HONE_BATCH_STRIDES * stride]
    int32_t *ids, *positions, *row_start; // [T]
    int32_t *targets;                     // [T] the next token where it is trained, else -1
    int32_t *selected;                    // [T] positions whose target is trained, then -1
    int32_t *keys;                        // [T, 2] row counted over all epochs and position, for dropout
} hone_batch;

HONE_MUST_USE hone_status hone_batch_create(int64_t capacity, hone_batch *out, hone_error *error);
void hone_batch_clear(hone_batch *batch);
// Fills the arrays; T becomes a multiple of `padding` that grows with the length, so that few plans serve many batches.
void hone_batch_fill(hone_batch *batch, const hone_dataset *data, const uint32_t *rows, size_t count, int64_t epoch,
                     int padding);
// T for so many tokens.
int64_t hone_batch_padded(int64_t tokens, int padding);
// Trained tokens of the rows.
int64_t hone_batch_count(const hone_dataset *data, const uint32_t *rows, size_t count);

#endif
