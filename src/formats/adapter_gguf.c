// SPDX-License-Identifier: Apache-2.0
// Adapters in llama.cpp's layout, a GGUF file (gguf.c):
//
//   key                         value
//   general.type                "adapter"
//   general.architecture        the base's
//   adapter.type                "lora"
//   adapter.lora.alpha          f32
//   general.base_model.count    u32 1, and
//   general.base_model.0.name   the base's name: if known
//   hone.base_hash              the base file's hash: if known
//
//   tensor                      row-major          ne
//   NAME.lora_a                 A [rank, n_in]     [n_in, rank]
//   NAME.lora_b                 B [n_out, rank]    [rank, n_out]
//   token_embd.weight.lora_a    B [vocab, rank]    [rank, vocab]
//   token_embd.weight.lora_b    A^T [n_embd, rank] [rank, n_embd]
//
// NAME is the base tensor's with its ".weight"; a row of token_embd is looked up in its lora_a, hence its own
// order.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/adapter.h"
#include "formats/gguf.h"

#define LONGEST_NAME 1024

static bool is_embedding(const char *name) {
    return strcmp(name, "token_embd.weight") == 0;
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text);
    const size_t end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// out[columns, rows] = in[rows, columns]^T
static void transpose(const float *in, int64_t rows, int64_t columns, float *out) {
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) out[j * rows + i] = in[i * columns + j];
    }
}

static hone_status transposed_copy(const float *in, int64_t rows, int64_t columns, float **out, hone_error *error) {
    HONE_TRY(
        hone_allocate_raw((size_t)rows * (size_t)columns, sizeof **out, "a transposed matrix", (void **)out, error));
    transpose(in, rows, columns, *out);
    return HONE_OK;
}

// --- reading
// ---------------------------------------------------------------------------------------------------------

static hone_status expect_text(const hone_gguf *gguf, const char *key, const char *wanted, hone_error *error) {
    const char *text = NULL;
    HONE_FAIL_IF(!hone_gguf_find(gguf, key), error, BAD_FORMAT, "'%s' is not an adapter: it has no key '%s'",
                 gguf->source->name, key);
    HONE_TRY(hone_gguf_text(gguf, key, &text, error));
    HONE_FAIL_IF(strcmp(text, wanted) != 0, error, MISMATCH, "'%s' is not a LoRA adapter: its %s is '%s', not '%s'",
                 gguf->source->name, key, text, wanted);
    return HONE_OK;
}

static hone_status optional_text(const hone_gguf *gguf, const char *key, const char **out, hone_error *error) {
    return hone_gguf_find(gguf, key) ? hone_gguf_text(gguf, key, out, error) : HONE_OK;
}

static hone_status read_keys(const hone_gguf *gguf, hone_adapter **out, hone_error *error) {
    HONE_TRY(expect_text(gguf, "general.type", "adapter", error));
    HONE_TRY(expect_text(gguf, "adapter.type", "lora", error));
    const char *architecture = NULL;
    const char *base_name = NULL;
    const char *base_hash = NULL;
    HONE_TRY(hone_gguf_text(gguf, "general.architecture", &architecture, error));
    HONE_TRY(optional_text(gguf, "general.base_model.0.name", &base_name, error));
    HONE_TRY(optional_text(gguf, "hone.base_hash", &base_hash, error));
    double alpha = 0;
    const bool has_alpha = hone_gguf_find(gguf, "adapter.lora.alpha") != NULL;
    if (has_alpha) HONE_TRY(hone_gguf_real(gguf, "adapter.lora.alpha", &alpha, error));
    HONE_TRY(hone_adapter_create(architecture, base_name, base_hash, out, error));
    (*out)->alpha = (float)alpha;
    (*out)->has_alpha = has_alpha;
    return HONE_OK;
}

// The embedding's two halves, into B and, transposed, A.
static hone_status read_embedding(const hone_gguf *gguf, const hone_gguf_tensor *first, const hone_gguf_tensor *second,
                                  hone_adapter_entry *entry, hone_error *error) {
    float *values = NULL;
    HONE_TRY(hone_gguf_read_floats(gguf, first, entry->b, error));
    HONE_TRY(hone_allocate_raw((size_t)entry->rank * (size_t)entry->n_in, sizeof *values, "a transposed matrix",
                               (void **)&values, error));
    const hone_status status = hone_gguf_read_floats(gguf, second, values, error);
    if (status == HONE_OK) transpose(values, entry->n_in, entry->rank, entry->a);
    hone_free(values);
    return status;
}

