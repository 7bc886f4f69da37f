// SPDX-License-Identifier: Apache-2.0
// Element types, shapes and plain tensors: always contiguous, row-major.
#ifndef HONE_TENSOR_H
#define HONE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hone/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// One list gives the enum, names and sizes: X(SUFFIX, name, bytes an element).
#define HONE_DTYPE_LIST(X)                                                                                             \
    X(F32, "f32", 4)                                                                                                   \
    X(F16, "f16", 2)                                                                                                   \
    X(BF16, "bf16", 2)                                                                                                 \
    X(I32, "i32", 4)                                                                                                   \
    X(I64, "i64", 8)                                                                                                   \
    X(BOOL, "bool", 1)                                                                                                 \
    X(U8, "u8", 1)                                                                                                     \
    X(I8, "i8", 1)                                                                                                     \
    X(F64, "f64", 8)

typedef enum hone_dtype {
#define HONE_DTYPE_ENUM(suffix, name, bytes) HONE_DTYPE_##suffix,
    HONE_DTYPE_LIST(HONE_DTYPE_ENUM)
#undef HONE_DTYPE_ENUM
        HONE_DTYPE_COUNT
} hone_dtype;

HONE_API const char *hone_dtype_name(hone_dtype dtype);
HONE_API size_t hone_dtype_bytes(hone_dtype dtype);

#define HONE_MAX_RANK 8

// What is known of a tensor before it has bytes. rank 0 is a scalar of one element; a dimension may be 0.
typedef struct hone_tensor_type {
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK]; // outermost first
} hone_tensor_type;

// A tensor whose bytes are at hand. Borrowed: whoever made the bytes frees them.
typedef struct hone_tensor {
    hone_tensor_type type;
    void *data;
} hone_tensor;

// hone_type(HONE_DTYPE_F32, 2, rows, columns); dims are int64_t, so cast literals where needed.
HONE_API hone_tensor_type hone_type(hone_dtype dtype, int rank, ...);
// The same from an array.
HONE_API hone_tensor_type hone_type_of(hone_dtype dtype, int rank, const int64_t *dims);
HONE_API int64_t hone_type_elements(const hone_tensor_type *type);
HONE_API size_t hone_type_bytes(const hone_tensor_type *type);
// Checked: rank within bounds, no negative dimension, no overflow of elements or bytes.
HONE_API HONE_MUST_USE hone_status hone_type_check(const hone_tensor_type *type, const char *what, hone_error *error);
HONE_API bool hone_type_equal(const hone_tensor_type *a, const hone_tensor_type *b);
HONE_API bool hone_shape_equal(const hone_tensor_type *a, const hone_tensor_type *b);
// "f32[3,4]" into text, always NUL-terminated; returns text.
HONE_API const char *hone_type_print(const hone_tensor_type *type, char *text, size_t size);
// All dimensions before the last multiplied (1 for rank <= 1), and the last one (1 for rank 0).
HONE_API int64_t hone_type_rows(const hone_tensor_type *type);
HONE_API int64_t hone_type_columns(const hone_tensor_type *type);

#ifdef __cplusplus
}
#endif
#endif
