#!/bin/sh
# Searches with one fuzz target for some seconds, always from the same seed. usage: search.sh BUILD TARGET SECONDS
set -eu
command -v clang-19 >/dev/null || {
    echo "skipped: clang-19 is not there (tools/deps.sh --fuzz installs it)"
    exit 77
}
cd "$(dirname "$0")/../.."
BUILD=$1 FUZZ_TARGETS=$2 FUZZ_SECONDS=$3 FUZZ_SEED=1 exec sh tools/fuzz.sh
