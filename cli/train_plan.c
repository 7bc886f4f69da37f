// SPDX-License-Identifier: Apache-2.0
// The plan of a run: everything it will make, made on a device that only counts; what would fit where it does not; and the
// plan printed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "train.h"

#define LEAST_SEQUENCE 16

// --- making it ------------------------------------------------------------------------------------------------------------

size_t train_longest_row(const hone_dataset *data) {
    size_t longest = 0;
    for (size_t i = 0; i < data->row_count; i++) {
        if (data->rows[i].length > longest) longest = data->rows[i].length;
    }
    return longest;
}

// The trainer evaluates rows up to the longest that it trains; for longer ones there is a second that only evaluates, on
// the same model and adapter.
hone_status train_make_trainers(const train_run *run, const hone_train_options *wanted, const hone_dataset *data,
                                const hone_dataset *valid, hone_trainer **trainer, hone_trainer **evaluator,
                                hone_error *error) {
    hone_model *const model = run->session.model;
    hone_train_options options = *wanted;
    hone_status status;
    const bool longer = valid && train_longest_row(valid) > train_longest_row(data);
    options.evaluated = longer ? NULL : valid;
    CLI_WAIT(status, hone_trainer_create(model, run->session.lora, data, &options, trainer, error), error);
    if (status != HONE_OK || !longer) return status;
    const hone_train_options only = {.batch = options.batch, .evaluate_only = true, .in_order = true};
    CLI_WAIT(status, hone_trainer_create(model, run->session.lora, valid, &only, evaluator, error), error);
    return status;
}

static hone_train_bytes bytes_of(const hone_trainer *trainer, const hone_trainer *evaluator) {
    hone_train_bytes bytes = hone_trainer_bytes(trainer);
    if (evaluator) { // model, adapter and staging are the same
        const hone_train_bytes more = hone_trainer_bytes(evaluator);
        bytes.saved += more.saved;
        bytes.temporaries += more.temporaries;
        bytes.head += more.head;
        bytes.inputs += more.inputs;
        bytes.working += more.working;
        bytes.total += more.saved + more.temporaries + more.head + more.inputs + more.working;
    }
    return bytes;
}

hone_status train_plan(train_run *run, hone_error *error) {
    HONE_TRY(train_make_trainers(run, &run->options, run->data, run->valid, &run->trainer, &run->evaluator, error));
    run->bytes = bytes_of(run->trainer, run->evaluator);
    run->limit = run->settings->max_memory;
    if (run->limit) return HONE_OK;
    hone_device_facts facts;
    hone_device_facts_read(run->device, &facts);
    run->limit = facts.memory_bytes;
    return HONE_OK;
}

// One batch of rows that are all learnt: what they say does not matter to a plan.
hone_status train_invent_data(train_run *run, hone_error *error) {
    const hone_model_config *const c = hone_model_shape(run->session.model);
    const int64_t wanted = run->settings->data.sequence ? run->settings->data.sequence : CLI_SEQUENCE;
    const size_t length = (size_t)(wanted < c->context ? wanted : c->context);
    const size_t rows = (size_t)run->options.batch;
    hone_dataset *data;
    HONE_TRY(HONE_NEW(&data, "rows", error));
    run->data = data;
    HONE_FAIL_IF(rows > ((size_t)1 << 30) / length, error, INVALID_ARGUMENT,
                 "%zu rows of %zu tokens are too much for one batch: use a smaller --batch or --sequence", rows,
                 length);
    HONE_TRY(HONE_NEW_ARRAY(&data->ids, rows * length, "rows", error));
    HONE_TRY(HONE_NEW_ARRAY(&data->labels, rows * length, "rows", error));
    HONE_TRY(HONE_NEW_ARRAY(&data->rows, rows, "rows", error));
    HONE_TRY(hone_copy_string("invented rows", 13, &data->name, error));
    for (size_t i = 0; i < rows; i++) {
        data->labels[i * length] = HONE_NOT_TRAINED;
        data->rows[i] =
            (hone_dataset_row){.first = i * length, .length = length, .supervised = length - 1, .line = i + 1};
    }
    data->row_count = rows;
    data->token_count = rows * length;
    data->statistics = (hone_dataset_statistics){
        .rows = rows, .used = rows, .tokens = rows * length, .supervised = rows * (length - 1), .longest = length};
    return HONE_OK;
}

// --- what would fit -------------------------------------------------------------------------------------------------------

