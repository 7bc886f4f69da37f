#!/bin/sh
# No left-over marks, no trailing blanks, no tabs in C, an SPDX line at the head of every C file.
set -eu
cd "$(dirname "$0")/../.."

failed=0
bad() {
    echo "$1" >&2
    failed=1
}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
folders=""
for folder in src include cli tests tools docs cmake web packaging .ci; do [ ! -d $folder ] || folders="$folders $folder"; done
# shellcheck disable=SC2086
find $folders CMakeLists.txt Makefile README.md -type f \( -name '*.[ch]' -o -name '*.slang' -o -name '*.sh' -o \
    -name '*.py' -o -name '*.js' -o -name '*.html' -o -name '*.css' -o -name '*.cmake' -o -name '*.txt' -o \
    -name '*.md' -o -name Makefile -o -name run \) -not -path 'tests/fuzz/corpus/*' -not -path 'tests/golden/*.txt' |
    tr '\n' '\0' >"$list"

marks=$(printf '%s|%s|%s' TO''DO FIX''ME XX''X)
found=$(xargs -0 grep -nwE "$marks" <"$list" || true)
[ -z "$found" ] || bad "left-over marks:
$found"
found=$(xargs -0 grep -nE '[[:blank:]]+$' <"$list" || true)
[ -z "$found" ] || bad "blanks at the end of a line:
$found"
tab=$(printf '\t')
found=$(find src include cli tests -name '*.[ch]' -print0 | xargs -0 grep -n "$tab" || true)
[ -z "$found" ] || bad "tabs in C:
$found"
found=$(find src include cli tests -name '*.[ch]' -print0 |
    xargs -0 awk 'FNR == 1 && $0 != "// SPDX-License-Identifier: Apache-2.0" { print FILENAME }')
[ -z "$found" ] || bad "the first line is not the SPDX line:
$found"
exit $failed
