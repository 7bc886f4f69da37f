#!/bin/sh
# hone train as a process on a GPU that is lost: once, and for good.
# usage: lost.sh HONE MAKE_MODEL DEVICE
. "$(dirname "$0")/../cli/lib.sh"
device=$3
"$hone" devices 2>&1 | grep -q "^$device" || exit 77
export HONE_SELF_TEST=off
"$make_model" model.gguf || exit 1
conversations 12 >rows.jsonl
# The lines of metrics without times.
lines() { sed 's/,"tokens_per_s.*//' "$1"; }
run() { # FAULT CODE NAME OPTIONS..
    fault=$1 wanted=$2 name=$3
    shift 3
    HONE_FAULT=$fault expect "$wanted" train model.gguf rows.jsonl -o "$name" --device "$device" --batch 3 --steps 24 \
        --copy-every 4 --valid rows.jsonl --eval-every 8 --json "$@"
}

run '' 0 whole
silent
# A submit behind the first copies; how many come before it depends on the kernels.
at=150
while [ $at -lt 600 ]; do
    HONE_FAULT=submit@${at}x0 "$hone" train model.gguf rows.jsonl -o found --device "$device" --batch 3 --steps 24 --copy-every 4 \
        --valid rows.jsonl --eval-every 8 --reopen 1 -q 2>err
    grep -q 'is saved as of step' err && break
    at=$((at + 40))
done
rm -rf found
for kind in submit zeros; do
    run $kind@$at 0 $kind
    says 'it was opened again'
    lines whole/metrics.jsonl >want
    lines $kind/metrics.jsonl >got
    cmp want got || fail "$called: other metrics than without the loss"
    cmp whole/adapter.gguf $kind/adapter.gguf || fail "$called: another adapter than without the loss"
    [ "$(count '"lr"' out)" = 24 ] || fail "$called: not one line a step"
done

run submit@${at}x0 1 stays --reopen 2
says 'in 2 tries' 'stays/state.hone' 'is saved as of step' '--resume' '--device'
unset HONE_FAULT
expect 0 train model.gguf rows.jsonl -o stays --resume --device "$device" --batch 3 --steps 24 --valid rows.jsonl \
    --eval-every 8 --json
lines stays/metrics.jsonl >got
cmp want got || fail "$called: other metrics than without the loss"
cmp whole/adapter.gguf stays/adapter.gguf || fail "$called: another adapter than without the loss"

run submit@${at}x0 1 other --reopen 1
expect 0 train model.gguf rows.jsonl -o other --resume --device cpu --valid rows.jsonl --json
[ "$(count '"lr"' other/metrics.jsonl)" = 24 ] || fail "$called: not one line a step"

run submit@3x0 1 early --reopen 1
says 'nothing was saved'
[ ! -e early ] || fail "$called: a folder without a state is left"
finish
