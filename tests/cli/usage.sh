#!/bin/sh
# Wrong usage: exit code 2, one line that says what to do; help and version on standard output.
. "$(dirname "$0")/lib.sh"

expect 2
[ -s err ] && [ ! -s out ] || fail "hone alone: its overview belongs on standard error"
expect 2 chat x
says "there is no command 'chat'" "train, generate, eval, data, tokenize, plan, info, run, ops, devices, selftest and bench"
expect 2 trian
says "did you mean train?"
expect 2 --json
says "behind the command"

for command in train generate eval data tokenize plan info run ops bench; do
    expect 0 $command --help
    silent
    prints "hone $command: " "usage: hone $command" "--json" "--help"
    grep -qE ' $' out && fail "hone $command --help: blanks at the end of a line"
    awk 'length > 120 { exit 1 }' out || fail "hone $command --help: a line of more than 120 characters"
    cp out help
    expect 0 help $command
    cmp -s out help || fail "hone help $command differs from hone $command --help"
done
expect 0 help
silent
prints "train" "Exit codes" "130 interrupted: training that has done a step saves its state first, unless interrupted twice"
grep -E '^.{121}' out && fail "hone help: a line of more than 120 characters"
expect 2 help nothing
says "there is no command 'nothing'"
expect 0 --version
prints "hone "

expect 2 train
says "needs more arguments" "MODEL DATA -o RUN"
expect 2 train m
says "needs one more argument"
expect 2 train m d
says "needs -o RUN"
expect 2 train m d e -o r
says "'e' is one argument too many"
expect 2 train m "" -o r
says "argument 2 is empty"
expect 2 train m d -o r --lrr 1
says "no option --lrr" "did you mean --lr?"
expect 2 train m d -o r --epoch 1
says "did you mean --epochs?"
expect 2 train m d -o r --zzzzzzzzzzzz
says "no option --zzzzzzzzzzzz" "--help"
expect 2 train m d -o r -x
says "no option -x"
expect 2 train m d -o r --lr x
says "--lr must be a number above 0, not 'x'"
for bad in 0 -1 nan inf 0x10 1e999 "" "1 "; do
    expect 2 train m d -o r --lr "$bad"
    says "--lr must be a number above 0, not '$bad'"
done
expect 2 train m d -o r --lr=
says "--lr must be a number above 0, not ''"
expect 2 train m d -o r --beta1 1
says "--beta1 must be a number from 0 to 0.999999999, not '1'"
expect 2 train m d -o r --epochs 1e30
says "--epochs must be a number above 0 and up to 1000000000, not '1e30'"
expect 2 train m d -o r --seed -1
says "from 0 to 9007199254740992"
expect 2 train m d -o r --rank 1.5
says "--rank must be a whole number from 1 to 4096, not '1.5'"
expect 2 train m d -o r --rank 99999999999999999999
says "--rank must be a whole number from 1 to 4096"
expect 2 train m d -o r --lr
says "--lr needs a value"
expect 2 train m d -o r --pack=1
says "--pack takes no value"
expect 2 train m d -o r --schedule exp
says "--schedule must be linear, constant or cosine, not 'exp'"
expect 2 train m d -o r --loss words
says "--loss must be default, all or assistant"
expect 2 train m d -o r --max-memory 12Q
says "--max-memory must be a size"
expect 2 train m d -o r --steps 5 --epochs 1
says "--steps and --epochs"
expect 2 train m d -o r --eval-every 5
says "--eval-every needs --valid"
expect 2 train m d -o r --valid 100%
says "--valid must be"
expect 2 train m d -o r --warmup 5x
says "--warmup must be a number of steps or a part as 5%"
expect 2 train m d -o r --resume --init-adapter a
says "--init-adapter"
expect 2 train m d -o r --device cpu --submit-ms 5
says "--submit-ms has no meaning on the CPU"
expect 2 train m d -o r --rescale-every 5
says "--rescale-every"
expect 2 generate m
says "needs -p TEXT"
expect 2 generate m -p x --system y
says "need --chat"
expect 2 generate m -p x --top-p 1.5
says "--top-p must be a number above 0 and up to 1"
expect 2 eval m d --show 3
says "--show needs --answers"
expect 2 bench --shape 135M
says "--shape is not in this version"
expect 2 bench --op aten::mm --batch 4
says "--batch is an option of the training step: give --train MODEL"
expect 2 bench --profile
says "--profile is an option of the training step"
expect 2 bench --train m --tokens 5
says "--tokens is an option of generation: give --generate MODEL"
expect 2 bench --train m --trace t
says "--trace needs --profile"
expect 2 info
says "one more argument"

# Known, but not on this device or version.
printf 'x' >d
expect 1 train m d -o r --method full4
says "--method full4" "this version trains LoRA adapters only"
expect 1 train m d -o r --precision bf16
says "--precision bf16 is not on this device"

# A device that could be, but is not there: a failure, whatever was to be done on it.
for call in "selftest" "bench" "bench --op aten::mm" "bench --train m" "run m" "generate m -p x" "eval m d" "plan m" "train m d -o r"; do
    # shellcheck disable=SC2086
    expect 1 $call --device vulkan:99
    says "vulkan" "'hone devices' lists what is there"
done
expect 2 bench --device nothing
says "there is no device 'nothing'"
[ ! -e r ] || fail "a folder was made"
finish
