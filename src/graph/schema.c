// SPDX-License-Identifier: Apache-2.0
// Parsing of ATen-style schemas: "name(Type name=default, ...) -> (Type, ...)".
#include "graph/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct reader {
    const char *start;
    const char *at;
} reader;

static void skip_spaces(reader *r) {
    while (*r->at == ' ') r->at++;
}

static bool take(reader *r, const char *word) {
    skip_spaces(r);
    const size_t length = strlen(word);
    if (strncmp(r->at, word, length) != 0) return false;
    if (isalnum((unsigned char)word[length - 1]) && (isalnum((unsigned char)r->at[length]) || r->at[length] == '_'))
        return false; // a longer word
    r->at += length;
    return true;
}

static hone_status bad(const reader *r, const char *why, hone_error *error) {
    HONE_FAIL(error, INVALID_ARGUMENT, "schema '%s': %s at character %d", r->start, why, (int)(r->at - r->start) + 1);
}

// Type with its marks: "Tensor", "Tensor?", "Tensor(a!)", "Tensor[]", "int[]?", ...
static hone_status read_type(reader *r, hone_schema_argument *out, hone_error *error) {
    static const struct {
        const char *word;
        hone_schema_type type;
    } words[] = {{"Tensor", HONE_SCHEMA_TENSOR}, {"int", HONE_SCHEMA_INTEGER},   {"ScalarType", HONE_SCHEMA_INTEGER},
                 {"float", HONE_SCHEMA_REAL},    {"Scalar", HONE_SCHEMA_SCALAR}, {"bool", HONE_SCHEMA_BOOLEAN},
                 {"str", HONE_SCHEMA_STRING}};
    bool found = false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !found; i++) {
        if (take(r, words[i].word)) {
            out->type = words[i].type;
            found = true;
        }
    }
    if (!found) return bad(r, "a type was expected", error);
    if (*r->at == '(') { // alias mark: (a!) mutates, (a) only names
        const char *const end = strchr(r->at, ')');
        if (!end) return bad(r, "'(' is not closed", error);
        out->mutated = memchr(r->at, '!', (size_t)(end - r->at)) != NULL;
        r->at = end + 1;
    }
    if (*r->at == '[') {
        const char *const end = strchr(r->at, ']');
        if (!end) return bad(r, "'[' is not closed", error);
        if (out->type == HONE_SCHEMA_TENSOR) {
            out->type = HONE_SCHEMA_TENSORS;
        } else if (out->type == HONE_SCHEMA_INTEGER) {
            out->type = HONE_SCHEMA_INTEGERS;
        } else {
            return bad(r, "lists are of Tensor or int", error);
        }
        r->at = end + 1;
    }
    if (*r->at == '?') {
        out->optional = true;
        r->at++;
    }
    return HONE_OK;
}

static hone_status read_default(reader *r, hone_schema_argument *out, hone_error *error) {
    out->has_default = true;
    if (take(r, "None")) {
        out->default_kind = HONE_ARGUMENT_NONE;
    } else if (take(r, "True") || take(r, "False")) {
        out->default_kind = HONE_ARGUMENT_BOOLEAN;
        out->default_number = r->at[-2] == 'u';
    } else if (take(r, "[]")) {
        out->default_kind = HONE_ARGUMENT_INTEGERS;
    } else if (*r->at == '\'' || *r->at == '"') {
        const char *const end = strchr(r->at + 1, *r->at);
        if (!end) return bad(r, "the string is not closed", error);
        out->default_kind = HONE_ARGUMENT_STRING;
        out->default_text = r->at + 1;
        out->default_length = (uint8_t)(end - r->at - 1);
        r->at = end + 1;
    } else {
        char *end;
        out->default_number = strtod(r->at, &end);
        if (end == r->at) return bad(r, "a default was expected", error);
        const bool whole = memchr(r->at, '.', (size_t)(end - r->at)) == NULL &&
                           memchr(r->at, 'e', (size_t)(end - r->at)) == NULL && out->type != HONE_SCHEMA_REAL;
        out->default_kind = whole ? HONE_ARGUMENT_INTEGER : HONE_ARGUMENT_REAL;
        r->at = end;
    }
    return HONE_OK;
}

static hone_status read_name(reader *r, const char **name, uint8_t *length, hone_error *error) {
    skip_spaces(r);
    *name = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') r->at++;
    if (r->at == *name || r->at - *name > 255) return bad(r, "a name was expected", error);
    *length = (uint8_t)(r->at - *name);
    return HONE_OK;
}

static hone_status read_arguments(reader *r, hone_schema *out, hone_error *error) {
    if (take(r, ")")) return HONE_OK;
    do {
        if (take(r, "*")) continue; // "keyword only from here": no difference to a graph
        if (out->argument_count == HONE_SCHEMA_ARGUMENTS) return bad(r, "too many arguments", error);
        hone_schema_argument *const argument = &out->arguments[out->argument_count++];
        HONE_TRY(read_type(r, argument, error));
        HONE_TRY(read_name(r, &argument->name, &argument->name_length, error));
        if (take(r, "=")) HONE_TRY(read_default(r, argument, error));
        if (argument->optional && !argument->has_default) argument->has_default = true; // None
        out->mutates |= argument->mutated;
    } while (take(r, ","));
    if (!take(r, ")")) return bad(r, "')' was expected", error);
    return HONE_OK;
}

static hone_status read_outputs(reader *r, hone_schema *out, hone_error *error) {
    if (!take(r, "->")) return bad(r, "'->' was expected", error);
    const bool several = take(r, "(");
    if (several && take(r, ")")) return HONE_OK;
    do {
        hone_schema_argument output = {0};
        HONE_TRY(read_type(r, &output, error));
        skip_spaces(r);
        const char *name;
        uint8_t length;
        if (isalpha((unsigned char)*r->at)) HONE_TRY(read_name(r, &name, &length, error));
        if (output.type == HONE_SCHEMA_TENSORS && !several) {
            out->output_list = true;
        } else if (output.type != HONE_SCHEMA_TENSOR) {
            return bad(r, "outputs are tensors", error);
        }
        if (!output.mutated) out->output_count++; // an output that is a mutated argument is not a new value
    } while (take(r, ","));
    if (several && !take(r, ")")) return bad(r, "')' was expected", error);
    if (out->output_count > HONE_SCHEMA_OUTPUTS) return bad(r, "too many outputs", error);
    if (*r->at) return bad(r, "something follows the end", error);
    return HONE_OK;
}

hone_status hone_schema_parse(const hone_op *op, hone_schema *out, hone_error *error) {
    *out = (hone_schema){.op = op};
    reader r = {op->schema, op->schema};
    while (*r.at && *r.at != '(' && *r.at != ' ') r.at++;
    out->name_length = (size_t)(r.at - r.start);
    if (out->name_length == 0 || !take(&r, "(")) return bad(&r, "'name(' was expected", error);
    HONE_TRY(read_arguments(&r, out, error));
    return read_outputs(&r, out, error);
}
