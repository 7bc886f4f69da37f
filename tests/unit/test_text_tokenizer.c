// SPDX-License-Identifier: Apache-2.0
// The tokenizer: a small vocabulary by hand, the real one against stored ids, odd text, failing memory.
#include "support/text_model.h"

#include <time.h>

#include <jansson.h>

#include "support/tiny_model.h"

// Encodes and compares; the list ends with -1.
static void expect_ids(hone_tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                       const int32_t *expected) {
    hone_ids ids = {0};
    OK(hone_tokenizer_encode(tokenizer, text, length, flags, &ids, &why));
    size_t count = 0;
    while (expected[count] >= 0) count++;
    for (size_t i = 0; i < ids.count && i < count; i++) {
        if (ids.items[i] != expected[i]) fail_msg("'%s': id %zu is %d, not %d", text, i, ids.items[i], expected[i]);
    }
    if (ids.count != count) fail_msg("'%s': %zu ids, not %zu", text, ids.count, count);
    hone_ids_clear(&ids);
}
#define EXPECT(tokenizer, text, flags, ...)                                                                            \
    expect_ids(tokenizer, text, sizeof(text) - 1, flags, (const int32_t[]){__VA_ARGS__, -1})

static void merges_run_best_first(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    EXPECT(tokenizer, "hello", 0, TEXT_HELLO);
    EXPECT(tokenizer, "hello hello", 0, TEXT_HELLO, TEXT_SPACE_HELLO);
    EXPECT(tokenizer, "hellhe", 0, TEXT_HELL, TEXT_HE);
    EXPECT(tokenizer, "aaaaaaa", 0, TEXT_AAAA, TEXT_AA, 'a'); // leftmost first
    EXPECT(tokenizer, "", 0, -1);
    EXPECT(tokenizer, "a1\n\n2", 0, 'a', '1', TEXT_TWO_LINES, '2'); // digits stand alone
    EXPECT(tokenizer, "\xC3\xA9\x00z", 0, 0xC3, 0xA9, 0, 'z');
    assert_int_equal(hone_tokenizer_dropped(tokenizer), 0);
    hone_tokenizer_destroy(tokenizer);
}

static void control_tokens_need_trust(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    EXPECT(tokenizer, "a<|im_end|>a", HONE_ENCODE_SPECIAL, 'a', TEXT_IM_END, 'a');
    EXPECT(tokenizer, "<|im_end|>>", HONE_ENCODE_SPECIAL, TEXT_IM_END_LONG); // the longest
    EXPECT(tokenizer, "<|im_end|", HONE_ENCODE_SPECIAL, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|');
    EXPECT(tokenizer, "<|im_end|>", 0, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>');
    EXPECT(tokenizer, "a<tag>", 0, 'a', TEXT_TAG); // user-defined: always
    EXPECT(tokenizer, "[PAD]", HONE_ENCODE_SPECIAL, '[', 'P', 'A', 'D', ']');
    // A part that is not trusted does not lend bytes to a control token of one that is.
    const hone_text_part parts[] = {{"<|im_", 5, .special = true},
                                    {"end|>", 5, .special = false, .trained = true},
                                    {"<|im_", 5, .special = true},
                                    {"end|>", 5, .special = true}};
    hone_ids ids = {0};
    hone_ids trained = {0};
    OK(hone_tokenizer_encode_parts(tokenizer, parts, 4, &ids, &trained, &why));
    assert_int_equal(ids.count, 11);
    assert_int_equal(ids.items[10], TEXT_IM_END);
    assert_int_equal(trained.count, 11);
    for (size_t i = 0; i < trained.count; i++) assert_int_equal(trained.items[i], i >= 5 && i < 10);
    hone_ids_clear(&ids);
    hone_ids_clear(&trained);
    hone_tokenizer_destroy(tokenizer);
}

static void parts_join_words(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){.missing_byte = 'x'}, &tokenizer, &why));
    // "hello" is one token that begins in the first part, "\n" in the second; 'x' has no token.
    const hone_text_part parts[] = {{"xhe", 3}, {"llo\nxx", 6, .trained = true}, {"", 0}, {"xa", 2}};
    hone_ids ids = {0};
    hone_ids trained = {0};
    OK(hone_tokenizer_encode_parts(tokenizer, parts, 4, &ids, &trained, &why));
    const int32_t expected[] = {TEXT_HELLO, '\n', 'a'};
    const int32_t marks[] = {0, 1, 0};
    assert_int_equal(ids.count, 3);
    assert_memory_equal(ids.items, expected, sizeof expected);
    assert_memory_equal(trained.items, marks, sizeof marks);
    assert_int_equal(hone_tokenizer_dropped(tokenizer), 4);
    hone_ids_clear(&ids);
    hone_ids_clear(&trained);
    EXPECT(tokenizer, "hexllo", 0, TEXT_HELLO); // as if the byte were not there
    hone_tokenizer_destroy(tokenizer);
}

