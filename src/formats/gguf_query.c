// SPDX-License-Identifier: Apache-2.0
// Questions to a GGUF file that has been read: keys by name and kind, tensors by name, and their values.
#include <inttypes.h>
#include <string.h>

#include "formats/gguf_inside.h"

#define DECODE_PIECE_BYTES ((size_t)256 << 10)

#define TYPE_NAME(suffix, number, name, elements, bytes) " " name
static const char readable_types[] = HONE_BLOCK_LIST(TYPE_NAME);
#undef TYPE_NAME

size_t hone_gguf_kind_bytes(hone_gguf_kind kind) {
    switch (kind) {
    case HONE_GGUF_U8:
    case HONE_GGUF_I8:
    case HONE_GGUF_BOOL:
        return 1;
    case HONE_GGUF_U16:
    case HONE_GGUF_I16:
        return 2;
    case HONE_GGUF_U32:
    case HONE_GGUF_I32:
    case HONE_GGUF_F32:
        return 4;
    case HONE_GGUF_U64:
    case HONE_GGUF_I64:
    case HONE_GGUF_F64:
        return 8;
    default:
        return 0;
    }
}

int hone_gguf_compare_strings(const hone_gguf_string *a, const hone_gguf_string *b) {
    const size_t shorter = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->bytes, b->bytes, shorter);
    if (order != 0) return order;
    return a->length < b->length ? -1 : a->length > b->length;
}

const hone_gguf_entry *hone_gguf_find(const hone_gguf *gguf, const char *key) {
    const hone_gguf_string wanted = {.bytes = key, .length = strlen(key)};
    size_t begin = 0;
    size_t end = gguf->entry_count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const hone_gguf_entry *const entry = gguf->private_->by_key[middle];
        const int order = hone_gguf_compare_strings(&wanted, &entry->key);
        if (order == 0) return entry;
        if (order < 0) {
            end = middle;
        } else {
            begin = middle + 1;
        }
    }
    return NULL;
}

const hone_gguf_tensor *hone_gguf_find_tensor(const hone_gguf *gguf, const char *name) {
    const hone_gguf_string wanted = {.bytes = name, .length = strlen(name)};
    size_t begin = 0;
    size_t end = gguf->tensor_count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const hone_gguf_tensor *const tensor = gguf->private_->by_name[middle];
        const int order = hone_gguf_compare_strings(&wanted, &tensor->name);
        if (order == 0) return tensor;
        if (order < 0) {
            end = middle;
        } else {
            begin = middle + 1;
        }
    }
    return NULL;
}

static const char *kind_name(hone_gguf_kind kind) {
    switch (kind) {
    case HONE_GGUF_F32:
    case HONE_GGUF_F64:
        return "a fraction";
    case HONE_GGUF_BOOL:
        return "true or false";
    case HONE_GGUF_STRING:
        return "a string";
    case HONE_GGUF_ARRAY:
        return "an array";
    default:
        return "a whole number";
    }
}

static hone_status require(const hone_gguf *gguf, const char *key, const hone_gguf_entry **out, hone_error *error) {
    *out = hone_gguf_find(gguf, key);
    HONE_FAIL_IF(!*out, error, BAD_FORMAT, "'%s': the key '%s' is missing", gguf->source->name, key);
    return HONE_OK;
}

static hone_status wrong_kind(const hone_gguf *gguf, const hone_gguf_entry *entry, const char *wanted,
                              hone_error *error) {
    HONE_FAIL(error, BAD_FORMAT, "'%s': the key '%s' is %s, not %s", gguf->source->name, entry->key.bytes,
              kind_name(entry->kind), wanted);
}

static bool is_signed(hone_gguf_kind kind) {
    return kind == HONE_GGUF_I8 || kind == HONE_GGUF_I16 || kind == HONE_GGUF_I32 || kind == HONE_GGUF_I64;
}

static bool is_unsigned(hone_gguf_kind kind) {
    return kind == HONE_GGUF_U8 || kind == HONE_GGUF_U16 || kind == HONE_GGUF_U32 || kind == HONE_GGUF_U64;
}

hone_status hone_gguf_integer(const hone_gguf *gguf, const char *key, int64_t *out, hone_error *error) {
    const hone_gguf_entry *entry = NULL;
    HONE_TRY(require(gguf, key, &entry, error));
    if (is_signed(entry->kind)) {
        *out = entry->signed_integer;
        return HONE_OK;
    }
    if (!is_unsigned(entry->kind)) return wrong_kind(gguf, entry, "a whole number", error);
    HONE_FAIL_IF(entry->unsigned_integer > INT64_MAX, error, BAD_FORMAT,
                 "'%s': the key '%s' is %" PRIu64 ", more than 63 bits hold", gguf->source->name, key,
                 entry->unsigned_integer);
    *out = (int64_t)entry->unsigned_integer;
    return HONE_OK;
}

