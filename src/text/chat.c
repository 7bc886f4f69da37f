// SPDX-License-Identifier: Apache-2.0
// The table of chat formats, finding the one that a template means, and rendering.
#include "text/chat.h"

#include <string.h>

enum { SYSTEM, USER, ASSISTANT, TOOL, ROLES };
static const char *const role_names[ROLES] = {"system", "user", "assistant", "tool"};

#define MARKS 8
#define NEEDS 4
#define EOS   "\1" // begins a fixed text: stands for the vocabulary's EOS

// A turn is header, content, footer; the assistant's is header, content, end, footer. All but contents may hold control
// tokens. Where a role has no header, the format has no place for it.
typedef struct chat_row {
    const char *name;
    const char *headers[ROLES];
    const char *footers[ROLES];
    const char *end;           // of the assistant's turn, trained with its content
    const char *tail;          // closes a conversation that is not to be continued
    const char *preamble;      // begins the system message, which is then always there
    const char *input_joint;   // between instruction and input
    const char *needs[NEEDS];  // control tokens that the vocabulary must have
    const char *marks[MARKS];  // a template means this format if it contains all of these ...
    const char *others[MARKS]; // ... and none of these
    bool bos;                  // templates write BOS
    bool trim;                 // contents lose white space at both ends
    bool system_in_user;       // a system message is put before the first user's content
    bool alternate;            // user and assistant must alternate
} chat_row;

#define TURNS(open, close, user, assistant)                                                                            \
    .headers = {open "system" close, open user close, open assistant close, open "tool" close}

static const chat_row chat_rows[] = {
    {
        .name = "chatml",
        TURNS("<|im_start|>", "\n", "user", "assistant"),
        .footers = {"<|im_end|>\n", "<|im_end|>\n", "\n", "<|im_end|>\n"},
        .end = "<|im_end|>",
        .tail = "",
        .input_joint = "\n\n",
        .needs = {"<|im_start|>", "<|im_end|>"},
        .marks = {"<|im_start|>", "<|im_end|>"},
        .others = {"<|im_sep|>", "<think", "thinking", "reasoning", "strftime", "trim", "strip("},
    },
    {
        .name = "llama3",
        TURNS("<|start_header_id|>", "<|end_header_id|>\n\n", "user", "assistant"),
        .footers = {"<|eot_id|>", "<|eot_id|>", "", "<|eot_id|>"},
        .end = "<|eot_id|>",
        .tail = "",
        .input_joint = "\n\n",
        .needs = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
        .marks = {"<|start_header_id|>", "<|eot_id|>"},
        .others = {"Cutting Knowledge", "<think", "reasoning"},
        .bos = true,
        .trim = true,
    },
    {
        // The template writes today's date where it can ask for it and this one where it cannot; a date that changes
        // would make each run another.
        .name = "llama3.1",
        .headers = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|start_header_id|>user<|end_header_id|>\n\n",
                    "<|start_header_id|>assistant<|end_header_id|>\n\n"},
        .footers = {"<|eot_id|>", "<|eot_id|>", ""},
        .end = "<|eot_id|>",
        .tail = "",
        .preamble = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n",
        .input_joint = "\n\n",
        .needs = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
        .marks = {"<|start_header_id|>", "<|eot_id|>", "Cutting Knowledge Date: December 2023"},
        .bos = true,
        .trim = true,
    },
    {
        .name = "gemma",
        .headers = {NULL, "<start_of_turn>user\n", "<start_of_turn>model\n"},
        .footers = {NULL, "<end_of_turn>\n", "\n"},
        .end = "<end_of_turn>",
        .tail = "",
        .input_joint = "\n\n",
        .needs = {"<start_of_turn>", "<end_of_turn>"},
        .marks = {"<start_of_turn>", "<end_of_turn>"},
        .others = {"<think", "reasoning"},
        .bos = true,
        .trim = true,
        .system_in_user = true,
        .alternate = true,
    },
    {
        .name = "phi3",
        .headers = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
        .footers = {"<|end|>\n", "<|end|>\n", "\n"},
        .end = "<|end|>",
        .tail = EOS,
        .input_joint = "\n\n",
        .needs = {"<|user|>", "<|assistant|>", "<|end|>"},
        .marks = {"<|user|>", "<|assistant|>", "<|end|>", "eos_token"},
        .others = {"<think", "reasoning", "<|im_start|>"},
    },
    {
        .name = "phi4",
        .headers = {"<|im_start|>system<|im_sep|>", "<|im_start|>user<|im_sep|>", "<|im_start|>assistant<|im_sep|>"},
        .footers = {"<|im_end|>", "<|im_end|>", ""},
        .end = "<|im_end|>",
        .tail = "",
        .input_joint = "\n\n",
        .needs = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"},
        .marks = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"},
        .others = {"<think", "reasoning"},
    },
    {
        .name = "zephyr",
        .headers = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
        .footers = {EOS "\n", EOS "\n", "\n"},
        .end = EOS,
        .tail = "",
        .input_joint = "\n\n",
        .marks = {"<|user|>", "<|assistant|>", "eos_token"},
        .others = {"<|end|>", "<think", "reasoning", "<|im_start|>"},
    },
    {
        // For base models, which know no control tokens: never found, only named.
        .name = "alpaca",
        .headers = {"", "### Instruction:\n", "### Response:\n"},
        .footers = {"\n\n", "\n\n", "\n\n"},
        .end = EOS,
        .tail = "",
        .input_joint = "\n\n### Input:\n",
    },
    {
        // Nothing but the contents and an end: what a prompt and its completion are where there is no template.
        .name = "none",
        .headers = {"", "", ""},
        .footers = {"\n\n", "", ""},
        .end = EOS,
        .tail = "",
        .input_joint = "\n\n",
    },
};
#define ROW_COUNT (sizeof chat_rows / sizeof *chat_rows)

