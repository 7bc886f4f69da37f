// SPDX-License-Identifier: Apache-2.0
// For cmocka tests that touch files: a folder of their own, whole files in and out, and leak checks.
#ifndef HONE_TESTS_SCRATCH_H
#define HONE_TESTS_SCRATCH_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static char scratch_home[4096];
static char scratch_folder[] = "/tmp/hone_test_XXXXXX";

// Group set-up: the tests run in an empty folder.
static inline int scratch_enter(void **state) {
    (void)state;
    return !getcwd(scratch_home, sizeof scratch_home) || !mkdtemp(scratch_folder) || chdir(scratch_folder) != 0;
}

static inline int scratch_count(const char *folder) {
    DIR *const opened = opendir(folder);
    int count = 0;
    if (!opened) return -1;
    for (const struct dirent *entry = readdir(opened); entry; entry = readdir(opened)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
    }
    closedir(opened);
    return count;
}

// Group tear-down: fails if a test left a file, temporary ones included.
static inline int scratch_leave(void **state) {
    (void)state;
    return chdir(scratch_home) != 0 || rmdir(scratch_folder) != 0;
}

static inline void scratch_write(const char *path, const void *bytes, size_t size) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

// The whole file; free() it.
static inline uint8_t *scratch_read(const char *path, size_t *size) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    struct stat info;
    assert_int_equal(fstat(fileno(file), &info), 0);
    *size = (size_t)info.st_size;
    uint8_t *const bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

// Bytes held through the gate before and after must be the same.
#define scratch_held() (hone_memory_counted().bytes)

// OK(hone_x(..., &why)) ends the test with the message if the call fails.
__attribute__((unused)) static hone_error why;
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        why = (hone_error){0};                                                                                         \
        if ((call) != HONE_OK) fail_msg("%s", why.message);                                                            \
    } while (0)

// A file of the notes that stand beside the sources, or NULL (and a line that says so) where they are absent.
static inline const char *scratch_reference(const char *name, char *path, size_t size) {
    const char *const shared = getenv("HONE_SHARED");
    if (shared) {
        snprintf(path, size, "%s/reference/%s", shared, name);
    } else {
        snprintf(path, size, "%s/../shared/reference/%s", HONE_SOURCE_DIR, name);
    }
    if (access(path, R_OK) == 0) return path;
    print_message("skipped: no %s (HONE_SHARED names its folder)\n", path);
    return NULL;
}

#endif
