// SPDX-License-Identifier: Apache-2.0
// Cache files:
//   hone cache 1\n
//   KEY\n
//   HASH BYTES\n      of the content: 16 hexadecimal digits, decimal
//   the content
#include "device/gpu/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define CACHE_PATH  4096
#define CACHE_HEAD  1024
#define CACHE_LIMIT ((uint64_t)256 << 20)

uint64_t gpu_cache_hash(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *const from = data;
    if (!hash) hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ from[i]) * 0x100000001b3u;
    return hash;
}

// The folder, made if asked for.
static hone_status find_folder(bool make, char *out, hone_error *error) {
    const char *const cache = getenv("XDG_CACHE_HOME");
    const char *const home = getenv("HOME");
    // The specification wants relative paths ignored.
    const bool own = cache && cache[0] == '/';
    HONE_FAIL_IF(!own && (!home || home[0] != '/'), error, NOT_FOUND, "neither XDG_CACHE_HOME nor HOME is set");
    int length = own ? snprintf(out, CACHE_PATH, "%s", cache) : snprintf(out, CACHE_PATH, "%s/.cache", home);
    HONE_FAIL_IF(length >= CACHE_PATH - 64, error, NOT_FOUND, "the path of the cache folder is too long");
    for (int level = 0; level < 2 && make; level++) {
        if (level) snprintf(out + length, CACHE_PATH - (size_t)length, "/hone");
        const hone_status status = hone_folder_create(out, error);
        if (status != HONE_OK && status != HONE_EXISTS) return status;
    }
    if (!make) snprintf(out + length, CACHE_PATH - (size_t)length, "/hone");
    return HONE_OK;
}

static hone_status find_file(const char *name, bool make, char *out, hone_error *error) {
    HONE_TRY(find_folder(make, out, error));
    const size_t length = strlen(out);
    HONE_FAIL_IF(length + strlen(name) + 2 > CACHE_PATH, error, NOT_FOUND, "the path of the cache file is too long");
    snprintf(out + length, CACHE_PATH - length, "/%s", name);
    return HONE_OK;
}

static int write_head(char *out, const char *key, const void *data, size_t bytes) {
    return snprintf(out, CACHE_HEAD, "hone cache 1\n%.900s\n%016" PRIx64 " %zu\n", key, gpu_cache_hash(0, data, bytes),
                    bytes);
}

hone_status gpu_cache_read(const char *name, const char *key, char **out, size_t *bytes, hone_error *error) {
    char path[CACHE_PATH];
    char *file = NULL;
    size_t size = 0;
    HONE_TRY(find_file(name, false, path, error));
    HONE_FAIL_IF(hone_file_read_all(path, CACHE_LIMIT, &file, &size, NULL) != HONE_OK, error, NOT_FOUND,
                 "%s: not there", path);
    // The head is written again for what follows the third line; only the same bytes will do.
    const char *content = file;
    for (int line = 0; line < 3 && content; line++) {
        content = memchr(content, '\n', size - (size_t)(content - file));
        if (content) content++;
    }
    char head[CACHE_HEAD];
    const size_t length = content ? (size_t)(content - file) : 0;
    const bool whole =
        length > 0 && write_head(head, key, content, size - length) == (int)length && memcmp(head, file, length) == 0;
    if (!whole) {
        hone_free(file);
        HONE_FAIL(error, NOT_FOUND, "%s: damaged, or for another driver", path);
    }
    *bytes = size - length;
    memmove(file, content, *bytes + 1);
    *out = file;
    return HONE_OK;
}

void gpu_cache_write(const char *name, const char *key, const void *data, size_t bytes) {
    char path[CACHE_PATH];
    char head[CACHE_HEAD];
    hone_output *output = NULL;
    if (find_file(name, true, path, NULL) != HONE_OK || hone_output_create(path, &output, NULL) != HONE_OK) return;
    hone_status status = hone_output_write(output, head, (size_t)write_head(head, key, data, bytes), NULL);
    if (status == HONE_OK) status = hone_output_write(output, data, bytes, NULL);
    if (status == HONE_OK) status = hone_output_commit(&output, NULL);
    if (status != HONE_OK && output) hone_output_abandon(&output);
}
