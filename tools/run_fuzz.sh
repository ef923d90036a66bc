#!/bin/sh
# run_fuzz.sh DIR TARGET|all SECONDS - runs fuzz targets of a build directory, each for so many seconds.
# One line for each: 'fuzz NAME: clean', or the finding and where its input is kept. Ends with 1 on any
# finding. What the fuzzer learns stays in a temporary directory; seeds are in fuzz/corpus/NAME.
set -u
[ $# -eq 3 ] || {
    sed -n '2,4p' "$0" >&2
    exit 2
}
dir=$1 target=$2 seconds=$3
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/almanac-fuzz.XXXXXX")
trap 'rm -rf "$work"' EXIT
found=0
# Short runs take the same way each time, so that a change is what makes them fail; long ones explore.
seed=
[ "$seconds" -ge 60 ] || seed=-seed=1

one() { # NAME PROGRAM
    mkdir -p "$work/$1/corpus" "$work/$1/tmp" "$dir/findings"
    if [ -d "$top/fuzz/corpus/$1" ]; then cp "$top/fuzz/corpus/$1"/* "$work/$1/corpus/"; fi
    dict=
    [ -e "$top/fuzz/$1.dict" ] && dict="-dict=$top/fuzz/$1.dict"
    # shellcheck disable=SC2086
    if TMPDIR="$work/$1/tmp" "$2" $dict $seed -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=4096 \
        -artifact_prefix="$dir/findings/$1-" "$work/$1/corpus" >"$work/$1/log" 2>&1; then
        echo "fuzz $1: clean"
    else
        echo "fuzz $1: FINDING"
        grep -E 'ERROR|SUMMARY|Assert|assert|Test unit written' "$work/$1/log" | head -10
        tail -30 "$work/$1/log"
        unit=$(sed -n 's/.*Test unit written to //p' "$work/$1/log" | tail -1)
        echo "    again: $2 $unit"
        found=1
    fi
}

ran=0
for program in "$dir"/fuzz_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then
        continue
    fi
    name=$(basename "$program" | sed 's/^fuzz_//')
    if [ "$target" = all ] || [ "$target" = "$name" ] || [ "$target" = "fuzz_$name" ]; then
        one "$name" "$program"
        ran=1
    fi
done
[ $ran = 1 ] || {
    echo "no fuzz target '$target' in $dir" >&2
    exit 2
}
exit $found
