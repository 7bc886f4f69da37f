// SPDX-License-Identifier: Apache-2.0
// Buffers of a GPU device: pieces of the driver's buffers, and copies of any offset and length.
#include <string.h>

#include "device/gpu/internal.h"

#define LARGE_READ ((size_t)64 << 10) // the canary costs nothing beside it

#define LARGE_PAGE ((size_t)2 << 20)

static size_t round_up(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

static size_t piece_bytes(const hone_device *device, size_t bytes, size_t index) {
    const size_t left = bytes - index * device->piece_bytes;
    const size_t own = left < device->piece_bytes ? left : device->piece_bytes;
    // Whole large pages where that costs little: what begins in the middle of one is reached more slowly on some GPUs.
    const size_t paged = round_up(own, LARGE_PAGE);
    if (own >= 16 * LARGE_PAGE && paged <= device->piece_bytes) return paged;
    return own ? round_up(own, HONE_BUFFER_ALIGNMENT) : HONE_BUFFER_ALIGNMENT;
}

void gpu_pieces_destroy(hone_buffer *buffer) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    hone_gpu_driver *const driver = ((gpu_device *)buffer->device)->driver;
    for (size_t i = 0; i < memory->piece_count; i++) driver->vtable->buffer_destroy(driver, memory->pieces[i]);
    memory->piece_count = 0;
}

void gpu_buffer_destroy(hone_buffer *buffer) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    gpu_pieces_destroy(buffer);
    hone_free(memory->pieces);
    hone_free(memory);
}

static size_t count_pieces(const hone_device *device, size_t bytes) {
    return bytes ? (bytes + device->piece_bytes - 1) / device->piece_bytes : 1;
}

hone_status gpu_pieces_create(hone_buffer *buffer, const char *what, hone_error *error) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    hone_gpu_driver *const driver = ((gpu_device *)buffer->device)->driver;
    const size_t count = count_pieces(buffer->device, buffer->bytes);
    while (memory->piece_count < count) {
        HONE_TRY(driver->vtable->buffer_create(driver, piece_bytes(buffer->device, buffer->bytes, memory->piece_count),
                                               what, &memory->pieces[memory->piece_count], error));
        memory->piece_count++;
    }
    return HONE_OK;
}

hone_status gpu_buffer_declare(hone_device *device, size_t bytes, const char *what, hone_buffer **out,
                               hone_error *error) {
    (void)bytes;
    gpu_memory *memory;
    HONE_TRY(HONE_NEW(&memory, what, error));
    memory->base.device = device;
    *out = &memory->base;
    return HONE_OK;
}

// After a failure the buffer still owns the pieces that there are.
hone_status gpu_buffer_commit(hone_device *device, hone_buffer *buffer, const char *what, hone_error *error) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    gpu_device *const gpu = (gpu_device *)device;
    HONE_TRY(gpu_alive(gpu, error));
    const size_t bytes = buffer->bytes, there = gpu->driver->facts.memory_bytes;
    HONE_FAIL_IF(there && bytes > there, error, OUT_OF_MEMORY, "%s takes %zu bytes, more than the %zu that the GPU has",
                 what, bytes, there);
    HONE_TRY(HONE_NEW_ARRAY(&memory->pieces, count_pieces(device, bytes), what, error));
    return gpu_pieces_create(buffer, what, error);
}

hone_status gpu_memory_range(const hone_buffer *buffer, size_t offset, size_t bytes, hone_gpu_range *out,
                             hone_error *error) {
    const gpu_memory *const memory = (const gpu_memory *)buffer;
    const size_t whole = buffer->device->piece_bytes;
    const size_t piece = offset / whole;
    HONE_FAIL_IF(offset % HONE_BUFFER_ALIGNMENT, error, INVALID_ARGUMENT,
                 "a tensor lies at byte %zu of its buffer, which is no multiple of %d", offset, HONE_BUFFER_ALIGNMENT);
    HONE_FAIL_IF(piece >= memory->piece_count || (offset + bytes - 1) / whole != piece, error, UNSUPPORTED,
                 "a tensor of %zu bytes lies across two pieces of device memory", bytes);
    *out = (hone_gpu_range){memory->pieces[piece], offset % whole, bytes};
    return HONE_OK;
}

// --- uploads that are not whole words --------------------------------------------------------------------------------

