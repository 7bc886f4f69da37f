// SPDX-License-Identifier: Apache-2.0
// hone selftest: every kernel of every operator on a device, against the CPU.
#include <stdio.h>
#include <string.h>

#include "commands.h"

typedef struct selftest_settings {
    cli_common common;
} selftest_settings;

typedef struct tally {
    const selftest_settings *settings;
    const char *device;
    size_t right, wrong, untested;
    hone_status status; // of printing
    hone_error error;
} tally;

static void print_json(tally *t, const hone_self_test_result *result) {
    static const char *const verdicts[] = {"right", "wrong", "untested"};
    cli_json json = {0};
    cli_json_text(&json, "device", t->device);
    cli_json_text(&json, "op", result->op);
    cli_json_text(&json, "kernel", result->kernel);
    cli_json_text(&json, "case", result->name);
    cli_json_text(&json, "result", verdicts[result->verdict]);
    cli_json_text(&json, "text", result->text);
    if (t->status == HONE_OK) t->status = cli_json_print(&json, &t->error);
}

static void report(void *context, const hone_self_test_result *result) {
    tally *const t = context;
    t->right += result->verdict == HONE_VERDICT_RIGHT;
    t->wrong += result->verdict == HONE_VERDICT_WRONG;
    t->untested += result->verdict == HONE_VERDICT_UNTESTED;
    if (t->settings->common.json) {
        print_json(t, result);
    } else if (result->verdict == HONE_VERDICT_WRONG) {
        printf("WRONG      %s %s %s: switched off\n", result->op, result->kernel, result->text);
    } else if (t->settings->common.verbose) {
        printf("%-10s %s %s %s\n", result->verdict == HONE_VERDICT_RIGHT ? "right" : "not tested", result->op,
               result->kernel, result->name ? result->name : result->text);
    }
}

// Opened as it is: the test itself is what follows.
static hone_status test_device(const char *name, const selftest_settings *settings, size_t *wrong, hone_error *error) {
    hone_device *device = NULL;
    hone_device_facts facts;
    tally t = {.settings = settings, .device = name};
    const hone_device_description description = {
        .name = name, .threads = (int)settings->common.threads, .testing = HONE_TESTING_NONE};
    hone_status status;
    CLI_WAIT(status, hone_device_open(&description, &device, error), error);
    cli_explain_device(status, error);
    HONE_TRY(status);
    hone_device_facts_read(device, &facts);
    t.device = hone_device_name(device);
    CLI_WAIT(status, hone_device_self_test(device, report, &t, error), error);
    if (status == HONE_OK && t.status != HONE_OK) {
        status = t.status;
        *error = t.error;
    }
    *wrong += t.wrong;
    if (status == HONE_OK && !settings->common.json) {
        if (facts.driver)
            printf("%s: %s, %s: %zu cases right, %zu kernels wrong, %zu kernels not tested\n", t.device, facts.hardware,
                   facts.driver, t.right, t.wrong, t.untested);
        else
            printf("%s: %s: its products were tested as it was opened; it has no kernels\n", t.device, facts.hardware);
    }
    hone_device_close(device);
    return status;
}

// Every device that is there.
static hone_status test_all(const selftest_settings *settings, size_t *wrong, hone_error *error) {
    static const char *const kinds[] = {"cpu", "vulkan", "webgpu"};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        size_t count = 0;
        hone_error reason = {0};
        if (hone_device_count(kinds[k], &count, &reason) != HONE_OK) {
            if (!settings->common.json) printf("%s: not usable: %s\n", kinds[k], cli_reason(&reason));
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            char name[32];
            snprintf(name, sizeof(name), k ? "%s:%zu" : "%s", kinds[k], i);
            HONE_TRY(test_device(name, settings, wrong, error));
        }
    }
    return HONE_OK;
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)arguments;
    (void)count;
    const selftest_settings *const settings = opaque;
    hone_error error = {0};
    size_t wrong = 0;
    cli_interrupt_watch(NULL);
    const hone_status status = settings->common.device ? test_device(settings->common.device, settings, &wrong, &error)
                                                       : test_all(settings, &wrong, &error);
    if (status != HONE_OK) return cli_fail(&error);
    return wrong ? CLI_FAILED : CLI_DONE;
}

const cli_command cli_selftest = {
    .name = "selftest",
    .arguments = "[OPTIONS]",
    .summary = "every kernel on every device against the CPU",
    .details =
        "Without --device, every device that is there. A kernel that is wrong is switched off, and named; the result\n"
        "is kept in ~/.cache/hone for this version of the driver, and read when the device is opened. -v lists all\n"
        "cases. The exit code is 1 where a kernel is wrong.",
    .computes = true,
    .settings_bytes = sizeof(selftest_settings),
    .run = run,
};
