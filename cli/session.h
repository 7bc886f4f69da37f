// SPDX-License-Identifier: Apache-2.0
// What most commands begin with: a device, a model on it, perhaps an adapter; or the model's tokenizer alone.
#ifndef HONE_CLI_SESSION_H
#define HONE_CLI_SESSION_H

#include <hone/hone.h>

#include "interrupt.h"
#include "options.h"
#include "text/tokenizer.h"

typedef struct cli_session {
    hone_device *device;
    hone_model *model;
    hone_lora *lora; // NULL without an adapter
} cli_session;

// With what a device says of itself on standard error: that its kernels are compiled, what is switched off.
HONE_MUST_USE hone_status cli_device_open(const cli_common *common, hone_device **out, hone_error *error);
// `adapter` may be NULL. On failure nothing stays open.
HONE_MUST_USE hone_status cli_session_open(const cli_common *common, const char *model, const char *adapter,
                                           cli_session *out, hone_error *error);
void cli_session_close(cli_session *session);
// A line on standard error for each kernel that the device's self-test has switched off.
void cli_note_switched_off(hone_device *device);
// Adds to the error of a device that is not there, or cannot be used, what to do.
void cli_explain_device(hone_status status, hone_error *error);
// Why a device cannot be used, without its kind, which stands before it where devices are listed.
const char *cli_reason(const hone_error *error);
// Encoding writes into the tokenizer's own working memory.
hone_tokenizer *cli_session_tokenizer(const cli_session *session);

// The tokenizer of a model file whose weights stay unread.
typedef struct cli_vocabulary {
    hone_gguf *gguf;
    hone_tokenizer *tokenizer;
    int64_t context; // tokens the model was made for; 0 = the file does not say
} cli_vocabulary;
HONE_MUST_USE hone_status cli_vocabulary_open(const char *model, cli_vocabulary *out, hone_error *error);
void cli_vocabulary_close(cli_vocabulary *vocabulary);

// Calls again while the call has more to do; HONE_INTERRUPTED when asked to stop meanwhile.
#define CLI_WAIT(status, call, error)                                                                                  \
    do {                                                                                                               \
        (status) = (call);                                                                                             \
        if ((status) == HONE_PENDING && cli_interrupted()) (status) = cli_stopped(error);                              \
    } while ((status) == HONE_PENDING)
hone_status cli_stopped(hone_error *error);

#endif
