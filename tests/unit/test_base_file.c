// SPDX-License-Identifier: Apache-2.0
// Reading: ranges, folders, pipes, missing and shrinking files, limits, every allocation failure; paths and
// folders.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char old_folder[4096];
static char folder[] = "/tmp/hone_file_XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return !getcwd(old_folder, sizeof old_folder) || !mkdtemp(folder) || chdir(folder) != 0;
}

static int leave_folder(void **state) {
    (void)state;
    return chdir(old_folder) != 0 || rmdir(folder) != 0; // the tests leave nothing behind
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void ranges_are_checked(hone_source *source) {
    hone_error error = {0};
    char bytes[16] = {0};
    assert_int_equal(source->size, 10);
    assert_int_equal(hone_source_read(source, 3, bytes, 4, "the middle", &error), HONE_OK);
    assert_memory_equal(bytes, "3456\0", 5);
    assert_int_equal(hone_source_read(source, 0, bytes, 10, "all", &error), HONE_OK);
    assert_memory_equal(bytes, "0123456789", 10);
    assert_int_equal(hone_source_read(source, 10, bytes, 0, "nothing", &error), HONE_OK);
    assert_int_equal(hone_source_read(source, 3, bytes, 8, "the header", &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "ends before the header"));
    assert_non_null(strstr(error.message, "'ten'"));
    assert_int_equal(hone_source_read(source, 11, bytes, 0, "x", &error), HONE_BAD_FORMAT);
    assert_int_equal(hone_source_read(source, UINT64_MAX, bytes, 2, "x", &error), HONE_BAD_FORMAT);
    assert_int_equal(hone_source_read(source, 2, bytes, SIZE_MAX, "x", &error), HONE_BAD_FORMAT);
}

static void sources_read_ranges(void **state) {
    (void)state;
    hone_source *source = NULL;
    assert_int_equal(hone_memory_source("0123456789", 10, "ten", &source, NULL), HONE_OK);
    ranges_are_checked(source);
    hone_source_close(&source);
    assert_null(source);
    write_file("ten", "0123456789", 10);
    char path[] = "ten";
    assert_int_equal(hone_file_open(path, &source, NULL), HONE_OK);
    path[0] = 'X'; // the source has a copy
    ranges_are_checked(source);
    hone_source_close(&source);
    assert_null(source);
    hone_source_close(&source);
    hone_source_close(NULL);
    unlink("ten");
}

static void shrinking_file_is_an_error(void **state) {
    (void)state;
    write_file("shrinks", "0123456789", 10);
    hone_source *source = NULL;
    assert_int_equal(hone_file_open("shrinks", &source, NULL), HONE_OK);
    assert_int_equal(truncate("shrinks", 4), 0);
    char bytes[10];
    hone_error error = {0};
    assert_int_equal(hone_source_read(source, 0, bytes, 10, "all", &error), HONE_IO);
    assert_string_equal(error.message, "'shrinks' became shorter while it was read: no byte 4");
    hone_source_close(&source);
    unlink("shrinks");
}

static void refused(const char *path, hone_status status, const char *message) {
    hone_source *source = (hone_source *)(void *)folder;
    hone_error error = {0};
    assert_int_equal(hone_file_open(path, &source, &error), status);
    assert_null(source);
    assert_int_equal(error.status, status);
    assert_string_equal(error.message, message);
    char *bytes = folder;
    size_t size = 1;
    assert_int_equal(hone_file_read_all(path, UINT64_MAX, &bytes, &size, NULL), status);
    assert_null(bytes);
    assert_int_equal(size, 0);
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    refused("none", HONE_NOT_FOUND, "cannot open 'none': No such file or directory");
    refused("", HONE_NOT_FOUND, "cannot open '': No such file or directory");
    assert_int_equal(mkdir("sub", 0777), 0);
    refused("sub", HONE_INVALID_ARGUMENT, "'sub' is a folder, not a file");
    rmdir("sub");
    write_file("plain", "", 0);
    refused("plain/x", HONE_IO, "cannot open 'plain/x': Not a directory");
    unlink("plain");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    refused("pipe", HONE_INVALID_ARGUMENT,
            "'pipe' is a pipe or a device, not a file; save its contents to a file first");
    unlink("pipe");
    if (geteuid() != 0) {
        write_file("secret", "x", 1);
        assert_int_equal(chmod("secret", 0), 0);
        refused("secret", HONE_IO, "cannot open 'secret': Permission denied");
        unlink("secret");
    }
}

static void whole_files_end_with_nul(void **state) {
    (void)state;
    char *bytes = NULL;
    size_t size = 0;
    hone_error error = {0};
    write_file("whole", "ab\0cd", 5);
    assert_int_equal(hone_file_read_all("whole", 5, &bytes, &size, &error), HONE_OK);
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "ab\0cd", 6);
    hone_free(bytes);
    assert_int_equal(hone_file_read_all("whole", 4, &bytes, &size, &error), HONE_UNSUPPORTED);
    assert_string_equal(error.message, "'whole' has 5 bytes, more than the 4 allowed here");
    assert_null(bytes);
    write_file("whole", "", 0);
    assert_int_equal(hone_file_read_all("whole", 0, &bytes, &size, &error), HONE_OK);
    assert_int_equal(size, 0);
    assert_string_equal(bytes, "");
    hone_free(bytes);
    // A file of 1 TiB that takes no space: refused by the limit before memory is asked for.
    if (truncate("whole", (off_t)1 << 40) == 0) {
        assert_int_equal(hone_file_read_all("whole", 1 << 20, &bytes, &size, &error), HONE_UNSUPPORTED);
        hone_source *source = NULL;
        assert_int_equal(hone_file_open("whole", &source, NULL), HONE_OK);
        assert_true(source->size == UINT64_C(1) << 40);
        char end[3] = "abc";
        assert_int_equal(hone_source_read(source, (UINT64_C(1) << 40) - 3, end, 3, "the end", NULL), HONE_OK);
        assert_memory_equal(end, "\0\0\0", 3);
        hone_source_close(&source);
    }
    unlink("whole");
}

