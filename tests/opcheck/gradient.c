// SPDX-License-Identifier: Apache-2.0
// The gradients of a case against central differences of its reference in double.
#include "opcheck/check.h"

#include <math.h>
#include <string.h>

#define PROBES 96 // elements of an input that are looked at one by one; a random direction covers the rest

typedef struct gradient_check {
    check_session *session;
    check_case *drawn;
    hone_case_tensor seeds[CHECK_OUTPUTS];
    double *inputs[HONE_CASE_INPUTS];       // the point
    double *work[HONE_CASE_INPUTS];         // a copy for the reference, which may write into it
    double *outputs[2][CHECK_OUTPUTS];      // of the reference, on both sides of the point
    unsigned char *first[HONE_CASE_INPUTS]; // bytes of the first run on the first device
    bool have_first;
} gradient_check;

static uint32_t inputs_wanted(const check_case *drawn) {
    uint32_t wanted = 0;
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        const bool differentiable = hone_case_is_float(drawn->inputs[i].type.dtype) && !drawn->mutated[i];
        if (differentiable && !(drawn->row->no_gradient >> i & 1)) wanted |= (uint32_t)1 << i;
    }
    return wanted;
}

bool check_has_gradient(const check_case *drawn) {
    return drawn->row->gradient_tolerance > 0 && drawn->schema->op->gradient && inputs_wanted(drawn) != 0;
}

static hone_status prepare(gradient_check *check, hone_error *error) {
    check_case *const drawn = check->drawn;
    for (size_t i = 0; i < drawn->output_count; i++) {
        for (int side = 0; side < 2; side++) {
            HONE_TRY(HONE_ARENA_ARRAY(&drawn->arena, &check->outputs[side][i], drawn->outputs[i].elements + 1, error));
        }
        if (!hone_case_is_float(drawn->outputs[i].type.dtype) || (drawn->row->no_seed >> i & 1)) continue;
        const hone_case_input random = {.type = drawn->outputs[i].type};
        HONE_TRY(hone_case_draw(&random, &drawn->random, &drawn->arena, &check->seeds[i], error));
    }
    for (size_t i = 0; i < drawn->row->input_count; i++) {
        const hone_case_tensor *const input = &drawn->inputs[i];
        HONE_TRY(HONE_ARENA_ARRAY(&drawn->arena, &check->inputs[i], input->elements + 1, error));
        HONE_TRY(HONE_ARENA_ARRAY(&drawn->arena, &check->work[i], input->elements + 1, error));
        memcpy(check->inputs[i], input->values, input->elements * sizeof(double));
    }
    return HONE_OK;
}

// Runs the reference at the point.
static void evaluate(gradient_check *check, int side) {
    const check_case *const drawn = check->drawn;
    for (size_t i = 0; i < drawn->row->input_count; i++)
        memcpy(check->work[i], check->inputs[i], drawn->inputs[i].elements * sizeof(double));
    check_reference(drawn, check->work, check->outputs[side]);
}

typedef struct difference {
    double value, noise; // noise: what rounding in double may have done to it
} difference;

// Of the seeded sum of the outputs, along `direction` (NULL: along element `at` alone). Term by term, so that what does
// not change adds no rounding errors.
static difference differentiate(gradient_check *check, size_t input, const double *direction, size_t at, double step) {
    double *const x = check->inputs[input];
    const check_case *const drawn = check->drawn;
    const double *const start = drawn->inputs[input].values;
    const size_t elements = drawn->inputs[input].elements;
    for (int side = 0; side < 2; side++) {
        const double h = side ? -step : step;
        if (!direction) x[at] = start[at] + h;
        for (size_t j = 0; direction && j < elements; j++) x[j] = start[j] + h * direction[j];
        evaluate(check, side);
    }
    memcpy(x, start, elements * sizeof(double));
    double sum = 0;
    double magnitude = 0;
    for (size_t i = 0; i < drawn->output_count; i++) {
        for (size_t j = 0; check->seeds[i].values && j < drawn->outputs[i].elements; j++) {
            const double after = check->outputs[0][i][j];
            const double before = check->outputs[1][i][j];
            if (after == before) continue;
            sum += check->seeds[i].values[j] * (after - before);
            magnitude += fabs(check->seeds[i].values[j]) * fmax(fabs(after), fabs(before));
        }
    }
    return (difference){sum / (2 * step), 1e-15 * magnitude / step};
}

static double step_of(const hone_case_tensor *input) {
    double squares = 0;
    for (size_t i = 0; i < input->elements; i++) squares += input->values[i] * input->values[i];
    const double scale = sqrt(squares / (double)input->elements);
    return 1e-5 * (scale > 0 && isfinite(scale) ? scale : 1);
}

// Which elements are probed: all, or the first, the last and random ones.
static size_t probe_at(gradient_check *check, size_t probe, size_t elements) {
    if (elements <= PROBES || probe == 0) return probe;
    if (probe == 1) return elements - 1;
    return hone_random_below(&check->drawn->random, (uint32_t)elements);
}

// True if `got` is the slope there. A kink nearer than the step spoils a difference: shorter steps leave it outside.
static bool is_slope(gradient_check *check, size_t input, const double *direction, size_t at, double step, double got,
                     double allowed) {
    for (int shorter = 0; shorter < 2; shorter++, step /= 30) {
        const difference found = differentiate(check, input, direction, at, step);
        if (fabs(got - found.value) <= allowed + found.noise) return true; // NaN is no way through
    }
    return false;
}

