// SPDX-License-Identifier: Apache-2.0
// GGUF written and read back: every kind of value, tensors, alignment, the writer's refusals, a full disk, a real file.
#include "support/scratch.h"

#include <math.h>

#include "formats/gguf.h"

static hone_gguf_entry number(const char *key, hone_gguf_kind kind, uint64_t value) {
    return (hone_gguf_entry){
        .key = {key, strlen(key)}, .kind = kind, .element_kind = kind, .count = 1, .unsigned_integer = value};
}

static hone_gguf_entry array(const char *key, hone_gguf_kind kind, uint64_t count, const void *elements) {
    return (hone_gguf_entry){
        .key = {key, strlen(key)}, .kind = HONE_GGUF_ARRAY, .element_kind = kind, .count = count, .elements = elements};
}

static const hone_gguf_string some_words[] = {{"one", 3}, {"", 0}, {"z\0ro", 4}, {"\xC3\xA9", 2}};
static const int16_t shorts[] = {-3, 0, 32767};
static const uint8_t flags[] = {1, 0, 1};

static void put_keys(hone_gguf_writer *writer) {
    OK(hone_gguf_put_text(writer, "general.architecture", "llama", &why));
    OK(hone_gguf_put_u32(writer, "u32", UINT32_MAX, &why));
    OK(hone_gguf_put_f32(writer, "f32", 0.1f, &why));
    OK(hone_gguf_put_bool(writer, "yes", true, &why));
    OK(hone_gguf_put_bool(writer, "no", false, &why));
    const hone_gguf_entry entries[] = {
        number("u8", HONE_GGUF_U8, 200),
        number("i8", HONE_GGUF_I8, (uint64_t)INT64_C(-5)),
        number("u16", HONE_GGUF_U16, 65535),
        number("i16", HONE_GGUF_I16, (uint64_t)INT64_C(-32768)),
        number("i32", HONE_GGUF_I32, (uint64_t)INT64_C(-7)),
        number("u64", HONE_GGUF_U64, UINT64_MAX),
        number("i64", HONE_GGUF_I64, (uint64_t)INT64_MIN),
        {.key = {"f64", 3}, .kind = HONE_GGUF_F64, .count = 1, .real = 0.1},
        array("words", HONE_GGUF_STRING, 4, some_words),
        array("shorts", HONE_GGUF_I16, 3, shorts),
        array("flags", HONE_GGUF_BOOL, 3, flags),
        array("none", HONE_GGUF_F32, 0, shorts),
        array("no words", HONE_GGUF_STRING, 0, some_words),
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) OK(hone_gguf_put_entry(writer, &entries[i], &why));
}

static void check_keys(const hone_gguf *gguf) {
    int64_t integer = 0;
    double real = 0;
    const char *text = NULL;
    OK(hone_gguf_text(gguf, "general.architecture", &text, &why));
    assert_string_equal(text, "llama");
    const struct {
        const char *key;
        int64_t value;
    } integers[] = {{"u32", UINT32_MAX}, {"u8", 200}, {"i8", -5},        {"u16", 65535},
                    {"i16", -32768},     {"i32", -7}, {"i64", INT64_MIN}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        OK(hone_gguf_integer(gguf, integers[i].key, &integer, &why));
        assert_true(integer == integers[i].value);
        OK(hone_gguf_real(gguf, integers[i].key, &real, &why));
        assert_true(real == (double)integers[i].value);
    }
    OK(hone_gguf_real(gguf, "f32", &real, &why));
    assert_true(real == (double)0.1f);
    OK(hone_gguf_real(gguf, "f64", &real, &why));
    assert_true(real == 0.1);
    assert_int_equal(hone_gguf_find(gguf, "yes")->unsigned_integer, 1);
    assert_int_equal(hone_gguf_find(gguf, "no")->unsigned_integer, 0);
    assert_null(hone_gguf_find(gguf, "absent"));
    assert_null(hone_gguf_find(gguf, ""));
}

