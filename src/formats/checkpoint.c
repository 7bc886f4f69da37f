// SPDX-License-Identifier: Apache-2.0
// Reads state.hone; the layout is in checkpoint_layout.h.
#include "formats/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint_layout.h"

#define SMALLEST_FILE 80 // magic, end mark and the last hash

typedef struct reader {
    hone_checkpoint *checkpoint;
    const char *file; // its name
    uint64_t size;
    uint64_t at;
    size_t capacity;
} reader;

static uint64_t load_u64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

// How far a section's parts reach, from its beginning.
typedef struct section_extent {
    uint64_t name;
    uint64_t data;
    uint64_t hash;
} section_extent;

static hone_status cut(const reader *in, hone_error *error) {
    HONE_FAIL(error, BAD_FORMAT,
              "'%s' is damaged or cut: the section at byte %" PRIu64 " reaches beyond its end at %" PRIu64
              "; go back to an earlier state",
              in->file, in->at, in->size);
}

static hone_status damaged(const reader *in, const char *what, hone_error *error) {
    HONE_FAIL(error, BAD_FORMAT, "'%s' is damaged: %s at byte %" PRIu64 " cannot be right; go back to an earlier state",
              in->file, what, in->at);
}

static hone_status measure(const reader *in, hone_section_header *header, section_extent *extent, hone_error *error) {
    const uint64_t left = in->size - 8 - in->at; // the last 8 bytes are the whole file's hash
    if (left < sizeof *header + 8) return cut(in, error);
    memcpy(header, in->checkpoint->bytes + in->at, sizeof *header);
    const uint64_t most_dims = header->kind == HONE_SECTION_TENSOR ? HONE_MAX_RANK : 0;
    if (header->rank > most_dims || header->kind > HONE_SECTION_TENSOR) return damaged(in, "a section", error);
    // Each summand is below 2^63 and checked against what is left before the next is added.
    extent->name = sizeof *header + header->rank * sizeof(int64_t);
    extent->data = extent->name + hone_section_padded(header->name_bytes);
    if (extent->data > left || header->data_bytes > left - extent->data) return cut(in, error);
    extent->hash = extent->data + hone_section_padded(header->data_bytes);
    if (extent->hash > left - 8) return cut(in, error);
    return HONE_OK;
}

static hone_status read_tensor_type(const reader *in, const hone_section_header *header, hone_section *section,
                                    hone_error *error) {
    int64_t dims[HONE_MAX_RANK] = {0};
    memcpy(dims, in->checkpoint->bytes + in->at + sizeof *header, header->rank * sizeof *dims);
    section->type = hone_type_of(HONE_DTYPE_F32, (int)header->rank, dims);
    if (hone_type_check(&section->type, "a section", NULL) != HONE_OK ||
        hone_type_bytes(&section->type) != section->bytes) {
        return damaged(in, "the shape of a section", error);
    }
    return HONE_OK;
}

static hone_status read_value(const reader *in, const hone_section_header *header, hone_section *section,
                              hone_error *error) {
    const bool number = section->kind == HONE_SECTION_U64 || section->kind == HONE_SECTION_F64;
    if (number && section->bytes != 8) return damaged(in, "a number", error);
    switch (section->kind) {
    case HONE_SECTION_U64:
        section->integer = load_u64(section->data);
        return HONE_OK;
    case HONE_SECTION_F64:
        memcpy(&section->real, section->data, sizeof section->real);
        return HONE_OK;
    case HONE_SECTION_TEXT:
        section->text = section->data;
        return HONE_OK;
    case HONE_SECTION_TENSOR:
        return read_tensor_type(in, header, section, error);
    default:
        return HONE_OK;
    }
}

