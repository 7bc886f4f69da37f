// SPDX-License-Identifier: Apache-2.0
// The trainer: buffers, plans by shape, and the optimiser step as a machine that may be left and entered again.
#include "train/trainer.h"

#include <math.h>
#include <string.h>

#include "device/device.h"

#define MOST_EPOCHS   1e9 // their steps can be counted, as there are fewer than 2^32 rows
#define LARGEST_CHUNK 128 // rows of the head at a time: V floats each

// --- creation ------------------------------------------------------------------------------------------------------

static hone_status check_options(const hone_train_options *o, hone_error *error) {
    HONE_FAIL_IF(o->steps < 0 || o->epochs < 0 || !isfinite(o->epochs), error, INVALID_ARGUMENT,
                 "steps and epochs must not be below 0");
    HONE_FAIL_IF(o->epochs > MOST_EPOCHS, error, INVALID_ARGUMENT, "%g epochs are too many: at most %g can be",
                 o->epochs, MOST_EPOCHS);
    HONE_FAIL_IF(o->batch < 1 || o->batch > 1 << 20, error, INVALID_ARGUMENT, "a batch of %lld rows cannot be",
                 (long long)o->batch);
    HONE_FAIL_IF(o->accumulate < 1 || o->accumulate > 1 << 20, error, INVALID_ARGUMENT,
                 "accumulating %lld micro-batches cannot be", (long long)o->accumulate);
    HONE_FAIL_IF(!(o->learning_rate > 0) || !isfinite(o->learning_rate), error, INVALID_ARGUMENT,
                 "the learning rate must be above 0, not %g", o->learning_rate);
    HONE_FAIL_IF(!(o->learning_rate_min >= 0 && o->learning_rate_min <= o->learning_rate), error, INVALID_ARGUMENT,
                 "the least learning rate must be between 0 and the learning rate, not %g", o->learning_rate_min);
    HONE_FAIL_IF(!(o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1), error, INVALID_ARGUMENT,
                 "beta1 and beta2 must be from 0 up to, not including, 1");
    HONE_FAIL_IF(!(o->epsilon > 0) || !(o->weight_decay >= 0) || !(o->clip >= 0), error, INVALID_ARGUMENT,
                 "epsilon must be above 0, weight decay and clip not below 0");
    HONE_FAIL_IF(!(o->dropout >= 0 && o->dropout < 1), error, INVALID_ARGUMENT,
                 "dropout must be from 0 up to, not including, 1");
    // The update computes with floats.
    HONE_FAIL_IF(!isfinite((float)o->learning_rate), error, INVALID_ARGUMENT, "a learning rate of %g is too large",
                 o->learning_rate);
    HONE_FAIL_IF((float)o->epsilon == 0 || !isfinite((float)o->epsilon), error, INVALID_ARGUMENT,
                 "an epsilon of %g is no fp32 number above 0", o->epsilon);
    HONE_FAIL_IF(!isfinite((float)(o->learning_rate * o->weight_decay)), error, INVALID_ARGUMENT,
                 "a weight decay of %g is too large", o->weight_decay);
    HONE_FAIL_IF(o->copy_every < 0, error, INVALID_ARGUMENT, "a copy every %lld steps cannot be",
                 (long long)o->copy_every);
    HONE_FAIL_IF(o->schedule > HONE_SCHEDULE_COSINE, error, INVALID_ARGUMENT, "there is no schedule of number %u",
                 (unsigned)o->schedule);
    HONE_FAIL_IF(o->warmup < 0, error, INVALID_ARGUMENT, "warm-up must not be below 0 steps");
    return HONE_OK;
}

static double beta_of(double wanted, double otherwise) {
    if (wanted == HONE_BETA_ZERO) return 0;
    return wanted == 0 ? otherwise : wanted;
}

