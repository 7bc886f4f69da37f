// SPDX-License-Identifier: Apache-2.0
// Which dispatches wait for those before them. Most steps of a model have several small products that do not depend on each
// other; a GPU runs them side by side if nothing stands between them.
#include "device/gpu/internal.h"

// Dispatches since the last barrier that are looked through; more of them make no difference to a GPU.
#define MOST_PENDING 64

static bool overlap(const hone_gpu_range *a, const hone_gpu_range *b) {
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

// One of them writes what the other reads or writes.
static bool depend(const gpu_dispatch *a, const gpu_dispatch *b) {
    for (uint32_t i = 0; i < a->command.binding_count; i++) {
        for (uint32_t j = 0; j < b->command.binding_count; j++) {
            const bool written = (a->written >> i | b->written >> j) & 1;
            const bool used = (a->used >> i) & (b->used >> j) & 1;
            if (written && used && overlap(&a->command.bindings[i], &b->command.bindings[j])) return true;
        }
    }
    return false;
}

void gpu_set_order(gpu_program *program) {
    size_t first = 0; // of those since the last barrier
    for (size_t d = 0; d < program->dispatch_count; d++) {
        gpu_dispatch *const dispatch = &program->dispatches[d];
        bool waits = d - first >= MOST_PENDING;
        for (size_t before = first; before < d && !waits; before++)
            waits = depend(&program->dispatches[before], dispatch);
        dispatch->command.waits = waits;
        if (waits) first = d;
    }
}

void gpu_scramble(hone_gpu_command *commands, size_t count) {
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && !commands[end].waits) end++;
        const bool waits = commands[begin].waits;
        commands[begin].waits = false;
        for (size_t i = begin, j = end - 1; i < j; i++, j--) {
            const hone_gpu_command other = commands[i];
            commands[i] = commands[j];
            commands[j] = other;
        }
        commands[begin].waits = waits;
        begin = end;
    }
}
