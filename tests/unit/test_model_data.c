// SPDX-License-Identifier: Apache-2.0
// Data sets and tokens through the public headers alone.
#include <hone/hone.h>

#include "support/scratch.h"
#include "support/tiny_model.h"

static hone_device *device;
static hone_model *model;
static hone_error error;

static int enter(void **state) {
    return scratch_enter(state) || tiny_model_write("model.gguf", &(tiny_model){.seed = 1}, &error) != HONE_OK ||
           hone_device_open(NULL, &device, &error) != HONE_OK ||
           hone_model_open(device, "model.gguf", &model, &error) != HONE_OK;
}

static int leave(void **state) {
    hone_model_close(model);
    hone_device_close(device);
    unlink("model.gguf");
    return scratch_leave(state);
}

static void test_rows_are_counted(void **state) {
    (void)state;
    const char lines[] = "{\"prompt\":\"a\",\"completion\":\"bcd\"}\n"
                         "{\"messages\":[{\"role\":\"user\",\"content\":\"nothing to learn\"}]}\n";
    scratch_write("data.jsonl", lines, sizeof(lines) - 1);
    hone_dataset *data;
    if (hone_data_open(model, "data.jsonl", NULL, &data, &error) != HONE_OK) fail_msg("%s", error.message);
    const hone_data_counts counts = hone_data_count(data);
    assert_int_equal(counts.rows, 2);
    assert_int_equal(counts.used, 1);
    assert_int_equal(counts.supervised, 4); // three bytes and the end of the turn
    hone_data_close(data);
    if (hone_data_open(model, "data.jsonl", &(hone_data_options){.loss_all = true}, &data, &error) != HONE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(hone_data_count(data).used, 2);
    hone_data_close(data);
    scratch_write("data.jsonl", "{\n", 2);
    assert_int_equal(hone_data_open(model, "data.jsonl", NULL, &data, &error), HONE_BAD_DATA);
    assert_null(data);
    unlink("data.jsonl");
}

static void test_text_goes_to_tokens_and_back(void **state) {
    (void)state;
    int32_t *ids;
    size_t count;
    const char text[] = "hi<|im_end|>";
    assert_int_equal(hone_tokens_encode(model, text, sizeof(text) - 1, true, &ids, &count, &error), HONE_OK);
    assert_int_equal(ids[count - 1], TINY_IM_END);
    assert_true(hone_token_is_end(model, ids[count - 1]));
    char back[64] = "";
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *const bytes = hone_token_bytes(model, ids[i], &length);
        memcpy(back + at, bytes, length);
        at += length;
    }
    assert_string_equal(back, text);
    hone_tokens_free(ids);
    size_t length;
    assert_null(hone_token_bytes(model, 1 << 30, &length));
    assert_int_equal(length, 0);
    assert_int_equal(hone_tokens_encode(model, "\xff", 1, false, &ids, &count, &error), HONE_BAD_DATA);
    assert_null(ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_counted),
        cmocka_unit_test(test_text_goes_to_tokens_and_back),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
