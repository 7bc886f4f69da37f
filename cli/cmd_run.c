// SPDX-License-Identifier: Apache-2.0
// hone run: calls an ExecuTorch program with arrays from files, once or step by step.
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "train/schedule.h"

static const char *const schedules[] = {"constant", "linear", "cosine", NULL};

static const cli_option options[] = {
    {CLI_HEADING, .help = "What goes in and comes out"},
    {CLI_TEXTS, "input", 'i', "FILE.npy", offsetof(run_settings, inputs),
     .help =
         "an input; repeat it, in the order of the program, or as NAME=FILE.npy, which leaves the order to the others"},
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
     .help = "bias corrections by the count of calls (which --save keeps), n_valid by the labels given, lr by the "
             "schedule; "
             "otherwise the file's numbers are replayed"},
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

// --- numbers --------------------------------------------------------------------------------------------------------

typedef struct setting {
    char name[64];
    double value;
} setting;

// NAME=VALUE.
static hone_status parse_setting(const char *text, setting *out, hone_error *error) {
    const char *const equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : 0;
    HONE_FAIL_IF(!equals || length == 0 || length >= sizeof out->name, error, INVALID_ARGUMENT,
                 "--set must be NAME=VALUE, as lr=0.001, not '%.100s'", text);
    memcpy(out->name, text, length);
    out->name[length] = 0;
    if (cli_parse_number(equals + 1, &out->value)) return HONE_OK;
    char *end;
    const bool vast = isinf(strtod(equals + 1, &end)) && *end == 0 && strspn(equals + 1, "+-.eE0123456789") > 1;
    HONE_FAIL_IF(vast, error, INVALID_ARGUMENT, "--set %.100s: the number is beyond all that can be computed with",
                 text);
    HONE_FAIL(error, INVALID_ARGUMENT, "--set %.100s: what stands behind '=' must be a number, as in lr=0.001", text);
}

// What --set has that is wrong with any program.
static hone_status check_settings(const cli_texts *texts, hone_error *error) {
    setting one, other;
    for (size_t i = 0; i < texts->count; i++) {
        HONE_TRY(parse_setting(texts->items[i], &one, error));
        for (size_t j = 0; j < i; j++) {
            HONE_TRY(parse_setting(texts->items[j], &other, error));
            HONE_FAIL_IF(strcmp(one.name, other.name) == 0, error, INVALID_ARGUMENT,
                         "--set gives %s twice, as %.100s and as %.100s", one.name, texts->items[j], texts->items[i]);
        }
    }
    return HONE_OK;
}

static hone_status set_numbers(running *r, hone_error *error) {
    const run_settings *const s = r->settings;
    HONE_FAIL_IF((s->live || s->set.count > 0) && hone_pte_scalar_count(r->pte) == 0, error, INVALID_ARGUMENT,
                 "'%s' has no numbers that change from step to step (no adamw_step, no fused_ce): leave --%s out",
                 r->program, s->live ? "live" : "set");
    for (size_t i = 0; i < s->set.count; i++) {
        setting one;
        HONE_TRY(parse_setting(s->set.items[i], &one, error));
        HONE_TRY(hone_pte_set(r->pte, one.name, one.value, error));
    }
    for (size_t i = 0; i < hone_pte_scalar_count(r->pte) && s->live; i++) {
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

// Notes that what went wrong is one of these, and then a matter of the command line.
static hone_status misuse(running *r, hone_status status) {
    r->misused = status == HONE_INVALID_ARGUMENT || status == HONE_NOT_FOUND;
    return status;
}

static hone_status open_program(running *r, hone_error *error) {
    const run_settings *const s = r->settings;
    const hone_pte_options wanted = {.method = s->method, .live = s->live};
    HONE_TRY(cli_device_open(&s->common, &r->device, error));
    const hone_status status = hone_pte_open(r->device, r->program, &wanted, &r->pte, error);
    r->misused = status == HONE_NOT_FOUND && s->method && hone_path_exists(r->program); // no such method
    HONE_TRY(status);
    hone_pte_profile(r->pte, s->common.verbose || s->common.json);
    r->input_count = hone_pte_input_count(r->pte);
    r->output_count = hone_pte_output_count(r->pte);
    HONE_TRY(HONE_NEW_ARRAY(&r->paths, r->input_count, "inputs", error));
    HONE_TRY(HONE_NEW_ARRAY(&r->inputs, r->input_count, "inputs", error));
    return HONE_NEW_ARRAY(&r->outputs, r->output_count, "outputs", error);
}

static hone_status call(running *r, int64_t step, hone_error *error) {
    hone_status status;
    HONE_TRY(run_read_inputs(r, step, error));
    HONE_TRY(set_rate(r, step, error));
    const double start = hone_clock_seconds();
    do { // to its end, for half a call is no state to save
        status = hone_pte_run(r->pte, r->inputs, r->input_count, r->outputs, r->output_count, error);
    } while (status == HONE_PENDING);
    const double seconds = hone_clock_seconds() - start;
    if (status != HONE_OK && r->step_files) hone_error_prefix(error, "call %" PRId64, step);
    HONE_TRY(status);
    r->seconds += seconds;
    HONE_TRY(run_write_outputs(r, step, error));
    return show_call(r, step, seconds, error);
}

static hone_status save(running *r, hone_error *error) {
    hone_status status;
    do {
        status = hone_pte_save(r->pte, r->settings->save, error);
    } while (status == HONE_PENDING);
    return status;
}

static hone_status run_all(running *r, hone_error *error) {
    HONE_TRY(misuse(r, check_settings(&r->settings->set, error)));
    HONE_TRY(open_program(r, error));
    HONE_TRY(misuse(r, set_numbers(r, error)));
    HONE_TRY(run_find_inputs(r, error));
    HONE_TRY(run_check_outputs(r, error));
    int64_t done = 0;
    hone_status status = HONE_OK;
    while (status == HONE_OK && done < r->calls && !cli_interrupted()) status = call(r, done++, error);
    const hone_status synced = run_sync_outputs(r, status == HONE_OK ? error : NULL);
    HONE_TRY(status != HONE_OK ? status : synced);
    if (r->settings->save) HONE_TRY(save(r, error));
    if (done == r->calls) return show_end(r, error);
    const char *const file = r->settings->save;
    return hone_error_set(error, HONE_INTERRUPTED, "interrupted after %" PRId64 " of %" PRId64 " calls%s%s%s", done,
                          r->calls, file ? "; the state is saved as '" : "; no --save, so no state is kept",
                          file ? file : "", file ? "'" : "");
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    run_settings *const settings = opaque;
    if (settings->calls && settings->inputs.count) return cli_usage("--calls and --input exclude each other");
    if (!settings->live && (settings->schedule || settings->warmup || settings->rate_min != 0))
        return cli_usage("--schedule, --warmup and --lr-min need --live");
    cli_interrupt_watch(NULL);
    running r = {.settings = settings, .program = arguments[0]};
    hone_error error = {0};
    const hone_status status = run_all(&r, &error);
    hone_pte_close(r.pte);
    for (size_t i = 0; i < r.input_count && r.inputs; i++) hone_free(r.inputs[i].data);
    hone_free(r.inputs);
    hone_free(r.outputs);
    hone_free(r.paths);
    hone_text_clear(&r.path);
    hone_device_close(r.device);
    if (status != HONE_OK && r.misused) return cli_usage("%s", error.message);
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
