// SPDX-License-Identifier: Apache-2.0
// Reading files: sources over a descriptor or over memory, whole files, and questions about paths.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AT_ONCE ((size_t)1 << 30) // the kernel moves less than 2 GiB a call

hone_status hone_source_read(hone_source *source, uint64_t offset, void *buffer, size_t n, const char *what,
                             hone_error *error) {
    HONE_FAIL_IF(offset > source->size || n > source->size - offset, error, BAD_FORMAT,
                 "'%s' ends before %s does: it has %" PRIu64 " bytes, %zu are needed from byte %" PRIu64
                 " on; the file is cut or damaged",
                 source->name, what, source->size, n, offset);
    if (n == 0) return HONE_OK;
    return source->read_at(source, offset, buffer, n, error);
}

void hone_source_close(hone_source **source) {
    if (!source || !*source) return;
    hone_source *const closing = *source;
    *source = NULL;
    if (closing->close) closing->close(closing);
}

typedef struct file_source {
    hone_source source; // first: a hone_source * is also a file_source *
    int descriptor;
    char name[];
} file_source;

static hone_status file_read_at(hone_source *source, uint64_t offset, void *buffer, size_t n, hone_error *error) {
    const file_source *const file = (const file_source *)source;
    char *const bytes = buffer;
    for (size_t done = 0; done < n;) {
        const size_t wanted = n - done < READ_AT_ONCE ? n - done : READ_AT_ONCE;
        const ssize_t got = pread(file->descriptor, bytes + done, wanted, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            (void)hone_error_system(error, errno, "cannot read '%s' at byte %" PRIu64, file->name, offset + done);
            return HONE_IO;
        }
        HONE_FAIL_IF(got == 0, error, IO, "'%s' became shorter while it was read: no byte %" PRIu64, file->name,
                     offset + done);
        done += (size_t)got;
    }
    return HONE_OK;
}

static void file_close(hone_source *source) {
    file_source *const file = (file_source *)source;
    close(file->descriptor);
    hone_free(file);
}

// Refuses what is not a regular file: folders cannot be read, pipes have neither size nor offsets.
static hone_status check_regular(const char *path, int descriptor, uint64_t *size, hone_error *error) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return hone_error_system(error, errno, "cannot open '%s'", path);
    HONE_FAIL_IF(S_ISDIR(info.st_mode), error, INVALID_ARGUMENT, "'%s' is a folder, not a file", path);
    HONE_FAIL_IF(!S_ISREG(info.st_mode), error, INVALID_ARGUMENT,
                 "'%s' is a pipe or a device, not a file; save its contents to a file first", path);
    *size = (uint64_t)info.st_size;
    return HONE_OK;
}

hone_status hone_file_open(const char *path, hone_source **out, hone_error *error) {
    *out = NULL;
    // Not blocking: opening a pipe would wait for its writer instead of being refused below.
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return hone_error_system(error, errno, "cannot open '%s'", path);
    uint64_t size = 0;
    file_source *file = NULL;
    const size_t name_bytes = strlen(path) + 1;
    hone_status status;
    HONE_TRY_GOTO(check_regular(path, descriptor, &size, error), fail);
    HONE_TRY_GOTO(hone_allocate(1, sizeof *file + name_bytes, "an open file", (void **)&file, error), fail);
    memcpy(file->name, path, name_bytes);
    file->descriptor = descriptor;
    file->source = (hone_source){.size = size, .name = file->name, .read_at = file_read_at, .close = file_close};
    *out = &file->source;
    return HONE_OK;
fail:
    close(descriptor);
    return status;
}

typedef struct memory_source {
    hone_source source; // first: a hone_source * is also a memory_source *
    const char *data;
    char name[];
} memory_source;

static hone_status memory_read_at(hone_source *source, uint64_t offset, void *buffer, size_t n, hone_error *error) {
    (void)error;
    memcpy(buffer, ((const memory_source *)source)->data + offset, n);
    return HONE_OK;
}

static void memory_close(hone_source *source) {
    hone_free(source);
}

hone_status hone_memory_source(const void *data, size_t size, const char *name, hone_source **out, hone_error *error) {
    *out = NULL;
    memory_source *memory = NULL;
    const size_t name_bytes = strlen(name) + 1;
    HONE_TRY(hone_allocate(1, sizeof *memory + name_bytes, "a source in memory", (void **)&memory, error));
    memcpy(memory->name, name, name_bytes);
    memory->data = data;
    memory->source =
        (hone_source){.size = size, .name = memory->name, .read_at = memory_read_at, .close = memory_close};
    *out = &memory->source;
    return HONE_OK;
}

hone_status hone_file_read_all(const char *path, uint64_t limit, char **out, size_t *size, hone_error *error) {
    *out = NULL;
    *size = 0;
    hone_source *source = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    char *bytes = NULL;
    hone_status status = HONE_OK;
    const uint64_t length = source->size;
    if (length > limit || length >= SIZE_MAX) {
        status =
            hone_error_set(error, HONE_UNSUPPORTED,
                           "'%s' has %" PRIu64 " bytes, more than the %" PRIu64 " allowed here", path, length, limit);
        goto done;
    }
    HONE_TRY_GOTO(hone_allocate_raw((size_t)length + 1, 1, "a file's contents", (void **)&bytes, error), done);
    HONE_TRY_GOTO(hone_source_read(source, 0, bytes, (size_t)length, "the file", error), done);
    bytes[length] = 0;
    *out = bytes;
    *size = (size_t)length;
    bytes = NULL;
done:
    hone_free(bytes);
    hone_source_close(&source);
    return status;
}

bool hone_path_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

bool hone_path_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

hone_status hone_folder_create(const char *path, hone_error *error) {
    if (mkdir(path, 0777) == 0) return HONE_OK;
    const int code = errno;
    if (code == EEXIST) {
        // A caller may go on after HONE_EXISTS, so a file of that name must be another status.
        HONE_FAIL_IF(!hone_path_is_folder(path), error, INVALID_ARGUMENT, "'%s' is a file, not a folder", path);
        HONE_FAIL(error, EXISTS, "the folder '%s' exists already", path);
    }
    return hone_error_system(error, code, "cannot create the folder '%s'", path);
}

hone_status hone_path_join(const char *folder, const char *name, char **out, hone_error *error) {
    const size_t folder_length = strlen(folder);
    const size_t name_length = strlen(name);
    const bool slash = folder_length > 0 && folder[folder_length - 1] != '/';
    char *path = NULL;
    HONE_TRY(hone_allocate(1, folder_length + name_length + 2, "a path", (void **)&path, error));
    memcpy(path, folder, folder_length);
    if (slash) path[folder_length] = '/';
    memcpy(path + folder_length + slash, name, name_length);
    *out = path;
    return HONE_OK;
}
