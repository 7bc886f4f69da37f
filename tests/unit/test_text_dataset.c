// SPDX-License-Identifier: Apache-2.0
// The data scan: every form of row, what of it is learnt, cuts and skips, windows of plain text, answers, the hash.
#include "support/text_scan.h"

#include <time.h>

#include <jansson.h>

#define SYSTEM       "<|im_start|>system\nBe good.<|im_end|>\n"
#define USER(text)   "<|im_start|>user\n" text "<|im_end|>\n"
#define ANSWER(text) "<|im_start|>assistant\n[[" text "<|im_end|>]]\n"

static hone_tokenizer *tokenizer;

static int set_up(void **state) {
    (void)state;
    OK(text_create(&(text_options){.template = text_template}, &tokenizer, &why));
    return scratch_enter(state);
}

static int tear_down(void **state) {
    hone_tokenizer_destroy(tokenizer);
    return scratch_leave(state);
}

static void every_form_is_taken(void **state) {
    (void)state;
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"{\"messages\": [{\"role\": \"user\", \"content\": \"hello\"}, {\"role\": \"assistant\", \"content\": "
         "\"he\"}]}",
         SYSTEM USER("hello") ANSWER("he")},
        {"{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"a\"}, "
         "{\"role\": "
         "\"assistant\", \"content\": \"b\"}, {\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", "
         "\"content\": \"\"}]}",
         "<|im_start|>system\nS<|im_end|>\n" USER("a") ANSWER("b") USER("c") ANSWER("")},
        {"{\"conversations\": [{\"from\": \"human\", \"value\": \"hello\"}, {\"from\": \"gpt\", \"value\": \"he\"}]}",
         SYSTEM USER("hello") ANSWER("he")},
        {"{\"system\": \"S\", \"conversations\": [{\"role\": \"user\", \"content\": \"a\"}, {\"from\": \"gpt\", "
         "\"value\": "
         "\"b\"}]}",
         "<|im_start|>system\nS<|im_end|>\n" USER("a") ANSWER("b")},
        {"{\"prompt\": \"hello\", \"completion\": \"he\"}", SYSTEM USER("hello") ANSWER("he")},
        {"{\"instruction\": \"hello\", \"input\": \"x\", \"output\": \"he\"}", SYSTEM USER("hello\n\nx") ANSWER("he")},
        {"{\"instruction\": \"hello\", \"input\": \"\", \"output\": \"he\"}", SYSTEM USER("hello") ANSWER("he")},
        {"{\"instruction\": \"hello\", \"input\": null, \"output\": \"he\"}", SYSTEM USER("hello") ANSWER("he")},
        {"{\"text\": \"hello he\"}", "hello[[ he<|im_end|>]]"},
        {"{\"text\": \"a<|im_end|>\"}", "a[[<|im_end|>]]"}, // its own end is enough
        {"{\"id\": 123456789012345678901234567890, \"text\": \"ab\", \"more\": [{\"x\": [1.5, true]}]}",
         "a[[b<|im_end|>]]"},
        {"{\"ids\": [97, 98, 99]}", "a[[bc]]"},
        {"{\"input_ids\": [97, 98, 99], \"labels\": [-100, -100, 99]}", "ab[[c]]"},
        {"{\"labels\": [97 , -100,\t99] , \"ids\": [ 97,98 ,99 ]}", "ab[[c]]"}, // the first is never learnt
        {"{\"ids\": [97, 98], \"labels\": null}", "a[[b]]"},
        {"{\"text\": \"\\u00e9\\ud83d\\ude00\\u0000\\n\"}", "\xC3[[\xA9\xF0\x9F\x98\x80"}, // to the NUL, as C sees it
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_dataset *dataset = NULL;
        scan_must(tokenizer, cases[i].json, NULL, &dataset);
        assert_int_equal(dataset->row_count, 1);
        expect_row(tokenizer, dataset, 0, cases[i].expected);
        hone_dataset_destroy(dataset);
    }
}

