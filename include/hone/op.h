// SPDX-License-Identifier: Apache-2.0
// The descriptor of an operator: everything hone knows of it, said once. A program that links the library describes its
// own operators the same way and registers them with hone_op_register.
#ifndef HONE_OP_H
#define HONE_OP_H

#include <hone/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_graph hone_graph;
typedef struct hone_node hone_node;
typedef struct hone_op hone_op;
typedef struct hone_pool hone_pool;

// A value of a graph. {0} is no value: an absent optional tensor, or what a builder returns after a failure.
typedef struct hone_value {
    uint32_t id;
} hone_value;

typedef enum hone_argument_kind {
    HONE_ARGUMENT_NONE,     // absent optional, or "take the schema's default" behind the last one given
    HONE_ARGUMENT_TENSOR,   // value
    HONE_ARGUMENT_TENSORS,  // values, count
    HONE_ARGUMENT_INTEGER,  // integer (also dtype codes)
    HONE_ARGUMENT_REAL,     // real
    HONE_ARGUMENT_BOOLEAN,  // integer 0 or 1
    HONE_ARGUMENT_INTEGERS, // integers, count
    HONE_ARGUMENT_STRING,   // string
    HONE_ARGUMENT_LIVE      // a number read from the parameter buffer at each run: slot in `integer`
} hone_argument_kind;

// One argument as a builder gives it. The graph copies what pointers point to.
typedef struct hone_argument {
    hone_argument_kind kind;
    hone_value value;
    const hone_value *values;
    const int64_t *integers;
    const char *string;
    size_t count;
    int64_t integer;
    double real;
} hone_argument;

// Short spellings for calls of hone_emit.
#define HONE_T(v)       ((hone_argument){.kind = HONE_ARGUMENT_TENSOR, .value = (v)})
#define HONE_TS(v, n)   ((hone_argument){.kind = HONE_ARGUMENT_TENSORS, .values = (v), .count = (n)})
#define HONE_I(n)       ((hone_argument){.kind = HONE_ARGUMENT_INTEGER, .integer = (n)})
#define HONE_R(x)       ((hone_argument){.kind = HONE_ARGUMENT_REAL, .real = (x)})
#define HONE_B(b)       ((hone_argument){.kind = HONE_ARGUMENT_BOOLEAN, .integer = (b)})
#define HONE_IS(p, n)   ((hone_argument){.kind = HONE_ARGUMENT_INTEGERS, .integers = (p), .count = (n)})
#define HONE_S(s)       ((hone_argument){.kind = HONE_ARGUMENT_STRING, .string = (s)})
#define HONE_LIVE(slot) ((hone_argument){.kind = HONE_ARGUMENT_LIVE, .integer = (slot)})
#define HONE_NO         ((hone_argument){.kind = HONE_ARGUMENT_NONE})

// One argument as an operator's functions see it: resolved, defaults filled in, one for each argument of the schema.
typedef struct hone_operand {
    hone_argument_kind kind;    // never LIVE: a live number arrives as REAL or INTEGER, as the schema says
    bool live;                  // it was LIVE: its number is known at run time only (0 while shapes are inferred)
    const hone_tensor *tensors; // TENSOR (count 1) and TENSORS; data is NULL while shapes are inferred. NONE: NULL
    size_t count;               // tensors or integers
    const int64_t *integers;
    const char *string;
    int64_t integer; // INTEGER, BOOLEAN; for REAL the truncated value
    double real;     // REAL; for INTEGER and BOOLEAN the same number
} hone_operand;

// A call of an operator with its operands resolved: what the shape rule and the CPU function receive.
typedef struct hone_op_call {
    const hone_op *op;
    const hone_operand *operands; // [operand_count], in schema order
    size_t operand_count;
    hone_tensor *outputs; // [output_count]; the shape rule writes .type, the CPU function writes through .data
    size_t output_count;
    hone_pool *pool;      // for hone_call_parallel; may be NULL
    void *workspace;      // cpu_workspace bytes, shared by all threads, contents undefined
    void *thread_scratch; // see hone_call_scratch
    size_t thread_scratch_bytes;
    uint32_t *flags; // error flags of the run: HONE_FLAG_* are or-ed in (atomically on the GPU)
} hone_op_call;

