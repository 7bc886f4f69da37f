#!/bin/sh
# Installs the Debian packages that are missing: those of the build, with --test those of the tests too, with --fuzz those of
# the fuzzers. Fetches the wheels whose files the GPU devices are built with (the kernel compiler, WebGPU's headers and
# library) into a cache folder; without them CMake builds for the CPU alone. HONE_GPU=OFF leaves all of that out.
# Prints nothing and takes a moment when all are there.
set -eu

gpu="${HONE_GPU:-ON}"
cache="${HONE_GPU_TOOLS:-$HOME/.cache/hone/gpu}"
packages="gcc g++ libc6-dev cmake ninja-build pkg-config unzip python3-pip
    libjansson-dev libpcre2-dev libutf8proc-dev libxxhash-dev libcmocka-dev"
[ "$gpu" = "OFF" ] || packages="$packages libvulkan-dev"
[ "${1:-}" = "--fuzz" ] && packages="$packages clang-19 libclang-rt-19-dev"
# A GPU in software, the layers that check how Vulkan is used, and the browser whose WGSL compiler is the strictest.
if [ "${1:-}" = "--test" ] && [ "$gpu" != "OFF" ]; then
    packages="$packages libvulkan1 mesa-vulkan-drivers vulkan-validationlayers chromium"
fi

# fetch FILE NAME==VERSION...: unpacks the wheels into the cache unless FILE is there.
fetch() {
    there=$1
    shift
    [ -e "$cache/$there" ] && return 0
    echo "deps: fetching $* into $cache"
    mkdir -p "$cache/wheels"
    if python3 -m pip download -q --no-deps --only-binary :all: -d "$cache/wheels" "$@"; then
        for wheel in "$cache"/wheels/*.whl; do unzip -q -o "$wheel" -d "$cache"; done
        rm -r "$cache/wheels"
    else
        echo "deps: they could not be fetched" >&2
    fi
}
fetch_wheels() {
    [ "$gpu" = "OFF" ] && return 0
    fetch wgpu/resources/webgpu.h wgpu==0.32.0
    fetch slangtorch/bin/slangc slangtorch==1.3.22
    [ ! -f "$cache/slangtorch/bin/slangc" ] || chmod +x "$cache/slangtorch/bin/slangc"
    [ "$1" = "--test" ] || return 0
    fetch playwright/driver/node playwright==1.56.0 pyee==13.0.0 greenlet==3.2.4 typing_extensions==4.15.0
    [ ! -f "$cache/playwright/driver/node" ] || chmod +x "$cache/playwright/driver/node"
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    missing=""
    for tool in cc c++ cmake ninja pkg-config unzip python3; do
        command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
    done
    [ -z "$missing" ] || {
        echo "deps: this system does not use Debian's packages, and these commands are missing:$missing" >&2
        echo "deps: install what Debian calls:" $packages >&2
        exit 1
    }
    fetch_wheels "${1:-}"
    exit 0 # CMake names a library that is missing
fi

missing=""
for package in $packages; do
    case "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" in
    installed*) ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -n "$missing" ] && [ "$(id -u)" != 0 ]; then
    echo "deps: packages are missing; as root run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
if [ -n "$missing" ]; then
    echo "deps: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q </dev/null || echo "deps: apt-get update failed; trying with the package lists at hand" >&2
    # shellcheck disable=SC2086 # a list of words
    apt-get install -q -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 $missing </dev/null
fi
fetch_wheels "${1:-}"
