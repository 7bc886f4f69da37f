// SPDX-License-Identifier: Apache-2.0
// The profile of training steps, and its trace.
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

// About 20 MB of trace; what comes later is counted, not kept.
#define MOST_EVENTS ((size_t)1 << 17)

// --- collecting ---------------------------------------------------------------------------------------------------------

static void add(cli_profile *profile, const cli_profile_event *event, const char *label) {
    if (profile->count == MOST_EVENTS ||
        HONE_GROW(&profile->events, &profile->capacity, profile->count + 1, "a trace", NULL) != HONE_OK) {
        profile->dropped++;
        return;
    }
    cli_profile_event *const own = &profile->events[profile->count++];
    *own = *event;
    snprintf(own->label, sizeof own->label, "%s", label ? label : "");
}

static void note_operator(void *context, const hone_op *op, const char *label, double start, double seconds) {
    add(context, &(cli_profile_event){op->schema, hone_op_name_length(op), "", start, seconds, true}, label);
}

static void note_phase(void *context, const char *phase, double start, double seconds) {
    add(context, &(cli_profile_event){phase, strlen(phase), "", start, seconds, false}, NULL);
}

void cli_profile_open(cli_profile *profile, hone_device *device, hone_trainer *trainer) {
    *profile = (cli_profile){.device = device, .trainer = trainer};
    hone_trainer_profile(trainer, true);
    hone_trainer_watch(trainer, note_phase, profile);
    hone_device_trace(device, note_operator, profile);
}

void cli_profile_close(cli_profile *profile) {
    if (profile->trainer) {
        hone_trainer_watch(profile->trainer, NULL, NULL);
        hone_device_trace(profile->device, NULL, NULL);
    }
    hone_free(profile->events);
    hone_free(profile->before);
    hone_free(profile->paused.rows);
    *profile = (cli_profile){0};
}

static void subtract_times(hone_train_times *from, const hone_train_times *times) {
    from->steps -= times->steps;
    from->seconds -= times->seconds;
    from->batch -= times->batch;
    from->plan -= times->plan;
    from->encode -= times->encode;
    from->wait -= times->wait;
}

static void subtract_rows(hone_profile_row *from, size_t from_count, const hone_profile_row *rows, size_t count) {
    for (size_t f = 0; f < from_count; f++) {
        for (size_t i = 0; i < count; i++) {
            if (rows[i].op != from[f].op) continue;
            from[f].seconds -= rows[i].seconds;
            from[f].calls -= rows[i].calls;
            from[f].bytes -= rows[i].bytes;
            from[f].flop -= rows[i].flop;
        }
    }
}

static hone_status read_rows(const cli_profile *profile, hone_profile_row **rows, size_t *count, hone_error *error) {
    const size_t most = hone_op_count();
    HONE_TRY(HONE_NEW_ARRAY(rows, most, "the profile", error));
    *count = hone_trainer_profile_rows(profile->trainer, *rows, most);
    return HONE_OK;
}

hone_status cli_profile_mark(cli_profile *profile, hone_error *error) {
    hone_free(profile->before);
    profile->before = NULL;
    profile->count = profile->dropped = 0;
    profile->times = hone_trainer_times(profile->trainer);
    return read_rows(profile, &profile->before, &profile->before_count, error);
}

hone_status cli_profile_pause(cli_profile *profile, hone_error *error) {
    if (!profile->trainer) return HONE_OK;
    hone_free(profile->paused.rows);
    profile->paused.rows = NULL;
    profile->paused.times = hone_trainer_times(profile->trainer);
    profile->paused.events = profile->count;
    profile->paused.dropped = profile->dropped;
    return read_rows(profile, &profile->paused.rows, &profile->paused.row_count, error);
}

// What was before the pause, without what was counted up to the mark, is all that counts: the mark moves up by what came
// since.
hone_status cli_profile_go_on(cli_profile *profile, hone_error *error) {
    hone_profile_row *rows = NULL;
    size_t count = 0;
    if (!profile->trainer || !profile->paused.rows) return HONE_OK;
    HONE_TRY(read_rows(profile, &rows, &count, error));
    subtract_rows(profile->paused.rows, profile->paused.row_count, profile->before, profile->before_count);
    subtract_rows(rows, count, profile->paused.rows, profile->paused.row_count);
    hone_free(profile->before);
    profile->before = rows;
    profile->before_count = count;
    hone_train_times times = hone_trainer_times(profile->trainer);
    subtract_times(&profile->paused.times, &profile->times);
    subtract_times(&times, &profile->paused.times);
    profile->times = times;
    profile->count = profile->paused.events;
    profile->dropped = profile->paused.dropped;
    hone_free(profile->paused.rows);
    profile->paused.rows = NULL;
    return HONE_OK;
}

