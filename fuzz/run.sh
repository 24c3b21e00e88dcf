#!/usr/bin/env bash
# Runs fuzz targets one after the other: TARGET, or a pattern of their names, and the number of runs of each. Options of
# libFuzzer may follow. Stops at the first input that fails, which is then in fuzz/artifacts. What libFuzzer finds worth
# keeping is in fuzz/target/corpus; the inputs in fuzz/corpus are not changed.
#
# `import:FORMAT`, or a pattern such as 'import:*', runs the target `import` once for each format, whose name is then not
# part of the inputs. To run an input of such a run again, set POC_FUZZ_FORMAT to the format.
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=$1 runs=$2
shift 2
options=("$@")

# For the files that some targets write, in memory where possible: libFuzzer ends without removing them.
memory=/dev/shm
test -w "$memory" || memory=/tmp
TMPDIR=$(mktemp -d -p "$memory" poc-fuzz.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# Runs a target with the inputs in a folder. The name is that of the folder for new inputs.
run() {
    local target=$1 name=$2 inputs=$3
    mkdir -p "fuzz/target/corpus/$name"
    # Sanitizers need a nightly toolchain. What measures coverage does not, and libFuzzer itself is built with any C++
    # compiler.
    cargo fuzz run --sanitizer none "$target" "fuzz/target/corpus/$name" "$inputs" -- \
        -runs="$runs" -max_len=4096 -timeout=10 -report_slow_units=1 -rss_limit_mb=2048 -print_final_stats=1 "${options[@]}"
}

if [[ $pattern != import:* ]]; then
    for file in fuzz/fuzz_targets/$pattern.rs; do
        target=$(basename "$file" .rs)
        run "$target" "$target" "fuzz/corpus/$target"
    done
    exit
fi

known=$(head -qn 1 fuzz/corpus/import/* | LC_ALL=C sort -u)
count=0
for format in $known; do
    # The part after the colon may be a pattern.
    [[ $format == ${pattern#import:} ]] || continue
    count=$((count + 1))
    inputs=$TMPDIR/inputs/$format
    mkdir -p "$inputs"
    for file in fuzz/corpus/import/*; do
        if [[ $(head -n 1 "$file") == "$format" ]]; then
            tail -n +2 "$file" > "$inputs/$(basename "$file")"
        fi
    done
    echo "import:$format"
    export POC_FUZZ_FORMAT=$format
    run import "import-$format" "$inputs"
done
if ((count == 0)); then
    echo "no format is called \`${pattern#import:}\`; the formats are" $known >&2
    exit 2
fi
