// SPDX-License-Identifier: Apache-2.0
// One pass over all calls of a program before anything is built: operators that hone does not run are named, prepacked
// constants are tied to their bytes, and what calls write is marked as state.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/pte_builder.h"

enum { MOST_NAMED = 5 };

// Operators that are refused, each once, at most some of them.
typedef struct refused {
    hone_pte_call calls[MOST_NAMED];
    size_t count;
    bool more;
    const char *reason; // of the first
} refused;

static void refuse(refused *list, const hone_pte_call *call, const char *reason) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->calls[i].name.bytes, call->name.bytes) == 0 &&
            strcmp(list->calls[i].overload.bytes, call->overload.bytes) == 0)
            return;
    }
    if (list->count == 0) list->reason = reason;
    list->more = list->more || list->count == MOST_NAMED;
    if (list->count < MOST_NAMED) list->calls[list->count++] = *call;
}

static void look_up(refused *list, const hone_pte_call *call) {
    const pte_op *const op = pte_op_find(call->name.bytes, call->overload.bytes);
    if (!op) {
        refuse(list, call, pte_op_refusal(call->name.bytes));
    } else if (op->op && !hone_op_find(op->op)) {
        refuse(list, call, "this version of hone lacks them");
    }
}

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

static hone_status scan_call(hone_pte *pte, const pte_scope *scope, const hone_pte_call *call, refused *list,
                             hone_error *error) {
    look_up(list, call);
    const pte_op *const op = pte_op_find(call->name.bytes, call->overload.bytes);
    const hone_flat_vector arguments = call->arguments;
    if (!op || arguments.count == 0) return HONE_OK;
    if (op->emit == pte_emit_prepack) return note_prepack(pte, scope, call, error);
    for (uint32_t i = 0; i < 8; i++) {
        if (!(op->mutated >> i & 1) || i >= arguments.count) continue;
        HONE_TRY(note_write(scope, scope->flat->file, hone_flat_u32_at(scope->flat, arguments, i), error));
    }
    if (op->in_place) return HONE_OK;
    return note_result(pte, scope, hone_flat_u32_at(scope->flat, arguments, arguments.count - 1), error);
}

static hone_status scan_all(hone_pte *pte, refused *list, hone_error *error) {
    for (uint32_t d = 0; d < pte->method.delegates.count; d++) {
        for (uint32_t i = 0; i < pte->blobs[d].chain.count; i++) {
            hone_pte_call call;
            HONE_TRY(hone_pte_blob_call(&pte->blobs[d], i, &call, error));
            HONE_TRY(scan_call(pte, &pte->delegates[d], &call, list, error));
        }
    }
    for (uint32_t i = 0; i < pte->method.instructions.count; i++) {
        hone_pte_call call;
        HONE_TRY(hone_pte_method_call(pte->file, &pte->method, i, &call, error));
        HONE_FAIL_IF(call.kind == HONE_PTE_JUMP, error, UNSUPPORTED,
                     "'%s' jumps (instruction %" PRIu32 "): programs with branches are not run", pte->file->flat.file,
                     i);
        if (call.kind == HONE_PTE_KERNEL) HONE_TRY(scan_call(pte, &pte->scope, &call, list, error));
    }
    return HONE_OK;
}

hone_status pte_scan(hone_pte *pte, hone_error *error) {
    refused list = {0};
    HONE_TRY(scan_all(pte, &list, error));
    if (list.count == 0) return HONE_OK;
    hone_text names = {0};
    for (size_t i = 0; i < list.count; i++) {
        const char *const overload = list.calls[i].overload.bytes;
        hone_text_print(&names, "%s%.100s%s%.100s", i ? ", " : "", list.calls[i].name.bytes, overload[0] ? "." : "",
                        overload);
    }
    hone_status status = hone_text_status(&names, error);
    if (status == HONE_OK)
        status = hone_error_set(error, HONE_UNSUPPORTED, "'%s' uses operators that hone does not run: %s%s (%s)",
                                pte->file->flat.file, names.bytes, list.more ? " and others" : "", list.reason);
    hone_text_clear(&names);
    return status;
}
