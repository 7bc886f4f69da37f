// SPDX-License-Identifier: Apache-2.0
// Reads GGUF. The layout, little endian:
//
//   SIZE     what
//   4        "GGUF"
//   4        version: 2 or 3 (1 had 32-bit counts and is refused)
//   8        number of tensors
//   8        number of keys
//   keys, one behind the other:
//     8+n    name: u64 length, then the bytes (no NUL)
//     4      kind of the value: 0 u8, 1 i8, 2 u16, 3 i16, 4 u32, 5 i32, 6 f32, 7 bool (a byte), 8 string, 9
//     array,
//            10 u64, 11 i64, 12 f64
//     ...    value: a number; a string (u64 length, bytes); or an array (u32 kind, u64 count, that many
//     values)
//   tensors, one behind the other:
//     8+n    name
//     4      number of dimensions, at most 4
//     8 each dimensions ("ne"), the fastest-running one first
//     4      type, see tensor/blocks.c
//     8      offset of the values from the beginning of the data, a multiple of the alignment
//   padding to the next multiple of the alignment: key general.alignment, else 32
//   data
//
// Bytes from the file are trusted nowhere: counts are compared with the bytes left before anything is
// allocated for them, and tables grow with what has been read.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cursor.h"
#include "formats/gguf_inside.h"

#define LONGEST_NAME      65535 // of keys, as the format says; of tensors too
#define SMALLEST_KEY      14    // bytes that any key takes: length, one letter, kind, one byte of value
#define SMALLEST_TENSOR   25    // length, one letter, rank, type, offset
#define DEFAULT_ALIGNMENT 32

typedef struct reader {
    hone_gguf *gguf;
    hone_cursor cursor;
    const char *file; // its name
    uint64_t tensor_count;
    uint64_t entry_count;
} reader;

// --- names
// -----------------------------------------------------------------------------------------------------------

static int compare_entries(const void *a, const void *b) {
    return hone_gguf_compare_strings(&(*(const hone_gguf_entry *const *)a)->key,
                                     &(*(const hone_gguf_entry *const *)b)->key);
}

static int compare_tensors(const void *a, const void *b) {
    return hone_gguf_compare_strings(&(*(const hone_gguf_tensor *const *)a)->name,
                                     &(*(const hone_gguf_tensor *const *)b)->name);
}

static int compare_offsets(const void *a, const void *b) {
    const hone_gguf_tensor *const one = *(const hone_gguf_tensor *const *)a;
    const hone_gguf_tensor *const other = *(const hone_gguf_tensor *const *)b;
    if (one->offset != other->offset) return one->offset < other->offset ? -1 : 1;
    return one->bytes < other->bytes ? -1 : one->bytes > other->bytes;
}

static hone_status sort_entries(const reader *in, hone_error *error) {
    const hone_gguf *const gguf = in->gguf;
    const size_t count = gguf->entry_count;
    HONE_TRY(HONE_NEW_ARRAY(&gguf->private_->by_key, count, "the index of keys", error));
    const hone_gguf_entry **const sorted = gguf->private_->by_key;
    for (size_t i = 0; i < count; i++) sorted[i] = &gguf->entries[i];
    qsort(sorted, count, sizeof *sorted, compare_entries);
    for (size_t i = 1; i < count; i++) {
        HONE_FAIL_IF(hone_gguf_compare_strings(&sorted[i - 1]->key, &sorted[i]->key) == 0, error, BAD_FORMAT,
                     "'%s': the key '%s' appears twice", in->file, sorted[i]->key.bytes);
    }
    return HONE_OK;
}

