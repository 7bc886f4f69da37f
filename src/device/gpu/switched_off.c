// SPDX-License-Identifier: Apache-2.0
// Kernels that are switched off on this device, in memory and in the cache:
//   tested\n                     all kernels were tested to the end
//   OP KERNEL TEXT\n             one for each that is switched off
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "device/gpu/cache.h"
#include "device/gpu/selftest.h"

static const char tested[] = "tested\n";

bool gpu_is_off(const gpu_device *gpu, const hone_op *op, const hone_kernel_variant *row) {
    for (size_t i = 0; i < gpu->off_count; i++) {
        if (gpu->off[i].op == op && strcmp(gpu->off[i].kernel, row->name) == 0) return true;
    }
    return false;
}

hone_status gpu_switch_off(gpu_device *gpu, const hone_op *op, const hone_kernel_variant *row, const char *text,
                           hone_error *error) {
    hone_text line = {0};
    hone_text_print(&line, "%.*s %s %s", (int)hone_op_name_length(op), op->schema, row->name, text);
    hone_status status = HONE_GROW(&gpu->off, &gpu->off_capacity, gpu->off_count + 1, "the self-test", error);
    if (status == HONE_OK)
        status = HONE_GROW(&gpu->off_lines, &gpu->off_line_capacity, gpu->off_count + 1, "the self-test", error);
    char *copy = NULL;
    if (status == HONE_OK) status = hone_copy_string(line.bytes ? line.bytes : "", line.length, &copy, error);
    hone_text_clear(&line);
    HONE_TRY(status);
    for (char *c = copy; *c; c++) {
        if (*c == '\n') *c = ' ';
    }
    gpu->off[gpu->off_count] = (gpu_off){op, row->name};
    gpu->off_lines[gpu->off_count++] = copy;
    return HONE_OK;
}

void gpu_switched_off_clear(gpu_device *gpu) {
    for (size_t i = 0; i < gpu->off_count; i++) hone_free(gpu->off_lines[i]);
    hone_free(gpu->off);
    hone_free(gpu->off_lines);
    gpu->off = NULL;
    gpu->off_lines = NULL;
    gpu->off_count = gpu->off_capacity = gpu->off_line_capacity = 0;
}

// --- the cache -------------------------------------------------------------------------------------------------------

// What a result holds for: this GPU, this driver, these kernels, these limits.
static void key_of(const gpu_device *gpu, char *name, size_t name_size, char *key, size_t key_size) {
    const hone_gpu_facts *const facts = &gpu->driver->facts;
    uint64_t hash = gpu_cache_hash(0, facts->gpu, strlen(facts->gpu));
    hash = gpu_cache_hash(hash, &gpu->driver->limits.features, sizeof(gpu->driver->limits.features));
    snprintf(name, name_size, "%s-%016llx.tested", gpu->kind, (unsigned long long)hash);
    snprintf(key, key_size, "%s, %s, %s, features %u, kernels %s", gpu->kind, facts->gpu, facts->driver,
             gpu->driver->limits.features, hone_gpu_kernels_hash);
}

void gpu_switched_off_save(const gpu_device *gpu, bool complete) {
    char name[64];
    char key[512];
    hone_text text = {0};
    key_of(gpu, name, sizeof(name), key, sizeof(key));
    if (complete) hone_text_print(&text, "%s", tested);
    for (size_t i = 0; i < gpu->off_count; i++) hone_text_print(&text, "%s\n", gpu->off_lines[i]);
    if (text.bytes) gpu_cache_write(name, key, text.bytes, text.length);
    hone_text_clear(&text);
}

// One line; what the operators no longer have is passed over.
static hone_status read_line(gpu_device *gpu, char *line, hone_error *error) {
    char *const kernel = strchr(line, ' ');
    char *const text = kernel ? strchr(kernel + 1, ' ') : NULL;
    if (!text) return HONE_OK;
    *kernel = *text = 0;
    const hone_op *const op = hone_op_find(line);
    const hone_kernel_variant *row = op ? gpu_variants(gpu, op) : NULL;
    while (row && row->name && strcmp(row->name, kernel + 1) != 0) row++;
    if (!row || !row->name || gpu_is_off(gpu, op, row)) return HONE_OK;
    return gpu_switch_off(gpu, op, row, text + 1, error);
}

hone_status gpu_switched_off_load(gpu_device *gpu, bool *complete, hone_error *error) {
    char name[64];
    char key[512];
    char *content;
    size_t bytes;
    *complete = false;
    key_of(gpu, name, sizeof(name), key, sizeof(key));
    if (gpu_cache_read(name, key, &content, &bytes, NULL) != HONE_OK) return HONE_OK;
    char *line = content;
    if (strncmp(line, tested, strlen(tested)) == 0) {
        *complete = true;
        line += strlen(tested);
    }
    hone_status status = HONE_OK;
    for (char *end; status == HONE_OK && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        status = read_line(gpu, line, error);
    }
    hone_free(content);
    return status;
}
