// SPDX-License-Identifier: Apache-2.0
// What every function of the library returns, and the text that explains a failure.
#ifndef HONE_STATUS_H
#define HONE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HONE_API                                  __attribute__((visibility("default")))
#define HONE_MUST_USE                             __attribute__((warn_unused_result))
#define HONE_PRINTF(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
#else
#define HONE_API
#define HONE_MUST_USE
#define HONE_PRINTF(format_index, first_argument)
#endif

// One list gives the enum and the names: X(SUFFIX, text).
#define HONE_STATUS_LIST(X)                                                                                            \
    X(OK, "ok")                             /* done */                                                                 \
    X(PENDING, "pending")                   /* a step machine has more to do: call again */                            \
    X(INVALID_ARGUMENT, "invalid argument") /* the caller's mistake */                                                 \
    X(OUT_OF_MEMORY, "out of memory")       /* host or device memory */                                                \
    X(IO, "input/output error")             /* the operating system refused */                                         \
    X(NOT_FOUND, "not found")               /* no such file, tensor, operator, device */                               \
    X(EXISTS, "exists already")             /* would overwrite */                                                      \
    X(BAD_FORMAT, "bad format")             /* bytes that break the rules of their format */                           \
    X(UNSUPPORTED, "not supported")         /* well-formed, but refused by name */                                     \
    X(BAD_DATA, "bad data")                 /* training data that cannot be used */                                    \
    X(MISMATCH, "mismatch")                 /* two things that do not belong together */                               \
    X(NOT_FINITE, "not finite")             /* NaN or infinity where training cannot go on */                          \
    X(INTERRUPTED, "interrupted")           /* asked to stop */                                                        \
    X(DEVICE_LOST, "device lost")           /* the device stopped answering */

typedef enum hone_status {
#define HONE_STATUS_ENUM(suffix, text) HONE_##suffix,
    HONE_STATUS_LIST(HONE_STATUS_ENUM)
#undef HONE_STATUS_ENUM
} hone_status;

// The caller's place for the explanation: one line that says what, where and what to do.
// Functions fill it only when they fail; NULL is allowed everywhere.
typedef struct hone_error {
    hone_status status;
    char message[1024]; // UTF-8, NUL-terminated, no newline
} hone_error;

// The English name of a status, never NULL.
HONE_API const char *hone_status_name(hone_status status);

#ifdef __cplusplus
}
#endif
#endif