static hone_status sort_tensors(const reader *in, hone_error *error) {
    const hone_gguf *const gguf = in->gguf;
    const size_t count = gguf->tensor_count;
    HONE_TRY(HONE_NEW_ARRAY(&gguf->private_->by_name, count, "the index of tensors", error));
    const hone_gguf_tensor **const sorted = gguf->private_->by_name;
    for (size_t i = 0; i < count; i++) sorted[i] = &gguf->tensors[i];
    qsort(sorted, count, sizeof *sorted, compare_tensors);
    for (size_t i = 1; i < count; i++) {
        HONE_FAIL_IF(hone_gguf_compare_strings(&sorted[i - 1]->name, &sorted[i]->name) == 0, error, BAD_FORMAT,
                     "'%s': the tensor '%s' appears twice", in->file, sorted[i]->name.bytes);
    }
    return HONE_OK;
}

// --- metadata
// --------------------------------------------------------------------------------------------------------

static hone_status read_string(reader *in, hone_gguf_string *out, hone_error *error) {
    uint64_t length = 0;
    HONE_TRY(hone_cursor_u64(&in->cursor, &length, error));
    HONE_TRY(hone_cursor_need(&in->cursor, length, error)); // before any memory is asked for
    char *bytes = NULL;
    HONE_TRY(hone_arena_allocate(&in->gguf->private_->arena, (size_t)length + 1, 1, (void **)&bytes, error));
    HONE_TRY(hone_cursor_bytes(&in->cursor, bytes, (size_t)length, error));
    *out = (hone_gguf_string){.bytes = bytes, .length = (size_t)length};
    return HONE_OK;
}

// A key's or a tensor's name: `what` says whose.
static hone_status read_name(reader *in, const char *what, hone_gguf_string *out, hone_error *error) {
    in->cursor.place = what;
    in->cursor.subject = NULL;
    const uint64_t begin = in->cursor.position;
    uint64_t length = 0;
    HONE_TRY(hone_cursor_u64(&in->cursor, &length, error));
    HONE_FAIL_IF(length == 0 || length > LONGEST_NAME, error, BAD_FORMAT,
                 "'%s': %s at byte %" PRIu64 " has %" PRIu64 " bytes; 1 to %d are allowed", in->file, what, begin,
                 length, LONGEST_NAME);
    hone_cursor_seek(&in->cursor, begin);
    HONE_TRY(read_string(in, out, error));
    HONE_FAIL_IF(memchr(out->bytes, 0, out->length), error, BAD_FORMAT,
                 "'%s': %s at byte %" PRIu64 " has a zero byte in it", in->file, what, begin);
    return HONE_OK;
}

// First the lengths alone, so that all bytes go into one piece of memory of the right size, then the strings.
static hone_status read_string_array(reader *in, hone_gguf_entry *entry, hone_error *error) {
    const uint64_t begin = in->cursor.position;
    uint64_t total = 0;
    for (uint64_t i = 0; i < entry->count; i++) {
        uint64_t length = 0;
        HONE_TRY(hone_cursor_u64(&in->cursor, &length, error));
        HONE_TRY(hone_cursor_skip(&in->cursor, length, error));
        total += length + 1; // cannot overflow: the lengths together are below the file's size
    }
    hone_cursor_seek(&in->cursor, begin);
    hone_gguf_string *strings = NULL;
    char *bytes = NULL;
    HONE_TRY(HONE_ARENA_ARRAY(&in->gguf->private_->arena, &strings, (size_t)entry->count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&in->gguf->private_->arena, &bytes, (size_t)total, error));
    for (uint64_t i = 0; i < entry->count; i++) {
        uint64_t length = 0;
        HONE_TRY(hone_cursor_u64(&in->cursor, &length, error));
        HONE_FAIL_IF(length >= total, error, IO, "'%s' changed while it was read", in->file);
        HONE_TRY(hone_cursor_bytes(&in->cursor, bytes, (size_t)length, error));
        strings[i] = (hone_gguf_string){.bytes = bytes, .length = (size_t)length};
        bytes += length + 1;
        total -= length + 1;
    }
    entry->elements = strings;
    return HONE_OK;
}

