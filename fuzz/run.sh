#!/usr/bin/env bash
# Runs fuzz targets one after the other: TARGET, or a pattern of their names, and the number of runs of each. Options of
# libFuzzer may follow. Stops at the first input that fails, which is then in fuzz/artifacts. What libFuzzer finds worth
# keeping is in fuzz/target/corpus; the inputs in fuzz/corpus are not changed.
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=$1 runs=$2
shift 2

# For the files that some targets write, in memory where possible: libFuzzer ends without removing them.
memory=/dev/shm
test -w "$memory" || memory=/tmp
TMPDIR=$(mktemp -d -p "$memory" poc-fuzz.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for file in fuzz/fuzz_targets/$pattern.rs; do
    target=$(basename "$file" .rs)
    mkdir -p "fuzz/target/corpus/$target"
    # Sanitizers need a nightly toolchain. What measures coverage does not, and libFuzzer itself is built with any C++
    # compiler.
    cargo fuzz run --sanitizer none "$target" "fuzz/target/corpus/$target" "fuzz/corpus/$target" -- \
        -runs="$runs" -max_len=4096 -timeout=10 -report_slow_units=1 -rss_limit_mb=2048 -print_final_stats=1 "$@"
done
