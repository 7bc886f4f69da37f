// SPDX-License-Identifier: Apache-2.0
// The arguments and results of one call: numbers of values into tensors, numbers and lists.
//
// Numbers are deduplicated by the exporter with Python's equality (1 == 1.0), so that whole numbers stand where real ones
// are meant and the other way round: both are taken everywhere.
#include <inttypes.h>
#include <string.h>

#include "formats/pte_builder.h"

uint32_t pte_argument_id(const pte_site *site, uint32_t index) {
    return index < site->inputs ? hone_flat_u32_at(site->scope->flat, site->arguments, index) : PTE_NONE;
}

hone_status pte_argument(const pte_site *site, uint32_t index, hone_pte_value *out, hone_error *error) {
    *out = (hone_pte_value){.constant = -1};
    if (index >= site->inputs) return HONE_OK;
    return pte_scope_value(site->b->pte, site->scope, pte_argument_id(site, index), out, error);
}

hone_status pte_tensor(const pte_site *site, uint32_t index, hone_value *out, hone_error *error) {
    const uint32_t id = pte_argument_id(site, index);
    if (id == PTE_NONE) HONE_FAIL(error, BAD_FORMAT, "argument %" PRIu32 " is missing", index);
    return pte_fetch(site->b, site->scope, id, out, error);
}

hone_status pte_optional_tensor(const pte_site *site, uint32_t index, hone_value *out, hone_error *error) {
    hone_pte_value value;
    *out = (hone_value){0};
    HONE_TRY(pte_argument(site, index, &value, error));
    return value.kind == HONE_PTE_NOTHING ? HONE_OK : pte_tensor(site, index, out, error);
}

hone_status pte_integer(const pte_site *site, uint32_t index, int64_t *out, hone_error *error) {
    const uint32_t id = pte_argument_id(site, index);
    if (id == PTE_NONE) HONE_FAIL(error, BAD_FORMAT, "argument %" PRIu32 " is missing", index);
    return pte_fetch_integer(site->b, site->scope, id, out, error);
}

hone_status pte_real(const pte_site *site, uint32_t index, double *out, hone_error *error) {
    hone_pte_value value;
    HONE_TRY(pte_argument(site, index, &value, error));
    if (value.kind == HONE_PTE_REAL) {
        *out = value.real;
        return HONE_OK;
    }
    int64_t whole = 0;
    HONE_TRY(pte_integer(site, index, &whole, error));
    *out = (double)whole;
    return HONE_OK;
}

hone_status pte_integers(const pte_site *site, uint32_t index, const int64_t **out, size_t *count, hone_error *error) {
    pte_builder *const b = site->b;
    hone_flat *const flat = site->scope->flat;
    hone_pte_value value;
    HONE_TRY(pte_argument(site, index, &value, error));
    int64_t *list;
    const bool many = value.kind == HONE_PTE_INTEGERS || value.kind == HONE_PTE_VALUES;
    *count = many ? value.items.count : 1;
    HONE_TRY(pte_count_work(b->pte, *count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&b->arena, &list, *count, error));
    *out = list;
    if (!many) return pte_integer(site, index, &list[0], error);
    for (uint32_t i = 0; i < value.items.count; i++) {
        if (value.kind == HONE_PTE_INTEGERS && !value.indirect) {
            list[i] = hone_flat_i64_at(flat, value.items, i);
            continue;
        }
        const int64_t id = value.kind == HONE_PTE_INTEGERS ? hone_flat_i64_at(flat, value.items, i)
                                                           : hone_flat_i32_at(flat, value.items, i);
        if (id < 0 || id >= site->scope->count)
            HONE_FAIL(error, BAD_FORMAT, "argument %" PRIu32 " names value %" PRId64 " of %" PRIu32, index, id,
                      site->scope->count);
        HONE_TRY(pte_fetch_integer(b, site->scope, (uint32_t)id, &list[i], error));
    }
    return HONE_OK;
}