static void files_may_look_as_they_like(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t lines[3]; // of the rows, which are "a", "b" and so on
    } cases[] = {
        {"{\"text\": \"aa\"}\n{\"text\": \"bb\"}\n", {1, 2}},
        {"{\"text\": \"aa\"}\n{\"text\": \"bb\"}", {1, 2}},
        {"\xEF\xBB\xBF{\"text\": \"aa\"}\r\n\r\n  \t\r\n{\"text\": \"bb\"}\r\n\n\n", {1, 4}},
        {"\n\n  {\"text\": \"aa\"}  \n", {3}},
        {"[{\"text\": \"aa\"}, {\"text\": \"bb\"}]", {1, 1}},
        {"\xEF\xBB\xBF \n[\n  {\n    \"text\": \"aa\"\n  },\n  {\"text\": \"b]}\\\"b\"}\r\n]\r\n\r\n", {3, 6}},
        {"[{\"text\": \"aa\"}\n,\n{\"text\": \"bb\"}\n,{\"text\": \"cc\"}]", {1, 3, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_dataset *dataset = NULL;
        scan_must(tokenizer, cases[i].text, NULL, &dataset);
        size_t rows = 0;
        for (; rows < 3 && cases[i].lines[rows] > 0; rows++) {
            assert_true(rows < dataset->row_count);
            assert_int_equal(dataset->rows[rows].line, cases[i].lines[rows]);
        }
        assert_int_equal(dataset->row_count, rows);
        assert_int_equal(dataset->statistics.rows, rows);
        hone_dataset_destroy(dataset);
    }
}

static void the_loss_covers_what_is_asked(void **state) {
    (void)state;
    static const char chat[] = "{\"prompt\": \"a\", \"completion\": \"b\"}";
    static const char text[] = "{\"text\": \"ab\"}";
    hone_dataset *dataset = NULL;
    scan_must(tokenizer, chat, &(hone_dataset_options){.loss = HONE_LOSS_ALL}, &dataset);
    expect_row(tokenizer, dataset, 0,
               "<|im_start|>[[system\nBe good.<|im_end|>\n" USER("a") "<|im_start|>assistant\nb<|im_end|>\n]]");
    hone_dataset_destroy(dataset);
    scan_must(tokenizer, text, &(hone_dataset_options){.no_end = true}, &dataset);
    expect_row(tokenizer, dataset, 0, "a[[b]]");
    hone_dataset_destroy(dataset);
    const hone_dataset_options assistant = {.loss = HONE_LOSS_ASSISTANT};
    assert_int_equal(scan_bytes(tokenizer, text, strlen(text), &assistant, &dataset), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "data.jsonl, line 1"));
    assert_non_null(strstr(why.message, "--loss all"));
    scan_must(tokenizer, chat, &(hone_dataset_options){.chat_format = "none"}, &dataset);
    expect_row(tokenizer, dataset, 0, "a[[b<|im_end|>]]");
    assert_string_equal(dataset->chat_format, "none");
    hone_dataset_destroy(dataset);
    const hone_dataset_options unknown = {.chat_format = "klingon"};
    assert_int_equal(scan_bytes(tokenizer, text, strlen(text), &unknown, &dataset), HONE_UNSUPPORTED);
}

static void models_without_a_template_take_prompts_bare(void **state) {
    (void)state;
    hone_tokenizer *bare = NULL;
    hone_dataset *dataset = NULL;
    OK(text_create(&(text_options){.add_bos = true}, &bare, &why));
    scan_must(bare, "{\"prompt\": \"hel\", \"completion\": \"lo\"}\n{\"text\": \"<|endoftext|>a\"}\n{\"text\": \"a\"}",
              NULL, &dataset);
    // The joined text is one token, which begins in the prompt: only the end is learnt.
    expect_row(bare, dataset, 0, "<|endoftext|>hello[[<|im_end|>]]");
    expect_row(bare, dataset, 1, "<|endoftext|>[[a<|im_end|>]]"); // one BOS, whoever writes it
    expect_row(bare, dataset, 2, "<|endoftext|>[[a<|im_end|>]]");
    hone_dataset_destroy(dataset);
    static const char chat[] = "{\"messages\": [{\"role\": \"assistant\", \"content\": \"a\"}]}";
    assert_int_equal(scan_bytes(bare, chat, strlen(chat), NULL, &dataset), HONE_UNSUPPORTED);
    assert_non_null(strstr(why.message, "--chat-format"));
    hone_tokenizer_destroy(bare);
}

