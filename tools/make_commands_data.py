#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes examples/commands/train.jsonl and heldout.jsonl: a sentence to a phone assistant in, one line of JSON out.

    make_commands_data.py           writes both files; the same bytes each time
    make_commands_data.py --check   verifies the files as they lie there; exit status 1 at the first violation

Wordings are in commands_phrases.py, values in commands_values.py, the measures of likeness in commands_nearest.py.
"""

import argparse
import hashlib
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # a check leaves nothing behind in the source tree

import commands_nearest
import commands_phrases as phrases
import commands_values as values

INSTRUCTION = "Answer with one line of JSON: the action and its fields."
SEED = "hone commands 1"
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "commands"
TRAIN_ROUNDS = 2  # rows per training wording, each with other values
MIN_TRAIN, MIN_HELDOUT, MAX_HELDOUT = 400, 80, 84
MIN_TRAIN_WORDINGS, MIN_HELDOUT_WORDINGS = 12, 4  # per action
MIN_TRAIN_VALUES, MIN_HELDOUT_VALUES = 30, 7  # per open field
MAX_COPIED = 0.40
POLITE = re.compile(r"\b(please|can you|could you|would you|for me)\b")


class Violation(Exception):
    """What is wrong with the files, and where."""


def ordered(items, *name):
    """The items in an order fixed by the seed and the name; a hash, so that it does not hang on a version's shuffle."""
    def key(pair):
        return hashlib.sha256("\n".join((SEED, *name, str(pair[0]), str(pair[1]))).encode()).digest()
    return [item for _, item in sorted(enumerate(items), key=key)]


def row_text(sentence, answer):
    messages = [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": sentence},
        {"role": "assistant", "content": json.dumps(answer, ensure_ascii=False, separators=(",", ":"))},
    ]
    return json.dumps({"messages": messages}, ensure_ascii=False)


def make_rows(wordings, pools, rounds):
    """One line of text per wording and round, in mixed order."""
    lines = []
    for action, fields in phrases.ACTIONS.items():
        order = {f: ordered(pools[f], action, f) for f in fields if f not in values.CLOSED}
        templates = wordings[action]
        for i in range(rounds * len(templates)):
            turn, t = divmod(i, len(templates))
            answer = {"action": action}
            for field in fields:
                pool = values.CLOSED.get(field)
                answer[field] = pool[(t + turn) % len(pool)] if pool else order[field][i % len(order[field])]
            lines.append(row_text(templates[t].format(**answer), answer))
    return ordered(lines, "rows")


def make_files():
    """File name -> its bytes."""
    sets = {
        "train.jsonl": make_rows(phrases.TRAIN, values.TRAIN, TRAIN_ROUNDS),
        "heldout.jsonl": make_rows(phrases.HELDOUT, values.HELDOUT, 1),
    }
    return {name: ("\n".join(lines) + "\n").encode() for name, lines in sets.items()}


def require(condition, message):
    if not condition:
        raise Violation(message)


def whole(value):
    """A pattern for the value as whole words; "19" is not in "19:00"."""
    return re.compile(r"(?<!\w)(?<!\d:)" + re.escape(value) + r"(?!\w)(?!:\d)")


def wording_of(sentence, answer):
    """The sentence with each value replaced by its field's name."""
    for field in sorted(answer, key=lambda f: -len(answer[f])):
        if field != "action":
            sentence = whole(answer[field]).sub("{" + field + "}", sentence)
    return sentence


def bare(wording):
    """A wording without case, punctuation and courtesies: what must differ between training and held out."""
    return " ".join(re.findall(r"[\w{}]+", POLITE.sub(" ", wording.lower())))


