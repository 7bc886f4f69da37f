// SPDX-License-Identifier: Apache-2.0
// hone info by kind of file.
#ifndef HONE_CLI_INFO_H
#define HONE_CLI_INFO_H

#include "commands.h"

typedef struct info_settings {
    cli_common common;
} info_settings;

// Each prints what the file or folder holds: for people, or as one JSON object.
HONE_MUST_USE hone_status info_gguf(const info_settings *settings, const char *path, hone_error *error);
HONE_MUST_USE hone_status info_safetensors(const info_settings *settings, const char *path, hone_error *error);
HONE_MUST_USE hone_status info_state(const info_settings *settings, const char *path, hone_error *error);
HONE_MUST_USE hone_status info_pte(const info_settings *settings, const char *path, hone_error *error);
// A run or a PEFT adapter.
HONE_MUST_USE hone_status info_folder(const info_settings *settings, const char *path, hone_error *error);

#endif