// Writes the bytes of `mask` in one word: by a dispatch, which takes its turn in the queue as an upload does.
static hone_status patch(gpu_device *gpu, hone_gpu_buffer *piece, size_t word_at, uint32_t mask, uint32_t word,
                         hone_error *error) {
    hone_gpu_driver *const driver = gpu->driver;
    const size_t window = word_at / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
    const uint32_t words[HONE_KERNEL_WORDS] = {1, 1, (uint32_t)((word_at - window) / 4), mask, word};
    hone_gpu_command command = {
        .bindings = {{piece, window, HONE_BUFFER_ALIGNMENT}}, .binding_count = 1, .groups = {1, 1}};
    if (!gpu->patch_words)
        HONE_TRY(driver->vtable->buffer_create(driver, sizeof(words), "an upload", &gpu->patch_words, error));
    hone_status status;
    do {
        status = gpu_pipeline_get(gpu, "patch.patch_word", 1, &command.pipeline, error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    HONE_TRY(driver->vtable->upload(driver, gpu->patch_words, 0, words, sizeof(words), error));
    command.parameters = (hone_gpu_range){gpu->patch_words, 0, sizeof(words)};
    hone_gpu_recording *recording = NULL;
    HONE_TRY(driver->vtable->record(driver, &command, 1, false, &recording, error));
    status = driver->vtable->submit(driver, recording, error);
    driver->vtable->recording_destroy(driver, recording);
    return status;
}

// Within one piece.
static hone_status upload_piece(gpu_device *gpu, hone_gpu_buffer *piece, size_t offset, const char *data, size_t bytes,
                                hone_error *error) {
    const size_t unit = gpu->driver->limits.copy_alignment;
    while (bytes > 0 && (offset % unit || bytes < unit)) { // the edges, byte by byte collected into words
        const size_t at = offset % 4;
        const size_t n = bytes < 4 - at ? bytes : 4 - at;
        uint32_t word = 0;
        for (size_t i = 0; i < n; i++) word |= (uint32_t)(unsigned char)data[i] << 8 * (at + i);
        const uint32_t mask = (n == 4 ? UINT32_MAX : ((1u << 8 * n) - 1)) << 8 * at;
        HONE_TRY(patch(gpu, piece, offset - at, mask, word, error));
        offset += n;
        data += n;
        bytes -= n;
    }
    const size_t whole = bytes / unit * unit;
    if (whole) HONE_TRY(gpu->driver->vtable->upload(gpu->driver, piece, offset, data, whole, error));
    return whole < bytes ? upload_piece(gpu, piece, offset + whole, data + whole, bytes - whole, error) : HONE_OK;
}

hone_status gpu_upload(hone_buffer *buffer, size_t offset, const void *data, size_t bytes, hone_error *error) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    HONE_TRY(gpu_alive((gpu_device *)buffer->device, error));
    size_t done = 0;
    while (done < bytes) {
        const size_t at = offset + done;
        const size_t room = buffer->device->piece_bytes - at % buffer->device->piece_bytes;
        const size_t n = bytes - done < room ? bytes - done : room;
        HONE_TRY(upload_piece((gpu_device *)buffer->device, memory->pieces[at / buffer->device->piece_bytes],
                              at % buffer->device->piece_bytes, (const char *)data + done, n, error));
        done += n;
    }
    return HONE_OK;
}

// --- reading back ----------------------------------------------------------------------------------------------------

// Whole words round [offset, offset + bytes) of one piece, through `words` if the edges are not whole.
static hone_status download_piece(gpu_device *gpu, hone_gpu_buffer *piece, size_t offset, char *data, size_t bytes,
                                  hone_error *error) {
    hone_gpu_driver *const driver = gpu->driver;
    const size_t unit = driver->limits.copy_alignment;
    if (offset % unit == 0 && bytes % unit == 0)
        return gpu_heard(gpu, driver->vtable->download(driver, piece, offset, data, bytes, error), error);
    const size_t first = offset / unit * unit;
    const size_t length = round_up(offset + bytes, unit) - first;
    char *words;
    HONE_TRY(hone_allocate_raw(length, 1, "reading back", (void **)&words, error));
    hone_status status;
    do { // the driver writes to `words`, which must not change under it
        status = gpu_heard(gpu, driver->vtable->download(driver, piece, first, words, length, error), error);
    } while (status == HONE_PENDING);
    if (status == HONE_OK) memcpy(data, words + (offset - first), bytes);
    hone_free(words);
    return status;
}

hone_status gpu_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    HONE_TRY(gpu_alive((gpu_device *)buffer->device, error));
    size_t done = 0;
    while (done < bytes) {
        const size_t at = offset + done;
        const size_t room = buffer->device->piece_bytes - at % buffer->device->piece_bytes;
        const size_t n = bytes - done < room ? bytes - done : room;
        hone_status status;
        do {
            status = download_piece((gpu_device *)buffer->device, memory->pieces[at / buffer->device->piece_bytes],
                                    at % buffer->device->piece_bytes, (char *)data + done, n, error);
            if (status == HONE_PENDING && n == bytes) return status; // one piece: the caller may come back for it
        } while (status == HONE_PENDING);
        HONE_TRY(status);
        done += n;
    }
    return gpu_canary_check((gpu_device *)buffer->device, bytes >= LARGE_READ, error);
}

