// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding as ExecuTorch's programs have it: three operators, with tables that are tensors.
//
// apply_rotary_emb: xq [B,S,H,D], xk [B,S,Hk,D], cosines and sines [S,D/2]; pairs are neighbours:
//   (a, b) -> (a cos - b sin, a sin + b cos)
// apply_rotary_emb_hf: tables [S_max,D], rows from start_pos on; pairs are halves, each half with numbers of its own:
//   (a, b) -> (a cos_a - b sin_a, b cos_b + a sin_b)         transposed: (a cos_a + b sin_b, b cos_b - a sin_a)
// apply_rotary_emb_interleaved: x [..,N,C], table of N*C numbers, (cos, sin) for each pair of neighbours.
// The tables get no gradient.
#include "ops/rope/rotary.h"

#include "ops/op.h"
#include "ops/shared/kernels.h"
#include "ops/shared/parallel.h"
#include "ops/shared/variants.h"
#include "ops/shared/vector.h"

HONE_VECTOR static void turn_neighbours(float *out, const float *x, const float *cosines, const float *sines,
                                        int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float a = x[2 * i], b = x[2 * i + 1], c = cosines[i], s = sines[i];
        out[2 * i] = a * c - b * s;
        out[2 * i + 1] = a * s + b * c;
    }
}

HONE_VECTOR static void turn_table(float *out, const float *x, const float *table, int64_t n, float sign) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float a = x[2 * i], b = x[2 * i + 1], c = table[2 * i], s = sign * table[2 * i + 1];
        out[2 * i] = a * c - b * s;
        out[2 * i + 1] = a * s + b * c;
    }
}

HONE_VECTOR static void turn_halves(float *out, const float *x, const float *cosines, const float *sines, int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float a = x[i], b = x[i + n];
        out[i] = a * cosines[i] - b * sines[i];
        out[i + n] = b * cosines[i + n] + a * sines[i + n];
    }
}

HONE_VECTOR static void turn_halves_back(float *out, const float *d, const float *cosines, const float *sines,
                                         int64_t n) {
    HONE_INDEPENDENT for (int64_t i = 0; i < n; i++) {
        const float a = d[i], b = d[i + n];
        out[i] = a * cosines[i] + b * sines[i + n];
        out[i + n] = b * cosines[i + n] - a * sines[i];
    }
}

// --- queries and keys together ---------------------------------------------------------------------------------------
typedef enum way { NEIGHBOURS, HALVES, HALVES_BACK } way;

typedef struct context {
    const hone_op_call *call;
    float *out;
    const float *x, *cosines, *sines;
    int64_t positions, heads, features; // S, of x, D
    int64_t columns, rows, start;       // of the tables; the row of position 0
    way way;
} context;

static void turn_rows(void *opaque, int64_t begin, int64_t end) {
    const context *const c = opaque;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = hone_call_index(c->call, c->start + row % c->positions, c->rows) * c->columns;
        const float *const cosines = c->cosines + at, *const sines = c->sines + at;
        for (int64_t head = 0; head < c->heads; head++) {
            float *const out = c->out + (row * c->heads + head) * c->features;
            const float *const x = c->x + (row * c->heads + head) * c->features;
            if (c->way == NEIGHBOURS)
                turn_neighbours(out, x, cosines, sines, c->features / 2);
            else if (c->way == HALVES)
                turn_halves(out, x, cosines, sines, c->features / 2);
            else
                turn_halves_back(out, x, cosines, sines, c->features / 2);
        }
    }
}

static hone_status check_both(const hone_op_call *call, hone_error *error) {
    for (size_t i = 0; i < 4; i++) {
        HONE_TRY(hone_op_want_dtype(call, i, HONE_DTYPE_F32, error));
        HONE_TRY(hone_op_want_rank(call, i, i < 2 ? 4 : 2, error));
    }
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const k = hone_operand_tensor(call, 1);
    const hone_tensor *const cosines = hone_operand_tensor(call, 2), *const sines = hone_operand_tensor(call, 3);
    const int64_t features = q->type.dims[3];
    HONE_OP_CHECK(q->type.dims[0] == k->type.dims[0] && q->type.dims[1] == k->type.dims[1] &&
                      features == k->type.dims[3],
                  "%s and %s may differ in their heads only", hone_op_type_text(q), hone_op_type_text(k));
    HONE_OP_CHECK(features % 2 == 0, "heads of %lld features do not divide into pairs", (long long)features);
    HONE_OP_CHECK(hone_shape_equal(&cosines->type, &sines->type), "cosines %s and sines %s must have one shape",
                  hone_op_type_text(cosines), hone_op_type_text(sines));
    for (size_t i = 0; i < 2; i++) call->outputs[i].type = hone_operand_tensor(call, i)->type;
    return HONE_OK;
}

