// SPDX-License-Identifier: Apache-2.0
// Generation: key/value caches, one program for a piece of the prompt and one for a single token, and the sampler.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/device.h"
#include "model/model.h"

#define PIECE 64 // tokens of a prompt that are read at once; the last piece is padded with tokens that are overwritten

enum { LIVE_OFFSET, LIVE_COUNT };

typedef struct candidate {
    float logit;
    int32_t token;
} candidate;

// A program for a fixed number of tokens.
typedef struct runner {
    int64_t tokens;
    hone_graph *graph;
    hone_plan *plan;
    hone_program *program;
    hone_value logits;
} runner;

struct hone_generator {
    hone_model *model;
    const hone_lora *lora;
    int64_t context;
    hone_buffer *caches; // keys and values of each layer, [context + PIECE, Hk * head_size]
    size_t cache_bytes;  // of one
    hone_buffer *tables; // rotary
    size_t sines;
    hone_buffer *inputs; // tokens, positions, row starts: PIECE each; then the row whose logits are wanted
    runner piece, single;
    size_t length;    // tokens in the caches
    size_t fed;       // tokens of the feed in progress that have been read
    bool waiting;     // `chosen` has been given out, but not been read yet
    bool submitted;   // a program is running
    bool has_logits;  // of the last token
    float *logits;    // [V]
    candidate *order; // [V] for the sampler
    hone_random random;
    uint64_t random_seed;
    bool random_ready;
    int32_t chosen;
};