// The rows as they would be if longer ones were cut; ids and labels stay those of `data`.
static hone_status cut_rows(const hone_dataset *data, int64_t sequence, hone_dataset *out, hone_error *error) {
    *out = *data;
    out->row_count = 0;
    HONE_TRY(HONE_NEW_ARRAY(&out->rows, data->row_count, "rows", error));
    for (size_t i = 0; i < data->row_count; i++) {
        hone_dataset_row row = data->rows[i];
        if (row.length > (size_t)sequence) {
            row.length = (size_t)sequence;
            row.supervised = 0;
            for (size_t t = row.first; t < row.first + row.length; t++)
                row.supervised += data->labels[t] != HONE_NOT_TRAINED;
        }
        if (row.supervised) out->rows[out->row_count++] = row;
    }
    return HONE_OK;
}

static size_t learnt_of(const hone_dataset *data) {
    size_t sum = 0;
    for (size_t i = 0; i < data->row_count; i++) sum += data->rows[i].supervised;
    return sum;
}

// Plans the run anew with the choice's options; its bytes are UINT64_MAX where it cannot be.
static void measure(const train_run *run, train_choice *choice) {
    hone_error ignored = {0};
    hone_train_options options = run->options;
    hone_dataset data = {0}, valid = {0};
    hone_trainer *trainer = NULL, *evaluator = NULL;
    options.batch = choice->batch;
    options.accumulate = choice->accumulate;
    if (choice->recompute) options.recompute = HONE_RECOMPUTE_LAYERS;
    if (options.sequence > choice->sequence) options.sequence = choice->sequence;
    options.max_bytes = 0;
    hone_status status = cut_rows(run->data, choice->sequence, &data, &ignored);
    if (status == HONE_OK && run->valid) status = cut_rows(run->valid, choice->sequence, &valid, &ignored);
    if (status == HONE_OK)
        status = train_make_trainers(run, &options, &data, run->valid ? &valid : NULL, &trainer, &evaluator, &ignored);
    choice->bytes = status == HONE_OK ? bytes_of(trainer, evaluator).total : UINT64_MAX;
    choice->learnt = learnt_of(&data);
    hone_trainer_destroy(evaluator);
    hone_trainer_destroy(trainer);
    hone_free(data.rows);
    hone_free(valid.rows);
}

static train_choice as_asked(const train_run *run) {
    return (train_choice){.recompute = run->options.recompute == HONE_RECOMPUTE_LAYERS,
                          .batch = run->options.batch,
                          .accumulate = run->options.accumulate,
                          .sequence = (int64_t)train_longest_row(run->data),
                          .learnt = learnt_of(run->data)};
}

// As many rows in a step: the batch becomes smaller, there are more of them.
static void halve_batch(train_choice *choice) {
    const int64_t half = (choice->batch + 1) / 2;
    choice->accumulate = (choice->accumulate * choice->batch + half - 1) / half;
    choice->batch = half;
}

static bool fits(const train_choice *choice, uint64_t limit) {
    return choice->bytes <= limit;
}

// Half as much of one option until it fits; the last that was tried is left in *choice.
static bool shrink_batch(const train_run *run, uint64_t limit, train_choice *choice) {
    while (choice->batch > 1) {
        halve_batch(choice);
        measure(run, choice);
        if (fits(choice, limit)) return true;
    }
    return false;
}

static bool shrink_sequence(const train_run *run, uint64_t limit, train_choice *choice) {
    while (choice->sequence / 2 >= LEAST_SEQUENCE) {
        const train_choice longer = *choice;
        choice->sequence /= 2;
        measure(run, choice);
        if (choice->bytes == UINT64_MAX) { // rows so short hold nothing to learn
            *choice = longer;
            return false;
        }
        if (fits(choice, limit)) return true;
    }
    return false;
}

size_t train_find_choices(const train_run *run, uint64_t limit, train_choice choices[TRAIN_MOST_CHOICES]) {
    const train_choice asked = as_asked(run);
    const bool free_to_choose = !run->settings->resume; // a run goes on with its own batches
    size_t count = 0;
    train_choice choice = asked;
    if (!asked.recompute) {
        choice.recompute = true;
        measure(run, &choice);
        if (fits(&choice, limit) || (free_to_choose && shrink_batch(run, limit, &choice))) choices[count++] = choice;
    }
    choice = asked;
    if (free_to_choose && shrink_batch(run, limit, &choice)) choices[count++] = choice;
    choice = asked;
    if (free_to_choose && shrink_sequence(run, limit, &choice)) {
        // Where rows lose most of what they teach, longer ones with layers recomputed are the better offer.
        train_choice gentle = asked;
        gentle.recompute = true;
        const bool harsh = choice.learnt < asked.learnt / 2 && !asked.recompute;
        if (harsh && shrink_sequence(run, limit, &gentle) && gentle.learnt > choice.learnt) choice = gentle;
        choices[count++] = choice;
    }
    if (count || !free_to_choose) return count;
    // Not one of them alone: all together.
    choice = asked;
    choice.recompute = true;
    if (shrink_batch(run, limit, &choice) || shrink_sequence(run, limit, &choice)) {
        choices[count++] = choice;
    } else {
        choices[TRAIN_MOST_CHOICES - 1] = choice; // the least that was tried
    }
    return count;
}

