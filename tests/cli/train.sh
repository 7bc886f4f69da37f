#!/bin/sh
# A run from beginning to end: files, JSON lines, resuming bit for bit, keeping states, validation.
. "$(dirname "$0")/lib.sh"

"$make_model" model.gguf || exit 1
conversations 12 >data.jsonl
settings="--batch 4 --rank 4 --lr 1e-3 --seed 3"

# shellcheck disable=SC2086
train() { expect 0 train model.gguf data.jsonl $settings "$@"; }

train -o whole --steps 10 --json
silent
[ "$(wc -l <out)" = 11 ] || fail "not 10 steps and a last line"
head -n 1 out | grep -qE '^\{"step":1,"loss":[0-9.]+,"tokens":[0-9]+,"supervised":[0-9]+,"lr":[-0-9.e]+,"grad_norm":[-0-9.e]+,"tokens_per_s":[-0-9.e+]+,"seconds":[-0-9.e]+\}$' ||
    fail "the form of a step: $(head -n 1 out)"
tail -n 1 out | grep -q '^{"done":true,"steps":10,' || fail "the last line: $(tail -n 1 out)"
prints '"adapter":"whole/adapter.gguf"'
head -n 10 out | cmp -s - whole/metrics.jsonl || fail "metrics.jsonl is not what was printed"
ls whole >files
printf '%s\n' adapter.gguf adapter_config.json adapter_model.safetensors metrics.jsonl report.html state.hone >wanted
cmp -s files wanted || fail "the run has $(tr '\n' ' ' <files)"
first=$(sed -n '1s/.*"loss":\([0-9.]*\).*/\1/p' out)
last=$(sed -n '10s/.*"loss":\([0-9.]*\).*/\1/p' out)
holds "$last" '<' "$first" || fail "the loss went from $first to $last"

# The same again is the same to the bit; so are stopping at 5 and going on, and another number of threads.
train -o again --steps 10 -q --threads 1
silent
[ ! -s out ] || fail "-q prints"
for file in adapter.gguf adapter_model.safetensors state.hone; do
    cmp -s whole/$file again/$file || fail "$file differs between equal runs"
done
train -o parts --steps 10 --save-every 5 --keep 3 -q
[ -f parts/state-5.hone ] || fail "--keep 3 left no state-5.hone"
cp parts/state-5.hone parts/state.hone
printf '{"step":11,"lo' >>parts/metrics.jsonl # as a killed process leaves it
expect 0 train model.gguf data.jsonl -o parts --resume --json
[ "$(count '"step":' out)" = 5 ] || fail "a resume at 5 of 10 made $(count '"step":' out) steps"
for file in adapter.gguf adapter_model.safetensors state.hone; do
    cmp -s whole/$file parts/$file || fail "$file differs after stop and resume"
done
sed 's/,"tokens_per_s".*//' whole/metrics.jsonl >a
sed 's/,"tokens_per_s".*//' parts/metrics.jsonl >b
cmp -s a b || fail "metrics differ after stop and resume"

# A finished run says so.
expect 0 train model.gguf data.jsonl -o parts --resume
prints "nothing to do: all 10 steps"
expect 0 train model.gguf data.jsonl -o parts --resume --steps 3
prints "nothing to do: 10 steps of 'parts' are done already, 3 are asked for"
expect 0 train model.gguf data.jsonl -o parts --resume --steps 3 --json
prints '{"done":true,"steps":10,"steps_asked":3,'
cmp -s whole/state.hone parts/state.hone || fail "$called: another state"
grep -qF "done: 10 of 10 steps" parts/report.html || fail "$called: the report does not say 10 of 10 steps"
expect 1 train model.gguf data.jsonl -o parts --resume --rank 8
says "rank is 4, not 8"
expect 1 train model.gguf data.jsonl -o parts --resume --batch 2
says "batch is 4, not 2"
conversations 11 >other.jsonl
expect 1 train model.gguf other.jsonl -o parts --resume
says "other data"
"$make_model" other.gguf --seed 9 || exit 1
expect 1 train other.gguf data.jsonl -o parts --resume
says "its base is"

# A second process that writes into the same run is refused, and does no harm to the first.
if command -v flock >/dev/null; then
    flock -n parts/metrics.jsonl "$hone" train model.gguf data.jsonl -o parts --resume --steps 12 >out 2>err && fail "two writers"
    called="hone train --resume of a run that is being written"
    says "another process is writing 'parts/metrics.jsonl'"
    cmp -s whole/state.hone parts/state.hone || fail "the second writer has changed the state"
