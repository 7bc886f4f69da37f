// SPDX-License-Identifier: Apache-2.0
// Calls that copy, convert, fill and pick: those whose arguments do not go to one operator as they are.
#include <inttypes.h>
#include <string.h>

#include "formats/pte_builder.h"

// A constant and its prepacked form are one storage (pte_scan.c). What is no constant is only another name.
hone_status pte_emit_prepack(const pte_site *site, hone_error *error) {
    hone_value value;
    const uint32_t from = pte_argument_id(site, 0);
    if (from == PTE_NONE || site->out == PTE_NONE || site->out >= site->scope->count)
        HONE_FAIL(error, BAD_FORMAT, "it takes a constant and gives a value");
    if (site->scope->storage[site->out] != site->out) return HONE_OK;
    HONE_TRY(pte_tensor(site, 0, &value, error));
    return pte_give(site->b, site->scope, site->out, value, error);
}

static bool is_outside(const pte_builder *b, hone_value value) {
    uint32_t input;
    return pte_is_state(b, value) || pte_is_input(b, value, &input);
}

// clone, alias and all conversions: the element type is that of the result.
hone_status pte_emit_same(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_pte_value source, result;
    hone_value value;
    HONE_TRY(pte_tensor(site, 0, &value, error));
    HONE_TRY(pte_argument(site, 0, &source, error));
    HONE_TRY(pte_result_type(site, &result, error));
    const pte_origin origin = pte_origin_of(b, value);
    const int half = hone_pte_code(HONE_DTYPE_F16);
    const bool halves = site->scope->delegate >= 0 && b->pte->blobs[site->scope->delegate].half;
    if (result.code == half && source.code != half && !halves) { // rounded, and then kept as f32
        value = PTE_CALL(b, "aten::_to_copy", error, HONE_T(value), HONE_I(half));
        PTE_TRY_VALUE(value, error);
    } else if (is_outside(b, value) && hone_graph_type(b->graph, value)->dtype == result.type.dtype) {
        // Its bytes may change later on.
        value = PTE_CALL(b, "aten::clone", error, HONE_T(value));
        PTE_TRY_VALUE(value, error);
    }
    HONE_TRY(pte_cast(b, value, result.type.dtype, &value, error));
    HONE_TRY(pte_tie_to(b, value, origin, error));
    return pte_result(site, value, error);
}

hone_status pte_emit_copy_in_place(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    const uint32_t target = pte_argument_id(site, 0);
    hone_value to, from;
    uint32_t input;
    HONE_TRY(pte_tensor(site, 0, &to, error));
    HONE_TRY(pte_tensor(site, 1, &from, error));
    const hone_tensor_type type = *hone_graph_type(b->graph, to);
    HONE_TRY(pte_cast(b, from, type.dtype, &from, error));
    if (!hone_shape_equal(hone_graph_type(b->graph, from), &type)) {
        from = PTE_CALL(b, "aten::expand_copy", error, HONE_T(from), HONE_IS(type.dims, (size_t)type.rank));
        PTE_TRY_VALUE(from, error);
    }
    if (!pte_is_state(b, to) && !pte_is_input(b, to, &input)) { // what a call has made: another value from here on
        pte_bind(site->scope, target, from);
    } else {
        const hone_value written = PTE_CALL(b, "aten::copy_", error, HONE_T(to), HONE_T(from));
        PTE_TRY_VALUE(written, error);
    }
    if (site->out != PTE_NONE && site->out != target && site->out < site->scope->count)
        pte_bind(site->scope, site->out, site->scope->bindings[target].value);
    return HONE_OK;
}

// --- tensors of one number ------------------------------------------------------------------------------------------

// Argument `index` as a number for an operator that takes any.
static hone_status number(const pte_site *site, uint32_t index, hone_argument *out, hone_error *error) {
    hone_pte_value value;
    HONE_TRY(pte_argument(site, index, &value, error));
    if (value.kind == HONE_PTE_REAL) {
        *out = HONE_R(value.real);
        return HONE_OK;
    }
    *out = HONE_I(0);
    return pte_integer(site, index, &out->integer, error);
}

