// SPDX-License-Identifier: Apache-2.0
// What changes with the step count alone: learning rate and bias corrections.
#ifndef HONE_TRAIN_SCHEDULE_H
#define HONE_TRAIN_SCHEDULE_H

#include <hone/train.h>

// The rate of step `step` (from 1). Warm-up rises linearly to the full rate, which step `warmup` has; then the schedule
// falls from the full rate towards learning_rate_min, which it would reach one step after the last.
double hone_schedule_rate(const hone_train_options *options, int64_t step);
// 1 - beta^step (Kingma and Ba 2015, section 2).
double hone_bias_correction(double beta, int64_t step);

#endif