// --- the trace ----------------------------------------------------------------------------------------------------------

enum { HOST_TRACK = 1, DEVICE_TRACK = 2, TRACE_BUFFER = 1 << 16 };

static void name_track(hone_text *text, int track, const char *kind, const char *name) {
    hone_text_print(text, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":", kind, track);
    hone_text_json(text, name, strlen(name));
    hone_text_print(text, "}},\n");
}

static void print_event(hone_text *text, const cli_profile_event *e, double origin, bool last) {
    hone_text_print(text, "{\"name\":");
    hone_text_json(text, e->name, e->name_length);
    hone_text_print(text, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
                    e->device ? "operator" : "host", e->device ? DEVICE_TRACK : HOST_TRACK, (e->start - origin) * 1e6,
                    e->seconds * 1e6);
    if (e->label[0]) {
        hone_text_print(text, ",\"args\":{\"at\":");
        hone_text_json(text, e->label, strlen(e->label));
        hone_text_print(text, "}");
    }
    hone_text_print(text, last ? "}\n" : "},\n");
}

static hone_status send(hone_output *output, hone_text *text, hone_error *error) {
    HONE_TRY(hone_text_status(text, error));
    HONE_TRY(hone_output_write(output, text->bytes, text->length, error));
    text->length = 0;
    return HONE_OK;
}