static size_t aligned(size_t bytes) {
    return (bytes + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

#define INPUT_STRIDE ((size_t)HONE_BUFFER_ALIGNMENT * ((PIECE * 4 + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT))

static hone_status build_graph(hone_generator *generator, runner *run, hone_value *values, hone_error *error) {
    const hone_model *const model = generator->model;
    const hone_model_config *const c = &model->config;
    hone_graph *const g = run->graph;
    const hone_tensor_type words = hone_type(HONE_DTYPE_I32, 1, run->tokens);
    const hone_tensor_type table = hone_type(HONE_DTYPE_F32, 2, generator->context + PIECE, c->rope_columns / 2);
    const hone_tensor_type cache = hone_type(HONE_DTYPE_F32, 2, generator->context + PIECE, c->kv_heads * c->head_size);
    hone_value *const lora_values = values;
    hone_value *const keys = values + (generator->lora ? 2 * generator->lora->count : 0);
    hone_value *const stored = keys + c->layers;
    if (generator->lora) hone_lora_values(g, generator->lora, NULL, "", lora_values);
    for (int64_t layer = 0; layer < c->layers; layer++) {
        const size_t at = 2 * (size_t)layer * generator->cache_bytes;
        keys[layer] = hone_graph_state(g, "keys", cache, generator->caches, at);
        stored[layer] = hone_graph_state(g, "values", cache, generator->caches, at + generator->cache_bytes);
    }
    const hone_llama_inputs in = {
        .tokens = hone_graph_state(g, "tokens", words, generator->inputs, 0),
        .positions = hone_graph_state(g, "positions", words, generator->inputs, INPUT_STRIDE),
        .row_start = hone_graph_state(g, "row_start", words, generator->inputs, 2 * INPUT_STRIDE),
        .cosines = hone_graph_constant(g, "cosines", table, generator->tables, 0),
        .sines = hone_graph_constant(g, "sines", table, generator->tables, generator->sines),
        .lora_values = generator->lora ? lora_values : NULL,
        .key_caches = keys,
        .value_caches = stored,
        .offset_slot = LIVE_OFFSET,
    };
    hone_value hidden = hone_llama_body(g, model, generator->lora, &in);
    if (run->tokens > 1) {
        const hone_value row =
            hone_graph_state(g, "row", hone_type(HONE_DTYPE_I32, 1, (int64_t)1), generator->inputs, 3 * INPUT_STRIDE);
        hidden = hone_emit(g, "hone::rows_gather", HONE_T(hidden), HONE_T(row), HONE_I(0), HONE_I(1));
    }
    run->logits = hone_llama_head(g, model, generator->lora, &in, hidden);
    hone_graph_keep(g, run->logits);
    return hone_graph_status(g, error);
}

static hone_status make_runner(hone_generator *generator, runner *run, int64_t tokens, hone_error *error) {
    run->tokens = tokens;
    HONE_TRY(hone_graph_create(&run->graph, error));
    const size_t count =
        (generator->lora ? 2 * generator->lora->count : 0) + 2 * (size_t)generator->model->config.layers;
    hone_value *values;
    HONE_TRY(HONE_NEW_ARRAY(&values, count, "a graph", error));
    const hone_status status = build_graph(generator, run, values, error);
    hone_free(values);
    HONE_TRY(status);
    const hone_plan_options options = {.max_arena_bytes = hone_device_piece_bytes(generator->model->device)};
    return hone_plan_create(run->graph, &options, &run->plan, error);
}

static void free_runner(runner *run) {
    hone_program_destroy(run->program);
    hone_plan_destroy(run->plan);
    hone_graph_destroy(run->graph);
}

static hone_status create(hone_generator *generator, hone_error *error) {
    const hone_model_config *const c = &generator->model->config;
    const size_t rows = (size_t)(generator->context + PIECE);
    generator->cache_bytes = aligned(rows * (size_t)(c->kv_heads * c->head_size) * sizeof(float));
    hone_device *const device = generator->model->device;
    HONE_TRY(hone_buffer_create(device, 2 * (size_t)c->layers * generator->cache_bytes, "the key/value cache",
                                &generator->caches, error));
    HONE_TRY(hone_buffer_create(device, 4 * INPUT_STRIDE, "generation inputs", &generator->inputs, error));
    const int64_t positions = generator->context + PIECE;
    HONE_TRY(hone_rope_tables_declare(generator->model, positions, &generator->tables, &generator->sines, error));
    HONE_TRY(hone_rope_tables_fill(generator->model, positions, generator->tables, error));
    HONE_TRY(HONE_NEW_ARRAY(&generator->logits, (size_t)c->vocabulary, "logits", error));
    HONE_TRY(HONE_NEW_ARRAY(&generator->order, (size_t)c->vocabulary, "the sampler", error));
    HONE_TRY(make_runner(generator, &generator->piece, PIECE, error));
    return make_runner(generator, &generator->single, 1, error);
}

hone_status hone_generator_create(hone_model *model, const hone_lora *lora, int64_t context, hone_generator **out,
                                  hone_error *error) {
    *out = NULL;
    HONE_FAIL_IF(context < 0 || context > model->config.context, error, INVALID_ARGUMENT,
                 "a context of %lld tokens cannot be: the model was made for up to %lld", (long long)context,
                 (long long)model->config.context);
    hone_generator *generator;
    HONE_TRY(HONE_NEW(&generator, "a generator", error));
    generator->model = model;
    generator->lora = lora;
    generator->context = context ? context : model->config.context;
    const hone_status status = create(generator, error);
    if (status != HONE_OK) {
        hone_generator_destroy(generator);
        return status;
    }
    *out = generator;
    return HONE_OK;
}

void hone_generator_destroy(hone_generator *generator) {
    if (!generator) return;
    free_runner(&generator->piece);
    free_runner(&generator->single);
    hone_buffer_destroy(generator->caches);
    hone_buffer_destroy(generator->inputs);
    hone_buffer_destroy(generator->tables);
    hone_free(generator->logits);
    hone_free(generator->order);
    hone_free(generator);
}

static hone_status add_runner(hone_device *device, const runner *run, size_t *bytes, hone_error *error) {
    size_t working = 0;
    HONE_TRY(hone_program_bytes(device, run->plan, &working, error));
    *bytes += hone_plan_measure(run->plan).temporaries + working;
    return HONE_OK;
}

hone_status hone_generator_bytes(const hone_generator *generator, size_t *cache, size_t *total, hone_error *error) {
    hone_device *const device = generator->model->device;
    *cache = hone_buffer_bytes(generator->caches);
    *total = *cache + hone_buffer_bytes(generator->inputs) + hone_buffer_bytes(generator->tables);
    HONE_TRY(add_runner(device, &generator->piece, total, error));
    return add_runner(device, &generator->single, total, error);
}

void hone_generator_rewind(hone_generator *generator, size_t count) {
    if (count >= hone_generator_length(generator)) return;
    if (count < generator->length) generator->length = count;
    generator->waiting = false;
    generator->has_logits = false;
    generator->fed = 0;
    generator->submitted = false;
}

const float *hone_generator_logits(const hone_generator *generator) {
    return generator->has_logits ? generator->logits : NULL;
}

size_t hone_generator_length(const hone_generator *generator) {
    return generator->length + generator->waiting;
}

// Writes the inputs of `count` tokens (the rest of the piece is padding) and queues the program.
static hone_status submit(hone_generator *generator, runner *run, const int32_t *tokens, size_t count,
                          hone_error *error) {
    int32_t words[4][INPUT_STRIDE / sizeof(int32_t)] = {{0}};
    for (int64_t t = 0; t < run->tokens; t++) {
        words[0][t] = t < (int64_t)count ? tokens[t] : 0;
        words[1][t] = (int32_t)(generator->length + (size_t)t);
    }
    words[3][0] = (int32_t)count - 1;
    HONE_TRY(hone_buffer_upload(generator->inputs, 0, words, sizeof(words), error));
    const double live[LIVE_COUNT] = {(double)generator->length};
    return hone_program_submit(run->program, 0, live, LIVE_COUNT, error);
}

// Runs up to a piece of tokens and fetches the logits of the last one. HONE_PENDING: come again.
static hone_status advance(hone_generator *generator, const int32_t *tokens, size_t count, hone_error *error) {
    runner *const run = count == 1 ? &generator->single : &generator->piece;
    if (!generator->submitted) {
        HONE_TRY(hone_program_create(generator->model->device, run->plan, NULL, &run->program, error));
        HONE_TRY(submit(generator, run, tokens, count, error));
        generator->submitted = true;
    }
    hone_buffer *buffer; // reading it waits for the program
    size_t offset;
    HONE_TRY(hone_program_locate(run->program, run->logits, &buffer, &offset, error));
    const size_t bytes = (size_t)generator->model->config.vocabulary * sizeof(float);
    HONE_TRY(hone_buffer_download(buffer, offset, generator->logits, bytes, error));
    generator->submitted = false;
    generator->length += count;
    generator->has_logits = true;
    return HONE_OK;
}

// Reads the token that next() gave out, if it has not been read.
static hone_status catch_up(hone_generator *generator, hone_error *error) {
    if (!generator->waiting) return HONE_OK;
    HONE_TRY(advance(generator, &generator->chosen, 1, error));
    generator->waiting = false;
    return HONE_OK;
}

hone_status hone_generator_feed(hone_generator *generator, const int32_t *tokens, size_t count, hone_error *error) {
    HONE_FAIL_IF(count - generator->fed > (size_t)generator->context - hone_generator_length(generator), error,
                 INVALID_ARGUMENT, "%zu tokens do not fit: %zu of the context of %lld are in use", count,
                 hone_generator_length(generator), (long long)generator->context);
    for (size_t i = generator->fed; i < count && !generator->submitted; i++) {
        HONE_FAIL_IF(tokens[i] < 0 || tokens[i] >= generator->model->config.vocabulary, error, INVALID_ARGUMENT,
                     "token %d at %zu is outside of the vocabulary of %lld", (int)tokens[i], i,
                     (long long)generator->model->config.vocabulary);
    }
    HONE_TRY(catch_up(generator, error));
    while (generator->fed < count) {
        const size_t left = count - generator->fed;
        const size_t now = left < PIECE ? left : PIECE;
        HONE_TRY(advance(generator, tokens + generator->fed, now, error));
        generator->fed += now;
    }
    generator->fed = 0;
    return HONE_OK;
}

// --- sampler -------------------------------------------------------------------------------------------------------

static int32_t likeliest(const float *logits, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        if (logits[i] > logits[best]) best = i;
    }
    return (int32_t)best;
}

static int by_logit(const void *a, const void *b) {
    const candidate *const x = a;
    const candidate *const y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return x->token < y->token ? -1 : 1;
}

static int32_t sample(hone_generator *generator, const hone_sampling *sampling) {
    const int64_t count = generator->model->config.vocabulary;
    if (!(sampling->temperature > 0)) return likeliest(generator->logits, count);
    if (!generator->random_ready || generator->random_seed != sampling->seed) {
        generator->random = hone_random_seed(sampling->seed, 0);
        generator->random_seed = sampling->seed;
        generator->random_ready = true;
    }
    candidate *const order = generator->order;
    for (int64_t i = 0; i < count; i++) order[i] = (candidate){generator->logits[i], (int32_t)i};
    qsort(order, (size_t)count, sizeof(*order), by_logit);
    const double top = order[0].logit;
    double total = 0;
    for (int64_t i = 0; i < count; i++) total += exp((order[i].logit - top) / sampling->temperature);
    const double limit = sampling->top_p > 0 && sampling->top_p < 1 ? sampling->top_p * total : total;
    // The smallest set of likeliest tokens that reaches top_p, then one of them by its share.
    double kept = 0;
    int64_t size = 0;
    while (size < count && (size == 0 || kept < limit))
        kept += exp((order[size++].logit - top) / sampling->temperature);
    double left = (double)hone_random_float(&generator->random) * kept;
    for (int64_t i = 0; i < size; i++) {
        left -= exp((order[i].logit - top) / sampling->temperature);
        if (left < 0) return order[i].token;
    }
    return order[size - 1].token;
}

hone_status hone_generator_next(hone_generator *generator, const hone_sampling *sampling, int32_t *token,
                                hone_error *error) {
    static const hone_sampling greedy = {0};
    HONE_FAIL_IF(!generator->has_logits && !generator->submitted, error, INVALID_ARGUMENT,
                 "nothing has been read yet: feed a prompt first");
    HONE_FAIL_IF((int64_t)hone_generator_length(generator) >= generator->context, error, INVALID_ARGUMENT,
                 "the context of %lld tokens is full", (long long)generator->context);
    HONE_TRY(catch_up(generator, error));
    for (int64_t i = 0; i < generator->model->config.vocabulary; i++) {
        HONE_FAIL_IF(
            !isfinite(generator->logits[i]), error, NOT_FINITE,
            "what the model computes after token %zu is not finite: its weights or the adapter's are too large",
            generator->length);
    }
    generator->chosen = sample(generator, sampling ? sampling : &greedy);
    generator->waiting = true;
    *token = generator->chosen;
    return HONE_OK;
}
