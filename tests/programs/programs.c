// SPDX-License-Identifier: Apache-2.0
// Runs the programs that a manifest.json lists, as many calls as each has, against the outputs recorded beside them.
//
//   programs [--quiet] [--device NAME] [--only TEXT] [FOLDER]
//
// Without FOLDER: pte/ of the shared notes. Exit code 0: all pass; 1: some do not; 77: the folder is absent.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hone/program.h>

#include "base/memory.h"
#include "formats/npy.h"
#ifdef HONE_GPU
#include "device/gpu/gpu.h"
#endif

enum { MOST_PORTS = 64 };

typedef struct test_case {
    const char *id;
    char folder[2048];
    int64_t steps;
    bool step_files;
    double atol, rtol;
} test_case;

typedef struct settings {
    hone_device *device;
    bool gpu;
    const char *only;
    bool quiet;
} settings;

static hone_status read_array(const test_case *c, const char *word, int64_t step, size_t index, hone_tensor *out,
                              hone_error *error) {
    char path[2200];
    if (c->step_files) {
        snprintf(path, sizeof path, "%s/%s_%lld_%zu.npy", c->folder, word, (long long)step, index);
    } else {
        snprintf(path, sizeof path, "%s/%s_%zu.npy", c->folder, word, index);
    }
    return hone_npy_read(path, out, error);
}

static double element(const hone_tensor *tensor, int64_t i) {
    switch (tensor->type.dtype) {
    case HONE_DTYPE_F32:
        return ((const float *)tensor->data)[i];
    case HONE_DTYPE_F64:
        return ((const double *)tensor->data)[i];
    case HONE_DTYPE_I32:
        return ((const int32_t *)tensor->data)[i];
    case HONE_DTYPE_I64:
        return (double)((const int64_t *)tensor->data)[i];
    default:
        return ((const uint8_t *)tensor->data)[i];
    }
}

// Whether all elements agree; writes the worst one into `why` if not.
static bool agree(const test_case *c, const hone_tensor *got, const hone_tensor *wanted, char *why, size_t size) {
    char a[128], b[128];
    if (!hone_type_equal(&got->type, &wanted->type)) {
        snprintf(why, size, "is %s instead of %s", hone_type_print(&got->type, a, sizeof a),
                 hone_type_print(&wanted->type, b, sizeof b));
        return false;
    }
    const bool exact = wanted->type.dtype != HONE_DTYPE_F32 && wanted->type.dtype != HONE_DTYPE_F64;
    double worst = 0;
    int64_t wrong = 0;
    for (int64_t i = 0; i < hone_type_elements(&wanted->type); i++) {
        const double g = element(got, i), w = element(wanted, i);
        if (g == w || (isnan(g) && isnan(w))) continue;
        const double excess = fabs(g - w) - (exact ? 0 : c->atol + c->rtol * fabs(w));
        if (excess <= 0) continue;
        if (wrong++ > 0 && !(excess > worst)) continue;
        worst = excess;
        snprintf(why, size, "element %lld is %.9g instead of %.9g", (long long)i, g, w);
    }
    if (wrong > 1) {
        const size_t used = strlen(why);
        snprintf(why + used, size - used, " (the worst of %lld)", (long long)wrong);
    }
    return wrong == 0;
}

static hone_status run_step(hone_pte *pte, const hone_tensor *inputs, size_t input_count, hone_tensor *outputs,
                            size_t output_count, hone_error *error) {
    hone_status status;
    do {
        status = hone_pte_run(pte, inputs, input_count, outputs, output_count, error);
    } while (status == HONE_PENDING);
    return status;
}

// One call with its recorded inputs and outputs.
static hone_status check_step(hone_pte *pte, const test_case *c, int64_t step, char *why, size_t size,
                              hone_error *error) {
    const size_t input_count = hone_pte_input_count(pte), output_count = hone_pte_output_count(pte);
    hone_tensor inputs[MOST_PORTS] = {0}, outputs[MOST_PORTS], wanted = {0};
    hone_status status = HONE_OK;
    if (input_count > MOST_PORTS || output_count > MOST_PORTS) {
        snprintf(why, size, "has too many ports for this test");
        return HONE_UNSUPPORTED;
    }
    for (size_t i = 0; i < input_count && status == HONE_OK; i++)
        status = read_array(c, "in", step, i, &inputs[i], error);
    if (status == HONE_OK) status = run_step(pte, inputs, input_count, outputs, output_count, error);
    for (size_t i = 0; i < output_count && status == HONE_OK && !why[0]; i++) {
        status = read_array(c, "out", step, i, &wanted, error);
        char text[256] = "";
        if (status == HONE_OK && !agree(c, &outputs[i], &wanted, text, sizeof text))
            snprintf(why, size, "step %lld, output %zu (%s) %s", (long long)step, i, hone_pte_output(pte, i)->name,
                     text);
        hone_free(wanted.data);
        wanted.data = NULL;
    }
    for (size_t i = 0; i < input_count; i++) hone_free(inputs[i].data);
    return status;
}

