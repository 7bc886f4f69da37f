// SPDX-License-Identifier: Apache-2.0
// A program outside of the library, with its public headers alone: it registers an operator of its own and trains
// through it. y = x^3 w; w is learnt by gradient descent from 0 to 2.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <hone/hone.h>

enum { COUNT = 4, STEPS = 200 };

static hone_status cube_infer(const hone_op_call *call, hone_error *error) {
    (void)error;
    call->outputs[0].type = call->operands[0].tensors->type;
    return HONE_OK;
}

static void cube_element(void *context, int64_t index, int thread) {
    (void)thread;
    const hone_op_call *const call = context;
    const float x = ((const float *)call->operands[0].tensors->data)[index];
    ((float *)call->outputs[0].data)[index] = x * x * x;
}

static void cube_cpu(const hone_op_call *call) {
    hone_call_parallel(call, hone_type_elements(&call->outputs[0].type), cube_element, (void *)call);
}

static hone_status cube_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    const hone_value x = hone_node_input(call->node, 0);
    const hone_value square = hone_emit(call->graph, "aten::mul.Tensor", HONE_T(x), HONE_T(x));
    const hone_value slope = hone_emit(call->graph, "aten::mul.Scalar", HONE_T(square), HONE_R(3));
    call->input_gradients[0] =
        hone_emit(call->graph, "aten::mul.Tensor", HONE_T(slope), HONE_T(call->output_gradients[0]));
    return HONE_OK;
}

static const hone_op cube = {.schema = "outside::cube(Tensor self) -> Tensor",
                             .summary = "x^3",
                             .infer = cube_infer,
                             .cpu = cube_cpu,
                             .gradient = cube_gradient,
                             .gradient_text = "3 x^2 grad"};

static void must(hone_status status, const hone_error *error) {
    if (status == HONE_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

// w sits in the operator's argument, so that its gradient goes through the rule above: y = cube(w x), target cube(2 x).
int main(void) {
    hone_error error = {0};
    hone_device *device = NULL;
    hone_graph *graph = NULL;
    hone_plan *plan = NULL;
    hone_program *program = NULL;
    hone_buffer *buffer = NULL;
    const float x[COUNT] = {-1.0f, 0.5f, 0.75f, 1.0f};
    float target[COUNT], w = 0.5f;
    for (int i = 0; i < COUNT; i++) target[i] = 8 * x[i] * x[i] * x[i];
    must(hone_op_register(&cube, &error), &error);
    if (hone_op_register(&cube, &error) != HONE_EXISTS || hone_op_find("outside::cube") != &cube) return 1;
    must(hone_device_open(NULL, &device, &error), &error);
    must(hone_buffer_create(device, 3 * HONE_BUFFER_ALIGNMENT, "state", &buffer, &error), &error);
    must(hone_buffer_upload(buffer, 0, &w, sizeof(w), &error), &error);
    must(hone_buffer_upload(buffer, HONE_BUFFER_ALIGNMENT, x, sizeof(x), &error), &error);
    must(hone_buffer_upload(buffer, 2 * HONE_BUFFER_ALIGNMENT, target, sizeof(target), &error), &error);

    must(hone_graph_create(&graph, &error), &error);
    const hone_tensor_type row = hone_type(HONE_DTYPE_F32, 1, (int64_t)COUNT);
    const hone_value weight = hone_graph_state(graph, "w", hone_type(HONE_DTYPE_F32, 1, (int64_t)1), buffer, 0);
    const hone_value inputs = hone_graph_constant(graph, "x", row, buffer, HONE_BUFFER_ALIGNMENT);
    const hone_value wanted = hone_graph_constant(graph, "target", row, buffer, 2 * HONE_BUFFER_ALIGNMENT);
    const hone_value y =
        hone_emit(graph, "outside::cube", HONE_T(hone_emit(graph, "aten::mul.Tensor", HONE_T(weight), HONE_T(inputs))));
    const hone_value difference = hone_emit(graph, "aten::sub.Tensor", HONE_T(y), HONE_T(wanted));
    const size_t first_backward = hone_graph_node_count(graph);
    hone_value gradient;
    must(hone_graph_gradients(graph, &y, &difference, 1, &weight, 1, NULL, &gradient, &error), &error);
    hone_emit(graph, "hone::accumulate_", HONE_T(weight),
              HONE_T(hone_emit(graph, "aten::mul.Scalar", HONE_T(gradient), HONE_LIVE(0))));
    must(hone_plan_create(graph, &(hone_plan_options){HONE_RECOMPUTE_CHEAP, first_backward}, &plan, &error), &error);
    must(hone_program_create(device, plan, NULL, &program, &error), &error);
    for (int step = 0; step < STEPS; step++) {
        const double rate = -0.002;
        must(hone_program_submit(program, 0, &rate, 1, &error), &error);
        must(hone_program_wait(program, &error), &error);
    }
    must(hone_buffer_download(buffer, 0, &w, sizeof(w), &error), &error);
    printf("w = %.6f after %d steps\n", w, STEPS);
    hone_program_destroy(program);
    hone_plan_destroy(plan);
    hone_graph_destroy(graph);
    hone_buffer_destroy(buffer);
    hone_device_close(device);
    return fabsf(w - 2.0f) > 1e-3f;
}
