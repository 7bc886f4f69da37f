// SPDX-License-Identifier: Apache-2.0
// What a GGUF file holds.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/gguf.h"
#include "info.h"

#define SHORT_LIST 8 // elements of a longer array that are shown without -v

static uint64_t elements_of(const hone_gguf_tensor *tensor) {
    uint64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= (uint64_t)tensor->dims[i];
    return count;
}

static uint64_t parameters_of(const hone_gguf *gguf) {
    uint64_t count = 0;
    for (size_t i = 0; i < gguf->tensor_count; i++) count += elements_of(&gguf->tensors[i]);
    return count;
}

// --- values as JSON; for people too: it says what is text and what a number ---------------------------------------------

static void print_integer(hone_text *out, hone_gguf_kind kind, uint64_t bits) {
    const bool is_signed =
        kind == HONE_GGUF_I8 || kind == HONE_GGUF_I16 || kind == HONE_GGUF_I32 || kind == HONE_GGUF_I64;
    if (kind == HONE_GGUF_BOOL) {
        hone_text_print(out, bits ? "true" : "false");
    } else if (is_signed) {
        hone_text_print(out, "%" PRId64, (int64_t)bits);
    } else {
        hone_text_print(out, "%" PRIu64, bits);
    }
}

static void print_real(hone_text *out, double value, bool single) {
    if (!isfinite(value)) {
        hone_text_print(out, "null");
    } else {
        hone_text_print(out, "%.*g", single ? 9 : 17, value);
    }
}

static void print_element(hone_text *out, const hone_gguf_entry *entry, uint64_t i) {
    const void *const p = entry->elements;
    switch (entry->element_kind) {
    case HONE_GGUF_STRING: {
        const hone_gguf_string *const text = (const hone_gguf_string *)p + i;
        hone_text_json(out, text->bytes, text->length);
        return;
    }
    case HONE_GGUF_F32:
        print_real(out, (double)((const float *)p)[i], true);
        return;
    case HONE_GGUF_F64:
        print_real(out, ((const double *)p)[i], false);
        return;
#define INTEGER(kind, type)                                                                                            \
    case kind:                                                                                                         \
        print_integer(out, kind, (uint64_t)((const type *)p)[i]);                                                      \
        return
        INTEGER(HONE_GGUF_U8, uint8_t);
        INTEGER(HONE_GGUF_I8, int8_t);
        INTEGER(HONE_GGUF_U16, uint16_t);
        INTEGER(HONE_GGUF_I16, int16_t);
        INTEGER(HONE_GGUF_U32, uint32_t);
        INTEGER(HONE_GGUF_I32, int32_t);
        INTEGER(HONE_GGUF_BOOL, uint8_t);
        INTEGER(HONE_GGUF_U64, uint64_t);
        INTEGER(HONE_GGUF_I64, int64_t);
#undef INTEGER
    case HONE_GGUF_ARRAY:
        break; // the reader refuses arrays of arrays
    }
}

static void print_array(hone_text *out, const hone_gguf_entry *entry, bool all, bool json) {
    const bool cut = !all && entry->count > SHORT_LIST;
    const uint64_t shown = cut ? SHORT_LIST : entry->count;
    if (cut && json) hone_text_print(out, "{\"count\":%" PRIu64 ",\"first\":", entry->count);
    if (cut && !json) hone_text_print(out, "%" PRIu64 " elements: ", entry->count);
    hone_text_append(out, "[", 1);
    for (uint64_t i = 0; i < shown; i++) {
        if (i > 0) hone_text_append(out, ",", 1);
        print_element(out, entry, i);
    }
    hone_text_append(out, "]}", cut && json ? 2 : 1);
}

static void print_value(hone_text *out, const hone_gguf_entry *entry, bool all, bool json) {
    switch (entry->kind) {
    case HONE_GGUF_ARRAY:
        print_array(out, entry, all, json);
        return;
    case HONE_GGUF_STRING:
        hone_text_json(out, entry->string.bytes, entry->string.length);
        return;
    case HONE_GGUF_F32:
    case HONE_GGUF_F64:
        print_real(out, entry->real, entry->kind == HONE_GGUF_F32);
        return;
    default:
        print_integer(out, entry->kind, entry->unsigned_integer);
    }
}

static void print_shape(hone_text *out, const hone_gguf_tensor *tensor) {
    hone_text_append(out, "[", 1);
    for (int i = 0; i < tensor->rank; i++) hone_text_print(out, i ? ",%" PRId64 : "%" PRId64, tensor->dims[i]);
    hone_text_append(out, "]", 1);
}