static hone_status full(const pte_site *site, const int64_t *size, size_t rank, hone_argument fill, hone_error *error) {
    hone_pte_value result;
    HONE_TRY(pte_result_type(site, &result, error));
    const hone_value value =
        PTE_CALL(site->b, "aten::full", error, HONE_IS(size, rank), fill, HONE_I(hone_pte_code(result.type.dtype)));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

hone_status pte_emit_full(const pte_site *site, hone_error *error) {
    const int64_t *size;
    size_t rank;
    hone_argument fill;
    HONE_TRY(pte_integers(site, 0, &size, &rank, error));
    HONE_TRY(number(site, 1, &fill, error));
    return full(site, size, rank, fill, error);
}

static hone_status filled(const pte_site *site, int64_t fill, hone_error *error) {
    const int64_t *size;
    size_t rank;
    HONE_TRY(pte_integers(site, 0, &size, &rank, error));
    return full(site, size, rank, HONE_I(fill), error);
}

hone_status pte_emit_zeros(const pte_site *site, hone_error *error) {
    return filled(site, 0, error);
}

hone_status pte_emit_ones(const pte_site *site, hone_error *error) {
    return filled(site, 1, error);
}

hone_status pte_emit_scalar_tensor(const pte_site *site, hone_error *error) {
    hone_argument fill;
    HONE_TRY(number(site, 0, &fill, error));
    return full(site, NULL, 0, fill, error);
}

// full_like, zeros_like, ones_like.
hone_status pte_emit_full_like(const pte_site *site, hone_error *error) {
    hone_pte_value result;
    hone_value self;
    hone_argument fill = HONE_I(strstr(site->name, "ones") != NULL);
    HONE_TRY(pte_tensor(site, 0, &self, error));
    if (strstr(site->name, "full")) HONE_TRY(number(site, 1, &fill, error));
    HONE_TRY(pte_result_type(site, &result, error));
    const hone_value value =
        PTE_CALL(site->b, "aten::full_like", error, HONE_T(self), fill, HONE_I(hone_pte_code(result.type.dtype)));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

hone_status pte_emit_arange(const pte_site *site, hone_error *error) {
    hone_pte_value result;
    hone_argument numbers[3];
    for (uint32_t i = 0; i < 3; i++) HONE_TRY(number(site, i, &numbers[i], error));
    HONE_TRY(pte_result_type(site, &result, error));
    const hone_value value = PTE_CALL(site->b, "aten::arange.start_step", error, numbers[0], numbers[1], numbers[2],
                                      HONE_I(hone_pte_code(result.type.dtype)));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

// --- others ---------------------------------------------------------------------------------------------------------

hone_status pte_emit_transpose(const pte_site *site, hone_error *error) {
    static const int64_t swapped[] = {1, 0};
    static const int64_t alone[] = {0};
    hone_value self;
    HONE_TRY(pte_tensor(site, 0, &self, error));
    const int rank = hone_graph_type(site->b->graph, self)->rank;
    if (rank > 2) HONE_FAIL(error, BAD_FORMAT, "a tensor of %d dimensions cannot be transposed", rank);
    const hone_value value = PTE_CALL(site->b, "aten::permute_copy", error, HONE_T(self),
                                      HONE_IS(rank == 2 ? swapped : alone, (size_t)rank));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

// (place + offset) * stride for each place of a dimension, as [count] f32.
static hone_value places(pte_builder *b, int64_t count, double stride, double offset, hone_error *error) {
    const hone_value whole = PTE_CALL(b, "aten::arange.start_step", error, HONE_I(0), HONE_I(count), HONE_I(1),
                                      HONE_I(hone_pte_code(HONE_DTYPE_F32)));
    if (!whole.id) return whole;
    const hone_value moved = PTE_CALL(b, "aten::add.Scalar", error, HONE_T(whole), HONE_R(offset));
    return moved.id ? PTE_CALL(b, "aten::mul.Scalar", error, HONE_T(moved), HONE_R(stride)) : moved;
}

// [.., H, W], stride, offset -> [H * W, 2]: x and y of each place of a grid.
hone_status pte_emit_grid_priors(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_value self;
    double stride, offset;
    HONE_TRY(pte_tensor(site, 0, &self, error));
    HONE_TRY(pte_real(site, 1, &stride, error));
    HONE_TRY(pte_real(site, 2, &offset, error));
    const hone_tensor_type type = *hone_graph_type(b->graph, self);
    if (type.rank < 2) HONE_FAIL(error, BAD_FORMAT, "its tensor has fewer than 2 dimensions");
    const int64_t h = type.dims[type.rank - 2], w = type.dims[type.rank - 1];
    hone_value axes[2];
    for (int i = 0; i < 2; i++) {
        const int64_t shape[] = {i ? h : 1, i ? 1 : w, 1};
        const int64_t wide[] = {h, w, 1};
        hone_value axis = places(b, i ? h : w, stride, offset, error);
        PTE_TRY_VALUE(axis, error);
        axis = PTE_CALL(b, "aten::view_copy", error, HONE_T(axis), HONE_IS(shape, 3));
        PTE_TRY_VALUE(axis, error);
        axes[i] = PTE_CALL(b, "aten::expand_copy", error, HONE_T(axis), HONE_IS(wide, 3));
        PTE_TRY_VALUE(axes[i], error);
    }
    const int64_t flat[] = {h * w, 2};
    const hone_value both = PTE_CALL(b, "aten::cat", error, HONE_TS(axes, 2), HONE_I(2));
    PTE_TRY_VALUE(both, error);
    const hone_value value = PTE_CALL(b, "aten::view_copy", error, HONE_T(both), HONE_IS(flat, 2));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}

// Indices below 0 count from the end.
static hone_value wrapped(pte_builder *b, hone_value indices, int64_t size, hone_error *error) {
    const hone_value below = PTE_CALL(b, "aten::lt.Scalar", error, HONE_T(indices), HONE_I(0));
    if (!below.id) return below;
    const hone_value moved = PTE_CALL(b, "aten::add.Scalar", error, HONE_T(indices), HONE_I(size));
    if (!moved.id) return moved;
    return PTE_CALL(b, "aten::where.self", error, HONE_T(below), HONE_T(moved), HONE_T(indices));
}

// self[.., i, j, ..]: index tensors for neighbouring dimensions, joined into one index over those dimensions.
hone_status pte_emit_index(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    hone_value self, index = {0};
    const hone_value *list;
    size_t count;
    HONE_TRY(pte_tensor(site, 0, &self, error));
    HONE_TRY(pte_tensors(site, 1, &list, &count, error));
    const hone_tensor_type type = *hone_graph_type(b->graph, self);
    if (count > (size_t)type.rank) HONE_FAIL(error, BAD_FORMAT, "%zu indices for %d dimensions", count, type.rank);
    size_t first = 0, last;
    while (first < count && !list[first].id) first++;
    for (last = first; last < count && list[last].id; last++) {
        const int64_t size = type.dims[last];
        hone_value own = list[last];
        if (hone_graph_type(b->graph, own)->dtype != HONE_DTYPE_I32)
            HONE_FAIL(error, BAD_FORMAT, "an index is not of whole numbers");
        HONE_TRY(pte_expect(site, own, -size, size, error));
        own = wrapped(b, own, size, error);
        PTE_TRY_VALUE(own, error);
        if (index.id) {
            index = PTE_CALL(b, "aten::mul.Scalar", error, HONE_T(index), HONE_I(size));
            PTE_TRY_VALUE(index, error);
            own = PTE_CALL(b, "aten::add.Tensor", error, HONE_T(index), HONE_T(own));
            PTE_TRY_VALUE(own, error);
        }
        index = own;
    }
    for (size_t i = last; i < count; i++) {
        if (list[i].id) HONE_FAIL(error, BAD_FORMAT, "indices for dimensions that are not neighbours");
    }
    if (!index.id) HONE_FAIL(error, BAD_FORMAT, "there is no index");
    const hone_tensor_type places_type = *hone_graph_type(b->graph, index);
    hone_tensor_type merged = {.rank = 0}, out = {.rank = 0};
    if (type.rank - (int)(last - first) + places_type.rank > HONE_MAX_RANK)
        HONE_FAIL(error, BAD_FORMAT, "the result has more than %d dimensions", HONE_MAX_RANK);
    for (size_t d = 0; d < first; d++) merged.dims[merged.rank++] = out.dims[out.rank++] = type.dims[d];
    merged.dims[merged.rank] = 1;
    for (size_t d = first; d < last; d++) merged.dims[merged.rank] *= type.dims[d];
    merged.rank++;
    for (int d = 0; d < places_type.rank; d++) out.dims[out.rank++] = places_type.dims[d];
    for (int d = (int)last; d < type.rank; d++) merged.dims[merged.rank++] = out.dims[out.rank++] = type.dims[d];
    const int64_t flat[] = {hone_type_elements(&places_type)};
    const hone_value picks = PTE_CALL(b, "aten::view_copy", error, HONE_T(index), HONE_IS(flat, 1));
    PTE_TRY_VALUE(picks, error);
    const hone_value from =
        PTE_CALL(b, "aten::view_copy", error, HONE_T(self), HONE_IS(merged.dims, (size_t)merged.rank));
    PTE_TRY_VALUE(from, error);
    const hone_value picked =
        PTE_CALL(b, "aten::index_select", error, HONE_T(from), HONE_I((int64_t)first), HONE_T(picks));
    PTE_TRY_VALUE(picked, error);
    const hone_value value = PTE_CALL(b, "aten::view_copy", error, HONE_T(picked), HONE_IS(out.dims, (size_t)out.rank));
    PTE_TRY_VALUE(value, error);
    return pte_result(site, value, error);
}
