// SPDX-License-Identifier: Apache-2.0
// hone ops: the table of operators, as the library has it.
#include <stdio.h>
#include <string.h>

#include "commands.h"

typedef struct ops_settings {
    cli_common common;
} ops_settings;

// Kernels are of use only in a build that has the devices.
static bool on_gpu(const hone_op *op) {
    return op->variants && hone_device_built("vulkan");
}

static const char *devices_of(const hone_op *op) {
    return on_gpu(op) ? "cpu, vulkan, webgpu" : "cpu";
}

static const char *gradient_of(const hone_op *op) {
    if (op->gradient_text) return op->gradient_text;
    return op->gradient ? "yes" : "none";
}

static hone_status print_json(const hone_op *op, hone_error *error) {
    cli_json json = {0};
    cli_json_bytes(&json, "name", op->schema, hone_op_name_length(op));
    cli_json_text(&json, "schema", op->schema);
    cli_json_text(&json, "summary", op->summary);
    cli_json_bool(&json, "differentiable", op->gradient != NULL);
    cli_json_text(&json, "gradient", op->gradient_text);
    cli_json_raw(&json, "devices", on_gpu(op) ? "[\"cpu\",\"vulkan\",\"webgpu\"]" : "[\"cpu\"]");
    cli_json_bool(&json, "in_place", (op->flags & (HONE_OP_IN_PLACE | HONE_OP_IN_PLACE_1)) != 0);
    cli_json_bool(&json, "view", (op->flags & HONE_OP_VIEW) != 0);
    cli_json_bool(&json, "mutates", (op->flags & HONE_OP_EFFECT) != 0);
    return cli_json_print(&json, error);
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    const ops_settings *const settings = opaque;
    hone_error error = {0};
    size_t shown = 0;
    for (size_t i = 0; i < hone_op_count(); i++) {
        const hone_op *const op = hone_op_at(i);
        if (count > 0 && !strstr(op->schema, arguments[0])) continue;
        shown++;
        if (settings->common.json) {
            if (print_json(op, &error) != HONE_OK) return cli_fail(&error);
            continue;
        }
        printf("%s\n    %s\n", op->schema, op->summary ? op->summary : "");
        printf("    gradient: %s; devices: %s\n", gradient_of(op), devices_of(op));
    }
    if (count > 0 && shown == 0) {
        (void)hone_error_set(&error, HONE_NOT_FOUND, "no operator has '%s' in its schema: 'hone ops' lists all",
                             arguments[0]);
        return cli_fail(&error);
    }
    if (!settings->common.json && !settings->common.quiet) printf("%zu operators\n", shown);
    return CLI_DONE;
}

const cli_command cli_ops = {
    .name = "ops",
    .arguments = "[WORD]",
    .summary = "the operators: schema, gradient, devices",
    .details = "With WORD, only those whose schema contains it.",
    .most = 1,
    .settings_bytes = sizeof(ops_settings),
    .run = run,
};