static void one_begin_of_text(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){.add_bos = true}, &tokenizer, &why));
    EXPECT(tokenizer, "a", HONE_ENCODE_BOS, TEXT_END_OF_TEXT, 'a');
    EXPECT(tokenizer, "a", 0, 'a');
    EXPECT(tokenizer, "<|endoftext|>a", HONE_ENCODE_BOS | HONE_ENCODE_SPECIAL, TEXT_END_OF_TEXT, 'a');
    EXPECT(tokenizer, "<tag>a", HONE_ENCODE_BOS, TEXT_END_OF_TEXT, TEXT_TAG, 'a');
    hone_tokenizer_destroy(tokenizer);
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    EXPECT(tokenizer, "a", HONE_ENCODE_BOS, 'a'); // this vocabulary adds none
    hone_tokenizer_destroy(tokenizer);
}

static void tokens_are_found_and_told(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    assert_int_equal(hone_tokenizer_size(tokenizer), TEXT_SIZE);
    assert_int_equal(hone_tokenizer_find(tokenizer, " hello", 6), TEXT_SPACE_HELLO);
    assert_int_equal(hone_tokenizer_find(tokenizer, "<|im_end|>", 10), TEXT_IM_END);
    assert_int_equal(hone_tokenizer_find(tokenizer, "nothing", 7), -1);
    assert_int_equal(hone_tokenizer_find(tokenizer, "", 0), -1);
    assert_int_equal(hone_tokenizer_kind(tokenizer, TEXT_TAG), HONE_TOKEN_USER_DEFINED);
    assert_int_equal(hone_tokenizer_text(tokenizer, TEXT_TWO_LINES).length, 2);
    assert_memory_equal(hone_tokenizer_text(tokenizer, TEXT_TWO_LINES).bytes, "\n\n", 2);
    assert_null(hone_tokenizer_text(tokenizer, TEXT_SIZE).bytes);
    assert_null(hone_tokenizer_text(tokenizer, -1).bytes);
    assert_int_equal(hone_tokenizer_eos(tokenizer), TEXT_IM_END);
    assert_int_equal(hone_tokenizer_eot(tokenizer), TEXT_IM_END);
    assert_int_equal(hone_tokenizer_bos(tokenizer), -1);
    assert_true(hone_tokenizer_is_end(tokenizer, TEXT_IM_END));
    assert_true(hone_tokenizer_is_end(tokenizer, TEXT_END_OF_TEXT));
    assert_false(hone_tokenizer_is_end(tokenizer, 'a'));
    assert_string_equal(hone_tokenizer_pre_name(tokenizer), "smollm");
    hone_text text = {0};
    const int32_t ids[] = {TEXT_IM_END, 0xC3, 0xA9, TEXT_SPACE_HELLO, TEXT_TAG};
    OK(hone_tokenizer_decode(tokenizer, ids, 5, 0, &text, &why));
    assert_string_equal(text.bytes, "<|im_end|>\xC3\xA9 hello<tag>");
    hone_text_clear(&text);
    OK(hone_tokenizer_decode(tokenizer, ids, 5, HONE_DECODE_SKIP_CONTROL, &text, &why));
    assert_string_equal(text.bytes, "\xC3\xA9 hello<tag>");
    const int32_t outside[] = {'a', TEXT_SIZE};
    assert_int_equal(hone_tokenizer_decode(tokenizer, outside, 2, 0, &text, &why), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "id 270 at position 1"));
    hone_text_clear(&text);
    hone_tokenizer_destroy(tokenizer);
}

