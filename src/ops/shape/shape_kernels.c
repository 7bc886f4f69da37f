// SPDX-License-Identifier: Apache-2.0
// How operators that move elements run on a GPU.
#include <string.h>

#include "ops/shape/move.h"
#include "ops/shared/kernels.h"

static void push(hone_move *move, int64_t size, int64_t from, int64_t to) {
    move->dims[move->rank] = size;
    move->from[move->rank] = from;
    move->to[move->rank++] = to;
}

// Without dimensions of 1, neighbours joined, elements of 8 bytes as two words.
static bool in_words(const hone_move *move, hone_move *out) {
    const int64_t scale = move->element == 8 ? 2 : 1;
    *out = (hone_move){.element = move->element < 4 ? move->element : 4};
    for (int d = 0; d < move->rank; d++) {
        if (move->dims[d] == 1) continue;
        const int last = out->rank - 1;
        const int64_t from = move->from[d] * scale, to = move->to[d] * scale;
        if (last >= 0 && out->from[last] == from * move->dims[d] && out->to[last] == to * move->dims[d]) {
            out->dims[last] *= move->dims[d];
            out->from[last] = from;
            out->to[last] = to;
            continue;
        }
        push(out, move->dims[d], from, to);
    }
    if (scale == 2 && out->rank == HONE_MAX_RANK) return false;
    if (scale == 2) push(out, 2, 1, 1);
    if (out->rank == 0) push(out, 1, 1, 1);
    return true;
}

static bool is_packed(const hone_move *move) {
    int64_t step = 1;
    for (int d = move->rank - 1; d >= 0; d--) {
        if (move->dims[d] != 1 && move->to[d] != step) return false;
        step *= move->dims[d];
    }
    return true;
}

// Words of a tensor; elements of 1 or 2 bytes share them, those of 8 have two.
static int64_t words_of(const hone_tensor_type *type) {
    return (int64_t)(hone_type_bytes(type) + 3) / 4;
}
static int64_t wide_of(hone_dtype dtype) {
    return hone_dtype_bytes(dtype) == 8 ? 2 : 1;
}

void hone_kernel_put(hone_kernel_list *list, const hone_tensor *out, const hone_tensor *from,
                     const hone_placement *part, const unsigned char *fill) {
    const size_t size = hone_dtype_bytes(out->type.dtype);
    const int64_t words = words_of(&out->type);
    uint32_t pattern[2] = {0, 0};
    for (size_t at = 0; fill && at < sizeof(pattern); at += size) memcpy((char *)pattern + at, fill, size);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "shape.place_part", hone_kernel_groups(words, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, from);
    hone_kernel_bind(list, d, out);
    hone_kernel_word(list, d, words);
    hone_kernel_word(list, d, out->type.rank);
    const int64_t *const rows[] = {out->type.dims, part->first, part->step, part->count, part->from};
    for (size_t row = 0; row < 5; row++)
        for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < out->type.rank ? rows[row][i] : 1);
    hone_kernel_word(list, d, part->from_first);
    hone_kernel_word(list, d, hone_kernel_per_word(out->type.dtype));
    hone_kernel_word(list, d, wide_of(out->type.dtype));
    hone_kernel_word(list, d, !fill);
    hone_kernel_word(list, d, pattern[0]);
    hone_kernel_word(list, d, pattern[1]);
}

// A copy into a part of a tensor, along whose dimensions the copy runs.
static void move_into_part(hone_kernel_list *list, const hone_move *move, const hone_tensor *to, int64_t to_first,
                           const hone_tensor *from, int64_t from_first) {
    hone_placement part = {.from_first = from_first};
    int64_t strides[HONE_MAX_RANK];
    hone_move_strides(&to->type, strides);
    for (int d = 0; d < move->rank; d++) {
        if (move->dims[d] == 0) return;
        part.first[d] = to_first / strides[d] % to->type.dims[d];
        part.step[d] = move->dims[d] > 1 ? move->to[d] / strides[d] : 1;
        part.count[d] = move->dims[d];
        part.from[d] = move->from[d];
    }
    hone_kernel_put(list, to, from, &part, NULL);
}

enum { TILE = 32 }; // of a copy that turns two dimensions round

