// SPDX-License-Identifier: Apache-2.0
// Writing: a file is the old one or the new one, whatever fails, and no temporary file stays.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char old_folder[4096];
static char folder[] = "/tmp/hone_output_XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return !getcwd(old_folder, sizeof old_folder) || !mkdtemp(folder) || chdir(folder) != 0;
}

static int leave_folder(void **state) {
    (void)state;
    return chdir(old_folder) != 0 || rmdir(folder) != 0; // the tests leave nothing behind
}

static int entries(void) {
    DIR *const directory = opendir(".");
    assert_non_null(directory);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void assert_contents(const char *path, const char *expected) {
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(hone_file_read_all(path, 1 << 20, &bytes, &size, NULL), HONE_OK);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(bytes, expected);
    hone_free(bytes);
}

static void appears_complete(void **state) {
    (void)state;
    hone_output *output = NULL;
    assert_int_equal(hone_output_create("new", &output, NULL), HONE_OK);
    assert_int_equal(hone_output_write(output, "abc", 3, NULL), HONE_OK);
    assert_int_equal(hone_output_write(output, NULL, 0, NULL), HONE_OK);
    assert_int_equal(hone_output_write(output, "de", 2, NULL), HONE_OK);
    assert_int_equal(hone_output_position(output), 5);
    assert_false(hone_path_exists("new"));
    assert_int_equal(entries(), 1);
    assert_int_equal(hone_output_commit(&output, NULL), HONE_OK);
    assert_null(output);
    assert_contents("new", "abcde");
    assert_int_equal(entries(), 1);

    assert_int_equal(hone_output_create("new", &output, NULL), HONE_OK);
    assert_int_equal(hone_output_write(output, "other", 5, NULL), HONE_OK);
    hone_output_abandon(&output);
    assert_null(output);
    hone_output_abandon(&output);
    hone_output_abandon(NULL);
    assert_contents("new", "abcde");
    assert_int_equal(entries(), 1);
    assert_int_equal(hone_file_write_all("new", "", 0, NULL), HONE_OK);
    assert_contents("new", "");
    assert_int_equal(hone_file_write_all("./new", "x", 1, NULL), HONE_OK);
    assert_contents("new", "x");
    unlink("new");
}

// Each is complete once it is committed; one sync of the folder serves all.
static void one_of_many(void **state) {
    (void)state;
    hone_error error = {0};
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "many%d", i);
        hone_output *output = NULL;
        assert_int_equal(hone_output_create(name, &output, NULL), HONE_OK);
        assert_int_equal(hone_output_write(output, name, 5, NULL), HONE_OK);
        assert_int_equal(hone_output_commit_one_of_many(&output, NULL), HONE_OK);
        assert_null(output);
        assert_contents(name, name);
        assert_int_equal(entries(), i + 1);
    }
    assert_int_equal(hone_folder_sync(".", NULL), HONE_OK);
    assert_int_equal(hone_folder_sync("none", &error), HONE_IO);
    assert_non_null(strstr(error.message, "cannot write the folder 'none'"));
    for (int i = 0; i < 3; i++) unlink((const char *[]){"many0", "many1", "many2"}[i]);
}

static void large_and_small_writes_keep_their_order(void **state) {
    (void)state;
    const size_t total = 3000000;
    unsigned char *pattern = NULL;
    assert_int_equal(HONE_NEW_ARRAY(&pattern, total, "a pattern", NULL), HONE_OK);
    for (size_t i = 0; i < total; i++) pattern[i] = (unsigned char)(i * 31 + i / 251);
    hone_output *output = NULL;
    assert_int_equal(hone_output_create("large", &output, NULL), HONE_OK);
    static const size_t pieces[] = {1, 70000, 262144, 3, 262143, 1, 600000, 262145, 0, 100};
    size_t done = 0;
    for (size_t i = 0; done < total; i++) {
        size_t n = pieces[i % (sizeof pieces / sizeof pieces[0])];
        if (n > total - done) n = total - done;
        assert_int_equal(hone_output_write(output, pattern + done, n, NULL), HONE_OK);
        done += n;
        assert_int_equal(hone_output_position(output), done);
    }
    assert_int_equal(hone_output_commit(&output, NULL), HONE_OK);
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(hone_file_read_all("large", total, &bytes, &size, NULL), HONE_OK);
    assert_int_equal(size, total);
    assert_memory_equal(bytes, pattern, total);
    hone_free(bytes);
    hone_free(pattern);
    unlink("large");
}

