// SPDX-License-Identifier: Apache-2.0
// safetensors written and read back, headers that lie, cuts, flipped bits, no memory, a full disk.
#include "support/scratch.h"

#include "base/half.h"
#include "base/random.h"
#include "formats/safetensors.h"

static hone_status read_bytes(const void *bytes, size_t size, hone_safetensors **out, hone_error *error) {
    hone_source *source = NULL;
    *out = NULL;
    hone_status status = hone_memory_source(bytes, size, "x.safetensors", &source, error);
    if (status != HONE_OK) return status;
    status = hone_safetensors_read(source, out, error);
    if (status != HONE_OK) hone_source_close(&source);
    return status;
}

static size_t make(uint8_t *bytes, const char *header, size_t data_bytes) {
    const uint64_t length = strlen(header);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, header, length);
    memset(bytes + 8 + length, 0, data_bytes);
    return 8 + length + data_bytes;
}

static float matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
static double wide[2] = {0.5, -0.25};
static uint16_t halves[3] = {0x3C00, 0xC000, 0x0001};
static uint16_t bf16s[1] = {0x3F80};
static int64_t longs[2] = {INT64_MIN, 7};
static uint8_t bools[1] = {1};

static hone_status write_sample(const char *path, hone_error *error) {
    const hone_safetensors_item items[] = {
        {"z.bool", {hone_type(HONE_DTYPE_BOOL, 1, (int64_t)1), bools}},
        {"b \"quoted\" \xC3\xA9", {hone_type(HONE_DTYPE_F32, 2, (int64_t)2, (int64_t)3), matrix}},
        {"a", {hone_type(HONE_DTYPE_F32, 2, (int64_t)0, (int64_t)3), NULL}},
        {"h", {hone_type(HONE_DTYPE_F16, 1, (int64_t)3), halves}},
        {"bf", {hone_type(HONE_DTYPE_BF16, 0), bf16s}},
        {"wide", {hone_type(HONE_DTYPE_F64, 1, (int64_t)2), wide}},
        {"long", {hone_type(HONE_DTYPE_I64, 1, (int64_t)2), longs}},
    };
    const hone_safetensors_pair pairs[] = {{"base", "SmolLM2"}, {"note", "a \"b\"\n"}};
    return hone_safetensors_write(path, items, sizeof items / sizeof *items, pairs, 2, error);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    const size_t held = scratch_held();
    hone_safetensors *file = NULL;
    OK(write_sample("a.safetensors", &why));
    OK(hone_safetensors_open("a.safetensors", &file, &why));
    assert_int_equal(file->tensor_count, 7);
    assert_string_equal(hone_safetensors_metadata(file, "format"), "pt");
    assert_string_equal(hone_safetensors_metadata(file, "base"), "SmolLM2");
    assert_string_equal(hone_safetensors_metadata(file, "note"), "a \"b\"\n");
    assert_null(hone_safetensors_metadata(file, "absent"));
    assert_null(hone_safetensors_find(file, "absent"));
    float values[6] = {0};
    const hone_safetensors_tensor *tensor = hone_safetensors_find(file, "b \"quoted\" \xC3\xA9");
    assert_int_equal(tensor->type.dims[1], 3);
    OK(hone_safetensors_read_floats(file, tensor, values, &why));
    assert_memory_equal(values, matrix, sizeof matrix);
    OK(hone_safetensors_read_floats(file, hone_safetensors_find(file, "h"), values, &why));
    for (int i = 0; i < 3; i++) assert_true(values[i] == hone_half_to_float(halves[i]));
    OK(hone_safetensors_read_floats(file, hone_safetensors_find(file, "bf"), values, &why));
    assert_true(values[0] == 1);
    OK(hone_safetensors_read_floats(file, hone_safetensors_find(file, "wide"), values, &why));
    assert_true(values[0] == 0.5f && values[1] == -0.25f);
    OK(hone_safetensors_read_floats(file, hone_safetensors_find(file, "a"), values, &why));
    int64_t integers[2] = {0};
    tensor = hone_safetensors_find(file, "long");
    OK(hone_safetensors_read_bytes(file, tensor, integers, &why));
    assert_memory_equal(integers, longs, sizeof longs);
    assert_int_equal(hone_safetensors_read_floats(file, tensor, values, NULL), HONE_UNSUPPORTED);
    for (size_t i = 0; i < file->tensor_count; i++) { // each aligned to its own elements
        assert_int_equal(file->tensors[i].offset % hone_dtype_bytes(file->tensors[i].type.dtype), 0);
    }
    hone_safetensors_close(file);
    hone_safetensors_close(NULL);
    assert_int_equal(unlink("a.safetensors"), 0);
    assert_int_equal(scratch_held(), held);
}

