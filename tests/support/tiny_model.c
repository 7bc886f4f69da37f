// SPDX-License-Identifier: Apache-2.0
// Writes the small random model: description of the vocabulary, metadata, tensors.
#include "support/tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "formats/gguf.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_TENSORS  1024
#define MOST_TYPES    16
// The head's rows are longer than others': behind the last norm, the largest logit could else not stand out, and no loss
// could come near 0.
#define SHARPNESS 2.0f

static const char *const controls[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};

// Best first; each makes a token of its two halves joined. The sign in place of a space is the alphabet's
// own.
#define SPACE "\xC4\xA0"
static const char *const merges[] = {
    "t h",    "th e", "i n",        "a n", "e r",       "r e",       SPACE " the", SPACE " a",
    "o u",    "an d", SPACE " and", "o n", "i s",       "l l",       "h e",        "he ll",
    "hell o", "w o",  SPACE " wo",  "l o", SPACE " lo", SPACE " in", "in g",       SPACE " is",
};

static const char chat_template[] =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

typedef struct matrix {
    char name[64];
    hone_block_type type;
    int rank;
    int64_t dims[2]; // rank 1: the first only
    float deviation; // 0: a norm, near 1
} matrix;

typedef struct plan {
    tiny_model model; // with the defaults filled in
    hone_block_type types[MOST_TYPES];
    size_t type_count;
    size_t next_type;
    matrix tensors[MOST_TENSORS];
    size_t tensor_count;
} plan;

int tiny_model_vocabulary(void) {
    return (int)(LENGTH(controls) + 256 + LENGTH(merges));
}

static void fill_defaults(tiny_model *model) {
    if (!model->layers) model->layers = 2;
    if (!model->width) model->width = 64;
    if (!model->inner) model->inner = 2 * model->width;
    if (!model->heads) model->heads = 4;
    if (!model->kv_heads) model->kv_heads = model->heads >= 2 ? model->heads / 2 : 1;
    if (!model->context) model->context = 512;
    if (!model->types) model->types = TINY_MODEL_MIX;
    if (!model->architecture) model->architecture = "llama";
    if (!model->pre) model->pre = "smollm";
}

static hone_status parse_types(plan *p, hone_error *error) {
    const char *rest = p->model.types;
    while (*rest) {
        const size_t length = strcspn(rest, ",");
        const hone_block_layout *found = NULL;
#define MATCH(suffix, number, text, elements, bytes)                                                                   \
    if (length == strlen(text) && strncmp(rest, text, length) == 0) found = hone_block_find(number);
        HONE_BLOCK_LIST(MATCH)
#undef MATCH
        HONE_FAIL_IF(!found, error, INVALID_ARGUMENT, "there is no block type '%.*s'", (int)length, rest);
        HONE_FAIL_IF(p->type_count == MOST_TYPES, error, INVALID_ARGUMENT, "more than %d types", MOST_TYPES);
        p->types[p->type_count++] = found->type;
        rest += length + (rest[length] == ',');
    }
    HONE_FAIL_IF(p->type_count == 0, error, INVALID_ARGUMENT, "no block type is given");
    return HONE_OK;
}

static hone_status add_matrix(plan *p, const char *name, int64_t rows, int64_t columns, hone_error *error) {
    HONE_FAIL_IF(p->tensor_count == MOST_TENSORS, error, INVALID_ARGUMENT, "too many layers");
    const hone_block_type type = p->types[p->next_type++ % p->type_count];
    const hone_block_layout *const layout = hone_block_find(type);
    HONE_FAIL_IF(columns % layout->elements != 0, error, INVALID_ARGUMENT,
                 "%s: %lld columns are no multiple of %s's %d", name, (long long)columns, layout->name,
                 layout->elements);
    matrix *const m = &p->tensors[p->tensor_count++];
    *m = (matrix){.type = type, .rank = 2, .dims = {rows, columns}, .deviation = 1.0f / sqrtf((float)columns)};
    snprintf(m->name, sizeof m->name, "%s", name);
    return HONE_OK;
}

static hone_status add_norm(plan *p, const char *name, int64_t columns, hone_error *error) {
    HONE_FAIL_IF(p->tensor_count == MOST_TENSORS, error, INVALID_ARGUMENT, "too many layers");
    matrix *const m = &p->tensors[p->tensor_count++];
    *m = (matrix){.type = HONE_BLOCK_F32, .rank = 1, .dims = {columns}};
    snprintf(m->name, sizeof m->name, "%s", name);
    return HONE_OK;
}

