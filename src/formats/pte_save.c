// SPDX-License-Identifier: Apache-2.0
// Writes a program with its state as it is now: the same file, a few fields changed and the delegates' own data grown.
//
// What state begins with is a constant of its delegate, usually a named datum, which others may share. So each state gets
// bytes of its own in the data behind the delegate's description (pte_blob.c), and its VkBytes the place there. Segments
// behind a grown delegate move up by a multiple of their alignment. All fields that change are stored in the file already,
// for none of them is at its default; what a second save meets is in place and only gets new bytes.
//
// The count of calls, which live bias corrections follow, has no field in the format. It is the last 16 bytes of the own
// data of the delegate that holds state, "HoneStep" and a u64: nothing else refers to them, and other readers pass over them.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pte_program.h"

#define SEGMENT_ALIGNMENT 128
#define RAW_ALIGNMENT     16
#define STEP_MARK         "HoneStep"
#define STEP_BYTES        16

typedef struct moved_segment {
    hone_pte_range range; // in the file
    uint32_t index;
    uint64_t shift; // how far it moves up
    uint64_t growth;
    int delegate; // whose blob it is; -1 = another's
} moved_segment;

typedef struct saver {
    hone_pte *pte;
    uint8_t *description;
    uint8_t **blobs; // [delegates] as they will be; NULL = as they are
    size_t *blob_bytes, *blob_room;
    moved_segment *segments; // by place
    uint32_t segment_count;
    hone_output *output;
} saver;

static uint64_t aligned(uint64_t bytes, uint64_t to) {
    return (bytes + to - 1) / to * to;
}

// --- the state in the file's element types --------------------------------------------------------------------------

// May return HONE_PENDING; goes on where it stopped.
static hone_status read_states(hone_pte *pte, hone_error *error) {
    if (!pte->saved) HONE_TRY(HONE_NEW_ARRAY(&pte->saved, pte->listed_count, "the state of a program", error));
    for (; pte->saved_count < pte->listed_count; pte->saved_count++) {
        const size_t i = pte->saved_count;
        const hone_pte_port *const port = hone_pte_state(pte, i);
        if (!pte->saved[i])
            HONE_TRY(hone_allocate_raw(hone_type_bytes(&port->type), 1, port->name, &pte->saved[i], error));
        HONE_TRY(hone_pte_state_read(pte, i, pte->saved[i], error));
    }
    return HONE_OK;
}

static hone_status encode(const pte_state *state, const void *host, void *to, hone_error *error) {
    hone_dtype dtype = state->type.dtype;
    (void)hone_pte_dtype(state->code, &dtype);
    const size_t count = (size_t)hone_type_elements(&state->type);
    if (dtype == state->port.type.dtype) {
        memcpy(to, host, count * hone_dtype_bytes(dtype));
    } else if (hone_dtype_bytes(dtype) > hone_dtype_bytes(state->port.type.dtype) || dtype == HONE_DTYPE_F16) {
        pte_widen(dtype, to, state->port.type.dtype, host, count);
    } else {
        return pte_narrow(dtype, to, state->port.type.dtype, host, count, 0, state->port.name, error);
    }
    return HONE_OK;
}

// --- delegates ------------------------------------------------------------------------------------------------------

// No other value may have a constant of state, or it would change too. `users` [constants] are the values that have each.
static hone_status count_users(hone_pte *pte, uint32_t delegate, uint32_t **users, hone_error *error) {
    hone_pte_blob *const blob = &pte->blobs[delegate];
    HONE_TRY(HONE_NEW_ARRAY(users, blob->constants.count, "the constants of a delegate", error));
    for (uint32_t v = 0; v < blob->values.count; v++) {
        hone_pte_value value;
        HONE_TRY(hone_pte_blob_value(blob, v, &value, error));
        if (value.kind == HONE_PTE_TENSOR && value.constant >= 0 && value.constant < blob->constants.count)
            (*users)[value.constant]++;
    }
    return HONE_OK;
}

static hone_status check_alone(hone_pte *pte, uint32_t delegate, const uint32_t *users, hone_error *error) {
    for (size_t i = 0; i < pte->listed_count; i++) {
        const pte_state *const state = &pte->states[pte->listed[i]];
        hone_pte_value value;
        if (state->delegate != (int)delegate) continue;
        HONE_TRY(hone_pte_blob_value(&pte->blobs[delegate], state->value, &value, error));
        HONE_FAIL_IF(value.constant >= pte->blobs[delegate].constants.count || users[value.constant] != 1, error,
                     UNSUPPORTED, "'%s': %s cannot be saved: another value begins as the same constant",
                     pte->file->flat.file, state->port.name);
    }
    return HONE_OK;
}