static void the_header_is_sorted_and_aligned(void **state) {
    (void)state;
    const hone_safetensors_item items[] = {{"b", {hone_type(HONE_DTYPE_F32, 0), matrix}},
                                           {"a", {hone_type(HONE_DTYPE_F32, 1, (int64_t)2), matrix}}};
    size_t size = 0;
    OK(hone_safetensors_write("s.safetensors", items, 2, NULL, 0, &why));
    uint8_t *const bytes = scratch_read("s.safetensors", &size);
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}}";
    uint64_t length = 0;
    memcpy(&length, bytes, sizeof length);
    assert_int_equal(length % 8, 0);
    assert_int_equal(size, 8 + length + 12);
    assert_memory_equal(bytes + 8, header, sizeof header - 1);
    for (size_t i = sizeof header - 1; i < length; i++) assert_int_equal(bytes[8 + i], ' ');
    free(bytes);
    assert_int_equal(unlink("s.safetensors"), 0);
    const hone_safetensors_item twice[] = {items[0], items[0]};
    assert_int_equal(hone_safetensors_write("s.safetensors", twice, 2, NULL, 0, NULL), HONE_INVALID_ARGUMENT);
    const hone_safetensors_item reserved = {"__metadata__", items[0].tensor};
    assert_int_equal(hone_safetensors_write("s.safetensors", &reserved, 1, NULL, 0, NULL), HONE_INVALID_ARGUMENT);
    assert_int_equal(scratch_count("."), 0);
}

