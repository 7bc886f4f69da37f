#!/bin/sh
# What hone says and does where something of a GPU is missing: one clear line each, and --device auto takes the CPU.
# usage: absent.sh HONE BROKEN_LIBRARY
set -eu
hone=$1
broken=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"

fail() {
    echo "absent.sh: $1" >&2
    cat "$work/out" >&2
    exit 1
}
# expect TEXT COMMAND...: it fails with one line that contains the text.
expect() {
    text=$1
    shift
    if "$@" >"$work/out" 2>&1; then fail "this should fail: $*"; fi
    grep -qF -- "$text" "$work/out" || fail "'$text' is not said"
    [ "$(wc -l <"$work/out")" = 1 ] || fail "more than one line"
}

# No driver: the loader finds no file that describes one.
export VK_ICD_FILENAMES=/nowhere/icd.json VK_DRIVER_FILES=/nowhere/icd.json
expect "vulkan: no GPU" "$hone" selftest --device vulkan
expect "webgpu: no GPU" "$hone" selftest --device webgpu
expect "'hone devices' lists what is there" "$hone" generate "$work/model.gguf" -p x --device vulkan
"$hone" devices >"$work/out" 2>&1 || fail "hone devices"
grep -q "^cpu " "$work/out" || fail "hone devices names no CPU"
grep -q "^vulkan .*not usable: " "$work/out" || fail "hone devices gives no reason for Vulkan"
grep -qE "(vulkan|webgpu):? .*(vulkan|webgpu):" "$work/out" && fail "hone devices says the device's name twice"
"$hone" selftest --device auto >"$work/out" 2>&1 || fail "auto without a GPU"
grep -q "^cpu: " "$work/out" || fail "auto does not take the CPU"
# Why, -v tells; the model is not there, which is found after the device.
"$hone" generate "$work/model.gguf" -p x -v >"$work/out" 2>&1 && fail "a model that is not there"
grep -q "^hone: device auto: the CPU is taken; vulkan: no GPU.*; webgpu: no GPU" "$work/out" || fail "-v does not say why the CPU"
"$hone" generate "$work/model.gguf" -p x >"$work/out" 2>&1 && fail "a model that is not there"
grep -q "device auto" "$work/out" && fail "auto says without -v why it takes the CPU"
"$hone" generate "$work/model.gguf" -p x -v --device cpu >"$work/out" 2>&1 && fail "a model that is not there"
grep -q "device auto" "$work/out" && fail "auto is named where the CPU was asked for"
unset VK_ICD_FILENAMES VK_DRIVER_FILES

# auto leaves a GPU in software alone, by whatever interface.
if "$hone" devices --json | grep -q '"software":true' && ! "$hone" devices --json | grep -q '"memory_bytes".*"software":false'; then
    "$hone" selftest --device auto >"$work/out" 2>&1 || fail "auto with a GPU in software"
    grep -q "^cpu: " "$work/out" || fail "auto takes a GPU in software"
    HONE_WGPU=/nowhere/libwgpu.so "$hone" generate "$work/model.gguf" -p x -v >"$work/out" 2>&1 && fail "a model that is not there"
    grep -q "; webgpu: HONE_WGPU=/nowhere/libwgpu.so does not load" "$work/out" || fail "-v does not give WebGPU's reason"
    grep -q "; vulkan:0: .* is a program, not a GPU" "$work/out" || fail "-v does not say that the GPU is software"
fi

# WebGPU's library: none there, no library, a library of something else, wgpu-native of another version. Each is named by its
# path, with what to do.
unusable() { # PATH TEXT
    for text in "HONE_WGPU=$1 " "$2" "let HONE_WGPU name a libwgpu_native.so of version" "or be unset"; do
        expect "$text" env "HONE_WGPU=$1" "$hone" selftest --device webgpu
    done
    [ "$(grep -oF -- "$1" "$work/out" | wc -l)" = 1 ] || fail "the path is not said once"
}
printf 'no library' >"$work/text.so"
unusable /nowhere/libwgpu.so "does not load: cannot open shared object file"
unusable "$work/text.so" "does not load: "
unusable libm.so.6 "is not wgpu-native"
unusable "$broken" "is wgpu-native 1.2, which this hone cannot use"
HONE_WGPU=$broken "$hone" devices >"$work/out" 2>&1 || fail "hone devices with another library"
grep -q "^webgpu  *not usable: HONE_WGPU=" "$work/out" || fail "hone devices does not give WebGPU's reason, or names it twice"
HONE_WGPU=$broken "$hone" selftest >"$work/out" 2>&1 || fail "the self-test without WebGPU"
grep -q "^webgpu: not usable: HONE_WGPU=" "$work/out" || fail "the self-test does not give WebGPU's reason, or names it twice"
expect "only GPUs 0 to" "$hone" selftest --device vulkan:99
expect "there is no device" "$hone" selftest --device vulkan:x
expect "there is no device" "$hone" selftest --device opencl

# What is asked for by the environment is understood or refused, by `auto` too.
for device in cpu vulkan webgpu auto; do
    expect "HONE_POISON=2: it can be 1 or 0 only" env HONE_POISON=2 "$hone" selftest --device $device
    [ $device = cpu ] && continue
    expect "HONE_SELF_TEST=no: it can be on or off only" env HONE_SELF_TEST=no "$hone" selftest --device $device
    expect "HONE_SCRAMBLE=yes: it can be 1 or 0 only" env HONE_SCRAMBLE=yes "$hone" selftest --device $device
    expect "HONE_PATIENCE=long: it is a number of seconds above 0" env HONE_PATIENCE=long "$hone" selftest --device $device
    expect "HONE_LIMITS=most: it can be webgpu-min only" env HONE_LIMITS=most "$hone" selftest --device $device
done
expect "HONE_VULKAN_VALIDATION=yes: it can be 1 or 0 only" env HONE_VULKAN_VALIDATION=yes "$hone" selftest --device vulkan
HONE_POISON=0 HONE_SELF_TEST='' "$hone" selftest --device cpu >"$work/out" 2>&1 || fail "HONE_POISON=0"
