// SPDX-License-Identifier: Apache-2.0
// Element types and shapes: sizes, products, every refusal of the check, printing into too little room.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <hone/tensor.h>

static void dtypes_have_names_and_sizes(void **state) {
    (void)state;
    assert_string_equal(hone_dtype_name(HONE_DTYPE_F32), "f32");
    assert_string_equal(hone_dtype_name(HONE_DTYPE_BF16), "bf16");
    assert_string_equal(hone_dtype_name(HONE_DTYPE_COUNT), "unknown dtype");
    assert_int_equal(hone_dtype_bytes(HONE_DTYPE_F64), 8);
    assert_int_equal(hone_dtype_bytes(HONE_DTYPE_BOOL), 1);
    assert_int_equal(hone_dtype_bytes((hone_dtype)-1), 0);
}

static void products_are_right(void **state) {
    (void)state;
    const hone_tensor_type scalar = hone_type(HONE_DTYPE_F32, 0);
    assert_int_equal(hone_type_elements(&scalar), 1);
    assert_int_equal(hone_type_bytes(&scalar), 4);
    assert_int_equal(hone_type_rows(&scalar), 1);
    assert_int_equal(hone_type_columns(&scalar), 1);
    const hone_tensor_type vector = hone_type(HONE_DTYPE_I64, 1, (int64_t)7);
    assert_int_equal(hone_type_rows(&vector), 1);
    assert_int_equal(hone_type_columns(&vector), 7);
    const int64_t dims[3] = {2, 3, 5};
    const hone_tensor_type cube = hone_type_of(HONE_DTYPE_F16, 3, dims);
    assert_int_equal(hone_type_elements(&cube), 30);
    assert_int_equal(hone_type_bytes(&cube), 60);
    assert_int_equal(hone_type_rows(&cube), 6);
    assert_int_equal(hone_type_columns(&cube), 5);
    const hone_tensor_type empty = hone_type(HONE_DTYPE_F32, 2, (int64_t)4, (int64_t)0);
    assert_int_equal(hone_type_elements(&empty), 0);
    assert_int_equal(hone_type_rows(&empty), 4);
}

static void equality_needs_dtype_and_shape(void **state) {
    (void)state;
    const hone_tensor_type a = hone_type(HONE_DTYPE_F32, 2, (int64_t)2, (int64_t)3);
    hone_tensor_type b = hone_type(HONE_DTYPE_I32, 2, (int64_t)2, (int64_t)3);
    assert_false(hone_type_equal(&a, &b));
    assert_true(hone_shape_equal(&a, &b));
    b.dims[1] = 4;
    assert_false(hone_shape_equal(&a, &b));
    b = hone_type(HONE_DTYPE_F32, 1, (int64_t)2);
    assert_false(hone_shape_equal(&a, &b));
    b = a;
    b.dims[2] = 9; // beyond the rank: not looked at
    assert_true(hone_type_equal(&a, &b));
}

static void check_refuses(hone_tensor_type type, const char *words) {
    hone_error error = {0};
    assert_int_equal(hone_type_check(&type, "tensor 'x'", &error), HONE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "tensor 'x'"));
    assert_non_null(strstr(error.message, words));
}

static void check_finds_what_is_wrong(void **state) {
    (void)state;
    const hone_tensor_type good = hone_type(HONE_DTYPE_F32, 2, (int64_t)0, INT64_MAX / 8);
    assert_int_equal(hone_type_check(&good, "x", NULL), HONE_OK);
    check_refuses(hone_type(HONE_DTYPE_F32, 1, (int64_t)-1), "negative");
    check_refuses(hone_type(HONE_DTYPE_F32, 2, INT64_MAX, (int64_t)2), "too many");
    check_refuses(hone_type(HONE_DTYPE_F32, 3, INT64_MAX, INT64_MAX, (int64_t)0), "too many");
    check_refuses(hone_type(HONE_DTYPE_F64, 1, INT64_MAX / 4), "too large");
    hone_tensor_type type = hone_type(HONE_DTYPE_F32, 0);
    type.rank = HONE_MAX_RANK + 1;
    check_refuses(type, "dimensions");
    type.rank = -1;
    check_refuses(type, "dimensions");
    type.rank = 0;
    type.dtype = HONE_DTYPE_COUNT;
    check_refuses(type, "dtype");
}

static void printing_fits_any_room(void **state) {
    (void)state;
    char text[64];
    const hone_tensor_type type = hone_type(HONE_DTYPE_F32, 2, (int64_t)3, (int64_t)4);
    assert_string_equal(hone_type_print(&type, text, sizeof text), "f32[3,4]");
    const hone_tensor_type scalar = hone_type(HONE_DTYPE_BOOL, 0);
    assert_string_equal(hone_type_print(&scalar, text, sizeof text), "bool[]");
    for (size_t size = 1; size <= strlen("f32[3,4]"); size++) {
        memset(text, 'x', sizeof text);
        assert_int_equal(strlen(hone_type_print(&type, text, size)), size - 1);
        assert_memory_equal(text, "f32[3,4]", size - 1);
        assert_int_equal(text[size], 'x');
    }
    memset(text, 'x', sizeof text);
    assert_ptr_equal(hone_type_print(&type, text, 0), text);
    assert_int_equal(text[0], 'x');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_names_and_sizes),    cmocka_unit_test(products_are_right),
        cmocka_unit_test(equality_needs_dtype_and_shape), cmocka_unit_test(check_finds_what_is_wrong),
        cmocka_unit_test(printing_fits_any_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
