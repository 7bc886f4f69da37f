// SPDX-License-Identifier: Apache-2.0
// Error texts: one line of valid UTF-8, whatever bytes a file name or a tensor name brings in.
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define MESSAGE_BYTES sizeof(((hone_error *)0)->message)

// Ends a cut text with "..." at a character's border, so that a reader sees that it was cut.
static void mark_cut(char *text, size_t capacity) {
    size_t end = capacity - 4;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    memcpy(text + end, "...", 4);
}

// Names come from files: what would break the line, or speak to the terminal, becomes '?'.
static void clean(char *text) {
    const size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t code_point = 0;
        const size_t n = hone_utf8_length(text + i, length - i, &code_point);
        if (n == 0) {
            text[i++] = '?';
            continue;
        }
        const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
        const bool separator = code_point == 0x2028 || code_point == 0x2029;
        if (code_point == '\n' || code_point == '\r' || code_point == '\t') {
            text[i] = ' ';
        } else if (control || separator) {
            memset(text + i, '?', n);
        }
        i += n;
    }
}

static void format_into(char *text, size_t capacity, const char *format, va_list arguments) {
    const int length = vsnprintf(text, capacity, format, arguments);
    if (length < 0) {
        text[0] = 0;
    } else if ((size_t)length >= capacity) {
        mark_cut(text, capacity);
    }
}

hone_status hone_error_set(hone_error *error, hone_status status, const char *format, ...) {
    if (!error) return status;
    // Through a buffer of its own: an argument may be the old message.
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    format_into(text, sizeof text, format, arguments);
    va_end(arguments);
    clean(text);
    error->status = status;
    memcpy(error->message, text, strlen(text) + 1);
    return status;
}

void hone_error_prefix(hone_error *error, const char *format, ...) {
    if (!error) return;
    char prefix[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    format_into(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    hone_error_set(error, error->status, "%s: %s", prefix, error->message);
}

static hone_status status_of_system(int code) {
    switch (code) {
    case ENOENT:
        return HONE_NOT_FOUND;
    case EEXIST:
        return HONE_EXISTS;
    case ENOMEM:
        return HONE_OUT_OF_MEMORY;
    default:
        return HONE_IO;
    }
}

hone_status hone_error_system(hone_error *error, int code, const char *format, ...) {
    const hone_status status = status_of_system(code);
    if (!error) return status;
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    format_into(text, sizeof text, format, arguments);
    va_end(arguments);
    char reason[128];
    if (strerror_r(code, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", code);
    const bool full = code == ENOSPC || code == EDQUOT;
    return hone_error_set(error, status, "%s: %s%s", text, reason, full ? "; free some space and try again" : "");
}
