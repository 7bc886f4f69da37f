// SPDX-License-Identifier: Apache-2.0
// Weights: from GGUF blocks to the codes that stay in memory, and from there into graphs.
#include <math.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "device/device.h"
#include "model/model.h"

static const char *const matrix_names[] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                           "ffn_gate", "ffn_up", "ffn_down"};

void hone_matrix_name(int64_t layer, int matrix, char *text, size_t size) {
    if (matrix == HONE_MATRIX_HEAD) {
        snprintf(text, size, "output.weight");
    } else {
        snprintf(text, size, "blk.%lld.%s.weight", (long long)layer, matrix_names[matrix]);
    }
}

const hone_weight *hone_model_head(const hone_model *model) {
    return model->head.name ? &model->head : &model->embedding;
}

const hone_weight *hone_model_matrix(const hone_model *model, int64_t layer, int matrix) {
    return matrix == HONE_MATRIX_HEAD ? hone_model_head(model) : &model->blocks[layer].matrices[matrix];
}

static size_t aligned(size_t bytes) {
    return (bytes + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

// --- loading -----------------------------------------------------------------------------------------------------

typedef struct loader {
    hone_model *model;
    const hone_gguf *gguf;
    bool again; // into the buffers that are there
    XXH64_state_t *hash;
    void *slab; // blocks on their way from the file
    size_t slab_bytes;
    void *staging; // the whole tensor, for devices without a host address
    size_t staging_bytes;
} loader;

static hone_status want_room(void **block, size_t *have, size_t bytes, const char *what, hone_error *error) {
    if (bytes <= *have) return HONE_OK;
    hone_free(*block);
    *block = NULL;
    *have = 0;
    HONE_TRY(hone_allocate_raw(bytes, 1, what, block, error));
    *have = bytes;
    return HONE_OK;
}

// How the tensor will lie in memory; returns its bytes.
static hone_status lay_out(const hone_gguf_tensor *tensor, hone_weight *weight, size_t *bytes, hone_error *error) {
    const hone_block_layout *const block = hone_block_find(tensor->type);
    HONE_FAIL_IF(!block, error, UNSUPPORTED, "tensor '%s' has the type %s, which is not supported", tensor->name.bytes,
                 hone_block_name(tensor->type));
    weight->layout = hone_block_codes(tensor->type);
    const size_t elements = (size_t)weight->rows * (size_t)weight->columns;
    if (weight->layout.format == HONE_CODES_NONE) {
        weight->dtype = tensor->type == HONE_BLOCK_F32   ? HONE_DTYPE_F32
                        : tensor->type == HONE_BLOCK_F16 ? HONE_DTYPE_F16
                                                         : HONE_DTYPE_BF16;
        *bytes = elements * hone_dtype_bytes(weight->dtype);
        return HONE_OK;
    }
    const size_t codes = weight->layout.format == HONE_CODES_4 ? elements / 2 : elements;
    const size_t scales = elements / (size_t)weight->layout.group * hone_dtype_bytes(weight->layout.scale_dtype);
    weight->scales = aligned(codes);
    weight->minimums = weight->layout.minimums ? weight->scales + aligned(scales) : 0;
    *bytes = weight->layout.minimums ? weight->minimums + scales : weight->scales + scales;
    return HONE_OK;
}

// Words of 16 bits are not finite where all bits of the exponent are set. No branch: it costs less than reading them.
static bool finite_words(const uint16_t *words, size_t count, uint16_t exponent) {
    uint16_t found = 0;
    for (size_t i = 0; i < count; i++) found |= (words[i] & exponent) == exponent;
    return found == 0;
}

static bool finite_floats(const uint32_t *words, size_t count) {
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) found |= (words[i] & 0x7F800000) == 0x7F800000;
    return found == 0;
}

static bool all_finite(hone_dtype dtype, const void *values, size_t count) {
    if (dtype == HONE_DTYPE_F32) return finite_floats(values, count);
    return finite_words(values, count, dtype == HONE_DTYPE_F16 ? 0x7C00 : 0x7F80);
}

// One NaN makes every result NaN: it is named here, where the tensor is known, and not blamed on the data later.
static hone_status check_finite(const hone_weight *weight, const char *place, hone_error *error) {
    const size_t elements = (size_t)weight->rows * (size_t)weight->columns;
    bool finite;
    if (weight->layout.format == HONE_CODES_NONE) {
        finite = all_finite(weight->dtype, place, elements);
    } else {
        const size_t groups = elements / (size_t)weight->layout.group;
        const hone_dtype dtype = weight->layout.scale_dtype;
        finite = all_finite(dtype, place + weight->scales, groups) &&
                 (!weight->layout.minimums || all_finite(dtype, place + weight->minimums, groups));
    }
    HONE_FAIL_IF(!finite, error, NOT_FINITE,
                 "the tensor '%s' holds NaN or infinity: the file is damaged, or was badly converted", weight->name);
    return HONE_OK;
}

// Reads the tensor a megabyte at a time into its final form at `place`.
static hone_status fill(loader *load, const hone_gguf_tensor *tensor, const hone_weight *weight, char *place,
                        hone_error *error) {
    const size_t row_bytes = (size_t)(tensor->bytes / (uint64_t)weight->rows);
    int64_t slab_rows = (int64_t)((1 << 20) / (row_bytes ? row_bytes : 1));
    if (slab_rows < 1) slab_rows = 1;
    HONE_TRY(want_room(&load->slab, &load->slab_bytes, (size_t)slab_rows * row_bytes, "room to read tensors", error));
    for (int64_t row = 0; row < weight->rows; row += slab_rows) {
        const int64_t rows = weight->rows - row < slab_rows ? weight->rows - row : slab_rows;
        const size_t bytes = (size_t)rows * row_bytes;
        HONE_TRY(hone_gguf_read_bytes(load->gguf, tensor, (uint64_t)row * row_bytes, load->slab, bytes, error));
        XXH64_update(load->hash, load->slab, bytes);
        if (weight->layout.format == HONE_CODES_NONE) {
            memcpy(place + (size_t)row * row_bytes, load->slab, bytes);
        } else {
            HONE_TRY(hone_block_repack(tensor->type, load->slab, row, rows, weight->rows, weight->columns, place,
                                       place + weight->scales,
                                       weight->layout.minimums ? place + weight->minimums : NULL, error));
        }
    }
    return check_finite(weight, place, error);
}

// Norm weights are few: they are kept as fp32 whatever the file's type.
static hone_status load_vector(loader *load, const hone_gguf_tensor *tensor, hone_weight *out, hone_error *error) {
    const size_t bytes = (size_t)out->columns * sizeof(float);
    out->dtype = HONE_DTYPE_F32;
    if (!load->again) {
        load->model->config.parameters += (uint64_t)out->columns;
        HONE_TRY(hone_buffer_create(load->model->device, bytes, out->name, &out->buffer, error));
    }
    if (load->model->device->counts_only) return HONE_OK;
    HONE_TRY(want_room(&load->staging, &load->staging_bytes, bytes, "room to convert tensors", error));
    HONE_TRY(hone_gguf_read_floats(load->gguf, tensor, load->staging, error));
    XXH64_update(load->hash, load->staging, bytes);
    HONE_TRY(check_finite(out, load->staging, error));
    return hone_buffer_upload(out->buffer, 0, load->staging, bytes, error);
}

static hone_status load_weight(loader *load, const char *name, int64_t rows, int64_t columns, hone_weight *out,
                               hone_error *error) {
    const hone_gguf_tensor *const tensor = hone_gguf_find_tensor(load->gguf, name);
    HONE_FAIL_IF(!tensor, error, BAD_FORMAT, "the tensor '%s' is missing: the file is not a whole model", name);
    const bool vector = tensor->rank == 1 && rows == 1;
    HONE_FAIL_IF(!(vector ? tensor->dims[0] == columns
                          : tensor->rank == 2 && tensor->dims[0] == rows && tensor->dims[1] == columns),
                 error, BAD_FORMAT, "the tensor '%s' is not [%lld, %lld], as the file's own settings ask", name,
                 (long long)rows, (long long)columns);
    out->rows = rows;
    out->columns = columns;
    if (!load->again) HONE_TRY(hone_arena_string(&load->model->arena, name, strlen(name), &out->name, error));
    if (vector) return load_vector(load, tensor, out, error);
    size_t bytes = 0;
    HONE_TRY(lay_out(tensor, out, &bytes, error));
    if (!load->again) {
        HONE_TRY(hone_buffer_create(load->model->device, bytes, name, &out->buffer, error));
        load->model->config.parameters += (uint64_t)rows * (uint64_t)columns;
        load->model->config.layer_parameters += (uint64_t)rows * (uint64_t)columns;
    }
    if (load->model->device->counts_only) return HONE_OK;
    if (out->buffer->data) return fill(load, tensor, out, out->buffer->data, error);
    HONE_TRY(want_room(&load->staging, &load->staging_bytes, bytes, "room to convert tensors", error));
    HONE_TRY(fill(load, tensor, out, load->staging, error));
    return hone_buffer_upload(out->buffer, 0, load->staging, bytes, error);
}

static hone_status load_block(loader *load, int64_t layer, hone_error *error) {
    const hone_model_config *const c = &load->model->config;
    hone_llama_block *const block = &load->model->blocks[layer];
    const int64_t q = c->heads * c->head_size;
    const int64_t kv = c->kv_heads * c->head_size;
    const int64_t shapes[HONE_BLOCK_MATRICES][2] = {{q, c->width},       {kv, c->width},       {kv, c->width},
                                                    {c->width, q},       {c->inner, c->width}, {c->inner, c->width},
                                                    {c->width, c->inner}};
    char name[96];
    for (int m = 0; m < HONE_BLOCK_MATRICES; m++) {
        hone_matrix_name(layer, m, name, sizeof(name));
        HONE_TRY(load_weight(load, name, shapes[m][0], shapes[m][1], &block->matrices[m], error));
        snprintf(name, sizeof(name), "blk.%lld.%s.bias", (long long)layer, matrix_names[m]);
        HONE_FAIL_IF(hone_gguf_find_tensor(load->gguf, name), error, UNSUPPORTED,
                     "the tensor '%s' is a bias, which is not supported by this version", name);
    }
    snprintf(name, sizeof(name), "blk.%lld.attn_norm.weight", (long long)layer);
    HONE_TRY(load_weight(load, name, 1, c->width, &block->attention_norm, error));
    snprintf(name, sizeof(name), "blk.%lld.ffn_norm.weight", (long long)layer);
    return load_weight(load, name, 1, c->width, &block->inner_norm, error);
}

// Tensors that hone would pass over in silence change what the model computes: they are refused by name.
static hone_status check_known(const hone_model *model, const hone_gguf *gguf, hone_error *error) {
    const size_t known = (size_t)model->config.layers * (HONE_BLOCK_MATRICES + 2) + (model->config.tied ? 2 : 3) +
                         (model->rope_factors ? 1 : 0);
    if (gguf->tensor_count == known) return HONE_OK;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const char *const name = gguf->tensors[i].name.bytes;
        long long layer = -1;
        int end = 0;
        bool found = strcmp(name, "token_embd.weight") == 0 || strcmp(name, "output_norm.weight") == 0 ||
                     strcmp(name, "output.weight") == 0 || strcmp(name, "rope_freqs.weight") == 0;
        if (sscanf(name, "blk.%lld.%n", &layer, &end) == 1 && end > 0 && layer < model->config.layers) {
            found |= strcmp(name + end, "attn_norm.weight") == 0 || strcmp(name + end, "ffn_norm.weight") == 0;
            for (int m = 0; m < HONE_BLOCK_MATRICES && !found; m++) {
                const size_t length = strlen(matrix_names[m]);
                found =
                    strncmp(name + end, matrix_names[m], length) == 0 && strcmp(name + end + length, ".weight") == 0;
            }
        }
        HONE_FAIL_IF(!found, error, UNSUPPORTED, "the tensor '%s' belongs to no part of a llama model that hone knows",
                     name);
    }
    HONE_FAIL(error, BAD_FORMAT, "the file has %zu tensors, a model of its settings has %zu", gguf->tensor_count,
              known);
}