static void bad_vocabularies_are_refused(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    assert_int_equal(text_create(&(text_options){.pre = "mystery"}, &tokenizer, &why), HONE_UNSUPPORTED);
    assert_non_null(strstr(why.message, "'mystery'"));
    assert_non_null(strstr(why.message, "llama-bpe"));
    assert_null(tokenizer);
    const hone_gguf_string tokens[] = {{"a", 1}, {"b", 1}};
    const hone_gguf_string merges[] = {{"a b", 3}, {"ab", 2}, {" b", 2}, {"a ", 2}, {"", 0}, {"a \xE2\x82\xAC", 5}};
    for (size_t i = 0; i < 6; i++) { // "a b" makes "ab", which is no token
        const hone_tokenizer_description description = {.tokens = tokens,
                                                        .token_count = 2,
                                                        .merges = &merges[i],
                                                        .merge_count = 1,
                                                        .pre_tokenizer = "gpt-2",
                                                        .bos = -1,
                                                        .eos = -1,
                                                        .eot = -1,
                                                        .pad = -1};
        assert_int_equal(hone_tokenizer_create(&description, &tokenizer, &why), HONE_BAD_FORMAT);
        assert_non_null(strstr(why.message, "merge 0"));
    }
    hone_tokenizer_description description = {
        .tokens = tokens, .token_count = 2, .pre_tokenizer = "gpt-2", .bos = 2, .eos = -1, .eot = -1, .pad = -1};
    assert_int_equal(hone_tokenizer_create(&description, &tokenizer, &why), HONE_BAD_FORMAT);
    description.bos = -1;
    description.token_count = 0;
    assert_int_equal(hone_tokenizer_create(&description, &tokenizer, &why), HONE_BAD_FORMAT);
    description.token_count = 2;
    description.kinds = (const int32_t[]){1, 7};
    assert_int_equal(hone_tokenizer_create(&description, &tokenizer, &why), HONE_BAD_FORMAT);
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    hone_ids ids = {0};
    assert_int_equal(hone_tokenizer_encode(tokenizer, "ab\xFFz", 4, 0, &ids, &why), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "byte 2"));
    assert_int_equal(ids.count, 0);
    hone_ids_clear(&ids);
    hone_tokenizer_destroy(tokenizer);
}

static void files_are_read(void **state) {
    (void)state;
    hone_gguf *gguf = NULL;
    hone_tokenizer *tokenizer = NULL;
    OK(tiny_model_write("tiny.gguf", &(tiny_model){.pre = "mystery"}, &why));
    OK(hone_gguf_open("tiny.gguf", &gguf, &why));
    assert_int_equal(hone_tokenizer_from_gguf(gguf, NULL, &tokenizer, &why), HONE_UNSUPPORTED);
    OK(hone_tokenizer_from_gguf(gguf, &(hone_tokenizer_options){.pre_tokenizer = "gpt-2"}, &tokenizer, &why));
    assert_int_equal(hone_tokenizer_size(tokenizer), tiny_model_vocabulary());
    EXPECT(tokenizer, "<|im_start|>", HONE_ENCODE_SPECIAL, TINY_IM_START);
    assert_non_null(hone_tokenizer_chat_template(tokenizer));
    hone_tokenizer_destroy(tokenizer);
    hone_gguf_close(gguf);
    unlink("tiny.gguf");
}

static void sentence_piece_is_refused_by_name(void **state) {
    (void)state;
    hone_gguf_writer *writer = NULL;
    hone_gguf *gguf = NULL;
    hone_tokenizer *tokenizer = NULL;
    OK(hone_gguf_writer_create("spm.gguf", &writer, &why));
    OK(hone_gguf_put_text(writer, "tokenizer.ggml.model", "llama", &why));
    OK(hone_gguf_writer_commit(&writer, &why));
    OK(hone_gguf_open("spm.gguf", &gguf, &why));
    assert_int_equal(hone_tokenizer_from_gguf(gguf, NULL, &tokenizer, &why), HONE_UNSUPPORTED);
    assert_non_null(strstr(why.message, "SentencePiece"));
    assert_non_null(strstr(why.message, "not supported yet by this version"));
    hone_gguf_close(gguf);
    unlink("spm.gguf");
}

