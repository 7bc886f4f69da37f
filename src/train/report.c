// SPDX-License-Identifier: Apache-2.0
// The page of a run: what came of it, five charts, and its settings.
#include "train/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "train/chart.h"

static const char head[] =
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>\n"
    ":root { --paper: #ffffff; --ink: #1c2024; --quiet: #60646c; --rule: #e0e2e6; --main: #0b68cb; --second: #b4540a;"
    " }\n"
    "@media (prefers-color-scheme: dark) { :root { --paper: #15171a; --ink: #edeef0; --quiet: #a0a4ab;"
    " --rule: #33373d; --main: #6cb2ff; --second: #ffa057; } }\n"
    "body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 0 auto;"
    " max-width: 1100px; padding: 24px 16px 48px; }\n"
    "h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 17px; margin: 32px 0 8px; }\n"
    "p { color: var(--quiet); margin: 4px 0 20px; }\n"
    ".numbers { display: flex; flex-wrap: wrap; gap: 12px; }\n"
    ".numbers div { border: 1px solid var(--rule); border-radius: 8px; padding: 8px 14px; }\n"
    ".numbers b { display: block; font-size: 19px; font-weight: 600; } .numbers span { color: var(--quiet); font-size: "
    "13px; }\n"
    ".charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 16px; "
    "margin-top: 24px; }\n"
    "figure { border: 1px solid var(--rule); border-radius: 8px; margin: 0; padding: 12px; }\n"
    "figcaption { font-weight: 600; margin-bottom: 4px; }\n"
    "svg { display: block; height: auto; width: 100%; } svg text { fill: var(--quiet); font-size: 12px; }\n"
    "text.y { text-anchor: end; } text.x { text-anchor: middle; }\n"
    ".grid { stroke: var(--rule); } .axis, .tick { stroke: var(--quiet); }\n"
    "polyline { fill: none; stroke-linejoin: round; stroke-width: 2; stroke: var(--main); }\n"
    "polyline.raw { opacity: .4; stroke-width: 1; } polyline.dots { stroke: var(--second); }\n"
    "circle { fill: var(--main); } circle.dots { fill: var(--second); }\n"
    ".key { background: var(--main); border-radius: 2px; display: inline-block; height: 3px; margin: 0 5px 3px 14px; "
    "width: 18px; }\n"
    ".key.raw { opacity: .4; } .key.dots { background: var(--second); } figcaption { font-size: 14px; }\n"
    "table { border-collapse: collapse; } th, td { border-bottom: 1px solid var(--rule); padding: 4px 20px 4px 0; "
    "text-align: left; vertical-align: top; overflow-wrap: anywhere; }\n"
    "th { color: var(--quiet); font-weight: normal; white-space: nowrap; }\n"
    "</style>\n";

// Columns of the metrics: what the charts draw.
typedef struct columns {
    double *values; // one block of all columns
    size_t count;   // steps
    const double *step, *loss, *smooth, *rate, *norm, *speed;
    size_t evaluation_count;
    const double *evaluation_step, *evaluation_loss;
} columns;

static hone_status make_columns(const hone_metrics *metrics, columns *out, hone_error *error) {
    const size_t most = metrics->count;
    *out = (columns){0};
    size_t total = 0;
    HONE_FAIL_IF(!hone_mul_size(most, 8, &total), error, OUT_OF_MEMORY, "out of memory: the report");
    HONE_TRY(HONE_NEW_ARRAY(&out->values, total, "the report", error));
    double *column[8];
    for (size_t i = 0; i < 8; i++) column[i] = out->values + i * most;
    for (size_t i = 0; i < most; i++) {
        const hone_metrics_row *const row = &metrics->rows[i];
        if (row->evaluation) {
            column[6][out->evaluation_count] = (double)row->step;
            column[7][out->evaluation_count++] = row->loss;
            continue;
        }
        column[0][out->count] = (double)row->step;
        column[1][out->count] = row->loss;
        column[3][out->count] = row->learning_rate;
        column[4][out->count] = row->gradient_norm;
        column[5][out->count++] = row->tokens_per_second;
    }
    out->step = column[0];
    out->loss = column[1];
    out->smooth = column[2];
    out->rate = column[3];
    out->norm = column[4];
    out->speed = column[5];
    out->evaluation_step = column[6];
    out->evaluation_loss = column[7];
    return hone_chart_smooth(column[1], out->count, column[2], error);
}

static void print_html(hone_text *out, const char *text) {
    hone_text_html(out, text, strlen(text));
}

// 1234567 as 1,234,567.
static void print_grouped(hone_text *out, double value, int digits) {
    char text[64];
    const int length = snprintf(text, sizeof text, "%.*f", digits, value);
    const int whole = digits > 0 ? length - digits - 1 : length;
    for (int i = 0; i < length; i++) {
        const int left = whole - i; // digits before the point that are still to come
        if (i > 0 && left > 0 && left % 3 == 0 && text[i - 1] != '-') hone_text_append(out, ",", 1);
        hone_text_append(out, &text[i], 1);
    }
}