static hone_status read_pair(const hone_gguf *gguf, const char *name, const hone_gguf_tensor *a,
                             const hone_gguf_tensor *b, hone_adapter *adapter, hone_error *error) {
    const char *const file = gguf->source->name;
    HONE_FAIL_IF(a->rank != 2 || b->rank != 2, error, BAD_FORMAT, "'%s': the LoRA of '%s' is not made of matrices",
                 file, name);
    const bool embedding = is_embedding(name);
    const int64_t rank = embedding ? a->dims[1] : a->dims[0];
    HONE_FAIL_IF(b->dims[1] != rank || a->dims[0] < 1 || a->dims[1] < 1 || b->dims[0] < 1, error, BAD_FORMAT,
                 "'%s': the LoRA of '%s' does not fit together: lora_a is [%" PRId64 ", %" PRId64 "], lora_b [%" PRId64
                 ", %" PRId64 "]",
                 file, name, a->dims[0], a->dims[1], b->dims[0], b->dims[1]);
    const int64_t n_in = embedding ? b->dims[0] : a->dims[1];
    const int64_t n_out = embedding ? a->dims[0] : b->dims[0];
    // No bytes yet: this refuses unknown types, whose dimensions were never compared with the file's size.
    HONE_TRY(hone_gguf_read_bytes(gguf, a, 0, NULL, 0, error));
    HONE_TRY(hone_gguf_read_bytes(gguf, b, 0, NULL, 0, error));
    hone_adapter_entry *entry = NULL;
    HONE_TRY(hone_adapter_add(adapter, name, rank, n_in, n_out, &entry, error));
    if (embedding) return read_embedding(gguf, a, b, entry, error);
    HONE_TRY(hone_gguf_read_floats(gguf, a, entry->a, error));
    return hone_gguf_read_floats(gguf, b, entry->b, error);
}

static hone_status read_tensors(const hone_gguf *gguf, hone_adapter *adapter, hone_error *error) {
    const char *const file = gguf->source->name;
    char name[LONGEST_NAME];
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const hone_gguf_tensor *const tensor = &gguf->tensors[i];
        const char *const full = tensor->name.bytes;
        const bool is_a = ends_with(full, ".lora_a");
        HONE_FAIL_IF((!is_a && !ends_with(full, ".lora_b")) || tensor->name.length >= sizeof name, error, UNSUPPORTED,
                     "'%s': '%s' is neither a lora_a nor a lora_b, and hone adapts nothing else", file, full);
        // Each half finds its partner: nothing is left over, and pairs are added where their A stands.
        memcpy(name, full, tensor->name.length + 1);
        name[tensor->name.length - 1] = is_a ? 'b' : 'a';
        const hone_gguf_tensor *const partner = hone_gguf_find_tensor(gguf, name);
        HONE_FAIL_IF(!partner, error, BAD_FORMAT, "'%s': '%s' has no partner '%s'", file, full, name);
        if (!is_a) continue;
        name[tensor->name.length - strlen(".lora_a")] = 0;
        HONE_TRY(read_pair(gguf, name, tensor, partner, adapter, error));
    }
    return hone_adapter_check(adapter, file, error);
}

hone_status hone_adapter_read_gguf(const char *path, hone_adapter **out, hone_error *error) {
    *out = NULL;
    hone_gguf *gguf = NULL;
    hone_adapter *adapter = NULL;
    hone_status status = HONE_OK;
    HONE_TRY(hone_gguf_open(path, &gguf, error));
    HONE_TRY_GOTO(read_keys(gguf, &adapter, error), done);
    HONE_TRY_GOTO(read_tensors(gguf, adapter, error), done);
    *out = adapter;
    adapter = NULL;
done:
    hone_adapter_destroy(adapter);
    hone_gguf_close(gguf);
    return status;
}

// --- writing
// ---------------------------------------------------------------------------------------------------------

// GGUF's scale is alpha / rank. For a rank-stabilised adapter alpha becomes alpha * sqrt(r0), r0 the first
// entry's rank; an entry of another rank r then needs B * sqrt(r / r0).
static float written_alpha(const hone_adapter *adapter) {
    if (!adapter->rank_stabilised) return adapter->alpha;
    return (float)((double)adapter->alpha * sqrt((double)adapter->entries[0].rank));
}

static float b_factor(const hone_adapter *adapter, const hone_adapter_entry *entry) {
    if (!adapter->rank_stabilised) return 1;
    return (float)sqrt((double)entry->rank / (double)adapter->entries[0].rank);
}

