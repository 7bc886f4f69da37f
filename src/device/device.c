// SPDX-License-Identifier: Apache-2.0
// The public face of devices: names, checks that all devices share, and the call through the vtable.
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/cost.h"
#ifdef HONE_GPU
#include "device/gpu/driver.h"
#include "device/gpu/gpu.h"
#endif

#define SUBMIT_MS 500

typedef struct device_kind {
    const char *name;
    hone_status (*open)(const hone_device_description *description, hone_device **out, hone_error *error);
} device_kind;

// The last of the real ones always opens.
static const device_kind kinds[] = {{"cpu", hone_cpu_open}, {"null", hone_null_open}};

hone_status hone_device_switch(const char *name, const char *on, const char *off, bool *out, hone_error *error) {
    const char *const value = getenv(name);
    if (!value || !value[0]) return HONE_OK;
    const bool is_on = strcmp(value, on) == 0;
    HONE_FAIL_IF(!is_on && strcmp(value, off) != 0, error, INVALID_ARGUMENT, "%s=%.100s: it can be %s or %s only", name,
                 value, on, off);
    *out = is_on;
    return HONE_OK;
}

static bool names_gpu(const char *name) {
    return strncmp(name, "vulkan", 6) == 0 || strncmp(name, "webgpu", 6) == 0;
}

static hone_status open_named(const char *name, const hone_device_description *wanted, hone_device **out,
                              hone_error *error) {
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) == 0) return kinds[i].open(wanted, out, error);
    }
#ifdef HONE_GPU
    if (names_gpu(name)) return hone_gpu_open(name, false, out, error);
#endif
    HONE_FAIL_IF(names_gpu(name), error, UNSUPPORTED,
                 "device '%s': this hone was built without GPU devices; use --device cpu", name);
    HONE_FAIL(error, INVALID_ARGUMENT, "there is no device '%s': use auto, cpu, vulkan, vulkan:N, webgpu or webgpu:N",
              name);
}

// A real GPU where there is one that works, else the CPU. Why a GPU was not taken, `hone devices` tells.
static hone_status open_best(const hone_device_description *wanted, hone_device **out, hone_error *error) {
#ifdef HONE_GPU
    hone_error why = {0};
    const hone_status vulkan = hone_gpu_open("vulkan", true, out, &why);
    if (vulkan == HONE_OK) return HONE_OK;
    HONE_FAIL_IF(vulkan == HONE_INVALID_ARGUMENT, error, INVALID_ARGUMENT, "%s", why.message); // in the environment
#ifdef __linux__
    const bool more = vulkan != HONE_NOT_FOUND; // WebGPU finds no GPUs here but Vulkan's: an older one, say
#else
    const bool more = true;
#endif
    if (more && hone_gpu_open("webgpu", true, out, NULL) == HONE_OK) return HONE_OK;
#endif
    return open_named("cpu", wanted, out, error);
}

hone_status hone_device_open(const hone_device_description *description, hone_device **out, hone_error *error) {
    const hone_device_description fallback = {0};
    const hone_device_description *const wanted = description ? description : &fallback;
    const char *const name = wanted->name ? wanted->name : "auto";
    HONE_FAIL_IF(wanted->threads < 0 || wanted->threads > 1024, error, INVALID_ARGUMENT,
                 "%d threads cannot be: give 1 to 1024, or 0 for one a core", wanted->threads);
    HONE_FAIL_IF(wanted->submit_ms < 0, error, INVALID_ARGUMENT, "a submit of %d ms cannot be", wanted->submit_ms);
    if (!*out) { // else going on after HONE_PENDING
        if (strcmp(name, "auto") == 0)
            HONE_TRY(open_best(wanted, out, error));
        else
            HONE_TRY(open_named(name, wanted, out, error));
        (*out)->testing = wanted->testing;
        (*out)->submit_seconds = (wanted->submit_ms > 0 ? wanted->submit_ms : SUBMIT_MS) * 1e-3;
    }
    if ((*out)->testing == HONE_TESTING_NONE || !(*out)->vtable->prepare) return HONE_OK;
    const hone_status status = (*out)->vtable->prepare(*out, error);
    if (status == HONE_OK || status == HONE_PENDING) return status;
    hone_device_close(*out);
    *out = NULL;
    // A GPU that is lost or refuses its work is as good as none.
    const bool other = strcmp(name, "auto") == 0 && (status == HONE_DEVICE_LOST || status == HONE_UNSUPPORTED);
    return other ? open_named("cpu", wanted, out, error) : status;
}

