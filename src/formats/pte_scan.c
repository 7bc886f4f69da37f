// SPDX-License-Identifier: Apache-2.0
// One pass over all calls of a program before anything is built: operators that hone does not run are named, prepacked
// constants are tied to their bytes, and what calls write is marked as state.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/pte_builder.h"

enum { MOST_UNKNOWN = 64, MOST_SHOWN = 5, CALLS_AT_LEAST = 4096, WORK_AT_LEAST = 1 << 20 };
#define MOST_VALUES_ENTERED ((uint64_t)1 << 26) // of delegates that are called, in all

hone_status pte_count_work(hone_pte *pte, uint64_t items, hone_error *error) {
    const uint64_t size = pte->file->source->size;
    pte->work += items;
    HONE_FAIL_IF(pte->work > (size > WORK_AT_LEAST ? size : WORK_AT_LEAST), error, UNSUPPORTED,
                 "'%s' has calls with too many arguments: more than %" PRIu64 ", for a file of %" PRIu64 " bytes",
                 pte->file->flat.file, pte->work - items, size);
    return HONE_OK;
}

static bool is_need(const pte_need *need, const pte_op *op, const hone_pte_call *call) {
    if (op || need->op) return need->op == op;
    return strcmp(need->name, call->name.bytes) == 0 && strcmp(need->overload, call->overload.bytes) == 0;
}

// Counts a call of the operator.
static hone_status note_need(hone_pte *pte, const hone_pte_call *call, const pte_op *op, hone_error *error) {
    size_t unknown = 0;
    for (size_t i = 0; i < pte->need_count; i++) {
        pte_need *const need = &pte->needs[i];
        unknown += !need->op;
        if (!is_need(need, op, call)) continue;
        need->calls++;
        return HONE_OK;
    }
    if (!op && unknown >= MOST_UNKNOWN) {
        pte->needs_more = true;
        return HONE_OK;
    }
    HONE_TRY(HONE_GROW(&pte->needs, &pte->need_capacity, pte->need_count + 1, "the operators of a program", error));
    pte_need need = {.name = call->name.bytes, .overload = call->overload.bytes, .op = op, .calls = 1};
    if (!op) need.lack = pte_op_refusal(call->name.bytes);
    if (op && op->op && !hone_op_find(op->op)) need.lack = "this version of hone lacks it";
    pte->needs[pte->need_count++] = need;
    return HONE_OK;
}

hone_status pte_check_needs(const hone_pte *pte, hone_error *error) {
    hone_text names = {0};
    size_t lacking = 0;
    const char *reason = "";
    for (size_t i = 0; i < pte->need_count; i++) {
        const pte_need *const need = &pte->needs[i];
        if (!need->lack) continue;
        if (lacking++ == 0) reason = need->lack;
        if (lacking <= MOST_SHOWN)
            hone_text_print(&names, "%s%.100s%s%.100s", lacking > 1 ? ", " : "", need->name,
                            need->overload[0] ? "." : "", need->overload);
    }
    hone_status status = hone_text_status(&names, error);
    if (status == HONE_OK && lacking > 0)
        status = hone_error_set(error, HONE_UNSUPPORTED, "'%s' uses operators that hone does not run: %s%s (%s)",
                                pte->file->flat.file, names.bytes,
                                lacking > MOST_SHOWN || pte->needs_more ? " and others" : "", reason);
    hone_text_clear(&names);
    return status;
}

// --- numbers that may change ----------------------------------------------------------------------------------------

static hone_status note_numbers(hone_pte *pte, const pte_scope *scope, const hone_pte_call *call, uint32_t first,
                                uint32_t count, pte_number kind, hone_error *error) {
    for (uint32_t i = 0; i < count && first + i < call->arguments.count; i++) {
        hone_pte_value value;
        HONE_TRY(pte_scope_value(pte, scope, hone_flat_u32_at(scope->flat, call->arguments, first + i), &value, error));
        const bool whole = value.kind == HONE_PTE_INTEGER || value.kind == HONE_PTE_BOOLEAN;
        HONE_FAIL_IF(!whole && value.kind != HONE_PTE_REAL, error, BAD_FORMAT,
                     "'%s': argument %" PRIu32 " of %.80s is not a number", scope->flat->file, first + i,
                     call->name.bytes);
        const double number = whole ? (double)value.integer : value.real;
        HONE_TRY(
            HONE_GROW(&pte->scalars, &pte->scalar_capacity, pte->scalar_count + 1, "the numbers of a program", error));
        pte->scalars[pte->scalar_count++] =
            (pte_scalar){.kind = (pte_number)(kind + i), .file = number, .value = number};
    }
    return HONE_OK;
}

// --- what is written ------------------------------------------------------------------------------------------------

// Counts a write of the value's storage.
static hone_status note_write(const pte_scope *scope, const char *file, uint32_t id, hone_error *error) {
    HONE_FAIL_IF(id >= scope->count, error, BAD_FORMAT, "'%s': value %" PRIu32 " is written, but there are %" PRIu32,
                 file, id, scope->count);
    uint8_t *const writes = &scope->mutations[scope->storage[id]];
    if (*writes < 2) ++*writes;
    return HONE_OK;
}