static hone_status load_rope_factors(hone_model *model, const hone_gguf *gguf, hone_error *error) {
    const hone_gguf_tensor *const tensor = hone_gguf_find_tensor(gguf, "rope_freqs.weight");
    if (!tensor) return HONE_OK;
    const int64_t count = model->config.rope_columns / 2;
    HONE_FAIL_IF(tensor->rank != 1 || tensor->dims[0] != count, error, BAD_FORMAT, "'rope_freqs.weight' is not [%lld]",
                 (long long)count);
    HONE_TRY(HONE_NEW_ARRAY(&model->rope_factors, (size_t)count, "rotary factors", error));
    HONE_TRY(hone_gguf_read_floats(gguf, tensor, model->rope_factors, error));
    for (int64_t i = 0; i < count; i++) {
        const float factor = model->rope_factors[i];
        HONE_FAIL_IF(!isfinite(factor) || factor == 0, error, BAD_FORMAT,
                     "'rope_freqs.weight' holds %g, which cannot be", (double)factor);
    }
    return HONE_OK;
}

static hone_status load_all(loader *load, hone_error *error) {
    hone_model *const model = load->model;
    const hone_model_config *const c = &model->config;
    if (!load->again) {
        HONE_TRY(load_rope_factors(model, load->gguf, error));
        HONE_TRY(check_known(model, load->gguf, error));
        HONE_TRY(HONE_NEW_ARRAY(&model->blocks, (size_t)c->layers, "the model's blocks", error));
    }
    HONE_TRY(load_weight(load, "token_embd.weight", c->vocabulary, c->width, &model->embedding, error));
    if (!c->tied) {
        if (!load->again) model->config.layer_parameters = 0; // an untied table is looked up, not multiplied
        HONE_TRY(load_weight(load, "output.weight", c->vocabulary, c->width, &model->head, error));
    }
    HONE_TRY(load_weight(load, "output_norm.weight", 1, c->width, &model->output_norm, error));
    for (int64_t layer = 0; layer < c->layers; layer++) HONE_TRY(load_block(load, layer, error));
    return HONE_OK;
}

