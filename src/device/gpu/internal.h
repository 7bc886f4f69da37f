// SPDX-License-Identifier: Apache-2.0
// What the files of the executor share.
#ifndef HONE_DEVICE_GPU_INTERNAL_H
#define HONE_DEVICE_GPU_INTERNAL_H

#include "base/arena.h"
#include "device/device.h"
#include "device/gpu/driver.h"

// A buffer is made of pieces, so that none is larger than the device allows. No value may lie across two: the plan places
// temporaries that way when its option max_arena_bytes says so. A piece is never larger than this.
#define GPU_PIECE_BYTES ((size_t)2 << 30)
// Training steps whose metrics may still be under way when the next is queued.
#define GPU_STEPS_AHEAD 2
// Dispatches that are submitted together: while their times are not known, and at most.
#define GPU_FIRST_SLICE     2
#define GPU_MOST_SLICE      256
#define GPU_UNKNOWN_SECONDS 1.0 // that a dispatch may take before its time is known; see gpu_heard

typedef struct gpu_pipeline {
    const char *entry;
    uint32_t binding_count;
    hone_gpu_pipeline *pipeline;
} gpu_pipeline;

typedef struct gpu_count {
    const hone_op *op;
    uint64_t dispatches;
} gpu_count;

// A kernel that the self-test has found wrong on this device.
typedef struct gpu_off {
    const hone_op *op;
    const char *kernel;
} gpu_off;

// For tests: rows that stand in for an operator's own.
typedef struct gpu_replacement {
    const hone_op *op;
    const hone_kernel_variant *rows;
} gpu_replacement;

typedef struct gpu_testing gpu_testing;

typedef struct gpu_device {
    hone_device base;
    hone_gpu_driver *driver;
    const char *kind;        // "vulkan"
    gpu_pipeline *pipelines; // made so far; entries are compared as text
    size_t pipeline_count, pipeline_capacity;
    gpu_count *counts;
    size_t count_count, count_capacity;
    // For uploads that are not whole words, on drivers that copy only those.
    hone_gpu_buffer *patch_words;
    gpu_off *off;
    char **off_lines; // [off_count] the same for people and for the cache
    size_t off_count, off_capacity, off_line_capacity;
    gpu_replacement *replaced;
    size_t replaced_count, replaced_capacity;
    gpu_testing *test; // while it runs; then the calls of one operator run by one kernel:
    const hone_op *forced_op;
    const hone_kernel_variant *forced; // NULL: as always
    bool forced_refused;               // it does not take the call, or needs what the device lacks
    char features[64];
    hone_gpu_request request; // how it was opened, and is again when it was lost
    hone_status (*open)(const hone_gpu_request *request, hone_gpu_driver **out, hone_error *error);
    hone_gpu_facts was; // of the driver that was lost
    hone_gpu_limits was_limits;
    // The last dispatch of each recording counts the submits that have run, in a buffer of its own; see canary.c.
    hone_gpu_command canary;
    hone_gpu_buffer *canary_words, *canary_count;
    uint32_t submits, checked; // that it should have counted; and was seen to have
    double queued_seconds;     // that what was submitted is expected to take
    double pending_since;      // when a driver's call first said that it is not done; 0: none has
    double patience;           // seconds, from the environment of tests; 0: by what is queued
    double traced;             // the end of the last call in a trace
    bool scramble;             // tests: what need not wait runs in another order
    bool untested;             // tests: no self-test as it is opened
    bool poison;               // tests: working memory is NaN, so that a read of what was never written shows
} gpu_device;

typedef struct gpu_memory {
    hone_buffer base;
    hone_gpu_buffer **pieces;
    size_t piece_count;
} gpu_memory;

typedef struct gpu_dispatch {
    hone_gpu_command command; // its pipeline is set when all pipelines are made
    const char *entry;
    uint32_t step;
    uint32_t used, written; // bit i: by way of binding i
} gpu_dispatch;

typedef struct gpu_step {
    hone_op_call call;
    const hone_kernel_variant *variant;
    size_t first, count; // of program->dispatches
    bool alias, live;
    uint32_t count_index; // of device->counts
} gpu_step;

typedef struct gpu_slice {
    hone_gpu_recording *recording;
    size_t first, count; // of program->dispatches
    bool timed;          // the recording is
    bool ran;            // since its times were last read
    double submitted;    // the host's clock, where timed
} gpu_slice;

typedef struct gpu_segment {
    size_t first, end; // of program->dispatches
    gpu_slice *slices;
    size_t count, capacity;
    bool recorded;
    bool learnt; // its dispatches have run once, and program->expected knows their times
} gpu_segment;

typedef struct gpu_program {
    hone_program base;
    hone_arena memory; // operands and tensors of the steps
    gpu_step *steps;   // [plan->step_count]
    gpu_dispatch *dispatches;
    size_t dispatch_count, dispatch_capacity;
    size_t pipelines_made;                // dispatches whose pipeline is there
    uint32_t (*words)[HONE_KERNEL_WORDS]; // [dispatch_count] as the device has them
    size_t word_capacity;
    gpu_segment segments[HONE_MAX_SEGMENTS];
    double *expected; // [dispatch_count] seconds as measured; NULL where no segment is worth it
    hone_gpu_buffer *parameters, *scratch, *flags;
    size_t scratch_bytes;
    bool uses_flags, flags_dirty;
    uint32_t raised; // flags read so far
    bool measured;   // only its working memory is asked for: nothing has a place
    bool prepared;   // all but pipelines and recordings
    bool timed;      // recordings are, for the profile
    double *seconds; // [dispatch_count] where timed: of all runs
    uint64_t *runs;
} gpu_program;

