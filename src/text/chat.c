// SPDX-License-Identifier: Apache-2.0
// The table of chat formats, finding the one that a template means, and rendering.
#include "text/chat.h"

#include <string.h>

enum { SYSTEM, USER, ASSISTANT, TOOL, ROLES };
static const char *const role_names[ROLES] = {"system", "user", "assistant", "tool"};

#define MARKS 6
#define NEEDS 4

// A turn is header, content, footer; the assistant's is header, content, end, footer. All but contents may hold control
// tokens. Where a role has no header, the format has no place for it.
typedef struct chat_row {
    const char *name;
    const char *headers[ROLES];
    const char *footers[ROLES];
    const char *end;          // of the assistant's turn; NULL = the vocabulary's EOS
    const char *tail;         // closes a conversation that is not to be continued; "" = nothing, NULL = EOS
    const char *preamble;     // begins the system message, which is then always there
    const char *input_joint;  // between instruction and input
    const char *needs[NEEDS]; // control tokens that the vocabulary must have
    const char *marks[MARKS]; // a template means this format if it contains all of these ...
    const char *others[MARKS]; // ... and none of these
    bool bos;                 // templates write BOS
    bool trim;                // contents lose white space at both ends
    bool system_in_user;      // a system message is put before the first user's content
    bool alternate;           // user and assistant must alternate
} chat_row;

#define TURNS(open, close, user, assistant)                                                                  \
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
        .others = {"<|im_sep|>", "think", "reasoning", "strftime", "trim", "strip("},
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
        .others = {"Cutting Knowledge", "think", "reasoning"},
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
        .others = {"think", "reasoning"},
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
        .tail = NULL,
        .input_joint = "\n\n",
        .needs = {"<|user|>", "<|assistant|>", "<|end|>"},
        .marks = {"<|user|>", "<|assistant|>", "<|end|>", "eos_token"},
        .others = {"think", "reasoning", "<|im_start|>"},
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
        .others = {"think", "reasoning"},
    },
    {
        .name = "zephyr",
        .headers = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
        .footers = {"</s>\n", "</s>\n", "\n"},
        .tail = "",
        .input_joint = "\n\n",
        .marks = {"<|user|>", "<|assistant|>", "eos_token"},
        .others = {"<|end|>", "think", "reasoning", "<|im_start|>"},
    },
    {
        // For base models, which know no control tokens: never found, only named.
        .name = "alpaca",
        .headers = {"", "### Instruction:\n", "### Response:\n"},
        .footers = {"\n\n", "\n\n", "\n\n"},
        .tail = "",
        .input_joint = "\n\n### Input:\n",
    },
};
#define ROW_COUNT (sizeof chat_rows / sizeof *chat_rows)

struct hone_chat {
    const chat_row *row;
    hone_gguf_string bos, eos; // the tokens' texts; borrowed from the tokenizer
    bool write_bos;
    char *default_system; // NULL = none
};

const char *hone_chat_format_name(size_t index) { return index < ROW_COUNT ? chat_rows[index].name : NULL; }

static int find_role(const char *name) {
    static const struct {
        const char *name;
        int role;
    } aliases[] = {{"human", USER}, {"gpt", ASSISTANT}, {"model", ASSISTANT}, {"bot", ASSISTANT}, {"chatgpt", ASSISTANT}};
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