// A result that has the bytes of a constant makes it state.
static hone_status note_result(hone_pte *pte, const pte_scope *scope, uint32_t id, hone_error *error) {
    hone_pte_value value;
    HONE_TRY(pte_scope_value(pte, scope, id, &value, error));
    if (value.kind == HONE_PTE_VALUES) {
        const hone_flat_vector items = value.items;
        HONE_TRY(pte_count_work(pte, items.count, error));
        for (uint32_t i = 0; i < items.count; i++) {
            const uint32_t item = hone_flat_u32_at(scope->flat, items, i);
            HONE_TRY(pte_scope_value(pte, scope, item, &value, error));
            if (value.kind != HONE_PTE_TENSOR) continue;
            if (value.constant >= 0 || scope->storage[item] != item)
                HONE_TRY(note_write(scope, scope->flat->file, item, error));
        }
        return HONE_OK;
    }
    if (value.kind != HONE_PTE_TENSOR) return HONE_OK;
    if (value.constant < 0 && scope->storage[id] == id) return HONE_OK;
    return note_write(scope, scope->flat->file, id, error);
}

// The output of a prepack is another name for its constant.
static hone_status note_prepack(hone_pte *pte, const pte_scope *scope, const hone_pte_call *call, hone_error *error) {
    if (call->arguments.count != 2) return HONE_OK; // refused when it is added
    const uint32_t from = hone_flat_u32_at(scope->flat, call->arguments, 0);
    const uint32_t to = hone_flat_u32_at(scope->flat, call->arguments, 1);
    hone_pte_value source, target;
    HONE_TRY(pte_scope_value(pte, scope, from, &source, error));
    HONE_TRY(pte_scope_value(pte, scope, to, &target, error));
    if (source.kind != HONE_PTE_TENSOR || source.constant < 0 || target.kind != HONE_PTE_TENSOR || target.constant >= 0)
        return HONE_OK;
    HONE_FAIL_IF(!hone_type_equal(&source.type, &target.type), error, BAD_FORMAT,
                 "'%s': the prepacked value %" PRIu32 " has another type than its constant", scope->flat->file, to);
    scope->storage[to] = scope->storage[from];
    return HONE_OK;
}

static hone_status scan_call(hone_pte *pte, const pte_scope *scope, const hone_pte_call *call, hone_error *error) {
    const pte_op *const op = pte_op_find(call->name.bytes, call->overload.bytes);
    // A delegate that is called again and again must not make a small file into much work.
    const uint64_t size = pte->file->source->size;
    HONE_FAIL_IF(++pte->calls > (size / 16 > CALLS_AT_LEAST ? size / 16 : CALLS_AT_LEAST), error, UNSUPPORTED,
                 "'%s' calls its delegates too often: more than %" PRIu64 " operators", scope->flat->file,
                 pte->calls - 1);
    HONE_TRY(note_need(pte, call, op, error));
    const hone_flat_vector arguments = call->arguments;
    HONE_TRY(pte_count_work(pte, arguments.count, error));
    if (!op || arguments.count == 0) return HONE_OK;
    if (op->emit == pte_emit_prepack) return note_prepack(pte, scope, call, error);
    if (op->emit == pte_emit_adamw_step) HONE_TRY(note_numbers(pte, scope, call, 4, 7, PTE_LR, error));
    if (op->emit == pte_emit_fused_ce) HONE_TRY(note_numbers(pte, scope, call, 2, 1, PTE_N_VALID, error));
    for (uint32_t i = 0; i < 8; i++) {
        if (!(op->mutated >> i & 1) || i >= arguments.count) continue;
        HONE_TRY(note_write(scope, scope->flat->file, hone_flat_u32_at(scope->flat, arguments, i), error));
    }
    if (op->in_place) return HONE_OK;
    return note_result(pte, scope, hone_flat_u32_at(scope->flat, arguments, arguments.count - 1), error);
}

static hone_status scan_delegate(hone_pte *pte, uint32_t delegate, hone_error *error) {
    hone_pte_blob *const blob = &pte->blobs[delegate];
    const pte_scope *const scope = &pte->delegates[delegate];
    for (uint32_t i = 0; i < blob->chain.count; i++) {
        hone_pte_call call;
        HONE_TRY(hone_pte_blob_call(blob, i, &call, error));
        HONE_TRY(scan_call(pte, scope, &call, error));
    }
    return HONE_OK;
}

hone_status pte_scan(hone_pte *pte, hone_error *error) {
    uint64_t entered = 0;
    for (uint32_t i = 0; i < pte->method.instructions.count; i++) {
        hone_pte_call call;
        HONE_TRY(hone_pte_method_call(pte->file, &pte->method, i, &call, error));
        HONE_FAIL_IF(call.kind == HONE_PTE_JUMP, error, UNSUPPORTED,
                     "'%s' jumps (instruction %" PRIu32 "): programs with branches are not run", pte->file->flat.file,
                     i);
        if (call.kind == HONE_PTE_KERNEL) HONE_TRY(scan_call(pte, &pte->scope, &call, error));
        if (call.kind == HONE_PTE_DELEGATE) {
            entered += pte->delegates[call.delegate].count;
            HONE_FAIL_IF(entered > MOST_VALUES_ENTERED, error, UNSUPPORTED, "'%s' calls its delegates too often",
                         pte->file->flat.file);
            HONE_TRY(pte_count_work(pte, call.arguments.count, error));
            HONE_TRY(scan_delegate(pte, call.delegate, error));
        }
    }
    return HONE_OK;
}
