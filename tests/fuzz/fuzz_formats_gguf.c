// SPDX-License-Identifier: Apache-2.0
// GGUF from foreign bytes: the whole metadata is walked, every small tensor read as floats.
#include "formats/gguf.h"
#include "fuzz/fuzz.h"

#define LARGEST_TENSOR 4096 // elements

static int64_t elements_of(const hone_gguf_tensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->dims[d] > LARGEST_TENSOR) return LARGEST_TENSOR + 1;
        count *= tensor->dims[d];
        if (count > LARGEST_TENSOR) return count;
    }
    return count;
}

static void read_tensors(const hone_gguf *gguf) {
    float values[LARGEST_TENSOR];
    hone_error error;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const hone_gguf_tensor *const tensor = &gguf->tensors[i];
        if (elements_of(tensor) > LARGEST_TENSOR) continue;
        if (hone_gguf_read_floats(gguf, tensor, values, &error) != HONE_OK) continue;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_error error;
    hone_source *source;
    if (hone_memory_source(data, size, "fuzz", &source, &error) != HONE_OK) return 0;
    hone_gguf *gguf;
    if (hone_gguf_read(source, &gguf, &error) != HONE_OK) {
        hone_source_close(&source);
        return 0;
    }
    for (size_t i = 0; i < gguf->entry_count; i++) {
        int64_t integer;
        double real;
        const char *text;
        const char *const key = gguf->entries[i].key.bytes;
        if (hone_gguf_integer(gguf, key, &integer, &error) == HONE_OK) continue;
        if (hone_gguf_real(gguf, key, &real, &error) == HONE_OK) continue;
        if (hone_gguf_text(gguf, key, &text, &error) == HONE_OK) continue;
    }
    read_tensors(gguf);
    hone_gguf_close(gguf);
    return 0;
}