static hone_status neighbours_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_both(call, error));
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const cosines = hone_operand_tensor(call, 2);
    HONE_OP_CHECK(cosines->type.dims[0] == q->type.dims[1] && cosines->type.dims[1] == q->type.dims[3] / 2,
                  "the tables must be [%lld, %lld] for %s, not %s", (long long)q->type.dims[1],
                  (long long)(q->type.dims[3] / 2), hone_op_type_text(q), hone_op_type_text(cosines));
    return HONE_OK;
}

static hone_status halves_infer(const hone_op_call *call, hone_error *error) {
    HONE_TRY(check_both(call, error));
    const hone_tensor *const q = hone_operand_tensor(call, 0), *const cosines = hone_operand_tensor(call, 2);
    const int64_t start = call->operands[4].integer, rows = cosines->type.dims[0];
    HONE_OP_CHECK(cosines->type.dims[1] == q->type.dims[3], "the tables must be [positions, %lld] for %s, not %s",
                  (long long)q->type.dims[3], hone_op_type_text(q), hone_op_type_text(cosines));
    HONE_OP_CHECK(call->operands[4].live || (start >= 0 && start <= rows && q->type.dims[1] <= rows - start),
                  "%lld positions from %lld on are not all in tables of %lld", (long long)q->type.dims[1],
                  (long long)start, (long long)rows);
    HONE_OP_CHECK(rows > 0 || hone_type_elements(&q->type) == 0, "the tables have no positions");
    return HONE_OK;
}

// The position of the first row, kept near the tables so that sums with it cannot overflow.
static int64_t start_of(const hone_operand *start, int64_t rows, int64_t positions) {
    const int64_t position = start->integer;
    return position < -positions ? -positions : position > rows ? rows : position;
}

static void turn_both(const hone_op_call *call, way how) {
    const hone_tensor *const cosines = hone_operand_tensor(call, 2);
    for (size_t i = 0; i < 2; i++) {
        const hone_tensor *const x = hone_operand_tensor(call, i);
        context c = {.call = call,
                     .out = call->outputs[i].data,
                     .x = x->data,
                     .cosines = cosines->data,
                     .sines = hone_operand_floats(call, 3),
                     .positions = x->type.dims[1],
                     .heads = x->type.dims[2],
                     .features = x->type.dims[3],
                     .columns = cosines->type.dims[1],
                     .rows = cosines->type.dims[0],
                     .way = how};
        if (how != NEIGHBOURS) c.start = start_of(&call->operands[4], c.rows, c.positions);
        if (hone_type_elements(&x->type) > 0)
            hone_call_rows(call, x->type.dims[0] * c.positions, c.heads * c.features, turn_rows, &c);
    }
}

static void neighbours_cpu(const hone_op_call *call) {
    turn_both(call, NEIGHBOURS);
}
static void halves_cpu(const hone_op_call *call) {
    turn_both(call, HALVES);
}
static void halves_backward_cpu(const hone_op_call *call) {
    turn_both(call, HALVES_BACK);
}

// A dispatch for each of the two, a thread for each pair.
static void both_kernel(const hone_op_call *call, hone_kernel_list *list, way how) {
    const hone_tensor *const cosines = hone_operand_tensor(call, 2);
    for (size_t i = 0; i < 2; i++) {
        const hone_tensor *const x = hone_operand_tensor(call, i);
        const int64_t pairs = hone_type_elements(&x->type) / 2, rows = cosines->type.dims[0];
        hone_kernel_dispatch *const d =
            hone_kernel_add(list, "rotary.rotary", hone_kernel_groups(pairs, HONE_KERNEL_THREADS));
        hone_kernel_bind(list, d, x);
        hone_kernel_bind(list, d, cosines);
        hone_kernel_bind(list, d, hone_operand_tensor(call, 3));
        hone_kernel_bind(list, d, &call->outputs[i]);
        hone_kernel_bind_flags(list, d);
        const int64_t words[] = {pairs,
                                 x->type.dims[1],
                                 x->type.dims[2],
                                 x->type.dims[3],
                                 cosines->type.dims[1],
                                 rows,
                                 how == NEIGHBOURS ? 0 : start_of(&call->operands[4], rows, x->type.dims[1]),
                                 how};
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) hone_kernel_word(list, d, words[w]);
    }
}
HONE_PLAIN_KERNEL(rotary, both_kernel, NEIGHBOURS)
HONE_PLAIN_KERNEL(rotary_hf, both_kernel, HALVES)
HONE_PLAIN_KERNEL(rotary_hf_backward, both_kernel, HALVES_BACK)