struct hone_chat {
    const chat_row *row;
    hone_gguf_string bos, eos; // the tokens' texts; borrowed from the tokenizer
    bool write_bos;
    char *default_system; // NULL = none
};

const char *hone_chat_format_name(size_t index) {
    return index < ROW_COUNT ? chat_rows[index].name : NULL;
}

static int find_role(const char *name) {
    static const struct {
        const char *name;
        int role;
    } aliases[] = {
        {"human", USER}, {"gpt", ASSISTANT}, {"model", ASSISTANT}, {"bot", ASSISTANT}, {"chatgpt", ASSISTANT}};
    for (int i = 0; i < ROLES; i++) {
        if (strcmp(name, role_names[i]) == 0) return i;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(name, aliases[i].name) == 0) return aliases[i].role;
    }
    return -1;
}

const char *hone_chat_role(const char *name) {
    const int role = find_role(name);
    return role < 0 ? NULL : role_names[role];
}

// --- a format for a model --------------------------------------------------------------------------------------------

static bool contains_all(const char *text, const char *const *marks) {
    for (int i = 0; i < MARKS && marks[i]; i++) {
        if (!strstr(text, marks[i])) return false;
    }
    return true;
}

static bool contains_any(const char *text, const char *const *marks) {
    for (int i = 0; i < MARKS && marks[i]; i++) {
        if (strstr(text, marks[i])) return true;
    }
    return false;
}

static void list_formats(hone_text *out) {
    for (size_t i = 0; i < ROW_COUNT; i++) hone_text_print(out, "%s%s", i > 0 ? ", " : "", chat_rows[i].name);
}

