// SPDX-License-Identifier: Apache-2.0
// Cutting a file into rows: lines, or the elements of one array. Only the row at hand is in memory.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/dataset_inside.h"

#define READ_BYTES ((size_t)1 << 20)
#define KEPT_FIXED ((size_t)1 << 20)

// --- places in messages ----------------------------------------------------------------------------------------------

static void find_place(const hone_raw_row *row, size_t offset, uint64_t *line, uint64_t *column) {
    *line = row->line;
    *column = row->column;
    for (size_t i = 0; i < offset && i < row->length; i++) {
        const unsigned char byte = (unsigned char)row->bytes[i];
        if (byte == '\n') {
            ++*line;
            *column = 1;
        } else if ((byte & 0xC0) != 0x80) { // the first byte of a character
            ++*column;
        }
    }
}

void hone_row_prefix(const hone_raw_row *row, size_t offset, hone_error *error) {
    uint64_t line = 0;
    uint64_t column = 0;
    find_place(row, offset, &line, &column);
    hone_error_prefix(error, "%s, line %" PRIu64 ", column %" PRIu64, row->name, line, column);
}

hone_status hone_row_fail(const hone_raw_row *row, size_t offset, hone_error *error, const char *format, ...) {
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const hone_status status = hone_error_set(error, HONE_BAD_DATA, "%s", text);
    hone_row_prefix(row, offset, error);
    return status;
}

// --- invalid UTF-8 ---------------------------------------------------------------------------------------------------

// Bytes at `bytes` that make one replacement: the longest beginning of a character, at least 1.
static size_t invalid_length(const char *bytes, size_t length) {
    const unsigned char *const b = (const unsigned char *)bytes;
    const size_t n = b[0] >= 0xF0 && b[0] <= 0xF4  ? 4
                     : b[0] >= 0xE0 && b[0] < 0xF0 ? 3
                     : b[0] >= 0xC2 && b[0] < 0xE0 ? 2
                                                   : 1;
    size_t taken = 1;
    for (; taken < n - 1 && taken < length && (b[taken] & 0xC0) == 0x80; taken++) {
        if (taken > 1) continue;
        // Of overlong forms, surrogates and what is beyond U+10FFFF the second byte is wrong already.
        const bool wrong = (b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xED && b[1] >= 0xA0) ||
                           (b[0] == 0xF0 && b[1] < 0x90) || (b[0] == 0xF4 && b[1] >= 0x90);
        if (wrong) break;
    }
    return taken;
}

void hone_replace_invalid(const char *bytes, size_t length, hone_text *out, uint64_t *replaced) {
    size_t plain = 0;
    for (size_t i = 0; i < length;) {
        const size_t n = (unsigned char)bytes[i] < 0x80 ? 1 : hone_utf8_length(bytes + i, length - i, NULL);
        if (n > 0) {
            i += n;
            continue;
        }
        hone_text_append(out, bytes + plain, i - plain);
        hone_text_append(out, "\xEF\xBF\xBD", 3);
        ++*replaced;
        i += invalid_length(bytes + i, length - i);
        plain = i;
    }
    hone_text_append(out, bytes + plain, length - plain);
}

// --- the buffer ------------------------------------------------------------------------------------------------------

