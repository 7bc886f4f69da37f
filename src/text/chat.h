// SPDX-License-Identifier: Apache-2.0
// Chat formats: how a conversation becomes one text, and which parts of that text the loss covers.
#ifndef HONE_TEXT_CHAT_H
#define HONE_TEXT_CHAT_H

#include "text/tokenizer.h"

typedef struct hone_chat hone_chat; // a format fitted to one model: its default system message, its BOS

typedef struct hone_chat_message {
    const char *role; // "system", "user", "assistant", "tool"
    const char *content;
    size_t content_length;
} hone_chat_message;

// `format` NULL: found from the model's own template; an unknown template is HONE_UNSUPPORTED and the message
// tells to name a format. A format whose control tokens the vocabulary lacks is HONE_MISMATCH. Borrows the
// tokenizer.
HONE_MUST_USE hone_status hone_chat_create(const char *format, const hone_tokenizer *tokenizer, hone_chat **out,
                                           hone_error *error);
void hone_chat_destroy(hone_chat *chat); // NULL is allowed
const char *hone_chat_name(const hone_chat *chat);
// What is said first when a conversation has no system message of its own; NULL = nothing.
const char *hone_chat_default_system(const hone_chat *chat);
// The known formats, for messages and help: NULL behind the last.
const char *hone_chat_format_name(size_t index);
// One of the roles that hone knows, or NULL: "human" is "user", "gpt" is "assistant".
const char *hone_chat_role(const char *name);

// A rendered conversation: parts in order, their bytes joined are the text.
typedef struct hone_chat_rendering {
    hone_text_part *parts; // borrow from the messages and from the chat
    size_t count, capacity;
    size_t last_answer; // the part that is the last assistant's content; SIZE_MAX = none. What stands before
                        // it is what a model is given to answer
} hone_chat_rendering;  // zero-initialised is empty
void hone_chat_rendering_clear(hone_chat_rendering *rendering); // frees; empty and usable again

// Renders the conversation, BOS included where template or vocabulary want one. `generate` ends it with the
// header of the assistant's turn. Trained are the assistant's contents and the end-of-turn token behind each.
// The messages must stay in place while the rendering is used. Roles or orders that the format has no place
// for are HONE_BAD_DATA.
HONE_MUST_USE hone_status hone_chat_render(const hone_chat *chat, const hone_chat_message *messages, size_t count,
                                           bool generate, hone_chat_rendering *out, hone_error *error);
// Render and encode in one: appends the ids.
HONE_MUST_USE hone_status hone_chat_encode(const hone_chat *chat, hone_tokenizer *tokenizer,
                                           const hone_chat_message *messages, size_t count, bool generate,
                                           hone_ids *ids, hone_error *error);
// What joins instruction and input into one user message.
const char *hone_chat_input_joint(const hone_chat *chat);

#endif
