// SPDX-License-Identifier: Apache-2.0
// Numbers of the cases: drawing them, to and from device bytes, comparing.
#include "ops/case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"

bool hone_case_is_float(hone_dtype dtype) {
    return dtype == HONE_DTYPE_F32 || dtype == HONE_DTYPE_F16 || dtype == HONE_DTYPE_BF16 || dtype == HONE_DTYPE_F64;
}

static double decode_one(hone_dtype dtype, const void *data, size_t i) {
    switch (dtype) {
    case HONE_DTYPE_F32:
        return ((const float *)data)[i];
    case HONE_DTYPE_F16:
        return hone_half_to_float(((const uint16_t *)data)[i]);
    case HONE_DTYPE_BF16:
        return hone_bf16_to_float(((const uint16_t *)data)[i]);
    case HONE_DTYPE_F64:
        return ((const double *)data)[i];
    case HONE_DTYPE_I32:
        return ((const int32_t *)data)[i];
    case HONE_DTYPE_I64:
        return (double)((const int64_t *)data)[i];
    case HONE_DTYPE_I8:
        return ((const int8_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i]; // bool, u8
    }
}

static void encode_one(hone_dtype dtype, double value, void *data, size_t i) {
    switch (dtype) {
    case HONE_DTYPE_F32:
        ((float *)data)[i] = (float)value;
        break;
    case HONE_DTYPE_F16:
        ((uint16_t *)data)[i] = hone_float_to_half((float)value);
        break;
    case HONE_DTYPE_BF16:
        ((uint16_t *)data)[i] = hone_float_to_bf16((float)value);
        break;
    case HONE_DTYPE_F64:
        ((double *)data)[i] = value;
        break;
    case HONE_DTYPE_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case HONE_DTYPE_I64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    case HONE_DTYPE_I8:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)value;
        break;
    }
}

void hone_case_decode(hone_dtype dtype, const void *data, size_t count, double *values) {
    for (size_t i = 0; i < count; i++) values[i] = decode_one(dtype, data, i);
}

void hone_case_encode(hone_dtype dtype, const double *values, size_t count, void *data) {
    for (size_t i = 0; i < count; i++) encode_one(dtype, values[i], data, i);
}

// --- drawing
// -------------------------------------------------------------------------------------------------------

// Uniform in [0, 1); 32 bits, so that all 24 bits of a float vary also below 1/2.
static double uniform(hone_random *random) {
    return hone_random_u32(random) * 0x1p-32;
}

static double whole(hone_random *random, double low, double high) {
    return low + floor(uniform(random) * (high - low + 1));
}

// Reals without bounds are [-1, 1); for whole types only bytes and truths have natural bounds.
static hone_status draw_uniform(const hone_case_input *input, hone_random *random, size_t count, double *values,
                                hone_error *error) {
    const hone_dtype dtype = input->type.dtype;
    const bool bounded = input->low != 0 || input->high != 0;
    double low = bounded ? input->low : -1;
    double high = bounded ? input->high : 1;
    if (hone_case_is_float(dtype)) {
        for (size_t i = 0; i < count; i++) values[i] = low + (high - low) * uniform(random);
        return HONE_OK;
    }
    if (!bounded) {
        HONE_FAIL_IF(dtype == HONE_DTYPE_I32 || dtype == HONE_DTYPE_I64, error, INVALID_ARGUMENT,
                     "the case's %s input needs low and high", hone_dtype_name(dtype));
        low = dtype == HONE_DTYPE_I8 ? -128 : 0;
        high = dtype == HONE_DTYPE_BOOL ? 2 : low + 256;
    }
    for (size_t i = 0; i < count; i++) values[i] = whole(random, low, high - 1);
    return HONE_OK;
}