hone_status pte_tensors(const pte_site *site, uint32_t index, const hone_value **out, size_t *count,
                        hone_error *error) {
    hone_pte_value value;
    HONE_TRY(pte_argument(site, index, &value, error));
    if (value.kind != HONE_PTE_VALUES)
        HONE_FAIL(error, BAD_FORMAT, "argument %" PRIu32 " is not a list of tensors", index);
    hone_value *list;
    HONE_TRY(pte_count_work(site->b->pte, value.items.count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&site->b->arena, &list, value.items.count, error));
    *out = list;
    *count = value.items.count;
    for (uint32_t i = 0; i < value.items.count; i++) {
        const int32_t id = hone_flat_i32_at(site->scope->flat, value.items, i);
        hone_pte_value item = {.kind = HONE_PTE_NOTHING};
        if (id >= 0) HONE_TRY(pte_scope_value(site->b->pte, site->scope, (uint32_t)id, &item, error));
        if (item.kind == HONE_PTE_NOTHING) continue;
        HONE_TRY(pte_fetch(site->b, site->scope, (uint32_t)id, &list[i], error));
    }
    return HONE_OK;
}

// --- results --------------------------------------------------------------------------------------------------------

hone_status pte_result_ids(const pte_site *site, const uint32_t **out, size_t *count, hone_error *error) {
    hone_pte_value value;
    uint32_t *list;
    if (site->out == PTE_NONE) HONE_FAIL(error, BAD_FORMAT, "its result is missing");
    HONE_TRY(pte_scope_value(site->b->pte, site->scope, site->out, &value, error));
    const bool many = value.kind == HONE_PTE_VALUES;
    *count = many ? value.items.count : 1;
    HONE_TRY(pte_count_work(site->b->pte, many ? *count : 0, error));
    HONE_TRY(HONE_ARENA_ARRAY(&site->b->arena, &list, *count, error));
    *out = list;
    if (!many) list[0] = site->out;
    for (uint32_t i = 0; i < *count && many; i++) {
        list[i] = hone_flat_u32_at(site->scope->flat, value.items, i);
        if (list[i] >= site->scope->count)
            HONE_FAIL(error, BAD_FORMAT, "its result %" PRIu32 " is value %" PRIu32 " of %" PRIu32, i, list[i],
                      site->scope->count);
    }
    return HONE_OK;
}

hone_status pte_result_type(const pte_site *site, hone_pte_value *out, hone_error *error) {
    const uint32_t *ids = NULL;
    size_t count = 0;
    HONE_TRY(pte_result_ids(site, &ids, &count, error));
    if (count == 0) HONE_FAIL(error, BAD_FORMAT, "its list of results is empty");
    HONE_TRY(pte_scope_value(site->b->pte, site->scope, ids[0], out, error));
    if (out->kind != HONE_PTE_TENSOR) HONE_FAIL(error, BAD_FORMAT, "its result is not a tensor");
    return HONE_OK;
}

hone_status pte_results(const pte_site *site, const hone_value *values, size_t count, hone_error *error) {
    const uint32_t *ids;
    size_t wanted;
    HONE_TRY(pte_result_ids(site, &ids, &wanted, error));
    if (wanted > count) HONE_FAIL(error, BAD_FORMAT, "it is asked for %zu results, but has %zu", wanted, count);
    for (size_t i = 0; i < wanted; i++) HONE_TRY(pte_give(site->b, site->scope, ids[i], values[i], error));
    return HONE_OK;
}

hone_status pte_result(const pte_site *site, hone_value value, hone_error *error) {
    return pte_results(site, &value, 1, error);
}

hone_status pte_expect(const pte_site *site, hone_value indices, int64_t low, int64_t high, hone_error *error) {
    pte_entry *const entry = site->b->entry;
    const pte_origin origin = pte_origin_of(site->b, indices);
    if (origin.tie < PTE_ALL) return HONE_OK; // the operator itself notices
    HONE_TRY(HONE_GROW(&entry->checks, &entry->check_capacity, entry->check_count + 1, "checks of a program", error));
    entry->checks[entry->check_count++] = (pte_check){origin.input, low, high, site->op->op};
    return HONE_OK;
}