// Reads the section at in->at; *end is set if it is the end mark.
static hone_status read_section(reader *in, bool *end, hone_error *error) {
    hone_section_header header = {0};
    section_extent extent = {0};
    HONE_TRY(measure(in, &header, &extent, error));
    const uint8_t *const begin = in->checkpoint->bytes + in->at;
    const uint8_t *const name = begin + extent.name;
    const size_t hashed = (size_t)extent.hash;
    HONE_FAIL_IF(hone_hash_of(begin, hashed) != load_u64(begin + hashed), error, BAD_FORMAT,
                 "'%s' is damaged: the section at byte %" PRIu64 " ('%.*s') does not match its hash; go back to an "
                 "earlier state",
                 in->file, in->at, (int)(header.name_bytes < 60 ? header.name_bytes : 60), (const char *)name);
    // The hash holds, so what is wrong from here on was written wrongly; the checks keep reading safe all the
    // same.
    if (memchr(name, 0, header.name_bytes) || name[header.name_bytes] || begin[extent.data + header.data_bytes]) {
        return damaged(in, "a section", error);
    }
    *end = header.kind == HONE_SECTION_END;
    if (*end) {
        const uint64_t *const totals = (const void *)(begin + extent.data); // aligned, as all parts are
        if (header.data_bytes != 16 || totals[0] != in->checkpoint->count || totals[1] != in->size) {
            return damaged(in, "the end mark", error);
        }
    } else {
        HONE_TRY(
            HONE_GROW(&in->checkpoint->sections, &in->capacity, in->checkpoint->count + 1, "the section table", error));
        hone_section *const section = &in->checkpoint->sections[in->checkpoint->count];
        section->name = (const char *)name;
        section->kind = (hone_section_kind)header.kind;
        section->data = begin + extent.data;
        section->bytes = (size_t)header.data_bytes;
        HONE_TRY(read_value(in, &header, section, error));
        in->checkpoint->count++;
    }
    in->at += extent.hash + 8;
    return HONE_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const hone_section *)a)->name, ((const hone_section *)b)->name);
}

static hone_status sort_sections(const reader *in, hone_error *error) {
    hone_section *const sections = in->checkpoint->sections;
    const size_t count = in->checkpoint->count;
    if (count > 0) qsort(sections, count, sizeof *sections, compare_names);
    for (size_t i = 1; i < count; i++) {
        HONE_FAIL_IF(strcmp(sections[i - 1].name, sections[i].name) == 0, error, BAD_FORMAT,
                     "'%s' is damaged: it has the section '%s' twice", in->file, sections[i].name);
    }
    return HONE_OK;
}

static hone_status check_whole(const reader *in, hone_error *error) {
    const uint8_t *const bytes = in->checkpoint->bytes;
    HONE_FAIL_IF(memcmp(bytes, HONE_CHECKPOINT_MAGIC, 4) != 0, error, BAD_FORMAT, "'%s' is not a state that hone saved",
                 in->file);
    uint32_t version;
    memcpy(&version, bytes + 4, sizeof version);
    if (version == HONE_CHECKPOINT_VERSION) return HONE_OK; // hashes are compared section by section, then here
    HONE_FAIL_IF(hone_hash_of(bytes, (size_t)in->size - 8) != load_u64(bytes + in->size - 8), error, BAD_FORMAT,
                 "'%s' is damaged: it does not match its hash; go back to an earlier state", in->file);
    HONE_FAIL(error, UNSUPPORTED, "'%s' is a state of version %" PRIu32 "; this hone reads version %d", in->file,
              version, HONE_CHECKPOINT_VERSION);
}

static hone_status read_all(reader *in, hone_error *error) {
    HONE_TRY(check_whole(in, error));
    in->at = 8;
    for (bool end = false; !end;) {
        HONE_TRY(read_section(in, &end, error));
    }
    const uint8_t *const bytes = in->checkpoint->bytes;
    if (in->at != in->size - 8) return damaged(in, "what follows the end mark", error);
    HONE_FAIL_IF(hone_hash_of(bytes, (size_t)in->at) != load_u64(bytes + in->at), error, BAD_FORMAT,
                 "'%s' is damaged: it does not match its hash; go back to an earlier state", in->file);
    return sort_sections(in, error);
}

