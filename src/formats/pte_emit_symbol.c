// SPDX-License-Identifier: Apache-2.0
// Whole numbers that a program computes, for shapes: known while its graph is built.
#include <inttypes.h>

#include "formats/pte_builder.h"

static hone_status give(const pte_site *site, int64_t integer, hone_error *error) {
    hone_pte_value result;
    if (site->out == PTE_NONE) HONE_FAIL(error, BAD_FORMAT, "its result is missing");
    HONE_TRY(pte_scope_value(site->b->pte, site->scope, site->out, &result, error));
    if (result.kind == HONE_PTE_TENSOR || result.kind == HONE_PTE_VALUES)
        HONE_FAIL(error, BAD_FORMAT, "its result is not a number");
    pte_give_integer(site->scope, site->out, integer);
    return HONE_OK;
}

// Checks on numbers: those that matter are made where the numbers are used.
hone_status pte_emit_nothing(const pte_site *site, hone_error *error) {
    (void)site;
    (void)error;
    return HONE_OK;
}

static hone_status dimension(const pte_site *site, const hone_tensor_type *type, uint32_t argument, int *out,
                             hone_error *error) {
    int64_t dim = 0;
    HONE_TRY(pte_integer(site, argument, &dim, error));
    if (dim < -type->rank || dim >= type->rank)
        HONE_FAIL(error, BAD_FORMAT, "a tensor of %d dimensions has no dimension %" PRId64, type->rank, dim);
    *out = (int)(dim < 0 ? dim + type->rank : dim);
    return HONE_OK;
}

hone_status pte_emit_sym_size(const pte_site *site, hone_error *error) {
    hone_value self;
    int dim = 0;
    HONE_TRY(pte_tensor(site, 0, &self, error));
    const hone_tensor_type *const type = hone_graph_type(site->b->graph, self);
    HONE_TRY(dimension(site, type, 1, &dim, error));
    return give(site, type->dims[dim], error);
}

#define DEFINE_SYMBOL(name, condition, expression)                                                                     \
    hone_status pte_emit_sym_##name(const pte_site *site, hone_error *error) {                                         \
        int64_t a = 0, b = 0, result = 0;                                                                              \
        HONE_TRY(pte_integer(site, 0, &a, error));                                                                     \
        HONE_TRY(pte_integer(site, 1, &b, error));                                                                     \
        if (!(condition)) HONE_FAIL(error, BAD_FORMAT, "%" PRId64 " and %" PRId64 " have no result", a, b);            \
        result = (expression);                                                                                         \
        return give(site, result, error);                                                                              \
    }
DEFINE_SYMBOL(add, !__builtin_add_overflow(a, b, &result), result)
DEFINE_SYMBOL(sub, !__builtin_sub_overflow(a, b, &result), result)
DEFINE_SYMBOL(mul, !__builtin_mul_overflow(a, b, &result), result)
// Rounded down, also below zero.
DEFINE_SYMBOL(floordiv, b != 0 && !(a == INT64_MIN && b == -1), a / b - (a % b != 0 && (a < 0) != (b < 0)))
DEFINE_SYMBOL(eq, true, a == b)
DEFINE_SYMBOL(lt, true, a < b)
DEFINE_SYMBOL(le, true, a <= b)
DEFINE_SYMBOL(gt, true, a > b)
DEFINE_SYMBOL(ge, true, a >= b)

// A number that stands in a tensor, at [0, .., index, .., 0]. Shapes are planned with it, so the host must have it at hand
// before anything runs: the tensor must be an input, as ExecuTorch wants it too.
hone_status pte_emit_select_as_symint(const pte_site *site, hone_error *error) {
    pte_builder *const b = site->b;
    pte_entry *const entry = b->entry;
    hone_value self;
    int dim = 0;
    int64_t place = 0;
    HONE_TRY(pte_tensor(site, 0, &self, error));
    const hone_tensor_type type = *hone_graph_type(b->graph, self);
    HONE_TRY(dimension(site, &type, 1, &dim, error));
    HONE_TRY(pte_integer(site, 2, &place, error));
    const pte_origin origin = pte_origin_of(b, self);
    if (origin.tie != PTE_IN_ORDER)
        HONE_FAIL(error, UNSUPPORTED,
                  "the number must stand in an input: one that the program computes is not at hand "
                  "when its shapes are planned");
    const hone_dtype given = b->pte->inputs[origin.input].type.dtype;
    if (type.dtype == HONE_DTYPE_F32 || given == HONE_DTYPE_F32 || given == HONE_DTYPE_F64 || given == HONE_DTYPE_F16)
        HONE_FAIL(error, UNSUPPORTED, "the number must be a whole one, but input %" PRIu32 " holds floats",
                  origin.input);
    if (place < -type.dims[dim] || place >= type.dims[dim] || hone_type_elements(&type) == 0)
        HONE_FAIL(error, BAD_FORMAT, "there is no element %" PRId64 " in %" PRId64, place, type.dims[dim]);
    if (place < 0) place += type.dims[dim];
    for (int d = dim + 1; d < type.rank; d++) place *= type.dims[d];
    const int64_t value = b->inputs ? pte_integer_at(&b->inputs[origin.input], place) : 0;
    HONE_TRY(
        HONE_GROW(&entry->readings, &entry->reading_capacity, entry->reading_count + 1, "numbers of a program", error));
    entry->readings[entry->reading_count++] = (pte_reading){origin.input, place, value};
    return give(site, value, error);
}
