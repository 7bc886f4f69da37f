// SPDX-License-Identifier: Apache-2.0
// Checks the checks: puts errors into device memory behind an operator's back and demands that each is found.
#include "opcheck/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static hone_status flip(hone_buffer *buffer, size_t offset, hone_error *error) {
    unsigned char byte;
    HONE_TRY(check_download(buffer, offset, &byte, 1, error));
    byte ^= 1;
    return hone_buffer_upload(buffer, offset, &byte, 1, error);
}

// A result with elements, drawn from the case's seed; SIZE_MAX if there is none.
static size_t choose_result(const check_program *program, hone_random *random) {
    size_t filled[CHECK_RESULTS];
    size_t count = 0;
    for (size_t i = 0; i < program->result_count; i++) {
        if (program->results[i].value.id && program->results[i].bytes) filled[count++] = i;
    }
    return count ? filled[hone_random_below(random, (uint32_t)count)] : SIZE_MAX;
}

// Just beyond what the tolerance lets through; one bit where nothing is let through.
static hone_status plant_value(check_session *session, check_program *program, double tolerance, bool first_element,
                               hone_error *error) {
    hone_random random = hone_random_seed(session->seed, 0x706c616e74);
    const size_t chosen = choose_result(program, &random);
    if (chosen == SIZE_MAX) return HONE_OK;
    session->planted_now = true;
    const check_result *const result = &program->results[chosen];
    const hone_dtype dtype = result->type.dtype;
    const size_t size = hone_dtype_bytes(dtype);
    const size_t elements = result->bytes / size;
    const size_t at = result->offset + (first_element ? 0 : hone_random_below(&random, (uint32_t)elements)) * size;
    if (!hone_case_is_float(dtype)) return flip(result->buffer, at, error);

    unsigned char *bytes;
    double *values;
    hone_arena arena = {0};
    HONE_TRY(hone_arena_allocate(&arena, result->bytes, 1, (void **)&bytes, error));
    hone_status status;
    HONE_TRY_GOTO(HONE_ARENA_ARRAY(&arena, &values, elements, error), done);
    HONE_TRY_GOTO(check_program_read(program, chosen, bytes, error), done);
    hone_case_decode(dtype, bytes, elements, values);
    double scale = hone_case_largest(values, elements);
    if (scale == 0) scale = 1;
    unsigned char changed[8];
    const double before = values[(at - result->offset) / size];
    const double after = isfinite(before) ? before + 3 * tolerance * scale : 0;
    hone_case_encode(dtype, &after, 1, changed);
    if (memcmp(changed, bytes + (at - result->offset), size) == 0) {
        status = flip(result->buffer, at, error);
    } else {
        status = hone_buffer_upload(result->buffer, at, changed, size, error);
    }
done:
    hone_arena_clear(&arena);
    return status;
}

static hone_status plant_guard(check_session *session, check_program *program, hone_error *error) {
    const check_case *const drawn = program->drawn;
    if (drawn->row->input_count > 0) {
        session->planted_now = true;
        return flip(program->inputs[0], CHECK_GUARD + drawn->inputs[0].bytes, error);
    }
    for (size_t i = 0; i < program->result_count; i++) {
        const check_result *const result = &program->results[i];
        const size_t behind = result->offset + check_round_up(result->bytes ? result->bytes : 4) - 1;
        if (result->bytes % HONE_BUFFER_ALIGNMENT == 0) continue; // no byte behind it
        session->planted_now = true;
        return flip(result->buffer, behind, error);
    }
    return HONE_OK;
}

static hone_status plant_input(check_session *session, check_program *program, hone_error *error) {
    for (size_t i = program->drawn->row->input_count; i-- > 0;) {
        if (program->drawn->mutated[i] || program->drawn->inputs[i].bytes == 0) continue;
        session->planted_now = true;
        return flip(program->inputs[i], CHECK_GUARD + program->drawn->inputs[i].bytes - 1, error);
    }
    return HONE_OK;
}

hone_status check_plant_error(check_session *session, check_program *program, int repeat, hone_error *error) {
    if (session->planted == CHECK_PLANT_REPEAT && repeat == 1 && !program->backward)
        return plant_value(session, program, 0, false, error);
    if (repeat == 1) return HONE_OK;
    const hone_op_case *const row = program->drawn->row;
    switch (session->planted) {
    case CHECK_PLANT_VALUE:
        return plant_value(session, program, row->tolerance, false, error);
    case CHECK_PLANT_GUARD:
        return plant_guard(session, program, error);
    case CHECK_PLANT_INPUT:
        return plant_input(session, program, error);
    // the first element is one of those that are probed
    case CHECK_PLANT_GRADIENT:
        return plant_value(session, program, row->gradient_tolerance, true, error);
    default:
        return HONE_OK;
    }
}

