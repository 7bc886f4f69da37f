// SPDX-License-Identifier: Apache-2.0
// Reads and writes .npy. The layout, little endian:
//
//   SIZE  what
//   6     0x93 "NUMPY"
//   2     version: major 1, 2 or 3, minor 0
//   2     length of the description (version 1), or
//   4     the same (versions 2 and 3)
//   n     description: a Python dictionary, padded with spaces to a multiple of 64 in all and ended by a
//   newline:
//         {'descr': '<f4', 'fortran_order': False, 'shape': (20, 128), }
//   ...   values
#include "formats/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/cursor.h"

#define LONGEST_DESCRIPTION ((size_t)64 << 10)

typedef struct dtype_code {
    const char *code;
    hone_dtype dtype;
} dtype_code;

static const dtype_code codes[] = {
    {"<f4", HONE_DTYPE_F32}, {"<f8", HONE_DTYPE_F64}, {"<f2", HONE_DTYPE_F16},  {"<i4", HONE_DTYPE_I32},
    {"<i8", HONE_DTYPE_I64}, {"|i1", HONE_DTYPE_I8},  {"|u1", HONE_DTYPE_U8},   {"|b1", HONE_DTYPE_BOOL},
    {"<i1", HONE_DTYPE_I8},  {"<u1", HONE_DTYPE_U8},  {"<b1", HONE_DTYPE_BOOL},
};

// --- the description
// -------------------------------------------------------------------------------------------------

typedef struct description {
    const char *at; // NUL-terminated
    const char *file;
    bool has_dtype;
    bool has_order;
    bool has_shape;
    hone_tensor_type type;
} description;

static void skip_blanks(description *in) {
    while (*in->at == ' ' || *in->at == '\n' || *in->at == '\t' || *in->at == '\r') in->at++;
}

static bool take(description *in, char wanted) {
    skip_blanks(in);
    if (*in->at != wanted) return false;
    in->at++;
    return true;
}

static bool take_word(description *in, const char *word) {
    skip_blanks(in);
    const size_t length = strlen(word);
    if (strncmp(in->at, word, length) != 0) return false;
    in->at += length;
    return true;
}

// A quoted string without escapes, cut to the room there is.
static bool take_string(description *in, char *out, size_t size) {
    skip_blanks(in);
    const char quote = *in->at;
    if (quote != '\'' && quote != '"') return false;
    const char *const begin = ++in->at;
    while (*in->at && *in->at != quote) in->at++;
    if (!*in->at) return false;
    snprintf(out, size, "%.*s", (int)(in->at - begin), begin);
    in->at++;
    return true;
}

static bool take_integer(description *in, int64_t *out) {
    skip_blanks(in);
    if (*in->at < '0' || *in->at > '9') return false;
    int64_t value = 0;
    for (; *in->at >= '0' && *in->at <= '9'; in->at++) {
        if (value > (INT64_MAX - 9) / 10) return false;
        value = value * 10 + (*in->at - '0');
    }
    *out = value;
    return true;
}

static hone_status damaged(const description *in, hone_error *error) {
    HONE_FAIL(error, BAD_FORMAT, "'%s': the description of the array cannot be read at \"%.20s\"", in->file, in->at);
}

static hone_status read_dtype(description *in, hone_error *error) {
    char code[16];
    if (!take_string(in, code, sizeof code)) return damaged(in, error);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(codes[i].code, code) != 0) continue;
        in->type.dtype = codes[i].dtype;
        in->has_dtype = true;
        return HONE_OK;
    }
    for (size_t i = 0; i < sizeof codes / sizeof *codes && code[0] == '>'; i++) {
        HONE_FAIL_IF(strcmp(codes[i].code + 1, code + 1) == 0, error, UNSUPPORTED,
                     "'%s' holds big-endian values ('%s'): save array.astype('%s'), which hone reads", in->file, code,
                     codes[i].code);
    }
    HONE_FAIL(error, UNSUPPORTED,
              "'%s' holds values of NumPy's type '%s'; hone reads little-endian f2, f4, f8, i1, i4, i8, u1 "
              "and bool",
              in->file, code);
}

