// SPDX-License-Identifier: Apache-2.0
// Line charts as inline SVG; colours come from the page's style sheet, so that they follow light and dark.
#ifndef HONE_TRAIN_CHART_H
#define HONE_TRAIN_CHART_H

#include "base/text.h"

typedef struct hone_chart_series {
    const char *name; // in the legend
    const double *x;  // ascending
    const double *y;  // [count]; what is not finite is left out
    size_t count;
    const char *style; // CSS class of the line: "raw", "line", "dots"
} hone_chart_series;

typedef struct hone_chart {
    const char *title;
    const char *x_name; // below the axis
    const hone_chart_series *series;
    size_t series_count;
    bool from_zero; // the y axis begins at 0
} hone_chart;

// Appends a <figure>; nothing when no series has a finite point.
void hone_chart_print(hone_text *out, const hone_chart *chart);
// The distance of axis ticks, 1, 2 or 5 times a power of ten, so that about `wanted` of them lie in `range` > 0.
double hone_chart_tick(double range, int wanted);
// A calmer line: the mean of what lies around each point, with exponential weights over about a sixtieth of the points to
// each side.
HONE_MUST_USE hone_status hone_chart_smooth(const double *values, size_t count, double *out, hone_error *error);

#endif
