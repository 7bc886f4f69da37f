// SPDX-License-Identifier: Apache-2.0
// hone run: calls an ExecuTorch program with arrays from files, once or step by step.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "commands.h"
#include "formats/npy.h"
#include "train/schedule.h"

typedef struct run_settings {
    cli_common common;
    cli_texts inputs, set;
    const char *output, *calls, *method, *save;
    bool live;
    int schedule;
    int64_t warmup;
    double rate_min;
} run_settings;

static const char *const schedules[] = {"constant", "linear", "cosine", NULL};

static const cli_option options[] = {
    {CLI_HEADING, .help = "What goes in and comes out"},
    {CLI_TEXTS, "input", 'i', "FILE.npy", offsetof(run_settings, inputs),
     .help = "an input; repeat it, in the order of the program, or as NAME=FILE.npy"},
    {CLI_TEXT, "calls", .value = "FOLDER", .offset = offsetof(run_settings, calls),
     .help =
         "one call after another: in_0_0.npy, in_0_1.npy .. are the inputs of the first, in_1_0.npy .. of the second; "
         "or one call with in_0.npy, in_1.npy .."},
    {CLI_TEXT, "output", 'o', "PREFIX", offsetof(run_settings, output),
     .help =
         "write the outputs to PREFIX0.npy, PREFIX1.npy ..; with calls in steps to PREFIX0_0.npy, PREFIX0_1.npy .."},
    {CLI_TEXT, "save", .value = "OUT.pte", .offset = offsetof(run_settings, save),
     .help = "the program again, beginning with the state as it is at the end"},
    {CLI_TEXT, "method", .value = "NAME", .offset = offsetof(run_settings, method),
     .help = "the method to call (forward)"},
    {CLI_HEADING, .help = "Numbers that change from step to step"},
    {CLI_FLAG, "live", .offset = offsetof(run_settings, live),
     .help = "bias corrections by the count of calls, n_valid by the labels given, lr by the schedule; otherwise the "
             "file's numbers are replayed"},
    {CLI_TEXTS, "set", .value = "NAME=VALUE", .offset = offsetof(run_settings, set),
     .help = "lr, beta1, beta2, eps, weight_decay, bias_correction1, bias_correction2 or n_valid; may be repeated"},
    {CLI_CHOICE, "schedule", .value = "NAME", .offset = offsetof(run_settings, schedule), .words = schedules,
     .help = "of lr with --live: constant, linear or cosine, over all calls (constant)"},
    {CLI_INTEGER, "warmup", .value = "N", .offset = offsetof(run_settings, warmup), .low = 0, .high = 1e9,
     .help = "calls of linear rise with --live (0)"},
    {CLI_NUMBER, "lr-min", .value = "X", .offset = offsetof(run_settings, rate_min), .low = 0, .high = 1e9,
     .help = "what linear and cosine end in (0)"},
    {CLI_END},
};

typedef struct running {
    run_settings *settings;
    hone_device *device;
    hone_pte *pte;
    hone_tensor *inputs; // [input_count], data owned
    hone_tensor *outputs;
    size_t input_count, output_count;
    int64_t calls;   // in all
    bool step_files; // in_<step>_<i>.npy
    double rate;     // lr before the schedule
    bool has_rate;   // the program reads one, and the schedule gives it
    double seconds;  // of calls so far
    hone_text path;
} running;

// --- files ----------------------------------------------------------------------------------------------------------

static hone_status calls_path(running *r, int64_t step, size_t index, hone_error *error) {
    hone_text_clear(&r->path);
    if (r->step_files) {
        hone_text_print(&r->path, "%s/in_%" PRId64 "_%zu.npy", r->settings->calls, step, index);
    } else {
        hone_text_print(&r->path, "%s/in_%zu.npy", r->settings->calls, index);
    }
    return hone_text_status(&r->path, error);
}

