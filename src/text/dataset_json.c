// SPDX-License-Identifier: Apache-2.0
// Strict JSON for one row. A first pass over its bytes finds, with their exact place, the faults that people's files
// have, and takes out the arrays of token ids; jansson parses the rest and refuses everything else.
#include <inttypes.h>
#include <string.h>

#include "text/dataset_inside.h"

typedef struct checker {
    hone_raw_row *row;
    hone_row_numbers *numbers;
    size_t at;       // next byte
    size_t depth;    // of open brackets
    uint64_t braces; // bit d - 1: the bracket that opened depth d is {; of the first 64
    // The last string at depth 1, which is a key if a colon follows it.
    size_t key_begin, key_length;
    bool key_open; // its colon came and its value did not yet
} checker;

static bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}
static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static char byte_at(const checker *c, size_t at) {
    return at < c->row->length ? c->row->bytes[at] : 0;
}

static hone_status fail_cut(const checker *c, bool inside_string, hone_error *error) {
    const char *const what = inside_string ? "string" : "row";
    if (c->row->last)
        return hone_row_fail(c->row, c->row->length, error,
                             "the file ends inside a %s: it was cut off; write this row again or remove it", what);
    return hone_row_fail(
        c->row, c->row->length, error,
        "the line ends inside a %s; each row must stand on one line, with line breaks in strings as \\n", what);
}

// --- strings ---------------------------------------------------------------------------------------------------------