// Dispatches so far where the device is a GPU.
static uint64_t dispatches(const settings *s) {
#ifdef HONE_GPU
    if (s->gpu) return hone_gpu_dispatches(s->device, NULL);
#endif
    (void)s;
    return 0;
}

// A GPU's programs have no step that runs elsewhere; that they have steps at all shows in the count.
static bool check_dispatches(const settings *s, uint64_t before) {
    return !s->gpu || dispatches(s) > before;
}

// All calls of a program, and once more after a reset.
static bool check_case(const settings *s, const test_case *c) {
    hone_error error = {0};
    char path[2200], why[512] = "";
    hone_pte *pte = NULL;
    snprintf(path, sizeof path, "%s/model.pte", c->folder);
    const uint64_t before = dispatches(s);
    hone_status status = hone_pte_open(s->device, path, NULL, &pte, &error);
    for (int round = 0; round < 2 && status == HONE_OK && !why[0]; round++) {
        for (int64_t step = 0; step < c->steps && status == HONE_OK && !why[0]; step++)
            status = check_step(pte, c, step, why, sizeof why, &error);
        if (status == HONE_OK && !why[0]) status = hone_pte_reset(pte, &error);
    }
    hone_pte_close(pte);
    if (status == HONE_OK && !why[0] && !check_dispatches(s, before))
        snprintf(why, sizeof why, "the GPU has run nothing");
    const bool right = status == HONE_OK && !why[0];
    if (!right || !s->quiet)
        printf("%-4s %s%s%s\n", right ? "ok" : "FAIL", c->id, right ? "" : ": ",
               status != HONE_OK ? error.message : why);
    return right;
}

static bool read_case(const char *folder, const json_t *entry, test_case *out) {
    const json_t *const tolerance = json_object_get(entry, "tolerance");
    const char *const directory = json_string_value(json_object_get(entry, "dir"));
    out->id = json_string_value(json_object_get(entry, "id"));
    if (!out->id || !directory) return false;
    const char *const slash = strrchr(directory, '/');
    snprintf(out->folder, sizeof out->folder, "%.1000s/%.1000s", folder, slash ? slash + 1 : directory);
    out->steps = json_integer_value(json_object_get(entry, "steps"));
    out->step_files = json_is_true(json_object_get(entry, "step_files"));
    out->atol = json_number_value(json_object_get(tolerance, "atol"));
    out->rtol = json_number_value(json_object_get(tolerance, "rtol"));
    return true;
}

static int run_all(const settings *s, const char *folder) {
    char path[1200];
    json_error_t why;
    snprintf(path, sizeof path, "%s/manifest.json", folder);
    json_t *const manifest = json_load_file(path, 0, &why);
    if (!manifest) {
        printf("skipped: %s: %s (HONE_SHARED names the folder of the notes)\n", path, why.text);
        return 77;
    }
    const json_t *const cases = json_object_get(manifest, "cases");
    size_t passed = 0, total = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        test_case c;
        if (!read_case(folder, json_array_get(cases, i), &c)) continue;
        if (s->only && !strstr(c.id, s->only)) continue;
        total++;
        passed += check_case(s, &c);
    }
    json_decref(manifest);
    printf("%zu of %zu programs pass on %s\n", passed, total, hone_device_name(s->device));
    return passed == total && total > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    settings s = {0};
    hone_device_description description = {.name = "cpu"};
    const char *folder = NULL;
    char shared[1024];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quiet") == 0) {
            s.quiet = true;
        } else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
            description.name = argv[++i];
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            s.only = argv[++i];
        } else {
            folder = argv[i];
        }
    }
    if (!folder) {
        const char *const given = getenv("HONE_SHARED");
        snprintf(shared, sizeof shared, "%s/pte", given ? given : HONE_SOURCE_DIR "/../shared");
        folder = shared;
    }
    hone_error error = {0};
    s.gpu = strncmp(description.name, "cpu", 3) != 0;
    hone_status status;
    do {
        status = hone_device_open(&description, &s.device, &error);
    } while (status == HONE_PENDING);
    if (status != HONE_OK) {
        fprintf(stderr, "programs: %s\n", error.message);
        return 1;
    }
    const int code = run_all(&s, folder);
    hone_device_close(s.device);
    return code;
}
