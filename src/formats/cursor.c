// SPDX-License-Identifier: Apache-2.0
// The buffered reader: small fields come from a window of the file, large ones past it.
#include "formats/cursor.h"

#include <inttypes.h>
#include <string.h>

#define WINDOW_BYTES ((size_t)64 << 10)

hone_status hone_cursor_open(hone_cursor *cursor, hone_source *source, hone_error *error) {
    *cursor = (hone_cursor){.source = source, .place = "the header"};
    return hone_allocate_raw(WINDOW_BYTES, 1, "a window of the file", (void **)&cursor->buffer, error);
}

void hone_cursor_close(hone_cursor *cursor) {
    hone_free(cursor->buffer);
    cursor->buffer = NULL;
}

uint64_t hone_cursor_left(const hone_cursor *cursor) {
    return cursor->source->size - cursor->position;
}

hone_status hone_cursor_need(const hone_cursor *cursor, uint64_t n, hone_error *error) {
    if (n <= hone_cursor_left(cursor)) return HONE_OK;
    const char *const subject = cursor->subject;
    HONE_FAIL(error, BAD_FORMAT,
              "'%s' ends at byte %" PRIu64 ", inside %s%s%s%s, which needs %" PRIu64 " bytes from byte %" PRIu64
              " on: the file is cut or damaged; fetch it again",
              cursor->source->name, cursor->source->size, cursor->place, subject ? " '" : "", subject ? subject : "",
              subject ? "'" : "", n, cursor->position);
}

// Moves the window so that it begins at the position.
static hone_status refill(hone_cursor *cursor, hone_error *error) {
    const uint64_t left = hone_cursor_left(cursor);
    const size_t n = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    cursor->buffer_bytes = 0;
    HONE_TRY(hone_source_read(cursor->source, cursor->position, cursor->buffer, n, cursor->place, error));
    cursor->buffer_begin = cursor->position;
    cursor->buffer_bytes = n;
    return HONE_OK;
}

static bool in_window(const hone_cursor *cursor, size_t n) {
    if (cursor->position < cursor->buffer_begin) return false;
    const uint64_t used = cursor->position - cursor->buffer_begin;
    return used <= cursor->buffer_bytes && n <= cursor->buffer_bytes - used;
}

hone_status hone_cursor_bytes(hone_cursor *cursor, void *out, size_t n, hone_error *error) {
    if (n == 0) return HONE_OK;
    if (!in_window(cursor, n)) {
        HONE_TRY(hone_cursor_need(cursor, n, error));
        if (n > WINDOW_BYTES) {
            HONE_TRY(hone_source_read(cursor->source, cursor->position, out, n, cursor->place, error));
            cursor->position += n;
            return HONE_OK;
        }
        HONE_TRY(refill(cursor, error));
    }
    memcpy(out, cursor->buffer + (cursor->position - cursor->buffer_begin), n);
    cursor->position += n;
    return HONE_OK;
}

hone_status hone_cursor_u32(hone_cursor *cursor, uint32_t *out, hone_error *error) {
    return hone_cursor_bytes(cursor, out, sizeof *out, error);
}

hone_status hone_cursor_u64(hone_cursor *cursor, uint64_t *out, hone_error *error) {
    return hone_cursor_bytes(cursor, out, sizeof *out, error);
}

hone_status hone_cursor_skip(hone_cursor *cursor, uint64_t n, hone_error *error) {
    HONE_TRY(hone_cursor_need(cursor, n, error));
    cursor->position += n;
    return HONE_OK;
}

void hone_cursor_seek(hone_cursor *cursor, uint64_t position) {
    cursor->position = position;
}
