// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules and Adam's bias correction.
#include "train/schedule.h"

#include <math.h>

double hone_schedule_rate(const hone_train_options *options, int64_t step) {
    if (step <= options->warmup) return options->learning_rate * (double)step / (double)options->warmup;
    if (options->schedule == HONE_SCHEDULE_CONSTANT) return options->learning_rate;
    const int64_t falling = options->steps - options->warmup; // steps after the warm-up
    const double done = falling > 0 ? (double)(step - options->warmup - 1) / (double)falling : 1.0;
    const double share = done > 1 ? 1 : done;
    const double span = options->learning_rate - options->learning_rate_min;
    if (options->schedule == HONE_SCHEDULE_COSINE)
        return options->learning_rate_min + span * 0.5 * (1.0 + cos(3.14159265358979323846 * share));
    return options->learning_rate_min + span * (1.0 - share);
}

double hone_bias_correction(double beta, int64_t step) {
    return -expm1((double)step * log(beta)); // 1 - beta^step without cancellation for beta near 1
}
