// SPDX-License-Identifier: Apache-2.0
// Building the list of dispatches that a kernel variant makes of a call.
#include "ops/kernel.h"

#include <string.h>

#include "base/memory.h"

hone_kernel_dispatch *hone_kernel_add(hone_kernel_list *list, const char *entry, uint64_t groups) {
    memset(&list->spare, 0, sizeof(list->spare));
    if (list->failure.status != HONE_OK) return &list->spare;
    if (groups > HONE_KERNEL_MAX_GROUPS) {
        (void)hone_error_set(&list->failure, HONE_UNSUPPORTED, "%s: %llu groups of threads are more than a device runs",
                             entry, (unsigned long long)groups);
        return &list->spare;
    }
    if (HONE_GROW(&list->dispatches, &list->capacity, list->count + 1, "dispatches", &list->failure) != HONE_OK)
        return &list->spare;
    hone_kernel_dispatch *const dispatch = &list->dispatches[list->count++];
    *dispatch = (hone_kernel_dispatch){.entry = entry, .groups = groups, .word_count = HONE_KERNEL_OWN_WORD};
    return dispatch;
}

void hone_kernel_clear(hone_kernel_list *list) {
    hone_free(list->dispatches);
    *list = (hone_kernel_list){0};
}

static void bind(hone_kernel_list *list, hone_kernel_dispatch *dispatch, hone_kernel_binding binding) {
    if (dispatch->binding_count == HONE_KERNEL_BINDINGS) {
        (void)hone_error_set(&list->failure, HONE_UNSUPPORTED, "%s: more than %d buffers in a dispatch",
                             dispatch->entry, HONE_KERNEL_BINDINGS);
        return;
    }
    dispatch->bindings[dispatch->binding_count++] = binding;
}

void hone_kernel_bind(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor) {
    if (!tensor) {
        const size_t offset = (size_t)HONE_BUFFER_ALIGNMENT * (1 + dispatch->binding_count);
        bind(list, dispatch, (hone_kernel_binding){.place = HONE_KERNEL_NOTHING, .offset = offset, .bytes = 4});
        return;
    }
    const size_t bytes = (hone_type_bytes(&tensor->type) + 3) / 4 * 4;
    bind(list, dispatch,
         (hone_kernel_binding){.place = HONE_KERNEL_TENSOR, .token = tensor->data, .bytes = bytes ? bytes : 4});
}

// Where a tensor begins in its buffer.
static size_t place_of(const hone_kernel_list *list, const hone_tensor *tensor) {
    return list->room ? list->room->place(list->room->context, tensor->data) : 0;
}

int64_t hone_kernel_rows_in_reach(const hone_kernel_list *list, const hone_tensor *tensor, size_t row_bytes,
                                  int64_t first, int64_t rows, size_t *before) {
    *before = 0;
    if (!list->room || row_bytes == 0) return rows;
    const size_t begin = place_of(list, tensor) + (size_t)first * row_bytes;
    const size_t left = list->room->piece_bytes - begin % list->room->piece_bytes;
    if (left < row_bytes) {
        *before = left;
        return 0;
    }
    const size_t aside = begin % HONE_BUFFER_ALIGNMENT;
    size_t bytes = left;
    if (bytes > list->room->binding_bytes - aside) bytes = list->room->binding_bytes - aside;
    const int64_t fit = (int64_t)(bytes / row_bytes);
    return fit < rows ? fit : rows;
}

int64_t hone_kernel_bind_part(hone_kernel_list *list, hone_kernel_dispatch *dispatch, const hone_tensor *tensor,
                              size_t from, size_t bytes) {
    const size_t aside = from % HONE_BUFFER_ALIGNMENT; // tensors themselves begin at a multiple
    bind(list, dispatch,
         (hone_kernel_binding){
             .place = HONE_KERNEL_TENSOR, .token = tensor->data, .offset = from - aside, .bytes = bytes + aside});
    return (int64_t)(aside / 4);
}

void hone_kernel_bind_scratch(hone_kernel_list *list, hone_kernel_dispatch *dispatch, size_t offset, size_t bytes) {
    bind(list, dispatch, (hone_kernel_binding){.place = HONE_KERNEL_SCRATCH, .offset = offset, .bytes = bytes});
    if (offset + bytes > list->scratch_bytes) list->scratch_bytes = offset + bytes;
}

void hone_kernel_bind_flags(hone_kernel_list *list, hone_kernel_dispatch *dispatch) {
    bind(list, dispatch, (hone_kernel_binding){.place = HONE_KERNEL_FLAGS, .bytes = 4});
}

void hone_kernel_word(hone_kernel_list *list, hone_kernel_dispatch *dispatch, int64_t word) {
    if (dispatch->word_count == HONE_KERNEL_ZERO || word > UINT32_MAX || word < INT32_MIN) {
        (void)hone_error_set(&list->failure, HONE_UNSUPPORTED, "%s: parameter %u is %lld", dispatch->entry,
                             dispatch->word_count, (long long)word);
        return;
    }
    dispatch->words[dispatch->word_count++] = (uint32_t)word;
}

void hone_kernel_number(hone_kernel_list *list, hone_kernel_dispatch *dispatch, double number) {
    const float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof(bits));
    hone_kernel_word(list, dispatch, bits);
}
