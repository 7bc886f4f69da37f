// SPDX-License-Identifier: Apache-2.0
// Largest and smallest elements over any set of dimensions, and the places of them. NaN wins over every number.
#include <math.h>

#include "ops/reduce/axes.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

enum { LANES = 16, COLUMNS = 64 };

// Which of two elements wins does not depend on the order for what they are worth; 0 and -0, and one NaN and another,
// are told apart by an order that depends on shape alone.
HONE_INLINE float larger_f32(float x, float best) {
    return hone_select((x > best) | (x != x), x, best);
}
HONE_INLINE float smaller_f32(float x, float best) {
    return hone_select((x < best) | (x != x), x, best);
}
HONE_INLINE int32_t larger_i32(int32_t x, int32_t best) {
    return x > best ? x : best;
}
HONE_INLINE int32_t smaller_i32(int32_t x, int32_t best) {
    return x < best ? x : best;
}

// run: the best of n elements that lie together. fold: n neighbours at once into n bests.
typedef struct kind {
    void (*run)(const void *x, int64_t n, void *best);
    void (*fold)(void *best, const void *x, int64_t n);
    union {
        float f32;
        int32_t i32;
    } start;
    bool larger;
} kind;

#define DEFINE(wins, type)                                                                                             \
    HONE_VECTOR static void wins##_run(const void *elements, int64_t n, void *best) {                                  \
        const type *const x = elements;                                                                                \
        type lanes[LANES], one = *(type *)best;                                                                        \
        for (int j = 0; j < LANES; j++) lanes[j] = one;                                                                \
        int64_t i = 0;                                                                                                 \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (int j = 0; j < LANES; j++) lanes[j] = wins(x[i + j], lanes[j]);                                       \
        for (; i < n; i++) one = wins(x[i], one);                                                                      \
        for (int j = 0; j < LANES; j++) one = wins(lanes[j], one);                                                     \
        *(type *)best = one;                                                                                           \
    }                                                                                                                  \
    HONE_VECTOR static void wins##_fold(void *bests, const void *elements, int64_t n) {                                \
        const type *const x = elements;                                                                                \
        type *const best = bests;                                                                                      \
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) best[i] = wins(x[i], best[i]);                                \
    }
DEFINE(larger_f32, float)
DEFINE(smaller_f32, float)
DEFINE(larger_i32, int32_t)
DEFINE(smaller_i32, int32_t)

static kind kind_of(const hone_tensor *self, bool larger) {
    if (self->type.dtype == HONE_DTYPE_F32)
        return larger ? (kind){larger_f32_run, larger_f32_fold, {.f32 = -INFINITY}, true}
                      : (kind){smaller_f32_run, smaller_f32_fold, {.f32 = INFINITY}, false};
    return larger ? (kind){larger_i32_run, larger_i32_fold, {.i32 = INT32_MIN}, true}
                  : (kind){smaller_i32_run, smaller_i32_fold, {.i32 = INT32_MAX}, false};
}

// Both types have 4 bytes; elements are moved as such.
typedef struct context {
    kind kind;
    hone_reduction axes;
    const uint32_t *in;
    uint32_t *out;
    uint32_t *parts; // of blocks when there is one output
} context;

static uint32_t start_of(const context *c) {
    uint32_t bits;
    memcpy(&bits, &c->kind.start, sizeof bits);
    return bits;
}

// --- values ----------------------------------------------------------------------------------------------------------
static void value_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_axes *const kept = &c->axes.kept, *const reduced = &c->axes.reduced;
    const int outer = reduced->rank > 0 ? reduced->rank - 1 : 0;
    const int64_t run = reduced->rank > 0 ? reduced->dims[outer] : 1;
    for (int64_t o = begin; o < end; o++) {
        const uint32_t *const base = c->in + hone_axes_offset(kept, kept->rank, o);
        c->out[o] = start_of(c);
        for (int64_t r = 0; r < reduced->count / run; r++)
            c->kind.run(base + hone_axes_offset(reduced, outer, r), run, &c->out[o]);
    }
}

static void value_columns(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_axes *const kept = &c->axes.kept, *const reduced = &c->axes.reduced;
    const int64_t inner = kept->dims[kept->rank - 1];
    for (int64_t o = begin; o < end;) {
        const int64_t left = inner - o % inner, n = left < end - o ? left : end - o;
        const uint32_t *const base = c->in + hone_axes_offset(kept, kept->rank, o);
        for (int64_t i = 0; i < n; i++) c->out[o + i] = start_of(c);
        for (int64_t r = 0; r < reduced->count; r++)
            c->kind.fold(c->out + o, base + hone_axes_offset(reduced, reduced->rank, r), n);
        o += n;
    }
}

static void value_block(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    uint32_t *const part = &c->parts[begin / HONE_BLOCK];
    *part = start_of(c);
    c->kind.run(c->in + begin, end - begin, part);
}

