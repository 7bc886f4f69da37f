// SPDX-License-Identifier: Apache-2.0
// What the data scan refuses: each fault with its file, line and column, and a word on what to do.
#include "support/text_scan.h"

static hone_tokenizer *tokenizer;

static int set_up(void **state) {
    (void)state;
    OK(text_create(&(text_options){.template = text_template}, &tokenizer, &why));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    hone_tokenizer_destroy(tokenizer);
    return 0;
}

typedef struct fault {
    const char *text;
    int line, column;
    const char *says; // part of the message
} fault;

#define GOOD "{\"text\": \"ab\"}\n"

static const fault faults[] = {
    // rows and lines
    {GOOD "{\"text\": \"a\"} {\"text\": \"b\"}\n", 2, 15, "a second object on the line"},
    {GOOD "{\"text\": \"a\"}{\"text\": \"b\"}\n", 2, 14, "a line of its own"},
    {"{\"text\": \"a\"},\n" GOOD, 1, 14, "a comma behind the row"},
    {GOOD "{\"text\": \"a\"} x", 2, 15, "text behind the end"},
    {GOOD "{\"text\": \"a\"}]", 2, 14, "text behind the end"},
    {GOOD "// a comment\n", 2, 1, "comments"},
    {GOOD "# a comment\n", 2, 1, "comments"},
    {"{\"text\": \"ab\"} // why\n", 1, 16, "comments"},
    {"{\"text\": /* why */ \"ab\"}\n", 1, 10, "comments"},
    {GOOD "{\"text\": \"a", 2, 12, "the file ends inside a string"},
    {GOOD "{\"text\": \"a\"", 2, 13, "the file ends inside a row"},
    {GOOD "{\"text\": \"a\\", 2, 13, "the file ends inside a string"},
    {"{\"text\": \"a\n" GOOD, 1, 12, "the line ends inside a string"},
    {"{\"text\":\n \"a\"}\n", 1, 9, "the line ends inside a row"},
    {"just words\n", 1, 1, ".txt"},
    {"\"words\"\n", 1, 1, "a row must be a JSON object"},
    {"  123\n", 1, 3, "a row must be a JSON object"},
    // characters
    {GOOD "{\"text\": \"a\tb\"}\n", 2, 12, "a raw control character (byte 0x09) in a string; write it as \\t"},
    {GOOD "{\"text\": \"\x01\"}\n", 2, 11, "\\u00XX"},
    {"{\"text\":\x0B\"a\"}\n", 1, 9, "a raw control character (byte 0x0B)"},
    {"{\"text\": \"\xC3\xA9\xFF\"}\n", 1, 12, "byte 0xFF is not valid UTF-8"},
    {"{\"text\": \"\xC3\"}\n", 1, 11, "--replace-invalid"},
    {"{\"text\": \"\xED\xA0\x80\"}\n", 1, 11, "byte 0xED is not valid UTF-8"},
    {"{\"text\": \"a\\ud800\"}\n", 1, 12, "a lone surrogate \\uD800"},
    {"{\"text\": \"\\ud83d\\u0041\"}\n", 1, 11, "a lone surrogate \\uD83D"},
    {"{\"text\": \"\xC3\xA9\\uDE00\"}\n", 1, 12, "a lone surrogate \\uDE00"},
    {"{\xC3\xA9: 1}\n", 1, 2, "only strings may hold"},
    {"\xFF\xFE{\n", 1, 1, "UTF-16"},
    // grammar
    {"{\"text\": nope}\n", 1, 10, "not valid JSON"},
    {"{\"text\": \"a\",}\n", 1, 14, "not valid JSON"},
    {"{\"text\" \"a\"}\n", 1, 9, "not valid JSON"},
    {"{\"text\": \"a\", \"text\": \"b\"}\n", 1, 15, "duplicate"},
    {"{\"text\": \"\\x\"}\n", 1, 10, "not valid JSON"},
    {"{'text': 1}\n", 1, 2, "not valid JSON"},
    {"{\"a\": [1}\n", 1, 9, "not valid JSON"},
    // arrays of rows
    {"[{\"text\": \"ab\"}\n {\"text\": \"ab\"}]\n", 2, 2, "a comma or ] is missing"},
    {"[{\"text\": \"ab\"},\n]\n", 2, 1, "a row is missing"},
    {"[{\"text\": \"ab\"}]\n{}\n", 2, 1, "behind the end of the array"},
    {"[{\"text\": \"ab\"},\n", 2, 1, "the file ends inside the array"},
    {"[\n  {\"text\": \"ab\",\n   \"x\": \"a\nb\"}]\n", 3, 11, "a raw control character (byte 0x0A) in a string"},
    {"[\n  {\"text\": \"ab\",\n   \"x\": 1", 3, 10, "the file ends inside a row"},
    {"[\n  [1, 2]\n]\n", 2, 3, "each row of the array must be an object"},
    {"[\n  // first\n {\"text\": \"ab\"}]", 2, 3, "comments"},
    {"[{\"text\": \"ab\"},\n  {\"text\": 5}]", 2, 12, "\"text\" is a number; it must be a string"},
    // forms
    {"{}\n", 1, 1, "(none)"},
    {GOOD "  {\"question\": \"a\", \"answer\": \"b\"}\n", 2, 3, "\"question\", \"answer\""},
    {"{\"text\": null}\n", 1, 10, "\"text\" is null"},
    {"{\"text\": [\"a\"]}\n", 1, 10, "\"text\" is an array"},
    {"{\"prompt\": \"a\"}\n", 1, 1, "no \"completion\""},
    {"{\"completion\": \"a\"}\n", 1, 1, "no \"prompt\""},
    {"{\"prompt\": \"a\", \"completion\": true}\n", 1, 31, "\"completion\" is a boolean"},
    {"{\"instruction\": \"a\"}\n", 1, 1, "no \"output\""},
    {"{\"instruction\": \"a\", \"input\": {}, \"output\": \"b\"}\n", 1, 31, "\"input\" is an object"},
    {"{\"messages\": \"a\"}\n", 1, 14, "\"messages\" is a string; it must be an array"},
    {"{\"messages\": [\"a\"]}\n", 1, 15, "message 1 of \"messages\" is a string"},
    {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\"}]}\n", 1, 49,
     "no \"content\""},
    {"{\"messages\": [{\"content\": \"a\"}]}\n", 1, 15, "no \"role\""},
    {"{\"messages\": [{\"role\": \"user\", \"content\": null}]}\n", 1, 43, "\"content\" of message 1 is null"},
    {"{\"messages\": [{\"role\": \"assitant\", \"content\": \"a\"}]}\n", 1, 24, "\"assitant\" is not known"},
    {"{\"conversations\": [{\"from\": \"human\", \"value\": 1}]}\n", 1, 47, "\"value\" of message 1 is a number"},
    {"{\"conversations\": [{\"from\": \"alien\", \"value\": \"x\"}]}\n", 1, 29, "\"alien\" is not known"},
    // ids
    {GOOD "{\"ids\": [97, 270]}\n", 2, 14, "row 2: id 270 is outside the vocabulary of 270"},
    {"{\"ids\": [97, -1]}\n", 1, 14, "row 1: id -1 is outside"},
    {"{\"ids\": [99999999999999999999]}\n", 1, 10, "id 99999999999999999999 is outside"},
    {"{\"ids\": [97, 98], \"labels\": [-100, -99]}\n", 1, 36, "row 1: label -99 is outside"},
    {"{\"ids\": [97, 98], \"labels\": [-100]}\n", 1, 29, "1 labels for 2 ids"},
    {"{\"ids\": [97, 9.5]}\n", 1, 14, "whole numbers"},
    {"{\"ids\": [97, \"a\"]}\n", 1, 14, "whole numbers"},
    {"{\"ids\": [097]}\n", 1, 10, "whole numbers"},
    {"{\"ids\": [97 98]}\n", 1, 13, "a comma is missing"},
    {"{\"ids\": [97,]}\n", 1, 13, "a number is missing"},
    {"{\"ids\": [97, 9", 1, 14, "whole numbers"},
    {"{\"ids\": [97, ", 1, 14, "the file ends inside a row"},
    {"{\"ids\": 5}\n", 1, 9, "\"ids\" is a number"},
    {"{\"ids\": [97, 98], \"labels\": \"x\"}\n", 1, 29, "\"labels\" is a string"},
    {"{\"labels\": [97]}\n", 1, 1, "no form that is known"},
};