// Tiles along a dimension counted from the last (1).
static int64_t tiles_of(const hone_move *move, int from_last) {
    return move->rank >= from_last ? (move->dims[move->rank - from_last] + TILE - 1) / TILE : 1;
}

// True if neighbours in the source are far apart in the target; their dimension is then the one before the last.
static bool turns_round(hone_move *move) {
    const int last = move->rank - 1;
    if (last < 1 || move->to[last] != 1 || move->from[last] == 1 || move->dims[last] < TILE / 2) return false;
    for (int d = 0; d < last; d++) {
        if (move->from[d] != 1 || move->dims[d] < TILE / 2) continue;
        const int64_t dim = move->dims[d], to = move->to[d];
        for (int i = d; i < last - 1; i++) {
            move->dims[i] = move->dims[i + 1];
            move->from[i] = move->from[i + 1];
            move->to[i] = move->to[i + 1];
        }
        move->dims[last - 1] = dim;
        move->from[last - 1] = 1;
        move->to[last - 1] = to;
        return true;
    }
    return false;
}

void hone_kernel_move(hone_kernel_list *list, const hone_move *move, const hone_tensor *to, int64_t to_first,
                      const hone_tensor *from, int64_t from_first) {
    hone_move words;
    const bool small = move->element < 4;
    const int64_t scale = move->element == 8 ? 2 : 1, each = small ? 4 / (int64_t)move->element : 1;
    if (!in_words(move, &words) || (small && (to_first || !is_packed(move)))) {
        move_into_part(list, move, to, to_first, from, from_first);
        return;
    }
    int64_t count = 1;
    for (int d = 0; d < words.rank; d++) count *= words.dims[d];
    const bool turns = !small && turns_round(&words);
    const int64_t threads = (count + each - 1) / each, tiles[] = {tiles_of(&words, 1), tiles_of(&words, 2)};
    int64_t groups = tiles[0] * tiles[1];
    for (int d = 0; turns && d < words.rank - 2; d++) groups *= words.dims[d];
    hone_kernel_dispatch *const d = turns ? hone_kernel_add(list, "shape.move_turned", (uint64_t)groups)
                                          : hone_kernel_add(list, small ? "shape.move_parts" : "shape.move_words",
                                                            hone_kernel_groups(threads, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, from);
    hone_kernel_bind(list, d, to);
    hone_kernel_word(list, d, turns ? tiles[0] : count);
    hone_kernel_word(list, d, words.rank);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < words.rank ? words.dims[i] : 1);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < words.rank ? words.from[i] : 0);
    for (int i = 0; i < HONE_MAX_RANK; i++) hone_kernel_word(list, d, i < words.rank ? words.to[i] : 0);
    hone_kernel_word(list, d, from_first * scale);
    hone_kernel_word(list, d, to_first * scale);
    hone_kernel_word(list, d, turns ? tiles[1] : each);
}

void hone_kernel_fill(hone_kernel_list *list, const hone_tensor *out, const unsigned char *element) {
    const size_t size = hone_dtype_bytes(out->type.dtype);
    const int64_t words = (int64_t)(hone_type_bytes(&out->type) + 3) / 4;
    uint32_t pattern[2];
    for (size_t at = 0; at < sizeof(pattern); at += size) memcpy((char *)pattern + at, element, size);
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "shape.fill_words", hone_kernel_groups(words, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, out);
    hone_kernel_word(list, d, words);
    hone_kernel_word(list, d, pattern[0]);
    hone_kernel_word(list, d, pattern[1]);
}

static void fill(const hone_op_call *call, hone_kernel_list *list) {
    unsigned char element[8] = {0};
    hone_encode_number(call->outputs[0].type.dtype, &call->operands[1], element);
    hone_kernel_fill(list, &call->outputs[0], element);
}

// The bytes as they are, a word a thread.
static void copy(const hone_op_call *call, hone_kernel_list *list) {
    const hone_tensor *const self = hone_operand_tensor(call, 0);
    const int64_t words = (int64_t)(hone_type_bytes(&self->type) + 3) / 4;
    const hone_move move = {.rank = 1, .element = 4, .dims = {words}, .from = {1}, .to = {1}};
    hone_kernel_move(list, &move, &call->outputs[0], 0, self, 0);
}

HONE_PLAIN_KERNEL_RULE(fill, fill)
HONE_PLAIN_KERNEL_RULE(copy, copy)
