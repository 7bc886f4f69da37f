// SPDX-License-Identifier: Apache-2.0
// The forms that a row may have, each turned into ids and labels.
#include <inttypes.h>
#include <string.h>

#include "text/dataset_inside.h"

#define FORMS                                                                                                          \
    "{\"messages\"}, {\"conversations\"}, {\"prompt\",\"completion\"}, "                                               \
    "{\"instruction\",\"input\",\"output\"}, {\"text\"} or {\"ids\",\"labels\"}"

static const char *type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_NULL:
        return "null";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "a number";
    }
}

// A string of the row, which must be there if `needed`; {NULL, 0} if it is not. An absent one may also be null.
static hone_status read_string(const hone_raw_row *raw, const json_t *object, const char *key, bool needed,
                               hone_gguf_string *out, hone_error *error) {
    *out = (hone_gguf_string){0};
    const json_t *const value = json_object_get(object, key);
    if (!needed && (!value || json_is_null(value))) return HONE_OK;
    if (!value)
        return hone_row_fail(raw, hone_row_locate(raw, "", SIZE_MAX, NULL), error, "the row has no \"%s\"; add it",
                             key);
    if (!json_is_string(value))
        return hone_row_fail(raw, hone_row_locate(raw, key, SIZE_MAX, NULL), error, "\"%s\" is %s; it must be a string",
                             key, type_name(value));
    *out = (hone_gguf_string){json_string_value(value), json_string_length(value)};
    return HONE_OK;
}

static hone_status push_message(hone_scan *scan, size_t *count, const char *role, hone_gguf_string content,
                                hone_error *error) {
    HONE_TRY(HONE_GROW(&scan->messages, &scan->message_capacity, *count + 1, "the messages of a row", error));
    scan->messages[(*count)++] =
        (hone_chat_message){.role = role, .content = content.bytes, .content_length = content.length};
    return HONE_OK;
}

// --- ids and labels --------------------------------------------------------------------------------------------------

// The labels' 0 and 1 become -100 and ids.
static void write_labels(hone_scan *scan, size_t first) {
    for (size_t i = first; i < scan->ids.count; i++)
        scan->labels.items[i] = scan->labels.items[i] ? scan->ids.items[i] : HONE_NOT_TRAINED;
}

static hone_status push_token(hone_scan *scan, int32_t id, bool trained, hone_error *error) {
    HONE_TRY(HONE_GROW(&scan->ids.items, &scan->ids.capacity, scan->ids.count + 1, "token ids", error));
    HONE_TRY(HONE_GROW(&scan->labels.items, &scan->labels.capacity, scan->labels.count + 1, "token labels", error));
    scan->ids.items[scan->ids.count++] = id;
    scan->labels.items[scan->labels.count++] = trained;
    return HONE_OK;
}

static size_t count_trained(const hone_scan *scan, size_t first, size_t count) {
    size_t trained = 0;
    for (size_t i = first + 1; i < first + count; i++) trained += scan->labels.items[i] != HONE_NOT_TRAINED;
    return trained;
}

static void name_skipped(hone_dataset_statistics *statistics, uint64_t number, uint64_t line, hone_skip_reason reason) {
    if (statistics->skipped < HONE_SKIPPED_NAMED)
        statistics->skipped_rows[statistics->skipped] =
            (hone_skipped_row){.row = number, .line = line, .reason = reason};
    statistics->skipped++;
}