// The number of \uXXXX at `at`, -1 if it is none.
static int32_t read_escape(const checker *c, size_t at) {
    if (byte_at(c, at) != '\\' || byte_at(c, at + 1) != 'u') return -1;
    int32_t value = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        const char byte = byte_at(c, i);
        const char lower = (char)(byte | 0x20);
        if (is_digit(byte))
            value = value * 16 + (byte - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

// At a backslash. Half a surrogate pair is no character; other wrong escapes are left to the parser.
static hone_status check_escape(checker *c, hone_error *error) {
    const int32_t value = read_escape(c, c->at);
    if (value < 0xD800 || value > 0xDFFF) {
        c->at += value < 0 ? 2 : 6;
        return HONE_OK;
    }
    const int32_t next = value < 0xDC00 ? read_escape(c, c->at + 6) : -1;
    if (next < 0xDC00 || next > 0xDFFF)
        return hone_row_fail(
            c->row, c->at, error,
            "a lone surrogate \\u%04X is no character; write the pair, or the character itself in UTF-8",
            (unsigned)value);
    c->at += 12;
    return HONE_OK;
}

// At the opening quote; goes behind the closing one.
static hone_status check_string(checker *c, hone_error *error) {
    const char *const bytes = c->row->bytes;
    c->at++;
    while (c->at < c->row->length) {
        const unsigned char byte = (unsigned char)bytes[c->at];
        if (byte == '"') {
            c->at++;
            return HONE_OK;
        }
        if (byte == '\\') {
            HONE_TRY(check_escape(c, error));
        } else if (byte < 0x20) {
            return hone_row_fail(c->row, c->at, error,
                                 "a raw control character (byte 0x%02X) in a string; write it as %s", byte,
                                 byte == '\n'   ? "\\n"
                                 : byte == '\t' ? "\\t"
                                 : byte == '\r' ? "\\r"
                                                : "\\u00XX");
        } else if (byte < 0x80) {
            c->at++;
        } else {
            const size_t n = hone_utf8_length(bytes + c->at, c->row->length - c->at, NULL);
            if (n == 0)
                return hone_row_fail(
                    c->row, c->at, error,
                    "byte 0x%02X is not valid UTF-8; save the file as UTF-8, or let --replace-invalid put "
                    "U+FFFD there",
                    byte);
            c->at += n;
        }
    }
    return fail_cut(c, true, error);
}

// --- arrays of ids ---------------------------------------------------------------------------------------------------

// A whole number at `at`, within what its array may hold.
static hone_status read_number(checker *c, bool labels, hone_ids *out, hone_error *error) {
    const char *const array = labels ? "labels" : "ids";
    const size_t begin = c->at;
    const bool negative = byte_at(c, c->at) == '-';
    if (negative) c->at++;
    const size_t digits = c->at;
    int64_t value = 0;
    for (; is_digit(byte_at(c, c->at)); c->at++) {
        if (value < INT32_MAX) value = value * 10 + (byte_at(c, c->at) - '0');
    }
    const char after = byte_at(c, c->at);
    const bool whole = c->at > digits && (c->at == digits + 1 || byte_at(c, digits) != '0') &&
                       (after == ',' || after == ']' || is_space(after));
    if (!whole) return hone_row_fail(c->row, begin, error, "%s must hold whole numbers only", array);
    if (negative) value = -value;
    const bool known = value >= 0 && value < c->numbers->vocabulary;
    if (!known && !(labels && value == HONE_NOT_TRAINED))
        return hone_row_fail(c->row, begin, error,
                             "row %" PRIu64 ": %s %.*s is outside the vocabulary of %" PRId64
                             "; the data was made for another model",
                             c->row->number, labels ? "label" : "id", (int)(c->at - begin < 20 ? c->at - begin : 20),
                             c->row->bytes + begin, c->numbers->vocabulary);
    HONE_TRY(HONE_GROW(&out->items, &out->capacity, out->count + 1, "token ids", error));
    out->items[out->count++] = (int32_t)value;
    return HONE_OK;
}

static void skip_space(checker *c) {
    while (c->at < c->row->length && is_space(c->row->bytes[c->at])) c->at++;
}

// At the opening bracket; reads the numbers and leaves blanks in their place, so that the parser sees [ ].
static hone_status take_numbers(checker *c, bool labels, hone_error *error) {
    hone_ids *const out = labels ? &c->numbers->labels : &c->numbers->ids;
    *(labels ? &c->numbers->has_labels : &c->numbers->has_ids) = true;
    const size_t begin = ++c->at;
    skip_space(c);
    while (byte_at(c, c->at) != ']') {
        if (c->at >= c->row->length) return fail_cut(c, false, error);
        HONE_TRY(read_number(c, labels, out, error));
        skip_space(c);
        if (byte_at(c, c->at) == ']') break;
        if (c->at >= c->row->length) return fail_cut(c, false, error);
        if (byte_at(c, c->at) != ',')
            return hone_row_fail(c->row, c->at, error, "a comma is missing between two numbers");
        c->at++;
        skip_space(c);
        if (byte_at(c, c->at) == ']')
            return hone_row_fail(c->row, c->at, error, "a number is missing behind the last comma");
    }
    for (size_t i = begin; i < c->at; i++) {
        if (c->row->bytes[i] != '\n') c->row->bytes[i] = ' '; // line ends stay, for places in messages
    }
    c->at++;
    return HONE_OK;
}

static bool key_is(const checker *c, const char *name) {
    return c->key_length == strlen(name) && memcmp(c->row->bytes + c->key_begin, name, c->key_length) == 0;
}

// --- the row ---------------------------------------------------------------------------------------------------------

static void open_bracket(checker *c, bool brace) {
    if (c->depth < 64) c->braces = (c->braces & ~(UINT64_C(1) << c->depth)) | (uint64_t)brace << c->depth;
    c->depth++;
}

static hone_status close_bracket(checker *c, bool brace, hone_error *error) {
    c->depth--;
    if (c->depth < 64 && (c->braces >> c->depth & 1) != brace)
        return hone_row_fail(c->row, c->at, error, "not valid JSON: %c where %c is due; correct the row",
                             brace ? '}' : ']', brace ? ']' : '}');
    return HONE_OK;
}

// A bracket, a string or another byte between brackets.
static hone_status check_token(checker *c, hone_error *error) {
    const unsigned char byte = (unsigned char)c->row->bytes[c->at];
    const bool value_of_key = c->key_open;
    if (byte == ':') {
        c->key_open = c->depth == 1;
        c->at++;
        return HONE_OK;
    }
    if (!is_space((char)byte)) c->key_open = false;
    switch (byte) {
    case '"': {
        const size_t begin = c->at + 1;
        HONE_TRY(check_string(c, error));
        if (c->depth == 1 && !value_of_key) {
            c->key_begin = begin;
            c->key_length = c->at - 1 - begin;
        }
        return HONE_OK;
    }
    case '[':
        if (value_of_key && (key_is(c, "ids") || key_is(c, "input_ids"))) return take_numbers(c, false, error);
        if (value_of_key && key_is(c, "labels")) return take_numbers(c, true, error);
        open_bracket(c, false);
        break;
    case '{':
        open_bracket(c, true);
        break;
    case ']':
    case '}':
        HONE_TRY(close_bracket(c, byte == '}', error));
        break;
    case '/':
    case '#':
        return hone_row_fail(c->row, c->at, error, "JSON has no comments; remove it");
    default:
        if (byte < 0x20 && !is_space((char)byte))
            return hone_row_fail(c->row, c->at, error, "a raw control character (byte 0x%02X); remove it", byte);
        if (byte >= 0x80)
            return hone_row_fail(c->row, c->at, error, "only strings may hold characters other than ASCII");
    }
    c->at++;
    return HONE_OK;
}

// What follows the bracket that closes the row.
static hone_status check_rest(checker *c, hone_error *error) {
    skip_space(c);
    if (c->at >= c->row->length) return HONE_OK;
    const char byte = byte_at(c, c->at);
    if (byte == '{')
        return hone_row_fail(c->row, c->at, error, "a second object on the line; give each row a line of its own");
    if (byte == '/' || byte == '#') return hone_row_fail(c->row, c->at, error, "JSON has no comments; remove it");
    if (byte == ',')
        return hone_row_fail(c->row, c->at, error, "a comma behind the row; rows on lines have none between them");
    return hone_row_fail(c->row, c->at, error, "text behind the end of the row; remove it");
}

static hone_status check_row(checker *c, hone_error *error) {
    skip_space(c);
    const char first = byte_at(c, c->at);
    if (first == '/' || first == '#') return hone_row_fail(c->row, c->at, error, "JSON has no comments; remove it");
    if (first != '{')
        return hone_row_fail(c->row, c->at, error,
                             "a row must be a JSON object {...}; if the file is plain text, let its name end in .txt");
    do {
        HONE_TRY(check_token(c, error));
        if (c->depth == 0) return check_rest(c, error);
    } while (c->at < c->row->length);
    return fail_cut(c, false, error);
}

// The parser's own words, placed at the token that they quote.
static hone_status refuse(const hone_raw_row *row, const json_error_t *fault, hone_error *error) {
    if (json_error_code(fault) == json_error_out_of_memory)
        HONE_FAIL(error, OUT_OF_MEMORY, "out of memory: a row of %zu bytes", row->length);
    size_t offset = fault->position > 0 ? (size_t)fault->position : 0;
    const char *const near = strstr(fault->text, " near '");
    const size_t quoted = near ? strlen(near) - 8 : 1; // behind " near '", before the last '
    offset = offset >= quoted ? offset - quoted : 0;
    const bool twice = json_error_code(fault) == json_error_duplicate_key;
    return hone_row_fail(row, offset, error, "not valid JSON: %s; %s", fault->text,
                         twice ? "leave one of the two" : "correct the row");
}

hone_status hone_row_parse(hone_raw_row *row, hone_row_numbers *numbers, json_t **out, hone_error *error) {
    *out = NULL;
    numbers->ids.count = numbers->labels.count = 0;
    numbers->has_ids = numbers->has_labels = false;
    checker c = {.row = row, .numbers = numbers};
    HONE_TRY(check_row(&c, error));
    json_error_t fault;
    // No integers are wanted any more; as reals, long ones in fields that nobody reads are no fault.
    *out =
        json_loadb(row->bytes, row->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &fault);
    return *out ? HONE_OK : refuse(row, &fault, error);
}

// --- places of values ------------------------------------------------------------------------------------------------
// The row has been parsed, so what is read here is known to be JSON.

static size_t blank_end(const hone_raw_row *row, size_t at) {
    while (at < row->length && is_space(row->bytes[at])) at++;
    return at;
}

// Behind the string that begins at `at`.
static size_t string_end(const hone_raw_row *row, size_t at) {
    for (at++; at < row->length && row->bytes[at] != '"'; at++) at += row->bytes[at] == '\\';
    return at + 1;
}

// Behind the value that begins at `at`.
static size_t value_end(const hone_raw_row *row, size_t at) {
    size_t depth = 0;
    while (at < row->length) {
        const char byte = row->bytes[at];
        if (byte == '"') {
            at = string_end(row, at);
        } else {
            if (byte == '{' || byte == '[') depth++;
            if (depth == 0 && (byte == ',' || byte == '}' || byte == ']')) return at;
            if (byte == '}' || byte == ']') depth--;
            at++;
        }
        if (depth == 0 && (byte == '"' || byte == '}' || byte == ']')) return at;
    }
    return at;
}

// The value of `key` in the object that begins at `at`, or element `index` of the array there; SIZE_MAX = none.
static size_t member(const hone_raw_row *row, size_t at, const char *key, size_t index) {
    const char open = key ? '{' : '[';
    if (at >= row->length || row->bytes[at] != open) return SIZE_MAX;
    at = blank_end(row, at + 1);
    for (size_t i = 0; at < row->length && row->bytes[at] != '}' && row->bytes[at] != ']'; i++) {
        bool found = i == index;
        if (key) {
            const size_t end = string_end(row, at);
            found = end - at - 2 == strlen(key) && memcmp(row->bytes + at + 1, key, strlen(key)) == 0;
            at = blank_end(row, blank_end(row, end) + 1);
        }
        if (found) return at;
        at = blank_end(row, value_end(row, at));
        if (at < row->length && row->bytes[at] == ',') at = blank_end(row, at + 1);
    }
    return SIZE_MAX;
}

size_t hone_row_locate(const hone_raw_row *row, const char *key, size_t index, const char *inner) {
    size_t at = blank_end(row, 0);
    size_t next = member(row, at, key, 0);
    if (next != SIZE_MAX) at = next;
    if (next != SIZE_MAX && index != SIZE_MAX) {
        next = member(row, at, NULL, index);
        if (next != SIZE_MAX) at = next;
    }
    if (next != SIZE_MAX && inner) {
        next = member(row, at, inner, 0);
        if (next != SIZE_MAX) at = next;
    }
    return at;
}
