// SPDX-License-Identifier: Apache-2.0
// Graphs: values and the operator calls that make them; gradients; the plan that a device runs.
#ifndef HONE_GRAPH_H
#define HONE_GRAPH_H

#include <hone/device.h>
#include <hone/op.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- build -------------------------------------------------------------------------------------------------------
// Failures stick: after the first one every builder returns {0} and hone_graph_status gives it, so that a model can be
// written down without a check behind each line.
HONE_API HONE_MUST_USE hone_status hone_graph_create(hone_graph **out, hone_error *error);
HONE_API void hone_graph_destroy(hone_graph *graph); // NULL is allowed
HONE_API HONE_MUST_USE hone_status hone_graph_status(const hone_graph *graph, hone_error *error);
// Makes `error` the graph's failure, for gradient rules and model code that find one of their own.
HONE_API void hone_graph_fail(hone_graph *graph, const hone_error *error);

// A value that lives in a buffer of the device, at an offset, not owned by the graph. Constants are never written by
// the graph; state may be mutated by nodes and written by the host between runs. buffer may be NULL while shapes are
// only planned. `name` is copied.
HONE_API hone_value hone_graph_constant(hone_graph *graph, const char *name, hone_tensor_type type, hone_buffer *buffer,
                                        size_t offset);
HONE_API hone_value hone_graph_state(hone_graph *graph, const char *name, hone_tensor_type type, hone_buffer *buffer,
                                     size_t offset);

// Adds a call of the operator. The arguments are those of the schema in order; the rest take defaults.
// hone_emit returns the first output, hone_emit_all writes the first `count` of them.
HONE_API hone_value hone_graph_call(hone_graph *graph, const char *op, const hone_argument *arguments,
                                    size_t argument_count, hone_value *outputs, size_t output_count);
#define HONE_ARGUMENTS_(...)      ((const hone_argument[]){__VA_ARGS__})
#define HONE_ARGUMENT_COUNT_(...) (sizeof((const hone_argument[]){__VA_ARGS__}) / sizeof(hone_argument))
#define hone_emit(graph, op, ...)                                                                                      \
    hone_graph_call((graph), (op), HONE_ARGUMENTS_(__VA_ARGS__), HONE_ARGUMENT_COUNT_(__VA_ARGS__), 0, 0)
#define hone_emit_all(graph, op, outputs, count, ...)                                                                  \
    hone_graph_call((graph), (op), HONE_ARGUMENTS_(__VA_ARGS__), HONE_ARGUMENT_COUNT_(__VA_ARGS__), (outputs), (count))

// The value's bytes stay valid to the end of the run, so that the host can read them.
HONE_API void hone_graph_keep(hone_graph *graph, hone_value value);
// In recompute mode, values marked here are stored and all between two marks is computed again in the backward pass.
HONE_API void hone_graph_checkpoint(hone_graph *graph, hone_value value);
// Nodes added from now on belong to a new segment, submitted on its own. Returns its number (the first is 0). A segment
// that `repeats` may be submitted several times in a run: what it reads from earlier ones lives until its end.
HONE_API int hone_graph_segment(hone_graph *graph, bool repeats);
// Shown by printing and profiles: nodes added from now on carry this label ("blk.3.attn"). Copied; NULL = none.
HONE_API void hone_graph_label(hone_graph *graph, const char *label);

// --- look ----------------------------------------------------------------------------------------------------------
HONE_API const hone_tensor_type *hone_graph_type(const hone_graph *graph, hone_value value);
HONE_API size_t hone_graph_node_count(const hone_graph *graph);
HONE_API const hone_node *hone_graph_node(const hone_graph *graph, size_t index);
HONE_API const hone_op *hone_node_op(const hone_node *node);
HONE_API const hone_argument *hone_node_argument(const hone_node *node, size_t index); // one for each schema argument
HONE_API size_t hone_node_input_count(const hone_node *node);                          // tensor inputs, flattened
HONE_API hone_value hone_node_input(const hone_node *node, size_t index);
HONE_API size_t hone_node_output_count(const hone_node *node);
HONE_API hone_value hone_node_output(const hone_node *node, size_t index);
// The whole graph as text, one node a line: "%12 f32[64,576] = aten::mul.Tensor(%10, %11)  # blk.0". hone_free is not
// public: release the text with hone_graph_print_free.
HONE_API HONE_MUST_USE hone_status hone_graph_print(const hone_graph *graph, char **out, hone_error *error);
HONE_API void hone_graph_print_free(char *text);

