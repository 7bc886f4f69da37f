#!/bin/sh
# The commands that only look: data, tokenize, info, ops; and generate, eval and bench.
. "$(dirname "$0")/lib.sh"

"$make_model" model.gguf || exit 1
conversations 6 >data.jsonl

# tokenize: there and back
cat >lines <<'END'
"hello world"
"the <|im_end|> token"

"caf\u00e9 \ud83d\ude00\n\ttab\u0000nul"
""
END
expect_from 0 lines tokenize model.gguf
silent
[ "$(wc -l <out)" = 4 ] || fail "tokenize: not a line for each line"
sed -n 4p out | grep -qx '\[\]' || fail "tokenize: the empty string gives $(sed -n 4p out)"
cp out ids
expect_from 0 ids tokenize model.gguf --decode
silent
prints '"hello world"' '"the <|im_end|> token"' '"café 😀\n\ttab\u0000nul"' '""'
printf '"a<|im_end|>b"\n' >lines
expect_from 0 lines tokenize model.gguf --special
prints ", 2, "
expect_from 0 lines tokenize model.gguf
grep -q ', 2, ' out && fail "tokenize: a control token without --special"

# data
expect 0 data model.gguf data.jsonl
prints "6 rows"
expect 0 data model.gguf data.jsonl --json
prints '"rows":6' '"truncated":0' '"skipped":0' '"supervised":' '"longest":' '"chat_format":"chatml"'
expect 0 data model.gguf data.jsonl --show 1
prints "row 1, line 1" '"<|im_end|>"'
expect 0 data model.gguf data.jsonl --show 2 --json
[ "$(count '"trained":true' out)" = 2 ] || fail "data --show 2 --json: not two rows"
printf 'the end\n' >text.txt
expect 0 data model.gguf text.txt --json
prints '"rows":1' '"chat_format":null'
{
    conversations 1
    printf '{"ids":[5,6],"labels":[-100,-100]}\n{"ids":[5,6,7]}\n'
} >mixed.jsonl
expect 0 data model.gguf mixed.jsonl
prints "2 of 3 rows" "line 2"
expect 0 data model.gguf mixed.jsonl --json
prints '"skipped":1,' '"skipped_rows":[{"row":2,"line":2,"reason":"'
expect 0 data model.gguf data.jsonl --sequence 40 --json
prints '"truncated":'

# generate
expect 0 generate model.gguf -p "hello" --max-tokens 5 --json
silent
prints '"text":"' '"tokens":' '"tokens_per_s":'
cp out first
expect 0 generate model.gguf -p "hello" --max-tokens 5 --temperature 1 --seed 4 --json
expect 0 generate model.gguf -p "hello" --max-tokens 5 --json
[ "$(sed 's/,"tokens_per_s.*//' out)" = "$(sed 's/,"tokens_per_s.*//' first)" ] || fail "generate: the likeliest tokens differ"
expect 0 generate model.gguf -p "hello" --chat --system "be kind" --max-tokens 3
printf 'from a pipe' >prompt
expect_from 0 prompt generate model.gguf -p - --max-tokens 2
expect 1 generate model.gguf --max-tokens 2 -p "$(awk 'BEGIN { for (i = 0; i < 600; i++) printf "%d ", i }')"
says "512"

# Something learnt by heart is answered; the base does not know it.
printf '{"messages":[{"role":"user","content":"name"},{"role":"assistant","content":"hone"}]}\n' >heart.jsonl
expect 0 train model.gguf heart.jsonl -o run --steps 60 --lr 2e-2 --rank 8 --schedule constant -q
silent
holds "$(number loss run/metrics.jsonl)" '<' 0.1 || fail "one row is not learnt in 60 steps: $(number loss run/metrics.jsonl)"
expect 0 eval model.gguf heart.jsonl --answers --json
prints '"exact":0,' '"perplexity":'
expect 0 eval model.gguf heart.jsonl --answers --json --adapter run/adapter.gguf
prints '"exact":1,'
holds "$(number loss out)" '<' 0.1 || fail "eval: a loss of $(number loss out)"
cp out gguf
expect 0 eval model.gguf heart.jsonl --adapter run --show 1 --answers --device cpu
[ "$(head -n 1 out | cut -c 1-14)" = "device   cpu, " ] || fail "eval: the first line is not the device: $(head -n 1 out)"
prints "exact    1 of 1" "prompt"
mkdir peft
cp run/adapter_model.safetensors run/adapter_config.json peft
expect 0 eval model.gguf heart.jsonl --adapter peft --json --answers
[ "$(number loss out)" = "$(number loss gguf)" ] || fail "eval: PEFT's form of the adapter has another loss"
expect 0 generate model.gguf --adapter run/adapter.gguf --chat -p name
[ "$(cat out)" = hone ] || fail "generate: '$(cat out)' instead of 'hone'"
conversations 5 >several.jsonl
expect 0 eval model.gguf several.jsonl --answers --json
prints '"answers":5'

# info
expect 0 info model.gguf
prints "GGUF 3" "general.architecture" '"llama"'
expect 0 info model.gguf --json
prints '"format":"gguf"' '"kind":"model"' '"name":"token_embd.weight"' '"types":{'
expect 0 info run/adapter.gguf --json
prints '"kind":"adapter"' 'lora_a'
expect 0 info run/adapter_model.safetensors -v
prints "safetensors" "lora_A"
expect 0 info run
prints "run " "state.hone of step 60" "adapter"
expect 0 info run --json
prints '"format":"run"' '"state_step":60'
expect 0 info peft
prints "safetensors"
expect 0 info run/state.hone --json
prints '"format":"state"' '"step":60'
cp -r run damaged # what can be read of it is shown, and what is wrong said
head -c 300 run/state.hone >damaged/state.hone
tail -c +302 run/state.hone | { printf '\377' && cat; } >>damaged/state.hone
for what in damaged damaged/state.hone; do
    expect 1 info $what
    says "damaged/state.hone' is damaged" "go back to an earlier state"
done
expect 1 info damaged
prints "run " "state.hone cannot be read" "adapter"
expect 1 info damaged --json
prints '"state":true,"state_step":-1,"state_error":"' '"last_step":60'

# ops
expect 0 ops
prints "aten::mm(" "gradient:" "devices: cpu" "operators"
expect 0 ops aten::mm --json
prints '"name":"aten::mm"' '"devices":["cpu"'

# bench
expect 0 bench --train model.gguf --sequence 64 --steps 2 --json
prints '"case":"train"' '"share":' '"tokens_per_s":' '"peak_bytes":'
expect 0 bench --op aten::cos --train model.gguf --sequence 16 --steps 1 --json # one after another
prints '"case":"train"' '"op":"aten::cos"'
for key in min:p25 p25:median median:p75; do
    holds "$(number "seconds_${key%:*}" out)" '<=' "$(number "seconds_${key#*:}" out)" ||
        fail "$called: seconds_${key%:*} is above seconds_${key#*:}"
done
expect 0 bench --generate model.gguf --tokens 4 --json
prints '"case":"generate"' '"prompt_tokens_per_s":'
finish
