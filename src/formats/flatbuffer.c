// SPDX-License-Identifier: Apache-2.0
// Reads FlatBuffers. The layout, little endian; offsets are relative to the place where they are stored:
//
//   OFFSET  what
//   0       u32 offset of the root table
//   4       4 bytes that name the schema
//
//   table   i32 distance back to its list of fields (may be negative: lists are shared and may lie behind), then the
//           values of the fields
//   fields  u16 bytes of this list, u16 bytes of the table, then for each field u16 offset from the table's begin;
//           0, or a list that ends before: the field is absent and has its default
//   vector  u32 count, then the elements; tables and strings as u32 offsets
//   string  u32 length, the bytes, a NUL that is not counted
//   union   two fields: u8 kind (0 = none), then an offset to the table
#include "formats/flatbuffer.h"

#include <inttypes.h>
#include <string.h>

#include "formats/cursor.h"

#define LARGEST      INT32_MAX // offsets are signed in tables: the format's own limit
#define LONGEST_TEXT (64 << 10)

static void fail(hone_flat *flat, uint64_t at, const char *why) {
    if (flat->failure.status != HONE_OK) return;
    if (flat->what) {
        hone_error_set(&flat->failure, HONE_BAD_FORMAT,
                       "'%s': %s %" PRIu32 ": %s (byte %" PRIu64 "): the file is cut or damaged", flat->file,
                       flat->what, flat->which, why, flat->place + at);
    } else {
        hone_error_set(&flat->failure, HONE_BAD_FORMAT, "'%s': %s (byte %" PRIu64 "): the file is cut or damaged",
                       flat->file, why, flat->place + at);
    }
}

static bool failed(const hone_flat *flat) {
    return flat->failure.status != HONE_OK;
}

static bool inside(const hone_flat *flat, uint64_t at, uint64_t bytes) {
    return at <= flat->size && bytes <= flat->size - at;
}

static uint16_t load_u16(const hone_flat *flat, uint32_t at) {
    uint16_t value;
    memcpy(&value, flat->bytes + at, sizeof value);
    return value;
}

static uint32_t load_u32(const hone_flat *flat, uint32_t at) {
    uint32_t value;
    memcpy(&value, flat->bytes + at, sizeof value);
    return value;
}

hone_status hone_flat_open(hone_flat *flat, const void *bytes, size_t size, const char *identifier, const char *file,
                           uint64_t place, hone_error *error) {
    *flat = (hone_flat){.bytes = bytes, .file = file, .place = place};
    HONE_FAIL_IF(size > LARGEST, error, BAD_FORMAT, "'%s': a description of %zu bytes; at most %" PRId32 " are read",
                 file, size, (int32_t)LARGEST);
    HONE_FAIL_IF(size < 8, error, BAD_FORMAT,
                 "'%s' ends at byte %" PRIu64 ", before the description begins: the file is cut or damaged", file,
                 place + size);
    HONE_FAIL_IF(memcmp(flat->bytes + 4, identifier, 4) != 0, error, BAD_FORMAT,
                 "'%s': \"%s\" was expected at byte %" PRIu64 ", but %02x %02x %02x %02x stand there", file, identifier,
                 place + 4, flat->bytes[4], flat->bytes[5], flat->bytes[6], flat->bytes[7]);
    flat->size = (uint32_t)size;
    return HONE_OK;
}

hone_status hone_flat_status(const hone_flat *flat, hone_error *error) {
    if (failed(flat) && error) *error = flat->failure;
    return flat->failure.status;
}

void hone_flat_note(hone_flat *flat, const char *what, uint32_t which) {
    flat->what = what;
    flat->which = which;
}

// --- tables ---------------------------------------------------------------------------------------------------------

static hone_flat_table table_at(hone_flat *flat, uint64_t at) {
    const hone_flat_table none = {0};
    if (failed(flat)) return none;
    if (at == 0 || !inside(flat, at, 4)) {
        fail(flat, at, "a table lies outside");
        return none;
    }
    const int64_t fields = (int64_t)at - (int32_t)load_u32(flat, (uint32_t)at);
    if (fields < 0 || !inside(flat, (uint64_t)fields, 4)) {
        fail(flat, at, "a table's list of fields lies outside");
        return none;
    }
    const uint16_t list_bytes = load_u16(flat, (uint32_t)fields);
    const uint16_t table_bytes = load_u16(flat, (uint32_t)fields + 2);
    if (list_bytes < 4 || list_bytes % 2 != 0 || !inside(flat, (uint64_t)fields, list_bytes) || table_bytes < 4 ||
        !inside(flat, at, table_bytes)) {
        fail(flat, at, "a table has impossible sizes");
        return none;
    }
    return (hone_flat_table){.at = (uint32_t)at,
                             .fields = (uint32_t)fields + 4,
                             .field_count = (uint16_t)(list_bytes / 2 - 2),
                             .bytes = table_bytes};
}

hone_flat_table hone_flat_root(hone_flat *flat) {
    return table_at(flat, load_u32(flat, 0));
}

