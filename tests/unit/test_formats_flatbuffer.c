// SPDX-License-Identifier: Apache-2.0
// FlatBuffers by hand: what is read, defaults, shared field lists, and every way to point outside.
#include "support/scratch.h"

#include "formats/flatbuffer.h"

// root table at 20 with its fields at 8: u32 at +4, vector at +8, string at +12, child at +16; f64 absent.
typedef struct sample {
    uint8_t bytes[96];
} sample;

static void u16(sample *s, size_t at, uint16_t value) {
    memcpy(s->bytes + at, &value, sizeof value);
}
static void u32(sample *s, size_t at, uint32_t value) {
    memcpy(s->bytes + at, &value, sizeof value);
}

static sample make(void) {
    sample s = {0};
    u32(&s, 0, 20);
    memcpy(s.bytes + 4, "TEST", 4);
    const uint16_t fields[] = {12, 20, 4, 8, 12, 16};
    for (size_t i = 0; i < 6; i++) u16(&s, 8 + 2 * i, fields[i]);
    u32(&s, 20, 12); // back to 8
    u32(&s, 24, 77);
    u32(&s, 28, 40 - 28);
    u32(&s, 32, 56 - 32);
    u32(&s, 36, 72 - 36);
    u32(&s, 40, 3); // [1, 2, 3]
    for (uint32_t i = 0; i < 3; i++) u32(&s, 44 + 4 * i, i + 1);
    u32(&s, 56, 5);
    memcpy(s.bytes + 60, "hello", 6);
    u32(&s, 72, (uint32_t)(72 - 8)); // another table of the same fields
    u32(&s, 76, 78);
    return s;
}

static hone_flat open_sample(const sample *s, size_t size) {
    hone_flat flat;
    OK(hone_flat_open(&flat, s->bytes, size, "TEST", "x.bin", 1000, &why));
    return flat;
}

static void fields_are_read(void **state) {
    (void)state;
    const sample s = make();
    hone_flat flat = open_sample(&s, sizeof s.bytes);
    const hone_flat_table root = hone_flat_root(&flat);
    assert_int_equal(root.at, 20);
    assert_int_equal(hone_flat_u32(&flat, root, 0, 5), 77);
    const hone_flat_vector list = hone_flat_list(&flat, root, 1, 4);
    assert_int_equal(list.count, 3);
    assert_int_equal(hone_flat_u32_at(&flat, list, 2), 3);
    const hone_flat_string text = hone_flat_text(&flat, root, 2);
    assert_int_equal(text.length, 5);
    assert_string_equal(text.bytes, "hello");
    const hone_flat_table child = hone_flat_child(&flat, root, 3);
    assert_int_equal(hone_flat_u32(&flat, child, 0, 5), 78);
    // Absent fields: their defaults, and nothing.
    assert_int_equal(hone_flat_u32(&flat, root, 9, 5), 5);
    assert_true(hone_flat_f64(&flat, root, 4, 1.5) == 1.5);
    assert_int_equal(hone_flat_list(&flat, root, 7, 1).count, 0);
    assert_string_equal(hone_flat_text(&flat, root, 7).bytes, "");
    assert_int_equal(hone_flat_child(&flat, root, 7).at, 0);
    assert_int_equal(hone_flat_u32(&flat, (hone_flat_table){0}, 0, 6), 6);
    OK(hone_flat_status(&flat, &why));
}

// Everything a reader of this schema would do; the sticky status.
static hone_status walk(const uint8_t *bytes, size_t size, hone_error *error) {
    hone_flat flat;
    const hone_status status = hone_flat_open(&flat, bytes, size, "TEST", "x.bin", 1000, error);
    if (status != HONE_OK) return status;
    const hone_flat_table root = hone_flat_root(&flat);
    uint32_t sum = hone_flat_u32(&flat, root, 0, 0);
    const hone_flat_vector list = hone_flat_list(&flat, root, 1, 4);
    for (uint32_t i = 0; i < list.count; i++) sum += hone_flat_u32_at(&flat, list, i);
    sum += hone_flat_text(&flat, root, 2).length;
    const hone_flat_table child = hone_flat_child(&flat, root, 3);
    sum += hone_flat_u8(&flat, child, 0, 0) + hone_flat_child(&flat, child, 3).at;
    assert_true(sum < UINT32_MAX);
    return hone_flat_status(&flat, error);
}

