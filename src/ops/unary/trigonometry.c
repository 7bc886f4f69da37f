// SPDX-License-Identifier: Apache-2.0
// Sine and cosine for any float: x = n pi/2 + r with |r| <= pi/4, then a series in r.
//
// The reduction is done in double: pi/2 is a head of 33 bits, whose product with n < 2^20 is exact, and a tail. So r has
// an error below 2^-50 for |x| < 2^20 and the result about one of 2^-24. Beyond, where single floats lie further apart
// than some turns, the C library's functions of double are asked, one element at a time.
#include <math.h>
#include <string.h>

#include "ops/shared/math.h"
#include "ops/unary/unary.h"

enum { CHUNK = 256 };

#define HALF_PI_HEAD 0x1.921fb544p+0
#define HALF_PI_TAIL 0x1.0b4611a626331p-34
#define TWO_OVER_PI  0.63661977236758134308
#define FARTHEST     1048576.0f // 2^20

// sin(x + quarter_turns pi/2). Terms of both series are their Taylor ones: the first left out is below 2^-29.
HONE_INLINE float turn(float x, uint32_t quarter_turns) {
    const double magic = 6755399441055744.0; // 1.5 * 2^52: adding it leaves the nearest whole number in the low bits
    const double shifted = (double)x * TWO_OVER_PI + magic;
    const double n = shifted - magic;
    const float r = (float)(((double)x - n * HALF_PI_HEAD) - n * HALF_PI_TAIL);
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    const uint32_t quadrant = (uint32_t)bits + quarter_turns;
    const float z = r * r;
    const float s = (((2.755731922e-06f * z - 1.984126984e-04f) * z + 8.333333333e-03f) * z - 1.666666667e-01f) * z;
    const float c =
        ((((-2.755731922e-07f * z + 2.480158730e-05f) * z - 1.388888889e-03f) * z + 4.166666667e-02f) * z - 0.5f) * z;
    const float size = hone_select((int)(quadrant & 1), 1.0f + c, r * (1.0f + s));
    return hone_bits_float(hone_float_bits(size) ^ (quadrant & 2) << 30);
}

HONE_VECTOR static void turn_all(float *out, const float *x, int64_t n, uint32_t quarter_turns) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) out[i] = turn(x[i], quarter_turns);
}

// out may be x, so what the far ones need is kept.
static void turn_chunks(float *out, const float *in, int64_t n, uint32_t quarter_turns) {
    float x[CHUNK];
    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        const int64_t count = n - begin < CHUNK ? n - begin : CHUNK;
        memcpy(x, in + begin, (size_t)count * sizeof *x);
        turn_all(out + begin, x, count, quarter_turns);
        for (int64_t i = 0; i < count; i++)
            if (!(fabsf(x[i]) < FARTHEST)) out[begin + i] = (float)(quarter_turns ? cos(x[i]) : sin(x[i]));
    }
}

static void sine(float *out, const float *in, const float *second, int64_t n, float p, float q) {
    (void)second;
    (void)p;
    (void)q;
    turn_chunks(out, in, n, 0);
}

static void cosine(float *out, const float *in, const float *second, int64_t n, float p, float q) {
    (void)second;
    (void)p;
    (void)q;
    turn_chunks(out, in, n, 1);
}

static void sin_cpu(const hone_op_call *call) {
    hone_unary_apply(call, sine, 0, 0);
}
static void cos_cpu(const hone_op_call *call) {
    hone_unary_apply(call, cosine, 0, 0);
}

static hone_value times_d(const hone_gradient_call *call, const char *slope) {
    const hone_value s = hone_emit(call->graph, slope, HONE_T(hone_grad_in(call, 0)));
    return hone_emit(call->graph, "aten::mul.Tensor", HONE_T(hone_grad_out(call, 0)), HONE_T(s));
}

static hone_status sin_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = times_d(call, "aten::cos");
    return HONE_OK;
}

static hone_status cos_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    call->input_gradients[0] = hone_emit(call->graph, "aten::neg", HONE_T(times_d(call, "aten::sin")));
    return HONE_OK;
}

const hone_op hone_op_sin = {
    .schema = "aten::sin(Tensor self) -> Tensor",
    .summary = "sine of an angle in radians",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = hone_unary_infer,
    .cpu = sin_cpu,
    .gradient = sin_gradient,
    .gradient_text = "d * cos(x)",
    .variants = hone_kernels_sin,
};
const hone_op hone_op_cos = {
    .schema = "aten::cos(Tensor self) -> Tensor",
    .summary = "cosine of an angle in radians",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = hone_unary_infer,
    .cpu = cos_cpu,
    .gradient = cos_gradient,
    .gradient_text = "-d * sin(x)",
    .variants = hone_kernels_cos,
};