// The gradient that flows into output i, zeros where none does.
static hone_value flowing(const hone_gradient_call *call, size_t i) {
    if (hone_grad_out(call, i).id) return hone_grad_out(call, i);
    const hone_tensor_type type = *hone_graph_type(call->graph, hone_node_output(call->node, i));
    return hone_emit(call->graph, "aten::full", HONE_IS(type.dims, (size_t)type.rank), HONE_R(0));
}

static void give(const hone_gradient_call *call, const hone_value *both) {
    for (size_t i = 0; i < 2; i++)
        if (call->wanted[i] && hone_grad_out(call, i).id) call->input_gradients[i] = both[i];
}

// The other way round is the turn by the negative angle.
static hone_status neighbours_gradient(const hone_gradient_call *call, hone_error *error) {
    hone_value both[2];
    (void)error;
    const hone_value d_q = flowing(call, 0), d_k = flowing(call, 1);
    const hone_value sines = hone_emit(call->graph, "aten::neg", HONE_T(hone_grad_in(call, 3)));
    hone_emit_all(call->graph, "et_vk::apply_rotary_emb", both, 2, HONE_T(d_q), HONE_T(d_k),
                  HONE_T(hone_grad_in(call, 2)), HONE_T(sines));
    give(call, both);
    return HONE_OK;
}

static hone_status halves_gradient(const hone_gradient_call *call, hone_error *error) {
    hone_value both[2];
    (void)error;
    const hone_value d_q = flowing(call, 0), d_k = flowing(call, 1);
    hone_emit_all(call->graph, "hone::apply_rotary_emb_hf_backward", both, 2, HONE_T(d_q), HONE_T(d_k),
                  HONE_T(hone_grad_in(call, 2)), HONE_T(hone_grad_in(call, 3)), *hone_node_argument(call->node, 4));
    give(call, both);
    return HONE_OK;
}

// --- one tensor ------------------------------------------------------------------------------------------------------
typedef struct table {
    float *out;
    const float *x, *table;
    int64_t rows, columns; // N, C
    float sign;
} table;

static void turn_table_rows(void *opaque, int64_t begin, int64_t end) {
    const table *const t = opaque;
    for (int64_t row = begin; row < end; row++)
        turn_table(t->out + row * t->columns, t->x + row * t->columns, t->table + row % t->rows * t->columns,
                   t->columns / 2, t->sign);
}

static hone_status table_infer(const hone_op_call *call, hone_error *error) {
    const hone_tensor *const x = hone_operand_tensor(call, 0), *const freqs = hone_operand_tensor(call, 1);
    HONE_TRY(hone_op_want_dtype(call, 0, HONE_DTYPE_F32, error));
    HONE_TRY(hone_op_want_dtype(call, 1, HONE_DTYPE_F32, error));
    HONE_OP_CHECK(x->type.rank >= 2, "x must be [.., N, C], not %s", hone_op_type_text(x));
    const int64_t rows = x->type.dims[x->type.rank - 2], columns = x->type.dims[x->type.rank - 1];
    HONE_OP_CHECK(columns % 2 == 0, "rows of %lld do not divide into pairs", (long long)columns);
    HONE_OP_CHECK(hone_type_elements(&freqs->type) == rows * columns,
                  "freqs_cis must hold a number for each of the last two dimensions of %s, not be %s",
                  hone_op_type_text(x), hone_op_type_text(freqs));
    call->outputs[0].type = x->type;
    return HONE_OK;
}

static void turn_by_table(const hone_op_call *call, float sign) {
    const hone_tensor *const x = hone_operand_tensor(call, 0);
    table t = {.out = call->outputs[0].data,
               .x = x->data,
               .table = hone_operand_floats(call, 1),
               .rows = x->type.dims[x->type.rank - 2],
               .columns = x->type.dims[x->type.rank - 1],
               .sign = sign};
    if (hone_type_elements(&x->type) > 0)
        hone_call_rows(call, hone_type_rows(&x->type), t.columns, turn_table_rows, &t);
}

