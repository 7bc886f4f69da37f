#!/bin/sh
# A disk that is full, played by a limit on file sizes: one line, exit code 1, nothing half-written, the last good state
# still there.
. "$(dirname "$0")/lib.sh"

"$make_model" model.gguf || exit 1
conversations 8 >data.jsonl
: >out
: >err
remember_files

# In blocks of 512 bytes. The state is larger than each, so that nothing of this run can be saved.
for blocks in 0 1 4 32; do
    (
        ulimit -f $blocks
        code=0
        "$hone" train model.gguf data.jsonl -o run --steps 4 --batch 2 --rank 8 --json 2>err | cat >/dev/null
        exit $code
    )
    called="train under ulimit -f $blocks"
    same_files
    [ "$blocks" = 0 ] || says "cannot write"
done

expect 0 train model.gguf data.jsonl -o run --steps 4 --batch 2 --rank 8 --quiet
silent
cp -R run kept
expect 0 train model.gguf data.jsonl -o run --steps 4 --batch 2 --rank 8 --quiet --resume
rm -rf run
cp -R kept run
listing >before.list
code=0
(
    ulimit -f 32
    "$hone" train model.gguf data.jsonl -o run --steps 8 --resume --quiet >out 2>err
) || code=$?
called="train --resume under ulimit"
[ $code = 1 ] || fail "$called: exit code $code"
says "cannot write"
same_files
cmp -s run/state.hone kept/state.hone || fail "the last good state was touched"
expect 0 train model.gguf data.jsonl -o run --steps 8 --resume --quiet
[ "$(grep -c '"loss"' run/metrics.jsonl)" = 8 ] || fail "not 8 steps in metrics.jsonl"
[ "$(grep -o '"step":[0-9]*' run/metrics.jsonl | sort | uniq -d | wc -l)" = 0 ] || fail "a step stands twice"

# Standard output that takes no more.
if [ -c /dev/full ]; then
    for arguments in "ops" "data model.gguf data.jsonl" "info model.gguf --json" "help"; do
        called="hone $arguments > /dev/full"
        code=0
        # shellcheck disable=SC2086
        "$hone" $arguments >/dev/full 2>err || code=$?
        [ $code = 1 ] || fail "$called: exit code $code"
        says "cannot write to standard output"
    done
fi
finish
