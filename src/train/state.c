// SPDX-License-Identifier: Apache-2.0
// Saving and resuming: everything that the next step depends on, and the refusal of what does not belong together.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/checkpoint.h"
#include "train/trainer.h"

#define STATE_KIND "hone LoRA training state"

// Settings as sections: X(field of hone_train_options, whole number?, must be the same on resume?).
// The rate and its schedule may change on purpose; what decides which numbers a step sees may not.
#define SETTINGS(X)                                                                                                    \
    X(steps, true, false)                                                                                              \
    X(epochs, false, false)                                                                                            \
    X(batch, true, true)                                                                                               \
    X(accumulate, true, true)                                                                                          \
    X(sequence, true, false)                                                                                           \
    X(pack, true, true)                                                                                                \
    X(learning_rate, false, false)                                                                                     \
    X(learning_rate_min, false, false)                                                                                 \
    X(schedule, true, false)                                                                                           \
    X(warmup, true, false)                                                                                             \
    X(beta1, false, true)                                                                                              \
    X(beta2, false, true)                                                                                              \
    X(epsilon, false, true)                                                                                            \
    X(weight_decay, false, false)                                                                                      \
    X(clip, false, false)                                                                                              \
    X(dropout, false, true)                                                                                            \
    X(seed, true, true)                                                                                                \
    X(in_order, true, true)

// --- save ------------------------------------------------------------------------------------------------------------

