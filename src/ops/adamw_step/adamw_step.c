// SPDX-License-Identifier: Apache-2.0
// AdamW's update, plain and guarded, and the numbers that guard it: global norm, clip factor, finite flag.
//
// For each element, with g the gradient (times the clip factor when guarded):
//   p -= lr * weight_decay * p
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g * g
//   p -= lr * (m / bias_correction1) / (sqrt(v / bias_correction2) + eps)
// bias_correction = 1 - beta^t comes from the caller; exactly 1 means none.
#include <float.h>
#include <math.h>

#include "ops/adamw_step/adamw_step.h"
#include "ops/op.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

// Rounded once each, from the double the caller gave.
typedef struct numbers {
    float lr, decay, beta1, rest1, beta2, rest2, eps, correction1, correction2, factor;
} numbers;

typedef struct context {
    float *param, *m, *v;
    const float *grad;
    double *sums; // partial sums of squares, one a block
    numbers n;
} context;

HONE_VECTOR static void update(const context *c, int64_t begin, int64_t end) {
    float *const param = c->param, *const m = c->m, *const v = c->v;
    const float *const grad = c->grad;
    const numbers n = c->n;
    HONE_INDEPENDENT for (int64_t i = begin; i < end; i++) {
        const float g = grad[i] * n.factor;
        const float mean = n.beta1 * m[i] + n.rest1 * g;
        const float square = n.beta2 * v[i] + n.rest2 * (g * g);
        const float root = __builtin_sqrtf(square / n.correction2);
        m[i] = mean;
        v[i] = square;
        // The decay is subtracted, not folded into a factor 1 - decay: near 1 its rounding would be a bias.
        const float decayed = param[i] - n.decay * param[i];
        param[i] = decayed - n.lr * (mean / n.correction1) / (root + n.eps);
    }
}

static void update_range(void *opaque, int64_t begin, int64_t end) {
    update(opaque, begin, end);
}

// Tensors param, m, v, grad; control at 4 when guarded; numbers from `first` on.
static hone_status step_infer(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 4; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_OP_CHECK(hone_shape_equal(&hone_operand_tensor(call, i)->type, &hone_operand_tensor(call, 0)->type),
                      "param, m, v and grad must have one shape, not %s and %s",
                      hone_op_type_text(hone_operand_tensor(call, 0)), hone_op_type_text(hone_operand_tensor(call, i)));
    }
    return HONE_OK;
}

static hone_status guarded_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(step_infer(call, error));
    HONE_TRY(hone_op_want_dtype(call, 4, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(hone_type_elements(&hone_operand_tensor(call, 4)->type) == 4,
                  "control must be the four numbers of hone::gradient_control, not %s",
                  hone_op_type_text(hone_operand_tensor(call, 4)));
    return HONE_OK;
}

static void step(const hone_op_call *call, size_t first, float factor) {
    const hone_operand *const o = call->operands + first;
    context c = {.param = call->operands[0].tensors->data,
                 .m = call->operands[1].tensors->data,
                 .v = call->operands[2].tensors->data,
                 .grad = hone_operand_floats(call, 3)};
    c.n = (numbers){.lr = (float)o[0].real,
                    .decay = (float)(o[0].real * o[4].real),
                    .beta1 = (float)o[1].real,
                    .rest1 = (float)(1 - o[1].real),
                    .beta2 = (float)o[2].real,
                    .rest2 = (float)(1 - o[2].real),
                    .eps = (float)o[3].real,
                    .correction1 = (float)o[5].real,
                    .correction2 = (float)o[6].real,
                    .factor = factor};
    hone_call_elements(call, hone_type_elements(&hone_operand_tensor(call, 0)->type), update_range, &c);
}

static void step_cpu(const hone_op_call *call) {
    step(call, 4, 1);
}

static void guarded_cpu(const hone_op_call *call) {
    const float *const control = hone_operand_floats(call, 4);
    if (control[2] != 0) step(call, 5, control[1]);
}

// --- control
// ---------------------------------------------------------------------------------------------------------
HONE_VECTOR static double squares(const float *x, int64_t n) {
    return hone_sum_squares(x, n);
}

static void squares_range(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    c->sums[begin / HONE_BLOCK] = squares(c->grad + begin, end - begin);
}

static hone_status control_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    call->outputs[0].type = hone_type(HONE_DTYPE_F32, 1, (int64_t)4);
    return HONE_OK;
}

static int64_t block_count(const hone_op_call *call) {
    return (hone_type_elements(&hone_operand_tensor(call, 0)->type) + HONE_BLOCK - 1) / HONE_BLOCK;
}

static hone_cpu_needs control_needs(const hone_op_call *call) {
    return (hone_cpu_needs){.workspace_bytes = (size_t)block_count(call) * sizeof(double)};
}

static void control_cpu(const hone_op_call *call) {
    const hone_tensor *const gradient = hone_operand_tensor(call, 0), *const loss = hone_operand_tensor(call, 1);
    context c = {.grad = gradient->data, .sums = call->workspace};
    hone_call_elements(call, hone_type_elements(&gradient->type), squares_range, &c);
    double sum = 0;
    for (int64_t i = 0; i < block_count(call); i++) sum += c.sums[i];
    const double norm = sqrt(sum), clip = call->operands[2].real;
    bool finite = isfinite(norm); // squares of floats cannot overflow a double
    for (int64_t i = 0; i < hone_type_elements(&loss->type); i++)
        finite = finite && isfinite(((const float *)loss->data)[i]);
    float *const out = call->outputs[0].data;
    out[0] = (float)(norm > FLT_MAX && finite ? FLT_MAX : norm);
    out[1] = (float)(clip > 0 && norm > clip ? clip / norm : 1);
    out[2] = finite;
    out[3] = 0;
}

static const hone_op op_adamw_step = {
    .schema = "et_vk::adamw_step(Tensor(a!) param, Tensor(b!) m, Tensor(c!) v, Tensor grad, float lr, float beta1, "
              "float beta2, float eps, float weight_decay, float bias_correction1, float bias_correction2) -> ()",
    .summary = "p -= lr*wd*p; m = b1*m + (1-b1)*g; v = b2*v + (1-b2)*g*g; p -= lr * (m/bc1) / (sqrt(v/bc2) + eps)",
    .flags = HONE_OP_EFFECT,
    .infer = step_infer,
    .cpu = step_cpu,
    .variants = hone_kernels_adamw_step,
};
static const hone_op op_adamw_step_guarded = {
    .schema = "hone::adamw_step_guarded(Tensor(a!) param, Tensor(b!) m, Tensor(c!) v, Tensor grad, Tensor control, "
              "float lr, float beta1, float beta2, float eps, float weight_decay, float bias_correction1, "
              "float bias_correction2) -> ()",
    .summary = "adamw_step with g = grad * control[1]; nothing changes where control[2] is 0",
    .flags = HONE_OP_EFFECT,
    .infer = guarded_infer,
    .cpu = guarded_cpu,
    .variants = hone_kernels_adamw_step_guarded,
};
static const hone_op op_gradient_control = {
    .schema = "hone::gradient_control(Tensor gradient, Tensor loss, float clip) -> Tensor",
    .summary = "[norm of gradient, clip <= 0 or norm <= clip ? 1 : clip / norm, norm and loss are finite, 0]",
    .infer = control_infer,
    .cpu = control_cpu,
    .cpu_needs = control_needs,
    .variants = hone_kernels_gradient_control,
};

const hone_op *const hone_ops_adamw_step[] = {&op_adamw_step, &op_adamw_step_guarded, &op_gradient_control, 0};
