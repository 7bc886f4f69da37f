// SPDX-License-Identifier: Apache-2.0
// Files of the user's cache folder: what has been found out about a GPU and its driver, and pipelines that a driver has made.
#ifndef HONE_DEVICE_GPU_CACHE_H
#define HONE_DEVICE_GPU_CACHE_H

#include "base/memory.h"

// $XDG_CACHE_HOME/hone/NAME or ~/.cache/hone/NAME. The content counts only for the key (one line of text) that it was
// written with, and only if it is whole: a file that is damaged, cut, for another key or not there is HONE_NOT_FOUND.
// hone_free the result; a NUL stands behind its last byte.
HONE_MUST_USE hone_status gpu_cache_read(const char *name, const char *key, char **out, size_t *bytes,
                                         hone_error *error);
// Replaces the file in one step. The cache is a convenience: what cannot be written is found out again the next time.
void gpu_cache_write(const char *name, const char *key, const void *data, size_t bytes);
// FNV-1a of 64 bits, going on from `hash` (0 to begin).
uint64_t gpu_cache_hash(uint64_t hash, const void *data, size_t bytes);

#endif
