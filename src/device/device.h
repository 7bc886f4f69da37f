// SPDX-License-Identifier: Apache-2.0
// The device vtable: what each kind of device implements.
#ifndef HONE_DEVICE_DEVICE_H
#define HONE_DEVICE_DEVICE_H

#include <stdatomic.h>

#include <hone/graph.h>

#include "graph/plan.h"

typedef struct hone_fetch hone_fetch;

typedef struct hone_device_vtable {
    // Frees the device; all its buffers and programs are gone by then.
    void (*close)(hone_device *device);

    // --- buffers: the object, whose fields `device` and `bytes` are filled in by the caller; then its memory, zeroed
    hone_status (*buffer_declare)(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                  hone_error *error);
    hone_status (*buffer_commit)(hone_device *device, hone_buffer *buffer, const char *what, hone_error *error);
    void (*buffer_destroy)(hone_buffer *buffer);
    hone_status (*upload)(hone_buffer *buffer, size_t offset, const void *data, size_t bytes, hone_error *error);
    // May return HONE_PENDING.
    hone_status (*download)(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error);

    // --- a few bytes on their way to the host; see hone_fetch. `data` has been allocated
    hone_status (*fetch_create)(hone_fetch *fetch, hone_error *error); // optional
    void (*fetch_destroy)(hone_fetch *fetch);                          // optional
    hone_status (*fetch_begin)(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error);
    // May return HONE_PENDING; then the bytes are in fetch->data.
    hone_status (*fetch_end)(hone_fetch *fetch, hone_error *error);

    // --- programs: `plan` has been checked; `arena` is large enough. May return HONE_PENDING. Sets `working`.
    hone_status (*program_create)(hone_device *device, const hone_plan *plan, hone_buffer *arena, hone_program **out,
                                  hone_error *error);
    void (*program_destroy)(hone_program *program);
    // The working memory that program_create would take. Buffers of the plan need no memory, and the arena is not there.
    hone_status (*program_bytes)(hone_device *device, const hone_plan *plan, size_t *out, hone_error *error);
    hone_status (*submit)(hone_program *program, int segment, const double *live, size_t live_count, hone_error *error);
    // May return HONE_PENDING.
    hone_status (*wait)(hone_program *program, hone_error *error);
    uint32_t (*flags)(hone_program *program);

    // --- optional: NULL means that the device cannot tell
    void (*profile)(hone_program *program, bool on);
    size_t (*profile_rows)(const hone_program *program, hone_profile_row *rows, size_t capacity);

    // --- optional: a device whose operators run by kernels
    // What remains before the device may be used: the self-test, or its result of an earlier time. May return HONE_PENDING.
    hone_status (*prepare)(hone_device *device, hone_error *error);
    hone_status (*self_test)(hone_device *device, void (*report)(void *context, const hone_self_test_result *result),
                             void *context, hone_error *error);
    void (*facts)(hone_device *device, hone_device_facts *out);

    // --- optional: a device that can be lost
    // Opens it again: all its buffers are there again, with zeros. Its programs are gone by then. After a failure it is as
    // lost as before, and may be opened again later.
    hone_status (*reopen)(hone_device *device, hone_error *error);
} hone_device_vtable;

// Who has programs or bytes on a device that may be lost: gives up its programs before it is opened again, and fills its
// buffers afterwards. Users come in the order in which they were added, the model before what is built on it.
typedef struct hone_device_user {
    void (*drop)(void *self);
    hone_status (*restore)(void *self, hone_error *error);
    void *self;
    struct hone_device_user *next; // the device's
} hone_device_user;

// Each device's own struct begins with this one; likewise buffers and programs.
struct hone_device {
    const hone_device_vtable *vtable;
    char name[32];
    char detail[280];
    hone_testing testing;       // as it was opened
    double submit_seconds;      // of a GPU: no submit is expected to run for longer
    int padding;                // sequence lengths are padded to a multiple of this
    size_t piece_bytes;         // buffers are made of pieces of so many bytes, which no value may straddle; 0: of one
    size_t bytes, buffers;      // held now
    size_t working, staging;    // held now: by programs; by the driver
    size_t peak;                // the most of all of these together
    bool counts_only;           // see hone_device_open_counting
    bool like_one_that_reopens; // it counts for a device that can be opened again
    size_t programs;
    hone_buffer *first_buffer; // of all
    hone_fetch *first_fetch;
    hone_device_user *users;
    hone_trace_report *trace; // may be NULL
    void *trace_context;
    int ahead; // steps worth queueing before the results of one are read; 0: submit has done the work
};

struct hone_buffer {
    hone_device *device;
    size_t bytes;
    hone_buffer *previous, *next; // of the device's
    void *data;                   // host address where the device has one (cpu, null); NULL otherwise
    bool committed;
};

struct hone_program {
    hone_device *device;
    const hone_plan *plan;
    hone_buffer *arena;
    bool owns_arena;
    bool ready;     // program_create has said HONE_OK
    size_t working; // bytes of working memory, beside the arena
};

// Reads a few bytes back without a stall: the copy takes its turn in the queue when it is begun, what is submitted later
// does not delay it, and nobody waits before its bytes are asked for. Made once, used again and again.
struct hone_fetch {
    hone_device *device;
    size_t bytes;
    void *data; // [bytes] on the host, valid from hone_fetch_end to the next hone_fetch_begin
    void *own;  // the device's own
    bool begun;
    hone_fetch *previous, *next; // of the device's
};
HONE_MUST_USE hone_status hone_fetch_create(hone_device *device, size_t bytes, const char *what, hone_fetch **out,
                                            hone_error *error);
void hone_fetch_destroy(hone_fetch *fetch); // NULL is allowed
HONE_MUST_USE hone_status hone_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error);
// May return HONE_PENDING: call again.
HONE_MUST_USE hone_status hone_fetch_end(hone_fetch *fetch, hone_error *error);

// A buffer without memory, which plans can name; commit gives it its memory. hone_buffer_create does both.
HONE_MUST_USE hone_status hone_buffer_declare(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                              hone_error *error);
HONE_MUST_USE hone_status hone_buffer_commit(hone_buffer *buffer, const char *what, hone_error *error);
// The working memory of a program of this plan, arena not counted.
HONE_MUST_USE hone_status hone_program_bytes(hone_device *device, const hone_plan *plan, size_t *out,
                                             hone_error *error);
// To be called when bytes, working or staging have grown.
void hone_device_note_peak(hone_device *device);

// The user is the caller's; it is removed before it goes away. Removing one that was not added does nothing.
void hone_device_add_user(hone_device *device, hone_device_user *user);
void hone_device_remove_user(hone_device *device, hone_device_user *user);
bool hone_device_can_reopen(const hone_device *device);
// After HONE_DEVICE_LOST: every user drops, the device is opened again, every user restores. What fails may be tried again.
HONE_MUST_USE hone_status hone_device_reopen(hone_device *device, hone_error *error);

// An environment variable of tests: `on` or `off`, whose name stands in the message when it is anything else. Unset or empty it
// leaves *out as it is.
HONE_MUST_USE hone_status hone_device_switch(const char *name, const char *on, const char *off, bool *out,
                                             hone_error *error);

HONE_MUST_USE hone_status hone_cpu_open(const hone_device_description *description, hone_device **out,
                                        hone_error *error);
HONE_MUST_USE hone_status hone_null_open(const hone_device_description *description, hone_device **out,
                                         hone_error *error);

#endif