// Nested events of a track come in the order of their begin, the longer first, as the format's readers expect.
static int by_start(const void *a, const void *b) {
    const cli_profile_event *const x = a;
    const cli_profile_event *const y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static hone_status write_events(const cli_profile *profile, hone_output *output, hone_text *text, hone_error *error) {
    qsort(profile->events, profile->count, sizeof(*profile->events), by_start);
    const double origin = profile->count ? profile->events[0].start : 0;
    hone_text_print(text,
                    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"version\":\"hone %s\",\"events_left_out\":%zu},\n",
                    HONE_VERSION, profile->dropped);
    hone_text_print(text, "\"traceEvents\":[\n");
    name_track(text, HOST_TRACK, "process_name", "hone");
    name_track(text, HOST_TRACK, "thread_name", "host");
    name_track(text, DEVICE_TRACK, "thread_name", hone_device_name(profile->device));
    // A reader wants an event behind each comma.
    hone_text_print(text, "{\"name\":\"profile\",\"ph\":\"i\",\"s\":\"g\",\"pid\":1,\"tid\":%d,\"ts\":0}%s\n",
                    HOST_TRACK, profile->count ? "," : "");
    for (size_t i = 0; i < profile->count; i++) {
        print_event(text, &profile->events[i], origin, i + 1 == profile->count);
        if (text->length > TRACE_BUFFER) HONE_TRY(send(output, text, error));
    }
    hone_text_print(text, "]}\n");
    return send(output, text, error);
}

static hone_status write_trace(const cli_profile *profile, const char *path, hone_error *error) {
    hone_output *output = NULL;
    hone_text text = {0};
    HONE_TRY(hone_output_create(path, &output, error));
    hone_status status = write_events(profile, output, &text, error);
    if (status == HONE_OK) status = hone_output_commit(&output, error);
    hone_output_abandon(&output);
    hone_text_clear(&text);
    return status;
}

// --- the table ----------------------------------------------------------------------------------------------------------

typedef struct sums {
    hone_train_times times; // since the mark
    double operators;       // seconds in all
    double step;            // seconds of the steps, without making plans
    bool own_clock;         // the device's
} sums;

static int by_seconds(const void *a, const void *b) {
    const hone_profile_row *const x = a;
    const hone_profile_row *const y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static sums sum_up(const cli_profile *profile, const hone_profile_row *rows, size_t count) {
    hone_device_facts facts;
    hone_device_facts_read(profile->device, &facts);
    sums s = {.times = hone_trainer_times(profile->trainer), .own_clock = facts.driver != NULL};
    subtract_times(&s.times, &profile->times);
    for (size_t i = 0; i < count; i++) s.operators += rows[i].seconds;
    if (!s.own_clock) s.times.encode -= s.operators; // the CPU computes while it is handed the work
    if (s.times.encode < 0) s.times.encode = 0;
    s.step = s.times.seconds - s.times.plan;
    return s;
}

static double part(double of, double whole) {
    return whole > 0 ? of / whole : 0;
}

static hone_status print_row_json(const hone_profile_row *row, const sums *s, hone_error *error) {
    cli_json json = {0};
    cli_json_bytes(&json, "operator", row->op->schema, hone_op_name_length(row->op));
    cli_json_number(&json, "seconds", row->seconds);
    cli_json_number(&json, "ms_per_step", part(row->seconds * 1e3, (double)s->times.steps));
    cli_json_number(&json, "share", part(row->seconds, s->operators));
    cli_json_number(&json, "step_share", part(row->seconds, s->step));
    cli_json_integer(&json, "calls", (int64_t)row->calls);
    cli_json_number(&json, "gb_per_s", part(row->bytes, row->seconds) / 1e9);
    if (row->flop > 0) cli_json_number(&json, "gflop_per_s", part(row->flop, row->seconds) / 1e9);
    return cli_json_print(&json, error);
}

static hone_status print_sums_json(const sums *s, const char *path, size_t dropped, hone_error *error) {
    const double steps = (double)s->times.steps;
    cli_json json = {0};
    cli_json_bool(&json, "profile", true);
    cli_json_text(&json, "clock", s->own_clock ? "device" : "host");
    cli_json_integer(&json, "steps", s->times.steps);
    cli_json_number(&json, "step_ms", part(s->step * 1e3, steps));
    cli_json_number(&json, "busy_share", part(s->operators, s->step));
    cli_json_number(&json, "encode_ms", part(s->times.encode * 1e3, steps));
    cli_json_number(&json, "wait_ms", part(s->times.wait * 1e3, steps));
    cli_json_number(&json, "batch_ms", part(s->times.batch * 1e3, steps));
    cli_json_number(&json, "plan_seconds", s->times.plan);
    cli_json_text(&json, "trace", path);
    cli_json_integer(&json, "events_left_out", (int64_t)dropped);
    return cli_json_print(&json, error);
}

static const char *speed_of(const hone_profile_row *row, char text[24]) {
    const double flops = part(row->flop, row->seconds);
    if (flops >= 1e12)
        snprintf(text, 24, "%.1f TFLOP/s", flops / 1e12);
    else if (flops > 0)
        snprintf(text, 24, "%.1f GFLOP/s", flops / 1e9);
    else
        snprintf(text, 24, "%.1f GB/s", part(row->bytes, row->seconds) / 1e9);
    return text;
}

static void print_table(const hone_profile_row *rows, size_t count, const sums *s) {
    const double steps = (double)s->times.steps;
    printf("\nprofile  %lld steps of %.2f ms: operators %.1f %% of it (%s clock), encoding %.2f ms, waiting %.2f ms, "
           "batches %.2f ms; plans %.2f s before\n",
           (long long)s->times.steps, part(s->step * 1e3, steps), 100 * part(s->operators, s->step),
           s->own_clock ? "the device's" : "the host's", part(s->times.encode * 1e3, steps),
           part(s->times.wait * 1e3, steps), part(s->times.batch * 1e3, steps), s->times.plan);
    if (count == 0) {
        printf("         this device has no timestamps: what each operator takes is not known\n");
        return;
    }
    printf("%12s %8s %8s %11s %15s  operator\n", "ms a step", "share", "of step", "all calls", "speed");
    for (size_t i = 0; i < count; i++) {
        const hone_profile_row *const row = &rows[i];
        char speed[24];
        printf("%12.3f %6.1f %% %6.1f %% %11llu %15s  %.*s\n", part(row->seconds * 1e3, steps),
               100 * part(row->seconds, s->operators), 100 * part(row->seconds, s->step),
               (unsigned long long)row->calls, speed_of(row, speed), (int)hone_op_name_length(row->op),
               row->op->schema);
    }
}

static hone_status print_rows(const cli_profile *profile, hone_profile_row *rows, size_t count, bool json,
                              const char *path, hone_error *error) {
    subtract_rows(rows, count, profile->before, profile->before_count);
    qsort(rows, count, sizeof(*rows), by_seconds);
    while (count > 0 && rows[count - 1].calls == 0) count--;
    const sums s = sum_up(profile, rows, count);
    HONE_TRY(write_trace(profile, path, error));
    if (json) {
        for (size_t i = 0; i < count; i++) HONE_TRY(print_row_json(&rows[i], &s, error));
        return print_sums_json(&s, path, profile->dropped, error);
    }
    print_table(rows, count, &s);
    printf("trace    %s, for chrome://tracing or ui.perfetto.dev", path);
    if (profile->dropped) printf("; the last %s events are not in it", cli_count((int64_t)profile->dropped));
    printf("\n");
    return cli_flush(error);
}

hone_status cli_profile_print(const cli_profile *profile, bool json, const char *path, hone_error *error) {
    hone_profile_row *rows = NULL;
    size_t count = 0;
    HONE_TRY(read_rows(profile, &rows, &count, error));
    const hone_status status = print_rows(profile, rows, count, json, path, error);
    hone_free(rows);
    return status;
}