static hone_status read_order(description *in, hone_error *error) {
    in->has_order = true;
    if (take_word(in, "False")) return HONE_OK;
    HONE_FAIL_IF(take_word(in, "True"), error, UNSUPPORTED,
                 "'%s' is in Fortran order; save it with numpy.ascontiguousarray", in->file);
    return damaged(in, error);
}

static hone_status read_shape(description *in, hone_error *error) {
    if (!take(in, '(')) return damaged(in, error);
    in->has_shape = true;
    in->type.rank = 0;
    while (!take(in, ')')) {
        HONE_FAIL_IF(in->type.rank == HONE_MAX_RANK, error, UNSUPPORTED, "'%s' has more than %d dimensions", in->file,
                     HONE_MAX_RANK);
        if (!take_integer(in, &in->type.dims[in->type.rank])) return damaged(in, error);
        in->type.rank++;
        if (take(in, ',')) continue;
        if (!take(in, ')')) return damaged(in, error);
        break;
    }
    return HONE_OK;
}

static hone_status read_description(description *in, hone_error *error) {
    if (!take(in, '{')) return damaged(in, error);
    while (!take(in, '}')) {
        char key[16];
        if (!take_string(in, key, sizeof key) || !take(in, ':')) return damaged(in, error);
        if (strcmp(key, "descr") == 0) {
            HONE_TRY(read_dtype(in, error));
        } else if (strcmp(key, "fortran_order") == 0) {
            HONE_TRY(read_order(in, error));
        } else if (strcmp(key, "shape") == 0) {
            HONE_TRY(read_shape(in, error));
        } else {
            return damaged(in, error);
        }
        if (take(in, ',')) continue;
        if (!take(in, '}')) return damaged(in, error);
        break;
    }
    skip_blanks(in);
    if (*in->at || !in->has_dtype || !in->has_order || !in->has_shape) return damaged(in, error);
    return hone_type_check(&in->type, in->file, error);
}

// --- reading
// ---------------------------------------------------------------------------------------------------------

// The magic, the version and the description; the cursor then stands at the values.
static hone_status read_header(hone_cursor *cursor, hone_tensor_type *type, hone_error *error) {
    const char *const file = cursor->source->name;
    uint8_t magic[8] = {0};
    HONE_TRY(hone_cursor_bytes(cursor, magic, sizeof magic, error));
    HONE_FAIL_IF(memcmp(magic, "\x93NUMPY", 6) != 0, error, BAD_FORMAT, "'%s' is not a .npy file", file);
    HONE_FAIL_IF(magic[6] < 1 || magic[6] > 3, error, UNSUPPORTED, "'%s' is of version %d; hone reads 1, 2 and 3", file,
                 magic[6]);
    uint32_t length = 0;
    HONE_TRY(hone_cursor_bytes(cursor, &length, magic[6] == 1 ? 2 : 4, error));
    HONE_FAIL_IF(length > LONGEST_DESCRIPTION, error, BAD_FORMAT,
                 "'%s' has a description of %" PRIu32 " bytes; at most %zu are read", file, length,
                 LONGEST_DESCRIPTION);
    HONE_TRY(hone_cursor_need(cursor, length, error));
    char *text = NULL;
    HONE_TRY(hone_allocate((size_t)length + 1, 1, "the description of an array", (void **)&text, error));
    description in = {.at = text, .file = file};
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(hone_cursor_bytes(cursor, text, length, error), done);
    HONE_TRY_GOTO(read_description(&in, error), done);
    *type = in.type;
done:
    hone_free(text);
    return status;
}

// The first byte that is neither 0 nor 1; `count` if there is none.
static size_t find_odd(const uint8_t *values, size_t count) {
    size_t i = 0;
    while (i < count && values[i] <= 1) i++;
    return i;
}

