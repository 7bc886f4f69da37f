// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error.
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

static cli_progress *shown_progress; // so that a message never lands behind the progress line

static void print_message(const char *format, va_list arguments) {
    char text[2048];
    const int length = vsnprintf(text, sizeof text, format, arguments);
    if (length < 0) return;
    for (char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\r') *c = ' '; // a name with a newline must not make two lines
    }
    if (shown_progress) cli_progress_clear(shown_progress);
    fflush(stdout); // what was printed before comes before
    fprintf(stderr, "hone: %s\n", text);
}

int cli_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return CLI_WRONG_USAGE;
}

void cli_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
}

int cli_fail(const hone_error *error) {
    cli_note("%s", error->message[0] ? error->message : hone_status_name(error->status));
    return error->status == HONE_INTERRUPTED ? CLI_INTERRUPTED : CLI_FAILED;
}

hone_status cli_flush(hone_error *error) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return HONE_OK;
    (void)hone_error_system(error, errno ? errno : EIO, "cannot write to standard output");
    if (error) error->status = HONE_IO;
    return HONE_IO;
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

static hone_text *begin_pair(cli_json *json, const char *key) {
    hone_text_append(&json->text, json->text.length == 0 ? "{" : ",", 1);
    hone_text_json(&json->text, key, strlen(key));
    hone_text_append(&json->text, ":", 1);
    return &json->text;
}

void cli_json_integer(cli_json *json, const char *key, int64_t value) {
    hone_text_print(begin_pair(json, key), "%lld", (long long)value);
}

void cli_json_number(cli_json *json, const char *key, double value) {
    hone_text *const text = begin_pair(json, key);
    if (isfinite(value)) {
        hone_text_print(text, "%.9g", value);
    } else {
        hone_text_print(text, "null");
    }
}

void cli_json_bool(cli_json *json, const char *key, bool value) {
    hone_text_print(begin_pair(json, key), value ? "true" : "false");
}

void cli_json_bytes(cli_json *json, const char *key, const char *value, size_t length) {
    hone_text_json(begin_pair(json, key), value, length);
}

void cli_json_text(cli_json *json, const char *key, const char *value) {
    if (value) {
        cli_json_bytes(json, key, value, strlen(value));
    } else {
        hone_text_print(begin_pair(json, key), "null");
    }
}

void cli_json_raw(cli_json *json, const char *key, const char *value) {
    hone_text_append(begin_pair(json, key), value, strlen(value));
}

const char *cli_json_finish(cli_json *json) {
    if (json->text.length == 0) hone_text_append(&json->text, "{", 1);
    hone_text_append(&json->text, "}", 1);
    return json->text.bytes ? json->text.bytes : "{}";
}

void cli_json_clear(cli_json *json) {
    hone_text_clear(&json->text);
}

hone_status cli_json_print(cli_json *json, hone_error *error) {
    (void)cli_json_finish(json);
    hone_text_append(&json->text, "\n", 1);
    hone_status status = hone_text_status(&json->text, error);
    if (status == HONE_OK) {
        fwrite(json->text.bytes, 1, json->text.length, stdout);
        status = cli_flush(error);
    }
    cli_json_clear(json);
    return status;
}

// --- numbers --------------------------------------------------------------------------------------------------------------

static char *place(void) {
    static char places[16][32];
    static unsigned next;
    return places[next++ % 16];
}

const char *cli_count(int64_t value) {
    char digits[24];
    char *const out = place();
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        const int left = length - i;
        if (i > 0 && digits[i - 1] != '-' && left % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}

// Three significant digits and a unit: 1.23, 12.3, 123.
static const char *scaled(double value, const char *const *units, size_t unit_count) {
    char *const out = place();
    size_t unit = 0;
    while (unit + 1 < unit_count && value >= 999.5) {
        value /= 1000;
        unit++;
    }
    const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, 32, "%.*f%s", digits, value, units[unit]);
    return out;
}

const char *cli_bytes(uint64_t bytes) {
    static const char *const units[] = {" bytes", " kB", " MB", " GB", " TB"};
    return scaled((double)bytes, units, sizeof(units) / sizeof(units[0]));
}

const char *cli_short_count(double value) {
    static const char *const units[] = {"", " k", " M", " G", " T"};
    return scaled(value, units, sizeof(units) / sizeof(units[0]));
}

const char *cli_duration(double seconds) {
    char *const out = place();
    const long long whole = seconds > 0 && seconds < 1e12 ? (long long)(seconds + 0.5) : 0;
    if (whole < 10 && seconds >= 0) {
        snprintf(out, 32, "%.1f s", seconds);
    } else if (whole < 60) {
        snprintf(out, 32, "%lld s", whole);
    } else if (whole < 3600) {
        snprintf(out, 32, "%lld min %lld s", whole / 60, whole % 60);
    } else {
        snprintf(out, 32, "%lld h %lld min", whole / 3600, whole % 3600 / 60);
    }
    return out;
}

// --- progress ---------------------------------------------------------------------------------------------------------------

void cli_progress_start(cli_progress *progress, bool wanted) {
    *progress = (cli_progress){.on = wanted && isatty(STDERR_FILENO)};
}

static size_t terminal_columns(void) {
    struct winsize size = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 8 ? size.ws_col : 80;
}

void cli_progress_show(cli_progress *progress, bool now, const char *format, ...) {
    const double time = hone_clock_seconds();
    if (!progress->on || (!now && time - progress->last < 0.1)) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    size_t shown = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    const size_t most = terminal_columns() - 1; // a full line would scroll
    if (shown > most) shown = most;
    const size_t rest = progress->shown > shown ? progress->shown - shown : 0;
    fflush(stdout);
    fprintf(stderr, "\r%.*s%*s", (int)shown, text, (int)rest, "");
    if (rest > 0) fprintf(stderr, "\r%.*s", (int)shown, text);
    fflush(stderr);
    progress->shown = shown;
    progress->last = time;
    shown_progress = progress;
}

void cli_progress_clear(cli_progress *progress) {
    if (progress->shown > 0) {
        fprintf(stderr, "\r%*s\r", (int)progress->shown, "");
        fflush(stderr);
    }
    progress->shown = 0;
    progress->last = 0;
    if (shown_progress == progress) shown_progress = NULL;
}
