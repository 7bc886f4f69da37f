// SPDX-License-Identifier: Apache-2.0
// Small programs written by hand, as .pte bytes: for operators and quirks that no recorded program has, and for lies.
#ifndef HONE_TESTS_PTE_MAKER_H
#define HONE_TESTS_PTE_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MADE_VALUES    64
#define MADE_CALLS     32
#define MADE_ITEMS     16
#define MADE_DELEGATES 2

typedef enum made_kind {
    MADE_NOTHING,
    MADE_INTEGER,
    MADE_REAL,
    MADE_BOOLEAN,
    MADE_TENSOR,
    MADE_INTEGERS,
    MADE_VALUES_LIST,
    MADE_STRING,
    MADE_SYMBOL
} made_kind;

typedef struct made_value {
    made_kind kind;
    int64_t integer;
    double real;
    const char *text;
    int dtype; // ATen's number of the element type
    int rank;
    uint32_t dims[8];
    int constant; // number of its bytes, -1 = none
    bool bounded; // methods: its shape is an upper bound
    int64_t items[MADE_ITEMS];
    int count;
} made_value;

typedef struct made_call {
    const char *name, *overload; // NULL name: calls a delegate
    int delegate;
    int32_t arguments[MADE_ITEMS];
    int count;
} made_call;

// The method itself or a delegate.
typedef struct made_graph {
    made_value values[MADE_VALUES];
    int value_count;
    made_call calls[MADE_CALLS];
    int call_count;
    int32_t inputs[MADE_ITEMS], outputs[MADE_ITEMS];
    int input_count, output_count;
} made_graph;

typedef struct made_program {
    made_graph method;
    made_graph delegates[MADE_DELEGATES];
    int delegate_count;
    uint8_t data[4096]; // of constants, one behind the other
    size_t data_bytes;
    struct {
        size_t offset, bytes;
    } constants[MADE_ITEMS];
    int constant_count;
    const uint8_t *description; // of delegate 0, in place of what `delegates` says; NULL: as that says
    size_t description_bytes;
    bool named; // constants are named data of the program, instead of the delegate's own
} made_program;

// --- values: each returns its number
int made_tensor(made_graph *graph, int dtype, int rank, const uint32_t *dims);
#define MADE_DIMS(...) ((const uint32_t[]){__VA_ARGS__})
#define MADE_F32(graph, ...)                                                                                           \
    made_tensor((graph), 6, (int)(sizeof(MADE_DIMS(__VA_ARGS__)) / sizeof(uint32_t)), MADE_DIMS(__VA_ARGS__))
#define MADE_I32(graph, ...)                                                                                           \
    made_tensor((graph), 3, (int)(sizeof(MADE_DIMS(__VA_ARGS__)) / sizeof(uint32_t)), MADE_DIMS(__VA_ARGS__))
int made_integer(made_graph *graph, int64_t value);
int made_real(made_graph *graph, double value);
int made_boolean(made_graph *graph, bool value);
int made_nothing(made_graph *graph);
int made_string(made_graph *graph, const char *text);
int made_symbol(made_graph *graph);
int made_integers(made_graph *graph, int count, const int64_t *items); // in a method: numbers of values
int made_list(made_graph *graph, int count, const int64_t *values);
// Gives the tensor bytes.
void made_constant(made_program *program, made_graph *graph, int tensor, const void *data, size_t bytes);

void made_call_of(made_graph *graph, const char *name, const char *overload, int count, const int32_t *arguments);
#define MADE_CALL(graph, name, ...)                                                                                    \
    made_call_of((graph), (name), "", (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)),                 \
                 (const int32_t[]){__VA_ARGS__})
#define MADE_KERNEL(graph, name, overload, ...)                                                                        \
    made_call_of((graph), (name), (overload), (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)),         \
                 (const int32_t[]){__VA_ARGS__})
void made_input(made_graph *graph, int value);
void made_output(made_graph *graph, int value);

// Makes the method call delegate 0 with tensors of its own for all inputs and outputs of that delegate.
void made_wrap(made_program *program);
// The file; free() it.
uint8_t *made_file(const made_program *program, size_t *size);

#endif