static void refuses(const char *header, size_t data_bytes, hone_status wanted, const char *words) {
    uint8_t bytes[2048];
    hone_error error = {0};
    hone_safetensors *file = NULL;
    const size_t held = scratch_held();
    const size_t size = make(bytes, header, data_bytes);
    const hone_status status = read_bytes(bytes, size, &file, &error);
    if (status != wanted) fail_msg("%s: %s '%s'", header, hone_status_name(status), error.message);
    assert_null(file);
    assert_int_equal(scratch_held(), held);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

#define TENSOR(name, dtype, shape, offsets)                                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void lies_are_refused(void **state) {
    (void)state;
    refuses("[]", 0, HONE_BAD_FORMAT, "not a JSON object");
    refuses("{", 0, HONE_BAD_FORMAT, "not JSON");
    refuses("{\"a\":1}", 0, HONE_BAD_FORMAT, "no dtype");
    refuses("{\"a\":{\"dtype\":\"F32\"}}", 0, HONE_BAD_FORMAT, "no shape");
    refuses("{" TENSOR("a", "F8_E4M3", "[1]", "[0,1]") "}", 1, HONE_UNSUPPORTED, "F8_E4M3");
    refuses("{" TENSOR("a", "F32", "[1.5]", "[0,4]") "}", 4, HONE_BAD_FORMAT, "whole numbers");
    refuses("{" TENSOR("a", "F32", "[-1]", "[0,4]") "}", 4, HONE_BAD_FORMAT, "whole numbers");
    refuses("{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, HONE_UNSUPPORTED, "9 dimensions");
    refuses("{" TENSOR("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, HONE_BAD_FORMAT, "too many");
    refuses("{" TENSOR("a", "F32", "[1]", "[0,4,8]") "}", 4, HONE_BAD_FORMAT, "data_offsets");
    refuses("{" TENSOR("a", "F32", "[1]", "[4,0]") "}", 4, HONE_BAD_FORMAT, "data_offsets");
    refuses("{" TENSOR("a", "F32", "[1]", "[-4,0]") "}", 4, HONE_BAD_FORMAT, "data_offsets");
    refuses("{" TENSOR("a", "F32", "[2]", "[0,4]") "}", 4, HONE_BAD_FORMAT, "takes 8 bytes");
    refuses("{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 4, HONE_BAD_FORMAT, "the file is cut");
    refuses("{" TENSOR("a", "F32", "[1]", "[9223372036854775800,9223372036854775804]") "}", 4, HONE_BAD_FORMAT, "cut");
    refuses("{" TENSOR("a", "F32", "[1]", "[4,8]") "}", 8, HONE_BAD_FORMAT, "begin at");
    refuses("{" TENSOR("a", "F32", "[1]", "[0,4]") "}", 8, HONE_BAD_FORMAT, "tensors end at");
    refuses("{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[0,4]") "}", 4, HONE_BAD_FORMAT,
            "begin at");
    refuses("{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]", "[0,4]") "}", 4, HONE_BAD_FORMAT,
            "not JSON");
    refuses("{\"__metadata__\":7}", 0, HONE_BAD_FORMAT, "__metadata__");
    refuses("{\"__metadata__\":{\"a\":7}}", 0, HONE_BAD_FORMAT, "'a'");
    hone_safetensors *file = NULL;
    assert_int_equal(read_bytes("\xff\xff\xff\xff\xff\xff\xff\xff", 8, &file, NULL), HONE_BAD_FORMAT);
    assert_int_equal(read_bytes("\x10\0\0\0\0\0\0\0{}", 10, &file, NULL), HONE_BAD_FORMAT);
    assert_int_equal(read_bytes("\1", 1, &file, NULL), HONE_BAD_FORMAT);
}

static hone_status use(const uint8_t *bytes, size_t size) {
    hone_safetensors *file = NULL;
    const hone_status status = read_bytes(bytes, size, &file, NULL);
    if (status != HONE_OK) return status;
    for (size_t i = 0; i < file->tensor_count; i++) {
        uint8_t *const copy = malloc((size_t)file->tensors[i].bytes + 1);
        assert_int_equal(hone_safetensors_read_bytes(file, &file->tensors[i], copy, NULL), HONE_OK);
        free(copy);
    }
    hone_safetensors_close(file);
    return HONE_OK;
}

static void damage_and_missing_memory_are_survived(void **state) {
    (void)state;
    size_t size = 0;
    OK(write_sample("d.safetensors", &why));
    uint8_t *const bytes = scratch_read("d.safetensors", &size);
    assert_int_equal(unlink("d.safetensors"), 0);
    const size_t held = scratch_held();
    assert_int_equal(use(bytes, size), HONE_OK);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *const copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        assert_int_equal(use(copy, cut), HONE_BAD_FORMAT);
        free(copy);
    }
    hone_random random = hone_random_seed(5, 1);
    for (int round = 0; round < 5000; round++) {
        uint8_t *const copy = malloc(size);
        memcpy(copy, bytes, size);
        for (int i = 0; i < 1 + round % 4; i++) {
            copy[hone_random_below(&random, (uint32_t)size)] = (uint8_t)hone_random_u32(&random);
        }
        (void)use(copy, size);
        free(copy);
        assert_int_equal(scratch_held(), held);
    }
    for (uint64_t n = 0;; n++) {
        hone_memory_fail_after(n, false);
        const hone_status status = use(bytes, size);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
    }
    free(bytes);
}

static void a_full_disk_leaves_no_file(void **state) {
    (void)state;
    for (uint64_t bytes = 0;; bytes += 7) {
        hone_output_fail_after(bytes);
        const hone_status status = write_sample("f.safetensors", NULL);
        hone_output_fail_after(UINT64_MAX);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_IO);
        assert_int_equal(scratch_count("."), 0);
    }
    assert_int_equal(unlink("f.safetensors"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),    cmocka_unit_test(the_header_is_sorted_and_aligned),
        cmocka_unit_test(lies_are_refused),           cmocka_unit_test(damage_and_missing_memory_are_survived),
        cmocka_unit_test(a_full_disk_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
