// SPDX-License-Identifier: Apache-2.0
// Writing files that appear complete or not at all: PATH.tmpPID beside the target, fsync, rename, fsync of
// the folder.
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES   ((size_t)256 << 10)
#define WRITE_AT_ONCE  ((size_t)1 << 30) // the kernel moves less than 2 GiB a call
#define TEMPORARY_MORE 32                // ".tmp", a process id, "-", a number, NUL
#define NAME_TRIES     100

struct hone_output {
    int descriptor;
    int failure;       // errno of the first failed write; 0 = none
    bool linked;       // the target was reached through a link: its folder is another one
    bool direct;       // the target is a device or a pipe: written in place, nothing to rename
    uint64_t position; // bytes accepted
    size_t buffered;
    char *path;      // the target, links followed
    char *folder;    // where the target lies; made early, so that commit cannot fail for lack of memory
    char *temporary; // NULL if direct
    char buffer[BUFFER_BYTES];
};

static atomic_uint_least64_t bytes_until_full = UINT64_MAX; // UINT64_MAX = off

void hone_output_fail_after(uint64_t bytes) {
    atomic_store(&bytes_until_full, bytes);
}

// How many of `size` bytes the test hook lets through.
static size_t admit(size_t size) {
    uint64_t left = atomic_load_explicit(&bytes_until_full, memory_order_relaxed);
    for (;;) {
        if (left == UINT64_MAX) return size;
        const size_t admitted = left < size ? (size_t)left : size;
        if (atomic_compare_exchange_weak(&bytes_until_full, &left, left - admitted)) return admitted;
    }
}

static void destroy(hone_output *output) {
    if (output->descriptor >= 0) close(output->descriptor);
    if (output->temporary) unlink(output->temporary);
    hone_free(output->temporary);
    hone_free(output->folder);
    hone_free(output->path);
    hone_free(output);
}

// Sets output->path: links are followed, so that the file behind a link is replaced and not the link. Sets
// output->folder, the part before its last slash: none is ".", and "/x" lies in "/".
static hone_status resolve(hone_output *output, const char *path, hone_error *error) {
    struct stat info;
    char *const real = lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(path, NULL) : NULL;
    const char *const target = real ? real : path;
    output->linked = real != NULL;
    const hone_status status = hone_copy_string(target, strlen(target), &output->path, error);
    free(real);
    HONE_TRY(status);
    const char *const slash = strrchr(output->path, '/');
    if (!slash) return hone_copy_string(".", 1, &output->folder, error);
    const size_t length = slash == output->path ? 1 : (size_t)(slash - output->path);
    return hone_copy_string(output->path, length, &output->folder, error);
}

static hone_status cannot_create(const hone_output *output, int code, hone_error *error) {
    HONE_FAIL_IF(code == ENOENT && !hone_path_exists(output->folder), error, NOT_FOUND,
                 "cannot create '%s': the folder '%s' does not exist", output->path, output->folder);
    return hone_error_system(error, code, "cannot create '%s'", output->path);
}

// Creates the temporary file. A name may be taken: by another output of this process, or by what a killed
// process of the same id left.
static hone_status create_temporary(hone_output *output, hone_error *error) {
    const size_t capacity = strlen(output->path) + TEMPORARY_MORE;
    HONE_TRY(hone_allocate(capacity, 1, "a path", (void **)&output->temporary, error));
    int code = 0;
    for (int i = 0; i < NAME_TRIES; i++) {
        const int used = snprintf(output->temporary, capacity, "%s.tmp%ld", output->path, (long)getpid());
        if (i > 0) snprintf(output->temporary + used, capacity - (size_t)used, "-%d", i);
        output->descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->descriptor >= 0) return HONE_OK;
        code = errno;
        if (code != EEXIST) break;
    }
    hone_free(output->temporary); // not ours: destroy must not remove it
    output->temporary = NULL;
    return cannot_create(output, code, error);
}

static hone_status open_target(hone_output *output, hone_error *error) {
    struct stat info;
    const size_t length = strlen(output->path);
    const bool exists = stat(output->path, &info) == 0;
    const bool folder = exists ? S_ISDIR(info.st_mode) : length > 0 && output->path[length - 1] == '/';
    HONE_FAIL_IF(length == 0, error, INVALID_ARGUMENT, "cannot create a file without a name");
    HONE_FAIL_IF(folder, error, INVALID_ARGUMENT, "'%s' is a folder, not a file", output->path);
    if (!exists || S_ISREG(info.st_mode)) return create_temporary(output, error);
    output->direct = true;
    output->descriptor = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (output->descriptor < 0) return hone_error_system(error, errno, "cannot write '%s'", output->path);
    return HONE_OK;
}