static void long_rows_are_cut_and_counted(void **state) {
    (void)state;
    hone_dataset *dataset = NULL;
    scan_must(
        tokenizer,
        "{\"text\": \"bcdefg\"}\n"                                                       // 7 tokens with its end
        "{\"ids\": [97, 98, 99, 100, 101], \"labels\": [-100, -100, -100, -100, 101]}\n" // all lies behind the cut
        "\n"
        "{\"ids\": [97, 98], \"labels\": [97, -100]}\n" // nothing is learnt
        "{\"ids\": []}\n"
        "{\"text\": \"\"}\n"
        "{\"ids\": [97]}\n"
        "{\"messages\": []}\n"
        "{\"ids\": [97, 98, 99, 100]}\n",
        &(hone_dataset_options){.sequence = 4}, &dataset);
    const hone_dataset_statistics *const s = &dataset->statistics;
    assert_int_equal(dataset->row_count, 2);
    expect_row(tokenizer, dataset, 0, "b[[cde]]"); // no end token where the text does not end
    expect_row(tokenizer, dataset, 1, "a[[bcd]]");
    assert_int_equal(s->rows, 8);
    assert_int_equal(s->used, 2);
    assert_int_equal(s->tokens, 8);
    assert_int_equal(s->supervised, 6);
    assert_int_equal(s->truncated, 2);
    assert_int_equal(s->lost, 4);
    assert_int_equal(s->longest, 7);
    assert_int_equal(s->longest_line, 1);
    assert_int_equal(s->skipped, 6);
    static const hone_skipped_row skipped[] = {{2, 2, HONE_SKIP_CUT},   {3, 4, HONE_SKIP_MASKED},
                                               {4, 5, HONE_SKIP_EMPTY}, {5, 6, HONE_SKIP_EMPTY},
                                               {6, 7, HONE_SKIP_SHORT}, {7, 8, HONE_SKIP_EMPTY}};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(s->skipped_rows[i].row, skipped[i].row);
        assert_int_equal(s->skipped_rows[i].line, skipped[i].line);
        assert_int_equal(s->skipped_rows[i].reason, skipped[i].reason);
        assert_true(strlen(hone_skip_reason_text(skipped[i].reason)) > 5);
    }
    hone_dataset_destroy(dataset);
    static const char question[] = "\n{\"prompt\": \"abcdefghijklmnop\", \"completion\": \"x\"}\n";
    const hone_dataset_options short_rows = {.sequence = 10};
    assert_int_equal(scan_bytes(tokenizer, question, strlen(question), &short_rows, &dataset), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "data.jsonl, line 2"));
    assert_non_null(strstr(why.message, "raise --sequence"));
}

static void targets_are_one_ahead(void **state) {
    (void)state;
    hone_dataset *dataset = NULL;
    scan_must(tokenizer, "{\"text\": \"zz\"}\n{\"ids\": [97, 98, 99], \"labels\": [-100, -100, 99]}", NULL, &dataset);
    int32_t targets[3];
    hone_dataset_targets(dataset, 1, targets);
    assert_int_equal(targets[0], HONE_NOT_TRAINED);
    assert_int_equal(targets[1], 99);
    assert_int_equal(targets[2], HONE_NOT_TRAINED);
    hone_dataset_destroy(dataset);
}

