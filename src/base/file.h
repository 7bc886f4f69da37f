// SPDX-License-Identifier: Apache-2.0
// Files: read through read_at only, written by write, fsync, rename.
#ifndef HONE_BASE_FILE_H
#define HONE_BASE_FILE_H

#include <stdio.h>

#include "base/memory.h"

// Something with a size that can be read at an offset: a file on disk, bytes in memory, a file of the
// browser.
typedef struct hone_source {
    uint64_t size;
    const char *name; // for messages
    // Exactly n bytes at offset into buffer; the caller guarantees offset + n <= size. HONE_IO on failure.
    hone_status (*read_at)(struct hone_source *source, uint64_t offset, void *buffer, size_t n, hone_error *error);
    void (*close)(struct hone_source *source); // may be NULL
} hone_source;

// Checked read: HONE_BAD_FORMAT "...ends before..." when the range leaves the file.
HONE_MUST_USE hone_status hone_source_read(hone_source *source, uint64_t offset, void *buffer, size_t n,
                                           const char *what, hone_error *error);
// Closes and sets the caller's pointer to NULL; NULL is allowed.
void hone_source_close(hone_source **source);

// A regular file (folders and missing files give a message of one line). pread, not mmap: a file that shrinks
// while it is read is an error, not a signal, and its pages never count as the process's memory.
HONE_MUST_USE hone_status hone_file_open(const char *path, hone_source **out, hone_error *error);
// Bytes in memory, borrowed: `data` must outlive the source.
HONE_MUST_USE hone_status hone_memory_source(const void *data, size_t size, const char *name, hone_source **out,
                                             hone_error *error);
// The whole file, NUL added behind the last byte (not counted). Refuses more than `limit` bytes. hone_free
// the result.
HONE_MUST_USE hone_status hone_file_read_all(const char *path, uint64_t limit, char **out, size_t *size,
                                             hone_error *error);

// A file that appears complete or not at all: written beside its name, fsynced, renamed over it by commit
// (which also fsyncs the folder).
typedef struct hone_output hone_output;
HONE_MUST_USE hone_status hone_output_create(const char *path, hone_output **out, hone_error *error);
// A short write (full disk) is HONE_IO with the path in the message; the output then refuses to commit.
HONE_MUST_USE hone_status hone_output_write(hone_output *output, const void *data, size_t size, hone_error *error);
uint64_t hone_output_position(const hone_output *output);
// Both end the output and set the pointer to NULL; abandon removes the temporary file.
HONE_MUST_USE hone_status hone_output_commit(hone_output **output, hone_error *error);
void hone_output_abandon(hone_output **output);
// Commit for one of many files: their folder is left to a hone_folder_sync behind the last. Until then the file is complete
// or not there as ever, but a loss of power may bring back what stood there before.
HONE_MUST_USE hone_status hone_output_commit_one_of_many(hone_output **output, hone_error *error);
// Makes the names of a folder last.
HONE_MUST_USE hone_status hone_folder_sync(const char *folder, hone_error *error);
// One call for small files.
HONE_MUST_USE hone_status hone_file_write_all(const char *path, const void *data, size_t size, hone_error *error);

bool hone_path_exists(const char *path);
bool hone_path_is_folder(const char *path);
// mkdir; an existing folder is HONE_EXISTS.
HONE_MUST_USE hone_status hone_folder_create(const char *path, hone_error *error);
// folder + "/" + name; hone_free the result.
HONE_MUST_USE hone_status hone_path_join(const char *folder, const char *name, char **out, hone_error *error);

// For tests: after this many more written bytes every hone_output_write fails as a full disk does. UINT64_MAX
// = off.
void hone_output_fail_after(uint64_t bytes);

#endif