static void two_outputs_of_one_name(void **state) {
    (void)state;
    hone_output *first = NULL, *second = NULL;
    assert_int_equal(hone_output_create("same", &first, NULL), HONE_OK);
    assert_int_equal(hone_output_create("same", &second, NULL), HONE_OK);
    assert_int_equal(hone_output_write(first, "1", 1, NULL), HONE_OK);
    assert_int_equal(hone_output_write(second, "2", 1, NULL), HONE_OK);
    assert_int_equal(hone_output_commit(&first, NULL), HONE_OK);
    assert_contents("same", "1");
    assert_int_equal(hone_output_commit(&second, NULL), HONE_OK);
    assert_contents("same", "2");
    assert_int_equal(entries(), 1);
    unlink("same");
}

static void refused(const char *path, hone_status status, const char *message) {
    hone_output *output = (hone_output *)(void *)folder;
    hone_error error = {0};
    assert_int_equal(hone_output_create(path, &output, &error), status);
    assert_null(output);
    assert_int_equal(error.status, status);
    assert_string_equal(error.message, message);
}

static void impossible_targets_are_refused_at_once(void **state) {
    (void)state;
    refused("none/x", HONE_NOT_FOUND, "cannot create 'none/x': the folder 'none' does not exist");
    refused("", HONE_INVALID_ARGUMENT, "cannot create a file without a name");
    refused(".", HONE_INVALID_ARGUMENT, "'.' is a folder, not a file");
    refused("new/", HONE_INVALID_ARGUMENT, "'new/' is a folder, not a file");
    assert_int_equal(hone_file_write_all("plain", "", 0, NULL), HONE_OK);
    refused("plain/x", HONE_IO, "cannot create 'plain/x': Not a directory");
    unlink("plain");
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    hone_output *output = NULL;
    assert_int_equal(hone_output_create(name, &output, NULL), HONE_IO);
    if (geteuid() != 0) {
        assert_int_equal(mkdir("locked", 0555), 0);
        refused("locked/x", HONE_IO, "cannot create 'locked/x': Permission denied");
        rmdir("locked");
    }
    assert_int_equal(entries(), 0);
}

static hone_status save(hone_error *error) {
    hone_output *output = NULL;
    HONE_TRY(hone_output_create("state", &output, error));
    hone_status status = hone_output_write(output, "new ", 4, error);
    if (status == HONE_OK) status = hone_output_write(output, "state", 5, error);
    if (status == HONE_OK) return hone_output_commit(&output, error);
    hone_output_abandon(&output);
    return status;
}

static void full_disk_at_each_byte(void **state) {
    (void)state;
    const size_t before = hone_memory_counted().bytes;
    for (uint64_t room = 0; room <= 9; room++) {
        assert_int_equal(hone_file_write_all("state", "old", 3, NULL), HONE_OK);
        hone_error error = {0};
        hone_output_fail_after(room);
        const hone_status status = save(&error);
        hone_output_fail_after(UINT64_MAX);
        assert_int_equal(status, room < 9 ? HONE_IO : HONE_OK);
        assert_contents("state", room < 9 ? "old" : "new state");
        if (room < 9) {
            assert_string_equal(error.message, "cannot write 'state': No space left on device; free some space and "
                                               "try again");
        }
        assert_int_equal(entries(), 1);
    }
    assert_int_equal(hone_memory_counted().bytes, before);
    unlink("state");
}

