#!/bin/sh
# Khronos's validation layer watches some operators on Vulkan: what it complains of is a failure, and nothing is printed.
# usage: validation.sh OPCHECK FILTER...
set -eu
opcheck=$1
shift
[ -n "$(find /usr/share/vulkan /etc/vulkan -name '*khronos_validation*' 2>/dev/null)" ] || {
    echo "skipped: the validation layer is not installed (vulkan-validationlayers)"
    exit 77
}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for filter; do
    HONE_VULKAN_VALIDATION=1 "$opcheck" --device vulkan --seed 1 --filter "$filter" >"$out" 2>&1 || {
        cat "$out"
        exit 1
    }
    grep -v '^opcheck: .* all right' "$out" && {
        echo "validation.sh: more was printed than the result of $filter"
        exit 1
    }
    cat "$out"
done