static hone_status copy_blob(saver *s, int delegate, hone_error *error) {
    hone_pte *const pte = s->pte;
    const hone_pte_range whole = pte->blobs[delegate].whole;
    if (s->blobs[delegate]) return HONE_OK;
    s->blob_bytes[delegate] = (size_t)whole.bytes;
    HONE_TRY(HONE_GROW(&s->blobs[delegate], &s->blob_room[delegate], (size_t)whole.bytes, "a delegate", error));
    return hone_source_read(pte->file->source, whole.offset, s->blobs[delegate], (size_t)whole.bytes, "a delegate",
                            error);
}

// `bytes` zeros at the end of the blob's own data; *at is their place in the blob, *begin that of its own data.
static hone_status grow_blob(saver *s, int delegate, size_t bytes, size_t *at, uint32_t *begin, hone_error *error) {
    uint64_t size;
    const size_t end = s->blob_bytes[delegate];
    *at = (size_t)aligned(end, RAW_ALIGNMENT);
    HONE_FAIL_IF(*at > UINT32_MAX - RAW_ALIGNMENT, error, UNSUPPORTED, "'%s' cannot be saved: delegate %d is too large",
                 s->pte->file->flat.file, delegate);
    HONE_TRY(HONE_GROW(&s->blobs[delegate], &s->blob_room[delegate], *at + bytes, "a delegate", error));
    uint8_t *const data = s->blobs[delegate];
    memset(data + end, 0, *at + bytes - end);
    memcpy(begin, data + 18, sizeof *begin);
    memcpy(&size, data + 22, sizeof size);
    if (size == 0) *begin = (uint32_t)*at;
    size = *at + bytes - *begin;
    memcpy(data + 18, begin, sizeof *begin);
    memcpy(data + 22, &size, sizeof size);
    s->blob_bytes[delegate] = *at + bytes;
    return HONE_OK;
}

static hone_status place_state(saver *s, const pte_state *state, const void *host, hone_error *error) {
    hone_pte *const pte = s->pte;
    hone_pte_blob *const blob = &pte->blobs[state->delegate];
    hone_pte_value value;
    HONE_TRY(hone_pte_blob_value(blob, state->value, &value, error));
    HONE_TRY(copy_blob(s, state->delegate, error));
    uint8_t *const data = s->blobs[state->delegate];
    const hone_pte_range raw = blob->raw;
    if (state->range.offset >= raw.offset && state->range.offset < raw.offset + raw.bytes)
        return encode(state, host, data + (state->range.offset - blob->whole.offset), error);
    hone_flat *const flat = &blob->flat;
    const hone_flat_table bytes = hone_flat_table_at(flat, blob->constants, (uint32_t)value.constant);
    const uint32_t place = hone_flat_place(flat, bytes, 0, sizeof(uint64_t));
    const uint64_t length = hone_flat_u64(flat, bytes, 1, 0);
    HONE_TRY(hone_flat_status(flat, error));
    HONE_FAIL_IF(place == 0 || length < state->range.bytes, error, UNSUPPORTED,
                 "'%s': %s cannot be saved: its constant has no place of its own", flat->file, state->port.name);
    size_t at = 0;
    uint32_t begin = 0;
    HONE_TRY(grow_blob(s, state->delegate, (size_t)length, &at, &begin, error));
    const uint64_t offset = at - begin;
    memcpy(s->blobs[state->delegate] + (flat->place - blob->whole.offset) + place, &offset, sizeof offset);
    return encode(state, host, s->blobs[state->delegate] + at, error);
}

// --- the count of calls -----------------------------------------------------------------------------------------------

hone_status pte_step_read(hone_pte *pte, hone_error *error) {
    for (uint32_t d = 0; d < pte->method.delegates.count; d++) {
        const hone_pte_range raw = pte->blobs[d].raw;
        uint8_t bytes[STEP_BYTES];
        uint64_t step;
        if (raw.bytes < STEP_BYTES) continue;
        HONE_TRY(hone_source_read(pte->file->source, raw.offset + raw.bytes - STEP_BYTES, bytes, STEP_BYTES,
                                  "the count of calls", error));
        if (memcmp(bytes, STEP_MARK, 8) != 0) continue;
        memcpy(&step, bytes + 8, sizeof step);
        HONE_FAIL_IF(step > (uint64_t)1 << 53, error, BAD_FORMAT,
                     "'%s', byte %" PRIu64 ": its count of calls is %" PRIu64 ": the file is damaged",
                     pte->file->flat.file, raw.offset + raw.bytes - 8, step);
        if ((int64_t)step > pte->file_step) pte->file_step = (int64_t)step;
    }
    pte->step = pte->file_step;
    return HONE_OK;
}

