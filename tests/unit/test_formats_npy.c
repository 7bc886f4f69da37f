// SPDX-License-Identifier: Apache-2.0
// .npy written and read back, NumPy's own spellings, refusals, cuts, no memory, and the arrays of the notes.
#include "support/scratch.h"

#include "formats/npy.h"

static hone_status read_bytes(const void *bytes, size_t size, hone_tensor *out, hone_error *error) {
    hone_source *source = NULL;
    const hone_status status = hone_memory_source(bytes, size, "x.npy", &source, error);
    *out = (hone_tensor){0};
    if (status != HONE_OK) return status;
    const hone_status read = hone_npy_read_source(source, out, error);
    hone_source_close(&source);
    return read;
}

// A file of the given version with this description and data.
static size_t make(uint8_t *bytes, int version, const char *description, const void *data, size_t data_bytes) {
    const uint32_t length = (uint32_t)strlen(description);
    const size_t length_bytes = version == 1 ? 2 : 4;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[7] = 0;
    memcpy(bytes + 8, &length, length_bytes);
    memcpy(bytes + 8 + length_bytes, description, length);
    if (data_bytes > 0) memcpy(bytes + 8 + length_bytes + length, data, data_bytes);
    return 8 + length_bytes + length + data_bytes;
}

static void round_trip(hone_tensor_type type) {
    uint8_t values[256];
    for (size_t i = 0; i < sizeof values; i++) values[i] = (uint8_t)(type.dtype == HONE_DTYPE_BOOL ? i % 2 : i);
    const hone_tensor tensor = {.type = type, .data = values};
    hone_tensor back = {0};
    OK(hone_npy_write("a.npy", &tensor, &why));
    OK(hone_npy_read("a.npy", &back, &why));
    assert_true(hone_type_equal(&back.type, &type));
    assert_memory_equal(back.data, values, hone_type_bytes(&type));
    hone_free(back.data);
    size_t size = 0;
    uint8_t *const file = scratch_read("a.npy", &size);
    assert_int_equal((size - hone_type_bytes(&type)) % 64, 0);
    free(file);
    assert_int_equal(unlink("a.npy"), 0);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    const size_t held = scratch_held();
    const hone_dtype dtypes[] = {HONE_DTYPE_F32, HONE_DTYPE_F16, HONE_DTYPE_I32, HONE_DTYPE_I64,
                                 HONE_DTYPE_U8,  HONE_DTYPE_I8,  HONE_DTYPE_F64, HONE_DTYPE_BOOL};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        round_trip(hone_type(dtypes[i], 0));
        round_trip(hone_type(dtypes[i], 1, (int64_t)3));
        round_trip(hone_type(dtypes[i], 2, (int64_t)4, (int64_t)5));
        round_trip(hone_type(dtypes[i], 3, (int64_t)4, (int64_t)0, (int64_t)2));
    }
    const hone_tensor tensor = {.type = hone_type(HONE_DTYPE_BF16, 0)};
    assert_int_equal(hone_npy_write("a.npy", &tensor, NULL), HONE_UNSUPPORTED);
    assert_int_equal(scratch_count("."), 0);
    assert_int_equal(scratch_held(), held);
}

static void spellings_of_numpy_are_read(void **state) {
    (void)state;
    const int32_t data[6] = {1, 2, 3, 4, 5, -6};
    const char *const spellings[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }        \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<i4\"}",
        " {'shape' : ( 2 , 3 , ) , 'descr' : '<i4' , 'fortran_order' : False , }\n",
    };
    for (size_t i = 0; i < 3; i++) {
        for (int version = 1; version <= 3; version++) {
            uint8_t bytes[256];
            hone_tensor tensor = {0};
            const size_t size = make(bytes, version, spellings[i], data, sizeof data);
            OK(read_bytes(bytes, size, &tensor, &why));
            const hone_tensor_type wanted = hone_type(HONE_DTYPE_I32, 2, (int64_t)2, (int64_t)3);
            assert_true(hone_type_equal(&tensor.type, &wanted));
            assert_memory_equal(tensor.data, data, sizeof data);
            hone_free(tensor.data);
        }
    }
}