// --- fetching --------------------------------------------------------------------------------------------------------
// With the bytes comes the canary's count, as it was when their turn in the queue came.
typedef struct gpu_fetch {
    hone_gpu_fetch *bytes, *canary;
    uint32_t submits;
} gpu_fetch;

hone_status gpu_fetch_create(hone_fetch *fetch, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)fetch->device;
    HONE_TRY(gpu_alive(gpu, error));
    hone_gpu_driver *const driver = gpu->driver;
    HONE_FAIL_IF(fetch->bytes == 0 || fetch->bytes % HONE_BUFFER_ALIGNMENT, error, INVALID_ARGUMENT,
                 "a fetch of %zu bytes is no multiple of %d", fetch->bytes, HONE_BUFFER_ALIGNMENT);
    gpu_fetch *own;
    HONE_TRY(HONE_NEW(&own, "reading back", error));
    fetch->own = own;
    hone_status status = driver->vtable->fetch_create(driver, fetch->bytes, &own->bytes, error);
    if (status == HONE_OK) status = driver->vtable->fetch_create(driver, HONE_BUFFER_ALIGNMENT, &own->canary, error);
    if (status != HONE_OK) gpu_fetch_destroy(fetch);
    return status;
}

void gpu_fetch_destroy(hone_fetch *fetch) {
    gpu_fetch *const own = fetch->own;
    if (!own) return; // the device was lost
    hone_gpu_driver *const driver = ((gpu_device *)fetch->device)->driver;
    if (own->bytes) driver->vtable->fetch_destroy(driver, own->bytes);
    if (own->canary) driver->vtable->fetch_destroy(driver, own->canary);
    hone_free(own);
    fetch->own = NULL;
}

hone_status gpu_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)fetch->device;
    gpu_fetch *const own = fetch->own;
    HONE_TRY(gpu_alive(gpu, error));
    hone_gpu_driver *const driver = gpu->driver;
    hone_gpu_range range;
    HONE_TRY(gpu_memory_range(buffer, offset, fetch->bytes, &range, error));
    HONE_TRY(gpu_heard(gpu, driver->vtable->fetch_begin(driver, own->bytes, &range, error), error));
    own->submits = gpu->submits;
    if (!own->submits) return HONE_OK;
    range = (hone_gpu_range){gpu->canary_count, 0, HONE_BUFFER_ALIGNMENT};
    return gpu_heard(gpu, driver->vtable->fetch_begin(driver, own->canary, &range, error), error);
}

hone_status gpu_fetch_end(hone_fetch *fetch, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)fetch->device;
    gpu_fetch *const own = fetch->own;
    HONE_TRY(gpu_alive(gpu, error));
    hone_gpu_driver *const driver = gpu->driver;
    HONE_TRY(gpu_heard(gpu, driver->vtable->fetch_end(driver, own->bytes, fetch->data, error), error));
    if (!own->submits) return HONE_OK;
    uint32_t counted[HONE_BUFFER_ALIGNMENT / sizeof(uint32_t)];
    hone_status status;
    do { // it was queued right behind
        status = gpu_heard(gpu, driver->vtable->fetch_end(driver, own->canary, counted, error), error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    return gpu_canary_compare(gpu, counted[0], own->submits, error);
}
