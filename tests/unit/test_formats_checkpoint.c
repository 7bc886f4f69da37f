// SPDX-License-Identifier: Apache-2.0
// state.hone: written and read back; every byte flipped, cut at every length, a full disk at every byte, no memory.
#include "support/scratch.h"

#include "formats/checkpoint.h"
#include "formats/hash.h"

static float values[2][3] = {{1, -2, 3.5f}, {0, 1e-40f, 6}};
static const uint8_t raw[5] = {0, 1, 2, 255, 0};

static hone_status put_all(hone_checkpoint_writer *writer, hone_error *error) {
    const hone_tensor matrix = {hone_type(HONE_DTYPE_F32, 2, (int64_t)2, (int64_t)3), values};
    const hone_tensor scalar = {hone_type(HONE_DTYPE_F32, 0), &values[0][2]};
    const hone_tensor empty = {hone_type(HONE_DTYPE_F32, 2, (int64_t)0, (int64_t)3), NULL};
    hone_status status = hone_checkpoint_put_u64(writer, "step", 12345678901234, error);
    if (status == HONE_OK) status = hone_checkpoint_put_f64(writer, "loss", 0.1, error);
    if (status == HONE_OK) status = hone_checkpoint_put_text(writer, "base", "SmolLM2", error);
    if (status == HONE_OK) status = hone_checkpoint_put_text(writer, "nothing", "", error);
    if (status == HONE_OK) status = hone_checkpoint_put_bytes(writer, "raw", raw, sizeof raw, error);
    if (status == HONE_OK) status = hone_checkpoint_put_bytes(writer, "no bytes", NULL, 0, error);
    if (status == HONE_OK) status = hone_checkpoint_put_tensor(writer, "matrix", &matrix, error);
    if (status == HONE_OK) status = hone_checkpoint_put_tensor(writer, "scalar", &scalar, error);
    if (status == HONE_OK) status = hone_checkpoint_put_tensor(writer, "empty", &empty, error);
    return status;
}

static hone_status write_sample(const char *path, hone_error *error) {
    hone_checkpoint_writer *writer = NULL;
    hone_status status = hone_checkpoint_create(path, &writer, error);
    if (status != HONE_OK) return status;
    status = put_all(writer, error);
    if (status == HONE_OK) return hone_checkpoint_commit(&writer, error);
    hone_checkpoint_abandon(&writer);
    return status;
}

static hone_status read_bytes(const void *bytes, size_t size, hone_checkpoint **out, hone_error *error) {
    hone_source *source = NULL;
    *out = NULL;
    const hone_status status = hone_memory_source(bytes, size, "state.hone", &source, error);
    if (status != HONE_OK) return status;
    const hone_status read = hone_checkpoint_read(source, out, error);
    hone_source_close(&source);
    return read;
}

static uint8_t *sample(size_t *size) {
    OK(write_sample("sample.hone", &why));
    uint8_t *const bytes = scratch_read("sample.hone", size);
    assert_int_equal(unlink("sample.hone"), 0);
    return bytes;
}

