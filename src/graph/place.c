// SPDX-License-Identifier: Apache-2.0
// The memory planner: temporaries that never live together share bytes of the arena.
//
// Each value goes to the lowest offset that is free for its whole life, the largest value first. Those that live with it are
// found in one of two ways, whichever has less to look at: by a tree over lives, in long graphs whose values die soon, or
// by the list of all placed values by offset, in graphs where most live together. Both find the same offset. In a graph so
// large and so dense that looking would take seconds, the values that are left, the smallest, go on top of all that lives
// with them, which takes no looking.
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

// Placed values that are looked at in all before the rest goes on top. 28,000 values that all live together take as many.
#define MOST_LOOKS ((uint64_t)400 * 1000 * 1000)

typedef struct interval {
    size_t bytes; // rounded up to the alignment
    size_t offset;
    uint32_t first, last;
    uint32_t value;
    uint32_t leaf; // its place among all by `first`
} interval;

// What lives above each step, for those that go on top. Node n covers steps as in a heap: 1 all, 2n and 2n + 1 its halves.
typedef struct skyline {
    size_t *any;    // [2 * steps] the highest end below the node
    size_t *all;    // [2 * steps] the highest end of what covers all of the node
    uint32_t steps; // a power of two; 0 = not there yet
} skyline;

typedef struct placer {
    interval *items; // by size
    size_t count, placed;
    size_t piece;
    uint64_t looks;
    // The tree over lives, as a heap: its leaves are all values by `first`; `latest` of a node is 1 + the last step of the
    // placed ones below it, 0 where there is none.
    uint32_t *item_at; // [count] of a leaf
    uint32_t *latest;  // [2 * leaves]
    size_t leaves;     // a power of two
    uint32_t *order;   // [count] placed ones: [0, sorted) by offset, those behind in the order in which they came
    size_t sorted;
    uint32_t *found; // [count] room for those that live with a value, and for merging
    skyline top;
} placer;

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

// --- numbers of items in order of a key -----------------------------------------------------------------------------

typedef bool item_before(const interval *a, const interval *b);

static bool starts_before(const interval *a, const interval *b) {
    return a->first < b->first;
}
static bool lies_before(const interval *a, const interval *b) {
    return a->offset < b->offset;
}

static void sift_down(const interval *items, uint32_t *list, size_t count, size_t at, item_before *before) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&items[list[child]], &items[list[child + 1]])) child++;
        if (!before(&items[list[at]], &items[list[child]])) return;
        const uint32_t moved = list[at];
        list[at] = list[child];
        list[child] = moved;
    }
}

// A sort of its own, for the C library's has no room for what a comparison looks at.
static void sort_items(const interval *items, uint32_t *list, size_t count, item_before *before) {
    if (count <= 24) {
        for (size_t i = 1; i < count; i++) {
            const uint32_t moved = list[i];
            size_t at = i;
            for (; at > 0 && before(&items[moved], &items[list[at - 1]]); at--) list[at] = list[at - 1];
            list[at] = moved;
        }
        return;
    }
    for (size_t i = count / 2; i-- > 0;) sift_down(items, list, count, i, before);
    for (size_t end = count - 1; end > 0; end--) {
        const uint32_t moved = list[0];
        list[0] = list[end];
        list[end] = moved;
        sift_down(items, list, end, 0, before);
    }
}

// --- those that live at the same time -------------------------------------------------------------------------------

// Adds to found[*count] the placed items below the node that begin before leaf `end` and are alive at `first` or later.
// False when there are more than `limit`.
static bool collect_lives(placer *p, size_t node, size_t leaf, size_t width, size_t end, uint32_t first, size_t limit,
                          size_t *count) {
    p->looks++;
    if (leaf >= end || p->latest[node] <= first) return true;
    if (width == 1) {
        if (*count == limit) return false;
        p->found[(*count)++] = p->item_at[leaf];
        return true;
    }
    return collect_lives(p, 2 * node, leaf, width / 2, end, first, limit, count) &&
           collect_lives(p, 2 * node + 1, leaf + width / 2, width / 2, end, first, limit, count);
}