static void reduce(const hone_op_call *call, context *c) {
    const int64_t count = c->axes.reduced.count, grain = HONE_BLOCK / (count > 0 ? count : 1) + 1;
    if (hone_reduction_is_whole(&c->axes)) {
        hone_call_elements(call, count, value_block, c);
        c->out[0] = start_of(c);
        c->kind.run(c->parts, (count + HONE_BLOCK - 1) / HONE_BLOCK, c->out);
    } else if (c->axes.inner_reduced) {
        hone_call_ranges(call, c->axes.kept.count, grain, value_rows, c);
    } else {
        hone_call_ranges(call, c->axes.kept.count, grain < COLUMNS ? COLUMNS : grain, value_columns, c);
    }
}

static hone_status check_elements(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    HONE_OP_CHECK(self->type.dtype == HONE_DTYPE_F32 || self->type.dtype == HONE_DTYPE_I32,
                  "elements must be f32 or i32, not %s", hone_op_type_text(self));
    return HONE_OK;
}

static hone_status value_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    bool marked[HONE_MAX_RANK];
    HONE_TRY(check_elements(call, error));
    HONE_TRY(hone_reduction_dims(call, 1, &self->type, marked, error));
    call->outputs[0].type = hone_reduction_type(&self->type, marked, call->operands[2].integer);
    HONE_OP_CHECK(hone_type_elements(&self->type) > 0 || hone_type_elements(&call->outputs[0].type) == 0,
                  "%s has no elements to choose from", hone_op_type_text(self));
    return HONE_OK;
}

static context resolve(const hone_op_call *call, bool larger) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    context c = {
        .kind = kind_of(self, larger), .in = self->data, .out = call->outputs[0].data, .parts = call->workspace};
    bool marked[HONE_MAX_RANK] = {false};
    if (hone_reduction_dims(call, 1, &self->type, marked, 0) == HONE_OK)
        hone_reduction_split(&self->type, marked, &c.axes);
    return c;
}

static hone_cpu_needs value_needs(const hone_op_call *call) {
    const context c = resolve(call, true);
    const size_t blocks = (size_t)c.axes.reduced.count / HONE_BLOCK + 1;
    return (hone_cpu_needs){.workspace_bytes = hone_reduction_is_whole(&c.axes) ? blocks * sizeof(uint32_t) : 0};
}

static void amax_cpu(const hone_op_call *call) {
    context c = resolve(call, true);
    reduce(call, &c);
}

static void amin_cpu(const hone_op_call *call) {
    context c = resolve(call, false);
    reduce(call, &c);
}

// PyTorch's: all elements that equal the result share d evenly.
static hone_status value_gradient(const hone_gradient_call *call, hone_error *error) {
    hone_graph *const graph = call->graph;
    const hone_tensor_type self = *hone_graph_type(graph, hone_grad_in(call, 0));
    const hone_argument *const dims = hone_node_argument(call->node, 1);
    int64_t kept[HONE_MAX_RANK], reduced[HONE_MAX_RANK];
    size_t count = 0;
    (void)error;
    for (int d = 0; d < self.rank; d++) {
        bool marked = dims->count == 0;
        for (size_t i = 0; i < dims->count; i++)
            marked = marked || dims->integers[i] == d || dims->integers[i] + self.rank == d;
        kept[d] = marked ? 1 : self.dims[d];
        if (marked) reduced[count++] = d;
    }
    const hone_argument shape = HONE_IS(kept, (size_t)self.rank);
    const hone_value best = hone_emit(graph, "aten::view_copy", HONE_T(hone_node_output(call->node, 0)), shape);
    const hone_value d = hone_emit(graph, "aten::view_copy", HONE_T(hone_grad_out(call, 0)), shape);
    const hone_value chosen = hone_emit(graph, "aten::eq.Tensor", HONE_T(hone_grad_in(call, 0)), HONE_T(best));
    const hone_value one = hone_emit(graph, "aten::_to_copy", HONE_T(chosen), HONE_I(6));
    const hone_value shares =
        hone_emit(graph, "aten::sum.dim_IntList", HONE_T(one), HONE_IS(reduced, count), HONE_B(1));
    const hone_value share = hone_emit(graph, "aten::div.Tensor", HONE_T(d), HONE_T(shares));
    call->input_gradients[0] = hone_emit(graph, "aten::mul.Tensor", HONE_T(one), HONE_T(share));
    return HONE_OK;
}

// --- places ----------------------------------------------------------------------------------------------------------
// self seen as [outer, n, inner]: the place along n of the first best element.
typedef struct lines {
    kind kind;
    bool whole;
    const uint32_t *in;
    int32_t *out;
    int64_t n, inner;
    uint32_t start;
} lines;

static bool same(const lines *l, uint32_t a, uint32_t b) {
    if (l->whole) return a == b;
    const float x = hone_bits_float(a), y = hone_bits_float(b);
    return x == y || (x != x && y != y);
}

