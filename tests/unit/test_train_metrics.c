// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: lines are whole, a resumed run has no step twice, and a full disk leaves no half line.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "train/metrics.h"

static char old_folder[4096];
static char folder[] = "/tmp/hone_metrics_XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return !getcwd(old_folder, sizeof old_folder) || !mkdtemp(folder) || chdir(folder) != 0;
}

static int leave_folder(void **state) {
    (void)state;
    return chdir(old_folder) != 0 || rmdir(folder) != 0;
}

static hone_step_report report_of(int64_t step) {
    return (hone_step_report){.step = step,
                              .steps = 100,
                              .loss = 3.0 / (double)step,
                              .gradient_norm = 0.5,
                              .learning_rate = 2e-4,
                              .tokens = 100,
                              .supervised = 20,
                              .seconds = 0.25,
                              .tokens_per_second = 400};
}

static void append_steps(hone_metrics *metrics, int64_t from, int64_t to) {
    for (int64_t step = from; step <= to; step++) {
        const hone_step_report report = report_of(step);
        assert_int_equal(hone_metrics_step(metrics, &report, NULL, NULL), HONE_OK);
    }
}

static char *contents(const char *path) {
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(hone_file_read_all(path, 1 << 24, &bytes, &size, NULL), HONE_OK);
    return bytes;
}

static void write_file(const char *path, const char *text) {
    assert_int_equal(hone_file_write_all(path, text, strlen(text), NULL), HONE_OK);
}

static void lines_are_json(void **state) {
    (void)state;
    hone_metrics *metrics = NULL;
    hone_text line = {0};
    assert_int_equal(hone_metrics_create("m", &metrics, NULL), HONE_OK);
    const hone_step_report report = report_of(1);
    assert_int_equal(hone_metrics_step(metrics, &report, &line, NULL), HONE_OK);
    assert_string_equal(line.bytes, "{\"step\":1,\"loss\":3,\"tokens\":100,\"supervised\":20,\"lr\":0.0002,"
                                    "\"grad_norm\":0.5,\"tokens_per_s\":400,\"seconds\":0.25}");
    assert_int_equal(hone_metrics_evaluation(metrics, 1, 2.0, 64, &line, NULL), HONE_OK);
    json_t *const object = json_loads(line.bytes, 0, NULL);
    assert_non_null(object);
    assert_float_equal(json_number_value(json_object_get(object, "eval_loss")), 2.0, 0);
    assert_int_equal(json_integer_value(json_object_get(object, "tokens")), 64);
    json_decref(object);
    hone_step_report bad = report_of(2);
    bad.loss = NAN;
    bad.gradient_norm = INFINITY;
    bad.skipped = true;
    assert_int_equal(hone_metrics_step(metrics, &bad, &line, NULL), HONE_OK);
    assert_non_null(strstr(line.bytes, "\"loss\":null"));
    assert_non_null(strstr(line.bytes, "\"skipped\":true"));
    assert_int_equal(hone_metrics_sync(metrics, NULL), HONE_OK);
    assert_int_equal(metrics->count, 3);
    assert_true(hone_metrics_evaluated(metrics, 1));
    assert_false(hone_metrics_evaluated(metrics, 2));
    hone_metrics_close(metrics);
    hone_error error = {0};
    assert_int_equal(hone_metrics_create("m", &metrics, &error), HONE_EXISTS);
    hone_text_clear(&line);
    unlink("m");
}

