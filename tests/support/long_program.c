// SPDX-License-Identifier: Apache-2.0
// Writes the file from front to back. Tables that are alike share their description, as FlatBuffers' own writer does it;
// names and shapes stand at the end, shared by all that point to them, or each behind what points to it.
#include "support/long_program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "support/pte_maker.h"

typedef struct bytes {
    uint8_t *data;
    size_t size, room;
} bytes;

static size_t add(bytes *b, const void *data, size_t size) {
    if (b->size + size + 64 > b->room) {
        b->room = 2 * (b->size + size) + 4096;
        b->data = realloc(b->data, b->room);
        assert(b->data);
    }
    const size_t at = b->size;
    if (size && data) memcpy(b->data + at, data, size);
    if (size && !data) memset(b->data + at, 0, size);
    b->size += size;
    return at;
}

static size_t align(bytes *b, size_t to) {
    add(b, NULL, (to - b->size % to) % to);
    return b->size;
}

static size_t u32(bytes *b, uint32_t value) {
    return add(b, &value, 4);
}

static void point(bytes *b, size_t from, size_t to) {
    const uint32_t offset = (uint32_t)(to - from);
    memcpy(b->data + from, &offset, 4);
}

static size_t text(bytes *b, const char *string) {
    align(b, 4);
    const size_t at = u32(b, (uint32_t)strlen(string));
    add(b, string, strlen(string) + 1);
    return at;
}

static size_t list(bytes *b, uint32_t count, const void *items) {
    align(b, 4);
    const size_t at = u32(b, count);
    add(b, items, 4 * (size_t)count);
    return at;
}

// How a table's fields lie; `offsets` are those of its fields, 0 = absent.
static size_t layout(bytes *b, int count, const uint16_t *offsets, uint16_t table_bytes) {
    const uint16_t head[2] = {(uint16_t)(4 + 2 * count), table_bytes};
    align(b, 2);
    const size_t at = add(b, head, 4);
    add(b, offsets, 2 * (size_t)count);
    return at;
}
#define LAYOUT(b, table_bytes, ...)                                                                                    \
    layout((b), (int)(sizeof((const uint16_t[]){__VA_ARGS__}) / 2), (const uint16_t[]){__VA_ARGS__}, (table_bytes))

static size_t table(bytes *b, size_t layout_at, size_t table_bytes) {
    align(b, 8);
    const size_t at = add(b, NULL, table_bytes);
    const int32_t back = (int32_t)((int64_t)at - (int64_t)layout_at);
    memcpy(b->data + at, &back, 4);
    return at;
}

// --- the delegate ---------------------------------------------------------------------------------------------------

enum { ADD, RELU, EQUAL, JOIN, ENDLESS, NAMES };
static const char *const names[] = {"aten.add.Tensor", "aten.relu.default", "aten.eq.Tensor", "aten.cat.default"};

// Value 0 is the input, 1 the number 1, call i makes value 2 + i.
static int arguments_of(long_shape shape, int i, int calls, uint32_t *random, int32_t out[4]) {
    const int last = i == 0 ? 0 : i + 1, before = i < 2 ? 0 : i, half = calls / 2;
    const int32_t made = i + 2;
    *random = *random * 1664525 + 1013904223;
    const int any = i == 0 ? 0 : (int)(*random >> 8) % i + 2;
    const int pairs[5][2] = {[LONG_PAIRS] = {last, before},
                             [LONG_WIDE] = {i - half + 2, i == half ? 0 : last},
                             [LONG_RANDOM] = {i > 500 ? last - any % 500 : last, any == last ? 0 : any}};
    if (shape == LONG_CHAIN || shape == LONG_NUMBERED || (shape == LONG_WIDE && i < half)) {
        out[0] = shape == LONG_WIDE ? 0 : last;
        out[1] = made;
        return 2;
    }
    out[0] = pairs[shape][0];
    out[1] = pairs[shape][1];
    out[2] = 1;
    out[3] = made;
    return 4;
}

typedef struct writer {
    bytes b;
    long_shape shape;
    int calls;
    size_t *late[NAMES]; // places that point to each name
    int late_count[NAMES];
    size_t *shapes; // places that point to the shape
    int shape_count;
} writer;

static void write_calls(writer *w, size_t root) {
    bytes *const b = &w->b;
    const size_t form = LAYOUT(b, 12, 0, 4, 8), chain = list(b, (uint32_t)w->calls, NULL);
    uint32_t random = 1;
    point(b, root + 8, chain);
    for (int i = 0; i < w->calls; i++) {
        int32_t arguments[4];
        int name = ENDLESS;
        const size_t at = table(b, form, 12);
        point(b, chain + 4 + 4 * (size_t)i, at);
        if (w->shape < LONG_ARGUMENTS) {
            const int count = arguments_of(w->shape, i, w->calls, &random, arguments);
            point(b, at + 8, list(b, (uint32_t)count, arguments));
            name = count == 2 ? RELU : ADD;
        } else if (w->shape == LONG_ARGUMENTS) {
            w->shapes[w->shape_count++] = at + 8;
            name = EQUAL;
        } else {
            point(b, at + 8, list(b, 3, (const int32_t[]){w->calls + 2, 1, i + 2}));
            if (w->shape == LONG_LIST) name = JOIN;
        }
        if (w->shape == LONG_NUMBERED) {
            point(b, at + 4, text(b, names[name]));
        } else {
            w->late[name][w->late_count[name]++] = at + 4;
        }
    }
}