hone_status hone_scan_finish(hone_scan *scan, size_t first, uint64_t number, uint64_t line,
                             const hone_dataset_row *answer, hone_error *error) {
    hone_dataset *const dataset = scan->dataset;
    hone_dataset_statistics *const statistics = &dataset->statistics;
    const size_t whole = scan->ids.count - first;
    const size_t limit = scan->options.sequence;
    const size_t length = limit > 0 && whole > limit ? limit : whole;
    statistics->rows++;
    statistics->truncated += length < whole;
    statistics->lost += whole - length;
    if (whole > statistics->longest) {
        statistics->longest = whole;
        statistics->longest_line = line;
    }
    if (whole > 0) scan->labels.items[first] = HONE_NOT_TRAINED; // nothing stands before it that could predict it
    const size_t supervised = length > 0 ? count_trained(scan, first, length) : 0;
    const size_t kept = supervised > 0 ? length : 0;
    if (supervised == 0) {
        const bool behind = length > 0 && length < whole && count_trained(scan, first, whole) > 0;
        name_skipped(statistics, number, line,
                     whole == 0   ? HONE_SKIP_EMPTY
                     : behind     ? HONE_SKIP_CUT
                     : whole == 1 ? HONE_SKIP_SHORT
                                  : HONE_SKIP_MASKED);
    }
    scan->ids.count = scan->labels.count = first + kept;
    if (kept == 0) return HONE_OK;
    HONE_TRY(HONE_GROW(&dataset->rows, &dataset->row_capacity, dataset->row_count + 1, "the rows of the data", error));
    hone_dataset_row *const row = &dataset->rows[dataset->row_count++];
    *row = answer ? *answer : (hone_dataset_row){0};
    row->first = first;
    row->length = kept;
    row->supervised = supervised;
    row->line = line;
    statistics->used++;
    statistics->tokens += kept;
    statistics->supervised += supervised;
    return HONE_OK;
}

// --- conversations ---------------------------------------------------------------------------------------------------

// The format of conversations; for prompts (`bare`) of a model that has no template the contents alone.
static hone_status need_chat(hone_scan *scan, bool bare, const hone_chat **out, hone_error *error) {
    bare = bare && !scan->options.chat_format && !hone_tokenizer_chat_template(scan->tokenizer);
    hone_chat **const place = bare ? &scan->plain : &scan->chat;
    if (!*place) HONE_TRY(hone_chat_create(bare ? "none" : scan->options.chat_format, scan->tokenizer, place, error));
    scan->dataset->chat_format = hone_chat_name(*place);
    *out = *place;
    return HONE_OK;
}

// What `eval --answers` needs: the ids in front of the last answer, made without it, and the answer's text.
static hone_status keep_answer(hone_scan *scan, hone_dataset_row *answer, hone_error *error) {
    const hone_chat_rendering *const rendering = &scan->rendering;
    if (!scan->options.keep_answers || rendering->last_answer == SIZE_MAX) return HONE_OK;
    hone_text *const answers = &scan->dataset->answers;
    const hone_text_part *const content = &rendering->parts[rendering->last_answer];
    answer->has_answer = true;
    answer->prompt_first = scan->prompts.count;
    HONE_TRY(hone_tokenizer_encode_parts(scan->tokenizer, rendering->parts, rendering->last_answer, &scan->prompts,
                                         NULL, error));
    answer->prompt_length = scan->prompts.count - answer->prompt_first;
    answer->answer_first = answers->length;
    answer->answer_length = content->length;
    hone_text_append(answers, content->bytes, content->length);
    return hone_text_status(answers, error);
}

// Renders and encodes scan->messages[0, count).
static hone_status encode_conversation(hone_scan *scan, const hone_chat *chat, size_t count, hone_error *error) {
    const size_t first = scan->ids.count;
    hone_chat_rendering *const rendering = &scan->rendering;
    HONE_TRY(hone_chat_render(chat, scan->messages, count, false, rendering, error));
    for (size_t i = 0; i < rendering->count && scan->options.loss == HONE_LOSS_ALL; i++)
        rendering->parts[i].trained = true;
    HONE_TRY(hone_tokenizer_encode_parts(scan->tokenizer, rendering->parts, rendering->count, &scan->ids, &scan->labels,
                                         error));
    write_labels(scan, first);
    return HONE_OK;
}