static hone_status write_keys(hone_gguf_writer *writer, const hone_adapter *adapter, hone_error *error) {
    HONE_TRY(hone_gguf_put_text(writer, "general.architecture", adapter->architecture, error));
    HONE_TRY(hone_gguf_put_text(writer, "general.type", "adapter", error));
    HONE_TRY(hone_gguf_put_text(writer, "adapter.type", "lora", error));
    HONE_TRY(hone_gguf_put_f32(writer, "adapter.lora.alpha", written_alpha(adapter), error));
    if (adapter->base_name) {
        HONE_TRY(hone_gguf_put_u32(writer, "general.base_model.count", 1, error));
        HONE_TRY(hone_gguf_put_text(writer, "general.base_model.0.name", adapter->base_name, error));
    }
    if (adapter->base_hash) HONE_TRY(hone_gguf_put_text(writer, "hone.base_hash", adapter->base_hash, error));
    return HONE_OK;
}

static hone_status describe_entry(hone_gguf_writer *writer, const hone_adapter_entry *entry, hone_error *error) {
    char name[LONGEST_NAME];
    const size_t length = strlen(entry->name);
    HONE_FAIL_IF(length + 8 > sizeof name, error, INVALID_ARGUMENT, "tensor '%.80s...' has too long a name",
                 entry->name);
    memcpy(name, entry->name, length);
    const bool embedding = is_embedding(entry->name);
    const int64_t a[2] = {entry->rank, entry->n_in};
    const int64_t b[2] = {entry->n_out, entry->rank};
    const int64_t a_transposed[2] = {entry->n_in, entry->rank};
    memcpy(name + length, ".lora_a", 8);
    HONE_TRY(hone_gguf_put_tensor(writer, name, HONE_BLOCK_F32, 2, embedding ? b : a, error));
    memcpy(name + length, ".lora_b", 8);
    return hone_gguf_put_tensor(writer, name, HONE_BLOCK_F32, 2, embedding ? a_transposed : b, error);
}

static hone_status scaled_copy(const float *in, size_t count, float factor, float **out, hone_error *error) {
    HONE_TRY(hone_allocate_raw(count, sizeof **out, "a scaled matrix", (void **)out, error));
    for (size_t i = 0; i < count; i++) (*out)[i] = in[i] * factor;
    return HONE_OK;
}

static hone_status write_entry(hone_gguf_writer *writer, const hone_adapter_entry *entry, float factor,
                               hone_error *error) {
    const size_t a_count = (size_t)entry->rank * (size_t)entry->n_in;
    const size_t b_count = (size_t)entry->n_out * (size_t)entry->rank;
    float *a = NULL;
    float *b = NULL;
    hone_status status = HONE_OK;
    const bool embedding = is_embedding(entry->name);
    if (embedding) HONE_TRY_GOTO(transposed_copy(entry->a, entry->rank, entry->n_in, &a, error), done);
    if (factor != 1) HONE_TRY_GOTO(scaled_copy(entry->b, b_count, factor, &b, error), done);
    const float *const b_values = b ? b : entry->b;
    if (embedding) {
        HONE_TRY_GOTO(hone_gguf_put_data(writer, b_values, b_count * sizeof *b, error), done);
        HONE_TRY_GOTO(hone_gguf_put_data(writer, a, a_count * sizeof *a, error), done);
    } else {
        HONE_TRY_GOTO(hone_gguf_put_data(writer, entry->a, a_count * sizeof *a, error), done);
        HONE_TRY_GOTO(hone_gguf_put_data(writer, b_values, b_count * sizeof *b, error), done);
    }
done:
    hone_free(a);
    hone_free(b);
    return status;
}

hone_status hone_adapter_write_gguf(const char *path, const hone_adapter *adapter, hone_error *error) {
    HONE_TRY(hone_adapter_check(adapter, path, error));
    HONE_FAIL_IF(!adapter->architecture, error, INVALID_ARGUMENT,
                 "'%s' cannot be written: the adapter does not say its base's architecture", path);
    hone_gguf_writer *writer = NULL;
    hone_status status = HONE_OK;
    HONE_TRY(hone_gguf_writer_create(path, &writer, error));
    HONE_TRY_GOTO(write_keys(writer, adapter, error), fail);
    for (size_t i = 0; i < adapter->count; i++) {
        HONE_TRY_GOTO(describe_entry(writer, &adapter->entries[i], error), fail);
    }
    for (size_t i = 0; i < adapter->count; i++) {
        const hone_adapter_entry *const entry = &adapter->entries[i];
        HONE_TRY_GOTO(write_entry(writer, entry, b_factor(adapter, entry), error), fail);
    }
    return hone_gguf_writer_commit(&writer, error);
fail:
    hone_gguf_writer_abandon(&writer);
    return status;
}
