// SPDX-License-Identifier: Apache-2.0
// The graph of one micro-batch, planned for one shape: forward, then head and loss in chunks, then backward.
#ifndef HONE_TRAIN_STEP_PLAN_H
#define HONE_TRAIN_STEP_PLAN_H

#include "model/model.h"

// The live numbers of all programs of a trainer.
enum {
    HONE_LIVE_VALID, // supervised tokens of the whole optimiser step
    HONE_LIVE_CHUNK, // which chunk of supervised rows the head works on
    HONE_LIVE_RATE,
    HONE_LIVE_CORRECTION1,
    HONE_LIVE_CORRECTION2,
    HONE_LIVE_DECAY,
    HONE_LIVE_CLIP,
    HONE_LIVE_COUNT
};

// Segments of a step's program.
enum { HONE_SEGMENT_FORWARD, HONE_SEGMENT_HEAD, HONE_SEGMENT_BACKWARD };
// Segments of the update's program.
enum { HONE_SEGMENT_CLEAR, HONE_SEGMENT_UPDATE };

// Arrays of the batch buffer, each at `stride` bytes from the last, as in a hone_batch.
enum {
    HONE_BATCH_IDS,
    HONE_BATCH_POSITIONS,
    HONE_BATCH_ROW_START,
    HONE_BATCH_TARGETS,
    HONE_BATCH_SELECTED,
    HONE_BATCH_KEYS
};

// What lies in the metrics buffer: the loss, and at HONE_METRICS_CONTROL what hone::gradient_control gives.
#define HONE_METRICS_CONTROL HONE_BUFFER_ALIGNMENT
#define HONE_METRICS_BYTES   (2 * HONE_BUFFER_ALIGNMENT)

// Buffers that all plans of a trainer share.
typedef struct hone_step_buffers {
    hone_buffer *batch;
    size_t stride;
    hone_buffer *tables; // rotary
    size_t sines;
    int64_t positions;                                     // rows of the tables
    hone_buffer *hidden_gradient;                          // [T, D]
    hone_buffer *gradients, *first_moment, *second_moment; // laid out as the LoRA's buffer
    hone_buffer *metrics;
} hone_step_buffers;

typedef struct hone_step_shape {
    int64_t tokens; // T, padded
    int64_t chunk;  // C, rows of the head at a time
    bool backward;  // false: loss only
} hone_step_shape;

static inline bool hone_step_shape_same(hone_step_shape a, hone_step_shape b) {
    return a.tokens == b.tokens && a.chunk == b.chunk && a.backward == b.backward;
}

typedef struct hone_step_plan {
    hone_step_shape shape;
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program; // NULL until it is wanted
    uint64_t used;         // by the trainer, to find the one that was not wanted for longest
} hone_step_plan;

typedef struct hone_step_settings {
    const hone_model *model;
    const hone_lora *lora; // may be NULL if no shape has a backward pass
    double dropout;
    uint64_t seed;
    hone_recompute recompute;
    double beta1, beta2, epsilon;
} hone_step_settings;

HONE_MUST_USE hone_status hone_step_plan_create(const hone_step_settings *settings, const hone_step_buffers *buffers,
                                                hone_step_shape shape, hone_step_plan *out, hone_error *error);
// The optimiser's program in the same form: clearing, then norm, clipping and AdamW.
HONE_MUST_USE hone_status hone_update_plan_create(const hone_step_settings *settings, const hone_step_buffers *buffers,
                                                  hone_step_plan *out, hone_error *error);
void hone_step_plan_clear(hone_step_plan *plan);

#endif
