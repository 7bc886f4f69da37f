// SPDX-License-Identifier: Apache-2.0
// The numbers of a case: how the inputs of a call are drawn, and how what comes out is compared. The tables of cases
// (src/ops/<family>/<family>_cases.c) are the tests' and have references too; see tests/opcheck/opcheck.h. Those that the
// self-test of a device runs are copied from there into the library when it is built.
#ifndef HONE_OPS_CASE_H
#define HONE_OPS_CASE_H

#include <hone/graph.h>

#include "base/arena.h"
#include "base/random.h"

#define HONE_CASE_INPUTS    16
#define HONE_CASE_ARGUMENTS 24
#define HONE_CASE_OUTPUTS   64

typedef enum hone_fill {
    HONE_FILL_UNIFORM,         // real in [low, high); low == high == 0 means [-1, 1)
    HONE_FILL_INTEGER,         // whole numbers in [low, high]
    HONE_FILL_VALUES,          // values[i % value_count]
    HONE_FILL_POSITIVE_SCALES, // reals in [0.01, 0.1): group scales
} hone_fill;

// The spare bytes and padded columns of 4-bit weights are filled at random like the rest: they must never be read.
typedef struct hone_case_input {
    hone_tensor_type type; // dims in a table are literals: {HONE_DTYPE_F32, 2, {3, 4}}
    hone_fill fill;
    double low, high;
    const double *values;
    size_t value_count;
} hone_case_input;

typedef struct hone_case_tensor {
    hone_tensor_type type;
    size_t elements, bytes;
    double *values;
    void *data; // the same as the host has it in memory; NULL for what only the reference makes
} hone_case_tensor;

// A call with its inputs. Tensor arguments name inputs by number plus one; a LIVE argument holds its number.
typedef struct hone_case {
    const char *op, *name;
    const hone_case_input *inputs;
    size_t input_count;
    const hone_argument *arguments; // the rest takes the schema's defaults
    size_t argument_count;
    size_t list_outputs; // of an operator that gives a list
    double tolerance;    // max |difference| / max |reference|; 0 = bit-exact (as float)
    bool first;          // the self-test at opening a device runs this one
    int64_t flop;        // floating-point operations of a call; 0: not said
} hone_case;

// The cases of the self-test, generated when hone is built; ended by a row without op.
extern const hone_case hone_selftest_cases[];
// The kernels that its cases marked `first` run by, so that their pipelines can be made at the same time.
typedef struct hone_case_kernel {
    const char *entry; // as in hone_kernel_dispatch
    uint32_t binding_count;
    uint32_t needs; // HONE_KERNEL_*
} hone_case_kernel;
extern const hone_case_kernel hone_selftest_kernels[]; // ended by one without entry
// Cases for `hone bench --op`: a part of the command line, not of the library.
extern const hone_case hone_bench_cases[];

// Where the call's inputs lie; NULL: shapes only.
typedef struct hone_case_buffers {
    hone_buffer *const *buffers; // [input_count]
    size_t offset;
} hone_case_buffers;

// Which inputs the schema says are written.
HONE_MUST_USE hone_status hone_case_mutated(const hone_case *drawn, bool *mutated, hone_error *error);
// Adds the call with its inputs as values (written to `values`) to the graph.
HONE_MUST_USE hone_status hone_case_emit(hone_graph *graph, const hone_case *drawn, const hone_case_buffers *buffers,
                                         hone_value *values, hone_error *error);
// Types of the outputs, [HONE_CASE_OUTPUTS]; sets drawn->list_outputs.
HONE_MUST_USE hone_status hone_case_output_types(hone_case *drawn, hone_tensor_type *types, size_t *count,
                                                 hone_error *error);
// The numbers of its live arguments in order, [HONE_CASE_ARGUMENTS].
size_t hone_case_live(const hone_case *drawn, double *live);

bool hone_case_is_float(hone_dtype dtype);
void hone_case_decode(hone_dtype dtype, const void *data, size_t count, double *values);
void hone_case_encode(hone_dtype dtype, const double *values, size_t count, void *data);
// Draws one input. HONE_INVALID_ARGUMENT when the row asks for something without meaning.
HONE_MUST_USE hone_status hone_case_draw(const hone_case_input *input, hone_random *random, hone_arena *arena,
                                         hone_case_tensor *out, hone_error *error);
// Largest finite magnitude.
double hone_case_largest(const double *values, size_t count);
// True if `got` (bytes of the type) is `want` within tolerance; else text says where and by how much.
bool hone_case_compare(const hone_tensor_type *type, const void *got, const double *want, double tolerance, char *text,
                       size_t text_size);

#endif
