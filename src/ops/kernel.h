// SPDX-License-Identifier: Apache-2.0
// Kernel variants: how an operator's call becomes dispatches on a GPU.
//
// A tensor lies on the device as it does on the host, seen as 32-bit words: bool, u8 and i8 four to a word, f16 and bf16
// two, i64 in two words of which kernels read the lower (values are i32) and write both. Kernels see words only, so a
// thread that makes small elements makes a whole word; the last word of a tensor may be written beyond its last element.
//
// Every dispatch has one block of HONE_KERNEL_WORDS words in a uniform buffer (binding 0) and its tensors at bindings 1
// to 8, all declared read_write, for a device may not see one buffer as both read and read_write in a dispatch. Groups
// are counted in one dimension; the executor folds them into rows of at most the device's limit. Words 0 and 1 are the
// executor's: groups in a row, and groups in all; the last three are 0, infinity and NaN (WGSL
// has no constants for these).
#ifndef HONE_OPS_KERNEL_H
#define HONE_OPS_KERNEL_H

#include <hone/device.h>
#include <hone/op.h>

#define HONE_KERNEL_BINDINGS   8
#define HONE_KERNEL_WORDS      64
#define HONE_KERNEL_OWN_WORD   2  // the operator's first word
#define HONE_KERNEL_ZERO       61 // always 0, which compilers cannot know; behind the operator's last word
#define HONE_KERNEL_INFINITY   62
#define HONE_KERNEL_NAN        63
#define HONE_KERNEL_MAX_GROUPS 0xffff0000 // in all; more would overflow the kernels' counting

// What a variant needs beyond WebGPU's default limits.
enum {
    HONE_KERNEL_SUBGROUPS = 1,
    HONE_KERNEL_F16 = 2,
    HONE_KERNEL_COOPERATIVE = 4, // products of small matrices by a subgroup
};

typedef enum hone_kernel_place {
    HONE_KERNEL_TENSOR,
    HONE_KERNEL_SCRATCH, // working memory of the call, contents undefined
    HONE_KERNEL_FLAGS,   // the word of error flags
    HONE_KERNEL_NOTHING  // a word that nobody reads, another one for each binding
} hone_kernel_place;

typedef struct hone_kernel_binding {
    hone_kernel_place place;
    const void *token;    // TENSOR: the tensor's `data`, which names its value to the executor
    size_t offset, bytes; // of the part that is bound; offset is a multiple of HONE_BUFFER_ALIGNMENT
} hone_kernel_binding;

typedef struct hone_kernel_dispatch {
    const char *entry; // "<file>.<function>": "binary.add_f32_same"
    hone_kernel_binding bindings[HONE_KERNEL_BINDINGS];
    uint32_t binding_count;
    uint32_t words[HONE_KERNEL_WORDS];
    uint32_t word_count;
    uint64_t groups; // 0: nothing to run
} hone_kernel_dispatch;

// What a device can bind, for rules that cut up tensors that are larger.
typedef struct hone_kernel_room {
    size_t binding_bytes; // of one binding
    size_t piece_bytes;   // buffers are made of pieces of so many bytes; a binding lies in one of them
    size_t (*place)(const void *context, const void *token); // of a tensor in its buffer, in bytes
    const void *context;
} hone_kernel_room;

// The dispatches of one call, in order. Failures stick, so that rules need not check.
typedef struct hone_kernel_list {
    const hone_kernel_room *room; // NULL: all can be bound
    hone_kernel_dispatch *dispatches;
    size_t count, capacity;
    size_t scratch_bytes;
    hone_kernel_dispatch spare; // what rules write to after a failure
    hone_error failure;
} hone_kernel_list;

// A row of an operator's table `variants`, best first; a row without name ends it.
struct hone_kernel_variant {
    const char *name; // "plain"
    uint32_t needs;   // HONE_KERNEL_*; 0: runs everywhere
    // Optional: false if the row cannot run this call.
    bool (*takes)(const hone_op_call *call);
    // Adds the dispatches. Tensors have no bytes; live numbers have the values of the run at hand, and only words may
    // depend on them.
    void (*dispatch)(const hone_op_call *call, hone_kernel_list *list);
};

// A new dispatch, valid until the next is added.
hone_kernel_dispatch *hone_kernel_add(hone_kernel_list *list, const char *entry, uint64_t groups);
void hone_kernel_clear(hone_kernel_list *list);
// The next binding: all of a tensor, working memory, the flags. A NULL tensor binds a word that nobody reads.
void hone_kernel_bind(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor);
// How many of `rows` rows of row_bytes, from row `first` on, one binding can hold; 0: that row lies across two pieces, of
// which the first has *before bytes.
int64_t hone_kernel_rows_in_reach(const hone_kernel_list *list, const hone_tensor *tensor, size_t row_bytes,
                                  int64_t first, int64_t rows, size_t *before);
// Binds bytes [from, from + bytes) of a tensor, multiples of 4. Returns at which word of the binding they begin: bindings
// start at multiples of HONE_BUFFER_ALIGNMENT.
int64_t hone_kernel_bind_part(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor,
                              size_t from, size_t bytes);
void hone_kernel_bind_scratch(hone_kernel_list *list, hone_kernel_dispatch *dispatch, size_t offset, size_t bytes);
void hone_kernel_bind_flags(hone_kernel_list *list, hone_kernel_dispatch *dispatch);
// The next word. Sizes and counts are given as int64_t and must fit.
void hone_kernel_word(hone_kernel_list *list, hone_kernel_dispatch *dispatch, int64_t word);
void hone_kernel_number(hone_kernel_list *list, hone_kernel_dispatch *dispatch, double number);

static inline uint64_t hone_kernel_groups(int64_t threads, int64_t group) {
    return (uint64_t)((threads + group - 1) / group);
}
// Elements of a type that share a word: 4 for bool, 1 for f32.
static inline int64_t hone_kernel_per_word(hone_dtype dtype) {
    const size_t bytes = hone_dtype_bytes(dtype);
    return bytes < 4 ? (int64_t)(4 / bytes) : 1;
}

#endif
