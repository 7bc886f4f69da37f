// SPDX-License-Identifier: Apache-2.0
// Numbers at the border between host and device: i64 becomes i32, f64 and f16 become f32, each one checked.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "formats/pte_program.h"

static bool is_float(hone_dtype dtype) {
    return dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16 || dtype == HONE_DTYPE_F64;
}

bool pte_may_give(hone_dtype given, hone_dtype wanted) {
    return is_float(wanted) || !is_float(given);
}

// --- one element of any type ----------------------------------------------------------------------------------------

static double real_at(hone_dtype dtype, const void *from, size_t i) {
    switch (dtype) {
    case HONE_DTYPE_F32:
        return ((const float *)from)[i];
    case HONE_DTYPE_F16:
        return hone_half_to_float(((const uint16_t *)from)[i]);
    case HONE_DTYPE_BF16:
        return hone_bf16_to_float(((const uint16_t *)from)[i]);
    case HONE_DTYPE_F64:
        return ((const double *)from)[i];
    case HONE_DTYPE_I32:
        return ((const int32_t *)from)[i];
    case HONE_DTYPE_I64:
        return (double)((const int64_t *)from)[i];
    case HONE_DTYPE_I8:
        return ((const int8_t *)from)[i];
    default:
        return ((const uint8_t *)from)[i];
    }
}

static int64_t integer_at(hone_dtype dtype, const void *from, size_t i) {
    switch (dtype) {
    case HONE_DTYPE_I32:
        return ((const int32_t *)from)[i];
    case HONE_DTYPE_I64:
        return ((const int64_t *)from)[i];
    case HONE_DTYPE_I8:
        return ((const int8_t *)from)[i];
    default:
        return ((const uint8_t *)from)[i];
    }
}

int64_t pte_integer_at(const hone_tensor *tensor, int64_t index) {
    return integer_at(tensor->type.dtype, tensor->data, (size_t)index);
}

// --- narrowing ------------------------------------------------------------------------------------------------------

static hone_status narrow_real(float *to, hone_dtype from_dtype, const void *from, size_t count, size_t first,
                               const char *what, hone_error *error) {
    for (size_t i = 0; i < count; i++) {
        const double wide = real_at(from_dtype, from, i);
        to[i] = (float)wide;
        HONE_FAIL_IF(isinf(to[i]) && !isinf(wide), error, BAD_DATA,
                     "%s: element %zu is %g, beyond the 32-bit floats that a device computes in", what, first + i,
                     wide);
    }
    return HONE_OK;
}

static hone_status narrow_integer(hone_dtype to_dtype, void *to, hone_dtype from_dtype, const void *from, size_t count,
                                  size_t first, const char *what, hone_error *error) {
    static const struct {
        hone_dtype dtype;
        int64_t low, high;
    } limits[] = {{HONE_DTYPE_I32, INT32_MIN, INT32_MAX},
                  {HONE_DTYPE_I8, INT8_MIN, INT8_MAX},
                  {HONE_DTYPE_U8, 0, UINT8_MAX},
                  {HONE_DTYPE_BOOL, 0, 1}};
    size_t l = 0;
    while (limits[l].dtype != to_dtype) l++;
    for (size_t i = 0; i < count; i++) {
        const int64_t wide = integer_at(from_dtype, from, i);
        HONE_FAIL_IF(wide < limits[l].low || wide > limits[l].high, error, BAD_DATA,
                     "%s: element %zu is %" PRId64 ", outside of what %s holds on a device (%" PRId64 " to %" PRId64
                     ")",
                     what, first + i, wide, hone_dtype_name(to_dtype), limits[l].low, limits[l].high);
        if (to_dtype == HONE_DTYPE_I32) {
            ((int32_t *)to)[i] = (int32_t)wide;
        } else {
            ((uint8_t *)to)[i] = (uint8_t)wide;
        }
    }
    return HONE_OK;
}

hone_status pte_narrow(hone_dtype to_dtype, void *to, hone_dtype from_dtype, const void *from, size_t count,
                       size_t first, const char *what, hone_error *error) {
    if (to_dtype == from_dtype && to_dtype != HONE_DTYPE_BOOL) {
        if (count) memcpy(to, from, count * hone_dtype_bytes(to_dtype));
        return HONE_OK;
    }
    HONE_FAIL_IF(!pte_may_give(from_dtype, to_dtype), error, MISMATCH, "%s: %s is given where %s is meant", what,
                 hone_dtype_name(from_dtype), hone_dtype_name(to_dtype));
    if (to_dtype == HONE_DTYPE_F32) return narrow_real(to, from_dtype, from, count, first, what, error);
    return narrow_integer(to_dtype, to, from_dtype, from, count, first, what, error);
}

// --- widening: always possible --------------------------------------------------------------------------------------

void pte_widen(hone_dtype to_dtype, void *to, hone_dtype from_dtype, const void *from, size_t count) {
    if (to_dtype == from_dtype) {
        if (count) memcpy(to, from, count * hone_dtype_bytes(to_dtype));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (to_dtype == HONE_DTYPE_F64) {
            ((double *)to)[i] = real_at(from_dtype, from, i);
        } else if (to_dtype == HONE_DTYPE_F16) {
            ((uint16_t *)to)[i] = hone_float_to_half((float)real_at(from_dtype, from, i));
        } else if (to_dtype == HONE_DTYPE_F32) {
            ((float *)to)[i] = (float)real_at(from_dtype, from, i);
        } else if (to_dtype == HONE_DTYPE_I64) {
            ((int64_t *)to)[i] = integer_at(from_dtype, from, i);
        } else if (to_dtype == HONE_DTYPE_I32) {
            ((int32_t *)to)[i] = (int32_t)integer_at(from_dtype, from, i);
        } else {
            ((uint8_t *)to)[i] = (uint8_t)integer_at(from_dtype, from, i);
        }
    }
}

// --- onto the device ------------------------------------------------------------------------------------------------

hone_status pte_upload(hone_pte *pte, const hone_tensor *tensor, hone_dtype device_dtype, hone_buffer *buffer,
                       const char *what, hone_error *error) {
    const size_t count = (size_t)hone_type_elements(&tensor->type);
    const size_t to_bytes = hone_dtype_bytes(device_dtype);
    const size_t from_bytes = hone_dtype_bytes(tensor->type.dtype);
    if (device_dtype == tensor->type.dtype && device_dtype != HONE_DTYPE_BOOL)
        return hone_buffer_upload(buffer, 0, tensor->data, count * to_bytes, error);
    for (size_t first = 0; first < count; first += PTE_CHUNK) {
        const size_t n = count - first < PTE_CHUNK ? count - first : PTE_CHUNK;
        HONE_TRY(pte_narrow(device_dtype, pte->scratch, tensor->type.dtype,
                            (const char *)tensor->data + first * from_bytes, n, first, what, error));
        HONE_TRY(hone_buffer_upload(buffer, first * to_bytes, pte->scratch, n * to_bytes, error));
    }
    return HONE_OK;
}
