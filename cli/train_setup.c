// SPDX-License-Identifier: Apache-2.0
// From options to a trainer that is ready for its first step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "base/file.h"
#include "train.h"
#include "train/batch.h"
#include "train/holdout.h"
#include "train/trainer.h"

static int64_t context_of(const train_run *run) {
    return hone_model_shape(run->session.model)->context;
}

static bool is_part(const char *text) {
    return text[strlen(text) - 1] == '%';
}

// --- data ---------------------------------------------------------------------------------------------------------------

#define GIVEN(member) train_given(s, offsetof(train_settings, member))

// What makes the rows: as given, else the run's own on --resume.
static cli_data_settings data_settings(const train_run *run) {
    const train_settings *const s = run->settings;
    const hone_dataset_origin *const own = &run->origin;
    cli_data_settings data = s->data;
    if (!run->origin_known) return data;
    if (!GIVEN(data.sequence)) data.sequence = (int64_t)own->sequence;
    if (!GIVEN(data.chat_format)) data.chat_format = own->chat_format[0] ? own->chat_format : NULL;
    if (!GIVEN(data.loss)) data.loss = (int)own->loss;
    if (!GIVEN(data.replace_invalid)) data.replace_invalid = own->replace_invalid;
    return data;
}

static hone_status scan_data(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    hone_tokenizer *const tokenizer = cli_session_tokenizer(&run->session);
    const cli_data_settings data = data_settings(run);
    HONE_TRY(cli_data_scan(&data, run->data_path, tokenizer, context_of(run), false, &run->data, error));
    run->held_out = s->valid ? 0 : run->origin.held_out;
    if (s->valid && is_part(s->valid)) (void)cli_parse_percent(s->valid, &run->held_out); // has been checked
    HONE_FAIL_IF(s->eval_every && !s->valid && run->held_out == 0, error, INVALID_ARGUMENT,
                 "--eval-every needs --valid FILE or --valid P%%: the run holds no rows out");
    if (run->held_out > 0)
        return hone_dataset_hold_out(run->data, run->held_out, (uint64_t)run->options.seed, &run->valid, error);
    if (!s->valid) return HONE_OK;
    return cli_data_scan(&data, s->valid, tokenizer, context_of(run), false, &run->valid, error);
}

// --- options --------------------------------------------------------------------------------------------------------------

static hone_status lora_options(train_run *run, bool fresh, hone_error *error) {
    const train_settings *const s = run->settings;
    hone_lora_options *const o = &run->lora_options;
    if (fresh || GIVEN(rank)) o->rank = (int)s->rank;
    if (fresh || GIVEN(alpha)) o->alpha = s->alpha;
    if (fresh || GIVEN(seed)) o->seed = (uint64_t)s->seed;
    if (s->target) HONE_TRY(hone_targets_parse(s->target, &o->targets, error));
    return HONE_OK;
}

// What was not given is the run's own on --resume, and the default otherwise.
static hone_status train_options(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    hone_train_options *const o = &run->options;
    const bool fresh = !s->resume;
    if (s->resume) {
        char *state = NULL;
        HONE_TRY(hone_path_join(s->output, "state.hone", &state, error));
        hone_status status = hone_state_read_options(state, o, &run->lora_options, error);
        if (status == HONE_OK) status = hone_state_read_origin(state, &run->origin, &run->origin_known, error);
        hone_free(state);
        HONE_TRY(status);
    }
#define TAKE(field, member)                                                                                            \
    if (fresh || GIVEN(member)) o->field = s->member
    if (fresh || GIVEN(steps) || GIVEN(epochs)) {
        o->steps = s->steps;
        o->epochs = s->epochs;
    }
    TAKE(batch, batch);
    TAKE(accumulate, accumulate);
    TAKE(pack, pack);
    TAKE(learning_rate, rate);
    TAKE(learning_rate_min, rate_min);
    if (fresh || GIVEN(beta1)) o->beta1 = s->beta1 > 0 ? s->beta1 : HONE_BETA_ZERO;
    if (fresh || GIVEN(beta2)) o->beta2 = s->beta2 > 0 ? s->beta2 : HONE_BETA_ZERO;
    TAKE(epsilon, epsilon);
    TAKE(weight_decay, weight_decay);
    TAKE(clip, clip);
    TAKE(dropout, dropout);
    TAKE(in_order, in_order);
    TAKE(sequence, data.sequence);
#undef TAKE
    if (fresh || GIVEN(seed)) o->seed = (uint64_t)s->seed;
    if (fresh || GIVEN(schedule)) o->schedule = (hone_schedule)s->schedule;
    o->copy_every = s->copy_every;
    o->reopen = s->reopen > 0 ? (int)s->reopen : -1;
    o->recompute = s->recompute ? HONE_RECOMPUTE_LAYERS : HONE_RECOMPUTE_CHEAP;
    return lora_options(run, fresh, error);
}

static hone_status count_steps(train_run *run, int64_t *steps, hone_error *error) {
    const hone_train_options *const o = &run->options;
    *steps = o->steps;
    if (o->steps > 0) return HONE_OK;
    hone_order order = {0};
    const hone_status status = hone_order_create(run->data, o, &order, error);
    if (status == HONE_OK) {
        const int64_t batches = hone_order_batches(&order);
        const double each = (double)((batches + o->accumulate - 1) / o->accumulate);
        *steps = (int64_t)ceil((o->epochs > 0 ? o->epochs : 1) * each);
    }
    hone_order_clear(&order);
    return status;
}

