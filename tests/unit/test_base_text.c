// SPDX-License-Identifier: Apache-2.0
// Growing text, escapes for JSON and HTML, and UTF-8 over every code point and every wrong form.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/text.h"

static void text_grows(void **state) {
    (void)state;
    const hone_memory_count before = hone_memory_counted();
    hone_text text = {0};
    hone_text_append(&text, "", 0);
    assert_string_equal(text.bytes, "");
    for (int i = 0; i < 1000; i++) hone_text_print(&text, "%d,", i);
    hone_text_append(&text, "a\0b", 3);
    assert_int_equal(hone_text_status(&text, NULL), HONE_OK);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    assert_memory_equal(text.bytes, "0,1,2,3,", 8);
    assert_memory_equal(text.bytes + text.length - 7, "999,a\0b", 8);
    char long_text[5000];
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    hone_text_clear(&text);
    hone_text_print(&text, "<%s>", long_text); // longer than the room there is at first
    assert_int_equal(text.length, sizeof long_text + 1);
    assert_int_equal(text.bytes[text.length - 1], '>');
    assert_int_equal(text.bytes[text.length], 0);
    hone_text_clear(&text);
    assert_null(text.bytes);
    assert_int_equal(hone_memory_counted().bytes, before.bytes);
}

static void failure_is_sticky(void **state) {
    (void)state;
    hone_text text = {0};
    hone_text_append(&text, "kept", 4);
    char long_text[200] = "";
    memset(long_text, 'y', sizeof long_text - 1);
    hone_memory_fail_after(0, false);
    hone_text_print(&text, "%s", long_text);
    hone_text_append(&text, "x", 1);
    hone_text_json(&text, "x", 1);
    hone_text_html(&text, "x", 1);
    assert_true(text.failed);
    assert_string_equal(text.bytes, "kept");
    assert_int_equal(text.length, 4);
    hone_error error = {0};
    assert_int_equal(hone_text_status(&text, &error), HONE_OUT_OF_MEMORY);
    assert_true(strlen(error.message) > 0);
    hone_text_clear(&text);
    assert_int_equal(hone_text_status(&text, NULL), HONE_OK);
    hone_memory_fail_after(0, false);
    hone_text_append(&text, "x", 1); // the first one fails
    assert_true(text.failed);
    assert_null(text.bytes);
    hone_text_clear(&text);
}

static void check(void (*append)(hone_text *, const char *, size_t), const char *bytes, size_t length,
                  const char *expected) {
    hone_text text = {0};
    append(&text, bytes, length);
    assert_int_equal(hone_text_status(&text, NULL), HONE_OK);
    assert_string_equal(text.bytes, expected);
    assert_int_equal(text.length, strlen(expected));
    hone_text_clear(&text);
}

static void json_is_escaped(void **state) {
    (void)state;
    check(hone_text_json, "", 0, "\"\"");
    check(hone_text_json, "a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
    check(hone_text_json, "\0\b\t\n\v\f\r\x1F\x7F", 9, "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7F\"");
    check(hone_text_json, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
    check(hone_text_json, "a\xFFz", 3, "\"a\xEF\xBF\xBDz\"");
    check(hone_text_json, "\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    check(hone_text_json, "<|im_end|></script><!--<", 24, "\"<|im_end|>\\u003c/script>\\u003c!--<\"");
}

static void html_is_escaped(void **state) {
    (void)state;
    check(hone_text_html, "", 0, "");
    check(hone_text_html, "<a href=\"x\">&'", 14, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    check(hone_text_html, "\xC3\xA9\xFF\0", 4, "\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void each_code_point_goes_round(void **state) {
    (void)state;
    for (uint32_t point = 0; point < 0x120000; point++) {
        char bytes[4] = {0};
        const size_t n = hone_utf8_encode(point, bytes);
        const int valid = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        assert_int_equal(n, !valid ? 0 : point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
        if (!valid) continue;
        uint32_t back = 0;
        assert_int_equal(hone_utf8_length(bytes, 4, &back), n);
        assert_int_equal(back, point);
        if (n > 1) assert_int_equal(hone_utf8_length(bytes, n - 1, NULL), 0);
    }
    assert_int_equal(hone_utf8_encode(UINT32_MAX, (char[4]){0}), 0);
}

static void exactly_the_valid_forms_are_taken(void **state) {
    (void)state;
    // Over all 2- and 3-byte sequences, the valid ones are as many as there are code points of that length.
    int two = 0, three = 0;
    for (int a = 0x80; a < 0x100; a++) {
        for (int b = 0; b < 0x100; b++) {
            char bytes[3] = {(char)a, (char)b, 0};
            two += hone_utf8_length(bytes, 2, NULL) == 2;
            for (int c = 0; c < 0x100; c++) {
                bytes[2] = (char)c;
                three += hone_utf8_length(bytes, 3, NULL) == 3;
            }
        }
    }
    assert_int_equal(two, 0x800 - 0x80);
    assert_int_equal(three, 0x10000 - 0x800 - 0x800);
    static const char *const wrong[] = {"\xC0\x80",         "\xC1\xBF",         "\xE0\x9F\xBF",
                                        "\xED\xA0\x80",     "\xED\xBF\xBF",     "\xF0\x8F\xBF\xBF",
                                        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(hone_utf8_length(wrong[i], strlen(wrong[i]), NULL), 0);
    }
    assert_int_equal(hone_utf8_length("", 0, NULL), 0);
    assert_int_equal(hone_utf8_length("\0", 1, NULL), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows),
        cmocka_unit_test(failure_is_sticky),
        cmocka_unit_test(json_is_escaped),
        cmocka_unit_test(html_is_escaped),
        cmocka_unit_test(each_code_point_goes_round),
        cmocka_unit_test(exactly_the_valid_forms_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
