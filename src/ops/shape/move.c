// SPDX-License-Identifier: Apache-2.0
// The strided copy under all operators that move elements without changing them.
#include "ops/shape/move.h"

#include <string.h>

#include "ops/shared/parallel.h"

typedef struct context {
    hone_move move; // merged: as few dimensions as can be
    char *to;
    const char *from;
} context;

void hone_move_strides(const hone_tensor_type *type, int64_t *strides) {
    int64_t step = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= type->dims[d];
    }
}

// Drops dimensions of 1 and joins neighbours that both sides step through alike.
static hone_move merged(const hone_move *move) {
    hone_move out = {.element = move->element};
    for (int d = 0; d < move->rank; d++) {
        if (move->dims[d] == 1) continue;
        const int last = out.rank - 1;
        if (last >= 0 && out.to[last] == move->to[d] * move->dims[d] &&
            out.from[last] == move->from[d] * move->dims[d]) {
            out.dims[last] *= move->dims[d];
            out.to[last] = move->to[d];
            out.from[last] = move->from[d];
            continue;
        }
        out.dims[out.rank] = move->dims[d];
        out.to[out.rank] = move->to[d];
        out.from[out.rank++] = move->from[d];
    }
    if (out.rank == 0) {
        out.rank = 1;
        out.dims[0] = out.to[0] = out.from[0] = 1;
    }
    return out;
}

#define DEFINE_LINE(type)                                                                                              \
    static void line_##type(void *to, const void *from, int64_t n, int64_t to_step, int64_t from_step) {               \
        type *const out = to;                                                                                          \
        const type *const in = from;                                                                                   \
        for (int64_t i = 0; i < n; i++) out[i * to_step] = in[i * from_step];                                          \
    }
DEFINE_LINE(uint8_t)
DEFINE_LINE(uint16_t)
DEFINE_LINE(uint32_t)
DEFINE_LINE(uint64_t)

static void copy_line(char *to, const char *from, int64_t n, int64_t to_step, int64_t from_step, size_t element) {
    if (to_step == 1 && from_step == 1)
        memcpy(to, from, (size_t)n * element);
    else if (element == 1)
        line_uint8_t(to, from, n, to_step, from_step);
    else if (element == 2)
        line_uint16_t(to, from, n, to_step, from_step);
    else if (element == 4)
        line_uint32_t(to, from, n, to_step, from_step);
    else
        line_uint64_t(to, from, n, to_step, from_step);
}

// Elements [begin, end) in the order of the merged dimensions.
static void copy_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    const hone_move *const m = &c->move;
    const int last = m->rank - 1;
    int64_t index[HONE_MAX_RANK], rest = begin, to = 0, from = 0;
    for (int d = last; d >= 0; d--) {
        index[d] = rest % m->dims[d];
        rest /= m->dims[d];
        to += index[d] * m->to[d];
        from += index[d] * m->from[d];
    }
    const int64_t element = (int64_t)m->element;
    for (int64_t i = begin; i < end;) {
        const int64_t left = m->dims[last] - index[last], n = left < end - i ? left : end - i;
        copy_line(c->to + to * element, c->from + from * element, n, m->to[last], m->from[last], m->element);
        i += n;
        index[last] += n;
        to += n * m->to[last];
        from += n * m->from[last];
        for (int d = last; d > 0 && index[d] == m->dims[d]; d--) { // carry
            index[d] = 0;
            index[d - 1]++;
            to += m->to[d - 1] - m->dims[d] * m->to[d];
            from += m->from[d - 1] - m->dims[d] * m->from[d];
        }
    }
}

void hone_move_run(const hone_op_call *call, const hone_move *move, void *to, const void *from) {
    int64_t count = 1;
    for (int d = 0; d < move->rank; d++) count *= move->dims[d];
    if (count == 0) return;
    context c = {.move = merged(move), .to = to, .from = from};
    hone_call_elements(call, count, copy_range, &c);
}

hone_status hone_scalar_type(const hone_op_call *call, int64_t code, hone_dtype *out, hone_error *error) {
    static const struct {
        int64_t code;
        hone_dtype dtype;
    } table[] = {{0, HONE_DTYPE_U8},  {1, HONE_DTYPE_I8},    {3, HONE_DTYPE_I32},
                 {4, HONE_DTYPE_I64}, {5, HONE_DTYPE_F16},   {6, HONE_DTYPE_F32},
                 {7, HONE_DTYPE_F64}, {11, HONE_DTYPE_BOOL}, {15, HONE_DTYPE_BF16}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code) {
            *out = table[i].dtype;
            return HONE_OK;
        }
    return hone_op_invalid(call, error, "ScalarType %lld is not one that is supported", (long long)code);
}
