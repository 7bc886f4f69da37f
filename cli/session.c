// SPDX-License-Identifier: Apache-2.0
// Opening and closing.
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "output.h"

hone_status cli_stopped(hone_error *error) {
    return hone_error_set(error, HONE_INTERRUPTED, "interrupted");
}

void cli_note_switched_off(hone_device *device) {
    hone_device_facts facts;
    hone_device_facts_read(device, &facts);
    for (size_t i = 0; i < facts.off_count; i++)
        cli_note("device %s: a kernel is wrong on this GPU and not used: %s", hone_device_name(device), facts.off[i]);
}

const char *cli_reason(const hone_error *error) {
    static const char *const kinds[] = {"vulkan: ", "webgpu: "};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(error->message, kinds[i], strlen(kinds[i])) == 0) return error->message + strlen(kinds[i]);
    }
    return error->message;
}

void cli_explain_device(hone_status status, hone_error *error) {
    if (status == HONE_NOT_FOUND || status == HONE_UNSUPPORTED)
        hone_error_set(error, status, "%s; 'hone devices' lists what is there, and --device cpu needs no GPU",
                       error->message);
}

// Adds why auto did not take this GPU.
static void why_not(const char *name, hone_text *why) {
    const hone_device_description description = {.name = name, .testing = HONE_TESTING_KNOWN};
    hone_device *device = NULL;
    hone_device_facts facts;
    hone_error reason = {0};
    hone_status status;
    CLI_WAIT(status, hone_device_open(&description, &device, &reason), &reason);
    if (status != HONE_OK) {
        hone_text_print(why, "; %s: %s", name, cli_reason(&reason));
    } else {
        hone_device_facts_read(device, &facts);
        hone_text_print(why, "; %s: %s %s", name, facts.hardware,
                        facts.software ? "is a program, not a GPU" : "failed when it was tried");
    }
    hone_device_close(device);
}

// For -v: that auto found no GPU to use, and why, as 'hone devices' tells it.
static void tell_auto(const hone_device *taken) {
    static const char *const kinds[] = {"vulkan", "webgpu"};
    hone_text why = {0};
    if (strcmp(hone_device_name(taken), "cpu") != 0) return;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        size_t count = 0;
        hone_error reason = {0};
        if (hone_device_count(kinds[k], &count, &reason) != HONE_OK)
            hone_text_print(&why, "; %s: %s", kinds[k], cli_reason(&reason));
        for (size_t i = 0; i < count; i++) {
            char name[32];
            snprintf(name, sizeof(name), "%s:%zu", kinds[k], i);
            why_not(name, &why);
        }
    }
    cli_note("device auto: the CPU is taken%s", why.bytes ? why.bytes : "");
    hone_text_clear(&why);
}

hone_status cli_device_open(const cli_common *common, hone_device **out, hone_error *error) {
    *out = NULL;
    const hone_device_description description = {
        .name = common->device, .threads = (int)common->threads, .submit_ms = (int)common->submit_ms};
    hone_status status;
    const double start = hone_clock_seconds();
    bool told = false;
    do {
        status = hone_device_open(&description, out, error);
        if (status == HONE_PENDING && cli_interrupted()) status = cli_stopped(error);
        if (status == HONE_PENDING && !told && hone_clock_seconds() - start > 1) {
            cli_note("device %s: its kernels are compiled and tested, which is done once for a driver",
                     common->device ? common->device : "auto");
            told = true;
        }
    } while (status == HONE_PENDING);
    cli_explain_device(status, error);
    if (status != HONE_OK) return status;
    cli_note_switched_off(*out);
    if (common->verbose && (!common->device || strcmp(common->device, "auto") == 0)) tell_auto(*out);
    return HONE_OK;
}

hone_status cli_session_open(const cli_common *common, const char *model, const char *adapter, cli_session *out,
                             hone_error *error) {
    *out = (cli_session){0};
    hone_status status = cli_device_open(common, &out->device, error);
    if (status == HONE_OK) CLI_WAIT(status, hone_model_open(out->device, model, &out->model, error), error);
    if (status == HONE_OK && adapter) CLI_WAIT(status, hone_lora_open(out->model, adapter, &out->lora, error), error);
    if (status == HONE_OK && cli_interrupted()) status = cli_stopped(error);
    if (status != HONE_OK) cli_session_close(out);
    return status;
}

void cli_session_close(cli_session *session) {
    hone_lora_destroy(session->lora);
    hone_model_close(session->model);
    hone_device_close(session->device);
    *session = (cli_session){0};
}

hone_tokenizer *cli_session_tokenizer(const cli_session *session) {
    return hone_model_tokenizer(session->model);
}

static int64_t context_of(const hone_gguf *gguf) {
    const char *architecture = NULL;
    char key[160];
    int64_t context = 0;
    if (hone_gguf_text(gguf, "general.architecture", &architecture, NULL) != HONE_OK) return 0;
    snprintf(key, sizeof key, "%s.context_length", architecture);
    return hone_gguf_integer(gguf, key, &context, NULL) == HONE_OK && context > 0 ? context : 0;
}

hone_status cli_vocabulary_open(const char *model, cli_vocabulary *out, hone_error *error) {
    *out = (cli_vocabulary){0};
    HONE_TRY(hone_gguf_open(model, &out->gguf, error));
    const hone_status status = hone_tokenizer_from_gguf(out->gguf, NULL, &out->tokenizer, error);
    if (status == HONE_OK) {
        out->context = context_of(out->gguf);
    } else {
        cli_vocabulary_close(out);
    }
    return status;
}

void cli_vocabulary_close(cli_vocabulary *vocabulary) {
    hone_tokenizer_destroy(vocabulary->tokenizer);
    hone_gguf_close(vocabulary->gguf);
    *vocabulary = (cli_vocabulary){0};
}
