#!/bin/sh
# What `make install` leaves can be used: a program is built against the installed headers with pkg-config, with the
# shared library and with the archive, and run; the command runs from there too.
# usage: install.sh BUILD_FOLDER
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/moved" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
mv "$work/moved" "$work/prefix" # nothing may remember where it was installed
library=$(dirname "$(find "$work/prefix" -name libhone.a)")
export PKG_CONFIG_PATH="$library/pkgconfig"

cat >"$work/use.c" <<'PROGRAM'
#include <hone/hone.h>
#include <stdio.h>
int main(void) {
    hone_device_description cpu = {"cpu", 1};
    hone_device *device = NULL;
    hone_error error;
    if (hone_device_open(&cpu, &device, &error) != HONE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%s, %zu operators\n", hone_device_name(device), hone_op_count());
    hone_device_close(device);
    return hone_op_count() > 0 ? 0 : 1;
}
PROGRAM
cp "$work/use.c" "$work/use.cc"
# shellcheck disable=SC2046 # lists of words
${CC:-cc} -std=c17 "$work/use.c" $(pkg-config --cflags --libs hone) -o "$work/shared"
# shellcheck disable=SC2046
${CXX:-c++} -std=c++17 "$work/use.cc" $(pkg-config --cflags --libs hone) -o "$work/cpp"
# shellcheck disable=SC2046
${CC:-cc} -std=c17 "$work/use.c" $(pkg-config --cflags hone) "$library/libhone.a" \
    $(pkg-config --libs --static hone | sed 's/-lhone //') -o "$work/archive"
LD_LIBRARY_PATH=$library "$work/shared"
LD_LIBRARY_PATH=$library "$work/cpp"
"$work/archive"
"$work/prefix/bin/hone" --help >/dev/null
# WebGPU's library is taken from beside hone: one of another version there is what is found, and refused.
if [ -f "$library/hone/libwgpu_native.so" ]; then
    echo 'unsigned wgpuGetVersion(void) { return 0x01020304; }' |
        ${CC:-cc} -shared -fPIC -x c - -o "$library/hone/libwgpu_native.so"
    (cd / && "$work/prefix/bin/hone" devices) | grep '^webgpu .*hone/libwgpu_native.so is wgpu-native 1.2, .*let HONE_WGPU name' >/dev/null || {
        echo "the installed hone does not look for libwgpu_native.so in its own lib/hone" >&2
        exit 1
    }
fi
# The shared library shows its own names only.
foreign=$(nm -D --defined-only "$library/libhone.so" | awk '{ print $NF }' | grep -v '^hone_' || true)
[ -z "$foreign" ] || {
    echo "libhone.so exports names without the prefix hone_: $foreign" >&2
    exit 1
}