hone_status hone_weights_load(hone_model *model, const hone_gguf *gguf, hone_error *error) {
    XXH64_state_t hash;
    XXH64_reset(&hash, 0);
    XXH64_update(&hash, &model->config, sizeof(model->config));
    loader load = {.model = model, .gguf = gguf, .hash = &hash};
    const hone_status status = load_all(&load, error);
    hone_free(load.slab);
    hone_free(load.staging);
    model->config.file_hash = XXH64_digest(&hash);
    return status;
}

hone_status hone_weights_reload(hone_model *model, const hone_gguf *gguf, hone_error *error) {
    XXH64_state_t hash;
    hone_model_config now;
    memset(&now, 0, sizeof(now)); // gaps between its members are hashed too
    HONE_TRY(hone_config_read(gguf, &now, error));
    XXH64_reset(&hash, 0);
    XXH64_update(&hash, &now, sizeof(now));
    HONE_FAIL_IF(now.layers != model->config.layers || now.tied != model->config.tied, error, MISMATCH,
                 "the file is not the one that was loaded");
    loader load = {.model = model, .gguf = gguf, .hash = &hash, .again = true};
    const hone_status status = load_all(&load, error);
    hone_free(load.slab);
    hone_free(load.staging);
    HONE_TRY(status);
    HONE_FAIL_IF(XXH64_digest(&hash) != model->config.file_hash, error, MISMATCH,
                 "the file is not the one that was loaded");
    return HONE_OK;
}