static hone_status add_conversation(hone_scan *scan, const hone_raw_row *raw, bool bare, size_t count,
                                    hone_error *error) {
    const size_t first = scan->ids.count;
    hone_dataset_row answer = {0};
    if (count > 0) {
        const hone_chat *chat = NULL;
        HONE_TRY(need_chat(scan, bare, &chat, error));
        const hone_status status = encode_conversation(scan, chat, count, error);
        if (status == HONE_BAD_DATA) hone_row_prefix(raw, hone_row_locate(raw, "", SIZE_MAX, NULL), error);
        HONE_TRY(status);
        HONE_TRY(keep_answer(scan, &answer, error));
    }
    const size_t rows = scan->dataset->row_count;
    HONE_TRY(hone_scan_finish(scan, first, raw->number, raw->line, &answer, error));
    if (scan->dataset->row_count == rows && answer.has_answer) { // skipped: its answer too
        scan->prompts.count = answer.prompt_first;
        scan->dataset->answers.length = answer.answer_first;
    }
    return HONE_OK;
}

// One string of a message, under either of two names.
static hone_status read_field(const hone_raw_row *raw, const char *list, size_t index, const json_t *message,
                              const char *key, const char *other, hone_gguf_string *out, hone_error *error) {
    if (other && !json_object_get(message, key) && json_object_get(message, other)) key = other;
    const json_t *const value = json_object_get(message, key);
    if (!value)
        return hone_row_fail(raw, hone_row_locate(raw, list, index, NULL), error,
                             "message %zu of \"%s\" has no \"%s\"; add it", index + 1, list, key);
    if (!json_is_string(value))
        return hone_row_fail(raw, hone_row_locate(raw, list, index, key), error,
                             "\"%s\" of message %zu is %s; it must be a string", key, index + 1, type_name(value));
    *out = (hone_gguf_string){json_string_value(value), json_string_length(value)};
    return HONE_OK;
}

static hone_status add_messages(hone_scan *scan, const hone_raw_row *raw, const json_t *object, const char *list,
                                bool share, hone_error *error) {
    const json_t *const messages = json_object_get(object, list);
    if (!json_is_array(messages))
        return hone_row_fail(raw, hone_row_locate(raw, list, SIZE_MAX, NULL), error,
                             "\"%s\" is %s; it must be an array of messages", list, type_name(messages));
    size_t count = 0;
    hone_gguf_string system = {0};
    HONE_TRY(read_string(raw, object, "system", false, &system, error));
    if (system.length > 0) HONE_TRY(push_message(scan, &count, "system", system, error));
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *const message = json_array_get(messages, i);
        if (!json_is_object(message))
            return hone_row_fail(raw, hone_row_locate(raw, list, i, NULL), error,
                                 "message %zu of \"%s\" is %s; it must be an object", i + 1, list, type_name(message));
        hone_gguf_string role = {0};
        hone_gguf_string content = {0};
        HONE_TRY(read_field(raw, list, i, message, share ? "from" : "role", share ? "role" : NULL, &role, error));
        HONE_TRY(
            read_field(raw, list, i, message, share ? "value" : "content", share ? "content" : NULL, &content, error));
        const char *const known = hone_chat_role(role.bytes);
        if (!known || strlen(role.bytes) != role.length)
            return hone_row_fail(raw, hone_row_locate(raw, list, i, share ? "from" : "role"), error,
                                 "the role \"%.40s\" is not known; roles are system, user, assistant and tool",
                                 role.bytes);
        const bool second_system = i == 0 && count > 0 && strcmp(known, "system") == 0;
        if (second_system) count = 0; // the conversation's own counts, not the one beside it
        HONE_TRY(push_message(scan, &count, known, content, error));
    }
    return add_conversation(scan, raw, false, count, error);
}

// --- prompts, instructions, text, ids --------------------------------------------------------------------------------

