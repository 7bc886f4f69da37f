// SPDX-License-Identifier: Apache-2.0
// Writes state.hone; the layout is in checkpoint_layout.h.
#include <string.h>

#include "base/arena.h"
#include "formats/checkpoint.h"
#include "formats/checkpoint_layout.h"

struct hone_checkpoint_writer {
    hone_output *output;
    hone_hash whole;
    hone_hash section;
    hone_arena arena; // names
    const char **names;
    size_t count;
    size_t capacity;
};

// Into the file and both hashes.
static hone_status put(hone_checkpoint_writer *writer, const void *data, size_t bytes, hone_error *error) {
    if (bytes == 0) return HONE_OK;
    hone_hash_add(&writer->whole, data, bytes);
    hone_hash_add(&writer->section, data, bytes);
    return hone_output_write(writer->output, data, bytes, error);
}

static hone_status put_padded(hone_checkpoint_writer *writer, const void *data, size_t bytes, hone_error *error) {
    static const uint8_t zeros[8] = {0};
    HONE_TRY(put(writer, data, bytes, error));
    return put(writer, zeros, (size_t)(hone_section_padded(bytes) - bytes), error);
}

hone_status hone_checkpoint_create(const char *path, hone_checkpoint_writer **out, hone_error *error) {
    *out = NULL;
    hone_checkpoint_writer *writer = NULL;
    HONE_TRY(HONE_NEW(&writer, "a checkpoint writer", error));
    hone_hash_begin(&writer->whole);
    hone_hash_begin(&writer->section);
    const uint32_t version = HONE_CHECKPOINT_VERSION;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(hone_output_create(path, &writer->output, error), fail);
    HONE_TRY_GOTO(put(writer, HONE_CHECKPOINT_MAGIC, 4, error), fail);
    HONE_TRY_GOTO(put(writer, &version, sizeof version, error), fail);
    *out = writer;
    return HONE_OK;
fail:
    hone_checkpoint_abandon(&writer);
    return status;
}

static hone_status put_section(hone_checkpoint_writer *writer, uint32_t kind, const char *name,
                               const hone_tensor_type *type, const void *data, size_t bytes, hone_error *error) {
    const size_t name_bytes = strlen(name);
    HONE_FAIL_IF(name_bytes > UINT16_MAX, error, INVALID_ARGUMENT, "the name of a section is too long");
    const hone_section_header header = {
        .kind = kind,
        .name_bytes = (uint32_t)name_bytes,
        .data_bytes = bytes,
        .rank = type ? (uint64_t)type->rank : 0,
    };
    hone_hash_begin(&writer->section);
    HONE_TRY(put(writer, &header, sizeof header, error));
    if (type) HONE_TRY(put(writer, type->dims, (size_t)type->rank * sizeof *type->dims, error));
    HONE_TRY(put_padded(writer, name, name_bytes, error));
    HONE_TRY(put_padded(writer, data, bytes, error));
    const uint64_t hash = hone_hash_end(&writer->section);
    return put(writer, &hash, sizeof hash, error);
}

// A name may appear once, whatever the kind.
static hone_status note_name(hone_checkpoint_writer *writer, const char *name, hone_error *error) {
    for (size_t i = 0; i < writer->count; i++) {
        HONE_FAIL_IF(strcmp(writer->names[i], name) == 0, error, INVALID_ARGUMENT, "section '%s' is written twice",
                     name);
    }
    HONE_TRY(HONE_GROW(&writer->names, &writer->capacity, writer->count + 1, "the section table", error));
    HONE_TRY(hone_arena_string(&writer->arena, name, strlen(name), &writer->names[writer->count], error));
    writer->count++;
    return HONE_OK;
}

hone_status hone_checkpoint_put_bytes(hone_checkpoint_writer *writer, const char *name, const void *data, size_t bytes,
                                      hone_error *error) {
    HONE_TRY(note_name(writer, name, error));
    return put_section(writer, HONE_SECTION_BYTES, name, NULL, data, bytes, error);
}

hone_status hone_checkpoint_put_u64(hone_checkpoint_writer *writer, const char *name, uint64_t value,
                                    hone_error *error) {
    HONE_TRY(note_name(writer, name, error));
    return put_section(writer, HONE_SECTION_U64, name, NULL, &value, sizeof value, error);
}

hone_status hone_checkpoint_put_f64(hone_checkpoint_writer *writer, const char *name, double value, hone_error *error) {
    HONE_TRY(note_name(writer, name, error));
    return put_section(writer, HONE_SECTION_F64, name, NULL, &value, sizeof value, error);
}

hone_status hone_checkpoint_put_text(hone_checkpoint_writer *writer, const char *name, const char *value,
                                     hone_error *error) {
    HONE_TRY(note_name(writer, name, error));
    return put_section(writer, HONE_SECTION_TEXT, name, NULL, value, strlen(value), error);
}

hone_status hone_checkpoint_put_tensor(hone_checkpoint_writer *writer, const char *name, const hone_tensor *tensor,
                                       hone_error *error) {
    HONE_TRY(hone_type_check(&tensor->type, name, error));
    HONE_FAIL_IF(tensor->type.dtype != HONE_DTYPE_F32, error, UNSUPPORTED,
                 "section '%s' is %s; tensors are kept in f32", name, hone_dtype_name(tensor->type.dtype));
    HONE_TRY(note_name(writer, name, error));
    return put_section(writer, HONE_SECTION_TENSOR, name, &tensor->type, tensor->data, hone_type_bytes(&tensor->type),
                       error);
}

static void destroy(hone_checkpoint_writer *writer) {
    hone_output_abandon(&writer->output);
    hone_arena_clear(&writer->arena);
    hone_free(writer->names);
    hone_free(writer);
}

static hone_status finish(hone_checkpoint_writer *writer, hone_error *error) {
    const uint64_t end_mark_bytes = sizeof(hone_section_header) + hone_section_padded(0) + hone_section_padded(16) + 8;
    const uint64_t totals[2] = {writer->count, hone_output_position(writer->output) + end_mark_bytes + 8};
    HONE_TRY(put_section(writer, HONE_SECTION_END, "", NULL, totals, sizeof totals, error));
    const uint64_t hash = hone_hash_end(&writer->whole);
    HONE_TRY(hone_output_write(writer->output, &hash, sizeof hash, error));
    return hone_output_commit(&writer->output, error);
}

hone_status hone_checkpoint_commit(hone_checkpoint_writer **writer, hone_error *error) {
    hone_checkpoint_writer *const ending = *writer;
    *writer = NULL;
    const hone_status status = finish(ending, error);
    destroy(ending);
    return status;
}

void hone_checkpoint_abandon(hone_checkpoint_writer **writer) {
    if (!writer || !*writer) return;
    destroy(*writer);
    *writer = NULL;
}