// Steps 1 to 10 and a resume at 6: 7 to 10 are dropped, then come again.
static void resume_drops_later_steps(void **state) {
    (void)state;
    hone_metrics *metrics = NULL;
    assert_int_equal(hone_metrics_create("m", &metrics, NULL), HONE_OK);
    append_steps(metrics, 1, 6);
    assert_int_equal(hone_metrics_evaluation(metrics, 6, 1.5, 10, NULL, NULL), HONE_OK);
    append_steps(metrics, 7, 10);
    hone_metrics_close(metrics);

    assert_int_equal(hone_metrics_resume("m", 6, &metrics, NULL), HONE_OK);
    assert_int_equal(metrics->count, 7);
    assert_true(metrics->rows[6].evaluation);
    assert_float_equal(metrics->rows[5].loss, 0.5, 1e-9);
    assert_true(hone_metrics_evaluated(metrics, 6));
    append_steps(metrics, 7, 8);
    hone_metrics_close(metrics);

    assert_int_equal(hone_metrics_resume("m", 8, &metrics, NULL), HONE_OK);
    assert_int_equal(metrics->count, 9);
    for (int i = 0; i < 6; i++) assert_int_equal(metrics->rows[i].step, i + 1);
    assert_int_equal(metrics->rows[8].step, 8);
    hone_metrics_close(metrics);
    unlink("m");
}

static void cut_and_foreign_lines_end_the_file(void **state) {
    (void)state;
    static const char *const tails[] = {"{\"step\":3,\"lo", "{\"step\":3,\"loss\":1}", "not json\n{\"step\":3}\n",
                                        "\n\n", "{\"loss\":1}\n"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n%s", tails[i]);
        write_file("m", text);
        hone_metrics *metrics = NULL;
        assert_int_equal(hone_metrics_resume("m", 5, &metrics, NULL), HONE_OK);
        assert_int_equal(metrics->count, 2);
        hone_metrics_close(metrics);
        char *const left = contents("m");
        assert_string_equal(left, "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n");
        hone_free(left);
    }
    unlink("m");
}

static void missing_file_begins_anew(void **state) {
    (void)state;
    hone_metrics *metrics = NULL;
    assert_int_equal(hone_metrics_resume("m", 5, &metrics, NULL), HONE_OK);
    append_steps(metrics, 6, 6);
    hone_metrics_close(metrics);
    char *const text = contents("m");
    assert_int_equal(strncmp(text, "{\"step\":6,", 10), 0);
    hone_free(text);
    unlink("m");
}

// A disk that is full in the middle of a line: the lines before it stay, nothing of it does.
static void full_disk_leaves_whole_lines(void **state) {
    (void)state;
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    hone_metrics *metrics = NULL;
    assert_int_equal(hone_metrics_create("m", &metrics, NULL), HONE_OK);
    append_steps(metrics, 1, 2);
    const uint64_t whole = metrics->bytes;
    limit = old;
    limit.rlim_cur = (rlim_t)whole + 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    hone_error error = {0};
    const hone_step_report third = report_of(3);
    const hone_status status = hone_metrics_step(metrics, &third, NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, HONE_IO);
    assert_non_null(strstr(error.message, "cannot write 'm'"));
    assert_int_equal(metrics->count, 2);
    char *text = contents("m");
    assert_int_equal(strlen(text), whole);
    hone_free(text);
    append_steps(metrics, 3, 3); // room again
    hone_metrics_close(metrics);
    assert_int_equal(hone_metrics_resume("m", 3, &metrics, NULL), HONE_OK);
    assert_int_equal(metrics->count, 3);
    hone_metrics_close(metrics);
    unlink("m");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    write_file("m", "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n");
    bool done = false;
    for (uint64_t n = 0; !done; n++) {
        hone_metrics *metrics = NULL;
        const hone_memory_count before = hone_memory_counted();
        hone_memory_fail_after(n, true);
        hone_status status = hone_metrics_resume("m", 2, &metrics, NULL);
        const hone_step_report third = report_of(3);
        if (status == HONE_OK) status = hone_metrics_step(metrics, &third, NULL, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        hone_metrics_close(metrics);
        assert_true(status == HONE_OK || status == HONE_OUT_OF_MEMORY);
        assert_int_equal(hone_memory_counted().blocks, before.blocks);
        done = status == HONE_OK;
    }
    unlink("m");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_json),
        cmocka_unit_test(resume_drops_later_steps),
        cmocka_unit_test(cut_and_foreign_lines_end_the_file),
        cmocka_unit_test(missing_file_begins_anew),
        cmocka_unit_test(full_disk_leaves_whole_lines),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
