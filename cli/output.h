// SPDX-License-Identifier: Apache-2.0
// What a person or a program gets to see: messages, JSON lines, numbers with units, the progress line.
#ifndef HONE_CLI_OUTPUT_H
#define HONE_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_USAGE = 2, CLI_INTERRUPTED = 130 };

// Prints "hone: ..." as one line on standard error and returns the exit code.
int cli_usage(const char *format, ...) HONE_PRINTF(1, 2);
int cli_fail(const hone_error *error); // 130 for HONE_INTERRUPTED, else 1
void cli_note(const char *format, ...) HONE_PRINTF(1, 2);

// Brings what was printed on its way; HONE_IO when standard output takes no more.
HONE_MUST_USE hone_status cli_flush(hone_error *error);

// --- JSON: cli_json json = {0}; cli_json_integer(&json, "step", 1); ... cli_json_print(&json, error)
typedef struct cli_json {
    hone_text text;
} cli_json;
void cli_json_integer(cli_json *json, const char *key, int64_t value);
void cli_json_number(cli_json *json, const char *key, double value); // null where it is not finite
void cli_json_bool(cli_json *json, const char *key, bool value);
void cli_json_text(cli_json *json, const char *key, const char *value); // NULL: null
void cli_json_bytes(cli_json *json, const char *key, const char *value, size_t length);
void cli_json_raw(cli_json *json, const char *key, const char *value); // JSON already
// Prints the object as a line and clears it.
HONE_MUST_USE hone_status cli_json_print(cli_json *json, hone_error *error);
// The object without a newline, to be put into another one; cli_json_clear the json afterwards.
const char *cli_json_finish(cli_json *json);
void cli_json_clear(cli_json *json);

// --- numbers for people, each into one of a few places of its own: valid for the next 15 calls
const char *cli_count(int64_t value);      // 1,234,567
const char *cli_bytes(uint64_t bytes);     // 98.4 MB
const char *cli_duration(double seconds);  // 45 s, 3 min 20 s, 2 h 5 min
const char *cli_short_count(double value); // 134.5 M

// --- the progress line: one line on a terminal's standard error, rewritten
typedef struct cli_progress {
    bool on;
    size_t shown; // characters that stand there now
    double last;  // when it was written
} cli_progress;
// On only where standard error is a terminal, and neither -q nor --json is given.
void cli_progress_start(cli_progress *progress, bool wanted);
// At most ten times a second, but for `now`.
void cli_progress_show(cli_progress *progress, bool now, const char *format, ...) HONE_PRINTF(3, 4);
// Takes the line away, before something else is printed or at the end.
void cli_progress_clear(cli_progress *progress);

#endif