static void check_arrays(const hone_gguf *gguf) {
    const hone_gguf_entry *const found = hone_gguf_find(gguf, "words");
    assert_int_equal(found->kind, HONE_GGUF_ARRAY);
    assert_int_equal(found->element_kind, HONE_GGUF_STRING);
    assert_int_equal(found->count, 4);
    const hone_gguf_string *const strings = found->elements;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(strings[i].length, some_words[i].length);
        assert_memory_equal(strings[i].bytes, some_words[i].bytes, some_words[i].length);
        assert_int_equal(strings[i].bytes[strings[i].length], 0);
    }
    assert_memory_equal(hone_gguf_find(gguf, "shorts")->elements, shorts, sizeof shorts);
    assert_memory_equal(hone_gguf_find(gguf, "flags")->elements, flags, sizeof flags);
    assert_int_equal(hone_gguf_find(gguf, "none")->count, 0);
    assert_int_equal(hone_gguf_find(gguf, "no words")->count, 0);
}

static void wrong_kinds_are_named(const hone_gguf *gguf) {
    hone_error error = {0};
    int64_t integer = 0;
    double real = 0;
    const char *text = NULL;
    assert_int_equal(hone_gguf_integer(gguf, "absent", &integer, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "key 'absent' is missing"));
    assert_int_equal(hone_gguf_integer(gguf, "general.architecture", &integer, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "is a string, not a whole number"));
    assert_int_equal(hone_gguf_integer(gguf, "f32", &integer, &error), HONE_BAD_FORMAT);
    assert_int_equal(hone_gguf_integer(gguf, "u64", &integer, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "18446744073709551615"));
    assert_int_equal(hone_gguf_real(gguf, "words", &real, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "is an array, not a number"));
    assert_int_equal(hone_gguf_text(gguf, "u8", &text, &error), HONE_BAD_FORMAT);
    assert_non_null(strstr(error.message, "is a whole number, not a string"));
}

static void write_tensors(hone_gguf_writer *writer) {
    const int64_t matrix[2] = {3, 64};
    const int64_t vector[1] = {5};
    const int64_t empty[2] = {0, 32};
    float values[3 * 64];
    uint8_t blocks[3 * 2 * 20];
    for (int i = 0; i < 3 * 64; i++) values[i] = (float)(i % 16);
    OK(hone_block_encode(HONE_BLOCK_Q4_1, values, blocks, 3 * 64, &why));
    OK(hone_gguf_put_tensor(writer, "matrix", HONE_BLOCK_Q4_1, 2, matrix, &why));
    OK(hone_gguf_put_tensor(writer, "empty", HONE_BLOCK_Q8_0, 2, empty, &why));
    OK(hone_gguf_put_tensor(writer, "vector", HONE_BLOCK_F32, 1, vector, &why));
    OK(hone_gguf_put_tensor(writer, "scalar", HONE_BLOCK_F32, 0, NULL, &why));
    OK(hone_gguf_put_data(writer, blocks, sizeof blocks, &why));
    OK(hone_gguf_put_data(writer, NULL, 0, &why));
    OK(hone_gguf_put_data(writer, values, 5 * sizeof *values, &why));
    OK(hone_gguf_put_data(writer, &values[7], sizeof *values, &why));
}

static void check_tensors(const hone_gguf *gguf, uint64_t alignment) {
    assert_int_equal(gguf->tensor_count, 4);
    assert_int_equal(gguf->alignment, alignment);
    const hone_gguf_tensor *const matrix = hone_gguf_find_tensor(gguf, "matrix");
    assert_int_equal(matrix->rank, 2);
    assert_int_equal(matrix->dims[0], 3);
    assert_int_equal(matrix->dims[1], 64);
    assert_int_equal(matrix->bytes, 120);
    assert_int_equal(matrix->offset % alignment, 0);
    float values[3 * 64];
    OK(hone_gguf_read_floats(gguf, matrix, values, &why));
    for (int i = 0; i < 3 * 64; i++) assert_true(values[i] == (float)(i % 16));
    OK(hone_gguf_read_floats(gguf, hone_gguf_find_tensor(gguf, "vector"), values, &why));
    for (int i = 0; i < 5; i++) assert_true(values[i] == (float)i);
    OK(hone_gguf_read_floats(gguf, hone_gguf_find_tensor(gguf, "empty"), values, &why));
    const hone_gguf_tensor *const scalar = hone_gguf_find_tensor(gguf, "scalar");
    assert_int_equal(scalar->bytes, 4);
    OK(hone_gguf_read_floats(gguf, scalar, values, &why));
    assert_true(values[0] == 7);
    assert_null(hone_gguf_find_tensor(gguf, "matri"));
    uint8_t bytes[8];
    assert_int_equal(hone_gguf_read_bytes(gguf, matrix, 113, bytes, 8, NULL), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_gguf_read_bytes(gguf, matrix, UINT64_MAX, bytes, 8, NULL), HONE_INVALID_ARGUMENT);
    OK(hone_gguf_read_bytes(gguf, matrix, 112, bytes, 8, &why));
}

