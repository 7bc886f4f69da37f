#!/bin/sh
# Training, evaluation and generation on one device: bit for bit the same again, after a stop and after a signal, and as on
# the CPU within what rounding allows. devices.sh HONE MAKE_MODEL CHECK_JSON DEVICE
. "$(dirname "$0")/lib.sh"
device=$4

"$make_model" model.gguf || exit 1
expect 2 eval model.gguf x.jsonl --device "$device:x"
says "there is no device '$device:x'" "vulkan:N"
conversations 8 >data.jsonl
settings="--batch 4 --rank 4 --lr 1e-3 --seed 3 --device $device"

# shellcheck disable=SC2086
train() { expect 0 train model.gguf data.jsonl $settings "$@"; }
losses() { sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl"; }
close() { # FILE FILE BOUND: lines of numbers that differ by no more, relatively
    paste "$1" "$2" | awk -v bound="$3" '{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > bound || NF != 2) exit 1 }'
}

train -o whole --steps 6 --save-every 3 --keep 2 --valid 25% --eval-every 2 --json
silent
[ "$(grep -c '"loss":' out)" = 7 ] || fail "not 6 steps and a last line"
[ "$(grep -c '"eval_loss":' whole/metrics.jsonl)" = 4 ] || fail "not an evaluation before the first step and after each second"
cp -r whole parts
cp parts/state-3.hone parts/state.hone
train -o parts --resume --eval-every 2 --save-every 3 -q
for file in adapter.gguf state.hone; do
    cmp -s whole/$file parts/$file || fail "$file differs after stop and resume"
done
[ "$(losses whole)" = "$(losses parts)" ] || fail "losses differ after stop and resume"

# Nothing reads memory that nothing has written.
HONE_POISON=1
export HONE_POISON
train -o poisoned --steps 6 --valid 25% --eval-every 2 -q
unset HONE_POISON
cmp -s whole/adapter.gguf poisoned/adapter.gguf || fail "HONE_POISON=1 changes what is learnt"
[ "$(losses whole)" = "$(losses poisoned)" ] || fail "HONE_POISON=1 changes losses"

# As on the CPU.
expect 0 train model.gguf data.jsonl $settings --device cpu -o cpu --steps 6 --valid 25% --eval-every 2 -q
losses cpu >a
losses whole >b
close a b 1e-4 || fail "losses are not those of the CPU"
sed -n 's/.*"eval_loss":\([0-9.]*\).*/\1/p' cpu/metrics.jsonl >a
sed -n 's/.*"eval_loss":\([0-9.]*\).*/\1/p' whole/metrics.jsonl >b
close a b 1e-4 || fail "evaluations are not those of the CPU"
for where in cpu "$device"; do
    expect 0 eval model.gguf data.jsonl --adapter whole --device "$where" --json
    number loss out >"loss-$where"
    expect 0 generate model.gguf --adapter whole --device "$where" -p "the hello and" --max-tokens 12 --temperature 0 --json
    sed 's/,"tokens_per_s".*//' out >"text-$where"
done
close loss-cpu "loss-$device" 1e-5 || fail "hone eval gives $(cat "loss-$device"), on the CPU $(cat loss-cpu)"
cmp -s text-cpu "text-$device" || fail "hone generate gives $(cat "text-$device"), on the CPU $(cat text-cpu)"
expect 0 bench --train model.gguf --device "$device" --batch 1 --sequence 16 --steps 1 --json
prints '"case":"train"'

# Steps that are queued when the signal comes are finished and have their lines, and this is said.
called="train, then SIGTERM"
# shellcheck disable=SC2086
"$hone" train model.gguf data.jsonl $settings -o stopped --steps 3000 --save-every 0 --copy-every 3000 --json >out 2>err &
process=$!
tries=0
while [ "$(cat stopped/metrics.jsonl 2>/dev/null | wc -l)" -lt 3 ] && [ $tries -lt 1200 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -TERM $process
code=0
wait $process || code=$?
[ $code = 130 ] || fail "$called: exit code $code, not 130"
[ "$device" = cpu ] || {
    [ "$(sed -n 1p err)" = "hone: finishing the steps that are under way, then saving; Ctrl-C again ends at once" ] ||
        fail "$called: the first line is not that steps are finished: $(cat err)"
    sed -i 1d err
}
says "interrupted after step" "--resume"
steps=$(wc -l <stopped/metrics.jsonl)
expect 0 info stopped/state.hone --json
prints "\"step\":$((steps))"

# The third bad step in a row is named, though others have been queued behind it; nothing of NaN is left.
expect 1 train model.gguf data.jsonl $settings -o wild --steps 20 --lr 1e30 --clip 0 --json
says "not finite" "third step in a row" "at lines"
[ "$(count '"skipped":true' out)" = 2 ] || fail "not two skipped steps before the last"
expect 0 info wild/state.hone
expect 0 info wild/adapter.gguf
finish
