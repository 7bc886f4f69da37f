// SPDX-License-Identifier: Apache-2.0
// Unicode normal form C, for vocabularies that were made from text in it.
#ifndef HONE_TEXT_NORMALIZE_H
#define HONE_TEXT_NORMALIZE_H

#include "base/text.h"

// Appends the normal form of bytes[0, length), which must be valid UTF-8. Out of memory is left in `out`, as
// ever, or returned.
HONE_MUST_USE hone_status hone_normalize(const char *bytes, size_t length, hone_text *out, hone_error *error);

#endif
