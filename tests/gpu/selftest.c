// SPDX-License-Identifier: Apache-2.0
// A wrong kernel is found, named and switched off, and the next one is used; without another the operator is not available.
// usage: gpu_selftest DEVICE, with XDG_CACHE_HOME set to a folder of the test's own. Exit 77: there is no such device.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hone/graph.h>

#include "base/error.h"
#include "device/gpu/gpu.h"
#include "graph/plan.h"
#include "ops/kernel.h"

static int failures;
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            printf("%s:%d: ", __FILE__, __LINE__);                                                                     \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

static hone_error why;

static hone_device *open_device(const char *name, hone_testing testing) {
    hone_device *device = NULL;
    const hone_device_description description = {.name = name, .testing = testing};
    hone_status status;
    do {
        status = hone_device_open(&description, &device, &why);
    } while (status == HONE_PENDING);
    return device;
}

// --- the planted kernel: x - y where x + y is asked for --------------------------------------------------------------
static void wrong_dispatch(const hone_op_call *call, hone_kernel_list *list) {
    const hone_op *const other = hone_op_find("aten::sub.Tensor");
    other->variants[0].dispatch(call, list);
}

static void no_such_entry(const hone_op_call *call, hone_kernel_list *list) {
    hone_op_find("aten::add.Tensor")->variants[0].dispatch(call, list);
    for (size_t i = 0; i < list->count; i++) list->dispatches[i].entry = "binary.is_not_there";
}

typedef struct seen {
    size_t right, wrong, others_wrong;
    char text[512];
    const char *kernel; // that is expected to be wrong
} seen;

static void report(void *context, const hone_self_test_result *result) {
    seen *const s = context;
    s->right += result->verdict == HONE_VERDICT_RIGHT;
    if (result->verdict != HONE_VERDICT_WRONG) return;
    if (strcmp(result->op, "aten::add.Tensor") == 0 && strcmp(result->kernel, s->kernel) == 0) {
        s->wrong++;
        snprintf(s->text, sizeof(s->text), "%s", result->text);
    } else {
        s->others_wrong++;
        printf("%s %s: %s\n", result->op, result->kernel, result->text);
    }
}

static seen test_all(hone_device *device, const char *kernel) {
    seen s = {.kernel = kernel};
    hone_status status;
    do {
        status = hone_device_self_test(device, report, &s, &why);
    } while (status == HONE_PENDING);
    CHECK(status == HONE_OK, "the self-test: %s", why.message);
    return s;
}

// 2 + 3 on the device; NAN if it cannot be computed, with the reason in `why`.
static float add(hone_device *device) {
    const float given[] = {2, 3};
    float sum = NAN;
    hone_buffer *buffer = NULL;
    hone_graph *graph = NULL;
    hone_plan *plan = NULL;
    hone_program *program = NULL;
    hone_buffer *where;
    size_t offset;
    hone_status status = hone_buffer_create(device, 2 * HONE_BUFFER_ALIGNMENT, "inputs", &buffer, &why);
    if (status == HONE_OK) status = hone_buffer_upload(buffer, 0, &given[0], sizeof(float), &why);
    if (status == HONE_OK) status = hone_buffer_upload(buffer, HONE_BUFFER_ALIGNMENT, &given[1], sizeof(float), &why);
    if (status == HONE_OK) status = hone_graph_create(&graph, &why);
    const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 1, (int64_t)1);
    const hone_value x = hone_graph_constant(graph, "x", type, buffer, 0);
    const hone_value y = hone_graph_constant(graph, "y", type, buffer, HONE_BUFFER_ALIGNMENT);
    const hone_value z = hone_emit(graph, "aten::add.Tensor", HONE_T(x), HONE_T(y));
    hone_graph_keep(graph, z);
    if (status == HONE_OK) status = hone_plan_create(graph, NULL, &plan, &why);
    while (status == HONE_OK && (status = hone_program_create(device, plan, NULL, &program, &why)) == HONE_PENDING)
        status = HONE_OK;
    if (status == HONE_OK) status = hone_program_submit(program, 0, NULL, 0, &why);
    while (status == HONE_OK && (status = hone_program_wait(program, &why)) == HONE_PENDING) status = HONE_OK;
    if (status == HONE_OK) status = hone_program_locate(program, z, &where, &offset, &why);
    while (status == HONE_OK && (status = hone_buffer_download(where, offset, &sum, sizeof(sum), &why)) == HONE_PENDING)
        status = HONE_OK;
    hone_program_destroy(program);
    hone_plan_destroy(plan);
    hone_graph_destroy(graph);
    hone_buffer_destroy(buffer);
    return sum;
}