static void failed_write_is_remembered(void **state) {
    (void)state;
    hone_output *output = NULL;
    hone_error error = {0};
    assert_int_equal(hone_output_create("state", &output, NULL), HONE_OK);
    hone_output_fail_after(2);
    assert_int_equal(hone_output_write(output, "abc", 3, NULL), HONE_IO);
    hone_output_fail_after(UINT64_MAX);
    assert_int_equal(hone_output_write(output, "abc", 3, NULL), HONE_IO);
    assert_int_equal(hone_output_commit(&output, &error), HONE_IO);
    assert_non_null(strstr(error.message, "'state': No space left"));
    assert_int_equal(entries(), 0);
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    const size_t before = hone_memory_counted().bytes;
    for (uint64_t n = 0;; n++) {
        assert_true(n < 20);
        assert_int_equal(hone_file_write_all("state", "old", 3, NULL), HONE_OK);
        hone_memory_fail_after(n, false);
        const hone_status status = save(NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(hone_memory_counted().bytes, before);
        assert_int_equal(entries(), 1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
        assert_contents("state", "old");
    }
    assert_contents("state", "new state");
    unlink("state");
}

static void limit_of_the_system_is_an_error(void **state) {
    (void)state;
    struct rlimit old_limit, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    limit = (struct rlimit){.rlim_cur = 300000, .rlim_max = old_limit.rlim_max};
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    char *bytes = NULL;
    assert_int_equal(HONE_NEW_ARRAY(&bytes, 400000, "a test", NULL), HONE_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    hone_error direct = {0}, buffered = {0};
    const hone_status direct_status = hone_file_write_all("limited", bytes, 400000, &direct);
    // The last bytes leave the buffer only in commit.
    hone_output *output = NULL;
    hone_status status = hone_output_create("limited", &output, NULL);
    for (int i = 0; i < 40 && status == HONE_OK; i++) status = hone_output_write(output, bytes, 10000, NULL);
    const hone_status commit_status = hone_output_commit(&output, &buffered);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    signal(SIGXFSZ, handler);
    hone_free(bytes);
    assert_int_equal(direct_status, HONE_IO);
    assert_string_equal(direct.message, "cannot write 'limited': File too large");
    assert_int_equal(status, HONE_OK);
    assert_int_equal(commit_status, HONE_IO);
    assert_string_equal(buffered.message, "cannot write 'limited': File too large");
    assert_int_equal(entries(), 0);
}

static void failed_rename_leaves_nothing(void **state) {
    (void)state;
    hone_output *output = NULL;
    hone_error error = {0};
    assert_int_equal(hone_output_create("late", &output, NULL), HONE_OK);
    assert_int_equal(mkdir("late", 0777), 0); // a folder took the name meanwhile
    assert_int_equal(hone_output_commit(&output, &error), HONE_IO);
    assert_string_equal(error.message, "cannot write 'late': Is a directory");
    assert_int_equal(entries(), 1);
    rmdir("late");
}

static void links_are_followed(void **state) {
    (void)state;
    assert_int_equal(mkdir("real", 0777), 0);
    assert_int_equal(hone_file_write_all("real/target", "old", 3, NULL), HONE_OK);
    assert_int_equal(symlink("real/target", "link"), 0);
    assert_int_equal(hone_file_write_all("link", "new", 3, NULL), HONE_OK);
    assert_contents("real/target", "new");
    struct stat info;
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    unlink("link");
    unlink("real/target");
    rmdir("real");
}

static void devices_are_written_in_place(void **state) {
    (void)state;
    if (!hone_path_exists("/dev/full") || !hone_path_exists("/dev/null")) skip();
    hone_error error = {0};
    assert_int_equal(hone_file_write_all("/dev/null", "abc", 3, &error), HONE_OK);
    assert_int_equal(hone_file_write_all("/dev/full", "abc", 3, &error), HONE_IO);
    assert_non_null(strstr(error.message, "cannot write '/dev/full': No space left on device"));
    hone_output *output = NULL;
    assert_int_equal(hone_output_create("/dev/full", &output, &error), HONE_OK);
    hone_output_abandon(&output);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appears_complete),
        cmocka_unit_test(large_and_small_writes_keep_their_order),
        cmocka_unit_test(two_outputs_of_one_name),
        cmocka_unit_test(impossible_targets_are_refused_at_once),
        cmocka_unit_test(full_disk_at_each_byte),
        cmocka_unit_test(failed_write_is_remembered),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(limit_of_the_system_is_an_error),
        cmocka_unit_test(failed_rename_leaves_nothing),
        cmocka_unit_test(one_of_many),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(devices_are_written_in_place),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