static hone_status read_array(reader *in, hone_gguf_entry *entry, hone_error *error) {
    uint32_t kind = 0;
    HONE_TRY(hone_cursor_u32(&in->cursor, &kind, error));
    HONE_TRY(hone_cursor_u64(&in->cursor, &entry->count, error));
    HONE_FAIL_IF(kind == HONE_GGUF_ARRAY, error, UNSUPPORTED,
                 "'%s': key '%s' is an array of arrays, which hone does not read", in->file, entry->key.bytes);
    HONE_FAIL_IF(kind > HONE_GGUF_F64, error, BAD_FORMAT, "'%s': key '%s' is an array of the unknown kind %" PRIu32,
                 in->file, entry->key.bytes, kind);
    entry->element_kind = (hone_gguf_kind)kind;
    const size_t element_bytes = kind == HONE_GGUF_STRING ? 8 : hone_gguf_kind_bytes(entry->element_kind);
    const uint64_t left = hone_cursor_left(&in->cursor);
    HONE_FAIL_IF(entry->count > left / element_bytes, error, BAD_FORMAT,
                 "'%s' ends at byte %" PRIu64 ", but the %" PRIu64 " elements of key '%s' do not fit into the %" PRIu64
                 " bytes left: the file is cut or damaged; fetch it again",
                 in->file, in->cursor.source->size, entry->count, entry->key.bytes, left);
    if (kind == HONE_GGUF_STRING) return read_string_array(in, entry, error);
    const size_t bytes = (size_t)entry->count * element_bytes;
    uint8_t *elements = NULL;
    HONE_TRY(HONE_ARENA_ARRAY(&in->gguf->private_->arena, &elements, bytes, error));
    HONE_TRY(hone_cursor_bytes(&in->cursor, elements, bytes, error));
    if (kind == HONE_GGUF_BOOL) {
        for (size_t i = 0; i < bytes; i++) elements[i] = elements[i] != 0;
    }
    entry->elements = elements;
    return HONE_OK;
}

static int64_t sign_extend(uint64_t value, size_t bytes) {
    const unsigned unused = (unsigned)(64 - 8 * bytes);
    return (int64_t)(value << unused) >> unused;
}

static hone_status read_number(reader *in, hone_gguf_entry *entry, hone_error *error) {
    const size_t bytes = hone_gguf_kind_bytes(entry->kind);
    uint64_t raw = 0;
    HONE_TRY(hone_cursor_bytes(&in->cursor, &raw, bytes, error));
    float single = 0;
    switch (entry->kind) {
    case HONE_GGUF_F32:
        memcpy(&single, &raw, sizeof single);
        entry->real = (double)single;
        break;
    case HONE_GGUF_F64:
        memcpy(&entry->real, &raw, sizeof entry->real);
        break;
    case HONE_GGUF_I8:
    case HONE_GGUF_I16:
    case HONE_GGUF_I32:
    case HONE_GGUF_I64:
        entry->signed_integer = sign_extend(raw, bytes);
        break;
    case HONE_GGUF_BOOL:
        entry->unsigned_integer = raw != 0;
        break;
    default:
        entry->unsigned_integer = raw;
        break;
    }
    return HONE_OK;
}

static hone_status read_entry(reader *in, hone_gguf_entry *entry, hone_error *error) {
    HONE_TRY(read_name(in, "the name of a key", &entry->key, error));
    in->cursor.place = "the value of key";
    in->cursor.subject = entry->key.bytes;
    uint32_t kind = 0;
    HONE_TRY(hone_cursor_u32(&in->cursor, &kind, error));
    HONE_FAIL_IF(kind > HONE_GGUF_F64, error, BAD_FORMAT, "'%s': key '%s' has a value of the unknown kind %" PRIu32,
                 in->file, entry->key.bytes, kind);
    entry->kind = entry->element_kind = (hone_gguf_kind)kind;
    entry->count = 1;
    if (kind == HONE_GGUF_ARRAY) return read_array(in, entry, error);
    if (kind == HONE_GGUF_STRING) return read_string(in, &entry->string, error);
    return read_number(in, entry, error);
}