static void must(hone_status status) {
    CHECK(status == HONE_OK, "%s", why.message);
}

// A wrong row before the right one: found, named, remembered; the right one computes.
static void next_is_used(const char *name, const hone_op *op) {
    hone_kernel_variant rows[] = {
        {"planted", 0, NULL, wrong_dispatch}, {"broken", 0, NULL, no_such_entry}, op->variants[0], {0}};
    hone_device *device = open_device(name, HONE_TESTING_NONE);
    hone_device_facts facts;
    must(hone_gpu_replace(device, op, rows, &why));
    CHECK(add(device) == -1, "the planted kernel is not the one that runs");
    const seen s = test_all(device, "planted");
    CHECK(s.wrong == 1, "the planted kernel was found %zu times", s.wrong);
    CHECK(strstr(s.text, "should be"), "the text does not say what is wrong: %s", s.text);
    CHECK(s.others_wrong == 1, "%zu kernels beside the planted one are wrong, where one that does not exist is",
          s.others_wrong);
    CHECK(s.right > 50, "only %zu cases were right", s.right);
    hone_device_facts_read(device, &facts);
    CHECK(facts.off_count == 2 && strncmp(facts.off[0], "aten::add.Tensor planted ", 25) == 0, "not switched off");
    const float sum = add(device);
    CHECK(sum == 5, "2 + 3 is %g after the self-test", sum);
    hone_device_close(device);

    // What was found is known when the device is opened again: the planted row is gone from it, though.
    device = open_device(name, HONE_TESTING_KNOWN);
    hone_device_facts_read(device, &facts);
    CHECK(facts.off_count == 0, "a row that the operator does not have is off");
    hone_device_close(device);
}

// A wrong row and no other: the operator is not available, also when the device is opened again.
static void found_again(const char *name, const hone_op *op) {
    hone_kernel_variant rows[] = {{op->variants[0].name, 0, NULL, wrong_dispatch}, {0}};
    hone_device *device = open_device(name, HONE_TESTING_NONE);
    hone_device_facts facts;
    must(hone_gpu_replace(device, op, rows, &why));
    const seen s = test_all(device, op->variants[0].name);
    CHECK(s.wrong == 1 && s.others_wrong == 0, "wrong %zu, others %zu", s.wrong, s.others_wrong);
    CHECK(isnan(add(device)), "an operator without a right kernel runs");
    CHECK(strstr(why.message, "aten::add.Tensor is not available on device"), "the reason is: %s", why.message);
    hone_device_close(device);
    device = open_device(name, HONE_TESTING_ONCE);
    hone_device_facts_read(device, &facts);
    CHECK(facts.off_count == 1, "%zu kernels are off after opening the device again", facts.off_count);
    CHECK(isnan(add(device)), "a kernel that is known to be wrong runs");
    hone_device_close(device);
}

// A buffer beyond all of the GPU's memory is refused at once, not piece by piece until the machine has none left.
static void takes_no_more_than_there_is(hone_device *device) {
    hone_device_facts facts;
    hone_buffer *buffer = NULL;
    hone_error refusal = {0};
    hone_device_facts_read(device, &facts);
    if (facts.memory_bytes == 0) return; // the interface does not tell
    const hone_status status = hone_buffer_create(device, facts.memory_bytes + 1, "a test", &buffer, &refusal);
    CHECK(status == HONE_OUT_OF_MEMORY && strstr(refusal.message, "that the GPU has"), "%s", refusal.message);
    hone_buffer_destroy(buffer);
}

int main(int count, char **words) {
    const char *const name = count > 1 ? words[1] : "vulkan";
    const hone_op *const op = hone_op_find("aten::add.Tensor");
    hone_device *const device = open_device(name, HONE_TESTING_NONE);
    if (!device) {
        printf("skipped: %s\n", why.message);
        return why.status == HONE_NOT_FOUND ? 77 : 1;
    }
    takes_no_more_than_there_is(device);
    hone_device_close(device);
    next_is_used(name, op);
    found_again(name, op);
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
