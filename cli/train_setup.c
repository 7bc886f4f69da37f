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

static int64_t context_of(const train_run *run) {
    return hone_model_shape(run->session.model)->context;
}

static bool is_part(const char *text) {
    return text[strlen(text) - 1] == '%';
}

// --- data ---------------------------------------------------------------------------------------------------------------

static hone_status scan_data(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    hone_tokenizer *const tokenizer = cli_session_tokenizer(&run->session);
    HONE_TRY(cli_data_scan(&s->data, run->data_path, tokenizer, context_of(run), false, &run->data, error));
    if (!s->valid) return HONE_OK;
    double part = 0;
    if (is_part(s->valid) && cli_parse_percent(s->valid, &part))
        return hone_dataset_hold_out(run->data, part, (uint64_t)run->options.seed, &run->valid, error);
    return cli_data_scan(&s->data, s->valid, tokenizer, context_of(run), false, &run->valid, error);
}

// --- options --------------------------------------------------------------------------------------------------------------

#define GIVEN(member) train_given(s, offsetof(train_settings, member))

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
        const hone_status status = hone_state_read_options(state, o, &run->lora_options, error);
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
    TAKE(beta1, beta1);
    TAKE(beta2, beta2);
    TAKE(epsilon, epsilon);
    TAKE(weight_decay, weight_decay);
    TAKE(clip, clip);
    TAKE(dropout, dropout);
    TAKE(in_order, in_order);
    TAKE(sequence, data.sequence);
#undef TAKE
    if (fresh || GIVEN(seed)) o->seed = (uint64_t)s->seed;
    if (fresh || GIVEN(schedule)) o->schedule = (hone_schedule)s->schedule;
    o->recompute = s->recompute ? HONE_RECOMPUTE_LAYERS : HONE_RECOMPUTE_CHEAP;
    return lora_options(run, fresh, error);
}