fi

# An update that overflows ends in one message; the last good state stays, or nothing where there is none.
expect 1 train model.gguf data.jsonl -o parts --resume --steps 16 --save-every 1 --lr 3e38 --weight-decay 1
says "not finite"
expect 0 info parts/state.hone
expect 1 train model.gguf data.jsonl -o overflow --lr 1e300 --steps 4
says "1e+300"
expect 1 train model.gguf data.jsonl -o overflow --eps 1e-300 --steps 4
says "1e-300"
[ ! -e overflow ] || fail "a run that could not begin left a folder"
# The memory of packed batches is that of the data, not that of --batch.
expect 0 train model.gguf data.jsonl --dry-run --pack --batch 1000000 --max-memory 64MiB -q

# A beta of 0 is one: the state has it, and a resumed run too.
train -o beta --steps 6 --beta1 0 --beta2 0 -q
expect 0 info beta/state.hone --json
prints '"option.beta1":0,' '"option.beta2":0,'
train -o beta-parts --steps 6 --beta1 0 --beta2 0 --save-every 3 --keep 2 -q
cp beta-parts/state-3.hone beta-parts/state.hone
expect 0 train model.gguf data.jsonl -o beta-parts --resume -q
cmp -s beta/state.hone beta-parts/state.hone || fail "--beta1 0: another state than without a stop"
expect 1 train model.gguf data.jsonl -o beta-parts --resume --beta1 0.9
says "beta1 is 0, not 0.9"

# --keep
train -o keep --steps 9 --save-every 2 --keep 3 -q
[ "$(cd keep && echo state*)" = "state-6.hone state-8.hone state.hone" ] || fail "--keep 3 left $(cd keep && echo state*)"
expect 0 info keep/state-6.hone --json
prints '"step":6'

# Validation: before the first step, as often as asked, at the end; the rows are taken from the data.
train -o valid --steps 6 --valid 25% --eval-every 4 --json
[ "$(grep -c eval_loss out)" = 4 ] || fail "$(grep -c eval_loss out) lines with eval_loss, not 3 and the last"
grep -q '"eval_loss":.*"step":0}' out || fail "no evaluation before the first step"
grep -q '"eval_loss":.*"step":4}' out || fail "no evaluation after step 4"
prints '"rows":9'
[ "$(number eval_loss out)" = "$(sed -n 's/.*"eval_loss":\([0-9.]*\).*"step":6}/\1/p' out)" ] || fail "the last eval_loss is not that of step 6"
train -o valid-file --epochs 2 --valid other.jsonl -q
[ "$(count eval_loss valid-file/metrics.jsonl)" = 3 ] || fail "not one evaluation before and after each epoch"
expect 0 train model.gguf data.jsonl -o valid-file --resume --valid other.jsonl --epochs 3
silent
expect 0 train model.gguf data.jsonl -o valid-file --resume --epochs 4
says "'valid-file' was validated so far" "give --valid FILE again"
expect 0 train model.gguf data.jsonl -o valid-file --resume --epochs 5 -q
silent
expect 0 train model.gguf data.jsonl -o valid-file --resume
silent
expect 0 train model.gguf data.jsonl -o valid --resume --steps 7
silent

# The run's own rows, without naming again what made them; other rows are refused by what differs.
printf '{"text":"a much longer text than the others, of which a part is cut away"}\n' >>data.jsonl
made="--valid 25% --loss all --sequence 40 --chat-format chatml"
# shellcheck disable=SC2086
train -o rows --steps 6 $made -q
# shellcheck disable=SC2086
train -o rows-parts --steps 6 $made --save-every 3 --keep 2 -q
cp rows-parts/state-3.hone rows-parts/state.hone
expect 0 train model.gguf data.jsonl -o rows-parts --resume --json
prints '"eval_loss":'
cmp -s rows/adapter.gguf rows-parts/adapter.gguf || fail "$called: another adapter than without a stop"
cmp -s rows/state.hone rows-parts/state.hone || fail "$called: another state than without a stop"
[ "$(grep -c eval_loss rows-parts/metrics.jsonl)" = "$(grep -c eval_loss rows/metrics.jsonl)" ] || fail "$called: other evaluations"
grep -q '25%: ' rows-parts/report.html || fail "$called: the report does not say what is held out"
# shellcheck disable=SC2086
expect 0 train model.gguf data.jsonl -o rows-parts --resume --eval-every 1 $made
refuse() { # TEXT OPTIONS..
    text=$1
    shift
    expect 1 train model.gguf data.jsonl -o rows-parts --resume "$@"
    says "cannot resume 'rows-parts/state.hone'" "$text"
}
refuse "it held 25 % of the rows out for validation, not 50 %" --valid 50%
refuse "it held 25 % of the rows out for validation, not 0 %" --valid other.jsonl
refuse "its loss is all, not assistant" --loss assistant
refuse "its rows were cut at a sequence of 40 tokens, not 20" --sequence 20
refuse "its chat format is chatml, not zephyr" --chat-format zephyr
expect 1 train model.gguf data.jsonl -o whole --resume --eval-every 1
says "--eval-every needs --valid" "holds no rows out"
sed '$d' data.jsonl >data.new && mv data.new data.jsonl