static void fill_defaults(hone_train_options *o, const hone_dataset *data) {
    if (o->batch == 0) o->batch = 8;
    if (o->accumulate == 0) o->accumulate = 1;
    if (o->learning_rate == 0) o->learning_rate = 2e-4;
    o->beta1 = beta_of(o->beta1, 0.9);
    o->beta2 = beta_of(o->beta2, 0.999);
    if (o->epsilon == 0) o->epsilon = 1e-8;
    if (o->copy_every == 0) o->copy_every = 50;
    if (o->reopen == 0) o->reopen = 5;
    if (o->steps == 0 && o->epochs == 0) o->epochs = 1;
    for (size_t i = 0; i < data->row_count && o->sequence == 0; i++) {
        if ((int64_t)data->rows[i].length > o->sequence) o->sequence = (int64_t)data->rows[i].length;
    }
}

static hone_status check_rows(const hone_model *model, const hone_dataset *data, hone_error *error) {
    HONE_FAIL_IF(data->row_count == 0, error, BAD_DATA, "there are no rows to train on");
    for (size_t i = 0; i < data->row_count; i++) {
        const hone_dataset_row *const row = &data->rows[i];
        HONE_FAIL_IF(
            (int64_t)row->length > model->config.context, error, BAD_DATA,
            "'%s' line %llu: the row has %zu tokens, the model was made for up to %lld: cut rows with --sequence",
            data->name, (unsigned long long)row->line, row->length, (long long)model->config.context);
        for (size_t t = row->first; t < row->first + row->length; t++) {
            HONE_FAIL_IF(data->ids[t] < 0 || data->ids[t] >= model->config.vocabulary, error, BAD_DATA,
                         "'%s' line %llu: token %d is outside of the vocabulary of %lld", data->name,
                         (unsigned long long)row->line, (int)data->ids[t], (long long)model->config.vocabulary);
        }
    }
    return HONE_OK;
}

static hone_status create_fetches(hone_trainer *trainer, hone_error *error) {
    hone_device *const device = trainer->model->device;
    for (int i = 0; i <= HONE_EVAL_BEHIND; i++)
        HONE_TRY(hone_fetch_create(device, HONE_BUFFER_ALIGNMENT, "an evaluation", &trainer->eval_loss[i], error));
    for (int i = 0; i <= HONE_MOST_AHEAD && !trainer->options.evaluate_only; i++)
        HONE_TRY(hone_fetch_create(device, HONE_METRICS_BYTES, "metrics", &trainer->queued[i].metrics, error));
    return HONE_OK;
}

// The trainer's buffers, of which nothing takes memory before all of it has been counted.
static hone_status declare_buffers(hone_trainer *trainer, int64_t tokens, hone_error *error) {
    hone_device *const device = trainer->model->device;
    hone_step_buffers *const b = &trainer->buffers;
    b->stride = trainer->batch.stride * sizeof(int32_t);
    HONE_TRY(hone_buffer_declare(device, HONE_BATCH_STRIDES * b->stride, "the batch", &b->batch, error));
    HONE_TRY(hone_buffer_declare(device, HONE_METRICS_BYTES, "metrics", &b->metrics, error));
    HONE_TRY(hone_rope_tables_declare(trainer->model, b->positions, &b->tables, &b->sines, error));
    if (trainer->options.evaluate_only) return HONE_OK;
    const size_t hidden = (size_t)tokens * (size_t)trainer->model->config.width * sizeof(float);
    HONE_TRY(hone_buffer_declare(device, hidden, "the hidden gradient", &b->hidden_gradient, error));
    const size_t flat = trainer->lora->floats * sizeof(float);
    HONE_TRY(hone_buffer_declare(device, flat, "gradients", &b->gradients, error));
    HONE_TRY(hone_buffer_declare(device, flat, "first moments", &b->first_moment, error));
    return hone_buffer_declare(device, flat, "second moments", &b->second_moment, error);
}