void hone_weights_free(hone_model *model) {
    hone_buffer_destroy(model->embedding.buffer);
    hone_buffer_destroy(model->output_norm.buffer);
    hone_buffer_destroy(model->head.buffer);
    for (int64_t layer = 0; layer < model->config.layers && model->blocks; layer++) {
        hone_llama_block *const block = &model->blocks[layer];
        hone_buffer_destroy(block->attention_norm.buffer);
        hone_buffer_destroy(block->inner_norm.buffer);
        for (int m = 0; m < HONE_BLOCK_MATRICES; m++) hone_buffer_destroy(block->matrices[m].buffer);
    }
    hone_free(model->blocks);
    hone_free(model->rope_factors);
}

// --- into graphs ---------------------------------------------------------------------------------------------------

typedef struct code_values {
    hone_value codes, scales, minimums;
} code_values;

static code_values declare_codes(hone_graph *graph, const hone_weight *w) {
    const bool four = w->layout.format == HONE_CODES_4;
    const hone_tensor_type codes =
        hone_type(four ? HONE_DTYPE_U8 : HONE_DTYPE_I8, 2, w->rows, four ? w->columns / 2 : w->columns);
    const hone_tensor_type scales = hone_type(w->layout.scale_dtype, 2, w->columns / w->layout.group, w->rows);
    code_values values = {hone_graph_constant(graph, w->name, codes, w->buffer, 0),
                          hone_graph_constant(graph, w->name, scales, w->buffer, w->scales),
                          {0}};
    if (w->layout.minimums) values.minimums = hone_graph_constant(graph, w->name, scales, w->buffer, w->minimums);
    return values;
}

