// SPDX-License-Identifier: Apache-2.0
// What safetensors files, saved states and folders hold.
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "formats/checkpoint.h"
#include "formats/safetensors.h"
#include "info.h"
#include "train/metrics.h"

static hone_status print_text(hone_text *out, hone_error *error) {
    const hone_status status = hone_text_status(out, error);
    if (status == HONE_OK) fwrite(out->bytes, 1, out->length, stdout);
    hone_text_clear(out);
    return status;
}

static void print_type_json(hone_text *out, const hone_tensor_type *type) {
    hone_text_print(out, "\"type\":\"%s\",\"shape\":[", hone_dtype_name(type->dtype));
    for (int i = 0; i < type->rank; i++) hone_text_print(out, i ? ",%" PRId64 : "%" PRId64, type->dims[i]);
    hone_text_print(out, "]");
}

// --- safetensors ----------------------------------------------------------------------------------------------------------

static void safetensors_json(const hone_safetensors *file, const char *path, uint64_t parameters, hone_text *out) {
    hone_text_print(out, "{\"file\":");
    hone_text_json(out, path, strlen(path));
    hone_text_print(out, ",\"format\":\"safetensors\",\"bytes\":%" PRIu64 ",\"parameters\":%" PRIu64 ",\"metadata\":{",
                    file->source->size, parameters);
    for (size_t i = 0; i < file->metadata_count; i++) {
        hone_text_print(out, i ? "," : "");
        hone_text_json(out, file->metadata[i].key, strlen(file->metadata[i].key));
        hone_text_print(out, ":");
        hone_text_json(out, file->metadata[i].value, strlen(file->metadata[i].value));
    }
    hone_text_print(out, "},\"tensors\":[");
    for (size_t i = 0; i < file->tensor_count; i++) {
        const hone_safetensors_tensor *const tensor = &file->tensors[i];
        hone_text_print(out, "%s{\"name\":", i ? "," : "");
        hone_text_json(out, tensor->name, strlen(tensor->name));
        hone_text_print(out, ",");
        print_type_json(out, &tensor->type);
        hone_text_print(out, ",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", tensor->offset, tensor->bytes);
    }
    hone_text_print(out, "]}\n");
}

static void safetensors_people(const hone_safetensors *file, const char *path, uint64_t parameters, bool all,
                               hone_text *out) {
    hone_text_print(out, "file     %s: safetensors, %s, %s numbers in %zu tensors\n", path,
                    cli_bytes(file->source->size), cli_count((int64_t)parameters), file->tensor_count);
    for (size_t i = 0; i < file->metadata_count; i++)
        hone_text_print(out, "  %-44s %s\n", file->metadata[i].key, file->metadata[i].value);
    for (size_t i = 0; all && i < file->tensor_count; i++) {
        char type[128];
        hone_text_print(out, "  %-60s %s\n", file->tensors[i].name,
                        hone_type_print(&file->tensors[i].type, type, sizeof type));
    }
}

hone_status info_safetensors(const info_settings *settings, const char *path, hone_error *error) {
    hone_safetensors *file = NULL;
    HONE_TRY(hone_safetensors_open(path, &file, error));
    uint64_t parameters = 0;
    for (size_t i = 0; i < file->tensor_count; i++) parameters += (uint64_t)hone_type_elements(&file->tensors[i].type);
    hone_text out = {0};
    if (settings->common.json) {
        safetensors_json(file, path, parameters, &out);
    } else {
        safetensors_people(file, path, parameters, settings->common.verbose, &out);
    }
    hone_safetensors_close(file);
    return print_text(&out, error);
}

// --- state.hone -------------------------------------------------------------------------------------------------------------

static void section_json(const hone_section *section, hone_text *out) {
    hone_text_json(out, section->name, strlen(section->name));
    hone_text_print(out, ":");
    switch (section->kind) {
    case HONE_SECTION_U64:
        hone_text_print(out, "%" PRIu64, section->integer);
        return;
    case HONE_SECTION_F64:
        if (isfinite(section->real)) {
            hone_text_print(out, "%.17g", section->real);
        } else {
            hone_text_print(out, "null");
        }
        return;
    case HONE_SECTION_TEXT:
        hone_text_json(out, section->text, strlen(section->text));
        return;
    case HONE_SECTION_TENSOR:
        hone_text_print(out, "{");
        print_type_json(out, &section->type);
        hone_text_print(out, "}");
        return;
    case HONE_SECTION_BYTES:
        hone_text_print(out, "{\"bytes\":%zu}", section->bytes);
    }
}

hone_status info_state(const info_settings *settings, const char *path, hone_error *error) {
    hone_checkpoint *state = NULL;
    HONE_TRY(hone_checkpoint_open(path, &state, error));
    hone_text out = {0};
    if (settings->common.json) {
        hone_text_print(&out, "{\"file\":");
        hone_text_json(&out, path, strlen(path));
        hone_text_print(&out, ",\"format\":\"state\",\"sections\":{");
    } else {
        hone_text_print(&out, "file     %s: a saved training state of %zu sections\n", path, state->count);
    }
    for (size_t i = 0; i < state->count; i++) {
        if (settings->common.json) {
            hone_text_print(&out, i ? "," : "");
            section_json(&state->sections[i], &out);
        } else {
            hone_text_print(&out, "  ");
            section_json(&state->sections[i], &out);
            hone_text_print(&out, "\n");
        }
    }
    if (settings->common.json) hone_text_print(&out, "}}\n");
    hone_checkpoint_close(state);
    return print_text(&out, error);
}

// --- folders ------------------------------------------------------------------------------------------------------------------

