// SPDX-License-Identifier: Apache-2.0
// Writes safetensors; the layout is at the head of safetensors.c.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/cursor.h"
#include "formats/safetensors.h"

static const char *const dtype_names[HONE_DTYPE_COUNT] = {
    [HONE_DTYPE_F32] = "F32", [HONE_DTYPE_F16] = "F16", [HONE_DTYPE_BF16] = "BF16",
    [HONE_DTYPE_I32] = "I32", [HONE_DTYPE_I64] = "I64", [HONE_DTYPE_BOOL] = "BOOL",
    [HONE_DTYPE_U8] = "U8",   [HONE_DTYPE_I8] = "I8",   [HONE_DTYPE_F64] = "F64",
};

// Widest element first, so that each tensor stays aligned to its own elements; then by name.
static int compare_items(const void *a, const void *b) {
    const hone_safetensors_item *const one = *(const hone_safetensors_item *const *)a;
    const hone_safetensors_item *const other = *(const hone_safetensors_item *const *)b;
    const size_t one_bytes = hone_dtype_bytes(one->tensor.type.dtype);
    const size_t other_bytes = hone_dtype_bytes(other->tensor.type.dtype);
    if (one_bytes != other_bytes) return one_bytes > other_bytes ? -1 : 1;
    return strcmp(one->name, other->name);
}

static void describe_item(hone_text *text, const hone_safetensors_item *item, uint64_t offset) {
    const hone_tensor_type *const type = &item->tensor.type;
    hone_text_json(text, item->name, strlen(item->name));
    hone_text_print(text, ":{\"dtype\":\"%s\",\"shape\":[", dtype_names[type->dtype]);
    for (int i = 0; i < type->rank; i++) hone_text_print(text, "%s%" PRId64, i > 0 ? "," : "", type->dims[i]);
    hone_text_print(text, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, offset + hone_type_bytes(type));
}

static hone_status describe(hone_text *text, const hone_safetensors_item *const *sorted, size_t count,
                            const hone_safetensors_pair *metadata, size_t metadata_count, hone_error *error) {
    hone_text_print(text, "{\"__metadata__\":{\"format\":\"pt\"");
    for (size_t i = 0; i < metadata_count; i++) {
        hone_text_print(text, ",");
        hone_text_json(text, metadata[i].key, strlen(metadata[i].key));
        hone_text_print(text, ":");
        hone_text_json(text, metadata[i].value, strlen(metadata[i].value));
    }
    hone_text_print(text, "}");
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        HONE_TRY(hone_type_check(&sorted[i]->tensor.type, sorted[i]->name, error));
        hone_text_print(text, ",");
        describe_item(text, sorted[i], offset);
        offset += hone_type_bytes(&sorted[i]->tensor.type);
    }
    hone_text_print(text, "}");
    while (text->length % 8 != 0 && !text->failed) hone_text_append(text, " ", 1);
    return hone_text_status(text, error);
}

static hone_status check_names(const hone_safetensors_item *items, size_t count, hone_error *error) {
    for (size_t i = 0; i < count; i++) {
        HONE_FAIL_IF(strcmp(items[i].name, "__metadata__") == 0, error, INVALID_ARGUMENT,
                     "a tensor cannot be called __metadata__");
        for (size_t j = 0; j < i; j++) {
            HONE_FAIL_IF(strcmp(items[i].name, items[j].name) == 0, error, INVALID_ARGUMENT,
                         "tensor '%s' is written twice", items[i].name);
        }
    }
    return HONE_OK;
}

static hone_status write_items(hone_output *output, const hone_text *header, const hone_safetensors_item *const *sorted,
                               size_t count, hone_error *error) {
    const uint64_t length = header->length;
    HONE_TRY(hone_output_write(output, &length, sizeof length, error));
    HONE_TRY(hone_output_write(output, header->bytes, header->length, error));
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = hone_type_bytes(&sorted[i]->tensor.type);
        if (bytes > 0) HONE_TRY(hone_output_write(output, sorted[i]->tensor.data, bytes, error));
    }
    return HONE_OK;
}

hone_status hone_safetensors_write(const char *path, const hone_safetensors_item *items, size_t count,
                                   const hone_safetensors_pair *metadata, size_t metadata_count, hone_error *error) {
    HONE_TRY(check_names(items, count, error));
    const hone_safetensors_item **sorted = NULL;
    HONE_TRY(HONE_NEW_ARRAY(&sorted, count, "the order of tensors", error));
    for (size_t i = 0; i < count; i++) sorted[i] = &items[i];
    if (count > 0) qsort(sorted, count, sizeof *sorted, compare_items);
    hone_text header = {0};
    hone_output *output = NULL;
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(describe(&header, sorted, count, metadata, metadata_count, error), done);
    HONE_TRY_GOTO(hone_output_create(path, &output, error), done);
    HONE_TRY_GOTO(write_items(output, &header, sorted, count, error), done);
    status = hone_output_commit(&output, error);
done:
    hone_output_abandon(&output);
    hone_text_clear(&header);
    hone_free(sorted);
    return status;
}