const char *train_choice_text(const train_run *run, const train_choice *choice, char *text, size_t size) {
    const train_choice asked = as_asked(run);
    size_t length = 0;
    text[0] = 0;
#define ADD(...) length += (size_t)snprintf(text + length, size - length, __VA_ARGS__)
    if (choice->recompute && !asked.recompute) ADD(" --recompute");
    if (choice->batch != asked.batch)
        ADD(" --batch %lld --accumulate %lld", (long long)choice->batch, (long long)choice->accumulate);
    if (choice->sequence != asked.sequence) ADD(" --sequence %lld", (long long)choice->sequence);
#undef ADD
    return length ? text + 1 : text;
}

const char *train_choice_cost(const train_run *run, const train_choice *choice, char *text, size_t size) {
    const train_choice asked = as_asked(run);
    text[0] = 0;
    if (choice->sequence != asked.sequence && run->data_path)
        snprintf(text, size, ", %s of %s tokens learnt", cli_count((int64_t)choice->learnt),
                 cli_count((int64_t)asked.learnt));
    return text;
}

// "with --recompute (207 MB) or with --sequence 256 (344 MB)"
static void list_choices(const train_run *run, const train_choice *choices, size_t count, hone_text *out) {
    char text[128], cost[128];
    for (size_t i = 0; i < count; i++) {
        const char *const joint = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        hone_text_print(out, "%swith %s (%s%s)", joint, train_choice_text(run, &choices[i], text, sizeof text),
                        cli_bytes(choices[i].bytes), train_choice_cost(run, &choices[i], cost, sizeof cost));
    }
}

void train_advise(const train_run *run, hone_error *error) {
    train_choice choices[TRAIN_MOST_CHOICES] = {0};
    const size_t count = train_find_choices(run, run->bytes.total - 1, choices);
    const hone_error cause = *error;
    hone_text advice = {0};
    list_choices(run, choices, count, &advice);
    hone_error_set(error, cause.status, "training needs %s, which the device does not give (%s)%s%s",
                   cli_bytes(run->bytes.total), cause.message, count ? "; it would be less " : "",
                   advice.bytes ? advice.bytes : "");
    hone_text_clear(&advice);
}

hone_status train_check_memory(const train_run *run, hone_error *error) {
    if (!run->limit || run->bytes.total <= run->limit) return HONE_OK;
    train_choice choices[TRAIN_MOST_CHOICES] = {0};
    char has[160], text[128];
    const size_t count = train_find_choices(run, run->limit, choices);
    hone_text advice = {0};
    if (count) {
        hone_text_print(&advice, "it fits ");
        list_choices(run, choices, count, &advice);
    } else if (choices[TRAIN_MOST_CHOICES - 1].batch) {
        const train_choice *const least = &choices[TRAIN_MOST_CHOICES - 1];
        hone_text_print(&advice, "even %s needs %s: use a smaller model, a lower --rank or fewer --target matrices",
                        train_choice_text(run, least, text, sizeof text), cli_bytes(least->bytes));
    } else {
        hone_text_print(&advice, "a run that is resumed keeps its batches: use another device");
    }
    if (run->settings->max_memory)
        snprintf(has, sizeof has, "--max-memory is %s", cli_bytes(run->limit));
    else
        snprintf(has, sizeof has, "device %s has %s", hone_device_name(run->device), cli_bytes(run->limit));
    hone_error_set(error, HONE_OUT_OF_MEMORY, "training needs %s (%s of it for weights), but %s: %s",
                   cli_bytes(run->bytes.total), cli_bytes(run->bytes.weights), has,
                   advice.bytes ? advice.bytes : "use a smaller --batch");
    hone_text_clear(&advice);
    return HONE_OUT_OF_MEMORY;
}

// --- printed --------------------------------------------------------------------------------------------------------------

static void print_kind(const char *name, uint64_t bytes, const char *what) {
    if (bytes) printf("         %12s  %s%s\n", cli_bytes(bytes), name, what);
}

