// SPDX-License-Identifier: Apache-2.0
// A cache file is what was written, or it is not there: damaged at any byte, cut anywhere, made for another key.
// usage: gpu_cache, with XDG_CACHE_HOME set to a folder of the test's own.
#include "device/gpu/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define NAME "gpu_cache_test"

static int failures;

static void expect(bool condition, const char *what, size_t at) {
    if (condition) return;
    failures++;
    printf("%s at byte %zu\n", what, at);
}

static bool there(const char *key, const void *content, size_t bytes) {
    char *got;
    size_t got_bytes;
    if (gpu_cache_read(NAME, key, &got, &got_bytes, NULL) != HONE_OK) return false;
    const bool same = got_bytes == bytes && memcmp(got, content, bytes) == 0;
    expect(same, "other bytes were read", 0);
    hone_free(got);
    return true;
}

int main(void) {
    static const char content[] = "first line\nsecond\0and \xff bytes";
    const char *const key = "a GPU, a driver 1.2";
    char path[4096];
    char *file;
    size_t size;
    snprintf(path, sizeof(path), "%s/hone/" NAME, getenv("XDG_CACHE_HOME"));
    gpu_cache_write(NAME, key, content, sizeof(content));
    expect(there(key, content, sizeof(content)), "what was written is not there", 0);
    expect(!there("a GPU, a driver 1.3", content, sizeof(content)), "it is there for another driver", 0);
    if (hone_file_read_all(path, 1 << 20, &file, &size, NULL) != HONE_OK) {
        printf("%s was not written\n", path);
        return 1;
    }
    for (size_t at = 0; at < size; at++) {
        file[at] ^= 0x20;
        if (hone_file_write_all(path, file, size, NULL) != HONE_OK) return 1;
        expect(!there(key, content, sizeof(content)), "damage is not noticed", at);
        file[at] ^= 0x20;
        if (hone_file_write_all(path, file, at, NULL) != HONE_OK) return 1;
        expect(!there(key, content, sizeof(content)), "a cut file is taken", at);
    }
    if (hone_file_write_all(path, file, size, NULL) != HONE_OK) return 1;
    expect(there(key, content, sizeof(content)), "the whole file is not taken", size);
    hone_free(file);
    gpu_cache_write(NAME, key, "", 0);
    expect(there(key, "", 0), "an empty content is not taken", 0);
    return failures ? 1 : 0;
}
