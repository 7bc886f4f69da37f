// SPDX-License-Identifier: Apache-2.0
// Graphs of a program that are kept for the shapes they were built for: at most eight, sharing inputs, state and arena.
#include <string.h>

#include "formats/pte_program.h"
#include "graph/internal.h"

// --- what ran -------------------------------------------------------------------------------------------------------

// Adds the row to the one of the same operator. Without memory the row is lost: it is only a count.
static void add_row(hone_profile_row **rows, size_t *count, size_t *capacity, const hone_profile_row *row) {
    if (row->calls == 0) return;
    size_t i = 0;
    while (i < *count && (*rows)[i].op != row->op) i++;
    if (i == *count) {
        if (HONE_GROW(rows, capacity, *count + 1, "a profile", NULL) != HONE_OK) return;
        (*rows)[(*count)++] = (hone_profile_row){.op = row->op};
    }
    (*rows)[i].seconds += row->seconds;
    (*rows)[i].calls += row->calls;
    (*rows)[i].bytes += row->bytes;
    (*rows)[i].flop += row->flop;
}

static void collect(const hone_program *program, hone_profile_row **rows, size_t *count, size_t *capacity) {
    hone_profile_row *own;
    const size_t n = program ? hone_program_profile_rows(program, NULL, 0) : 0;
    if (n == 0 || HONE_NEW_ARRAY(&own, n, "a profile", NULL) != HONE_OK) return;
    (void)hone_program_profile_rows(program, own, n);
    for (size_t i = 0; i < n; i++) add_row(rows, count, capacity, &own[i]);
    hone_free(own);
}

void hone_pte_profile(hone_pte *pte, bool on) {
    pte->profiled = on;
    for (size_t i = 0; i < pte->entry_count; i++) {
        if (pte->entries[i]->program) hone_program_profile(pte->entries[i]->program, on);
    }
}

size_t hone_pte_profile_rows(const hone_pte *pte, hone_profile_row *rows, size_t capacity) {
    hone_profile_row *all = NULL;
    size_t count = 0, room = 0;
    for (size_t i = 0; i < pte->profile_count; i++) add_row(&all, &count, &room, &pte->profile[i]);
    for (size_t i = 0; i < pte->entry_count; i++) collect(pte->entries[i]->program, &all, &count, &room);
    for (size_t i = 0; i < count && i < capacity; i++) rows[i] = all[i];
    hone_free(all);
    return count;
}

// --- keeping --------------------------------------------------------------------------------------------------------

static void release_program(hone_pte *pte, pte_entry *entry) {
    if (pte->profiled) collect(entry->program, &pte->profile, &pte->profile_count, &pte->profile_capacity);
    hone_program_destroy(entry->program);
    entry->program = NULL;
}

static void release_plan(hone_pte *pte, pte_entry *entry) {
    release_program(pte, entry);
    hone_plan_destroy(entry->plan);
    entry->plan = NULL;
}

void pte_entries_clear(hone_pte *pte) {
    for (size_t i = 0; i < pte->entry_count; i++) pte_entry_destroy(pte->entries[i]);
    pte->entry_count = 0;
}

static bool is_for(const hone_pte *pte, const pte_entry *entry, const hone_tensor_type *types,
                   const hone_tensor *inputs) {
    for (uint32_t i = 0; i < pte->input_count; i++) {
        if (!hone_type_equal(&entry->types[i], &types[i])) return false;
    }
    for (size_t i = 0; i < entry->reading_count; i++) {
        const pte_reading *const reading = &entry->readings[i];
        if (pte_integer_at(&inputs[reading->input], reading->element) != reading->value) return false;
    }
    return true;
}

void pte_entry_add(hone_pte *pte, pte_entry *entry) {
    if (pte->entry_count == PTE_PLANS) {
        size_t oldest = 0;
        for (size_t i = 1; i < PTE_PLANS; i++) {
            if (pte->entries[i]->last_use < pte->entries[oldest]->last_use) oldest = i;
        }
        release_plan(pte, pte->entries[oldest]);
        pte_entry_destroy(pte->entries[oldest]);
        pte->entries[oldest] = pte->entries[--pte->entry_count];
    }
    pte->entries[pte->entry_count++] = entry;
}