hone_status hone_output_create(const char *path, hone_output **out, hone_error *error) {
    *out = NULL;
    hone_output *output = NULL;
    HONE_TRY(HONE_NEW(&output, "an output file", error));
    output->descriptor = -1;
    hone_status status;
    HONE_TRY_GOTO(resolve(output, path, error), fail);
    HONE_TRY_GOTO(open_target(output, error), fail);
    *out = output;
    return HONE_OK;
fail:
    destroy(output);
    return status;
}

static hone_status report(const hone_output *output, int code, hone_error *error) {
    (void)hone_error_system(error, code, "cannot write '%s'", output->path);
    if (error) error->status = HONE_IO;
    return HONE_IO;
}

static hone_status fail(hone_output *output, int code, hone_error *error) {
    if (output->failure == 0) output->failure = code;
    return report(output, output->failure, error);
}

static hone_status write_through(hone_output *output, const char *bytes, size_t size, hone_error *error) {
    while (size > 0) {
        const ssize_t n = write(output->descriptor, bytes, size < WRITE_AT_ONCE ? size : WRITE_AT_ONCE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(output, errno, error);
        if (n == 0) return fail(output, ENOSPC, error); // no progress and no reason: not to be repeated for ever
        bytes += n;
        size -= (size_t)n;
    }
    return HONE_OK;
}

static hone_status flush(hone_output *output, hone_error *error) {
    const size_t size = output->buffered;
    output->buffered = 0;
    return write_through(output, output->buffer, size, error);
}

static hone_status append(hone_output *output, const char *bytes, size_t size, hone_error *error) {
    if (size > BUFFER_BYTES - output->buffered) HONE_TRY(flush(output, error));
    if (size >= BUFFER_BYTES) {
        HONE_TRY(write_through(output, bytes, size, error));
    } else if (size > 0) {
        memcpy(output->buffer + output->buffered, bytes, size);
        output->buffered += size;
    }
    output->position += size;
    return HONE_OK;
}

hone_status hone_output_write(hone_output *output, const void *data, size_t size, hone_error *error) {
    if (output->failure != 0) return report(output, output->failure, error);
    const size_t admitted = admit(size);
    HONE_TRY(append(output, data, admitted, error));
    if (admitted < size) return fail(output, ENOSPC, error);
    return HONE_OK;
}

uint64_t hone_output_position(const hone_output *output) {
    return output->position;
}

// Some file systems, and all devices, have nothing to synchronise and say so with an error.
static bool cannot_sync(int code) {
    return code == EINVAL || code == ENOTSUP || code == ENOSYS || code == EROFS;
}

static int sync_descriptor(int descriptor) {
    while (fsync(descriptor) != 0) {
        if (errno == EINTR) continue;
        return cannot_sync(errno) ? 0 : errno;
    }
    return 0;
}

// Makes the new name last. A folder that may not be read cannot be opened for that; the file itself is safe.
hone_status hone_folder_sync(const char *folder, hone_error *error) {
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int code = descriptor < 0 ? errno : sync_descriptor(descriptor);
    if (descriptor >= 0) close(descriptor);
    if (code == 0 || code == EACCES) return HONE_OK;
    (void)hone_error_system(error, code, "cannot write the folder '%s'", folder);
    if (error) error->status = HONE_IO;
    return HONE_IO;
}

static hone_status finish(hone_output *output, bool one_of_many, hone_error *error) {
    if (output->failure != 0) return report(output, output->failure, error);
    HONE_TRY(flush(output, error));
    const int code = sync_descriptor(output->descriptor);
    if (code != 0) return fail(output, code, error);
    const int descriptor = output->descriptor;
    output->descriptor = -1;
    // After EINTR the descriptor is closed on Linux, and fsync has seen the data safe.
    if (close(descriptor) != 0 && errno != EINTR) return fail(output, errno, error);
    if (output->direct) return HONE_OK;
    if (rename(output->temporary, output->path) != 0) return fail(output, errno, error);
    hone_free(output->temporary);
    output->temporary = NULL;
    return one_of_many && !output->linked ? HONE_OK : hone_folder_sync(output->folder, error);
}

static hone_status commit(hone_output **output, bool one_of_many, hone_error *error) {
    assert(output && *output);
    hone_output *const ending = *output;
    *output = NULL;
    const hone_status status = finish(ending, one_of_many, error);
    destroy(ending);
    return status;
}

hone_status hone_output_commit(hone_output **output, hone_error *error) {
    return commit(output, false, error);
}

hone_status hone_output_commit_one_of_many(hone_output **output, hone_error *error) {
    return commit(output, true, error);
}

void hone_output_abandon(hone_output **output) {
    if (!output || !*output) return;
    hone_output *const ending = *output;
    *output = NULL;
    destroy(ending);
}

hone_status hone_file_write_all(const char *path, const void *data, size_t size, hone_error *error) {
    hone_output *output = NULL;
    HONE_TRY(hone_output_create(path, &output, error));
    const hone_status status = hone_output_write(output, data, size, error);
    if (status != HONE_OK) {
        hone_output_abandon(&output);
        return status;
    }
    return hone_output_commit(&output, error);
}
