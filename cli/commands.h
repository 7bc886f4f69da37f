// SPDX-License-Identifier: Apache-2.0
// The commands, each described and run by a cmd_<name>.c.
#ifndef HONE_CLI_COMMANDS_H
#define HONE_CLI_COMMANDS_H

#include "options.h"
#include "output.h"
#include "session.h"

extern const cli_command cli_train;
extern const cli_command cli_generate;
extern const cli_command cli_eval;
extern const cli_command cli_data;
extern const cli_command cli_tokenize;
extern const cli_command cli_plan;
extern const cli_command cli_info;
extern const cli_command cli_run;
extern const cli_command cli_ops;
extern const cli_command cli_devices;
extern const cli_command cli_selftest;
extern const cli_command cli_bench;

#endif