// A vocabulary in which the bytes of each expected piece merge, left to right, into one token: the ids then show where a
// pre-tokenizer cuts.
typedef struct piece_vocabulary {
    char texts[400][64];
    char merges_text[144][64];
    hone_gguf_string tokens[400];
    hone_gguf_string merges[144];
    size_t count, merge_count;
} piece_vocabulary;

static int32_t add_piece(piece_vocabulary *v, const char *piece) {
    int32_t last = (unsigned char)piece[0];
    for (size_t i = 1; piece[i]; i++) {
        const hone_gguf_string left = v->tokens[last];
        const hone_gguf_string right = v->tokens[(unsigned char)piece[i]];
        char joined[64];
        snprintf(joined, sizeof joined, "%.*s%.*s", (int)left.length, left.bytes, (int)right.length, right.bytes);
        last = -1;
        for (size_t known = 256; known < v->count && last < 0; known++) {
            if (strcmp(v->texts[known], joined) == 0) last = (int32_t)known;
        }
        if (last >= 0) continue;
        char *const merge = v->merges_text[v->merge_count];
        snprintf(merge, 64, "%.*s %.*s", (int)left.length, left.bytes, (int)right.length, right.bytes);
        v->merges[v->merge_count++] = (hone_gguf_string){merge, strlen(merge)};
        strcpy(v->texts[v->count], joined);
        v->tokens[v->count] = (hone_gguf_string){v->texts[v->count], strlen(joined)};
        last = (int32_t)v->count++;
    }
    return last;
}

static void known_pre_tokenizers_cut_as_published(void **state) {
    (void)state;
    static const struct {
        const char *pre, *text, *pieces[13];
    } cases[] = {
        {"gpt-2", "I'll pay 1234 $$ \n x", {"I", "'ll", " pay", " 1234", " $$", " \n", " x"}},
        {"smollm", "a 12b", {"a", " ", "1", "2", "b"}},
        {"starcoder", "a 12b", {"a", " ", "1", "2", "b"}},
        {"llama-bpe", "I'LL 12345 a.b\n\n  c", {"I", "'LL", " ", "123", "45", " a", ".b", "\n\n", " ", " c"}},
        {"qwen2", "x 12\xC2\xA0y", {"x", " ", "1", "2", "\xC2\xA0y"}},
        {"tekken", "fooBar HTTPServer", {"foo", "Bar", " HTTPServer"}},
        {"gpt-4o", "don't fooBar", {"don't", " foo", "Bar"}},
        {"deepseek-v3", "ab12345,cd \xE4\xBD\xA0", {"ab", "123", "45", ",cd", " ", "\xE4\xBD\xA0"}},
        {"gpt-2", "a \xE1\xA0\x8E!", {"a", " \xE1\xA0\x8E!"}}, // U+180E is no space any more
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static piece_vocabulary v;
        v.count = 256;
        v.merge_count = 0;
        for (unsigned b = 0; b < 256; b++) v.tokens[b] = (hone_gguf_string){v.texts[b], text_alphabet(b, v.texts[b])};
        int32_t expected[14];
        size_t count = 0;
        for (; cases[i].pieces[count]; count++) expected[count] = add_piece(&v, cases[i].pieces[count]);
        expected[count] = -1;
        const hone_tokenizer_description description = {.tokens = v.tokens,
                                                        .token_count = v.count,
                                                        .merges = v.merges,
                                                        .merge_count = v.merge_count,
                                                        .pre_tokenizer = cases[i].pre,
                                                        .bos = -1,
                                                        .eos = -1,
                                                        .eot = -1,
                                                        .pad = -1};
        hone_tokenizer *tokenizer = NULL;
        OK(hone_tokenizer_create(&description, &tokenizer, &why));
        expect_ids(tokenizer, cases[i].text, strlen(cases[i].text), 0, expected);
        hone_tokenizer_destroy(tokenizer);
    }
}