static hone_status read_values(hone_cursor *cursor, hone_tensor *out, hone_error *error) {
    const size_t bytes = hone_type_bytes(&out->type);
    const uint64_t left = hone_cursor_left(cursor);
    char type[128];
    HONE_FAIL_IF(bytes != left, error, BAD_FORMAT,
                 "'%s' is %s, which takes %zu bytes, but %" PRIu64 " follow the description: the file is %s",
                 cursor->source->name, hone_type_print(&out->type, type, sizeof type), bytes, left,
                 left < bytes ? "cut" : "damaged");
    uint8_t *values = NULL;
    HONE_TRY(hone_allocate_raw(bytes, 1, "an array", (void **)&values, error));
    const hone_status status = hone_cursor_bytes(cursor, values, bytes, error);
    if (status != HONE_OK) {
        hone_free(values);
        return status;
    }
    const size_t odd = out->type.dtype == HONE_DTYPE_BOOL ? find_odd(values, bytes) : bytes;
    if (odd < bytes) {
        hone_error_set(error, HONE_BAD_FORMAT,
                       "'%s': element %zu is no truth value, for its byte is %d: save array != 0, or the values as u1",
                       cursor->source->name, odd, values[odd]);
        hone_free(values);
        return HONE_BAD_FORMAT;
    }
    out->data = values;
    return HONE_OK;
}

hone_status hone_npy_read_source(hone_source *source, hone_tensor *out, hone_error *error) {
    *out = (hone_tensor){0};
    hone_cursor cursor = {0};
    HONE_TRY(hone_cursor_open(&cursor, source, error));
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(read_header(&cursor, &out->type, error), done);
    HONE_TRY_GOTO(read_values(&cursor, out, error), done);
done:
    hone_cursor_close(&cursor);
    return status;
}

hone_status hone_npy_read(const char *path, hone_tensor *out, hone_error *error) {
    *out = (hone_tensor){0};
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    const hone_status status = hone_npy_read_source(source, out, error);
    hone_source_close(&source);
    return status;
}

// --- writing
// ---------------------------------------------------------------------------------------------------------

static hone_status describe(const hone_tensor_type *type, hone_text *text, hone_error *error) {
    const char *code = NULL;
    for (size_t i = 0; i < sizeof codes / sizeof *codes && !code; i++) {
        if (codes[i].dtype == type->dtype) code = codes[i].code;
    }
    HONE_FAIL_IF(!code, error, UNSUPPORTED, "a .npy file cannot hold %s", hone_dtype_name(type->dtype));
    hone_text_print(text, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (int i = 0; i < type->rank; i++) hone_text_print(text, "%s%" PRId64, i > 0 ? ", " : "", type->dims[i]);
    hone_text_print(text, "%s), }", type->rank == 1 ? "," : "");
    while ((10 + text->length + 1) % 64 != 0 && !text->failed) hone_text_append(text, " ", 1);
    hone_text_append(text, "\n", 1);
    return hone_text_status(text, error);
}

static hone_status write_array(hone_output *output, const hone_tensor *tensor, const hone_text *text,
                               hone_error *error) {
    uint8_t magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const uint16_t length = (uint16_t)text->length; // eight dimensions of 19 digits are far below 64 KiB
    memcpy(magic + 8, &length, sizeof length);
    HONE_TRY(hone_output_write(output, magic, sizeof magic, error));
    HONE_TRY(hone_output_write(output, text->bytes, text->length, error));
    const size_t bytes = hone_type_bytes(&tensor->type);
    return bytes > 0 ? hone_output_write(output, tensor->data, bytes, error) : HONE_OK;
}

static hone_status write_file(const char *path, const hone_tensor *tensor,
                              hone_status (*commit)(hone_output **output, hone_error *error), hone_error *error) {
    HONE_TRY(hone_type_check(&tensor->type, path, error));
    hone_text text = {0};
    hone_output *output = NULL;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(describe(&tensor->type, &text, error), done);
    HONE_TRY_GOTO(hone_output_create(path, &output, error), done);
    HONE_TRY_GOTO(write_array(output, tensor, &text, error), done);
    status = commit(&output, error);
done:
    hone_output_abandon(&output);
    hone_text_clear(&text);
    return status;
}

hone_status hone_npy_write(const char *path, const hone_tensor *tensor, hone_error *error) {
    return write_file(path, tensor, hone_output_commit, error);
}

hone_status hone_npy_write_one_of_many(const char *path, const hone_tensor *tensor, hone_error *error) {
    return write_file(path, tensor, hone_output_commit_one_of_many, error);
}
