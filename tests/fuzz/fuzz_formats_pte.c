// SPDX-License-Identifier: Apache-2.0
// ExecuTorch programs from foreign bytes: opened, called with zeros where the inputs are small, saved nowhere.
#include <hone/program.h>

#include "base/file.h"
#include "fuzz/fuzz.h"

enum { PORTS = 16, BYTES = 1 << 14, MOST_TEMPORARIES = 1 << 24 };

static void call(hone_pte *pte) {
    static uint64_t zeros[BYTES / 8];
    hone_tensor inputs[PORTS], outputs[PORTS];
    hone_error error;
    const size_t in = hone_pte_input_count(pte), out = hone_pte_output_count(pte);
    if (in > PORTS || out > PORTS) return;
    for (size_t i = 0; i < in; i++) {
        inputs[i] = (hone_tensor){.type = hone_pte_input(pte, i)->type, .data = zeros};
        if (hone_type_bytes(&inputs[i].type) > BYTES) return;
    }
    for (size_t i = 0; i < out; i++) {
        if (hone_type_bytes(&hone_pte_output(pte, i)->type) > MOST_TEMPORARIES) return;
    }
    for (int step = 0; step < 2; step++) {
        if (hone_pte_run(pte, inputs, in, outputs, out, &error) != HONE_OK) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static hone_device *device; // one for all inputs
    hone_error error;
    hone_source *source;
    hone_pte *pte;
    if (!device &&
        hone_device_open(&(hone_device_description){.name = "cpu", .threads = 1}, &device, &error) != HONE_OK)
        return 0;
    if (hone_memory_source(data, size, "fuzz", &source, &error) != HONE_OK) return 0;
    if (hone_pte_open_source(device, source, NULL, &pte, &error) != HONE_OK) {
        hone_source_close(&source);
        return 0;
    }
    call(pte);
    hone_pte_close(pte);
    return 0;
}