static hone_argument optional(hone_value value) {
    return value.id ? HONE_T(value) : HONE_NO;
}

hone_value hone_weight_constant(hone_graph *graph, const hone_weight *w) {
    const hone_tensor_type type =
        w->rows == 1 ? hone_type(w->dtype, 1, w->columns) : hone_type(w->dtype, 2, w->rows, w->columns);
    return hone_graph_constant(graph, w->name, type, w->buffer, 0);
}

static hone_value dense_linear(hone_graph *graph, const hone_weight *w, hone_value x, hone_value base,
                               const hone_added *added) {
    const hone_value weight = hone_weight_constant(graph, w);
    hone_value y = base.id ? hone_emit(graph, "hone::linear_add", HONE_T(base), HONE_T(x), HONE_T(weight))
                           : hone_emit(graph, "aten::linear", HONE_T(x), HONE_T(weight));
    if (added)
        y = hone_emit(graph, "hone::linear_add", HONE_T(y), HONE_T(added->low), HONE_T(added->up),
                      HONE_R(added->factor));
    return y;
}

hone_value hone_weight_linear(hone_graph *graph, const hone_weight *w, hone_value x, hone_value base,
                              const hone_added *added) {
    if (w->layout.format == HONE_CODES_NONE) return dense_linear(graph, w, x, base, added);
    const code_values c = declare_codes(graph, w);
    return hone_emit(graph, "hone::linear_lora", HONE_T(x), HONE_T(c.codes), HONE_T(c.scales), optional(c.minimums),
                     HONE_I(w->layout.group), optional(base), added ? HONE_T(added->low) : HONE_NO,
                     added ? HONE_T(added->up) : HONE_NO, HONE_R(added ? added->factor : 1));
}

hone_value hone_weight_rows(hone_graph *graph, const hone_weight *w, hone_value indices) {
    if (w->layout.format == HONE_CODES_NONE)
        return hone_emit(graph, "aten::embedding", HONE_T(hone_weight_constant(graph, w)), HONE_T(indices));
    const code_values c = declare_codes(graph, w);
    return hone_emit(graph, w->layout.format == HONE_CODES_8 ? "hone::embedding_q8gsw" : "hone::embedding_q4gswm",
                     HONE_T(c.codes), HONE_T(c.scales), optional(c.minimums), HONE_T(indices), HONE_I(w->layout.group));
}

hone_status hone_rope_tables_declare(const hone_model *model, int64_t positions, hone_buffer **out,
                                     size_t *sines_offset, hone_error *error) {
    *sines_offset = aligned((size_t)positions * (size_t)(model->config.rope_columns / 2) * sizeof(float));
    return hone_buffer_declare(model->device, 2 * *sines_offset, "rotary tables", out, error);
}

hone_status hone_rope_tables_fill(const hone_model *model, int64_t positions, hone_buffer *tables, hone_error *error) {
    const hone_model_config *const c = &model->config;
    const int64_t half = c->rope_columns / 2;
    const size_t table = hone_buffer_bytes(tables) / 2;
    float *values;
    HONE_TRY(hone_buffer_commit(tables, "rotary tables", error));
    if (model->device->counts_only) return HONE_OK;
    HONE_TRY(hone_allocate(2, table, "rotary tables", (void **)&values, error));
    float *const sines = values + table / sizeof(float);
    for (int64_t i = 0; i < half; i++) {
        double frequency = pow(c->rope_base, -2.0 * (double)i / (double)c->rope_columns) / c->rope_scale;
        if (model->rope_factors) frequency /= (double)model->rope_factors[i];
        for (int64_t p = 0; p < positions; p++) {
            values[p * half + i] = (float)cos((double)p * frequency);
            sines[p * half + i] = (float)sin((double)p * frequency);
        }
    }
    const hone_status status = hone_buffer_upload(tables, 0, values, 2 * table, error);
    hone_free(values);
    return status;
}
