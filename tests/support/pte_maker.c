// SPDX-License-Identifier: Apache-2.0
// Writes .pte files from front to back: tables first, what they point to behind them.
#include "support/pte_maker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- FlatBuffers ----------------------------------------------------------------------------------------------------

typedef struct flat {
    uint8_t *bytes;
    size_t size, room;
} flat;

static size_t grow(flat *f, size_t bytes, size_t alignment) {
    const size_t at = (f->size + alignment - 1) / alignment * alignment;
    if (at + bytes > f->room) {
        f->room = 2 * (at + bytes) + 4096;
        f->bytes = realloc(f->bytes, f->room);
        assert(f->bytes);
    }
    if (f->bytes) memset(f->bytes + f->size, 0, at + bytes - f->size);
    f->size = at + bytes;
    return at;
}

static void put(flat *f, size_t at, const void *value, size_t bytes) {
    if (bytes) memcpy(f->bytes + at, value, bytes);
}

// A table whose fields have these widths; a width of 0 leaves the field out.
static size_t table(flat *f, int count, const uint8_t *widths) {
    const size_t list = grow(f, 4 + 2 * (size_t)count, 8);
    const size_t at = grow(f, 4, 8);
    for (int i = 0; i < count; i++) {
        if (!widths[i]) continue;
        const uint16_t offset = (uint16_t)(grow(f, widths[i], widths[i]) - at);
        put(f, list + 4 + 2 * (size_t)i, &offset, 2);
    }
    const uint16_t sizes[2] = {(uint16_t)(4 + 2 * count), (uint16_t)(f->size - at)};
    const int32_t back = (int32_t)(at - list);
    put(f, list, sizes, 4);
    put(f, at, &back, 4);
    return at;
}
#define TABLE(f, ...) table((f), (int)sizeof((const uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__})

static size_t field(const flat *f, size_t at, int id) {
    int32_t back;
    uint16_t offset;
    memcpy(&back, f->bytes + at, 4);
    memcpy(&offset, f->bytes + at - (size_t)back + 4 + 2 * (size_t)id, 2);
    return at + offset;
}

static void set(flat *f, size_t at, int id, const void *value, size_t bytes) {
    put(f, field(f, at, id), value, bytes);
}

static void point(flat *f, size_t from, size_t to) {
    const uint32_t offset = (uint32_t)(to - from);
    put(f, from, &offset, 4);
}

static void link_to(flat *f, size_t at, int id, size_t to) {
    point(f, field(f, at, id), to);
}

static size_t vector(flat *f, uint32_t count, size_t element, const void *items) {
    grow(f, 0, 8);
    const size_t place = grow(f, 8, 8) + 4; // the elements are aligned to 8, the count stands before them
    put(f, place, &count, 4);
    const size_t data = grow(f, count * element, 1);
    if (items && count) put(f, data, items, count * element);
    return place;
}

static size_t string(flat *f, const char *text) {
    const size_t place = vector(f, (uint32_t)strlen(text), 1, text);
    grow(f, 1, 1);
    return place;
}

// --- values and calls -----------------------------------------------------------------------------------------------

static int add(made_graph *graph, made_value value) {
    assert(graph->value_count < MADE_VALUES);
    graph->values[graph->value_count] = value;
    return graph->value_count++;
}