static void what_is_written_is_read(void **state) {
    (void)state;
    const size_t held = scratch_held();
    hone_checkpoint *checkpoint = NULL;
    OK(write_sample("a.hone", &why));
    OK(hone_checkpoint_open("a.hone", &checkpoint, &why));
    assert_int_equal(checkpoint->count, 9);
    uint64_t step = 0;
    double loss = 0;
    const char *text = NULL;
    OK(hone_checkpoint_u64(checkpoint, "step", &step, &why));
    assert_true(step == 12345678901234);
    OK(hone_checkpoint_f64(checkpoint, "loss", &loss, &why));
    assert_true(loss == 0.1);
    OK(hone_checkpoint_text(checkpoint, "base", &text, &why));
    assert_string_equal(text, "SmolLM2");
    OK(hone_checkpoint_text(checkpoint, "nothing", &text, &why));
    assert_string_equal(text, "");
    const hone_section *section = hone_checkpoint_find(checkpoint, "raw", HONE_SECTION_BYTES);
    assert_int_equal(section->bytes, sizeof raw);
    assert_memory_equal(section->data, raw, sizeof raw);
    assert_int_equal(hone_checkpoint_find(checkpoint, "no bytes", HONE_SECTION_BYTES)->bytes, 0);
    assert_null(hone_checkpoint_find(checkpoint, "raw", HONE_SECTION_TEXT));
    assert_null(hone_checkpoint_find(checkpoint, "ra", HONE_SECTION_BYTES));
    section = hone_checkpoint_find(checkpoint, "matrix", HONE_SECTION_TENSOR);
    float back[2][3] = {0};
    OK(hone_checkpoint_tensor(checkpoint, "matrix", &section->type, back[0], &why));
    assert_memory_equal(back, values, sizeof values);
    const hone_tensor_type scalar = hone_type(HONE_DTYPE_F32, 0);
    OK(hone_checkpoint_tensor(checkpoint, "scalar", &scalar, back[0], &why));
    assert_true(back[0][0] == 3.5f);
    hone_error error = {0};
    assert_int_equal(hone_checkpoint_tensor(checkpoint, "matrix", &scalar, back[0], &error), HONE_MISMATCH);
    assert_non_null(strstr(error.message, "f32[2,3]"));
    assert_int_equal(hone_checkpoint_u64(checkpoint, "loss", &step, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "no whole number called 'loss'"));
    hone_checkpoint_close(checkpoint);
    hone_checkpoint_close(NULL);
    assert_int_equal(unlink("a.hone"), 0);
    assert_int_equal(scratch_held(), held);
}

static void an_empty_state_is_one(void **state) {
    (void)state;
    hone_checkpoint_writer *writer = NULL;
    hone_checkpoint *checkpoint = NULL;
    OK(hone_checkpoint_create("e.hone", &writer, &why));
    OK(hone_checkpoint_commit(&writer, &why));
    OK(hone_checkpoint_open("e.hone", &checkpoint, &why));
    assert_int_equal(checkpoint->count, 0);
    assert_null(hone_checkpoint_find(checkpoint, "x", HONE_SECTION_U64));
    hone_checkpoint_close(checkpoint);
    assert_int_equal(unlink("e.hone"), 0);
}

static void the_writer_refuses_mistakes(void **state) {
    (void)state;
    hone_checkpoint_writer *writer = NULL;
    const hone_tensor halves = {hone_type(HONE_DTYPE_F16, 0), values};
    OK(hone_checkpoint_create("m.hone", &writer, &why));
    OK(hone_checkpoint_put_u64(writer, "a", 1, &why));
    assert_int_equal(hone_checkpoint_put_f64(writer, "a", 1, NULL), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_checkpoint_put_tensor(writer, "t", &halves, NULL), HONE_UNSUPPORTED);
    hone_checkpoint_abandon(&writer);
    assert_null(writer);
    hone_checkpoint_abandon(&writer);
    assert_int_equal(scratch_count("."), 0);
}

static void every_flipped_bit_is_noticed(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *const bytes = sample(&size);
    const size_t held = scratch_held();
    hone_checkpoint *checkpoint = NULL;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        hone_error error = {0};
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const hone_status status = read_bytes(bytes, size, &checkpoint, &error);
        if (status != HONE_BAD_FORMAT) fail_msg("bit %zu: %s", bit, hone_status_name(status));
        assert_non_null(strstr(error.message, "'state.hone'"));
        assert_int_equal(scratch_held(), held);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    OK(read_bytes(bytes, size, &checkpoint, &why));
    hone_checkpoint_close(checkpoint);
    free(bytes);
}

static void every_cut_is_noticed(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *const bytes = sample(&size);
    const size_t held = scratch_held();
    hone_checkpoint *checkpoint = NULL;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *const copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        assert_int_equal(read_bytes(copy, cut, &checkpoint, NULL), HONE_BAD_FORMAT);
        assert_int_equal(scratch_held(), held);
        free(copy);
    }
    // Grown, and with its tail lost to zeros as after a crash.
    uint8_t *const longer = calloc(1, size + 16);
    memcpy(longer, bytes, size);
    assert_int_equal(read_bytes(longer, size + 8, &checkpoint, NULL), HONE_BAD_FORMAT);
    assert_int_equal(read_bytes(longer, size + 16, &checkpoint, NULL), HONE_BAD_FORMAT);
    for (size_t lost = 1; lost < size; lost++) {
        memset(longer + size - lost, 0, lost);
        assert_int_equal(read_bytes(longer, size, &checkpoint, NULL), HONE_BAD_FORMAT);
    }
    free(longer);
    free(bytes);
}

