#!/bin/sh
# The C sources are as clang-format-19 leaves them. Exit 77 (skipped) where it is not installed.
set -eu
cd "$(dirname "$0")/../.."

command -v clang-format-19 >/dev/null 2>&1 || {
    echo "clang-format-19 is not installed: skipped"
    exit 77
}
folders=""
for folder in src include cli tests examples; do [ ! -d $folder ] || folders="$folders $folder"; done
# shellcheck disable=SC2086
if find $folders -name '*.[ch]' -print0 | xargs -0 clang-format-19 --dry-run -Werror 2>&1 | grep 'error:' |
    cut -d : -f 1 | sort | uniq -c | sed 's/$/ places differ from clang-format-19; run make format/' | grep .; then
    exit 1
fi
