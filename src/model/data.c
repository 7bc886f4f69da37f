// SPDX-License-Identifier: Apache-2.0
// The public face of data sets and tokens: the model's own tokenizer, its context as the limit.
#include <hone/data.h>

#include "model/model.h"
#include "text/dataset.h"

hone_status hone_data_open(hone_model *model, const char *path, const hone_data_options *options, hone_dataset **out,
                           hone_error *error) {
    *out = NULL;
    const hone_data_options o = options ? *options : (hone_data_options){0};
    const hone_dataset_options scan = {
        .sequence = o.sequence ? o.sequence : (size_t)model->config.context,
        .chat_format = o.chat_format,
        .loss = o.loss_all ? HONE_LOSS_ALL : HONE_LOSS_DEFAULT,
        .replace_invalid = o.replace_invalid,
        .vocabulary = model->config.vocabulary,
    };
    return hone_dataset_scan(path, model->tokenizer, &scan, out, error);
}

void hone_data_close(hone_dataset *data) {
    hone_dataset_destroy(data);
}

hone_data_counts hone_data_count(const hone_dataset *data) {
    const hone_dataset_statistics *const s = &data->statistics;
    return (hone_data_counts){s->rows, s->used, s->tokens, s->supervised, s->truncated};
}

hone_status hone_tokens_encode(hone_model *model, const char *text, size_t length, bool special, int32_t **ids,
                               size_t *count, hone_error *error) {
    *ids = NULL;
    *count = 0;
    hone_ids list = {0};
    const unsigned flags = HONE_ENCODE_BOS | (special ? HONE_ENCODE_SPECIAL : 0);
    const hone_status status = hone_tokenizer_encode(model->tokenizer, text, length, flags, &list, error);
    if (status != HONE_OK) {
        hone_ids_clear(&list);
        return status;
    }
    *ids = list.items;
    *count = list.count;
    return HONE_OK;
}

void hone_tokens_free(int32_t *ids) {
    hone_free(ids);
}

const char *hone_token_bytes(const hone_model *model, int32_t id, size_t *length) {
    const hone_gguf_string text = hone_tokenizer_text(model->tokenizer, id);
    *length = text.length;
    return text.bytes;
}

bool hone_token_is_end(const hone_model *model, int32_t id) {
    return hone_tokenizer_is_end(model->tokenizer, id);
}
