// SPDX-License-Identifier: Apache-2.0
// Text from foreign bytes: what encodes must decode to the same bytes, with control tokens in it or not.
#include "fuzz/fuzz.h"
#include "fuzz/small_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_tokenizer *const tokenizer = small_tokenizer();
    for (unsigned flags = 0; flags <= HONE_ENCODE_SPECIAL; flags++) {
        hone_ids ids = {0};
        hone_text text = {0};
        hone_error error;
        const hone_status status = hone_tokenizer_encode(tokenizer, (const char *)data, size, flags, &ids, &error);
        if (status == HONE_OK) {
            if (hone_tokenizer_decode(tokenizer, ids.items, ids.count, 0, &text, &error) != HONE_OK) abort();
            if (text.length != size || (size && memcmp(text.bytes, data, size) != 0)) abort();
        } else if (status != HONE_BAD_DATA) {
            abort();
        }
        hone_ids_clear(&ids);
        hone_text_clear(&text);
    }
    return 0;
}
