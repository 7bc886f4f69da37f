// SPDX-License-Identifier: Apache-2.0
// Stands in for libFuzzer in ordinary builds: gives a fuzz target each file of a folder, then changed copies of it that
// follow from its bytes alone, so that every run is the same.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/random.h"
#include "fuzz/fuzz.h"

#define CHANGED_COPIES 400
#define LARGEST_FILE   (1 << 20)

static uint64_t hash_bytes(const char *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

// One to four changes: a byte, a 32-bit word of an awkward value, a cut end, a piece copied elsewhere.
static size_t change(unsigned char *bytes, size_t size, hone_random *random) {
    static const uint32_t awkward[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x10000, 255};
    for (uint32_t changes = 1 + hone_random_below(random, 4); changes > 0 && size > 0; changes--) {
        const size_t at = hone_random_below(random, (uint32_t)size);
        const uint32_t kind = hone_random_below(random, 8);
        if (kind < 4) {
            bytes[at] = (unsigned char)hone_random_u32(random);
        } else if (kind < 6 && size - at >= 4) {
            memcpy(bytes + at, &awkward[hone_random_below(random, 8)], 4);
        } else if (kind == 6) {
            size = at;
        } else {
            const size_t from = hone_random_below(random, (uint32_t)size);
            const size_t room = size - (from > at ? from : at);
            memmove(bytes + at, bytes + from, room < 16 ? room : 16);
        }
    }
    return size;
}

static hone_status replay(const char *path, hone_error *error) {
    char *bytes;
    size_t size;
    HONE_TRY(hone_file_read_all(path, LARGEST_FILE, &bytes, &size, error));
    LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
    hone_random random = hone_random_seed(hash_bytes(bytes, size), 1);
    hone_status status = HONE_OK;
    for (int i = 0; i < CHANGED_COPIES && status == HONE_OK; i++) {
        unsigned char *copy; // of its own each time: a sanitizer then sees the very end of it
        status = hone_allocate_raw(size, 1, "a changed copy", (void **)&copy, error);
        if (status != HONE_OK) break;
        if (size) memcpy(copy, bytes, size);
        const size_t left = change(copy, size, &random);
        if (left < size) {
            unsigned char *cut;
            status = hone_allocate_raw(left, 1, "a changed copy", (void **)&cut, error);
            if (status == HONE_OK) memcpy(cut, copy, left);
            hone_free(copy);
            copy = cut;
        }
        if (status == HONE_OK) {
            LLVMFuzzerTestOneInput(copy, left);
            hone_free(copy);
        }
    }
    hone_free(bytes);
    return status;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    struct dirent **entries;
    const int count = scandir(arguments[1], &entries, NULL, alphasort);
    hone_error error = {0};
    int files = 0;
    bool right = count >= 0;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (right && entries[i]->d_name[0] != '.') {
            right = hone_path_join(arguments[1], entries[i]->d_name, &path, &error) == HONE_OK &&
                    replay(path, &error) == HONE_OK;
            files++;
        }
        hone_free(path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    if (right && files > 0) {
        printf("%d files, each with %d changed copies\n", files, CHANGED_COPIES);
        return 0;
    }
    fprintf(stderr, "%s: %s\n", arguments[1], right || !error.message[0] ? "no files here" : error.message);
    return 1;
}
