// SPDX-License-Identifier: Apache-2.0
// Reading options by table.
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define LONGEST_NAME 32

static const cli_option common_options[] = {
    {CLI_HEADING, .help = "Common options"},
    {CLI_FLAG, "json", .offset = offsetof(cli_common, json), .help = "one JSON object a line on standard output"},
    {CLI_FLAG, "quiet", 'q', .offset = offsetof(cli_common, quiet), .help = "print nothing but results and errors"},
    {CLI_FLAG, "verbose", 'v', .offset = offsetof(cli_common, verbose), .help = "print more"},
    {CLI_FLAG, "help", 'h', .offset = offsetof(cli_common, help), .help = "print this"},
    {CLI_END},
};

static const cli_option device_options[] = {
    {CLI_HEADING, .help = "Where it computes"},
    {CLI_TEXT, "device", .value = "NAME", .offset = offsetof(cli_common, device),
     .help = "auto, cpu, vulkan[:N] or webgpu[:N], as 'hone devices' lists them; auto is a GPU where there is a real "
             "one that "
             "works, else the CPU (auto)"},
    {CLI_INTEGER, "threads", .value = "N", .offset = offsetof(cli_common, threads), .low = 0, .high = 1024,
     .help = "CPU threads; 0 is one a core (0)"},
    {CLI_END},
};

enum { TABLES = 3 };

// The tables of a command in the order of its help; some may be NULL.
static void tables_of(const cli_command *command, const cli_option *tables[TABLES]) {
    tables[0] = command->options;
    tables[1] = command->computes ? device_options : NULL;
    tables[2] = common_options;
}

// --- names --------------------------------------------------------------------------------------------------------------

static size_t least_of(size_t a, size_t b, size_t c) {
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

// Insertions, deletions and replacements between two short words.
static size_t distance(const char *a, const char *b) {
    const size_t n = strlen(b);
    size_t row[LONGEST_NAME + 1];
    if (n > LONGEST_NAME || strlen(a) > LONGEST_NAME) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least_of(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *(*name_at)(const void *context, size_t index),
                        const void *context, size_t count) {
    const char *best = NULL;
    const size_t length = strlen(word);
    size_t best_distance = length < 4 ? 2 : length / 3 + 2; // farther is another word
    for (size_t i = 0; i < count; i++) {
        const char *const name = name_at(context, i);
        if (!name) continue;
        const bool begins = length >= 3 && strncmp(name, word, length) == 0;
        const size_t d = begins ? 0 : distance(word, name);
        if (d < best_distance) {
            best_distance = d;
            best = name;
        }
    }
    return best;
}

static const char *table_name_at(const void *context, size_t index) {
    const cli_option *const *const tables = context;
    for (int t = 0; t < TABLES; t++) {
        for (const cli_option *o = tables[t]; o && o->kind != CLI_END; o++) {
            if (index-- == 0) return o->kind == CLI_REFUSED ? NULL : o->name;
        }
    }
    return NULL;
}

static const cli_option *find_long(const cli_option *const tables[TABLES], const char *name, size_t length) {
    for (int t = 0; t < TABLES; t++) {
        for (const cli_option *o = tables[t]; o && o->kind != CLI_END; o++) {
            if (o->name && strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
        }
    }
    return NULL;
}

static const cli_option *find_letter(const cli_option *const tables[TABLES], char letter) {
    for (int t = 0; t < TABLES; t++) {
        for (const cli_option *o = tables[t]; o && o->kind != CLI_END; o++) {
            if (letter && o->letter == letter) return o;
        }
    }
    return NULL;
}

static int unknown(const cli_command *command, const cli_option *const tables[TABLES], const char *argument) {
    char word[LONGEST_NAME + 1] = "";
    const char *near = NULL;
    if (argument[0] == '-' && argument[1] == '-') {
        const size_t length = strcspn(argument + 2, "=");
        if (length < sizeof word) {
            memcpy(word, argument + 2, length);
            word[length] = 0;
            near = cli_nearest(word, table_name_at, tables, 256);
        }
    }
    const size_t shown = strcspn(argument, "=");
    if (near)
        return cli_usage("'hone %s' has no option %.*s: did you mean --%s?", command->name, (int)shown, argument, near);
    return cli_usage("'hone %s' has no option %.*s: 'hone %s --help' lists them", command->name, (int)shown, argument,
                     command->name);
}

// --- values -------------------------------------------------------------------------------------------------------------

bool cli_parse_number(const char *text, double *out) {
    char *end = NULL;
    // Blanks, hexadecimal numbers, "inf" and "nan" are what strtod takes and nobody means.
    if (text[strspn(text, "0123456789+-.eE")] != 0 || text[0] == 0) return false;
    *out = strtod(text, &end);
    return *end == 0 && isfinite(*out);
}

bool cli_parse_percent(const char *text, double *out) {
    char number[32];
    const size_t length = strlen(text);
    if (length < 2 || length > sizeof number || text[length - 1] != '%') return false;
    memcpy(number, text, length - 1);
    number[length - 1] = 0;
    double value;
    if (!cli_parse_number(number, &value) || value < 0 || value > 100) return false;
    *out = value / 100;
    return true;
}

static bool parse_integer(const char *text, int64_t *out) {
    char *end = NULL;
    if (text[strspn(text, "0123456789+-")] != 0 || text[0] == 0) return false;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *out = value;
    return *end == 0 && errno == 0;
}

static bool parse_size(const char *text, uint64_t *out) {
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {
        {"", 1},         {"K", 1024.0},      {"M", 1048576.0},      {"G", 1073741824.0},
        {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"kB", 1e3},
        {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},
    };
    char number[32];
    const size_t length = strspn(text, "0123456789.");
    if (length == 0 || length >= sizeof number) return false;
    memcpy(number, text, length);
    number[length] = 0;
    double value;
    if (!cli_parse_number(number, &value)) return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text + length, units[i].unit) != 0) continue;
        if (value * units[i].bytes > 1e18) return false;
        *out = (uint64_t)(value * units[i].bytes);
        return true;
    }
    return false;
}

