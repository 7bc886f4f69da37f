// SPDX-License-Identifier: Apache-2.0
// Adapters in llama.cpp's layout: a stored one reproduced byte for byte, the embedding's own order, scales, refusals.
#include "support/scratch.h"

#include <math.h>

#include "formats/adapter.h"
#include "formats/gguf.h"

static void fill(hone_adapter_entry *entry, float from) {
    for (int64_t i = 0; i < entry->rank * entry->n_in; i++) entry->a[i] = from + (float)i;
    for (int64_t i = 0; i < entry->n_out * entry->rank; i++) entry->b[i] = -from - (float)i / 4;
}

static hone_adapter *make(bool rank_stabilised) {
    hone_adapter *adapter = NULL;
    hone_adapter_entry *entry = NULL;
    OK(hone_adapter_create("llama", "SmolLM2", "xxh64:1234", &adapter, &why));
    adapter->alpha = 16;
    adapter->has_alpha = true;
    adapter->rank_stabilised = rank_stabilised;
    OK(hone_adapter_add(adapter, "blk.0.attn_q.weight", 4, 6, 8, &entry, &why));
    fill(entry, 1);
    OK(hone_adapter_add(adapter, "blk.1.ffn_down.weight", 2, 5, 3, &entry, &why));
    fill(entry, 100);
    OK(hone_adapter_add(adapter, "token_embd.weight", 2, 6, 10, &entry, &why));
    fill(entry, 200);
    return adapter;
}

static void same_values(const float *a, const float *b, int64_t count) {
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
}

static void a_stored_adapter_comes_out_byte_for_byte(void **state) {
    (void)state;
    char path[4200];
    if (!scratch_reference("lora_init.gguf", path, sizeof path)) return;
    const size_t held = scratch_held();
    hone_adapter *adapter = NULL;
    OK(hone_adapter_read_gguf(path, &adapter, &why));
    assert_int_equal(adapter->count, 210);
    assert_string_equal(adapter->architecture, "llama");
    assert_null(adapter->base_name);
    assert_true(adapter->alpha == 16);
    const hone_adapter_entry *const k = hone_adapter_find(adapter, "blk.29.attn_k.weight");
    assert_int_equal(k->rank, 8);
    assert_int_equal(k->n_in, 576);
    assert_int_equal(k->n_out, 192);
    assert_true(hone_adapter_scale(adapter, k) == 2);
    assert_null(hone_adapter_find(adapter, "blk.30.attn_k.weight"));
    OK(hone_adapter_write_gguf("copy.gguf", adapter, &why));
    size_t size = 0;
    size_t copy_size = 0;
    uint8_t *const bytes = scratch_read(path, &size);
    uint8_t *const copy = scratch_read("copy.gguf", &copy_size);
    assert_int_equal(copy_size, size);
    assert_true(memcmp(copy, bytes, size) == 0);
    free(copy);
    free(bytes);
    hone_adapter_destroy(adapter);
    assert_int_equal(unlink("copy.gguf"), 0);
    assert_int_equal(scratch_held(), held);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    hone_adapter *const adapter = make(false);
    hone_adapter *back = NULL;
    OK(hone_adapter_write_gguf("a.gguf", adapter, &why));
    OK(hone_adapter_read_gguf("a.gguf", &back, &why));
    assert_string_equal(back->base_name, "SmolLM2");
    assert_string_equal(back->base_hash, "xxh64:1234");
    assert_int_equal(back->count, 3);
    for (size_t i = 0; i < 3; i++) {
        const hone_adapter_entry *const one = &adapter->entries[i];
        const hone_adapter_entry *const other = &back->entries[i];
        assert_string_equal(one->name, other->name);
        assert_int_equal(one->rank, other->rank);
        assert_int_equal(one->n_in, other->n_in);
        assert_int_equal(one->n_out, other->n_out);
        same_values(one->a, other->a, one->rank * one->n_in);
        same_values(one->b, other->b, one->n_out * one->rank);
    }
    hone_adapter_destroy(back);
    hone_adapter_destroy(adapter);
    assert_int_equal(unlink("a.gguf"), 0);
}

