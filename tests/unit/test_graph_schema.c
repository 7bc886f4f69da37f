// SPDX-License-Identifier: Apache-2.0
// Schemas and the table of operators, without any built-in one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/registry.h"
#include "graph/schema.h"

const hone_op *const *const hone_builtin_families[] = {NULL};

static hone_status infer(const hone_op_call *call, hone_error *error) {
    (void)error;
    if (call->output_count) call->outputs[0].type = call->operands[0].tensors[0].type;
    return HONE_OK;
}
static void nothing(const hone_op_call *call) {
    (void)call;
}

static hone_status parse(const char *text, hone_schema *out, hone_error *error) {
    const hone_op op = {.schema = text, .infer = infer, .cpu = nothing};
    return hone_schema_parse(&op, out, error);
}

static void test_types_and_defaults(void **state) {
    (void)state;
    hone_schema s;
    hone_error error;
    assert_int_equal(
        parse("aten::x.y(Tensor self, Tensor? b=None, Tensor[] list, *, int[] dims=[], int n=-3, float f=1e-05, "
              "Scalar alpha=1, bool keep=False, str how='none', ScalarType? dtype=None) -> (Tensor a, Tensor)",
              &s, &error),
        HONE_OK);
    assert_int_equal(s.name_length, strlen("aten::x.y"));
    assert_int_equal(s.argument_count, 10);
    assert_int_equal(s.output_count, 2);
    assert_false(s.mutates);
    assert_int_equal(s.arguments[0].type, HONE_SCHEMA_TENSOR);
    assert_false(s.arguments[0].has_default);
    assert_true(s.arguments[1].optional);
    assert_int_equal(s.arguments[1].default_kind, HONE_ARGUMENT_NONE);
    assert_int_equal(s.arguments[2].type, HONE_SCHEMA_TENSORS);
    assert_int_equal(s.arguments[3].type, HONE_SCHEMA_INTEGERS);
    assert_int_equal(s.arguments[3].default_kind, HONE_ARGUMENT_INTEGERS);
    assert_float_equal(s.arguments[4].default_number, -3, 0);
    assert_int_equal(s.arguments[5].default_kind, HONE_ARGUMENT_REAL);
    assert_float_equal(s.arguments[5].default_number, 1e-5, 1e-12);
    assert_int_equal(s.arguments[6].type, HONE_SCHEMA_SCALAR);
    assert_int_equal(s.arguments[6].default_kind, HONE_ARGUMENT_INTEGER);
    assert_int_equal(s.arguments[7].default_kind, HONE_ARGUMENT_BOOLEAN);
    assert_float_equal(s.arguments[7].default_number, 0, 0);
    assert_int_equal(s.arguments[8].default_length, 4);
    assert_true(s.arguments[9].optional);
}

static void test_mutation(void **state) {
    (void)state;
    hone_schema s;
    hone_error error;
    assert_int_equal(parse("a::step(Tensor(a!) p, Tensor g) -> ()", &s, &error), HONE_OK);
    assert_true(s.mutates);
    assert_true(s.arguments[0].mutated);
    assert_false(s.arguments[1].mutated);
    assert_int_equal(s.output_count, 0);
    assert_int_equal(parse("a::step(Tensor(a!) p) -> Tensor(a!)", &s, &error), HONE_OK);
    assert_int_equal(s.output_count, 0);
    assert_int_equal(parse("a::split(Tensor self, int[] sizes) -> Tensor[]", &s, &error), HONE_OK);
    assert_true(s.output_list);
    assert_int_equal(parse("a::none() -> Tensor", &s, &error), HONE_OK);
    assert_int_equal(s.argument_count, 0);
}

static void test_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "a::x",
        "a::x(",
        "a::x(Tensor)",
        "a::x(Tensor a",
        "a::x(Tensor a) ->",
        "a::x(Tensor a) -> int",
        "a::x(Thing a) -> Tensor",
        "a::x(Tensor a, ) -> Tensor",
        "a::x(Tensor(a! a) -> Tensor",
        "a::x(float[] a) -> Tensor",
        "a::x(Tensor a) -> Tensor b c",
        "a::x(str s='open) -> Tensor",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hone_schema s;
        hone_error error = {0};
        if (parse(bad[i], &s, &error) != HONE_INVALID_ARGUMENT) fail_msg("'%s' was taken", bad[i]);
        assert_true(error.message[0] != 0);
    }
}

static const hone_op first = {.schema = "test::first(Tensor self) -> Tensor", .infer = infer, .cpu = nothing};
static const hone_op second = {.schema = "test::second(Tensor self) -> Tensor", .infer = infer, .cpu = nothing};
static const hone_op incomplete = {.schema = "test::third(Tensor self) -> Tensor", .infer = infer};

static void test_register(void **state) {
    (void)state;
    hone_error error;
    assert_int_equal(hone_op_count(), 0);
    assert_null(hone_op_find("test::first"));
    assert_int_equal(hone_op_register(&second, &error), HONE_OK);
    assert_int_equal(hone_op_register(&first, &error), HONE_OK);
    assert_int_equal(hone_op_register(&first, &error), HONE_EXISTS);
    assert_int_equal(hone_op_register(&incomplete, &error), HONE_INVALID_ARGUMENT);
    assert_int_equal(hone_op_count(), 2);
    assert_ptr_equal(hone_op_at(0), &first);
    assert_ptr_equal(hone_op_at(1), &second);
    assert_null(hone_op_at(2));
    assert_ptr_equal(hone_op_find("test::first"), &first);
    assert_null(hone_op_find("test::firs"));
    assert_null(hone_op_find("test::first2"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_defaults),
        cmocka_unit_test(test_mutation),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
