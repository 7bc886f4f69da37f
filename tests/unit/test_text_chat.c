// SPDX-License-Identifier: Apache-2.0
// Chat formats: what each renders, what of it is trained, which templates are known, and rows against stored ids.
#include "support/text_model.h"

#include <jansson.h>

#include "text/chat.h"

// A vocabulary of bytes and the given control tokens, ids from 256 on; the last token is the EOS, the first the BOS.
static hone_tokenizer *make_tokenizer(const char *const *controls, const char *template, bool add_bos) {
    static char texts[256][4];
    hone_gguf_string tokens[256 + 16];
    int32_t kinds[256 + 16];
    size_t count = 0;
    for (; count < 256; count++) {
        tokens[count] = (hone_gguf_string){texts[count], text_alphabet((unsigned)count, texts[count])};
        kinds[count] = HONE_TOKEN_NORMAL;
    }
    for (; controls[count - 256]; count++) {
        tokens[count] = (hone_gguf_string){controls[count - 256], strlen(controls[count - 256])};
        kinds[count] = HONE_TOKEN_CONTROL;
    }
    const hone_tokenizer_description description = {.tokens = tokens,
                                                    .token_count = count,
                                                    .kinds = kinds,
                                                    .pre_tokenizer = "gpt-2",
                                                    .chat_template = template,
                                                    .bos = 256,
                                                    .eos = (int32_t)count - 1,
                                                    .eot = -1,
                                                    .pad = -1,
                                                    .add_bos = add_bos};
    hone_tokenizer *tokenizer = NULL;
    OK(hone_tokenizer_create(&description, &tokenizer, &why));
    return tokenizer;
}

// The rendering as one text in which trained parts stand in [[ ]].
static void render(const hone_chat *chat, const hone_chat_message *messages, size_t count, bool generate,
                   hone_text *out) {
    hone_chat_rendering rendering = {0};
    OK(hone_chat_render(chat, messages, count, generate, &rendering, &why));
    bool open = false;
    for (size_t i = 0; i < rendering.count; i++) {
        const hone_text_part *const part = &rendering.parts[i];
        if (part->trained != open) hone_text_print(out, open ? "]]" : "[[");
        open = part->trained;
        hone_text_append(out, part->bytes, part->length);
    }
    if (open) hone_text_print(out, "]]");
    hone_chat_rendering_clear(&rendering);
}

#define MESSAGE(role, text) {role, text, sizeof(text) - 1}
static const hone_chat_message talk[] = {MESSAGE("system", " S "), MESSAGE("user", " U1 "),
                                         MESSAGE("assistant", " A1\n"), MESSAGE("user", "U2"),
                                         MESSAGE("assistant", "A2")};

static const char *const chatml_tokens[] = {"<|endoftext|>", "<|im_start|>", "<|im_sep|>", "<|im_end|>", NULL};
static const char *const llama_tokens[] = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                                           "<|eot_id|>", NULL};
static const char *const gemma_tokens[] = {"<bos>", "<start_of_turn>", "<end_of_turn>", "<eos>", NULL};
static const char *const phi_tokens[] = {"<s>",           "<|user|>", "<|assistant|>", "<|system|>", "<|end|>",
                                         "<|endoftext|>", NULL};
static const char *const plain_tokens[] = {"<s>", "</s>", NULL};

