// SPDX-License-Identifier: Apache-2.0
// The memory planner: temporaries that never live together share bytes of the arena.
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct interval {
    size_t bytes; // rounded up to the alignment
    size_t offset;
    uint32_t first, last;
    uint32_t value;
} interval;

static size_t aligned(size_t bytes) {
    const size_t least = bytes ? bytes : 4; // an empty value owns 4 bytes, so that every value has a place
    return (least + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

// Largest first: small values then fill the gaps. Ties by time and number, so that a plan is always the same.
static int by_size(const void *a, const void *b) {
    const interval *const x = a;
    const interval *const y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

// The lowest offset from `at` on where `bytes` do not lie across a multiple of `piece`; 0 = one piece.
static size_t within_piece(size_t at, size_t bytes, size_t piece) {
    return piece && at % piece + bytes > piece ? (at / piece + 1) * piece : at;
}

// The lowest offset where `item` fits among the placed ones that live at the same time. `order` lists those by offset.
static size_t find_gap(const interval *items, const uint32_t *order, size_t placed, const interval *item,
                       size_t piece) {
    size_t at = 0;
    for (size_t i = 0; i < placed; i++) {
        const interval *const other = &items[order[i]];
        if (other->last < item->first || other->first > item->last) continue;
        if (other->offset >= at + item->bytes) break;
        const size_t end = other->offset + other->bytes;
        if (end > at) at = within_piece(end, item->bytes, piece);
    }
    return at;
}

static void insert_by_offset(const interval *items, uint32_t *order, size_t placed, uint32_t index) {
    size_t at = placed;
    while (at > 0 && items[order[at - 1]].offset > items[index].offset) at--;
    memmove(&order[at + 1], &order[at], (placed - at) * sizeof(*order));
    order[at] = index;
}

static size_t peak_of(const interval *items, size_t count, int64_t *change, size_t steps) {
    memset(change, 0, (steps + 2) * sizeof(*change));
    for (size_t i = 0; i < count; i++) {
        change[items[i].first] += (int64_t)items[i].bytes;
        change[items[i].last + 1 < steps + 1 ? items[i].last + 1 : steps + 1] -= (int64_t)items[i].bytes;
    }
    int64_t now = 0;
    int64_t peak = 0;
    for (size_t s = 0; s < steps; s++) {
        now += change[s];
        if (now > peak) peak = now;
    }
    return (size_t)peak;
}

static size_t collect(const hone_plan *plan, interval *items) {
    size_t count = 0;
    for (uint32_t v = 1; v < plan->value_count; v++) {
        const hone_plan_value *const value = &plan->values[v];
        if (value->storage != HONE_STORAGE_TEMPORARY || value->root != v) continue;
        items[count++] =
            (interval){.bytes = aligned(value->bytes), .first = value->first, .last = value->last, .value = v};
    }
    return count;
}

static hone_status check_size(const hone_plan *plan, const interval *item, size_t piece, hone_error *error) {
    HONE_FAIL_IF(piece && item->bytes > piece, error, UNSUPPORTED,
                 "%s makes a value of %zu bytes, more than the %zu that a piece of the arena holds",
                 plan->steps[item->first].node.schema->op->schema, item->bytes, piece);
    return HONE_OK;
}

hone_status hone_plan_place(hone_plan *plan, size_t piece, hone_error *error) {
    interval *items = NULL;
    uint32_t *order = NULL;
    int64_t *change = NULL;
    hone_status status;
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&items, plan->value_count, "a memory plan", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&order, plan->value_count, "a memory plan", error), done);
    HONE_TRY_GOTO(HONE_NEW_ARRAY(&change, plan->step_count + 2, "a memory plan", error), done);
    const size_t count = collect(plan, items);
    qsort(items, count, sizeof(*items), by_size);
    for (size_t i = 0; i < count; i++) {
        HONE_TRY_GOTO(check_size(plan, &items[i], piece, error), done);
        items[i].offset = find_gap(items, order, i, &items[i], piece);
        insert_by_offset(items, order, i, (uint32_t)i);
        plan->values[items[i].value].offset = items[i].offset;
        const size_t end = items[i].offset + items[i].bytes;
        if (end > plan->bytes.temporaries) plan->bytes.temporaries = end;
    }
    plan->bytes.lower_bound = peak_of(items, count, change, plan->step_count);
    status = HONE_OK;
done:
    hone_free(items);
    hone_free(order);
    hone_free(change);
    return status;
}
