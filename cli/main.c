// SPDX-License-Identifier: Apache-2.0
// hone: finds the command, reads its options, runs it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "commands.h"

static const cli_command *const commands[] = {
    &cli_train, &cli_generate, &cli_eval, &cli_data,    &cli_tokenize, &cli_plan,
    &cli_info,  &cli_run,      &cli_ops,  &cli_devices, &cli_selftest, &cli_bench,
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const char *command_name_at(const void *context, size_t index) {
    (void)context;
    return commands[index]->name;
}

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name) {
    hone_text list = {0};
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *const joint = i == 0 ? "" : i + 1 < COMMAND_COUNT ? ", " : " and ";
        hone_text_print(&list, "%s%s", joint, commands[i]->name);
    }
    const char *const near = cli_nearest(name, command_name_at, NULL, COMMAND_COUNT);
    int code;
    if (near) {
        code = cli_usage("there is no command '%s': did you mean %s? There are %s", name, near, list.bytes);
    } else {
        code = cli_usage("there is no command '%s': there are %s", name, list.bytes);
    }
    hone_text_clear(&list);
    return code;
}

static void print_overview(FILE *out) {
    fprintf(out, "hone fine-tunes 4-bit language models.\n\nusage: hone COMMAND [ARGUMENTS] [OPTIONS]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n'hone COMMAND --help' explains one; 'hone --version' prints the version.\n"
                 "Exit codes: 0 done, 1 failed, 2 wrong usage,\n"
                 "130 interrupted: training that has done a step saves its state first, unless interrupted twice.\n");
}

static int print_help(const cli_command *command) {
    hone_text help = {0};
    cli_options_help(command, &help);
    fputs(help.bytes ? help.bytes : "", stdout);
    hone_text_clear(&help);
    return CLI_DONE;
}

static int run_command(const cli_command *command, int argc, char **argv) {
    void *settings = NULL;
    const char **arguments = NULL;
    hone_error error = {0};
    size_t count = 0;
    int code = CLI_FAILED;
    if (hone_allocate(1, command->settings_bytes, "the settings", &settings, &error) != HONE_OK ||
        hone_allocate((size_t)argc + 1, sizeof(char *), "the arguments", (void **)&arguments, &error) != HONE_OK) {
        code = cli_fail(&error);
    } else {
        if (command->defaults) command->defaults(settings);
        code = cli_options_read(command, argc, argv, settings, arguments, &count);
        if (code == 0)
            code =
                ((const cli_common *)settings)->help ? print_help(command) : command->run(settings, arguments, count);
    }
    hone_free(arguments);
    hone_free(settings);
    return code;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_overview(stderr);
        return CLI_WRONG_USAGE;
    }
    const char *const name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        puts("hone " HONE_VERSION);
        return CLI_DONE;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        if (argc == 2) {
            print_overview(stdout);
            return CLI_DONE;
        }
        const cli_command *const asked = find_command(argv[2]);
        return asked ? print_help(asked) : unknown_command(argv[2]);
    }
    if (name[0] == '-')
        return cli_usage("options stand behind the command: hone COMMAND %s; 'hone help' lists commands", name);
    const cli_command *const command = find_command(name);
    return command ? run_command(command, argc - 2, argv + 2) : unknown_command(name);
}

int main(int argc, char **argv) {
    cli_interrupt_ignore_write_signals();
    // Mesa's layer that sorts GPUs by the display they are connected to prints a line where there is no display.
    (void)setenv("NODEVICE_SELECT", "1", 0);
    const int code = dispatch(argc, argv);
    hone_error error = {0};
    if (cli_flush(&error) != HONE_OK) return code != CLI_DONE ? code : cli_fail(&error);
    return code;
}