hone_status hone_device_count(const char *kind, size_t *out, hone_error *error) {
    *out = 1;
    if (strcmp(kind, "cpu") == 0) return HONE_OK;
    *out = 0;
#ifdef HONE_GPU
    if (strcmp(kind, "vulkan") == 0) return hone_vulkan_count(out, error);
    if (strcmp(kind, "webgpu") == 0) return hone_webgpu_count(out, error);
#endif
    HONE_FAIL_IF(names_gpu(kind), error, UNSUPPORTED, "%s: this hone was built without GPU devices", kind);
    HONE_FAIL(error, INVALID_ARGUMENT, "there is no kind of device '%s': use cpu, vulkan or webgpu", kind);
}

void hone_device_facts_read(hone_device *device, hone_device_facts *out) {
    *out = (hone_device_facts){.hardware = device->detail, .features = ""};
    if (device->vtable->facts) device->vtable->facts(device, out);
}

hone_status hone_device_self_test(hone_device *device,
                                  void (*report)(void *context, const hone_self_test_result *result), void *context,
                                  hone_error *error) {
    return device->vtable->self_test ? device->vtable->self_test(device, report, context, error) : HONE_OK;
}

bool hone_device_built(const char *name) {
#ifdef HONE_GPU
    if (strcmp(name, "vulkan") == 0 || strcmp(name, "webgpu") == 0) return true;
#endif
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) == 0) return true;
    }
    return false;
}

void hone_device_close(hone_device *device) {
    if (device) device->vtable->close(device);
}

// --- a device that was lost ---------------------------------------------------------------------------------------------

void hone_device_add_user(hone_device *device, hone_device_user *user) {
    hone_device_user **end = &device->users;
    while (*end) end = &(*end)->next;
    user->next = NULL;
    *end = user;
}

void hone_device_remove_user(hone_device *device, hone_device_user *user) {
    for (hone_device_user **at = &device->users; *at; at = &(*at)->next) {
        if (*at != user) continue;
        *at = user->next;
        return;
    }
}

bool hone_device_can_reopen(const hone_device *device) {
    return device->vtable->reopen || device->like_one_that_reopens;
}

hone_status hone_device_reopen(hone_device *device, hone_error *error) {
    HONE_FAIL_IF(!device->vtable->reopen, error, UNSUPPORTED, "device %s cannot be opened again", device->name);
    for (hone_device_user *user = device->users; user; user = user->next) user->drop(user->self);
    HONE_FAIL_IF(device->programs, error, UNSUPPORTED, "device %s cannot be opened again while %zu programs are on it",
                 device->name, device->programs);
    HONE_TRY(device->vtable->reopen(device, error));
    for (hone_fetch *fetch = device->first_fetch; fetch; fetch = fetch->next) fetch->begun = false;
    for (hone_device_user *user = device->users; user; user = user->next) HONE_TRY(user->restore(user->self, error));
    return HONE_OK;
}

const char *hone_device_name(const hone_device *device) {
    return device->name;
}

const char *hone_device_detail(const hone_device *device) {
    return device->detail;
}

size_t hone_device_piece_bytes(const hone_device *device) {
    return device->piece_bytes;
}

void hone_device_usage(const hone_device *device, size_t *bytes, size_t *buffers) {
    if (bytes) *bytes = device->bytes;
    if (buffers) *buffers = device->buffers;
}

hone_device_memory hone_device_memory_read(const hone_device *device) {
    return (hone_device_memory){
        .buffers = device->bytes, .working = device->working, .staging = device->staging, .peak = device->peak};
}

void hone_device_note_peak(hone_device *device) {
    const size_t held = device->bytes + device->working + device->staging;
    if (held > device->peak) device->peak = held;
}

hone_status hone_buffer_declare(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                                hone_error *error) {
    *out = NULL;
    HONE_TRY(device->vtable->buffer_declare(device, bytes, what, out, error));
    (*out)->device = device;
    (*out)->bytes = bytes;
    (*out)->next = device->first_buffer;
    if (device->first_buffer) device->first_buffer->previous = *out;
    device->first_buffer = *out;
    return HONE_OK;
}

hone_status hone_buffer_commit(hone_buffer *buffer, const char *what, hone_error *error) {
    hone_device *const device = buffer->device;
    if (buffer->committed) return HONE_OK;
    HONE_TRY(device->vtable->buffer_commit(device, buffer, what, error));
    buffer->committed = true;
    device->bytes += buffer->bytes;
    device->buffers++;
    hone_device_note_peak(device);
    return HONE_OK;
}

