// SPDX-License-Identifier: Apache-2.0
// Taking rows out of a data set for validation.
#ifndef HONE_TRAIN_HOLDOUT_H
#define HONE_TRAIN_HOLDOUT_H

#include "text/dataset.h"

// Moves about `fraction` of the rows, at least one and never all, from `data` into a data set of their own. Which ones is
// decided by `seed` alone; both keep the order of the file.
HONE_MUST_USE hone_status hone_dataset_hold_out(hone_dataset *data, double fraction, uint64_t seed, hone_dataset **held,
                                                hone_error *error);

#endif
