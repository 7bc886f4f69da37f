// SPDX-License-Identifier: Apache-2.0
// The report: well-formed, self-contained, and charts whose points lie where they should.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/chart.h"
#include "train/report.h"

static void ticks_are_round(void **state) {
    (void)state;
    assert_float_equal(hone_chart_tick(10, 5), 2, 1e-12);
    assert_float_equal(hone_chart_tick(1, 4), 0.2, 1e-12);
    assert_float_equal(hone_chart_tick(2e-4, 4), 5e-5, 1e-15);
    assert_float_equal(hone_chart_tick(1000, 8), 100, 1e-9);
}

static void smoothing_keeps_a_constant(void **state) {
    (void)state;
    double values[100], out[100];
    for (int i = 0; i < 100; i++) values[i] = i == 50 ? (double)NAN : 3;
    assert_int_equal(hone_chart_smooth(values, 100, out, NULL), HONE_OK);
    for (int i = 0; i < 100; i++) assert_float_equal(out[i], 3, 1e-12);
    // A straight line stays where it is: no lag.
    for (int i = 0; i < 100; i++) values[i] = i;
    assert_int_equal(hone_chart_smooth(values, 100, out, NULL), HONE_OK);
    assert_float_equal(out[50], 50, 0.1);
}

static size_t occurrences(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

static void chart_of_a_line(void **state) {
    (void)state;
    const double x[] = {0, 1, 2, 3, 4}, y[] = {0, 1, 2, NAN, 4};
    const hone_chart_series series = {"s", x, y, 5, "line"};
    const hone_chart chart = {"Title <&>", "step", &series, 1, true};
    hone_text out = {0};
    hone_chart_print(&out, &chart);
    assert_non_null(strstr(out.bytes, "Title &lt;&amp;&gt;"));
    // The plot spans x 64 to 708 and y 204 to 12; the axes begin and end on the data.
    assert_non_null(strstr(out.bytes, "points=\"64.0,204.0 225.0,156.0 386.0,108.0 708.0,12.0 \""));
    assert_null(strstr(out.bytes, "nan"));
    hone_text_clear(&out);
}

static void chart_of_nothing_is_left_out(void **state) {
    (void)state;
    const double x[] = {1, 2}, y[] = {NAN, INFINITY};
    const hone_chart_series series = {"s", x, y, 2, "line"};
    const hone_chart chart = {"t", "step", &series, 1, false};
    hone_text out = {0};
    hone_chart_print(&out, &chart);
    assert_int_equal(out.length, 0);
}

static void one_point_and_equal_values(void **state) {
    (void)state;
    const double x[] = {7, 8}, y[] = {2.5, 2.5};
    for (size_t count = 1; count <= 2; count++) {
        const hone_chart_series series = {"s", x, y, count, "line"};
        const hone_chart chart = {"t", "step", &series, 1, false};
        hone_text out = {0};
        hone_chart_print(&out, &chart);
        assert_non_null(strstr(out.bytes, count == 1 ? "<circle" : "<polyline"));
        assert_null(strstr(out.bytes, "nan"));
        assert_null(strstr(out.bytes, "inf"));
        hone_text_clear(&out);
    }
}

// A spike among 100,000 points is still there, in a drawing of moderate size.
static void long_lines_keep_their_peaks(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    double *const x = malloc(COUNT * sizeof *x), *const y = malloc(COUNT * sizeof *y);
    assert_true(x && y);
    for (int i = 0; i < COUNT; i++) {
        x[i] = i + 1;
        y[i] = i == 77777 ? 10 : 1 + (i % 2) * 0.5;
    }
    const hone_chart_series series = {"s", x, y, COUNT, "line"};
    const hone_chart chart = {"t", "step", &series, 1, true};
    hone_text out = {0};
    hone_chart_print(&out, &chart);
    assert_true(out.length < 40000);
    assert_non_null(strstr(out.bytes, ",12.0 ")); // the top of the plot
    hone_text_clear(&out);
    free(x);
    free(y);
}

static void page_is_self_contained(void **state) {
    (void)state;
    hone_metrics_row rows[60] = {{0}};
    for (int i = 0; i < 60; i++) {
        rows[i] = (hone_metrics_row){.step = i / 2 + 1,
                                     .evaluation = i % 2,
                                     .loss = 3.0 / (i + 1),
                                     .gradient_norm = 1,
                                     .learning_rate = 2e-4,
                                     .tokens_per_second = 500,
                                     .seconds = 0.5,
                                     .tokens = 250};
    }
    const hone_metrics metrics = {.rows = rows, .count = 60};
    const hone_report_field settings[] = {{"Model", "a<b>.gguf"}, {"Seed", "1"}};
    const hone_report report = {"runs/\"x\"", "done: 30 of 30 steps", settings, 2, &metrics};
    hone_text page = {0};
    assert_int_equal(hone_report_print(&report, &page, NULL), HONE_OK);
    assert_int_equal(strncmp(page.bytes, "<!doctype html>", 15), 0);
    assert_non_null(strstr(page.bytes, "prefers-color-scheme: dark"));
    assert_non_null(strstr(page.bytes, "a&lt;b&gt;.gguf"));
    assert_non_null(strstr(page.bytes, "<title>runs/&quot;x&quot;</title>"));
    assert_int_equal(occurrences(page.bytes, "<svg"), 5);
    assert_int_equal(occurrences(page.bytes, "<svg"), occurrences(page.bytes, "</svg>"));
    assert_int_equal(occurrences(page.bytes, "<figure>"), occurrences(page.bytes, "</figure>"));
    static const char *const foreign[] = {"http:", "https:", "<script", "src=", "url(", "@import", "nan"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) assert_null(strstr(page.bytes, foreign[i]));
    hone_text_clear(&page);
}

static void empty_run_has_a_page(void **state) {
    (void)state;
    const hone_metrics metrics = {0};
    const hone_report report = {"run", "interrupted: 0 of 5 steps", NULL, 0, &metrics};
    hone_text page = {0};
    assert_int_equal(hone_report_print(&report, &page, NULL), HONE_OK);
    assert_int_equal(occurrences(page.bytes, "<svg"), 0);
    hone_text_clear(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(smoothing_keeps_a_constant),
        cmocka_unit_test(chart_of_a_line),
        cmocka_unit_test(chart_of_nothing_is_left_out),
        cmocka_unit_test(one_point_and_equal_values),
        cmocka_unit_test(long_lines_keep_their_peaks),
        cmocka_unit_test(page_is_self_contained),
        cmocka_unit_test(empty_run_has_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
