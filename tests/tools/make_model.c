// SPDX-License-Identifier: Apache-2.0
// make_model FILE [--layers N] [--width N] [--inner N] [--heads N] [--kv-heads N] [--context N] [--seed N]
// [--types Q4_1,F16,..] [--arch NAME] [--pre NAME] [--untied] [--no-template] [--add-bos]: a small random
// model.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny_model.h"

static int usage(void) {
    fprintf(stderr, "usage: make_model FILE [--layers N] [--width N] [--inner N] [--heads N] [--kv-heads N] "
                    "[--context N]\n"
                    "       [--seed N] [--types LIST] [--arch NAME] [--pre NAME] [--untied] [--no-template] "
                    "[--add-bos]\n");
    return 2;
}

int main(int argc, char **argv) {
    tiny_model model = {0};
    int seed = 0;
    const struct {
        const char *name;
        int *number;
        const char **text;
        bool *flag;
    } options[] = {
        {"--layers", .number = &model.layers},
        {"--width", .number = &model.width},
        {"--inner", .number = &model.inner},
        {"--heads", .number = &model.heads},
        {"--kv-heads", .number = &model.kv_heads},
        {"--context", .number = &model.context},
        {"--seed", .number = &seed},
        {"--types", .text = &model.types},
        {"--arch", .text = &model.architecture},
        {"--pre", .text = &model.pre},
        {"--untied", .flag = &model.untied},
        {"--no-template", .flag = &model.no_template},
        {"--add-bos", .flag = &model.add_bos},
    };
    const size_t option_count = sizeof(options) / sizeof(options[0]);
    if (argc < 2 || argv[1][0] == '-') return usage();
    for (int i = 2; i < argc; i++) {
        size_t o = 0;
        while (o < option_count && strcmp(argv[i], options[o].name) != 0) o++;
        if (o == option_count || (!options[o].flag && i + 1 == argc)) return usage();
        if (options[o].flag) *options[o].flag = true;
        if (options[o].text) *options[o].text = argv[++i];
        if (options[o].number) *options[o].number = atoi(argv[++i]);
    }
    model.seed = (uint64_t)seed;
    hone_error error = {0};
    if (tiny_model_write(argv[1], &model, &error) == HONE_OK) return 0;
    fprintf(stderr, "make_model: %s\n", error.message);
    return 1;
}