static hone_status add_layer(plan *p, int layer, hone_error *error) {
    const tiny_model *const m = &p->model;
    const int64_t kv = (int64_t)m->width / m->heads * m->kv_heads;
    const struct {
        const char *name;
        int64_t rows, columns; // rows 0: a norm
    } parts[] = {
        {"attn_norm", 0, m->width},       {"attn_q", m->width, m->width},      {"attn_k", kv, m->width},
        {"attn_v", kv, m->width},         {"attn_output", m->width, m->width}, {"ffn_norm", 0, m->width},
        {"ffn_gate", m->inner, m->width}, {"ffn_up", m->inner, m->width},      {"ffn_down", m->width, m->inner},
    };
    for (size_t i = 0; i < LENGTH(parts); i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, parts[i].name);
        HONE_TRY(parts[i].rows ? add_matrix(p, name, parts[i].rows, parts[i].columns, error)
                               : add_norm(p, name, parts[i].columns, error));
    }
    return HONE_OK;
}

static hone_status plan_tensors(plan *p, hone_error *error) {
    const tiny_model *const m = &p->model;
    HONE_FAIL_IF(m->layers < 1 || m->heads < 1 || m->width % m->heads != 0 || m->width / m->heads % 2 != 0 ||
                     m->kv_heads < 1 || m->heads % m->kv_heads != 0,
                 error, INVALID_ARGUMENT, "%d layers of width %d with %d heads and %d key heads cannot be", m->layers,
                 m->width, m->heads, m->kv_heads);
    HONE_TRY(add_matrix(p, "token_embd.weight", tiny_model_vocabulary(), m->width, error));
    for (int i = 0; i < m->layers; i++) HONE_TRY(add_layer(p, i, error));
    HONE_TRY(add_norm(p, "output_norm.weight", m->width, error));
    p->tensors[0].deviation *= SHARPNESS;
    if (!m->untied) return HONE_OK;
    HONE_TRY(add_matrix(p, "output.weight", tiny_model_vocabulary(), m->width, error));
    p->tensors[p->tensor_count - 1].deviation *= SHARPNESS;
    return HONE_OK;
}

// --- the vocabulary
// -----------------------------------------------------------------------------------------------

// The printable character that stands for a byte: itself where it can be seen, else U+0100 and on, in order.
static uint32_t alphabet(int byte) {
    uint32_t hidden = 0;
    for (int b = 0; b <= byte; b++) {
        const bool seen = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (b == byte) return seen ? (uint32_t)b : 256 + hidden;
        hidden += !seen;
    }
    return 0;
}

static hone_status put_strings(hone_gguf_writer *writer, const char *key, const hone_gguf_string *strings, size_t count,
                               hone_error *error) {
    const hone_gguf_entry entry = {.key = {key, strlen(key)},
                                   .kind = HONE_GGUF_ARRAY,
                                   .element_kind = HONE_GGUF_STRING,
                                   .count = count,
                                   .elements = strings};
    return hone_gguf_put_entry(writer, &entry, error);
}

static hone_status put_tokens(hone_gguf_writer *writer, hone_error *error) {
    enum { COUNT = LENGTH(controls) + 256 + LENGTH(merges) };
    char texts[256 + LENGTH(merges)][32];
    hone_gguf_string tokens[COUNT];
    int32_t kinds[COUNT];
    size_t count = 0;
    for (; count < LENGTH(controls); count++) {
        tokens[count] = (hone_gguf_string){controls[count], strlen(controls[count])};
        kinds[count] = 3;
    }
    for (size_t i = 0; i < LENGTH(texts); i++, count++) {
        size_t length = 0;
        if (i < 256) {
            length = hone_utf8_encode(alphabet((int)i), texts[i]);
        } else {
            const char *const merge = merges[i - 256];
            const size_t left = strcspn(merge, " ");
            length = (size_t)snprintf(texts[i], sizeof texts[i], "%.*s%s", (int)left, merge, merge + left + 1);
        }
        tokens[count] = (hone_gguf_string){texts[i], length};
        kinds[count] = 1;
    }
    HONE_TRY(put_strings(writer, "tokenizer.ggml.tokens", tokens, count, error));
    const char *const key = "tokenizer.ggml.token_type";
    return hone_gguf_put_entry(writer,
                               &(hone_gguf_entry){.key = {key, strlen(key)},
                                                  .kind = HONE_GGUF_ARRAY,
                                                  .element_kind = HONE_GGUF_I32,
                                                  .count = count,
                                                  .elements = kinds},
                               error);
}