static hone_status put_settings(hone_checkpoint_writer *writer, const hone_train_options *o, hone_error *error) {
#define PUT(field, whole, fixed)                                                                                       \
    if (whole) {                                                                                                       \
        HONE_TRY(hone_checkpoint_put_u64(writer, "option." #field, (uint64_t)o->field, error));                        \
    } else {                                                                                                           \
        HONE_TRY(hone_checkpoint_put_f64(writer, "option." #field, (double)o->field, error));                          \
    }
    SETTINGS(PUT)
#undef PUT
    return HONE_OK;
}

static hone_status put_origin(hone_checkpoint_writer *writer, const hone_dataset_origin *origin, hone_error *error) {
    HONE_TRY(hone_checkpoint_put_u64(writer, "data.sequence", origin->sequence, error));
    HONE_TRY(hone_checkpoint_put_text(writer, "data.chat_format", origin->chat_format, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "data.loss", (uint64_t)origin->loss, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "data.replace_invalid", origin->replace_invalid, error));
    return hone_checkpoint_put_f64(writer, "data.held_out", origin->held_out, error);
}

static hone_status put_numbers(const hone_trainer *trainer, hone_checkpoint_writer *writer, hone_error *error) {
    const hone_lora *const lora = trainer->lora;
    HONE_TRY(hone_checkpoint_put_text(writer, "kind", STATE_KIND, error));
    HONE_TRY(hone_checkpoint_put_text(writer, "base.name", trainer->model->config.name, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "base.hash", trainer->model->config.file_hash, error));
    HONE_TRY(hone_checkpoint_put_text(writer, "data.name", trainer->data->name ? trainer->data->name : "", error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "data.hash", hone_dataset_hash(trainer->data), error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "data.rows", trainer->data->row_count, error));
    HONE_TRY(put_origin(writer, &trainer->data->origin, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "lora.rank", (uint64_t)lora->options.rank, error));
    HONE_TRY(hone_checkpoint_put_f64(writer, "lora.alpha", lora->options.alpha, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "lora.targets", lora->options.targets, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "lora.floats", lora->floats, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "lora.seed", lora->options.seed, error));
    HONE_TRY(put_settings(writer, &trainer->options, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "step", (uint64_t)trainer->step, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "bad_steps", (uint64_t)trainer->bad_steps, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "skipped", (uint64_t)trainer->skipped, error));
    HONE_TRY(hone_checkpoint_put_u64(writer, "epoch", (uint64_t)trainer->order.epoch, error));
    return hone_checkpoint_put_u64(writer, "cursor", trainer->order.cursor, error);
}

// The three flat tensors, in the layout of the LoRA's buffer.
size_t hone_trainer_tensors(const hone_trainer *trainer, hone_buffer *buffers[3], const char *names[3]) {
    buffers[0] = trainer->lora->buffer;
    buffers[1] = trainer->buffers.first_moment;
    buffers[2] = trainer->buffers.second_moment;
    names[0] = "adapter";
    names[1] = "first_moment";
    names[2] = "second_moment";
    return 3;
}

static hone_status check_finite(const hone_trainer *trainer, const char *name, const float *values, const char *path,
                                hone_error *error) {
    for (size_t i = 0; i < trainer->lora->floats; i++) {
        HONE_FAIL_IF(!isfinite(values[i]), error, NOT_FINITE,
                     "'%s': the state's tensor '%s' holds NaN or infinity after step %lld, so it would be of no use: "
                     "use a lower learning rate",
                     path, name, (long long)trainer->step);
    }
    return HONE_OK;
}

// From the device; from the last copy when the device is lost for good.
static hone_status get_values(const hone_trainer *trainer, hone_buffer *buffer, size_t index, float *values,
                              hone_error *error) {
    const size_t floats = trainer->lora->floats;
    if (trainer->recovery.dead && trainer->recovery.valid) {
        memcpy(values, hone_trainer_copy(trainer) + index * floats, floats * sizeof(float));
        return HONE_OK;
    }
    hone_status status;
    do status = hone_buffer_download(buffer, 0, values, floats * sizeof(float), error);
    while (status == HONE_PENDING);
    return status;
}

// Each is looked at before it is written: a state of NaN must not take the place of the last good one.
static hone_status put_tensors(const hone_trainer *trainer, hone_checkpoint_writer *writer, const char *path,
                               float *values, hone_error *error) {
    hone_buffer *buffers[3];
    const char *names[3];
    const size_t count = hone_trainer_tensors(trainer, buffers, names);
    const hone_tensor tensor = {hone_type(HONE_DTYPE_F32, 1, (int64_t)trainer->lora->floats), values};
    for (size_t i = 0; i < count; i++) {
        HONE_TRY(get_values(trainer, buffers[i], i, values, error));
        HONE_TRY(check_finite(trainer, names[i], values, path, error));
        HONE_TRY(hone_checkpoint_put_tensor(writer, names[i], &tensor, error));
    }
    return HONE_OK;
}

static hone_status save_state(hone_trainer *trainer, const char *path, hone_error *error) {
    HONE_FAIL_IF(trainer->options.evaluate_only, error, INVALID_ARGUMENT, "this trainer only evaluates");
    HONE_FAIL_IF(trainer->phase != HONE_PHASE_IDLE, error, INVALID_ARGUMENT, "a training step is in progress");
    hone_status status;
    do status = hone_trainer_settle(trainer, error); // the count of bad steps is theirs too
    while (status == HONE_PENDING);
    HONE_TRY(status);
    float *values;
    HONE_TRY(HONE_NEW_ARRAY(&values, trainer->lora->floats, "a state", error));
    hone_checkpoint_writer *writer = NULL;
    status = hone_checkpoint_create(path, &writer, error);
    if (status == HONE_OK) status = put_numbers(trainer, writer, error);
    if (status == HONE_OK) status = put_tensors(trainer, writer, path, values, error);
    if (status == HONE_OK) {
        status = hone_checkpoint_commit(&writer, error);
    } else {
        hone_checkpoint_abandon(&writer);
    }
    hone_free(values);
    return status;
}

// A device that is lost meanwhile is brought back, if it can be, and asked once more.
hone_status hone_trainer_save_state(hone_trainer *trainer, const char *path, hone_error *error) {
    hone_status status;
    do {
        hone_error why = {0};
        status = hone_trainer_proceed(trainer, &why);
        if (status == HONE_OK) status = save_state(trainer, path, &why);
        status = hone_trainer_lost(trainer, status, &why, error);
    } while (status == HONE_PENDING);
    return status;
}

// --- load ------------------------------------------------------------------------------------------------------------

static hone_status check_kind(const hone_checkpoint *state, const char *path, hone_error *error) {
    const char *kind;
    HONE_TRY(hone_checkpoint_text(state, "kind", &kind, error));
    HONE_FAIL_IF(strcmp(kind, STATE_KIND) != 0, error, MISMATCH, "'%s' is a %s, not a %s", path, kind, STATE_KIND);
    return HONE_OK;
}

// Sections that older states lack: *known says whether they are there.
static hone_status get_origin(const hone_checkpoint *state, const char *path, hone_dataset_origin *out, bool *known,
                              hone_error *error) {
    *out = (hone_dataset_origin){0};
    *known = hone_checkpoint_find(state, "data.held_out", HONE_SECTION_F64) != NULL;
    if (!*known) return HONE_OK;
    uint64_t loss, replace;
    const char *format;
    HONE_TRY(hone_checkpoint_u64(state, "data.sequence", &out->sequence, error));
    HONE_TRY(hone_checkpoint_text(state, "data.chat_format", &format, error));
    HONE_TRY(hone_checkpoint_u64(state, "data.loss", &loss, error));
    HONE_TRY(hone_checkpoint_u64(state, "data.replace_invalid", &replace, error));
    HONE_TRY(hone_checkpoint_f64(state, "data.held_out", &out->held_out, error));
    HONE_FAIL_IF(strlen(format) >= sizeof out->chat_format || loss > HONE_LOSS_ASSISTANT || replace > 1 ||
                     !(out->held_out >= 0 && out->held_out < 1) || out->sequence > INT64_MAX,
                 error, BAD_FORMAT, "'%s': what it says of its rows is out of range", path);
    memcpy(out->chat_format, format, strlen(format) + 1);
    out->loss = (hone_loss_cover)loss;
    out->replace_invalid = replace;
    return HONE_OK;
}

// Rows differ: which option made them differ, where one did.
static hone_status check_origin(const hone_trainer *trainer, const hone_checkpoint *state, const char *path,
                                hone_error *error) {
    static const char *const covers[] = {"default", "all", "assistant"};
    const hone_dataset_origin *const now = &trainer->data->origin;
    hone_dataset_origin was;
    bool known;
    HONE_TRY(get_origin(state, path, &was, &known, error));
    if (!known) return HONE_OK;
    HONE_FAIL_IF(was.held_out != now->held_out, error, MISMATCH,
                 "cannot resume '%s': it held %g %% of the rows out for validation, not %g %%", path,
                 100 * was.held_out, 100 * now->held_out);
    HONE_FAIL_IF(was.loss != now->loss, error, MISMATCH, "cannot resume '%s': its loss is %s, not %s", path,
                 covers[was.loss], covers[now->loss]);
    HONE_FAIL_IF(was.sequence != now->sequence, error, MISMATCH,
                 "cannot resume '%s': its rows were cut at a sequence of %llu tokens, not %llu", path,
                 (unsigned long long)was.sequence, (unsigned long long)now->sequence);
    HONE_FAIL_IF(strcmp(was.chat_format, now->chat_format) != 0, error, MISMATCH,
                 "cannot resume '%s': its chat format is %s, not %s", path,
                 was.chat_format[0] ? was.chat_format : "the model's",
                 now->chat_format[0] ? now->chat_format : "the model's");
    return HONE_OK;
}

// Base, data and LoRA must be those of the state.
static hone_status check_identity(const hone_trainer *trainer, const hone_checkpoint *state, const char *path,
                                  hone_error *error) {
    const hone_lora *const lora = trainer->lora;
    uint64_t n;
    double x;
    const char *text;
    HONE_TRY(hone_checkpoint_u64(state, "base.hash", &n, error));
    HONE_TRY(hone_checkpoint_text(state, "base.name", &text, error));
    HONE_FAIL_IF(n != trainer->model->config.file_hash, error, MISMATCH,
                 "cannot resume '%s': its base is '%s' (hash %016llx), this one is '%s' (hash %016llx)", path, text,
                 (unsigned long long)n, trainer->model->config.name,
                 (unsigned long long)trainer->model->config.file_hash);
    HONE_TRY(hone_checkpoint_u64(state, "lora.rank", &n, error));
    HONE_FAIL_IF(n != (uint64_t)lora->options.rank, error, MISMATCH, "cannot resume '%s': its rank is %llu, not %d",
                 path, (unsigned long long)n, lora->options.rank);
    HONE_TRY(hone_checkpoint_f64(state, "lora.alpha", &x, error));
    HONE_FAIL_IF(x != lora->options.alpha, error, MISMATCH, "cannot resume '%s': its alpha is %g, not %g", path, x,
                 lora->options.alpha);
    HONE_TRY(hone_checkpoint_u64(state, "lora.targets", &n, error));
    HONE_FAIL_IF(n != lora->options.targets, error, MISMATCH,
                 "cannot resume '%s': its targets are others (bits %llx, not %x): give the --target of the first run",
                 path, (unsigned long long)n, lora->options.targets);
    HONE_TRY(hone_checkpoint_u64(state, "lora.floats", &n, error));
    HONE_FAIL_IF(n != lora->floats, error, MISMATCH, "cannot resume '%s': its LoRA has another layout", path);
    uint64_t rows;
    HONE_TRY(hone_checkpoint_u64(state, "option.seed", &n, error)); // it chooses the rows that are held out, too
    HONE_FAIL_IF(n != (uint64_t)trainer->options.seed, error, MISMATCH,
                 "cannot resume '%s': its seed is %llu, not %llu", path, (unsigned long long)n,
                 (unsigned long long)trainer->options.seed);
    HONE_TRY(hone_checkpoint_u64(state, "data.hash", &n, error));
    HONE_TRY(hone_checkpoint_u64(state, "data.rows", &rows, error));
    HONE_TRY(hone_checkpoint_text(state, "data.name", &text, error));
    if (n == hone_dataset_hash(trainer->data)) return HONE_OK;
    HONE_TRY(check_origin(trainer, state, path, error));
    HONE_FAIL(
        error, MISMATCH,
        "cannot resume '%s': it was trained on other data ('%s', %llu rows; this is '%s', %zu rows): give the same "
        "file, and what decided about its rows and what is learnt of them (loss, sequence, chat format, "
        "validation share)",
        path, text, (unsigned long long)rows, trainer->data->name, trainer->data->row_count);
}

static hone_status check_settings(const hone_train_options *o, const hone_checkpoint *state, const char *path,
                                  hone_error *error) {
    uint64_t n;
    double x;
#define CHECK(field, whole, fixed)                                                                                     \
    if ((fixed) && (whole)) {                                                                                          \
        HONE_TRY(hone_checkpoint_u64(state, "option." #field, &n, error));                                             \
        HONE_FAIL_IF(n != (uint64_t)o->field, error, MISMATCH, "cannot resume '%s': its " #field " is %lld, not %lld", \
                     path, (long long)n, (long long)o->field);                                                         \
    } else if (fixed) {                                                                                                \
        HONE_TRY(hone_checkpoint_f64(state, "option." #field, &x, error));                                             \
        HONE_FAIL_IF(x != (double)o->field, error, MISMATCH, "cannot resume '%s': its " #field " is %g, not %g", path, \
                     x, (double)o->field);                                                                             \
    }
    SETTINGS(CHECK)
#undef CHECK
    HONE_TRY(hone_checkpoint_u64(state, "option.sequence", &n, error));
    HONE_FAIL_IF(o->pack && n != (uint64_t)o->sequence, error, MISMATCH,
                 "cannot resume '%s': its batches are packed for a sequence of %lld, not %lld", path, (long long)n,
                 (long long)o->sequence);
    return HONE_OK;
}

static hone_status get_tensors(hone_trainer *trainer, const hone_checkpoint *state, float *values, hone_error *error) {
    hone_buffer *buffers[3];
    const char *names[3];
    const size_t count = hone_trainer_tensors(trainer, buffers, names);
    const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 1, (int64_t)trainer->lora->floats);
    for (size_t i = 0; i < count; i++) {
        HONE_TRY(hone_checkpoint_tensor(state, names[i], &type, values, error));
        HONE_TRY(hone_buffer_upload(buffers[i], 0, values, trainer->lora->floats * sizeof(float), error));
    }
    return HONE_OK;
}

static hone_status restore(hone_trainer *trainer, const hone_checkpoint *state, const char *path, float *values,
                           hone_error *error) {
    HONE_TRY(check_kind(state, path, error));
    HONE_TRY(check_identity(trainer, state, path, error));
    HONE_TRY(check_settings(&trainer->options, state, path, error));
    uint64_t step, bad, skipped, epoch, cursor;
    HONE_TRY(hone_checkpoint_u64(state, "step", &step, error));
    HONE_TRY(hone_checkpoint_u64(state, "bad_steps", &bad, error));
    HONE_TRY(hone_checkpoint_u64(state, "skipped", &skipped, error));
    HONE_TRY(hone_checkpoint_u64(state, "epoch", &epoch, error));
    HONE_TRY(hone_checkpoint_u64(state, "cursor", &cursor, error));
    HONE_FAIL_IF(cursor > trainer->data->row_count || step > INT64_MAX || epoch > INT64_MAX || bad > step ||
                     skipped > step,
                 error, BAD_FORMAT, "'%s': its counts do not fit together", path);
    HONE_TRY(get_tensors(trainer, state, values, error));
    trainer->step = (int64_t)step;
    trainer->bad_steps = (int64_t)bad;
    trainer->skipped = (int64_t)skipped;
    trainer->order.epoch = (int64_t)epoch;
    trainer->order.cursor = (size_t)cursor;
    trainer->recovery.valid = false; // the copy is of another run
    trainer->recovery.target = 0;
    return HONE_OK;
}

hone_status hone_trainer_load_state(hone_trainer *trainer, const char *path, hone_error *error) {
    HONE_FAIL_IF(trainer->options.evaluate_only || trainer->phase != HONE_PHASE_IDLE || trainer->queued_count > 0,
                 error, INVALID_ARGUMENT, "a state can only be loaded between training steps");
    hone_checkpoint *state;
    HONE_TRY(hone_checkpoint_open(path, &state, error));
    float *values;
    hone_status status = HONE_NEW_ARRAY(&values, trainer->lora->floats, "a state", error);
    if (status == HONE_OK) {
        status = restore(trainer, state, path, values, error);
        hone_free(values);
    }
    hone_checkpoint_close(state);
    return status;
}

static hone_status get_options(const hone_checkpoint *state, const char *path, hone_train_options *o,
                               hone_lora_options *lora, hone_error *error) {
    HONE_TRY(check_kind(state, path, error));
    uint64_t n;
    double x;
#define GET(field, whole, fixed)                                                                                       \
    if (whole) {                                                                                                       \
        HONE_TRY(hone_checkpoint_u64(state, "option." #field, &n, error));                                             \
        o->field = n;                                                                                                  \
    } else {                                                                                                           \
        HONE_TRY(hone_checkpoint_f64(state, "option." #field, &x, error));                                             \
        o->field = x;                                                                                                  \
    }
    SETTINGS(GET)
#undef GET
    HONE_FAIL_IF(o->schedule > HONE_SCHEDULE_COSINE, error, BAD_FORMAT,
                 "'%s': its schedule is none that this hone knows: it may be of a later one", path);
    HONE_FAIL_IF(!(o->learning_rate > 0), error, BAD_FORMAT, "'%s': its learning rate is %g", path, o->learning_rate);
    if (o->beta1 == 0) o->beta1 = HONE_BETA_ZERO;
    if (o->beta2 == 0) o->beta2 = HONE_BETA_ZERO;
    HONE_TRY(hone_checkpoint_u64(state, "lora.rank", &n, error));
    lora->rank = (int)n;
    HONE_TRY(hone_checkpoint_u64(state, "lora.targets", &n, error));
    lora->targets = (uint32_t)n;
    HONE_TRY(hone_checkpoint_u64(state, "lora.seed", &lora->seed, error));
    return hone_checkpoint_f64(state, "lora.alpha", &lora->alpha, error);
}

hone_status hone_state_read_options(const char *path, hone_train_options *options, hone_lora_options *lora,
                                    hone_error *error) {
    *options = (hone_train_options){0};
    *lora = (hone_lora_options){0};
    hone_checkpoint *state;
    HONE_TRY(hone_checkpoint_open(path, &state, error));
    const hone_status status = get_options(state, path, options, lora, error);
    hone_checkpoint_close(state);
    return status;
}

hone_status hone_state_read_origin(const char *path, hone_dataset_origin *out, bool *known, hone_error *error) {
    *known = false;
    hone_checkpoint *state;
    HONE_TRY(hone_checkpoint_open(path, &state, error));
    hone_status status = check_kind(state, path, error);
    if (status == HONE_OK) status = get_origin(state, path, out, known, error);
    hone_checkpoint_close(state);
    return status;
}

hone_status hone_trainer_save_adapter(hone_trainer *trainer, const char *folder, hone_error *error) {
    HONE_FAIL_IF(!trainer->lora, error, INVALID_ARGUMENT, "there is no LoRA to save");
    hone_status status;
    do {
        hone_error why = {0};
        status = hone_trainer_proceed(trainer, &why);
        if (status == HONE_OK) status = hone_lora_save(trainer->lora, folder, &why);
        status = hone_trainer_lost(trainer, status, &why, error);
    } while (status == HONE_PENDING);
    return status;
}
