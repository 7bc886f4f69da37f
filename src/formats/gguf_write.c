// SPDX-License-Identifier: Apache-2.0
// Writes GGUF version 3; the layout is at the head of gguf.c. Keys and tensor descriptions are gathered in
// memory and go out with the first tensor's bytes, or at the end if there are none.
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "formats/cursor.h"
#include "formats/gguf_inside.h"

#define DEFAULT_ALIGNMENT 32

typedef struct planned_tensor {
    const char *name;
    uint64_t bytes;
} planned_tensor;

struct hone_gguf_writer {
    hone_output *output;
    hone_arena arena; // names
    hone_text keys;   // as in the file
    hone_text descriptions;
    const char **key_names;
    size_t key_count;
    size_t key_capacity;
    planned_tensor *tensors;
    size_t tensor_count;
    size_t tensor_capacity;
    size_t next_tensor;   // whose data comes next
    uint64_t next_offset; // of the next tensor described, from the beginning of the data
    uint64_t alignment;
    bool header_written;
};

static void append(hone_text *text, const void *bytes, size_t n) {
    hone_text_append(text, bytes, n);
}

static void append_u32(hone_text *text, uint32_t value) {
    append(text, &value, sizeof value);
}

static void append_u64(hone_text *text, uint64_t value) {
    append(text, &value, sizeof value);
}

static void append_string(hone_text *text, const char *bytes, size_t length) {
    append_u64(text, length);
    append(text, bytes, length);
}

