// SPDX-License-Identifier: Apache-2.0
// Reads safetensors. The layout, little endian:
//
//   SIZE  what
//   8     n, length of the header
//   n     header: a JSON object, padded with spaces:
//         {"__metadata__": {"format": "pt"},
//          "NAME": {"dtype": "F32", "shape": [8, 576], "data_offsets": [0, 18432]}, ...}
//         data_offsets are counted from the end of the header
//   ...   values; the tensors fill it without holes or overlaps
#include "formats/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "formats/cursor.h"

// JSON in memory takes many times its text, so the header is bounded well below what the file could hold.
#define LONGEST_HEADER ((uint64_t)16 << 20)
#define PIECE_BYTES    ((size_t)256 << 10)

typedef struct dtype_name {
    const char *name;
    hone_dtype dtype;
} dtype_name;

static const dtype_name dtype_names[] = {
    {"F32", HONE_DTYPE_F32}, {"F16", HONE_DTYPE_F16}, {"BF16", HONE_DTYPE_BF16},
    {"F64", HONE_DTYPE_F64}, {"I64", HONE_DTYPE_I64}, {"I32", HONE_DTYPE_I32},
    {"I8", HONE_DTYPE_I8},   {"U8", HONE_DTYPE_U8},   {"BOOL", HONE_DTYPE_BOOL},
};

// --- the header
// ------------------------------------------------------------------------------------------------------

static hone_status read_shape(const char *file, const char *name, const json_t *shape, hone_tensor_type *type,
                              hone_error *error) {
    HONE_FAIL_IF(!json_is_array(shape), error, BAD_FORMAT, "'%s': tensor '%s' has no shape", file, name);
    const size_t rank = json_array_size(shape);
    HONE_FAIL_IF(rank > HONE_MAX_RANK, error, UNSUPPORTED, "'%s': tensor '%s' has %zu dimensions; hone has at most %d",
                 file, name, rank, HONE_MAX_RANK);
    type->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *const dim = json_array_get(shape, i);
        HONE_FAIL_IF(!json_is_integer(dim) || json_integer_value(dim) < 0, error, BAD_FORMAT,
                     "'%s': tensor '%s' has a shape that is not made of whole numbers", file, name);
        type->dims[i] = json_integer_value(dim);
    }
    const hone_status status = hone_type_check(type, name, error);
    if (status == HONE_OK) return HONE_OK;
    hone_error_prefix(error, "'%s'", file);
    if (error) error->status = HONE_BAD_FORMAT;
    return HONE_BAD_FORMAT;
}

static hone_status read_dtype(const char *file, const char *name, const json_t *dtype, hone_tensor_type *type,
                              hone_error *error) {
    const char *const text = json_string_value(dtype);
    HONE_FAIL_IF(!text, error, BAD_FORMAT, "'%s': tensor '%s' has no dtype", file, name);
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++) {
        if (strcmp(dtype_names[i].name, text) != 0) continue;
        type->dtype = dtype_names[i].dtype;
        return HONE_OK;
    }
    HONE_FAIL(error, UNSUPPORTED, "'%s': tensor '%s' has the dtype %s, which hone does not read", file, name, text);
}

// Sets offset and bytes; `begin` is where the values begin in the file.
static hone_status read_offsets(const char *file, const json_t *offsets, uint64_t begin, uint64_t size,
                                hone_safetensors_tensor *tensor, hone_error *error) {
    const json_t *const first = json_array_get(offsets, 0);
    const json_t *const last = json_array_get(offsets, 1);
    HONE_FAIL_IF(json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last), error, BAD_FORMAT,
                 "'%s': tensor '%s' has no pair of data_offsets", file, tensor->name);
    const int64_t from = json_integer_value(first);
    const int64_t to = json_integer_value(last);
    const size_t bytes = hone_type_bytes(&tensor->type);
    char type[128];
    HONE_FAIL_IF(from < 0 || to < from || (uint64_t)(to - from) != bytes, error, BAD_FORMAT,
                 "'%s': tensor '%s' is %s, which takes %zu bytes, but its data_offsets are %" PRId64 " and %" PRId64,
                 file, tensor->name, hone_type_print(&tensor->type, type, sizeof type), bytes, from, to);
    HONE_FAIL_IF((uint64_t)to > size - begin, error, BAD_FORMAT,
                 "'%s' ends at byte %" PRIu64 ", but tensor '%s' needs bytes to %" PRIu64
                 ": the file is cut; fetch it again",
                 file, size, tensor->name, begin + (uint64_t)to);
    tensor->offset = begin + (uint64_t)from;
    tensor->bytes = bytes;
    return HONE_OK;
}