// Reads more behind buffer[end); *more is false at the end of the file. Moves what is not used up to the front.
static hone_status fill(hone_row_reader *reader, bool *more, hone_error *error) {
    const uint64_t left = reader->source->size - reader->offset;
    *more = left > 0;
    if (left == 0) return HONE_OK;
    const size_t wanted = left < READ_BYTES ? (size_t)left : READ_BYTES;
    if (reader->begin > 0 && reader->capacity - reader->end < wanted) {
        memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    HONE_TRY(HONE_GROW(&reader->buffer, &reader->capacity, reader->end + wanted, "a row of the data", error));
    HONE_TRY(hone_source_read(reader->source, reader->offset, reader->buffer + reader->end, wanted, "the data", error));
    reader->end += wanted;
    reader->offset += wanted;
    return HONE_OK;
}

// A row without text, for messages about what stands at the reader's place.
static hone_raw_row here(const hone_row_reader *reader) {
    return (hone_raw_row){.bytes = reader->buffer ? reader->buffer + reader->begin : "",
                          .length = reader->end - reader->begin,
                          .line = reader->line,
                          .column = reader->column,
                          .name = reader->source->name};
}

// The byte at the reader's place, -1 at the end of the file.
static hone_status peek(hone_row_reader *reader, int *byte, hone_error *error) {
    bool more = true;
    if (reader->begin == reader->end) HONE_TRY(fill(reader, &more, error));
    *byte = more ? (unsigned char)reader->buffer[reader->begin] : -1;
    return HONE_OK;
}

// Counts one byte as used up, for lines and columns.
static void step(hone_row_reader *reader, char byte) {
    if (byte == '\n') {
        reader->line++;
        reader->column = 1;
    } else if (((unsigned char)byte & 0xC0) != 0x80) {
        reader->column++;
    }
}

static bool is_space(int byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// Skips white space; *byte is what follows, -1 at the end.
static hone_status skip_space(hone_row_reader *reader, int *byte, hone_error *error) {
    for (;;) {
        HONE_TRY(peek(reader, byte, error));
        if (!is_space(*byte)) return HONE_OK;
        step(reader, (char)*byte);
        reader->begin++;
    }
}

// --- rows ------------------------------------------------------------------------------------------------------------

// Byte-order marks, and whether this is an array. Lines keep their leading blanks: columns count them.
static hone_status start(hone_row_reader *reader, hone_error *error) {
    reader->started = true;
    reader->line = reader->column = 1;
    bool more = false;
    HONE_TRY(fill(reader, &more, error));
    const size_t length = reader->end - reader->begin;
    const unsigned char *const b = (const unsigned char *)reader->buffer;
    if (length >= 2 && ((b[0] == 0xFF && b[1] == 0xFE) || (b[0] == 0xFE && b[1] == 0xFF))) {
        const hone_raw_row row = here(reader);
        return hone_row_fail(&row, 0, error, "the file is UTF-16; save it as UTF-8");
    }
    if (length >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF) reader->begin = 3;
    size_t at = reader->begin;
    while (at < reader->end && is_space((unsigned char)reader->buffer[at])) at++;
    if (at == reader->end || reader->buffer[at] != '[') return HONE_OK;
    reader->array = true;
    int byte = 0;
    HONE_TRY(skip_space(reader, &byte, error));
    step(reader, '[');
    reader->begin++;
    return HONE_OK;
}

static hone_status next_line(hone_row_reader *reader, hone_raw_row *row, bool *found, hone_error *error) {
    *found = false;
    while (!*found) {
        size_t searched = 0; // bytes of the line known to hold no line end
        bool more = true;
        const char *line_end = NULL;
        while (!line_end && more) {
            const size_t from = reader->begin + searched;
            if (reader->end > from) line_end = memchr(reader->buffer + from, '\n', reader->end - from);
            searched = reader->end - reader->begin;
            if (!line_end) HONE_TRY(fill(reader, &more, error));
        }
        *row = here(reader);
        const size_t length = line_end ? (size_t)(line_end - row->bytes) : row->length;
        if (length == 0 && !line_end) return HONE_OK;
        row->length = length > 0 && row->bytes[length - 1] == '\r' ? length - 1 : length;
        for (size_t i = 0; i < row->length && !*found; i++) *found = !is_space((unsigned char)row->bytes[i]);
        reader->begin += length + (line_end ? 1 : 0);
        reader->line++;
        row->last = !line_end;
    }
    return HONE_OK;
}

// Takes the object that begins at the reader's place, to the bracket that closes it or to the end of the file.
static hone_status take_element(hone_row_reader *reader, hone_raw_row *row, hone_error *error) {
    const uint64_t line = reader->line;
    const uint64_t column = reader->column;
    size_t at = 0; // from begin
    size_t depth = 0;
    bool inside_string = false;
    bool escaped = false;
    bool more = true;
    do {
        if (reader->begin + at == reader->end) HONE_TRY(fill(reader, &more, error));
        if (!more) break;
        const char byte = reader->buffer[reader->begin + at++];
        step(reader, byte);
        if (inside_string) {
            if (!escaped && byte == '"') inside_string = false;
            escaped = !escaped && byte == '\\';
        } else if (byte == '"') {
            inside_string = true;
        } else if (byte == '{' || byte == '[') {
            depth++;
        } else if (byte == '}' || byte == ']') {
            depth--;
        }
    } while (depth > 0);
    *row = here(reader);
    row->length = at;
    row->line = line;
    row->column = column;
    row->last = !more;
    reader->begin += at;
    return HONE_OK;
}

// Behind the closing bracket of the array nothing may follow.
static hone_status end_array(hone_row_reader *reader, hone_error *error) {
    step(reader, ']');
    reader->begin++;
    reader->finished = true;
    int byte = 0;
    HONE_TRY(skip_space(reader, &byte, error));
    const hone_raw_row row = here(reader);
    return byte < 0 ? HONE_OK : hone_row_fail(&row, 0, error, "text behind the end of the array; remove it");
}

static hone_status next_element(hone_row_reader *reader, hone_raw_row *row, bool *found, hone_error *error) {
    *found = false;
    int byte = 0;
    HONE_TRY(skip_space(reader, &byte, error));
    if (byte == ']') return end_array(reader, error);
    if (reader->rows > 0 && byte >= 0) {
        const hone_raw_row place = here(reader);
        if (byte != ',')
            return hone_row_fail(&place, 0, error, "a comma or ] is missing between two rows of the array");
        step(reader, ',');
        reader->begin++;
        HONE_TRY(skip_space(reader, &byte, error));
    }
    const hone_raw_row place = here(reader);
    if (byte < 0)
        return hone_row_fail(&place, 0, error,
                             "the file ends inside the array: it was cut off; write it again or close it "
                             "with ]");
    if (byte == ']') return hone_row_fail(&place, 0, error, "a row is missing behind the last comma; remove the comma");
    if (byte != '{' && byte != '/' && byte != '#')
        return hone_row_fail(&place, 0, error, "each row of the array must be an object {...}");
    *found = true;
    if (byte == '{') return take_element(reader, row, error);
    *row = place; // a comment: the checks say so
    return HONE_OK;
}

hone_status hone_row_next(hone_row_reader *reader, hone_raw_row *row, bool *found, hone_error *error) {
    *found = false;
    if (!reader->started) HONE_TRY(start(reader, error));
    if (reader->finished) return HONE_OK;
    HONE_TRY(reader->array ? next_element(reader, row, found, error) : next_line(reader, row, found, error));
    if (!*found) return HONE_OK;
    row->number = ++reader->rows;
    if (!reader->replace_invalid) return HONE_OK;
    if (reader->fixed.capacity > KEPT_FIXED) hone_text_clear(&reader->fixed);
    reader->fixed.length = 0;
    hone_replace_invalid(row->bytes, row->length, &reader->fixed, &reader->replaced);
    row->bytes = reader->fixed.bytes;
    row->length = reader->fixed.length;
    return hone_text_status(&reader->fixed, error);
}

void hone_row_reader_clear(hone_row_reader *reader) {
    hone_free(reader->buffer);
    hone_text_clear(&reader->fixed);
    reader->buffer = NULL;
}