static void lies_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
        const char *words;
    } lies[] = {
        {0, 0xfffffff0, "a table lies outside"},
        {0, 0, "a table lies outside"},
        {0, 94, "a table lies outside"},
        {20, 0x7fffffff, "list of fields lies outside"},
        {20, 0x80000000, "list of fields lies outside"},
        {28, 0xffffffff, "lies outside"},
        {28, 70, "lies outside"},
        {40, 0xffffffff, "more elements"},
        {40, 0x40000000, "more elements"},
        {40, 14, "more elements"},
        {56, 0xffffffff, "more elements"},
        {56, 36, "does not end"},
        {56, 4, "does not end"},
        {56, 6, "does not end"},
        {36, 0xfffffff0, "a table lies outside"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        sample s = make();
        hone_error error = {0};
        u32(&s, lies[i].at, lies[i].value);
        assert_int_equal(walk(s.bytes, sizeof s.bytes, &error), HONE_BAD_FORMAT);
        if (!strstr(error.message, lies[i].words)) fail_msg("lie %zu: %s", i, error.message);
        assert_non_null(strstr(error.message, "'x.bin'"));
    }
    static const struct {
        size_t at;
        uint16_t value;
    } sizes[] = {{8, 3}, {8, 2}, {8, 0xffff}, {8, 13}, {10, 3}, {10, 0xffff}, {10, 7}, {12, 3}, {12, 17}, {12, 0xfffe}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sample s = make();
        hone_error error = {0};
        u16(&s, sizes[i].at, sizes[i].value);
        if (walk(s.bytes, sizeof s.bytes, &error) != HONE_BAD_FORMAT) fail_msg("size %zu passes", i);
    }
    sample s = make();
    hone_error error = {0};
    s.bytes[6] = 'x';
    assert_int_equal(walk(s.bytes, sizeof s.bytes, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "\"TEST\" was expected at byte 1004"));
}

static void circles_do_no_harm(void **state) {
    (void)state;
    sample s = make();
    hone_error error = {0};
    u32(&s, 36, (uint32_t)(20 - 36)); // the child is the root: behind is not reachable, the sum leaves 32 bits
    assert_int_equal(walk(s.bytes, sizeof s.bytes, &error), HONE_BAD_FORMAT);
    s = make();
    u32(&s, 72 + 16, 0); // the child's child is its own field
    assert_int_equal(walk(s.bytes, sizeof s.bytes, &error), HONE_BAD_FORMAT);
}

static void any_cut_and_any_bit_is_survived(void **state) {
    (void)state;
    const sample good = make();
    hone_error error;
    for (size_t size = 0; size < 92; size++) {
        uint8_t *const copy = malloc(size + (size == 0));
        memcpy(copy, good.bytes, size);
        (void)walk(copy, size, &error);
        free(copy);
    }
    for (size_t bit = 0; bit < 8 * sizeof good.bytes; bit++) {
        uint8_t *const copy = malloc(sizeof good.bytes);
        memcpy(copy, good.bytes, sizeof good.bytes);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        (void)walk(copy, sizeof good.bytes, &error);
        free(copy);
    }
}

static void failures_stick(void **state) {
    (void)state;
    sample s = make();
    u32(&s, 40, 0xffffffff);
    hone_flat flat = open_sample(&s, sizeof s.bytes);
    const hone_flat_table root = hone_flat_root(&flat);
    hone_flat_note(&flat, "list", 4);
    assert_int_equal(hone_flat_list(&flat, root, 1, 4).count, 0);
    hone_flat_note(&flat, "text", 5);
    assert_int_equal(hone_flat_u32(&flat, root, 0, 5), 5); // there, but not read any more
    assert_int_equal(hone_flat_text(&flat, root, 2).length, 0);
    assert_int_equal(hone_flat_root(&flat).at, 0);
    hone_error error = {0};
    assert_int_equal(hone_flat_status(&flat, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "list 4"));
    assert_non_null(strstr(error.message, "byte 1040"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read),    cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(circles_do_no_harm), cmocka_unit_test(any_cut_and_any_bit_is_survived),
        cmocka_unit_test(failures_stick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