int made_tensor(made_graph *graph, int dtype, int rank, const uint32_t *dims) {
    made_value value = {.kind = MADE_TENSOR, .dtype = dtype, .rank = rank, .constant = -1};
    for (int i = 0; i < rank; i++) value.dims[i] = dims[i];
    return add(graph, value);
}
int made_integer(made_graph *graph, int64_t value) {
    return add(graph, (made_value){.kind = MADE_INTEGER, .integer = value});
}
int made_real(made_graph *graph, double value) {
    return add(graph, (made_value){.kind = MADE_REAL, .real = value});
}
int made_boolean(made_graph *graph, bool value) {
    return add(graph, (made_value){.kind = MADE_BOOLEAN, .integer = value});
}
int made_nothing(made_graph *graph) {
    return add(graph, (made_value){.kind = MADE_NOTHING});
}
int made_string(made_graph *graph, const char *text) {
    return add(graph, (made_value){.kind = MADE_STRING, .text = text});
}
int made_symbol(made_graph *graph) {
    return add(graph, (made_value){.kind = MADE_SYMBOL});
}
static int list_of(made_graph *graph, made_kind kind, int count, const int64_t *items) {
    made_value value = {.kind = kind, .count = count};
    for (int i = 0; i < count; i++) value.items[i] = items[i];
    return add(graph, value);
}
int made_integers(made_graph *graph, int count, const int64_t *items) {
    return list_of(graph, MADE_INTEGERS, count, items);
}
int made_list(made_graph *graph, int count, const int64_t *values) {
    return list_of(graph, MADE_VALUES_LIST, count, values);
}

void made_constant(made_program *program, made_graph *graph, int tensor, const void *data, size_t bytes) {
    const int index = program->constant_count++;
    graph->values[tensor].constant = index;
    program->constants[index].offset = program->data_bytes;
    program->constants[index].bytes = bytes;
    memcpy(program->data + program->data_bytes, data, bytes);
    program->data_bytes += (bytes + 15) / 16 * 16;
    assert(program->data_bytes <= sizeof program->data);
}

void made_call_of(made_graph *graph, const char *name, const char *overload, int count, const int32_t *arguments) {
    made_call *const call = &graph->calls[graph->call_count++];
    *call = (made_call){.name = name, .overload = overload, .count = count};
    memcpy(call->arguments, arguments, (size_t)count * sizeof *arguments);
}
void made_input(made_graph *graph, int value) {
    graph->inputs[graph->input_count++] = value;
}
void made_output(made_graph *graph, int value) {
    graph->outputs[graph->output_count++] = value;
}

void made_wrap(made_program *program) {
    made_graph *const method = &program->method, *const graph = &program->delegates[0];
    made_call call = {.delegate = 0};
    program->delegate_count = 1;
    for (int side = 0; side < 2; side++) {
        const int count = side ? graph->output_count : graph->input_count;
        for (int i = 0; i < count; i++) {
            made_value value = graph->values[side ? graph->outputs[i] : graph->inputs[i]];
            value.constant = -1;
            if (value.kind == MADE_SYMBOL) value.kind = MADE_INTEGER;
            const int id = add(method, value);
            call.arguments[call.count++] = id;
            if (side) {
                made_output(method, id);
            } else {
                made_input(method, id);
            }
        }
    }
    method->calls[method->call_count++] = call;
}

// --- delegates ------------------------------------------------------------------------------------------------------

static int blob_datatype(int dtype) {
    const int table_[][2] = {{11, 0}, {0, 1}, {1, 2}, {3, 3}, {5, 4}, {6, 5}, {7, 6}, {4, 7}};
    for (size_t i = 0; i < sizeof table_ / sizeof *table_; i++)
        if (table_[i][0] == dtype) return table_[i][1];
    return 127;
}

// The member of the union, and its kind in the delegate's numbering.
static size_t blob_value(flat *f, const made_value *value, uint8_t *kind) {
    static const uint8_t kinds[] = {1, 2, 3, 4, 5, 6, 9, 10, 11};
    *kind = kinds[value->kind];
    size_t at = 0;
    int32_t items[MADE_ITEMS];
    const uint8_t truth = value->integer != 0;
    for (int i = 0; i < value->count; i++) items[i] = (int32_t)value->items[i];
    switch (value->kind) {
    case MADE_NOTHING:
        return TABLE(f, 0);
    case MADE_INTEGER:
        at = TABLE(f, 8);
        set(f, at, 0, &value->integer, 8);
        return at;
    case MADE_REAL:
        at = TABLE(f, 8);
        set(f, at, 0, &value->real, 8);
        return at;
    case MADE_BOOLEAN:
        at = TABLE(f, 1);
        set(f, at, 0, &truth, 1);
        return at;
    case MADE_TENSOR: {
        const int8_t datatype = (int8_t)blob_datatype(value->dtype);
        const int32_t constant = value->constant;
        at = TABLE(f, 1, 4, 4);
        set(f, at, 0, &datatype, 1);
        set(f, at, 2, &constant, 4);
        link_to(f, at, 1, vector(f, (uint32_t)value->rank, 4, value->dims));
        return at;
    }
    case MADE_INTEGERS:
        at = TABLE(f, 4);
        link_to(f, at, 0, vector(f, (uint32_t)value->count, 8, value->items));
        return at;
    case MADE_VALUES_LIST:
        at = TABLE(f, 4);
        link_to(f, at, 0, vector(f, (uint32_t)value->count, 4, items));
        return at;
    case MADE_STRING:
        at = TABLE(f, 4);
        link_to(f, at, 0, string(f, value->text));
        return at;
    case MADE_SYMBOL:
        return TABLE(f, 0);
    }
    return at;
}

