// SPDX-License-Identifier: Apache-2.0
// safetensors files: a table of named tensors, read with every size checked; and a writer.
#ifndef HONE_FORMATS_SAFETENSORS_H
#define HONE_FORMATS_SAFETENSORS_H

#include <hone/tensor.h>

#include "base/arena.h"
#include "base/file.h"

typedef struct hone_safetensors_tensor {
    const char *name;
    hone_tensor_type type;
    uint64_t offset; // of its bytes in the file
    uint64_t bytes;
} hone_safetensors_tensor;

typedef struct hone_safetensors_pair { // of __metadata__
    const char *key;
    const char *value;
} hone_safetensors_pair;

typedef struct hone_safetensors {
    hone_source *source;              // owned
    hone_safetensors_tensor *tensors; // sorted by name
    size_t tensor_count;
    hone_safetensors_pair *metadata; // sorted by key
    size_t metadata_count;
    hone_arena arena; // all of the above
} hone_safetensors;

// Takes ownership of `source` when it succeeds.
HONE_MUST_USE hone_status hone_safetensors_read(hone_source *source, hone_safetensors **out, hone_error *error);
HONE_MUST_USE hone_status hone_safetensors_open(const char *path, hone_safetensors **out, hone_error *error);
void hone_safetensors_close(hone_safetensors *file); // NULL is allowed

// NULL if absent.
const hone_safetensors_tensor *hone_safetensors_find(const hone_safetensors *file, const char *name);
const char *hone_safetensors_metadata(const hone_safetensors *file, const char *key);

// The tensor's bytes, all of them, as in the file; or as floats (F32, F16, BF16 and F64).
HONE_MUST_USE hone_status hone_safetensors_read_bytes(const hone_safetensors *file,
                                                      const hone_safetensors_tensor *tensor, void *out,
                                                      hone_error *error);
HONE_MUST_USE hone_status hone_safetensors_read_floats(const hone_safetensors *file,
                                                       const hone_safetensors_tensor *tensor, float *out,
                                                       hone_error *error);

typedef struct hone_safetensors_item {
    const char *name;
    hone_tensor tensor; // borrowed
} hone_safetensors_item;

// Writes {"format": "pt"} and `metadata` into __metadata__. Tensors go out widest element first, then by
// name.
HONE_MUST_USE hone_status hone_safetensors_write(const char *path, const hone_safetensors_item *items, size_t count,
                                                 const hone_safetensors_pair *metadata, size_t metadata_count,
                                                 hone_error *error);

#endif