static hone_status read_metadata(hone_safetensors *file, json_t *metadata, hone_error *error) {
    HONE_FAIL_IF(!json_is_object(metadata), error, BAD_FORMAT, "'%s': __metadata__ is not an object",
                 file->source->name);
    HONE_TRY(HONE_ARENA_ARRAY(&file->arena, &file->metadata, json_object_size(metadata), error));
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(metadata, key, value) {
        HONE_FAIL_IF(!json_is_string(value), error, BAD_FORMAT, "'%s': '%s' of __metadata__ is not a string",
                     file->source->name, key);
        hone_safetensors_pair *const pair = &file->metadata[file->metadata_count];
        HONE_TRY(hone_arena_string(&file->arena, key, strlen(key), &pair->key, error));
        HONE_TRY(
            hone_arena_string(&file->arena, json_string_value(value), json_string_length(value), &pair->value, error));
        file->metadata_count++;
    }
    return HONE_OK;
}

static hone_status read_tensors(hone_safetensors *file, json_t *header, uint64_t begin, hone_error *error) {
    const char *const name_of_file = file->source->name;
    HONE_TRY(HONE_ARENA_ARRAY(&file->arena, &file->tensors, json_object_size(header), error));
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(header, key, value) {
        if (strcmp(key, "__metadata__") == 0) {
            HONE_TRY(read_metadata(file, value, error));
            continue;
        }
        hone_safetensors_tensor *const tensor = &file->tensors[file->tensor_count];
        HONE_TRY(hone_arena_string(&file->arena, key, strlen(key), &tensor->name, error));
        HONE_TRY(read_dtype(name_of_file, key, json_object_get(value, "dtype"), &tensor->type, error));
        HONE_TRY(read_shape(name_of_file, key, json_object_get(value, "shape"), &tensor->type, error));
        HONE_TRY(read_offsets(name_of_file, json_object_get(value, "data_offsets"), begin, file->source->size, tensor,
                              error));
        file->tensor_count++;
    }
    return HONE_OK;
}

static int compare_offsets(const void *a, const void *b) {
    const hone_safetensors_tensor *const one = a;
    const hone_safetensors_tensor *const other = b;
    if (one->offset != other->offset) return one->offset < other->offset ? -1 : 1;
    return one->bytes < other->bytes ? -1 : one->bytes > other->bytes;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const hone_safetensors_tensor *)a)->name, ((const hone_safetensors_tensor *)b)->name);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const hone_safetensors_pair *)a)->key, ((const hone_safetensors_pair *)b)->key);
}

// As the format demands: the tensors fill the file to its end, each beginning where another ended.
static hone_status check_holes(const hone_safetensors *file, uint64_t begin, hone_error *error) {
    uint64_t end = begin;
    if (file->tensor_count > 0) qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_offsets);
    for (size_t i = 0; i < file->tensor_count; i++) {
        const hone_safetensors_tensor *const tensor = &file->tensors[i];
        HONE_FAIL_IF(tensor->offset != end, error, BAD_FORMAT,
                     "'%s': the bytes of tensor '%s' begin at %" PRIu64 ", but those before it end at %" PRIu64,
                     file->source->name, tensor->name, tensor->offset, end);
        end += tensor->bytes;
    }
    HONE_FAIL_IF(end != file->source->size, error, BAD_FORMAT,
                 "'%s': the tensors end at byte %" PRIu64 ", but the file at %" PRIu64, file->source->name, end,
                 file->source->size);
    return HONE_OK;
}

static hone_status parse_header(hone_safetensors *file, const char *text, size_t length, hone_error *error) {
    const char *const name = file->source->name;
    json_error_t json_error;
    json_t *const header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &json_error);
    if (!header) {
        const bool memory = json_error_code(&json_error) == json_error_out_of_memory;
        return hone_error_set(error, memory ? HONE_OUT_OF_MEMORY : HONE_BAD_FORMAT,
                              "'%s': the header is not JSON: %s (at byte %d)", name, json_error.text,
                              8 + json_error.position);
    }
    hone_status status = HONE_OK;
    if (json_is_object(header)) {
        status = read_tensors(file, header, 8 + (uint64_t)length, error);
    } else {
        status = hone_error_set(error, HONE_BAD_FORMAT, "'%s': the header is not a JSON object", name);
    }
    json_decref(header);
    return status;
}

