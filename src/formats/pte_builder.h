// SPDX-License-Identifier: Apache-2.0
// Building a program's graph call by call: reading arguments, adding operators, naming results.
#ifndef HONE_FORMATS_PTE_BUILDER_H
#define HONE_FORMATS_PTE_BUILDER_H

#include <hone/op.h>

#include "formats/pte_program.h"

// How the elements of a value follow from those of an input.
typedef enum pte_tie {
    PTE_UNTIED,
    PTE_SOME,    // they are some of them, or some several times
    PTE_ALL,     // all of them, in another order
    PTE_IN_ORDER // all of them in their order
} pte_tie;

typedef struct pte_origin {
    pte_tie tie;
    uint32_t input;
} pte_origin;

typedef struct pte_builder {
    hone_pte *pte;
    pte_entry *entry;
    hone_graph *graph;
    hone_arena arena;    // lists of arguments of the call that is being added
    uint64_t calls;      // added so far
    pte_origin *origins; // [graph values]
    size_t origin_count, origin_capacity;
    const hone_tensor *inputs; // the host's; NULL at open
    size_t scalar_count;       // live slots given out
    uint32_t instruction;      // of the method, now
} pte_builder;

struct pte_op;

// One call that is being added.
typedef struct pte_site {
    pte_builder *b;
    pte_scope *scope;
    const struct pte_op *op;
    const char *name, *overload; // as in the file
    uint32_t index;              // of the call, for messages
    hone_flat_vector arguments;
    uint32_t inputs; // how many of them are arguments; the rest is results
    uint32_t out;    // value that is the result, or the list of them; PTE_NONE: there is none
} pte_site;

// --- pte_values.c: values of a scope --------------------------------------------------------------------------------

HONE_MUST_USE hone_status pte_scope_value(hone_pte *pte, const pte_scope *scope, uint32_t id, hone_pte_value *out,
                                          hone_error *error);
// A tensor as a value of the graph: what a call has made, an input, a constant or state.
HONE_MUST_USE hone_status pte_fetch(pte_builder *b, pte_scope *scope, uint32_t id, hone_value *out, hone_error *error);
HONE_MUST_USE hone_status pte_fetch_integer(pte_builder *b, pte_scope *scope, uint32_t id, int64_t *out,
                                            hone_error *error);
// The tensor as state that an operator may mutate. What is not state of the program gets a place of its own.
HONE_MUST_USE hone_status pte_fetch_state(pte_builder *b, pte_scope *scope, uint32_t id, hone_value *out,
                                          hone_error *error);
// Makes `value` the value `id`: in the type and shape that the file says, into the state if it is one.
HONE_MUST_USE hone_status pte_give(pte_builder *b, pte_scope *scope, uint32_t id, hone_value value, hone_error *error);
// What state in this value is called.
HONE_MUST_USE hone_status pte_state_name(hone_pte *pte, const pte_scope *scope, uint32_t id,
                                         const hone_pte_value *value, const char **out, hone_error *error);
void pte_give_integer(pte_scope *scope, uint32_t id, int64_t integer);
// The same without a look at type and shape.
void pte_bind(pte_scope *scope, uint32_t id, hone_value value);

// Whether the value is state of the program; whether it is the buffer of an input, and which.
bool pte_is_state(const pte_builder *b, hone_value value);
bool pte_is_input(const pte_builder *b, hone_value value, uint32_t *input);

HONE_MUST_USE hone_status pte_cast(pte_builder *b, hone_value value, hone_dtype dtype, hone_value *out,
                                   hone_error *error);
HONE_MUST_USE hone_status pte_tie_to(pte_builder *b, hone_value value, pte_origin origin, hone_error *error);
pte_origin pte_origin_of(const pte_builder *b, hone_value value);
// Calls an operator; {0} and the graph's failure in *error when it refuses.
hone_value pte_call(pte_builder *b, const char *op, const hone_argument *arguments, size_t count, hone_error *error);
#define PTE_CALL(b, op, error, ...)                                                                                    \
    pte_call((b), (op), HONE_ARGUMENTS_(__VA_ARGS__), HONE_ARGUMENT_COUNT_(__VA_ARGS__), (error))
// if (!value.id) return the error that stands there.
#define PTE_TRY_VALUE(value, error)                                                                                    \
    do {                                                                                                               \
        if (!(value).id) return (error)->status;                                                                       \
    } while (0)

// --- pte_site.c: arguments of a call ----------------------------------------------------------------------------------