static hone_status add_prompt(hone_scan *scan, const hone_raw_row *raw, const json_t *object, hone_error *error) {
    hone_gguf_string prompt = {0};
    hone_gguf_string completion = {0};
    hone_gguf_string system = {0};
    HONE_TRY(read_string(raw, object, "prompt", true, &prompt, error));
    HONE_TRY(read_string(raw, object, "completion", true, &completion, error));
    HONE_TRY(read_string(raw, object, "system", false, &system, error));
    size_t count = 0;
    if (system.length > 0) HONE_TRY(push_message(scan, &count, "system", system, error));
    HONE_TRY(push_message(scan, &count, "user", prompt, error));
    HONE_TRY(push_message(scan, &count, "assistant", completion, error));
    return add_conversation(scan, raw, true, count, error);
}

static hone_status add_instruction(hone_scan *scan, const hone_raw_row *raw, const json_t *object, hone_error *error) {
    hone_gguf_string instruction = {0};
    hone_gguf_string input = {0};
    hone_gguf_string output = {0};
    hone_gguf_string system = {0};
    HONE_TRY(read_string(raw, object, "instruction", true, &instruction, error));
    HONE_TRY(read_string(raw, object, "input", false, &input, error));
    HONE_TRY(read_string(raw, object, "output", true, &output, error));
    HONE_TRY(read_string(raw, object, "system", false, &system, error));
    const hone_chat *chat = NULL;
    HONE_TRY(need_chat(scan, false, &chat, error));
    hone_text joined = {0};
    if (input.length > 0) {
        const char *const joint = hone_chat_input_joint(chat);
        hone_text_append(&joined, instruction.bytes, instruction.length);
        hone_text_append(&joined, joint, strlen(joint));
        hone_text_append(&joined, input.bytes, input.length);
        instruction = (hone_gguf_string){joined.bytes, joined.length};
    }
    size_t count = 0;
    hone_status status = hone_text_status(&joined, error);
    if (status == HONE_OK && system.length > 0) status = push_message(scan, &count, "system", system, error);
    if (status == HONE_OK) status = push_message(scan, &count, "user", instruction, error);
    if (status == HONE_OK) status = push_message(scan, &count, "assistant", output, error);
    if (status == HONE_OK) status = add_conversation(scan, raw, false, count, error);
    hone_text_clear(&joined);
    return status;
}

hone_status hone_scan_text(hone_scan *scan, const char *bytes, size_t length, hone_error *error) {
    if (length == 0) return HONE_OK; // nor do BOS and the end token alone make a row
    hone_tokenizer *const tokenizer = scan->tokenizer;
    const bool trained = scan->options.loss != HONE_LOSS_ASSISTANT;
    const size_t first = scan->ids.count;
    const int32_t bos = hone_tokenizer_bos(tokenizer);
    const int32_t eos = hone_tokenizer_eos(tokenizer);
    // A text may hold control tokens: people render conversations into it themselves, or part documents by them.
    const hone_text_part part = {.bytes = bytes, .length = length, .special = true, .trained = trained};
    if (hone_tokenizer_adds_bos(tokenizer)) HONE_TRY(push_token(scan, bos, trained, error));
    const size_t begin = scan->ids.count;
    HONE_TRY(hone_tokenizer_encode_parts(tokenizer, &part, 1, &scan->ids, &scan->labels, error));
    if (begin > first && scan->ids.count > begin && scan->ids.items[begin] == bos) { // the text brought its own
        memmove(scan->ids.items + first, scan->ids.items + begin, (scan->ids.count - begin) * sizeof *scan->ids.items);
        scan->ids.count--;
        scan->labels.count--;
    }
    const bool ended = scan->ids.count > begin && scan->ids.items[scan->ids.count - 1] == eos;
    if (eos >= 0 && !scan->options.no_end && !ended) HONE_TRY(push_token(scan, eos, trained, error));
    write_labels(scan, first);
    return HONE_OK;
}