static void key_of(int constant, char key[65]) {
    snprintf(key, 65, "%064d", constant);
}

static void blob_lists(flat *f, const made_program *program, const made_graph *graph, size_t root) {
    const size_t chain = vector(f, (uint32_t)graph->call_count, 4, NULL);
    link_to(f, root, 1, chain);
    for (int i = 0; i < graph->call_count; i++) {
        const made_call *const call = &graph->calls[i];
        const size_t at = TABLE(f, 4, 4, 4);
        const uint32_t number = (uint32_t)i;
        point(f, chain + 4 + 4 * (size_t)i, at);
        set(f, at, 0, &number, 4);
        link_to(f, at, 1, string(f, call->name));
        link_to(f, at, 2, vector(f, (uint32_t)call->count, 4, call->arguments));
    }
    const size_t values = vector(f, (uint32_t)graph->value_count, 4, NULL);
    link_to(f, root, 2, values);
    for (int i = 0; i < graph->value_count; i++) {
        uint8_t kind;
        const size_t at = TABLE(f, 1, 4);
        point(f, values + 4 + 4 * (size_t)i, at);
        const size_t member = blob_value(f, &graph->values[i], &kind);
        set(f, at, 0, &kind, 1);
        link_to(f, at, 1, member);
    }
    const size_t constants = vector(f, (uint32_t)program->constant_count, 4, NULL);
    link_to(f, root, 5, constants);
    for (int i = 0; i < program->constant_count; i++) {
        const uint64_t offset = program->named ? UINT64_MAX : program->constants[i].offset;
        const uint64_t length = program->constants[i].bytes;
        char key[65] = "";
        const size_t at = TABLE(f, 8, 8, 4);
        point(f, constants + 4 + 4 * (size_t)i, at);
        set(f, at, 0, &offset, 8);
        set(f, at, 1, &length, 8);
        if (program->named) key_of(i, key);
        link_to(f, at, 2, string(f, key));
    }
}

static void write_graph(flat *f, const made_program *program, const made_graph *graph) {
    grow(f, 8, 1);
    put(f, 4, "VK00", 4);
    const size_t root = TABLE(f, 4, 4, 4, 4, 4, 4);
    point(f, 0, root);
    link_to(f, root, 0, string(f, "0"));
    blob_lists(f, program, graph, root);
    link_to(f, root, 3, vector(f, (uint32_t)graph->input_count, 4, graph->inputs));
    link_to(f, root, 4, vector(f, (uint32_t)graph->output_count, 4, graph->outputs));
}

static void write_blob(flat *out, const made_program *program, const made_graph *graph) {
    flat f = {0};
    if (program->description) {
        put(&f, grow(&f, program->description_bytes, 1), program->description, program->description_bytes);
    } else {
        write_graph(&f, program, graph);
    }
    const size_t at = grow(out, 32, 1);
    const uint16_t length = 30;
    const uint32_t places[3] = {32, (uint32_t)f.size, (uint32_t)(32 + (f.size + 15) / 16 * 16)};
    const uint64_t raw = program->named ? 0 : program->data_bytes;
    put(out, at + 4, "VH00", 4);
    put(out, at + 8, &length, 2);
    put(out, at + 10, places, 12);
    put(out, at + 22, &raw, 8);
    const size_t description = grow(out, places[2] - 32, 1);
    put(out, description, f.bytes, f.size);
    if (raw) put(out, grow(out, (size_t)raw, 1), program->data, (size_t)raw);
    free(f.bytes);
}

