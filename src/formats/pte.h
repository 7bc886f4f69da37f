// SPDX-License-Identifier: Apache-2.0
// ExecuTorch programs (.pte): the file, its methods and delegates as they lie there, every offset and count checked.
#ifndef HONE_FORMATS_PTE_H
#define HONE_FORMATS_PTE_H

#include <hone/tensor.h>

#include "base/file.h"
#include "formats/flatbuffer.h"

// Bytes of the file.
typedef struct hone_pte_range {
    uint64_t offset;
    uint64_t bytes;
} hone_pte_range;

typedef enum hone_pte_kind {
    HONE_PTE_NOTHING,
    HONE_PTE_INTEGER,
    HONE_PTE_BOOLEAN,
    HONE_PTE_REAL,
    HONE_PTE_TENSOR,
    HONE_PTE_STRING,
    HONE_PTE_INTEGERS, // items: i64
    HONE_PTE_REALS,    // items: f64
    HONE_PTE_BOOLEANS, // items: u8
    HONE_PTE_VALUES,   // items: i32, numbers of other values; -1 = none
    HONE_PTE_SYMBOL,   // a whole number that the program computes
} hone_pte_kind;

// One value of a method or of a delegate.
typedef struct hone_pte_value {
    hone_pte_kind kind;
    int64_t integer;       // INTEGER, BOOLEAN, SYMBOL
    double real;           // REAL
    hone_flat_string text; // STRING; TENSOR: its name in the source, often ""
    hone_flat_vector items;
    bool indirect;         // INTEGERS: the items are numbers of values that hold the integers
    hone_tensor_type type; // TENSOR: as a device holds it: i64 as i32, f64 and f16 as f32
    int code;              // TENSOR: ATen's number of the element type in the file
    int host_code;         // TENSOR: the same of what goes in and comes out there
    bool bounded;          // TENSOR: dims are upper bounds
    int64_t constant;      // TENSOR: number of its bytes, -1 = it has none
    bool initial;          // TENSOR: those bytes are only what it begins with
    uint32_t initial_list; // TENSOR: with `initial`, the list of offsets that `constant` counts in
    bool external;         // TENSOR: its bytes are named data under `text`
} hone_pte_value;

typedef struct hone_pte_method {
    hone_flat_string name;
    hone_flat_vector values, inputs, outputs, instructions, operators, delegates;
} hone_pte_method;

typedef enum hone_pte_call_kind { // as numbered in the file
    HONE_PTE_KERNEL = 1,
    HONE_PTE_DELEGATE,
    HONE_PTE_MOVE,
    HONE_PTE_JUMP,
    HONE_PTE_FREE
} hone_pte_call_kind;

// One instruction of a method, or one call in the chain of a delegate (always a KERNEL).
typedef struct hone_pte_call {
    hone_pte_call_kind kind;
    hone_flat_string name, overload; // KERNEL
    uint32_t delegate;               // DELEGATE
    hone_flat_vector arguments;      // numbers of values
    uint32_t from, to;               // MOVE
} hone_pte_call;

typedef struct hone_pte_named {
    const char *key;
    uint32_t segment;
} hone_pte_named;

typedef struct hone_pte_file {
    hone_source *source; // owned
    uint8_t *bytes;      // the description: all of the file but its segments
    hone_flat flat;
    bool extended; // it has the extended header, and may have segments
    uint64_t segment_base;
    hone_flat_table program;
    hone_flat_vector methods, segments;
    hone_pte_named *named; // sorted by key
    uint32_t named_count;
} hone_pte_file;

typedef struct hone_pte_blob {
    uint8_t *bytes;       // its description
    hone_flat flat;       // its place in the file stands there
    hone_pte_range whole; // all of it in the file
    hone_pte_range raw;   // its own data in the file
    hone_flat_string version;
    hone_flat_vector chain, values, inputs, outputs, constants;
    bool half;   // compiled to compute in f16: elements that say f16 were f32 to the exporter
    bool shared; // `bytes` belong to another one
} hone_pte_blob;

// Takes ownership of `source` when it succeeds. Holds the description in memory and nothing else.
HONE_MUST_USE hone_status hone_pte_file_read(hone_source *source, hone_pte_file **out, hone_error *error);
HONE_MUST_USE hone_status hone_pte_file_open(const char *path, hone_pte_file **out, hone_error *error);
void hone_pte_file_close(hone_pte_file *file); // NULL is allowed

// By number below file->methods.count, or by name.
HONE_MUST_USE hone_status hone_pte_method_at(hone_pte_file *file, uint32_t index, hone_pte_method *out,
                                             hone_error *error);
HONE_MUST_USE hone_status hone_pte_method_find(hone_pte_file *file, const char *name, hone_pte_method *out,
                                               hone_error *error);
HONE_MUST_USE hone_status hone_pte_method_value(hone_pte_file *file, const hone_pte_method *method, uint32_t index,
                                                hone_pte_value *out, hone_error *error);
HONE_MUST_USE hone_status hone_pte_method_call(hone_pte_file *file, const hone_pte_method *method, uint32_t index,
                                               hone_pte_call *out, hone_error *error);
// The bytes of a value of the method with a constant number.
HONE_MUST_USE hone_status hone_pte_method_constant(hone_pte_file *file, const hone_pte_value *value,
                                                   hone_pte_range *out, hone_error *error);
HONE_MUST_USE hone_status hone_pte_segment(hone_pte_file *file, uint32_t index, hone_pte_range *out, hone_error *error);

// Where the method's delegate with this number lies: fills in whole and half. Another back end than VulkanBackend is
// refused by name.
HONE_MUST_USE hone_status hone_pte_blob_locate(hone_pte_file *file, const hone_pte_method *method, uint32_t index,
                                               hone_pte_blob *out, hone_error *error);
// Reads the description of a delegate that was located.
HONE_MUST_USE hone_status hone_pte_blob_read(hone_pte_file *file, uint32_t index, hone_pte_blob *blob,
                                             hone_error *error);
void hone_pte_blob_clear(hone_pte_blob *blob);
HONE_MUST_USE hone_status hone_pte_blob_value(hone_pte_blob *blob, uint32_t index, hone_pte_value *out,
                                              hone_error *error);
HONE_MUST_USE hone_status hone_pte_blob_call(hone_pte_blob *blob, uint32_t index, hone_pte_call *out,
                                             hone_error *error);
HONE_MUST_USE hone_status hone_pte_blob_constant(hone_pte_file *file, hone_pte_blob *blob, const hone_pte_value *value,
                                                 hone_pte_range *out, hone_error *error);

// ATen's number of an element type, as a name and as a dtype. The bool is false for types that hone has no form for.
bool hone_pte_dtype(int code, hone_dtype *out);
const char *hone_pte_dtype_name(int code); // never NULL
// The type in which a device holds it.
hone_dtype hone_pte_device_dtype(hone_dtype dtype);
int hone_pte_code(hone_dtype dtype);

// Finds the segment of a key; false if there is none.
bool hone_pte_find_key(const hone_pte_file *file, hone_flat_string key, uint32_t *segment);

#endif
