// SPDX-License-Identifier: Apache-2.0
// Element types and shapes: names, sizes, checks and printing.
#include <hone/tensor.h>

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

typedef struct dtype_info {
    const char *name;
    size_t bytes;
} dtype_info;

static const dtype_info dtypes[HONE_DTYPE_COUNT] = {
#define DTYPE_INFO(suffix, text, size) [HONE_DTYPE_##suffix] = {text, size},
    HONE_DTYPE_LIST(DTYPE_INFO)
#undef DTYPE_INFO
};

static bool dtype_valid(hone_dtype dtype) {
    return (unsigned)dtype < HONE_DTYPE_COUNT;
}

const char *hone_dtype_name(hone_dtype dtype) {
    return dtype_valid(dtype) ? dtypes[dtype].name : "unknown dtype";
}

size_t hone_dtype_bytes(hone_dtype dtype) {
    return dtype_valid(dtype) ? dtypes[dtype].bytes : 0;
}

hone_tensor_type hone_type(hone_dtype dtype, int rank, ...) {
    assert(rank >= 0 && rank <= HONE_MAX_RANK);
    hone_tensor_type type = {.dtype = dtype, .rank = rank};
    va_list arguments;
    va_start(arguments, rank);
    for (int i = 0; i < rank; i++) type.dims[i] = va_arg(arguments, int64_t);
    va_end(arguments);
    return type;
}

hone_tensor_type hone_type_of(hone_dtype dtype, int rank, const int64_t *dims) {
    assert(rank >= 0 && rank <= HONE_MAX_RANK);
    hone_tensor_type type = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++) type.dims[i] = dims[i];
    return type;
}

// The product of dims[begin..end). Unsigned, so that an unchecked type wraps instead of being undefined.
static int64_t product(const hone_tensor_type *type, int begin, int end) {
    uint64_t elements = 1;
    for (int i = begin; i < end; i++) elements *= (uint64_t)type->dims[i];
    return (int64_t)elements;
}

int64_t hone_type_elements(const hone_tensor_type *type) {
    return product(type, 0, type->rank);
}

size_t hone_type_bytes(const hone_tensor_type *type) {
    return (size_t)hone_type_elements(type) * hone_dtype_bytes(type->dtype);
}

hone_status hone_type_check(const hone_tensor_type *type, const char *what, hone_error *error) {
    HONE_FAIL_IF(!dtype_valid(type->dtype), error, INVALID_ARGUMENT, "%s has the unknown dtype %d", what,
                 (int)type->dtype);
    HONE_FAIL_IF(type->rank < 0 || type->rank > HONE_MAX_RANK, error, INVALID_ARGUMENT,
                 "%s has %d dimensions; 0 to %d are possible", what, type->rank, HONE_MAX_RANK);
    // A product with a zero in it must not hide an overflow among the others: rows and columns are multiplied
    // apart elsewhere. So zeros count as one here.
    uint64_t elements = 1;
    for (int i = 0; i < type->rank; i++) {
        const int64_t dim = type->dims[i];
        HONE_FAIL_IF(dim < 0, error, INVALID_ARGUMENT, "%s has the negative dimension %" PRId64, what, dim);
        const uint64_t factor = dim == 0 ? 1 : (uint64_t)dim;
        HONE_FAIL_IF(elements > (uint64_t)INT64_MAX / factor, error, INVALID_ARGUMENT,
                     "%s has too many elements: its dimensions multiplied leave 63 bits", what);
        elements *= factor;
    }
    const size_t bytes = dtypes[type->dtype].bytes;
    const uint64_t limit = PTRDIFF_MAX;
    HONE_FAIL_IF(elements > limit / bytes, error, INVALID_ARGUMENT,
                 "%s is too large: %" PRIu64 " elements of %zu bytes", what, elements, bytes);
    return HONE_OK;
}

bool hone_shape_equal(const hone_tensor_type *a, const hone_tensor_type *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

bool hone_type_equal(const hone_tensor_type *a, const hone_tensor_type *b) {
    return a->dtype == b->dtype && hone_shape_equal(a, b);
}

const char *hone_type_print(const hone_tensor_type *type, char *text, size_t size) {
    if (size == 0) return text;
    size_t used = 0;
    const int rank = type->rank < 0 ? 0 : type->rank > HONE_MAX_RANK ? HONE_MAX_RANK : type->rank;
    for (int i = -1; i <= rank && used < size; i++) {
        const size_t room = size - used;
        int n = 0;
        if (i < 0) {
            n = snprintf(text + used, room, "%s[", hone_dtype_name(type->dtype));
        } else if (i < rank) {
            n = snprintf(text + used, room, "%s%" PRId64, i > 0 ? "," : "", type->dims[i]);
        } else {
            n = snprintf(text + used, room, "]");
        }
        if (n < 0) break;
        used += (size_t)n;
    }
    text[size - 1] = 0;
    return text;
}

int64_t hone_type_rows(const hone_tensor_type *type) {
    return type->rank <= 1 ? 1 : product(type, 0, type->rank - 1);
}

int64_t hone_type_columns(const hone_tensor_type *type) {
    return type->rank == 0 ? 1 : type->dims[type->rank - 1];
}
