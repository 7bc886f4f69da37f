// SPDX-License-Identifier: Apache-2.0
// What ExecuTorch programs hold: inputs, outputs, state, operators and which of them hone lacks, constants, segments.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/pte_survey.h"
#include "info.h"

static void name_json(const hone_pte_need *need, hone_text *out) {
    hone_text whole = {0};
    hone_text_print(&whole, "%s%s%s", need->name, need->overload[0] ? "." : "", need->overload);
    hone_text_json(out, whole.bytes ? whole.bytes : "", whole.length);
    hone_text_clear(&whole);
}

static void ports_json(const char *key, const hone_pte_port *ports, size_t count, hone_text *out) {
    hone_text_print(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        const hone_tensor_type *const type = &ports[i].type;
        hone_text_print(out, "%s{\"name\":", i ? "," : "");
        hone_text_json(out, ports[i].name, strlen(ports[i].name));
        hone_text_print(out, ",\"type\":\"%s\",\"shape\":[", hone_dtype_name(type->dtype));
        for (int d = 0; d < type->rank; d++) hone_text_print(out, d ? ",%" PRId64 : "%" PRId64, type->dims[d]);
        hone_text_print(out, "],\"bounded\":%s,\"mutated\":%s}", ports[i].bounded ? "true" : "false",
                        ports[i].mutated ? "true" : "false");
    }
    hone_text_print(out, "]");
}

static void needs_json(const hone_pte_survey *survey, hone_text *out) {
    hone_text_print(out, ",\"operators\":[");
    for (size_t i = 0; i < survey->need_count; i++) {
        const hone_pte_need *const need = &survey->needs[i];
        hone_text_print(out, "%s{\"name\":", i ? "," : "");
        name_json(need, out);
        hone_text_print(out, ",\"calls\":%" PRIu64 ",\"runs\":%s", need->calls, need->lack ? "false" : "true");
        if (need->op) {
            hone_text_print(out, ",\"operator\":");
            hone_text_json(out, need->op, strlen(need->op));
        }
        if (need->lack) {
            hone_text_print(out, ",\"why\":");
            hone_text_json(out, need->lack, strlen(need->lack));
        }
        hone_text_print(out, "}");
    }
    hone_text_print(out, "],\"lacking\":[");
    size_t lacking = 0;
    for (size_t i = 0; i < survey->need_count; i++) {
        if (!survey->needs[i].lack) continue;
        hone_text_print(out, lacking++ ? "," : "");
        name_json(&survey->needs[i], out);
    }
    hone_text_print(out, "],\"lacking_more\":%s", survey->needs_more ? "true" : "false");
}

static void numbers_json(const hone_pte_survey *survey, hone_text *out) {
    hone_text_print(out, ",\"numbers\":[");
    for (size_t i = 0; i < survey->number_count; i++) {
        hone_text_print(out, "%s{\"name\":\"%s\",\"value\":", i ? "," : "", survey->numbers[i].name);
        hone_text_print(out, isfinite(survey->numbers[i].value) ? "%.17g}" : "null}", survey->numbers[i].value);
    }
    hone_text_print(out, "]");
}

static hone_status pte_json(const hone_pte_survey *survey, const char *path, hone_text *out, hone_error *error) {
    hone_pte_file *const file = (hone_pte_file *)(uintptr_t)survey->file;
    hone_text_print(out, "{\"file\":");
    hone_text_json(out, path, strlen(path));
    hone_text_print(out, ",\"format\":\"pte\",\"bytes\":%" PRIu64 ",\"method\":", file->source->size);
    hone_text_json(out, survey->method, strlen(survey->method));
    hone_text_print(out, ",\"methods\":[");
    for (uint32_t i = 0; i < file->methods.count; i++) {
        hone_pte_method method;
        HONE_TRY(hone_pte_method_at(file, i, &method, error));
        hone_text_print(out, i ? "," : "");
        hone_text_json(out, method.name.bytes, method.name.length);
    }
    hone_text_print(out, "]");
    ports_json("inputs", survey->inputs, survey->input_count, out);
    ports_json("outputs", survey->outputs, survey->output_count, out);
    ports_json("state", survey->state, survey->state_count, out);
    needs_json(survey, out);
    numbers_json(survey, out);
    hone_text_print(out, ",\"delegates\":[");
    for (size_t i = 0; i < survey->delegate_count; i++) {
        const hone_pte_delegate *const d = &survey->delegates[i];
        hone_text_print(out, "%s{\"id\":\"VulkanBackend\",\"version\":", i ? "," : "");
        hone_text_json(out, d->version, strlen(d->version));
        hone_text_print(out,
                        ",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"calls\":%" PRIu32 ",\"values\":%" PRIu32
                        ",\"inputs\":%" PRIu32 ",\"outputs\":%" PRIu32 ",\"constants\":%" PRIu32 ",\"half\":%s}",
                        d->range.offset, d->range.bytes, d->calls, d->values, d->inputs, d->outputs, d->constants,
                        d->half ? "true" : "false");
    }
    hone_text_print(out, "],\"segments\":[");
    for (uint32_t i = 0; i < file->segments.count; i++) {
        hone_pte_range range;
        HONE_TRY(hone_pte_segment(file, i, &range, error));
        hone_text_print(out, "%s{\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", i ? "," : "", range.offset,
                        range.bytes);
    }
    hone_text_print(out, "],\"named\":[");
    for (uint32_t i = 0; i < file->named_count; i++) {
        hone_text_print(out, "%s{\"key\":", i ? "," : "");
        hone_text_json(out, file->named[i].key, strlen(file->named[i].key));
        hone_text_print(out, ",\"segment\":%" PRIu32 "}", file->named[i].segment);
    }
    hone_text_print(out, "]}\n");
    return HONE_OK;
}