hone_status hone_buffer_create(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                               hone_error *error) {
    HONE_TRY(hone_buffer_declare(device, bytes, what, out, error));
    const hone_status status = hone_buffer_commit(*out, what, error);
    if (status == HONE_OK) return HONE_OK;
    hone_buffer_destroy(*out);
    *out = NULL;
    return status;
}

void hone_buffer_destroy(hone_buffer *buffer) {
    if (!buffer) return;
    if (buffer->committed) {
        buffer->device->bytes -= buffer->bytes;
        buffer->device->buffers--;
    }
    if (buffer->next) buffer->next->previous = buffer->previous;
    *(buffer->previous ? &buffer->previous->next : &buffer->device->first_buffer) = buffer->next;
    buffer->device->vtable->buffer_destroy(buffer);
}

size_t hone_buffer_bytes(const hone_buffer *buffer) {
    return buffer->bytes;
}

static hone_status check_range(const hone_buffer *buffer, size_t offset, size_t bytes, hone_error *error) {
    HONE_FAIL_IF(offset > buffer->bytes || bytes > buffer->bytes - offset, error, INVALID_ARGUMENT,
                 "bytes %zu to %zu are outside of a buffer of %zu", offset, offset + bytes, buffer->bytes);
    return HONE_OK;
}

hone_status hone_buffer_upload(hone_buffer *buffer, size_t offset, const void *data, size_t bytes, hone_error *error) {
    HONE_TRY(check_range(buffer, offset, bytes, error));
    return bytes ? buffer->device->vtable->upload(buffer, offset, data, bytes, error) : HONE_OK;
}

hone_status hone_buffer_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    HONE_TRY(check_range(buffer, offset, bytes, error));
    return bytes ? buffer->device->vtable->download(buffer, offset, data, bytes, error) : HONE_OK;
}

hone_status hone_fetch_create(hone_device *device, size_t bytes, const char *what, hone_fetch **out,
                              hone_error *error) {
    *out = NULL;
    hone_fetch *fetch;
    HONE_TRY(HONE_NEW(&fetch, what, error));
    fetch->device = device;
    fetch->bytes = bytes;
    hone_status status = hone_allocate(bytes, 1, what, &fetch->data, error);
    if (status == HONE_OK && device->vtable->fetch_create) status = device->vtable->fetch_create(fetch, error);
    if (status != HONE_OK) {
        hone_free(fetch->data);
        hone_free(fetch);
        return status;
    }
    fetch->next = device->first_fetch;
    if (fetch->next) fetch->next->previous = fetch;
    device->first_fetch = fetch;
    *out = fetch;
    return HONE_OK;
}

void hone_fetch_destroy(hone_fetch *fetch) {
    if (!fetch) return;
    if (fetch->next) fetch->next->previous = fetch->previous;
    *(fetch->previous ? &fetch->previous->next : &fetch->device->first_fetch) = fetch->next;
    if (fetch->device->vtable->fetch_destroy) fetch->device->vtable->fetch_destroy(fetch);
    hone_free(fetch->data);
    hone_free(fetch);
}

hone_status hone_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error) {
    HONE_TRY(check_range(buffer, offset, fetch->bytes, error));
    HONE_FAIL_IF(fetch->begun, error, INVALID_ARGUMENT, "what was fetched before has not been read");
    HONE_TRY(fetch->device->vtable->fetch_begin(fetch, buffer, offset, error));
    fetch->begun = true;
    return HONE_OK;
}

hone_status hone_fetch_end(hone_fetch *fetch, hone_error *error) {
    HONE_FAIL_IF(!fetch->begun, error, INVALID_ARGUMENT, "nothing is being fetched");
    const hone_status status = fetch->device->vtable->fetch_end(fetch, error);
    fetch->begun = status == HONE_PENDING;
    return status;
}

// Every constant and state must have its buffer, and lie within it.
static hone_status check_bindings(const hone_plan *plan, hone_device *device, hone_error *error) {
    for (size_t v = 1; v < plan->value_count; v++) {
        const hone_plan_value *const value = &plan->values[v];
        if (value->storage == HONE_STORAGE_TEMPORARY) continue;
        const char *const name = plan->graph->values[value->origin].name;
        HONE_FAIL_IF(!value->buffer, error, INVALID_ARGUMENT, "value '%s' has no buffer", name ? name : "?");
        HONE_FAIL_IF(value->buffer->device != device, error, INVALID_ARGUMENT, "value '%s' lies on another device",
                     name ? name : "?");
        HONE_FAIL_IF(value->offset > value->buffer->bytes || value->bytes > value->buffer->bytes - value->offset, error,
                     INVALID_ARGUMENT, "value '%s' does not fit into its buffer", name ? name : "?");
    }
    return HONE_OK;
}

