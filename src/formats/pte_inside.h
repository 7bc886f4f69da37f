// SPDX-License-Identifier: Apache-2.0
// What the files that read the two descriptions of a program share.
#ifndef HONE_FORMATS_PTE_INSIDE_H
#define HONE_FORMATS_PTE_INSIDE_H

#include "formats/pte.h"

// A list of tables must have bytes for them.
HONE_MUST_USE hone_status hone_pte_plausible(const hone_flat *flat, hone_flat_vector list, const char *what,
                                             hone_error *error);
// Fills in out->type from dims and out->code; the device's element type.
HONE_MUST_USE hone_status hone_pte_shape(const hone_flat *flat, const char *what, uint32_t index, hone_flat_vector dims,
                                         hone_pte_value *out, hone_error *error);

#endif