static uint64_t aligned(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

hone_status hone_gguf_writer_create(const char *path, hone_gguf_writer **out, hone_error *error) {
    *out = NULL;
    hone_gguf_writer *writer = NULL;
    HONE_TRY(HONE_NEW(&writer, "a GGUF writer", error));
    writer->alignment = DEFAULT_ALIGNMENT;
    const hone_status status = hone_output_create(path, &writer->output, error);
    if (status != HONE_OK) {
        hone_gguf_writer_abandon(&writer);
        return status;
    }
    *out = writer;
    return HONE_OK;
}

// Takes note of a key, which must be new, and writes its name.
static hone_status begin_key(hone_gguf_writer *writer, const char *key, size_t length, hone_error *error) {
    HONE_FAIL_IF(writer->header_written, error, INVALID_ARGUMENT, "key '%s' comes after the first tensor's data", key);
    HONE_FAIL_IF(length == 0 || length > UINT16_MAX || memchr(key, 0, length), error, INVALID_ARGUMENT,
                 "a key of GGUF has 1 to %d bytes, none of them zero", UINT16_MAX);
    for (size_t i = 0; i < writer->key_count; i++) {
        HONE_FAIL_IF(strlen(writer->key_names[i]) == length && memcmp(writer->key_names[i], key, length) == 0, error,
                     INVALID_ARGUMENT, "key '%s' is written twice", writer->key_names[i]);
    }
    HONE_TRY(HONE_GROW(&writer->key_names, &writer->key_capacity, writer->key_count + 1, "the keys", error));
    HONE_TRY(hone_arena_string(&writer->arena, key, length, &writer->key_names[writer->key_count], error));
    writer->key_count++;
    append_string(&writer->keys, key, length);
    return HONE_OK;
}

static hone_status set_alignment(hone_gguf_writer *writer, const hone_gguf_entry *entry, hone_error *error) {
    const uint64_t alignment = entry->unsigned_integer;
    HONE_FAIL_IF(entry->kind != HONE_GGUF_U32 || alignment < 8 || (alignment & (alignment - 1)) != 0, error,
                 INVALID_ARGUMENT, "general.alignment must be a power of two from 8 on, as u32");
    HONE_FAIL_IF(writer->tensor_count > 0, error, INVALID_ARGUMENT,
                 "general.alignment comes after the first tensor's description");
    writer->alignment = alignment;
    return HONE_OK;
}

// What append_value relies on; asked before the key is written, so that a refused one leaves nothing behind.
static hone_status check_value(const hone_gguf_entry *entry, hone_error *error) {
    HONE_FAIL_IF((unsigned)entry->kind > HONE_GGUF_F64, error, INVALID_ARGUMENT, "key '%s' has the unknown kind %d",
                 entry->key.bytes, (int)entry->kind);
    if (entry->kind != HONE_GGUF_ARRAY || entry->element_kind == HONE_GGUF_STRING) return HONE_OK;
    const size_t element_bytes = hone_gguf_kind_bytes(entry->element_kind);
    size_t bytes = 0;
    HONE_FAIL_IF(element_bytes == 0 || entry->count > SIZE_MAX ||
                     !hone_mul_size((size_t)entry->count, element_bytes, &bytes),
                 error, INVALID_ARGUMENT, "key '%s' is an array that cannot be written", entry->key.bytes);
    return HONE_OK;
}

static void append_array(hone_text *text, const hone_gguf_entry *entry) {
    append_u32(text, entry->element_kind);
    append_u64(text, entry->count);
    if (entry->element_kind != HONE_GGUF_STRING) {
        append(text, entry->elements, (size_t)entry->count * hone_gguf_kind_bytes(entry->element_kind));
        return;
    }
    const hone_gguf_string *const strings = entry->elements;
    for (uint64_t i = 0; i < entry->count; i++) append_string(text, strings[i].bytes, strings[i].length);
}

static void append_value(hone_text *text, const hone_gguf_entry *entry) {
    append_u32(text, entry->kind);
    float single = 0;
    switch (entry->kind) {
    case HONE_GGUF_STRING:
        append_string(text, entry->string.bytes, entry->string.length);
        break;
    case HONE_GGUF_ARRAY:
        append_array(text, entry);
        break;
    case HONE_GGUF_F32:
        single = (float)entry->real;
        append(text, &single, sizeof single);
        break;
    case HONE_GGUF_F64:
        append(text, &entry->real, sizeof entry->real);
        break;
    default:
        // Little endian: the first bytes of a whole number are the narrower number.
        append(text, &entry->unsigned_integer, hone_gguf_kind_bytes(entry->kind));
        break;
    }
}

hone_status hone_gguf_put_entry(hone_gguf_writer *writer, const hone_gguf_entry *entry, hone_error *error) {
    HONE_TRY(check_value(entry, error));
    if (strcmp(entry->key.bytes, "general.alignment") == 0) HONE_TRY(set_alignment(writer, entry, error));
    HONE_TRY(begin_key(writer, entry->key.bytes, entry->key.length, error));
    append_value(&writer->keys, entry);
    return hone_text_status(&writer->keys, error);
}

static hone_gguf_entry scalar(const char *key, hone_gguf_kind kind) {
    return (hone_gguf_entry){
        .key = {.bytes = key, .length = strlen(key)}, .kind = kind, .element_kind = kind, .count = 1};
}

hone_status hone_gguf_put_text(hone_gguf_writer *writer, const char *key, const char *value, hone_error *error) {
    hone_gguf_entry entry = scalar(key, HONE_GGUF_STRING);
    entry.string = (hone_gguf_string){.bytes = value, .length = strlen(value)};
    return hone_gguf_put_entry(writer, &entry, error);
}

hone_status hone_gguf_put_u32(hone_gguf_writer *writer, const char *key, uint32_t value, hone_error *error) {
    hone_gguf_entry entry = scalar(key, HONE_GGUF_U32);
    entry.unsigned_integer = value;
    return hone_gguf_put_entry(writer, &entry, error);
}

hone_status hone_gguf_put_f32(hone_gguf_writer *writer, const char *key, float value, hone_error *error) {
    hone_gguf_entry entry = scalar(key, HONE_GGUF_F32);
    entry.real = (double)value;
    return hone_gguf_put_entry(writer, &entry, error);
}

hone_status hone_gguf_put_bool(hone_gguf_writer *writer, const char *key, bool value, hone_error *error) {
    hone_gguf_entry entry = scalar(key, HONE_GGUF_BOOL);
    entry.unsigned_integer = value;
    return hone_gguf_put_entry(writer, &entry, error);
}

static hone_status tensor_bytes(const char *name, hone_block_type type, int rank, const int64_t *dims, uint64_t *bytes,
                                hone_error *error) {
    const hone_block_layout *const layout = hone_block_find(type);
    HONE_FAIL_IF(!layout, error, UNSUPPORTED, "tensor '%s' cannot be written as %s", name, hone_block_name(type));
    HONE_FAIL_IF(rank < 0 || rank > 4, error, INVALID_ARGUMENT, "tensor '%s' has %d dimensions; GGUF has at most 4",
                 name, rank);
    // As if each element had a block's bytes: too strict only for tensors beyond any disk.
    const hone_tensor_type as_type = hone_type_of(HONE_DTYPE_F64, rank, dims);
    HONE_TRY(hone_type_check(&as_type, name, error));
    const int64_t columns = hone_type_columns(&as_type);
    HONE_FAIL_IF(columns % layout->elements != 0, error, INVALID_ARGUMENT,
                 "tensor '%s' has rows of %" PRId64 " values, but %s has blocks of %d", name, columns, layout->name,
                 layout->elements);
    *bytes = (uint64_t)(hone_type_elements(&as_type) / layout->elements) * (uint64_t)layout->bytes;
    return HONE_OK;
}

hone_status hone_gguf_put_tensor(hone_gguf_writer *writer, const char *name, hone_block_type type, int rank,
                                 const int64_t *dims, hone_error *error) {
    HONE_FAIL_IF(writer->header_written, error, INVALID_ARGUMENT,
                 "tensor '%s' is described after the first tensor's data", name);
    const size_t length = strlen(name);
    HONE_FAIL_IF(length == 0 || length > UINT16_MAX, error, INVALID_ARGUMENT, "a tensor's name has 1 to %d bytes",
                 UINT16_MAX);
    for (size_t i = 0; i < writer->tensor_count; i++) {
        HONE_FAIL_IF(strcmp(writer->tensors[i].name, name) == 0, error, INVALID_ARGUMENT,
                     "tensor '%s' is written twice", name);
    }
    uint64_t bytes = 0;
    HONE_TRY(tensor_bytes(name, type, rank, dims, &bytes, error));
    HONE_TRY(
        HONE_GROW(&writer->tensors, &writer->tensor_capacity, writer->tensor_count + 1, "the tensor table", error));
    planned_tensor *const planned = &writer->tensors[writer->tensor_count];
    HONE_TRY(hone_arena_string(&writer->arena, name, length, &planned->name, error));
    planned->bytes = bytes;
    writer->tensor_count++;
    hone_text *const text = &writer->descriptions;
    append_string(text, name, length);
    append_u32(text, (uint32_t)rank);
    for (int i = rank - 1; i >= 0; i--) append_u64(text, (uint64_t)dims[i]);
    append_u32(text, type);
    append_u64(text, writer->next_offset);
    writer->next_offset = aligned(writer->next_offset + bytes, writer->alignment);
    return hone_text_status(text, error);
}

// Zeros up to the next multiple of the alignment.
static hone_status pad(hone_gguf_writer *writer, hone_error *error) {
    static const uint8_t zeros[256] = {0};
    const uint64_t position = hone_output_position(writer->output);
    uint64_t missing = aligned(position, writer->alignment) - position;
    while (missing > 0) {
        const size_t n = missing < sizeof zeros ? (size_t)missing : sizeof zeros;
        HONE_TRY(hone_output_write(writer->output, zeros, n, error));
        missing -= n;
    }
    return HONE_OK;
}

static hone_status write_header(hone_gguf_writer *writer, hone_error *error) {
    if (writer->header_written) return HONE_OK;
    HONE_TRY(hone_text_status(&writer->keys, error));
    HONE_TRY(hone_text_status(&writer->descriptions, error));
    uint8_t header[24] = {'G', 'G', 'U', 'F', 3};
    const uint64_t counts[2] = {writer->tensor_count, writer->key_count};
    memcpy(header + 8, counts, sizeof counts);
    HONE_TRY(hone_output_write(writer->output, header, sizeof header, error));
    if (writer->keys.length > 0) {
        HONE_TRY(hone_output_write(writer->output, writer->keys.bytes, writer->keys.length, error));
    }
    if (writer->descriptions.length > 0) {
        HONE_TRY(hone_output_write(writer->output, writer->descriptions.bytes, writer->descriptions.length, error));
    }
    writer->header_written = true;
    return pad(writer, error);
}

hone_status hone_gguf_put_data(hone_gguf_writer *writer, const void *data, size_t bytes, hone_error *error) {
    HONE_FAIL_IF(writer->next_tensor >= writer->tensor_count, error, INVALID_ARGUMENT,
                 "data for a tensor that was not described");
    const planned_tensor *const tensor = &writer->tensors[writer->next_tensor];
    HONE_FAIL_IF(bytes != tensor->bytes, error, INVALID_ARGUMENT, "tensor '%s' needs %" PRIu64 " bytes, %zu were given",
                 tensor->name, tensor->bytes, bytes);
    HONE_TRY(write_header(writer, error));
    if (bytes > 0) HONE_TRY(hone_output_write(writer->output, data, bytes, error));
    writer->next_tensor++;
    return pad(writer, error); // behind the last one too: llama.cpp reads whole multiples
}

static void destroy(hone_gguf_writer *writer) {
    hone_output_abandon(&writer->output);
    hone_arena_clear(&writer->arena);
    hone_text_clear(&writer->keys);
    hone_text_clear(&writer->descriptions);
    hone_free(writer->key_names);
    hone_free(writer->tensors);
    hone_free(writer);
}

static hone_status finish(hone_gguf_writer *writer, hone_error *error) {
    HONE_FAIL_IF(writer->next_tensor < writer->tensor_count, error, INVALID_ARGUMENT,
                 "tensor '%s' was described, but its data was not given", writer->tensors[writer->next_tensor].name);
    HONE_TRY(write_header(writer, error));
    return hone_output_commit(&writer->output, error);
}

hone_status hone_gguf_writer_commit(hone_gguf_writer **writer, hone_error *error) {
    hone_gguf_writer *const ending = *writer;
    *writer = NULL;
    const hone_status status = finish(ending, error);
    destroy(ending);
    return status;
}

void hone_gguf_writer_abandon(hone_gguf_writer **writer) {
    if (!writer || !*writer) return;
    destroy(*writer);
    *writer = NULL;
}
