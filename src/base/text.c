// SPDX-License-Identifier: Apache-2.0
// Growing text, its JSON and HTML escapes, and UTF-8.
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" // U+FFFD

// Room for `more` bytes and a NUL behind the text.
static bool reserve(hone_text *text, size_t more) {
    if (text->failed) return false;
    size_t needed = 0;
    if (!hone_add_size(text->length, more, &needed) || !hone_add_size(needed, 1, &needed) ||
        HONE_GROW(&text->bytes, &text->capacity, needed, "a text", NULL) != HONE_OK) {
        text->failed = true;
    }
    return !text->failed;
}

void hone_text_append(hone_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return;
    if (length > 0) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void hone_text_print(hone_text *text, const char *format, ...) {
    if (!reserve(text, 0)) return;
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const size_t room = text->capacity - text->length;
    const int length = vsnprintf(text->bytes + text->length, room, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text->failed = true;
    } else if ((size_t)length < room) {
        text->length += (size_t)length;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    text->bytes[text->length] = 0; // after a failure: what was there before
}

// Appends bytes[0, length) with `escape(byte, next)` in place of each byte for which it is not NULL; bytes
// that are not UTF-8 become U+FFFD.
static void append_escaped(hone_text *text, const char *bytes, size_t length,
                           const char *(*escape)(unsigned char byte, char next)) {
    size_t plain = 0; // start of the run not yet appended
    for (size_t i = 0; i < length;) {
        const size_t n = hone_utf8_length(bytes + i, length - i, NULL);
        const char next = i + 1 < length ? bytes[i + 1] : 0;
        const char *const instead = n == 0 ? REPLACEMENT : n == 1 ? escape((unsigned char)bytes[i], next) : NULL;
        const size_t end = i + (n == 0 ? 1 : n);
        if (instead) {
            hone_text_append(text, bytes + plain, i - plain);
            hone_text_append(text, instead, strlen(instead));
            plain = end;
        }
        i = end;
    }
    hone_text_append(text, bytes + plain, length - plain);
}

static const char *json_escape(unsigned char byte, char next) {
    static const char controls[32][7] = {
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b",     "\\t",     "\\n",     "\\u000b", "\\f",     "\\r",     "\\u000e", "\\u000f",
        "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017",
        "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    };
    if (byte < 32) return controls[byte];
    if (byte == '"') return "\\\"";
    if (byte == '\\') return "\\\\";
    // So that the text can stand inside a <script> element, which "</script" and "<!--" would disturb.
    if (byte == '<' && (next == '/' || next == '!')) return "\\u003c";
    return NULL;
}

static const char *html_escape(unsigned char byte, char next) {
    (void)next;
    switch (byte) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case 0:
        return REPLACEMENT; // HTML has no way to write it
    default:
        return NULL;
    }
}

void hone_text_json(hone_text *text, const char *bytes, size_t length) {
    hone_text_append(text, "\"", 1);
    append_escaped(text, bytes, length, json_escape);
    hone_text_append(text, "\"", 1);
}

void hone_text_html(hone_text *text, const char *bytes, size_t length) {
    append_escaped(text, bytes, length, html_escape);
}

void hone_text_clear(hone_text *text) {
    hone_free(text->bytes);
    *text = (hone_text){0};
}

hone_status hone_text_status(const hone_text *text, hone_error *error) {
    HONE_FAIL_IF(text->failed, error, OUT_OF_MEMORY, "out of memory: a text of more than %zu bytes", text->length);
    return HONE_OK;
}

size_t hone_utf8_length(const char *bytes, size_t length, uint32_t *code_point) {
    if (length == 0) return 0;
    const unsigned char *const b = (const unsigned char *)bytes;
    uint32_t value = b[0];
    size_t n = 1;
    if (b[0] >= 0x80) {
        if (b[0] < 0xC2 || b[0] > 0xF4) return 0; // a continuation byte, overlong, or beyond U+10FFFF
        n = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
        if (length < n) return 0;
        value = b[0] & (0x7Fu >> n);
        for (size_t i = 1; i < n; i++) {
            if ((b[i] & 0xC0) != 0x80) return 0;
            value = value << 6 | (b[i] & 0x3Fu);
        }
        static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
        if (value < smallest[n] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 0;
    }
    if (code_point) *code_point = value;
    return n;
}

size_t hone_utf8_encode(uint32_t code_point, char out[4]) {
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) return 0;
    const size_t n = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    uint32_t rest = code_point;
    for (size_t i = n; i-- > 1; rest >>= 6) out[i] = (char)(0x80 | (rest & 0x3F));
    out[0] = (char)(lead[n] | rest);
    return n;
}