// The step that a state was saved at; -1 if it cannot be read, and then why.
static int64_t state_step(const char *path, hone_error *error) {
    hone_checkpoint *state = NULL;
    uint64_t step = 0;
    if (hone_checkpoint_open(path, &state, error) != HONE_OK) return -1;
    const hone_status status = hone_checkpoint_u64(state, "step", &step, error);
    hone_checkpoint_close(state);
    return status == HONE_OK ? (int64_t)step : -1;
}

typedef struct folder_facts {
    bool state, metrics, adapter, peft, report;
    int64_t step;                // of the state, -1 = none
    hone_error damage;           // why the state cannot be read; HONE_OK = it can, or there is none
    hone_metrics_row last, eval; // step 0: none
} folder_facts;

static void note_line(const char *line, size_t length, folder_facts *facts) {
    json_t *const object = json_loadb(line, length, 0, NULL);
    const json_t *const loss = json_object_get(object, "loss");
    const json_t *const eval_loss = json_object_get(object, "eval_loss");
    const int64_t step = (int64_t)json_integer_value(json_object_get(object, "step"));
    if (json_is_number(loss)) facts->last = (hone_metrics_row){.step = step, .loss = json_number_value(loss)};
    if (json_is_number(eval_loss))
        facts->eval = (hone_metrics_row){.step = step, .evaluation = true, .loss = json_number_value(eval_loss)};
    json_decref(object);
}

static hone_status read_metrics(const char *path, folder_facts *facts, hone_error *error) {
    char *bytes = NULL;
    size_t size = 0;
    HONE_TRY(hone_file_read_all(path, (uint64_t)1 << 31, &bytes, &size, error));
    for (size_t start = 0; start < size;) {
        const char *const end = memchr(bytes + start, '\n', size - start);
        if (!end) break;
        note_line(bytes + start, (size_t)(end - bytes) - start, facts);
        start = (size_t)(end - bytes) + 1;
    }
    hone_free(bytes);
    return HONE_OK;
}

static hone_status look(const char *folder, folder_facts *facts, hone_error *error) {
    const struct {
        const char *name;
        bool *there;
    } files[] = {
        {"state.hone", &facts->state},     {"metrics.jsonl", &facts->metrics},
        {"adapter.gguf", &facts->adapter}, {"adapter_model.safetensors", &facts->peft},
        {"report.html", &facts->report},
    };
    facts->step = -1;
    hone_status status = HONE_OK;
    for (size_t i = 0; status == HONE_OK && i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = NULL;
        HONE_TRY(hone_path_join(folder, files[i].name, &path, error));
        *files[i].there = hone_path_exists(path);
        if (*files[i].there && i == 0) facts->step = state_step(path, &facts->damage);
        if (*files[i].there && i == 1) status = read_metrics(path, facts, error);
        hone_free(path);
    }
    return status;
}

// Shows the adapter inside as well.
static hone_status show_adapter(const info_settings *settings, const char *folder, const char *name,
                                hone_error *error) {
    char *path = NULL;
    HONE_TRY(hone_path_join(folder, name, &path, error));
    const hone_status status =
        strcmp(name, "adapter.gguf") == 0 ? info_gguf(settings, path, error) : info_safetensors(settings, path, error);
    hone_free(path);
    return status;
}

static hone_status folder_json(const char *path, const folder_facts *f, hone_error *error) {
    cli_json json = {0};
    cli_json_text(&json, "folder", path);
    cli_json_text(&json, "format", f->state || f->metrics ? "run" : "peft");
    cli_json_bool(&json, "state", f->state);
    cli_json_integer(&json, "state_step", f->step);
    if (f->damage.status != HONE_OK) cli_json_text(&json, "state_error", f->damage.message);
    cli_json_bool(&json, "adapter", f->adapter);
    cli_json_bool(&json, "peft", f->peft);
    cli_json_bool(&json, "report", f->report);
    cli_json_integer(&json, "last_step", f->last.step);
    cli_json_number(&json, "loss", f->last.step ? f->last.loss : (double)NAN);
    cli_json_number(&json, "eval_loss", f->eval.evaluation ? f->eval.loss : (double)NAN);
    return cli_json_print(&json, error);
}

static hone_status folder_people(const info_settings *settings, const char *path, const folder_facts *f,
                                 hone_error *error) {
    if (f->state || f->metrics) {
        printf("run      %s", path);
        if (f->last.step) printf(": %lld steps, loss %.4f", (long long)f->last.step, f->last.loss);
        if (f->eval.evaluation) printf(", validation loss %.4f", f->eval.loss);
        printf("\nstate    ");
        if (f->step >= 0) {
            printf("state.hone of step %lld\n", (long long)f->step);
        } else {
            printf(f->state ? "state.hone cannot be read\n" : "none\n");
        }
    } else {
        printf("adapter  %s\n", path);
    }
    if (f->adapter) return show_adapter(settings, path, "adapter.gguf", error);
    return f->peft ? show_adapter(settings, path, "adapter_model.safetensors", error) : HONE_OK;
}

// What can be read is shown, also where the state is damaged.
hone_status info_folder(const info_settings *settings, const char *path, hone_error *error) {
    folder_facts f = {0};
    HONE_TRY(look(path, &f, error));
    HONE_FAIL_IF(!f.state && !f.metrics && !f.adapter && !f.peft, error, BAD_FORMAT,
                 "'%s' is a folder, but neither a run nor an adapter: it has no state.hone, metrics.jsonl or adapter",
                 path);
    HONE_TRY(settings->common.json ? folder_json(path, &f, error) : folder_people(settings, path, &f, error));
    if (f.damage.status == HONE_OK) return HONE_OK;
    *error = f.damage;
    return error->status;
}