static void table_cpu(const hone_op_call *call) {
    turn_by_table(call, 1);
}
static void table_backward_cpu(const hone_op_call *call) {
    turn_by_table(call, -1);
}

static void table_kernel(const hone_op_call *call, hone_kernel_list *list, double sign) {
    const hone_tensor *const x = hone_operand_tensor(call, 0);
    const int64_t pairs = hone_type_elements(&x->type) / 2;
    hone_kernel_dispatch *const d =
        hone_kernel_add(list, "rotary.rotary_table", hone_kernel_groups(pairs, HONE_KERNEL_THREADS));
    hone_kernel_bind(list, d, x);
    hone_kernel_bind(list, d, hone_operand_tensor(call, 1));
    hone_kernel_bind(list, d, &call->outputs[0]);
    hone_kernel_word(list, d, pairs);
    hone_kernel_word(list, d, hone_type_elements(&hone_operand_tensor(call, 1)->type) / 2);
    hone_kernel_number(list, d, sign);
}
HONE_PLAIN_KERNEL(rotary_interleaved, table_kernel, 1)
HONE_PLAIN_KERNEL(rotary_interleaved_backward, table_kernel, -1)

static hone_status table_gradient(const hone_gradient_call *call, hone_error *error) {
    (void)error;
    if (call->wanted[0])
        call->input_gradients[0] = hone_emit(call->graph, "hone::apply_rotary_emb_interleaved_backward",
                                             HONE_T(hone_grad_out(call, 0)), HONE_T(hone_grad_in(call, 1)));
    return HONE_OK;
}

const hone_op hone_op_rotary = {
    .schema = "et_vk::apply_rotary_emb(Tensor xq, Tensor xk, Tensor freqs_cos, Tensor freqs_sin) -> (Tensor, Tensor)",
    .summary = "turns neighbouring features of xq [B,S,H,D] and xk [B,S,Hk,D] by the angles of tables [S,D/2]",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = neighbours_infer,
    .cpu = neighbours_cpu,
    .variants = hone_kernels_rotary,
    .gradient = neighbours_gradient,
    .gradient_text = "d_xq, d_xk: the turn by the negative angles; the tables get none",
};
const hone_op hone_op_rotary_hf = {
    .schema = "et_vk::apply_rotary_emb_hf(Tensor xq, Tensor xk, Tensor freqs_cos, Tensor freqs_sin, int start_pos) -> "
              "(Tensor, Tensor)",
    .summary = "x * cos + cat(-x2, x1) * sin with rows of the tables [S_max,D] from start_pos on, for xq and xk",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = halves_infer,
    .cpu = halves_cpu,
    .variants = hone_kernels_rotary_hf,
    .gradient = halves_gradient,
    .gradient_text = "d_xq, d_xk by hone::apply_rotary_emb_hf_backward; the tables get none",
};
const hone_op hone_op_rotary_hf_backward = {
    .schema = "hone::apply_rotary_emb_hf_backward(Tensor d_xq, Tensor d_xk, Tensor freqs_cos, Tensor freqs_sin, "
              "int start_pos) -> (Tensor, Tensor)",
    .summary = "gradients of apply_rotary_emb_hf: d * cos + cat(d2 * sin2, -d1 * sin1)",
    .flags = HONE_OP_IN_PLACE,
    .infer = halves_infer,
    .cpu = halves_backward_cpu,
    .variants = hone_kernels_rotary_hf_backward,
};
const hone_op hone_op_rotary_interleaved = {
    .schema = "et_vk::apply_rotary_emb_interleaved(Tensor x, Tensor freqs_cis) -> Tensor",
    .summary = "turns neighbouring features of x [..,N,C] by the pairs (cos, sin) of a table of N*C numbers",
    .flags = HONE_OP_CHEAP | HONE_OP_IN_PLACE,
    .infer = table_infer,
    .cpu = table_cpu,
    .variants = hone_kernels_rotary_interleaved,
    .gradient = table_gradient,
    .gradient_text = "d_x by hone::apply_rotary_emb_interleaved_backward; the table gets none",
};
const hone_op hone_op_rotary_interleaved_backward = {
    .schema = "hone::apply_rotary_emb_interleaved_backward(Tensor d_out, Tensor freqs_cis) -> Tensor",
    .summary = "gradient of apply_rotary_emb_interleaved: the turn by the negative angles",
    .flags = HONE_OP_IN_PLACE,
    .infer = table_infer,
    .cpu = table_backward_cpu,
    .variants = hone_kernels_rotary_interleaved_backward,
};
