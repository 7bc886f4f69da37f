# What the tests of the command line share. A test is called with the program and make_model, and runs in a folder of its
# own: . lib.sh; expect CODE ARGUMENTS..; finish
set -u
hone=$1
make_model=$2
work=$(mktemp -d)
cleanup() {
    cd /
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# Runs hone with standard output in ./out and standard error in ./err, and compares the exit code.
expect() {
    wanted=$1
    shift
    called="hone $*"
    code=0
    "$hone" "$@" >out 2>err </dev/null || code=$?
    [ "$code" = "$wanted" ] || {
        fail "$called: exit code $code, not $wanted"
        sed 's/^/    /' err >&2
    }
}

# The same with standard input from a file.
expect_from() {
    wanted=$1
    input=$2
    shift 2
    called="hone $* < $input"
    code=0
    "$hone" "$@" >out 2>err <"$input" || code=$?
    [ "$code" = "$wanted" ] || {
        fail "$called: exit code $code, not $wanted"
        sed 's/^/    /' err >&2
    }
}

# Standard error is one line "hone: ..." that contains each of the texts.
says() {
    [ "$(wc -l <err)" = 1 ] || {
        fail "$called: not one line on standard error"
        sed 's/^/    /' err >&2
    }
    case "$(cat err)" in
    "hone: "*) ;;
    *) fail "$called: the message does not begin with 'hone: '" ;;
    esac
    for text; do
        grep -qF -- "$text" err || fail "$called: the message lacks '$text': $(cat err)"
    done
}

# Standard output contains each of the texts.
prints() {
    for text; do
        grep -qF -- "$text" out || {
            fail "$called: the output lacks '$text'"
            head -n 20 out | sed 's/^/    /' >&2
        }
    done
}

# Nothing on standard error.
silent() {
    [ ! -s err ] || {
        fail "$called: something on standard error"
        sed 's/^/    /' err >&2
    }
}

# The names in this folder, out and err and lists left aside.
listing() {
    find . ! -name out ! -name err ! -name '*.list' | sort
}
remember_files() { listing >before.list; }
same_files() {
    listing >after.list
    cmp -s before.list after.list || {
        fail "$called: files have come or gone"
        diff before.list after.list | sed 's/^/    /' >&2
    }
}

# Lines in a file that have the text.
count() { grep -cF -- "$1" "$2" || true; }
# The number behind "key": in the last line of a file that has it.
number() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" "$2" | tail -n 1; }
# Whether a comparison of two numbers holds: holds 1.5 '<' 2
holds() { awk "BEGIN { exit !($1 $2 $3) }"; }

conversations() { # N rows
    i=0
    while [ $i -lt "$1" ]; do
        printf '{"messages":[{"role":"user","content":"say %d"},{"role":"assistant","content":"the %d and the %d"}]}\n' $i $i $i
        i=$((i + 1))
    done
}

finish() {
    [ "$failures" = 0 ] || echo "$failures failures" >&2
    [ "$failures" = 0 ]
    exit $?
}