// --- the program ----------------------------------------------------------------------------------------------------

static size_t method_value(flat *f, const made_value *value, uint8_t *kind) {
    static const uint8_t kinds[] = {1, 2, 4, 3, 5, 7, 10, 6, 2};
    *kind = kinds[value->kind];
    if (value->kind != MADE_TENSOR) {
        made_value own = *value;
        uint8_t other;
        if (own.kind == MADE_SYMBOL) own.kind = MADE_INTEGER;
        return blob_value(f, &own, &other);
    }
    const int8_t type = (int8_t)value->dtype, dynamism = value->bounded;
    const uint8_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32_t data = (uint32_t)(value->constant + 1);
    const size_t at = TABLE(f, 1, 4, 4, 4, 0, 4, 0, 0, 1);
    set(f, at, 0, &type, 1);
    set(f, at, 5, &data, 4);
    set(f, at, 8, &dynamism, 1);
    link_to(f, at, 2, vector(f, (uint32_t)value->rank, 4, value->dims));
    link_to(f, at, 3, vector(f, (uint32_t)value->rank, 1, order));
    return at;
}

static void write_method_calls(flat *f, const made_graph *graph, size_t plan) {
    const size_t chains = vector(f, 1, 4, NULL), chain = TABLE(f, 4, 4, 4);
    link_to(f, plan, 5, chains);
    point(f, chains + 4, chain);
    link_to(f, chain, 0, vector(f, 0, 4, NULL));
    link_to(f, chain, 1, vector(f, 0, 4, NULL));
    const size_t list = vector(f, (uint32_t)graph->call_count, 4, NULL);
    link_to(f, chain, 2, list);
    const size_t operators = vector(f, (uint32_t)graph->call_count, 4, NULL);
    link_to(f, plan, 6, operators);
    for (int i = 0; i < graph->call_count; i++) {
        const made_call *const call = &graph->calls[i];
        const size_t operator_ = TABLE(f, 4, 4);
        point(f, operators + 4 + 4 * (size_t)i, operator_);
        link_to(f, operator_, 0, string(f, call->name ? call->name : ""));
        link_to(f, operator_, 1, string(f, call->overload ? call->overload : ""));
        const size_t at = TABLE(f, 1, 4), body = TABLE(f, 4, 4);
        const uint8_t kind = call->name ? 1 : 2;
        const int32_t which = call->name ? i : call->delegate;
        point(f, list + 4 + 4 * (size_t)i, at);
        set(f, at, 0, &kind, 1);
        link_to(f, at, 1, body);
        set(f, body, 0, &which, 4);
        link_to(f, body, 1, vector(f, (uint32_t)call->count, 4, call->arguments));
    }
}

static size_t write_method(flat *f, const made_program *program) {
    const made_graph *const graph = &program->method;
    const size_t plan = TABLE(f, 4, 0, 4, 4, 4, 4, 4, 4);
    link_to(f, plan, 0, string(f, "forward"));
    const size_t values = vector(f, (uint32_t)graph->value_count, 4, NULL);
    link_to(f, plan, 2, values);
    for (int i = 0; i < graph->value_count; i++) {
        uint8_t kind;
        const size_t at = TABLE(f, 1, 4);
        point(f, values + 4 + 4 * (size_t)i, at);
        const size_t member = method_value(f, &graph->values[i], &kind);
        set(f, at, 0, &kind, 1);
        link_to(f, at, 1, member);
    }
    link_to(f, plan, 3, vector(f, (uint32_t)graph->input_count, 4, graph->inputs));
    link_to(f, plan, 4, vector(f, (uint32_t)graph->output_count, 4, graph->outputs));
    write_method_calls(f, graph, plan);
    const size_t delegates = vector(f, (uint32_t)program->delegate_count, 4, NULL);
    link_to(f, plan, 7, delegates);
    for (int i = 0; i < program->delegate_count; i++) {
        const size_t at = TABLE(f, 4, 4, 4), processed = TABLE(f, 1, 4);
        const int8_t segment = 1;
        const uint32_t index = (uint32_t)i + 1;
        point(f, delegates + 4 + 4 * (size_t)i, at);
        link_to(f, at, 0, string(f, "VulkanBackend"));
        link_to(f, at, 1, processed);
        link_to(f, at, 2, vector(f, 0, 4, NULL));
        set(f, processed, 0, &segment, 1);
        set(f, processed, 1, &index, 4);
    }
    return plan;
}