// How many calls the folder holds, and which names it uses.
static hone_status count_calls(running *r, hone_error *error) {
    r->calls = 1;
    if (!r->settings->calls) return HONE_OK;
    HONE_FAIL_IF(!hone_path_is_folder(r->settings->calls), error, NOT_FOUND, "'%s' is not a folder",
                 r->settings->calls);
    r->step_files = true;
    for (int64_t step = 0;; step++) {
        HONE_TRY(calls_path(r, step, 0, error));
        if (hone_path_exists(r->path.bytes)) continue;
        r->step_files = step > 0;
        if (step > 0) r->calls = step;
        return HONE_OK;
    }
}

// The file of an input by --input: the i-th that is not "NAME=", or the one that names it.
static const char *input_path(const running *r, size_t index) {
    const cli_texts *const texts = &r->settings->inputs;
    size_t place = 0;
    const char *in_order = NULL;
    for (size_t i = 0; i < texts->count; i++) {
        const char *const equals = strchr(texts->items[i], '=');
        size_t named = SIZE_MAX;
        for (size_t j = 0; equals && j < r->input_count; j++) {
            const char *const name = hone_pte_input(r->pte, j)->name;
            const size_t length = (size_t)(equals - texts->items[i]);
            if (strlen(name) == length && strncmp(name, texts->items[i], length) == 0) named = j;
        }
        if (named == index) return equals + 1;
        if (named == SIZE_MAX && place++ == index) in_order = texts->items[i];
    }
    return in_order;
}

static hone_status read_inputs(running *r, int64_t step, hone_error *error) {
    for (size_t i = 0; i < r->input_count; i++) {
        const char *path = NULL;
        if (r->settings->calls) {
            HONE_TRY(calls_path(r, step, i, error));
            path = r->path.bytes;
        } else {
            path = input_path(r, i);
            HONE_FAIL_IF(!path, error, INVALID_ARGUMENT, "input %zu (%s) of %zu is missing: give --input FILE.npy", i,
                         hone_pte_input(r->pte, i)->name, r->input_count);
        }
        hone_free(r->inputs[i].data);
        r->inputs[i].data = NULL;
        HONE_TRY(hone_npy_read(path, &r->inputs[i], error));
    }
    return HONE_OK;
}

static hone_status write_outputs(running *r, int64_t step, hone_error *error) {
    if (!r->settings->output) return HONE_OK;
    for (size_t i = 0; i < r->output_count; i++) {
        hone_text_clear(&r->path);
        if (r->step_files) {
            hone_text_print(&r->path, "%s%" PRId64 "_%zu.npy", r->settings->output, step, i);
        } else {
            hone_text_print(&r->path, "%s%zu.npy", r->settings->output, i);
        }
        HONE_TRY(hone_text_status(&r->path, error));
        HONE_TRY(hone_npy_write(r->path.bytes, &r->outputs[i], error));
    }
    return HONE_OK;
}

// --- numbers --------------------------------------------------------------------------------------------------------

static hone_status set_numbers(running *r, hone_error *error) {
    const cli_texts *const texts = &r->settings->set;
    bool rate_set = false;
    for (size_t i = 0; i < texts->count; i++) {
        char name[64];
        double value;
        const char *const equals = strchr(texts->items[i], '=');
        HONE_FAIL_IF(!equals || (size_t)(equals - texts->items[i]) >= sizeof name ||
                         !cli_parse_number(equals + 1, &value),
                     error, INVALID_ARGUMENT, "--set must be NAME=VALUE, as lr=0.001, not '%.100s'", texts->items[i]);
        snprintf(name, sizeof name, "%.*s", (int)(equals - texts->items[i]), texts->items[i]);
        HONE_TRY(hone_pte_set(r->pte, name, value, error));
        rate_set = rate_set || strcmp(name, "lr") == 0;
    }
    for (size_t i = 0; i < hone_pte_scalar_count(r->pte) && r->settings->live; i++) {
        const hone_pte_scalar scalar = hone_pte_scalar_at(r->pte, i);
        if (strcmp(scalar.name, "lr") != 0) continue;
        r->rate = scalar.value;
        r->has_rate = scalar.uniform; // groups with rates of their own keep them
    }
    return HONE_OK;
}

