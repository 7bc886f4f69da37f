// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and friends: the first request is noticed between steps, the second ends the process at once.
#ifndef HONE_CLI_INTERRUPT_H
#define HONE_CLI_INTERRUPT_H

#include <stdbool.h>

// SIGINT, SIGTERM and SIGHUP (unless it is ignored, as nohup does) set the flag below from now on. The first prints
// `notice` where standard error is a terminal; NULL = nothing.
void cli_interrupt_watch(const char *notice);
bool cli_interrupted(void);
// Whether the notice is printed at the signal itself: there is a terminal.
bool cli_interrupt_told(void);
// A closed pipe and a file-size limit come as errors of write from now on.
void cli_interrupt_ignore_write_signals(void);

#endif
