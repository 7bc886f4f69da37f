// SPDX-License-Identifier: Apache-2.0
// The steps of a run: each reported, some followed by an evaluation or a save, and a way out between any two.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "train.h"

static const hone_train_options *options_of(const train_run *run) {
    return hone_trainer_options(run->trainer);
}

// A run that is resumed may have done more than is asked for now.
static int64_t all_steps(const train_run *run) {
    const int64_t done = hone_trainer_done_steps(run->trainer);
    return done > options_of(run)->steps ? done : options_of(run)->steps;
}

static bool for_people(const train_run *run) {
    return !run->settings->common.json && !run->settings->common.quiet;
}

// Steps after which the data has been read once more.
static int64_t epoch_steps(const train_run *run) {
    const hone_train_options *const o = options_of(run);
    const double steps = o->epochs > 0 ? (double)o->steps / o->epochs : (double)o->steps;
    return steps < 1 ? 1 : (int64_t)llround(steps);
}

static bool evaluation_due(const train_run *run, int64_t step) {
    if (!run->valid) return false;
    const int64_t every = run->settings->eval_every ? run->settings->eval_every : epoch_steps(run);
    return step == 0 || step == options_of(run)->steps || step % every == 0;
}

static bool save_due(const train_run *run, int64_t step) {
    const int64_t every = run->settings->save_every;
    return every > 0 && step % every == 0 && step < options_of(run)->steps; // the last is saved by train_finish
}

// The next step after which weights are evaluated or saved, or the last: none beyond it may be queued before it is reported.
static int64_t next_stop(const train_run *run, int64_t done) {
    int64_t stop = options_of(run)->steps;
    const int64_t every[] = {run->settings->save_every, !run->valid                 ? 0
                                                        : run->settings->eval_every ? run->settings->eval_every
                                                                                    : epoch_steps(run)};
    for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
        if (every[i] > 0 && (done / every[i] + 1) * every[i] < stop) stop = (done / every[i] + 1) * every[i];
    }
    return stop;
}

// --- what is seen -------------------------------------------------------------------------------------------------------

static hone_status flush(train_run *run, hone_error *error) {
    const hone_status status = cli_flush(error);
    run->unheard = status != HONE_OK;
    return status;
}

static hone_status print_line(train_run *run, const char *line, hone_error *error) {
    printf("%s\n", line);
    return flush(run, error);
}

static void print_step(const train_run *run, const hone_step_report *r) {
    const double left = run->step_seconds * (double)(r->steps - r->step);
    printf("step %lld/%lld  ", (long long)r->step, (long long)r->steps);
    if (r->skipped) {
        printf("skipped: loss or gradient is not finite\n");
        return;
    }
    printf("loss %.4f  lr %.3g  gradient %.3g  %.0f tokens/s  %s left\n", r->loss, r->learning_rate, r->gradient_norm,
           r->tokens_per_second, cli_duration(left));
}

// A line for each step with -v; where there is no progress line, about twenty in all.
static bool line_due(const train_run *run, const hone_step_report *r) {
    if (!for_people(run)) return false;
    if (run->settings->common.verbose || r->skipped) return true;
    if (run->progress.on) return false;
    const int64_t every = r->steps >= 40 ? r->steps / 20 : 2;
    return r->step == 1 || r->step == r->steps || r->step % every == 0;
}

static hone_status show_step(train_run *run, const hone_step_report *r, const char *line, hone_error *error) {
    if (run->settings->common.json) return print_line(run, line, error);
    if (line_due(run, r)) {
        cli_progress_clear(&run->progress);
        print_step(run, r);
        HONE_TRY(flush(run, error));
    }
    const double left = run->step_seconds * (double)(r->steps - r->step);
    cli_progress_show(&run->progress, r->step == r->steps, "step %lld/%lld  loss %.4f  %.0f tokens/s  %s left",
                      (long long)r->step, (long long)r->steps, r->loss, r->tokens_per_second, cli_duration(left));
    return HONE_OK;
}

// One line for each loss of the GPU that was made good.
static void tell_recovery(train_run *run) {
    const char *text;
    const int64_t count = hone_trainer_recoveries(run->trainer, &text);
    if (count > run->recoveries) {
        cli_progress_clear(&run->progress);
        cli_note("%s", text);
    }
    run->recoveries = count;
}

