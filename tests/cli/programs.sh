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
expect 2 run $adamw/model.pte --calls $adamw --set speed=1
says "no number 'speed'" "lr, beta1"
expect 2 run $adamw/model.pte --calls $adamw --set lr
says "NAME=VALUE"
expect 2 run $adamw/model.pte --calls $adamw --set =1
says "NAME=VALUE"
expect 2 run $adamw/model.pte --calls $adamw --set lr=abc
says "lr=abc" "must be a number"
expect 2 run $adamw/model.pte --calls $adamw --set lr=1e400
says "lr=1e400" "beyond all that can be computed with"
expect 2 run $adamw/model.pte --calls $adamw --set lr=1 --set eps=1e-8 --set lr=2
says "gives lr twice" "lr=1" "lr=2"
while read -r setting range; do
    expect 2 run $adamw/model.pte --calls $adamw --set "$setting"
    says "${setting%%=*} cannot be ${setting#*=}" "$range"
done <<END
lr=1e+39 from 0 to
lr=-0.1 from 0 to
beta1=1 below 1
beta2=1.5 below 1
beta1=-0.5 at least 0
eps=-1e-08 from 0
weight_decay=-1 from 0
bias_correction1=0 above 0 and up to 1
bias_correction2=-1 above 0 and up to 1
bias_correction2=1e-40 above 0 and up to 1
bias_correction1=1.5 above 0 and up to 1
END
ce=$vectors/fused_ce__1x2
for value in 0 -1 1e-40 1e+39; do
    expect 2 run $ce/model.pte --calls $ce --set n_valid=$value
    says "n_valid cannot be $value" "at least 1"
done
expect 0 run $ce/model.pte --calls $ce --set n_valid=3
expect 2 run $mm/model.pte --calls $mm --live
says "has no numbers that change" "leave --live out"
expect 2 run $mm/model.pte --calls $mm --set lr=1
says "has no numbers that change" "leave --set out"
expect 2 run $mm/model.pte --calls $mm --device x
says "there is no device 'x'"
expect 2 run $mm/model.pte --calls $mm --method nope
says "has no method 'nope'" "forward"

# a live run goes on where a saved program stopped, as if it had been one run
expect 0 run $adamw/model.pte --calls $adamw --live --output whole
expect 0 run $adamw/model.pte --calls first --live --save live.pte
expect 0 run live.pte --calls rest --live --output half --save live2.pte
cmp -s whole2_0.npy half1_0.npy || fail "run --live --save: the saved program goes on elsewhere"
expect 0 run live2.pte --calls first --live --save again.pte
[ "$(wc -c <live2.pte)" = "$(wc -c <again.pte)" ] || fail "run --save: a program grows with every save"

