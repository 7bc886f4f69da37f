// SPDX-License-Identifier: Apache-2.0
// Faults for tests: a driver in front of a real one, which from the n-th submit on behaves as a GPU that was lost.
//     HONE_FAULT=KIND@N[xTIMES]
// KIND: submit, wait, download (these calls say HONE_DEVICE_LOST), zeros (nothing runs any more and zeros are read),
// idle (nothing runs any more), hang (waiting does not end). Submits are counted over all drivers of the process. One
// fault for each driver: TIMES of those that are opened have one (1), 0 is all.
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/gpu/faults.h"
#include "device/gpu/gpu.h"

static const char *const kinds[] = {"submit", "wait", "download", "zeros", "idle", "hang"};
typedef enum fault_kind { FAULT_SUBMIT, FAULT_WAIT, FAULT_DOWNLOAD, FAULT_ZEROS, FAULT_IDLE, FAULT_HANG } fault_kind;

static struct {
    bool on;
    fault_kind kind;
    unsigned long long at, times;
    unsigned long long submits, drivers; // counted; that have had their fault
} plan;

typedef struct fault_driver {
    hone_gpu_driver base;
    hone_gpu_driver *real;
    bool broken;
} fault_driver;

hone_status hone_gpu_plan_fault(const char *text, hone_error *error) {
    char name[16] = "";
    memset(&plan, 0, sizeof(plan));
    plan.times = 1;
    if (!text || !text[0]) return HONE_OK;
    int end = 0, end_of_times = 0; // where what was read ends; 0: it was not there
    sscanf(text, "%15[a-z]@%llu%nx%llu%n", name, &plan.at, &end, &plan.times, &end_of_times);
    const bool whole = end && !text[end_of_times ? end_of_times : end] && !strchr(text, '-');
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && whole; i++) {
        if (strcmp(name, kinds[i]) != 0) continue;
        plan.kind = (fault_kind)i;
        plan.on = true;
    }
    HONE_FAIL_IF(!plan.on, error, INVALID_ARGUMENT, "HONE_FAULT=%s: it is KIND@N or KIND@NxTIMES, as wait@20x2", text);
    return HONE_OK;
}

static bool broken_as(const fault_driver *driver, fault_kind kind) {
    return driver->broken && plan.kind == kind;
}

static hone_status lost(const char *what, hone_error *error) {
    return hone_error_set(error, HONE_DEVICE_LOST, "a planned fault: the GPU was lost during %s", what);
}

// --- the table -------------------------------------------------------------------------------------------------------
#define REAL(driver) ((fault_driver *)(driver))->real

static void fault_close(hone_gpu_driver *driver) {
    REAL(driver)->vtable->close(REAL(driver));
    hone_free(driver);
}

static hone_status fault_buffer_create(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                                       hone_error *error) {
    return REAL(driver)->vtable->buffer_create(REAL(driver), bytes, what, out, error);
}

static void fault_buffer_destroy(hone_gpu_driver *driver, hone_gpu_buffer *buffer) {
    REAL(driver)->vtable->buffer_destroy(REAL(driver), buffer);
}

static hone_status fault_upload(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, const void *data,
                                size_t bytes, hone_error *error) {
    return REAL(driver)->vtable->upload(REAL(driver), buffer, offset, data, bytes, error);
}

static hone_status fault_pipeline_create(hone_gpu_driver *driver, const hone_gpu_code *code, const char *function,
                                         uint32_t binding_count, hone_gpu_pipeline **out, hone_error *error) {
    return REAL(driver)->vtable->pipeline_create(REAL(driver), code, function, binding_count, out, error);
}

static void fault_pipeline_destroy(hone_gpu_driver *driver, hone_gpu_pipeline *pipeline) {
    REAL(driver)->vtable->pipeline_destroy(REAL(driver), pipeline);
}

static hone_status fault_record(hone_gpu_driver *driver, const hone_gpu_command *commands, size_t count, bool timed,
                                hone_gpu_recording **out, hone_error *error) {
    return REAL(driver)->vtable->record(REAL(driver), commands, count, timed, out, error);
}

static void fault_recording_destroy(hone_gpu_driver *driver, hone_gpu_recording *recording) {
    REAL(driver)->vtable->recording_destroy(REAL(driver), recording);
}

static hone_status fault_submit(hone_gpu_driver *driver, hone_gpu_recording *recording, hone_error *error) {
    fault_driver *const own = (fault_driver *)driver;
    plan.submits++;
    if (!own->broken && plan.on && plan.submits >= plan.at && (plan.times == 0 || plan.drivers < plan.times)) {
        own->broken = true;
        plan.drivers++;
    }
    if (broken_as(own, FAULT_SUBMIT)) return lost("a submit", error);
    if (broken_as(own, FAULT_ZEROS) || broken_as(own, FAULT_IDLE)) return HONE_OK;
    return own->real->vtable->submit(own->real, recording, error);
}

