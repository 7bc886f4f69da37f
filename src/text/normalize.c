// SPDX-License-Identifier: Apache-2.0
// Unicode normal form C in time proportional to the text, by utf8proc on short pieces.
#include "text/normalize.h"

#include <string.h>

#include <utf8proc.h>

// A piece is cut behind so many bytes where it may be, and behind PIECE_MOST wherever it stands: sorting a
// run of combining marks takes time with the square of its length, and no language has runs like this.
#define PIECE_GOOD 256
#define PIECE_MOST 512

// Does the character neither combine with what stands before it nor change places with it?
static bool begins_anew(uint32_t character) {
    if (character >= 0x1160 && character <= 0x11FF) return false; // Hangul vowels and finals join what is before
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);
    return category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC && category != UTF8PROC_CATEGORY_ME &&
           category != UTF8PROC_CATEGORY_CN;
}

// Bytes of the piece that begins at bytes[0]: up to the next ASCII character, within the limits above.
static size_t piece_length(const char *bytes, size_t length) {
    size_t at = 0;
    while (at < length) {
        uint32_t character = 0;
        const size_t n = hone_utf8_length(bytes + at, length - at, &character);
        if (n == 0) return length; // the caller promised valid UTF-8
        if (at > 0 && character < 0x80) break;
        if (at >= PIECE_MOST || (at >= PIECE_GOOD && begins_anew(character))) break;
        at += n;
    }
    return at;
}

static hone_status append_piece(const char *bytes, size_t length, hone_text *out, hone_error *error) {
    // No canonical decomposition has more than 4 characters; a piece has at most PIECE_MOST + 4 bytes, none
    // of its characters but the first fewer than 2.
    utf8proc_int32_t buffer[2 * (PIECE_MOST + 8)];
    const utf8proc_ssize_t room = (utf8proc_ssize_t)(sizeof buffer / sizeof *buffer) - 1;
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    utf8proc_ssize_t count =
        utf8proc_decompose((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)length, buffer, room, options);
    if (count >= 0 && count <= room) {
        const utf8proc_ssize_t size = utf8proc_reencode(buffer, count, options);
        if (size >= 0) {
            hone_text_append(out, (const char *)buffer, (size_t)size);
            return HONE_OK;
        }
    }
    HONE_FAIL(error, BAD_DATA, "the text cannot be brought to Unicode's normal form: utf8proc refuses it");
}

hone_status hone_normalize(const char *bytes, size_t length, hone_text *out, hone_error *error) {
    size_t plain = 0; // ASCII not yet appended begins here
    size_t at = 0;
    while (at < length) {
        if ((unsigned char)bytes[at] < 0x80 && (at + 1 == length || (unsigned char)bytes[at + 1] < 0x80)) {
            at++;
            continue;
        }
        hone_text_append(out, bytes + plain, at - plain);
        const size_t piece = piece_length(bytes + at, length - at);
        HONE_TRY(append_piece(bytes + at, piece, out, error));
        at += piece;
        plain = at;
    }
    hone_text_append(out, bytes + plain, at - plain);
    return HONE_OK;
}
