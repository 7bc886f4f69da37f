#!/bin/sh
# Runs a program on Vulkan with Khronos's validation layer watching, where it is installed: a complaint is a failure.
# usage: watched.sh PROGRAM [ARGUMENT...]
set -u
if [ -n "$(find /usr/share/vulkan /etc/vulkan -name '*khronos_validation*' 2>/dev/null)" ]; then
    export HONE_VULKAN_VALIDATION=1
else
    echo "watched.sh: the validation layer is not installed (vulkan-validationlayers); nothing watches"
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" >"$out" 2>&1
code=$?
cat "$out"
[ $code -ne 0 ] && exit $code
! grep -q complain "$out"