static void each_fault_has_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const fault *const f = &faults[i];
        hone_dataset *dataset = NULL;
        const size_t held = scratch_held();
        why = (hone_error){0};
        const hone_status status = scan_bytes(tokenizer, f->text, strlen(f->text), NULL, &dataset);
        if (status != HONE_BAD_DATA) fail_msg("%s: %s", f->text, hone_status_name(status));
        char place[64];
        snprintf(place, sizeof place, "data.jsonl, line %d, column %d: ", f->line, f->column);
        if (strncmp(why.message, place, strlen(place)) != 0 || !strstr(why.message, f->says))
            fail_msg("%s\n  gives: %s\n  not:   %s... %s", f->text, why.message, place, f->says);
        assert_null(dataset);
        assert_true(scratch_held() < held + 100000); // the tokenizer's own scratch may have grown
    }
}

static void empty_files_hold_no_rows(void **state) {
    (void)state;
    static const char *const empty[] = {"", "\n\n \t\r\n", "\xEF\xBB\xBF", "[]", "[\n]\n\n"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        hone_dataset *dataset = NULL;
        assert_int_equal(scan_bytes(tokenizer, empty[i], strlen(empty[i]), NULL, &dataset), HONE_BAD_DATA);
        assert_non_null(strstr(why.message, "data.jsonl holds no rows"));
    }
}

