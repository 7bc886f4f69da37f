#!/bin/sh
# Plans: kinds that add up, the device's own count within 5 %, and what is said to fit does. plan.sh HONE MAKE_MODEL CHECK_JSON DEVICE
. "$(dirname "$0")/lib.sh"
check_json=$3
device=$4

"$make_model" model.gguf || exit 1
conversations 12 >data.jsonl
i=0
while [ $i -lt 16 ]; do # rows of different lengths
    printf '{"text":"%s"}\n' "$(awk "BEGIN { for (j = 0; j < 3 + $i * 7; j++) printf \"w%d \", j }")"
    i=$((i + 1))
done >uneven.jsonl

value() { grep -o "\"$1\":[0-9]*" "$2" | sed 's/.*://' | head -n 1; }

# What a plan says, against what the run then counted; staging is left out on both sides, for it is fixed.
agrees() {
    expect 0 train model.gguf "$@" --dry-run --device "$device" --json
    "$check_json" lines out || fail "$called: not JSON"
    cp out planned
    total=$(value total_bytes planned)
    staging=$(value staging_bytes planned)
    kinds=0
    for kind in weights adapter gradients moments saved temporaries head inputs working staging; do
        kinds=$((kinds + $(value ${kind}_bytes planned)))
    done
    [ "$kinds" = "$total" ] || fail "$called: the kinds add up to $kinds, not $total"
    copies=$((2 * ($(value adapter_bytes planned) + $(value moments_bytes planned))))
    [ "$device" = cpu ] && copies=0
    [ "$(value host_copies_bytes planned)" = $copies ] || fail "$called: not $copies bytes of copies on the host"
    rm -rf run
    expect 0 train model.gguf "$@" -o run --device "$device" --json
    peak=$(value device_peak_bytes out)
    holds "($total - $staging) / ($peak - $staging)" '>' 0.95 && holds "($total - $staging) / ($peak - $staging)" '<' 1.05 ||
        fail "$called: planned $total bytes, held $peak"
}

agrees data.jsonl --batch 3 --epochs 1 --valid 25%
agrees uneven.jsonl --batch 2 --steps 6 --recompute --rank 4
if [ "$device" = cpu ]; then # a GPU in software takes seconds for each run
    agrees data.jsonl --batch 4 --steps 3
    agrees data.jsonl --batch 4 --steps 3 --recompute --rank 4 --accumulate 2
    agrees uneven.jsonl --batch 2 --steps 8
    agrees uneven.jsonl --batch 5 --epochs 2 --pack --sequence 64
    agrees uneven.jsonl --batch 4 --steps 4 --dropout 0.1 --valid data.jsonl
    agrees data.jsonl --batch 2 --steps 2 --valid uneven.jsonl
    "$make_model" untied.gguf --untied || exit 1
    agrees data.jsonl --steps 2 --target q,v --clip 1
fi

# Copies for a device that may be lost lie on the host, apart from what the device holds.
expect 0 train model.gguf data.jsonl --batch 4 --steps 2 --dry-run --device "$device"
if [ "$device" = cpu ]; then
    [ "$(count 'copies of adapter and moments' out)" = 0 ] || fail "$called: copies that the CPU does not need"
else
    grep -q '^host  .* copies of adapter and moments' out || fail "$called: does not say what copies take on the host"
    expect 0 train model.gguf data.jsonl --batch 4 --steps 2 --dry-run --device "$device" --reopen 0 --json
    [ "$(value host_copies_bytes out)" = 0 ] || fail "$called: copies that nobody makes"
fi

# hone plan says the same as a dry run of the same options, and more.
expect 0 train model.gguf data.jsonl --batch 4 --steps 2 --dry-run --device "$device" --json
total=$(value total_bytes out)
expect 0 plan model.gguf data.jsonl --batch 4 --steps 2 --device "$device" --json
"$check_json" lines out || fail "$called: not JSON"
[ "$(value total_bytes out)" = "$total" ] || fail "hone plan says $(value total_bytes out) bytes, a dry run $total"
prints '"plan":true' '"less":[{"options":"--recompute","total_bytes":' '"cache_bytes":' '"seconds_least":'
expect 0 plan model.gguf data.jsonl --batch 4
prints "weights" "moments of AdamW" "saved activations" "working memory" "--recompute" "key/value cache"
# Rows that are cut lose what they teach, which is told with the option.
printf '{"text":"%s"}\n' "$(seq -s ' ' 200)" >long.jsonl
expect 0 plan model.gguf long.jsonl --batch 1
grep -q -- '--sequence [0-9]*, [0-9,]* of [0-9,]* tokens learnt' out || fail "no cost of shorter rows: $(cat out)"
expect 0 plan model.gguf --batch 2 --sequence 64 --json
prints '"rows":2' '"longest":64'
cache=$(value cache_bytes out)
[ "$cache" = 65536 ] || fail "the cache of 2 layers, 128 rows of 2 x 16 columns in keys and values is $cache bytes"
expect 2 plan model.gguf -o run
says "writes no run"
expect 2 plan
says "MODEL"

# Too little memory: refused before anything is made, naming options; each of them then fits.
refused() {
    rm -rf run
    expect 1 train model.gguf data.jsonl -o run --steps 2 --device "$device" "$@"
    says "training needs" "--max-memory is"
    [ ! -e run ] || fail "$called: made a folder"
    grep -o -- 'with --[a-z0-9 -]*' err | sed 's/^with //; s/ *$//' >choices
    [ -s choices ] || fail "$called: names nothing that fits: $(cat err)"
    while read -r choice; do
        # shellcheck disable=SC2086
        "$hone" train model.gguf data.jsonl --dry-run --steps 2 --device "$device" "$@" $choice >out 2>err </dev/null ||
            fail "$called: $choice does not fit: $(cat err)"
    done <choices
}
refused --batch 4 --max-memory $((total - 1))
grep -qx -- '--recompute' choices || fail "not what was expected: $(cat choices)"
expect 0 train model.gguf data.jsonl --dry-run --batch 4 --steps 2 --max-memory "$total" --device "$device"
[ "$device" = cpu ] || finish
grep -q -- '--batch 2 --accumulate 2' choices || fail "not what was expected: $(cat choices)"
refused --batch 12 --max-memory "$total"
expect 1 plan model.gguf data.jsonl --max-memory 10K --device "$device"
says "even --recompute" "needs"
finish
