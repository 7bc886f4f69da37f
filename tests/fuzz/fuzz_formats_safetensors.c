// SPDX-License-Identifier: Apache-2.0
// safetensors from foreign bytes: the table is walked, every small tensor read as bytes and as floats.
#include "formats/safetensors.h"
#include "fuzz/fuzz.h"

#define LARGEST_TENSOR 4096 // elements

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static double values[LARGEST_TENSOR];
    hone_error error;
    hone_source *source;
    if (hone_memory_source(data, size, "fuzz", &source, &error) != HONE_OK) return 0;
    hone_safetensors *file;
    if (hone_safetensors_read(source, &file, &error) != HONE_OK) {
        hone_source_close(&source);
        return 0;
    }
    for (size_t i = 0; i < file->tensor_count; i++) {
        const hone_safetensors_tensor *const tensor = hone_safetensors_find(file, file->tensors[i].name);
        if (!tensor || hone_type_elements(&tensor->type) > LARGEST_TENSOR) continue;
        if (hone_safetensors_read_bytes(file, tensor, values, &error) != HONE_OK) continue;
        if (hone_safetensors_read_floats(file, tensor, (float *)values, &error) != HONE_OK) continue;
    }
    for (size_t i = 0; i < file->metadata_count; i++) hone_safetensors_metadata(file, file->metadata[i].key);
    hone_safetensors_close(file);
    return 0;
}