static hone_status add_text(hone_scan *scan, const hone_raw_row *raw, const json_t *object, hone_error *error) {
    hone_gguf_string text = {0};
    const size_t first = scan->ids.count;
    HONE_TRY(read_string(raw, object, "text", true, &text, error));
    const hone_status status = hone_scan_text(scan, text.bytes, text.length, error);
    if (status == HONE_BAD_DATA) hone_row_prefix(raw, hone_row_locate(raw, "text", SIZE_MAX, NULL), error);
    if (status != HONE_OK) return status;
    return hone_scan_finish(scan, first, raw->number, raw->line, NULL, error);
}

static hone_status add_ids(hone_scan *scan, const hone_raw_row *raw, hone_error *error) {
    const hone_row_numbers *const numbers = &scan->numbers;
    const size_t count = numbers->ids.count;
    if (numbers->has_labels && numbers->labels.count != count)
        return hone_row_fail(raw, hone_row_locate(raw, "labels", SIZE_MAX, NULL), error,
                             "%zu labels for %zu ids; each id needs one (-100 = not trained)", numbers->labels.count,
                             count);
    const size_t first = scan->ids.count;
    HONE_TRY(HONE_GROW(&scan->ids.items, &scan->ids.capacity, first + count, "token ids", error));
    HONE_TRY(HONE_GROW(&scan->labels.items, &scan->labels.capacity, first + count, "token labels", error));
    if (count > 0) {
        const int32_t *const labels = numbers->has_labels ? numbers->labels.items : numbers->ids.items;
        memcpy(scan->ids.items + first, numbers->ids.items, count * sizeof *scan->ids.items);
        memcpy(scan->labels.items + first, labels, count * sizeof *labels);
    }
    scan->ids.count = scan->labels.count = first + count;
    return hone_scan_finish(scan, first, raw->number, raw->line, NULL, error);
}

// --- which form ------------------------------------------------------------------------------------------------------

static hone_status refuse_form(const hone_raw_row *raw, json_t *object, hone_error *error) {
    hone_text keys = {0};
    const char *key = NULL;
    json_t *value = NULL;
    size_t count = 0;
    json_object_foreach(object, key, value) {
        if (count++ < 6) hone_text_print(&keys, "%s\"%.40s\"", keys.length > 0 ? ", " : "", key);
    }
    const hone_status status = hone_row_fail(raw, hone_row_locate(raw, "", SIZE_MAX, NULL), error,
                                             "a row with the keys %s%s has no form that is known; rows are " FORMS,
                                             keys.bytes ? keys.bytes : "(none)", count > 6 ? ", ..." : "");
    hone_text_clear(&keys);
    return status;
}

static hone_status refuse_numbers(const hone_raw_row *raw, const char *key, const json_t *value, hone_error *error) {
    return hone_row_fail(raw, hone_row_locate(raw, key, SIZE_MAX, NULL), error,
                         "\"%s\" is %s; it must be an array of whole numbers", key,
                         json_is_array(value) ? "an array under an escaped name" : type_name(value));
}

hone_status hone_scan_row(hone_scan *scan, const hone_raw_row *raw, json_t *object, hone_error *error) {
    const hone_row_numbers *const numbers = &scan->numbers;
    if (json_object_get(object, "messages")) return add_messages(scan, raw, object, "messages", false, error);
    if (json_object_get(object, "conversations")) return add_messages(scan, raw, object, "conversations", true, error);
    const json_t *const ids = json_object_get(object, json_object_get(object, "ids") ? "ids" : "input_ids");
    const json_t *const labels = json_object_get(object, "labels");
    if (ids && !numbers->has_ids)
        return refuse_numbers(raw, json_object_get(object, "ids") ? "ids" : "input_ids", ids, error);
    if (ids && labels && !json_is_null(labels) && !numbers->has_labels)
        return refuse_numbers(raw, "labels", labels, error);
    if (ids) return add_ids(scan, raw, error);
    if (json_object_get(object, "prompt") || json_object_get(object, "completion"))
        return add_prompt(scan, raw, object, error);
    if (json_object_get(object, "instruction")) return add_instruction(scan, raw, object, error);
    if (json_object_get(object, "text")) return add_text(scan, raw, object, error);
    return refuse_form(raw, object, error);
}