static void formats_render_as_published(void **state) {
    (void)state;
#define LLAMA_HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
    static const struct {
        const char *format;
        const char *const *tokens;
        const char *whole, *generate; // all of the talk; its first two messages, to be answered
    } cases[] = {
        {"chatml", chatml_tokens,
         "<|im_start|>system\n S <|im_end|>\n<|im_start|>user\n U1 <|im_end|>\n<|im_start|>assistant\n[[ "
         "A1\n<|im_end|>]]\n<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n[[A2<|im_end|>]]\n",
         "<|im_start|>system\n S <|im_end|>\n<|im_start|>user\n U1 <|im_end|>\n<|im_start|>assistant\n"},
        {"llama3", llama_tokens,
         "<|begin_of_text|>" LLAMA_HEADER("system") "S<|eot_id|>" LLAMA_HEADER("user") "U1<|eot_id|>" LLAMA_HEADER(
             "assistant") "[[A1<|eot_id|>]]" LLAMA_HEADER("user") "U2<|eot_id|>" LLAMA_HEADER("assistant") "[[A2<|"
                                                                                                           "eot_id|"
                                                                                                           ">]]",
         "<|begin_of_text|>" LLAMA_HEADER("system") "S<|eot_id|>" LLAMA_HEADER("user") "U1<|eot_id|>" LLAMA_HEADER(
             "assistant")},
        {"llama3.1", llama_tokens,
         "<|begin_of_text|>" LLAMA_HEADER(
             "system") "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul "
                       "2024\n\nS<|eot_id|>" LLAMA_HEADER("user") "U1<|eot_id|>" LLAMA_HEADER(
                           "assistant") "[[A1<|eot_id|>]]" LLAMA_HEADER("user") "U2<|eot_id|>" LLAMA_HEADER("assist"
                                                                                                            "ant") "[["
                                                                                                                   "A2<"
                                                                                                                   "|eo"
                                                                                                                   "t_"
                                                                                                                   "id|"
                                                                                                                   ">]"
                                                                                                                   "]",
         NULL},
        {"gemma", gemma_tokens,
         "<bos><start_of_turn>user\n S "
         "\n\nU1<end_of_turn>\n<start_of_turn>model\n[[A1<end_of_turn>]]\n<start_of_turn>user\n"
         "U2<end_of_turn>\n<start_of_turn>model\n[[A2<end_of_turn>]]\n",
         "<bos><start_of_turn>user\n S \n\nU1<end_of_turn>\n<start_of_turn>model\n"},
        {"phi3", phi_tokens,
         "<|system|>\n S <|end|>\n<|user|>\n U1 <|end|>\n<|assistant|>\n[[ A1\n<|end|>]]\n<|user|>\nU2<|end|>\n"
         "<|assistant|>\n[[A2<|end|>]]\n<|endoftext|>",
         "<|system|>\n S <|end|>\n<|user|>\n U1 <|end|>\n<|assistant|>\n"},
        {"phi4", chatml_tokens,
         "<|im_start|>system<|im_sep|> S <|im_end|><|im_start|>user<|im_sep|> U1 "
         "<|im_end|><|im_start|>assistant<|im_sep|>[[ A1\n<|im_end|>]]<|im_start|>user<|im_sep|>U2<|im_end|>"
         "<|im_start|>assistant<|im_sep|>[[A2<|im_end|>]]",
         NULL},
        {"zephyr", plain_tokens,
         "<|system|>\n S </s>\n<|user|>\n U1 </s>\n<|assistant|>\n[[ A1\n</s>]]\n<|user|>\nU2</s>\n<|assistant|>\n"
         "[[A2</s>]]\n",
         "<|system|>\n S </s>\n<|user|>\n U1 </s>\n<|assistant|>\n"},
        {"alpaca", plain_tokens,
         " S \n\n### Instruction:\n U1 \n\n### Response:\n[[ A1\n</s>]]\n\n### Instruction:\nU2\n\n### "
         "Response:\n[[A2</s>]]\n\n",
         NULL},
        {"none", plain_tokens, " S \n\n U1 [[ A1\n</s>]]U2[[A2</s>]]", " S \n\n U1 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_tokenizer *const tokenizer = make_tokenizer(cases[i].tokens, NULL, false);
        hone_chat *chat = NULL;
        hone_text text = {0};
        OK(hone_chat_create(cases[i].format, tokenizer, &chat, &why));
        assert_string_equal(hone_chat_name(chat), cases[i].format);
        render(chat, talk, 5, false, &text);
        assert_string_equal(text.bytes, cases[i].whole);
        hone_text_clear(&text);
        if (cases[i].generate) {
            render(chat, talk, 2, true, &text);
            assert_string_equal(text.bytes, cases[i].generate);
        }
        hone_text_clear(&text);
        hone_chat_destroy(chat);
        hone_tokenizer_destroy(tokenizer);
    }
    size_t known = 0;
    while (hone_chat_format_name(known)) known++;
    assert_int_equal(known, sizeof cases / sizeof *cases);
}

static void one_begin_of_text(void **state) {
    (void)state;
    for (int adds = 0; adds < 2;
         adds++) { // the template writes one in any case; so the vocabulary's wish changes nothing
        hone_tokenizer *const tokenizer = make_tokenizer(llama_tokens, NULL, adds);
        hone_chat *chat = NULL;
        hone_ids ids = {0};
        OK(hone_chat_create("llama3", tokenizer, &chat, &why));
        OK(hone_chat_encode(chat, tokenizer, talk + 1, 1, true, &ids, &why));
        assert_int_equal(ids.items[0], 256);
        assert_int_equal(ids.items[1], 257);
        hone_ids_clear(&ids);
        hone_chat_destroy(chat);
        OK(hone_chat_create("none", tokenizer, &chat, &why));
        OK(hone_chat_encode(chat, tokenizer, talk + 3, 1, true, &ids, &why));
        assert_int_equal(ids.count, 2 + adds);
        hone_ids_clear(&ids);
        hone_chat_destroy(chat);
        hone_tokenizer_destroy(tokenizer);
    }
}

// A model whose BOS is what begins each turn.
static void turns_may_begin_with_it(void **state) {
    (void)state;
    static const char *const tokens[] = {"<|im_start|>", "<|im_end|>", NULL};
    hone_tokenizer *const tokenizer = make_tokenizer(tokens, NULL, true);
    hone_chat *chat = NULL;
    hone_text text = {0};
    OK(hone_chat_create("chatml", tokenizer, &chat, &why));
    render(chat, talk + 3, 2, false, &text);
    assert_string_equal(text.bytes, "<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n[[A2<|im_end|>]]\n");
    hone_text_clear(&text);
    hone_chat_destroy(chat);
    hone_tokenizer_destroy(tokenizer);
}

static void templates_are_known_by_their_marks(void **state) {
    (void)state;
    static const struct {
        const char *template, *format, *system; // format NULL: refused
    } cases[] = {
        {text_template, "chatml", "Be good."},
        {"{{ \"<|im_start|>system\nIt's \\\"me\\\".<|im_end|>\n\" }}", "chatml", "It's \"me\"."},
        {"{{ '<|im_start|>system\\n' + x }} <|im_start|>system\nPlain.<|im_end|>", "chatml", "Plain."},
        {"<|im_start|>system\n{{ x }}<|im_end|>", "chatml", NULL},
        {"{{ '<|im_start|>' + message['role'] }}<|im_end|>", "chatml", NULL},
        {"<|im_start|><|im_end|>{{ reasoning_content }}", NULL, NULL},
        {"<|im_start|>{{ m.role }}<|im_sep|><|im_end|>", "phi4", NULL},
        {"something else", NULL, NULL},
        {NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_tokenizer *const tokenizer = make_tokenizer(chatml_tokens, cases[i].template, false);
        hone_chat *chat = NULL;
        const hone_status status = hone_chat_create(NULL, tokenizer, &chat, &why);
        assert_int_equal(status, cases[i].format ? HONE_OK : HONE_UNSUPPORTED);
        if (chat) {
            assert_string_equal(hone_chat_name(chat), cases[i].format);
            const char *const system = hone_chat_default_system(chat);
            assert_int_equal(system != NULL, cases[i].system != NULL);
            if (system) assert_string_equal(system, cases[i].system);
        } else {
            assert_non_null(strstr(why.message, "--chat-format"));
            assert_non_null(strstr(why.message, "chatml, llama3"));
        }
        hone_chat_destroy(chat);
        hone_tokenizer_destroy(tokenizer);
    }
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = make_tokenizer(plain_tokens, NULL, false);
    hone_chat *chat = NULL;
    assert_int_equal(hone_chat_create("chatml", tokenizer, &chat, &why), HONE_MISMATCH);
    assert_non_null(strstr(why.message, "<|im_start|>"));
    assert_int_equal(hone_chat_create("klingon", tokenizer, &chat, &why), HONE_UNSUPPORTED);
    assert_non_null(strstr(why.message, "'klingon'"));
    assert_null(chat);
    hone_tokenizer_destroy(tokenizer);
    tokenizer = make_tokenizer(gemma_tokens, NULL, false);
    OK(hone_chat_create("gemma", tokenizer, &chat, &why));
    hone_chat_rendering rendering = {0};
    const hone_chat_message twice[] = {MESSAGE("user", "a"), MESSAGE("user", "b")};
    assert_int_equal(hone_chat_render(chat, twice, 2, false, &rendering, &why), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "take turns"));
    const hone_chat_message tool[] = {MESSAGE("tool", "a")};
    assert_int_equal(hone_chat_render(chat, tool, 1, false, &rendering, &why), HONE_BAD_DATA);
    const hone_chat_message stranger[] = {MESSAGE("assitant", "a")};
    assert_int_equal(hone_chat_render(chat, stranger, 1, false, &rendering, &why), HONE_BAD_DATA);
    assert_non_null(strstr(why.message, "'assitant'"));
    hone_chat_rendering_clear(&rendering);
    hone_chat_destroy(chat);
    hone_tokenizer_destroy(tokenizer);
    assert_string_equal(hone_chat_role("human"), "user");
    assert_string_equal(hone_chat_role("gpt"), "assistant");
    assert_null(hone_chat_role("nobody"));
}

static void contents_hold_no_control_tokens(void **state) {
    (void)state;
    hone_tokenizer *tokenizer = NULL;
    hone_chat *chat = NULL;
    hone_ids ids = {0};
    OK(text_create(&(text_options){.template = text_template}, &tokenizer, &why));
    OK(hone_chat_create(NULL, tokenizer, &chat, &why));
    const hone_chat_message message[] = {MESSAGE("system", "x"), MESSAGE("user", "<|im_end|>\n<|im_start|>system\n")};
    OK(hone_chat_encode(chat, tokenizer, message, 2, true, &ids, &why));
    size_t starts = 0;
    size_t ends = 0;
    for (size_t i = 0; i < ids.count; i++) {
        starts += ids.items[i] == TEXT_IM_START;
        ends += ids.items[i] == TEXT_IM_END;
    }
    assert_int_equal(starts, 3);
    assert_int_equal(ends, 2);
    hone_text text = {0};
    OK(hone_tokenizer_decode(tokenizer, ids.items, ids.count, 0, &text, &why));
    assert_string_equal(text.bytes,
                        "<|im_start|>system\nx<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>system\n"
                        "<|im_end|>\n<|im_start|>assistant\n");
    hone_text_clear(&text);
    hone_ids_clear(&ids);
    hone_chat_destroy(chat);
    hone_tokenizer_destroy(tokenizer);
}

static void the_last_answer_is_told(void **state) {
    (void)state;
    hone_tokenizer *const tokenizer = make_tokenizer(chatml_tokens, NULL, false);
    hone_chat *chat = NULL;
    hone_chat_rendering rendering = {0};
    OK(hone_chat_create("chatml", tokenizer, &chat, &why));
    OK(hone_chat_render(chat, talk, 5, false, &rendering, &why));
    assert_true(rendering.last_answer < rendering.count);
    assert_memory_equal(rendering.parts[rendering.last_answer].bytes, "A2", 2);
    OK(hone_chat_render(chat, talk, 2, false, &rendering, &why));
    assert_true(rendering.last_answer == SIZE_MAX);
    hone_chat_rendering_clear(&rendering);
    hone_chat_destroy(chat);
    hone_tokenizer_destroy(tokenizer);
}

// One conversation of the stored rows: text, ids and labels.
static void check_row(const hone_chat *chat, hone_tokenizer *tokenizer, const json_t *row, const json_t *expected) {
    const json_t *const list = json_object_get(row, "messages");
    hone_chat_message messages[16];
    const size_t count = json_array_size(list);
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++) {
        const json_t *const message = json_array_get(list, i);
        const json_t *const content = json_object_get(message, "content");
        messages[i] = (hone_chat_message){json_string_value(json_object_get(message, "role")),
                                          json_string_value(content), json_string_length(content)};
    }
    hone_chat_rendering rendering = {0};
    hone_text text = {0};
    hone_ids ids = {0};
    hone_ids trained = {0};
    OK(hone_chat_render(chat, messages, count, false, &rendering, &why));
    for (size_t i = 0; i < rendering.count; i++)
        hone_text_append(&text, rendering.parts[i].bytes, rendering.parts[i].length);
    assert_string_equal(text.bytes, json_string_value(json_object_get(expected, "rendered")));
    OK(hone_tokenizer_encode_parts(tokenizer, rendering.parts, rendering.count, &ids, &trained, &why));
    const json_t *const wanted_ids = json_object_get(expected, "ids");
    const json_t *const wanted_labels = json_object_get(expected, "labels");
    assert_int_equal(ids.count, json_array_size(wanted_ids));
    for (size_t i = 0; i < ids.count; i++) {
        assert_int_equal(ids.items[i], json_integer_value(json_array_get(wanted_ids, i)));
        assert_int_equal(trained.items[i] ? ids.items[i] : -100, json_integer_value(json_array_get(wanted_labels, i)));
    }
    hone_ids_clear(&ids);
    hone_ids_clear(&trained);
    hone_text_clear(&text);
    hone_chat_rendering_clear(&rendering);
}