// "Q4_1":210,"F32":61 in order of appearance.
static void print_types(hone_text *out, const hone_gguf *gguf, const char *format, const char *joint) {
    size_t printed = 0;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const hone_block_type type = gguf->tensors[i].type;
        size_t count = 0, before = 0;
        for (size_t j = 0; j < gguf->tensor_count; j++) {
            if (gguf->tensors[j].type != type) continue;
            count++;
            before += j < i;
        }
        if (before > 0) continue;
        char name[32];
        snprintf(name, sizeof name, "%s", hone_block_name(type));
        if (printed++ > 0) hone_text_append(out, joint, strlen(joint));
        if (format[0] == '"') {
            hone_text_print(out, "\"%s\":%zu", name, count);
        } else {
            hone_text_print(out, "%zu x %s", count, name);
        }
    }
}

static const char *kind_of(const hone_gguf *gguf) {
    const char *type = NULL;
    const bool adapter = hone_gguf_text(gguf, "general.type", &type, NULL) == HONE_OK && strcmp(type, "adapter") == 0;
    return adapter ? "adapter" : "model";
}

// --- output -----------------------------------------------------------------------------------------------------------------

static void print_people(const hone_gguf *gguf, const char *path, bool all, hone_text *out) {
    hone_text_print(out, "file     %s: GGUF %u, %s, %s, %s parameters, %zu tensors\n", path, gguf->version,
                    kind_of(gguf), cli_bytes(gguf->source->size), cli_count((int64_t)parameters_of(gguf)),
                    gguf->tensor_count);
    hone_text_print(out, "types    ");
    print_types(out, gguf, "", ", ");
    hone_text_print(out, "\n");
    for (size_t i = 0; i < gguf->entry_count; i++) {
        const hone_gguf_entry *const entry = &gguf->entries[i];
        hone_text_print(out, "  %-44s ", entry->key.bytes);
        print_value(out, entry, all, false);
        hone_text_append(out, "\n", 1);
    }
    for (size_t i = 0; all && i < gguf->tensor_count; i++) {
        const hone_gguf_tensor *const tensor = &gguf->tensors[i];
        hone_text_print(out, "  %-44s %-6s ", tensor->name.bytes, hone_block_name(tensor->type));
        print_shape(out, tensor);
        hone_text_append(out, "\n", 1);
    }
}

static void print_json(const hone_gguf *gguf, const char *path, bool all, hone_text *out) {
    hone_text_print(out, "{\"file\":");
    hone_text_json(out, path, strlen(path));
    hone_text_print(out,
                    ",\"format\":\"gguf\",\"kind\":\"%s\",\"version\":%u,\"bytes\":%" PRIu64 ",\"parameters\":%" PRIu64
                    ",\"types\":{",
                    kind_of(gguf), gguf->version, gguf->source->size, parameters_of(gguf));
    print_types(out, gguf, "\"", ",");
    hone_text_print(out, "},\"metadata\":{");
    for (size_t i = 0; i < gguf->entry_count; i++) {
        const hone_gguf_entry *const entry = &gguf->entries[i];
        if (i > 0) hone_text_append(out, ",", 1);
        hone_text_json(out, entry->key.bytes, entry->key.length);
        hone_text_append(out, ":", 1);
        print_value(out, entry, all, true);
    }
    hone_text_print(out, "},\"tensors\":[");
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const hone_gguf_tensor *const tensor = &gguf->tensors[i];
        hone_text_print(out, "%s{\"name\":", i ? "," : "");
        hone_text_json(out, tensor->name.bytes, tensor->name.length);
        hone_text_print(out, ",\"type\":\"%s\",\"shape\":", hone_block_name(tensor->type));
        print_shape(out, tensor);
        hone_text_print(out, ",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", tensor->offset, tensor->bytes);
    }
    hone_text_print(out, "]}\n");
}

hone_status info_gguf(const info_settings *settings, const char *path, hone_error *error) {
    hone_gguf *gguf = NULL;
    HONE_TRY(hone_gguf_open(path, &gguf, error));
    hone_text out = {0};
    (settings->common.json ? print_json : print_people)(gguf, path, settings->common.verbose, &out);
    const hone_status status = hone_text_status(&out, error);
    if (status == HONE_OK) fwrite(out.bytes, 1, out.length, stdout);
    hone_text_clear(&out);
    hone_gguf_close(gguf);
    return status;
}
