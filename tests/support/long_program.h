// SPDX-License-Identifier: Apache-2.0
// Programs of very many operators and nothing else, as .pte bytes: for the time and the memory that a file may cost.
#ifndef HONE_TESTS_LONG_PROGRAM_H
#define HONE_TESTS_LONG_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

typedef enum long_shape {
    LONG_CHAIN,    // each reads the one before
    LONG_PAIRS,    // each reads the two before
    LONG_WIDE,     // the first half is read by the second: half of the values live at the same time
    LONG_RANDOM,   // each reads a late one and any one
    LONG_NUMBERED, // as LONG_CHAIN, in which no two calls or values share bytes, as exporters write
    // Lies: all calls share
    LONG_ARGUMENTS, // a list of arguments with as many of them as there are calls
    LONG_LIST,      // a list of tensors with as many of them
    LONG_NAME       // a name of 16 times as many letters
} long_shape;

// One delegate with one input of four floats, and `calls` calls. free() it.
uint8_t *long_program(long_shape shape, int calls, size_t *size);

#endif
