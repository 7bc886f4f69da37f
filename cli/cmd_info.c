// SPDX-License-Identifier: Apache-2.0
// hone info: says what a file is and what it holds.
#include <string.h>

#include "base/file.h"
#include "info.h"

static bool is_safetensors(const unsigned char *head, size_t size) {
    // A length of eight bytes, far below a terabyte, and the brace that opens the table.
    return size >= 9 && head[8] == '{' && head[5] == 0 && head[6] == 0 && head[7] == 0;
}

static hone_status tell(const info_settings *settings, const char *path, hone_error *error) {
    if (hone_path_is_folder(path)) return info_folder(settings, path, error);
    hone_source *source = NULL;
    unsigned char head[12] = {0};
    HONE_TRY(hone_file_open(path, &source, error));
    const size_t size = source->size < sizeof head ? (size_t)source->size : sizeof head;
    const hone_status status = hone_source_read(source, 0, head, size, "the first bytes", error);
    hone_source_close(&source);
    HONE_TRY(status);
    if (size >= 4 && memcmp(head, "GGUF", 4) == 0) return info_gguf(settings, path, error);
    if (size >= 4 && memcmp(head, "HONE", 4) == 0) return info_state(settings, path, error);
    if (is_safetensors(head, size)) return info_safetensors(settings, path, error);
    if (size >= 8 && memcmp(head + 4, "ET", 2) == 0) return info_pte(settings, path, error);
    HONE_FAIL(error, BAD_FORMAT,
              "'%s' is neither a GGUF nor a safetensors file, an ExecuTorch program, a state.hone, a run or an adapter "
              "folder",
              path);
}

static int run(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    hone_error error = {0};
    hone_status status = tell(opaque, arguments[0], &error);
    if (status == HONE_OK) status = cli_flush(&error);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_info = {
    .name = "info",
    .arguments = "FILE",
    .summary = "what a model, adapter, state or run folder holds",
    .details =
        "FILE is a GGUF file (a model or an adapter), a safetensors file, an ExecuTorch program (.pte),\na state.hone, "
        "a run folder or a PEFT folder.\n"
        "With -v tensors and operators are listed, and long lists of metadata in full; --json lists the tensors "
        "always.",
    .least = 1,
    .most = 1,
    .settings_bytes = sizeof(info_settings),
    .run = run,
};
