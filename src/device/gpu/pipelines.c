// SPDX-License-Identifier: Apache-2.0
// Pipelines by the names of their kernels: made once, many at a time where the driver may be called from several threads.
#include <string.h>

#include "base/pool.h"
#include "device/gpu/internal.h"

#define PIPELINE_THREADS 16
#define PIPELINES_ALONE  3 // so few are not worth threads

static const gpu_pipeline *find(const gpu_device *gpu, const char *entry, uint32_t binding_count) {
    for (size_t i = 0; i < gpu->pipeline_count; i++) {
        const gpu_pipeline *const made = &gpu->pipelines[i];
        if (made->binding_count == binding_count && strcmp(made->entry, entry) == 0) return made;
    }
    return NULL;
}

static hone_status make(gpu_device *gpu, gpu_pipeline *wanted, hone_error *error) {
    const char *const entry = wanted->entry;
    const char *const dot = strchr(entry, '.');
    const hone_gpu_code *code = hone_gpu_codes;
    while (code->name && !(dot && strlen(code->name) == (size_t)(dot - entry) &&
                           strncmp(code->name, entry, (size_t)(dot - entry)) == 0))
        code++;
    HONE_FAIL_IF(!code->name, error, UNSUPPORTED, "the kernel '%s' is not built in", entry);
    return gpu->driver->vtable->pipeline_create(gpu->driver, code, dot + 1, wanted->binding_count, &wanted->pipeline,
                                                error);
}

hone_status gpu_pipeline_get(gpu_device *gpu, const char *entry, uint32_t binding_count, hone_gpu_pipeline **out,
                             hone_error *error) {
    const gpu_pipeline *const made = find(gpu, entry, binding_count);
    if (made) {
        *out = made->pipeline;
        return HONE_OK;
    }
    gpu_pipeline wanted = {.entry = entry, .binding_count = binding_count};
    HONE_TRY(HONE_GROW(&gpu->pipelines, &gpu->pipeline_capacity, gpu->pipeline_count + 1, "pipelines", error));
    HONE_TRY(make(gpu, &wanted, error));
    gpu->pipelines[gpu->pipeline_count++] = wanted;
    *out = wanted.pipeline;
    return HONE_OK;
}

// --- many at a time --------------------------------------------------------------------------------------------------
typedef struct many {
    gpu_device *gpu;
    gpu_pipeline *wanted;
} many;

static void make_one(void *context, int64_t index, int thread) {
    const many *const m = context;
    (void)thread;
    if (make(m->gpu, &m->wanted[index], NULL) != HONE_OK) m->wanted[index].pipeline = NULL;
}

static void make_all(gpu_device *gpu, gpu_pipeline *wanted, size_t count) {
    hone_pool *pool = NULL;
    int threads = 0;
    if (hone_pool_create(0, &pool, NULL) != HONE_OK) return;
    threads = hone_pool_threads(pool);
    if (threads > PIPELINE_THREADS) {
        hone_pool_destroy(pool);
        if (hone_pool_create(PIPELINE_THREADS, &pool, NULL) != HONE_OK) return;
    }
    hone_pool_run(pool, (int64_t)count, make_one, &(many){gpu, wanted});
    hone_pool_destroy(pool);
    // WebGPU's errors have no owner when several threads work: one that fails may leave another invalid.
    bool failed = false;
    for (size_t i = 0; i < count; i++) failed |= !wanted[i].pipeline;
    for (size_t i = 0; i < count; i++) {
        if (!wanted[i].pipeline) continue;
        if (!failed &&
            HONE_GROW(&gpu->pipelines, &gpu->pipeline_capacity, gpu->pipeline_count + 1, "pipelines", NULL) == HONE_OK)
            gpu->pipelines[gpu->pipeline_count++] = wanted[i];
        else
            gpu->driver->vtable->pipeline_destroy(gpu->driver, wanted[i].pipeline);
    }
}

void gpu_pipelines_make(gpu_device *gpu, gpu_pipeline *wanted, size_t count) {
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        bool there = find(gpu, wanted[i].entry, wanted[i].binding_count) != NULL;
        for (size_t j = 0; j < missing && !there; j++)
            there = wanted[j].binding_count == wanted[i].binding_count && strcmp(wanted[j].entry, wanted[i].entry) == 0;
        if (!there) wanted[missing++] = wanted[i];
    }
    if (gpu->driver->limits.threads && missing > PIPELINES_ALONE) make_all(gpu, wanted, missing);
}
