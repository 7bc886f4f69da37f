#!/bin/sh
# Bad files: exit code 1, one clear line that names the place, and no file or folder is left behind.
. "$(dirname "$0")/lib.sh"

"$make_model" model.gguf || exit 1
"$make_model" family.gguf --arch mamba || exit 1
"$make_model" pre.gguf --pre unheard-of || exit 1
head -c 300 model.gguf >cut-in-metadata.gguf
head -c 60000 model.gguf >cut-in-tensors.gguf
"$make_model" nan.gguf || exit 1 # its last tensor is of floats
printf '\000\000\300\177' | dd of=nan.gguf bs=1 seek=$(($(wc -c <nan.gguf) - 4)) conv=notrunc 2>/dev/null
printf 'this is no model, but it is long enough to be looked at\n' >text.gguf
: >empty.gguf
mkdir folder
mkdir exists unsaved
: >unsaved/metrics.jsonl
: >unsaved/state.hone.tmp1
conversations 4 >good.jsonl
: >empty.jsonl
printf '\n\n   \n' >blank.jsonl
{
    conversations 2
    printf '{"messages": [}\n'
} >broken.jsonl
{
    conversations 1
    printf '{"question": "what?"}\n'
} >fields.jsonl
printf '{"ids":[1,2,999999]}\n' >outside.jsonl
printf '{"ids":[5,6,7],"labels":[-100,-100,-100]}\n' >masked.jsonl
printf '{"messages":[{"role":"user","content":"and the answer?"}]}\n' >unanswered.jsonl
printf '{"text":"a\377b"}\n' >invalid.jsonl
remember_files

bad() { # model, data, texts
    m=$1
    d=$2
    shift 2
    expect 1 train "$m" "$d" -o run --steps 2
    says "$@"
    [ ! -s out ] || fail "$called: something on standard output"
    same_files
}
bad missing.gguf good.jsonl "missing.gguf"
bad folder good.jsonl "folder"
bad text.gguf good.jsonl "text.gguf" "GGUF"
bad empty.gguf good.jsonl "empty.gguf"
bad cut-in-metadata.gguf good.jsonl "cut-in-metadata.gguf" "300"
bad cut-in-tensors.gguf good.jsonl "cut-in-tensors.gguf"
bad family.gguf good.jsonl "mamba"
bad pre.gguf good.jsonl "unheard-of"
bad nan.gguf good.jsonl "nan.gguf" ".weight' holds NaN or infinity"
expect 1 generate nan.gguf -p hello --json
says "holds NaN or infinity"
bad model.gguf missing.jsonl "missing.jsonl"
bad model.gguf folder "folder"
bad model.gguf empty.jsonl "empty.jsonl"
bad model.gguf blank.jsonl "blank.jsonl"
bad model.gguf broken.jsonl "broken.jsonl" "line 3"
bad model.gguf fields.jsonl "fields.jsonl" "line 2"
bad model.gguf outside.jsonl "outside.jsonl" "999999"
bad model.gguf masked.jsonl "masked.jsonl"
bad model.gguf unanswered.jsonl "unanswered.jsonl"
bad model.gguf invalid.jsonl "invalid.jsonl" "--replace-invalid"

expect 1 train model.gguf good.jsonl -o exists
says "'exists' exists already, without a state.hone to resume from: choose another -o"
expect 1 train model.gguf good.jsonl -o unsaved
says "'unsaved' exists already, but nothing was saved there" "may be deleted"
expect 1 train model.gguf good.jsonl -o unsaved --resume
says "'unsaved' has no state.hone" "nothing was saved there" "may be deleted"
expect 1 train model.gguf good.jsonl -o good.jsonl
says "'good.jsonl' exists already"
expect 1 train model.gguf good.jsonl -o missing/run --steps 1
says "missing"
expect 1 train model.gguf good.jsonl -o run --resume
says "'run' is no run to resume"
expect 1 train model.gguf good.jsonl -o exists --resume
says "'exists' has no state.hone"
expect 1 train model.gguf good.jsonl -o run --target q,x
says "'x' is no target"
expect 1 train model.gguf good.jsonl -o run --chat-format nothing
says "nothing"
expect 1 train model.gguf good.jsonl -o run --sequence 100000
says "--sequence 100000" "512"
expect 1 train model.gguf good.jsonl -o run --max-memory 10K
says "--max-memory"
expect 1 train model.gguf good.jsonl -o run --init-adapter missing.gguf
says "missing.gguf"
expect 1 train model.gguf good.jsonl -o run --init-adapter model.gguf
says "model.gguf"
expect 1 train model.gguf good.jsonl -o run --valid missing.jsonl
says "missing.jsonl"
same_files

expect 1 generate model.gguf -p x --adapter missing.gguf
says "missing.gguf"
expect 1 eval model.gguf broken.jsonl
says "line 3"
expect 1 eval model.gguf masked.jsonl
says "masked.jsonl"
expect 1 data model.gguf broken.jsonl
says "broken.jsonl" "line 3"
expect 1 info text.gguf
says "text.gguf"
expect 1 info folder
says "neither a run nor an adapter"
expect 1 info missing
says "missing"
expect 1 ops nothing-of-the-kind
says "no operator"
printf 'no json\n' >lines
expect_from 1 lines tokenize model.gguf
says "standard input, line 1"
printf '"a"\n17\n' >lines
expect_from 1 lines tokenize model.gguf
says "line 2" "must be a JSON string"
printf '[1,999999]\n' >lines
expect_from 1 lines tokenize model.gguf --decode
says "line 1" "item 2"
rm lines
same_files
finish