hone_status hone_gguf_real(const hone_gguf *gguf, const char *key, double *out, hone_error *error) {
    const hone_gguf_entry *entry = NULL;
    HONE_TRY(require(gguf, key, &entry, error));
    if (entry->kind == HONE_GGUF_F32 || entry->kind == HONE_GGUF_F64) {
        *out = entry->real;
    } else if (is_signed(entry->kind)) {
        *out = (double)entry->signed_integer;
    } else if (is_unsigned(entry->kind)) {
        *out = (double)entry->unsigned_integer;
    } else {
        return wrong_kind(gguf, entry, "a number", error);
    }
    return HONE_OK;
}

hone_status hone_gguf_text(const hone_gguf *gguf, const char *key, const char **out, hone_error *error) {
    const hone_gguf_entry *entry = NULL;
    HONE_TRY(require(gguf, key, &entry, error));
    if (entry->kind != HONE_GGUF_STRING) return wrong_kind(gguf, entry, "a string", error);
    HONE_FAIL_IF(memchr(entry->string.bytes, 0, entry->string.length), error, BAD_FORMAT,
                 "'%s': the text of key '%s' has a zero byte in it", gguf->source->name, key);
    *out = entry->string.bytes;
    return HONE_OK;
}

// --- values
// ----------------------------------------------------------------------------------------------------------

static hone_status require_layout(const hone_gguf *gguf, const hone_gguf_tensor *tensor, const hone_block_layout **out,
                                  hone_error *error) {
    *out = hone_block_find(tensor->type);
    HONE_FAIL_IF(!*out, error, UNSUPPORTED, "'%s': tensor '%s' is stored as %s; hone reads%s", gguf->source->name,
                 tensor->name.bytes, hone_block_name(tensor->type), readable_types);
    return HONE_OK;
}

hone_status hone_gguf_read_bytes(const hone_gguf *gguf, const hone_gguf_tensor *tensor, uint64_t offset, void *buffer,
                                 size_t n, hone_error *error) {
    const hone_block_layout *layout = NULL;
    HONE_TRY(require_layout(gguf, tensor, &layout, error));
    HONE_FAIL_IF(offset > tensor->bytes || n > tensor->bytes - offset, error, INVALID_ARGUMENT,
                 "%zu bytes from %" PRIu64 " on were asked of tensor '%s', which has %" PRIu64, n, offset,
                 tensor->name.bytes, tensor->bytes);
    return hone_source_read(gguf->source, tensor->offset + offset, buffer, n, tensor->name.bytes, error);
}

// In pieces, so that beside the floats only one piece of blocks is in memory.
static hone_status decode_pieces(const hone_gguf *gguf, const hone_gguf_tensor *tensor, const hone_block_layout *layout,
                                 uint8_t *piece, float *out, hone_error *error) {
    const size_t block_bytes = (size_t)layout->bytes;
    const size_t piece_bytes = DECODE_PIECE_BYTES / block_bytes * block_bytes;
    for (uint64_t done = 0; done < tensor->bytes;) {
        const uint64_t left = tensor->bytes - done;
        const size_t n = left < piece_bytes ? (size_t)left : piece_bytes;
        const size_t elements = n / block_bytes * (size_t)layout->elements;
        HONE_TRY(hone_gguf_read_bytes(gguf, tensor, done, piece, n, error));
        HONE_TRY(hone_block_decode(tensor->type, piece, out, elements, error));
        out += elements;
        done += n;
    }
    return HONE_OK;
}

hone_status hone_gguf_read_floats(const hone_gguf *gguf, const hone_gguf_tensor *tensor, float *out,
                                  hone_error *error) {
    const hone_block_layout *layout = NULL;
    HONE_TRY(require_layout(gguf, tensor, &layout, error));
    if (tensor->type == HONE_BLOCK_F32) {
        return hone_gguf_read_bytes(gguf, tensor, 0, out, (size_t)tensor->bytes, error);
    }
    uint8_t *piece = NULL;
    HONE_TRY(hone_allocate_raw(DECODE_PIECE_BYTES, 1, "a piece of a tensor", (void **)&piece, error));
    const hone_status status = decode_pieces(gguf, tensor, layout, piece, out, error);
    hone_free(piece);
    return status;
}