static void ports_people(const char *word, const hone_pte_port *ports, size_t count, hone_text *out) {
    for (size_t i = 0; i < count; i++) {
        char type[128];
        hone_text_print(out, "%-8s %-32s %s%s%s\n", i ? "" : word, ports[i].name,
                        hone_type_print(&ports[i].type, type, sizeof type), ports[i].bounded ? " at most" : "",
                        ports[i].mutated && strcmp(word, "state") != 0 ? ", mutated" : "");
    }
}

static void pte_people(const hone_pte_survey *survey, const char *path, bool all, hone_text *out) {
    size_t lacking = 0;
    uint64_t calls = 0;
    for (size_t i = 0; i < survey->need_count; i++) {
        lacking += survey->needs[i].lack != NULL;
        calls += survey->needs[i].calls;
    }
    hone_text_print(out, "file     %s: an ExecuTorch program, %s, method %s\n", path,
                    cli_bytes(survey->file->source->size), survey->method);
    hone_text_print(out, "holds    %zu delegate%s, %s in %" PRIu32 " segments\n", survey->delegate_count,
                    survey->delegate_count == 1 ? "" : "s", cli_bytes(survey->segment_bytes),
                    survey->file->segments.count);
    ports_people("inputs", survey->inputs, survey->input_count, out);
    ports_people("outputs", survey->outputs, survey->output_count, out);
    ports_people("state", survey->state, survey->state_count, out);
    for (size_t i = 0; i < survey->number_count; i++) {
        bool known = false;
        for (size_t j = 0; j < i; j++) {
            known |= strcmp(survey->numbers[i].name, survey->numbers[j].name) == 0 &&
                     survey->numbers[i].value == survey->numbers[j].value;
        }
        if (!known)
            hone_text_print(out, "%-8s %-32s %g\n", i ? "" : "numbers", survey->numbers[i].name,
                            survey->numbers[i].value);
    }
    hone_text_print(out, "calls    %s of %zu operators, %s\n", cli_count((int64_t)calls), survey->need_count,
                    lacking ? "some of which hone does not run:" : "all of which hone runs");
    for (size_t i = 0; i < survey->need_count; i++) {
        const hone_pte_need *const need = &survey->needs[i];
        if (!all && !need->lack) continue;
        hone_text name = {0};
        hone_text_print(&name, "%s%s%s", need->name, need->overload[0] ? "." : "", need->overload);
        hone_text_print(out, "  %-48s %6" PRIu64 "  %s\n", name.bytes ? name.bytes : "", need->calls,
                        need->lack ? need->lack
                        : need->op ? need->op
                                   : "");
        hone_text_clear(&name);
    }
}

hone_status info_pte(const info_settings *settings, const char *path, hone_error *error) {
    hone_pte_survey *survey = NULL;
    HONE_TRY(hone_pte_survey_open(path, NULL, &survey, error));
    hone_text out = {0};
    hone_status status = HONE_OK;
    if (settings->common.json) {
        status = pte_json(survey, path, &out, error);
    } else {
        pte_people(survey, path, settings->common.verbose, &out);
    }
    hone_pte_survey_close(survey);
    if (status == HONE_OK) status = hone_text_status(&out, error);
    if (status == HONE_OK) fwrite(out.bytes, 1, out.length, stdout);
    hone_text_clear(&out);
    return status;
}