static void refuses(int version, const char *description, size_t data_bytes, hone_status wanted, const char *words) {
    uint8_t bytes[1024] = {0};
    uint8_t zeros[128] = {0};
    hone_error error = {0};
    hone_tensor tensor = {0};
    const size_t held = scratch_held();
    const size_t size = make(bytes, version, description, zeros, data_bytes);
    assert_int_equal(read_bytes(bytes, size, &tensor, &error), wanted);
    assert_null(tensor.data);
    assert_int_equal(scratch_held(), held);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

static void lies_are_refused(void **state) {
    (void)state;
    const char *const bad = "cannot be read";
    refuses(4, "{}", 0, HONE_UNSUPPORTED, "version 4");
    refuses(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4, HONE_UNSUPPORTED, "'>f4'");
    refuses(1, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,)}", 8, HONE_UNSUPPORTED, "astype('<i8')");
    refuses(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}", 8, HONE_UNSUPPORTED, "little-endian f2");
    refuses(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8, HONE_UNSUPPORTED, "'<c8'");
    refuses(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16, HONE_UNSUPPORTED, "Fortran");
    refuses(1, "{'descr': '<f4', 'fortran_order': 7, 'shape': (2, 2)}", 16, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", 15, HONE_BAD_FORMAT, "cut");
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", 17, HONE_BAD_FORMAT, "damaged");
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4, HONE_UNSUPPORTED,
            "more than 8");
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 4, HONE_INVALID_ARGUMENT,
            "too many");
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'fortran_order': False}", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'order': False}", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr: 1", 4, HONE_BAD_FORMAT, bad);
    refuses(1, "", 0, HONE_BAD_FORMAT, bad);
    refuses(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 4, HONE_BAD_FORMAT, bad);
    hone_tensor tensor = {0};
    assert_int_equal(read_bytes("\x93NUMPX\1\0\0\0", 10, &tensor, NULL), HONE_BAD_FORMAT);
    assert_int_equal(read_bytes("\x93NUMPY\2\0\xff\xff\xff\xff", 12, &tensor, NULL), HONE_BAD_FORMAT);
    assert_int_equal(hone_npy_read("absent.npy", &tensor, NULL), HONE_NOT_FOUND);
}

static void cuts_and_missing_memory_are_survived(void **state) {
    (void)state;
    uint8_t bytes[256];
    const float data[3] = {1, 2, 3};
    const size_t held = scratch_held();
    const size_t size =
        make(bytes, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", data, sizeof data);
    hone_tensor tensor = {0};
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *const copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        assert_int_equal(read_bytes(copy, cut, &tensor, NULL), HONE_BAD_FORMAT);
        assert_null(tensor.data);
        free(copy);
    }
    for (uint64_t n = 0;; n++) {
        hone_memory_fail_after(n, false);
        const hone_status status = read_bytes(bytes, size, &tensor, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
        assert_int_equal(scratch_held(), held);
    }
    hone_free(tensor.data);
    assert_int_equal(scratch_held(), held);
}

static void stored_arrays_are_read(void **state) {
    (void)state;
    char path[4200];
    hone_tensor tensor = {0};
    if (!scratch_reference("tokens.npy", path, sizeof path)) return;
    OK(hone_npy_read(path, &tensor, &why));
    const hone_tensor_type tokens = hone_type(HONE_DTYPE_I32, 2, (int64_t)20, (int64_t)128);
    assert_true(hone_type_equal(&tensor.type, &tokens));
    hone_free(tensor.data);
    if (!scratch_reference("text_logits_4x64_f64.npy", path, sizeof path)) return;
    OK(hone_npy_read(path, &tensor, &why));
    const hone_tensor_type logits = hone_type(HONE_DTYPE_F64, 2, (int64_t)4, (int64_t)64);
    assert_true(hone_type_equal(&tensor.type, &logits));
    hone_free(tensor.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(spellings_of_numpy_are_read),
        cmocka_unit_test(lies_are_refused),        cmocka_unit_test(cuts_and_missing_memory_are_survived),
        cmocka_unit_test(stored_arrays_are_read),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