static hone_status commit_buffers(hone_trainer *trainer, hone_error *error) {
    hone_step_buffers *const b = &trainer->buffers;
    HONE_TRY(hone_buffer_commit(b->batch, "the batch", error));
    HONE_TRY(hone_buffer_commit(b->metrics, "metrics", error));
    HONE_TRY(hone_rope_tables_fill(trainer->model, b->positions, b->tables, error));
    HONE_TRY(create_fetches(trainer, error));
    HONE_TRY(hone_buffer_commit(trainer->arena, "the arena", error));
    if (trainer->options.evaluate_only) return HONE_OK;
    HONE_TRY(hone_buffer_commit(b->hidden_gradient, "the hidden gradient", error));
    HONE_TRY(hone_buffer_commit(b->gradients, "gradients", error));
    HONE_TRY(hone_buffer_commit(b->first_moment, "first moments", error));
    return hone_buffer_commit(b->second_moment, "second moments", error);
}

// Plans the largest batch that can come, counts, and only then takes memory.
static hone_status make_room(hone_trainer *trainer, int64_t tokens, int64_t supervised, hone_error *error) {
    const hone_step_shape shape = {tokens, supervised < LARGEST_CHUNK ? (supervised + 15) / 16 * 16 : LARGEST_CHUNK,
                                   !trainer->options.evaluate_only};
    size_t arena = 0;
    HONE_TRY(declare_buffers(trainer, tokens, error));
    HONE_TRY(hone_step_plan_create(&trainer->settings, &trainer->buffers, shape, &trainer->plans[0], error));
    if (!trainer->options.evaluate_only)
        HONE_TRY(hone_update_plan_create(&trainer->settings, &trainer->buffers, &trainer->update, error));
    HONE_TRY(hone_trainer_count(trainer, &arena, error));
    HONE_TRY(hone_buffer_declare(trainer->model->device, arena, "the arena", &trainer->arena, error));
    return commit_buffers(trainer, error);
}

static hone_status create(hone_trainer *trainer, hone_error *error) {
    hone_train_options *const o = &trainer->options;
    HONE_TRY(hone_order_create(trainer->data, o, &trainer->order, error));
    int64_t tokens, supervised;
    HONE_TRY(hone_order_largest(&trainer->order, &tokens, &supervised, error));
    const int64_t padded = hone_batch_padded(tokens, trainer->model->device->padding);
    HONE_FAIL_IF(padded > INT32_MAX / 2, error, INVALID_ARGUMENT,
                 "a micro-batch of %lld tokens is too large: use a smaller --batch", (long long)padded);
    HONE_TRY(hone_batch_create(padded, &trainer->batch, error));
    HONE_TRY(HONE_NEW_ARRAY(&trainer->micro, (size_t)o->accumulate, "micro-batches", error));
    for (size_t i = 0; i < trainer->data->row_count; i++) {
        const int64_t length = (int64_t)trainer->data->rows[i].length;
        if (length > trainer->buffers.positions) trainer->buffers.positions = length;
    }
    if (o->sequence > trainer->buffers.positions)
        trainer->buffers.positions = o->sequence; // evaluation may have longer rows
    if (trainer->buffers.positions > trainer->model->config.context)
        trainer->buffers.positions = trainer->model->config.context;
    trainer->settings = (hone_step_settings){.model = trainer->model,
                                             .lora = trainer->lora,
                                             .dropout = o->dropout,
                                             .seed = o->seed,
                                             .recompute = o->recompute,
                                             .beta1 = o->beta1,
                                             .beta2 = o->beta2,
                                             .epsilon = o->epsilon};
    HONE_TRY(make_room(trainer, padded, supervised, error));
    const int64_t batches = hone_order_batches(&trainer->order);
    trainer->steps_per_epoch = (batches + o->accumulate - 1) / o->accumulate;
    if (o->steps == 0) o->steps = (int64_t)ceil(o->epochs * (double)trainer->steps_per_epoch);
    o->epochs = (double)o->steps / (double)trainer->steps_per_epoch;
    HONE_FAIL_IF(o->warmup > o->steps, error, INVALID_ARGUMENT,
                 "a warm-up of %lld steps is longer than the run of %lld", (long long)o->warmup, (long long)o->steps);
    return HONE_OK;
}