static void nul_bytes_are_faults(void **state) {
    (void)state;
    static const char inside[] = "{\"text\": \"a\0b\"}\n";
    static const char between[] = "{\"text\": \"ab\"}\0\n";
    hone_dataset *dataset = NULL;
    assert_int_equal(scan_bytes(tokenizer, inside, sizeof inside - 1, NULL, &dataset), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "line 1, column 12: a raw control character (byte 0x00)"));
    assert_int_equal(scan_bytes(tokenizer, between, sizeof between - 1, NULL, &dataset), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "line 1, column 15: text behind the end"));
}

static void invalid_bytes_can_be_replaced(void **state) {
    (void)state;
#define FFFD "\xEF\xBF\xBD"
    static const struct {
        const char *bytes, *expected;
        uint64_t places;
    } cases[] = {
        {"\xFF", FFFD, 1},
        {"\xC3", FFFD, 1},
        {"\xE2\x82", FFFD, 1}, // a character cut short is one place
        {"\xF0\x9F\x98", FFFD, 1},
        {"\xE2\x82z", FFFD "z", 1},
        {"\xC0\xAF", FFFD FFFD, 2},          // overlong
        {"\xE0\x80\xAF", FFFD FFFD FFFD, 3}, // overlong
        {"\xED\xA0\x80", FFFD FFFD FFFD, 3}, // a surrogate
        {"\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD, 4},
        {"\xC3\xA9\x80", "\xC3\xA9" FFFD, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        char expected[64];
        snprintf(text, sizeof text, "{\"text\": \"a%sb\"}\n", cases[i].bytes);
        snprintf(expected, sizeof expected, "a[[%sb<|im_end|>]]", cases[i].expected);
        hone_dataset *dataset = NULL;
        scan_must(tokenizer, text, &(hone_dataset_options){.replace_invalid = true}, &dataset);
        expect_row(tokenizer, dataset, 0, expected);
        assert_int_equal(dataset->statistics.replaced, cases[i].places);
        hone_dataset_destroy(dataset);
    }
    static const char surrogate[] = "{\"text\": \"\\ud800\"}\n"; // replacing is for bytes
    hone_dataset *dataset = NULL;
    const hone_dataset_options replace = {.replace_invalid = true};
    assert_int_equal(scan_bytes(tokenizer, surrogate, strlen(surrogate), &replace, &dataset), HONE_BAD_DATA);
}

static void a_smaller_vocabulary_is_kept_to(void **state) {
    (void)state;
    static const char data[] = "{\"ids\": [97, 100]}\n";
    hone_dataset *dataset = NULL;
    const hone_dataset_options small = {.vocabulary = 100};
    assert_int_equal(scan_bytes(tokenizer, data, strlen(data), &small, &dataset), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "outside the vocabulary of 100"));
    const hone_dataset_options large = {.vocabulary = 101};
    assert_int_equal(scan_bytes(tokenizer, data, strlen(data), &large, &dataset), HONE_OK);
    hone_dataset_destroy(dataset);
}

static void deep_nesting_is_a_fault(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *const text = malloc(DEPTH + 64);
    assert_non_null(text);
    const int head = snprintf(text, 32, "{\"text\": ");
    memset(text + head, '[', DEPTH);
    strcpy(text + head + DEPTH, "\n");
    hone_dataset *dataset = NULL;
    assert_int_equal(scan_bytes(tokenizer, text, strlen(text), NULL, &dataset), HONE_BAD_DATA);
    memset(text + head + DEPTH / 2, ']', DEPTH / 2);
    strcpy(text + head + DEPTH, "}\n");
    assert_int_equal(scan_bytes(tokenizer, text, strlen(text), NULL, &dataset), HONE_BAD_DATA);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_has_its_place),
        cmocka_unit_test(empty_files_hold_no_rows),
        cmocka_unit_test(nul_bytes_are_faults),
        cmocka_unit_test(invalid_bytes_can_be_replaced),
        cmocka_unit_test(a_smaller_vocabulary_is_kept_to),
        cmocka_unit_test(deep_nesting_is_a_fault),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
