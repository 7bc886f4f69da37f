// SPDX-License-Identifier: Apache-2.0
// hone's own container, `state.hone`: named sections, each and the whole protected by a hash.
#ifndef HONE_FORMATS_CHECKPOINT_H
#define HONE_FORMATS_CHECKPOINT_H

#include <hone/tensor.h>

#include "base/file.h"

typedef enum hone_section_kind { // as numbered in the file; 0 is the end mark
    HONE_SECTION_BYTES = 1,
    HONE_SECTION_U64,
    HONE_SECTION_F64,
    HONE_SECTION_TEXT,
    HONE_SECTION_TENSOR // f32
} hone_section_kind;

typedef struct hone_section {
    const char *name;
    hone_section_kind kind;
    const void *data; // aligned to 8; TEXT ends with a NUL that is not counted
    size_t bytes;
    union {
        uint64_t integer;      // U64
        double real;           // F64
        const char *text;      // TEXT
        hone_tensor_type type; // TENSOR
    };
} hone_section;

typedef struct hone_checkpoint {
    hone_section *sections; // sorted by name
    size_t count;
    uint8_t *bytes; // of the whole file; names and data point into it
} hone_checkpoint;

// --- read
// ------------------------------------------------------------------------------------------------------------

// Everything is loaded and checked at once. A flipped byte or a cut is HONE_BAD_FORMAT; a file that a newer
// hone wrote is HONE_UNSUPPORTED.
HONE_MUST_USE hone_status hone_checkpoint_read(hone_source *source, hone_checkpoint **out, hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_open(const char *path, hone_checkpoint **out, hone_error *error);
void hone_checkpoint_close(hone_checkpoint *checkpoint); // NULL is allowed

// NULL if there is no section of that name and kind.
const hone_section *hone_checkpoint_find(const hone_checkpoint *checkpoint, const char *name, hone_section_kind kind);
// These fail with HONE_BAD_FORMAT "the state has no ..." instead.
HONE_MUST_USE hone_status hone_checkpoint_u64(const hone_checkpoint *checkpoint, const char *name, uint64_t *out,
                                              hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_f64(const hone_checkpoint *checkpoint, const char *name, double *out,
                                              hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_text(const hone_checkpoint *checkpoint, const char *name, const char **out,
                                               hone_error *error);
// Copies the values; HONE_MISMATCH if the stored shape is not `type`'s.
HONE_MUST_USE hone_status hone_checkpoint_tensor(const hone_checkpoint *checkpoint, const char *name,
                                                 const hone_tensor_type *type, float *out, hone_error *error);

// --- write
// -----------------------------------------------------------------------------------------------------------

// The file appears at commit, complete; until then the one it replaces stays as it was.
typedef struct hone_checkpoint_writer hone_checkpoint_writer;
HONE_MUST_USE hone_status hone_checkpoint_create(const char *path, hone_checkpoint_writer **out, hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_put_bytes(hone_checkpoint_writer *writer, const char *name, const void *data,
                                                    size_t bytes, hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_put_u64(hone_checkpoint_writer *writer, const char *name, uint64_t value,
                                                  hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_put_f64(hone_checkpoint_writer *writer, const char *name, double value,
                                                  hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_put_text(hone_checkpoint_writer *writer, const char *name, const char *value,
                                                   hone_error *error);
HONE_MUST_USE hone_status hone_checkpoint_put_tensor(hone_checkpoint_writer *writer, const char *name,
                                                     const hone_tensor *tensor, hone_error *error); // f32
// Both end the writer and set the pointer to NULL.
HONE_MUST_USE hone_status hone_checkpoint_commit(hone_checkpoint_writer **writer, hone_error *error);
void hone_checkpoint_abandon(hone_checkpoint_writer **writer);

#endif
