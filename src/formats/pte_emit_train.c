// SPDX-License-Identifier: Apache-2.0
// Calls that train, that mutate, and those whose indices are checked where they come in.
#include <inttypes.h>
#include <string.h>

#include "formats/pte_builder.h"

// The live slot of the next number: pte_scan has met the numbers in the same order.
static hone_argument live_slot(const pte_site *site) {
    return HONE_LIVE((int64_t)site->b->scalar_count++);
}

// param, m, v, grad, seven numbers -> the three again. They are mutated, and what is given out is their new value.
hone_status pte_emit_adamw_step(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_argument arguments[11];
    hone_value states[3], grad;
    if (site->inputs != 11) HONE_FAIL(error, BAD_FORMAT, "it takes 11 arguments, not %" PRIu32, site->inputs);
    for (uint32_t i = 0; i < 3; i++) {
        HONE_TRY(pte_fetch_state(b, site->scope, pte_argument_id(site, i), &states[i], error));
        arguments[i] = HONE_T(states[i]);
    }
    HONE_TRY(pte_tensor(site, 3, &grad, error));
    HONE_TRY(pte_cast(b, grad, HONE_DTYPE_F32, &grad, error));
    arguments[3] = HONE_T(grad);
    for (uint32_t i = 4; i < 11; i++) arguments[i] = live_slot(site);
    hone_graph_call(b->graph, "et_vk::adamw_step", arguments, 11, NULL, 0);
    HONE_TRY(hone_graph_status(b->graph, error));
    const uint32_t *ids;
    size_t count;
    HONE_TRY(pte_result_ids(site, &ids, &count, error));
    for (size_t i = 0; i < count && i < 3; i++) {
        const pte_scope *const scope = site->scope;
        hone_value now = states[i];
        // Written once only: then the state itself is the new value to the end of the call.
        if (scope->mutations[scope->storage[pte_argument_id(site, (uint32_t)i)]] > 1 && ids[i] < scope->count) {
            now = PTE_CALL(b, "aten::clone", error, HONE_T(now));
            PTE_TRY_VALUE(now, error);
        }
        HONE_TRY(pte_give(b, site->scope, ids[i], now, error));
    }
    return HONE_OK;
}

hone_status pte_emit_fused_ce(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_value logits, labels, results[2];
    if (site->inputs != 3) HONE_FAIL(error, BAD_FORMAT, "it takes 3 arguments, not %" PRIu32, site->inputs);
    HONE_TRY(pte_tensor(site, 0, &logits, error));
    HONE_TRY(pte_tensor(site, 1, &labels, error));
    const hone_tensor_type *const type = hone_graph_type(b->graph, logits);
    const int64_t classes = hone_type_columns(type);
    HONE_TRY(pte_expect(site, labels, INT64_MIN, classes, error));
    const pte_origin origin = pte_origin_of(b, labels);
    if (origin.tie >= PTE_ALL) {
        b->entry->labels[origin.input] = true;
    } else {
        b->entry->counts = false;
    }
    const hone_argument count = live_slot(site);
    hone_graph_call(b->graph, "et_vk::fused_ce", (const hone_argument[]){HONE_T(logits), HONE_T(labels), count}, 3,
                    results, 2);
    HONE_TRY(hone_graph_status(b->graph, error));
    return pte_results(site, results, 2, error);
}

