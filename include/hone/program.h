// SPDX-License-Identifier: Apache-2.0
// ExecuTorch programs (.pte): opening one on a device and calling it, with the state that it keeps from call to call.
#ifndef HONE_PROGRAM_H
#define HONE_PROGRAM_H

#include <hone/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_pte hone_pte;
struct hone_source;

typedef struct hone_pte_options {
    const char *method; // NULL = "forward", or the first one if there is none of that name
    // The numbers that change from step to step are hone's own: bias corrections follow the count of calls, n_valid the
    // labels given. (The learning rate is the caller's: hone_pte_set before each call.) Otherwise the file's are replayed.
    bool live;
} hone_pte_options;

// What goes in, comes out or stays.
typedef struct hone_pte_port {
    const char *name;      // the source's where the file knows it, else "input0", "output0", "delegate0.value3"
    hone_tensor_type type; // as the host has it, i64 and f64 included
    bool bounded;          // the dimensions are upper bounds
    bool mutated;          // an input that the program returns changed; a state that it writes
} hone_pte_port;

// Opens a program: constants go onto the device, the operators it names are looked up, its shapes checked. An operator
// that hone does not run is HONE_UNSUPPORTED and named. The program keeps the device.
HONE_API HONE_MUST_USE hone_status hone_pte_open(hone_device *device, const char *path, const hone_pte_options *options,
                                                 hone_pte **out, hone_error *error);
// The same from any source of bytes, which the program owns from then on; on failure it stays with the caller.
HONE_API HONE_MUST_USE hone_status hone_pte_open_source(hone_device *device, struct hone_source *source,
                                                        const hone_pte_options *options, hone_pte **out,
                                                        hone_error *error);
HONE_API void hone_pte_close(hone_pte *pte); // NULL is allowed

// --- look -----------------------------------------------------------------------------------------------------------
HONE_API size_t hone_pte_input_count(const hone_pte *pte);
HONE_API const hone_pte_port *hone_pte_input(const hone_pte *pte, size_t index);
HONE_API size_t hone_pte_output_count(const hone_pte *pte);
HONE_API const hone_pte_port *hone_pte_output(const hone_pte *pte, size_t index);
// By name; false if there is none.
HONE_API bool hone_pte_find_input(const hone_pte *pte, const char *name, size_t *index);
HONE_API bool hone_pte_find_output(const hone_pte *pte, const char *name, size_t *index);

// --- run ------------------------------------------------------------------------------------------------------------
// One call: `inputs` [hone_pte_input_count] on the host, `outputs` [hone_pte_output_count] are filled in and point to
// memory of the program that is valid until the next call. i64 and f64 are narrowed on the way in, with each number
// checked, and widened on the way out; whole numbers may be given where floats are meant. Shapes may be smaller than
// those of a bounded input; a plan is kept for each of the last eight. An index beyond its table is refused before
// anything runs where it is given, and is HONE_BAD_DATA afterwards where the program computes it.
// May return HONE_PENDING: call again with the same arguments until it is done.
HONE_API HONE_MUST_USE hone_status hone_pte_run(hone_pte *pte, const hone_tensor *inputs, size_t input_count,
                                                hone_tensor *outputs, size_t output_count, hone_error *error);
// Calls so far: since the program was opened or reset, and before that those of the program that hone_pte_save wrote.
HONE_API int64_t hone_pte_step(const hone_pte *pte);

// --- state ----------------------------------------------------------------------------------------------------------
// Parameters, moments, buffers: what calls change and later calls see.
HONE_API size_t hone_pte_state_count(const hone_pte *pte);
HONE_API const hone_pte_port *hone_pte_state(const hone_pte *pte, size_t index);
// `data` holds the state's bytes in the type of its port. Reading may return HONE_PENDING.
HONE_API HONE_MUST_USE hone_status hone_pte_state_read(hone_pte *pte, size_t index, void *data, hone_error *error);
HONE_API HONE_MUST_USE hone_status hone_pte_state_write(hone_pte *pte, size_t index, const void *data,
                                                        hone_error *error);
// Everything as the file has it, its count of calls too.
HONE_API HONE_MUST_USE hone_status hone_pte_reset(hone_pte *pte, hone_error *error);
// Whether hone_pte_save can write this program; otherwise it says why not.
HONE_API HONE_MUST_USE hone_status hone_pte_check_save(hone_pte *pte, hone_error *error);
// The program as a file again, with the state as it is now in place of what it began with, and the count of calls, from
// which live bias corrections go on. May return HONE_PENDING.
HONE_API HONE_MUST_USE hone_status hone_pte_save(hone_pte *pte, const char *path, hone_error *error);

// --- numbers that may be set ----------------------------------------------------------------------------------------
typedef struct hone_pte_scalar {
    const char
        *name;     // "lr", "beta1", "beta2", "eps", "weight_decay", "bias_correction1", "bias_correction2", "n_valid"
    double value;  // of the next call, unless it is live
    size_t places; // calls of operators that read one of this name
    bool uniform;  // all of them have this value
} hone_pte_scalar;
HONE_API size_t hone_pte_scalar_count(const hone_pte *pte);
HONE_API hone_pte_scalar hone_pte_scalar_at(const hone_pte *pte, size_t index);
// By name, at all places; it is no longer live then. HONE_NOT_FOUND lists the names that there are.
HONE_API HONE_MUST_USE hone_status hone_pte_set(hone_pte *pte, const char *name, double value, hone_error *error);

// --- measure --------------------------------------------------------------------------------------------------------
typedef struct hone_pte_bytes {
    size_t constants; // on the device
    size_t state;
    size_t temporaries; // the arena of the largest plan so far
    size_t plans;       // kept now; at most 8
    size_t nodes;       // operator calls of the plan used last
} hone_pte_bytes;
HONE_API hone_pte_bytes hone_pte_measure(const hone_pte *pte);
// Which operators ran how often, and how long; on when `on`, from then on.
HONE_API void hone_pte_profile(hone_pte *pte, bool on);
// One row an operator; rows [capacity], returns how many there are.
HONE_API size_t hone_pte_profile_rows(const hone_pte *pte, hone_profile_row *rows, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