// Sections whose hashes hold but whose sizes lie, as only a hostile file has them.
static void right_hashes_do_not_help_a_liar(void **state) {
    (void)state;
    const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, UINT64_C(1) << 60, 1000, 9, 0};
    for (size_t field = 0; field < 3; field++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t size = 0;
            uint8_t *const bytes = sample(&size);
            const size_t at = 8 + field * 8;   // kind and name, data, dimensions of the first section
            if (field == 2 && sizes[i] == 0) { // that one is the truth
                free(bytes);
                continue;
            }
            memcpy(bytes + at, &sizes[i], sizeof sizes[i]);
            // The first section is "step": header 24, name 8, data 16, hash.
            const uint64_t section = hone_hash_of(bytes + 8, 48);
            memcpy(bytes + 56, &section, sizeof section);
            const uint64_t whole = hone_hash_of(bytes, size - 8);
            memcpy(bytes + size - 8, &whole, sizeof whole);
            hone_checkpoint *checkpoint = NULL;
            assert_int_equal(read_bytes(bytes, size, &checkpoint, NULL), HONE_BAD_FORMAT);
            free(bytes);
        }
    }
}

static void newer_versions_are_named(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *const bytes = sample(&size);
    bytes[4] = 2;
    const uint64_t whole = hone_hash_of(bytes, size - 8);
    memcpy(bytes + size - 8, &whole, sizeof whole);
    hone_checkpoint *checkpoint = NULL;
    hone_error error = {0};
    assert_int_equal(read_bytes(bytes, size, &checkpoint, &error), HONE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "version 2"));
    free(bytes);
}

static void a_full_disk_keeps_the_old_state(void **state) {
    (void)state;
    hone_checkpoint_writer *writer = NULL;
    OK(hone_checkpoint_create("k.hone", &writer, &why));
    OK(hone_checkpoint_put_u64(writer, "old", 1, &why));
    OK(hone_checkpoint_commit(&writer, &why));
    const size_t held = scratch_held();
    for (uint64_t bytes = 0;; bytes++) {
        hone_output_fail_after(bytes);
        const hone_status status = write_sample("k.hone", NULL);
        hone_output_fail_after(UINT64_MAX);
        assert_int_equal(scratch_held(), held);
        assert_int_equal(scratch_count("."), 1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_IO);
        hone_checkpoint *checkpoint = NULL;
        OK(hone_checkpoint_open("k.hone", &checkpoint, &why));
        assert_non_null(hone_checkpoint_find(checkpoint, "old", HONE_SECTION_U64));
        hone_checkpoint_close(checkpoint);
    }
    assert_int_equal(unlink("k.hone"), 0);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *const bytes = sample(&size);
    const size_t held = scratch_held();
    for (uint64_t n = 0;; n++) {
        hone_checkpoint *checkpoint = NULL;
        hone_memory_fail_after(n, false);
        const hone_status status = read_bytes(bytes, size, &checkpoint, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        hone_checkpoint_close(checkpoint);
        assert_int_equal(scratch_held(), held);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
    }
    for (uint64_t n = 0;; n++) {
        hone_memory_fail_after(n, false);
        const hone_status status = write_sample("w.hone", NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        unlink("w.hone");
        assert_int_equal(scratch_count("."), 0);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),     cmocka_unit_test(an_empty_state_is_one),
        cmocka_unit_test(the_writer_refuses_mistakes), cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(every_cut_is_noticed),        cmocka_unit_test(right_hashes_do_not_help_a_liar),
        cmocka_unit_test(newer_versions_are_named),    cmocka_unit_test(a_full_disk_keeps_the_old_state),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