// K is that of the result: the packed weight does not say whether its last half byte counts.
hone_status pte_emit_linear_q4gsw_backward(const pte_site *site, hone_error *error) {
    hone_pte_value result;
    hone_value d_out, weights, scales;
    int64_t group = 0;
    HONE_TRY(pte_tensor(site, 0, &d_out, error));
    HONE_TRY(pte_tensor(site, 1, &weights, error));
    HONE_TRY(pte_tensor(site, 2, &scales, error));
    HONE_TRY(pte_integer(site, 3, &group, error));
    HONE_TRY(pte_result_type(site, &result, error));
    const hone_value value = PTE_CALL(site->b, "et_vk::linear_q4gsw_backward", error, HONE_T(d_out), HONE_T(weights),
                                      HONE_T(scales), HONE_I(group), HONE_I(hone_type_columns(&result.type)));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

// 4-bit weights with a scale for each row: q4gsw with one group a row, once the two halves of each byte change places.
hone_status pte_emit_linear_qcs4w(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_pte *const pte = b->pte;
    hone_pte_value weight;
    hone_pte_range range;
    hone_value x, scales;
    uint32_t index = 0;
    HONE_TRY(pte_tensor(site, 0, &x, error));
    HONE_TRY(pte_tensor(site, 2, &scales, error));
    const uint32_t id = pte_argument_id(site, 1);
    if (id == PTE_NONE || id >= site->scope->count) HONE_FAIL(error, BAD_FORMAT, "its weight is missing");
    const uint32_t storage = site->scope->storage[id];
    HONE_TRY(pte_scope_value(pte, site->scope, storage, &weight, error));
    if (weight.kind != HONE_PTE_TENSOR || weight.constant < 0 || weight.type.dtype != HONE_DTYPE_U8 ||
        weight.type.rank != 2 || site->scope->mutations[storage])
        HONE_FAIL(error, BAD_FORMAT, "its weight must be a constant matrix of u8");
    HONE_TRY(pte_value_range(pte, site->scope, &weight, &range, error));
    HONE_TRY(pte_constant_get(pte, range, &weight, true, &index, error));
    const hone_value packed = hone_graph_constant(b->graph, NULL, weight.type, pte->constants[index].buffer, 0);
    const int64_t shape[] = {1, weight.type.dims[0]};
    const hone_value row = PTE_CALL(b, "aten::view_copy", error, HONE_T(scales), HONE_IS(shape, 2));
    PTE_TRY_VALUE(row, error);
    const int64_t columns = hone_type_columns(hone_graph_type(b->graph, x));
    const hone_value value = PTE_CALL(b, "et_vk::linear_q4gsw", error, HONE_T(x), HONE_T(packed), HONE_T(row),
                                      HONE_I(columns > 0 ? columns : 1));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

// The exporter also fuses x / rms(x) * d with d of the shape of x, in backward passes: the "weight" is any factor then.
hone_status pte_emit_rms_norm(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_value x, weight;
    double eps = 0;
    HONE_TRY(pte_tensor(site, 0, &x, error));
    HONE_TRY(pte_tensor(site, 1, &weight, error));
    HONE_TRY(pte_real(site, 2, &eps, error));
    const int64_t columns = hone_type_columns(hone_graph_type(b->graph, x));
    const hone_value factor = weight;
    const bool plain = hone_graph_type(b->graph, weight)->rank == 1;
    if (!plain) {
        weight = PTE_CALL(b, "aten::full", error, HONE_IS(&columns, 1), HONE_R(1));
        PTE_TRY_VALUE(weight, error);
    }
    hone_value value = PTE_CALL(b, "et_vk::rms_norm", error, HONE_T(x), HONE_T(weight), HONE_R(eps));
    PTE_TRY_VALUE(value, error);
    if (!plain) {
        value = PTE_CALL(b, "aten::mul.Tensor", error, HONE_T(value), HONE_T(factor));
        PTE_TRY_VALUE(value, error);
    }
    return pte_result(site, value, error);
}

// --- indices --------------------------------------------------------------------------------------------------------

hone_status pte_emit_embedding(const pte_site *site, hone_error *error) {
    hone_value table, indices;
    HONE_TRY(pte_tensor(site, 0, &table, error));
    HONE_TRY(pte_tensor(site, strstr(site->name, "q4gsw") ? 3 : 1, &indices, error));
    const hone_tensor_type *const type = hone_graph_type(site->b->graph, table);
    if (type->rank != 2) HONE_FAIL(error, BAD_FORMAT, "its table is not a matrix");
    HONE_TRY(pte_expect(site, indices, 0, type->dims[0], error));
    return pte_emit_direct(site, error);
}

// gather, index_select, scatter: self, dim, index, ...
hone_status pte_emit_picked(const pte_site *site, hone_error *error) {
    hone_value self, index;
    int64_t dim = 0;
    HONE_TRY(pte_tensor(site, 0, &self, error));
    HONE_TRY(pte_integer(site, 1, &dim, error));
    HONE_TRY(pte_tensor(site, 2, &index, error));
    const hone_tensor_type *const type = hone_graph_type(site->b->graph, self);
    const int64_t rank = type->rank > 0 ? type->rank : 1;
    if (dim < -rank || dim >= rank) HONE_FAIL(error, BAD_FORMAT, "it has no dimension %" PRId64, dim);
    const int64_t size = type->rank > 0 ? type->dims[dim < 0 ? dim + rank : dim] : 1;
    HONE_TRY(pte_expect(site, index, 0, size, error));
    return pte_emit_direct(site, error);
}

// --- a cache of keys and values -------------------------------------------------------------------------------------

// cache[:, position ..] = value; returns the cache.
static hone_status update(const pte_site *site, uint32_t cache, uint32_t value, int64_t position, hone_value *out,
                          hone_error *error) {
    pte_builder *const b = site->b;
    hone_value rows;
    const uint32_t id = pte_argument_id(site, cache);
    if (id == PTE_NONE) HONE_FAIL(error, BAD_FORMAT, "its cache is missing");
    HONE_TRY(pte_fetch_state(b, site->scope, id, out, error));
    HONE_TRY(pte_tensor(site, value, &rows, error));
    const hone_value written = PTE_CALL(b, "llama::update_cache_", error, HONE_T(*out), HONE_T(rows), HONE_I(position));
    PTE_TRY_VALUE(written, error);
    return HONE_OK;
}

// value, cache, position -> a value that says no more than that it was done.
hone_status pte_emit_update_cache(const pte_site *site, hone_error *error) {
    hone_pte_value result;
    hone_value cache;
    int64_t position = 0;
    HONE_TRY(pte_integer(site, 2, &position, error));
    HONE_TRY(update(site, 1, 0, position, &cache, error));
    HONE_TRY(pte_result_type(site, &result, error));
    hone_value value = cache;
    if (!hone_type_equal(hone_graph_type(site->b->graph, cache), &result.type)) {
        value = PTE_CALL(site->b, "aten::full", error, HONE_IS(result.type.dims, (size_t)result.type.rank), HONE_I(0),
                         HONE_I(hone_pte_code(result.type.dtype)));
        PTE_TRY_VALUE(value, error);
    }
    return pte_result(site, value, error);
}

// q, k, v, k_cache, v_cache, start_pos, seq_len, mask, dropout, is_causal, scale -> attention over what is cached.
hone_status pte_emit_sdpa_with_kv_cache(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_pte_value mask, dropout, causal, scale;
    hone_value q, k_cache, v_cache;
    int64_t position = 0;
    HONE_TRY(pte_argument(site, 7, &mask, error));
    HONE_TRY(pte_argument(site, 8, &dropout, error));
    HONE_TRY(pte_argument(site, 9, &causal, error));
    HONE_TRY(pte_argument(site, 10, &scale, error));
    if (mask.kind != HONE_PTE_NOTHING) HONE_FAIL(error, BAD_FORMAT, "a mask beside the cache is not supported");
    if (dropout.real != 0 || dropout.integer != 0) HONE_FAIL(error, BAD_FORMAT, "dropout is not supported");
    if (causal.kind != HONE_PTE_NOTHING && causal.integer == 0)
        HONE_FAIL(error, BAD_FORMAT, "only causal attention is supported");
    HONE_TRY(pte_integer(site, 5, &position, error));
    HONE_TRY(pte_tensor(site, 0, &q, error));
    HONE_TRY(update(site, 3, 1, position, &k_cache, error));
    HONE_TRY(update(site, 4, 2, position, &v_cache, error));
    hone_argument factor = HONE_NO;
    if (scale.kind != HONE_PTE_NOTHING) {
        factor = HONE_R(0);
        HONE_TRY(pte_real(site, 10, &factor.real, error));
    }
    const hone_value value = PTE_CALL(b, "llama::sdpa_with_cache", error, HONE_T(q), HONE_T(k_cache), HONE_T(v_cache),
                                      HONE_I(position), factor);
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}