static hone_status put_vocabulary(hone_gguf_writer *writer, const tiny_model *m, hone_error *error) {
    HONE_TRY(hone_gguf_put_text(writer, "tokenizer.ggml.model", "gpt2", error));
    HONE_TRY(hone_gguf_put_text(writer, "tokenizer.ggml.pre", m->pre, error));
    HONE_TRY(put_tokens(writer, error));
    hone_gguf_string pairs[LENGTH(merges)];
    for (size_t i = 0; i < LENGTH(merges); i++) pairs[i] = (hone_gguf_string){merges[i], strlen(merges[i])};
    HONE_TRY(put_strings(writer, "tokenizer.ggml.merges", pairs, LENGTH(merges), error));
    HONE_TRY(hone_gguf_put_u32(writer, "tokenizer.ggml.bos_token_id", TINY_IM_START, error));
    HONE_TRY(hone_gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", TINY_IM_END, error));
    HONE_TRY(hone_gguf_put_u32(writer, "tokenizer.ggml.unknown_token_id", TINY_END_OF_TEXT, error));
    HONE_TRY(hone_gguf_put_u32(writer, "tokenizer.ggml.padding_token_id", TINY_IM_END, error));
    HONE_TRY(hone_gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", m->add_bos, error));
    if (m->no_template) return HONE_OK;
    return hone_gguf_put_text(writer, "tokenizer.chat_template", chat_template, error);
}

// --- metadata and tensors
// -----------------------------------------------------------------------------------------

static hone_status put_shape(hone_gguf_writer *writer, const tiny_model *m, hone_error *error) {
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"block_count", m->layers},
        {"context_length", m->context},
        {"embedding_length", m->width},
        {"feed_forward_length", m->inner},
        {"attention.head_count", m->heads},
        {"attention.head_count_kv", m->kv_heads},
        {"rope.dimension_count", m->width / m->heads},
        {"vocab_size", tiny_model_vocabulary()},
    };
    char key[128];
    HONE_TRY(hone_gguf_put_text(writer, "general.architecture", m->architecture, error));
    HONE_TRY(hone_gguf_put_text(writer, "general.name", "tiny random model", error));
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        snprintf(key, sizeof key, "%s.%s", m->architecture, numbers[i].name);
        HONE_TRY(hone_gguf_put_u32(writer, key, (uint32_t)numbers[i].value, error));
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", m->architecture);
    HONE_TRY(hone_gguf_put_f32(writer, key, 1e-5f, error));
    snprintf(key, sizeof key, "%s.rope.freq_base", m->architecture);
    return hone_gguf_put_f32(writer, key, 10000.0f, error);
}

static hone_status put_values(hone_gguf_writer *writer, const matrix *m, uint64_t seed, size_t index,
                              hone_error *error) {
    const size_t count = (size_t)(m->dims[0] * (m->rank == 2 ? m->dims[1] : 1));
    const hone_block_layout *const layout = hone_block_find(m->type);
    const size_t bytes = count / (size_t)layout->elements * (size_t)layout->bytes;
    float *values = NULL;
    void *blocks = NULL;
    hone_random random = hone_random_seed(seed, index);
    hone_status status = HONE_NEW_ARRAY(&values, count, "a tensor", error);
    if (status == HONE_OK) status = hone_allocate(bytes, 1, "a tensor", &blocks, error);
    for (size_t i = 0; status == HONE_OK && i < count; i++) {
        const float normal = hone_random_normal(&random);
        values[i] = m->deviation > 0 ? normal * m->deviation : 1.0f + 0.1f * normal;
    }
    if (status == HONE_OK) status = hone_block_encode(m->type, values, blocks, count, error);
    if (status == HONE_OK) status = hone_gguf_put_data(writer, blocks, bytes, error);
    hone_free(blocks);
    hone_free(values);
    return status;
}

static hone_status write_all(hone_gguf_writer *writer, const plan *p, hone_error *error) {
    HONE_TRY(put_shape(writer, &p->model, error));
    HONE_TRY(put_vocabulary(writer, &p->model, error));
    for (size_t i = 0; i < p->tensor_count; i++) {
        const matrix *const m = &p->tensors[i];
        HONE_TRY(hone_gguf_put_tensor(writer, m->name, m->type, m->rank, m->dims, error));
    }
    for (size_t i = 0; i < p->tensor_count; i++) {
        HONE_TRY(put_values(writer, &p->tensors[i], p->model.seed, i, error));
    }
    return HONE_OK;
}

static hone_status write_planned(const char *path, plan *p, hone_error *error) {
    HONE_TRY(parse_types(p, error));
    HONE_TRY(plan_tensors(p, error));
    hone_gguf_writer *writer = NULL;
    HONE_TRY(hone_gguf_writer_create(path, &writer, error));
    const hone_status status = write_all(writer, p, error);
    if (status == HONE_OK) return hone_gguf_writer_commit(&writer, error);
    hone_gguf_writer_abandon(&writer);
    return status;
}

hone_status tiny_model_write(const char *path, const tiny_model *model, hone_error *error) {
    plan *p = NULL;
    HONE_TRY(HONE_NEW(&p, "a small model", error));
    if (model) p->model = *model;
    fill_defaults(&p->model);
    const hone_status status = write_planned(path, p, error);
    hone_free(p);
    return status;
}