static hone_status refuse_template(const char *template, hone_error *error) {
    hone_text known = {0};
    list_formats(&known);
    const char *const names = known.bytes ? known.bytes : "";
    char begin[48];
    size_t length = 0;
    for (; template && template[length] && length < sizeof begin - 1; length++) {
        const unsigned char byte = (unsigned char)template[length];
        begin[length] = byte >= 32 && byte < 127 ? (char)byte : ' ';
    }
    begin[length] = 0;
    const hone_status status =
        template ? hone_error_set(error, HONE_UNSUPPORTED,
                                  "the model's chat template, which begins \"%s\", is not one that this version knows; "
                                  "name the nearest with --chat-format (%s)",
                                  begin, names)
                 : hone_error_set(error, HONE_UNSUPPORTED,
                                  "the model has no chat template; name a format with --chat-format (%s)", names);
    hone_text_clear(&known);
    return status;
}

static hone_status find_row(const char *format, const char *template, const chat_row **out, hone_error *error) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const chat_row *const row = &chat_rows[i];
        const bool found =
            format     ? strcmp(format, row->name) == 0
            : template ? row->marks[0] && contains_all(template, row->marks) && !contains_any(template, row->others)
                       : false;
        if (found) {
            *out = row;
            return HONE_OK;
        }
    }
    if (!format) return refuse_template(template, error);
    hone_text known = {0};
    list_formats(&known);
    const hone_status status = hone_error_set(error, HONE_UNSUPPORTED, "chat format '%s' is not known; known are %s",
                                              format, known.bytes ? known.bytes : "");
    hone_text_clear(&known);
    return status;
}

// A literal of the template such as '<|im_start|>system\nYou are ...<|im_end|>\n' says what the system says when nobody
// else does. `at` stands behind the header; the text is appended to `out` if it ends with `end` in the same literal.
static bool read_default_system(const char *at, char quote, const char *end, hone_text *out) {
    if (*at == '\n')
        at++;
    else if (at[0] == '\\' && at[1] == 'n')
        at += 2;
    else
        return false;
    const size_t end_length = strlen(end);
    for (; *at; at++) {
        if (strncmp(at, end, end_length) == 0) return out->length > 0;
        if (quote ? *at == quote : at[0] == '{' && (at[1] == '{' || at[1] == '%')) break;
        if (quote && at[0] == '\\' && at[1]) {
            at++;
            hone_text_append(out, *at == 'n' ? "\n" : at, 1);
        } else {
            hone_text_append(out, at, 1);
        }
    }
    return false;
}

static hone_status find_default_system(const char *template, char **out, hone_error *error) {
    static const char header[] = "<|im_start|>system";
    for (const char *at = strstr(template, header); at; at = strstr(at + 1, header)) {
        const char before = at > template ? at[-1] : 0;
        const char quote = before == '\'' || before == '"' ? before : 0;
        hone_text text = {0};
        hone_status status = HONE_OK;
        const bool found = read_default_system(at + sizeof header - 1, quote, "<|im_end|>", &text);
        status = hone_text_status(&text, error);
        if (status == HONE_OK && found) status = hone_copy_string(text.bytes, text.length, out, error);
        hone_text_clear(&text);
        if (status != HONE_OK || found) return status;
    }
    return HONE_OK;
}

static hone_status check_needs(const chat_row *row, const hone_tokenizer *tokenizer, hone_error *error) {
    for (int i = 0; i < NEEDS && row->needs[i]; i++) {
        const int32_t id = hone_tokenizer_find(tokenizer, row->needs[i], strlen(row->needs[i]));
        HONE_FAIL_IF(id < 0 || hone_tokenizer_kind(tokenizer, id) == HONE_TOKEN_NORMAL, error, MISMATCH,
                     "chat format '%s' needs the control token %s, which this model's vocabulary does not have; name "
                     "another with --chat-format",
                     row->name, row->needs[i]);
    }
    HONE_FAIL_IF(row->end[0] == EOS[0] && hone_tokenizer_eos(tokenizer) < 0, error, MISMATCH,
                 "chat format '%s' ends a turn with the end-of-text token, which this model does not name", row->name);
    return HONE_OK;
}

