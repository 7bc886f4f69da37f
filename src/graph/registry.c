// SPDX-License-Identifier: Apache-2.0
// The table of operators, sorted by name: filled once from the generated list, then by hone_op_register.
#include "graph/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/schema.h"

// Static rather than grown: operators are descriptors of a program, not data, and looking one up must never fail.
#define MAX_OPERATORS 512

static hone_schema table[MAX_OPERATORS];
static size_t table_count;
static pthread_once_t filled = PTHREAD_ONCE_INIT;
static hone_error fill_error; // of the first built-in that does not parse: a mistake that tests catch

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length) {
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

// The first entry whose name is not below `name`.
static size_t lower_bound(const char *name, size_t length) {
    size_t low = 0, high = table_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare_names(table[middle].op->schema, table[middle].name_length, name, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static hone_status insert(const hone_op *op, hone_error *error) {
    hone_schema schema;
    HONE_TRY(hone_schema_parse(op, &schema, error));
    HONE_FAIL_IF(table_count == MAX_OPERATORS, error, INVALID_ARGUMENT,
                 "operator '%s': the table of %d operators is full", op->schema, MAX_OPERATORS);
    HONE_FAIL_IF(!op->infer || !op->cpu, error, INVALID_ARGUMENT, "operator '%s' needs a shape rule and a CPU function",
                 op->schema);
    const size_t at = lower_bound(op->schema, schema.name_length);
    HONE_FAIL_IF(at < table_count &&
                     compare_names(table[at].op->schema, table[at].name_length, op->schema, schema.name_length) == 0,
                 error, EXISTS, "operator '%.*s' is registered already", (int)schema.name_length, op->schema);
    memmove(&table[at + 1], &table[at], (table_count - at) * sizeof(table[0]));
    table[at] = schema;
    table_count++;
    return HONE_OK;
}

static void fill(void) {
    for (size_t family = 0; hone_builtin_families[family]; family++) {
        for (size_t i = 0; hone_builtin_families[family][i]; i++) {
            hone_error error;
            if (insert(hone_builtin_families[family][i], &error) != HONE_OK && fill_error.status == HONE_OK)
                fill_error = error;
        }
    }
}

hone_status hone_op_register(const hone_op *op, hone_error *error) {
    pthread_once(&filled, fill);
    if (fill_error.status != HONE_OK) {
        if (error) *error = fill_error;
        return fill_error.status;
    }
    return insert(op, error);
}

const hone_schema *hone_schema_find(const char *name) {
    pthread_once(&filled, fill);
    const size_t length = strlen(name);
    const size_t at = lower_bound(name, length);
    const bool found =
        at < table_count && table[at].name_length == length && memcmp(table[at].op->schema, name, length) == 0;
    return found ? &table[at] : NULL;
}

const hone_op *hone_op_find(const char *name) {
    const hone_schema *const schema = hone_schema_find(name);
    return schema ? schema->op : NULL;
}

size_t hone_op_count(void) {
    pthread_once(&filled, fill);
    return table_count;
}

const hone_op *hone_op_at(size_t index) {
    pthread_once(&filled, fill);
    return index < table_count ? table[index].op : NULL;
}

size_t hone_op_name_length(const hone_op *op) {
    return strcspn(op->schema, "( ");
}