static void plain_text_becomes_windows(void **state) {
    (void)state;
    hone_dataset *dataset = NULL;
    scratch_write("words.TXT",
                  "\xEF\xBB\xBF"
                  "b\r\ncd\nefg\n",
                  13);
    OK(hone_dataset_scan("words.TXT", tokenizer, &(hone_dataset_options){.sequence = 4}, &dataset, &why));
    assert_int_equal(dataset->row_count, 3);
    expect_row(tokenizer, dataset, 0, "b[[\r\nc]]");
    expect_row(tokenizer, dataset, 1, "d[[\nef]]");
    expect_row(tokenizer, dataset, 2, "g[[\n<|im_end|>]]");
    assert_int_equal(dataset->rows[0].line, 1);
    assert_int_equal(dataset->rows[1].line, 2);
    assert_int_equal(dataset->rows[2].line, 3);
    assert_int_equal(dataset->statistics.truncated, 0);
    assert_string_equal(dataset->name, "words.TXT");
    hone_dataset_destroy(dataset);
    OK(hone_dataset_scan("words.TXT", tokenizer, NULL, &dataset, &why));
    assert_int_equal(dataset->row_count, 1);
    hone_dataset_destroy(dataset);
    scratch_write("words.TXT", "ab\nc\xFF", 5);
    assert_int_equal(hone_dataset_scan("words.TXT", tokenizer, NULL, &dataset, &why), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "words.TXT, line 2, column 2: byte 0xFF is not valid UTF-8"));
    OK(hone_dataset_scan("words.TXT", tokenizer, &(hone_dataset_options){.replace_invalid = true}, &dataset, &why));
    expect_row(tokenizer, dataset, 0, "a[[b\nc\xEF\xBF\xBD<|im_end|>]]");
    assert_int_equal(dataset->statistics.replaced, 1);
    hone_dataset_destroy(dataset);
    scratch_write("words.TXT", "", 0);
    assert_int_equal(hone_dataset_scan("words.TXT", tokenizer, NULL, &dataset, &why), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "holds no rows"));
    unlink("words.TXT");
    assert_int_equal(hone_dataset_scan("absent.jsonl", tokenizer, NULL, &dataset, &why), HONE_NOT_FOUND);
}

static void answers_are_kept(void **state) {
    (void)state;
    hone_dataset *dataset = NULL;
    scan_must(
        tokenizer,
        "{\"text\": \"zz\"}\n"
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}, "
        "{\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", \"content\": \"\\n\\nhello\"}]}\n"
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n"
        "{\"prompt\": \"q\", \"completion\": \"r\"}\n",
        &(hone_dataset_options){.keep_answers = true}, &dataset);
    assert_int_equal(dataset->row_count, 3);
    assert_false(dataset->rows[0].has_answer);
    static const char *const prompts[] = {
        SYSTEM USER("a") "<|im_start|>assistant\nb<|im_end|>\n" USER("c") "<|im_start|>assistant\n",
        SYSTEM USER("q") "<|im_start|>assistant\n"};
    static const char *const answers[] = {"\n\nhello", "r"};
    for (size_t i = 0; i < 2; i++) {
        const hone_dataset_row *const row = &dataset->rows[i + 1];
        assert_true(row->has_answer);
        hone_text prompt = {0};
        OK(hone_tokenizer_decode(tokenizer, dataset->prompt_ids + row->prompt_first, row->prompt_length, 0, &prompt,
                                 &why));
        assert_string_equal(prompt.bytes, prompts[i]);
        assert_int_equal(dataset->prompt_ids[row->prompt_first + row->prompt_length - 1], '\n');
        assert_int_equal(row->answer_length, strlen(answers[i]));
        assert_memory_equal(dataset->answers.bytes + row->answer_first, answers[i], row->answer_length);
        hone_text_clear(&prompt);
    }
    hone_dataset_destroy(dataset);
}

static uint64_t hash_of(const char *text, const hone_dataset_options *options) {
    hone_dataset *dataset = NULL;
    scan_must(tokenizer, text, options, &dataset);
    const uint64_t hash = hone_dataset_hash(dataset);
    hone_dataset_destroy(dataset);
    return hash;
}

static void the_hash_tells_data_apart(void **state) {
    (void)state;
    const uint64_t first = hash_of("{\"ids\": [97, 98, 99]}\n{\"ids\": [97, 98]}", NULL);
    assert_true(first == hash_of("[{\"ids\": [97,98,99]},\n{\"ids\": [97,98], \"x\": 1}]", NULL));
    assert_true(first != hash_of("{\"ids\": [97, 98]}\n{\"ids\": [99, 97, 98]}", NULL));
    assert_true(first != hash_of("{\"ids\": [97, 98, 99], \"labels\": [97, 98, -100]}\n{\"ids\": [97, 98]}", NULL));
    assert_true(first !=
                hash_of("{\"ids\": [97, 98, 99]}\n{\"ids\": [97, 98]}", &(hone_dataset_options){.sequence = 2}));
}

