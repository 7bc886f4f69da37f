// SPDX-License-Identifier: Apache-2.0
// A case with its numbers drawn and its reference run.
#include "opcheck/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u; // FNV-1a
    return hash;
}

hone_status check_case_open(check_case *drawn, const hone_op_case *row, uint64_t seed, hone_error *error) {
    *drawn = (check_case){.row = row, .schema = hone_schema_find(row->op)};
    HONE_FAIL_IF(!drawn->schema, error, NOT_FOUND, "there is no operator '%s'", row->op);
    drawn->call = (hone_case){.op = row->op,
                              .name = row->name,
                              .inputs = row->inputs,
                              .input_count = row->input_count,
                              .arguments = row->arguments,
                              .argument_count = row->argument_count,
                              .tolerance = row->tolerance};
    HONE_TRY(hone_case_mutated(&drawn->call, drawn->mutated, error));
    drawn->random = hone_random_seed(seed, hash_text(hash_text(0xcbf29ce484222325u, row->op), row->name));
    for (size_t i = 0; i < row->input_count; i++) {
        HONE_TRY(hone_case_draw(&row->inputs[i], &drawn->random, &drawn->arena, &drawn->inputs[i], error));
    }
    for (size_t i = 0; i < row->argument_count; i++) {
        drawn->arguments[i] = row->arguments[i];
        if (row->arguments[i].kind != HONE_ARGUMENT_LIVE) continue;
        drawn->arguments[i].kind = HONE_ARGUMENT_REAL;
        drawn->arguments[i].integer = (int64_t)row->arguments[i].real;
    }
    hone_tensor_type types[CHECK_OUTPUTS];
    HONE_TRY(hone_case_output_types(&drawn->call, types, &drawn->output_count, error));
    for (size_t i = 0; i < drawn->output_count; i++) {
        drawn->outputs[i] = (hone_case_tensor){
            .type = types[i], .elements = (size_t)hone_type_elements(&types[i]), .bytes = hone_type_bytes(&types[i])};
    }
    return HONE_OK;
}

hone_status check_case_reference(check_case *drawn, hone_error *error) {
    HONE_FAIL_IF(!drawn->row->reference, error, INVALID_ARGUMENT, "the case has no reference");
    double *inputs[HONE_CASE_INPUTS] = {0};
    double *outputs[CHECK_OUTPUTS] = {0};
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        const hone_case_tensor *const input = &drawn->inputs[i];
        HONE_TRY(HONE_ARENA_ARRAY(&drawn->arena, &inputs[i], input->elements + 1, error));
        memcpy(inputs[i], input->values, input->elements * sizeof(double));
        drawn->after[i] = inputs[i];
    }
    for (size_t i = 0; i < drawn->output_count; i++) {
        HONE_TRY(HONE_ARENA_ARRAY(&drawn->arena, &outputs[i], drawn->outputs[i].elements + 1, error));
        drawn->outputs[i].values = outputs[i];
    }
    check_reference(drawn, inputs, outputs);
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        HONE_FAIL_IF(!drawn->mutated[i] && drawn->inputs[i].elements > 0 &&
                         memcmp(inputs[i], drawn->inputs[i].values, drawn->inputs[i].elements * sizeof(double)) != 0,
                     error, MISMATCH, "the reference changes input %zu, which the schema does not mutate", i);
    }
    return HONE_OK;
}

void check_case_close(check_case *drawn) {
    hone_arena_clear(&drawn->arena);
}

void check_reference(const check_case *drawn, double *const *inputs, double *const *outputs) {
    hone_tensor_type input_types[HONE_CASE_INPUTS];
    hone_tensor_type output_types[CHECK_OUTPUTS];
    for (size_t i = 0; i < drawn->row->input_count; i++) input_types[i] = drawn->inputs[i].type;
    for (size_t i = 0; i < drawn->output_count; i++) {
        output_types[i] = drawn->outputs[i].type;
        // What a reference forgets to write must not pass as 0.
        for (size_t j = 0; j < drawn->outputs[i].elements; j++) outputs[i][j] = NAN;
    }
    const hone_reference run = {.inputs = inputs,
                                .input_types = input_types,
                                .input_count = drawn->row->input_count,
                                .outputs = outputs,
                                .output_types = output_types,
                                .output_count = drawn->output_count,
                                .arguments = drawn->arguments};
    drawn->row->reference(&run);
}

const hone_op_case *check_next(const check_session *session, check_cursor *cursor) {
    while (hone_case_tables[cursor->table]) {
        const hone_op_case *const row = &hone_case_tables[cursor->table][cursor->row];
        if (!row->op) {
            cursor->table++;
            cursor->row = 0;
            continue;
        }
        cursor->row++;
        if (row->large != session->large) continue;
        if (!session->filter) return row;
        char name[512];
        snprintf(name, sizeof(name), "%s [%s]", row->op, row->name);
        if (strstr(name, session->filter)) return row;
    }
    return NULL;
}

void check_fail(check_session *session, const check_case *drawn, size_t device, const char *format, ...) {
    session->failure_count++;
    if (session->planted || session->quiet) return; // wanted
    char text[1200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    char threads[32] = "";
    if (session->threads[device]) snprintf(threads, sizeof(threads), ", threads %d", session->threads[device]);
    printf("FAIL %s [%s] %s%s: %s (seed %llu)\n", drawn->row->op, drawn->row->name, session->device_name, threads, text,
           (unsigned long long)session->seed);
}
