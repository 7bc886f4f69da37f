// SPDX-License-Identifier: Apache-2.0
// The operators of programs as a table: the name in the file, the operator that runs it, how its arguments map.
//
// Names with "." are those in a delegate's chain, names with "::" those of portable kernels beside the delegates. Both have
// the argument order of ATen's schemas, with the result behind.
#include <string.h>

#include "formats/pte_builder.h"
#include "graph/schema.h"

#define DIRECT(name_, op_, rule_)         {.name = name_, .op = op_, .rule = PTE_##rule_}
#define TAKES(name_, op_, rule_, count)   {.name = name_, .op = op_, .rule = PTE_##rule_, .takes = count}
#define TIED(name_, op_, tie_, count)     {.name = name_, .op = op_, .tie = PTE_##tie_, .takes = count}
#define EMIT(name_, op_, rule_, function) {.name = name_, .op = op_, .rule = PTE_##rule_, .emit = pte_emit_##function}
#define UNARY(word, rule_)                                                                                             \
    DIRECT("aten." #word ".default", "aten::" #word, rule_), DIRECT("aten::" #word ".out", "aten::" #word, rule_)
#define COMPARE(word)                                                                                                  \
    DIRECT("aten." #word ".Scalar", "aten::" #word ".Scalar", AS_IS),                                                  \
        DIRECT("aten::" #word ".Scalar_out", "aten::" #word ".Scalar", AS_IS),                                         \
        DIRECT("aten." #word ".Tensor", "aten::" #word ".Tensor", ALIKE),                                              \
        DIRECT("aten::" #word ".Tensor_out", "aten::" #word ".Tensor", ALIKE)
#define BINARY(word)                                                                                                   \
    DIRECT("aten." #word ".Tensor", "aten::" #word ".Tensor", LIKE_RESULT),                                            \
        DIRECT("aten::" #word ".out", "aten::" #word ".Tensor", LIKE_RESULT),                                          \
        DIRECT("aten." #word ".Scalar", "aten::" #word ".Scalar", LIKE_RESULT),                                        \
        DIRECT("aten::" #word ".Scalar_out", "aten::" #word ".Scalar", LIKE_RESULT)

static const pte_op table[] = {
    // --- products
    DIRECT("aten.mm.default", "aten::mm", AS_IS),
    DIRECT("aten::mm.out", "aten::mm", AS_IS),
    DIRECT("aten.bmm.default", "aten::bmm", AS_IS),
    DIRECT("aten::bmm.out", "aten::bmm", AS_IS),
    DIRECT("aten.addmm.default", "aten::addmm", AS_IS),
    DIRECT("aten::addmm.out", "aten::addmm", AS_IS),
    DIRECT("aten.linear.default", "aten::linear", AS_IS),
    DIRECT("aten::linear.out", "aten::linear", AS_IS),
    DIRECT("et_vk.linear_q4gsw.default", "et_vk::linear_q4gsw", AS_IS),
    EMIT("et_vk.linear_q4gsw_backward.default", "et_vk::linear_q4gsw_backward", AS_IS, linear_q4gsw_backward),
    DIRECT("et_vk.linear_dW.default", "et_vk::linear_dW", AS_IS),
    EMIT("et_vk.linear_qcs4w.default", "et_vk::linear_q4gsw", AS_IS, linear_qcs4w),
    DIRECT("et_vk.q4gsw_requant.default", "et_vk::q4gsw_requant", AS_IS),
    // --- training
    {.name = "et_vk.adamw_step.default", .op = "et_vk::adamw_step", .emit = pte_emit_adamw_step, .mutated = 7},
    {.name = "adamw_step.default", .op = "et_vk::adamw_step", .emit = pte_emit_adamw_step, .mutated = 7},
    EMIT("et_vk.fused_ce.default", "et_vk::fused_ce", AS_IS, fused_ce),
    // --- arithmetic
    BINARY(add),
    BINARY(sub),
    BINARY(mul),
    BINARY(div),
    DIRECT("aten.div.Tensor_mode", "aten::div.Tensor_mode", LIKE_RESULT),
    DIRECT("aten::div.out_mode", "aten::div.Tensor_mode", LIKE_RESULT),
    DIRECT("aten.minimum.default", "aten::minimum", LIKE_RESULT),
    DIRECT("aten::minimum.out", "aten::minimum", LIKE_RESULT),
    DIRECT("aten.maximum.default", "aten::maximum", LIKE_RESULT),
    DIRECT("aten::maximum.out", "aten::maximum", LIKE_RESULT),
    DIRECT("aten.pow.Tensor_Scalar", "aten::pow.Tensor_Scalar", FLOATS),
    DIRECT("aten::pow.Tensor_Scalar_out", "aten::pow.Tensor_Scalar", FLOATS),
    DIRECT("aten.pow.Tensor_Tensor", "aten::pow.Tensor_Tensor", FLOATS),
    DIRECT("aten::pow.Tensor_Tensor_out", "aten::pow.Tensor_Tensor", FLOATS),
    DIRECT("aten.clamp.default", "aten::clamp", LIKE_RESULT),
    DIRECT("aten::clamp.out", "aten::clamp", LIKE_RESULT),
    UNARY(abs, LIKE_RESULT),
    UNARY(neg, LIKE_RESULT),
    UNARY(relu, LIKE_RESULT),
    UNARY(hardtanh, LIKE_RESULT),
    UNARY(hardswish, FLOATS),
    UNARY(leaky_relu, FLOATS),
    UNARY(gelu, FLOATS),
    UNARY(sigmoid, FLOATS),
    UNARY(silu, FLOATS),
    UNARY(tanh, FLOATS),
    UNARY(exp, FLOATS),
    UNARY(log, FLOATS),
    UNARY(sqrt, FLOATS),
    UNARY(rsqrt, FLOATS),
    UNARY(reciprocal, FLOATS),
    UNARY(sin, FLOATS),
    UNARY(cos, FLOATS),
    UNARY(round, FLOATS),
    // --- comparisons and choices
    COMPARE(eq),
    COMPARE(ne),
    COMPARE(lt),
    COMPARE(le),
    COMPARE(gt),
    COMPARE(ge),
    UNARY(logical_not, AS_IS),
    UNARY(logical_and, AS_IS),
    UNARY(logical_or, AS_IS),
    DIRECT("aten.bitwise_and.Tensor", "aten::bitwise_and.Tensor", LIKE_RESULT),
    DIRECT("aten::bitwise_and.Tensor_out", "aten::bitwise_and.Tensor", LIKE_RESULT),
    DIRECT("aten.bitwise_or.Tensor", "aten::bitwise_or.Tensor", LIKE_RESULT),
    DIRECT("aten::bitwise_or.Tensor_out", "aten::bitwise_or.Tensor", LIKE_RESULT),
    UNARY(bitwise_not, LIKE_RESULT),
    DIRECT("aten.where.self", "aten::where.self", CHOICE),
    DIRECT("aten::where.self_out", "aten::where.self", CHOICE),
    // --- reductions
    TAKES("aten.sum.dim_IntList", "aten::sum.dim_IntList", LIKE_RESULT, 3),
    TAKES("aten::sum.IntList_out", "aten::sum.dim_IntList", LIKE_RESULT, 3),
    TAKES("aten.mean.dim", "aten::mean.dim", LIKE_RESULT, 3),
    TAKES("aten::mean.out", "aten::mean.dim", LIKE_RESULT, 3),
    TAKES("aten::mean.dtype_out", "aten::mean", LIKE_RESULT, 1),
    UNARY(amax, AS_IS),
    UNARY(amin, AS_IS),
    UNARY(argmax, AS_IS),
    UNARY(argmin, AS_IS),
    UNARY(_softmax, FLOATS),
    UNARY(_log_softmax, FLOATS),
    // --- picking by index
    EMIT("aten.embedding.default", "aten::embedding", AS_IS, embedding),
    EMIT("aten::embedding.out", "aten::embedding", AS_IS, embedding),
    EMIT("et_vk.embedding_q4gsw.default", "et_vk::embedding_q4gsw", AS_IS, embedding),
    EMIT("aten.gather.default", "aten::gather", AS_IS, picked),
    EMIT("aten::gather.out", "aten::gather", AS_IS, picked),
    EMIT("aten.index_select.default", "aten::index_select", AS_IS, picked),
    EMIT("aten::index_select.out", "aten::index_select", AS_IS, picked),
    EMIT("aten.index.Tensor", "aten::index_select", AS_IS, index),
    EMIT("aten::index.Tensor_out", "aten::index_select", AS_IS, index),
    EMIT("aten::scatter.value_out", "aten::scatter.value", AS_IS, picked),
    EMIT("aten::scatter.src_out", "aten::scatter.src", AS_IS, picked),
    EMIT("aten::scatter_add.out", "aten::scatter_add", AS_IS, picked),
    // --- shapes
    TIED("aten.view_copy.default", "aten::view_copy", IN_ORDER, 2),
    TIED("aten::view_copy.out", "aten::view_copy", IN_ORDER, 2),
    TIED("aten.unsqueeze_copy.default", "aten::unsqueeze_copy", IN_ORDER, 2),
    TIED("aten::unsqueeze_copy.out", "aten::unsqueeze_copy", IN_ORDER, 2),
    TIED("aten.squeeze_copy.dims", "aten::squeeze_copy.dims", IN_ORDER, 2),
    TIED("aten::squeeze_copy.dims_out", "aten::squeeze_copy.dims", IN_ORDER, 2),
    TIED("aten::squeeze_copy.dim_out", "aten::squeeze_copy.dim", IN_ORDER, 2),
    TIED("aten.permute_copy.default", "aten::permute_copy", ALL, 2),
    TIED("aten.permute.default", "aten::permute_copy", ALL, 2),
    TIED("aten::permute_copy.out", "aten::permute_copy", ALL, 2),
    EMIT("aten.t_copy.default", "aten::permute_copy", AS_IS, transpose),
    EMIT("aten::t_copy.out", "aten::permute_copy", AS_IS, transpose),
    TIED("aten.expand_copy.default", "aten::expand_copy", SOME, 2),
    TIED("aten::expand_copy.out", "aten::expand_copy", SOME, 2),
    TIED("aten.repeat.default", "aten::repeat", SOME, 2),
    TIED("aten::repeat.out", "aten::repeat", SOME, 2),
    TIED("aten.flip.default", "aten::flip", ALL, 2),
    TIED("aten::flip.out", "aten::flip", ALL, 2),
    TIED("aten.select_copy.int", "aten::select_copy.int", SOME, 3),
    TIED("aten::select_copy.int_out", "aten::select_copy.int", SOME, 3),
    TIED("aten.slice_copy.Tensor", "aten::slice_copy.Tensor", SOME, 5),
    TIED("aten::slice_copy.Tensor_out", "aten::slice_copy.Tensor", SOME, 5),
    TIED("aten.split_with_sizes_copy.default", "aten::split_with_sizes_copy", SOME, 3),
    TIED("aten::split_with_sizes_copy.out", "aten::split_with_sizes_copy", SOME, 3),
    DIRECT("aten.cat.default", "aten::cat", LIKE_RESULT),
    DIRECT("aten::cat.out", "aten::cat", LIKE_RESULT),
    DIRECT("aten.constant_pad_nd.default", "aten::constant_pad_nd", AS_IS),
    DIRECT("aten::constant_pad_nd.out", "aten::constant_pad_nd", AS_IS),
    // --- copies and new tensors
    EMIT("et_vk.prepack.default", NULL, AS_IS, prepack),
    EMIT("aten.clone.default", NULL, AS_IS, same),
    EMIT("aten::clone.out", NULL, AS_IS, same),
    EMIT("aten.alias_copy.default", NULL, AS_IS, same),
    EMIT("aten::alias_copy.out", NULL, AS_IS, same),
    EMIT("aten::detach_copy.out", NULL, AS_IS, same),
    EMIT("dim_order_ops._clone_dim_order.default", NULL, AS_IS, same),
    EMIT("dim_order_ops::_clone_dim_order.out", NULL, AS_IS, same),
    EMIT("aten._to_copy.default", NULL, AS_IS, same),
    EMIT("aten::_to_copy.out", NULL, AS_IS, same),
    EMIT("dim_order_ops._to_dim_order_copy.default", NULL, AS_IS, same),
    EMIT("dim_order_ops::_to_dim_order_copy.out", NULL, AS_IS, same),
    EMIT("aten.full.default", "aten::full", AS_IS, full),
    EMIT("aten::full.out", "aten::full", AS_IS, full),
    EMIT("aten.zeros.default", "aten::full", AS_IS, zeros),
    EMIT("aten::zeros.out", "aten::full", AS_IS, zeros),
    EMIT("aten.ones.default", "aten::full", AS_IS, ones),
    EMIT("aten::ones.out", "aten::full", AS_IS, ones),
    EMIT("aten::empty_permuted.out", "aten::full", AS_IS, zeros),
    EMIT("aten::empty.out", "aten::full", AS_IS, zeros),
    EMIT("aten.full_like.default", "aten::full_like", AS_IS, full_like),
    EMIT("aten::full_like.out", "aten::full_like", AS_IS, full_like),
    EMIT("aten.zeros_like.default", "aten::full_like", AS_IS, full_like),
    EMIT("aten.ones_like.default", "aten::full_like", AS_IS, full_like),
    EMIT("aten.scalar_tensor.default", "aten::full", AS_IS, scalar_tensor),
    EMIT("aten::scalar_tensor.out", "aten::full", AS_IS, scalar_tensor),
    EMIT("aten.arange.start_step", "aten::arange.start_step", AS_IS, arange),
    EMIT("aten::arange.start_out", "aten::arange.start_step", AS_IS, arange),
    EMIT("et_vk.grid_priors.default", "aten::arange.start_step", AS_IS, grid_priors),
    {.name = "aten::copy_", .op = "aten::copy_", .emit = pte_emit_copy_in_place, .mutated = 1, .in_place = true},
    // --- layers
    EMIT("et_vk.rms_norm.default", "et_vk::rms_norm", AS_IS, rms_norm),
    DIRECT("aten.native_layer_norm.default", "aten::native_layer_norm", AS_IS),
    DIRECT("et_vk.apply_rotary_emb.default", "et_vk::apply_rotary_emb", AS_IS),
    DIRECT("et_vk.apply_rotary_emb_hf.default", "et_vk::apply_rotary_emb_hf", AS_IS),
    DIRECT("et_vk.apply_rotary_emb_interleaved.default", "et_vk::apply_rotary_emb_interleaved", AS_IS),
    DIRECT("et_vk.sdpa.default", "et_vk::sdpa", AS_IS),
    DIRECT("sdpa.default", "et_vk::sdpa", AS_IS),
    {.name = "update_cache.default", .op = "llama::update_cache_", .emit = pte_emit_update_cache, .mutated = 2},
    {.name = "sdpa_with_kv_cache.default",
     .op = "llama::sdpa_with_cache",
     .emit = pte_emit_sdpa_with_kv_cache,
     .mutated = 3 << 3},
    // --- whole numbers that shapes are made of
    EMIT("sym_size.int", NULL, AS_IS, sym_size),
    EMIT("aten::sym_size.int", NULL, AS_IS, sym_size),
    EMIT("add", NULL, AS_IS, sym_add),
    EMIT("executorch_prim::add.Scalar", NULL, AS_IS, sym_add),
    EMIT("sub", NULL, AS_IS, sym_sub),
    EMIT("executorch_prim::sub.Scalar", NULL, AS_IS, sym_sub),
    EMIT("mul", NULL, AS_IS, sym_mul),
    EMIT("executorch_prim::mul.Scalar", NULL, AS_IS, sym_mul),
    EMIT("floordiv", NULL, AS_IS, sym_floordiv),
    EMIT("executorch_prim::floordiv.Scalar", NULL, AS_IS, sym_floordiv),
    EMIT("eq", NULL, AS_IS, sym_eq),
    EMIT("executorch_prim::eq.Scalar", NULL, AS_IS, sym_eq),
    EMIT("lt", NULL, AS_IS, sym_lt),
    EMIT("executorch_prim::lt.Scalar", NULL, AS_IS, sym_lt),
    EMIT("le", NULL, AS_IS, sym_le),
    EMIT("executorch_prim::le.Scalar", NULL, AS_IS, sym_le),
    EMIT("gt", NULL, AS_IS, sym_gt),
    EMIT("executorch_prim::gt.Scalar", NULL, AS_IS, sym_gt),
    EMIT("ge", NULL, AS_IS, sym_ge),
    EMIT("executorch_prim::ge.Scalar", NULL, AS_IS, sym_ge),
    EMIT("et_vk.select_as_symint.default", NULL, AS_IS, select_as_symint),
    {.name = "aten.sym_constrain_range.default", .emit = pte_emit_nothing, .in_place = true},
    {.name = "sym_constrain_range_for_size.default", .emit = pte_emit_nothing, .in_place = true},
    {.name = "_assert_scalar.default", .emit = pte_emit_nothing, .in_place = true},
};

const pte_op *pte_op_find(const char *name, const char *overload) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *const row = table[i].name;
        if (strncmp(row, name, length) != 0) continue;
        if (!overload[0] ? row[length] == 0 : row[length] == '.' && strcmp(row + length + 1, overload) == 0)
            return &table[i];
    }
    return NULL;
}

const char *pte_op_refusal(const char *name) {
    static const struct {
        const char *part;
        const char *reason;
    } reasons[] = {
        {"conv", "convolutions are not supported"},
        {"pool", "pooling is not supported"},
        {"upsample", "up-sampling is not supported"},
        {"grid_sampler", "grid sampling is not supported"},
        {"pixel_shuffle", "pixel shuffle is not supported"},
        {"batch_norm", "batch norm is not supported"},
        {"group_norm", "group norm is not supported"},
        {"q8ta", "activations in 8 bits are not supported"},
        {"dq8ca", "activations in 8 bits are not supported"},
        {"quantized_decomposed", "activations in 8 bits are not supported"},
        {"torchao", "activations in 8 bits are not supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strstr(name, reasons[i].part)) return reasons[i].reason;
    }
    return "they are not among the operators of hone";
}

// --- arguments one by one -------------------------------------------------------------------------------------------

// The element type that the rule gives argument `tensor` (0 = the first tensor).
static hone_status wanted_dtype(const pte_site *site, size_t tensor, hone_dtype own, hone_dtype alike, hone_dtype *out,
                                hone_error *error) {
    hone_pte_value result;
    *out = own;
    switch (site->op->rule) {
    case PTE_AS_IS:
        return HONE_OK;
    case PTE_FLOATS:
        *out = HONE_DTYPE_F32;
        return HONE_OK;
    case PTE_ALIKE:
        *out = alike;
        return HONE_OK;
    case PTE_CHOICE:
        *out = HONE_DTYPE_BOOL;
        if (tensor == 0) return HONE_OK;
        break;
    case PTE_LIKE_RESULT:
        break;
    }
    HONE_TRY(pte_result_type(site, &result, error));
    *out = result.type.dtype;
    return HONE_OK;
}

// The widest of two element types: floats before whole numbers, i32 before what has 8 bits.
static hone_dtype widest(hone_dtype a, hone_dtype b) {
    if (a == b) return a;
    return a == HONE_DTYPE_F32 || b == HONE_DTYPE_F32 ? HONE_DTYPE_F32 : HONE_DTYPE_I32;
}

static hone_status common_dtype(const pte_site *site, hone_dtype *out, hone_error *error) {
    bool first = true;
    for (uint32_t i = 0; i < site->inputs && site->op->rule == PTE_ALIKE; i++) {
        hone_pte_value value;
        hone_value tensor;
        HONE_TRY(pte_argument(site, i, &value, error));
        if (value.kind != HONE_PTE_TENSOR) continue;
        HONE_TRY(pte_tensor(site, i, &tensor, error));
        const hone_dtype own = hone_graph_type(site->b->graph, tensor)->dtype;
        *out = first ? own : widest(*out, own);
        first = false;
    }
    return HONE_OK;
}

typedef struct argument_reader {
    const pte_site *site;
    hone_dtype alike;
    size_t tensors; // seen so far
} argument_reader;

static hone_status read_tensor(argument_reader *r, hone_value *value, hone_error *error) {
    hone_dtype dtype;
    const hone_dtype own = hone_graph_type(r->site->b->graph, *value)->dtype;
    HONE_TRY(wanted_dtype(r->site, r->tensors++, own, r->alike, &dtype, error));
    return pte_cast(r->site->b, *value, dtype, value, error);
}

static hone_status read_tensors(argument_reader *r, uint32_t index, hone_argument *out, hone_error *error) {
    const hone_value *list;
    hone_value *copy;
    size_t count;
    HONE_TRY(pte_tensors(r->site, index, &list, &count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&r->site->b->arena, &copy, count, error));
    for (size_t i = 0; i < count; i++) {
        copy[i] = list[i];
        if (!copy[i].id) HONE_FAIL(error, BAD_FORMAT, "tensor %zu of its list is missing", i);
        HONE_TRY(read_tensor(r, &copy[i], error));
    }
    *out = HONE_TS(copy, count);
    return HONE_OK;
}

// Argument `index` of the call as the operator's schema wants it.
static hone_status read_argument(argument_reader *r, uint32_t index, hone_schema_type type, hone_argument *out,
                                 hone_error *error) {
    const pte_site *const site = r->site;
    hone_pte_value value;
    *out = HONE_NO;
    HONE_TRY(pte_argument(site, index, &value, error));
    if (value.kind == HONE_PTE_NOTHING) return HONE_OK;
    switch (type) {
    case HONE_SCHEMA_TENSOR: {
        hone_value tensor;
        HONE_TRY(pte_tensor(site, index, &tensor, error));
        HONE_TRY(read_tensor(r, &tensor, error));
        *out = HONE_T(tensor);
        return HONE_OK;
    }
    case HONE_SCHEMA_TENSORS:
        return read_tensors(r, index, out, error);
    case HONE_SCHEMA_INTEGER:
        out->kind = HONE_ARGUMENT_INTEGER;
        return pte_integer(site, index, &out->integer, error);
    case HONE_SCHEMA_BOOLEAN:
        out->kind = HONE_ARGUMENT_BOOLEAN;
        HONE_TRY(pte_integer(site, index, &out->integer, error));
        out->integer = out->integer != 0;
        return HONE_OK;
    case HONE_SCHEMA_REAL:
    case HONE_SCHEMA_SCALAR:
        if (type == HONE_SCHEMA_SCALAR && value.kind != HONE_PTE_REAL) {
            out->kind = value.kind == HONE_PTE_BOOLEAN ? HONE_ARGUMENT_BOOLEAN : HONE_ARGUMENT_INTEGER;
            return pte_integer(site, index, &out->integer, error);
        }
        out->kind = HONE_ARGUMENT_REAL;
        return pte_real(site, index, &out->real, error);
    case HONE_SCHEMA_INTEGERS:
        out->kind = HONE_ARGUMENT_INTEGERS;
        return pte_integers(site, index, &out->integers, &out->count, error);
    case HONE_SCHEMA_STRING:
        if (value.kind != HONE_PTE_STRING) HONE_FAIL(error, BAD_FORMAT, "argument %u is not a string", (unsigned)index);
        *out = HONE_S(value.text.bytes);
        return HONE_OK;
    }
    return HONE_OK;
}

hone_status pte_emit_direct(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    const hone_schema *const schema = hone_schema_find(site->op->op);
    if (!schema) HONE_FAIL(error, UNSUPPORTED, "this version of hone has no operator %s", site->op->op);
    argument_reader reader = {.site = site};
    hone_argument arguments[HONE_SCHEMA_ARGUMENTS];
    size_t count = site->op->takes ? site->op->takes : site->inputs;
    if (count > site->inputs) count = site->inputs;
    if (count > schema->argument_count) count = schema->argument_count;
    HONE_TRY(common_dtype(site, &reader.alike, error));
    for (uint32_t i = 0; i < count; i++)
        HONE_TRY(read_argument(&reader, i, (hone_schema_type)schema->arguments[i].type, &arguments[i], error));
    const uint32_t *ids;
    size_t results;
    hone_value *values;
    HONE_TRY(pte_result_ids(site, &ids, &results, error));
    const size_t made = schema->output_list ? results : schema->output_count;
    HONE_TRY(HONE_ARENA_ARRAY(&b->arena, &values, made, error));
    hone_graph_call(b->graph, site->op->op, arguments, count, values, made);
    HONE_TRY(hone_graph_status(b->graph, error));
    if (site->op->tie != PTE_UNTIED && arguments[0].kind == HONE_ARGUMENT_TENSOR) {
        pte_origin origin = pte_origin_of(b, arguments[0].value);
        if (site->op->tie < origin.tie) origin.tie = site->op->tie;
        for (size_t i = 0; i < made; i++) HONE_TRY(pte_tie_to(b, values[i], origin, error));
    }
    return pte_results(site, values, made, error);
}

hone_status pte_emit(const pte_site *site, hone_error *error) {
    return site->op->emit ? site->op->emit(site, error) : pte_emit_direct(site, error);
}