// Behind the own data of the first delegate that has state; what an earlier save left there is replaced.
static hone_status place_step(saver *s, hone_error *error) {
    hone_pte *const pte = s->pte;
    uint32_t d = 0;
    while (d < pte->method.delegates.count && !s->blobs[d]) d++;
    if (d == pte->method.delegates.count || pte->step == 0) return HONE_OK;
    size_t at = s->blob_bytes[d] - STEP_BYTES; // a blob has 30 bytes at least
    uint32_t begin;
    if (pte->blobs[d].raw.bytes < STEP_BYTES || memcmp(s->blobs[d] + at, STEP_MARK, 8) != 0)
        HONE_TRY(grow_blob(s, (int)d, STEP_BYTES, &at, &begin, error));
    const uint64_t step = (uint64_t)pte->step;
    memcpy(s->blobs[d] + at, STEP_MARK, 8);
    memcpy(s->blobs[d] + at + 8, &step, sizeof step);
    return HONE_OK;
}

// --- segments -------------------------------------------------------------------------------------------------------

static int by_place(const void *a, const void *b) {
    const moved_segment *const x = a, *const y = b;
    if (x->range.offset != y->range.offset) return x->range.offset < y->range.offset ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static hone_status list_segments(saver *s, hone_error *error) {
    hone_pte *const pte = s->pte;
    s->segment_count = pte->file->segments.count;
    HONE_TRY(HONE_NEW_ARRAY(&s->segments, s->segment_count, "the segments of a program", error));
    for (uint32_t i = 0; i < s->segment_count; i++) {
        moved_segment *const segment = &s->segments[i];
        *segment = (moved_segment){.index = i, .delegate = -1};
        HONE_TRY(hone_pte_segment(pte->file, i, &segment->range, error));
        for (uint32_t d = 0; d < pte->method.delegates.count; d++) {
            if (!s->blobs[d] || pte->blobs[d].whole.offset != segment->range.offset || segment->range.bytes == 0)
                continue;
            segment->delegate = (int)d;
            const bool last = segment->range.offset + segment->range.bytes == pte->file->source->size;
            segment->growth = aligned(s->blob_bytes[d] - segment->range.bytes, last ? 1 : SEGMENT_ALIGNMENT);
        }
    }
    if (s->segment_count > 1) qsort(s->segments, s->segment_count, sizeof *s->segments, by_place);
    uint64_t shift = 0, end = 0;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        s->segments[i].shift = shift;
        HONE_FAIL_IF(shift > 0 && s->segments[i].range.offset < end, error, UNSUPPORTED,
                     "'%s' cannot be saved: its segments overlap", pte->file->flat.file);
        shift += s->segments[i].growth;
        const uint64_t own = s->segments[i].range.offset + s->segments[i].range.bytes;
        if (own > end) end = own;
    }
    return HONE_OK;
}

static hone_status patch_u64(saver *s, hone_flat_table table, int field, uint64_t before, uint64_t after,
                             hone_error *error) {
    hone_flat *const flat = &s->pte->file->flat;
    if (before == after) return HONE_OK;
    const uint32_t place = hone_flat_place(flat, table, field, sizeof after);
    HONE_TRY(hone_flat_status(flat, error));
    uint64_t stored;
    HONE_FAIL_IF(place == 0, error, UNSUPPORTED, "'%s' cannot be saved: a segment at place 0 would move", flat->file);
    memcpy(&stored, s->description + place, sizeof stored);
    HONE_FAIL_IF(stored != before, error, UNSUPPORTED, "'%s' cannot be saved: two segments share one entry",
                 flat->file);
    memcpy(s->description + place, &after, sizeof after);
    return HONE_OK;
}

// The description with the segments' new places and sizes.
static hone_status patch_description(saver *s, hone_error *error) {
    hone_pte_file *const file = s->pte->file;
    hone_flat *const flat = &file->flat;
    HONE_TRY(hone_allocate_raw(flat->size, 1, "the description of a program", (void **)&s->description, error));
    memcpy(s->description, file->bytes, flat->size);
    uint64_t growth = 0;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        const moved_segment *const segment = &s->segments[i];
        const hone_flat_table table = hone_flat_table_at(flat, file->segments, segment->index);
        const uint64_t offset = segment->range.offset - file->segment_base;
        HONE_TRY(patch_u64(s, table, 0, offset, offset + segment->shift, error));
        if (segment->delegate >= 0)
            HONE_TRY(patch_u64(s, table, 1, segment->range.bytes, s->blob_bytes[segment->delegate], error));
        growth += segment->growth;
    }
    uint32_t length;
    uint64_t bytes;
    memcpy(&length, s->description + 12, sizeof length);
    memcpy(&bytes, s->description + 32, sizeof bytes);
    bytes += growth;
    if (length >= 32 && flat->size >= 40) memcpy(s->description + 32, &bytes, sizeof bytes);
    return HONE_OK;
}