# asked to stop: the call at hand ends, the state is saved
mkdir many
i=0
while [ $i -lt 1000 ]; do
    for file in "$adamw"/in_0_*.npy; do
        name=${file##*/in_0_}
        ln -s "$file" many/in_${i}_$name
    done
    i=$((i + 1))
done
called="run --calls many"
"$hone" run $adamw/model.pte --calls many --live --output many/o --save stopped.pte --json >out 2>err &
process=$!
while ! [ -e many/o3_0.npy ] && kill -0 $process 2>/dev/null; do sleep 0.02; done
kill -TERM $process
code=0
wait $process || code=$?
[ $code = 130 ] || fail "$called: exit code $code after a signal"
says "of 1000 calls; the state is saved as 'stopped.pte'"
expect 0 run stopped.pte --calls first --live
rm -r many

# what is wrong is said, and nothing is written
remember_files
expect 2 run $mm/model.pte --input $mm/in_0.npy --output x
says "input 1 (input1) of 2 is missing"
expect 2 run $mm/model.pte -i input0=$mm/in_0.npy -i input0=$mm/in_1.npy --output x
says "input 0 (input0) is given twice" "in_1.npy"
expect 2 run $mm/model.pte -i input0= -i $mm/in_1.npy
says "--input input0= names no file"
expect 2 run $mm/model.pte -i $mm/in_0.npy -i input7=in.npy --output x
says "input7=in.npy" "no input of that name" "input0, input1"
expect 1 run $mm/model.pte -i input0=$mm/in_0.npy -i $mm/in_0.npy --output x
says "input 1 (input1) is f32[2,3]"
expect 1 run $mm/model.pte -i $mm/in_0.npy -i $mm/in_0.npy --output x
says "input 1 (input1) is f32[2,3], but f32[3,4] is wanted"
expect 2 run $mm/model.pte -i $mm/in_0.npy -i $mm/in_0.npy -i $mm/in_0.npy
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

# folders of calls: what no call would read is refused before the first one
mkdir gap mixed odd more none
cp $adamw/in_0_0.npy gap
cp $adamw/in_2_0.npy gap
cp $adamw/in_0_0.npy mixed
cp $adamw/in_0_0.npy mixed/in_0.npy
cp $adamw/in_0_0.npy odd/in_0_00.npy
cp $adamw/in_0_0.npy $mm/in_0.npy more
cp $mm/in_0.npy none/x.npy
mv more/in_0_0.npy more/in_0_1.npy
rm more/in_0.npy
remember_files
expect 1 run $adamw/model.pte --calls gap --output x
says "'gap/in_1_0.npy' is missing" "go up to in_2"
expect 1 run $adamw/model.pte --calls mixed --output x
says "'mixed' holds both in_<i>.npy" "in_<step>_<i>.npy"
expect 1 run $adamw/model.pte --calls odd --output x
says "'odd/in_0_00.npy' is neither"
expect 1 run $adamw/model.pte --calls more --output x
says "'more/in_0_1.npy' is for input 1" "takes 1"
expect 1 run $adamw/model.pte --calls none --output x
says "'none' holds no inputs"
expect 1 run $mm/model.pte --calls first --output x
says "'first/in_0_1.npy' is missing"
same_files

# what would be written over, or cannot be, is refused before the first call
mkdir own
cp $mm/in_0.npy own/in0.npy
cp $mm/in_1.npy own/in_1.npy
cp $mm/in_0.npy own/in_0.npy
ln -s in_0.npy own/link0.npy
remember_files
expect 2 run $mm/model.pte --calls own --output own/in_
says "into the folder of the inputs"
expect 2 run $mm/model.pte -i own/in0.npy -i own/in_1.npy --output own/in
says "--output would write over 'own/in0.npy', which is read"
expect 2 run $mm/model.pte --calls own --output own/link
says "--output would write over 'own/link0.npy', which is read"
expect 2 run $mm/model.pte --calls own --save own/in_0.npy
says "--save would write over '"
cp $adamw/model.pte own/model.pte
ln -s model.pte own/other.pte
remember_files
expect 2 run own/model.pte --calls $adamw --save own/model.pte
says "--save would write over 'own/model.pte'"
expect 2 run own/other.pte --calls $adamw --save own/model.pte
says "--save would write over 'own/model.pte'"
expect 2 run $adamw/model.pte --calls $adamw --output twice --save twice0_0.npy
says "--save and --output both write 'twice0_0.npy'"
expect 1 run $adamw/model.pte --calls $adamw --save nodir/x.pte
says "the folder 'nodir' does not exist"
[ ! -s out ] || fail "run --save nodir/x.pte: a call has run"
expect 1 run $mm/model.pte --calls $mm --output nodir/x
says "the folder 'nodir/' does not exist"
[ ! -s out ] || fail "run --output nodir/x: a call has run"
expect 1 run $adamw/model.pte --calls $adamw --save own
says "'own' is a folder"
same_files

# arrays that hone does not read say how to make one that it does
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }" >big.npy
head -c 24 /dev/zero >>big.npy
expect 1 run $mm/model.pte -i big.npy -i $mm/in_1.npy
says "'big.npy' holds big-endian values ('>f4')" "astype('<f4')"
sum=$vectors/sum__dim0_drop
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }" >truth.npy
printf '\001\000\002' >>truth.npy
expect 1 run $sum/model.pte -i truth.npy
says "'truth.npy': element 2 is no truth value, for its byte is 2" "array != 0"

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