// "from 1 to 64", "above 0", "of at least 1", "above 0 and up to 1".
static void print_range(const cli_option *option, hone_text *out) {
    const bool bounded = option->high > option->low;
    if (option->above) {
        hone_text_print(out, " above %g", option->low);
        if (bounded) hone_text_print(out, " and up to %.16g", option->high);
    } else if (bounded) {
        hone_text_print(out, " from %.16g to %.16g", option->low, option->high);
    } else {
        hone_text_print(out, " of at least %.16g", option->low);
    }
}

static int refuse_value(const cli_option *option, const char *value) {
    hone_text wanted = {0};
    switch (option->kind) {
    case CLI_INTEGER:
    case CLI_NUMBER:
        hone_text_print(&wanted, option->kind == CLI_INTEGER ? "a whole number" : "a number");
        print_range(option, &wanted);
        break;
    case CLI_SIZE:
        hone_text_print(&wanted, "a size as 800M or 1.5GiB");
        break;
    default:
        for (size_t i = 0; option->words[i]; i++) {
            const char *const joint = i == 0 ? "" : option->words[i + 1] ? ", " : " or ";
            hone_text_print(&wanted, "%s%s", joint, option->words[i]);
        }
    }
    const int code = cli_usage("--%s must be %s, not '%s'", option->name, wanted.bytes ? wanted.bytes : "", value);
    hone_text_clear(&wanted);
    return code;
}

static bool in_range(const cli_option *option, double value) {
    if (value < option->low || (option->above && value == option->low)) return false;
    return option->high <= option->low || value <= option->high;
}

