// SPDX-License-Identifier: Apache-2.0
// Error texts: one line of UTF-8 whatever goes in, cut visibly, prefixed, NULL everywhere.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

static void each_status_has_a_name(void **state) {
    (void)state;
    assert_string_equal(hone_status_name(HONE_OK), "ok");
    assert_string_equal(hone_status_name(HONE_DEVICE_LOST), "device lost");
    assert_string_equal(hone_status_name((hone_status)999), "unknown status");
}

static hone_status fails(hone_error *error) {
    HONE_FAIL(error, BAD_FORMAT, "tensor '%s' has %d dims", "w", 9);
}

static hone_status forwards(hone_error *error) {
    HONE_TRY(fails(error));
    return HONE_OK;
}

static hone_status cleans_up(hone_error *error, int *cleaned) {
    hone_status status = HONE_OK;
    HONE_TRY_GOTO(fails(error), done);
    *cleaned = -1;
done:
    *cleaned += 1;
    return status;
}

static hone_status checks(int value, hone_error *error) {
    HONE_FAIL_IF(value < 0, error, INVALID_ARGUMENT, "%d is negative", value);
    return HONE_OK;
}

static void macros_return_early(void **state) {
    (void)state;
    hone_error error = {0};
    assert_int_equal(forwards(&error), HONE_BAD_FORMAT);
    assert_int_equal(error.status, HONE_BAD_FORMAT);
    assert_string_equal(error.message, "tensor 'w' has 9 dims");
    int cleaned = 0;
    assert_int_equal(cleans_up(&error, &cleaned), HONE_BAD_FORMAT);
    assert_int_equal(cleaned, 1);
    assert_int_equal(checks(1, &error), HONE_OK);
    assert_int_equal(checks(-1, &error), HONE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "-1 is negative");
    assert_int_equal(forwards(NULL), HONE_BAD_FORMAT);
}

static void prefix_goes_in_front(void **state) {
    (void)state;
    hone_error error = {0};
    (void)hone_error_set(&error, HONE_BAD_DATA, "no text");
    hone_error_prefix(&error, "row %d", 7);
    hone_error_prefix(&error, "'%s'", "a.jsonl");
    assert_int_equal(error.status, HONE_BAD_DATA);
    assert_string_equal(error.message, "'a.jsonl': row 7: no text");
    hone_error_prefix(NULL, "nothing");
}

static void old_message_may_be_an_argument(void **state) {
    (void)state;
    hone_error error = {0};
    (void)hone_error_set(&error, HONE_IO, "inner");
    (void)hone_error_set(&error, HONE_BAD_DATA, "outer: %s (%s)", error.message, error.message);
    assert_string_equal(error.message, "outer: inner (inner)");
}

static void assert_valid_line(const char *text) {
    const size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t code_point = 0;
        const size_t n = hone_utf8_length(text + i, length - i, &code_point);
        assert_true(n > 0);
        assert_true(code_point >= 0x20 && (code_point < 0x7F || code_point >= 0xA0));
        i += n;
    }
}

static void long_text_is_cut_at_a_character(void **state) {
    (void)state;
    // Every alignment of 1- to 4-byte characters against the end of the message.
    static const char *const characters[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    for (size_t c = 0; c < 4; c++) {
        for (int shift = 0; shift < 4; shift++) {
            char text[3000] = "";
            size_t length = (size_t)shift;
            memset(text, 'x', length);
            while (length < 2500) {
                memcpy(text + length, characters[c], strlen(characters[c]));
                length += strlen(characters[c]);
            }
            hone_error error;
            memset(&error, 0xFF, sizeof error);
            (void)hone_error_set(&error, HONE_IO, "%s", text);
            const size_t used = strlen(error.message);
            assert_in_range(used, sizeof error.message - 5, sizeof error.message - 1);
            assert_string_equal(error.message + used - 3, "...");
            assert_valid_line(error.message);
        }
    }
}

static void full_message_is_not_cut(void **state) {
    (void)state;
    hone_error error;
    char text[sizeof error.message];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    (void)hone_error_set(&error, HONE_IO, "%s", text);
    assert_string_equal(error.message, text);
}

static void bytes_from_files_cannot_break_the_line(void **state) {
    (void)state;
    hone_error error = {0};
    (void)hone_error_set(&error, HONE_IO, "a\nb\r\tc\x1B[2J d\xFF\xC3 \xC2\x9B 31m \xE2\x80\xA8 \xED\xA0\x80 \xC3\xA9");
    assert_valid_line(error.message);
    assert_string_equal(error.message, "a b  c?[2J d?? ?? 31m ??? ??? \xC3\xA9");
}

static void system_errors_say_why(void **state) {
    (void)state;
    hone_error error = {0};
    assert_int_equal(hone_error_system(&error, ENOENT, "cannot open '%s'", "x"), HONE_NOT_FOUND);
    assert_string_equal(error.message, "cannot open 'x': No such file or directory");
    assert_int_equal(hone_error_system(&error, EEXIST, "x"), HONE_EXISTS);
    assert_int_equal(hone_error_system(&error, ENOMEM, "x"), HONE_OUT_OF_MEMORY);
    assert_int_equal(hone_error_system(&error, EACCES, "x"), HONE_IO);
    assert_int_equal(error.status, HONE_IO);
    assert_int_equal(hone_error_system(&error, ENOSPC, "cannot write 'y'"), HONE_IO);
    assert_string_equal(error.message, "cannot write 'y': No space left on device; free some space and try again");
    assert_int_equal(hone_error_system(NULL, ENOENT, "x"), HONE_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_a_name),
        cmocka_unit_test(macros_return_early),
        cmocka_unit_test(prefix_goes_in_front),
        cmocka_unit_test(old_message_may_be_an_argument),
        cmocka_unit_test(long_text_is_cut_at_a_character),
        cmocka_unit_test(full_message_is_not_cut),
        cmocka_unit_test(bytes_from_files_cannot_break_the_line),
        cmocka_unit_test(system_errors_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
