// SPDX-License-Identifier: Apache-2.0
// Buffers of a GPU device: pieces of the driver's buffers, and copies of any offset and length.
#include <string.h>

#include "device/gpu/internal.h"

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

void gpu_buffer_destroy(hone_buffer *buffer) {
    gpu_memory *const memory = (gpu_memory *)buffer;
    hone_gpu_driver *const driver = ((gpu_device *)buffer->device)->driver;
    for (size_t i = 0; i < memory->piece_count; i++) driver->vtable->buffer_destroy(driver, memory->pieces[i]);
    hone_free(memory->pieces);
    hone_free(memory);
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

hone_status gpu_buffer_commit(hone_device *device, hone_buffer *buffer, const char *what, hone_error *error) {
    hone_gpu_driver *const driver = ((gpu_device *)device)->driver;
    gpu_memory *const memory = (gpu_memory *)buffer;
    const size_t bytes = buffer->bytes;
    const size_t count = bytes ? (bytes + device->piece_bytes - 1) / device->piece_bytes : 1;
    HONE_TRY(HONE_NEW_ARRAY(&memory->pieces, count, what, error));
    for (size_t i = 0; i < count; i++) {
        HONE_TRY(driver->vtable->buffer_create(driver, piece_bytes(device, bytes, i), what, &memory->pieces[i], error));
        memory->piece_count++; // after a failure the buffer still owns those that there are
    }
    return HONE_OK;
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
        return driver->vtable->download(driver, piece, offset, data, bytes, error);
    const size_t first = offset / unit * unit;
    const size_t length = round_up(offset + bytes, unit) - first;
    char *words;
    HONE_TRY(hone_allocate_raw(length, 1, "reading back", (void **)&words, error));
    hone_status status;
    do { // the driver writes to `words`, which must not change under it
        status = driver->vtable->download(driver, piece, first, words, length, error);
    } while (status == HONE_PENDING);
    if (status == HONE_OK) memcpy(data, words + (offset - first), bytes);
    hone_free(words);
    return status;
}

hone_status gpu_download(hone_buffer *buffer, size_t offset, void *data, size_t bytes, hone_error *error) {
    gpu_memory *const memory = (gpu_memory *)buffer;
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
    return HONE_OK;
}

// --- fetching --------------------------------------------------------------------------------------------------------
hone_status gpu_fetch_create(hone_fetch *fetch, hone_error *error) {
    hone_gpu_driver *const driver = ((gpu_device *)fetch->device)->driver;
    HONE_FAIL_IF(fetch->bytes == 0 || fetch->bytes % HONE_BUFFER_ALIGNMENT, error, INVALID_ARGUMENT,
                 "a fetch of %zu bytes is no multiple of %d", fetch->bytes, HONE_BUFFER_ALIGNMENT);
    hone_gpu_fetch *own = NULL;
    HONE_TRY(driver->vtable->fetch_create(driver, fetch->bytes, &own, error));
    fetch->own = own;
    return HONE_OK;
}

void gpu_fetch_destroy(hone_fetch *fetch) {
    hone_gpu_driver *const driver = ((gpu_device *)fetch->device)->driver;
    driver->vtable->fetch_destroy(driver, fetch->own);
}

hone_status gpu_fetch_begin(hone_fetch *fetch, hone_buffer *buffer, size_t offset, hone_error *error) {
    hone_gpu_driver *const driver = ((gpu_device *)fetch->device)->driver;
    hone_gpu_range range;
    HONE_TRY(gpu_memory_range(buffer, offset, fetch->bytes, &range, error));
    return driver->vtable->fetch_begin(driver, fetch->own, &range, error);
}

hone_status gpu_fetch_end(hone_fetch *fetch, hone_error *error) {
    hone_gpu_driver *const driver = ((gpu_device *)fetch->device)->driver;
    return driver->vtable->fetch_end(driver, fetch->own, fetch->data, error);
}
