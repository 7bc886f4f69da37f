// SPDX-License-Identifier: Apache-2.0
// The bytes of state.hone, shared by its writer and its reader. Little endian; every part is a multiple of 8
// bytes.
//
//   OFFSET SIZE  what
//   0      4     "HONE"
//   4      4     version, 1
//   8      ...   sections, one behind the other
//
//   a section:
//   0      4     kind: 1 bytes, 2 u64, 3 f64, 4 text, 5 tensor of f32; 0 marks the end
//   4      4     n, bytes of the name
//   8      8     m, bytes of the data
//   16     8     dimensions of a tensor, their number; else 0
//   24     8 each dimensions, outermost first
//   ...    n     name, without a NUL; padded with zeros, at least one, to a multiple of 8
//   ...    m     data; padded likewise
//   ...    8     XXH64, seed 0, of the section up to here
//
//   the end mark is a section of kind 0 without name and dimensions whose data are two u64: the number of
//   sections before it and the file's size. Behind it:
//   ...    8     XXH64, seed 0, of the whole file up to here
//
// Through all versions to come: the first 8 bytes, and the last 8 as the hash of what is before them.
#ifndef HONE_FORMATS_CHECKPOINT_LAYOUT_H
#define HONE_FORMATS_CHECKPOINT_LAYOUT_H

#include <stdint.h>

#include "formats/cursor.h"
#include "formats/hash.h"

#define HONE_CHECKPOINT_MAGIC   "HONE"
#define HONE_CHECKPOINT_VERSION 1

enum { HONE_SECTION_END = 0 };

typedef struct hone_section_header {
    uint32_t kind;
    uint32_t name_bytes;
    uint64_t data_bytes;
    uint64_t rank;
} hone_section_header;

_Static_assert(sizeof(hone_section_header) == 24, "the header is written as it lies in memory");

// Bytes that a name or data of n bytes takes, the NUL and the padding behind it included.
static inline uint64_t hone_section_padded(uint64_t n) {
    return (n / 8 + 1) * 8;
}

#endif
