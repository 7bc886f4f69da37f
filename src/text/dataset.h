// SPDX-License-Identifier: Apache-2.0
// Training data, read and checked whole before the first step: rows of token ids, and labels that say what is
// learnt.
#ifndef HONE_TEXT_DATASET_H
#define HONE_TEXT_DATASET_H

#include <hone/data.h>

#include "text/chat.h"

#define HONE_NOT_TRAINED (-100) // a label that no loss sees, as in Hugging Face's data

typedef enum hone_loss_cover {
    HONE_LOSS_DEFAULT,   // assistant for conversations, prompts and instructions; all for plain text
    HONE_LOSS_ALL,       // every token but the first
    HONE_LOSS_ASSISTANT, // answers and the token that ends each
} hone_loss_cover;

typedef struct hone_dataset_options {
    size_t sequence;         // most tokens of a row; longer rows are cut and counted; 0 = no limit
    const char *chat_format; // NULL = found from the model's template when the first conversation is met
    hone_loss_cover loss;
    bool replace_invalid; // bytes that are not UTF-8 become U+FFFD, counted, instead of being refused
    bool no_end;          // rows of {"text"}, {"prompt"} and .txt files do not get the end token where they end
    bool keep_answers;    // keep prompts and expected answers, for `eval --answers`
    bool plain_text;      // the source is one plain text (hone_dataset_scan: also where the name ends in .txt)
    int64_t vocabulary;   // ids of ready-made rows must be below this; 0 = the tokenizer's size
} hone_dataset_options;

typedef struct hone_dataset_row {
    size_t first;      // index of its first token in ids and labels
    size_t length;     // tokens, >= 2
    size_t supervised; // labels other than HONE_NOT_TRAINED, >= 1
    uint64_t line;     // where the row begins in the file, from 1
    // With keep_answers: the prompt's ids are prompt_ids[prompt_first, prompt_first + prompt_length), the
    // expected answer is answers.bytes[answer_first, answer_first + answer_length). has_answer: the row has
    // them.
    size_t prompt_first, prompt_length;
    size_t answer_first, answer_length;
    bool has_answer;
} hone_dataset_row;

typedef enum hone_skip_reason {
    HONE_SKIP_EMPTY,  // no tokens at all
    HONE_SKIP_SHORT,  // one token: nothing follows that could be learnt
    HONE_SKIP_MASKED, // no answer in it, or all labels are -100
    HONE_SKIP_CUT,    // what is to be learnt lies behind the cut at `sequence` tokens
} hone_skip_reason;

typedef struct hone_skipped_row {
    uint64_t row;  // counted from 1
    uint64_t line; // counted from 1
    hone_skip_reason reason;
} hone_skipped_row;

#define HONE_SKIPPED_NAMED 8 // the first skipped rows are kept by name

typedef struct hone_dataset_statistics {
    uint64_t rows;       // in the file
    uint64_t used;       // rows to train on: rows - skipped
    uint64_t tokens;     // of the used rows, after cutting
    uint64_t supervised; // tokens that are learnt
    uint64_t truncated;  // rows that were cut
    uint64_t lost;       // tokens behind the cuts
    uint64_t skipped;    // rows with nothing to learn
    uint64_t longest;    // tokens of the longest row before cutting
    uint64_t longest_line;
    uint64_t replaced; // places where invalid UTF-8 became U+FFFD
    uint64_t dropped;  // bytes that the vocabulary has no token for
    hone_skipped_row skipped_rows[HONE_SKIPPED_NAMED];
} hone_dataset_statistics;

// What decided which rows are made of a file and what is learnt of them.
typedef struct hone_dataset_origin {
    uint64_t sequence;    // as in the options
    char chat_format[32]; // as asked for; "" = found from the model's template
    hone_loss_cover loss;
    bool replace_invalid;
    double held_out; // part of the rows that was taken out for validation; 0 = none
} hone_dataset_origin;

struct hone_dataset {
    // Flat, row after row. labels[i] belongs to the token at i: its own id where it is learnt, else
    // HONE_NOT_TRAINED. The first token of a row is never learnt: nothing predicts it.
    int32_t *ids;    // [token_count]
    int32_t *labels; // [token_count]
    size_t token_count;
    hone_dataset_row *rows; // [row_count]
    size_t row_count;
    int32_t *prompt_ids; // with keep_answers
    size_t prompt_id_count;
    hone_text answers;
    hone_dataset_statistics statistics;
    hone_dataset_origin origin;
    char *name;              // of the file
    const char *chat_format; // the format that conversations were rendered with; NULL = there were none
    size_t token_capacity, label_capacity, row_capacity, prompt_capacity;
};

// How rows become text: {"messages"}, {"conversations"}, {"instruction","input","output"} and {"prompt","completion"} are
// rendered in the model's chat format, where a prompt and an instruction are the user's and "system" beside them is the
// system's message (a model that has no template takes prompt and completion bare). Their contents never hold control
// tokens. {"text"} and .txt are taken as they are, control tokens included, and end with EOS. Ready-made {"ids"} are
// trained where {"labels"} say so, or everywhere.
//
// Reads and checks a file: JSON lines or an array of rows, or one plain text (*.txt), which is cut into
// windows of `sequence` tokens. Faults are HONE_BAD_DATA with file, line, column and a hint. If no row has
// anything to learn that is HONE_BAD_DATA too. options may be NULL.
HONE_MUST_USE hone_status hone_dataset_scan(const char *path, hone_tokenizer *tokenizer,
                                            const hone_dataset_options *options, hone_dataset **out, hone_error *error);
// The same from any source, which is not closed.
HONE_MUST_USE hone_status hone_dataset_scan_source(hone_source *source, hone_tokenizer *tokenizer,
                                                   const hone_dataset_options *options, hone_dataset **out,
                                                   hone_error *error);
void hone_dataset_destroy(hone_dataset *dataset); // NULL is allowed

// targets[i] = the label of the token behind i, HONE_NOT_TRAINED at the last; [length of the row].
void hone_dataset_targets(const hone_dataset *dataset, size_t row, int32_t *targets);
// Of all ids, labels and row borders: two scans with the same hash train alike.
uint64_t hone_dataset_hash(const hone_dataset *dataset);
// "no answer in it" and the like, for messages.
const char *hone_skip_reason_text(hone_skip_reason reason);

#endif