# Validation rows that are longer than all that is trained.
printf '{"text":"short"}\n{"text":"brief"}\n' >short.jsonl
conversations 3 >longer.jsonl
expect 0 train model.gguf short.jsonl -o longer --steps 2 --batch 1 --valid longer.jsonl --json
expect 0 eval model.gguf longer.jsonl --adapter longer --json
holds "($(number eval_loss longer/metrics.jsonl) - $(number loss out))^2" '<' 1e-10 || fail "train and eval differ in the loss of long rows"

# Plans, profile, packing, accumulation: the first loss does not depend on how the rows are split.
expect 0 train model.gguf data.jsonl --dry-run
prints "memory" "steps"
expect 0 train model.gguf data.jsonl --dry-run --json --warmup 50% --steps 8
prints '"dry_run":true' '"total_bytes":' '"warmup":4'
[ ! -e run ] || fail "--dry-run made a folder"
train -o profile --steps 1 --profile
prints "operator" "share"
expect 0 train model.gguf data.jsonl -o one --steps 1 --batch 12 --seed 3 --json
expect_loss=$(number loss one/metrics.jsonl)
expect 0 train model.gguf data.jsonl -o split --steps 1 --batch 3 --accumulate 4 --seed 3 --json
holds "($expect_loss - $(number loss split/metrics.jsonl))^2" '<' 1e-10 || fail "the loss depends on --accumulate"
expect 0 train model.gguf data.jsonl -o recompute --steps 1 --batch 12 --seed 3 --recompute -q
holds "($expect_loss - $(number loss recompute/metrics.jsonl))^2" '<' 1e-10 || fail "the loss depends on --recompute"
expect 0 train model.gguf data.jsonl -o packed --steps 2 --pack --batch 2 -q

# From an adapter, on the head too, with a dropout.
train -o from --steps 2 --init-adapter whole/adapter.gguf -q
expect 1 train model.gguf data.jsonl -o from2 --steps 2 --rank 8 --init-adapter whole/adapter.gguf
says "has rank 4, not 8"
expect 1 train model.gguf data.jsonl -o head --steps 2 --target q,v,head
says "head"
"$make_model" untied.gguf --untied || exit 1
expect 0 train untied.gguf data.jsonl -o head --steps 2 --target q,v,head -q
expect 0 train model.gguf data.jsonl -o dropout --steps 2 --dropout 0.1 -q

# A rate of far too much: the third bad step in a row ends the run; what was reached before is kept, without a NaN.
expect 1 train model.gguf data.jsonl -o wild --steps 20 --lr 1e30 --clip 0 --json
says "not finite" "third step in a row"
[ "$(count '"skipped":true' out)" = 2 ] || fail "not two skipped steps before the last"
[ "$(count '"loss":null' wild/metrics.jsonl)" = 2 ] || fail "metrics.jsonl has no null for a loss that is not finite"
expect 0 info wild/state.hone
expect 0 info wild/adapter.gguf
expect 1 generate model.gguf --adapter wild -p x --max-tokens 2
says "is not finite"
grep -qi nan wild/report.html && fail "NaN in report.html"

# A rate of nothing learns nothing: that is an error, and no adapter.
expect 1 train model.gguf data.jsonl -o nothing --steps 2 --lr 1e-300 -q
says "learnt"
[ ! -e nothing/adapter.gguf ] || fail "an adapter that learnt nothing was written"
finish
