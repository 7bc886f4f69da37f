// SPDX-License-Identifier: Apache-2.0
// The data of a program onto the device: constants once each, shared where the file shares them; what state begins with.
#include <inttypes.h>
#include <string.h>

#include "formats/hash.h"
#include "formats/pte_program.h"

hone_status pte_value_range(hone_pte *pte, const pte_scope *scope, const hone_pte_value *value, hone_pte_range *out,
                            hone_error *error) {
    hone_dtype dtype = value->type.dtype;
    hone_tensor_type type = value->type;
    if (scope->delegate < 0) {
        HONE_TRY(hone_pte_method_constant(pte->file, value, out, error));
    } else {
        HONE_TRY(hone_pte_blob_constant(pte->file, &pte->blobs[scope->delegate], value, out, error));
    }
    (void)hone_pte_dtype(value->code, &dtype);
    type.dtype = dtype;
    char text[128];
    const uint64_t wanted = hone_type_bytes(&type);
    HONE_FAIL_IF(out->bytes < wanted, error, BAD_FORMAT,
                 "'%s': constant %" PRId64 " is %s, which takes %" PRIu64 " bytes, but has %" PRIu64 " (byte %" PRIu64
                 "): the file is cut or damaged",
                 pte->file->flat.file, value->constant, hone_type_print(&type, text, sizeof text), wanted, out->bytes,
                 out->offset);
    out->bytes = wanted;
    return HONE_OK;
}

// Reads the range chunk by chunk, converts and uploads it.
static hone_status load(hone_pte *pte, hone_pte_range range, int code, hone_dtype device_dtype, bool swapped,
                        hone_buffer *buffer, hone_error *error) {
    hone_dtype dtype = device_dtype;
    (void)hone_pte_dtype(code, &dtype);
    const size_t from_bytes = hone_dtype_bytes(dtype);
    const size_t to_bytes = hone_dtype_bytes(device_dtype);
    const size_t count = (size_t)range.bytes / from_bytes;
    uint8_t *const raw = (uint8_t *)pte->scratch + PTE_CHUNK * sizeof(double);
    for (size_t first = 0; first < count; first += PTE_CHUNK) {
        const size_t n = count - first < PTE_CHUNK ? count - first : PTE_CHUNK;
        HONE_TRY(hone_source_read(pte->file->source, range.offset + first * from_bytes, raw, n * from_bytes,
                                  "a constant", error));
        if (swapped) {
            for (size_t i = 0; i < n; i++) raw[i] = (uint8_t)(raw[i] << 4 | raw[i] >> 4);
        }
        if (dtype == HONE_DTYPE_BOOL) {
            for (size_t i = 0; i < n; i++) raw[i] = raw[i] != 0;
        }
        hone_error why;
        if (pte_narrow(device_dtype, pte->scratch, dtype, raw, n, first, "a constant", &why) != HONE_OK)
            HONE_FAIL(error, UNSUPPORTED, "'%s', byte %" PRIu64 ": %s", pte->file->flat.file, range.offset,
                      why.message);
        HONE_TRY(hone_buffer_upload(buffer, first * to_bytes, pte->scratch, n * to_bytes, error));
    }
    return HONE_OK;
}

static size_t device_bytes(hone_pte_range range, int code, hone_dtype device_dtype) {
    hone_dtype dtype = device_dtype;
    (void)hone_pte_dtype(code, &dtype);
    return (size_t)range.bytes / hone_dtype_bytes(dtype) * hone_dtype_bytes(device_dtype);
}

// --- constants ------------------------------------------------------------------------------------------------------

static size_t bucket_of(const hone_pte *pte, hone_pte_range range) {
    return (size_t)hone_hash_of(&range, sizeof range) & (pte->bucket_count - 1);
}

// Room for one more, with at most half of the buckets taken.
static hone_status grow_buckets(hone_pte *pte, hone_error *error) {
    if (2 * (pte->constant_count + 1) <= pte->bucket_count) return HONE_OK;
    const size_t before = pte->bucket_count;
    uint32_t *fresh;
    HONE_TRY(HONE_NEW_ARRAY(&fresh, before ? 2 * before : 64, "the constants of a program", error));
    hone_free(pte->buckets);
    pte->buckets = fresh;
    pte->bucket_count = before ? 2 * before : 64;
    for (size_t i = 0; i < pte->constant_count; i++) {
        size_t at = bucket_of(pte, pte->constants[i].range);
        while (fresh[at]) at = (at + 1) & (pte->bucket_count - 1);
        fresh[at] = (uint32_t)i + 1;
    }
    return HONE_OK;
}

// Constants that overlap without being the same could make a small file into much memory.
static hone_status count_bytes(hone_pte *pte, hone_pte_range range, hone_error *error) {
    pte->constant_file_bytes += range.bytes;
    HONE_FAIL_IF(pte->constant_file_bytes > pte->file->source->size, error, BAD_FORMAT,
                 "'%s': its constants overlap (byte %" PRIu64 "): the file is damaged", pte->file->flat.file,
                 range.offset);
    return HONE_OK;
}

hone_status pte_constant_get(hone_pte *pte, hone_pte_range range, const hone_pte_value *value, bool swapped,
                             uint32_t *out, hone_error *error) {
    HONE_TRY(grow_buckets(pte, error));
    size_t at = bucket_of(pte, range);
    bool known = false;
    for (; pte->buckets[at]; at = (at + 1) & (pte->bucket_count - 1)) {
        const uint32_t i = pte->buckets[at] - 1;
        const pte_constant *const constant = &pte->constants[i];
        if (constant->range.offset != range.offset || constant->range.bytes != range.bytes) continue;
        known = true;
        if (constant->code != value->code || constant->swapped != swapped) continue;
        *out = i;
        return HONE_OK;
    }
    if (!known) HONE_TRY(count_bytes(pte, range, error));
    HONE_TRY(HONE_GROW(&pte->constants, &pte->constant_capacity, pte->constant_count + 1, "the constants of a program",
                       error));
    const size_t bytes = device_bytes(range, value->code, value->type.dtype);
    pte_constant constant = {.range = range, .code = value->code, .swapped = swapped};
    HONE_TRY(hone_buffer_create(pte->device, bytes, "a constant of a program", &constant.buffer, error));
    const hone_status status = load(pte, range, value->code, value->type.dtype, swapped, constant.buffer, error);
    if (status != HONE_OK) {
        hone_buffer_destroy(constant.buffer);
        return status;
    }
    pte->constant_bytes += bytes;
    *out = (uint32_t)pte->constant_count;
    pte->constants[pte->constant_count++] = constant;
    pte->buckets[at] = *out + 1;
    return HONE_OK;
}

// --- state ----------------------------------------------------------------------------------------------------------

hone_status pte_state_begin(hone_pte *pte, pte_state *state, hone_error *error) {
    const size_t bytes = hone_type_bytes(&state->type);
    if (!state->buffer) HONE_TRY(hone_buffer_create(pte->device, bytes, state->port.name, &state->buffer, error));
    if (state->initial) return load(pte, state->range, state->code, state->type.dtype, false, state->buffer, error);
    const size_t room = PTE_CHUNK * sizeof(double);
    memset(pte->scratch, 0, bytes < room ? bytes : room);
    for (size_t first = 0; first < bytes; first += room)
        HONE_TRY(
            hone_buffer_upload(state->buffer, first, pte->scratch, bytes - first < room ? bytes - first : room, error));
    return HONE_OK;
}
