#!/bin/sh
# SIGTERM and SIGINT: the step is finished, the state saved, exit code 130; the run goes on as if nothing had been.
. "$(dirname "$0")/lib.sh"

"$make_model" model.gguf || exit 1
conversations 24 >data.jsonl
settings="--batch 2 --rank 4 --steps 3000 --lr 1e-4 --save-every 0"

wait_for_steps() { # run, steps
    tries=0
    while [ "$(cat "$1/metrics.jsonl" 2>/dev/null | wc -l)" -lt "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.1
    done
}

for signal in TERM INT; do
    run=run-$signal
    called="train, then SIG$signal"
    # shellcheck disable=SC2086
    "$hone" train model.gguf data.jsonl -o $run $settings --json >out 2>err &
    process=$!
    wait_for_steps $run 3 || fail "$called: no third step in a minute"
    kill -$signal $process
    code=0
    wait $process || code=$?
    [ $code = 130 ] || fail "$called: exit code $code, not 130"
    says "interrupted after step" "--resume"
    done=$(grep -c '"loss"' $run/metrics.jsonl)
    [ "$done" -lt 3000 ] || fail "$called: it ran to its end"
    [ "$(tail -n 1 out | sed -n 's/.*"interrupted":true,"step":\([0-9]*\).*/\1/p')" = "$done" ] || fail "$called: last line $(tail -n 1 out)"
    expect 1 train model.gguf data.jsonl -o $run
    says "'$run' exists already: choose another -o, or --resume to go on"
    expect 0 info $run/state.hone --json
    prints "\"step\":$done"
    [ -z "$(find $run -name '*.tmp*')" ] || fail "$called: temporary files are left"

    more=$((done + 3))
    expect 0 train model.gguf data.jsonl -o $run --resume --steps $more --json
    [ "$(grep -c '"loss"' $run/metrics.jsonl)" = $more ] || fail "$called: not $more steps after the resume"
    [ "$(grep -o '"step":[0-9]*' $run/metrics.jsonl | sort | uniq -d | wc -l)" = 0 ] || fail "$called: a step stands twice"
done

# Nobody reads any more: an error, but what was reached is saved.
called="train | head -n 2"
# shellcheck disable=SC2086
{
    "$hone" train model.gguf data.jsonl -o pipe $settings --json 2>err
    echo $? >code
} | head -n 2 >out
[ "$(cat code)" = 1 ] || fail "$called: exit code $(cat code)"
says "cannot write to standard output"
expect 0 info pipe/state.hone
rm -f code

# Killed without a word: what was saved before is whole.
# shellcheck disable=SC2086
"$hone" train model.gguf data.jsonl -o killed --batch 2 --rank 4 --steps 3000 --save-every 2 -q >out 2>err &
process=$!
wait_for_steps killed 7 || fail "killed: no seventh step in a minute"
kill -KILL $process
wait $process 2>/dev/null
expect 0 info killed/state.hone --json
step=$(number step out)
expect 0 train model.gguf data.jsonl -o killed --resume --steps $((step + 4)) -q
[ "$(grep -c '"loss"' killed/metrics.jsonl)" = $((step + 4)) ] || fail "killed: not $((step + 4)) steps after the resume"
[ -z "$(find killed -name '*.tmp*')" ] || fail "killed: temporary files are left after the resume"
finish