// --- tensors
// ---------------------------------------------------------------------------------------------------------

// Sets dims and bytes, all products checked.
static hone_status size_tensor(const reader *in, const uint64_t *ne, hone_gguf_tensor *tensor, hone_error *error) {
    const char *const name = tensor->name.bytes;
    uint64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++) {
        // Zeros count as one here, so that they cannot hide an overflow among the other dimensions.
        const uint64_t factor = ne[i] == 0 ? 1 : ne[i];
        HONE_FAIL_IF(factor > (uint64_t)INT64_MAX / elements, error, BAD_FORMAT,
                     "'%s': tensor '%s' has dimensions whose product leaves 63 bits", in->file, name);
        elements *= factor;
        tensor->dims[tensor->rank - 1 - i] = (int64_t)ne[i];
    }
    const hone_block_layout *const layout = hone_block_find(tensor->type);
    if (!layout) return HONE_OK;
    const uint64_t columns = tensor->rank > 0 ? ne[0] : 1;
    HONE_FAIL_IF(columns % (uint64_t)layout->elements != 0, error, BAD_FORMAT,
                 "'%s': tensor '%s' has rows of %" PRIu64 " values, but %s has blocks of %d", in->file, name, columns,
                 layout->name, layout->elements);
    const uint64_t blocks = elements / (uint64_t)layout->elements;
    HONE_FAIL_IF(blocks > (uint64_t)INT64_MAX / (uint64_t)layout->bytes, error, BAD_FORMAT,
                 "'%s': tensor '%s' has dimensions whose size leaves 63 bits", in->file, name);
    tensor->bytes = blocks * (uint64_t)layout->bytes;
    for (int i = 0; i < tensor->rank; i++) {
        if (ne[i] == 0) tensor->bytes = 0;
    }
    return HONE_OK;
}

static hone_status read_tensor(reader *in, hone_gguf_tensor *tensor, hone_error *error) {
    HONE_TRY(read_name(in, "the name of a tensor", &tensor->name, error));
    in->cursor.place = "the description of tensor";
    in->cursor.subject = tensor->name.bytes;
    uint32_t rank = 0;
    HONE_TRY(hone_cursor_u32(&in->cursor, &rank, error));
    HONE_FAIL_IF(rank > 4, error, BAD_FORMAT, "'%s': tensor '%s' has %" PRIu32 " dimensions; at most 4 are allowed",
                 in->file, tensor->name.bytes, rank);
    tensor->rank = (int)rank;
    uint64_t ne[4] = {0};
    for (uint32_t i = 0; i < rank; i++) HONE_TRY(hone_cursor_u64(&in->cursor, &ne[i], error));
    HONE_TRY(hone_cursor_u32(&in->cursor, &tensor->type, error));
    HONE_TRY(hone_cursor_u64(&in->cursor, &tensor->offset, error));
    HONE_FAIL_IF(tensor->offset % in->gguf->alignment != 0, error, BAD_FORMAT,
                 "'%s': tensor '%s' has the offset %" PRIu64 ", no multiple of the alignment %" PRIu64, in->file,
                 tensor->name.bytes, tensor->offset, in->gguf->alignment);
    return size_tensor(in, ne, tensor, error);
}