static void text_is_normalised_where_asked(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){.pre = "qwen2"}, &tokenizer, &why));
    EXPECT(tokenizer, "e\xCC\x81", 0, 0xC3, 0xA9); // e and a combining acute
    EXPECT(tokenizer, "e\xCC\x81<|im_end|>\xE1\x84\x80\xE1\x85\xA1", HONE_ENCODE_SPECIAL, 0xC3, 0xA9, TEXT_IM_END, 0xEA,
           0xB0, 0x80);
    EXPECT(tokenizer, "hello", 0, TEXT_HELLO);
    // A run of marks longer than any piece takes no time and loses nothing.
    enum { MARKS = 100000 };
    char *const marks = malloc(2 * MARKS);
    assert_non_null(marks);
    for (size_t i = 0; i < MARKS; i++) memcpy(marks + 2 * i, i % 2 ? "\xCC\xA7" : "\xCC\x84", 2);
    hone_ids ids = {0};
    OK(hone_tokenizer_encode(tokenizer, marks, 2 * MARKS, 0, &ids, &why));
    assert_int_equal(ids.count, 2 * MARKS);
    hone_ids_clear(&ids);
    free(marks);
    hone_tokenizer_destroy(tokenizer);
}

static void long_words_take_no_time(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    const size_t before = hone_memory_counted().bytes;
    enum { LENGTH = 20 * 1000 * 1000 + 3 };
    char *const text = malloc(LENGTH);
    assert_non_null(text);
    static const char *const letters[] = {"a", "he", " ", "\n \t", "<|im_", "1", "helloaa"};
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++) {
        const size_t period = strlen(letters[k]);
        for (size_t i = 0; i < LENGTH; i++) text[i] = letters[k][i % period];
        hone_ids ids = {0};
        const clock_t start = clock();
        OK(hone_tokenizer_encode(tokenizer, text, LENGTH, HONE_ENCODE_SPECIAL, &ids, &why));
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds > TEXT_SECONDS) fail_msg("%d bytes of '%s' took %.1f s", LENGTH, letters[k], seconds);
        if (k == 0) {
            assert_int_equal(ids.count, LENGTH / 4 + 2);
            for (size_t i = 0; i < LENGTH / 4; i++) assert_true(ids.items[i] == TEXT_AAAA);
            assert_int_equal(ids.items[LENGTH / 4], TEXT_AA);
            assert_int_equal(ids.items[LENGTH / 4 + 1], 'a');
        }
        hone_ids_clear(&ids);
    }
    assert_true(hone_memory_counted().bytes < before + (1 << 20)); // nothing large is held on to
    free(text);
    hone_tokenizer_destroy(tokenizer);
}

// However a word is cut into chunks, its tokens are those of the whole: compared with merging by the definition.
static void long_words_merge_as_short_ones(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    OK(text_create(&(text_options){0}, &tokenizer, &why));
    enum { LENGTH = 30000 };
    static char text[LENGTH];
    static int32_t symbols[LENGTH];
    static const struct {
        int32_t left, right;
    } merges[] = {{'a', 'a'}, {TEXT_AA, TEXT_AA}, {'h', 'e'}, {'l', 'l'}, {TEXT_HE, TEXT_LL}, {TEXT_HELL, 'o'}};
    uint32_t random = 1;
    for (size_t i = 0; i < LENGTH; i++) {
        random = random * 1664525u + 1013904223u;
        text[i] = "aaahello"[random >> 29];
        symbols[i] = text[i];
    }
    // Here each merge makes the material of later ones only, so running through them in order is the definition.
    size_t count = LENGTH;
    for (int32_t m = 0; m < 6; m++) {
        size_t kept = 0;
        for (size_t i = 0; i < count; kept++) {
            const bool pair = i + 1 < count && symbols[i] == merges[m].left && symbols[i + 1] == merges[m].right;
            symbols[kept] = pair ? TEXT_AA + m : symbols[i];
            i += pair ? 2 : 1;
        }
        count = kept;
    }
    hone_ids ids = {0};
    OK(hone_tokenizer_encode(tokenizer, text, LENGTH, 0, &ids, &why));
    assert_int_equal(ids.count, count);
    assert_memory_equal(ids.items, symbols, count * sizeof *symbols);
    hone_ids_clear(&ids);
    hone_tokenizer_destroy(tokenizer);
}