// Segment 0 holds the method's constants, then come the delegates, then the named data.
static void write_segments(flat *f, const made_program *program, size_t root, const size_t *offsets,
                           const size_t *sizes, uint32_t count) {
    const size_t list = vector(f, count, 4, NULL);
    link_to(f, root, 4, list);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t range[2] = {offsets[i], sizes[i]};
        const size_t at = TABLE(f, 8, 8);
        point(f, list + 4 + 4 * (size_t)i, at);
        set(f, at, 0, &range[0], 8);
        set(f, at, 1, &range[1], 8);
    }
    uint64_t places[MADE_ITEMS + 1] = {0};
    for (int i = 0; i < program->constant_count; i++) places[i + 1] = program->constants[i].offset;
    const size_t own = TABLE(f, 4, 4);
    link_to(f, root, 5, own);
    link_to(f, own, 1, vector(f, (uint32_t)program->constant_count + 1, 8, places));
    const uint32_t named_count = program->named ? (uint32_t)program->constant_count : 0;
    const size_t named = vector(f, named_count, 4, NULL);
    link_to(f, root, 7, named);
    for (uint32_t i = 0; i < named_count; i++) {
        char key[65];
        const uint32_t segment = 1 + (uint32_t)program->delegate_count + i;
        const size_t at = TABLE(f, 4, 4);
        point(f, named + 4 + 4 * (size_t)i, at);
        set(f, at, 1, &segment, 4);
        key_of((int)i, key);
        link_to(f, at, 0, string(f, key));
    }
}

uint8_t *made_file(const made_program *program, size_t *size) {
    flat data = {0}, f = {0};
    size_t offsets[1 + MADE_DELEGATES + MADE_ITEMS], sizes[1 + MADE_DELEGATES + MADE_ITEMS];
    uint32_t count = 0;
    offsets[count] = grow(&data, program->data_bytes, 128);
    if (program->data_bytes) put(&data, offsets[count], program->data, program->data_bytes);
    sizes[count++] = program->data_bytes;
    for (int i = 0; i < program->delegate_count; i++) {
        offsets[count] = grow(&data, 0, 128);
        write_blob(&data, program, &program->delegates[i]);
        sizes[count] = data.size - offsets[count];
        count++;
    }
    for (int i = 0; program->named && i < program->constant_count; i++) {
        sizes[count] = program->constants[i].bytes;
        offsets[count] = grow(&data, sizes[count], 128);
        put(&data, offsets[count], program->data + program->constants[i].offset, sizes[count]);
        count++;
    }
    grow(&f, 40, 1);
    const size_t root = TABLE(&f, 4, 4, 0, 0, 4, 4, 0, 4);
    point(&f, 0, root);
    const size_t methods = vector(&f, 1, 4, NULL);
    link_to(&f, root, 1, methods);
    point(&f, methods + 4, write_method(&f, program));
    write_segments(&f, program, root, offsets, sizes, count);
    const uint32_t length = 32;
    const uint64_t header[3] = {f.size, (f.size + 127) / 128 * 128, data.size};
    put(&f, 4, "ET12eh00", 8);
    put(&f, 12, &length, 4);
    put(&f, 16, header, 24);
    grow(&f, 0, 128);
    const size_t at = grow(&f, data.size, 1);
    put(&f, at, data.bytes, data.size);
    free(data.bytes);
    *size = f.size;
    return f.bytes;
}