hone_status hone_trainer_create(hone_model *model, hone_lora *lora, const hone_dataset *data,
                                const hone_train_options *options, hone_trainer **out, hone_error *error) {
    *out = NULL;
    hone_train_options o = options ? *options : (hone_train_options){0};
    HONE_FAIL_IF(!model || !data, error, INVALID_ARGUMENT, "training needs a model and data");
    HONE_FAIL_IF(!lora && !o.evaluate_only, error, INVALID_ARGUMENT, "training needs a LoRA");
    HONE_TRY(check_rows(model, data, error));
    fill_defaults(&o, data);
    HONE_TRY(check_options(&o, error));
    hone_trainer *trainer;
    HONE_TRY(HONE_NEW(&trainer, "a trainer", error));
    trainer->model = model;
    trainer->lora = lora;
    trainer->data = data;
    trainer->options = o;
    hone_trainer_use_device(trainer);
    const hone_status status = create(trainer, error);
    if (status != HONE_OK) {
        hone_trainer_destroy(trainer);
        return status;
    }
    *out = trainer;
    return HONE_OK;
}

void hone_trainer_destroy(hone_trainer *trainer) {
    if (!trainer) return;
    hone_trainer_leave_device(trainer);
    for (int i = 0; i < HONE_PLANS; i++) hone_step_plan_clear(&trainer->plans[i]);
    hone_step_plan_clear(&trainer->update);
    for (int i = 0; i <= HONE_EVAL_BEHIND; i++) hone_fetch_destroy(trainer->eval_loss[i]);
    for (int i = 0; i <= HONE_MOST_AHEAD; i++) hone_fetch_destroy(trainer->queued[i].metrics);
    hone_buffer_destroy(trainer->arena);
    hone_buffer_destroy(trainer->buffers.batch);
    hone_buffer_destroy(trainer->buffers.metrics);
    hone_buffer_destroy(trainer->buffers.tables);
    hone_buffer_destroy(trainer->buffers.hidden_gradient);
    hone_buffer_destroy(trainer->buffers.gradients);
    hone_buffer_destroy(trainer->buffers.first_moment);
    hone_buffer_destroy(trainer->buffers.second_moment);
    hone_order_clear(&trainer->order);
    hone_order_clear(&trainer->eval_order);
    hone_batch_clear(&trainer->batch);
    hone_free(trainer->micro);
    hone_free(trainer);
}

const hone_train_options *hone_trainer_options(const hone_trainer *trainer) {
    return &trainer->options;
}

int64_t hone_trainer_done_steps(const hone_trainer *trainer) {
    return trainer->step - (int64_t)trainer->queued_count;
}

int hone_trainer_padding(const hone_trainer *trainer) {
    return trainer->model->device->padding;
}

// --- plans ---------------------------------------------------------------------------------------------------------

hone_step_shape hone_trainer_shape(int64_t padded, int64_t supervised, bool backward) {
    // As few chunks as the largest allows, all of one size, rounded up to 16 rows.
    const int64_t chunks = supervised > 0 ? (supervised + LARGEST_CHUNK - 1) / LARGEST_CHUNK : 1;
    const int64_t rows = (supervised + chunks - 1) / chunks;
    const int64_t chunk = rows <= 16 ? 16 : (rows + 15) / 16 * 16;
    return (hone_step_shape){padded, chunk, backward};
}