static void reference_ids_are_equal(void **state) {
    (void)state;
    char path[4096];
    hone_tokenizer *const tokenizer = text_real_tokenizer();
    if (!tokenizer) skip();
    if (!scratch_reference("tokenizer.json", path, sizeof path)) {
        hone_tokenizer_destroy(tokenizer);
        skip();
    }
    assert_true(hone_memory_counted().bytes < (size_t)4 << 20);
    json_t *const cases = json_load_file(path, JSON_ALLOW_NUL, NULL);
    assert_int_equal(json_array_size(cases), 128);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *const row = json_array_get(cases, i);
        const json_t *const text = json_object_get(row, "text");
        const json_t *const expected = json_object_get(row, "ids");
        hone_ids ids = {0};
        OK(hone_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text), HONE_ENCODE_SPECIAL,
                                 &ids, &why));
        assert_int_equal(ids.count, json_array_size(expected));
        for (size_t k = 0; k < ids.count; k++)
            assert_int_equal(ids.items[k], json_integer_value(json_array_get(expected, k)));
        hone_text back = {0};
        OK(hone_tokenizer_decode(tokenizer, ids.items, ids.count, 0, &back, &why));
        if (json_is_true(json_object_get(row, "roundtrip"))) {
            assert_int_equal(back.length, json_string_length(text));
            if (back.length > 0) assert_memory_equal(back.bytes, json_string_value(text), back.length);
        }
        hone_text_clear(&back);
        hone_ids_clear(&ids);
    }
    json_decref(cases);
    assert_int_equal(hone_tokenizer_size(tokenizer), 49152);
    assert_int_equal(hone_tokenizer_eos(tokenizer), 2);
    assert_true(hone_tokenizer_is_end(tokenizer, 0));
    assert_false(hone_tokenizer_adds_bos(tokenizer));
    hone_tokenizer_destroy(tokenizer);
}

static void failing_memory_is_told(void **state) {
    (void)state;
    const hone_memory_count before = hone_memory_counted();
    for (uint64_t n = 0;; n++) {
        hone_tokenizer *tokenizer = NULL;
        hone_ids ids = {0};
        hone_memory_fail_after(n, true);
        why = (hone_error){0};
        hone_status status = text_create(&(text_options){.pre = "qwen2", .template = text_template}, &tokenizer, &why);
        if (status == HONE_OK)
            status =
                hone_tokenizer_encode(tokenizer, "hello e\xCC\x81 <|im_end|>aaa", 24, HONE_ENCODE_SPECIAL, &ids, &why);
        hone_memory_fail_after(UINT64_MAX, false);
        hone_ids_clear(&ids);
        hone_tokenizer_destroy(tokenizer);
        assert_int_equal(hone_memory_counted().bytes, before.bytes);
        assert_int_equal(hone_memory_counted().blocks, before.blocks);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_OUT_OF_MEMORY);
        assert_true(why.message[0] != 0);
        assert_true(n < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_run_best_first),
        cmocka_unit_test(control_tokens_need_trust),
        cmocka_unit_test(parts_join_words),
        cmocka_unit_test(one_begin_of_text),
        cmocka_unit_test(tokens_are_found_and_told),
        cmocka_unit_test(bad_vocabularies_are_refused),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(sentence_piece_is_refused_by_name),
        cmocka_unit_test(known_pre_tokenizers_cut_as_published),
        cmocka_unit_test(text_is_normalised_where_asked),
        cmocka_unit_test(long_words_take_no_time),
        cmocka_unit_test(long_words_merge_as_short_ones),
        cmocka_unit_test(reference_ids_are_equal),
        cmocka_unit_test(failing_memory_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
