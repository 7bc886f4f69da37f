// SPDX-License-Identifier: Apache-2.0
// Short spellings for tables of cases, and the plainest reading of broadcast operands for their references.
#ifndef HONE_OPS_SHARED_CASES_H
#define HONE_OPS_SHARED_CASES_H

#include <math.h>

#include "opcheck/opcheck.h"

// Inputs: HONE_F32(3, 4) in [-1, 1), HONE_F32_SCALAR of rank 0, HONE_F32_IN(low, high, 3, 4) with bounds,
// HONE_F32_OF((1, 2, 3), 3) with values, the same for i32 and bool.
#define HONE_UNPACK_(...) __VA_ARGS__
#define HONE_DIMS_(...)                                                                                                \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {                                                 \
        __VA_ARGS__                                                                                                    \
    }
#define HONE_VALUES_(list)                                                                                             \
    .fill = HONE_FILL_VALUES, .values = (const double[]){HONE_UNPACK_ list},                                           \
    .value_count = sizeof((const double[]){HONE_UNPACK_ list}) / sizeof(double)

#define HONE_F32(...)                                                                                                  \
    {                                                                                                                  \
        .type = { HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__) }                                                            \
    }
#define HONE_U8(...)                                                                                                   \
    {                                                                                                                  \
        .type = { HONE_DTYPE_U8, HONE_DIMS_(__VA_ARGS__) }                                                             \
    }
#define HONE_I8(...)                                                                                                   \
    {                                                                                                                  \
        .type = { HONE_DTYPE_I8, HONE_DIMS_(__VA_ARGS__) }                                                             \
    }
#define HONE_F32_SCALAR                                                                                                \
    {                                                                                                                  \
        .type = { HONE_DTYPE_F32, 0, {0} }                                                                             \
    }
#define HONE_F32_IN(l, h, ...) {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, .low = (l), .high = (h)}
#define HONE_F32_OF(list, ...) {.type = {HONE_DTYPE_F32, HONE_DIMS_(__VA_ARGS__)}, HONE_VALUES_(list)}
#define HONE_I32_OF(list, ...) {.type = {HONE_DTYPE_I32, HONE_DIMS_(__VA_ARGS__)}, HONE_VALUES_(list)}
#define HONE_I32_IN(l, h, ...)                                                                                         \
    {.type = {HONE_DTYPE_I32, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_INTEGER, .low = (l), .high = (h)}
#define HONE_BOOL(...)                                                                                                 \
    {.type = {HONE_DTYPE_BOOL, HONE_DIMS_(__VA_ARGS__)}, .fill = HONE_FILL_INTEGER, .low = 0, .high = 1}

// Members of a case.
#define HONE_INPUTS(...)                                                                                               \
    .inputs = {__VA_ARGS__}, .input_count = sizeof((const hone_case_input[]){__VA_ARGS__}) / sizeof(hone_case_input)
#define HONE_TAKES(...)                                                                                                \
    .arguments = {__VA_ARGS__}, .argument_count = sizeof((const hone_argument[]){__VA_ARGS__}) / sizeof(hone_argument)

static inline int64_t hone_case_count(const hone_tensor_type *type) {
    int64_t count = 1;
    for (int d = 0; d < type->rank; d++) count *= type->dims[d];
    return count;
}

// The element of an operand of type `in` that belongs to element `index` of the broadcast result `out`.
static inline int64_t hone_case_broadcast(const hone_tensor_type *out, int64_t index, const hone_tensor_type *in) {
    int64_t place[HONE_MAX_RANK] = {0}, at = 0;
    for (int d = out->rank - 1; d >= 0; d--) {
        place[d] = index % out->dims[d];
        index /= out->dims[d];
    }
    for (int d = 0; d < in->rank; d++) {
        const int64_t own = place[out->rank - in->rank + d];
        at = at * in->dims[d] + (in->dims[d] == 1 ? 0 : own);
    }
    return at;
}

// A number of the case, or what the schema says when the case leaves it out.
static inline double hone_case_number(const hone_argument *argument, double otherwise) {
    if (argument->kind == HONE_ARGUMENT_NONE) return otherwise;
    return argument->kind == HONE_ARGUMENT_REAL ? argument->real : (double)argument->integer;
}

#endif
