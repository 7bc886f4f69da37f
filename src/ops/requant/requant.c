// SPDX-License-Identifier: Apache-2.0
// Latent weights to the 4-bit codes of q4gsw, with the scales they have.
//
// latent [N,K], scales [ceil(K/g), N_pad], out u8 [N, ceil(K/2)]:
//   code[n,k] = clamp(round_half_even(latent[n,k] / scale[k / g][n]), -8, 7) + 8
// Byte b of a row holds column 2b in its low nibble and 2b + 1 in its high one; the spare nibble of an odd K is 0.
// Every device gives the same codes, bit for bit: the quotient is the correctly rounded one, a scale smaller than
// 2^-126 counts as 0 (what is below, not all devices can represent), and where there is no quotient the code is 8.
#include <float.h>

#include "ops/op.h"
#include "ops/requant/requant.h"
#include "ops/shared/math.h"
#include "ops/shared/parallel.h"
#include "ops/shared/vector.h"

enum { CHUNK = 256 }; // columns that are codes of one byte each before they are packed; even

typedef struct context {
    uint8_t *out;
    const float *latent, *scales;
    int64_t columns, row_bytes, scale_step, group;
} context;

// Clamped as floats, before the conversion that 1e30 would not survive. Adding 1.5 * 2^23 rounds to whole numbers,
// halves to even ones, and leaves them in the low bits.
HONE_VECTOR static void encode(uint8_t *codes, const float *latent, float scale, int64_t n) {
    const float magic = 12582912.0f;
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float quotient = latent[i] / scale;
        const float above = hone_select(quotient < -8.0f, -8.0f, quotient);
        const float within = hone_select(above > 7.0f, 7.0f, above);
        const float defined = hone_select(within != within, 0.0f, within);
        codes[i] = (uint8_t)(hone_float_bits(defined + magic) - hone_float_bits(magic) + 8u);
    }
}

HONE_VECTOR static void pack(uint8_t *out, const uint8_t *codes, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++) out[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
}

static void row(const context *c, int64_t n) {
    uint8_t codes[CHUNK];
    const float *const latent = c->latent + n * c->columns;
    for (int64_t begin = 0; begin < c->columns; begin += CHUNK) {
        const int64_t end = begin + CHUNK < c->columns ? begin + CHUNK : c->columns;
        for (int64_t k = begin; k < end;) {
            const int64_t group = k / c->group, next = (group + 1) * c->group;
            const int64_t last = next < end ? next : end;
            float scale = c->scales[group * c->scale_step + n];
            // A quotient by NaN is NaN, which gives code 8.
            if (scale > -FLT_MIN && scale < FLT_MIN) scale = NAN;
            encode(codes + (k - begin), latent + k, scale, last - k);
            k = last;
        }
        if ((end - begin) % 2 == 1) codes[end - begin] = 0;
        pack(c->out + n * c->row_bytes + begin / 2, codes, (end - begin + 1) / 2);
    }
}

static void rows(void *opaque, int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; n++) row(opaque, n);
}

static hone_status infer(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 2; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, i, 2, error));
    }
    const hone_tensor *const latent = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    const int64_t n = latent->type.dims[0], k = latent->type.dims[1], group = call->operands[2].integer;
    HONE_OP_CHECK(group >= 1 && !call->operands[2].live, "group_size must be a fixed number >= 1, not %lld",
                  (long long)group);
    const int64_t groups = k / group + (k % group != 0);
    HONE_OP_CHECK(scales->type.dims[0] == groups && scales->type.dims[1] >= n,
                  "scales %s must be [%lld, >= %lld] for latent %s in groups of %lld", hone_op_type_text(scales),
                  (long long)groups, (long long)n, hone_op_type_text(latent), (long long)group);
    call->outputs[0].type = hone_type(HONE_DTYPE_U8, 2, n, k / 2 + k % 2);
    return HONE_OK;
}

static void cpu(const hone_op_call *call) {
    const hone_tensor *const latent = hone_operand_tensor(call, 0), *const scales = hone_operand_tensor(call, 1);
    context c = {.out = call->outputs[0].data,
                 .latent = latent->data,
                 .scales = scales->data,
                 .columns = latent->type.dims[1],
                 .row_bytes = call->outputs[0].type.dims[1],
                 .scale_step = scales->type.dims[1],
                 .group = call->operands[2].integer};
    hone_call_rows(call, latent->type.dims[0], c.columns, rows, &c);
}

static const hone_op op_requant = {
    .schema = "et_vk::q4gsw_requant(Tensor latent, Tensor scales, int group_size) -> Tensor",
    .summary = "codes clamp(round_half_even(latent / scale), -8, 7) + 8, two a byte; 8 where there is no quotient",
    .infer = infer,
    .cpu = cpu,
    .variants = hone_kernels_requant,
};

const hone_op *const hone_ops_requant[] = {&op_requant, 0};
