#!/bin/sh
# Includes point downward only: a folder of src/ sees itself, the folders below it and the public headers; the public
# headers see each other and the C library.
set -eu
cd "$(dirname "$0")/../.."

order="base tensor graph ops device formats text model train" # lowest first, as in cmake/layers.cmake
failed=0
bad() {
    echo "$1" >&2
    failed=1
}

allowed=""
for layer in $order; do
    allowed="$allowed $layer"
    [ -d "src/$layer" ] || continue
    grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "src/$layer" --include='*.[ch]' >"${TMPDIR:-/tmp}/layers.$$" || true
    while IFS= read -r line; do
        file=${line%%:*}
        target=$(printf '%s\n' "$line" | sed 's/^[^"]*"\([^"]*\)".*/\1/')
        folder=${target%%/*}
        case "$file" in
        # case tables belong to the tests and are compiled into opcheck only
        src/ops/*cases.[ch]) [ "${target##*/}" = opcheck.h ] && continue ;;
        esac
        case " $allowed " in
        *" $folder "*) ;;
        *) bad "$file: includes \"$target\": src/$layer may include only:$allowed" ;;
        esac
    done <"${TMPDIR:-/tmp}/layers.$$"
    rm -f "${TMPDIR:-/tmp}/layers.$$"
done

for folder in src/*/; do
    case " $order " in
    *" $(basename "$folder") "*) ;;
    *) bad "$folder: is in no layer; add it to cmake/layers.cmake and to this script" ;;
    esac
done

lines=$(grep -rnE '^[[:space:]]*#[[:space:]]*include' include/hone |
    grep -vE 'include[[:space:]]*<(hone/[a-z_]+\.h|stdbool\.h|stddef\.h|stdint\.h)>' || true)
[ -z "$lines" ] || bad "public headers include only <hone/...> and stdbool.h, stddef.h, stdint.h:
$lines"
exit $failed