// lora_a of the embedding has a row for each token, lora_b one for each element of the embedding.
static void the_embedding_has_its_own_order(void **state) {
    (void)state;
    hone_adapter *const adapter = make(false);
    const hone_adapter_entry *const entry = hone_adapter_find(adapter, "token_embd.weight");
    hone_gguf *gguf = NULL;
    OK(hone_adapter_write_gguf("e.gguf", adapter, &why));
    OK(hone_gguf_open("e.gguf", &gguf, &why));
    const hone_gguf_tensor *const a = hone_gguf_find_tensor(gguf, "token_embd.weight.lora_a");
    const hone_gguf_tensor *const b = hone_gguf_find_tensor(gguf, "token_embd.weight.lora_b");
    assert_int_equal(a->dims[0], 10); // vocabulary
    assert_int_equal(a->dims[1], 2);
    assert_int_equal(b->dims[0], 6); // width
    assert_int_equal(b->dims[1], 2);
    float a_values[10][2];
    float b_values[6][2];
    OK(hone_gguf_read_floats(gguf, a, a_values[0], &why));
    OK(hone_gguf_read_floats(gguf, b, b_values[0], &why));
    for (int token = 0; token < 10; token++) {
        for (int element = 0; element < 6; element++) {
            float looked_up = 0;
            float change = 0;
            for (int r = 0; r < 2; r++) {
                looked_up += a_values[token][r] * b_values[element][r];
                change += entry->b[token * 2 + r] * entry->a[r * 6 + element];
            }
            assert_true(looked_up == change);
        }
    }
    hone_gguf_close(gguf);
    hone_adapter_destroy(adapter);
    assert_int_equal(unlink("e.gguf"), 0);
}

static void rank_stabilised_scales_survive(void **state) {
    (void)state;
    hone_adapter *const adapter = make(true);
    hone_adapter *back = NULL;
    OK(hone_adapter_write_gguf("r.gguf", adapter, &why));
    OK(hone_adapter_read_gguf("r.gguf", &back, &why));
    assert_false(back->rank_stabilised);
    assert_true(back->alpha == 32); // 16 * sqrt(4)
    for (size_t i = 0; i < 3; i++) {
        const hone_adapter_entry *const one = &adapter->entries[i];
        const hone_adapter_entry *const other = &back->entries[i];
        assert_true(fabs(hone_adapter_scale(adapter, one) - 16 / sqrt((double)one->rank)) < 1e-12);
        for (int64_t j = 0; j < one->n_out * one->rank; j++) {
            const double wanted = hone_adapter_scale(adapter, one) * (double)one->b[j];
            const double got = hone_adapter_scale(back, other) * (double)other->b[j];
            assert_true(fabs(wanted - got) <= 1e-6 * fabs(wanted));
        }
    }
    hone_adapter_destroy(back);
    hone_adapter_destroy(adapter);
    assert_int_equal(unlink("r.gguf"), 0);
}

static void says(hone_status status, hone_status wanted, const hone_error *error, const char *words) {
    if (status != wanted) fail_msg("%s instead of '%s': %s", hone_status_name(status), words, error->message);
    if (!strstr(error->message, words)) fail_msg("'%s' does not say '%s'", error->message, words);
}

static void nothing_bad_is_written(void **state) {
    (void)state;
    hone_error error = {0};
    hone_adapter *adapter = make(false);
    hone_adapter_entry *entry = NULL;
    const hone_status added = hone_adapter_add(adapter, "rope_freqs.weight", 1, 1, 1, &entry, &error);
    says(added, HONE_UNSUPPORTED, &error, "rotary frequencies");
    says(hone_adapter_add(adapter, "x", 0, 1, 1, &entry, &error), HONE_INVALID_ARGUMENT, &error, "rank 0");
    says(hone_adapter_add(adapter, "x", 1, INT64_MAX, INT64_MAX, &entry, &error), HONE_OUT_OF_MEMORY, &error, "memory");
    assert_int_equal(adapter->count, 3);
    adapter->entries[1].b[2] = NAN;
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_NOT_FINITE, &error, "blk.1.ffn_down.weight");
    adapter->entries[1].b[2] = 0;
    adapter->entries[0].a[0] = -INFINITY;
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_NOT_FINITE, &error, "blk.0.attn_q.weight");
    adapter->entries[0].a[0] = 0;
    adapter->alpha = 0;
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_BAD_FORMAT, &error, "no scale");
    adapter->alpha = NAN;
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_BAD_FORMAT, &error, "no scale");
    adapter->has_alpha = false;
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_BAD_FORMAT, &error, "no alpha");
    hone_adapter_destroy(adapter);
    OK(hone_adapter_create(NULL, NULL, NULL, &adapter, &why));
    adapter->alpha = 1;
    adapter->has_alpha = true;
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_BAD_FORMAT, &error, "no tensors");
    OK(hone_adapter_add(adapter, "x", 1, 1, 1, &entry, &why));
    says(hone_adapter_write_gguf("n.gguf", adapter, &error), HONE_INVALID_ARGUMENT, &error, "architecture");
    hone_adapter_destroy(adapter);
    hone_adapter_destroy(NULL);
    assert_int_equal(scratch_count("."), 0);
}

typedef struct forged {
    const char *type;
    const char *kind;
    float alpha; // 0: no key
    const char *first;
    int64_t first_dims[2];
    const char *second; // NULL: none
    int64_t second_dims[2];
    hone_status status;
    const char *words;
} forged;

