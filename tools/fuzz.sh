#!/bin/sh
# Builds the fuzz targets with libFuzzer and the sanitizers and runs each for FUZZ_SECONDS. New files go to
# build/fuzz/found/<subject>; a crash leaves its input in build/fuzz/crashes and ends the run with 1. FUZZ_TARGETS names
# some of them (fuzz_formats_pte); without it all run. FUZZ_SEED makes a search one that can be repeated.
set -eu
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-30}
jobs=${JOBS:-$(nproc)}
build=${BUILD:-build}/fuzz

cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g" -DCMAKE_C_COMPILER=clang-19 \
    -DHONE_SANITIZE=ON -DHONE_FUZZ=ON -DHONE_GPU=OFF -DCMAKE_C_FLAGS=-fsanitize=fuzzer-no-link >/dev/null
targets=${FUZZ_TARGETS:-$(cd tests/fuzz && ls fuzz_*.c | sed 's/\.c$//')}
# shellcheck disable=SC2086
cmake --build $build -j "$jobs" --target $targets
mkdir -p $build/crashes
failed=0
for target in $targets; do
    subject=${target#fuzz_*_}
    mkdir -p "$build/found/$subject"
    echo "== $target: $seconds s"
    "$build/tests/fuzz/$target" -max_total_time="$seconds" ${FUZZ_SEED:+"-seed=$FUZZ_SEED"} -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$subject-" "$build/found/$subject" "tests/fuzz/corpus/$subject" \
        >"$build/$target.log" 2>&1 || {
        tail -n 40 "$build/$target.log"
        failed=1
    }
    grep -E '^stat::number_of_executed_units|^stat::peak_rss_mb' "$build/$target.log" || true
done
exit $failed
