#!/bin/sh
# Every folder under src/ says in a README.md what it is for; a folder of src/ops is one operator family.
set -eu
cd "$(dirname "$0")/../.."

failed=0
bad() {
    echo "$1" >&2
    failed=1
}
for folder in $(find src -mindepth 1 -type d); do
    [ -s "$folder/README.md" ] || bad "$folder: README.md is missing"
    case "$folder" in
    src/ops/*/*) bad "$folder: a family has no folders below it" ;;
    src/ops/shared) ;;
    src/ops/*) [ -f "$folder/$(basename "$folder").c" ] || bad "$folder: $(basename "$folder").c is missing" ;;
    esac
done
exit $failed
