// SPDX-License-Identifier: Apache-2.0
// opcheck: runs every case of every operator on a device, or times them, or checks that the checks find
// errors.
#include "opcheck/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

typedef struct options {
    const char *device;
    const char *filter;
    uint64_t seed;
    int threads; // for --bench
    bool bench, list, plant, large;
} options;

static int usage(FILE *out) {
    fputs("usage: opcheck [--device NAME] [--filter TEXT] [--seed N] [--large] [--list | --bench [--threads N] | "
          "--plant]\n"
          "  --device NAME  as hone's --device; cpu is run with 1, 2 and 3 threads\n"
          "  --filter TEXT  only cases whose \"operator [case]\" contains it\n"
          "  --seed N       the numbers of an earlier run; without it they differ from run to run\n"
          "  --large        the cases that take gigabytes, and no others\n"
          "  --list         the cases, without running them\n"
          "  --bench        times the cases\n"
          "  --plant        puts errors into the results and demands that they are found\n",
          out);
    return out == stdout ? 0 : 2;
}

static bool parse_number(const char *text, uint64_t *out) {
    char *end;
    *out = strtoull(text, &end, 10);
    return *text && !*end && *text != '-';
}

// 0 to go on, else the exit code plus one.
static int parse(int count, char **words, options *out) {
    *out = (options){.device = "cpu", .seed = (uint64_t)time(NULL)};
    for (int i = 1; i < count; i++) {
        const char *const word = words[i];
        const char *const value = i + 1 < count ? words[i + 1] : NULL;
        uint64_t number = 0;
        if (strcmp(word, "--help") == 0) return usage(stdout) + 1;
        if (strcmp(word, "--bench") == 0)
            out->bench = true;
        else if (strcmp(word, "--list") == 0)
            out->list = true;
        else if (strcmp(word, "--plant") == 0)
            out->plant = true;
        else if (strcmp(word, "--large") == 0)
            out->large = true;
        else if (strcmp(word, "--device") == 0 && value)
            out->device = words[++i];
        else if (strcmp(word, "--filter") == 0 && value)
            out->filter = words[++i];
        else if (strcmp(word, "--seed") == 0 && value && parse_number(value, &out->seed))
            i++;
        else if (strcmp(word, "--threads") == 0 && value && parse_number(value, &number) && number <= 1024) {
            out->threads = (int)number;
            i++;
        } else {
            fprintf(stderr, "opcheck: '%s' is not understood or lacks its value\n", word);
            return usage(stderr) + 1;
        }
    }
    return 0;
}

static hone_status open_device(check_session *session, int threads, hone_error *error) {
    const hone_device_description description = {
        .name = session->device_name, .threads = threads, .testing = HONE_TESTING_NONE};
    hone_device **const device = &session->devices[session->device_count];
    hone_status status;
    do {
        status = hone_device_open(&description, device, error);
    } while (status == HONE_PENDING);
    session->threads[session->device_count] = threads;
    if (status == HONE_OK) session->device_count++;
    return status;
}

static hone_status open_devices(check_session *session, const options *wanted, hone_error *error) {
    if (strcmp(wanted->device, "cpu") != 0 || wanted->bench) return open_device(session, wanted->threads, error);
    for (int threads = 1; threads <= (wanted->plant ? 1 : 3); threads++) HONE_TRY(open_device(session, threads, error));
    return HONE_OK;
}

static void check_row(check_session *session, const hone_op_case *row) {
    check_case drawn;
    hone_error error = {0};
    session->case_count++;
    if (check_case_open(&drawn, row, session->seed, &error) != HONE_OK ||
        check_case_reference(&drawn, &error) != HONE_OK) {
        check_fail(session, &drawn, 0, "%s", error.message);
    } else {
        check_forward(session, &drawn);
        if (check_has_gradient(&drawn)) {
            session->gradient_count++;
            check_gradient(session, &drawn);
        } else if (row->gradient_tolerance > 0) {
            check_fail(session, &drawn, 0, "the case wants a gradient check, but there is no gradient to check");
        }
    }
    check_case_close(&drawn);
}

// By a case of any size.
static bool is_timed(const hone_op *op) {
    for (size_t t = 0; hone_case_tables[t]; t++) {
        for (const hone_op_case *row = hone_case_tables[t]; row->op; row++) {
            if (row->bench_only && hone_op_find(row->op) == op) return true;
        }
    }
    return false;
}

// Every operator has a case that is checked and one that is timed, every gradient rule one that checks it.
static void check_coverage(check_session *session) {
    for (size_t i = 0; i < hone_op_count(); i++) {
        const hone_op *const op = hone_op_at(i);
        const bool timed = is_timed(op);
        bool any = false, gradient = false;
        check_cursor cursor = {0};
        for (const hone_op_case *row; (row = check_next(session, &cursor));) {
            if (row->bench_only || hone_op_find(row->op) != op) continue;
            any = true;
            gradient |= row->gradient_tolerance > 0;
        }
        if (any && timed && (gradient || !op->gradient)) continue;
        session->failure_count++;
        printf("FAIL %.*s: no case %s\n", (int)hone_op_name_length(op), op->schema,
               !any     ? "checks it"
               : !timed ? "times it"
                        : "checks its gradient");
    }
}

static void list_rows(const check_session *session) {
    check_cursor cursor = {0};
    for (const hone_op_case *row; (row = check_next(session, &cursor));) {
        printf("%-36s %-48s %s%s\n", row->op, row->name, row->bench_only ? "bench" : "value",
               row->gradient_tolerance > 0 ? " gradient" : "");
    }
}

static bool run(check_session *session, const options *wanted) {
    if (wanted->plant) return check_plant_all(session);
    const double started = hone_clock_seconds();
    check_cursor cursor = {0};
    if (wanted->bench) printf("%-36s %-36s %12s %12s\n", "operator", "case", "least", "median");
    for (const hone_op_case *row; (row = check_next(session, &cursor));) {
        if (wanted->bench)
            check_bench(session, row);
        else if (!row->bench_only)
            check_row(session, row);
    }
    if (wanted->bench) return session->failure_count == 0;
    if (!wanted->filter && !wanted->large) check_coverage(session);
    if (session->case_count == 0)
        printf("FAIL no case to run%s%s\n", wanted->filter ? " is named like " : "",
               wanted->filter ? wanted->filter : "");
    printf("opcheck: %zu operators, %zu cases, %zu gradients on %s: ", hone_op_count(), session->case_count,
           session->gradient_count, wanted->device);
    if (session->failure_count)
        printf("%zu failures", session->failure_count);
    else
        printf("all right");
    printf(", seed %llu, %.1f s\n", (unsigned long long)session->seed, hone_clock_seconds() - started);
    return session->failure_count == 0 && session->case_count > 0;
}

int main(int argument_count, char **arguments) {
    options wanted;
    const int stop = parse(argument_count, arguments, &wanted);
    if (stop) return stop - 1;
    if (!wanted.bench) setenv("HONE_POISON", "1", 1); // devices fill what they hand out with NaN
    check_session session = {
        .seed = wanted.seed, .filter = wanted.filter, .device_name = wanted.device, .large = wanted.large};
    if (wanted.list) {
        list_rows(&session);
        return 0;
    }
    hone_error error = {0};
    bool right = open_devices(&session, &wanted, &error) == HONE_OK;
    if (right)
        right = run(&session, &wanted);
    else
        fprintf(stderr, "opcheck: %s\n", error.message);
    for (size_t i = 0; i < session.device_count; i++) hone_device_close(session.devices[i]);
    return right ? 0 : 1;
}