// Once: Ctrl-C was noticed, but the device is not done with what it has.
static void tell_stopping(train_run *run) {
    if (run->told_stopping || run->settings->common.quiet || cli_interrupt_told()) return;
    run->told_stopping = true;
    cli_progress_clear(&run->progress);
    cli_note(TRAIN_STOPPING);
}

// --- parts of the loop ------------------------------------------------------------------------------------------------------

static void note_step(train_run *run, const hone_step_report *r) {
    run->tokens += r->tokens;
    run->skipped += r->skipped;
    const double share = run->step_seconds > 0 ? 0.1 : 1;
    const double seconds = (double)r->tokens / r->tokens_per_second;
    if (isfinite(seconds)) run->step_seconds += share * (seconds - run->step_seconds);
    if (r->skipped) return;
    if (isnan(run->first_loss)) run->first_loss = r->loss;
    run->last_loss = r->loss;
}

static hone_status step(train_run *run, hone_step_report *r, hone_error *error) {
    hone_status status;
    do {
        const bool stopping = cli_interrupted() || run->unheard; // steps that were begun are finished
        if (cli_interrupted()) tell_stopping(run);
        hone_trainer_go_ahead(run->trainer, stopping ? 0 : next_stop(run, hone_trainer_done_steps(run->trainer)));
        status = hone_trainer_step(run->trainer, r, error);
    } while (status == HONE_PENDING);
    tell_recovery(run);
    HONE_TRY(status);
    note_step(run, r);
    hone_text line = {0};
    status = hone_metrics_step(run->folder->metrics, r, &line, error);
    if (status == HONE_OK && !run->unheard) status = show_step(run, r, line.bytes, error);
    hone_text_clear(&line);
    return status;
}

static hone_status measure(train_run *run, double *loss, int64_t *tokens, hone_error *error) {
    hone_status status;
    hone_trainer *const evaluator = run->evaluator ? run->evaluator : run->trainer;
    HONE_TRY(cli_profile_pause(&run->profile, error));
    do {
        CLI_WAIT(status, hone_trainer_evaluate(evaluator, run->valid, loss, tokens, error), error);
        if (status != HONE_DEVICE_LOST || !run->evaluator) break;
        CLI_WAIT(status, hone_trainer_recover(run->trainer, error), error); // which brings the evaluator back, too
    } while (status == HONE_OK);
    tell_recovery(run);
    if (status == HONE_OK || status == HONE_INTERRUPTED) HONE_TRY(cli_profile_go_on(&run->profile, error));
    return status;
}

static hone_status evaluate(train_run *run, int64_t at, hone_error *error) {
    double loss = 0;
    int64_t tokens = 0;
    cli_progress_show(&run->progress, true, "step %lld/%lld  evaluating", (long long)at,
                      (long long)options_of(run)->steps);
    HONE_TRY(measure(run, &loss, &tokens, error));
    run->eval_loss = loss;
    hone_text line = {0};
    hone_status status = hone_metrics_evaluation(run->folder->metrics, at, loss, tokens, &line, error);
    if (status == HONE_OK && run->settings->common.json) status = print_line(run, line.bytes, error);
    hone_text_clear(&line);
    if (status != HONE_OK || !for_people(run)) return status;
    cli_progress_clear(&run->progress);
    printf("step %lld/%lld  validation loss %.4f  perplexity %.4g\n", (long long)at, (long long)options_of(run)->steps,
           loss, exp(loss));
    return flush(run, error);
}

static hone_status save(train_run *run, const char *what, bool last, hone_error *error) {
    char state[160];
    snprintf(state, sizeof state, "%s: %lld of %lld steps", what, (long long)hone_trainer_done_steps(run->trainer),
             (long long)all_steps(run));
    const hone_report report = {.title = run->settings->output,
                                .state = state,
                                .settings = run->fields,
                                .setting_count = run->field_count,
                                .metrics = run->folder->metrics};
    const hone_status status =
        hone_run_folder_save(run->folder, run->trainer, &report, (int)run->settings->keep, last, error);
    tell_recovery(run);
    return status;
}

// The steps that are under way on the device are part of what is saved next: they get their lines.
static hone_status finish_queued(train_run *run, hone_error *error) {
    hone_step_report r = {0};
    while (hone_trainer_steps_ahead(run->trainer) > 0) HONE_TRY(step(run, &r, error));
    return HONE_OK;
}

