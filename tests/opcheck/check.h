// SPDX-License-Identifier: Apache-2.0
// What the files of opcheck share: a case with its numbers drawn, the program that runs it, the report.
#ifndef HONE_OPCHECK_CHECK_H
#define HONE_OPCHECK_CHECK_H

#include "opcheck/opcheck.h"

#include "base/arena.h"
#include "base/random.h"
#include "graph/schema.h"

#define CHECK_GUARD   256 // bytes before and behind every input in its buffer
#define CHECK_OUTPUTS HONE_CASE_OUTPUTS
#define CHECK_RESULTS (CHECK_OUTPUTS + HONE_CASE_INPUTS)

// --- report
// --------------------------------------------------------------------------------------------------------

// Errors that --plant puts into device memory after a run, to see that the checks find them.
typedef enum check_plant {
    CHECK_PLANT_NONE,
    CHECK_PLANT_VALUE,    // one element of one result is wrong
    CHECK_PLANT_GUARD,    // a byte beside a buffer's values is overwritten
    CHECK_PLANT_INPUT,    // an input that the operator may not write is changed
    CHECK_PLANT_REPEAT,   // the second run differs in one bit
    CHECK_PLANT_GRADIENT, // one element of one gradient is wrong
} check_plant;

typedef struct check_session {
    uint64_t seed;
    const char *filter;
    const char *device_name;
    hone_device *devices[4]; // the same device with different numbers of threads; the first one is compared with
    int threads[4];          // 0 where threads have no meaning
    size_t device_count;
    check_plant planted;
    bool large;       // the rows that are marked so, and no others
    bool planted_now; // the planted error found a place in this case
    bool quiet;       // count failures, print none
    size_t case_count, gradient_count, failure_count;
} check_session;

// --- a case and its numbers
// ------------------------------------------------------------------------------------------

typedef struct check_case {
    const hone_op_case *row;
    hone_case call; // the row's
    const hone_schema *schema;
    hone_arena arena;
    hone_random random; // goes on where drawing the inputs left it
    hone_case_tensor inputs[HONE_CASE_INPUTS];
    bool mutated[HONE_CASE_INPUTS];
    hone_argument arguments[HONE_CASE_ARGUMENTS]; // live numbers as REAL
    // What the reference makes of it: the outputs, and the inputs that the operator mutates.
    hone_case_tensor outputs[CHECK_OUTPUTS];
    size_t output_count;
    double *after[HONE_CASE_INPUTS];
} check_case;

// Draws the inputs from the seed and the case's name, so that a filter does not change them. Always
// check_case_close.
HONE_MUST_USE hone_status check_case_open(check_case *drawn, const hone_op_case *row, uint64_t seed, hone_error *error);
// Fills outputs and after; apart from open because large cases are only timed.
HONE_MUST_USE hone_status check_case_reference(check_case *drawn, hone_error *error);
void check_case_close(check_case *drawn);

// Runs the row's reference on the given inputs and outputs.
void check_reference(const check_case *drawn, double *const *inputs, double *const *outputs);

void check_fail(check_session *session, const check_case *drawn, size_t device, const char *format, ...)
    HONE_PRINTF(4, 5);

// --- the program that runs a case
// ------------------------------------------------------------------------------------

// A value that is read back: an output, a mutated input, a gradient.
typedef struct check_result {
    hone_value value;
    hone_tensor_type type;
    size_t bytes;
    char what[48]; // "output 0", "mutated input 2", "gradient of input 1"
    size_t index;  // of the output or input
    hone_buffer *buffer;
    size_t offset;
} check_result;

typedef struct check_program {
    hone_device *device;
    const check_case *drawn;
    bool backward;
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program;
    hone_value input_values[HONE_CASE_INPUTS];
    hone_buffer *inputs[HONE_CASE_INPUTS];
    hone_buffer *seeds[CHECK_OUTPUTS];
    hone_value seed_values[CHECK_OUTPUTS];
    check_result results[CHECK_RESULTS];
    size_t result_count;
    hone_buffer *arena;
    double live[HONE_CASE_ARGUMENTS];
    size_t live_count;
} check_program;

// Each pair of open and close; close also after a failed open.
HONE_MUST_USE hone_status check_program_forward(check_program *program, hone_device *device, const check_case *drawn,
                                                hone_error *error);
// seeds[i] for output i (NULL values: not seeded), wrt bit i for input i. A gradient that does not exist has
// value {0}.
HONE_MUST_USE hone_status check_program_gradient(check_program *program, hone_device *device, const check_case *drawn,
                                                 const hone_case_tensor *seeds, uint32_t wrt, hone_error *error);
void check_program_close(check_program *program);
// Writes inputs and guards, fills the arena with NaN, runs. With `quick` it only runs.
HONE_MUST_USE hone_status check_program_run(check_program *program, bool quick, hone_error *error);
HONE_MUST_USE hone_status check_program_read(check_program *program, size_t result, void *data, hone_error *error);
// Changed guards, changed inputs: HONE_MISMATCH with the place in the message.
HONE_MUST_USE hone_status check_program_intact(check_program *program, hone_error *error);
// A buffer's download, waited for.
HONE_MUST_USE hone_status check_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes,
                                         hone_error *error);
size_t check_round_up(size_t bytes);

// --- what is checked
// ---------------------------------------------------------------------------------------------

void check_forward(check_session *session, check_case *drawn);
bool check_has_gradient(const check_case *drawn);
void check_gradient(check_session *session, check_case *drawn);
// Puts the session's planted error into the program's device memory. `repeat` counts the runs of the program.
HONE_MUST_USE hone_status check_plant_error(check_session *session, check_program *program, int repeat,
                                            hone_error *error);
// True if every operator's checks find each kind of planted error.
bool check_plant_all(check_session *session);
void check_bench(check_session *session, const hone_op_case *row);
// The next row that the filter lets through; start with {0, 0}.
typedef struct check_cursor {
    size_t table, row;
} check_cursor;
const hone_op_case *check_next(const check_session *session, check_cursor *cursor);

#endif