uint32_t pte_argument_id(const pte_site *site, uint32_t index); // PTE_NONE if there is none
HONE_MUST_USE hone_status pte_argument(const pte_site *site, uint32_t index, hone_pte_value *out, hone_error *error);
HONE_MUST_USE hone_status pte_tensor(const pte_site *site, uint32_t index, hone_value *out, hone_error *error);
HONE_MUST_USE hone_status pte_optional_tensor(const pte_site *site, uint32_t index, hone_value *out, hone_error *error);
HONE_MUST_USE hone_status pte_integer(const pte_site *site, uint32_t index, int64_t *out, hone_error *error);
HONE_MUST_USE hone_status pte_real(const pte_site *site, uint32_t index, double *out, hone_error *error);
// A list of whole numbers, in the builder's arena.
HONE_MUST_USE hone_status pte_integers(const pte_site *site, uint32_t index, const int64_t **out, size_t *count,
                                       hone_error *error);
// A list of tensors, in the builder's arena; {0} where an optional one is absent.
HONE_MUST_USE hone_status pte_tensors(const pte_site *site, uint32_t index, const hone_value **out, size_t *count,
                                      hone_error *error);
// The number of results, their values' numbers, and what the file says of the first.
HONE_MUST_USE hone_status pte_result_ids(const pte_site *site, const uint32_t **out, size_t *count, hone_error *error);
HONE_MUST_USE hone_status pte_result_type(const pte_site *site, hone_pte_value *out, hone_error *error);
HONE_MUST_USE hone_status pte_result(const pte_site *site, hone_value value, hone_error *error);
HONE_MUST_USE hone_status pte_results(const pte_site *site, const hone_value *values, size_t count, hone_error *error);
// Notes that `indices` must lie in [low, high), as far as they come from an input.
HONE_MUST_USE hone_status pte_expect(const pte_site *site, hone_value indices, int64_t low, int64_t high,
                                     hone_error *error);

// --- pte_ops.c: the table ----------------------------------------------------------------------------------------------

typedef enum pte_rule {
    PTE_AS_IS,
    PTE_LIKE_RESULT, // tensors take the element type of the result
    PTE_ALIKE,       // tensors take the widest of their element types
    PTE_FLOATS,      // tensors become f32
    PTE_CHOICE,      // the first becomes bool, the rest like the result
} pte_rule;

typedef hone_status pte_emitter(const pte_site *site, hone_error *error);

typedef struct pte_op {
    const char *name; // in a delegate ("aten.add.Tensor"), or of a kernel beside them ("aten::add.out")
    const char *op;   // the operator called; NULL: see `emit`
    pte_rule rule;
    pte_tie tie;       // of the result to its first argument
    uint8_t takes;     // arguments that count; behind them stand only types, layouts and devices. 0 = all
    pte_emitter *emit; // NULL: the arguments go to the operator one by one
    uint8_t mutated;   // bit i: argument i is mutated
    bool in_place;     // no value besides the mutated one is the result
} pte_op;

// A kernel has an overload besides its name, a call in a delegate has "". NULL if it is not in the table.
const pte_op *pte_op_find(const char *name, const char *overload);
// Why hone does not run it: a few words, never NULL.
const char *pte_op_refusal(const char *name);
// Adds the call to the graph.
HONE_MUST_USE hone_status pte_emit(const pte_site *site, hone_error *error);
pte_emitter pte_emit_direct;

// --- those that need more than their arguments one by one ---------------------------------------------------------------
// pte_emit_shape.c
pte_emitter pte_emit_prepack, pte_emit_same, pte_emit_full, pte_emit_full_like, pte_emit_zeros, pte_emit_ones,
    pte_emit_scalar_tensor, pte_emit_arange, pte_emit_transpose, pte_emit_index, pte_emit_grid_priors,
    pte_emit_copy_in_place;
// pte_emit_train.c
pte_emitter pte_emit_rms_norm, pte_emit_adamw_step, pte_emit_fused_ce, pte_emit_linear_q4gsw_backward,
    pte_emit_linear_qcs4w, pte_emit_embedding, pte_emit_picked, pte_emit_update_cache, pte_emit_sdpa_with_kv_cache;
// pte_emit_symbol.c
pte_emitter pte_emit_nothing, pte_emit_sym_size, pte_emit_sym_add, pte_emit_sym_sub, pte_emit_sym_mul,
    pte_emit_sym_floordiv, pte_emit_sym_eq, pte_emit_sym_ne, pte_emit_sym_lt, pte_emit_sym_le, pte_emit_sym_gt,
    pte_emit_sym_ge, pte_emit_select_as_symint;

#endif
