// SPDX-License-Identifier: Apache-2.0
// Early return in one line: forwarding a failure, or starting one with its text.
#ifndef HONE_BASE_ERROR_H
#define HONE_BASE_ERROR_H

#include <hone/status.h>

// Writes the formatted text into `error` (if not NULL) and returns `status`, so that it can be returned at
// once.
hone_status hone_error_set(hone_error *error, hone_status status, const char *format, ...) HONE_PRINTF(3, 4);

// Puts "text: " before the message already in `error`; used to add the file or row to a deeper failure.
void hone_error_prefix(hone_error *error, const char *format, ...) HONE_PRINTF(2, 3);

// The same for a refusal by the operating system: adds ": " and the text of `code` (an errno value). Returns
// HONE_NOT_FOUND for ENOENT, HONE_EXISTS for EEXIST, HONE_OUT_OF_MEMORY for ENOMEM, else HONE_IO.
hone_status hone_error_system(hone_error *error, int code, const char *format, ...) HONE_PRINTF(3, 4);

// Return whatever is not HONE_OK (HONE_PENDING too).
#define HONE_TRY(call)                                                                                                 \
    do {                                                                                                               \
        const hone_status hone_try_status = (call);                                                                    \
        if (hone_try_status != HONE_OK) return hone_try_status;                                                        \
    } while (0)

// As HONE_TRY, for functions with one clean-up place: sets the local `status` and jumps to the label.
#define HONE_TRY_GOTO(call, label)                                                                                     \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != HONE_OK) goto label;                                                                             \
    } while (0)

// HONE_FAIL(error, BAD_FORMAT, "tensor '%s' has %d dimensions", name, rank);
#define HONE_FAIL(error, suffix, ...) return hone_error_set((error), HONE_##suffix, __VA_ARGS__)

#define HONE_FAIL_IF(condition, error, suffix, ...)                                                                    \
    do {                                                                                                               \
        if (condition) return hone_error_set((error), HONE_##suffix, __VA_ARGS__);                                     \
    } while (0)

#endif