// Offsets become those of the file, and must lie in it.
static hone_status place_tensors(const reader *in, hone_error *error) {
    hone_gguf *const gguf = in->gguf;
    const uint64_t size = in->cursor.source->size;
    const uint64_t begin = (in->cursor.position + gguf->alignment - 1) & ~(gguf->alignment - 1);
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        hone_gguf_tensor *const tensor = &gguf->tensors[i];
        HONE_FAIL_IF(tensor->offset > INT64_MAX - begin || tensor->bytes > INT64_MAX - begin - tensor->offset, error,
                     BAD_FORMAT, "'%s': tensor '%s' has the impossible offset %" PRIu64, in->file, tensor->name.bytes,
                     tensor->offset);
        tensor->offset += begin;
        HONE_FAIL_IF(tensor->offset + tensor->bytes > size, error, BAD_FORMAT,
                     "'%s' ends at byte %" PRIu64 ", but tensor '%s' needs bytes to %" PRIu64
                     ": the file is cut; fetch it again",
                     in->file, size, tensor->name.bytes, tensor->offset + tensor->bytes);
    }
    return HONE_OK;
}

static hone_status check_overlaps(const reader *in, hone_error *error) {
    const hone_gguf *const gguf = in->gguf;
    const hone_gguf_tensor **sorted = NULL;
    HONE_TRY(HONE_NEW_ARRAY(&sorted, gguf->tensor_count, "the order of tensors", error));
    for (size_t i = 0; i < gguf->tensor_count; i++) sorted[i] = &gguf->tensors[i];
    qsort(sorted, gguf->tensor_count, sizeof *sorted, compare_offsets);
    hone_status status = HONE_OK;
    for (size_t i = 1; i < gguf->tensor_count && status == HONE_OK; i++) {
        if (sorted[i - 1]->offset + sorted[i - 1]->bytes <= sorted[i]->offset) continue;
        if (sorted[i]->bytes == 0) continue; // of a type whose size is not known, or empty
        status = hone_error_set(error, HONE_BAD_FORMAT, "'%s': the bytes of tensors '%s' and '%s' overlap", in->file,
                                sorted[i - 1]->name.bytes, sorted[i]->name.bytes);
    }
    hone_free(sorted);
    return status;
}

// --- the whole
// -------------------------------------------------------------------------------------------------------

static hone_status read_magic(reader *in, hone_error *error) {
    uint8_t magic[4] = {0};
    const uint64_t size = in->cursor.source->size;
    HONE_FAIL_IF(size == 0, error, BAD_FORMAT, "'%s' is not a GGUF file: it is empty", in->file);
    HONE_TRY(hone_cursor_bytes(&in->cursor, magic, size < 4 ? (size_t)size : 4, error));
    if (memcmp(magic, "GGUF", 4) == 0) return HONE_OK;
    // A file of text is more often a saved web page or a pointer of git-lfs than anything else.
    char shown[5] = {0};
    bool text = true;
    for (int i = 0; i < 4; i++) {
        shown[i] = (char)magic[i];
        text = text && magic[i] >= 32 && magic[i] < 127;
    }
    HONE_FAIL_IF(text, error, BAD_FORMAT, "'%s' is not a GGUF file: it begins with \"%s\"%s", in->file, shown,
                 strcmp(shown, "vers") == 0 ? "; it looks like a git-lfs pointer, not the file itself" : "");
    HONE_FAIL(error, BAD_FORMAT, "'%s' is not a GGUF file: it begins with the bytes %02x %02x %02x %02x", in->file,
              magic[0], magic[1], magic[2], magic[3]);
}

static hone_status read_header(reader *in, hone_error *error) {
    HONE_TRY(read_magic(in, error));
    uint32_t version = 0;
    HONE_TRY(hone_cursor_u32(&in->cursor, &version, error));
    HONE_FAIL_IF(version != 0 && (version & 0xFFFF) == 0, error, UNSUPPORTED,
                 "'%s' is a big-endian GGUF file; hone reads little-endian ones", in->file);
    HONE_FAIL_IF(version != 2 && version != 3, error, UNSUPPORTED,
                 "'%s' is GGUF version %" PRIu32 "; hone reads versions 2 and 3%s", in->file, version,
                 version == 1 ? ", and llama.cpp's tools convert to them" : "");
    in->gguf->version = version;
    HONE_TRY(hone_cursor_u64(&in->cursor, &in->tensor_count, error));
    HONE_TRY(hone_cursor_u64(&in->cursor, &in->entry_count, error));
    const uint64_t left = hone_cursor_left(&in->cursor);
    HONE_FAIL_IF(in->entry_count > left / SMALLEST_KEY || in->tensor_count > left / SMALLEST_TENSOR, error, BAD_FORMAT,
                 "'%s' ends at byte %" PRIu64 ", too early for the %" PRIu64 " keys and %" PRIu64
                 " tensors it promises: the file is cut or damaged; fetch it again",
                 in->file, in->cursor.source->size, in->entry_count, in->tensor_count);
    return HONE_OK;
}