hone_status pte_entry_choose(hone_pte *pte, const hone_tensor_type *types, const hone_tensor *inputs, pte_entry **out,
                             hone_error *error) {
    *out = NULL;
    for (size_t i = 0; i < pte->entry_count && !*out; i++) {
        if (is_for(pte, pte->entries[i], types, inputs)) *out = pte->entries[i];
    }
    if (!*out) {
        HONE_TRY(pte_build(pte, types, inputs, out, error));
        pte_entry_add(pte, *out);
    }
    (*out)->last_use = ++pte->uses;
    return HONE_OK;
}

// --- making ready ---------------------------------------------------------------------------------------------------

// A buffer that is large enough for the input; all plans are forgotten when it has to move.
static hone_status enter_input(hone_pte *pte, uint32_t index, const hone_tensor_type *type, hone_error *error) {
    const size_t bytes = hone_type_bytes(type);
    hone_buffer **const buffer = &pte->input_buffers[index];
    if (*buffer && hone_buffer_bytes(*buffer) >= bytes) return HONE_OK;
    for (size_t i = 0; i < pte->entry_count; i++) release_plan(pte, pte->entries[i]);
    hone_buffer_destroy(*buffer);
    *buffer = NULL;
    return hone_buffer_create(pte->device, bytes, pte->inputs[index].name, buffer, error);
}

static hone_status enter_buffers(hone_pte *pte, pte_entry *entry, hone_error *error) {
    for (size_t i = 0; i < entry->late_count; i++) {
        const pte_late *const late = &entry->late[i];
        if (late->state) {
            pte_state *const state = &pte->states[late->index];
            if (!state->buffer) HONE_TRY(pte_state_begin(pte, state, error));
        } else {
            HONE_TRY(enter_input(pte, late->index, &entry->types[late->index], error));
        }
    }
    for (size_t i = 0; i < entry->late_count; i++) {
        const pte_late *const late = &entry->late[i];
        entry->graph->values[late->value.id].buffer =
            late->state ? pte->states[late->index].buffer : pte->input_buffers[late->index];
    }
    return HONE_OK;
}

// The arena that all programs share, as large as the largest plan wants.
static hone_status enter_arena(hone_pte *pte, size_t bytes, hone_error *error) {
    if (pte->plan_arena && hone_buffer_bytes(pte->plan_arena) >= bytes) return HONE_OK;
    for (size_t i = 0; i < pte->entry_count; i++) release_program(pte, pte->entries[i]);
    hone_buffer_destroy(pte->plan_arena);
    pte->plan_arena = NULL;
    return hone_buffer_create(pte->device, bytes, "the values of a program", &pte->plan_arena, error);
}

hone_status pte_entry_prepare(hone_pte *pte, pte_entry *entry, hone_error *error) {
    if (!entry->plan) {
        HONE_TRY(enter_buffers(pte, entry, error));
        const hone_plan_options options = {.max_arena_bytes = hone_device_piece_bytes(pte->device)};
        HONE_TRY(hone_plan_create(entry->graph, &options, &entry->plan, error));
    }
    if (!entry->program) HONE_TRY(enter_arena(pte, hone_plan_measure(entry->plan).temporaries, error));
    HONE_TRY(hone_program_create(pte->device, entry->plan, pte->plan_arena, &entry->program, error));
    if (pte->profiled) hone_program_profile(entry->program, true);
    return HONE_OK;
}

hone_pte_bytes hone_pte_measure(const hone_pte *pte) {
    hone_pte_bytes bytes = {.constants = pte->constant_bytes, .plans = pte->entry_count};
    for (size_t i = 0; i < pte->state_count; i++) bytes.state += hone_type_bytes(&pte->states[i].type);
    if (pte->plan_arena) bytes.temporaries = hone_buffer_bytes(pte->plan_arena);
    const pte_entry *last = NULL;
    for (size_t i = 0; i < pte->entry_count; i++) {
        if (!last || pte->entries[i]->last_use > last->last_use) last = pte->entries[i];
    }
    if (last) bytes.nodes = last->plan ? hone_plan_measure(last->plan).nodes : hone_graph_node_count(last->graph);
    return bytes;
}