// Where the field's `width` bytes are; 0 if it is absent.
static uint32_t field_at(hone_flat *flat, hone_flat_table table, int id, uint32_t width) {
    if (failed(flat) || table.at == 0 || id >= table.field_count) return 0;
    const uint32_t offset = load_u16(flat, table.fields + 2 * (uint32_t)id);
    if (offset == 0) return 0;
    if (offset < 4 || offset + width > table.bytes) {
        fail(flat, table.at, "a field lies outside of its table");
        return 0;
    }
    return table.at + offset;
}

uint32_t hone_flat_place(hone_flat *flat, hone_flat_table table, int id, uint32_t width) {
    return field_at(flat, table, id, width);
}

#define DEFINE_SCALAR(name, type)                                                                                      \
    type hone_flat_##name(hone_flat *flat, hone_flat_table table, int id, type otherwise) {                            \
        const uint32_t at = field_at(flat, table, id, sizeof(type));                                                   \
        if (at == 0) return otherwise;                                                                                 \
        type value;                                                                                                    \
        memcpy(&value, flat->bytes + at, sizeof value);                                                                \
        return value;                                                                                                  \
    }
DEFINE_SCALAR(u8, uint8_t)
DEFINE_SCALAR(i8, int8_t)
DEFINE_SCALAR(u32, uint32_t)
DEFINE_SCALAR(i32, int32_t)
DEFINE_SCALAR(u64, uint64_t)
DEFINE_SCALAR(i64, int64_t)
DEFINE_SCALAR(f64, double)

// --- what lies elsewhere --------------------------------------------------------------------------------------------

// Where an offset field points to; 0 if it is absent. The target may still lie outside.
static uint64_t target_of(hone_flat *flat, hone_flat_table table, int id) {
    const uint32_t at = field_at(flat, table, id, 4);
    return at == 0 ? 0 : (uint64_t)at + load_u32(flat, at);
}

hone_flat_table hone_flat_child(hone_flat *flat, hone_flat_table table, int id) {
    const uint64_t at = target_of(flat, table, id);
    return at == 0 ? (hone_flat_table){0} : table_at(flat, at);
}

// The count in front of a vector or string whose `element`s must fit.
static bool count_at(hone_flat *flat, uint64_t at, uint32_t element, hone_flat_vector *out) {
    if (!inside(flat, at, 4)) {
        fail(flat, at, "a list lies outside");
        return false;
    }
    const uint32_t count = load_u32(flat, (uint32_t)at);
    if (!inside(flat, at + 4, (uint64_t)count * element)) {
        fail(flat, at, "a list has more elements than bytes are left");
        return false;
    }
    *out = (hone_flat_vector){(uint32_t)at + 4, count};
    return true;
}

hone_flat_vector hone_flat_list(hone_flat *flat, hone_flat_table table, int id, uint32_t element) {
    hone_flat_vector vector = {0};
    const uint64_t at = target_of(flat, table, id);
    if (at == 0 || !count_at(flat, at, element, &vector)) return (hone_flat_vector){0};
    return vector;
}

hone_flat_string hone_flat_text(hone_flat *flat, hone_flat_table table, int id) {
    const hone_flat_string none = {"", 0};
    hone_flat_vector bytes;
    const uint64_t at = target_of(flat, table, id);
    if (at == 0 || !count_at(flat, at, 1, &bytes)) return none;
    // Many tables may name one string, and each look at it reads all of it.
    if (bytes.count > LONGEST_TEXT) {
        fail(flat, at, "a string is longer than any name");
        return none;
    }
    if (!inside(flat, (uint64_t)bytes.at + bytes.count, 1) || flat->bytes[bytes.at + bytes.count] != 0 ||
        memchr(flat->bytes + bytes.at, 0, bytes.count)) {
        fail(flat, at, "a string does not end where it says");
        return none;
    }
    return (hone_flat_string){(const char *)flat->bytes + bytes.at, bytes.count};
}

hone_flat_table hone_flat_table_at(hone_flat *flat, hone_flat_vector vector, uint32_t index) {
    if (failed(flat)) return (hone_flat_table){0};
    const uint32_t at = vector.at + 4 * index;
    return table_at(flat, (uint64_t)at + load_u32(flat, at));
}

#define DEFINE_ELEMENT(name, type)                                                                                     \
    type hone_flat_##name##_at(const hone_flat *flat, hone_flat_vector vector, uint32_t index) {                       \
        type value;                                                                                                    \
        memcpy(&value, flat->bytes + vector.at + index * sizeof value, sizeof value);                                  \
        return value;                                                                                                  \
    }
DEFINE_ELEMENT(u8, uint8_t)
DEFINE_ELEMENT(u32, uint32_t)
DEFINE_ELEMENT(i32, int32_t)
DEFINE_ELEMENT(u64, uint64_t)
DEFINE_ELEMENT(i64, int64_t)
DEFINE_ELEMENT(f64, double)