def read_row(name, number, line):
    """(sentence, answer text, answer object) of one line, checked for its form."""
    where = f"{name}:{number}"
    require(line == line.strip(), f"{where}: blanks at an end of the line")
    try:
        row = json.loads(line)
        messages = row["messages"]
        answer = json.loads(messages[2]["content"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise Violation(f"{where}: not a row with a JSON answer: {error!r}") from None
    require([m["role"] for m in messages] == ["system", "user", "assistant"], f"{where}: other roles")
    require(messages[0]["content"] == INSTRUCTION, f"{where}: another instruction")
    sentence, text = messages[1]["content"], messages[2]["content"]
    require(isinstance(answer, dict) and all(isinstance(v, str) for v in answer.values()),
            f"{where}: the answer is not an object of strings")
    fields = phrases.ACTIONS.get(answer.get("action"))
    require(fields is not None, f"{where}: unknown action")
    require(tuple(answer) == ("action", *fields), f"{where}: other fields, or another order")
    for field in fields:
        count = len(whole(answer[field]).findall(sentence))
        require(count == 1, f"{where}: '{answer[field]}' stands {count} times in the sentence, not once")
    require(line == row_text(sentence, answer), f"{where}: not in the form that the tool writes")
    return sentence, text, answer


def read_file(name):
    data = (FOLDER / name).read_bytes()
    require(data.endswith(b"\n") and b"\r" not in data, f"{name}: lines must end in LF, the last one too")
    try:
        lines = data.decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise Violation(f"{name}: not UTF-8: {error}") from None
    return [read_row(name, i + 1, line) for i, line in enumerate(lines)]


def check_variety(name, rows, least_wordings, least_values):
    sentences = [sentence for sentence, _, _ in rows]
    require(len(set(sentences)) == len(rows), f"{name}: a sentence occurs twice")
    require(len({text for _, text, _ in rows}) == len(rows), f"{name}: an answer occurs twice")
    for action in phrases.ACTIONS:
        wordings = {wording_of(s, a) for s, _, a in rows if a["action"] == action}
        require(len(wordings) >= least_wordings, f"{name}: {len(wordings)} wordings of {action}")
    pools = values.TRAIN if name == "train.jsonl" else values.HELDOUT
    for field, pool in pools.items():
        require(len(set(pool)) == len(pool), f"{name}: a value of {field} is listed twice")
        used = {a[field] for _, _, a in rows if field in a}
        require(len(used) >= least_values, f"{name}: {len(used)} values of {field}")
        require(used <= set(pool), f"{name}: values of {field} that are not listed: {used - set(pool)}")


def check_disjoint(train, heldout):
    """No held-out wording and no held-out value of an open field is in training, not even inside another value."""
    known = {bare(wording_of(sentence, answer)) for sentence, _, answer in train}
    text = "\n".join(sentence.lower() for sentence, _, _ in train)
    for sentence, _, answer in heldout:
        wording = bare(wording_of(sentence, answer))
        require(wording not in known, f"held-out wording '{wording}' is in training")
    for field, pool in values.HELDOUT.items():
        for value in pool:
            require(not whole(value.lower()).search(text), f"held-out {field} '{value}' is in training")


def check_copying(train, heldout):
    """Answering with the nearest training row's answer must not pass for having learnt the task."""
    for measure, nearest in commands_nearest.nearest_rows([r[0] for r in train], [r[0] for r in heldout]):
        same = sum(train[n][1] == row[1] for n, row in zip(nearest, heldout))
        action = sum(train[n][2]["action"] == row[2]["action"] for n, row in zip(nearest, heldout))
        share = same / len(heldout)
        print(f"nearest row by {measure:<24} answer right {share:6.1%}   action right {action / len(heldout):6.1%}")
        require(share < MAX_COPIED, f"copying the nearest row by {measure} is right in {share:.0%}")


def check():
    train, heldout = read_file("train.jsonl"), read_file("heldout.jsonl")
    require(len(train) >= MIN_TRAIN, f"train.jsonl: {len(train)} rows")
    require(MIN_HELDOUT <= len(heldout) <= MAX_HELDOUT, f"heldout.jsonl: {len(heldout)} rows")
    check_variety("train.jsonl", train, MIN_TRAIN_WORDINGS, MIN_TRAIN_VALUES)
    check_variety("heldout.jsonl", heldout, MIN_HELDOUT_WORDINGS, MIN_HELDOUT_VALUES)
    check_disjoint(train, heldout)
    for name, data in make_files().items():
        require((FOLDER / name).read_bytes() == data, f"{name}: not what the tool writes")
    for name, rows in (("train", train), ("heldout", heldout)):
        wordings = {wording_of(sentence, answer) for sentence, _, answer in rows}
        user, answer = (sum(len(r[i]) for r in rows) / len(rows) for i in (0, 1))
        print(f"{name:<8}{len(rows)} rows, {len(phrases.ACTIONS)} actions, {len(wordings)} wordings, "
              f"characters on average: sentence {user:.1f}, answer {answer:.1f}")
    check_copying(train, heldout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="verify the files instead of writing them")
    if not parser.parse_args().check:
        for name, data in make_files().items():
            (FOLDER / name).write_bytes(data)
        return 0
    try:
        check()
    except (Violation, OSError) as error:
        print(f"make_commands_data.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
