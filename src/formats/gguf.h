// SPDX-License-Identifier: Apache-2.0
// GGUF files: metadata and a table of tensors, read with every offset, count and size checked; and a writer.
#ifndef HONE_FORMATS_GGUF_H
#define HONE_FORMATS_GGUF_H

#include "base/file.h"
#include "tensor/blocks.h"

typedef enum hone_gguf_kind { // as numbered in the file
    HONE_GGUF_U8,
    HONE_GGUF_I8,
    HONE_GGUF_U16,
    HONE_GGUF_I16,
    HONE_GGUF_U32,
    HONE_GGUF_I32,
    HONE_GGUF_F32,
    HONE_GGUF_BOOL,
    HONE_GGUF_STRING,
    HONE_GGUF_ARRAY,
    HONE_GGUF_U64,
    HONE_GGUF_I64,
    HONE_GGUF_F64
} hone_gguf_kind;

typedef struct hone_gguf_string {
    const char *bytes; // UTF-8 as in the file, with a NUL added behind; may hold NULs itself
    size_t length;
} hone_gguf_string;

typedef struct hone_gguf_entry {
    hone_gguf_string key;
    hone_gguf_kind kind;         // of the value; ARRAY: of the whole
    hone_gguf_kind element_kind; // ARRAY: of each element (arrays of arrays are refused)
    uint64_t count;              // ARRAY: elements; else 1
    union {
        uint64_t unsigned_integer; // U8..U64, BOOL
        int64_t signed_integer;    // I8..I64
        double real;               // F32, F64
        hone_gguf_string string;   // STRING
        const void *elements;      // ARRAY of numbers: as in the file, aligned; of strings: hone_gguf_string[count]
    };
} hone_gguf_entry;

typedef struct hone_gguf_tensor {
    hone_gguf_string name;
    hone_block_type type; // of tensor/blocks.h
    int rank;
    int64_t dims[4]; // row-major order, outermost first: the reverse of GGUF's ne
    uint64_t offset; // of its bytes in the file
    uint64_t bytes;
} hone_gguf_tensor;

typedef struct hone_gguf {
    hone_source *source; // owned
    uint32_t version;    // 2 or 3
    uint64_t alignment;
    hone_gguf_entry *entries;
    size_t entry_count;
    hone_gguf_tensor *tensors;
    size_t tensor_count;
    struct hone_gguf_private *private_;
} hone_gguf;

// Takes ownership of `source` when it succeeds. Memory at most a small multiple of the metadata's own size.
// An unknown tensor type is kept with its number and refused by name only when somebody wants its values.
HONE_MUST_USE hone_status hone_gguf_read(hone_source *source, hone_gguf **out, hone_error *error);
// Opens and reads the file.
HONE_MUST_USE hone_status hone_gguf_open(const char *path, hone_gguf **out, hone_error *error);
void hone_gguf_close(hone_gguf *gguf); // NULL is allowed

// By key; NULL if absent. The typed ones give HONE_BAD_FORMAT "key 'x' is missing" or "... is a string, not a
// number".
const hone_gguf_entry *hone_gguf_find(const hone_gguf *gguf, const char *key);
HONE_MUST_USE hone_status hone_gguf_integer(const hone_gguf *gguf, const char *key, int64_t *out, hone_error *error);
HONE_MUST_USE hone_status hone_gguf_real(const hone_gguf *gguf, const char *key, double *out, hone_error *error);
HONE_MUST_USE hone_status hone_gguf_text(const hone_gguf *gguf, const char *key, const char **out, hone_error *error);
const hone_gguf_tensor *hone_gguf_find_tensor(const hone_gguf *gguf, const char *name);

// Bytes [offset, offset + n) of the tensor's data.
HONE_MUST_USE hone_status hone_gguf_read_bytes(const hone_gguf *gguf, const hone_gguf_tensor *tensor, uint64_t offset,
                                               void *buffer, size_t n, hone_error *error);
// The whole tensor as floats, element count = product of dims.
HONE_MUST_USE hone_status hone_gguf_read_floats(const hone_gguf *gguf, const hone_gguf_tensor *tensor, float *out,
                                                hone_error *error);

// --- write: keys and tensor descriptions first, then the data in the same order
// ---------------------------------------
typedef struct hone_gguf_writer hone_gguf_writer;
HONE_MUST_USE hone_status hone_gguf_writer_create(const char *path, hone_gguf_writer **out, hone_error *error);
HONE_MUST_USE hone_status hone_gguf_put_text(hone_gguf_writer *writer, const char *key, const char *value,
                                             hone_error *error);
HONE_MUST_USE hone_status hone_gguf_put_u32(hone_gguf_writer *writer, const char *key, uint32_t value,
                                            hone_error *error);
HONE_MUST_USE hone_status hone_gguf_put_f32(hone_gguf_writer *writer, const char *key, float value, hone_error *error);
HONE_MUST_USE hone_status hone_gguf_put_bool(hone_gguf_writer *writer, const char *key, bool value, hone_error *error);
// Any other entry, arrays and strings with NULs included (used to make small models in tests, and to copy
// metadata).
HONE_MUST_USE hone_status hone_gguf_put_entry(hone_gguf_writer *writer, const hone_gguf_entry *entry,
                                              hone_error *error);
HONE_MUST_USE hone_status hone_gguf_put_tensor(hone_gguf_writer *writer, const char *name, hone_block_type type,
                                               int rank, const int64_t *dims, hone_error *error);
// The next tensor's bytes, all of them.
HONE_MUST_USE hone_status hone_gguf_put_data(hone_gguf_writer *writer, const void *data, size_t bytes,
                                             hone_error *error);
// Both end the writer and set the pointer to NULL.
HONE_MUST_USE hone_status hone_gguf_writer_commit(hone_gguf_writer **writer, hone_error *error);
void hone_gguf_writer_abandon(hone_gguf_writer **writer);

#endif
