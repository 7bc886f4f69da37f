// SPDX-License-Identifier: Apache-2.0
// Schemas in parsed form: what an operator takes and gives, read from its one line of text.
#ifndef HONE_GRAPH_SCHEMA_H
#define HONE_GRAPH_SCHEMA_H

#include <hone/op.h>

#define HONE_SCHEMA_ARGUMENTS 16
#define HONE_SCHEMA_OUTPUTS   6

typedef enum hone_schema_type {
    HONE_SCHEMA_TENSOR,
    HONE_SCHEMA_TENSORS,  // Tensor[]
    HONE_SCHEMA_INTEGER,  // int, ScalarType
    HONE_SCHEMA_REAL,     // float
    HONE_SCHEMA_SCALAR,   // Scalar: a whole number or a real one
    HONE_SCHEMA_BOOLEAN,  // bool
    HONE_SCHEMA_INTEGERS, // int[]
    HONE_SCHEMA_STRING,   // str
} hone_schema_type;

typedef struct hone_schema_argument {
    const char *name; // within the schema's text
    uint8_t name_length;
    uint8_t type;  // hone_schema_type
    bool optional; // "?": may be absent
    bool mutated;  // "(a!)"
    bool has_default;
    uint8_t default_kind;     // hone_argument_kind
    double default_number;    // INTEGER, REAL, BOOLEAN
    const char *default_text; // STRING: within the schema's text, without quotes
    uint8_t default_length;
} hone_schema_argument;

typedef struct hone_schema {
    const hone_op *op;
    size_t name_length;
    hone_schema_argument arguments[HONE_SCHEMA_ARGUMENTS];
    size_t argument_count;
    size_t output_count;
    bool output_list; // "-> Tensor[]": as many outputs as the call asks for
    bool mutates;     // some argument is mutated
} hone_schema;

// Parses op->schema; HONE_INVALID_ARGUMENT with the place where it stops making sense.
HONE_MUST_USE hone_status hone_schema_parse(const hone_op *op, hone_schema *out, hone_error *error);

// The parsed schema of a registered operator, by name; NULL if there is none.
const hone_schema *hone_schema_find(const char *name);

#endif
