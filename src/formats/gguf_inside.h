// SPDX-License-Identifier: Apache-2.0
// What the reading and the asking half of the GGUF reader share.
#ifndef HONE_FORMATS_GGUF_INSIDE_H
#define HONE_FORMATS_GGUF_INSIDE_H

#include "base/arena.h"
#include "formats/gguf.h"

struct hone_gguf_private {
    hone_arena arena; // strings and arrays
    size_t entry_capacity;
    size_t tensor_capacity;
    const hone_gguf_entry **by_key;   // sorted by hone_gguf_compare_strings
    const hone_gguf_tensor **by_name; // sorted likewise
};

// Bytes of one number of the kind; 0 for strings and arrays.
size_t hone_gguf_kind_bytes(hone_gguf_kind kind);
int hone_gguf_compare_strings(const hone_gguf_string *a, const hone_gguf_string *b);

#endif