static hone_status set_warmup(train_run *run, hone_error *error) {
    const char *const text = run->settings->warmup;
    double part = 0;
    if (!text) return HONE_OK;
    if (!cli_parse_percent(text, &part)) {
        run->options.warmup = (int64_t)strtod(text, NULL);
        return HONE_OK;
    }
    int64_t steps = 0;
    HONE_TRY(count_steps(run, &steps, error));
    run->options.warmup = (int64_t)ceil(part * (double)steps);
    return HONE_OK;
}

// --- the trainer ----------------------------------------------------------------------------------------------------------

// An adapter to start from brings its own rank, scale and targets: what is asked for beside it must be the same.
static hone_status check_adapter(const train_run *run, const char *from, hone_error *error) {
    const train_settings *const s = run->settings;
    const hone_lora_options *const has = &run->session.lora->options;
    const hone_lora_options *const wanted = &run->lora_options;
    HONE_FAIL_IF(GIVEN(rank) && wanted->rank != has->rank, error, MISMATCH,
                 "--init-adapter '%s' has rank %d, not %d: leave --rank out", from, has->rank, wanted->rank);
    HONE_FAIL_IF(GIVEN(alpha) && wanted->alpha != has->alpha, error, MISMATCH,
                 "--init-adapter '%s' has alpha %g, not %g: leave --alpha out", from, has->alpha, wanted->alpha);
    HONE_FAIL_IF(s->target && wanted->targets != has->targets, error, MISMATCH,
                 "--init-adapter '%s' has other targets: leave --target out", from);
    return HONE_OK;
}

static hone_status open_lora(train_run *run, hone_error *error) {
    hone_status status;
    const char *const from = run->settings->init_adapter;
    if (from) {
        CLI_WAIT(status, hone_lora_open(run->session.model, from, &run->session.lora, error), error);
        if (status == HONE_OK) status = check_adapter(run, from, error);
    } else {
        CLI_WAIT(status, hone_lora_create(run->session.model, &run->lora_options, &run->session.lora, error), error);
    }
    return status;
}

static hone_status load_state(train_run *run, hone_error *error) {
    char *state = NULL;
    hone_status status;
    HONE_TRY(hone_path_join(run->settings->output, "state.hone", &state, error));
    CLI_WAIT(status, hone_trainer_load_state(run->trainer, state, error), error);
    hone_free(state);
    return status;
}

static hone_status open_counting(train_run *run, hone_error *error) {
    hone_status status;
    HONE_TRY(hone_device_open_counting(run->device, &run->session.device, error));
    CLI_WAIT(status, hone_model_open(run->session.device, run->model_path, &run->session.model, error), error);
    return status;
}

// On the device that only counts: no weight is read, nothing is allocated on the device.
hone_status train_prepare_plan(train_run *run, hone_error *error) {
    HONE_TRY(train_options(run, error));
    HONE_TRY(cli_device_open(&run->settings->common, &run->device, error));
    HONE_TRY(open_counting(run, error));
    HONE_TRY(run->data_path ? scan_data(run, error) : train_invent_data(run, error));
    HONE_TRY(set_warmup(run, error));
    HONE_TRY(open_lora(run, error));
    HONE_TRY(train_plan(run, error));
    return train_check_memory(run, error);
}

static void drop_plan(train_run *run) {
    hone_trainer_destroy(run->evaluator);
    hone_trainer_destroy(run->trainer);
    run->trainer = run->evaluator = NULL;
    if (run->session.device == run->device) run->session.device = NULL; // closed on its own
    cli_session_close(&run->session);
}

static hone_status make_all(train_run *run, hone_error *error) {
    hone_status status;
    run->session.device = run->device;
    CLI_WAIT(status, hone_model_open(run->device, run->model_path, &run->session.model, error), error);
    HONE_TRY(status);
    HONE_TRY(open_lora(run, error));
    return train_make_trainers(run, &run->options, run->data, run->valid, &run->trainer, &run->evaluator, error);
}

// The device has less than it says, or does not say: what would need less is found on one that counts.
static void advise(train_run *run, hone_error *error) {
    hone_error second = {0};
    drop_plan(run);
    if (open_counting(run, &second) == HONE_OK && open_lora(run, &second) == HONE_OK) train_advise(run, error);
}

hone_status train_prepare(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    HONE_TRY(train_prepare_plan(run, error));
    if (s->dry_run && !s->resume) return HONE_OK;
    drop_plan(run);
    const hone_status status = make_all(run, error);
    if (status == HONE_OUT_OF_MEMORY) advise(run, error);
    HONE_TRY(status);
    if (s->resume) HONE_TRY(load_state(run, error));
    if (s->profile) cli_profile_open(&run->profile, run->session.device, run->trainer);
    return cli_interrupted() ? cli_stopped(error) : HONE_OK;
}

void train_close(train_run *run) {
    cli_profile_close(&run->profile);
    hone_run_folder_close(run->folder);
    drop_plan(run);
    hone_dataset_destroy(run->data);
    hone_dataset_destroy(run->valid);
    hone_device_close(run->device);
}
