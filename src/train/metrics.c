// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl. A step's line:
//     {"step":1,"loss":2.5,"tokens":512,"supervised":96,"lr":0.0002,"grad_norm":1.25,"tokens_per_s":150.5,"seconds":3.4}
// ("loss":null and "skipped":true where it was not finite), an evaluation's:
//     {"eval_loss":2.25,"perplexity":9.4877,"tokens":96,"step":1}
// Lines are appended whole by one write, which is undone if the disk takes only a part of it. The file is locked for as
// long as it is open: a run has one writer.
#include "train/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

#define MOST_BYTES ((uint64_t)1 << 31) // of a file that is read again

void hone_metrics_number(hone_text *text, double value) {
    if (isfinite(value)) {
        hone_text_print(text, "%.9g", value);
    } else {
        hone_text_print(text, "null");
    }
}

static hone_status refused(const hone_metrics *metrics, int code, hone_error *error) {
    (void)hone_error_system(error, code, "cannot write '%s'", metrics->path);
    if (error) error->status = HONE_IO;
    return HONE_IO;
}

static hone_status allocate(const char *path, hone_metrics **out, hone_error *error) {
    HONE_TRY(HONE_NEW(out, "the metrics", error));
    (*out)->descriptor = -1;
    const hone_status status = hone_copy_string(path, strlen(path), &(*out)->path, error);
    if (status != HONE_OK) {
        hone_metrics_close(*out);
        *out = NULL;
    }
    return status;
}

