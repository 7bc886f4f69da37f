// SPDX-License-Identifier: Apache-2.0
// The settings of a run as text for its report, and where its time went.
#include <stdarg.h>
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "train.h"

static void add(train_run *run, const char *name, const char *format, ...) HONE_PRINTF(3, 4);

static void add(train_run *run, const char *name, const char *format, ...) {
    if (run->field_count == TRAIN_MOST_FIELDS) return;
    char *const value = run->values[run->field_count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof run->values[0], format, arguments);
    va_end(arguments);
    run->fields[run->field_count++] = (hone_report_field){name, value};
}

static void add_adapter(train_run *run) {
    const hone_lora_options *const o = &run->lora_options;
    const char *const from = run->settings->init_adapter;
    add(run, "Trained parameters", "%s", cli_count((int64_t)hone_lora_parameters(run->session.lora)));
    if (from) {
        add(run, "Started from", "%s", from);
        return;
    }
    add(run, "Rank, alpha", "%d, %g", o->rank, o->alpha > 0 ? o->alpha : 2.0 * o->rank);
    add(run, "Targets", "%s", run->settings->target ? run->settings->target : "q,k,v,o,gate,up,down");
}

static void add_optimiser(train_run *run) {
    static const char *const schedules[] = {"linear", "constant", "cosine"};
    const hone_train_options *const o = hone_trainer_options(run->trainer);
    add(run, "Steps", "%lld (%.4g epochs)", (long long)o->steps, o->epochs);
    add(run, "Batch", "%lld x %lld rows%s", (long long)o->accumulate, (long long)o->batch, o->pack ? ", packed" : "");
    add(run, "Learning rate", "%g, %s to %g, %lld steps of warm-up", o->learning_rate, schedules[o->schedule],
        o->learning_rate_min, (long long)o->warmup);
    add(run, "AdamW", "beta1 %g, beta2 %g, epsilon %g, weight decay %g", o->beta1, o->beta2, o->epsilon,
        o->weight_decay);
    if (o->clip > 0) add(run, "Gradient clipped at", "%g", o->clip);
    add(run, "Dropout", "%g", o->dropout);
    add(run, "Seed", "%llu%s", (unsigned long long)o->seed, o->in_order ? ", rows in order" : "");
}

void train_fill_fields(train_run *run) {
    const hone_model_config *const c = hone_model_shape(run->session.model);
    const hone_dataset_statistics *const s = &run->data->statistics;
    const hone_train_bytes *const bytes = &run->bytes;
    run->field_count = 0;
    add(run, "Model", "%s", run->model_path);
    add(run, "", "%s, %s, %lld layers of width %lld, %s parameters", c->name[0] ? c->name : "no name", c->architecture,
        (long long)c->layers, (long long)c->width, cli_short_count((double)c->parameters));
    add(run, "Data", "%s", run->data_path);
    add(run, "", "%s rows, %s tokens, %s learnt; %s rows cut, %s skipped", cli_count((int64_t)run->data->row_count),
        cli_count((int64_t)run->data->token_count), cli_count((int64_t)s->supervised), cli_count((int64_t)s->truncated),
        cli_count((int64_t)s->skipped));
    if (run->data->chat_format) add(run, "Chat format", "%s", run->data->chat_format);
    if (run->held_out > 0)
        add(run, "Validation", "%g%%: %s rows", 100 * run->held_out, cli_count((int64_t)run->valid->row_count));
    else if (run->valid)
        add(run, "Validation", "%s: %s rows", run->settings->valid, cli_count((int64_t)run->valid->row_count));
    add_adapter(run);
    add_optimiser(run);
    add(run, "Memory", "%s: weights %s, adapter with gradients and moments %s, activations %s, other %s",
        cli_bytes(bytes->total), cli_bytes(bytes->weights),
        cli_bytes(bytes->adapter + bytes->gradients + bytes->moments), cli_bytes(bytes->saved + bytes->temporaries),
        cli_bytes(bytes->head + bytes->inputs + bytes->working + bytes->staging));
    add(run, "Device", "%s, %s", hone_device_name(run->session.device), hone_device_detail(run->session.device));
    add(run, "Version", "hone %s", HONE_VERSION);
}

hone_status train_print_profile(const train_run *run, hone_error *error) {
    char *path = NULL;
    HONE_TRY(hone_path_join(run->folder->path, "trace.json", &path, error));
    const hone_status status = cli_profile_print(&run->profile, run->settings->common.json, path, error);
    hone_free(path);
    return status;
}
