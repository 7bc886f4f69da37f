// SPDX-License-Identifier: Apache-2.0
// The adapter in memory, whatever file it came from or goes to.
#include "formats/adapter.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static hone_status copy_optional(const char *text, char **out, hone_error *error) {
    return text ? hone_copy_string(text, strlen(text), out, error) : HONE_OK;
}

hone_status hone_adapter_create(const char *architecture, const char *base_name, const char *base_hash,
                                hone_adapter **out, hone_error *error) {
    *out = NULL;
    hone_adapter *adapter = NULL;
    hone_status status = HONE_OK;
    HONE_TRY(HONE_NEW(&adapter, "an adapter", error));
    HONE_TRY_GOTO(copy_optional(architecture, &adapter->architecture, error), fail);
    HONE_TRY_GOTO(copy_optional(base_name, &adapter->base_name, error), fail);
    HONE_TRY_GOTO(copy_optional(base_hash, &adapter->base_hash, error), fail);
    *out = adapter;
    return HONE_OK;
fail:
    hone_adapter_destroy(adapter);
    return status;
}

static void clear_entry(hone_adapter_entry *entry) {
    hone_free(entry->name);
    hone_free(entry->a);
    hone_free(entry->b);
    *entry = (hone_adapter_entry){0};
}

static hone_status allocate_entry(hone_adapter_entry *entry, hone_error *error) {
    size_t a_count = 0;
    size_t b_count = 0;
    HONE_FAIL_IF(entry->rank < 1 || entry->n_in < 1 || entry->n_out < 1 ||
                     !hone_mul_size((size_t)entry->rank, (size_t)entry->n_in, &a_count) ||
                     !hone_mul_size((size_t)entry->n_out, (size_t)entry->rank, &b_count),
                 error, INVALID_ARGUMENT, "a LoRA of rank %" PRId64 " from %" PRId64 " to %" PRId64 " is not possible",
                 entry->rank, entry->n_in, entry->n_out);
    HONE_TRY(HONE_NEW_ARRAY(&entry->a, a_count, "an adapter's A", error));
    return HONE_NEW_ARRAY(&entry->b, b_count, "an adapter's B", error);
}

hone_status hone_adapter_add(hone_adapter *adapter, const char *name, int64_t rank, int64_t n_in, int64_t n_out,
                             hone_adapter_entry **out, hone_error *error) {
    *out = NULL;
    HONE_FAIL_IF(strncmp(name, "rope_freqs", strlen("rope_freqs")) == 0, error, UNSUPPORTED,
                 "'%s' holds the rotary frequencies, which are never adapted", name);
    HONE_TRY(HONE_GROW(&adapter->entries, &adapter->capacity, adapter->count + 1, "an adapter's table", error));
    hone_adapter_entry *const entry = &adapter->entries[adapter->count];
    *entry = (hone_adapter_entry){.rank = rank, .n_in = n_in, .n_out = n_out};
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(hone_copy_string(name, strlen(name), &entry->name, error), fail);
    HONE_TRY_GOTO(allocate_entry(entry, error), fail);
    adapter->count++;
    *out = entry;
    return HONE_OK;
fail:
    clear_entry(entry);
    return status;
}

void hone_adapter_destroy(hone_adapter *adapter) {
    if (!adapter) return;
    for (size_t i = 0; i < adapter->count; i++) clear_entry(&adapter->entries[i]);
    hone_free(adapter->entries);
    hone_free(adapter->architecture);
    hone_free(adapter->base_name);
    hone_free(adapter->base_hash);
    hone_free(adapter);
}

const hone_adapter_entry *hone_adapter_find(const hone_adapter *adapter, const char *name) {
    for (size_t i = 0; i < adapter->count; i++) {
        if (strcmp(adapter->entries[i].name, name) == 0) return &adapter->entries[i];
    }
    return NULL;
}

double hone_adapter_scale(const hone_adapter *adapter, const hone_adapter_entry *entry) {
    const double rank = (double)entry->rank;
    return (double)adapter->alpha / (adapter->rank_stabilised ? sqrt(rank) : rank);
}

static bool all_finite(const float *values, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) return false;
    }
    return true;
}

hone_status hone_adapter_check(const hone_adapter *adapter, const char *file, hone_error *error) {
    HONE_FAIL_IF(!adapter->has_alpha, error, BAD_FORMAT,
                 "'%s': the adapter has no alpha, so its scale (alpha / rank) is not known", file);
    HONE_FAIL_IF(!isfinite(adapter->alpha) || adapter->alpha <= 0, error, BAD_FORMAT,
                 "'%s': the adapter's alpha is %g, which is no scale", file, (double)adapter->alpha);
    HONE_FAIL_IF(adapter->count == 0, error, BAD_FORMAT, "'%s': the adapter has no tensors", file);
    for (size_t i = 0; i < adapter->count; i++) {
        const hone_adapter_entry *const entry = &adapter->entries[i];
        HONE_FAIL_IF(!all_finite(entry->a, entry->rank * entry->n_in) ||
                         !all_finite(entry->b, entry->n_out * entry->rank),
                     error, NOT_FINITE, "'%s': the adapter of tensor '%s' holds NaN or infinity", file, entry->name);
    }
    return HONE_OK;
}
