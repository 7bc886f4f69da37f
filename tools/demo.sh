#!/bin/sh
# Fine-tunes the small model to answer home commands with one line of JSON, and shows held-out answers before and after.
# `make demo` has built hone and fetched the model. Every setting below can be given in the environment.
set -eu

cd "$(dirname "$0")/.."
hone=${HONE:-${BUILD:-build}/hone}
model=${HONE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
train_data=${DEMO_TRAIN:-examples/commands/train.jsonl}
heldout_data=${DEMO_HELDOUT:-examples/commands/heldout.jsonl}
run=${DEMO_RUN:-runs/demo}
train_options=${DEMO_TRAIN_OPTIONS:---epochs 2 --batch 8 --rank 16 --alpha 32 --lr 1e-3 --warmup 5% --seed 1}
# --show N prints the first N questions with the wanted and the given answer.
eval_options=${DEMO_EVAL_OPTIONS:---answers --show 4}

started=$(date +%s)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 1' HUP TERM

say() { printf '\n== %s\n' "$*"; }
# shellcheck disable=SC2086 # options are lists of words
evaluate() { # output, then adapter options
    out=$1
    shift
    "$hone" eval "$model" "$heldout_data" $eval_options "$@" >"$out" || {
        cat "$out"
        exit 1
    }
    cat "$out"
}
# The line of an evaluation that has the score.
score() { grep '^exact ' "$1" | tail -n 1; }

say "before: the base model on $(wc -l <"$heldout_data") held-out commands"
evaluate "$work/before"

say "training on $(wc -l <"$train_data") commands"
rm -rf "$run"
mkdir -p "$(dirname "$run")"
# shellcheck disable=SC2086
"$hone" train "$model" "$train_data" -o "$run" $train_options

say "after: the same commands with $run/adapter.gguf"
evaluate "$work/after" --adapter "$run/adapter.gguf"

seconds=$(($(date +%s) - started))
say "in $((seconds / 60)) min $((seconds % 60)) s"
echo "before: $(score "$work/before")"
echo "after:  $(score "$work/after")"
echo "the run: $(cd "$run" && ls | tr '\n' ' ')in $run"
