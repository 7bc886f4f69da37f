// SPDX-License-Identifier: Apache-2.0
// What a fuzz target defines. It must return 0, whatever the bytes are, and free what it takes.
#ifndef HONE_FUZZ_FUZZ_H
#define HONE_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