// --- all operators
// -------------------------------------------------------------------------------------------------

typedef struct plant_count {
    size_t planted, found;
} plant_count;

static plant_count plant_case(check_session *session, const hone_op_case *row, check_plant plant) {
    plant_count count = {0};
    check_case drawn;
    hone_error error = {0};
    session->planted = plant;
    session->planted_now = false;
    session->failure_count = 0;
    if (check_case_open(&drawn, row, session->seed, &error) == HONE_OK &&
        check_case_reference(&drawn, &error) == HONE_OK) {
        if (plant != CHECK_PLANT_GRADIENT) check_forward(session, &drawn);
        if (plant == CHECK_PLANT_GRADIENT && check_has_gradient(&drawn)) check_gradient(session, &drawn);
        count.planted = session->planted_now;
        count.found = session->planted_now && session->failure_count > 0;
    }
    check_case_close(&drawn);
    session->planted = CHECK_PLANT_NONE;
    return count;
}

static bool passes(check_session *session, const hone_op_case *row) {
    check_case drawn;
    hone_error error = {0};
    session->failure_count = 0;
    session->quiet = true;
    bool right = check_case_open(&drawn, row, session->seed, &error) == HONE_OK &&
                 check_case_reference(&drawn, &error) == HONE_OK;
    if (right) {
        check_forward(session, &drawn);
        if (check_has_gradient(&drawn)) check_gradient(session, &drawn);
        right = session->failure_count == 0;
    }
    check_case_close(&drawn);
    session->quiet = false;
    return right;
}

static const char *const plant_names[] = {"",
                                          "a wrong value",
                                          "an overwritten guard",
                                          "a changed input",
                                          "a run that differs from the first",
                                          "a wrong gradient"};

// One operator, one kind of error: every case that has room for it must find it.
static bool plant_operator(check_session *session, const hone_op *op, check_plant plant, plant_count *total) {
    check_cursor cursor = {0};
    bool all = true;
    size_t here = 0;
    for (const hone_op_case *row; (row = check_next(session, &cursor));) {
        if (row->bench_only || hone_op_find(row->op) != op) continue;
        // A case that fails anyway would seem to find everything.
        if (plant == CHECK_PLANT_VALUE && !passes(session, row)) {
            printf("FAIL %s [%s] %s: fails without a planted error (seed %llu)\n", row->op, row->name,
                   session->device_name, (unsigned long long)session->seed);
            all = false;
            continue;
        }
        const plant_count count = plant_case(session, row, plant);
        here += count.planted;
        total->planted += count.planted;
        total->found += count.found;
        if (count.found == count.planted) continue;
        printf("FAIL %s [%s] %s: %s is not found (seed %llu)\n", row->op, row->name, session->device_name,
               plant_names[plant], (unsigned long long)session->seed);
        all = false;
    }
    const bool must =
        plant == CHECK_PLANT_VALUE || plant == CHECK_PLANT_REPEAT || (plant == CHECK_PLANT_GRADIENT && op->gradient);
    if (must && here == 0) {
        printf("FAIL %.*s: no case has room for %s\n", (int)hone_op_name_length(op), op->schema, plant_names[plant]);
        return false;
    }
    return all;
}

bool check_plant_all(check_session *session) {
    plant_count total = {0};
    bool all = true;
    size_t operators = 0;
    for (size_t i = 0; i < hone_op_count(); i++) {
        const hone_op *const op = hone_op_at(i);
        check_cursor cursor = {0};
        bool any = false;
        for (const hone_op_case *row; !any && (row = check_next(session, &cursor));)
            any = !row->bench_only && hone_op_find(row->op) == op;
        if (!any) continue;
        operators++;
        for (check_plant plant = CHECK_PLANT_VALUE; plant <= CHECK_PLANT_GRADIENT; plant++)
            all &= plant_operator(session, op, plant, &total);
    }
    printf("opcheck --plant: %zu of %zu planted errors found in %zu operators on %s, seed %llu\n", total.found,
           total.planted, operators, session->device_name, (unsigned long long)session->seed);
    return all;
}