static void round_trip(uint32_t alignment) {
    const size_t held = scratch_held();
    hone_gguf_writer *writer = NULL;
    OK(hone_gguf_writer_create("small.gguf", &writer, &why));
    if (alignment != 32) OK(hone_gguf_put_u32(writer, "general.alignment", alignment, &why));
    put_keys(writer);
    write_tensors(writer);
    OK(hone_gguf_writer_commit(&writer, &why));
    assert_null(writer);
    hone_gguf *gguf = NULL;
    OK(hone_gguf_open("small.gguf", &gguf, &why));
    assert_int_equal(gguf->version, 3);
    check_keys(gguf);
    check_arrays(gguf);
    wrong_kinds_are_named(gguf);
    check_tensors(gguf, alignment);
    // In the order of writing.
    assert_string_equal(gguf->tensors[0].name.bytes, "matrix");
    assert_string_equal(gguf->entries[alignment != 32].key.bytes, "general.architecture");
    hone_gguf_close(gguf);
    assert_int_equal(unlink("small.gguf"), 0);
    assert_int_equal(scratch_held(), held);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    round_trip(32);
    round_trip(8);
    round_trip(4096);
}

static void keys_alone_make_a_file(void **state) {
    (void)state;
    hone_gguf_writer *writer = NULL;
    hone_gguf *gguf = NULL;
    OK(hone_gguf_writer_create("keys.gguf", &writer, &why));
    OK(hone_gguf_writer_commit(&writer, &why));
    OK(hone_gguf_open("keys.gguf", &gguf, &why));
    assert_int_equal(gguf->entry_count, 0);
    assert_int_equal(gguf->tensor_count, 0);
    assert_null(hone_gguf_find(gguf, "x"));
    assert_null(hone_gguf_find_tensor(gguf, "x"));
    hone_gguf_close(gguf);
    hone_gguf_close(NULL);
    assert_int_equal(unlink("keys.gguf"), 0);
}

static void refused(hone_status status, const hone_error *error, const char *words) {
    assert_int_equal(status, HONE_INVALID_ARGUMENT);
    if (!strstr(error->message, words)) fail_msg("'%s' does not say '%s'", error->message, words);
}

static void the_writer_refuses_mistakes(void **state) {
    (void)state;
    hone_error error = {0};
    hone_gguf_writer *writer = NULL;
    const int64_t dims[2] = {1, 8};
    float values[8] = {0};
    OK(hone_gguf_writer_create("bad.gguf", &writer, &why));
    OK(hone_gguf_put_u32(writer, "a", 1, &why));
    refused(hone_gguf_put_u32(writer, "a", 2, &error), &error, "twice");
    refused(hone_gguf_put_u32(writer, "", 2, &error), &error, "1 to");
    refused(hone_gguf_put_u32(writer, "general.alignment", 24, &error), &error, "power of two");
    const hone_gguf_entry nested = array("n", HONE_GGUF_ARRAY, 0, NULL);
    refused(hone_gguf_put_entry(writer, &nested, &error), &error, "cannot be written");
    refused(hone_gguf_put_tensor(writer, "q", HONE_BLOCK_Q4_0, 2, dims, &error), &error, "blocks of 32");
    refused(hone_gguf_put_tensor(writer, "q", HONE_BLOCK_F32, 5, dims, &error), &error, "at most 4");
    assert_int_equal(hone_gguf_put_tensor(writer, "q", 16, 2, dims, &error), HONE_UNSUPPORTED);
    refused(hone_gguf_put_data(writer, values, sizeof values, &error), &error, "not described");
    OK(hone_gguf_put_tensor(writer, "t", HONE_BLOCK_F32, 2, dims, &why));
    refused(hone_gguf_put_tensor(writer, "t", HONE_BLOCK_F32, 2, dims, &error), &error, "twice");
    refused(hone_gguf_put_u32(writer, "general.alignment", 64, &error), &error, "comes after");
    refused(hone_gguf_put_data(writer, values, 4, &error), &error, "needs 32 bytes");
    OK(hone_gguf_put_tensor(writer, "u", HONE_BLOCK_F32, 2, dims, &why));
    OK(hone_gguf_put_data(writer, values, sizeof values, &why));
    refused(hone_gguf_put_u32(writer, "late", 2, &error), &error, "after the first");
    refused(hone_gguf_put_tensor(writer, "v", HONE_BLOCK_F32, 2, dims, &error), &error, "after the first");
    refused(hone_gguf_writer_commit(&writer, &error), &error, "'u'");
    assert_null(writer);
    assert_int_equal(scratch_count("."), 0);
    OK(hone_gguf_writer_create("bad.gguf", &writer, &why));
    hone_gguf_writer_abandon(&writer);
    assert_null(writer);
    hone_gguf_writer_abandon(&writer);
    assert_int_equal(scratch_count("."), 0);
}

