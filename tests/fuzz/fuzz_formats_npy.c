// SPDX-License-Identifier: Apache-2.0
// .npy from foreign bytes.
#include "formats/npy.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_error error;
    hone_source *source;
    hone_tensor tensor = {0};
    if (hone_memory_source(data, size, "fuzz", &source, &error) != HONE_OK) return 0;
    if (hone_npy_read_source(source, &tensor, &error) == HONE_OK) hone_free(tensor.data);
    hone_source_close(&source);
    return 0;
}