// The arena was sized for the largest batch; placement may still need a little more for another shape.
static hone_status grow_arena(hone_trainer *trainer, size_t bytes, hone_error *error) {
    if (bytes <= hone_buffer_bytes(trainer->arena)) return HONE_OK;
    for (int i = 0; i < HONE_PLANS; i++) {
        hone_program_destroy(trainer->plans[i].program);
        trainer->plans[i].program = NULL;
    }
    hone_program_destroy(trainer->update.program);
    trainer->update.program = NULL;
    hone_buffer_destroy(trainer->arena);
    trainer->arena = NULL;
    return hone_buffer_create(trainer->model->device, bytes, "the arena", &trainer->arena, error);
}

hone_status hone_trainer_plan(hone_trainer *trainer, hone_step_shape shape, hone_step_plan **out, hone_error *error) {
    const double begun = hone_trainer_begin(trainer);
    hone_step_plan *found = NULL;
    hone_step_plan *oldest = &trainer->plans[0];
    for (int i = 0; i < HONE_PLANS; i++) {
        hone_step_plan *const plan = &trainer->plans[i];
        if (plan->plan && hone_step_shape_same(plan->shape, shape)) found = plan;
        if (!plan->plan ? oldest->plan != NULL : (oldest->plan && plan->used < oldest->used)) oldest = plan;
    }
    if (!found) {
        hone_trainer_keep_profile(trainer, oldest->program);
        hone_step_plan_clear(oldest);
        HONE_TRY(hone_step_plan_create(&trainer->settings, &trainer->buffers, shape, oldest, error));
        found = oldest;
    }
    const bool fresh = !found->program;
    if (fresh) HONE_TRY(grow_arena(trainer, hone_plan_measure(found->plan).temporaries, error));
    HONE_TRY(hone_program_create(trainer->model->device, found->plan, trainer->arena, &found->program, error));
    if (trainer->profiled) hone_program_profile(found->program, true);
    if (fresh) hone_trainer_end(trainer, "plan", &trainer->times.plan, begun);
    found->used = ++trainer->uses;
    *out = found;
    return HONE_OK;
}

static hone_status queue(hone_trainer *trainer, hone_step_plan *plan, const double *live, hone_error *error) {
    const hone_batch *const batch = &trainer->batch;
    HONE_TRY(hone_buffer_upload(trainer->buffers.batch, 0, batch->block,
                                HONE_BATCH_STRIDES * batch->stride * sizeof(int32_t), error));
    double numbers[HONE_LIVE_COUNT];
    memcpy(numbers, live, sizeof(numbers));
    HONE_TRY(hone_program_submit(plan->program, HONE_SEGMENT_FORWARD, numbers, HONE_LIVE_COUNT, error));
    const int64_t chunks = (batch->supervised + plan->shape.chunk - 1) / plan->shape.chunk;
    for (int64_t i = 0; i < chunks; i++) {
        numbers[HONE_LIVE_CHUNK] = (double)i;
        HONE_TRY(hone_program_submit(plan->program, HONE_SEGMENT_HEAD, numbers, HONE_LIVE_COUNT, error));
    }
    if (!plan->shape.backward) return HONE_OK;
    return hone_program_submit(plan->program, HONE_SEGMENT_BACKWARD, numbers, HONE_LIVE_COUNT, error);
}

hone_status hone_trainer_queue(hone_trainer *trainer, hone_step_plan *plan, const double *live, hone_error *error) {
    const double begun = hone_trainer_begin(trainer);
    const hone_status status = queue(trainer, plan, live, error);
    hone_trainer_end(trainer, "encode", &trainer->times.encode, begun);
    return status;
}

hone_status hone_trainer_queue_update(hone_trainer *trainer, int segment, const double *live, hone_error *error) {
    HONE_TRY(hone_program_create(trainer->model->device, trainer->update.plan, trainer->arena, &trainer->update.program,
                                 error));
    if (trainer->profiled) hone_program_profile(trainer->update.program, true);
    const double begun = hone_trainer_begin(trainer);
    const hone_status status = hone_program_submit(trainer->update.program, segment, live, HONE_LIVE_COUNT, error);
    hone_trainer_end(trainer, "encode", &trainer->times.encode, begun);
    return status;
}