static void note_ready(hone_program *program) {
    program->ready = true;
    program->device->working += program->working;
    hone_device_note_peak(program->device);
}

hone_status hone_program_bytes(hone_device *device, const hone_plan *plan, size_t *out, hone_error *error) {
    return device->vtable->program_bytes(device, plan, out, error);
}

hone_status hone_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena, hone_program **out,
                                hone_error *error) {
    if (*out && (*out)->ready) return HONE_OK;
    if (*out) { // going on after HONE_PENDING
        const hone_status more = device->vtable->program_create(device, plan, (*out)->arena, out, error);
        if (more == HONE_OK) note_ready(*out);
        return more;
    }
    HONE_TRY(check_bindings(plan, device, error));
    const size_t needed = plan->bytes.temporaries;
    HONE_FAIL_IF(arena && arena->bytes < needed, error, INVALID_ARGUMENT, "the arena has %zu bytes, the plan needs %zu",
                 arena->bytes, needed);
    hone_buffer *own = NULL;
    if (!arena) HONE_TRY(hone_buffer_create(device, needed, "the arena", &own, error));
    const hone_status status = device->vtable->program_create(device, plan, arena ? arena : own, out, error);
    if (*out) {
        device->programs++;
        (*out)->owns_arena = own != NULL;
        if (status == HONE_OK) note_ready(*out);
    } else {
        hone_buffer_destroy(own);
    }
    return status;
}

void hone_program_destroy(hone_program *program) {
    if (!program) return;
    hone_buffer *const arena = program->owns_arena ? program->arena : NULL;
    if (program->ready) program->device->working -= program->working;
    program->device->programs--;
    program->device->vtable->program_destroy(program);
    hone_buffer_destroy(arena);
}

hone_status hone_program_submit(hone_program *program, int segment, const double *live, size_t live_count,
                                hone_error *error) {
    HONE_FAIL_IF(segment < 0 || segment > program->plan->graph->segment, error, INVALID_ARGUMENT,
                 "the graph has no segment %d", segment);
    return program->device->vtable->submit(program, segment, live, live_count, error);
}

hone_status hone_program_wait(hone_program *program, hone_error *error) {
    return program->device->vtable->wait(program, error);
}

uint32_t hone_program_flags(hone_program *program) {
    return program->device->vtable->flags(program);
}

hone_status hone_program_locate(hone_program *program, hone_value value, hone_buffer **buffer, size_t *offset,
                                hone_error *error) {
    const hone_plan *const plan = program->plan;
    const bool known = value.id < plan->graph->value_count;
    const uint32_t v = known ? plan->of_graph[value.id] : 0;
    if (known && v == 0 && plan->graph->values[value.id].buffer) { // a state or constant that no operator reads
        *buffer = plan->graph->values[value.id].buffer;
        *offset = plan->graph->values[value.id].offset;
        return HONE_OK;
    }
    HONE_FAIL_IF(v == 0, error, NOT_FOUND, "the program does not compute that value");
    const hone_plan_value *const root = &plan->values[plan->values[v].root];
    HONE_FAIL_IF(root->storage == HONE_STORAGE_TEMPORARY && !root->keep, error, INVALID_ARGUMENT,
                 "the value is not kept: mark it with hone_graph_keep");
    *buffer = root->storage == HONE_STORAGE_TEMPORARY ? program->arena : root->buffer;
    *offset = root->offset;
    return HONE_OK;
}

void hone_program_profile(hone_program *program, bool on) {
    if (program->device->vtable->profile) program->device->vtable->profile(program, on);
}

size_t hone_program_profile_rows(const hone_program *program, hone_profile_row *rows, size_t capacity) {
    if (!program->device->vtable->profile_rows) return 0;
    const size_t count = program->device->vtable->profile_rows(program, rows, capacity);
    hone_plan_costs(program->plan, rows, count < capacity ? count : capacity);
    return count;
}

void hone_device_trace(hone_device *device, hone_trace_report *report, void *context) {
    device->trace = report;
    device->trace_context = context;
}