// --- gradients -------------------------------------------------------------------------------------------------------
// Adds the nodes that compute d(sum_i <outputs[i], seeds[i]>)/d(wrt[j]) into gradients[j]; {0} where none flows.
// Goes back over the nodes from the last to the first; contributions are added in that fixed order.
// With `into` (may be NULL) gradient j is added to the state into[j] by hone::accumulate_, as soon as it is complete, so
// that it need not live longer.
HONE_API HONE_MUST_USE hone_status hone_graph_gradients(hone_graph *graph, const hone_value *outputs,
                                                        const hone_value *seeds, size_t output_count,
                                                        const hone_value *wrt, size_t wrt_count, const hone_value *into,
                                                        hone_value *gradients, hone_error *error);

typedef enum hone_recompute {
    HONE_RECOMPUTE_CHEAP,  // outputs of HONE_OP_CHEAP operators are computed again rather than kept (default)
    HONE_RECOMPUTE_NONE,   // everything the backward pass reads is kept
    HONE_RECOMPUTE_LAYERS, // only checkpointed values are kept
} hone_recompute;

// --- plan --------------------------------------------------------------------------------------------------------
// Order, aliases, places: what a device needs to run the graph. The plan borrows the graph.
typedef struct hone_plan hone_plan;
typedef struct hone_plan_options {
    hone_recompute recompute;
    size_t first_backward_node; // nodes from here on are the backward pass; 0 = there is none
    size_t max_arena_bytes;     // no temporary lies across a multiple of this; 0 = the arena is one piece
} hone_plan_options;

HONE_API HONE_MUST_USE hone_status hone_plan_create(hone_graph *graph, const hone_plan_options *options,
                                                    hone_plan **out, hone_error *error);
HONE_API void hone_plan_destroy(hone_plan *plan); // NULL is allowed

typedef struct hone_plan_bytes {
    size_t constants; // bytes of constants read, each counted once
    size_t state;
    size_t temporaries; // the arena: the peak of what lives at one time, with placement losses
    size_t lower_bound; // the peak of what lives at one time, without them
    size_t saved;       // of the temporaries: made in the first segment, read in the last (two segments apart or more)
    size_t nodes;       // to run, recomputed ones included
    size_t recomputed;
} hone_plan_bytes;
HONE_API hone_plan_bytes hone_plan_measure(const hone_plan *plan);

// --- run -----------------------------------------------------------------------------------------------------------
// A plan made ready on a device: arena allocated, buffers bound, kernels built.
typedef struct hone_program hone_program;

// Programs that never run at the same time may share one arena of at least hone_plan_measure().temporaries bytes;
// NULL gives the program its own. The program borrows plan, graph and arena. May return HONE_PENDING (pipelines are
// being built): call again with the same *out. A *out that is ready stays as it is.
HONE_API HONE_MUST_USE hone_status hone_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena,
                                                       hone_program **out, hone_error *error);
HONE_API void hone_program_destroy(hone_program *program); // NULL is allowed
// Queues one segment. `live` are the numbers of the live slots ([live_count], copied at once).
HONE_API HONE_MUST_USE hone_status hone_program_submit(hone_program *program, int segment, const double *live,
                                                       size_t live_count, hone_error *error);
// Until all that was submitted is done; may return HONE_PENDING.
HONE_API HONE_MUST_USE hone_status hone_program_wait(hone_program *program, hone_error *error);
// Where a kept value, constant or state lies.
HONE_API HONE_MUST_USE hone_status hone_program_locate(hone_program *program, hone_value value, hone_buffer **buffer,
                                                       size_t *offset, hone_error *error);
// Error flags (HONE_FLAG_*) since the last call; clears them.
HONE_API uint32_t hone_program_flags(hone_program *program);
// Seconds spent in each node so far, for `--profile` and bench; on when `on`. seconds[i] for node i of the plan's order.
HONE_API void hone_program_profile(hone_program *program, bool on);
typedef struct hone_profile_row {
    const hone_op *op;
    const char *label;
    double seconds;
    uint64_t calls;
    double bytes; // of all calls: every input and output once, what is written in place twice
    double flop;  // of all calls, where the operator has a rule for it; else 0
} hone_profile_row;
HONE_API size_t hone_program_profile_rows(const hone_program *program, hone_profile_row *rows, size_t capacity);
// Every call of an operator in profiled programs, for a trace: when it began, in seconds of the host's clock, and what it
// took. A GPU tells how long each dispatch took, not when: its calls are put end to end from when they were submitted.
typedef void hone_trace_report(void *context, const hone_op *op, const char *label, double start, double seconds);
HONE_API void hone_device_trace(hone_device *device, hone_trace_report *report, void *context); // NULL: no more

#ifdef __cplusplus
}
#endif
#endif
