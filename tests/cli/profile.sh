#!/bin/sh
# --profile: what it says adds up, its trace is one, and it changes no bit. profile.sh HONE MAKE_MODEL CHECK_JSON DEVICE
. "$(dirname "$0")/lib.sh"
check_json=$3
device=$4

"$make_model" model.gguf || exit 1
conversations 8 >data.jsonl
settings="--batch 4 --accumulate 2 --rank 4 --lr 1e-3 --seed 3 --steps 3 --device $device"

parses() { "$check_json" "$@" || fail "$called: $* "; }

# shellcheck disable=SC2086
train() { expect 0 train model.gguf data.jsonl $settings "$@"; }

train -o plain -q
train -o seen --profile --json
parses lines out
for file in adapter.gguf state.hone; do cmp -s plain/$file seen/$file || fail "--profile changes $file"; done
prints '"operator":"hone::attention_backward"' '"gflop_per_s":' '"gb_per_s":' '"profile":true,' '"steps":3,' '"encode_ms":' \
    '"trace":"seen/trace.json"'
share=$("$check_json" sum share out)
of_step=$("$check_json" sum step_share out)
busy=$(number busy_share out)
holds "($share - 1)^2" '<' 1e-8 || fail "the operators' shares add up to $share"
holds "($of_step - $busy)^2" '<' 1e-8 || fail "the operators' shares of the step add up to $of_step, and are said to be $busy"
holds "$busy" '>' 0.2 && holds "$busy" '<' 1.02 || fail "the operators take $busy of the step"
# Two micro-batches a step, in each two layers of attention.
grep -qF '"operator":"hone::attention",' out && grep -F '"operator":"hone::attention",' out | grep -qF '"calls":' ||
    fail "no calls"
calls=$(sed -n 's/^{"operator":"hone::attention",.*"calls":\([0-9]*\).*/\1/p' out)
holds "$calls % 6" '==' 0 || fail "$calls calls of attention in three steps of two micro-batches"
all_calls=$("$check_json" sum calls out)
events=$(parses trace seen/trace.json)
[ "${events#* }" = "$all_calls" ] || fail "the trace has ${events#* } calls of operators, the table $all_calls"
grep -c '"name":"step","cat":"host"' seen/trace.json | grep -qx 3 || fail "not three steps in the trace"
for phase in batch plan encode; do grep -qF "\"name\":\"$phase\"" seen/trace.json || fail "no $phase in the trace"; done

# Evaluations are no part of the steps: not in the calls, the share, the plans or the trace.
cp out without
train -o valid --profile --json --valid data.jsonl --eval-every 1
[ "$(count '"eval_loss":' valid/metrics.jsonl)" = 4 ] || fail "$(count '"eval_loss":' valid/metrics.jsonl) evaluations, not 4"
[ "$("$check_json" sum calls out)" = "$all_calls" ] || fail "evaluations add to the calls: $("$check_json" sum calls out), not $all_calls"
cmp -s valid/adapter.gguf plain/adapter.gguf || fail "$called: another adapter"
holds "$(number busy_share out)" '<' 1.02 || fail "with evaluations the operators take $(number busy_share out) of the step"
holds "$(number batch_ms out)" '>=' 0 && holds "$(number wait_ms out)" '>=' 0 && holds "$(number plan_seconds out)" '>' 0 ||
    fail "times below 0: $(tail -n 2 out)"
events=$(parses trace valid/trace.json)
[ "${events#* }" = "$all_calls" ] || fail "with evaluations the trace has ${events#* } calls of operators, not $all_calls"
grep -c '"name":"plan"' valid/trace.json | grep -qx "$(grep -c '"name":"plan"' seen/trace.json)" || fail "plans of evaluations are in the trace"
cp without out

# The operators take the time that falls from the largest.
sed -n 's/^{"operator":.*"seconds":\([-0-9.e]*\),.*/\1/p' out >seconds
sort -g -r seconds | cmp -s - seconds || fail "the table is not sorted by time"

train -o table --profile
prints "ms a step" "all calls" "hone::adamw_step_guarded" "GFLOP/s" "GB/s" "table/trace.json" "perfetto"

# Ctrl-C: the table and the trace are of the steps that were done.
called="train --profile, then SIGINT"
# shellcheck disable=SC2086
"$hone" train model.gguf data.jsonl $settings --steps 100000 --save-every 0 -o stopped --profile --json >out 2>err &
process=$!
tries=0
while [ "$(cat stopped/metrics.jsonl 2>/dev/null | wc -l)" -lt 2 ] && [ $tries -lt 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -INT $process
code=0
wait $process || code=$?
[ $code = 130 ] || fail "$called: exit code $code, not 130"
parses lines out
prints "\"profile\":true,\"clock\":" "\"steps\":$(count '"lr":' stopped/metrics.jsonl)," '"operator":"hone::adamw_step_guarded"'
tail -n 1 out | grep -qF '"interrupted":true' || fail "$called: the last line is $(tail -n 1 out)"
parses trace stopped/trace.json >events

[ "$device" = cpu ] || finish # a GPU in software takes minutes for the products that bench measures
expect 0 bench --train model.gguf --sequence 48 --steps 2 --profile --trace of_bench.json --json --device "$device"
parses lines out
prints '"case":"train"' '"operator":"' '"steps":2,' '"trace":"of_bench.json"'
parses trace of_bench.json >events
expect 1 bench --train model.gguf --sequence 48 --steps 1 --profile --trace no/folder.json --device "$device"
says "no/folder.json"
expect 2 bench --profile
says "--train"
expect 2 bench --train model.gguf --trace x
says "--profile"
finish