static hone_status read_twice(void) {
    char *bytes = NULL;
    size_t size = 0;
    HONE_TRY(hone_file_read_all("walk", 100, &bytes, &size, NULL));
    hone_source *source = NULL;
    hone_status status = hone_memory_source(bytes, size, "walk", &source, NULL);
    char *path = NULL;
    if (status == HONE_OK) status = hone_path_join("a", "b", &path, NULL);
    hone_free(path);
    hone_source_close(&source);
    hone_free(bytes);
    return status;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    write_file("walk", "12345", 5);
    const size_t before = hone_memory_counted().bytes;
    for (uint64_t n = 0; n < 10; n++) {
        hone_memory_fail_after(n, false);
        const hone_status status = read_twice();
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(status, n < 4 ? HONE_OUT_OF_MEMORY : HONE_OK);
        assert_int_equal(hone_memory_counted().bytes, before);
    }
    unlink("walk");
}

static void folders_are_made(void **state) {
    (void)state;
    hone_error error = {0};
    assert_false(hone_path_exists("made"));
    assert_int_equal(hone_folder_create("made", &error), HONE_OK);
    assert_true(hone_path_exists("made"));
    assert_true(hone_path_is_folder("made"));
    assert_int_equal(hone_folder_create("made", &error), HONE_EXISTS);
    assert_string_equal(error.message, "the folder 'made' exists already");
    assert_int_equal(hone_folder_create("no/deep", &error), HONE_NOT_FOUND);
    assert_string_equal(error.message, "cannot create the folder 'no/deep': No such file or directory");
    write_file("made/file", "", 0);
    assert_int_equal(hone_folder_create("made/file", &error), HONE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "'made/file' is a file, not a folder");
    assert_true(hone_path_exists("made/file"));
    assert_false(hone_path_is_folder("made/file"));
    unlink("made/file");
    rmdir("made");
}

static void joined(const char *where, const char *name, const char *expected) {
    char *path = NULL;
    assert_int_equal(hone_path_join(where, name, &path, NULL), HONE_OK);
    assert_string_equal(path, expected);
    hone_free(path);
}

static void paths_are_joined(void **state) {
    (void)state;
    joined("runs", "a", "runs/a");
    joined("runs/", "a", "runs/a");
    joined("/", "a", "/a");
    joined("", "a", "a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_read_ranges),        cmocka_unit_test(shrinking_file_is_an_error),
        cmocka_unit_test(what_is_no_file_is_refused), cmocka_unit_test(whole_files_end_with_nul),
        cmocka_unit_test(each_allocation_may_fail),   cmocka_unit_test(folders_are_made),
        cmocka_unit_test(paths_are_joined),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