static hone_status stop(train_run *run, hone_error *error) {
    HONE_TRY(finish_queued(run, error));
    const long long at = (long long)hone_trainer_done_steps(run->trainer);
    const long long of = (long long)options_of(run)->steps;
    if (at == 0) return cli_stopped(error); // nothing to save
    HONE_TRY(save(run, "interrupted", false, error));
    cli_progress_clear(&run->progress);
    if (run->settings->profile && hone_trainer_times(run->trainer).steps > 0) HONE_TRY(train_print_profile(run, error));
    if (run->settings->common.json) {
        cli_json json = {0};
        cli_json_bool(&json, "done", false);
        cli_json_bool(&json, "interrupted", true);
        cli_json_integer(&json, "step", at);
        cli_json_integer(&json, "steps", of);
        cli_json_text(&json, "state", run->folder->state);
        HONE_TRY(cli_json_print(&json, error));
    }
    return hone_error_set(error, HONE_INTERRUPTED,
                          "interrupted after step %lld of %lld; '%s' is saved: the same command with "
                          "--resume goes on",
                          at, of, run->folder->state);
}

// The state knows of rows held out, not of a file of them: that there was one, the metrics tell.
static void tell_validation(const train_run *run) {
    const hone_metrics *const m = run->folder->metrics;
    if (run->valid || run->settings->common.quiet || hone_trainer_done_steps(run->trainer) >= options_of(run)->steps)
        return;
    for (size_t i = 0; i < m->count; i++) {
        if (!m->rows[i].evaluation) continue;
        cli_note("'%s' was validated so far: to go on with that, give --valid FILE again", run->folder->path);
        return;
    }
}

static hone_status open_folder(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    train_fill_fields(run);
    if (!s->resume) return hone_run_folder_create(s->output, &run->folder, error);
    HONE_TRY(hone_run_folder_resume(s->output, hone_trainer_done_steps(run->trainer), &run->folder, error));
    tell_validation(run);
    return HONE_OK;
}

// One step and what follows it.
static hone_status advance(train_run *run, hone_error *error) {
    hone_step_report r = {0};
    HONE_TRY(step(run, &r, error));
    if (!cli_interrupted() && evaluation_due(run, r.step)) HONE_TRY(evaluate(run, r.step, error));
    return save_due(run, r.step) && !cli_interrupted() ? save(run, "in progress", false, error) : HONE_OK;
}

// What was reached is worth keeping when nobody reads the output any more, or when three bad steps in a row, which change
// no weight, end the run.
static void save_after(train_run *run, hone_status status) {
    hone_error second = {0};
    if ((status != HONE_NOT_FINITE && !run->unheard) || hone_trainer_done_steps(run->trainer) == 0) return;
    const char *const what = run->unheard ? "stopped: its output was closed" : "stopped: not finite";
    hone_status saved = finish_queued(run, &second);
    if (saved == HONE_OK || saved == HONE_NOT_FINITE) saved = save(run, what, false, &second);
    // Weights that are not finite are not saved, which `status` is about already.
    if (saved != HONE_OK && saved != HONE_NOT_FINITE) cli_note("%s", second.message);
}

// The GPU stays lost: the last copy of the state becomes the run's, and the error says how to go on.
static hone_status save_lost(train_run *run, hone_error *error) {
    const hone_error why = error ? *error : (hone_error){0};
    hone_error second = {0};
    const long long at = (long long)hone_trainer_done_steps(run->trainer);
    const hone_status saved = at > 0 ? save(run, "stopped: the GPU was lost", false, &second) : HONE_OK;
    if (run->folder->saved_step < 0) // nor can the adapter be had from a GPU that is lost
        return hone_error_set(
            error, HONE_DEVICE_LOST, "%.600s: nothing was saved%s%.300s", why.message,
            saved != HONE_OK ? ": " : ", as no step was done: run the command again, perhaps with another --device",
            saved != HONE_OK ? second.message : "");
    return hone_error_set(error, HONE_DEVICE_LOST,
                          "%.600s: '%s' is saved as of step %lld: the same command with --resume goes on from there, "
                          "also with another --device",
                          why.message, run->folder->state, (long long)run->folder->saved_step);
}