// The first leaf that begins after `step`.
static size_t leaves_until(const placer *p, uint32_t step) {
    size_t low = 0, high = p->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (p->items[p->item_at[middle]].first <= step) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Sorts what has been placed since the last time into the list by offset.
static void sort_order(placer *p) {
    const size_t fresh = p->placed - p->sorted;
    memcpy(p->found, &p->order[p->sorted], fresh * sizeof(*p->found));
    sort_items(p->items, p->found, fresh, lies_before);
    size_t a = p->sorted, b = fresh;
    for (size_t at = p->placed; b > 0;) { // from behind, so that nothing is overwritten before it has moved
        const bool old = a > 0 && lies_before(&p->items[p->found[b - 1]], &p->items[p->order[a - 1]]);
        p->order[--at] = old ? p->order[--a] : p->found[--b];
    }
    p->looks += p->placed;
    p->sorted = p->placed;
}

// --- the lowest gap ---------------------------------------------------------------------------------------------------

// The lowest offset from `at` on where `bytes` do not lie across a multiple of `piece`, or begin at one where they are more;
// 0 = one piece.
static size_t within_piece(size_t at, size_t bytes, size_t piece) {
    return piece && at % piece + bytes > piece ? (at / piece + 1) * piece : at;
}

// The lowest offset where `item` fits among those in the list that live at the same time. The list is by offset.
static size_t find_gap(placer *p, const uint32_t *list, size_t count, const interval *item) {
    size_t at = 0, i = 0;
    for (; i < count; i++) {
        const interval *const other = &p->items[list[i]];
        if (other->last < item->first || other->first > item->last) continue;
        if (other->offset >= at + item->bytes) break;
        const size_t end = other->offset + other->bytes;
        if (end > at) at = within_piece(end, item->bytes, p->piece);
    }
    p->looks += i;
    return at;
}

static size_t find_offset(placer *p, const interval *item) {
    enum { FEW = 16, PART = 64 }; // to sort one costs as much as to pass over that many
    size_t together = 0;
    if (collect_lives(p, 1, 0, p->leaves, leaves_until(p, item->last), item->first, FEW + p->placed / PART,
                      &together)) {
        sort_items(p->items, p->found, together, lies_before);
        return find_gap(p, p->found, together, item);
    }
    if (p->sorted < p->placed) sort_order(p);
    return find_gap(p, p->order, p->placed, item);
}

// --- on top -----------------------------------------------------------------------------------------------------------

// Raises what covers the steps [first, last] to `end`.
static void raise_steps(skyline *top, size_t node, uint32_t step, uint32_t width, const interval *item, size_t end) {
    if (step > item->last || step + width - 1 < item->first) return;
    if (end > top->any[node]) top->any[node] = end;
    if (step >= item->first && step + width - 1 <= item->last) {
        if (end > top->all[node]) top->all[node] = end;
        return;
    }
    raise_steps(top, 2 * node, step, width / 2, item, end);
    raise_steps(top, 2 * node + 1, step + width / 2, width / 2, item, end);
}

static size_t highest(const skyline *top, size_t node, uint32_t step, uint32_t width, const interval *item) {
    if (step > item->last || step + width - 1 < item->first) return 0;
    if (step >= item->first && step + width - 1 <= item->last) return top->any[node];
    const size_t left = highest(top, 2 * node, step, width / 2, item);
    const size_t right = highest(top, 2 * node + 1, step + width / 2, width / 2, item);
    const size_t below = left > right ? left : right;
    return below > top->all[node] ? below : top->all[node];
}

static hone_status start_skyline(placer *p, size_t steps, hone_error *error) {
    skyline *const top = &p->top;
    uint32_t size = 1;
    while (size < steps) size *= 2;
    HONE_TRY(HONE_NEW_ARRAY(&top->any, 2 * (size_t)size, "a memory plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&top->all, 2 * (size_t)size, "a memory plan", error));
    top->steps = size;
    for (size_t i = 0; i < p->placed; i++)
        raise_steps(top, 1, 0, size, &p->items[i], p->items[i].offset + p->items[i].bytes);
    return HONE_OK;
}

// --- all of it --------------------------------------------------------------------------------------------------------

static size_t peak_of(const interval *items, size_t count, int64_t *change, size_t steps) {
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

static bool has_place(const hone_plan *plan, uint32_t value) {
    return plan->values[value].storage == HONE_STORAGE_TEMPORARY && plan->values[value].root == value;
}

static hone_status collect(placer *p, const hone_plan *plan, hone_error *error) {
    for (uint32_t v = 1; v < plan->value_count; v++) p->count += has_place(plan, v);
    HONE_TRY(HONE_NEW_ARRAY(&p->items, p->count, "a memory plan", error));
    size_t at = 0;
    for (uint32_t v = 1; v < plan->value_count; v++) {
        const hone_plan_value *const value = &plan->values[v];
        if (!has_place(plan, v)) continue;
        p->items[at++] =
            (interval){.bytes = aligned(value->bytes), .first = value->first, .last = value->last, .value = v};
    }
    if (p->count > 0) qsort(p->items, p->count, sizeof(*p->items), by_size);
    for (p->leaves = 1; p->leaves < p->count;) p->leaves *= 2;
    HONE_TRY(HONE_NEW_ARRAY(&p->item_at, p->count, "a memory plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&p->latest, 2 * p->leaves, "a memory plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&p->order, p->count, "a memory plan", error));
    HONE_TRY(HONE_NEW_ARRAY(&p->found, p->count, "a memory plan", error));
    for (size_t i = 0; i < p->count; i++) p->item_at[i] = (uint32_t)i;
    sort_items(p->items, p->item_at, p->count, starts_before);
    for (size_t i = 0; i < p->count; i++) p->items[p->item_at[i]].leaf = (uint32_t)i;
    return HONE_OK;
}

static void note_placed(placer *p, size_t index) {
    const interval *const item = &p->items[index];
    for (size_t node = p->leaves + item->leaf; node > 0; node /= 2) {
        if (p->latest[node] < item->last + 1) p->latest[node] = item->last + 1;
    }
    p->order[p->placed++] = (uint32_t)index;
}

static hone_status place(placer *p, interval *item, size_t steps, hone_error *error) {
    if (p->looks < MOST_LOOKS) {
        item->offset = find_offset(p, item);
        note_placed(p, (size_t)(item - p->items));
        return HONE_OK;
    }
    if (!p->top.steps) HONE_TRY(start_skyline(p, steps, error));
    item->offset = within_piece(highest(&p->top, 1, 0, p->top.steps, item), item->bytes, p->piece);
    raise_steps(&p->top, 1, 0, p->top.steps, item, item->offset + item->bytes);
    return HONE_OK;
}

static hone_status place_all(placer *p, hone_plan *plan, hone_error *error) {
    HONE_TRY(collect(p, plan, error));
    for (size_t i = 0; i < p->count; i++) {
        interval *const item = &p->items[i];
        HONE_TRY(place(p, item, plan->step_count + 1, error));
        plan->values[item->value].offset = item->offset;
        const size_t end = item->offset + item->bytes;
        if (end > plan->bytes.temporaries) plan->bytes.temporaries = end;
    }
    int64_t *change;
    HONE_TRY(HONE_NEW_ARRAY(&change, plan->step_count + 2, "a memory plan", error));
    plan->bytes.lower_bound = peak_of(p->items, p->count, change, plan->step_count);
    hone_free(change);
    return HONE_OK;
}

hone_status hone_plan_place(hone_plan *plan, size_t piece, hone_error *error) {
    placer p = {.piece = piece};
    const hone_status status = place_all(&p, plan, error);
    hone_free(p.items);
    hone_free(p.item_at);
    hone_free(p.latest);
    hone_free(p.order);
    hone_free(p.found);
    hone_free(p.top.any);
    hone_free(p.top.all);
    return status;
}
