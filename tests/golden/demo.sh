#!/bin/sh
# The demo as a test: base near 0 of the held-out commands, at least 75 % after training, within 8 minutes.
# usage: demo.sh BUILD MODEL
set -eu
build=$1
model=$2
[ -f "$model" ] || {
    echo "skipped: the model is not there"
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
started=$(date +%s)
BUILD=$build HONE_MODEL=$model DEMO_RUN=$work/run sh "$(dirname "$0")/../../tools/demo.sh" | tee "$work/log"
seconds=$(($(date +%s) - started))
# Lines "before: exact    3 of 84 answers, 3.6 %" and "after: ...".
share() { sed -n "s/^$1: .*, \([0-9.]*\) %.*/\1/p" "$work/log" | tail -n 1; }
before=$(share before)
after=$(share after)
echo "before $before %, after $after %, $seconds s"
awk -v before="$before" -v after="$after" -v seconds="$seconds" \
    'BEGIN { exit !(before != "" && before <= 5 && after >= 75 && seconds <= 480) }'
