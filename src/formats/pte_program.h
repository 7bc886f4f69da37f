// SPDX-License-Identifier: Apache-2.0
// A program that was opened: what the files that build its graphs and run them share.
#ifndef HONE_FORMATS_PTE_PROGRAM_H
#define HONE_FORMATS_PTE_PROGRAM_H

#include <hone/program.h>

#include "base/arena.h"
#include "formats/pte.h"

#define PTE_PLANS 8
#define PTE_NONE  UINT32_MAX

// --- what lies on the device ------------------------------------------------------------------------------------------

typedef struct pte_constant {
    hone_pte_range range;
    int code;     // ATen's number of the element type in the file
    bool swapped; // the two halves of each byte change places on the way
    hone_buffer *buffer;
} pte_constant;

typedef struct pte_state {
    hone_tensor_type type; // on the device
    int code;              // in the file
    bool initial;          // it begins with `range`; otherwise with zeros
    bool scratch;          // no state of the program: a place that an operator mutates
    hone_pte_range range;
    hone_buffer *buffer; // made when it is first needed
    int delegate;        // whose value it is; -1 = the method's
    uint32_t value;
    hone_pte_port port;
} pte_state;

// --- values while a graph is built --------------------------------------------------------------------------------------

typedef struct pte_binding {
    int64_t integer;  // of a number
    hone_value value; // of a tensor
    bool bound;
} pte_binding;

// The values of the method, or of one delegate.
typedef struct pte_scope {
    int delegate; // -1: the method
    hone_flat *flat;
    uint32_t count;
    uint32_t *storage;     // [count] the value whose bytes it has: itself, or the constant that was prepacked into it
    uint8_t *mutations;    // [count] by storage: calls that write it; 2 = several
    uint32_t *held;        // [count] by storage: 1 + number of its constant, or of its state if `mutated`; 0 = none yet
    pte_binding *bindings; // [count] of the graph that is being built
    bool called;           // in that graph
} pte_scope;

// --- numbers ----------------------------------------------------------------------------------------------------------

typedef enum pte_number {
    PTE_LR,
    PTE_BETA1,
    PTE_BETA2,
    PTE_EPS,
    PTE_WEIGHT_DECAY,
    PTE_CORRECTION1,
    PTE_CORRECTION2,
    PTE_N_VALID,
    PTE_NUMBERS
} pte_number;

// One place where an operator reads a number that may change; its index is the number of the live slot.
typedef struct pte_scalar {
    pte_number kind;
    double file; // value in the file
    double value;
    bool set; // by the caller: no longer live
} pte_scalar;

// An operator that the program calls, and whether hone runs it.
typedef struct pte_need {
    const char *name, *overload; // as in the file
    const struct pte_op *op;     // its row in the table; NULL if it has none
    uint64_t calls;
    const char *lack; // why hone does not run it; NULL if it does
} pte_need;

// --- plans ------------------------------------------------------------------------------------------------------------

// A constant or state of the graph whose buffer is known only when the plan is made.
typedef struct pte_late {
    hone_value value;
    bool state;     // of pte->states; otherwise the buffer of an input
    uint32_t index; // of the state or the input
} pte_late;

// Elements of an input that are used as indices: each must be in [low, high).
typedef struct pte_check {
    uint32_t input;
    int64_t low, high;
    const char *what; // the operator
} pte_check;

// A whole number that the program takes out of an input and that shapes depend on.
typedef struct pte_reading {
    uint32_t input;
    int64_t element;
    int64_t value;
} pte_reading;

typedef struct pte_output {
    hone_value value; // {0}: a number
    int64_t integer;
} pte_output;

typedef struct pte_entry {
    hone_tensor_type *types; // [inputs] on the device
    hone_graph *graph;
    hone_plan *plan;       // NULL until it is first run
    hone_program *program; // likewise
    pte_output *outputs;   // [outputs]
    pte_late *late;
    size_t late_count, late_capacity;
    pte_check *checks;
    size_t check_count, check_capacity;
    pte_reading *readings;
    size_t reading_count, reading_capacity;
    bool *labels;      // [inputs] its elements are labels: those that are not negative count
    bool counts;       // all labels come from inputs
    uint64_t last_use; // for choosing which one to drop
} pte_entry;

typedef enum pte_phase { PTE_IDLE, PTE_CREATE, PTE_WAIT, PTE_DOWNLOAD } pte_phase;

struct hone_pte {
    hone_device *device;
    hone_pte_file *file;
    hone_pte_method method;
    pte_scope scope;
    pte_scope *delegates; // [method.delegates.count]
    hone_pte_blob *blobs; // likewise
    hone_arena arena;     // names
    hone_pte_port *inputs, *outputs;
    uint32_t input_count, output_count;
    bool dynamic; // some input is bounded

    pte_constant *constants;
    size_t constant_count, constant_capacity;
    uint32_t *buckets; // hash of constants: 1 + number
    size_t bucket_count;
    uint64_t constant_file_bytes; // of distinct ranges: no more than the file has
    size_t constant_bytes;

    pte_state *states;
    size_t state_count, state_capacity;
    uint32_t *listed; // the states that are not scratch
    size_t listed_count;

    pte_need *needs;
    size_t need_count, need_capacity;
    bool needs_more;     // there are others that hone does not run
    uint64_t calls;      // of operators, in all
    uint64_t work;       // arguments of calls and items of lists that were looked at: pte_count_work
    uint32_t *last_read; // [scope.count] 1 + the last instruction that has the value among its arguments
    uint32_t last_any;   // 1 + the last instruction that may read any of them

