#!/bin/sh
# Builds everything once more with sanitizers and runs the tests of the code there.
# usage: sanitize.sh FOLDER ON|thread    (address and undefined behaviour, or data races)
set -eu
build=$1
kind=$2
cd "$(dirname "$0")/../.."

# The sanitizer for threads would watch a GPU driver that it has not instrumented.
gpu=AUTO
[ "$kind" != thread ] || gpu=OFF
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g" -DHONE_SANITIZE="$kind" \
    -DHONE_WERROR=OFF -DHONE_GPU=$gpu >"$build.log" 2>&1 || {
    cat "$build.log"
    exit 1
}
cmake --build "$build" -j "$(nproc)" >"$build.log" 2>&1 || {
    tail -n 60 "$build.log"
    exit 1
}
ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
UBSAN_OPTIONS=print_stacktrace=1
TSAN_OPTIONS=halt_on_error=1
# Drivers of GPUs leak a little, in libraries that are gone when leaks are counted: only tests that say so see a GPU here, and
# those do not count (tests/gpu/CMakeLists.txt, tests/opcheck/CMakeLists.txt).
VK_ICD_FILENAMES=/nowhere/none.json
VK_DRIVER_FILES=$VK_ICD_FILENAMES
export VK_ICD_FILENAMES VK_DRIVER_FILES
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" -LE 'long|checks|whole' --timeout 900
