// SPDX-License-Identifier: Apache-2.0
// state.hone from foreign bytes: what has the right hashes is walked.
#include "formats/checkpoint.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_error error;
    hone_source *source;
    hone_checkpoint *checkpoint;
    if (hone_memory_source(data, size, "fuzz", &source, &error) != HONE_OK) return 0;
    if (hone_checkpoint_read(source, &checkpoint, &error) == HONE_OK) {
        for (size_t i = 0; i < checkpoint->count; i++)
            hone_checkpoint_find(checkpoint, checkpoint->sections[i].name, checkpoint->sections[i].kind);
        hone_checkpoint_close(checkpoint);
    }
    hone_source_close(&source);
    return 0;
}