// The kernels that the build embeds, ended by a row without name.
extern const hone_gpu_code hone_gpu_codes[];

// The operator's rows on this device, ended by one without name; NULL if it has none.
const hone_kernel_variant *gpu_variants(const gpu_device *gpu, const hone_op *op);
bool gpu_is_off(const gpu_device *gpu, const hone_op *op, const hone_kernel_variant *row);
HONE_MUST_USE hone_status gpu_switch_off(gpu_device *gpu, const hone_op *op, const hone_kernel_variant *row,
                                         const char *text, hone_error *error);
// To and from the cache. What cannot be saved is found out again the next time.
void gpu_switched_off_save(const gpu_device *gpu, bool complete);
HONE_MUST_USE hone_status gpu_switched_off_load(gpu_device *gpu, bool *complete, hone_error *error);

// The pipeline of an entry, made on first use. May return HONE_PENDING.
HONE_MUST_USE hone_status gpu_pipeline_get(gpu_device *gpu, const char *entry, uint32_t binding_count,
                                           hone_gpu_pipeline **out, hone_error *error);
// Makes those that are missing at the same time, if the driver allows; `wanted` is written over. What fails is made again,
// and its error seen, by gpu_pipeline_get.
void gpu_pipelines_make(gpu_device *gpu, gpu_pipeline *wanted, size_t count);
// The part of a device buffer; HONE_UNSUPPORTED if it lies across two pieces.
HONE_MUST_USE hone_status gpu_memory_range(const hone_buffer *buffer, size_t offset, size_t bytes, hone_gpu_range *out,
                                           hone_error *error);

// Sets which dispatches wait for those before them.
void gpu_set_order(gpu_program *program);
// For tests: turns the order round wherever nothing waits.
void gpu_scramble(hone_gpu_command *commands, size_t count);

// The bytes of a device buffer, which keeps its address and size without them.
HONE_MUST_USE hone_status gpu_pieces_create(hone_buffer *buffer, const char *what, hone_error *error);
void gpu_pieces_destroy(hone_buffer *buffer);
// Opens the driver that the device was opened with.
HONE_MUST_USE hone_status gpu_open_driver(gpu_device *gpu, hone_error *error);
void gpu_drop_driver(gpu_device *gpu);

// --- entries of the table
hone_status gpu_buffer_declare(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                               hone_error *error);
hone_status gpu_buffer_commit(hone_device *device, hone_buffer *buffer, const char *what, hone_error *error);
hone_status gpu_reopen(hone_device *device, hone_error *error);
void gpu_buffer_destroy(hone_buffer *buffer);
hone_status gpu_upload(hone_buffer *buffer, size_t offset, const void *data, size_t bytes, hone_error *error);
hone_status gpu_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error);
hone_status gpu_fetch_create(hone_fetch *fetch, hone_error *error);
void gpu_fetch_destroy(hone_fetch *fetch);
hone_status gpu_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error);
hone_status gpu_fetch_end(hone_fetch *fetch, hone_error *error);
hone_status gpu_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena, hone_program **out,
                               hone_error *error);
void gpu_program_destroy(hone_program *base);
hone_status gpu_program_bytes(hone_device *device, const hone_plan *plan, size_t *out, hone_error *error);
hone_status gpu_submit(hone_program *base, int segment, const double *live, size_t live_count, hone_error *error);
hone_status gpu_wait(hone_program *base, hone_error *error);
uint32_t gpu_flags(hone_program *base);
void gpu_profile(hone_program *base, bool on);
size_t gpu_profile_rows(const hone_program *base, hone_profile_row *rows, size_t capacity);

// Makes the recordings that are missing.
HONE_MUST_USE hone_status gpu_record(gpu_program *program, hone_error *error);
void gpu_drop_recordings(gpu_program *program);
void gpu_free_recordings(gpu_program *program);
HONE_MUST_USE hone_status gpu_submit_segment(gpu_program *program, gpu_segment *segment, hone_error *error);
// Takes the times of what has run, which must be over: for the profile, and for the cuts.
HONE_MUST_USE hone_status gpu_learn(gpu_program *program, hone_error *error);
HONE_MUST_USE hone_status gpu_learn_late(gpu_program *program, const gpu_segment *segment, hone_error *error);
// The same for the last run of one slice.
HONE_MUST_USE hone_status gpu_read_slice(gpu_program *program, gpu_slice *slice, hone_error *error);
// The canary of a device, made with its first program. May return HONE_PENDING.
HONE_MUST_USE hone_status gpu_canary_make(gpu_device *gpu, hone_error *error);
void gpu_canary_drop(gpu_device *gpu);
// Whether `counted` is what had been submitted when it was read; HONE_DEVICE_LOST if not.
HONE_MUST_USE hone_status gpu_canary_compare(gpu_device *gpu, uint32_t counted, uint32_t submits, hone_error *error);
// Reads the count, unless nothing was submitted since it was last right.
HONE_MUST_USE hone_status gpu_canary_check(gpu_device *gpu, bool always, hone_error *error);
// Every answer of the driver that may be HONE_PENDING or HONE_DEVICE_LOST passes through here: a driver that is not done
// for much longer than what is queued should take counts as lost.
HONE_MUST_USE hone_status gpu_heard(gpu_device *gpu, hone_status status, hone_error *error);
// HONE_DEVICE_LOST for a device that is known to be lost, until it has been opened again.
HONE_MUST_USE hone_status gpu_alive(const gpu_device *gpu, hone_error *error);
// The words of a step's dispatches for the live numbers at hand, into program->words; *changed grows to their range.
HONE_MUST_USE hone_status gpu_step_words(gpu_program *program, gpu_step *step, size_t *changed_first,
                                         size_t *changed_end, hone_error *error);

#endif