static int set_value(const cli_option *option, const char *value, void *settings) {
    void *const target = (char *)settings + option->offset;
    switch (option->kind) {
    case CLI_TEXT:
        if (value[0] == 0 && !option->may_be_empty) return cli_usage("--%s is empty", option->name);
        *(const char **)target = value;
        return 0;
    case CLI_TEXTS: {
        cli_texts *const texts = target;
        if (value[0] == 0) return cli_usage("--%s is empty", option->name);
        if (texts->count == CLI_MOST_TEXTS)
            return cli_usage("--%s is given more than %d times", option->name, CLI_MOST_TEXTS);
        texts->items[texts->count++] = value;
        return 0;
    }
    case CLI_INTEGER: {
        int64_t number;
        if (!parse_integer(value, &number) || !in_range(option, (double)number)) return refuse_value(option, value);
        *(int64_t *)target = number;
        return 0;
    }
    case CLI_NUMBER: {
        double number;
        if (!cli_parse_number(value, &number) || !in_range(option, number)) return refuse_value(option, value);
        *(double *)target = number;
        return 0;
    }
    case CLI_SIZE:
        return parse_size(value, target) ? 0 : refuse_value(option, value);
    default:
        for (int i = 0; option->words[i]; i++) {
            if (strcmp(value, option->words[i]) != 0) continue;
            *(int *)target = i;
            return 0;
        }
        return refuse_value(option, value);
    }
}

// --- reading ------------------------------------------------------------------------------------------------------------

typedef struct reader {
    const cli_command *command;
    const cli_option *tables[TABLES];
    char **argv;
    int argc, next;
    void *settings;
} reader;

static void note_given(const reader *r, const cli_option *option) {
    const cli_option *const own = r->command->options;
    for (size_t i = 0; own && own[i].kind != CLI_END; i++) {
        if (&own[i] == option) ((cli_common *)r->settings)->given[i / 64] |= (uint64_t)1 << i % 64;
    }
}

bool cli_given(const cli_command *command, const void *settings, size_t offset) {
    const cli_option *const own = command->options;
    for (size_t i = 0; own && own[i].kind != CLI_END; i++) {
        const bool given = ((const cli_common *)settings)->given[i / 64] >> i % 64 & 1;
        if (given && own[i].offset == offset) return true;
    }
    return false;
}

static int read_option(reader *r, const char *argument) {
    const bool is_long = argument[1] == '-';
    const char *inline_value = NULL;
    const cli_option *option;
    if (is_long) {
        const size_t length = strcspn(argument + 2, "=");
        option = find_long(r->tables, argument + 2, length);
        if (argument[2 + length] == '=') inline_value = argument + 2 + length + 1;
    } else {
        option = find_letter(r->tables, argument[1]);
        if (argument[2]) inline_value = argument + 2;
    }
    if (!option) return unknown(r->command, r->tables, argument);
    if (option->kind == CLI_REFUSED) return cli_usage("--%s %s", option->name, option->help);
    note_given(r, option);
    if (option->kind == CLI_FLAG || option->kind == CLI_FLAG_OFF) {
        if (inline_value && !is_long) return unknown(r->command, r->tables, argument);
        if (inline_value) return cli_usage("--%s takes no value", option->name);
        *((bool *)((char *)r->settings + option->offset)) = option->kind == CLI_FLAG;
        return 0;
    }
    if (!inline_value) {
        if (r->next == r->argc)
            return cli_usage("--%s needs a value: --%s %s", option->name, option->name, option->value);
        inline_value = r->argv[r->next++];
    }
    return set_value(option, inline_value, r->settings);
}

static int check_count(const cli_command *command, const char **arguments, size_t count) {
    if (count > command->most)
        return cli_usage("'%s' is one argument too many: hone %s %s", arguments[command->most], command->name,
                         command->arguments);
    if (count < command->least)
        return cli_usage("'hone %s' needs %s: hone %s %s", command->name,
                         command->least - count > 1 ? "more arguments" : "one more argument", command->name,
                         command->arguments);
    for (size_t i = 0; i < count; i++) {
        if (arguments[i][0] == 0)
            return cli_usage("argument %zu is empty: hone %s %s", i + 1, command->name, command->arguments);
    }
    return 0;
}

