// SPDX-License-Identifier: Apache-2.0
// What the files of this family share: kernels of one element, their shape rules, the operators of each file.
#ifndef HONE_OPS_UNARY_H
#define HONE_OPS_UNARY_H

#include "ops/op.h"
#include "ops/shared/variants.h"
#include "ops/shared/vector.h"

// out[i] = f(x[i]), or f(x[i], y[i]) with y = self or out and x = the gradient, for derivatives. p and q are numbers.
typedef void hone_unary_kernel(float *out, const float *x, const float *y, int64_t n, float p, float q);

#define HONE_UNARY_KERNEL(name, expression)                                                                            \
    HONE_VECTOR static void name(float *out, const float *in, const float *second, int64_t n, float p, float q) {      \
        (void)p;                                                                                                       \
        (void)q;                                                                                                       \
        (void)second;                                                                                                  \
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                             \
            const float x = in[i];                                                                                     \
            out[i] = (expression);                                                                                     \
        }                                                                                                              \
    }
#define HONE_UNARY_DERIVATIVE(name, expression)                                                                        \
    HONE_VECTOR static void name(float *out, const float *in, const float *second, int64_t n, float p, float q) {      \
        (void)p;                                                                                                       \
        (void)q;                                                                                                       \
        HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                             \
            const float d = in[i], x = second[i];                                                                      \
            out[i] = (expression);                                                                                     \
        }                                                                                                              \
    }

// Runs the kernel over all elements of operand 0, and of operand 1 if that is a tensor.
void hone_unary_apply(const hone_op_call *call, hone_unary_kernel *run, float p, float q);
// One f32 tensor; one that may be f32 or i32, with whole numbers behind it; a gradient and a tensor of its shape.
hone_status hone_unary_infer(const hone_op_call *call, hone_error *error);
hone_status hone_unary_infer_number(const hone_op_call *call, hone_error *error);
hone_status hone_unary_infer_derivative(const hone_op_call *call, hone_error *error);

// The same functions of i32 elements; false, with nothing done, for others.
bool hone_unary_whole_abs(const hone_op_call *call);
bool hone_unary_whole_neg(const hone_op_call *call);
bool hone_unary_whole_relu(const hone_op_call *call);
bool hone_unary_whole_clamp(const hone_op_call *call);

extern const hone_op hone_op_silu_mul, hone_op_silu_mul_backward;
extern const hone_op hone_op_sin, hone_op_cos;
extern const hone_op hone_op_round, hone_op_hardtanh, hone_op_hardtanh_backward;
extern const hone_op hone_op_leaky_relu, hone_op_leaky_relu_backward, hone_op_hardswish, hone_op_hardswish_backward;

// How they run on a GPU.
HONE_DECLARE_KERNEL(relu)
HONE_DECLARE_KERNEL(neg)
HONE_DECLARE_KERNEL(abs)
HONE_DECLARE_KERNEL(sigmoid)
HONE_DECLARE_KERNEL(exp)
HONE_DECLARE_KERNEL(log)
HONE_DECLARE_KERNEL(sqrt)
HONE_DECLARE_KERNEL(rsqrt)
HONE_DECLARE_KERNEL(sin)
HONE_DECLARE_KERNEL(cos)
HONE_DECLARE_KERNEL(sign)
HONE_DECLARE_KERNEL(tanh)
HONE_DECLARE_KERNEL(silu)
HONE_DECLARE_KERNEL(reciprocal)
HONE_DECLARE_KERNEL(round)
HONE_DECLARE_KERNEL(hardswish)
HONE_DECLARE_KERNEL(hardtanh)
HONE_DECLARE_KERNEL(leaky_relu)
HONE_DECLARE_KERNEL(sigmoid_backward)
HONE_DECLARE_KERNEL(tanh_backward)
HONE_DECLARE_KERNEL(silu_backward)
HONE_DECLARE_KERNEL(hardswish_backward)
HONE_DECLARE_KERNEL(threshold_backward)
HONE_DECLARE_KERNEL(clamp_backward)
HONE_DECLARE_KERNEL(hardtanh_backward)
HONE_DECLARE_KERNEL(leaky_relu_backward)
HONE_DECLARE_KERNEL(gelu)
HONE_DECLARE_KERNEL(gelu_backward)
HONE_DECLARE_KERNEL(power)
HONE_DECLARE_KERNEL(clamp)
HONE_DECLARE_KERNEL(silu_mul)
HONE_DECLARE_KERNEL(silu_mul_backward)

#endif