static hone_status open_file(hone_metrics *metrics, int flags, hone_error *error) {
    metrics->descriptor = open(metrics->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
    if (metrics->descriptor < 0) return hone_error_system(error, errno, "cannot create '%s'", metrics->path);
    // Where the file system has no locks, the run goes without.
    HONE_FAIL_IF(flock(metrics->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK, error, EXISTS,
                 "another process is writing '%s': wait for it to end, or stop it", metrics->path);
    return HONE_OK;
}

hone_status hone_metrics_create(const char *path, hone_metrics **out, hone_error *error) {
    *out = NULL;
    hone_metrics *metrics = NULL;
    HONE_TRY(allocate(path, &metrics, error));
    const hone_status status = open_file(metrics, O_EXCL, error);
    if (status != HONE_OK) {
        hone_metrics_close(metrics);
        return status;
    }
    *out = metrics;
    return HONE_OK;
}

// --- what an older part of the run wrote ----------------------------------------------------------------------------

static double number_of(const json_t *object, const char *key) {
    const json_t *const value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static int64_t integer_of(const json_t *object, const char *key) {
    return (int64_t)json_integer_value(json_object_get(object, key));
}

// False for anything that is not a line of this file.
static bool parse_line(const char *line, size_t length, hone_metrics_row *row) {
    json_t *const object = json_loadb(line, length, 0, NULL);
    const bool usable = json_is_object(object) && json_is_integer(json_object_get(object, "step"));
    if (usable) {
        const bool evaluation = json_object_get(object, "eval_loss") != NULL;
        *row = (hone_metrics_row){.step = integer_of(object, "step"),
                                  .evaluation = evaluation,
                                  .skipped = json_is_true(json_object_get(object, "skipped")),
                                  .loss = number_of(object, evaluation ? "eval_loss" : "loss"),
                                  .gradient_norm = number_of(object, "grad_norm"),
                                  .learning_rate = number_of(object, "lr"),
                                  .tokens_per_second = number_of(object, "tokens_per_s"),
                                  .seconds = number_of(object, "seconds"),
                                  .tokens = integer_of(object, "tokens"),
                                  .supervised = integer_of(object, "supervised")};
    }
    json_decref(object);
    return usable;
}

static hone_status add_row(hone_metrics *metrics, const hone_metrics_row *row, hone_error *error) {
    HONE_TRY(HONE_GROW(&metrics->rows, &metrics->capacity, metrics->count + 1, "the metrics", error));
    metrics->rows[metrics->count++] = *row;
    return HONE_OK;
}

// Takes lines up to the first that is cut, foreign or of a later step; metrics->bytes is where they end.
static hone_status take_lines(hone_metrics *metrics, const char *bytes, size_t size, int64_t step, hone_error *error) {
    size_t start = 0;
    while (start < size) {
        const char *const end = memchr(bytes + start, '\n', size - start);
        hone_metrics_row row;
        if (!end || !parse_line(bytes + start, (size_t)(end - bytes) - start, &row) || row.step > step) break;
        HONE_TRY(add_row(metrics, &row, error));
        start = (size_t)(end - bytes) + 1;
    }
    metrics->bytes = start;
    return HONE_OK;
}

static hone_status take_file(hone_metrics *metrics, int64_t step, hone_error *error) {
    if (!hone_path_exists(metrics->path)) return open_file(metrics, O_EXCL, error);
    HONE_TRY(open_file(metrics, 0, error));
    char *bytes = NULL;
    size_t size = 0;
    HONE_TRY(hone_file_read_all(metrics->path, MOST_BYTES, &bytes, &size, error));
    const hone_status status = take_lines(metrics, bytes, size, step, error);
    hone_free(bytes);
    HONE_TRY(status);
    if (metrics->bytes < size && ftruncate(metrics->descriptor, (off_t)metrics->bytes) != 0)
        return refused(metrics, errno, error);
    return HONE_OK;
}

hone_status hone_metrics_resume(const char *path, int64_t step, hone_metrics **out, hone_error *error) {
    *out = NULL;
    hone_metrics *metrics = NULL;
    HONE_TRY(allocate(path, &metrics, error));
    const hone_status status = take_file(metrics, step, error);
    if (status != HONE_OK) {
        hone_metrics_close(metrics);
        return status;
    }
    *out = metrics;
    return HONE_OK;
}

// --- new lines --------------------------------------------------------------------------------------------------------

static hone_status write_line(hone_metrics *metrics, hone_text *line, hone_error *error) {
    hone_text_append(line, "\n", 1);
    HONE_TRY(hone_text_status(line, error));
    size_t done = 0;
    while (done < line->length) {
        const ssize_t n = write(metrics->descriptor, line->bytes + done, line->length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int code = n < 0 ? errno : ENOSPC;
            // What is left of the line is cut off; if even that fails, hone_metrics_resume does it.
            if (done > 0 && ftruncate(metrics->descriptor, (off_t)metrics->bytes) != 0) metrics->bytes += done;
            return refused(metrics, code, error);
        }
        done += (size_t)n;
    }
    metrics->bytes += line->length;
    line->bytes[--line->length] = 0;
    return HONE_OK;
}

static hone_status append(hone_metrics *metrics, const hone_metrics_row *row, hone_text *line, hone_error *error) {
    HONE_TRY(HONE_GROW(&metrics->rows, &metrics->capacity, metrics->count + 1, "the metrics", error));
    HONE_TRY(write_line(metrics, line, error));
    metrics->rows[metrics->count++] = *row;
    return HONE_OK;
}

static void print_pair(hone_text *line, const char *key, double value) {
    hone_text_print(line, ",\"%s\":", key);
    hone_metrics_number(line, value);
}

static void print_step(hone_text *line, const hone_metrics_row *row) {
    hone_text_print(line, "{\"step\":%lld", (long long)row->step);
    print_pair(line, "loss", row->loss);
    hone_text_print(line, ",\"tokens\":%lld,\"supervised\":%lld", (long long)row->tokens, (long long)row->supervised);
    print_pair(line, "lr", row->learning_rate);
    print_pair(line, "grad_norm", row->gradient_norm);
    print_pair(line, "tokens_per_s", row->tokens_per_second);
    print_pair(line, "seconds", row->seconds);
    hone_text_print(line, row->skipped ? ",\"skipped\":true}" : "}");
}

static void print_evaluation(hone_text *line, const hone_metrics_row *row) {
    hone_text_print(line, "{\"eval_loss\":");
    hone_metrics_number(line, row->loss);
    print_pair(line, "perplexity", exp(row->loss));
    hone_text_print(line, ",\"tokens\":%lld,\"step\":%lld}", (long long)row->tokens, (long long)row->step);
}

static hone_status print_and_append(hone_metrics *metrics, const hone_metrics_row *row, hone_text *line,
                                    hone_error *error) {
    hone_text own = {0};
    hone_text *const text = line ? line : &own;
    hone_text_clear(text);
    (row->evaluation ? print_evaluation : print_step)(text, row);
    const hone_status status = append(metrics, row, text, error);
    hone_text_clear(&own);
    return status;
}

hone_status hone_metrics_step(hone_metrics *metrics, const hone_step_report *report, hone_text *line,
                              hone_error *error) {
    const hone_metrics_row row = {
        .step = report->step,
        .skipped = report->skipped,
        .loss = report->loss,
        .gradient_norm = report->gradient_norm,
        .learning_rate = report->learning_rate,
        .tokens_per_second = report->tokens_per_second,
        .seconds = report->seconds,
        .tokens = report->tokens,
        .supervised = report->supervised,
    };
    return print_and_append(metrics, &row, line, error);
}

hone_status hone_metrics_evaluation(hone_metrics *metrics, int64_t step, double loss, int64_t tokens, hone_text *line,
                                    hone_error *error) {
    const hone_metrics_row row = {.step = step, .evaluation = true, .loss = loss, .tokens = tokens};
    return print_and_append(metrics, &row, line, error);
}

bool hone_metrics_evaluated(const hone_metrics *metrics, int64_t step) {
    for (size_t i = metrics->count; i > 0 && metrics->rows[i - 1].step >= step; i--) {
        if (metrics->rows[i - 1].evaluation && metrics->rows[i - 1].step == step) return true;
    }
    return false;
}

hone_status hone_metrics_sync(hone_metrics *metrics, hone_error *error) {
    while (fsync(metrics->descriptor) != 0) {
        if (errno == EINTR) continue;
        if (errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) break; // nothing there to synchronise
        return refused(metrics, errno, error);
    }
    return HONE_OK;
}

void hone_metrics_close(hone_metrics *metrics) {
    if (!metrics) return;
    if (metrics->descriptor >= 0) close(metrics->descriptor);
    hone_free(metrics->rows);
    hone_free(metrics->path);
    hone_free(metrics);
}