hone_status hone_case_draw(const hone_case_input *input, hone_random *random, hone_arena *arena, hone_case_tensor *out,
                           hone_error *error) {
    HONE_TRY(hone_type_check(&input->type, "the case's input", error));
    out->type = input->type;
    out->elements = (size_t)hone_type_elements(&input->type);
    out->bytes = hone_type_bytes(&input->type);
    HONE_TRY(HONE_ARENA_ARRAY(arena, &out->values, out->elements + 1, error));
    HONE_TRY(hone_arena_allocate(arena, out->bytes + 1, 1, &out->data, error));
    switch (input->fill) {
    case HONE_FILL_UNIFORM:
        HONE_TRY(draw_uniform(input, random, out->elements, out->values, error));
        break;
    case HONE_FILL_INTEGER:
        HONE_FAIL_IF(input->high < input->low, error, INVALID_ARGUMENT, "the case's input has high < low");
        for (size_t i = 0; i < out->elements; i++) out->values[i] = whole(random, input->low, input->high);
        break;
    case HONE_FILL_VALUES:
        HONE_FAIL_IF(input->value_count == 0, error, INVALID_ARGUMENT, "the case's input has no values");
        for (size_t i = 0; i < out->elements; i++) out->values[i] = input->values[i % input->value_count];
        break;
    case HONE_FILL_POSITIVE_SCALES:
        for (size_t i = 0; i < out->elements; i++) out->values[i] = 0.01 + 0.09 * uniform(random);
        break;
    }
    // The reference sees what the device sees: the numbers as the type holds them.
    hone_case_encode(out->type.dtype, out->values, out->elements, out->data);
    hone_case_decode(out->type.dtype, out->data, out->elements, out->values);
    return HONE_OK;
}

// --- comparing
// -----------------------------------------------------------------------------------------------------

double hone_case_largest(const double *values, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]) && fabs(values[i]) > largest) largest = fabs(values[i]);
    }
    return largest;
}

// NaN for NaN, an infinity for the same infinity.
static bool same_class(double got, double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    return true;
}

static void place_text(const hone_tensor_type *type, size_t element, char *text, size_t size) {
    size_t at = 0;
    text[0] = 0;
    size_t stride = 1;
    for (int d = 0; d < type->rank; d++) stride *= (size_t)type->dims[d];
    for (int d = 0; d < type->rank && at + 24 < size; d++) {
        stride /= (size_t)type->dims[d];
        at += (size_t)snprintf(text + at, size - at, "%s%zu", d ? "," : "[", element / stride);
        element %= stride;
    }
    if (at) snprintf(text + at, size - at, "]");
}

bool hone_case_compare(const hone_tensor_type *type, const void *got, const double *want, double tolerance, char *text,
                       size_t text_size) {
    const size_t count = (size_t)hone_type_elements(type);
    if (!hone_case_is_float(type->dtype)) tolerance = 0;
    const double allowed = tolerance * hone_case_largest(want, count);
    double worst = 0;
    size_t worst_at = 0;
    bool right = true;
    for (size_t i = 0; i < count; i++) {
        const double value = decode_one(type->dtype, got, i);
        char rounded_bytes[8];
        encode_one(type->dtype, want[i], rounded_bytes, 0);
        const double rounded = decode_one(type->dtype, rounded_bytes, 0);
        double difference = INFINITY;
        if (same_class(value, rounded)) {
            if (!isfinite(rounded)) continue;
            // A finite reference that the type cannot hold has been compared as the infinity it becomes.
            difference = tolerance == 0 ? fabs(value - rounded) : fabs(value - want[i]);
        }
        if (difference <= allowed) continue;
        if (right || difference > worst) {
            worst = difference;
            worst_at = i;
        }
        right = false;
    }
    if (right) return true;
    char place[128];
    place_text(type, worst_at, place, sizeof(place));
    const double largest = hone_case_largest(want, count);
    snprintf(text, text_size, "%s is %.9g, should be %.9g: error %.3g, allowed %.3g", place[0] ? place : "the value",
             decode_one(type->dtype, got, worst_at), want[worst_at], largest > 0 ? worst / largest : worst, tolerance);
    return false;
}