static void place_rows(void *opaque, int64_t begin, int64_t end) {
    const lines *const l = opaque;
    for (int64_t line = begin; line < end; line++) {
        const uint32_t *const x = l->in + line * l->n;
        uint32_t best = l->start;
        int64_t place = 0;
        l->kind.run(x, l->n, &best);
        while (!same(l, x[place], best)) place++;
        l->out[line] = (int32_t)place;
    }
}

static void place_columns(void *opaque, int64_t begin, int64_t end) {
    const lines *const l = opaque;
    for (int64_t line = begin; line < end;) {
        const int64_t column = line % l->inner, left = l->inner - column;
        int64_t n = left < end - line ? left : end - line;
        if (n > COLUMNS) n = COLUMNS;
        const uint32_t *const x = l->in + line / l->inner * l->n * l->inner + column;
        uint32_t best[COLUMNS];
        for (int64_t j = 0; j < n; j++) best[j] = l->start;
        for (int64_t i = 0; i < l->n; i++) l->kind.fold(best, x + i * l->inner, n);
        for (int64_t j = 0; j < n; j++) {
            int64_t place = 0;
            while (!same(l, x[place * l->inner + j], best[j])) place++;
            l->out[line + j] = (int32_t)place;
        }
        line += n;
    }
}

static hone_status place_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const dim = &call->operands[1];
    bool marked[HONE_MAX_RANK];
    HONE_TRY(check_elements(call, error));
    for (int d = 0; d < HONE_MAX_RANK; d++) marked[d] = dim->kind == HONE_ARGUMENT_NONE;
    if (dim->kind != HONE_ARGUMENT_NONE) {
        int marked_dim;
        HONE_TRY(hone_op_dim(call, dim->integer, self->type.rank, &marked_dim, error));
        marked[marked_dim] = true;
    }
    call->outputs[0].type = hone_reduction_type(&self->type, marked, call->operands[2].integer);
    const int64_t elements = hone_type_elements(&self->type), results = hone_type_elements(&call->outputs[0].type);
    HONE_OP_CHECK(elements > 0 || results == 0, "%s has no elements to choose from", hone_op_type_text(self));
    HONE_OP_CHECK(results == 0 || elements / results <= INT32_MAX, "%s has more elements than an i32 can count",
                  hone_op_type_text(self));
    call->outputs[0].type.dtype = HONE_DTYPE_I32;
    return HONE_OK;
}

static void find_places(const hone_op_call *call, bool larger) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const hone_operand *const dim = &call->operands[1];
    const int rank = self->type.rank;
    lines l = {.kind = kind_of(self, larger),
               .whole = self->type.dtype == HONE_DTYPE_I32,
               .in = self->data,
               .out = call->outputs[0].data,
               .n = hone_type_elements(&self->type),
               .inner = 1};
    memcpy(&l.start, &l.kind.start, sizeof l.start);
    const int64_t results = hone_type_elements(&call->outputs[0].type);
    if (results == 0) return;
    if (dim->kind != HONE_ARGUMENT_NONE && rank > 0) {
        const int at = (int)(dim->integer < 0 ? dim->integer + rank : dim->integer);
        l.n = self->type.dims[at];
        for (int d = at + 1; d < rank; d++) l.inner *= self->type.dims[d];
    }
    hone_call_rows(call, results, l.n, l.inner == 1 ? place_rows : place_columns, &l);
}

static void argmax_cpu(const hone_op_call *call) {
    find_places(call, true);
}
static void argmin_cpu(const hone_op_call *call) {
    find_places(call, false);
}

#define VALUE                                                                                                          \
    .infer = value_infer, .cpu_needs = value_needs, .gradient = value_gradient,                                        \
    .gradient_text = "d, shared evenly by all elements that equal the result"

const hone_op hone_op_amax = {
    .schema = "aten::amax(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor",
    .summary = "the largest elements over the dimensions dim; none means all; NaN wins",
    .cpu = amax_cpu,
    .variants = hone_kernels_amax,
    VALUE,
};
const hone_op hone_op_amin = {
    .schema = "aten::amin(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor",
    .summary = "the smallest elements over the dimensions dim; none means all; NaN wins",
    .cpu = amin_cpu,
    .variants = hone_kernels_amin,
    VALUE,
};
const hone_op hone_op_argmax = {
    .schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .summary = "the place along dim of the first largest element, i32; in the flattened tensor without dim; NaN wins",
    .infer = place_infer,
    .cpu = argmax_cpu,
    .variants = hone_kernels_argmax,
};
const hone_op hone_op_argmin = {
    .schema = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .summary = "the place along dim of the first smallest element, i32; in the flattened tensor without dim; NaN wins",
    .infer = place_infer,
    .cpu = argmin_cpu,
    .variants = hone_kernels_argmin,
};