static hone_status fit(hone_chat *chat, const char *format, const hone_tokenizer *tokenizer, hone_error *error) {
    const char *const template = hone_tokenizer_chat_template(tokenizer);
    HONE_TRY(find_row(format, template, &chat->row, error));
    HONE_TRY(check_needs(chat->row, tokenizer, error));
    chat->bos = hone_tokenizer_text(tokenizer, hone_tokenizer_bos(tokenizer));
    chat->eos = hone_tokenizer_text(tokenizer, hone_tokenizer_eos(tokenizer));
    // Written by the template or added by the vocabulary: one BOS in any case.
    chat->write_bos = chat->bos.length > 0 && (chat->row->bos || hone_tokenizer_adds_bos(tokenizer) ||
                                               (template && strstr(template, "bos_token")));
    if (template && strcmp(chat->row->name, "chatml") == 0)
        HONE_TRY(find_default_system(template, &chat->default_system, error));
    return HONE_OK;
}

hone_status hone_chat_create(const char *format, const hone_tokenizer *tokenizer, hone_chat **out, hone_error *error) {
    *out = NULL;
    hone_chat *chat = NULL;
    HONE_TRY(HONE_NEW(&chat, "the chat format", error));
    const hone_status status = fit(chat, format, tokenizer, error);
    if (status != HONE_OK) {
        hone_chat_destroy(chat);
        return status;
    }
    *out = chat;
    return HONE_OK;
}

void hone_chat_destroy(hone_chat *chat) {
    if (!chat) return;
    hone_free(chat->default_system);
    hone_free(chat);
}

const char *hone_chat_name(const hone_chat *chat) {
    return chat->row->name;
}
const char *hone_chat_default_system(const hone_chat *chat) {
    return chat->default_system;
}
const char *hone_chat_input_joint(const hone_chat *chat) {
    return chat->row->input_joint;
}

// --- render ----------------------------------------------------------------------------------------------------------

void hone_chat_rendering_clear(hone_chat_rendering *rendering) {
    hone_free(rendering->parts);
    *rendering = (hone_chat_rendering){0};
}

static hone_status push(hone_chat_rendering *out, const char *bytes, size_t length, bool special, bool trained,
                        hone_error *error) {
    HONE_TRY(HONE_GROW(&out->parts, &out->capacity, out->count + 1, "a conversation", error));
    out->parts[out->count++] =
        (hone_text_part){.bytes = bytes, .length = length, .special = special, .trained = trained};
    return HONE_OK;
}

// A text of the format's own.
static hone_status push_fixed(const hone_chat *chat, hone_chat_rendering *out, const char *text, bool trained,
                              hone_error *error) {
    if (text[0] == EOS[0]) {
        HONE_TRY(push(out, chat->eos.bytes, chat->eos.length, true, trained, error));
        text++;
    }
    return text[0] ? push(out, text, strlen(text), true, trained, error) : HONE_OK;
}

// A text from outside; white space at its ends goes where the format says so. Only ASCII white space, as nearly all is.
static hone_status push_content(const hone_chat *chat, hone_chat_rendering *out, const char *bytes, size_t length,
                                bool trained, hone_error *error) {
    if (chat->row->trim) {
        for (; length > 0 && strchr(" \t\n\v\f\r", bytes[length - 1]) && bytes[length - 1]; length--) {
        }
        for (; length > 0 && strchr(" \t\n\v\f\r", bytes[0]) && bytes[0]; length--) bytes++;
    }
    return push(out, bytes, length, false, trained, error);
}

// The system's turn, where there is one to write before the first message.
static hone_status begin_conversation(const hone_chat *chat, const hone_chat_message *system, hone_chat_rendering *out,
                                      hone_error *error) {
    const chat_row *const row = chat->row;
    if (chat->write_bos) HONE_TRY(push(out, chat->bos.bytes, chat->bos.length, true, false, error));
    if (row->system_in_user || (!system && !chat->default_system && !row->preamble)) return HONE_OK;
    HONE_TRY(push_fixed(chat, out, row->headers[SYSTEM], false, error));
    if (row->preamble) HONE_TRY(push_fixed(chat, out, row->preamble, false, error));
    if (system)
        HONE_TRY(push_content(chat, out, system->content, system->content_length, false, error));
    else if (chat->default_system)
        HONE_TRY(push_content(chat, out, chat->default_system, strlen(chat->default_system), false, error));
    return push_fixed(chat, out, row->footers[SYSTEM], false, error);
}

