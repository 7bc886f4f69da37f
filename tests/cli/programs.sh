#!/bin/sh
# hone run and hone info on ExecuTorch programs.
vectors=$(cd "$(dirname "$0")/../programs/vectors" && pwd)
. "$(dirname "$0")/lib.sh"

mm=$vectors/mm__2x3x4
adamw=$vectors/adamw_step__buffers_alias_4x3

# one call, by --input and by --calls
expect 0 run $mm/model.pte --input $mm/in_0.npy -i $mm/in_1.npy --output a
silent
prints "call 0: output0 f32[2,4]"
[ -f a0.npy ] || fail "run --output a: no a0.npy"
expect 0 run $mm/model.pte -i input1=$mm/in_1.npy -i $mm/in_0.npy -o named -q
silent
[ ! -s out ] || fail "run -q: something on standard output"
cmp -s a0.npy named0.npy || fail "run: inputs by name give something else"
expect 0 run $mm/model.pte --calls $mm --output b --json
prints '{"step":0,"outputs":[{"name":"output0","type":"f32","shape":[2,4]}],"seconds":' \
    '"done":true,"calls":1,' '"device":"cpu"' '"operators":{"aten::mm":1}'
cmp -s a0.npy b0.npy || fail "run --calls: something else than --input"

# steps with state; the state saved and gone on with
expect 0 run $adamw/model.pte --calls $adamw --output s --json
[ "$(count '"step":' out)" = 3 ] || fail "run --calls: not three steps"
[ -f s2_2.npy ] && [ ! -f s3_0.npy ] || fail "run --calls --output s: not s0_0.npy to s2_2.npy"
prints '"et_vk::adamw_step":3'
mkdir first rest
cp $adamw/in_0_0.npy first
cp $adamw/in_1_0.npy rest/in_0_0.npy
cp $adamw/in_2_0.npy rest/in_1_0.npy
expect 0 run $adamw/model.pte --calls first --save mid.pte
expect 0 run mid.pte --calls rest --output t
cmp -s s2_0.npy t1_0.npy || fail "run --save: the saved program goes on elsewhere"

# numbers
expect 0 run $adamw/model.pte --calls $adamw --output l --set lr=0
cmp -s l0_0.npy l2_0.npy || fail "run --set lr=0: the parameters change"
expect 0 run $adamw/model.pte --calls $adamw --live --schedule linear --warmup 1 --output m
expect 2 run $adamw/model.pte --calls $adamw --schedule linear
says "need --live"
expect 1 run $adamw/model.pte --calls $adamw --set speed=1
says "no number 'speed'" "lr, beta1"
expect 1 run $adamw/model.pte --calls $adamw --set lr
says "NAME=VALUE"

# what is wrong is said, and nothing is written
remember_files
expect 1 run $mm/model.pte --input $mm/in_0.npy --output x
says "input 1 (input1) of 2 is missing"
expect 1 run $mm/model.pte -i $mm/in_0.npy -i $mm/in_0.npy --output x
says "input 1 (input1) is f32[2,3], but f32[3,4] is wanted"
expect 1 run $mm/model.pte -i $mm/in_0.npy -i $mm/in_0.npy -i $mm/in_0.npy
says "3 inputs are given, but the program takes 2"
expect 1 run $mm/model.pte --calls nowhere --output x
says "'nowhere' is not a folder"
expect 1 run $mm/model.pte -i nothing.npy -i nothing.npy
says "nothing.npy"
expect 1 run nothing.pte
says "nothing.pte"
expect 1 run $mm/in_0.npy
says "is not an ExecuTorch program"
expect 2 run $mm/model.pte --calls a -i b
says "exclude each other"
expect 2 run
says "hone run"
head -c 1000 $mm/model.pte >cut.pte
remember_files
expect 1 run cut.pte --calls $mm --output x
says "cut or damaged"
expect 1 info cut.pte
says "cut or damaged"
same_files

# info
expect 0 info $adamw/model.pte
prints "an ExecuTorch program" "input0" "f32[4,3]" "delegate0.value0" "lr" "all of which hone runs"
expect 0 info $adamw/model.pte -v
prints "adamw_step.default" "et_vk::adamw_step"
expect 0 info $vectors/dynamic_shape__linear_rows/model.pte
prints "at most"
expect 0 info $adamw/model.pte --json
prints '"format":"pte"' '"inputs":[{"name":"input0","type":"f32","shape":[4,3],' '"lacking":[]' '"segments":[{' \
    '"numbers":[{"name":"lr","value":0.01' '"delegates":[{"id":"VulkanBackend"'
sed 's/aten.mm.default/aten.qq.default/' $mm/model.pte >other.pte
expect 0 info other.pte
prints "some of which hone does not run" "aten.qq.default" "they are not among the operators of hone"
expect 0 info other.pte --json
prints '"lacking":["aten.qq.default"]' '"runs":false'
expect 1 run other.pte --calls $mm
says "aten.qq.default"
finish