static hone_status read_all(hone_safetensors *file, hone_error *error) {
    hone_source *const source = file->source;
    uint64_t length = 0;
    HONE_FAIL_IF(source->size < sizeof length, error, BAD_FORMAT,
                 "'%s' is not a safetensors file: it has %" PRIu64 " bytes", source->name, source->size);
    HONE_TRY(hone_source_read(source, 0, &length, sizeof length, "the header's length", error));
    HONE_FAIL_IF(length > LONGEST_HEADER, error, BAD_FORMAT,
                 "'%s' is not a safetensors file, or its header of %" PRIu64 " bytes is too long", source->name,
                 length);
    HONE_FAIL_IF(length > source->size - sizeof length, error, BAD_FORMAT,
                 "'%s' ends at byte %" PRIu64 ", inside its header of %" PRIu64
                 " bytes: the file is cut; fetch it again",
                 source->name, source->size, length);
    char *text = NULL;
    HONE_TRY(hone_allocate_raw((size_t)length, 1, "a header", (void **)&text, error));
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(hone_source_read(source, sizeof length, text, (size_t)length, "the header", error), done);
    HONE_TRY_GOTO(parse_header(file, text, (size_t)length, error), done);
    HONE_TRY_GOTO(check_holes(file, sizeof length + length, error), done);
    if (file->tensor_count > 0) qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_names);
    if (file->metadata_count > 0) qsort(file->metadata, file->metadata_count, sizeof *file->metadata, compare_keys);
done:
    hone_free(text);
    return status;
}

// --- the file
// --------------------------------------------------------------------------------------------------------

hone_status hone_safetensors_read(hone_source *source, hone_safetensors **out, hone_error *error) {
    *out = NULL;
    hone_safetensors *file = NULL;
    HONE_TRY(HONE_NEW(&file, "a safetensors file", error));
    file->source = source;
    const hone_status status = read_all(file, error);
    if (status != HONE_OK) {
        file->source = NULL; // stays the caller's
        hone_safetensors_close(file);
        return status;
    }
    *out = file;
    return HONE_OK;
}

hone_status hone_safetensors_open(const char *path, hone_safetensors **out, hone_error *error) {
    *out = NULL;
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_safetensors_read(source, out, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

void hone_safetensors_close(hone_safetensors *file) {
    if (!file) return;
    hone_source_close(&file->source);
    hone_arena_clear(&file->arena);
    hone_free(file);
}

const hone_safetensors_tensor *hone_safetensors_find(const hone_safetensors *file, const char *name) {
    const hone_safetensors_tensor wanted = {.name = name};
    if (file->tensor_count == 0) return NULL;
    return bsearch(&wanted, file->tensors, file->tensor_count, sizeof wanted, compare_names);
}

const char *hone_safetensors_metadata(const hone_safetensors *file, const char *key) {
    const hone_safetensors_pair wanted = {.key = key};
    if (file->metadata_count == 0) return NULL;
    const hone_safetensors_pair *const pair =
        bsearch(&wanted, file->metadata, file->metadata_count, sizeof wanted, compare_keys);
    return pair ? pair->value : NULL;
}

hone_status hone_safetensors_read_bytes(const hone_safetensors *file, const hone_safetensors_tensor *tensor, void *out,
                                        hone_error *error) {
    return hone_source_read(file->source, tensor->offset, out, (size_t)tensor->bytes, tensor->name, error);
}

static void convert(hone_dtype dtype, const uint8_t *piece, float *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (dtype == HONE_DTYPE_F64) {
            double wide;
            memcpy(&wide, piece + 8 * i, sizeof wide);
            out[i] = (float)wide;
        } else {
            uint16_t narrow;
            memcpy(&narrow, piece + 2 * i, sizeof narrow);
            out[i] = dtype == HONE_DTYPE_F16 ? hone_half_to_float(narrow) : hone_bf16_to_float(narrow);
        }
    }
}

hone_status hone_safetensors_read_floats(const hone_safetensors *file, const hone_safetensors_tensor *tensor,
                                         float *out, hone_error *error) {
    const hone_dtype dtype = tensor->type.dtype;
    if (dtype == HONE_DTYPE_F32) return hone_safetensors_read_bytes(file, tensor, out, error);
    HONE_FAIL_IF(dtype != HONE_DTYPE_F16 && dtype != HONE_DTYPE_BF16 && dtype != HONE_DTYPE_F64, error, UNSUPPORTED,
                 "'%s': tensor '%s' is %s, not made of fractions", file->source->name, tensor->name,
                 hone_dtype_name(dtype));
    uint8_t *piece = NULL;
    HONE_TRY(hone_allocate_raw(PIECE_BYTES, 1, "a piece of a tensor", (void **)&piece, error));
    hone_status status = HONE_OK;
    for (uint64_t done = 0; done < tensor->bytes && status == HONE_OK;) {
        const uint64_t left = tensor->bytes - done;
        const size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        status = hone_source_read(file->source, tensor->offset + done, piece, n, tensor->name, error);
        if (status != HONE_OK) break;
        convert(dtype, piece, out + done / hone_dtype_bytes(dtype), n / hone_dtype_bytes(dtype));
        done += n;
    }
    hone_free(piece);
    return status;
}