#define HONE_FLAG_INDEX 1u // an index computed in the graph was out of range and was clamped
#define HONE_FLAG_COUNT 2u // fused_ce: n_valid was not positive though rows are supervised; loss and gradient are NaN

// Bytes of working memory a call wants on the CPU; known from shapes alone.
typedef struct hone_cpu_needs {
    size_t workspace_bytes;      // one block shared by all threads
    size_t thread_scratch_bytes; // one block for each thread
} hone_cpu_needs;

// What a gradient rule receives: the node, the gradients of its outputs, and where to put those of its inputs.
typedef struct hone_gradient_call {
    hone_graph *graph;
    const hone_node *node;
    const hone_value *output_gradients; // [outputs]; {0} where nothing flows back
    hone_value *input_gradients; // [tensor inputs, flattened: lists element by element, absent ones too]; starts as {0}
    const bool *wanted;          // [the same]: only these need be written
} hone_gradient_call;

// How a GPU runs the operator: a row per kernel variant, best first. (Rows are read by the GPU executor only.)
typedef struct hone_kernel_variant hone_kernel_variant;

enum {
    HONE_OP_CHEAP = 1,    // recomputing it in the backward pass costs less than keeping its output (elementwise, norms)
    HONE_OP_VIEW = 2,     // output 0 has the bytes of tensor input 0 under another shape: the plan makes it an alias
    HONE_OP_IN_PLACE = 4, // output 0 may be written over tensor input 0 when both have the same type
    HONE_OP_IN_PLACE_1 = 8,         // the same for tensor input 1
    HONE_OP_IN_PLACE_OUTPUT_1 = 32, // output 1 may be written over tensor input 0 when both have the same type
    HONE_OP_EFFECT = 16, // mutates an argument; keeps program order, is never removed or recomputed (set by "(a!)")
};

struct hone_op {
    // Name and ATen-style schema: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
    // Types: Tensor, Tensor?, Tensor(a!), Tensor[], int, int?, float, float?, bool, Scalar, int[], ScalarType, str.
    // The name is what stands before "(".
    const char *schema;
    const char *summary; // one line for `hone ops` and the docs, with the formula
    uint32_t flags;      // HONE_OP_*

    // Shape and dtype rule: checks operands, writes outputs[i].type. Every rule of shape is checked here and only here.
    hone_status (*infer)(const hone_op_call *call, hone_error *error);
    // CPU function: reads operands[i].tensors[j].data, writes outputs[i].data. Cannot fail; shapes have been checked.
    void (*cpu)(const hone_op_call *call);
    // Optional: working memory of the CPU function.
    hone_cpu_needs (*cpu_needs)(const hone_op_call *call);
    // Optional: adds nodes that compute the gradients; NULL = not differentiable. `gradient_text` says the rule in words.
    hone_status (*gradient)(const hone_gradient_call *call, hone_error *error);
    const char *gradient_text;
    // Optional: kernel variants, ended by a row without entry; NULL = CPU only.
    const hone_kernel_variant *variants;
    // Optional: floating-point operations of a call, from shapes alone, for profiles. NULL where what it moves says more.
    double (*flop)(const hone_op_call *call);
};

// Adds an operator of the program's own; the descriptor must live as long as the process uses it. A name that exists
// already, or a schema that does not parse, is an error. Not thread-safe: register before building graphs.
HONE_API HONE_MUST_USE hone_status hone_op_register(const hone_op *op, hone_error *error);
// By full name ("aten::add.Tensor"); NULL if there is none.
HONE_API const hone_op *hone_op_find(const char *name);
// All operators, sorted by name: index in [0, hone_op_count()).
HONE_API size_t hone_op_count(void);
HONE_API const hone_op *hone_op_at(size_t index);
// The length of the name within op->schema.
HONE_API size_t hone_op_name_length(const hone_op *op);

// For CPU functions: runs task(context, index, thread) for each index in [0, count) on the call's threads.
// What a task does may depend on index and shape, never on thread (but for its scratch).
HONE_API void hone_call_parallel(const hone_op_call *call, int64_t count,
                                 void (*task)(void *context, int64_t index, int thread), void *context);
// This thread's scratch of cpu_needs().thread_scratch_bytes, aligned to 64; contents undefined.
HONE_API void *hone_call_scratch(const hone_op_call *call, int thread);

#ifdef __cplusplus
}
#endif
#endif