static void missing_bytes_are_counted(void **state) {
    (void)state;
    hone_tokenizer *lossy = NULL;
    hone_dataset *dataset = NULL;
    OK(text_create(&(text_options){.missing_byte = 'x'}, &lossy, &why));
    scan_must(lossy, "{\"text\": \"axbx\"}\n{\"text\": \"xa\"}", NULL, &dataset);
    expect_row(lossy, dataset, 0, "a[[b<|im_end|>]]");
    assert_int_equal(dataset->statistics.dropped, 3);
    hone_dataset_destroy(dataset);
    hone_tokenizer_destroy(lossy);
}

// JSON of 20 MB in one row, of each kind, within the time of a breath and a small multiple of its size.
static void large_rows_take_no_time(void **state) {
    (void)state;
    enum { LENGTH = 20 * 1000 * 1000 };
    static const struct {
        const char *head, *body, *tail;
    } kinds[] = {
        {"{\"text\": \"", "a", "\"}\n"},
        {"{\"text\": \"", "\\n hello \\u00e9,", "\"}\n"},
        {"[{\"messages\": [{\"role\": \"user\", \"content\": \"", "hello ",
         "\"}, {\"role\": \"assistant\", \"content\": \"a\"}]}]"},
        {"{\"ids\": [97", ",101,0", "]}"},
        {"", "\n", "{\"text\": \"ab\"}"},
    };
    char *const text = malloc(LENGTH + 1);
    assert_non_null(text);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t head = strlen(kinds[k].head);
        const size_t body = strlen(kinds[k].body);
        const size_t tail = strlen(kinds[k].tail);
        size_t at = head;
        memcpy(text, kinds[k].head, head);
        for (; at + body + tail <= LENGTH; at += body) memcpy(text + at, kinds[k].body, body);
        memcpy(text + at, kinds[k].tail, tail);
        hone_dataset *dataset = NULL;
        const hone_memory_count before = hone_memory_counted();
        const clock_t start = clock();
        if (scan_bytes(tokenizer, text, at + tail, NULL, &dataset) != HONE_OK) fail_msg("%s", why.message);
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds > TEXT_SECONDS) fail_msg("kind %zu took %.1f s", k, seconds);
        print_message("kind %zu: %.2f s, %zu tokens\n", k, seconds, dataset->token_count);
        assert_true(hone_memory_counted().peak_bytes - before.bytes < (size_t)20 * LENGTH);
        hone_dataset_destroy(dataset);
        assert_true(hone_memory_counted().bytes < before.bytes + ((size_t)1 << 20));
    }
    free(text);
}

static void reference_rows_are_equal(void **state) {
    (void)state;
    char rows_path[4096];
    char tokens_path[4096];
    hone_tokenizer *const real = text_real_tokenizer();
    if (!real) skip();
    if (!scratch_reference("chat.jsonl", rows_path, sizeof rows_path) ||
        !scratch_reference("chat_tokens.json", tokens_path, sizeof tokens_path)) {
        hone_tokenizer_destroy(real);
        skip();
    }
    hone_dataset *dataset = NULL;
    OK(hone_dataset_scan(rows_path, real, NULL, &dataset, &why));
    json_t *const rows = json_load_file(tokens_path, 0, NULL);
    assert_int_equal(dataset->row_count, json_array_size(rows));
    for (size_t r = 0; r < dataset->row_count; r++) {
        const json_t *const ids = json_object_get(json_array_get(rows, r), "ids");
        const json_t *const labels = json_object_get(json_array_get(rows, r), "labels");
        const hone_dataset_row *const row = &dataset->rows[r];
        assert_int_equal(row->length, json_array_size(ids));
        for (size_t i = 0; i < row->length; i++) {
            assert_int_equal(dataset->ids[row->first + i], json_integer_value(json_array_get(ids, i)));
            assert_int_equal(dataset->labels[row->first + i], json_integer_value(json_array_get(labels, i)));
        }
    }
    json_decref(rows);
    hone_dataset_destroy(dataset);
    hone_tokenizer_destroy(real);
}