void train_print_memory(const train_run *run, bool by_kind) {
    const hone_train_bytes *const b = &run->bytes;
    printf("memory   %s", cli_bytes(b->total));
    if (run->limit) printf(" of %s", cli_bytes(run->limit));
    if (!by_kind) {
        printf(": weights %s, adapter with gradients and moments %s, activations %s, other %s\n", cli_bytes(b->weights),
               cli_bytes(b->adapter + b->gradients + b->moments), cli_bytes(b->saved + b->temporaries),
               cli_bytes(b->head + b->inputs + b->working + b->staging));
        return;
    }
    printf("\n");
    print_kind("weights", b->weights, "");
    print_kind("adapter", b->adapter, "");
    print_kind("gradients", b->gradients, " of the adapter");
    print_kind("moments", b->moments, " of AdamW");
    print_kind("saved activations", b->saved, ", which the backward pass reads");
    print_kind("temporaries", b->temporaries, ", the head's logits among them");
    print_kind("head", b->head, ": the gradient that it leaves");
    print_kind("inputs", b->inputs, ": batch and rotary tables");
    print_kind("working memory", b->working, " of operators");
    print_kind("staging", b->staging, " for copies");
    if (b->host_copies)
        printf("host     %12s  copies of adapter and moments, for a GPU that is lost (--copy-every, --reopen)\n",
               cli_bytes(b->host_copies));
}

void train_print_plan(const train_run *run) {
    const hone_model_config *const c = hone_model_shape(run->session.model);
    const hone_train_options *const o = hone_trainer_options(run->trainer);
    printf("model    %s: %s, %lld layers of width %lld, %s parameters\n", run->model_path, c->architecture,
           (long long)c->layers, (long long)c->width, cli_short_count((double)c->parameters));
    printf("device   %s, %s\n", hone_device_name(run->session.device), hone_device_detail(run->session.device));
    if (run->data_path) cli_data_print(run->data);
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
    train_print_memory(run, run->settings->dry_run || !run->data_path);
    if (!run->data_path) {
        printf("step     %s x %s rows of %s tokens\n", cli_count(o->accumulate), cli_count(o->batch),
               cli_count((int64_t)train_longest_row(run->data)));
        return;
    }
    printf("steps    %s of %s x %s rows, %.4g epochs", cli_count(o->steps), cli_count(o->accumulate),
           cli_count(o->batch), o->epochs);
    const int64_t done = hone_trainer_done_steps(run->trainer);
    if (done > 0) printf("; %s are done", cli_count(done));
    printf("\n");
}

void train_bytes_json(const train_run *run, cli_json *json) {
    const hone_train_bytes *const b = &run->bytes;
    cli_json_integer(json, "weights_bytes", (int64_t)b->weights);
    cli_json_integer(json, "adapter_bytes", (int64_t)b->adapter);
    cli_json_integer(json, "gradients_bytes", (int64_t)b->gradients);
    cli_json_integer(json, "moments_bytes", (int64_t)b->moments);
    cli_json_integer(json, "saved_bytes", (int64_t)b->saved);
    cli_json_integer(json, "temporaries_bytes", (int64_t)b->temporaries);
    cli_json_integer(json, "head_bytes", (int64_t)b->head);
    cli_json_integer(json, "inputs_bytes", (int64_t)b->inputs);
    cli_json_integer(json, "working_bytes", (int64_t)b->working);
    cli_json_integer(json, "staging_bytes", (int64_t)b->staging);
    cli_json_integer(json, "total_bytes", (int64_t)b->total);
    cli_json_integer(json, "host_copies_bytes", (int64_t)b->host_copies);
    if (run->limit) cli_json_integer(json, "limit_bytes", (int64_t)run->limit);
}

hone_status train_print_plan_json(const train_run *run, hone_error *error) {
    const hone_train_options *const o = hone_trainer_options(run->trainer);
    cli_json json = {0};
    cli_json_bool(&json, "dry_run", true);
    cli_data_json(&json, run->data);
    cli_json_integer(&json, "valid_rows", run->valid ? (int64_t)run->valid->row_count : 0);
    cli_json_integer(&json, "steps", o->steps);
    cli_json_number(&json, "epochs", o->epochs);
    cli_json_integer(&json, "warmup", o->warmup);
    cli_json_integer(&json, "adapter_parameters", (int64_t)hone_lora_parameters(run->session.lora));
    train_bytes_json(run, &json);
    return cli_json_print(&json, error);
}
