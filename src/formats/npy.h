// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array, read whole and written whole.
#ifndef HONE_FORMATS_NPY_H
#define HONE_FORMATS_NPY_H

#include <hone/tensor.h>

#include "base/file.h"

// Little-endian f2, f4, f8, i1, i4, i8, u1 and bool in C order; other dtypes and Fortran order are refused by
// name. hone_free(out->data) when done; on failure out->data is NULL.
HONE_MUST_USE hone_status hone_npy_read(const char *path, hone_tensor *out, hone_error *error);
HONE_MUST_USE hone_status hone_npy_read_source(hone_source *source, hone_tensor *out, hone_error *error);

// BF16 has no form in .npy and is refused.
HONE_MUST_USE hone_status hone_npy_write(const char *path, const hone_tensor *tensor, hone_error *error);
// As hone_output_commit_one_of_many.
HONE_MUST_USE hone_status hone_npy_write_one_of_many(const char *path, const hone_tensor *tensor, hone_error *error);

#endif