static void forge(const forged *from) {
    hone_gguf_writer *writer = NULL;
    const float values[64] = {0};
    OK(hone_gguf_writer_create("f.gguf", &writer, &why));
    OK(hone_gguf_put_text(writer, "general.architecture", "llama", &why));
    if (from->type) OK(hone_gguf_put_text(writer, "general.type", from->type, &why));
    OK(hone_gguf_put_text(writer, "adapter.type", from->kind, &why));
    if (from->alpha != 0) OK(hone_gguf_put_f32(writer, "adapter.lora.alpha", from->alpha, &why));
    OK(hone_gguf_put_tensor(writer, from->first, HONE_BLOCK_F32, 2, from->first_dims, &why));
    if (from->second) OK(hone_gguf_put_tensor(writer, from->second, HONE_BLOCK_F32, 2, from->second_dims, &why));
    OK(hone_gguf_put_data(writer, values, (size_t)(from->first_dims[0] * from->first_dims[1]) * 4, &why));
    if (from->second) {
        OK(hone_gguf_put_data(writer, values, (size_t)(from->second_dims[0] * from->second_dims[1]) * 4, &why));
    }
    OK(hone_gguf_writer_commit(&writer, &why));
}

static void foreign_files_are_refused_with_a_reason(void **state) {
    (void)state;
    const forged cases[] = {
        {"adapter", "lora", 16, "x.lora_a", {2, 4}, "x.lora_b", {3, 2}, HONE_OK, ""},
        {"adapter", "lora", 16, "x.lora_b", {3, 2}, "x.lora_a", {2, 4}, HONE_OK, ""},
        {"model", "lora", 16, "x.lora_a", {2, 4}, "x.lora_b", {3, 2}, HONE_MISMATCH, "is 'model'"},
        {NULL, "lora", 16, "x.lora_a", {2, 4}, "x.lora_b", {3, 2}, HONE_BAD_FORMAT, "no key 'general.type'"},
        {"adapter", "control", 16, "x.lora_a", {2, 4}, "x.lora_b", {3, 2}, HONE_MISMATCH, "'control'"},
        {"adapter", "lora", 0, "x.lora_a", {2, 4}, "x.lora_b", {3, 2}, HONE_BAD_FORMAT, "no alpha"},
        {"adapter", "lora", -1, "x.lora_a", {2, 4}, "x.lora_b", {3, 2}, HONE_BAD_FORMAT, "alpha is -1"},
        {"adapter", "lora", 16, "x.lora_a", {2, 4}, "x.lora_b", {3, 4}, HONE_BAD_FORMAT, "does not fit together"},
        {"adapter", "lora", 16, "x.lora_a", {0, 4}, "x.lora_b", {3, 0}, HONE_BAD_FORMAT, "does not fit together"},
        {"adapter", "lora", 16, "x.lora_a", {2, 4}, NULL, {0, 0}, HONE_BAD_FORMAT, "no partner 'x.lora_b'"},
        {"adapter", "lora", 16, "x.lora_b", {2, 4}, NULL, {0, 0}, HONE_BAD_FORMAT, "no partner 'x.lora_a'"},
        {"adapter", "lora", 16, "x.lora_a", {2, 4}, "x.norm", {3, 2}, HONE_BAD_FORMAT, "no partner"},
        {"adapter", "lora", 16, "x.norm", {2, 4}, NULL, {0, 0}, HONE_UNSUPPORTED, "neither a lora_a nor a lora_b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge(&cases[i]);
        const size_t held = scratch_held();
        hone_error error = {0};
        hone_adapter *adapter = NULL;
        says(hone_adapter_read_gguf("f.gguf", &adapter, &error), cases[i].status, &error, cases[i].words);
        hone_adapter_destroy(adapter);
        assert_int_equal(scratch_held(), held);
    }
    assert_int_equal(unlink("f.gguf"), 0);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hone_adapter *const adapter = make(true);
    const size_t held = scratch_held();
    hone_status status = HONE_PENDING;
    for (uint64_t n = 0; status != HONE_OK; n++) {
        hone_memory_fail_after(n, false);
        status = hone_adapter_write_gguf("m.gguf", adapter, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        assert_true(status == HONE_OK || status == HONE_OUT_OF_MEMORY);
        if (status != HONE_OK) unlink("m.gguf");
    }
    status = HONE_PENDING;
    for (uint64_t n = 0; status != HONE_OK; n++) {
        hone_adapter *back = NULL;
        hone_memory_fail_after(n, false);
        status = hone_adapter_read_gguf("m.gguf", &back, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        hone_adapter_destroy(back);
        assert_int_equal(scratch_held(), held);
        assert_true(status == HONE_OK || status == HONE_OUT_OF_MEMORY);
    }
    hone_adapter_destroy(adapter);
    assert_int_equal(unlink("m.gguf"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_adapter_comes_out_byte_for_byte),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_embedding_has_its_own_order),
        cmocka_unit_test(rank_stabilised_scales_survive),
        cmocka_unit_test(nothing_bad_is_written),
        cmocka_unit_test(foreign_files_are_refused_with_a_reason),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
