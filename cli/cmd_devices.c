// SPDX-License-Identifier: Apache-2.0
// hone devices: what there is to compute on, and why the rest cannot be used.
#include <stdio.h>
#include <string.h>

#include "commands.h"

typedef struct devices_settings {
    cli_common common;
} devices_settings;

static const char *const kinds[] = {"cpu", "vulkan", "webgpu"};

// A size that may be "no limit" or "not known".
static const char *size_or(size_t bytes, const char *otherwise) {
    return bytes ? cli_bytes(bytes) : otherwise;
}

static void print_text(const char *name, const hone_device_facts *facts) {
    printf("%-10s %s%s\n", name, facts->hardware,
           facts->software ? " (a program, not a GPU: auto leaves it alone)" : "");
    if (!facts->driver) return;
    printf("           driver %s; memory %s\n", facts->driver, size_or(facts->memory_bytes, "not told"));
    printf("           buffers of %s, bindings of %s, %u groups; features used: %s\n",
           size_or(facts->buffer_bytes, "any size"), size_or(facts->binding_bytes, "any size"), facts->groups,
           facts->features[0] ? facts->features : "none beyond the plain kernels");
    for (size_t i = 0; i < facts->off_count; i++) printf("           switched off: %s\n", facts->off[i]);
}

static hone_status print_json(const char *name, const hone_device_facts *facts, hone_error *error) {
    cli_json json = {0};
    cli_json_text(&json, "device", name);
    cli_json_bool(&json, "usable", true);
    cli_json_text(&json, "hardware", facts->hardware);
    cli_json_text(&json, "driver", facts->driver);
    cli_json_bool(&json, "software", facts->software);
    if (facts->memory_bytes) cli_json_integer(&json, "memory_bytes", (int64_t)facts->memory_bytes);
    if (facts->buffer_bytes) cli_json_integer(&json, "buffer_bytes", (int64_t)facts->buffer_bytes);
    if (facts->binding_bytes) cli_json_integer(&json, "binding_bytes", (int64_t)facts->binding_bytes);
    if (facts->groups) cli_json_integer(&json, "groups", facts->groups);
    cli_json_text(&json, "features", facts->features);
    cli_json_integer(&json, "switched_off", (int64_t)facts->off_count);
    return cli_json_print(&json, error);
}

static hone_status print_reason(const char *name, const char *reason, bool as_json, hone_error *error) {
    if (!as_json) {
        printf("%-10s not usable: %s\n", name, reason);
        return HONE_OK;
    }
    cli_json json = {0};
    cli_json_text(&json, "device", name);
    cli_json_bool(&json, "usable", false);
    cli_json_text(&json, "reason", reason);
    return cli_json_print(&json, error);
}

// Listing devices takes a moment only: what an earlier self-test has found is shown, none is made.
static hone_status show(const char *name, const devices_settings *settings, hone_error *error) {
    hone_device *device = NULL;
    hone_error reason = {0};
    const hone_device_description description = {.name = name, .testing = HONE_TESTING_KNOWN};
    hone_status status;
    CLI_WAIT(status, hone_device_open(&description, &device, &reason), &reason);
    if (status != HONE_OK) return print_reason(name, cli_reason(&reason), settings->common.json, error);
    hone_device_facts facts;
    hone_device_facts_read(device, &facts);
    if (settings->common.json)
        status = print_json(name, &facts, error);
    else
        print_text(name, &facts);
    hone_device_close(device);
    return status;
}

static hone_status show_kind(const char *kind, const devices_settings *settings, hone_error *error) {
    size_t count = 0;
    hone_error reason = {0};
    if (strcmp(kind, "cpu") == 0) return show(kind, settings, error);
    if (hone_device_count(kind, &count, &reason) != HONE_OK)
        return print_reason(kind, cli_reason(&reason), settings->common.json, error);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s:%zu", kind, i);
        HONE_TRY(show(name, settings, error));
    }
    return HONE_OK;
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)arguments;
    (void)count;
    const devices_settings *const settings = opaque;
    hone_error error = {0};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (show_kind(kinds[i], settings, &error) != HONE_OK) return cli_fail(&error);
    }
    return CLI_DONE;
}

const cli_command cli_devices = {
    .name = "devices",
    .arguments = "",
    .summary = "what there is to compute on, with limits and features",
    .details =
        "The names in the first column are what --device takes. 'auto' takes a real GPU through Vulkan, else through\n"
        "WebGPU, else the CPU; -v says why. HONE_WGPU names a libwgpu_native.so for WebGPU to use.",
    .settings_bytes = sizeof(devices_settings),
    .run = run,
};
