// SPDX-License-Identifier: Apache-2.0
// A buffered reader over a source, for headers made of many small fields. Every step is checked against the
// end.
#ifndef HONE_FORMATS_CURSOR_H
#define HONE_FORMATS_CURSOR_H

#include "base/file.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the formats are read and written as little endian; this processor is not"
#endif

typedef struct hone_cursor {
    hone_source *source;
    uint64_t position;   // of the next byte in the file
    const char *place;   // what is being read, for messages: "the value of key"
    const char *subject; // its name, or NULL
    uint8_t *buffer;
    uint64_t buffer_begin; // the file's bytes [buffer_begin, buffer_begin + buffer_bytes) are in `buffer`
    size_t buffer_bytes;
} hone_cursor;

HONE_MUST_USE hone_status hone_cursor_open(hone_cursor *cursor, hone_source *source, hone_error *error);
void hone_cursor_close(hone_cursor *cursor);

uint64_t hone_cursor_left(const hone_cursor *cursor);
// HONE_BAD_FORMAT "'x' ends at byte N, inside the value of key 'k': ..." if fewer than n bytes are left.
HONE_MUST_USE hone_status hone_cursor_need(const hone_cursor *cursor, uint64_t n, hone_error *error);
HONE_MUST_USE hone_status hone_cursor_bytes(hone_cursor *cursor, void *out, size_t n, hone_error *error);
HONE_MUST_USE hone_status hone_cursor_u32(hone_cursor *cursor, uint32_t *out, hone_error *error);
HONE_MUST_USE hone_status hone_cursor_u64(hone_cursor *cursor, uint64_t *out, hone_error *error);
HONE_MUST_USE hone_status hone_cursor_skip(hone_cursor *cursor, uint64_t n, hone_error *error);
void hone_cursor_seek(hone_cursor *cursor, uint64_t position); // position <= the source's size

#endif