static hone_status set_rate(running *r, int64_t step, hone_error *error) {
    static const hone_schedule kinds[] = {HONE_SCHEDULE_CONSTANT, HONE_SCHEDULE_LINEAR, HONE_SCHEDULE_COSINE};
    const run_settings *const s = r->settings;
    if (!r->has_rate || (kinds[s->schedule] == HONE_SCHEDULE_CONSTANT && s->warmup == 0)) return HONE_OK;
    const hone_train_options schedule = {.steps = r->calls,
                                         .learning_rate = r->rate,
                                         .learning_rate_min = s->rate_min,
                                         .schedule = kinds[s->schedule],
                                         .warmup = s->warmup};
    return hone_pte_set(r->pte, "lr", hone_schedule_rate(&schedule, step + 1), error);
}

// --- what is shown --------------------------------------------------------------------------------------------------

static hone_status show_call(const running *r, int64_t step, double seconds, hone_error *error) {
    hone_text list = {0};
    char type[128];
    for (size_t i = 0; i < r->output_count; i++) {
        const hone_tensor_type *const t = &r->outputs[i].type;
        const char *const name = hone_pte_output(r->pte, i)->name;
        if (!r->settings->common.json) {
            hone_text_print(&list, "%s%s %s", i ? ", " : "", name, hone_type_print(t, type, sizeof type));
            continue;
        }
        hone_text_print(&list, "%s{\"name\":", i ? "," : "[");
        hone_text_json(&list, name, strlen(name));
        hone_text_print(&list, ",\"type\":\"%s\",\"shape\":[", hone_dtype_name(t->dtype));
        for (int d = 0; d < t->rank; d++) hone_text_print(&list, d ? ",%" PRId64 : "%" PRId64, t->dims[d]);
        hone_text_print(&list, "]}");
    }
    if (r->settings->common.json) hone_text_print(&list, r->output_count ? "]" : "[]");
    hone_status status = hone_text_status(&list, error);
    if (status == HONE_OK && r->settings->common.json) {
        cli_json json = {0};
        cli_json_integer(&json, "step", step);
        cli_json_raw(&json, "outputs", list.bytes);
        cli_json_number(&json, "seconds", seconds);
        status = cli_json_print(&json, error);
    } else if (status == HONE_OK && !r->settings->common.quiet) {
        printf("call %" PRId64 ": %s (%.3f ms)\n", step, list.length ? list.bytes : "no outputs", seconds * 1e3);
    }
    hone_text_clear(&list);
    return status;
}

static void operators_json(const hone_profile_row *rows, size_t count, hone_text *out) {
    hone_text_print(out, "{");
    for (size_t i = 0; i < count; i++) {
        hone_text_print(out, "%s", i ? "," : "");
        hone_text_json(out, rows[i].op->schema, hone_op_name_length(rows[i].op));
        hone_text_print(out, ":%" PRIu64, rows[i].calls);
    }
    hone_text_print(out, "}");
}

static hone_status show_end(const running *r, hone_error *error) {
    enum { MOST = 256 };
    hone_profile_row rows[MOST];
    size_t count = hone_pte_profile_rows(r->pte, rows, MOST);
    if (count > MOST) count = MOST;
    if (r->settings->common.json) {
        hone_text list = {0};
        cli_json json = {0};
        operators_json(rows, count, &list);
        cli_json_bool(&json, "done", true);
        cli_json_integer(&json, "calls", r->calls);
        cli_json_number(&json, "seconds", r->seconds);
        cli_json_text(&json, "device", hone_device_name(r->device));
        if (list.bytes) cli_json_raw(&json, "operators", list.bytes);
        const hone_status status = cli_json_print(&json, error);
        hone_text_clear(&list);
        return status;
    }
    for (size_t i = 0; i < count && r->settings->common.verbose; i++) {
        printf("%-44.*s %6" PRIu64 " calls %10.3f ms\n", (int)hone_op_name_length(rows[i].op), rows[i].op->schema,
               rows[i].calls, rows[i].seconds * 1e3);
    }
    return HONE_OK;
}

