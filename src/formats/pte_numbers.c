// SPDX-License-Identifier: Apache-2.0
// Numbers of a program that change from step to step: as the file has them, as the caller sets them, or live.
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "formats/pte_program.h"

const char *const pte_number_names[PTE_NUMBERS] = {
    [PTE_LR] = "lr",
    [PTE_BETA1] = "beta1",
    [PTE_BETA2] = "beta2",
    [PTE_EPS] = "eps",
    [PTE_WEIGHT_DECAY] = "weight_decay",
    [PTE_CORRECTION1] = "bias_correction1",
    [PTE_CORRECTION2] = "bias_correction2",
    [PTE_N_VALID] = "n_valid",
};

static size_t places_of(const hone_pte *pte, pte_number kind) {
    size_t count = 0;
    for (size_t i = 0; i < pte->scalar_count; i++) count += pte->scalars[i].kind == kind;
    return count;
}

size_t hone_pte_scalar_count(const hone_pte *pte) {
    size_t count = 0;
    for (int kind = 0; kind < PTE_NUMBERS; kind++) count += places_of(pte, (pte_number)kind) > 0;
    return count;
}

hone_pte_scalar hone_pte_scalar_at(const hone_pte *pte, size_t index) {
    hone_pte_scalar out = {.uniform = true};
    int kind = 0;
    for (; kind < PTE_NUMBERS; kind++) {
        if (places_of(pte, (pte_number)kind) > 0 && index-- == 0) break;
    }
    if (kind == PTE_NUMBERS) return (hone_pte_scalar){0};
    out.name = pte_number_names[kind];
    for (size_t i = 0; i < pte->scalar_count; i++) {
        if (pte->scalars[i].kind != (pte_number)kind) continue;
        if (out.places++ == 0) out.value = pte->scalars[i].value;
        out.uniform &= out.value == pte->scalars[i].value;
    }
    return out;
}

// Operators compute in f32: what leaves its range, or what a formula divides by as 0, would make every parameter NaN.
static hone_status check_range(pte_number kind, double value, hone_error *error) {
    static const struct {
        double low, high;
        bool below; // also as f32 it must stay below `high`
        const char *text;
    } ranges[PTE_NUMBERS] = {
        [PTE_LR] = {0, FLT_MAX, false, "from 0 to 3.4e38"},
        [PTE_BETA1] = {0, 1, true, "at least 0 and below 1"},
        [PTE_BETA2] = {0, 1, true, "at least 0 and below 1"},
        [PTE_EPS] = {0, FLT_MAX, false, "from 0 to 3.4e38, as 1e-8"},
        [PTE_WEIGHT_DECAY] = {0, FLT_MAX, false, "from 0 to 3.4e38, as 0.01"},
        [PTE_CORRECTION1] = {FLT_MIN, 1, false, "above 0 and up to 1; 1 - beta1^step is meant"},
        [PTE_CORRECTION2] = {FLT_MIN, 1, false, "above 0 and up to 1; 1 - beta2^step is meant"},
        [PTE_N_VALID] = {1, FLT_MAX, false, "at least 1, the number of labels that count"},
    };
    const bool fits = value >= ranges[kind].low && value <= ranges[kind].high &&
                      !(ranges[kind].below && (float)value >= (float)ranges[kind].high);
    HONE_FAIL_IF(!fits, error, INVALID_ARGUMENT, "%s cannot be %g: it must be %s", pte_number_names[kind], value,
                 ranges[kind].text);
    return HONE_OK;
}

hone_status hone_pte_set(hone_pte *pte, const char *name, double value, hone_error *error) {
    size_t found = 0;
    for (size_t i = 0; i < pte->scalar_count; i++) {
        if (strcmp(pte_number_names[pte->scalars[i].kind], name) != 0) continue;
        if (found == 0) HONE_TRY(check_range(pte->scalars[i].kind, value, error));
        pte->scalars[i].value = value;
        pte->scalars[i].set = true;
        found++;
    }
    if (found > 0) return HONE_OK;
    hone_text list = {0};
    for (size_t i = 0; i < hone_pte_scalar_count(pte); i++)
        hone_text_print(&list, "%s%s", i ? ", " : "", hone_pte_scalar_at(pte, i).name);
    hone_status status = hone_text_status(&list, error);
    if (status == HONE_OK)
        status = hone_error_set(error, HONE_NOT_FOUND, "'%s' has no number '%.80s' to set; it has %s",
                                pte->file->flat.file, name, list.length ? list.bytes : "none");
    hone_text_clear(&list);
    return status;
}

int64_t hone_pte_step(const hone_pte *pte) {
    return pte->step;
}

// --- live -----------------------------------------------------------------------------------------------------------

// Labels that are trained: those of all inputs that are labels, not below 0.
static hone_status count_labels(const hone_pte *pte, const pte_entry *entry, const hone_tensor *inputs, double *out,
                                hone_error *error) {
    HONE_FAIL_IF(!entry->counts, error, UNSUPPORTED,
                 "'%s' computes its labels, or takes some of an input's: they cannot be counted; give n_valid by hand",
                 pte->file->flat.file);
    int64_t count = 0;
    for (uint32_t i = 0; i < pte->input_count; i++) {
        const int64_t elements = entry->labels[i] ? hone_type_elements(&inputs[i].type) : 0;
        for (int64_t j = 0; j < elements; j++) count += pte_integer_at(&inputs[i], j) >= 0;
    }
    *out = (double)count;
    return HONE_OK;
}

hone_status pte_numbers_now(hone_pte *pte, const pte_entry *entry, const hone_tensor *inputs, hone_error *error) {
    const double step = (double)(pte->step + 1);
    for (size_t i = 0; i < pte->scalar_count; i++) {
        const pte_scalar *const scalar = &pte->scalars[i];
        pte->live[i] = scalar->value;
        if (!pte->is_live || scalar->set) continue;
        if (scalar->kind == PTE_CORRECTION1 && scalar->file != 1) { // exactly 1: none
            pte->live[i] = 1 - pow(pte->scalars[i - PTE_CORRECTION1 + PTE_BETA1].value, step);
        } else if (scalar->kind == PTE_CORRECTION2 && scalar->file != 1) {
            pte->live[i] = 1 - pow(pte->scalars[i - PTE_CORRECTION2 + PTE_BETA2].value, step);
        } else if (scalar->kind == PTE_N_VALID) {
            HONE_TRY(count_labels(pte, entry, inputs, &pte->live[i], error));
        }
    }
    return HONE_OK;
}