static hone_status try_writing(const char *path, hone_error *error) {
    hone_gguf_writer *writer = NULL;
    const int64_t dims[1] = {64};
    const float values[64] = {1};
    hone_status status = hone_gguf_writer_create(path, &writer, error);
    if (status != HONE_OK) return status;
    status = hone_gguf_put_text(writer, "key", "value", error);
    if (status == HONE_OK) status = hone_gguf_put_tensor(writer, "t", HONE_BLOCK_F32, 1, dims, error);
    if (status == HONE_OK) status = hone_gguf_put_data(writer, values, sizeof values, error);
    if (status == HONE_OK) return hone_gguf_writer_commit(&writer, error);
    hone_gguf_writer_abandon(&writer);
    return status;
}

static void a_full_disk_leaves_no_file(void **state) {
    (void)state;
    const size_t held = scratch_held();
    uint64_t bytes = 0;
    for (;; bytes++) {
        hone_error error = {0};
        hone_output_fail_after(bytes);
        const hone_status status = try_writing("full.gguf", &error);
        hone_output_fail_after(UINT64_MAX);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_IO);
        assert_non_null(strstr(error.message, "full.gguf"));
        assert_int_equal(scratch_count("."), 0);
        assert_int_equal(scratch_held(), held);
    }
    assert_true(bytes > 300);
    assert_int_equal(unlink("full.gguf"), 0);
}

static void every_allocation_may_fail_in_the_writer(void **state) {
    (void)state;
    const size_t held = scratch_held();
    for (uint64_t n = 0;; n++) {
        hone_error error = {0};
        hone_memory_fail_after(n, false);
        const hone_status status = try_writing("memory.gguf", &error);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        if (status == HONE_OK) break;
        // A commit that fails after its rename may leave the complete file.
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
        unlink("memory.gguf");
        assert_int_equal(scratch_count("."), 0);
    }
    assert_int_equal(unlink("memory.gguf"), 0);
}

static void a_stored_adapter_is_read(void **state) {
    (void)state;
    char path[4200];
    if (!scratch_reference("lora_init.gguf", path, sizeof path)) return;
    hone_gguf *gguf = NULL;
    OK(hone_gguf_open(path, &gguf, &why));
    assert_int_equal(gguf->tensor_count, 420);
    assert_int_equal(gguf->entry_count, 4);
    const hone_gguf_tensor *const a = hone_gguf_find_tensor(gguf, "blk.29.ffn_down.weight.lora_a");
    assert_int_equal(a->dims[0], 8);
    assert_int_equal(a->dims[1], 1536);
    float *const values = malloc(8 * 1536 * sizeof *values);
    OK(hone_gguf_read_floats(gguf, a, values, &why));
    float largest = 0;
    for (int i = 0; i < 8 * 1536; i++) largest = fmaxf(largest, fabsf(values[i]));
    assert_true(largest <= 1 / sqrtf(1536) && largest > 0.9f / sqrtf(1536)); // uniform in +-1/sqrt(n_in)
    free(values);
    hone_gguf_close(gguf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(keys_alone_make_a_file),
        cmocka_unit_test(the_writer_refuses_mistakes),
        cmocka_unit_test(a_full_disk_leaves_no_file),
        cmocka_unit_test(every_allocation_may_fail_in_the_writer),
        cmocka_unit_test(a_stored_adapter_is_read),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
