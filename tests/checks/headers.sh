#!/bin/sh
# Each public header compiles alone, as C17 and as C++17, without a warning.
set -eu
cd "$(dirname "$0")/../.."

failed=0
for header in include/hone/*.h; do
    name=hone/$(basename "$header")
    printf '#include <%s>\nint main(void) { return 0; }\n' "$name" |
        ${CC:-cc} -std=c17 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -fsyntax-only -Iinclude -x c - || {
        echo "$header: does not stand alone as C17" >&2
        failed=1
    }
    printf '#include <%s>\nint main() { return 0; }\n' "$name" |
        ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ - || {
        echo "$header: does not stand alone as C++17" >&2
        failed=1
    }
done
exit $failed
