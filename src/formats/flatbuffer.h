// SPDX-License-Identifier: Apache-2.0
// FlatBuffers from foreign bytes: every table, field, vector and string is checked against the end when it is read.
#ifndef HONE_FORMATS_FLATBUFFER_H
#define HONE_FORMATS_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Failures stick: after the first one every getter gives its default and every vector is empty, so that a reader needs
// one check behind several fields. Nothing follows offsets by itself, so that offsets in a circle do no harm.
typedef struct hone_flat {
    const uint8_t *bytes; // borrowed
    uint32_t size;
    const char *file; // for messages
    uint64_t place;   // of bytes[0] in the file, for messages
    const char *what; // what is being read now, for messages: "value", "call"; may be NULL
    uint32_t which;   // its number
    hone_error failure;
} hone_flat;

typedef struct hone_flat_table {
    uint32_t at;          // 0 = there is no table
    uint32_t fields;      // place of the field offsets
    uint16_t field_count; // of them
    uint16_t bytes;       // of the table itself
} hone_flat_table;

typedef struct hone_flat_vector {
    uint32_t at; // of the first element
    uint32_t count;
} hone_flat_vector;

typedef struct hone_flat_string {
    const char *bytes; // followed by a NUL; "" when the string is absent
    uint32_t length;
} hone_flat_string;

// `identifier` are the four bytes behind the root's offset. `bytes` must outlive the reader.
HONE_MUST_USE hone_status hone_flat_open(hone_flat *flat, const void *bytes, size_t size, const char *identifier,
                                         const char *file, uint64_t place, hone_error *error);
// The first failure so far.
HONE_MUST_USE hone_status hone_flat_status(const hone_flat *flat, hone_error *error);
// Names what is read next.
void hone_flat_note(hone_flat *flat, const char *what, uint32_t which);

hone_flat_table hone_flat_root(hone_flat *flat);

// Scalar fields; `otherwise` where the field is absent.
uint8_t hone_flat_u8(hone_flat *flat, hone_flat_table table, int id, uint8_t otherwise);
int8_t hone_flat_i8(hone_flat *flat, hone_flat_table table, int id, int8_t otherwise);
uint32_t hone_flat_u32(hone_flat *flat, hone_flat_table table, int id, uint32_t otherwise);
int32_t hone_flat_i32(hone_flat *flat, hone_flat_table table, int id, int32_t otherwise);
uint64_t hone_flat_u64(hone_flat *flat, hone_flat_table table, int id, uint64_t otherwise);
int64_t hone_flat_i64(hone_flat *flat, hone_flat_table table, int id, int64_t otherwise);
double hone_flat_f64(hone_flat *flat, hone_flat_table table, int id, double otherwise);

// Fields that point elsewhere; absent ones are {0}, an empty vector or "".
hone_flat_table hone_flat_child(hone_flat *flat, hone_flat_table table, int id);
hone_flat_string hone_flat_text(hone_flat *flat, hone_flat_table table, int id);
// Elements of `element` bytes; 4 for vectors of tables and strings.
hone_flat_vector hone_flat_list(hone_flat *flat, hone_flat_table table, int id, uint32_t element);

// Elements of a vector that a getter above gave; the index must be below its count.
hone_flat_table hone_flat_table_at(hone_flat *flat, hone_flat_vector vector, uint32_t index);
uint8_t hone_flat_u8_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index);
uint32_t hone_flat_u32_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index);
int32_t hone_flat_i32_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index);
uint64_t hone_flat_u64_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index);
int64_t hone_flat_i64_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index);
double hone_flat_f64_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index);

// The place in `bytes` where a scalar field is stored, for writers that change one; 0 if it is absent.
uint32_t hone_flat_place(hone_flat *flat, hone_flat_table table, int id, uint32_t width);

#endif