// The windows of the text run: int32 [20, 128] behind the header of tokens.npy.
static void reference_windows_are_equal(void **state) {
    (void)state;
    char text_path[4096];
    char tokens_path[4096];
    hone_tokenizer *const real = text_real_tokenizer();
    if (!real) skip();
    if (!scratch_reference("text.txt", text_path, sizeof text_path) ||
        !scratch_reference("tokens.npy", tokens_path, sizeof tokens_path)) {
        hone_tokenizer_destroy(real);
        skip();
    }
    hone_dataset *dataset = NULL;
    OK(hone_dataset_scan(text_path, real, &(hone_dataset_options){.sequence = 128}, &dataset, &why));
    size_t size = 0;
    uint8_t *const bytes = scratch_read(tokens_path, &size);
    enum { TOKENS = 20 * 128 };
    assert_true(size > TOKENS * sizeof(int32_t));
    assert_true(dataset->token_count >= TOKENS);
    assert_memory_equal(dataset->ids, bytes + size - TOKENS * sizeof(int32_t), TOKENS * sizeof(int32_t));
    for (size_t r = 0; r < 20; r++) {
        assert_int_equal(dataset->rows[r].length, 128);
        assert_int_equal(dataset->rows[r].supervised, 127);
    }
    free(bytes);
    hone_dataset_destroy(dataset);
    hone_tokenizer_destroy(real);
}

static void failing_memory_is_told(void **state) {
    (void)state;
    static const char data[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"hello\"}, {\"role\": \"assistant\", "
        "\"content\": \"he\xFF\"}]}\n{\"ids\": [97, 98], \"labels\": [1, 2]}\n"
        "{\"instruction\": \"a\", \"input\": \"b\", \"output\": \"c\"}\n{\"text\": \"abc\"}\n";
    for (int plain = 0; plain < 2; plain++) {
        for (uint64_t n = 0;; n++) {
            hone_tokenizer *fresh = NULL;
            OK(text_create(&(text_options){.template = text_template}, &fresh, &why));
            const hone_memory_count before = hone_memory_counted();
            hone_source *source = NULL;
            hone_dataset *dataset = NULL;
            OK(hone_memory_source(data, sizeof data - 1, "data.jsonl", &source, &why));
            const hone_dataset_options options = {
                .replace_invalid = true, .keep_answers = true, .plain_text = plain, .sequence = 9};
            why = (hone_error){0};
            hone_memory_fail_after(n, true);
            const hone_status status = hone_dataset_scan_source(source, fresh, &options, &dataset, &why);
            hone_memory_fail_after(UINT64_MAX, false);
            hone_dataset_destroy(dataset);
            hone_source_close(&source);
            hone_tokenizer_destroy(fresh);
            assert_true(hone_memory_counted().bytes < before.bytes);
            if (status == HONE_OK) break;
            assert_int_equal(status, HONE_OUT_OF_MEMORY);
            assert_true(why.message[0] != 0);
            assert_true(n < 1000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_taken),           cmocka_unit_test(files_may_look_as_they_like),
        cmocka_unit_test(the_loss_covers_what_is_asked), cmocka_unit_test(models_without_a_template_take_prompts_bare),
        cmocka_unit_test(long_rows_are_cut_and_counted), cmocka_unit_test(targets_are_one_ahead),
        cmocka_unit_test(plain_text_becomes_windows),    cmocka_unit_test(answers_are_kept),
        cmocka_unit_test(the_hash_tells_data_apart),     cmocka_unit_test(missing_bytes_are_counted),
        cmocka_unit_test(large_rows_take_no_time),       cmocka_unit_test(reference_rows_are_equal),
        cmocka_unit_test(reference_windows_are_equal),   cmocka_unit_test(failing_memory_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