static hone_status loop(train_run *run, hone_error *error) {
    const int64_t begin = hone_trainer_done_steps(run->trainer);
    if (evaluation_due(run, begin) && !hone_metrics_evaluated(run->folder->metrics, begin))
        HONE_TRY(evaluate(run, begin, error));
    while (hone_trainer_done_steps(run->trainer) < options_of(run)->steps) {
        const hone_status status = cli_interrupted() ? HONE_INTERRUPTED : advance(run, error);
        if (status == HONE_INTERRUPTED) return stop(run, error);
        HONE_TRY(status);
    }
    return HONE_OK;
}

hone_status train_loop(train_run *run, hone_error *error) {
    HONE_TRY(open_folder(run, error));
    run->started = hone_clock_seconds();
    const hone_status status = loop(run, error);
    if (status == HONE_DEVICE_LOST) return save_lost(run, error);
    if (status != HONE_OK && status != HONE_INTERRUPTED) save_after(run, status);
    return status;
}

// --- the end ----------------------------------------------------------------------------------------------------------------

// The last losses that the folder knows of, for a run that had nothing left to do.
static void recall_losses(train_run *run) {
    const hone_metrics *const m = run->folder->metrics;
    for (size_t i = 0; i < m->count; i++) {
        if (m->rows[i].evaluation) {
            run->eval_loss = m->rows[i].loss;
        } else if (isfinite(m->rows[i].loss)) {
            run->last_loss = m->rows[i].loss;
        }
    }
}

static hone_status print_done_json(const train_run *run, const char *adapter, double seconds, hone_error *error) {
    cli_json json = {0};
    cli_json_bool(&json, "done", true);
    cli_json_integer(&json, "steps", all_steps(run));
    if (all_steps(run) > options_of(run)->steps) cli_json_integer(&json, "steps_asked", options_of(run)->steps);
    cli_json_number(&json, "loss", run->last_loss);
    if (run->valid) cli_json_number(&json, "eval_loss", run->eval_loss);
    cli_json_text(&json, "adapter", adapter);
    cli_json_text(&json, "run", run->folder->path);
    cli_json_integer(&json, "tokens", run->tokens);
    cli_json_number(&json, "seconds", seconds);
    cli_json_integer(&json, "skipped_steps", run->skipped);
    cli_json_integer(&json, "rows", (int64_t)run->data->row_count);
    cli_json_integer(&json, "truncated_rows", (int64_t)run->data->statistics.truncated);
    cli_json_integer(&json, "skipped_rows", (int64_t)run->data->statistics.skipped);
    cli_json_integer(&json, "peak_bytes", (int64_t)hone_process_peak_bytes());
    cli_json_integer(&json, "device_peak_bytes", (int64_t)hone_device_memory_read(run->device).peak);
    return cli_json_print(&json, error);
}

static hone_status print_done(train_run *run, const char *adapter, bool nothing, hone_error *error) {
    const double seconds = hone_clock_seconds() - run->started;
    if (run->settings->common.json) return print_done_json(run, adapter, seconds, error);
    if (run->settings->common.quiet) return HONE_OK;
    cli_progress_clear(&run->progress);
    if (nothing && all_steps(run) > options_of(run)->steps) {
        printf("nothing to do: %lld steps of '%s' are done already, %lld are asked for\n", (long long)all_steps(run),
               run->folder->path, (long long)options_of(run)->steps);
    } else if (nothing) {
        printf("nothing to do: all %lld steps of '%s' are done\n", (long long)all_steps(run), run->folder->path);
    } else {
        printf("done     loss %.4f to %.4f", run->first_loss, run->last_loss);
        if (!isnan(run->eval_loss)) printf(", validation loss %.4f", run->eval_loss);
        printf("; %s tokens in %s", cli_count(run->tokens), cli_duration(seconds));
        if (run->skipped) printf("; %lld steps skipped: not finite", (long long)run->skipped);
        printf("\n");
    }
    printf("adapter  %s\n", adapter);
    return cli_flush(error);
}

hone_status train_finish(train_run *run, hone_error *error) {
    const bool nothing = run->tokens == 0;
    cli_progress_show(&run->progress, true, "saving");
    if (nothing) recall_losses(run);
    HONE_TRY(save(run, "done", true, error));
    char *adapter = NULL;
    HONE_TRY(hone_path_join(run->folder->path, "adapter.gguf", &adapter, error));
    const hone_status status = print_done(run, adapter, nothing, error);
    hone_free(adapter);
    return status;
}
