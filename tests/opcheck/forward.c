// SPDX-License-Identifier: Apache-2.0
// The values of a case: against the reference, on a second run, with other numbers of threads; nothing else
// touched.
#include "opcheck/check.h"

#include <string.h>

typedef struct forward_check {
    check_session *session;
    check_case *drawn;
    unsigned char *first[CHECK_RESULTS]; // bytes of the first run on the first device
    bool have_first;
} forward_check;

static const double *wanted(const check_case *drawn, const check_program *program, size_t result) {
    const size_t index = program->results[result].index;
    return result < drawn->output_count ? drawn->outputs[index].values : drawn->after[index];
}

// Compares with the reference on the first run, with the first run's bits later.
static hone_status compare_results(forward_check *check, check_program *program, size_t device, int repeat,
                                   hone_error *error) {
    for (size_t i = 0; i < program->result_count; i++) {
        const check_result *const result = &program->results[i];
        unsigned char *bytes;
        HONE_TRY(hone_arena_allocate(&check->drawn->arena, result->bytes + 1, 1, (void **)&bytes, error));
        HONE_TRY(check_program_read(program, i, bytes, error));
        if (!check->have_first) {
            char text[512];
            if (!hone_case_compare(&result->type, bytes, wanted(check->drawn, program, i), check->drawn->row->tolerance,
                                   text, sizeof(text)))
                check_fail(check->session, check->drawn, device, "%s %s", result->what, text);
            check->first[i] = bytes;
        } else if (memcmp(bytes, check->first[i], result->bytes) != 0) {
            check_fail(check->session, check->drawn, device, "%s has other bits %s", result->what,
                       repeat ? "on the second run" : "than with one thread");
        }
    }
    check->have_first = true;
    return HONE_OK;
}

static hone_status run_device(forward_check *check, check_program *program, size_t device, hone_error *error) {
    HONE_TRY(check_program_forward(program, check->session->devices[device], check->drawn, error));
    for (int repeat = 0; repeat < 2; repeat++) {
        HONE_TRY(check_program_run(program, false, error));
        HONE_TRY(check_plant_error(check->session, program, repeat, error));
        HONE_TRY(compare_results(check, program, device, repeat, error));
        HONE_TRY(check_program_intact(program, error));
    }
    return HONE_OK;
}

void check_forward(check_session *session, check_case *drawn) {
    forward_check check = {.session = session, .drawn = drawn};
    const size_t devices = session->planted ? 1 : session->device_count;
    for (size_t device = 0; device < devices; device++) {
        check_program program = {0};
        hone_error error = {0};
        if (run_device(&check, &program, device, &error) != HONE_OK)
            check_fail(session, drawn, device, "%s", error.message);
        check_program_close(&program);
    }
}