// --- the file -------------------------------------------------------------------------------------------------------

static hone_status copy_bytes(saver *s, uint64_t from, uint64_t to, hone_error *error) {
    const size_t room = PTE_CHUNK * sizeof(double);
    while (from < to) {
        const size_t n = to - from < room ? (size_t)(to - from) : room;
        HONE_TRY(hone_source_read(s->pte->file->source, from, s->pte->scratch, n, "a segment", error));
        HONE_TRY(hone_output_write(s->output, s->pte->scratch, n, error));
        from += n;
    }
    return HONE_OK;
}

static hone_status write_file(saver *s, const char *path, hone_error *error) {
    static const uint8_t zeros[SEGMENT_ALIGNMENT] = {0};
    hone_pte_file *const file = s->pte->file;
    HONE_TRY(hone_output_create(path, &s->output, error));
    HONE_TRY(hone_output_write(s->output, s->description, file->flat.size, error));
    uint64_t at = file->flat.size;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        const moved_segment *const segment = &s->segments[i];
        if (segment->delegate < 0) continue;
        const uint64_t bytes = s->blob_bytes[segment->delegate];
        HONE_TRY(copy_bytes(s, at, segment->range.offset, error));
        HONE_TRY(hone_output_write(s->output, s->blobs[segment->delegate], (size_t)bytes, error));
        at = segment->range.offset + segment->range.bytes;
        HONE_TRY(hone_output_write(s->output, zeros, (size_t)(segment->range.bytes + segment->growth - bytes), error));
    }
    HONE_TRY(copy_bytes(s, at, file->source->size, error));
    return hone_output_commit(&s->output, error);
}

hone_status hone_pte_check_save(hone_pte *pte, hone_error *error) {
    for (size_t i = 0; i < pte->listed_count; i++) {
        const pte_state *const state = &pte->states[pte->listed[i]];
        const bool blob = state->delegate >= 0 && state->initial;
        HONE_FAIL_IF(!blob || pte->blobs[state->delegate].whole.offset < pte->file->flat.size, error, UNSUPPORTED,
                     "'%s': %s cannot be saved: the file has no place for what it begins with", pte->file->flat.file,
                     state->port.name);
    }
    for (uint32_t d = 0; d < pte->method.delegates.count && pte->listed_count > 0; d++) {
        uint32_t *users = NULL;
        hone_status status = count_users(pte, d, &users, error);
        if (status == HONE_OK) status = check_alone(pte, d, users, error);
        hone_free(users);
        HONE_TRY(status);
    }
    return HONE_OK;
}

static hone_status save(saver *s, const char *path, hone_error *error) {
    hone_pte *const pte = s->pte;
    const uint32_t delegates = pte->method.delegates.count;
    HONE_TRY(HONE_NEW_ARRAY(&s->blobs, delegates, "the delegates of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&s->blob_bytes, delegates, "the delegates of a program", error));
    HONE_TRY(HONE_NEW_ARRAY(&s->blob_room, delegates, "the delegates of a program", error));
    for (size_t i = 0; i < pte->listed_count; i++)
        HONE_TRY(place_state(s, &pte->states[pte->listed[i]], pte->saved[i], error));
    HONE_TRY(place_step(s, error));
    HONE_TRY(list_segments(s, error));
    HONE_TRY(patch_description(s, error));
    return write_file(s, path, error);
}

hone_status hone_pte_save(hone_pte *pte, const char *path, hone_error *error) {
    HONE_TRY(hone_pte_check_save(pte, error));
    HONE_TRY(read_states(pte, error));
    saver s = {.pte = pte};
    const hone_status status = save(&s, path, error);
    hone_output_abandon(&s.output);
    for (uint32_t d = 0; d < pte->method.delegates.count && s.blobs; d++) hone_free(s.blobs[d]);
    hone_free(s.blobs);
    hone_free(s.blob_bytes);
    hone_free(s.blob_room);
    hone_free(s.segments);
    hone_free(s.description);
    for (size_t i = 0; i < pte->listed_count; i++) hone_free(pte->saved[i]);
    hone_free(pte->saved);
    pte->saved = NULL;
    pte->saved_count = 0;
    return status;
}