static void print_number(hone_text *out, const char *name, int digits, double value) {
    if (!isfinite(value)) return;
    hone_text_print(out, "<div><b>");
    print_grouped(out, value, digits);
    hone_text_print(out, "</b><span>%s</span></div>\n", name);
}

static void print_numbers(hone_text *out, const hone_metrics *metrics, const columns *c) {
    double tokens = 0, supervised = 0, seconds = 0;
    size_t skipped = 0;
    for (size_t i = 0; i < metrics->count; i++) {
        const hone_metrics_row *const row = &metrics->rows[i];
        if (row->evaluation) continue;
        tokens += (double)row->tokens;
        supervised += (double)row->supervised;
        seconds += isfinite(row->seconds) ? row->seconds : 0;
        skipped += row->skipped;
    }
    hone_text_print(out, "<div class=\"numbers\">\n");
    if (c->count > 0) {
        print_number(out, "steps", 0, c->step[c->count - 1]);
        print_number(out, "loss at the start", 4, c->loss[0]);
        print_number(out, "loss at the end", 4, c->loss[c->count - 1]);
    }
    if (c->evaluation_count > 0) {
        double best = INFINITY;
        for (size_t i = 0; i < c->evaluation_count; i++) best = fmin(best, c->evaluation_loss[i]);
        print_number(out, "validation loss at the end", 4, c->evaluation_loss[c->evaluation_count - 1]);
        print_number(out, "best validation loss", 4, best);
    }
    print_number(out, "tokens read", 0, tokens);
    print_number(out, "of them learnt", 0, supervised);
    print_number(out, "seconds in steps", 1, seconds);
    print_number(out, "tokens a second", 1, seconds > 0 ? tokens / seconds : (double)NAN);
    if (skipped > 0) print_number(out, "steps skipped: not finite", 0, (double)skipped);
    hone_text_print(out, "</div>\n");
}

static void print_charts(hone_text *out, const columns *c) {
    const hone_chart_series loss[] = {{"each step", c->step, c->loss, c->count, "raw"},
                                      {"mean around it", c->step, c->smooth, c->count, "line"}};
    const hone_chart_series evaluation = {"validation", c->evaluation_step, c->evaluation_loss, c->evaluation_count,
                                          "dots"};
    const hone_chart_series rate = {"rate", c->step, c->rate, c->count, "line"};
    const hone_chart_series norm = {"norm", c->step, c->norm, c->count, "line"};
    const hone_chart_series speed = {"speed", c->step, c->speed, c->count, "line"};
    const hone_chart charts[] = {
        {"Loss", "step", loss, 2, false},
        {"Validation loss", "step", &evaluation, 1, false},
        {"Learning rate", "step", &rate, 1, true},
        {"Gradient norm", "step", &norm, 1, true},
        {"Tokens a second", "step", &speed, 1, true},
    };
    hone_text_print(out, "<div class=\"charts\">\n");
    for (size_t i = 0; i < sizeof(charts) / sizeof(charts[0]); i++) hone_chart_print(out, &charts[i]);
    hone_text_print(out, "</div>\n");
}

hone_status hone_report_print(const hone_report *report, hone_text *out, hone_error *error) {
    columns c;
    const hone_status status = make_columns(report->metrics, &c, error);
    if (status != HONE_OK) {
        hone_free(c.values);
        return status;
    }
    hone_text_print(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n%s<title>", head);
    print_html(out, report->title);
    hone_text_print(out, "</title>\n</head>\n<body>\n<h1>");
    print_html(out, report->title);
    hone_text_print(out, "</h1>\n<p>");
    print_html(out, report->state);
    hone_text_print(out, "</p>\n");
    print_numbers(out, report->metrics, &c);
    print_charts(out, &c);
    hone_text_print(out, "<h2>Settings</h2>\n<table>\n");
    for (size_t i = 0; i < report->setting_count; i++) {
        hone_text_print(out, "<tr><th>");
        print_html(out, report->settings[i].name);
        hone_text_print(out, "</th><td>");
        print_html(out, report->settings[i].value);
        hone_text_print(out, "</td></tr>\n");
    }
    hone_text_print(out, "</table>\n</body>\n</html>\n");
    hone_free(c.values);
    return hone_text_status(out, error);
}

hone_status hone_report_write(const char *path, const hone_report *report, hone_error *error) {
    hone_text page = {0};
    hone_status status = hone_report_print(report, &page, error);
    if (status == HONE_OK) status = hone_file_write_all(path, page.bytes, page.length, error);
    hone_text_clear(&page);
    return status;
}