static size_t longest_row(const hone_dataset *data) {
    size_t longest = 0;
    for (size_t i = 0; i < data->row_count; i++) {
        if (data->rows[i].length > longest) longest = data->rows[i].length;
    }
    return longest;
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

// The trainer evaluates rows up to the longest that it trains; for longer ones there is a second that only evaluates, on
// the same model and adapter.
static hone_status open_trainers(train_run *run, hone_error *error) {
    hone_model *const model = run->session.model;
    hone_status status;
    run->options.max_bytes = (size_t)run->settings->max_memory;
    CLI_WAIT(status, hone_trainer_create(model, run->session.lora, run->data, &run->options, &run->trainer, error),
             error);
    if (status == HONE_OUT_OF_MEMORY && run->options.max_bytes) hone_error_prefix(error, "--max-memory");
    if (status != HONE_OK || !run->valid || longest_row(run->valid) <= longest_row(run->data)) return status;
    const hone_train_options options = {.batch = run->options.batch, .evaluate_only = true, .in_order = true};
    CLI_WAIT(status, hone_trainer_create(model, run->session.lora, run->valid, &options, &run->evaluator, error),
             error);
    return status;
}

hone_train_bytes train_bytes(const train_run *run) {
    hone_train_bytes bytes = hone_trainer_bytes(run->trainer);
    if (run->evaluator) {
        const hone_train_bytes more = hone_trainer_bytes(run->evaluator);
        bytes.activations += more.activations;
        bytes.scratch += more.scratch;
        bytes.total += more.activations + more.scratch;
    }
    return bytes;
}

static hone_status check_memory(const train_run *run, hone_error *error) {
    const uint64_t most = run->settings->max_memory;
    const uint64_t needed = train_bytes(run).total;
    HONE_FAIL_IF(
        most > 0 && needed > most, error, OUT_OF_MEMORY,
        "training needs %s, --max-memory is %s: use a smaller --batch or --sequence, a lower --rank, or --recompute",
        cli_bytes(needed), cli_bytes(most));
    return HONE_OK;
}

static hone_status load_state(train_run *run, hone_error *error) {
    char *state = NULL;
    hone_status status;
    HONE_TRY(hone_path_join(run->settings->output, "state.hone", &state, error));
    CLI_WAIT(status, hone_trainer_load_state(run->trainer, state, error), error);
    hone_free(state);
    return status;
}

hone_status train_prepare(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    HONE_TRY(train_options(run, error));
    HONE_TRY(cli_session_open(&s->common, run->model_path, NULL, &run->session, error));
    HONE_TRY(scan_data(run, error));
    HONE_TRY(set_warmup(run, error));
    HONE_TRY(open_lora(run, error));
    HONE_TRY(open_trainers(run, error));
    HONE_TRY(check_memory(run, error));
    if (s->resume) HONE_TRY(load_state(run, error));
    if (s->profile) cli_profile_open(&run->profile, run->session.device, run->trainer);
    return cli_interrupted() ? cli_stopped(error) : HONE_OK;
}

void train_close(train_run *run) {
    cli_profile_close(&run->profile);
    hone_run_folder_close(run->folder);
    hone_trainer_destroy(run->evaluator);
    hone_trainer_destroy(run->trainer);
    hone_dataset_destroy(run->data);
    hone_dataset_destroy(run->valid);
    cli_session_close(&run->session);
}

// --- the plan, printed ----------------------------------------------------------------------------------------------------

void train_print_plan(const train_run *run) {
    const hone_model_config *const c = hone_model_shape(run->session.model);
    const hone_train_options *const o = hone_trainer_options(run->trainer);
    const hone_train_bytes bytes = train_bytes(run);
    printf("model    %s: %s, %lld layers of width %lld, %s parameters\n", run->model_path, c->architecture,
           (long long)c->layers, (long long)c->width, cli_short_count((double)c->parameters));
    printf("device   %s, %s\n", hone_device_name(run->session.device), hone_device_detail(run->session.device));
    cli_data_print(run->data);
    if (run->valid)
        printf("valid    %s rows, %s tokens, %s counted\n", cli_count((int64_t)run->valid->row_count),
               cli_count((int64_t)run->valid->token_count), cli_count((int64_t)run->valid->statistics.supervised));
    printf("adapter  %s parameters", cli_count((int64_t)hone_lora_parameters(run->session.lora)));
    if (run->settings->init_adapter) {
        printf(", from %s\n", run->settings->init_adapter);
    } else {
        const double alpha = run->lora_options.alpha > 0 ? run->lora_options.alpha : 2.0 * run->lora_options.rank;
        printf(", rank %d, alpha %g\n", run->lora_options.rank, alpha);
    }
    printf("memory   %s: weights %s, adapter %s, activations %s, other %s\n", cli_bytes(bytes.total),
           cli_bytes(bytes.weights), cli_bytes(bytes.adapter), cli_bytes(bytes.activations), cli_bytes(bytes.scratch));
    printf("steps    %s of %s x %s rows, %.4g epochs", cli_count(o->steps), cli_count(o->accumulate),
           cli_count(o->batch), o->epochs);
    const int64_t done = hone_trainer_done_steps(run->trainer);
    if (done > 0) printf("; %s are done", cli_count(done));
    printf("\n");
}

hone_status train_print_plan_json(const train_run *run, hone_error *error) {
    const hone_train_options *const o = hone_trainer_options(run->trainer);
    const hone_train_bytes bytes = train_bytes(run);
    cli_json json = {0};
    cli_json_bool(&json, "dry_run", true);
    cli_data_json(&json, run->data);
    cli_json_integer(&json, "valid_rows", run->valid ? (int64_t)run->valid->row_count : 0);
    cli_json_integer(&json, "steps", o->steps);
    cli_json_number(&json, "epochs", o->epochs);
    cli_json_integer(&json, "warmup", o->warmup);
    cli_json_integer(&json, "adapter_parameters", (int64_t)hone_lora_parameters(run->session.lora));
    cli_json_integer(&json, "weights_bytes", (int64_t)bytes.weights);
    cli_json_integer(&json, "adapter_bytes", (int64_t)bytes.adapter);
    cli_json_integer(&json, "activations_bytes", (int64_t)bytes.activations);
    cli_json_integer(&json, "scratch_bytes", (int64_t)bytes.scratch);
    cli_json_integer(&json, "total_bytes", (int64_t)bytes.total);
    return cli_json_print(&json, error);
}