static hone_status read_alignment(reader *in, hone_error *error) {
    in->gguf->alignment = DEFAULT_ALIGNMENT;
    if (!hone_gguf_find(in->gguf, "general.alignment")) return HONE_OK;
    int64_t alignment = 0;
    HONE_TRY(hone_gguf_integer(in->gguf, "general.alignment", &alignment, error));
    HONE_FAIL_IF(alignment < 8 || alignment > UINT32_MAX || (alignment & (alignment - 1)) != 0, error, BAD_FORMAT,
                 "'%s': general.alignment is %" PRId64 ", no power of two from 8 on", in->file, alignment);
    in->gguf->alignment = (uint64_t)alignment;
    return HONE_OK;
}

static hone_status read_all(reader *in, hone_error *error) {
    hone_gguf *const gguf = in->gguf;
    HONE_TRY(read_header(in, error));
    for (uint64_t i = 0; i < in->entry_count; i++) {
        HONE_TRY(HONE_GROW(&gguf->entries, &gguf->private_->entry_capacity, gguf->entry_count + 1, "the keys", error));
        HONE_TRY(read_entry(in, &gguf->entries[gguf->entry_count], error));
        gguf->entry_count++;
    }
    HONE_TRY(sort_entries(in, error));
    HONE_TRY(read_alignment(in, error));
    for (uint64_t i = 0; i < in->tensor_count; i++) {
        HONE_TRY(HONE_GROW(&gguf->tensors, &gguf->private_->tensor_capacity, gguf->tensor_count + 1, "the tensor table",
                           error));
        HONE_TRY(read_tensor(in, &gguf->tensors[gguf->tensor_count], error));
        gguf->tensor_count++;
    }
    HONE_TRY(sort_tensors(in, error));
    HONE_TRY(place_tensors(in, error));
    return check_overlaps(in, error);
}

hone_status hone_gguf_read(hone_source *source, hone_gguf **out, hone_error *error) {
    *out = NULL;
    reader in = {.file = source->name};
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(HONE_NEW(&in.gguf, "a GGUF file", error), done);
    in.gguf->source = source; // from here on messages can name the file; given back below if reading fails
    HONE_TRY_GOTO(HONE_NEW(&in.gguf->private_, "a GGUF file", error), done);
    HONE_TRY_GOTO(hone_cursor_open(&in.cursor, source, error), done);
    HONE_TRY_GOTO(read_all(&in, error), done);
    *out = in.gguf;
done:
    hone_cursor_close(&in.cursor);
    if (status != HONE_OK && in.gguf) {
        in.gguf->source = NULL;
        hone_gguf_close(in.gguf);
    }
    return status;
}

hone_status hone_gguf_open(const char *path, hone_gguf **out, hone_error *error) {
    *out = NULL;
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_gguf_read(source, out, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

void hone_gguf_close(hone_gguf *gguf) {
    if (!gguf) return;
    hone_source_close(&gguf->source);
    if (gguf->private_) {
        hone_arena_clear(&gguf->private_->arena);
        hone_free(gguf->private_->by_key);
        hone_free(gguf->private_->by_name);
        hone_free(gguf->private_);
    }
    hone_free(gguf->entries);
    hone_free(gguf->tensors);
    hone_free(gguf);
}
