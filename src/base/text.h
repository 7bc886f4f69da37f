// SPDX-License-Identifier: Apache-2.0
// A growing byte string with a sticky failure, for building JSON lines, HTML and messages.
#ifndef HONE_BASE_TEXT_H
#define HONE_BASE_TEXT_H

#include "base/memory.h"

typedef struct hone_text {
    char *bytes;   // NUL-terminated when not NULL
    size_t length; // without the NUL
    size_t capacity;
    bool failed; // an append ran out of memory; later appends do nothing
} hone_text;     // zero-initialised is empty

void hone_text_append(hone_text *text, const char *bytes, size_t length);
void hone_text_print(hone_text *text, const char *format, ...) HONE_PRINTF(2, 3);
// A JSON string literal with quotes; bytes that are not UTF-8 become U+FFFD.
void hone_text_json(hone_text *text, const char *bytes, size_t length);
// HTML text with <, >, & and quotes escaped.
void hone_text_html(hone_text *text, const char *bytes, size_t length);
void hone_text_clear(hone_text *text); // frees; empty and usable again
// HONE_OUT_OF_MEMORY if an append failed.
HONE_MUST_USE hone_status hone_text_status(const hone_text *text, hone_error *error);

// UTF-8: bytes of the valid sequence at `bytes` (1-4), 0 if none. Overlong forms, surrogates and > U+10FFFF
// are not valid.
size_t hone_utf8_length(const char *bytes, size_t length, uint32_t *code_point);
// Bytes written, 0 for what has no encoding (surrogates, > U+10FFFF).
size_t hone_utf8_encode(uint32_t code_point, char out[4]);

#endif
