// SPDX-License-Identifier: Apache-2.0
// What a program holds and needs, told from its file alone: no device, no data read.
#ifndef HONE_FORMATS_PTE_SURVEY_H
#define HONE_FORMATS_PTE_SURVEY_H

#include <hone/program.h>

#include "formats/pte.h"

typedef struct hone_pte_need {
    const char *name, *overload; // as in the file; a call in a delegate has no overload
    const char *op;              // the operator that runs it; NULL: none is needed, or it is not known
    uint64_t calls;
    const char *lack; // why hone does not run it; NULL if it does
} hone_pte_need;

typedef struct hone_pte_number {
    const char *name; // "lr", ..
    double value;
} hone_pte_number;

typedef struct hone_pte_delegate {
    const char *version;
    hone_pte_range range; // in the file
    uint32_t calls, values, inputs, outputs, constants;
    bool half;
} hone_pte_delegate;

typedef struct hone_pte_survey {
    const hone_pte_file *file;
    const char *method;
    const hone_pte_port *inputs, *outputs;
    size_t input_count, output_count;
    hone_pte_port *state; // buffers of delegates that calls write
    size_t state_count;
    hone_pte_need *needs;
    size_t need_count;
    bool needs_more; // there are others that hone does not run
    hone_pte_number *numbers;
    size_t number_count;
    hone_pte_delegate *delegates;
    size_t delegate_count;
    uint64_t segment_bytes;
    struct hone_pte *pte;
} hone_pte_survey;

// `method` may be NULL. A broken file is an error; an operator that hone lacks is not.
HONE_MUST_USE hone_status hone_pte_survey_open(const char *path, const char *method, hone_pte_survey **out,
                                               hone_error *error);
void hone_pte_survey_close(hone_pte_survey *survey); // NULL is allowed

#endif