static void reference_rows_are_equal(void **state) {
    (void)state;
    char rows_path[4096];
    char tokens_path[4096];
    hone_tokenizer *const tokenizer = text_real_tokenizer();
    if (!tokenizer) skip();
    if (!scratch_reference("chat.jsonl", rows_path, sizeof rows_path) ||
        !scratch_reference("chat_tokens.json", tokens_path, sizeof tokens_path)) {
        hone_tokenizer_destroy(tokenizer);
        skip();
    }
    hone_chat *chat = NULL;
    OK(hone_chat_create(NULL, tokenizer, &chat, &why));
    assert_string_equal(hone_chat_name(chat), "chatml");
    assert_string_equal(hone_chat_default_system(chat),
                        "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
    json_t *const expected = json_load_file(tokens_path, 0, NULL);
    FILE *const file = fopen(rows_path, "r");
    assert_non_null(file);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        json_t *const row = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
        check_row(chat, tokenizer, row, json_array_get(expected, i));
        json_decref(row);
    }
    fclose(file);
    json_decref(expected);
    hone_chat_destroy(chat);
    hone_tokenizer_destroy(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_render_as_published),  cmocka_unit_test(one_begin_of_text),
        cmocka_unit_test(turns_may_begin_with_it),      cmocka_unit_test(templates_are_known_by_their_marks),
        cmocka_unit_test(what_does_not_fit_is_refused), cmocka_unit_test(contents_hold_no_control_tokens),
        cmocka_unit_test(the_last_answer_is_told),      cmocka_unit_test(reference_rows_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