    pte_scalar *scalars;
    size_t scalar_count, scalar_capacity;
    double *live; // [scalar_count] as given with a submit
    bool is_live;
    int64_t step, file_step; // calls so far; those that the file had behind it when it was saved

    pte_entry *entries[PTE_PLANS];
    size_t entry_count;
    uint64_t uses;
    hone_buffer **input_buffers; // [input_count]
    hone_buffer *plan_arena;     // shared by the programs of all entries
    bool profiled;
    hone_profile_row *profile; // of entries that are gone
    size_t profile_count, profile_capacity;

    void **saved; // [listed_count] what was read of the state so far, for hone_pte_save
    size_t saved_count;

    pte_phase phase;
    pte_entry *running;
    uint32_t downloaded;  // outputs read back
    hone_tensor *results; // [output_count]
    size_t *result_bytes; // [output_count] room of results[i].data
    void *staging;        // an output as the device has it
    size_t staging_bytes;
    void *scratch; // for conversions: twice PTE_CHUNK elements of 8 bytes
};

// --- pte_load.c: bytes of the file onto the device -------------------------------------------------------------------

// The device's constant for these bytes; uploaded once, shared where range and type are the same.
HONE_MUST_USE hone_status pte_constant_get(hone_pte *pte, hone_pte_range range, const hone_pte_value *value,
                                           bool swapped, uint32_t *out, hone_error *error);
// The state's buffer: made and filled with what it begins with.
HONE_MUST_USE hone_status pte_state_begin(hone_pte *pte, pte_state *state, hone_error *error);
// The range of a value with a constant number, of the size its type wants.
HONE_MUST_USE hone_status pte_value_range(hone_pte *pte, const pte_scope *scope, const hone_pte_value *value,
                                          hone_pte_range *out, hone_error *error);

// --- pte_convert.c: between the host's element types and the device's -------------------------------------------------

// Elements converted at a time.
#define PTE_CHUNK 65536
// `count` elements at `from` (as the host has them) into `to` (as the device does). HONE_BAD_DATA names the element, `first`
// being the number of the first, where one does not fit.
HONE_MUST_USE hone_status pte_narrow(hone_dtype to_dtype, void *to, hone_dtype from_dtype, const void *from,
                                     size_t count, size_t first, const char *what, hone_error *error);
void pte_widen(hone_dtype to_dtype, void *to, hone_dtype from_dtype, const void *from, size_t count);
// Whether the host's type may be given where `wanted` is meant.
bool pte_may_give(hone_dtype given, hone_dtype wanted);
// A tensor of the host into a buffer of the device.
HONE_MUST_USE hone_status pte_upload(hone_pte *pte, const hone_tensor *tensor, hone_dtype device_dtype,
                                     hone_buffer *buffer, const char *what, hone_error *error);
int64_t pte_integer_at(const hone_tensor *tensor, int64_t index);

// --- pte_open.c -----------------------------------------------------------------------------------------------------

// All that can be told without a device: scopes, ports, and what pte_scan fills in. Close it with hone_pte_close. Takes
// ownership of the source when it succeeds.
HONE_MUST_USE hone_status pte_open_file(hone_source *source, const char *method, hone_pte **out, hone_error *error);

// --- pte_scan.c: one pass over all calls before anything is built ---------------------------------------------------

// Fills in storage and mutations of every scope, needs and scalars.
HONE_MUST_USE hone_status pte_scan(hone_pte *pte, hone_error *error);
// Calls may share their lists. So many items are looked at for a file of this size; more is refused, or a small file would
// make much work.
HONE_MUST_USE hone_status pte_count_work(hone_pte *pte, uint64_t items, hone_error *error);
// Refuses a program that needs what hone does not run, by name.
HONE_MUST_USE hone_status pte_check_needs(const hone_pte *pte, hone_error *error);
extern const char *const pte_number_names[PTE_NUMBERS];

// --- pte_build.c ------------------------------------------------------------------------------------------------------

// A graph for these input types. `inputs` (NULL at open) are the host's tensors, for numbers that shapes depend on.
HONE_MUST_USE hone_status pte_build(hone_pte *pte, const hone_tensor_type *types, const hone_tensor *inputs,
                                    pte_entry **out, hone_error *error);
void pte_entry_destroy(pte_entry *entry); // NULL is allowed

// --- pte_plan.c: graphs that are ready to run -----------------------------------------------------------------------

// The graph for these inputs: kept from before, or built. At most PTE_PLANS are kept.
HONE_MUST_USE hone_status pte_entry_choose(hone_pte *pte, const hone_tensor_type *types, const hone_tensor *inputs,
                                           pte_entry **out, hone_error *error);
void pte_entry_add(hone_pte *pte, pte_entry *entry); // takes it
// Buffers, plan, arena and program. May return HONE_PENDING.
HONE_MUST_USE hone_status pte_entry_prepare(hone_pte *pte, pte_entry *entry, hone_error *error);
void pte_entries_clear(hone_pte *pte);

// --- pte_save.c -------------------------------------------------------------------------------------------------------

// Fills in step and file_step.
HONE_MUST_USE hone_status pte_step_read(hone_pte *pte, hone_error *error);

// --- pte_numbers.c --------------------------------------------------------------------------------------------------

// Fills in pte->live for a call with these inputs.
HONE_MUST_USE hone_status pte_numbers_now(hone_pte *pte, const pte_entry *entry, const hone_tensor *inputs,
                                          hone_error *error);

#endif