static void write_values(writer *w, size_t root) {
    bytes *const b = &w->b;
    static const int32_t four = 4;
    const size_t form = LAYOUT(b, 12, 8, 4), tensor_form = LAYOUT(b, 16, 12, 4, 8), number_form = LAYOUT(b, 16, 8);
    const size_t list_form = LAYOUT(b, 8, 4), values = list(b, (uint32_t)w->calls + 3, NULL);
    point(b, root + 12, values);
    if (w->shape == LONG_ARGUMENTS) { // of all calls, before the shapes of values are noted
        const size_t shared = list(b, (uint32_t)w->calls, NULL);
        for (int i = 0; i < w->shape_count; i++) point(b, w->shapes[i], shared);
        w->shape_count = 0;
    }
    const size_t last = table(b, form, 12), items = table(b, list_form, 8);
    point(b, values + 4 + 4 * ((size_t)w->calls + 2), last);
    b->data[last + 8] = 9; // a list of values
    point(b, last + 4, items);
    point(b, items + 4, list(b, w->shape == LONG_LIST ? (uint32_t)w->calls : 0, NULL));
    for (int i = 0; i < w->calls + 2; i++) {
        const size_t at = table(b, form, 12);
        point(b, values + 4 + 4 * (size_t)i, at);
        b->data[at + 8] = i == 1 ? 2 : 5;
        const size_t member = table(b, i == 1 ? number_form : tensor_form, 16);
        point(b, at + 4, member);
        if (i == 1) {
            b->data[member + 8] = w->shape != LONG_LIST; // there it is the dimension
            continue;
        }
        memset(b->data + member + 8, 0xff, 4); // no constant
        b->data[member + 12] = 5;              // f32
        if (w->shape == LONG_NUMBERED) {
            point(b, member + 4, list(b, 1, &four));
        } else {
            w->shapes[w->shape_count++] = member + 4;
        }
    }
    const int32_t joined = 4 * w->calls;
    const size_t shape = list(b, 1, &four), longer = w->shape == LONG_LIST ? list(b, 1, &joined) : shape;
    for (int i = 0; i < w->shape_count; i++) point(b, w->shapes[i], i == 0 ? shape : longer);
}

static bytes write_delegate(long_shape shape, int calls) {
    writer w = {.shape = shape, .calls = calls};
    bytes *const b = &w.b;
    const int32_t input = 0, output = calls + 1;
    for (int i = 0; i < NAMES; i++) w.late[i] = calloc((size_t)calls + 1, sizeof(size_t));
    w.shapes = calloc((size_t)calls + 2, sizeof(size_t));
    add(b, NULL, 8);
    memcpy(b->data + 4, "VK00", 4);
    const size_t root = table(b, LAYOUT(b, 28, 4, 8, 12, 16, 20, 24), 28);
    point(b, 0, root);
    point(b, root + 4, text(b, "0"));
    write_calls(&w, root);
    write_values(&w, root);
    char *const endless = calloc(1, 16 * (size_t)calls + 1);
    if (shape == LONG_NAME) memset(endless, 'x', 16 * (size_t)calls);
    for (int i = 0; i < NAMES; i++) {
        const size_t name = text(b, i == ENDLESS ? endless : names[i]);
        for (int j = 0; j < w.late_count[i]; j++) point(b, w.late[i][j], name);
        free(w.late[i]);
    }
    free(endless);
    free(w.shapes);
    point(b, root + 16, list(b, 1, &input));
    point(b, root + 20, list(b, 1, &output));
    point(b, root + 24, list(b, 0, NULL));
    align(b, 16);
    return w.b;
}

uint8_t *long_program(long_shape shape, int calls, size_t *size) {
    bytes delegate = write_delegate(shape, calls);
    made_program *const program = calloc(1, sizeof *program);
    assert(program);
    program->description = delegate.data;
    program->description_bytes = delegate.size;
    program->delegates[0].inputs[program->delegates[0].input_count++] = MADE_F32(&program->delegates[0], 4);
    program->delegates[0].outputs[program->delegates[0].output_count++] = MADE_F32(&program->delegates[0], 4);
    made_wrap(program);
    uint8_t *const file = made_file(program, size);
    free(program);
    free(delegate.data);
    return file;
}