static hone_status hang(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    return HONE_PENDING;
}

static hone_status fault_wait(hone_gpu_driver *driver, hone_error *error) {
    if (broken_as((fault_driver *)driver, FAULT_WAIT)) return lost("waiting", error);
    if (broken_as((fault_driver *)driver, FAULT_HANG)) return hang();
    return REAL(driver)->vtable->wait(REAL(driver), error);
}

static hone_status fault_download(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, void *data,
                                  size_t bytes, hone_error *error) {
    if (broken_as((fault_driver *)driver, FAULT_DOWNLOAD)) return lost("reading back", error);
    if (broken_as((fault_driver *)driver, FAULT_HANG)) return hang();
    const hone_status status = REAL(driver)->vtable->download(REAL(driver), buffer, offset, data, bytes, error);
    if (status == HONE_OK && broken_as((fault_driver *)driver, FAULT_ZEROS)) memset(data, 0, bytes);
    return status;
}

typedef struct fault_fetch {
    hone_gpu_fetch *real;
    size_t bytes;
} fault_fetch;

static hone_status fault_fetch_create(hone_gpu_driver *driver, size_t bytes, hone_gpu_fetch **out, hone_error *error) {
    fault_fetch *own;
    HONE_TRY(HONE_NEW(&own, "reading back", error));
    own->bytes = bytes;
    const hone_status status = REAL(driver)->vtable->fetch_create(REAL(driver), bytes, &own->real, error);
    if (status == HONE_OK)
        *out = (hone_gpu_fetch *)own;
    else
        hone_free(own);
    return status;
}

static void fault_fetch_destroy(hone_gpu_driver *driver, hone_gpu_fetch *fetch) {
    REAL(driver)->vtable->fetch_destroy(REAL(driver), ((fault_fetch *)fetch)->real);
    hone_free(fetch);
}

static hone_status fault_fetch_begin(hone_gpu_driver *driver, hone_gpu_fetch *fetch, const hone_gpu_range *from,
                                     hone_error *error) {
    return REAL(driver)->vtable->fetch_begin(REAL(driver), ((fault_fetch *)fetch)->real, from, error);
}

static hone_status fault_fetch_end(hone_gpu_driver *driver, hone_gpu_fetch *fetch, void *data, hone_error *error) {
    const fault_fetch *const own = (fault_fetch *)fetch;
    if (broken_as((fault_driver *)driver, FAULT_WAIT)) return lost("waiting", error);
    if (broken_as((fault_driver *)driver, FAULT_DOWNLOAD)) return lost("reading back", error);
    if (broken_as((fault_driver *)driver, FAULT_HANG)) return hang();
    const hone_status status = REAL(driver)->vtable->fetch_end(REAL(driver), own->real, data, error);
    if (status == HONE_OK && broken_as((fault_driver *)driver, FAULT_ZEROS)) memset(data, 0, own->bytes);
    return status;
}

static hone_status fault_timestamps(hone_gpu_driver *driver, hone_gpu_recording *recording, double *seconds,
                                    hone_error *error) {
    // What has not run has no times, and asking for them might not end.
    if (((fault_driver *)driver)->broken) return lost("timestamps", error);
    return REAL(driver)->vtable->timestamps(REAL(driver), recording, seconds, error);
}

static const hone_gpu_driver_vtable fault_vtable = {
    .close = fault_close,
    .buffer_create = fault_buffer_create,
    .buffer_destroy = fault_buffer_destroy,
    .upload = fault_upload,
    .download = fault_download,
    .fetch_create = fault_fetch_create,
    .fetch_destroy = fault_fetch_destroy,
    .fetch_begin = fault_fetch_begin,
    .fetch_end = fault_fetch_end,
    .pipeline_create = fault_pipeline_create,
    .pipeline_destroy = fault_pipeline_destroy,
    .record = fault_record,
    .recording_destroy = fault_recording_destroy,
    .submit = fault_submit,
    .wait = fault_wait,
    .timestamps = fault_timestamps,
};

hone_status gpu_put_faults_before(hone_gpu_driver **driver, hone_error *error) {
    static bool looked;
    if (!looked && !plan.on) HONE_TRY(hone_gpu_plan_fault(getenv("HONE_FAULT"), error));
    looked = true;
    if (!plan.on) return HONE_OK;
    fault_driver *own;
    HONE_TRY(HONE_NEW(&own, "a driver", error));
    own->base = (hone_gpu_driver){.vtable = &fault_vtable, .limits = (*driver)->limits, .facts = (*driver)->facts};
    own->real = *driver;
    *driver = &own->base;
    return HONE_OK;
}
