// SPDX-License-Identifier: Apache-2.0
// Signals.
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

static volatile sig_atomic_t requests;
static const char *first_notice; // set before the handler is
static size_t notice_bytes;

static void note(int number) {
    (void)number;
    requests++;
    if (requests > 1) _exit(CLI_INTERRUPTED);
    if (notice_bytes > 0) {
        const int old = errno;
        if (write(STDERR_FILENO, first_notice, notice_bytes) < 0) notice_bytes = 0;
        errno = old;
    }
}

static void watch(int number) {
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void cli_interrupt_watch(const char *notice) {
    struct sigaction old;
    if (notice && isatty(STDERR_FILENO)) {
        first_notice = notice;
        notice_bytes = strlen(notice);
    }
    watch(SIGINT);
    watch(SIGTERM);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) watch(SIGHUP);
}

bool cli_interrupted(void) {
    return requests > 0;
}

bool cli_interrupt_told(void) {
    return notice_bytes > 0;
}

void cli_interrupt_ignore_write_signals(void) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}