static void compare_elements(gradient_check *check, size_t input, const double *got) {
    const hone_case_tensor *const at = &check->drawn->inputs[input];
    const double tolerance = check->drawn->row->gradient_tolerance;
    const size_t probes = at->elements < PROBES ? at->elements : PROBES;
    difference found[PROBES];
    size_t places[PROBES];
    double largest = 0;
    for (size_t i = 0; i < probes; i++) {
        places[i] = probe_at(check, i, at->elements);
        const double step = fmax(step_of(at), 1e-5 * fabs(at->values[places[i]]));
        found[i] = differentiate(check, input, NULL, places[i], step);
        largest = fmax(largest, fabs(found[i].value));
    }
    for (size_t i = 0; i < probes; i++) {
        const double value = got[places[i]];
        if (fabs(value - found[i].value) <= tolerance * largest + found[i].noise) continue;
        const double step = fmax(step_of(at), 1e-5 * fabs(at->values[places[i]]));
        if (is_slope(check, input, NULL, places[i], step / 30, value, tolerance * largest)) continue;
        check_fail(check->session, check->drawn, 0,
                   "gradient of input %zu at element %zu is %.9g, differences give %.9g: error %.3g, allowed %.3g",
                   input, places[i], value, found[i].value, fabs(value - found[i].value) / largest, tolerance);
        return;
    }
}

// All elements at once, along a random direction.
static hone_status compare_direction(gradient_check *check, size_t input, const double *got, hone_error *error) {
    const hone_case_tensor *const at = &check->drawn->inputs[input];
    double *direction;
    HONE_TRY(HONE_ARENA_ARRAY(&check->drawn->arena, &direction, at->elements, error));
    double product = 0;
    double magnitude = 0;
    for (size_t i = 0; i < at->elements; i++) {
        direction[i] = hone_random_below(&check->drawn->random, 2) ? 1 : -1;
        product += got[i] * direction[i];
        magnitude += fabs(got[i]);
    }
    const double allowed = check->drawn->row->gradient_tolerance * magnitude;
    if (!is_slope(check, input, direction, 0, step_of(at), product, allowed))
        check_fail(check->session, check->drawn, 0,
                   "gradient of input %zu along a random direction is %.9g, differences give %.9g", input, product,
                   differentiate(check, input, direction, 0, step_of(at)).value);
    return HONE_OK;
}

// A gradient that does not exist says that the outputs do not depend on the input.
static hone_status compare_gradient(gradient_check *check, check_program *program, size_t result, size_t device,
                                    int repeat, hone_error *error) {
    const check_result *const gradient = &program->results[result];
    const hone_case_tensor *const input = &check->drawn->inputs[gradient->index];
    if (input->elements == 0) return HONE_OK;
    double *got;
    HONE_TRY(HONE_ARENA_ARRAY(&check->drawn->arena, &got, input->elements, error));
    if (gradient->value.id) {
        HONE_FAIL_IF(!hone_shape_equal(&gradient->type, &input->type), error, MISMATCH,
                     "the gradient of input %zu has another shape than it", gradient->index);
        unsigned char *bytes;
        HONE_TRY(hone_arena_allocate(&check->drawn->arena, gradient->bytes, 1, (void **)&bytes, error));
        HONE_TRY(check_program_read(program, result, bytes, error));
        hone_case_decode(gradient->type.dtype, bytes, input->elements, got);
        if (check->have_first && memcmp(bytes, check->first[result], gradient->bytes) != 0)
            check_fail(check->session, check->drawn, device, "%s has other bits %s", gradient->what,
                       repeat ? "on the second run" : "than with one thread");
        if (!check->have_first) check->first[result] = bytes;
    }
    if (check->have_first) return HONE_OK;
    compare_elements(check, gradient->index, got);
    return compare_direction(check, gradient->index, got, error);
}

static hone_status run_device(gradient_check *check, check_program *program, size_t device, hone_error *error) {
    HONE_TRY(check_program_gradient(program, check->session->devices[device], check->drawn, check->seeds,
                                    inputs_wanted(check->drawn), error));
    for (int repeat = 0; repeat < 2; repeat++) {
        HONE_TRY(check_program_run(program, false, error));
        HONE_TRY(check_plant_error(check->session, program, repeat, error));
        for (size_t i = 0; i < program->result_count; i++)
            HONE_TRY(compare_gradient(check, program, i, device, repeat, error));
        check->have_first = true;
        HONE_TRY(check_program_intact(program, error));
    }
    return HONE_OK;
}

void check_gradient(check_session *session, check_case *drawn) {
    gradient_check check = {.session = session, .drawn = drawn};
    hone_error error = {0};
    if (prepare(&check, &error) != HONE_OK) {
        check_fail(session, drawn, 0, "%s", error.message);
        return;
    }
    const size_t devices = session->planted ? 1 : session->device_count;
    for (size_t device = 0; device < devices; device++) {
        check_program program = {0};
        if (run_device(&check, &program, device, &error) != HONE_OK)
            check_fail(session, drawn, device, "gradient: %s", error.message);
        check_program_close(&program);
    }
}