static hone_status check_role(const hone_chat *chat, const hone_chat_message *messages, size_t index, bool system,
                              int *role, hone_error *error) {
    const chat_row *const row = chat->row;
    *role = find_role(messages[index].role);
    HONE_FAIL_IF(*role < 0, error, BAD_DATA,
                 "message %zu has the role '%.40s'; roles are system, user, assistant and tool", index + 1,
                 messages[index].role);
    HONE_FAIL_IF(!row->headers[*role], error, BAD_DATA,
                 "message %zu has the role '%s', for which chat format '%s' has no "
                 "place; leave it out or name another with --chat-format",
                 index + 1, role_names[*role], row->name);
    const int expected = (index - system) % 2 == 0 ? USER : ASSISTANT;
    HONE_FAIL_IF(row->alternate && *role != expected, error, BAD_DATA,
                 "message %zu is the %s's; in chat format '%s' user and assistant must take turns", index + 1,
                 role_names[*role], row->name);
    return HONE_OK;
}

static hone_status render(const hone_chat *chat, const hone_chat_message *messages, size_t count, bool generate,
                          hone_chat_rendering *out, hone_error *error) {
    const chat_row *const row = chat->row;
    const bool system = count > 0 && find_role(messages[0].role) == SYSTEM;
    HONE_TRY(begin_conversation(chat, system ? &messages[0] : NULL, out, error));
    for (size_t i = system; i < count; i++) {
        int role = 0;
        HONE_TRY(check_role(chat, messages, i, system, &role, error));
        HONE_TRY(push_fixed(chat, out, row->headers[role], false, error));
        if (row->system_in_user && system && i == 1) {
            HONE_TRY(push(out, messages[0].content, messages[0].content_length, false, false, error));
            HONE_TRY(push(out, "\n\n", 2, false, false, error));
        }
        if (role == ASSISTANT) out->last_answer = out->count;
        HONE_TRY(push_content(chat, out, messages[i].content, messages[i].content_length, role == ASSISTANT, error));
        if (role == ASSISTANT) HONE_TRY(push_fixed(chat, out, row->end, true, error));
        HONE_TRY(push_fixed(chat, out, row->footers[role], false, error));
    }
    return push_fixed(chat, out, generate ? row->headers[ASSISTANT] : row->tail, false, error);
}

hone_status hone_chat_render(const hone_chat *chat, const hone_chat_message *messages, size_t count, bool generate,
                             hone_chat_rendering *out, hone_error *error) {
    out->count = 0;
    out->last_answer = SIZE_MAX;
    HONE_TRY(render(chat, messages, count, generate, out, error));
    // Some models begin each turn with what they call BOS: then the first header is the one BOS already.
    const bool twice = chat->write_bos && out->count > 1 && out->parts[1].special &&
                       out->parts[1].length >= chat->bos.length &&
                       memcmp(out->parts[1].bytes, chat->bos.bytes, chat->bos.length) == 0;
    if (twice) {
        memmove(out->parts, out->parts + 1, --out->count * sizeof *out->parts);
        if (out->last_answer != SIZE_MAX) out->last_answer--;
    }
    return HONE_OK;
}

hone_status hone_chat_encode(const hone_chat *chat, hone_tokenizer *tokenizer, const hone_chat_message *messages,
                             size_t count, bool generate, hone_ids *ids, hone_error *error) {
    hone_chat_rendering rendering = {0};
    hone_status status = hone_chat_render(chat, messages, count, generate, &rendering, error);
    if (status == HONE_OK)
        status = hone_tokenizer_encode_parts(tokenizer, rendering.parts, rendering.count, ids, NULL, error);
    hone_chat_rendering_clear(&rendering);
    return status;
}