hone_status hone_checkpoint_read(hone_source *source, hone_checkpoint **out, hone_error *error) {
    *out = NULL;
    HONE_FAIL_IF(source->size < SMALLEST_FILE, error, BAD_FORMAT,
                 "'%s' is not a state that hone saved, or it is cut: it has %" PRIu64 " bytes", source->name,
                 source->size);
    HONE_FAIL_IF(source->size > PTRDIFF_MAX, error, BAD_FORMAT, "'%s' is too large", source->name);
    reader in = {.file = source->name, .size = source->size};
    hone_status status = HONE_OK;
    HONE_TRY(HONE_NEW(&in.checkpoint, "a checkpoint", error));
    HONE_TRY_GOTO(hone_allocate_raw((size_t)in.size, 1, "a checkpoint", (void **)&in.checkpoint->bytes, error), fail);
    HONE_TRY_GOTO(hone_source_read(source, 0, in.checkpoint->bytes, (size_t)in.size, "the state", error), fail);
    HONE_TRY_GOTO(read_all(&in, error), fail);
    *out = in.checkpoint;
    return HONE_OK;
fail:
    hone_checkpoint_close(in.checkpoint);
    return status;
}

hone_status hone_checkpoint_open(const char *path, hone_checkpoint **out, hone_error *error) {
    *out = NULL;
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_checkpoint_read(source, out, error);
    hone_source_close(&source);
    return status;
}

void hone_checkpoint_close(hone_checkpoint *checkpoint) {
    if (!checkpoint) return;
    hone_free(checkpoint->sections);
    hone_free(checkpoint->bytes);
    hone_free(checkpoint);
}

const hone_section *hone_checkpoint_find(const hone_checkpoint *checkpoint, const char *name, hone_section_kind kind) {
    if (checkpoint->count == 0) return NULL;
    const hone_section wanted = {.name = name};
    const hone_section *const section =
        bsearch(&wanted, checkpoint->sections, checkpoint->count, sizeof wanted, compare_names);
    return section && section->kind == kind ? section : NULL;
}

static hone_status require(const hone_checkpoint *checkpoint, const char *name, hone_section_kind kind,
                           const char *kind_name, const hone_section **out, hone_error *error) {
    *out = hone_checkpoint_find(checkpoint, name, kind);
    HONE_FAIL_IF(!*out, error, BAD_FORMAT, "the state has no %s called '%s'", kind_name, name);
    return HONE_OK;
}

hone_status hone_checkpoint_u64(const hone_checkpoint *checkpoint, const char *name, uint64_t *out, hone_error *error) {
    const hone_section *section = NULL;
    HONE_TRY(require(checkpoint, name, HONE_SECTION_U64, "whole number", &section, error));
    *out = section->integer;
    return HONE_OK;
}

hone_status hone_checkpoint_f64(const hone_checkpoint *checkpoint, const char *name, double *out, hone_error *error) {
    const hone_section *section = NULL;
    HONE_TRY(require(checkpoint, name, HONE_SECTION_F64, "fraction", &section, error));
    *out = section->real;
    return HONE_OK;
}

hone_status hone_checkpoint_text(const hone_checkpoint *checkpoint, const char *name, const char **out,
                                 hone_error *error) {
    const hone_section *section = NULL;
    HONE_TRY(require(checkpoint, name, HONE_SECTION_TEXT, "text", &section, error));
    *out = section->text;
    return HONE_OK;
}

hone_status hone_checkpoint_tensor(const hone_checkpoint *checkpoint, const char *name, const hone_tensor_type *type,
                                   float *out, hone_error *error) {
    const hone_section *section = NULL;
    HONE_TRY(require(checkpoint, name, HONE_SECTION_TENSOR, "tensor", &section, error));
    char stored[128];
    char wanted[128];
    HONE_FAIL_IF(!hone_type_equal(&section->type, type), error, MISMATCH,
                 "tensor '%s' of the state is %s, but %s is needed", name,
                 hone_type_print(&section->type, stored, sizeof stored), hone_type_print(type, wanted, sizeof wanted));
    if (section->bytes > 0) memcpy(out, section->data, section->bytes);
    return HONE_OK;
}
