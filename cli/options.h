// SPDX-License-Identifier: Apache-2.0
// The options of a command as one table, from which they are read, checked and explained.
#ifndef HONE_CLI_OPTIONS_H
#define HONE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

typedef enum cli_kind {
    CLI_END,      // behind the last row
    CLI_HEADING,  // a line of the help, no option
    CLI_FLAG,     // bool: becomes true
    CLI_FLAG_OFF, // bool: becomes false
    CLI_TEXT,     // const char *
    CLI_TEXTS,    // cli_texts: may be given several times
    CLI_INTEGER,  // int64_t from low to high
    CLI_NUMBER,   // double from low to high
    CLI_SIZE,     // uint64_t bytes: 800M, 1.5GiB, 2GB
    CLI_CHOICE,   // int: the place of the word in `words`
    CLI_REFUSED,  // known, but not here: `help` says why; not in the help
} cli_kind;

#define CLI_MOST_TEXTS 256
typedef struct cli_texts {
    const char *items[CLI_MOST_TEXTS]; // in the order of the command line
    size_t count;
} cli_texts;

typedef struct cli_option {
    cli_kind kind;
    const char *name;  // without the dashes
    char letter;       // 0 = no short form
    const char *value; // how the help calls the value; NULL for flags
    size_t offset;     // of the target in the command's settings
    double low, high;
    bool above;               // low itself is not allowed
    bool may_be_empty;        // TEXT
    const char *const *words; // CHOICE; NULL behind the last
    const char *help;         // with the default in brackets
} cli_option;

// What each command takes; the first member of its settings.
typedef struct cli_common {
    bool help, json, quiet, verbose;
    const char *device;
    int64_t threads;
    int64_t submit_ms; // of a GPU; 0: the default
    uint64_t given[2]; // bit i: row i of the command's own table was on the command line
} cli_common;

typedef struct cli_command {
    const char *name;
    const char *arguments;            // "MODEL DATA -o RUN", as in the usage line
    const char *summary;              // one line for the list of commands
    const char *details;              // paragraphs behind the options in --help; NULL = none
    const cli_option *options;        // its own; NULL = none
    bool computes;                    // takes --device and --threads
    size_t least, most;               // positional arguments
    size_t settings_bytes;            // of a struct that begins with a cli_common
    void (*defaults)(void *settings); // NULL = all zero
    int (*run)(void *settings, const char *const *arguments, size_t count); // the exit code
} cli_command;

// Reads argv[0, argc), what stands behind the command's name, into settings and arguments ([argc]). Returns 0, or prints
// what is wrong with it and returns 2.
int cli_options_read(const cli_command *command, int argc, char **argv, void *settings, const char **arguments,
                     size_t *count);
// Whether the option whose target is at `offset` was on the command line.
bool cli_given(const cli_command *command, const void *settings, size_t offset);
// The command's help.
void cli_options_help(const cli_command *command, hone_text *out);

// "5%" into a fraction of 1; false for anything else, also outside of [0, 100].
bool cli_parse_percent(const char *text, double *out);
// The whole text as a finite number.
bool cli_parse_number(const char *text, double *out);
// The one of `count` names that `word` was most likely meant to be; NULL if none is near.
const char *cli_nearest(const char *word, const char *(*name_at)(const void *context, size_t index),
                        const void *context, size_t count);

#endif
