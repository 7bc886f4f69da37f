// SPDX-License-Identifier: Apache-2.0
// Signals.
#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "output.h"

static volatile sig_atomic_t requests;

static void note(int number) {
    (void)number;
    requests++;
    if (requests > 1) _exit(CLI_INTERRUPTED);
}

void cli_interrupt_watch(void) {
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupted(void) {
    return requests > 0;
}

void cli_interrupt_ignore_write_signals(void) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}