// --- the run --------------------------------------------------------------------------------------------------------

static hone_status open_program(running *r, const char *path, hone_error *error) {
    const run_settings *const s = r->settings;
    const hone_device_description description = {.name = s->common.device, .threads = (int)s->common.threads};
    const hone_pte_options wanted = {.method = s->method, .live = s->live};
    hone_status status;
    CLI_WAIT(status, hone_device_open(&description, &r->device, error), error);
    HONE_TRY(status);
    HONE_TRY(hone_pte_open(r->device, path, &wanted, &r->pte, error));
    hone_pte_profile(r->pte, s->common.verbose || s->common.json);
    r->input_count = hone_pte_input_count(r->pte);
    r->output_count = hone_pte_output_count(r->pte);
    HONE_FAIL_IF(s->inputs.count > r->input_count, error, INVALID_ARGUMENT,
                 "%zu inputs are given, but the program takes %zu", s->inputs.count, r->input_count);
    HONE_TRY(HONE_NEW_ARRAY(&r->inputs, r->input_count, "inputs", error));
    return HONE_NEW_ARRAY(&r->outputs, r->output_count, "outputs", error);
}

static hone_status call(running *r, int64_t step, hone_error *error) {
    hone_status status;
    if (cli_interrupted()) return cli_stopped(error);
    HONE_TRY(read_inputs(r, step, error));
    HONE_TRY(set_rate(r, step, error));
    const double start = hone_clock_seconds();
    CLI_WAIT(status, hone_pte_run(r->pte, r->inputs, r->input_count, r->outputs, r->output_count, error), error);
    const double seconds = hone_clock_seconds() - start;
    if (status != HONE_OK && r->step_files) hone_error_prefix(error, "call %" PRId64, step);
    HONE_TRY(status);
    r->seconds += seconds;
    HONE_TRY(write_outputs(r, step, error));
    return show_call(r, step, seconds, error);
}

static hone_status run_all(running *r, const char *path, hone_error *error) {
    HONE_TRY(open_program(r, path, error));
    HONE_TRY(set_numbers(r, error));
    HONE_TRY(count_calls(r, error));
    for (int64_t step = 0; step < r->calls; step++) HONE_TRY(call(r, step, error));
    if (r->settings->save) {
        hone_status status;
        CLI_WAIT(status, hone_pte_save(r->pte, r->settings->save, error), error);
        HONE_TRY(status);
    }
    return show_end(r, error);
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    run_settings *const settings = opaque;
    if (settings->calls && settings->inputs.count) return cli_usage("--calls and --input exclude each other");
    if (!settings->live && (settings->schedule || settings->warmup || settings->rate_min != 0))
        return cli_usage("--schedule, --warmup and --lr-min need --live");
    cli_interrupt_watch(NULL);
    running r = {.settings = settings};
    hone_error error = {0};
    const hone_status status = run_all(&r, arguments[0], &error);
    hone_pte_close(r.pte);
    for (size_t i = 0; i < r.input_count && r.inputs; i++) hone_free(r.inputs[i].data);
    hone_free(r.inputs);
    hone_free(r.outputs);
    hone_text_clear(&r.path);
    hone_device_close(r.device);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_run = {
    .name = "run",
    .arguments = "PROGRAM.pte [OPTIONS]",
    .summary = "run an ExecuTorch program",
    .details =
        "State stays from call to call: parameters and moments that the program keeps are those of the step before.\n"
        "With --json one line a call, {\"step\",\"outputs\",\"seconds\"}, and one at the end,\n"
        "{\"done\",\"calls\",\"seconds\",\"device\",\"operators\"}; -v lists the operators that ran.",
    .options = options,
    .computes = true,
    .least = 1,
    .most = 1,
    .settings_bytes = sizeof(run_settings),
    .run = run,
};