// A name that no device has is wrong usage; whether one is there is found out when it is opened.
static int check_device(const char *name) {
    static const char *const whole[] = {"auto", "cpu", "null", "vulkan", "webgpu"};
    if (!name) return 0;
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (strcmp(name, whole[i]) == 0) return 0;
    }
    const bool gpu = strncmp(name, "vulkan:", 7) == 0 || strncmp(name, "webgpu:", 7) == 0;
    if (gpu && name[7] && strlen(name + 7) <= 3 && strspn(name + 7, "0123456789") == strlen(name + 7)) return 0;
    return cli_usage("there is no device '%s': use auto, cpu, vulkan, vulkan:N, webgpu or webgpu:N", name);
}

int cli_options_read(const cli_command *command, int argc, char **argv, void *settings, const char **arguments,
                     size_t *count) {
    reader r = {.command = command, .argv = argv, .argc = argc, .settings = settings};
    tables_of(command, r.tables);
    bool only_arguments = false; // behind "--"
    *count = 0;
    while (r.next < argc) {
        const char *const argument = argv[r.next++];
        if (!only_arguments && strcmp(argument, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && argument[0] == '-' && argument[1]) {
            const int code = read_option(&r, argument);
            if (code) return code;
        } else {
            arguments[(*count)++] = argument;
        }
    }
    const cli_common *const common = settings;
    if (common->help) return 0;
    const int code = check_count(command, arguments, *count);
    return code || !command->computes ? code : check_device(common->device);
}

// --- help ---------------------------------------------------------------------------------------------------------------

#define HELP_COLUMN 28
#define HELP_WIDTH  100

// Appends words, going on at `column` when a line is full; `used` is where the line stands.
static void print_wrapped(hone_text *out, const char *text, size_t column, size_t used) {
    while (*text) {
        const size_t word = strcspn(text, " ");
        if (used + 1 + word > HELP_WIDTH && used > column) {
            if (out->length > 0 && out->bytes[out->length - 1] == ' ') out->bytes[--out->length] = 0;
            hone_text_print(out, "\n%*s", (int)column, "");
            used = column;
        }
        hone_text_append(out, text, word);
        used += word;
        text += word;
        if (*text == ' ') {
            hone_text_append(out, " ", 1);
            used++;
            text++;
        }
    }
    hone_text_append(out, "\n", 1);
}

static void print_option(hone_text *out, const cli_option *option) {
    const size_t start = out->length;
    if (option->letter) {
        hone_text_print(out, "  -%c, --%s", option->letter, option->name);
    } else {
        hone_text_print(out, "  --%s", option->name);
    }
    if (option->value) hone_text_print(out, " %s", option->value);
    size_t used = out->length - start;
    if (used + 2 > HELP_COLUMN) {
        hone_text_append(out, "\n", 1);
        used = 0;
    }
    hone_text_print(out, "%*s", (int)(HELP_COLUMN - used), "");
    print_wrapped(out, option->help, HELP_COLUMN, HELP_COLUMN);
}

void cli_options_help(const cli_command *command, hone_text *out) {
    const cli_option *tables[TABLES];
    tables_of(command, tables);
    hone_text_print(out, "hone %s: %s\n\nusage: hone %s %s\n", command->name, command->summary, command->name,
                    command->arguments);
    for (int t = 0; t < TABLES; t++) {
        for (const cli_option *o = tables[t]; o && o->kind != CLI_END; o++) {
            if (o->kind == CLI_HEADING) {
                hone_text_print(out, "\n%s:\n", o->help);
            } else if (o->kind != CLI_REFUSED) {
                print_option(out, o);
            }
        }
    }
    if (command->details) hone_text_print(out, "\n%s\n", command->details);
}
