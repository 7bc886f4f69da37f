// SPDX-License-Identifier: Apache-2.0
// SVG line charts: nice ticks, thinned lines that keep every peak, and a legend.
#include "train/chart.h"

#include <math.h>
#include <string.h>

// The drawing's own units; the page scales it to its width.
#define WIDTH       720.0
#define HEIGHT      240.0
#define LEFT        64.0
#define RIGHT       708.0
#define TOP         12.0
#define BOTTOM      204.0
#define MOST_POINTS 1200 // of a line; more could not be told apart

typedef struct frame {
    double x_low, x_high, y_low, y_high;
} frame;

static double to_x(const frame *f, double x) {
    return LEFT + (x - f->x_low) / (f->x_high - f->x_low) * (RIGHT - LEFT);
}

static double to_y(const frame *f, double y) {
    return BOTTOM - (y - f->y_low) / (f->y_high - f->y_low) * (BOTTOM - TOP);
}

double hone_chart_tick(double range, int wanted) {
    const double rough = range / wanted;
    const double power = pow(10, floor(log10(rough)));
    const double lead = rough / power; // in [1, 10)
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

// Sum and weight of what lies at and before each point; going backwards, at and behind it.
static void decayed_sums(const double *values, size_t count, bool backwards, double keep, double *sums,
                         double *weights) {
    double sum = 0, weight = 0;
    for (size_t n = 0; n < count; n++) {
        const size_t i = backwards ? count - 1 - n : n;
        const double value = isfinite(values[i]) ? values[i] : 0;
        const double present = isfinite(values[i]) ? 1 : 0;
        sum = keep * sum + value;
        weight = keep * weight + present;
        sums[i] += backwards ? sum - value : sum;
        weights[i] += backwards ? weight - present : weight;
    }
}

hone_status hone_chart_smooth(const double *values, size_t count, double *out, hone_error *error) {
    const double window = count < 120 ? 2 : (double)count / 60;
    double *weights = NULL;
    HONE_TRY(HONE_NEW_ARRAY(&weights, count, "a chart", error));
    for (size_t i = 0; i < count; i++) out[i] = 0;
    decayed_sums(values, count, false, 1 - 1 / window, out, weights);
    decayed_sums(values, count, true, 1 - 1 / window, out, weights);
    for (size_t i = 0; i < count; i++) out[i] = weights[i] > 0 ? out[i] / weights[i] : (double)NAN;
    hone_free(weights);
    return HONE_OK;
}

// False when there is no finite point.
static bool fit(const hone_chart *chart, frame *f) {
    *f = (frame){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t s = 0; s < chart->series_count; s++) {
        const hone_chart_series *const series = &chart->series[s];
        for (size_t i = 0; i < series->count; i++) {
            if (!isfinite(series->y[i])) continue;
            f->x_low = fmin(f->x_low, series->x[i]);
            f->x_high = fmax(f->x_high, series->x[i]);
            f->y_low = fmin(f->y_low, series->y[i]);
            f->y_high = fmax(f->y_high, series->y[i]);
        }
    }
    if (f->x_low > f->x_high) return false;
    f->x_low = fmin(f->x_low, 0); // so that the charts of a run stand in line
    if (f->x_low == f->x_high) f->x_high = f->x_low + 1;
    if (chart->from_zero) f->y_low = fmin(f->y_low, 0);
    if (f->y_low == f->y_high) {
        const double around = f->y_low != 0 ? fabs(f->y_low) * 0.1 : 1;
        f->y_low -= chart->from_zero ? 0 : around;
        f->y_high += around;
    }
    // The y axis ends on ticks, so that its labels bound the line.
    const double tick = hone_chart_tick(f->y_high - f->y_low, 4);
    f->y_low = floor(f->y_low / tick + 1e-9) * tick;
    f->y_high = ceil(f->y_high / tick - 1e-9) * tick;
    return true;
}

static void print_label(hone_text *out, double value, double tick) {
    if (fabs(value) < tick * 1e-6) value = 0;
    hone_text_print(out, "%.*g", fabs(value) < 1e5 ? 5 : 6, value);
}

static void print_axes(hone_text *out, const hone_chart *chart, const frame *f) {
    const double y_tick = hone_chart_tick(f->y_high - f->y_low, 4);
    for (double y = f->y_low; y <= f->y_high + y_tick * 0.5; y += y_tick) {
        hone_text_print(out, "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, RIGHT,
                        to_y(f, y), to_y(f, y));
        hone_text_print(out, "<text class=\"y\" x=\"%g\" y=\"%.1f\">", LEFT - 8, to_y(f, y) + 4);
        print_label(out, y, y_tick);
        hone_text_print(out, "</text>\n");
    }
    const double x_tick = fmax(1, hone_chart_tick(f->x_high - f->x_low, 8)); // steps are whole
    for (double x = ceil(f->x_low / x_tick) * x_tick; x <= f->x_high + x_tick * 1e-6; x += x_tick) {
        hone_text_print(out, "<line class=\"tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>", to_x(f, x),
                        to_x(f, x), BOTTOM, BOTTOM + 4);
        hone_text_print(out, "<text class=\"x\" x=\"%.1f\" y=\"%g\">%.0f</text>\n", to_x(f, x), BOTTOM + 18, x);
    }
    hone_text_print(out, "<line class=\"axis\" x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>", LEFT, RIGHT, BOTTOM, BOTTOM);
    hone_text_print(out, "<text class=\"x\" x=\"%g\" y=\"%g\">", (LEFT + RIGHT) / 2, HEIGHT - 4);
    hone_text_html(out, chart->x_name, strlen(chart->x_name));
    hone_text_print(out, "</text>\n");
}

static void print_point(hone_text *out, const frame *f, const hone_chart_series *series, size_t i) {
    hone_text_print(out, "%.1f,%.1f ", to_x(f, series->x[i]), to_y(f, series->y[i]));
}

// The least and the greatest of each `stride` points, in their order.
static void print_points(hone_text *out, const frame *f, const hone_chart_series *series) {
    const size_t stride = series->count <= MOST_POINTS ? 1 : (2 * series->count + MOST_POINTS - 1) / MOST_POINTS;
    for (size_t first = 0; first < series->count; first += stride) {
        size_t least = SIZE_MAX, greatest = SIZE_MAX;
        for (size_t i = first; i < series->count && i < first + stride; i++) {
            if (!isfinite(series->y[i])) continue;
            if (least == SIZE_MAX || series->y[i] < series->y[least]) least = i;
            if (greatest == SIZE_MAX || series->y[i] > series->y[greatest]) greatest = i;
        }
        if (least == SIZE_MAX) continue;
        print_point(out, f, series, least < greatest ? least : greatest);
        if (least != greatest) print_point(out, f, series, least < greatest ? greatest : least);
    }
}

static void print_dots(hone_text *out, const frame *f, const hone_chart_series *series) {
    for (size_t i = 0; i < series->count; i++) {
        if (!isfinite(series->y[i])) continue;
        hone_text_print(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", series->style,
                        to_x(f, series->x[i]), to_y(f, series->y[i]));
    }
}

static void print_series(hone_text *out, const frame *f, const hone_chart_series *series) {
    size_t finite = 0;
    for (size_t i = 0; i < series->count && finite <= 60; i++) finite += isfinite(series->y[i]);
    // A few points are shown as such: a line of one point would not be seen.
    if (finite == 1 || (finite <= 60 && strcmp(series->style, "dots") == 0)) print_dots(out, f, series);
    if (finite < 2) return;
    hone_text_print(out, "<polyline class=\"%s\" points=\"", series->style);
    print_points(out, f, series);
    hone_text_print(out, "\"/>\n");
}

static void print_caption(hone_text *out, const hone_chart *chart) {
    hone_text_print(out, "<figcaption>");
    hone_text_html(out, chart->title, strlen(chart->title));
    for (size_t s = 0; chart->series_count > 1 && s < chart->series_count; s++) {
        hone_text_print(out, " <span class=\"key %s\"></span>", chart->series[s].style);
        hone_text_html(out, chart->series[s].name, strlen(chart->series[s].name));
    }
    hone_text_print(out, "</figcaption>\n");
}

void hone_chart_print(hone_text *out, const hone_chart *chart) {
    frame f;
    if (!fit(chart, &f)) return;
    hone_text_print(out, "<figure>\n");
    print_caption(out, chart);
    hone_text_print(out, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    hone_text_html(out, chart->title, strlen(chart->title));
    hone_text_print(out, "\">\n");
    print_axes(out, chart, &f);
    for (size_t s = 0; s < chart->series_count; s++) print_series(out, &f, &chart->series[s]);
    hone_text_print(out, "</svg>\n</figure>\n");
}
