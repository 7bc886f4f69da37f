// SPDX-License-Identifier: Apache-2.0
// The cases of the operators: inputs, arguments, an fp64 reference. One program runs each case on each device.
// A case file src/ops/<family>/<family>_cases.c defines `const hone_op_case hone_cases_<family>[]`, ended by a row
// whose .op is NULL. References are plain loops in double that share no code with the operators.
#ifndef HONE_OPCHECK_H
#define HONE_OPCHECK_H

#include "ops/case.h"

// What a reference reads and writes; every element as a double, row-major (u8 codes as 0..255, bool as 0 or 1).
typedef struct hone_reference {
    double *const *inputs; // [input_count]; writable: what the operator mutates is mutated here too. Absent: NULL
    const hone_tensor_type *input_types;
    size_t input_count;
    double *const *outputs; // [output_count]
    const hone_tensor_type *output_types;
    size_t output_count;
    const hone_argument *arguments; // the case's own, in schema order (LIVE arrives as REAL)
} hone_reference;

typedef void hone_reference_function(const hone_reference *run);

typedef struct hone_op_case {
    const char *op;   // full name, "aten::mm"
    const char *name; // what is special here: "K = 129, g = 64"
    hone_case_input inputs[HONE_CASE_INPUTS];
    size_t input_count;
    // In schema order; tensor arguments name inputs: HONE_IN(0) is inputs[0]. Trailing defaults may be left out.
    hone_argument arguments[HONE_CASE_ARGUMENTS];
    size_t argument_count;
    hone_reference_function *reference;
    double tolerance;          // max |difference| / max |reference| of each output; 0 = bit-exact (as float)
    double gradient_tolerance; // the same for gradients against central differences of the reference; 0 = not checked
    uint32_t no_gradient;      // bit i: input i is left out of the gradient check (kinks, labels are left out anyway)
    int64_t bench_flop;        // for --bench: floating-point operations of a call, 0 = report bytes only
    bool bench_only;           // timed by --bench, not checked in `make test`
    bool large;                // takes gigabytes: timed or checked only with --large
    uint32_t no_seed;          // bit i: output i takes no part in the gradient check (a saved statistic, a gradient)
} hone_op_case;

// Constant initialisers for the tables.
#define HONE_IN(index)    {.kind = HONE_ARGUMENT_TENSOR, .value = {(index) + 1}}
#define HONE_CASE_I(n)    {.kind = HONE_ARGUMENT_INTEGER, .integer = (n)}
#define HONE_CASE_R(x)    {.kind = HONE_ARGUMENT_REAL, .real = (x)}
#define HONE_CASE_B(b)    {.kind = HONE_ARGUMENT_BOOLEAN, .integer = (b)}
#define HONE_CASE_NO      {.kind = HONE_ARGUMENT_NONE}
#define HONE_CASE_LIVE(x) {.kind = HONE_ARGUMENT_LIVE, .real = (x)} // run as a live slot that holds x
#define HONE_CASE_IS(...)                                                                                              \
    {.kind = HONE_ARGUMENT_INTEGERS,                                                                                   \
     .integers = (const int64_t[]){__VA_ARGS__},                                                                       \
     .count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}

#define HONE_TOLERANCE_PRODUCT 2e-5 // products and reductions up to K = 8192
#define HONE_TOLERANCE_SIMPLE  1e-6 // + - * / and selections
#define HONE_TOLERANCE_EXP     5e-6 // exp, log, tanh and what is built from them

// The generated list of the families' tables, ended by NULL.
extern const hone_op_case *const hone_case_tables[];

#endif
