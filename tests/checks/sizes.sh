#!/bin/sh
# No file written by hand has more than 800 lines, no function more than 80.
set -eu
cd "$(dirname "$0")/../.."

failed=0
folders=""
for folder in src include cli tests tools examples web cmake; do [ ! -d $folder ] || folders="$folders $folder"; done
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# shellcheck disable=SC2086
find $folders -type f \( -name '*.[ch]' -o -name '*.slang' -o -name '*.sh' -o -name '*.py' -o -name '*.js' -o \
    -name '*.html' -o -name '*.css' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.md' \) >"$list"

while IFS= read -r file; do
    lines=$(wc -l <"$file")
    if [ "$lines" -gt 800 ]; then
        echo "$file: $lines lines; 800 are the limit" >&2
        failed=1
    fi
done <"$list"

# A function begins in column 0 with its name, its signature ends in ") {", its body ends with "}" in column 0.
# Tables ("= {") and types are not functions.
grep '\.[ch]$' "$list" | tr '\n' '\0' | xargs -0 awk '
    FNR == 1 { inside = 0; start = 0 }
    inside && /^}/ {
        if (FNR - start + 1 > 80) {
            printf "%s:%d: a function of %d lines; 80 are the limit\n", FILENAME, start, FNR - start + 1
            failed = 1
        }
        inside = 0; start = 0
        next
    }
    inside { next }
    /^[A-Za-z_]/ { start = FNR }
    start && /\) \{$/ { inside = 1; next }
    /[;}]$/ || /= \{$/ { start = 0 }
    END { exit failed }' >&2 || failed=1
exit $failed
