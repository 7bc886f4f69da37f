// SPDX-License-Identifier: Apache-2.0
// The survey of a program: what opening it finds before anything is built, in a form to be shown.
#include "formats/pte_survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/pte_builder.h"

static hone_status list_needs(hone_pte_survey *survey, hone_error *error) {
    const hone_pte *const pte = survey->pte;
    HONE_TRY(HONE_NEW_ARRAY(&survey->needs, pte->need_count, "a survey", error));
    HONE_TRY(HONE_NEW_ARRAY(&survey->numbers, pte->scalar_count, "a survey", error));
    survey->need_count = pte->need_count;
    survey->number_count = pte->scalar_count;
    survey->needs_more = pte->needs_more;
    for (size_t i = 0; i < pte->need_count; i++) {
        const pte_need *const need = &pte->needs[i];
        survey->needs[i] = (hone_pte_need){.name = need->name,
                                           .overload = need->overload,
                                           .op = need->op ? need->op->op : NULL,
                                           .calls = need->calls,
                                           .lack = need->lack};
    }
    for (size_t i = 0; i < pte->scalar_count; i++)
        survey->numbers[i] = (hone_pte_number){pte_number_names[pte->scalars[i].kind], pte->scalars[i].file};
    return HONE_OK;
}

static hone_status add_state(hone_pte_survey *survey, const pte_scope *scope, uint32_t id, hone_error *error) {
    hone_pte_value value;
    HONE_TRY(pte_scope_value(survey->pte, scope, id, &value, error));
    if (value.kind != HONE_PTE_TENSOR || value.constant < 0) return HONE_OK;
    hone_pte_port *const port = &survey->state[survey->state_count++];
    *port = (hone_pte_port){.type = value.type, .mutated = true};
    (void)hone_pte_dtype(value.host_code, &port->type.dtype);
    return pte_state_name(survey->pte, scope, id, &value, &port->name, error);
}

static hone_status list_state(hone_pte_survey *survey, hone_error *error) {
    const hone_pte *const pte = survey->pte;
    size_t most = 0;
    for (uint32_t d = 0; d < pte->method.delegates.count; d++) {
        for (uint32_t v = 0; v < pte->delegates[d].count; v++) most += pte->delegates[d].mutations[v] > 0;
    }
    HONE_TRY(HONE_NEW_ARRAY(&survey->state, most, "a survey", error));
    for (uint32_t d = 0; d < pte->method.delegates.count; d++) {
        for (uint32_t v = 0; v < pte->delegates[d].count; v++) {
            if (pte->delegates[d].mutations[v] > 0) HONE_TRY(add_state(survey, &pte->delegates[d], v, error));
        }
    }
    return HONE_OK;
}

static hone_status list_delegates(hone_pte_survey *survey, hone_error *error) {
    hone_pte *const pte = survey->pte;
    survey->delegate_count = pte->method.delegates.count;
    HONE_TRY(HONE_NEW_ARRAY(&survey->delegates, survey->delegate_count, "a survey", error));
    for (size_t d = 0; d < survey->delegate_count; d++) {
        const hone_pte_blob *const blob = &pte->blobs[d];
        survey->delegates[d] = (hone_pte_delegate){.version = blob->version.bytes,
                                                   .range = blob->whole,
                                                   .calls = blob->chain.count,
                                                   .values = blob->values.count,
                                                   .inputs = blob->inputs.count,
                                                   .outputs = blob->outputs.count,
                                                   .constants = blob->constants.count,
                                                   .half = blob->half};
    }
    for (uint32_t i = 0; i < pte->file->segments.count; i++) {
        hone_pte_range range;
        HONE_TRY(hone_pte_segment(pte->file, i, &range, error));
        survey->segment_bytes += range.bytes;
    }
    return HONE_OK;
}

static hone_status fill_in(hone_pte_survey *survey, hone_error *error) {
    const hone_pte *const pte = survey->pte;
    survey->file = pte->file;
    survey->method = pte->method.name.bytes;
    survey->inputs = pte->inputs;
    survey->input_count = pte->input_count;
    survey->outputs = pte->outputs;
    survey->output_count = pte->output_count;
    HONE_TRY(list_needs(survey, error));
    HONE_TRY(list_state(survey, error));
    return list_delegates(survey, error);
}

hone_status hone_pte_survey_open(const char *path, const char *method, hone_pte_survey **out, hone_error *error) {
    hone_source *source = NULL;
    hone_pte *pte;
    *out = NULL;
    HONE_TRY(hone_file_open(path, &source, error));
    hone_status status = pte_open_file(source, method, &pte, error);
    if (status != HONE_OK) {
        hone_source_close(&source);
        return status;
    }
    hone_pte_survey *survey;
    status = HONE_NEW(&survey, "a survey", error);
    if (status != HONE_OK) {
        hone_pte_close(pte);
        return status;
    }
    survey->pte = pte;
    status = fill_in(survey, error);
    if (status != HONE_OK) {
        hone_pte_survey_close(survey);
        return status;
    }
    *out = survey;
    return HONE_OK;
}

void hone_pte_survey_close(hone_pte_survey *survey) {
    if (!survey) return;
    hone_pte_close(survey->pte);
    hone_free(survey->state);
    hone_free(survey->needs);
    hone_free(survey->numbers);
    hone_free(survey->delegates);
    hone_free(survey);
}
